"""Introduction: eigenvalues of a sum of two symmetric matrices, exactly and within bounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import QQ
from sympy.polys.matrices import DomainMatrix

from paper_checks.claim import Evidence, claim
from paper_checks.context import Context
from paper_checks.methods.domain import FROM_ONE, Stated, tried
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.relations import Relation, Relations, relations


@dataclass(frozen=True)
class Aligned:
    """Eigenvalues of X and of P, ``(n,)`` each, and two vectors, each of which gives an orthogonal matrix."""

    X: tuple[int, ...]
    P: tuple[int, ...]
    axis: tuple[int, ...]
    other: tuple[int, ...]

    def polynomial(self, shared: bool) -> list[Fraction]:
        """Return the characteristic polynomial of X + P, leading coefficient first, in exact arithmetic."""
        total = _with_eigenvectors(self.X, self.axis) + _with_eigenvectors(self.P, self.axis if shared else self.other)
        entries = [[QQ.from_sympy(entry) for entry in row] for row in total.tolist()]
        return [
            Fraction(int(c.numerator), int(c.denominator)) for c in DomainMatrix(entries, total.shape, QQ).charpoly()
        ]

    def product(self, ordered: bool) -> list[Fraction]:
        """Return the polynomial whose roots are sums of an eigenvalue of X and the one of P on the same eigenvector.

        Args:
            ordered: pair the largest with the largest instead.
        """
        pairs = zip(*(map(sorted, (self.X, self.P)) if ordered else (self.X, self.P)), strict=True)
        return [Fraction(int(c)) for c in np.poly([x + p for x, p in pairs]).round()]


def _with_eigenvectors(values: tuple[int, ...], axis: tuple[int, ...]) -> sympy.Matrix:
    """Return the matrix with these eigenvalues whose eigenvectors are the columns of a reflection."""
    v = sympy.Matrix(axis)
    Q = sympy.eye(len(values)) - 2 * v * v.T / v.dot(v)
    return Q * sympy.diag(*values) * Q.T


def draw_aligned(context: Context) -> list[Aligned]:
    """Draw whole numbers as eigenvalues, in no order, for 2 to 6 dimensions, and P of low and of full rank."""
    rng, found = context.rng("aligned"), []
    for n in (2, 3, 4, 6):
        for r in (1, n // 2, n):
            X, P = rng.permutation(np.arange(1, 2 * n)[:n]), np.append(rng.integers(1, 20, r), np.zeros(n - r, int))
            axes = (rng.integers(1, 6, n), rng.integers(1, 6, n) * np.where(np.arange(n) % 2, -1, 1))
            found.append(Aligned(*(tuple(map(int, one)) for one in (X, rng.permutation(P), *axes))))
    return found


@relations(
    "low-rank-perturbations/same-eigenvectors",
    where="Section 1, after the question: “When $X_n$ and $P_n$ are diagonalized by the same eigenvectors”",
    says=r"""When $X_n$ and $P_n$ are diagonalised by the same eigenvectors, $\lambda_i(X_n + P_n) = \lambda_j(X_n) +
    \lambda_k(P_n)$ for an appropriate choice of the indices i, j, k in {1, ..., n}.""",
    measure=draw_aligned,
    mutants=[{"shared": False}, {"ordered": True}],
    importance="step",
    expect=("holds", "proof"),
)
def same_eigenvectors(drawn: list[Aligned], shared: bool = True, ordered: bool = False) -> Relations:
    """Coefficients of the characteristic polynomial, in exact arithmetic; a mutant sets i = j = k."""
    for one in drawn:
        case = {"X": list(one.X), "P": list(one.P)}
        both = zip(one.polynomial(shared), one.product(ordered), strict=True)
        for k, (found, stated) in enumerate(both):
            yield Relation(f"coefficient {k} in {len(one.X)} dimensions", found, stated, case=case)
    return "2 to 6 dimensions, P of low and of full rank"


@dataclass(frozen=True)
class Sums:
    """Eigenvalues of X, of P and of X + P in decreasing order, ``(n,)`` each, and the rank of P."""

    X: NDArray[np.float64]
    P: NDArray[np.float64]
    sum: NDArray[np.float64]
    r: int

    def interlaced(self, r: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the smaller and the larger sides of the bounds by neighbours of X that are r places away."""
        n = len(self.X)
        return np.append(self.X[r:], self.sum[r:]), np.append(self.sum[: n - r], self.X[: n - r])

    def shifted(self, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the same for bounds by the k-th smallest and the k-th largest eigenvalue of P, counted from 0."""
        return np.append(self.X + self.P[-1 - k], self.sum), np.append(self.sum, self.X + self.P[k])


def draw_sums(context: Context) -> list[Sums]:
    """Draw Gaussian X, and P of several ranks with eigenvalues of both signs, at most three of them large."""
    rng, found = context.rng("sums"), []
    for r in (1, 3, 20, 100):
        for more in (0, 1, 10, 100):
            n = r + more
            X = rng.standard_normal((n, n))
            V = np.linalg.qr(rng.standard_normal((n, r)))[0]
            theta = np.where(np.arange(r) % 2, -1.0, 1.0) * np.sqrt(n) * np.geomspace(4.0, 0.1, r)
            X, P = (X + X.T) / 2, V * theta @ V.T
            of_X, of_P, of_sum = (np.linalg.eigvalsh(matrix)[::-1].astype(np.float64) for matrix in (X, P, X + P))
            found.append(Sums(of_X, of_P, of_sum, r))
    return found


@claim(
    "low-rank-perturbations/weyl",
    where="Section 1, “coarse bounds for the eigenvalues of the sum”; the formulas are the usual ones",
    says=r"""Weyl's interlacing inequalities bound the eigenvalues of the sum coarsely by those of $X_n$: in decreasing
    order, for $P_n$ of rank r, $\lambda_{i+r}(X_n) \le \lambda_i(X_n + P_n) \le \lambda_{i-r}(X_n)$, and
    $\lambda_i(X_n) + \lambda_n(P_n) \le \lambda_i(X_n + P_n) \le \lambda_i(X_n) + \lambda_1(P_n)$.""",
    measure=draw_sums,
    mutants=[{"fewer": 1}, {"inner": 1}],
    importance="step",
    expect=("holds", "proof"),
)
def weyl(drawn: list[Sums], fewer: int = 0, inner: int = 0) -> Evidence:
    """Every index of every sum; mutants interlace by r - 1 places, or take the second eigenvalues of P."""
    sides = [bounds for one in drawn for bounds in (one.interlaced(one.r - fewer), one.shifted(min(inner, one.r - 1)))]
    left, right = (np.concatenate(side) for side in zip(*sides, strict=True))
    sizes = [len(low) for low, _ in sides]
    cases = list(chain.from_iterable([(one.r, len(one.X) - one.r)] * 2 for one in drawn))
    rows = [case for case, size in zip(cases, sizes, strict=True) for _ in range(size)]
    lines = list(chain.from_iterable((name,) * size for name, size in zip(LINES * len(drawn), sizes, strict=True)))
    return judge_inequality(
        left,
        right,
        1e-12 * max(float(np.abs(one.sum).max()) for one in drawn),
        scope="Gaussian X and independent eigenvectors of P, eigenvalues of both signs",
        case=[{"r": r, "n - r": more} for r, more in rows],
        printed="Weyl's bounds",
        lines=lines,
        domain=tried(
            ("r", [r for r, _ in rows], FROM_ONE), ("n - r", [more for _, more in rows], Stated(0.0, np.inf, "[)"))
        ),
    )


LINES = ("neighbours of X", "extreme eigenvalues of P")
