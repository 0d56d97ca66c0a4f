"""The picture of stable ranks during training; its numbers come from `figures.fedloru.fig1`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from figures.style import BLUE, VERMILION, WIDTH, plain_log_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

ROWS = {"own": "own weights", "common": "common weights"}


def draw_fig1(table: pd.DataFrame) -> Picture:
    """Draw a row for each set of weights and a column for each estimator, on logarithmic scales."""
    from matplotlib.figure import Figure as Picture

    estimators = list(dict.fromkeys(table.estimator))
    picture = Picture(figsize=(WIDTH, 4.8))
    panels = picture.subplots(len(ROWS), len(estimators), sharex=True, sharey="col", squeeze=False)
    letters = iter("abcdefghijkl")
    for row, (weights, title) in enumerate(ROWS.items()):
        for column, estimator in enumerate(estimators):
            axes = panels[row, column]
            part = table[(table.weights == weights) & (table.estimator == estimator)]
            _draw_panel(axes, part)
            axes.set_title(f"({next(letters)}) {estimator}" + (f"\n{title}" if column == 0 else "\n"))
            axes.set_yscale("log")
            axes.set_xticks(sorted(part.epoch.unique()))
            if column == len(estimators) - 1:
                plain_log_ticks(axes.yaxis)
            else:
                axes.minorticks_off()
            if row == len(ROWS) - 1:
                axes.set_xlabel("epoch")
        panels[row, 0].set_ylabel("stable rank, estimated")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=2)
    return picture


def _draw_panel(axes: Axes, part: pd.DataFrame) -> None:
    step = float(part.epoch.min())
    looks = zip(sorted(part.samples.unique()), ((VERMILION, "o", -0.03), (BLUE, "s", 0.03)), strict=True)
    for samples, (color, marker, shift) in looks:
        rows = part[part.samples == samples]
        for _, run in rows.groupby("run"):
            run = run.sort_values("epoch")
            x = run.epoch + shift * step
            axes.plot(x, run.value, color=color, lw=0.6, alpha=0.6)
            axes.errorbar(
                x,
                run.value,
                yerr=[run.value - run.low, run.high - run.value],
                color=color,
                ls="none",
                marker=marker,
                ms=2.5,
                lw=1.0,
                alpha=0.7,
            )
        median = rows.groupby("epoch").value.median()  # one run in three can be ten times the others
        axes.plot(median.index, median, color=color, lw=2.0, label=f"{samples} samples, median")
