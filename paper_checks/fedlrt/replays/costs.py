"""Replays of the claims in ``costs``: what the boxes send, counted on arrays, and Table 1 in whole numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values


@replay("fedlrt/table-1")
def table_1(values: Values) -> Violation:
    """Messages of Algorithm 1 with var_cor, line by line, against O(6nr + 10r^2) with its constants."""
    n, r = int(values["n"]), int(values["r"])
    U, V, S = np.zeros((n, r)), np.zeros((n, r)), np.zeros((r, r))
    G_U, G_V, U_bar, V_bar = (np.zeros((n, r)) for _ in range(4))
    G_St, St = np.zeros((2 * r, 2 * r)), np.zeros((2 * r, 2 * r))
    lines = {2: (U, V, S), 4: (G_U, G_V), 6: (U_bar, V_bar), 11: (G_St,), 12: (G_St,), 16: (St,)}
    sent = sum(array.size for arrays in lines.values() for array in arrays)
    full = values["method"] == "FeDLRT, full" and values["cost"] == "communication"
    unmet = "" if full else "communication with full correction"
    return Violation(
        Fraction(sent),
        Fraction(6 * n * r + 10 * r * r),
        unmet=unmet,
        assumes=[Hypothesis("r", r, ">=", 1), Hypothesis("2r", 2 * r, "<=", n)],
        reads="numbers that travel for a client in a round, against 6nr + 10r^2",
    )
