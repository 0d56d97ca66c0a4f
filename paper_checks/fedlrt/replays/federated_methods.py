"""Replays of the claims in ``federated_methods``: clients with losses h (w - c)^2 / 2 of one number, in fractions."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values


def _parabolas(values: Values) -> tuple[list[Fraction], list[Fraction], Fraction, int]:
    curvatures = [Fraction(h) for h in values["curvatures"]]
    centres = [Fraction(c) for c in values["centres"]]
    return curvatures, centres, Fraction(values["rate"]), int(values["steps"])


def _global_slope(w: Fraction, curvatures: list[Fraction], centres: list[Fraction]) -> Fraction:
    return sum((h * (w - c) for h, c in zip(curvatures, centres, strict=True)), Fraction(0)) / len(centres)


@replay("fedlrt/eq-2")
def eq_2(values: Values) -> Violation:
    """Weights of every client by (2) with the global gradient, and by its own, both from 0."""
    curvatures, centres, rate, steps = _parabolas(values)
    apart = Fraction(0)
    for h, c in zip(curvatures, centres, strict=True):
        printed = own = Fraction(0)
        for _ in range(steps):
            printed -= rate * _global_slope(printed, curvatures, centres)
            own -= rate * h * (own - c)
        apart = max(apart, abs(printed - own))
    unmet = "" if rate > 0 and steps >= 1 and min(curvatures) > 0 else "a positive rate, a step, convex losses"
    return Violation(apart, Fraction(0), unmet=unmet, reads="largest distance of a client by (2) from Algorithm 3's")


@replay("fedlrt/eq-4")
def eq_4(values: Values) -> Violation:
    """Weights of every client by (4) as printed, from the stationary point 0 of the global loss."""
    curvatures, centres, rate, steps = _parabolas(values)
    slope, moved = _global_slope(Fraction(0), curvatures, centres), Fraction(0)
    for h, c in zip(curvatures, centres, strict=True):
        w, correction = Fraction(0), h * -c - slope
        for _ in range(steps):
            w -= rate * (_global_slope(w, curvatures, centres) - correction)
        moved = max(moved, abs(w))
    unmet = "" if slope == 0 and rate > 0 and steps >= 1 else "a stationary point at 0, a positive rate, a step"
    return Violation(moved, Fraction(0), unmet=unmet, reads="largest distance of a client from the stationary point")
