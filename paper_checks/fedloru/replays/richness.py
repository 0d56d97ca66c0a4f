"""Replays of the claims in ``richness``."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values


@replay("fedloru-v2/claim-union")
def claim_union(values: Values) -> Violation:
    """Non-zero eigenvalues of the Hessian of h - y, h the quadratic form, by differences of order two at w = 0."""
    form = [[Fraction(entry) for entry in row] for row in values["hessian"]]
    R = len(form)
    unmet = "" if R >= 1 and all(len(row) == R for row in form) else "a Hessian of R >= 1 weights"

    def risk(w: list[int]) -> Fraction:
        return sum((form[i][j] * w[i] * w[j] for i in range(R) for j in range(R)), Fraction(0)) / 2 - 1

    def at(*steps: tuple[int, int]) -> Fraction:
        w = [0] * R
        for place, step in steps:
            w[place] += step
        return risk(w)

    hessian = sympy.Matrix(R, R, lambda i, j: sympy.Rational(
        str((at((i, 1), (j, 1)) - at((i, 1), (j, -1)) - at((i, -1), (j, 1)) + at((i, -1), (j, -1))) / 4)))  # fmt: skip
    t = sympy.Symbol("t")
    zeros = min(power for (power,) in hessian.charpoly(t).monoms())  # how often 0 is a root
    count = R - zeros
    return Violation(Fraction(1), Fraction(count), unmet=unmet, reads="least k of the union against the non-zero "
                     "eigenvalues of this pair")  # fmt: skip


@replay("fedloru-v1/prop-3.1")
def v1_prop_3_1(values: Values) -> Violation:
    """Both Hessians by differentiating the compositions, and the condition on g likewise."""
    w1, w2, z = weights = sympy.symbols("w1 w2 z")
    parts = {"value": sympy.Integer(1), "slope": w1 + z, "curvature": z * (w1 + z / 2), "third": z**3}
    g = sum((parts[name] for name in values["g"]), start=sympy.Integer(0))

    def number(name: str) -> sympy.Rational:
        return sympy.Rational(str(values[name]))

    h = number("h1_0") + number("h1_1") * w1 + number("h1_2") * w2 + number("h1_12") * w1 * w2
    h += (number("h1_11") * w1**2 + number("h1_22") * w2**2) / 2

    def hessian(output: sympy.Expr) -> sympy.Matrix:
        loss = number("l_1") * output + number("l_11") * output**2 / 2 + number("l_111") * output**3 / 6
        return sympy.hessian(loss, weights).subs(dict.fromkeys(weights, 0))

    unmet = "" if hessian(g).is_zero_matrix else "the loss of g has zero Hessian at the point"
    largest = max(abs(entry) for entry in hessian(h + g) - hessian(h))
    return Violation(Fraction(str(largest)), Fraction(0), unmet=unmet,
                     reads="largest difference between the Hessians for h + g and for h")  # fmt: skip
