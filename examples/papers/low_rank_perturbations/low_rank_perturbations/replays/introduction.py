"""Introduction: proofs for matrices of every size."""

from __future__ import annotations

import sympy

from paper_checks.replay import proof, require


@proof("low-rank-perturbations/same-eigenvectors")
def same_eigenvectors(shared: bool = True, ordered: bool = False) -> str:
    r"""If $Xu = xu$ and $Pu = pu$, then $(X + P)u = (x + p)u$.

    This holds for each of n common eigenvectors that are a basis, so that these are all eigenvalues of the sum. Each is
    the sum of an eigenvalue of X and of the one of P on the same eigenvector. In decreasing order of each, those have
    indices j and k that may differ, as for X = diag(2, 1) and P = diag(0, 3), where the largest sum is 1 + 3.
    """
    x, p, u, other = sympy.symbols("x p u other")
    of_P = p * u if shared else p * other
    require(sympy.expand(x * u + of_P - (x + p) * u) == 0, "an entry of (X + P) u is that of (x + p) u")
    X, P = (2, 1), (0, 3)
    stated = [sum(pair) for pair in zip(*map(sorted, (X, P)) if ordered else (X, P), strict=True)]
    exact = sympy.Matrix(sympy.diag(*X) + sympy.diag(*P)).eigenvals()
    require(sorted(stated) == sorted(exact), "the sums of the example")
    return "a common eigenvector adds its two eigenvalues"


@proof("low-rank-perturbations/weyl")
def weyl(fewer: int = 0, inner: int = 0) -> str:
    r"""By Courant and Fischer, $\lambda_i(M) = \min_{\operatorname{codim}V = i - 1}\max_{v \in V, \|v\| = 1}v^\top Mv$.

    Let V be the vectors on which P vanishes and that are orthogonal to the first $i - r - 1$ eigenvectors of X. Its
    codimension is at most $r + (i - r - 1) = i - 1$. On V, the form of X + P is that of X, at most $\lambda_{i-r}(X)$.
    The maximum on a subspace of V is no larger, so $\lambda_i(X + P) \le \lambda_{i-r}(X)$. With X + P and -P instead
    of X and P, the same argument gives the other side. The bounds by P follow from $\lambda_n(P) \le v^\top Pv \le
    \lambda_1(P)$ for unit vectors v: no other eigenvalue of P bounds its form on all of them.
    """
    i, r, p, gap = sympy.symbols("i r p gap", positive=True)
    codimension = r + (i - (r - fewer) - 1)
    require(sympy.expand(i - 1 - codimension).is_nonnegative is True, "the codimension is at most i - 1")
    top = (p + gap, p)[inner]
    require(sympy.expand(top - (p + gap)).is_nonnegative is True, "the largest eigenvalue bounds the form of P")
    return "a space of codimension i - 1 on which P vanishes, and the bounds of a quadratic form"
