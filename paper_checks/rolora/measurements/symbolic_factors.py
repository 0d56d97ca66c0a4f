"""Low-rank factors in symbols, for identities that are shown entry by entry."""

from __future__ import annotations

import sympy

from paper_checks.context import Context
from paper_checks.methods.identity import Equation, Point, generic_points

SHAPES = (
    "1 to 3 clients, A of 3 x 2, B of 2 x 2, any entries: enough, since an entry is a sum over clients or pairs "
    "of them and over the inner index, of the same terms for any numbers"
)


def factors(clients: int) -> tuple[list[sympy.Matrix], list[sympy.Matrix]]:
    """Return A_i (3 x 2) and B_i (2 x 2) of every client, as symbols."""
    As = [sympy.Matrix(3, 2, sympy.symbols(f"a{i}_:6")) for i in range(clients)]
    Bs = [sympy.Matrix(2, 2, sympy.symbols(f"b{i}_:4")) for i in range(clients)]
    return As, Bs


def mean(matrices: list[sympy.Matrix]) -> sympy.Matrix:
    """Return the entrywise mean."""
    return sum(matrices[1:], matrices[0]) / sympy.Integer(len(matrices))


def points_of(context: Context) -> list[Point]:
    """Return values for all entries of three clients."""
    As, Bs = factors(3)
    return generic_points(context, [s for M in As + Bs for s in M], 3)


def entrywise(name: str, left: sympy.Matrix, right: sympy.Matrix) -> list[Equation]:
    """Return one equation for every entry."""
    pairs = zip(left, right, strict=True)
    return [Equation(f"{name}, entry {k}", one, other) for k, (one, other) in enumerate(pairs)]
