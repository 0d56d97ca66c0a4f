"""The picture of FeDLRT's Figure 1; its numbers come from `figures.fedlrt_fig1`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from figures.style import BLACK, BLUE, GREEN, ORANGE, VERMILION, WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

LOOKS: dict[str, dict[str, Any]] = {
    "FedAvg": {"color": ORANGE, "lw": 2.6},
    "FedLin": {"color": BLACK, "lw": 1.2, "ls": (0, (4, 2))},
    "FeDLRT": {"color": VERMILION, "lw": 2.6},
    "FeDLRT, simplified": {"color": GREEN, "lw": 1.6},
    "FeDLRT, full": {"color": BLUE, "lw": 1.0, "ls": (0, (3, 1.5))},
}
FLOOR = 1e-10


def draw_fig1(table: pd.DataFrame) -> Picture:
    """Rows: readings; columns: what the clients hold."""
    from matplotlib.figure import Figure as Picture

    splits = list(dict.fromkeys(table.split))
    names = list(
        dict.fromkeys(name.removesuffix(f", {split}") for name, split in zip(table.reading, table.split, strict=True))
    )
    picture = Picture(figsize=(WIDTH, 1.5 * len(names) + 0.8))
    panels = picture.subplots(len(names), len(splits), sharey=True, squeeze=False)
    low_rank = [method for method in LOOKS if method.startswith("FeDLRT")]
    for i, name in enumerate(names):
        for j, split in enumerate(splits):
            axes = panels[i, j]
            part = table[table.reading == f"{name}, {split}"]
            rounds = int(part[part.method.isin(low_rank)]["round"].max())
            for method, look in LOOKS.items():
                line = part[(part.method == method) & (part["round"] <= rounds)].sort_values("round")
                axes.plot(line["round"], line.distance.clip(lower=FLOOR), label=method, **look)
                low, high = (line[end].clip(lower=FLOOR) for end in ("distance_low", "distance_high"))
                axes.fill_between(line["round"], low, high, color=look["color"], alpha=0.12, lw=0.0)
            axes.axhline(1e-5, color="0.5", lw=0.8, ls=":")
            axes.set_yscale("log")
            axes.set_xlim(0, rounds)
            axes.set_title((f"{split} points\n" if i == 0 else "") + f"{name}, {rounds} rounds", fontsize=8)
            if i == len(names) - 1:
                axes.set_xlabel("round")
        panels[i, 0].set_ylabel("distance")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside upper center", ncols=5)
    return picture
