"""Block matrices in symbols, for augmented bases and means of low-rank models.

Matrices are symbols that do not commute, so an identity holds for all sizes and ranks; an inverse cancels by
itself. Blocks side by side are rows of such symbols.
"""

from __future__ import annotations

from typing import Any

import sympy

G, S, T, X, Y, Z, J = sympy.symbols("G S S^T X Y Z J", commutative=False)


def row(*blocks: Any) -> sympy.Matrix:
    """Return a row of blocks."""
    return sympy.Matrix([blocks])
