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
                     reads="quotient = epsilon / delta_0; simple number of iterations against the exact one, "
                     "printed to be larger")  # fmt: skip


@replay("rolora/eq-172")
def eq_172(values: Values) -> Violation:
    """The order of eqs. (172) and (173)."""
    return iteration_count(values)


@replay("rolora/a4-first-step")
def a4_first_step(values: Values) -> Violation:
    """One step with unlimited samples, by squares of coordinates: a = (c, d), a* = (1, 0), b* = 1."""
    square, s = fractions(values, "square", "step")
    x = 1 - square
    # a+ = a(1 - 2 s c^2) + 2 s c a*: coordinates c(1 - 2 s x) + 2 s c and d(1 - 2 s x); both squared.
    along, across = x * (1 - 2 * s * x + 2 * s) ** 2, square * (1 - 2 * s * x) ** 2
    unmet = "" if 0 < square < 1 and 0 < s <= 1 else "delta_0 in (0, 1), eta at most 1/L_max^2 with L_max = ||b*|| = 1"
    return Violation(across / (along + across), square * (1 - s * x), unmet=unmet,
                     reads="square = delta_0^2, step = eta |b*|^2, unlimited samples; delta_1^2 against that of "
                     "the bound")  # fmt: skip


@replay("rolora/eq-124")
def eq_124(values: Values) -> Violation:
    """Eq. (144) with a mean of minimisers that is exact, divided by delta."""
    delta, s, eps = fractions(values, "delta", "step", "eps")
    x = 1 - delta**2
    allowed = 0 < delta < 1 and 0 < s <= 1 and 0 < eps < x / 16 and values["line"] == "(144)"
    unmet = "" if allowed else "line (144), delta in (0, 1), eta at most 1/L_max^2, eps' < (1 - delta^2)/16"
    return Violation(abs(1 - 2 * s * x), abs(1 - 2 * s * (x - eps)), unmet=unmet,
                     reads="step = eta |b*|^2, eps = eps', b = g; both sides of (144) over delta")  # fmt: skip
