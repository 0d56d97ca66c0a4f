"""Many readings in one panel: a row for each reading, a column for each property, filled if the reading has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from figures.style import BLACK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HAS, LACKS = "yes", "no"
"""Names of the marks in a legend."""
ROW = 0.18
"""Inches for a row."""


def draw_matrix(
    axes: Axes, table: pd.DataFrame, words: Mapping[str, str], rows: bool = True, wide: bool = False
) -> None:
    """Draw a square for each cell of a table of truth values, filled where true, with the first row on top.

    Args:
        axes: An empty panel.
        table: Index: readings; columns: properties, bool.
        words: Labels of the properties, by column; columns that are not named are left out.
        rows: Whether to print the readings.
        wide: Whether the properties are written horizontally above, or vertically below.
    """
    cells = table[list(words)].to_numpy(dtype=bool)
    for label, chosen, face in ((HAS, cells, BLACK), (LACKS, ~cells, "white")):
        row, column = np.nonzero(chosen)
        axes.plot(column, row, ls="none", marker="s", ms=6.0, mfc=face, mec=BLACK, mew=0.7, label=label)
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
