"""A run in a folder: its settings, a growing table of metrics, the ledger, and checkpoints to go on from."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path
from typing import Any

from algorithms.federation import Executor, FederationError, InterruptedWorkError
from algorithms.ledger import Entry, Ledger
from algorithms.rounds import Step, rounds
from runs.checkpoints import Checkpoint, Checkpoints
from runs.plan import (
    SETTINGS,
    Given,
    Parts,
    Plan,
    earlier_digest,
    elsewhere,
    given_of,
    parts_of,
    require_same_given,
    standing,
    write_plan,
)
from runs.settings import Conduct, RunError
from runs.stored import named_types
from runs.tables import Table, marked, rows_of
from workloads.files import require_writable
from workloads.locks import alone

METRICS, LEDGER, CHECKPOINTS, BOARD = "metrics.csv", "ledger.csv", "checkpoints", "tensorboard"
LOG = "log.txt"
"""Events of workers, a line each; only where something did."""
SHARE_OF_TIME = 0.05
"""Share of a run's time that checkpoints may take, unless the rounds are over."""
Metrics = dict[str, Any]
Progress = Callable[[Metrics], None]
_ELSEWHERE = "name another folder with --out, or start anew with --force"


class BusyError(RunError):
    """Another process trains in the folder."""


def train(
    plan: Plan,
    folder: Path,
    progress: Progress | None = None,
    replace: Callable[[Sequence[Path]], None] | None = None,
    say: Callable[[str], None] = lambda text: None,
    parts: Parts | None = None,
) -> Metrics:
    """Runs a plan into a folder, or goes on where a run of the same settings stood.

    A start that fails writes nothing, and a run without a checkpoint gives way to any other.

    Args:
        plan: The run, from names and numbers.
        folder: Made if need be. A run that stands there is resumed; its rounds may be raised.
        progress: Told the metrics of every round.
        replace: Told what was removed of the run that stood in the folder, once the first round is done; default:
            refuse.
        say: Told, in a line, what a user should know.
        parts: Algorithm, problem and executor of the run, where its plan does not tell.

    Returns:
        The last round's metrics.

    Raises:
        BusyError: Another process trains in the folder.
        RunError: The run cannot start or go on, or something else stands in the folder.
        FederationError: A round failed; the message says which round the folder keeps.
        OSError: The folder cannot be written.
    """
    _require_files(folder)
    parts = parts or parts_of(plan)
    with ExitStack() as stack:
        stack.callback(getattr(parts.executor, "close", lambda: None))
        locked = folder.is_dir()
        if locked:
            stack.enter_context(_alone(folder))
        earlier = earlier_digest(folder)
        checkpoints = checkpoints_of(plan, parts, folder, earlier)
        given = given_of(parts.problem)
        before, tables = _standing(folder, plan, given, checkpoints, say) if replace is None else (None, {})
        if before and before.left_out and hasattr(parts.executor, "leave_out"):
            parts.executor.leave_out(before.left_out)
        ledger = Ledger(Entry(**row) for row in rows_of(tables[LEDGER])) if before else Ledger()
        made = rounds(
            parts.algorithm,
            parts.problem,
            rounds=plan.conduct.rounds,
            cohort=plan.settings["cohort"],
            seed=plan.settings["seed"],
            executor=parts.executor,
            resume=(before.state, ledger) if before else None,
            evaluate_every=plan.conduct.evaluate_every,
            aligned=plan.settings["alignment"],
        )
        begun = [] if before else [next(made)]
        if begun:
            checkpoints.require_storable(begun[0].state)
        require_writable(folder)
        if not locked:
            stack.enter_context(_alone(folder))
            if (folder / SETTINGS).exists():
                raise BusyError(f"another run has begun in {folder}; name another with --out")
        if replace is not None:
            begun += _first_round(made, folder)
            replace(_removed(folder, checkpoints))
        write_plan(folder, plan, given, earlier if before and earlier != plan.digest else None)
        if hasattr(parts.executor, "say"):
            parts.executor.say = _logged(folder, say)
        writer = stack.enter_context(_Writer(folder, tables, checkpoints, plan.conduct, before, ledger, parts.executor))
        return writer.follow(begun, made, progress)


class _Writer:
    """Writes the rounds of one run as they come."""

    def __init__(
        self,
        folder: Path,
        tables: dict[str, bytes],
        checkpoints: Checkpoints,
        conduct: Conduct,
        before: Checkpoint | None,
        ledger: Ledger,
        executor: Executor | None,
    ) -> None:
        self._executor = executor
        self._folder, self._checkpoints, self._conduct = folder, checkpoints, conduct
        self._metrics = Table(folder / METRICS, before=tables.get(METRICS, b""))
        self._ledger = Table(folder / LEDGER, tuple(Entry.__annotations__), tables.get(LEDGER, b""))
        self._travelled = len(ledger.entries)
        self._kept = before.state.round if before else 0
        self._last: Metrics = rows_of(tables[METRICS])[-1] if before else {}
        self._started = time.monotonic() - (before.seconds if before else 0.0)
        self._written = self._kept
        self._saved_at, self._cost = time.monotonic(), 0.0

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._metrics.close()
        self._ledger.close()

    def follow(self, begun: Sequence[Step], steps: Iterator[Step], progress: Progress | None) -> Metrics:
        """Writes the start and every round; whatever ends the run before its last one, the rounds done are kept."""
        step = None
        try:
            for step in chain(begun, steps):
                self._write(step, progress)
                number = step.state.round
                if number and (number == self._conduct.rounds or self._checkpoints.stays(number) or self._is_time()):
                    self._save(step)
        except _UnwritableError:
            raise
        except BaseException as error:
            if step is not None and step.state.round == self._written > self._kept:
                with suppress(_UnwritableError):
                    self._save(step)
            if isinstance(error, FederationError) and self._kept:
                again = f"; go on with {self._again}" if isinstance(error, InterruptedWorkError) else ""
                raise type(error)(f"{error}; {self._keeps}{again}") from error
            raise
        return self._last

    def _write(self, step: Step, progress: Progress | None) -> None:
        with self._writing():
            self._metrics.append([step.metrics])
            self._ledger.append([asdict(entry) for entry in step.ledger.entries[self._travelled :]])
        self._travelled = len(step.ledger.entries)
        self._last, self._written = step.metrics, step.state.round
        if progress is not None:
            progress(step.metrics)

    def _is_time(self) -> bool:
        passed = time.monotonic() - self._saved_at
        return passed > self._conduct.save_every and passed * SHARE_OF_TIME >= self._cost

    def _save(self, step: Step) -> None:
        started = time.monotonic()
        with self._writing():
            marks = {table.path.name: table.mark() for table in (self._metrics, self._ledger)}
            left_out = getattr(self._executor, "left_out", {})
            self._checkpoints.save(Checkpoint(step.state, marks, started - self._started, left_out))
        self._kept = step.state.round
        self._saved_at = time.monotonic()
        self._cost = self._saved_at - started

    @property
    def _again(self) -> str:
        """The command that goes on with the run."""
        return getattr(self._executor, "again", f"`rankproof train --resume {shlex.quote(str(self._folder))}`")

    @property
    def _keeps(self) -> str:
        return f"{self._folder} keeps round {self._kept}" if self._kept else f"{self._folder} keeps no round"

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Says which round is kept where a file cannot be written."""
        try:
            yield
        except OSError as error:
            raise _UnwritableError(
                f"cannot write {error.filename or self._folder}: {error.strerror or error}; {self._keeps}; make room, "
                f"then go on with --resume {self._folder}"
            ) from error


class _UnwritableError(RunError):
    """The folder takes no more."""


def _first_round(steps: Iterator[Step], folder: Path) -> list[Step]:
    """The first round, before what stands in the folder is removed for it."""
    try:
        return list(islice(steps, 1))
    except FederationError as error:
        there = (folder / SETTINGS).exists()
        raise FederationError(f"{error}; {folder} keeps its old run" if there else str(error)) from error


def checkpoints_of(plan: Plan, parts: Parts, folder: Path, earlier: str | None = None) -> Checkpoints:
    """The checkpoints of a run in its folder, where an earlier version may have begun it under another digest."""
    start = next(iter(parts.problem.start.values()))
    module = sys.modules[type(parts.algorithm).__module__]
    kinds = named_types(module)
    return Checkpoints(folder / CHECKPOINTS, plan.digest, kinds, start.device, earlier, plan.conduct.keep_every)


def _standing(
    folder: Path, plan: Plan, given: Given, checkpoints: Checkpoints, say: Callable[[str], None]
) -> tuple[Checkpoint | None, dict[str, bytes]]:
    """Where a run of this plan stands in a folder, and its tables; nothing where the folder is free."""
    there = [name for name in (METRICS, LEDGER, CHECKPOINTS) if (folder / name).exists()]
    if not (folder / SETTINGS).exists():
        if there:
            raise RunError(f"{folder} holds {', '.join(there)} without {SETTINGS}; {_ELSEWHERE}")
        return None, {}
    if not checkpoints.exist:
        return None, {}
    run = standing(folder)
    changed = plan.changed(run.plan)
    if changed:
        raise RunError(f"{folder} holds a run with other {', '.join(changed)}; {_ELSEWHERE}")
    if plan.conduct.rounds < run.plan.conduct.rounds:
        raise RunError(
            f"{folder} holds a run of {run.plan.conduct.rounds} rounds, which can be raised and not lowered to "
            f"{plan.conduct.rounds}; {_ELSEWHERE}"
        )
    found, wrong = checkpoints.load()
    if found.state.round > plan.conduct.rounds:
        raise RunError(f"{folder} stands at round {found.state.round} of {plan.conduct.rounds}; {_ELSEWHERE}")
    require_same_given(folder, run, given)
    for text in (*wrong, *elsewhere(plan, run)):
        say(f"{text}; going on from round {found.state.round}")
    return found, {name: marked(folder / name, mark) for name, mark in found.marks.items()}


def _require_files(folder: Path) -> None:
    for name in (SETTINGS, METRICS, LEDGER):
        if (folder / name).is_dir():
            raise RunError(f"{folder / name} is a folder, where a run writes a file; name another folder with --out")
    if (folder / CHECKPOINTS).exists() and not (folder / CHECKPOINTS).is_dir():
        raise RunError(f"{folder / CHECKPOINTS} is a file, where a run has a folder; name another folder with --out")


def _logged(folder: Path, say: Callable[[str], None]) -> Callable[[str], None]:
    """Says something, and writes it into the run's log."""

    def both(text: str) -> None:
        say(text)
        with (folder / LOG).open("a", encoding="utf-8") as log:
            log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")

    return both


def _removed(folder: Path, checkpoints: Checkpoints) -> list[Path]:
    """Removes what a run wrote, and nothing else."""
    events = sorted((folder / BOARD).glob("events.out.tfevents.*"))
    files = [*(folder / name for name in (METRICS, LEDGER, SETTINGS, LOG)), *events]
    there = [path for path in files if path.is_file() or path.is_symlink()]
    if checkpoints.folder.is_dir():
        checkpoints.remove()
        there.insert(0, checkpoints.folder)
    for path in files:
        path.unlink(missing_ok=True)
    return there


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keeps a second run out of the folder, until this one ends in whatever way."""
    with alone(folder) as first:
        if not first:
            raise BusyError(f"another run is writing into {folder}; wait for it, or name another with --out")
        yield
