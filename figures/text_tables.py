"""Tables of text as pictures, with cells tinted by the sign and the size of a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from textwrap import fill
from typing import TYPE_CHECKING

from figures.style import BLUE, VERMILION, WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

ROW = 0.2
"""Inches of a row."""
LEAST, FULL = 0.15, 0.5
"""Opacity of the least tint, and of that of a point and more."""


@dataclass(frozen=True)
class Cell:
    """A cell.

    Attributes:
        text: What stands in it.
        tint: Blue above 0, vermilion below, none at 0.
        bold: Whether it is a heading.
    """

    text: str
    tint: float = 0.0
    bold: bool = False


def draw_text_table(
    heads: Sequence[str], rows: Sequence[Sequence[Cell]], title: str, widths: Sequence[float]
) -> Picture:
    """A table; the first column is on the left of its cells, the others on the right.

    Args:
        heads: Of the columns.
        rows: Cells from the first column on; a row may have fewer.
        title: What is found.
        widths: Of the columns, in any unit.
    """
    from matplotlib.figure import Figure

    picture = Figure(figsize=(WIDTH, 0.55 + ROW * (len(rows) + 1.2)))
    axes = picture.subplots()
    edges = [0.0, *accumulate(widths)]
    axes.set(xlim=(0.0, edges[-1]), ylim=(len(rows) + 0.6, -0.6))
    axes.set_axis_off()
    for column, head in enumerate(heads):
        axes.text(edges[column + 1] - 0.08, 0, head, ha="right", va="center", fontsize=7, weight="bold")
    axes.axhline(0.55, color="0.3", linewidth=0.8)
    for line, cells in enumerate(rows, start=1):
        for column, cell in enumerate(cells):
            left, right = edges[column], edges[column + 1]
            if cell.tint:
                opacity = LEAST + (FULL - LEAST) * min(1.0, abs(cell.tint))
                colour = BLUE if cell.tint > 0 else VERMILION
                axes.fill_between([left, right], line - 0.45, line + 0.45, color=colour, alpha=opacity, lw=0)
            at, side = (left, "left") if column == 0 else (right - 0.08, "right")
            weight = "bold" if cell.bold else "normal"
            axes.text(at, line, cell.text, ha=side, va="center", fontsize=7, weight=weight)
    picture.suptitle(fill(title, 98), x=0.01, ha="left", fontsize=9)
    return picture
