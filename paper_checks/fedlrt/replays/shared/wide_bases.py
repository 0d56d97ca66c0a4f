"""Proofs about wide bases and means of low-rank models: eqs. (20) to (22), Lemma 7, what $G_U$ and $G_V$ span.

Matrices are symbols that do not commute, so that an identity holds for all sizes and ranks; an inverse cancels by
itself. Blocks beside each other are rows of such symbols.
"""

from __future__ import annotations

from typing import Any

import sympy

G, S, T, X, Y, Z, J = sympy.symbols("G S S^T X Y Z J", commutative=False)


def row(*blocks: Any) -> sympy.Matrix:
    """Return a row of blocks."""
    return sympy.Matrix([blocks])
