"""Symbols of low-rank matrices and gradients, for identities that are shown entry by entry."""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from paper_checks.methods.identity import Equation


@dataclass(frozen=True)
class Flow:
    """Symbols of the low-rank dynamics in coordinates in which both bases are the first r axes.

    An orthogonal change of coordinates of rows and columns takes any orthonormal U and V there, and the dynamics with
    them, so an identity for all S and G here is one for all bases.
    """

    U: sympy.Matrix
    S: sympy.Matrix
    V: sympy.Matrix
    G: sympy.Matrix

    @property
    def name(self) -> str:
        """Return size and rank."""
        return f"n = {self.G.rows}, r = {self.S.rows}"


def symbolic_flow(m: int, n: int, r: int) -> Flow:
    """Return symbols for a matrix of m rows and n columns and rank r."""
    S = sympy.Matrix(r, r, lambda i, j: sympy.Symbol(f"S_{i}{j}"))
    G = sympy.Matrix(m, n, lambda i, j: sympy.Symbol(f"G_{i}{j}"))
    return Flow(sympy.eye(m)[:, :r], S, sympy.eye(n)[:, :r], G)


def entrywise(name: str, left: sympy.Matrix, right: sympy.Matrix) -> list[Equation]:
    """Return one equation for each entry."""
    return [Equation(name, left[i, j], right[i, j]) for i in range(left.rows) for j in range(left.cols)]
