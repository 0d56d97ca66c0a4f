"""The picture of FeDLRT's Figure 1; its numbers come from `figures.fedlrt.fig1`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from figures.fedlrt.fig1_properties import properties, unreached
from figures.property_matrix import ROW, draw_matrix
from figures.style import BLACK, BLUE, GREEN, ORANGE, VERMILION, WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

LOOKS: dict[str, dict[str, Any]] = {
    "FedAvg": {"color": ORANGE, "lw": 2.6},
    "FedLin": {"color": BLACK, "lw": 1.2, "ls": (0, (4, 2))},
    "FeDLRT": {"color": VERMILION, "lw": 2.6},
    "FeDLRT, simplified": {"color": GREEN, "lw": 1.6},
    "FeDLRT, full": {"color": BLUE, "lw": 1.0, "ls": (0, (3, 1.5))},
}
WORDS = {
    "plateau": "stalls without correction",
    "exact": "$10^{-5}$ with correction",
    "faster": "FeDLRT before FedLin",
    "single": "single precision",
    "admitted": "step of Theorem 2",
    "alike": "variants alike",
}
"""Properties of a reading, as columns; all but the last are stated."""
FLOOR = 1e-10


def draw_fig1(table: pd.DataFrame) -> Picture:
    """Draw a column for each data split; the first reading on top, all readings and their properties below."""
    from matplotlib.figure import Figure as Picture

    splits = list(dict.fromkeys(table.split))
    has, later = properties(table), unreached(table)
    split_of = table.drop_duplicates("reading").set_index("reading").split
    count = len(has) // len(splits)
    picture = Picture(figsize=(WIDTH, 4.3 + ROW * count))
    curves, cells = picture.subplots(2, len(splits), squeeze=False, height_ratios=(2.2, ROW * count))
    for place, split in enumerate(splits):
        own = has[split_of[has.index] == split]
        _draw_curves(curves[place], table[table.reading == own.index[0]])
        curves[place].set_title(f"({'abc'[place]}) {split} points")
        draw_matrix(
            cells[place],
            own.rename(lambda name, split=split: name.removesuffix(f", {split}")),
            WORDS,
            place == 0,
            unreached=later.loc[own.index],
        )
        curves[place].sharey(curves[0])
        if place:
            curves[place].tick_params(labelleft=False)
    curves[0].set_ylabel("distance to the minimiser")
    handles, labels = curves[0].get_legend_handles_labels()
    marks, named = cells[0].get_legend_handles_labels()
    picture.legend([*handles, *marks], [*labels, *named], loc="outside lower center", ncols=7, columnspacing=1.0)
    return picture


def _draw_curves(axes: Axes, part: pd.DataFrame) -> None:
    low_rank = part[part.method.str.startswith("FeDLRT")]
    rounds = int(low_rank["round"].max())
    for method, look in LOOKS.items():
        line = part[(part.method == method) & (part["round"] <= rounds)].sort_values("round")
        axes.plot(line["round"], line.distance.clip(lower=FLOOR), label=method, **look)
        low, high = (line[end].clip(lower=FLOOR) for end in ("distance_low", "distance_high"))
        axes.fill_between(line["round"], low, high, color=look["color"], alpha=0.12, lw=0.0)
    axes.axhline(1e-5, color="0.5", lw=0.8, ls=":")
    axes.set_yscale("log")
    axes.set_xlim(0, rounds)
    axes.set_xlabel("round")
