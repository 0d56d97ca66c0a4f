"""FeDLRT's Figure 1 in a reading as numbers, and as properties that a reading has or lacks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from figures.fedlrt.legendre_readings import CLOSE, LOW_RANK, first_round, last_above

SINGLE = 2.0**-23
"""Relative rounding of single precision."""


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return where each method ends in each reading, the round at which it is within 1e-5, and whether it has settled.

    Returns:
        Index reading and method; columns end (median distance at the last round), close (first recorded round within
        1e-5, or nan), away (the last recorded round that is not, or -1), resting (the median distance at the last round
        is more than half of that half the rounds before), size (of the minimiser).
    """
    rows = {}
    for key, part in table.groupby(["reading", "method"], sort=False):
        part = part.sort_values("round")
        middle = part[part["round"] <= part["round"].max() / 2].distance.iloc[-1]
        end = float(part.distance.iloc[-1])
        rows[key] = {
            "end": end,
            "close": first_round(part, CLOSE),
            "away": last_above(part, CLOSE),
            "resting": end > 0.5 * middle,
            "size": float(part["size"].iloc[0]),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["reading", "method"])


def properties(table: pd.DataFrame) -> pd.DataFrame:
    """Return the properties of each reading, from the median distances.

    Returns:
        Index reading, in the table's order; bool columns plateau (FedAvg and FeDLRT without correction stall
        above 1e-5), exact (FedLin and FeDLRT with the full correction reach 1e-5), faster (so they do, FeDLRT
        by a recorded round in which FedLin is still above it), single (FeDLRT with the full correction ends at single
        precision), alike and alike_full (FeDLRT's variants, and FedAvg and FedLin, are the same within 1e-6), admitted
        (Theorem 2 admits the step).
    """
    ends = summary(table)
    plain, full = LOW_RANK["none"], LOW_RANK["full"]
    rows = {}
    for name, part in table.groupby("reading", sort=False):
        of = ends.loc[name]
        far = of.resting.astype(bool) & (of.end > CLOSE)
        exact = bool(np.isfinite(of.close["FedLin"]) and np.isfinite(of.close[full]))
        first = part.iloc[0]
        rows[name] = {
            "plateau": bool(far["FedAvg"] and far[plain]),
            "exact": exact,
            "faster": exact and bool(of.close[full] <= of.away["FedLin"]),
            "single": bool(of.end[full] <= SINGLE * of["size"][full]),
            "alike": _spread(part, tuple(LOW_RANK.values())) < 1e-6,
            "alike_full": _spread(part, ("FedAvg", "FedLin")) < 1e-6,
            "admitted": bool(first.learning_rate <= 1.0 / (12.0 * first.smoothness * first.steps)),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("reading")


def unreached(table: pd.DataFrame) -> pd.DataFrame:
    """Return where the rounds of a reading do not reach what a property is about.

    A method has not been followed far enough if its distance is still falling, or, for FeDLRT, if its rounds are fewer
    than half of those that FedLin needs for 1e-5. Where both reach 1e-5, their recorded rounds may not show which does
    so first.

    Returns:
        Index reading, in the table's order; bool columns plateau, exact, faster and single, as in `properties`. Where
        true, later rounds, or those between the recorded ones, may change the property.
    """
    ends = summary(table)
    plain, full = LOW_RANK["none"], LOW_RANK["full"]
    rows = {}
    for name, part in table.groupby("reading", sort=False):
        of, rounds = ends.loc[[name]].droplevel("reading"), part.groupby("method")["round"].max()
        needed = float(of.close["FedLin"])
        early = {method: rounds[method] < 0.5 * needed for method in LOW_RANK.values() if method in rounds}
        going = {method: bool(not of.resting[method] or early.get(method, False)) for method in of.index}
        close = of.end <= CLOSE
        both = ("FedLin", full)
        exact = not close[list(both)].all() and all(close[method] or going[method] for method in both)
        rows[name] = {
            "plateau": bool(not close[["FedAvg", plain]].any() and (going["FedAvg"] or going[plain])),
            "exact": bool(exact),
            "faster": bool((exact and not rounds[full] > needed) or _is_tie(of, both)),
            "single": bool(of.end[full] > SINGLE * of["size"][full] and going[full]),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("reading")


def _is_tie(of: pd.DataFrame, methods: tuple[str, str]) -> bool:
    """Return whether two methods reach 1e-5 and the recorded rounds do not show which does so first."""
    close, away = of.close[list(methods)], of.away[list(methods)]
    return bool(np.isfinite(close).all() and close.min() > away.max())


def _spread(part: pd.DataFrame, methods: Sequence[str]) -> float:
    """Return the largest difference between methods in median distance over the rounds, relative to the start."""
    lines = part[part.method.isin(methods)].pivot(index="round", columns="method", values="distance")
    return float((lines.max(axis=1) - lines.min(axis=1)).max() / lines.iloc[0].max())
