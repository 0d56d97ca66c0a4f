"""The picture of the comparison of methods: accuracy by bytes, error by round, time of a round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from figures.experiments.experiment import RUN
from figures.style import SERIES, WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

LABEL = 6.5
"""Font size of the numbers of methods."""
COLUMN = 0.06
"""Width of a column of numbers, as a share of a panel's."""
PANEL = 0.32
"""Height of a panel of curves, as a share of the picture's."""


def draw_methods(
    table: DataFrame,
    accuracies: Mapping[str, float],
    families: Mapping[str, str],
    times: Mapping[str, float],
    exact: float,
) -> Picture:
    """Draw the three panels.

    Args:
        table: Rows of the stages `run`, `error` and `seconds`.
        accuracies: Final accuracy of each method. They are numbered from 1; times are relative to the first one's.
        families: Family of each method, which decides its colour.
        times: Time of a round of each method, in seconds.
        exact: Error of an aggregation that counts as rounding.
    """
    from matplotlib.figure import Figure

    order = list(accuracies)
    numbers = {method: number for number, method in enumerate(order, 1)}
    colours = dict(zip(dict.fromkeys(families.values()), SERIES, strict=False))
    height = max(4.4, 1.0 + 0.155 * len(order))
    picture = Figure(figsize=(WIDTH, height))
    grid = picture.add_gridspec(2, 2, width_ratios=(1.35, 1.0))
    by_bytes, by_round = picture.add_subplot(grid[0, 0]), picture.add_subplot(grid[1, 0])
    bars = picture.add_subplot(grid[:, 1])
    ends: dict[int, tuple[float, float]] = {}
    for method, run in table[(table.stage == RUN) & (table["round"] > 0)].groupby("method", sort=False):
        means = run[run.bytes > 0].groupby("round").agg(bytes=("bytes", "mean"), value=("value", "mean")).dropna()
        if len(means):
            colour = colours[families[str(method)]]
            style = "--" if str(method).endswith("(p)") else "-"
            by_bytes.plot(means.bytes / 1e6, 100 * means.value, style, color=colour, linewidth=0.9)
            ends[numbers[str(method)]] = (float(means.bytes.iloc[-1]) / 1e6, 100 * float(means.value.iloc[-1]))
    by_bytes.set(xscale="log", xlabel="sent in both directions, MB", ylabel="accuracy, %")
    label_ends(by_bytes, ends, 1.1 * LABEL / (72 * PANEL * height))
    ends = {}
    for method, run in table[table.stage == "error"].groupby("method", sort=False):
        errors = run.groupby("round").value.mean().clip(lower=1e-8)
        marker = "." if len(errors) < 3 else ""
        by_round.plot(errors.index, errors, color=colours[families[str(method)]], linewidth=0.9, marker=marker)
        ends[numbers[str(method)]] = (float(errors.index[-1]), float(errors.iloc[-1]))
    by_round.axhline(exact, color="0.45", linewidth=0.8, linestyle=":")
    by_round.set(yscale="log", xlabel="round", ylabel="error of the aggregation")
    by_round.locator_params("x", integer=True)
    label_ends(by_round, ends, 1.1 * LABEL / (72 * PANEL * height))
    unit = times.get(order[0], 1.0)
    places = [-numbers[method] for method in order]
    bars.barh(
        places,
        [times.get(method, 0.0) / unit for method in order],
        color=[colours[families[m]] for m in order],
        height=0.7,
    )
    bars.set_yticks(places, [f"{numbers[m]} {m}, {100 * accuracies[m]:.1f} %" for m in order], fontsize=LABEL)
    bars.set(xlabel=f"time of a round / {order[0]}'s", ylim=(-len(order) - 0.6, -0.4))
    bars.grid(axis="y", visible=False)
    handles = [bars.plot([], [], color=colour, linewidth=2.5)[0] for colour in colours.values()]
    picture.legend(handles, list(colours), loc="outside lower center", ncols=3)
    return picture


def label_ends(axes: Axes, ends: Mapping[int, tuple[float, float]], gap: float) -> None:
    """Write a number at the end of each curve; where ends are close, numbers form a column, with lines to their ends.

    If the panel is too low for a column, only ends that are far from the others get their number.

    Args:
        axes: The panel, whose limits do not change later.
        ends: End of each curve by its number, in data coordinates.
        gap: Least distance of two numbers in a column, as a share of the panel's height.
    """
    if not ends:
        return
    axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())
    names = list(ends)
    points = (axes.transData - axes.transAxes).transform(list(ends.values()))
    order = np.argsort(points[:, 0], kind="stable")
    apart = np.flatnonzero(np.diff(points[order, 0]) > COLUMN) + 1
    white = {"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    for column in np.split(order, apart):
        if len(column) * gap > 1.0:
            distances = np.abs(np.subtract.outer(points[column, 1], points[column, 1])) + np.eye(len(column))
            column = column[distances.min(axis=1) >= gap]
        at = points[column, 0].max(initial=0.0) + COLUMN / 3
        for place, height in zip(column, spread(points[column, 1], gap), strict=True):
            axes.annotate(
                str(names[place]),
                points[place],
                (at, height),
                xycoords="axes fraction",
                textcoords="axes fraction",
                fontsize=LABEL,
                va="center",
                bbox=white,
                annotation_clip=False,
                arrowprops={"arrowstyle": "-", "linewidth": 0.4, "color": "0.5", "shrinkA": 0.5, "shrinkB": 0},
            )


def spread(heights: np.ndarray, gap: float) -> np.ndarray:
    """Return the heights nearest to the given ones, in the same order, that differ by at least `gap`.

    They are in [0, 1] if there is room; otherwise they begin at 0. The sum of squared moves is the least.

    >>> spread(np.array([0.5, 0.5, 0.1]), 0.2).round(6).tolist()
    [0.4, 0.6, 0.1]
    """
    from scipy.optimize import isotonic_regression

    if not len(heights):
        return heights
    order, steps = np.argsort(heights, kind="stable"), gap * np.arange(len(heights))
    placed = isotonic_regression(heights[order] - steps).x.clip(0.0, max(0.0, 1.0 - steps[-1])) + steps
    return placed[np.argsort(order, kind="stable")]
