"""Progress of a command: a bar on a terminal, and regular lines on standard error elsewhere."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

EVERY = 10.0
"""Seconds between two lines where no terminal is, at most."""
REFRESHED = 1.0
"""Seconds between two looks at the clock."""
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
        self._lock = threading.Lock()
        self._bar = self._open() if self._stream.isatty() else None

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
        if self._bar is None:
            print(line, file=stream or sys.stdout)
        else:
            self._bar.write(line, file=stream or sys.stdout)

    def expect(self, seconds: float, work: str) -> None:
        """Write the expected time of work, if that is worth saying.

        Args:
            seconds: Estimate.
            work: The work, as the line names it: `397 claims`.
        """
        if seconds >= WORTH_SAYING:
            self.write(f"{self._name}: about {format_time(seconds)} for {work}", self._stream)

    def beat(self) -> None:
        """Write a line if the last one is `EVERY` seconds old; on a terminal, move the clock."""
        with self._lock:
            if self._bar is not None:
                self._bar.set_description_str(self.line())
            elif self._clock() - self._said >= EVERY:
                self._said = self._clock()
                print(self.line(), file=self._stream, flush=True)

    def line(self) -> str:
        """Return the progress: steps done of how many, the current step, the time taken and the time left."""
        done = f"{self.done} {self._unit}{'' if self.done == 1 else 's'}"
        if self.total is not None:
            done = f"{self._unit} {self.done} of {self.total}"
        parts = [part for part in (done, self._text) if part]
        left = self.seconds_left()
        remains = "" if left is None else f", about {format_time(left)} left"
        return f"{self._name}: {', '.join(parts)}; {format_time(self._clock() - self._started)}{remains}"

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

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()

    def _show(self, text: str) -> None:
        if (self.done, text) != self._shown:
            self._shown, self._news = (self.done, text), self._clock()
        self._text = text
        self.beat()

    def _open(self) -> Any:
        from tqdm import tqdm

        return tqdm(bar_format="{desc}", leave=False, file=self._stream)


@contextmanager
def report_progress(name: str, total: int | None = None, unit: str = "step") -> Iterator[Progress]:
    """Yield the progress of a command, which is shown at least every `EVERY` seconds even without an advance."""
    progress, ended = Progress(name, total, unit), threading.Event()

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
        progress.close()


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
