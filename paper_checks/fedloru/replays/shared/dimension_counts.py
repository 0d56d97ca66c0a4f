r"""Eigenvalues of sums of Hermitian matrices, by counting dimensions.

Eigenvalues decrease, $\lambda_1 \ge \cdots \ge \lambda_n$. On the span of eigenvectors of a Hermitian matrix that
belong to its k-th and later eigenvalues the Rayleigh quotient is at most $\lambda_k$, on the span of the first k at
least $\lambda_k$. Three subspaces whose dimensions add up to more than $2n$ have a unit vector in common.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy

from paper_checks.replay import require

n, i, j = sympy.symbols("n i j", integer=True, positive=True)


def in_common(dimensions: Iterable[Any]) -> bool:
    """Return whether three subspaces of n dimensions must have a unit vector in common."""
    return bool(sympy.expand(sum(dimensions) - 2 * n) >= 1)


def upper(k: Any) -> bool:
    r"""$\lambda_k(A + B) \le \lambda_i(A) + \lambda_j(B)$: later eigenvectors of A and B, the first k of the sum.

    At a common unit vector x, $\lambda_k(A + B) \le x^*(A + B)x = x^*Ax + x^*Bx \le \lambda_i(A) + \lambda_j(B)$.
    """
    return in_common((n - i + 1, n - j + 1, k))


def lower(k: Any) -> bool:
    r"""$\lambda_k(A + B) \ge \lambda_i(A) + \lambda_j(B)$: the first eigenvectors of A and B, the later of the sum.

    At a common unit vector x, $\lambda_k(A + B) \ge x^*(A + B)x \ge \lambda_i(A) + \lambda_j(B)$.
    """
    return in_common((i, j, n - k + 1))


def between(p_shift: int, q_shift: int) -> None:
    r"""Both sides of $\lambda_{i+q}(\epsilon) \le \lambda_i(H) \le \lambda_{i-p}(\epsilon)$ from Weyl's inequalities.

    Upper side: with $i - p$ goes the index $p + 1$ of $H_{\mathrm{true}}$, whose eigenvalue is not positive. Lower
    side: with $i + q$ goes $n - q$, whose eigenvalue is not negative. Where $i - p < 1$ or $i + q > n$ nothing is said.
    """
    p, q, of_noise = sympy.symbols("p q k", integer=True)
    above = sympy.solve(of_noise + j - 1 - i, j)[0].subs(of_noise, i - p - p_shift)
    below = sympy.solve(of_noise + j - n - i, j)[0].subs(of_noise, i + q + q_shift)
    require(above - p >= 1, "the eigenvalue of H_true in the upper side is not positive")
    require(n - q - below >= 0, "the eigenvalue of H_true in the lower side is not negative")
