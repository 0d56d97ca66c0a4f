"""The picture of Hessians at several sample sizes; its numbers come from `figures.hessian.spectra`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from figures.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

PREDICTIONS: dict[str, dict[str, Any]] = {
    "root": {"color": VERMILION, "ls": "-", "label": r"fit, $s\propto M^{-1/2}$"},
    "inverse": {"color": PURPLE, "ls": (0, (5, 2)), "label": r"fit, $s\propto M^{-1}$"},
    "matched": {"color": GREEN, "ls": (0, (1, 1.2)), "lw": 1.8, "label": r"measured noise size, $s\propto M^{-1/2}$"},
}
SHOWN = {1: (BLACK, "o"), 2: (BLUE, "s"), 5: (SKY, "^")}
SHIFTS = {"o": 0.93, "s": 1.0, "^": 1.07, "D": 1.15}
"""Factors that set marks at the same sample size side by side."""


def draw_samples(table: pd.DataFrame) -> Picture:
    """Draw eight panels: two spectra, five comparisons against the sample size, and all of them as ratios."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(WIDTH, 9.6))
    (a, b), (c, d), (e, f), (g, h) = picture.subplots(4, 2)
    M0, N = int(table.fitted_at.iloc[0]), int(table.largest.iloc[0])
    distance = _values(table, "measured", "distance").mean()
    noise = _values(table, "measured", "noise distance", M=M0).mean()
    small: dict[str, Any] = {"labelspacing": 0.25, "handletextpad": 0.5, "title_fontsize": 8, "alignment": "left"}
    _draw_counts(a, table, "eigenvalue", "root")
    _draw_counts(b, table, "noise eigenvalue", "semicircle")
    a.set_title(f"(a) $H_M$ at $M={M0}$ (fitted)")
    b.set_title(f"(b) noise $H_M-H_N$ at $M={M0}$")
    a.legend(loc="lower left", title=f"Kolmogorov distance\nof the bulk: {distance:.2f}", **small)
    b.legend(loc="lower left", title=f"Kolmogorov\ndistance: {noise:.2f}", **small)
    for index, (color, marker) in SHOWN.items():
        _draw_measured(c, table, "top", M0, index, color, marker, rf"$\lambda_{{{index}}}$")
        _draw_predicted(c, table, "top", index)
        _draw_measured(g, table, "overlap", M0, index, color, marker, f"$i={index}$")
        _draw_predicted(g, table, "overlap", index, names=("root", "matched"))
    _draw_measured(g, table, "subspace", M0, 0, ORANGE, "D", "first five together")
    _draw_measured(d, table, "upper edge", M0, 0, BLACK, "o", "upper")
    _draw_measured(d, table, "lower edge", M0, 0, BLUE, "s", r"$|$lower$|$")
    _draw_predicted(d, table, "upper edge", 0, names=("root", "inverse"))
    _draw_measured(e, table, "noise norm", M0, 0, BLACK, "o", r"$\Vert H_M-H_N\Vert_2$")
    _draw_measured(e, table, "noise spread", M0, 0, BLUE, "s", r"$\Vert H_M-H_N\Vert_F/\sqrt{P}$")
    for quantity in ("noise norm", "noise spread"):
        _draw_predicted(e, table[table.M < N], quantity, 0)
    _draw_measured(f, table, "stable rank", M0, 0, BLACK, "o", "measured")
    _draw_predicted(f, table, "stable rank", 0)
    _draw_ratios(h, table, N)
    c.set(title="(c) largest eigenvalues", ylabel="eigenvalue", ylim=(0, 1.2 * c.get_ylim()[1]))
    d.set(title="(d) edges of what the outliers leave", ylabel="$|$eigenvalue$|$", yscale="log")
    e.set(title=r"(e) noise: norm ($2\sigma s$) and size ($\sigma s$)", yscale="log")
    e.set_ylim(top=30.0 * e.get_ylim()[1])  # room for the legend
    f.set(title="(f) stable rank", ylabel=r"$\Vert H\Vert_F^2/\Vert H\Vert_2^2$")
    g.set(title="(g) overlap with the largest set", ylabel=r"$\langle u_i(M),u_i(N)\rangle^2$", ylim=(-0.03, 1.42))
    for axes in (c, d, e, f, g, h):
        axes.set(xscale="log", xlim=(0.6 * table[table.M > 0].M.min(), 1.7 * N))
    for axes in (g, h):
        axes.set_xlabel("samples $M$")
    for axes in (d, e, f):
        axes.legend(loc="best", handletextpad=0.3, labelspacing=0.3)
    c.legend(loc="upper center", ncols=3, handletextpad=0.3)
    g.legend(loc="upper center", ncols=2, handletextpad=0.3, labelspacing=0.3)
    g.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0])
    for axes in picture.axes:
        axes.minorticks_off()  # half of the SVG, otherwise
    _draw_key(picture)
    return picture


def _draw_key(picture: Picture) -> None:
    from matplotlib.lines import Line2D

    look: dict[str, Any] = {"color": BLACK, "ls": "none", "marker": "o"}
    marks = [
        Line2D([], [], label="measured", **look),
        Line2D([], [], label="where fitted", mfc="white", **look),
        *(Line2D([], [], **style) for style in PREDICTIONS.values()),
    ]
    picture.legend(handles=marks, loc="outside lower center", ncols=5, columnspacing=1.2, handletextpad=0.5)


def _values(table: pd.DataFrame, kind: str, quantity: str, index: int = 0, M: int | None = None) -> pd.Series:
    part = table[(table.kind == kind) & (table.quantity == quantity) & (table["index"] == index)]
    return (part if M is None else part[part.M == M]).set_index("M").value.abs()


def _draw_measured(
    axes: Axes, table: pd.DataFrame, quantity: str, M0: int, index: int, color: str, marker: str, label: str
) -> None:
    by = _values(table, "measured", quantity, index).groupby(level=0)
    mean = by.mean()
    style: dict[str, Any] = {"color": color, "ls": "none", "marker": marker, "ms": 4.5, "zorder": 3}
    x = mean.index * SHIFTS.get(marker, 1.0)
    axes.errorbar(x, mean, yerr=[mean - by.min(), by.max() - mean], label=label, lw=1.1, **style)
    if M0 in mean.index:
        axes.plot([M0 * SHIFTS.get(marker, 1.0)], [mean[M0]], **style | {"mfc": "white", "zorder": 4})


def _draw_predicted(
    axes: Axes, table: pd.DataFrame, quantity: str, index: int, names: tuple[str, ...] = tuple(PREDICTIONS)
) -> None:
    for name in names:
        values = _values(table, name, quantity, index)
        if len(values):
            by = values.groupby(level=0)
            style = {key: value for key, value in PREDICTIONS[name].items() if key != "label"}
            axes.plot(by.mean().index, by.mean(), **style)
            if name == "root":
                axes.fill_between(by.min().index, by.min(), by.max(), color=style["color"], alpha=0.15, lw=0)


def _draw_counts(axes: Axes, table: pd.DataFrame, quantity: str, model: str) -> None:
    """Draw the numbers of eigenvalues above x and below -x, on logarithmic axes."""
    sides = {"positive": (1.0, BLACK), "negative": (-1.0, ORANGE)}
    for kind, style in (("measured", {"ls": "-"}), (model, {"ls": (0, (3, 1.5)), "lw": 1.2})):
        part = table[(table.kind == kind) & (table.quantity == quantity)].sort_values("index")
        P = part["index"].max()
        for side, (sign, color) in sides.items():
            if kind == "semicircle" and sign < 0:
                continue  # symmetric: one line serves both sides
            values = sign * part.value.to_numpy()
            ranks = part["index"].to_numpy() if sign > 0 else P + 1 - part["index"].to_numpy()
            kept = values > 0
            shown = color if kind == "measured" else {BLACK: VERMILION, ORANGE: PURPLE}[color]
            label = {"measured": side, "semicircle": kind}.get(kind, f"{side}, fit")
            axes.plot(values[kept], ranks[kept], color=shown, label=label, **style)
    axes.set(
        xscale="log", yscale="log", xlabel=r"$x=|$eigenvalue$|$", ylabel="eigenvalues beyond $x$", ylim=(0.8, None)
    )
    left = table[(table.kind == "measured") & (table.quantity == quantity)].value.abs().max()
    axes.set_xlim(1e-5 * left, 3 * left)


def _draw_ratios(axes: Axes, table: pd.DataFrame, N: int) -> None:
    looks = {
        ("top", 1): (BLACK, "o", r"$\lambda_1$"),
        ("stable rank", 0): (BLUE, "s", "stable rank"),
        ("overlap", 1): (SKY, "^", "overlap $i=1$"),
        ("upper edge", 0): (VERMILION, "D", "upper edge"),
        ("noise spread", 0): (GREEN, "v", "noise size"),
        ("noise norm", 0): (PURPLE, "P", "noise norm"),
    }
    axes.axhline(1.0, color=BLACK, lw=0.8)
    lowest, highest = 1.0, 1.0
    for (quantity, index), (color, marker, label) in looks.items():
        measured = _values(table, "measured", quantity, index).groupby(level=0)
        predicted = _values(table, "root", quantity, index).groupby(level=0).mean().reindex(measured.mean().index)
        ratio, low, high = predicted / measured.mean(), predicted / measured.max(), predicted / measured.min()
        lowest, highest = min(lowest, low.min()), max(highest, ratio.max())
        axes.errorbar(
            ratio.index,
            ratio,
            yerr=[ratio - low, high - ratio],
            color=color,
            marker=marker,
            label=label,
            lw=1.0,
            mfc="white",
            mew=1.1,
        )
    axes.set(
        title=r"(h) fit, $s\propto M^{-1/2}$: predicted / measured", yscale="log", ylim=(1e-3 * lowest, 2.0 * highest)
    )
    axes.legend(loc="lower left", ncols=2, labelspacing=0.2, handletextpad=0.3, columnspacing=0.8)
