"""Replays of the claims in ``coefficients``, in fractions."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values


@replay("fedlrt/eq-26-gradients")
def eq_26_gradients(values: Values) -> Violation:
    """Losses |W - A|^2 / 2 with both bases the axes of the plane, r = 1, at coefficients zero: F = A, gradient -A."""
    target = [[Fraction(entry) for entry in row] for row in values["targets"][0]]
    size = len(target)
    zero = [[Fraction(0)] * size for _ in range(size)]
    slope = [[zero[i][j] - target[i][j] for j in range(size)] for i in range(size)]
    force = [[-entry for entry in row] for row in slope]
    apart = max(abs(force[i][j] - slope[i][j]) for i in range(size) for j in range(size))
    return Violation(
        apart,
        Fraction(0),
        unmet="" if size == 2 else "two rows and columns",
        given={"W": zero, "gradient": slope, "F": force},
        reads="losses |W - A|^2 / 2, A a target, at W = 0: largest entry of the left side minus the right one",
    )


@replay("fedlrt/lemma-3")
def lemma_3(values: Values) -> Violation:
    """Columns of U against rows of F in the printed product of (25)."""
    n, r = int(values["n"]), int(values["r"])
    return Violation(Fraction(abs(n - r)), Fraction(0),
                     assumes=[Hypothesis("r", r, ">=", 1), Hypothesis("r", r, "<=", n)],
                     reads="columns of U against rows of F, difference")  # fmt: skip
