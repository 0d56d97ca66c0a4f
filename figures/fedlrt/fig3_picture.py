"""The picture of FeDLRT's Figure 3; its numbers come from `figures.fedlrt.fig3`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from figures.fedlrt.fig3_crossings import PAIRS, amortised
from figures.style import BLACK, BLUE, GREEN, ORANGE, VERMILION, WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

COLORS = dict(
    zip(
        ("FedAvg", "FedLin", "FeDLRT", "FeDLRT, simplified", "FeDLRT, full"),
        (ORANGE, BLACK, VERMILION, GREEN, BLUE),
        strict=True,
    )
)
UNITS = {"communication": "numbers", "client compute": "operations", "client memory": "numbers"}


def draw_fig3(table: pd.DataFrame) -> Picture:
    """Draw three panels, one above the other, as in the paper."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(WIDTH, 7.2))
    panels = picture.subplots(len(UNITS), 1, sharex=True)
    for letter, axes, (panel, unit) in zip("abc", panels, UNITS.items(), strict=True):
        for method, color in COLORS.items():
            part = table[(table.panel == panel) & (table.method == method)].sort_values("rank")
            axes.plot(part["rank"], part.counted, color=color, label=method)
            axes.plot(part["rank"], part.printed, color=color, lw=1.0, ls=(0, (4, 2)))
        for low, full in PAIRS:
            rank = amortised(table, low, full, panel, "counted")
            if np.isfinite(rank):
                cost = table[(table.panel == panel) & (table.method == full)].counted.iloc[0]
                axes.plot(rank, cost, ls="none", marker="o", ms=5.0, mfc="white", mec=COLORS[low], mew=1.2)
                axes.annotate(f"{rank:.0f}", (rank, cost), (3, -11), textcoords="offset points", fontsize=8)
        axes.axvline(200, color="0.5", lw=0.8, ls=":")
        axes.set_yscale("log")
        axes.set(title=f"({letter}) {panel}", ylabel=unit)
    panels[0].plot([], [], color="0.4", label="counted")
    panels[0].plot([], [], color="0.4", lw=1.0, ls=(0, (4, 2)), label="Table 1")
    panels[0].plot([], [], ls="none", marker="o", ms=5.0, mfc="white", mec="0.4", mew=1.2, label="equal cost")
    panels[-1].set_xlabel("rank $r$")
    handles, labels = panels[0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=4)
    return picture
