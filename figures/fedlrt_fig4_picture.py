"""The picture of FeDLRT's Figure 4; its numbers come from `figures.fedlrt_fig4`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from figures.style import BLACK, SERIES, WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

COLUMNS = (
    ("rank", False, "rank"),
    ("distance", False, "distance"),
    ("loss", False, "loss, FeDLRT"),
    ("loss", True, "loss, FedLin"),
)


def draw_fig4(table: pd.DataFrame) -> Picture:
    """Rows: readings; columns: rank, distance, the losses of both methods."""
    from matplotlib.figure import Figure as Picture

    readings = list(dict.fromkeys(table.reading))
    counts = sorted(int(C) for C in table.clients.unique())
    colors = dict(zip(counts, (*SERIES, BLACK) * 2, strict=False))
    picture = Picture(figsize=(WIDTH + 1.0, 1.25 * len(readings) + 0.9))
    panels = picture.subplots(len(readings), len(COLUMNS), squeeze=False)
    for place, reading in enumerate(readings):
        row = panels[place]
        part = table[table.reading == reading]
        rounds = int(part[part.method != "FedLin"]["round"].max())
        for axes, (name, full, title) in zip(row, COLUMNS, strict=True):
            chosen = part[((part.method == "FedLin") == full) & (part["round"] <= rounds)]
            for C, line in chosen.groupby("clients"):
                _draw_line(axes, line, name, colors[int(C)], f"$C={C}$")
            if name == "rank":
                axes.axhline(float(part.target_rank.iloc[0]), color="0.5", lw=0.8, ls=":")
                axes.set_ylim(0.0, None)
            else:
                axes.set_yscale("log")
            if name == "distance":
                axes.axhline(1e-5, color="0.5", lw=0.8, ls=":")
            if place == 0:
                axes.set_title(f"{title}\n")
            if place == len(readings) - 1:
                axes.set_xlabel("round")
            axes.set_xlim(0, rounds)
        losses = [axes.get_ylim() for axes in row[2:]]
        for axes in row[2:]:
            axes.set_ylim(min(low for low, _ in losses), max(high for _, high in losses))
        title = row[0].get_title(loc="left")
        row[0].set_title(f"{title}{reading}, {rounds} rounds", fontsize=8)
    handles = {
        text: line for axes in panels[:, 0] for line, text in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    picture.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=6)
    return picture


def _draw_line(axes: Axes, line: pd.DataFrame, name: str, color: str, label: str) -> None:
    line = line.sort_values("round")
    floor = -np.inf if name == "rank" else 1e-30
    axes.plot(line["round"], line[name].clip(lower=floor), color=color, lw=1.1, label=label)
    low, high = (line[f"{name}_{end}"].clip(lower=floor) for end in ("low", "high"))
    axes.fill_between(line["round"], low, high, color=color, alpha=0.15, lw=0.0)
