"""Exact linear algebra with fractions alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def is_positive_semidefinite(matrix: Sequence[Sequence[Fraction]]) -> bool:
    r"""Return whether a symmetric matrix of fractions is positive semidefinite, decided by $LDL^T$ without rounding.

    A pivot of zero is allowed if all that is left of its row is zero.

    >>> is_positive_semidefinite([[Fraction(1), Fraction(1)], [Fraction(1), Fraction(1)]])
    True
    >>> is_positive_semidefinite([[Fraction(0), Fraction(1)], [Fraction(1), Fraction(5)]])
    False
    """
    M = [list(row) for row in matrix]
    size = len(M)
    if any(len(row) != size for row in M) or any(M[i][j] != M[j][i] for i in range(size) for j in range(i)):
        raise ValueError("expected a symmetric matrix")
    for k in range(size):
        pivot = M[k][k]
        if pivot < 0 or (pivot == 0 and any(M[k][j] for j in range(k + 1, size))):
            return False
        if pivot == 0:
            continue
        for i in range(k + 1, size):
            if M[i][k]:
                factor = M[i][k] / pivot
                for j in range(i, size):
                    if M[k][j]:
                        M[i][j] -= factor * M[k][j]
                        M[j][i] = M[i][j]
    return True
