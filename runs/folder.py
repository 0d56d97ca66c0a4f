"""A run in a folder: settings, metrics of every round, the ledger, and the state to resume from."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from algorithms.federation import FederationError
from runs.catalogue import TrainSettings, algorithm_of, executor_of, problem_of
from runs.run import Step, steps
from runs.storage import load, save
from workloads.files import require_writable, write_whole

SETTINGS, METRICS, LEDGER = "settings.json", "metrics.csv", "ledger.csv"
SAVE_EVERY_SECONDS = 2.0
Progress = Callable[[dict[str, float]], None]


def train(
    algorithm: str, problem: str, settings: TrainSettings, folder: Path, progress: Progress | None = None
) -> dict[str, float]:
    """Runs an algorithm on a problem into a folder, or goes on where a run of the same settings stood.

    Args:
        algorithm: Name of the algorithm.
        problem: Name of the problem.
        settings: Their settings.
        folder: Made if need be. A run that stands there is resumed; its rounds may be raised.
        progress: Told the metrics of every round.

    Returns:
        The last round's metrics.

    Raises:
        FederationError: The run cannot go on, or another run stands in the folder.
        OSError: The folder cannot be written.
    """
    runner, given = algorithm_of(algorithm, settings), problem_of(problem, settings)
    executor = executor_of(settings.executor)
    folder.mkdir(parents=True, exist_ok=True)
    require_writable(folder)
    named = {"algorithm": algorithm, "problem": problem, **asdict(settings)}
    before = _stored_settings(folder)
    if before is not None and {**before, "rounds": 0} != {**named, "rounds": 0}:
        changed = [key for key in named if key != "rounds" and before.get(key) != named[key]]
        raise FederationError(f"{folder} holds a run with other {', '.join(changed)}; name another folder")
    write_whole({folder / SETTINGS: (json.dumps(named, indent=1) + "\n").encode()})
    resume = load(folder) if before is not None and (folder / "state.pt").exists() else None
    rows = _rows_up_to(folder / METRICS, resume[0].round) if resume else []
    write_whole({folder / METRICS: _table(rows).encode()})
    last: Step | None = None
    saved = time.monotonic()
    with (folder / METRICS).open("a", newline="", encoding="utf-8") as stream:
        for step in steps(
            given, runner, rounds=settings.rounds, cohort=settings.cohort, seed=settings.seed, executor=executor,
            resume=resume,
        ):  # fmt: skip
            stream.write(_table([step.metrics], header=not rows and last is None))
            stream.flush()
            last = step
            if progress is not None:
                progress(step.metrics)
            if time.monotonic() - saved > SAVE_EVERY_SECONDS:
                save(folder, step.state, step.ledger)
                saved = time.monotonic()
    if last is None:
        return {key: float(value) for key, value in rows[-1].items()}
    save(folder, last.state, last.ledger)
    write_whole({folder / LEDGER: _table([asdict(entry) for entry in last.ledger.entries]).encode()})
    return last.metrics


def stored_run(folder: Path) -> tuple[str, str, TrainSettings]:
    """Algorithm, problem and settings of the run that stands in a folder.

    Raises:
        FederationError: There is none.
    """
    stored = _stored_settings(folder)
    if stored is None:
        raise FederationError(f"{folder} holds no run; leave --resume out to start one there")
    algorithm, problem = stored.pop("algorithm"), stored.pop("problem")
    return str(algorithm), str(problem), TrainSettings(**stored)


def _stored_settings(folder: Path) -> dict[str, Any] | None:
    path = folder / SETTINGS
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _rows_up_to(path: Path, last: int) -> list[dict[str, str]]:
    """Rows of rounds whose state was saved; later ones are computed again."""
    with path.open(newline="", encoding="utf-8") as stream:
        return [row for row in csv.DictReader(stream) if float(row["round"]) <= last]


def _table(rows: Sequence[Mapping[str, object]], header: bool = True) -> str:
    """Rows as comma-separated text."""
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        if header:
            writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()
