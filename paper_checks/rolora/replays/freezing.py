"""Replays of the claims in ``freezing`` and ``freezing_steps``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("rolora/eq-207")
def eq_207(values: Values) -> Violation:
    """The square of a sum against both sums with the printed limits, for two clients."""
    s_1, s_2 = fractions(values, "s1", "s2")
    printed = s_2**2 + 2 * s_1 * s_2
    return Violation(abs(printed - s_2**2), 0, reads="N = 2, so that only s2 is in the sum; right side minus left side")


@replay("rolora/s5-saturate")
def s5_saturate(values: Values) -> Violation:
    """The objective at the best multiple of b*, entry by entry; the statement has it positive."""
    X, target, a, b_star = ([[Fraction(x) for x in row] for row in values["X"]],
                            *([Fraction(x) for x in values[name]] for name in ("target", "a", "b")))  # fmt: skip
    ours, theirs = ([sum(x * y for x, y in zip(row, v, strict=True)) for row in X] for v in (a, target))
    below = sum(u * u for u in ours)
    s = sum(u * v for u, v in zip(ours, theirs, strict=True)) / below if below else Fraction(0)
    value = sum((v * b - u * s * b) ** 2 for u, v in zip(ours, theirs, strict=True) for b in b_star)
    across = sum((a[i] * target[j] - a[j] * target[i]) ** 2 for i in range(len(a)) for j in range(i))
    assumes = (
        Hypothesis("|a|^2", sum(x * x for x in a), "=", 1),
        Hypothesis("|a*|^2", sum(x * x for x in target), "=", 1),
        Hypothesis("squared sine between a and a*", across, ">", 0),
        Hypothesis("|b*|^2", sum(b * b for b in b_star), ">", 0),
    )
    return Violation(0, value, assumes=assumes, strict=True, given={"X": X, "s": s},
                     reads="0 < the objective at b = s b*")  # fmt: skip
