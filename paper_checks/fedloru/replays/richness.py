"""Replays of the claims in ``richness``, in fractions."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions, square

Matrix = list[list[Fraction]]


@replay("fedloru-v2/claim-union")
def claim_union_as_printed(values: Values) -> Violation:
    """Non-zero eigenvalues of the Hessian of h - y, h a quadratic form of one weight, by its second difference at 0."""
    ((form,),) = square(values["hessian"], 1)

    def risk(w: int) -> Fraction:
        return form * w**2 / 2 - 1

    hessian = risk(1) - 2 * risk(0) + risk(-1)
    return Violation(
        1,
        int(hessian != 0),
        reads="one weight, h = hessian w^2/2, y = 1: least k of the union against "
        "the non-zero eigenvalues of this pair",
    )


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
    return Violation(
        sum((one[i][j] - other[i][j]) ** 2 for i in range(2) for j in range(2)),
        0,
        reads="two weights; h1_0 is the value of h, h1_1 and h1_2 are its slopes, h1_11, h1_12, h1_22 its "
        "second derivatives; g = 1, loss l_11 y^2/2 + l_111 y^3/6: squared distance of the Hessians for h "
        "+ g and for h",
    )
