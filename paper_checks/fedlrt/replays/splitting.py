"""Replays of the claims in ``splitting``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("fedlrt/thm-5")
def thm_5(values: Values) -> Violation:
    r"""A flat loss, both flows at rest, in units of $d_2d_3$ with $\Delta t$ in units of $d_3$, for all constants."""
    time, theta, lost = fractions(values, "time", "theta", "lost")
    assumes = [
        Hypothesis("Delta t over d_3", time, ">", 0),
        Hypothesis("what the truncation takes away", lost, ">", 0),
        Hypothesis("what the truncation takes away", lost, "<", theta),
    ]
    return Violation(lost, time + theta / time, assumes=assumes,
                     reads="flat loss, epsilon = 0: the truncated part over d_2 d_3, against the bound")  # fmt: skip


@replay("fedlrt/eq-17")
def eq_17(values: Values) -> Violation:
    """Columns of Ut' U_0, which is 2r by r, against the rows of the 2r by 2r matrix beside it."""
    n, r = int(values["n"]), int(values["r"])
    return Violation(Fraction(abs(r - 2 * r)), Fraction(0),
                     assumes=[Hypothesis("r", r, ">=", 1), Hypothesis("2r", 2 * r, "<=", n)],
                     reads="columns of the first factor against rows of the second, difference")  # fmt: skip
