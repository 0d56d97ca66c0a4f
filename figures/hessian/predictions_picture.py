"""The picture of predicted and measured spectra; its numbers come from `figures.hessian.predictions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from figures.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, WIDTH, plain_log_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

FITS: dict[str, dict[str, Any]] = {
    "spectrum": {"color": VERMILION, "ls": "-", "label": "fit to the spectrum"},
    "noise": {"color": GREEN, "ls": (0, (1, 1.2)), "lw": 1.8, "label": "measured noise size"},
}
OUTLIERS = {1: (BLACK, "o"), 2: (BLUE, "s"), 5: (SKY, "^")}
EDGES = {
    ("spectrum", "upper edge"): (BLACK, "o", "upper"),
    ("spectrum", "lower edge"): (BLUE, "s", r"$|$lower$|$"),
    ("noise", "upper edge"): (ORANGE, "D", "upper (noise)"),
}
RATIOS = {
    "outlier 1": (BLACK, "o", r"$\lambda_1$"),
    "outlier 5": (SKY, "^", r"$\lambda_5$"),
    "upper edge": (VERMILION, "D", "upper edge"),
    "lower edge": (PURPLE, "v", "lower edge"),
    "stable rank": (BLUE, "s", "stable rank"),
}


def draw_predictions(table: pd.DataFrame) -> Picture:
    """Draw a row of three panels for each network, and a row of ratios."""
    from matplotlib.figure import Figure as Picture

    names = list(dict.fromkeys(table.network))
    picture = Picture(figsize=(WIDTH, 2.3 * len(names) + 2.7))
    grid = picture.add_gridspec(len(names) + 1, 6)
    letters = iter("abcdefghijkl")
    for row, name in enumerate(names):
        part = table[table.network == name]
        left, middle, right = (picture.add_subplot(grid[row, 2 * column : 2 * column + 2]) for column in range(3))
        for index, (color, marker) in OUTLIERS.items():
            _draw(left, part, f"outlier {index}", rf"$\lambda_{{{index}}}$", color, marker, tuple(FITS))
        for (fit, quantity), (color, marker, label) in EDGES.items():
            _draw(middle, part[part.fit == fit], quantity, label, color, marker, (fit,))
        _draw(right, part, "stable rank", "measured", BLACK, "o", tuple(FITS))
        left.set(title=f"({next(letters)}) {name}: outliers", ylim=(0, 1.25 * left.get_ylim()[1]))
        middle.set(title=f"({next(letters)}) edges", yscale="log")
        middle.set_ylim(top=100.0 * middle.get_ylim()[1])  # room for the legend
        right.set(title=f"({next(letters)}) stable rank")
        look: dict[str, Any] = {"handletextpad": 0.3, "columnspacing": 0.8, "labelspacing": 0.25}
        left.legend(loc="upper center", ncols=3, **look)
        middle.legend(loc="upper left", **look)
        for axes in (left, middle, right):
            _against_samples(axes, part)
    for column, name in enumerate(names):
        axes = picture.add_subplot(grid[len(names), 3 * column : 3 * column + 3])
        _draw_ratios(axes, table[table.network == name])
        axes.set_title(f"({next(letters)}) {name}: predicted / measured")
    _draw_key(picture)
    return picture


def _draw(
    axes: Axes, part: pd.DataFrame, quantity: str, label: str, color: str, marker: str, fits: tuple[str, ...]
) -> None:
    rows = part[part.quantity == quantity].sort_values("M")
    if rows.empty:
        return
    for fit in fits:
        line = rows[rows.fit == fit]
        axes.plot(line.M, line.predicted.abs(), **{key: v for key, v in FITS[fit].items() if key != "label"}, zorder=2)
    marks = rows.drop_duplicates("M")
    ends = pd.concat([marks.low.abs(), marks.high.abs()], axis=1)
    value = marks.measured.abs()
    below, above = (value - ends.min(axis=1)).clip(lower=0), (ends.max(axis=1) - value).clip(lower=0)
    style: dict[str, Any] = {"color": color, "ls": "none", "marker": marker, "ms": 4.5, "zorder": 3}
    axes.errorbar(marks.M, value, yerr=[below, above], label=label, lw=1.1, **style)
    fitted = marks[marks.fitted_at == marks.M]
    axes.plot(fitted.M, fitted.measured.abs(), **style | {"mfc": "white", "zorder": 4})


def _against_samples(axes: Axes, part: pd.DataFrame) -> None:
    sizes = sorted(part.M.unique())
    axes.set(xscale="log", xlabel="samples $M$")
    axes.minorticks_off()
    axes.set_xticks(sizes[::2], [f"{M}" for M in sizes[::2]])


def _draw_ratios(axes: Axes, part: pd.DataFrame) -> None:
    axes.axhline(1.0, color=BLACK, lw=0.8)
    for fit, fill in (("spectrum", None), ("noise", "white")):
        for quantity, (color, marker, label) in RATIOS.items():
            rows = part[(part.fit == fit) & (part.quantity == quantity)].sort_values("M")
            shown = label if fit == part.fit.iloc[0] else None
            axes.plot(
                rows.M,
                rows.ratio,
                color=color,
                marker=marker,
                mfc=fill or color,
                lw=0.9,
                label=shown,
                ls=FITS[fit]["ls"],
            )
    axes.set_yscale("log")
    _against_samples(axes, part)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.45)  # room for the legend
    plain_log_ticks(axes.yaxis, (1.0,) if high / low > 30.0 else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
    axes.legend(loc="upper center", ncols=3, handletextpad=0.3, columnspacing=0.8, labelspacing=0.25)


def _draw_key(picture: Picture) -> None:
    from matplotlib.lines import Line2D

    look: dict[str, Any] = {"color": BLACK, "ls": "none", "marker": "o"}
    marks = [
        Line2D([], [], label="measured", **look),
        Line2D([], [], label="where fitted", mfc="white", **look),
        *(Line2D([], [], **style) for style in FITS.values()),
    ]
    picture.legend(handles=marks, loc="outside lower center", ncols=4, columnspacing=1.2, handletextpad=0.5)
