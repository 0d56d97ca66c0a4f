"""Many readings in one panel: a row for each reading, a column for each property.

A square is filled if the reading has the property. It is grey if its rounds do not reach what the property is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from figures.style import BLACK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HAS, LACKS, UNREACHED = "yes", "no", "not reached"
"""Names of the marks in a legend."""
ROW = 0.18
"""Inches for a row."""


def draw_matrix(
    axes: Axes,
    table: pd.DataFrame,
    words: Mapping[str, str],
    rows: bool = True,
    wide: bool = False,
    unreached: pd.DataFrame | None = None,
) -> None:
    """Draw a square for each cell of a table of truth values, filled where true, with the first row on top.

    Args:
        axes: An empty panel.
        table: Index: readings; columns: properties, bool.
        words: Labels of the properties, by column; columns that are not named are left out.
        rows: Whether to print the readings.
        wide: Whether the properties are written horizontally above, or vertically below.
        unreached: Bool, with some of the columns: where the rounds do not reach what a property is about, so
            it is neither true nor false; default: nowhere.
    """
    cells = table[list(words)].to_numpy(dtype=bool)
    open = np.zeros_like(cells)
    if unreached is not None:
        open = unreached.reindex(columns=list(words), fill_value=False).to_numpy(dtype=bool)
    marks = ((HAS, cells & ~open, BLACK, "s"), (LACKS, ~cells & ~open, "white", "s"), (UNREACHED, open, "0.75", "D"))
    for label, chosen, face, marker in marks:
        row, column = np.nonzero(chosen)
        if label != UNREACHED or len(row):
            axes.plot(column, row, ls="none", marker=marker, ms=6.0, mfc=face, mec=BLACK, mew=0.7, label=label)
    axes.set_xlim(-0.5, len(words) - 0.5)
    axes.set_ylim(len(table) - 0.5, -0.5)
    axes.set_xticks(range(len(words)), words.values(), rotation=0 if wide else 90)
    if wide:
        axes.xaxis.tick_top()
    axes.set_yticks(range(len(table)), table.index if rows else [""] * len(table))
    axes.tick_params(length=0)
    axes.grid(False)
    for side in axes.spines.values():
        side.set_visible(False)
