"""Averaged factors as symbols that do not commute, for what accumulation and restart do to the model."""

from __future__ import annotations

import sympy

m, n, r, p, q, e = sympy.symbols("m n r r_A r_B e", positive=True)

alpha = sympy.Symbol("alpha")

W = sympy.Symbol("W", commutative=False)


def factors_of(rounds: int) -> list[tuple[sympy.Symbol, sympy.Symbol]]:
    """Return the averaged factors of each round, which do not commute."""
    names = (sympy.symbols(f"{name}1:{rounds + 1}", commutative=False) for name in "AB")
    return list(zip(*names, strict=True))
