"""FeDLRT's Figure 4 in a reading as properties that the reading has or lacks."""

from __future__ import annotations

import numpy as np
import pandas as pd

from figures.fedlrt.legendre_readings import CLOSE, first_round


def properties(table: pd.DataFrame) -> pd.DataFrame:
    """Return the properties of each reading.

    Returns:
        Index reading, in the table's order; bool columns right (the target's rank in every run at the last round),
        above (never a rank below it), close (median distance 1e-5 reached with every number of clients), faster
        (FeDLRT's nearest median distance takes FedLin more rounds, with every number of clients), admitted (Theorem 2
        admits the step for every number of clients).
    """
    rows = {}
    for name, part in table.groupby("reading", sort=False):
        low, full = part[part.method != "FedLin"], part[part.method == "FedLin"]
        last = low[low["round"] == low["round"].max()]
        pairs = [(low[low.clients == C], full[full.clients == C]) for C in last.clients]
        rounds = [ratio_to_fedlin(ours, theirs)[:2] for ours, theirs in pairs]
        rows[name] = {
            "right": bool((last.right == last.starts).all()),
            "above": bool((last.below == 0).all()),
            "close": all(np.isfinite(first_round(ours, CLOSE)) for ours, _ in pairs),
            "faster": all(ours < theirs or not np.isfinite(theirs) for ours, theirs in rounds),
            "admitted": bool((part.learning_rate <= 1.0 / (12.0 * part.smoothness * part.steps)).all()),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("reading")


def unreached(table: pd.DataFrame) -> pd.DataFrame:
    """Return where the rounds of a reading do not reach what a property is about.

    The distance is the only such property: it falls by ever smaller amounts for thousands of rounds, so a reading that
    has not come within 1e-5 may still do so, unless its distance rests.

    Returns:
        Index reading, in the table's order; bool column close, as in `properties`.
    """
    low = table[table.method != "FedLin"]
    falls = {
        name: any(not _rests(line) for _, line in part.groupby("clients"))
        for name, part in low.groupby("reading", sort=False)
    }
    return ~properties(table)[["close"]] & pd.DataFrame({"close": falls}).rename_axis("reading")


def _rests(line: pd.DataFrame) -> bool:
    """Return whether the median distance has changed by less than a hundredth over the second half of the rounds."""
    distance = line.set_index("round").distance.sort_index()
    half = distance[distance.index >= distance.index[-1] / 2].iloc[0]
    return bool(abs(distance.iloc[-1] - half) < 0.01 * half)


def ratio_to_fedlin(low: pd.DataFrame, full: pd.DataFrame) -> tuple[float, float, float]:
    """Return both methods' rounds to FeDLRT's smallest median distance, at least 1e-5, and that distance."""
    level = max(float(low.distance.min()), CLOSE)
    return first_round(low, level), first_round(full, level), level
