"""The picture of clients' eigenvectors and gradients; its numbers come from `figures.hessian.alignment`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from figures.style import BLACK, BLUE, GREEN, SKY, VERMILION, WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

FITS: dict[str, dict[str, Any]] = {"spectrum": {"color": VERMILION}, "noise": {"color": GREEN}}
LABELS = {"spectrum": "fit to the spectrum", "noise": "measured noise size"}
SHOWN = 30
"""Eigenvectors whose overlaps are drawn."""


def draw_client_alignment(table: pd.DataFrame) -> Picture:
    """Draw a column for each stage of training and sample size: overlaps on top, cosines by rank below."""
    from matplotlib.figure import Figure as Picture

    cases = sorted(set(zip(table.epoch, table.M, strict=True)))
    picture = Picture(figsize=(WIDTH, 4.9))
    panels = picture.subplots(2, len(cases), sharex="row", sharey="row", squeeze=False)
    lowest = max(-1.04, min(0.0, float(table[table.quantity == "cosine"].low.min())) - 0.04)
    letters = [chr(ord("a") + place) for place in range(2 * len(cases))]
    for column, (epoch, M) in enumerate(cases):
        part = table[(table.epoch == epoch) & (table.M == M)]
        top, bottom = panels[:, column]
        _draw_overlaps(top, part[part["index"] <= SHOWN])
        _draw_cosines(bottom, part)
        top.set(title=f"({letters[column]}) epoch {epoch}, $M={M}$", xlabel="eigenvector $i$", ylim=(-0.04, 1.04))
        bottom.set(title=f"({letters[len(cases) + column]})", xlabel="rank $r$", ylim=(lowest, 1.04))
    panels[0, 0].set_ylabel(r"$\langle u_i(M),u_i(N)\rangle^2$")
    panels[1, 0].set_ylabel("cosine of two clients")
    _draw_key(picture)
    return picture


def _series(part: pd.DataFrame, quantity: str, series: str) -> pd.DataFrame:
    return part[(part.quantity == quantity) & (part.series == series)].sort_values("index")


def _draw_overlaps(axes: Axes, part: pd.DataFrame) -> None:
    own, span = _series(part, "overlap", "measured"), _series(part, "span", "measured")
    axes.fill_between(own["index"], own.low, own.high, color=SKY, alpha=0.3, lw=0)
    axes.plot(own["index"], own.value, color=BLACK, marker="o", ms=3.0, lw=0.8)
    axes.plot(span["index"], span.value, color=BLUE, marker=".", ms=3.5, ls="none")
    for name, look in FITS.items():
        rows = _series(part, "overlap", name)
        axes.plot(rows["index"], rows.value, **look, ls="-" if name == "spectrum" else (0, (1, 1.2)), lw=1.6)


def _draw_cosines(axes: Axes, part: pd.DataFrame) -> None:
    rows = _series(part, "cosine", "measured")
    axes.fill_between(rows["index"], rows.low, rows.high, color=SKY, alpha=0.5, lw=0)
    axes.plot(rows["index"], rows.value, color=BLACK, marker="o", ms=2.2, lw=0.8)
    for name, look in FITS.items():
        for form, ls in (("closed form", "-" if name == "spectrum" else (0, (1, 1.2))), ("as printed", (0, (4, 2)))):
            curve = _series(part, "cosine", f"{name}, {form}")
            axes.plot(curve["index"], curve.value, **look, ls=ls, lw=1.4 if form == "closed form" else 1.0)


def _draw_key(picture: Picture) -> None:
    from matplotlib.lines import Line2D

    dotted: tuple[int, tuple[float, float]] = (0, (1, 1.2))
    marks = [
        Line2D([], [], color=BLACK, marker="o", ms=3.0, lw=0.8, label="measured"),
        Line2D([], [], color=VERMILION, label=LABELS["spectrum"]),
        Line2D([], [], color=GREEN, ls=dotted, lw=1.6, label=LABELS["noise"]),
        Line2D([], [], color=BLUE, marker=".", ls="none", label="in the span of ten"),
        Line2D([], [], color=VERMILION, ls=(0, (4, 2)), lw=1.0, label="as printed (spectrum)"),
        Line2D([], [], color=GREEN, ls=(0, (4, 2)), lw=1.0, label="as printed (noise)"),
    ]
    picture.legend(handles=marks, loc="outside lower center", ncols=3, columnspacing=1.2, handletextpad=0.5)
