"""Roots, logarithms and exponentials between two fractions, by the correctly rounded functions of ``decimal``.

Replays use it where a side is irrational, so their error bounds are rigorous and need the standard library alone.
"""

from __future__ import annotations

import decimal
from fractions import Fraction
from math import isqrt
from typing import Literal


def enclose(function: Literal["ln", "exp", "sqrt"], x: Fraction | int, digits: int = 40) -> tuple[Fraction, Fraction]:
    """Return fractions below and above an increasing function of x.

    Args:
        function: its name.
        x: where.
        digits: of the enclosure.

    Raises:
        ArithmeticError: the function is not defined there.

    >>> low, high = enclose("sqrt", 2)
    >>> low**2 < 2 < high**2, float(high - low) < 1e-38
    (True, True)
    """
    ends = []
    for rounding, beyond in (decimal.ROUND_FLOOR, "next_minus"), (decimal.ROUND_CEILING, "next_plus"):
        context = decimal.Context(digits, rounding, Emin=-9999, Emax=9999)  # ends that fractions can write
        at = context.divide(decimal.Decimal(x.numerator), decimal.Decimal(x.denominator))
        ends.append(Fraction(getattr(context, beyond)(getattr(context, function)(at))))
    return ends[0], ends[1]


def rational_root(square: Fraction) -> Fraction:
    """Return the square root of a rational square.

    Raises:
        ValueError: it is not rational.

    >>> rational_root(Fraction(4, 9))
    Fraction(2, 3)
    """
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    if root**2 != square:
        raise ValueError(f"the square root of {square} is not rational")
    return root


enclosed = enclose
"""Alias of `enclose`, for papers of one's own."""
