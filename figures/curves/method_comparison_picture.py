"""The picture of the comparison of methods: accuracy by bytes, error by round, time of a round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from figures.experiments.experiment import RUN
from figures.style import SERIES, WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame


def draw_methods(
    table: DataFrame, order: Sequence[str], families: Mapping[str, str], times: Mapping[str, float], exact: float
) -> Picture:
    """Draw the three panels.

    Args:
        table: Rows of the stages `run`, `error` and `seconds`.
        order: Names of the methods, which are numbered from 1; times are relative to the first one's.
        families: Family of each method, which decides its colour.
        times: Time of a round of each method, in seconds.
        exact: Error of an aggregation that counts as rounding.
    """
    from matplotlib.figure import Figure

    numbers = {method: number for number, method in enumerate(order, 1)}
    colours = dict(zip(dict.fromkeys(families.values()), SERIES, strict=False))
    picture = Figure(figsize=(WIDTH, max(3.0, 1.0 + 0.155 * len(order))))
    grid = picture.add_gridspec(2, 2, width_ratios=(1.35, 1.0))
    by_bytes, by_round = picture.add_subplot(grid[0, 0]), picture.add_subplot(grid[1, 0])
    bars = picture.add_subplot(grid[:, 1])
    for method, run in table[table.stage == RUN].groupby("method", sort=False):
        means = run[run.bytes > 0].groupby("round").agg(bytes=("bytes", "mean"), value=("value", "mean")).dropna()
        if len(means):
            colour = colours[families[str(method)]]
            style = "--" if str(method).endswith("(p)") else "-"
            by_bytes.plot(means.bytes / 1e6, 100 * means.value, style, color=colour, linewidth=0.9)
            end = (means.bytes.iloc[-1] / 1e6, 100 * means.value.iloc[-1])
            by_bytes.annotate(str(numbers[str(method)]), end, (2, -2), textcoords="offset points", fontsize=6.5)
    by_bytes.set(xscale="log", xlabel="sent in both directions, MB", ylabel="accuracy, %")
    for method, run in table[table.stage == "error"].groupby("method", sort=False):
        errors = run.groupby("round").value.mean().clip(lower=1e-8)
        by_round.plot(errors.index, errors, color=colours[families[str(method)]], linewidth=0.9)
        end = (errors.index[-1], errors.iloc[-1])
        by_round.annotate(str(numbers[str(method)]), end, (2, -2), textcoords="offset points", fontsize=6.5)
    by_round.axhline(exact, color="0.45", linewidth=0.8, linestyle=":")
    by_round.set(yscale="log", xlabel="round", ylabel="error of the aggregation")
    unit = times.get(order[0], 1.0)
    places = [-numbers[method] for method in order]
    bars.barh(
        places,
        [times.get(method, 0.0) / unit for method in order],
        color=[colours[families[m]] for m in order],
        height=0.7,
    )
    bars.set_yticks(places, [f"{numbers[method]} {method}" for method in order], fontsize=6.5)
    bars.set(xlabel=f"time of a round / {order[0]}'s", ylim=(-len(order) - 0.6, -0.4))
    bars.grid(axis="y", visible=False)
    handles = [bars.plot([], [], color=colour, linewidth=2.5)[0] for colour in colours.values()]
    picture.legend(handles, list(colours), loc="outside lower center", ncols=3)
    return picture
