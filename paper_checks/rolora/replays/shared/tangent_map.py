r"""The angle under the population loss, in one and many iterations: one map for equal and different clients.

Let u be the squared sine between a and $a^*$, c the cosine, $s = \eta\|\bar b^*\|^2$ (for equal clients $\|b^*\|^2$).
At $b = c\bar b^*$ the step $a - 2\eta(a\|b\|^2 - a^*\langle\bar b^*, b\rangle)$ has the component $c(1 + 2su)$ along
$a^*$ and across it $1 - 2s + 2su$ times the component of a. So the tangent is multiplied by $1 - Y$, exactly, with
$Y = \frac{2s}{1 + 2su}$, and the cosine keeps its sign. For $0 < s < 1$ and u > 0, $|1 - Y| < 1$: the sine never grows.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from paper_checks.proof_steps import positive
from paper_checks.replay import require
from paper_checks.rolora.replays.shared.logarithms import bounds_of_logarithms, w, z

u, h, s = sympy.symbols("u h s", positive=True)
"""Positive: a squared sine, what is added to it, and a step."""


def not_negative(expression: Any) -> bool:
    """Return whether an expression is positive or identically 0."""
    return bool(sympy.simplify(expression) == 0) or positive(expression)


def at_least(stated: Fraction | int, **constants: Fraction) -> None:
    """Require that no constant is less than the statement's, which would prove less than it."""
    for name, value in constants.items():
        require(value >= stated, f"{name} = {value} is weaker than the statement's {stated}")


def at_most(stated: Fraction | int, **constants: Fraction) -> None:
    """Require that no constant is more than the statement's, which would prove less than it."""
    for name, value in constants.items():
        require(value <= stated, f"{name} = {value} is weaker than the statement's {stated}")


def ratio(step: Any, square: Any) -> Any:
    """Return the factor of the tangent in one iteration."""
    return 1 - 2 * step / (1 + 2 * step * square)


def map_of_the_tangent() -> None:
    """Return the components of the step, with the cosine c and the sine d of a: c^2 + d^2 = 1."""
    c, d = sympy.symbols("c d", positive=True)
    along, across = c * (1 - 2 * s * c**2) + 2 * s * c, d * (1 - 2 * s * c**2)
    there = sympy.simplify((along - c * (1 + 2 * s * d**2)).subs(d, sympy.sqrt(1 - c**2)))
    quotient = (across / along / (d / c) - ratio(s, d**2)).subs(d, sympy.sqrt(1 - c**2))
    require(there == 0 == sympy.simplify(quotient), "the map of the tangent")


def tangents_decrease(lead: Fraction | int, pull: Fraction | int, longest: Fraction) -> None:
    r"""Each iteration lowers the log of the tangent by at least $2s/(1 - s + 2su_0)$, for $u \le u_0$.

    $1 - Y > 0$ for $s \le \frac12$, and $-\log(1 - Y) = 2\operatorname{artanh}\frac{Y}{2 - Y} \ge \frac{2Y}{2 - Y}$.
    """
    map_of_the_tangent()
    bounds_of_logarithms()
    shorter = longest / (1 + w)
    Y = 1 - ratio(s, u)
    require(positive(ratio(shorter, u)) and positive(ratio(longest, u)), "1 - Y is not positive")
    argument = sympy.simplify(Y / (2 - Y))
    require(sympy.simplify((1 + argument) / (1 - argument) * (1 - Y) - 1) == 0, "the logarithm of 1 - Y")
    lowered = (2 * argument - lead * s / (1 - pull * s + 2 * s * (u + h))).subs(s, shorter)
    require(not_negative(lowered), "the decrease of the tangent")
    require(positive((1 - pull * s + 2 * s * u).subs(s, shorter)), "the count is not positive")


def sines_decrease(factor: Fraction | int, longest: Fraction) -> None:
    r"""The sine is multiplied by at most $1 - 2s(1 - u_0)$, which is not negative, for $u \le u_0 < 1$.

    The square of its factor is $(1 - 2sx)^2/(1 + 4s^2ux)$, $x = 1 - u$, from the two components, and $s(1 - u_0) \le
    sx$. At u = 0, $u = u_0$ and the longest step the inequalities, none of them strict, hold by continuity.
    """
    map_of_the_tangent()
    square, largest = u / (u + h + z), (u + h) / (u + h + z)
    shorter, x = longest / (1 + w), 1 - square
    components = (1 + 2 * s * u) ** 2 * (1 - u) + (1 - 2 * s + 2 * s * u) ** 2 * u
    require(sympy.expand(components - 1 - 4 * s**2 * u * (1 - u)) == 0, "the squared length of the step")
    middle, last = 1 - 2 * shorter * x, 1 - factor * shorter * (1 - largest)
    require(positive(middle), "1 - 2s(1 - u) is not positive")
    require(not_negative(last - middle), "the bound is below it")
    require(positive(last), "the bound is not positive")
