"""Curves of accuracy by communication round: a column for each number of clients, a row for each start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from figures.rolora.fig2_runs import STARTS
from figures.style import BLUE, GREEN, VERMILION, WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

LOOKS: dict[str, tuple[str, Any, str]] = {
    "LoRA": (VERMILION, "-", "s"),
    "FFA-LoRA": (GREEN, "--", "^"),
    "RoLoRA": (BLUE, "-", "o"),
}
CONSTANT = 10.0
"""Accuracy of a constant answer with ten labels, in per cent."""


def draw_curves(table: DataFrame) -> Picture:
    """Draw the means over the seeds, with a band from the smallest to the largest.

    Args:
        table: Runs, with the columns start, clients, method, seed, round and value.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    starts = [start for start in STARTS if start in set(table.start)]
    numbers = sorted(set(table.clients))
    picture = Figure(figsize=(WIDTH, 1.0 + 1.75 * len(starts)))
    grid = picture.subplots(len(starts), len(numbers), sharex=True, sharey=True, squeeze=False)
    for line, start in zip(grid, starts, strict=True):
        for axes, clients in zip(line, numbers, strict=True):
            _panel(axes, table[(table.start == start) & (table.clients == clients)])
            axes.set_title(f"{clients} clients: {start}", fontsize=8.5)
        line[0].set_ylabel("test accuracy (%)")
    for axes in grid[-1]:
        axes.set_xlabel("communication round")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    grid[0, 0].set(ylim=(0, 100), yticks=(0, 25, 50, 75, 100), xlim=(0, table["round"].max()))
    picture.legend(*_legend(), loc="outside lower center", ncols=4)
    return picture


def _panel(axes: Any, mine: DataFrame) -> None:
    axes.axhline(CONSTANT, color="0.45", linewidth=0.8, linestyle=":")
    for method, part in mine.groupby("method", sort=False):
        colour, dashes, marker = LOOKS[str(method)]
        by_round = 100 * part.groupby("round").value.agg(["mean", "min", "max"])
        axes.plot(by_round.index, by_round["mean"], color=colour, linestyle=dashes, marker=marker, markersize=3)
        axes.fill_between(by_round.index, by_round["min"], by_round["max"], color=colour, alpha=0.15, lw=0)


def _legend() -> tuple[list[Any], list[str]]:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=c, linestyle=s, marker=m, markersize=3) for c, s, m in LOOKS.values()]
    return [*lines, Line2D([], [], color="0.45", linestyle=":")], [*LOOKS, "constant answer"]
