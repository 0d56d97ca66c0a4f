"""The picture of covariance predictions; its numbers come from `figures.hessian.covariance`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from figures.style import BLACK, BLUE, GREEN, VERMILION, WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

MODELS: dict[str, dict[str, Any]] = {
    "covariance": {"color": VERMILION, "ls": "-", "marker": "o", "label": "weighted covariance"},
    "Wigner": {"color": GREEN, "ls": (0, (1, 1.2)), "marker": "s", "label": "spiked Wigner"},
    "bootstrap": {"color": BLUE, "ls": (0, (4, 2)), "marker": "^", "label": "bootstrap"},
}
COLUMNS = {
    "stable rank": ("stable rank",),
    "eigenvalues": ("eigenvalue 1", "eigenvalue 2", "eigenvalue 5"),
    "overlaps": ("overlap 1", "overlap 2", "overlap 5"),
}


def draw_covariance_figure(table: pd.DataFrame) -> Picture:
    """Draw a row for each network, and a row of errors over all networks."""
    from matplotlib.figure import Figure as Picture

    names = list(dict.fromkeys(table.network))
    picture = Picture(figsize=(WIDTH, 2.0 * len(names) + 2.4))
    grid = picture.subplots(len(names) + 1, 3)
    letters = iter("abcdefghijklmnop")
    for row, name in enumerate(names):
        part = table[(table.network == name) & (table.epochs == table.epochs.max()) & (table.seed == 0)]
        for axes, (title, quantities) in zip(grid[row], COLUMNS.items(), strict=True):
            for quantity in quantities:
                _draw(axes, part[part.quantity == quantity])
            axes.set_title(f"({next(letters)}) {name}: {title}")
            _against_samples(axes, part)
            if title == "eigenvalues":
                axes.set_yscale("log")
                axes.minorticks_off()
    panels = ("stable rank", "eigenvalue 1", "overlap 1")
    titles = ("rank: ratio to measured", r"$\lambda_1$: ratio to measured", "overlap 1: difference")
    for axes, quantity, title in zip(grid[-1], panels, titles, strict=True):
        _draw_errors(axes, table[table.quantity == quantity], ratio=quantity != "overlap 1")
        axes.set_title(f"({next(letters)}) {title}")
        _against_samples(axes, table)
    _draw_key(picture)
    return picture


def _draw(axes: Axes, part: pd.DataFrame) -> None:
    for name, style in MODELS.items():
        rows = part[part.model == name].sort_values("M")
        axes.plot(rows.M, rows.predicted, color=style["color"], ls=style["ls"], zorder=2)
    rows = part[part.model == "covariance"].sort_values("M")
    below, above = (rows.measured - rows.low).clip(lower=0), (rows.high - rows.measured).clip(lower=0)
    axes.errorbar(
        rows.M, rows.measured, yerr=[below, above], color=BLACK, ls="none", marker="o", ms=3.5, lw=0.9, zorder=3
    )


def _draw_errors(axes: Axes, part: pd.DataFrame, ratio: bool) -> None:
    axes.axhline(1.0 if ratio else 0.0, color=BLACK, lw=0.8)
    for shift, (name, style) in zip((0.94, 1.0, 1.06), MODELS.items(), strict=True):
        rows = part[part.model == name]
        value = rows.predicted / rows.measured if ratio else rows.predicted - rows.measured
        axes.plot(shift * rows.M, value, color=style["color"], ls="none", marker=style["marker"], ms=2.8, alpha=0.7)


def _against_samples(axes: Axes, part: pd.DataFrame) -> None:
    sizes = sorted(part.M.unique())
    axes.set(xscale="log", xlabel="samples $M$")
    axes.minorticks_off()
    axes.set_xticks(sizes, [f"{M}" for M in sizes])


def _draw_key(picture: Picture) -> None:
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], color=BLACK, ls="none", marker="o", label="measured"),
        *(Line2D([], [], **style) for style in MODELS.values()),
    ]
    picture.legend(handles=marks, loc="outside lower center", ncols=4, columnspacing=1.2, handletextpad=0.5)
