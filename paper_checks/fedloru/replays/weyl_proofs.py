r"""Proofs about eigenvalues of sums, by counting dimensions.

Eigenvalues decrease, $\lambda_1 \ge \cdots \ge \lambda_n$. On the span of eigenvectors of a Hermitian matrix that
belong to its k-th and later eigenvalues the Rayleigh quotient is at most $\lambda_k$, on the span of the first k at
least $\lambda_k$. Three subspaces whose dimensions add up to more than $2n$ have a unit vector in common.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy

from paper_checks.fedloru.replays.step_proofs import positive_sizes
from paper_checks.replay import proof, require

n, i, j = sympy.symbols("n i j", integer=True, positive=True)


def in_common(dimensions: Iterable[Any]) -> bool:
    """Whether three subspaces of n dimensions must have a unit vector in common."""
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


@proof("fedloru-v2/lem-A.3")
def lem_A_3(upper_shift: int = 0, lower_shift: int = 0) -> str:
    r"""Both lines by dimensions, for every n, i and j.

    For (10) the three dimensions are $n - i + 1$, $n - j + 1$ and $i + j - 1$, for (11) $i$, $j$ and
    $n - (i + j - n) + 1$; they add up to $2n + 1$. Diagonal matrices with suitable orders attain equality.
    """
    require(upper(i + j - 1 + upper_shift), "a common vector for (10)")
    require(lower(i + j - n + lower_shift), "a common vector for (11)")
    return "dimensions of three subspaces, with n, i and j as symbols"


@proof("fedloru-v2/eq-21-25")
def eq_21_25(p_shift: int = 0, q_shift: int = 0) -> str:
    r"""Weyl's inequalities (Lemma A.3) for every R (n below), p, q and i.

    They are used at $\lambda_{p+1}(H_{\mathrm{true}}) \le 0 \le \lambda_{R-q}(H_{\mathrm{true}})$.
    """
    require(upper(i + j - 1), "Weyl's upper inequality")
    require(lower(i + j - n), "Weyl's lower inequality")
    between(p_shift, q_shift)
    return "indices of Weyl's inequalities, with n, i, p and q as symbols"


@proof("fedloru-v1/eq-20-22")
def v1_eq_20_22(
    first: int = 1, second: int = -1, first_shift: int = 0, second_shift: int = 0, p_shift: int = 0, q_shift: int = 0
) -> str:
    r"""The two lines are Weyl's inequalities with $1 + i - j = k$ and $R + i - j = k$: at most, and at least.

    The conclusion follows from the first at $\lambda_{p+1}(H_{\mathrm{true}}) \le 0$ and from the second, in that
    direction, at $\lambda_{R-q}(H_{\mathrm{true}}) \ge 0$.
    """
    require(first == 1 and upper(i + j - 1 + first_shift), "the first line, at most")
    require(second == -1 and lower(i + j - n + second_shift), "the second line, at least")
    between(p_shift, q_shift)
    return "indices of Weyl's inequalities, with n, i, j, p and q as symbols"


@proof("fedloru-v2/claim-union")
def claim_union(least: int = 0, short: int = 0, sizes: tuple[int, ...] = (1, 2, 5)) -> str:
    r"""A true Hessian is real symmetric, so that it has R real eigenvalues with multiplicity (spectral theorem).

    The number k of those that are not 0 is one of 0, ..., R, and the pair lies in $\Omega^R(\theta_1, \ldots,
    \theta_k)$ for them. Each k occurs: under the loss $h - y$ the model $\frac12\sum_{i \le k}\omega_i^2$ of R weights
    has the Hessian $\mathrm{diag}(1, \ldots, 1, 0, \ldots, 0)$, which is 0 for $k = 0$.
    """
    for R in positive_sizes(sizes):
        weights = sympy.symbols(f"w1:{R + 1}")
        ranks = [
            sympy.hessian(sum((w**2 for w in weights[:k]), sympy.Integer(0)) / 2, weights).rank() for k in range(R + 1)
        ]
        require(set(ranks) == set(range(least, R - short + 1)), f"the numbers of eigenvalues at R = {R}")
    return "the spectral theorem; for each k the sum of k squares as a model, whose Hessian is diagonal"
