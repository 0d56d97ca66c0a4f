"""Replays of the claims in ``richness``, in fractions."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, fractions, square

Matrix = list[list[Fraction]]


@replay("fedloru-v2/claim-union")
def claim_union(values: Values) -> Violation:
    """Non-zero eigenvalues of the Hessian of h - y, h the quadratic form, by differences of order two at w = 0."""
    R = len(values["hessian"])
    form = square(values["hessian"], R)

    def risk(w: list[int]) -> Fraction:
        return sum((form[i][j] * w[i] * w[j] for i in range(R) for j in range(R)), Fraction(0)) / 2 - 1

    def at(*steps: tuple[int, int]) -> Fraction:
        return risk([sum(step for place, step in steps if place == i) for i in range(R)])

    hessian = [[(at((i, 1), (j, 1)) - at((i, 1), (j, -1)) - at((i, -1), (j, 1)) + at((i, -1), (j, -1))) / 4
                for j in range(R)] for i in range(R)]  # fmt: skip
    beside = sum((hessian[i][j] ** 2 for i in range(R) for j in range(R) if i != j), Fraction(0))
    assumes = (
        Hypothesis("weights", R, ">=", 1),
        Hypothesis("squares beside the diagonal, where the eigenvalues then are", beside, "=", 0),
    )
    return Violation(1, sum(hessian[i][i] != 0 for i in range(R)), assumes=assumes,
                     reads="least k of the union against the non-zero eigenvalues of this pair")  # fmt: skip


@replay("fedloru-v1/prop-3.1")
def v1_prop_3_1(values: Values) -> Violation:
    """Both Hessians by the chain rule, for l(y) = l_11 y^2/2 + l_111 y^3/6; g is constant, and so is its loss."""
    h, h_1, h_2, h_11, h_12, h_22 = fractions(values, "h1_0", "h1_1", "h1_2", "h1_11", "h1_12", "h1_22")
    l_11, l_111 = fractions(values, "l_11", "l_111")
    slope, curvature = [h_1, h_2], [[h_11, h_12], [h_12, h_22]]

    def hessian(y: Fraction) -> Matrix:
        first, second = l_11 * y + l_111 * y**2 / 2, l_11 + l_111 * y
        return [[second * slope[i] * slope[j] + first * curvature[i][j] for j in range(2)] for i in range(2)]

    one, other = hessian(h + 1), hessian(h)
    return Violation(sum((one[i][j] - other[i][j]) ** 2 for i in range(2) for j in range(2)), 0,
                     reads="g = 1, loss l_11 y^2/2 + l_111 y^3/6: squared distance of the Hessians for h + g and for "
                     "h")  # fmt: skip
