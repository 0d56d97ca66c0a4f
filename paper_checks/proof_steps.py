"""Steps that proofs share: exact constants, and polynomials without a negative coefficient.

Proofs run in the fresh process of the replays; this module is theirs and imports nothing else of the toolkit.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy


def rational(value: Any) -> sympy.Rational:
    """Return a stored constant, or a fraction, as an exact number; decimals are taken as they are written.

    >>> rational("2.5"), rational(Fraction(1, 3))
    (5/2, 1/3)
    """
    number = Fraction(str(value))
    return sympy.Rational(number.numerator, number.denominator)


def non_negative(expression: Any) -> bool:
    """Return whether a polynomial in symbols that are not negative has no negative coefficient.

    Raises:
        TypeError: It has a float, whose rounding can hide a sign.

    >>> x, y = sympy.symbols("x y", positive=True)
    >>> non_negative(2 * x * y), non_negative(x**2 - 2 * x * y + y**2)
    (True, False)
    """
    if sympy.sympify(expression).has(sympy.Float):
        raise TypeError(f"signs need exact expressions, got one with floats: {expression}; write fractions")
    expanded = sympy.expand(expression)
    symbols = sorted(expanded.free_symbols, key=str)
    return bool(all(c >= 0 for c in sympy.Poly(expanded, *symbols).coeffs()) if symbols else expanded >= 0)


def positive(expression: Any) -> bool:
    """Check that a rational expression in positive symbols is a quotient of polynomials of one sign.

    Raises:
        TypeError: It has a float, whose rounding can hide a sign.

    >>> x = sympy.Symbol("x", positive=True)
    >>> positive((1 + x) / (2 + x**2)), positive(x - 1), positive(x - x)
    (True, False, False)
    """
    above, below = sympy.fraction(sympy.together(expression))
    return bool(above != 0) and any(non_negative(sign * above) and non_negative(sign * below) for sign in (1, -1))
