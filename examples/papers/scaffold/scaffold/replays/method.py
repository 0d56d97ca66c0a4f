"""Section 4: eq. (6) as printed, and a round from control variates of 0."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values


@replay("scaffold/eq-6")
def eq_6(values: Values) -> Violation:
    """The local step of one client, which is plain descent, against the printed update."""
    y, step, gradient = (Fraction(values[name]) for name in ("y", "eta_l", "g1"))
    assumes = (Hypothesis("eta_l", step, ">", 0),)
    ends = y - step * gradient, y + gradient
    return Violation(max(ends), min(ends), assumes=assumes, reads="the local step and eq. (6), the larger first")


@replay("scaffold/sec-7-2@from-control-variates-of-0")
def sec_7_2(values: Values) -> Violation:
    """x after a round of two local steps from control variates of 0, with G and without."""
    a, b, p, q, G, u, step, total = (
        Fraction(values[name]) for name in ("a", "b", "p", "q", "G", "u", "eta_l", "eta_g")
    )
    x = u - (p + q) / (a + b)

    def after(apart: Fraction) -> Fraction:
        first = second = x
        for _ in range(2):
            first, second = first - step * (a * first + p + apart), second - step * (b * second + q - apart)
        return x + total * ((first + second) / 2 - x)

    names = {"a": a, "b": b, "G": G, "eta_l": step, "eta_g": total}
    assumes = tuple(Hypothesis(name, value, ">", 0) for name, value in names.items())
    ends = after(G), after(Fraction(0))
    return Violation(
        max(ends), min(ends), assumes=assumes, reads="x after a round with G and without, the larger first"
    )
