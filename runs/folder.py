"""A run in a folder: settings, metrics of every round, the ledger, and the state to resume from.

The state holds all that a resumed run goes on from, the metrics of earlier rounds too; `metrics.csv` and `ledger.csv`
are written from it and never read.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from algorithms.federation import FederationError
from runs.catalogue import algorithm_of, executor_of, problem_of
from runs.run import steps
from runs.settings import OPTIONS, RunError, TrainSettings
from runs.storage import STATE, Saved, load, save
from workloads.files import require_writable, write_whole

SETTINGS, METRICS, LEDGER = "settings.json", "metrics.csv", "ledger.csv"
FILES = (STATE, METRICS, LEDGER, SETTINGS)
"""What a run writes, in the order in which it is removed: a folder that has settings and no state is free."""
SAVE_EVERY_SECONDS = 2.0
Progress = Callable[[dict[str, float]], None]
_ELSEWHERE = "name another folder with --out, or start anew with --force"


def train(
    algorithm: str,
    problem: str,
    settings: TrainSettings,
    folder: Path,
    progress: Progress | None = None,
    replace: Callable[[Sequence[Path]], None] | None = None,
) -> dict[str, float]:
    """Runs an algorithm on a problem into a folder, or goes on where a run of the same settings stood.

    A start that fails writes nothing, and a run without one saved round gives way to any other.

    Args:
        algorithm: Name of the algorithm.
        problem: Name of the problem.
        settings: Their settings.
        folder: Made if need be. A run that stands there is resumed; its rounds may be raised.
        progress: Told the metrics of every round.
        replace: Told the files of the run that stood in the folder, after they were removed; default: refuse.

    Returns:
        The last round's metrics.

    Raises:
        RunError: The run cannot start, or something else stands in the folder.
        FederationError: The run cannot go on.
        OSError: The folder cannot be written.
    """
    runner, executor = algorithm_of(algorithm, settings), executor_of(settings.executor)
    _require_files(folder)
    saved = _standing(folder, algorithm, problem, settings) if replace is None else None
    made = steps(
        problem_of(problem, settings), runner, rounds=settings.rounds, cohort=settings.cohort, seed=settings.seed,
        executor=executor, resume=(saved.state, saved.ledger) if saved else None,
    )  # fmt: skip
    first = next(made, None)
    folder.mkdir(parents=True, exist_ok=True)
    require_writable(folder)
    if replace is not None:
        replace(_removed(folder))
    named = _named(algorithm, problem, settings)
    write_whole({folder / SETTINGS: (json.dumps(named, indent=1) + "\n").encode()})
    rows = list(saved.rows) if saved else []
    write_whole({folder / METRICS: _table(rows).encode()})
    last_save = time.monotonic()
    try:
        with (folder / METRICS).open("a", newline="", encoding="utf-8") as stream:
            for step in chain([first] if first else [], made):
                stream.write(_table([step.metrics], header=not rows))
                stream.flush()
                rows.append(step.metrics)
                if progress is not None:
                    progress(step.metrics)
                number = step.state.round
                if number == settings.rounds or (number and time.monotonic() - last_save > SAVE_EVERY_SECONDS):
                    saved = Saved(step.state, step.ledger, rows)
                    save(folder, _identity(named), saved)
                    last_save = time.monotonic()
    except FederationError as error:
        kept = f"; {folder} keeps round {saved.state.round}" if saved else ""
        raise FederationError(f"{error}{kept}") from error
    assert saved is not None  # a run has a round at least, and its last one is saved
    write_whole({folder / LEDGER: _table([asdict(entry) for entry in saved.ledger.entries]).encode()})
    return rows[-1]


def stored_run(folder: Path) -> tuple[str, str, TrainSettings]:
    """Algorithm, problem and settings of the run that stands in a folder.

    Raises:
        RunError: There is none, or its settings cannot be read.
    """
    path = folder / SETTINGS
    if not path.exists():
        raise RunError(f"{folder} holds no run; leave --resume out to start one there")
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path} is no valid JSON; mend it, or start anew with --force") from error
    expected = {"algorithm", "problem", *OPTIONS}
    found = set(stored) if isinstance(stored, dict) else set()
    if found != expected:
        wrong = [f"lacks {', '.join(sorted(expected - found))}"] * bool(expected - found)
        wrong += [f"has the unknown {', '.join(sorted(found - expected))}"] * bool(found - expected)
        raise RunError(f"{path} {' and '.join(wrong)}; mend it, or start anew with --force")
    algorithm, problem = stored.pop("algorithm"), stored.pop("problem")
    try:
        settings = TrainSettings(**stored)
        if not isinstance(algorithm, str) or not isinstance(problem, str):
            raise RunError("algorithm and problem must be names")
    except RunError as error:
        raise RunError(f"{path}: {error}; mend it, or start anew with --force") from error
    return algorithm, problem, settings


def _standing(folder: Path, algorithm: str, problem: str, settings: TrainSettings) -> Saved | None:
    """Where a run of these settings stands in a folder; nothing where the folder is free."""
    there = [name for name in FILES if (folder / name).exists()]
    if not there:
        return None
    if SETTINGS not in there:
        raise RunError(f"{folder} holds {', '.join(there)} without {SETTINGS}; {_ELSEWHERE}")
    before, asked = _named(*stored_run(folder)), _named(algorithm, problem, settings)
    if STATE not in there:
        return None
    changed = [key for key in asked if key != "rounds" and before[key] != asked[key]]
    if changed:
        raise RunError(f"{folder} holds a run with other {', '.join(changed)}; {_ELSEWHERE}")
    if settings.rounds < before["rounds"]:
        raise RunError(
            f"{folder} holds a run of {before['rounds']} rounds, which can be raised and not lowered to "
            f"{settings.rounds}; {_ELSEWHERE}"
        )
    saved = load(folder, _identity(before))
    if saved.state.round > settings.rounds:
        raise RunError(f"{folder / STATE} stands at round {saved.state.round} of {settings.rounds}; {_ELSEWHERE}")
    return saved


def _require_files(folder: Path) -> None:
    for name in FILES:
        if (folder / name).is_dir():
            raise RunError(f"{folder / name} is a folder, where a run writes a file; name another folder with --out")


def _removed(folder: Path) -> list[Path]:
    """Removes what a run wrote, and nothing else."""
    there = [folder / name for name in FILES if (folder / name).is_file() or (folder / name).is_symlink()]
    for path in there:
        path.unlink()
    return there


def _named(algorithm: str, problem: str, settings: TrainSettings) -> dict[str, Any]:
    return {"algorithm": algorithm, "problem": problem, **asdict(settings)}


def _identity(named: Mapping[str, Any]) -> dict[str, Any]:
    """What makes a run this one and no other: all but its rounds."""
    return {key: value for key, value in named.items() if key != "rounds"}


def _table(rows: Sequence[Mapping[str, object]], header: bool = True) -> str:
    """Rows as comma-separated text."""
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        if header:
            writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()
