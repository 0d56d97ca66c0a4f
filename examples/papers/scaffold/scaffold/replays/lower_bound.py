"""Theorem II with a free global step: FedAvg is run in fractions, step by step."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, followed


@replay("scaffold/thm-2@any-global-step")
def thm_2(values: Values) -> Violation:
    """A twentieth of G^2/(mu R^2) against the error after R rounds, for mu = g = 1 and G^2 = 2."""
    R, K, size = followed(values, "R", 10_000), followed(values, "K", 300), Fraction(values["size"])
    assumes = assuming(
        Hypothesis("R", R, ">=", 1),
        Hypothesis("K", K, ">=", 2),
        Hypothesis("eta_l mu", size, ">", 0),
        Hypothesis("eta_l beta", 3 * size, "<=", 1),
    )

    def move(x: Fraction) -> Fraction:
        """Mean of the clients' moves."""
        first = second = x
        for _ in range(K):
            first, second = first - size * (3 * first + 1), second - size * (second - 1)
        return (first + second) / 2 - x

    start = Fraction(1)
    pull = move(Fraction(0)) - move(Fraction(1))  # what a unit of x adds to the move back
    x = start + move(start) / pull  # global step 1/pull, after which the move is 0
    assumed = (
        *assumes,
        Hypothesis("the move after the first round", move(x), "<=", 0),
        Hypothesis("eta_g", 1 / pull, ">", 0),
    )
    return Violation(Fraction(1, 10) / R**2, x**2, assumes=assumed, reads="0.05 G^2/(mu R^2) against f(x^R) - f(x*)")
