"""Replays of the claims in ``iterations``."""

from __future__ import annotations

from fractions import Fraction

from mpmath import iv

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions


def iteration_count(values: Values) -> Violation:
    """Both numbers of iterations in intervals; printed is exact > simple, so the witness has simple > exact."""
    delta_0, c, quotient = fractions(values, "delta_0", "c", "quotient")
    root = int(values["root"])
    y = c * (1 - delta_0**2)
    iv.dps = 30

    def interval(number: Fraction) -> iv.mpf:
        return iv.mpf(number.numerator) / iv.mpf(number.denominator)

    target = iv.log(interval(quotient))
    exact, simple = root * target / iv.log(interval(1 - y)), root * target / -interval(y)
    unmet = "" if 0 < delta_0 < 1 and 0 < c < 1 and 0 < quotient < 1 else "delta_0, c and epsilon/delta_0 in (0, 1)"
    middle = [Fraction(float(side.mid)) for side in (simple, exact)]
    return Violation(middle[0], middle[1], error=Fraction(1, 10**12), unmet=unmet,
                     reads="simple number of iterations against the exact one, printed to be larger")  # fmt: skip


@replay("rolora/eq-172")
def eq_172(values: Values) -> Violation:
    """The order of eqs. (172) and (173)."""
    return iteration_count(values)
