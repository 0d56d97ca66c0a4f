"""Progress of a command: a bar on a terminal, and regular lines on standard error elsewhere."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any, TextIO, TypeVar

from workloads.terminal import console_of, is_live

T = TypeVar("T")
EVERY = 10.0
"""Seconds between two lines where no terminal is, at most."""
REFRESHED = 1.0
"""Seconds between two looks at the clock."""
DRAWN = 0.1
"""Seconds between two drawings of a bar, at least."""
BAR = 20
"""Width of a bar, in characters."""
WORTH_SAYING = 10.0
"""Seconds from which on the time of a command is estimated aloud, before its work starts."""


class Progress:
    """The progress of a command, on a terminal or in lines.

    Args:
        name: The command, in front of each line.
        total: Steps to do, if that is known.
        unit: The word for one of them.
        stream: Where to write.
        clock: Gives the time in seconds.
    """

    def __init__(
        self,
        name: str,
        total: int | None = None,
        unit: str = "step",
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.done, self.total = 0, total
        self._name, self._unit, self._clock = name, unit, clock
        self._stream = sys.stderr if stream is None else stream
        self._text, self._label = "", ""
        self._started = self._said = self._step = self._news = clock()
        self._shown = (0, "")
        self._from = 0
        self._is_hidden, self._lock = False, threading.Lock()
        self._bar = self._open() if is_live(self._stream) else None
        self._task = self._bar.add_task(name, total=total, line="") if self._bar is not None else None

    def resume(self, done: int) -> None:
        """Start after steps that were done before, which do not count for the pace."""
        self.done = self._from = done

    def advance(self, text: str = "", steps: int = 1) -> None:
        """Count steps as done."""
        self.done += steps
        self._show(text)

    def step(self, text: str) -> None:
        """Say what the command is doing; a text before a colon names a step, and ends the step before it."""
        label = text.partition(":")[0]
        if label != self._label:
            self.done += bool(self._label)
            self._label, self._step = label, self._clock()
        self._show(text)

    def write(self, line: str, stream: TextIO | None = None) -> None:
        """Write a separate line above the bar."""
        with self._lock, self.hidden():  # because the line may go to another stream on the same terminal
            print(line, file=stream or sys.stdout, flush=self._bar is not None)

    def expect(self, seconds: float, work: str) -> None:
        """Write the expected time of work, if that is worth saying.

        Args:
            seconds: Estimate.
            work: The work, as the line names it: `397 claims`.
        """
        if seconds >= WORTH_SAYING:
            self.write(f"{self._name}: about {format_time(seconds)} for {work}", self._stream)

    def beat(self) -> None:
        """Write a line if the last one is `EVERY` seconds old; on a terminal, draw the bar if that is `DRAWN` old."""
        with self._lock:
            if self._is_hidden or self._clock() - self._said < (EVERY if self._bar is None else DRAWN):
                return
            self._said = self._clock()
            if self._bar is None:
                print(self.line(), file=self._stream, flush=True)
            else:
                self._bar.start()
                details = (self._counted(), self._times(), self._text)  # a narrow terminal cuts the end
                self._bar.update(self._task, completed=self.done, line=", ".join(filter(None, details)), refresh=True)

    def line(self) -> str:
        """Return the progress: steps done of how many, the current step, the time taken and the time left."""
        return f"{self._name}: {', '.join(filter(None, (self._counted(), self._text)))}; {self._times()}"

    def _counted(self) -> str:
        if self.total is not None:
            return f"{self._unit} {self.done} of {self.total}"
        return f"{self.done} {self._unit}{'' if self.done == 1 else 's'}"

    def _times(self) -> str:
        left = self.seconds_left()
        remains = "" if left is None else f", about {format_time(left)} left"
        return f"{format_time(self._clock() - self._started)}{remains}"

    def seconds_left(self) -> float | None:
        """Return the seconds left, by the pace at the last report or of the current step's own count; None if unknown.

        It falls between news, and nothing is said once the news is overdue.
        """
        counted = re.search(r"\b(\d+) of (\d+)", self._text)
        if self._label and counted and 0 < int(counted[1]) <= int(counted[2]):
            began, done, total = self._step, int(counted[1]), int(counted[2])
        elif self._label or self.total is None or self.done - self._from < 1:
            return None
        else:
            began, done, total = self._started, self.done - self._from, max(self.total - self._from, 0)
        needed = (self._news - began) / done * max(total - done, 0) - (self._clock() - self._news)
        return needed if needed >= 0.0 else None

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Remove the bar from the terminal for a while; the next step draws it again."""
        self._is_hidden = self._bar is not None
        self.close()
        try:
            yield
        finally:
            self._is_hidden = False

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()

    def _show(self, text: str) -> None:
        if (self.done, text) != self._shown:
            self._shown, self._news = (self.done, text), self._clock()
        self._text = text
        self.beat()

    def _open(self) -> Any:
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar
        from rich.table import Column

        line = TextColumn(
            "{task.fields[line]}",
            markup=False,
            table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),  # it takes the width that the others leave
        )
        name = TextColumn("{task.description}", style="bold", markup=False, table_column=Column(no_wrap=True))
        return Bar(
            *([name, BarColumn(BAR), line] if self.total is not None else [name, line]),
            expand=True,
            console=console_of(self._stream),
            transient=True,
            auto_refresh=False,  # `beat` refreshes it
            redirect_stdout=False,  # results go to standard output, not to the console of the bar
            redirect_stderr=False,
        )


_SHOWN: ContextVar[Progress | None] = ContextVar("the progress that is shown", default=None)


@contextmanager
def report_progress(name: str, total: int | None = None, unit: str = "step") -> Iterator[Progress]:
    """Yield the progress of a command, which is shown at least every `EVERY` seconds even without an advance.

    A terminal shows the progress of a part, such as reading images, instead of that of the whole.
    """
    with ExitStack() as stack:
        whole = _SHOWN.get()
        if whole is not None:
            stack.enter_context(whole.hidden())
        progress, ended = Progress(name, total, unit), threading.Event()
        stack.callback(progress.close)
        stack.callback(_SHOWN.reset, _SHOWN.set(progress))

        def keep_time() -> None:
            while not ended.wait(REFRESHED):
                progress.beat()

        clock = threading.Thread(target=keep_time, daemon=True)
        clock.start()
        try:
            yield progress
        finally:
            ended.set()
            clock.join()


def follow(items: Collection[T], name: str, unit: str = "step") -> Iterator[T]:
    """Yield items, and report the progress through them.

    Args:
        items: The items.
        name: The work on them.
        unit: The word for one of them.
    """
    with report_progress(name, len(items), unit) as progress:
        for item in items:
            yield item
            progress.advance()


def format_time(seconds: float) -> str:
    """Format a time.

    >>> format_time(7.4), format_time(75), format_time(4000)
    ('7 s', '1:15 min', '1:06 h')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02} h"
