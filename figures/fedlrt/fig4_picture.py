"""The picture of FeDLRT's Figure 4; its numbers come from `figures.fedlrt.fig4`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from figures.fedlrt.fig4_properties import properties, unreached
from figures.property_matrix import ROW, draw_matrix
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
FOLLOWED = "followed longer"
"""The reading that follows the first one for more rounds, and is drawn with it."""
SEEN = 0.03
"""Share of a panel's height by which lines differ, on average, if a reader can distinguish them."""
WORDS = {
    "right": "rank found",
    "above": "never below",
    "close": "$10^{-5}$ reached",
    "faster": "before FedLin",
    "admitted": "step of Theorem 2",
}
"""Properties of a reading, as columns; all are stated."""


def draw_fig4(table: pd.DataFrame) -> Picture:
    """Draw the first reading on top, a row for each number of rounds; all readings and their properties below."""
    from matplotlib.figure import Figure as Picture

    has = properties(table)
    shown = shown_readings(has.index)
    counts = sorted(int(C) for C in table.clients.unique())
    colors = dict(zip(counts, (*SERIES, BLACK) * 2, strict=False))
    picture = Picture(figsize=(WIDTH + 1.0, 1.9 * len(shown) + ROW * len(has) + 0.9))
    grid = picture.add_gridspec(
        len(shown) + 1, len(COLUMNS), height_ratios=[1.3] * len(shown) + [ROW * len(has)], hspace=0.05
    )
    panels = [[picture.add_subplot(grid[i, j]) for j in range(len(COLUMNS))] for i in range(len(shown))]
    matrix = picture.add_subplot(grid[-1, :])
    for row, reading in zip(panels, shown, strict=True):
        _draw_reading(row, table[table.reading == reading], colors)
        rounds = int(row[0].get_xlim()[1])
        for axes, (_, _, title) in zip(row, COLUMNS, strict=True):
            axes.set_title(title if reading == shown[0] else "")
        row[0].set_title(f"{row[0].get_title(loc='left')}\n{reading}, {rounds} rounds".strip(), fontsize=8)
    draw_matrix(matrix, has, WORDS, wide=True, unreached=unreached(table))
    handles = {text: line for row in panels for line, text in zip(*row[0].get_legend_handles_labels(), strict=True)}
    marks, named = matrix.get_legend_handles_labels()
    picture.legend(
        [*handles.values(), *marks], [*handles, *named], loc="outside lower center", ncols=8, columnspacing=1.0
    )
    return picture


def _draw_reading(row: Sequence[Axes], part: pd.DataFrame, colors: dict[int, str]) -> None:
    """Draw rank, distance and both losses, the losses on one scale."""
    rounds = int(part[part.method != "FedLin"]["round"].max())
    for axes, (name, full, _) in zip(row, COLUMNS, strict=True):
        chosen = part[((part.method == "FedLin") == full) & (part["round"] <= rounds)]
        counts = sorted(set(chosen.clients))
        if len(counts) > 1 and alike(part[part["round"] <= rounds]):
            lines = [(counts[0], BLACK, "every $C$ shown, alike")]
        else:
            lines = [(C, colors[C], f"$C={C}$") for C in counts]
        for C, color, text in lines:
            _draw_line(axes, chosen[chosen.clients == C], name, color, text)
        if name == "rank":
            axes.axhline(float(part.target_rank.iloc[0]), color="0.5", lw=0.8, ls=":")
            axes.set_ylim(0.0, None)
        else:
            axes.set_yscale("log")
        if name == "distance":
            axes.axhline(1e-5, color="0.5", lw=0.8, ls=":")
        axes.set_xlim(0, rounds)
        axes.set_xlabel("round")
    losses = [axes.get_ylim() for axes in row[2:]]
    for axes in row[2:]:
        axes.set_ylim(min(low for low, _ in losses), max(high for _, high in losses))


def shown_readings(names: Iterable[str]) -> list[str]:
    """Return the readings whose rounds are shown: the first one, and the one that follows it longer."""
    return [name for place, name in enumerate(names) if place == 0 or name == FOLLOWED]


def alike(part: pd.DataFrame) -> bool:
    """Return whether the lines of all numbers of clients would lie on one another in every panel of a reading."""
    for _, line in part.groupby("method"):
        for name, floor in (("rank", None), ("distance", 1e-30), ("loss", 1e-30)):
            values = line.pivot(index="round", columns="clients", values=name)
            heights = values.to_numpy() if floor is None else np.log10(values.clip(lower=floor).to_numpy())
            if float(np.ptp(heights, axis=1).mean()) > SEEN * float(np.ptp(heights)):
                return False
    return True


def _draw_line(axes: Axes, line: pd.DataFrame, name: str, color: str, label: str) -> None:
    line = line.sort_values("round")
    floor = -np.inf if name == "rank" else 1e-30
    axes.plot(line["round"], line[name].clip(lower=floor), color=color, lw=1.1, label=label)
    low, high = (line[f"{name}_{end}"].clip(lower=floor) for end in ("low", "high"))
    axes.fill_between(line["round"], low, high, color=color, alpha=0.15, lw=0.0)
