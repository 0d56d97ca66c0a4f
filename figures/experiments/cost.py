"""Cost of an experiment in advance: floating-point operations, counted on a small batch, and GPU hours."""

from __future__ import annotations

from collections.abc import Sequence

from figures.experiments.experiment import Design, Line
from figures.experiments.sweep import SUSTAINED, OnlyPlannedError, Planned, plan_table
from figures.figure import Settings
from runs.cost import Cost, built_once, cost_of
from runs.plan import Build


def cost_of_line(line: Line, rounds: int, settings: Settings, build: Build | None = None) -> Cost:
    """Return the cost of one run of a line; arguments and errors as those of `cost_of`."""
    return cost_of(line.trial(rounds, (0,), line.options.get("learning_rate", 0.1)).plan(0, settings.place), build)


def announce_cost(designs: Design | Sequence[Design], settings: Settings, left_out: Sequence[str] = ()) -> None:
    """Report the cost of all runs of a figure, and what the paper leaves out, at the paper's scale or in a dry run.

    Args:
        designs: The experiment, in one design or several; designs without seeds only choose learning rates.
        settings: Folder of the data, and the function to notify.
        left_out: Settings that are not printed, with their sources.

    Raises:
        OnlyPlannedError: It is a dry run.
    """
    if settings.scale != "paper" and settings.slots is None:
        return
    every, build = [designs] if isinstance(designs, Design) else list(designs), built_once()
    planned = [runs for design in every for line in design.lines for runs in _plan(design, line, settings, build)]
    total = sum(line.runs * line.cost.operations for line in planned)
    hours = total / SUSTAINED / 3600
    settings.announce(
        f"{sum(design.runs for design in every)} runs of up to {max(design.rounds for design in every)} rounds: "
        f"{total:.1e} floating-point operations, about {hours:,.{0 if hours >= 1 else 2}f} GPU hours at "
        f"{SUSTAINED / 1e12:g} TFLOP/s sustained (assumed), evaluations not counted"
    )
    if any(len(design.rates) > 1 for design in every):
        settings.announce("learning rates that do about as well need runs beyond these, with a second seed")
        if settings.scale != "paper":
            settings.announce("a learning rate that is best at an end of those tried needs runs beyond these")
    for text in left_out:
        settings.announce(f"not printed: {text}")
    if settings.slots is not None:
        for text in plan_table(planned, settings.slots):
            settings.announce(text)
        raise OnlyPlannedError


def _plan(design: Design, line: Line, settings: Settings, build: Build) -> list[Planned]:
    """Return the runs of a line, and those that choose its learning rate."""
    cost = cost_of_line(line, design.rounds, settings, build)
    runs = [Planned(line.label, design.seeds, design.rounds, cost)] if design.seeds else []
    if line.tuned and len(design.rates) > 1:
        alike = design.tuning_rounds == design.rounds
        shorter = cost if alike else cost_of_line(line, design.tuning_rounds, settings, build)
        runs.insert(0, Planned(f"{line.label}: learning rates", len(design.rates), design.tuning_rounds, shorter))
    return runs
