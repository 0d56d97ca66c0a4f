"""Trackers of runs, such as Weights & Biases: a function that is called after every round."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rmt.results import Result
from runs.plan import Plan


@dataclass(frozen=True, eq=False)
class RoundReport(Result):
    """A finished round, as a tracker receives it.

    Attributes:
        round: Number of the round; 0 is the start.
        metrics: Numbers by name, as the row of `metrics.csv` has them: loss, accuracy, bytes_up and others.
        settings: Algorithm, problem and every setting of the run, by name.
        folder: Folder of the run; its name is the same when the run resumes.
    """

    round: int
    metrics: Mapping[str, Any]
    settings: Mapping[str, Any]
    folder: Path


OnRound = Callable[[RoundReport], object]


def guard(
    on_round: OnRound, plan: Plan, folder: Path, say: Callable[[str], None], after: int = -1
) -> Callable[..., None]:
    """Return a function that takes the metrics of every round and reports new rounds to a tracker.

    The tracker gets copies, so it cannot change the run. If it fails, one line says so, and later rounds are still
    reported.

    Args:
        on_round: The tracker.
        plan: The run.
        folder: Folder of the run.
        say: Called with the line about a failure.
        after: Last round that was reported before the run stopped; -1 for a new run.
    """
    settings = {"algorithm": plan.algorithm, "problem": plan.problem, **plan.settings}
    failed: list[Exception | SystemExit] = []

    def report(metrics: Mapping[str, Any]) -> None:
        if metrics["round"] <= after:
            return
        try:
            on_round(RoundReport(metrics["round"], dict(metrics), dict(settings), folder))
        except (Exception, SystemExit) as error:
            if not failed:
                say(f"the tracker failed in round {metrics['round']} ({_describe(error)}); the run continues")
            failed.append(error)

    return report


def _describe(error: BaseException) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__} in {Path(frame.filename).name}, line {frame.lineno}{': ' if text else ''}{text}"
