"""The picture of the learning curves: a panel for each algorithm, a row for each family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from figures.style import BLUE, VERMILION, WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

COLOURS: Mapping[str, str] = {"mnist": BLUE, "fashion-mnist": VERMILION}
LINES: Mapping[str, Any] = {"IID": "-", "Dirichlet": (0, (3, 1.5))}
NAMES: Mapping[str, str] = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST"}
COLUMNS = 5
"""Largest number of algorithms in one row, regardless of their families."""


def draw_panels(table: DataFrame, rows: Mapping[str, tuple[str, ...]]) -> Picture:
    """Draw test accuracy by round: the mean over the seeds, the range over the seeds, and constant answers.

    Args:
        table: Rows of the stage `curve`.
        rows: Labels of the algorithms by the names of the rows; those without numbers are left out.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    there = set(table.method)
    shown = {name: [label for label in labels if label in there] for name, labels in rows.items()}
    shown = {name: labels for name, labels in shown.items() if labels}
    if len(there) <= COLUMNS:
        shown = {"": [label for labels in shown.values() for label in labels]}
    columns = max(map(len, shown.values()))
    picture = Figure(figsize=(WIDTH, 1.1 + 1.4 * len(shown)))
    grid = picture.subplots(len(shown), columns, sharex=True, sharey=True, squeeze=False)
    for line, (name, labels) in zip(grid, shown.items(), strict=True):
        for axes, label in zip(line, labels, strict=False):
            _panel(axes, table[table.method == label])
            axes.set_title(label, fontsize=8)
        for axes in line[len(labels) :]:
            axes.set_axis_off()
        line[0].set_ylabel(f"{name}\ntest accuracy (%)".strip(), fontsize=7.5)
    for column in range(columns):
        lowest = max(number for number, labels in enumerate(shown.values()) if len(labels) > column)
        grid[lowest, column].set_xlabel("round")
        grid[lowest, column].xaxis.set_tick_params(labelbottom=True)
    grid[0, 0].set(ylim=(0, 100), yticks=(0, 25, 50, 75, 100), xlim=(0, table["round"].max()))
    grid[0, 0].xaxis.set_major_locator(MaxNLocator(4, integer=True))
    picture.legend(*_legend(table), loc="outside lower center", ncols=3)
    return picture


def _panel(axes: Any, mine: DataFrame) -> None:
    for (data, split), part in mine.groupby(["data", "split"], sort=False):
        style = {"color": COLOURS[str(data)], "linestyle": LINES[str(split)]}
        by_round = 100 * part.groupby("round").accuracy.agg(["mean", "min", "max"])
        axes.plot(by_round.index, by_round["mean"], linewidth=1.2, **style)
        axes.fill_between(by_round.index, by_round["min"], by_round["max"], color=style["color"], alpha=0.18, lw=0)
        axes.axhline(100 * part.constant.mean(), color="0.45", linewidth=0.8, linestyle=":")
    rates = ", ".join(f"{rate:g}" for rate in sorted(set(mine.rate)))
    axes.text(0.96, 0.26, rf"$\eta={rates}$", transform=axes.transAxes, ha="right", fontsize=7)


def _legend(table: DataFrame) -> tuple[list[Any], list[str]]:
    from matplotlib.lines import Line2D

    cases = list(dict.fromkeys(zip(table.data, table.split, strict=True)))
    lines = [Line2D([], [], color=COLOURS[data], linestyle=LINES[split]) for data, split in cases]
    names = [f"{NAMES[data]}, {split}" for data, split in cases]
    return [*lines, Line2D([], [], color="0.45", linestyle=":")], [*names, "best constant answer"]
