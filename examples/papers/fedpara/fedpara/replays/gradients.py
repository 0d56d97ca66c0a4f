"""Appendix B: eqs. (6) and (8) as printed, at stored values."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values


def matrix(values: Values, name: str) -> list[list[Fraction]]:
    """Return a stored 2 x 2 matrix."""
    a, b, c, d = (Fraction(values[f"{name}_{number}"]) for number in (1, 2, 3, 4))
    return [[a, b], [c, d]]


def product(left: list[list[Fraction]], right: list[list[Fraction]]) -> list[list[Fraction]]:
    """Return the product of two 2 x 2 matrices."""
    return [[sum((left[a][r] * right[r][b] for r in (0, 1)), Fraction(0)) for b in (0, 1)] for a in (0, 1)]


def turned(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    """Return the transpose."""
    return [[matrix[b][a] for b in (0, 1)] for a in (0, 1)]


@replay("fedpara/eq-6")
def eq_6(values: Values) -> Violation:
    """The sum of all entries of both gradients: as printed, and as differences of the loss, affine in each factor."""
    x, y, u, v, j = (matrix(values, name) for name in ("x", "y", "u", "v", "j"))
    other = product(u, turned(v))

    def loss(first: list[list[Fraction]], second: list[list[Fraction]]) -> Fraction:
        one = product(first, turned(second))
        return sum((j[a][b] * one[a][b] * other[a][b] for a in (0, 1) for b in (0, 1)), Fraction(0))

    def moved(factor: list[list[Fraction]]) -> list[list[Fraction]]:
        return [[entry + 1 for entry in row] for row in factor]

    inner = [[j[a][b] * other[a][b] for b in (0, 1)] for a in (0, 1)]
    both = product(inner, turned(y)), product(turned(x), inner)
    printed = sum((entry for gradient in both for row in gradient for entry in row), Fraction(0))
    derivative = loss(moved(x), y) + loss(x, moved(y)) - 2 * loss(x, y)
    ends = printed, derivative
    return Violation(max(ends), min(ends), reads="sums of the printed gradients and of the true ones, the larger first")


@replay("fedpara/eq-8")
def eq_8(values: Values) -> Violation:
    """An entry of the weight after a step: the printed expansion, and the product of both new factors."""
    p1, p2, q1, q2, s1, s2 = (Fraction(values[f"{name}_{i}"]) for name in ("P", "Q", "S") for i in (1, 2))
    eta = Fraction(values["eta"])
    product = (p1 - eta * q1 + eta**2 * s1) * (p2 - eta * q2 + eta**2 * s2)
    squares = q1 * q2 + s2 * p2 + s2 * p1
    printed = p1 * p2 + eta**4 * s1 * s2 - eta**3 * (q1 * s2 + q2 * s1) + eta**2 * squares - eta * (q1 * p2 + q2 * p1)
    ends = printed, product
    assumes = (Hypothesis("the step size", eta, "!=", 0),)
    return Violation(max(ends), min(ends), assumes=assumes, reads="the printed entry and the product, the larger first")
