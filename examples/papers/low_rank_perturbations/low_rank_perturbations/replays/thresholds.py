"""Thresholds: a Wishart law with a threshold at each end, and the proof for densities that decay."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values


@replay("low-rank-perturbations/critical@one-threshold-for-both-ends")
def critical(values: Values) -> Violation:
    r"""Where $1/\theta + \ldots$ turns, at the root s of the ratio: the size of the threshold of either end.

    $G$ solves $czG^2 - (z + c - 1)G + 1 = 0$, with a double root $G = (z + c - 1)/(2cz)$ at both ends $(1 \pm s)^2$.
    """
    s = Fraction(values["s"])
    sizes = [abs(2 * s**2 * z / (z + s**2 - 1)) for z in ((1 + s) ** 2, (1 - s) ** 2)]
    assumes = (Hypothesis("s", s, ">", 0), Hypothesis("s", s, "<", 1))
    reads = "sizes of the thresholds of the right and of the left end"
    return Violation(abs(sizes[0] - sizes[1]), 0, assumes=assumes, reads=reads)


@proof("low-rank-perturbations/decay")
def finite_threshold(widths: Fraction = Fraction(1)) -> str:
    r"""For every law on [a, b] $G(b^+) = \int(b - x)^{-1}\mu(dx) \ge 1/(b - a)$, because $b - x \le b - a$.

    So the threshold is at most b - a. A law with enough mass next to a comes as close to it as one likes.
    """
    to_a, to_b = sympy.symbols("to_a to_b", positive=True)
    width = to_a + to_b
    require(sympy.factor(1 / to_b - 1 / width).is_positive is True, "1/(b - x) exceeds 1/(b - a) inside the law")
    require(bool(widths >= 1), "the bound is at least one width of the law")
    return "1/(b - x) is at least 1/(b - a) for x of the law"


@proof("low-rank-perturbations/decay@the-transform-is-finite")
def finite_transform(decay: str = "square root", side: str = "positive") -> str:
    r"""Let the density be at most $C(b - x)^{1/2}$ for $x > b - d$. Then $G(b^+) \le 2C\sqrt d + 1/d$.

    The part within d of the edge contributes at most $\int_0^dCt^{1/2 - 1}dt = 2C\sqrt d$, and the rest at most 1/d,
    because its mass is at most 1 and its distance at least d. So $1/G(b^+)$ is positive. A density of at least C there
    has $\int_0^dC\,t^{-1}dt = \infty$ instead.
    """
    t, d, C = sympy.symbols("t d C", positive=True)
    power = {"square root": sympy.Rational(1, 2), "none": sympy.Integer(0), "growth": -sympy.Rational(1, 4)}
    near = sympy.integrate(C * t ** (power[decay] - 1), (t, 0, d))
    require(near != sympy.oo, "the integral at the edge converges")
    require(sympy.simplify(near - 2 * C * sympy.sqrt(d)) == 0, "its value")
    return "the integral of 1/(b - x) converges at the edge"
