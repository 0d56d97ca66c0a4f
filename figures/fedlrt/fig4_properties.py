"""FeDLRT's Figure 4 in a reading as properties that the reading has or lacks."""

from __future__ import annotations

import numpy as np
import pandas as pd

from figures.fedlrt.legendre_readings import CLOSE, first_round, last_above


def properties(table: pd.DataFrame) -> pd.DataFrame:
    """Return the properties of each reading.

    Returns:
        Index reading, in the table's order; bool columns right (the target's rank in every run at the last round),
        above (never a rank below it), close (median distance 1e-5 reached with every number of clients), faster
        (FeDLRT has its nearest median distance by a recorded round in which FedLin is still above it, with every number
        of clients), admitted (Theorem 2 admits the step for every number of clients).
    """
    rows = {}
    for name, part in table.groupby("reading", sort=False):
        low, full = part[part.method != "FedLin"], part[part.method == "FedLin"]
        last = low[low["round"] == low["round"].max()]
        pairs = [(low[low.clients == C], full[full.clients == C]) for C in last.clients]
        rows[name] = {
            "right": bool((last.right == last.starts).all()),
            "above": bool((last.below == 0).all()),
            "close": all(np.isfinite(first_round(ours, CLOSE)) for ours, _ in pairs),
            "faster": all(_before(ours, theirs) for ours, theirs in pairs),
            "admitted": bool((part.learning_rate <= 1.0 / (12.0 * part.smoothness * part.steps)).all()),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("reading")


def unreached(table: pd.DataFrame) -> pd.DataFrame:
    """Return where the rounds of a reading do not reach what a property is about.

    The distance falls by ever smaller amounts for thousands of rounds, so a reading that has not come within 1e-5 may
    still do so, unless its distance rests. Until then, a rank above the target's may still fall to it, but a rank that
    was ever below decides.

    Returns:
        Index reading, in the table's order; bool columns right and close, as in `properties`.
    """
    has, low = properties(table), table[table.method != "FedLin"]
    falls = pd.Series(
        {
            name: any(not _rests(line) for _, line in part.groupby("clients"))
            for name, part in low.groupby("reading", sort=False)
        }
    )
    open = {"right": ~has.right & has.above & falls, "close": ~has.close & falls}
    return pd.DataFrame(open).reindex(has.index)


def _rests(line: pd.DataFrame) -> bool:
    """Return whether the median distance has changed by less than a hundredth over the second half of the rounds."""
    distance = line.set_index("round").distance.sort_index()
    half = distance[distance.index >= distance.index[-1] / 2].iloc[0]
    return bool(abs(distance.iloc[-1] - half) < 0.01 * half)


def _before(low: pd.DataFrame, full: pd.DataFrame) -> bool:
    """Return whether FeDLRT has its smallest median distance, at least 1e-5, before FedLin, by the recorded rounds."""
    ours, _, level = ratio_to_fedlin(low, full)
    return ours <= last_above(full, level)


def ratio_to_fedlin(low: pd.DataFrame, full: pd.DataFrame) -> tuple[float, float, float]:
    """Return both methods' rounds to FeDLRT's smallest median distance, at least 1e-5, and that distance."""
    level = max(float(low.distance.min()), CLOSE)
    return first_round(low, level), first_round(full, level), level
