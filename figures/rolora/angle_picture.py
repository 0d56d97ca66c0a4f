"""The picture of the angle distance: two panels in expectation, two with samples, two on the printed factor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from figures.style import BLACK, MARKERS, SERIES, WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_DASHED, _LEAST = (0, (4, 2)), 1e-13


def draw_angle(table: pd.DataFrame) -> Picture:
    """Draw curves in the first two rows, ratios and fractions in the last."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(WIDTH, 8.3))
    grid = picture.subplots(3, 2)
    curves, worst = table[table.panel == "angle"], table[table.panel == "worst"]
    for axes, clients, title in (
        (grid[0, 0], "equal", "(a) equal clients, expected loss"),
        (grid[0, 1], "different", "(b) different clients, expected loss"),
    ):
        _expectation(axes, curves[(curves.data == "expectation") & (curves.clients == clients)])
        axes.set(title=title)
    for axes, clients, title in (
        (grid[1, 0], "equal", "(c) equal clients, samples"),
        (grid[1, 1], "different", "(d) different clients, samples"),
    ):
        _samples(axes, curves[curves.data.isin(["fixed", "fresh"]) & (curves.clients == clients)])
        axes.set(title=title)
    picture.legend(*grid[1, 1].get_legend_handles_labels(), title="(c, d)", loc="outside lower center", ncols=5)
    for axes in grid[:2].flat:
        axes.set(yscale="log", ylim=(_LEAST, 3.0), xlabel="iteration $t$", ylabel=r"angle distance $\delta^t$")
    _ratios(grid[2, 0], worst)
    _shares(grid[2, 1], worst[worst.data.isin(["fixed", "fresh"]) & (worst.clients == "equal")])
    return picture


def _expectation(axes: Any, curves: pd.DataFrame) -> None:
    for (step, part), color, marker in zip(curves.groupby("step"), SERIES, MARKERS, strict=False):
        shown = part[part["median"] > _LEAST]
        style = {"marker": marker, "ls": "none", "mfc": "white", "markersize": 3.0}
        axes.plot(part.iteration, part.exact.clip(lower=_LEAST / 1e3), color=color, lw=0.9)
        axes.plot(part.iteration, part.printed, color=color, lw=1.1, ls=_DASHED)
        axes.plot(shown.iteration, shown["median"], color=color, label=f"$s={step:g}$", markevery=2, **style)
    axes.legend(loc="lower right", handletextpad=0.3, borderaxespad=0.0)


def _samples(axes: Any, curves: pd.DataFrame) -> None:
    for (d, of_dimension), color in zip(curves.groupby("d"), SERIES, strict=False):
        counts = sorted(of_dimension.samples.unique())
        for samples, width in {counts[0]: 0.8, counts[-1]: 1.8}.items():
            for data, part in of_dimension[of_dimension.samples == samples].groupby("data"):
                solid = data == "fixed"
                label = f"$d={d}$, $m={samples}$" if solid else None
                middle, low, high = (part[name].clip(lower=_LEAST / 1e3) for name in ("median", "low", "high"))
                axes.plot(part.iteration, middle, color=color, lw=width, ls="-" if solid else ":", label=label)
                if solid:
                    axes.fill_between(part.iteration, low, high, color=color, alpha=0.15, lw=0)
    part = curves[(curves.d == curves.d.max()) & (curves.data == "fixed")].drop_duplicates("iteration")
    axes.plot(part.iteration, part.exact.clip(lower=_LEAST / 1e3), color=BLACK, lw=0.8, label="expected loss")
    axes.plot(part.iteration, part.printed, color=BLACK, lw=1.1, ls=_DASHED, label="as printed")


def _ratios(axes: Any, worst: pd.DataFrame) -> None:
    mean = worst[(worst.data == "expectation") & (worst.clients == "equal")].sort_values("step")
    axes.plot(mean.step, mean["median"], color=BLACK, lw=1.0, label="run, expected loss")
    drawn = worst[worst.data == "steps"]
    bars = np.array([drawn["median"] - drawn.low, drawn.high - drawn["median"]])
    style = {"ls": "none", "mfc": "white", "mew": 1.1, "marker": "o"}
    axes.errorbar(drawn.step, drawn["median"], yerr=bars, color=SERIES[0], label="runs, $m=10d$", **style)
    for clients, name, color in (("equal", "eq. (80)", SERIES[1]), ("different", "eq. (254)", SERIES[2])):
        part = worst[(worst.data == "expectation") & (worst.clients == clients)].sort_values("step")
        axes.plot(part.step, part.printed, color=color, ls=_DASHED, lw=1.2, label=name)
    axes.axhline(1.0, color="0.6", lw=0.8)
    axes.set(title="(e) largest one-step ratio", xlabel=r"step $s=\eta\Vert \bar b^*\Vert^2$", ylim=(0.0, None))
    axes.set(ylabel=r"$\max_t\,\delta^{t+1}/\delta^t$")
    axes.legend(loc="lower left", ncols=2)


def _shares(axes: Any, worst: pd.DataFrame) -> None:
    for (d, of_dimension), color, marker in zip(worst.groupby("d"), SERIES, MARKERS, strict=False):
        for data, part in of_dimension.groupby("data"):
            solid = data == "fixed"
            x = part.samples / part.d
            style = {"ls": "-" if solid else ":", "marker": marker, "mfc": "white" if solid else color}
            axes.plot(x, part.over, color=color, label=f"$d={d}$" if solid else None, **style)
    axes.plot([], [], color=BLACK, ls=":", label="new samples")
    axes.set(title="(f) some step above eq. (80)", xscale="log", xlabel="samples of a client, $m/d$")
    axes.set(ylabel="share of runs", ylim=(-0.04, 1.04))
    axes.legend(loc="upper right")
