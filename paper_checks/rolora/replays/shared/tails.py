"""The tails (18) and (26), with explicit constants."""

from __future__ import annotations

from fractions import Fraction

import sympy
from mpmath import iv

from paper_checks.replay import require
from paper_checks.rolora.replays.shared.concentration import interval, surely

t, y = sympy.symbols("t y", positive=True)


def vanishes(expression: sympy.Expr) -> bool:
    """Return whether an expression is identically zero."""
    return bool(sympy.simplify(expression) == 0)


def tail_of_length(c1: Fraction) -> None:
    """Show (18) with this constant."""
    slope = sympy.diff(-y - y**2 / 2 - sympy.log(1 - y), y)
    require(c1 * Fraction(9, 64) == Fraction(1, 4) and vanishes(slope - y**2 / (1 - y)), "the constant c_1")


def tail_of_products(c3: str) -> None:
    """Show (26) with this constant."""
    golden, g = (sympy.sqrt(5) - 1) / 2, (iv.sqrt(5) - 1) / 2
    require(vanishes(1 - golden**2 - golden), "the golden ratio")
    require(surely(g + iv.log(g) / 2 - interval(c3)), "the constant c_3")
    # k = (1 - lambda^2) / 2, as the mean over w is exp(lambda^2 z^2 / 2).
    lam, k = sympy.symbols("l k", positive=True)
    over_z = 2 * sympy.integrate(sympy.exp(-k * y**2), (y, 0, sympy.oo)) / sympy.sqrt(2 * sympy.pi)
    require(vanishes(over_z.subs(k, (1 - lam**2) / 2) - 1 / sympy.sqrt(1 - lam**2)), "the moment of a product")
