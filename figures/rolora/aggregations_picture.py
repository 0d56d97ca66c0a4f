"""The picture of all aggregations: one column for each case, rounds above and bytes below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from figures.style import BLACK, SERIES, WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_LEAST = 1e-14
_PANELS = (("training", "round", "communication round"), ("population", "bytes", "bytes"))


def draw_aggregations(table: pd.DataFrame) -> Picture:
    """Draw the losses of each case in its own column."""
    from matplotlib.figure import Figure as Picture

    cases, methods = list(table["case"].unique()), list(table.method.unique())
    colors = dict(zip(methods, (*SERIES, BLACK), strict=False))
    picture = Picture(figsize=(WIDTH, 4.95))
    grid = picture.subplots(2, len(cases), sharey="row", squeeze=False)
    for column, case in enumerate(cases):
        for axes, (quantity, x, label) in zip(grid[:, column], _PANELS, strict=True):
            of_panel = table[(table["case"] == case) & (table.quantity == quantity)]
            for method, part in of_panel.groupby("method", sort=False):
                shown = part[part[x] > 0] if x == "bytes" else part
                look = (0, (3, 1)) if method in ("FedLoRU", "FedAvg") else "-"
                middle, low, high = (shown[name].clip(lower=_LEAST) for name in ("median", "low", "high"))
                axes.plot(shown[x], middle, color=colors[str(method)], label=str(method), lw=1.1, ls=look)
                axes.fill_between(shown[x], low, high, color=colors[str(method)], alpha=0.15, lw=0)
            limit = of_panel.rank_1.iloc[0]
            if quantity == "training" and limit > _LEAST:
                axes.axhline(limit, color=BLACK, ls=":", lw=1.0)
            axes.set(xlabel=label, yscale="log", ylim=(_LEAST, None), xscale="log" if x == "bytes" else "linear")
        grid[0, column].set_title(f"({'abcd'[column]}) {case}", fontsize=8.5)
    grid[0, 0].set_ylabel("training loss above least")
    grid[1, 0].set_ylabel("expected loss above least")
    handles, names = grid[0, 0].get_legend_handles_labels()
    picture.legend(handles, names, loc="outside lower center", ncols=len(names), fontsize=7.5, columnspacing=1.0)
    return picture
