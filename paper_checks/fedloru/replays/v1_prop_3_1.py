"""Proposition 3.1 of v1, which is Proposition A.4 of iclr, and its proof."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions

Matrix = list[list[Fraction]]


@replay("fedloru-v1/eq-18-19")
def v1_eq_18_19(values: Values) -> Violation:
    """Evaluate both Hessians by the chain rule for l(y) = l_11 y^2/2 + l_111 y^3/6; g and its loss are constant."""
    h, h_1, h_2, h_11, h_12, h_22 = fractions(values, "h1_0", "h1_1", "h1_2", "h1_11", "h1_12", "h1_22")
    l_11, l_111 = fractions(values, "l_11", "l_111")
    slope, curvature = [h_1, h_2], [[h_11, h_12], [h_12, h_22]]

    def hessian(y: Fraction) -> Matrix:
        first, second = l_11 * y + l_111 * y**2 / 2, l_11 + l_111 * y
        return [[second * slope[i] * slope[j] + first * curvature[i][j] for j in range(2)] for i in range(2)]

    one, other = hessian(h + 1), hessian(h)
    return Violation(
        sum((one[i][j] - other[i][j]) ** 2 for i in range(2) for j in range(2)),
        0,
        reads="there are two weights. h1_0 is the value of h, h1_1 and h1_2 are its slopes, and h1_11, h1_12 and "
        "h1_22 its second derivatives. With g = 1 and the loss l_11 y^2/2 + l_111 y^3/6, we compute the squared "
        "distance between the Hessians for h + g and for h",
    )
