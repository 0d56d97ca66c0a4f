"""A run in a folder: its settings, a growing table of metrics, the ledger, and checkpoints to resume from."""

from __future__ import annotations

import errno
import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from dataclasses import replace as with_changes
from itertools import chain, islice
from pathlib import Path
from shlex import quote
from typing import Any

from algorithms.federation import Executor, FederationError, InterruptedWorkError
from algorithms.ledger import Entry, Ledger
from algorithms.resumable import Resumable, RoundProgress
from algorithms.rounds import Step, rounds
from algorithms.sequential import Sequential
from algorithms.weights import with_shape
from runs.checkpoints import Checkpoint, Checkpoints
from runs.estimate import estimate
from runs.folder_files import (
    BOARD,
    CHECKPOINTS,
    LEDGER,
    LOG,
    METRICS,
    SPECTRUM,
    is_own_table,
    naming_foreign,
    require_free,
    require_log,
    require_own_files,
    require_plain_files,
    require_removable,
)
from runs.index import SETTINGS
from runs.plan import (
    Given,
    Parts,
    Plan,
    code_of,
    describe_environment_changes,
    earlier_digest,
    given_of,
    is_edited,
    parts_of,
    read_run,
    require_same_given,
    require_writable_settings,
    write_plan,
)
from runs.settings import ANEW, ELSEWHERE, Conduct, Remedy, RunError
from runs.spectrum import SpectrumTable
from runs.stored import named_types
from runs.tables import Mark, Table, read_marked, rows_of
from runs.tracking import OnRound, guard
from workloads.files import require_writable, write_whole
from workloads.processes.locks import LOCK, lock_folder
from workloads.progress import WORTH_SAYING
from workloads.written import RECORD, FolderRecord, ForeignFileError

SHARE_OF_TIME = 0.05
"""Share of a run's time that checkpoints may take, unless the rounds are over."""
Metrics = dict[str, Any]
Progress = Callable[[Metrics], None]


class BusyError(RunError):
    """Another process trains in the folder."""


def train(
    plan: Plan,
    folder: Path,
    progress: Progress | None = None,
    replace: Callable[[Sequence[Path]], None] | None = None,
    say: Callable[[str], None] = lambda text: None,
    parts: Parts | None = None,
    foretell: Callable[[str], None] | None = None,
    on_round: OnRound | None = None,
) -> Metrics:
    """Train a run into a folder, or resume the run of the same settings there.

    A start that fails does not write anything. Any run may replace a run that never had a checkpoint. Files that no run
    wrote, or that were changed later, are neither replaced nor removed.

    Args:
        plan: The run, from names and numbers.
        folder: Folder of the run, made if needed. A run in it is resumed; its number of rounds may be raised.
        progress: Called with the metrics of every round.
        replace: Called with the files removed from an earlier run, after the first round; without it an earlier run is
            an error.
        say: Called with each line that a user should know.
        parts: Algorithm, problem and executor of the run; default: built from the plan.
        foretell: Called with what a problem decided by itself, and with an estimate of the time, if that is worth
            saying; without it nothing is timed.
        on_round: A tracker, called after every round; see `runs.tracking`. A resumed run does not report rounds again
            that are in the table of metrics. If the tracker raises, `say` is called once, and the run continues.

    Returns:
        The last round's metrics.

    Raises:
        BusyError: Another process trains in the folder.
        RunError: The run cannot start or resume, or the folder holds something else.
        FederationError: A round failed; the message says which round the folder keeps.
        OSError: The folder cannot be written.
    """
    require_plain_files(folder)
    parts = parts or parts_of(plan)
    with ExitStack() as stack:
        stack.callback(getattr(parts.executor, "close", lambda: None))
        locked = folder.is_dir()
        if locked:
            stack.enter_context(_lock(folder))
        earlier = earlier_digest(folder)
        checkpoints = checkpoints_of(plan, parts, folder, earlier)
        given = given_of(parts.problem)
        spectrum = SpectrumTable.of(plan, parts, folder / SPECTRUM, say)
        if replace is None:
            require_log(folder)
            before, tables, known = _read_standing(folder, plan, parts, given, checkpoints, say)
            given = {**known, **given}  # what cannot be read this time is compared again the next time
        else:
            before, tables = None, {}
            require_own_files(folder, checkpoints)
        if before and hasattr(parts.executor, "leave_out"):
            parts.executor.leave_out(before.left_out)
        if before and before.suspects and hasattr(parts.executor, "suspect"):
            parts.executor.suspect(before.suspects)
        recorder = None
        if type(parts.executor) is Sequential:  # workers hold a part of what a round is resumed from
            before, within = _read_progress(checkpoints, before, say) if before else (None, None)
            recorder = Resumable(within)
        if on_round is not None:
            resumed = replace is None and (before is not None or earlier == plan.digest)
            report = guard(on_round, plan, folder, say, _last_written(folder) if resumed else -1)
            progress = report if progress is None else _both(progress, report)
        ledger = Ledger(Entry(**row) for row in rows_of(tables[LEDGER])) if before else Ledger()
        made = rounds(
            parts.algorithm,
            parts.problem,
            rounds=plan.conduct.rounds,
            cohort=plan.settings["cohort"],
            seed=plan.settings["seed"],
            executor=recorder or parts.executor,
            resume=(before.state, ledger) if before else None,
            evaluate_every=plan.conduct.evaluate_every,
            aligned=plan.settings["alignment"],
        )
        early: list[str] = []
        if hasattr(parts.executor, "say"):
            parts.executor.say = _keep_in(early, say)
        asked = time.monotonic()
        begun = [] if before else [next(made)]
        if foretell is not None:
            for note in getattr(parts.problem, "notes", ()) if begun else ():
                foretell(note)
            evaluated = time.monotonic() - asked if begun else None
            expected = estimate(plan, parts, before.state.round if before else 0, evaluated)
            if expected is not None and expected.seconds >= WORTH_SAYING:
                foretell(str(expected))
        if begun:
            checkpoints.require_storable(begun[0].state)
        require_writable(folder)
        if not locked:
            stack.enter_context(_lock(folder))
            if os.path.lexists(folder / SETTINGS):
                raise BusyError(f"another run has begun in {folder}", ELSEWHERE)
        if replace is not None:
            begun += _first_round(made, folder)
            require_own_files(folder, checkpoints)
            replace(_remove_run_files(folder, checkpoints))
        elif before is None:
            _remove_run_files(folder, checkpoints)  # the start of a run that never had a checkpoint
        record = FolderRecord(folder)
        with naming_foreign():
            write_plan(folder, plan, given, earlier if before and earlier != plan.digest else None, bool(before))
            record.note([(name, None, "") for name in (METRICS, LEDGER)] if not before else [])
        if hasattr(parts.executor, "say"):
            parts.executor.say = _log_to(folder, say, early)
        writer = stack.enter_context(
            _Writer(folder, tables, checkpoints, plan.conduct, before, ledger, parts.executor, recorder, say, spectrum)
        )
        return writer.follow(begun, made, progress)


def _last_written(folder: Path) -> int:
    """Return the last round in the table of metrics, which may be after the last checkpoint; -1 without one."""
    path = folder / METRICS
    data = path.read_bytes() if path.exists() else b""
    with suppress(LookupError, ValueError):
        return int(rows_of(data[: data.rfind(b"\n") + 1])[-1]["round"])
    return -1


def _both(first: Progress, second: Progress) -> Progress:
    """Return a function that calls both."""

    def report(metrics: Metrics) -> None:
        first(metrics)
        second(metrics)

    return report


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
        recorder: Resumable | None,
        say: Callable[[str], None],
        spectrum: SpectrumTable | None,
    ) -> None:
        self._executor, self._recorder, self._say, self._spectrum = executor, recorder, say, spectrum
        self._folder, self._checkpoints, self._conduct = folder, checkpoints, conduct
        with naming_foreign():
            self._metrics = Table(folder / METRICS, before=tables.get(METRICS))
            self._ledger = Table(folder / LEDGER, tuple(Entry.__annotations__), tables.get(LEDGER))
        self._travelled = len(ledger.entries)
        self._kept: int | None = before.state.round if before else None
        self._step: Step | None = None
        self._within = 0
        self._last: Metrics = rows_of(tables[METRICS])[-1] if before else {}
        self._started = time.monotonic() - (before.seconds if before else 0.0)
        self._written = self._kept or 0
        self._saved_at, self._cost = time.monotonic(), 0.0
        self._saved_within_at, self._cost_within = time.monotonic(), 0.0
        if recorder is not None:
            recorder.recorded = self._save_within_if_due
        if before is not None and spectrum is not None:
            with self._writing():
                spectrum.resume(before.state)

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._note()
        self._metrics.close()
        self._ledger.close()

    def _note(self) -> dict[str, Mark]:
        """Return the marks of the tables, after adding them to the folder's record."""
        marks = {table.path.name: table.mark() for table in (self._metrics, self._ledger)}
        FolderRecord(self._folder).note([(name, mark.length, mark.sha256) for name, mark in marks.items()])
        return marks

    def follow(self, begun: Sequence[Step], steps: Iterator[Step], progress: Progress | None) -> Metrics:
        """Write the start and every round. If the run ends early, for any reason, the finished rounds are kept."""
        try:
            for step in chain(begun, steps):
                self._step = step
                self._write(step, progress)
                number = step.state.round
                if number and (number == self._conduct.rounds or self._checkpoints.is_kept(number) or self._is_time()):
                    self._save(step)
        except _UnwritableError:
            raise
        except BaseException as error:
            with suppress(_UnwritableError):
                if not isinstance(error, FederationError):
                    self._save_within()
                if self._step is not None and self._step.state.round == self._written > (self._kept or 0):
                    self._save(self._step)
            if isinstance(error, FederationError) and self._kept:
                again = f"; continue with {self._resume}" if isinstance(error, InterruptedWorkError) else ""
                raise type(error)(f"{error}; {self._keeps}{again}") from error
            if not isinstance(error, Exception):  # the user or the system ends the process
                saved = self._kept is not None
                error.add_note(f"{self._keeps}{f'; continue with {self._resume}' if saved else ''}")
            raise
        return self._last

    def _write(self, step: Step, progress: Progress | None) -> None:
        with self._writing():
            self._metrics.append([step.metrics])
            self._ledger.append([asdict(entry) for entry in step.ledger.entries[self._travelled :]])
        self._travelled = len(step.ledger.entries)
        self._last, self._written = step.metrics, step.state.round
        if self._spectrum is not None:
            with self._writing():
                self._spectrum.measure(step.state)
        if progress is not None:
            progress(step.metrics)

    def _is_time(self) -> bool:
        passed = time.monotonic() - self._saved_at
        return passed > self._conduct.save_every and passed * SHARE_OF_TIME >= self._cost

    def _save_within_if_due(self) -> None:
        passed = time.monotonic() - max(self._saved_at, self._saved_within_at)
        if passed > self._conduct.save_in_round and passed * SHARE_OF_TIME >= self._cost_within:
            self._save_within()

    def _save_within(self) -> None:
        """Save the progress of the round, after the checkpoint of the round before if that is not saved yet."""
        progress = None if self._recorder is None else self._recorder.progress
        if progress is None or progress.round != self._written + 1:
            return
        started = time.monotonic()
        if self._step is not None and self._kept != self._written:
            self._save(self._step)
        try:
            with self._writing():
                self._checkpoints.save_within(progress, started - self._started)
        except _UnwritableError:
            raise
        except RunError as error:  # the state before and after the round can be stored
            self._recorder = None
            self._say(f"within rounds no checkpoint is written, because {error}")
            return
        self._within = progress.round
        self._saved_within_at = time.monotonic()
        self._cost_within = self._saved_within_at - started

    def _save(self, step: Step) -> None:
        started = time.monotonic()
        with self._writing():
            left_out, suspects = (getattr(self._executor, name, {}) for name in ("left_out", "suspects"))
            self._checkpoints.save(Checkpoint(step.state, self._note(), started - self._started, left_out, suspects))
        self._kept = step.state.round
        self._saved_at = time.monotonic()
        self._cost = self._saved_at - started

    @property
    def _resume(self) -> str:
        """The command that resumes the run."""
        return getattr(self._executor, "again", f"`rankproof train --resume {quote(str(self._folder))}`")

    @property
    def _keeps(self) -> str:
        whole = f"round {self._kept}" if self._kept else "no round" if self._kept is None else "the start"
        part = f" and a part of round {self._within}" if self._within == self._written + 1 else ""
        return f"{self._folder} keeps {whole}{part}"

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turn errors of writing into one that says which round is kept."""
        try:
            yield
        except ForeignFileError as error:
            raise _UnwritableError(
                f"{error.filename}: {error.strerror}; {self._keeps}; move that file away, then continue with "
                f"{self._resume}"
            ) from error
        except OSError as error:
            raise _UnwritableError(
                f"cannot write {error.filename or self._folder}: {error.strerror or error}; {self._keeps}; free "
                f"some space, then continue with {self._resume}"
            ) from error


class _UnwritableError(RunError):
    """The folder cannot be written."""


def _first_round(steps: Iterator[Step], folder: Path) -> list[Step]:
    """Return the first round, before the earlier run in the folder is removed for it."""
    try:
        return list(islice(steps, 1))
    except FederationError as error:
        there = (folder / SETTINGS).exists()
        raise FederationError(f"{error}; {folder} still holds the previous run" if there else str(error)) from error


def _read_progress(
    checkpoints: Checkpoints, before: Checkpoint, say: Callable[[str], None]
) -> tuple[Checkpoint, RoundProgress | None]:
    """Return a checkpoint with the wall time until now, and the progress of the round after it, if there is any."""
    try:
        found = checkpoints.load_within(before.state.round + 1)
    except RunError as error:
        say(f"{error.cause}; resuming from round {before.state.round}")
        return before, None
    if found is None:
        return before, None
    progress, seconds = found
    say(f"resuming within {progress}")
    return with_changes(before, seconds=seconds), progress


def checkpoints_of(plan: Plan, parts: Parts, folder: Path, earlier: str | None = None) -> Checkpoints:
    """Return the checkpoints of a run in its folder; an earlier version may have begun it under another digest."""
    start = next(iter(parts.problem.start.values()))
    module = sys.modules[type(parts.algorithm).__module__]
    kinds = named_types(module)
    edited = folder / SETTINGS if (folder / SETTINGS).exists() and is_edited(folder) else None
    keep_every = plan.conduct.keep_every
    return Checkpoints(folder / CHECKPOINTS, plan.digest, kinds, start.device, earlier, keep_every, edited)


def _read_standing(
    folder: Path, plan: Plan, parts: Parts, given: Given, checkpoints: Checkpoints, say: Callable[[str], None]
) -> tuple[Checkpoint | None, dict[str, bytes], Given]:
    """Return the checkpoint, the tables and the given facts of this plan's run in a folder; empty if it is free."""
    if not ((folder / SETTINGS).exists() and checkpoints.exist):
        require_free(folder, checkpoints)
        return None, {}, {}
    run = read_run(folder, code_of(plan.algorithm, plan.problem, plan.settings))
    changed = plan.changed_names(run.plan)
    if changed and plan.digest in checkpoints.runs() and is_edited(folder):
        raise RunError(
            f"{folder / SETTINGS} has been changed since rankproof wrote it: it has other {', '.join(changed)} than "
            f"the checkpoints",
            "restore it from a copy",
            ELSEWHERE,
        )
    if changed:
        raise RunError(f"{folder} holds a run with other {', '.join(changed)}", ELSEWHERE, ANEW)
    if plan.conduct.rounds < run.plan.conduct.rounds:
        raise RunError(
            f"{folder} holds a run of {run.plan.conduct.rounds} rounds; the number can be raised but not lowered to "
            f"{plan.conduct.rounds}",
            Remedy(
                f"give --rounds {run.plan.conduct.rounds} or more",
                f"set rounds to {run.plan.conduct.rounds} or more in the app's config",
            ),
            ELSEWHERE,
            ANEW,
        )
    found, wrong = checkpoints.load()
    require_writable_settings(folder, plan, run)
    if missing := [name for name in (METRICS, LEDGER) if not (folder / name).exists()]:
        raise RunError(f"{folder} holds the checkpoints of a run, without its {' and '.join(missing)}", ELSEWHERE, ANEW)
    if found.state.round > plan.conduct.rounds:
        raise RunError(f"{folder} holds round {found.state.round} of {plan.conduct.rounds}", ELSEWHERE, ANEW)
    if set(found.marks) != {METRICS, LEDGER}:
        raise RunError(f"{checkpoints.folder} has a checkpoint that refers to tables that no run has", ELSEWHERE, ANEW)
    require_same_given(folder, run, given)  # first, because another network has other weights, too
    require_state(parts, found.state.algorithm, checkpoints.folder)
    for text in (*wrong, *describe_environment_changes(plan, run)):
        say(f"{text}; resuming from round {found.state.round}")
    tables = {name: read_marked(folder / name, mark) for name, mark in found.marks.items()}
    for name, before in tables.items():
        if not is_own_table(folder / name, Mark(len(before), hashlib.sha256(before).hexdigest())):
            raise RunError(
                f"{folder / name} contains rows that no run wrote after round {found.state.round}",
                "move that away",
                ELSEWHERE,
            )
    rows = rows_of(tables[METRICS])
    if not rows or rows[-1]["round"] != found.state.round:
        raise RunError(
            f"{checkpoints.folder} has a checkpoint of round {found.state.round} that marks another round of {METRICS}",
            "restore it from a copy",
            ELSEWHERE,
        )
    longer = [name for name, before in tables.items() if (folder / name).stat().st_size > len(before)]
    if longer and not wrong:  # otherwise a line has already named the round from which the run goes on
        say(
            f"{' and '.join(longer)} of {folder}: removing the rows after round {found.state.round}, the last "
            f"with a checkpoint"
        )
    return found, tables, run.given


def require_state(parts: Parts, state: Any, place: Path) -> None:
    """Check that a stored state belongs to the algorithm and has the weights of the problem.

    Args:
        parts: Algorithm and problem of the run.
        state: State of the algorithm.
        place: Folder of the checkpoints, for the message.

    Raises:
        RunError: It is another.
    """
    through_factors = getattr(parts.problem, "takes_values", False) and hasattr(parts.algorithm, "values")
    weights: Any = parts.algorithm.values if through_factors else parts.algorithm.weights  # type: ignore[attr-defined]
    shapes = {name: tuple(weight.shape) for name, weight in parts.problem.start.items()}
    try:  # factors alone do not show a kernel's shape: a weight fits where its factors make one of that shape
        found = {name: tuple(with_shape(weight, shapes[name]).shape) for name, weight in weights(state).items()}
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        found = {}
    if found != shapes:
        raise RunError(f"{place} has a checkpoint without the weights of this run; restore it from a copy")


def _keep_in(lines: list[str], say: Callable[[str], None]) -> Callable[[str], None]:
    """Return `say` so that it also adds to a list what is said before the run has a log."""

    def both(text: str) -> None:
        say(text)
        lines.append(text)

    return both


def _log_to(folder: Path, say: Callable[[str], None], early: Sequence[str] = ()) -> Callable[[str], None]:
    """Return `say` so that it also writes into the run's log, whose faults do not end the run.

    Args:
        folder: Folder of the run.
        say: Tells the user a line.
        early: Lines that were said before, for the log only.
    """
    path, record = folder / LOG, FolderRecord(folder)

    def write(text: str) -> None:
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n".encode()
        try:
            if path.is_symlink() or (path.exists() and not path.is_file()):
                raise FileExistsError(errno.EEXIST, "it is not a file", str(path))
            before = path.read_bytes() if path.exists() else b""
            if not path.exists() or record.owns(path):
                record.write({path: before + line})
            else:  # what a user wrote into it stays, and the record does not take it for the run's
                write_whole({path: before + (b"" if before.endswith(b"\n") or not before else b"\n") + line})
        except OSError as error:
            said = error.strerror or error
            say(f"cannot write {error.filename or path}: {said}; the run goes on, but its log lacks the line before")

    def both(text: str) -> None:
        say(text)
        write(text)

    for text in early:
        write(text)
    return both


def _remove_run_files(folder: Path, checkpoints: Checkpoints) -> list[Path]:
    """Remove the files that a run wrote, and only these."""
    record, removed = FolderRecord(folder), []
    if checkpoints.exist:
        checkpoints.remove()
        removed.append(checkpoints.folder)
    own = [folder / name for name in (METRICS, LEDGER, SETTINGS)]
    for path in [path for path in own if path.exists() and not path.is_symlink()]:
        path.unlink()
        removed.append(path)
    events = sorted((folder / BOARD).glob("events.out.tfevents.*"))
    return [*removed, *record.remove([folder / LOG, folder / SPECTRUM, *events])]


def remove_run(folder: Path) -> None:
    """Remove the folder of a run, unless it holds files that no run wrote.

    Raises:
        RunError: There is such a file or folder; the message names it, and nothing is removed.
    """
    require_removable(folder)
    checkpoints, record = Checkpoints(folder / CHECKPOINTS, "", {}), FolderRecord(folder)
    _remove_run_files(folder, checkpoints)
    for place in (folder, folder / CHECKPOINTS):
        record.remove_scratch(place)
    for name in (RECORD, LOCK):
        (folder / name).unlink(missing_ok=True)
    for place in (folder / BOARD, folder / CHECKPOINTS, folder):
        with suppress(OSError):
            place.rmdir()


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Lock the folder against a second run until this one ends, however it ends."""
    with lock_folder(folder) as first:
        if not first:
            raise BusyError(f"another run is writing into {folder}", "wait for it", ELSEWHERE)
        yield
