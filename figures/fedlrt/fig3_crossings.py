"""The rank at which a low-rank method costs as much as a full-rank one."""

from __future__ import annotations

import numpy as np
import pandas as pd

PAIRS = (("FeDLRT", "FedAvg"), ("FeDLRT, simplified", "FedLin"), ("FeDLRT, full", "FedLin"))
"""Low-rank methods, each with its full-rank counterpart."""


def amortised(table: pd.DataFrame, low: str, full: str, panel: str, column: str) -> float:
    """Return the rank at which a low-rank method costs as much as a full-rank one; inf if it never does.

    Between two ranks of the table the costs are taken as straight.
    """
    part = table[table.panel == panel]
    pair = part.pivot(index="rank", columns="method", values=column)
    gap = (pair[low] - pair[full]).sort_index()
    above = np.flatnonzero(gap.to_numpy() >= 0)
    if not len(above):
        return float("inf")
    place = int(above[0])
    if place == 0:
        return float(gap.index[0])
    (r0, r1), (g0, g1) = gap.index[place - 1 : place + 1], gap.iloc[place - 1 : place + 1]
    return float(r0 + (r1 - r0) * g0 / (g0 - g1))
