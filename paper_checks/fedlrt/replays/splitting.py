"""Replays of the claims in ``splitting``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values


@replay("fedlrt/eq-17")
def eq_17(values: Values) -> Violation:
    """Columns of Ut' U_0, which is 2r by r, against the rows of the 2r by 2r matrix beside it."""
    n, r = int(values["n"]), int(values["r"])
    return Violation(Fraction(abs(r - 2 * r)), Fraction(0),
                     assumes=[Hypothesis("r", r, ">=", 1), Hypothesis("2r", 2 * r, "<=", n)],
                     reads="columns of the first factor against rows of the second, difference")  # fmt: skip
