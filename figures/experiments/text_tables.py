"""Tables of text as pictures, with cells tinted by the sign and the size of a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from figures.style import BLUE, VERMILION, WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

ROW = 0.2
"""Inches of a row."""
LEAST, FULL = 0.15, 0.5
"""Opacity of the faintest tint, and of the tint for one point or more."""


@dataclass(frozen=True)
class Cell:
    """A cell.

    Attributes:
        text: Text in the cell.
        tint: Blue above 0, vermilion below, none at 0.
        bold: Whether it is a heading.
    """

    text: str
    tint: float = 0.0
    bold: bool = False


def draw_text_table(heads: Sequence[str], rows: Sequence[Sequence[Cell]], widths: Sequence[float]) -> Picture:
    """Draw a table; the arguments are those of `fill_table`."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(WIDTH, 0.55 + ROW * (len(rows) + 1.2)))
    fill_table(picture.subplots(), heads, rows, widths, len(rows) + 1)
    return picture


def fill_table(
    axes: Any, heads: Sequence[str], rows: Sequence[Sequence[Cell]], widths: Sequence[float], lines: int
) -> None:
    """Fill axes with a table: heads at 0, rows downwards from 1, and a rule above each heading row.

    Args:
        axes: Axes to fill.
        heads: Heads of the columns; the first column is on the left of its cells, the others on the right.
        rows: Cells from the first column on; a row may have fewer.
        widths: Widths of the columns, in any unit.
        lines: Number of lines that fit, including the heads.
    """
    from matplotlib.patches import Rectangle

    edges = [0.0, *accumulate(widths)]
    gap = 0.01 * edges[-1]
    axes.set(xlim=(0.0, edges[-1]), ylim=(lines - 0.5, -0.5))
    axes.set_axis_off()
    axes.axhline(0.55, color="0.3", linewidth=0.8)
    named = [Cell(head, bold=column > 0) for column, head in enumerate(heads)]
    for line, cells in enumerate([named, *rows]):
        if line > 1 and cells[0].bold:
            axes.axhline(line - 0.5, color="0.8", linewidth=0.6)
        for column, cell in enumerate(cells):
            left, right = edges[column], edges[column + 1]
            if cell.tint:
                opacity = LEAST + (FULL - LEAST) * min(1.0, abs(cell.tint))
                colour = BLUE if cell.tint > 0 else VERMILION
                axes.add_patch(Rectangle((left, line - 0.45), right - left, 0.9, color=colour, alpha=opacity, lw=0))
            at, side = (left, "left") if column == 0 else (right - gap, "right")
            weight = "bold" if cell.bold else "normal"
            axes.text(at, line, cell.text, ha=side, va="center", fontsize=7, weight=weight)
