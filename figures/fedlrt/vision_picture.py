"""The picture of FeDLRT against training all weights, by number of clients: savings and accuracies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from figures.fedlrt.vision_runs import VARIANTS, method_name
from figures.style import BLUE, ORANGE, VERMILION, WIDTH
from runs.listing import paired_difference

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame


def draw_rows(ends: DataFrame, saved: DataFrame) -> Picture:
    """Draw a row for each variant of FeDLRT.

    Args:
        ends: Final values of all runs.
        saved: Communication saved by each run of FeDLRT.
    """
    from matplotlib.figure import Figure

    rows = [row for row in VARIANTS if row in set(ends.method)]
    picture = Figure(figsize=(WIDTH, 0.9 + 1.7 * len(rows)))
    grid = picture.subplots(len(rows), 2, sharex=True, squeeze=False)
    for (left, right), row in zip(grid, rows, strict=True):
        mine = saved[saved.method == row]
        _errors(left, mine, "of_layers", BLUE, "o-", "factorised layers")
        _errors(left, mine, "saved", BLUE, "o:", "all weights", open=True)
        other = VARIANTS[row][1]
        failed = sorted(set(ends[ends.method.isin((row, other)) & (ends.failed > 0)].clients))
        if failed:
            at = right.get_xaxis_transform()
            right.plot(
                failed, [0.04] * len(failed), "x", color=VERMILION, markersize=7, transform=at, label="a run failed"
            )
        left.axhline(0.0, color="black", linewidth=0.6)
        left.set_ylabel(f"saved against {other} (%)", fontsize=8.5)
        left.set_title(f"FeDLRT {method_name(row)}", fontsize=8.5)
        _errors(right, ends[ends.method == row], "value", BLUE, "o-", "FeDLRT")
        _errors(right, ends[ends.method == other], "value", ORANGE, "s--", other)
        right.set(ylabel="test accuracy (%)")
        for axes in (left, right):
            axes.set_xscale("log", base=2)
            axes.legend(loc="best")
    numbers = sorted(set(ends.clients))
    for axes in grid[-1]:
        axes.set_xlabel("clients C")
        axes.set_xticks(numbers, [str(number) for number in numbers])
    least = min(0.0, *(axes.get_ylim()[0] for axes in grid[:, 0]))
    for axes in grid[:, 0]:
        axes.set_ylim(least, 100)
    lows = [axes.get_ylim()[0] for axes in grid[:, 1]]
    highs = [axes.get_ylim()[1] for axes in grid[:, 1]]
    for axes in grid[:, 1]:
        axes.set_ylim(min(lows), max(highs))
    return picture


def _errors(axes: Any, table: DataFrame, column: str, colour: str, line: str, label: str, open: bool = False) -> None:
    groups = [(number, [100 * value for value in of[column].dropna()]) for number, of in table.groupby("clients")]
    groups = [(number, values) for number, values in groups if values]
    found = [paired_difference(values) for _, values in groups]
    axes.errorbar(
        [number for number, _ in groups],
        [mean for mean, _ in found],
        yerr=[half or 0.0 for _, half in found],
        fmt=line,
        color=colour,
        label=label,
        markerfacecolor="white" if open else colour,
        linewidth=1.2,
    )
