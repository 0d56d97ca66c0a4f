"""Laws of the data with few atoms, and samples of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

import sympy

from paper_checks.context import Context
from paper_checks.methods.identity import Point, generic_points

ATOMS = range(3)

P1, P2 = sympy.symbols("p1 p2")

SHARES = (P1, P2, 1 - P1 - P2)  # the data-generating law on three points

SIZES = ((2, 1), (3, 1), (3, 2))  # N and M < N


def draw_laws(context: Context, symbols: set[sympy.Symbol]) -> list[Point]:
    """Draw exact values for the symbols, with positive probabilities of the three points."""
    points = generic_points(context, sorted({*symbols, P1, P2}, key=str), 4)
    return [{**point, P1: abs(point[P1]) / 3, P2: abs(point[P2]) / 3} for point in points]


def samples(size: int) -> Iterator[tuple[tuple[int, ...], sympy.Expr]]:
    """Return every sample of independent data points with its probability."""
    for sample in product(ATOMS, repeat=size):
        yield sample, prod((SHARES[a] for a in sample), start=sympy.Integer(1))
