"""Runs of figures in parallel on the machines of a Ray cluster, and their cost in advance."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FunctionType

from figures.figure import Figure, Settings
from runs.cost import Cost, built_once, cost_of
from runs.experiments import Experiment, Outcome, Sweep, Trial, carry_out, require_replaceable
from runs.format import align_rows, format_bytes

SUSTAINED = 1e13
"""Assumed sustained operations per second of a GPU; small batches and images prevent more."""


class OnlyPlannedError(Exception):
    """The planned runs were announced, and nothing was run."""


@dataclass(frozen=True)
class Planned:
    """The runs of one line, and their cost.

    Attributes:
        label: Name of the line.
        runs: Number of runs.
        rounds: Rounds of each run.
        cost: Cost of each run.
    """

    label: str
    runs: int
    rounds: int
    cost: Cost


def sweep_of(settings: Settings) -> Sweep | None:
    """Return where the runs of a figure are made; None means here, one after the other."""
    if settings.pool is None:
        return None
    build = built_once()
    return Sweep(settings.pool, lambda trial: cost_of(trial.plan(trial.seeds[0], settings.place), build).operations)


def outcomes_of(experiment: Experiment, settings: Settings, before: str = "") -> list[Outcome]:
    """Return the outcomes of a figure's runs, after making those that its store lacks.

    Args:
        experiment: The runs.
        settings: Where they are, and where new ones are made.
        before: Start of each line on the progress.

    Raises:
        RunError, FederationError, DataError, OSError: As `runs.experiments.carry_out`.
    """
    assert settings.slots is None, "a figure tells what all of its runs cost before the first of them"
    if settings.replaces is not None:
        require_replaceable(experiment, settings.replaces)
    say = lambda text: settings.report(before + text)  # noqa: E731
    outcomes = carry_out(experiment, Path(settings.runs), settings.place, say, sweep_of(settings), settings.device)
    for outcome in outcomes:
        settings.name_run(outcome.run.folder)
    return outcomes


PLANNERS = ("announce_cost", outcomes_of.__name__)
"""Functions called by the modules of figures that need training runs."""


def require_run(trials: Sequence[Trial], settings: Settings) -> None:
    """Report the cost of all runs of a figure in a dry run, and end it.

    Raises:
        OnlyPlannedError: It is a dry run.
    """
    if settings.slots is not None:
        build = built_once()
        lines = [
            Planned(one.label, len(one.seeds), one.rounds, cost_of(one.plan(one.seeds[0], settings.place), build))
            for one in trials
        ]
        for text in plan_table(lines, settings.slots):
            settings.announce(text)
        raise OnlyPlannedError


def plan_table(lines: Sequence[Planned], slots: Sequence[str]) -> list[str]:
    """Return the table of runs by machine, longest first, as they are handed to the next free machine.

    Args:
        lines: Runs of the experiment's lines.
        slots: The machine of each processor, or share of a GPU, that makes a run at a time.
    """
    ordered = sorted(lines, key=lambda line: -line.cost.operations)
    busy = [0.0] * len(slots)
    rows = []
    for line in ordered:
        goes: dict[str, int] = {}
        for _ in range(line.runs):
            free = min(range(len(slots)), key=lambda slot: busy[slot])
            busy[free] += line.cost.operations
            goes[slots[free]] = goes.get(slots[free], 0) + 1
        rows.append(
            {
                "line": line.label,
                "runs": str(line.runs),
                "rounds": str(line.rounds),
                "operations of each": f"{line.cost.operations:.1e}",
                "GPU hours of each": _hours(line.cost.operations),
                "sent by each": format_bytes(line.cost.bytes),
                "goes to": ", ".join(f"{name} ({count})" for name, count in goes.items()),
            }
        )
    total = sum(line.runs * line.cost.operations for line in lines)
    sent = sum(line.runs * line.cost.bytes for line in lines)
    return [
        *align_rows(rows),
        f"{sum(line.runs for line in lines)} runs, {total:.1e} floating-point operations, {_hours(total)} GPU hours at "
        f"{SUSTAINED / 1e12:g} TFLOP/s sustained (assumed), {format_bytes(sent)} sent; {len(slots)} at a time: "
        f"{_hours(max(busy))} hours; evaluations are not counted, existing runs are",
    ]


def _hours(operations: float) -> str:
    hours = operations / SUSTAINED / 3600
    return f"{hours:,.{0 if hours >= 100 else 2 if hours >= 0.01 else 6}f}"


def needs_runs(figure: Figure) -> bool:
    """Return whether a figure's numbers come from training runs: its module, or one that it uses, plans them."""
    data = figure.data.func if isinstance(figure.data, partial) else figure.data
    module = vars(sys.modules[data.__module__])
    near = [module] + [
        vars(sys.modules[value.__module__])
        for value in module.values()
        if isinstance(value, FunctionType) and value.__module__.startswith("figures.")
    ]
    return any(name in names for names in near for name in PLANNERS)
