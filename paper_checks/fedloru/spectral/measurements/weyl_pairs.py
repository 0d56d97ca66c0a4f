"""Pairs of symmetric matrices for Weyl's inequalities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies
from numpy.typing import NDArray

from paper_checks.claim import Evidence
from paper_checks.context import Context
from paper_checks.methods.draws import draw_cases
from paper_checks.methods.inequality import judge_inequality

# Rounding of a symmetric eigenvalue solver, in units of machine precision times the norm.
_ROUNDING = 64 * np.finfo(float).eps


@dataclass(frozen=True)
class Pair:
    """Two Hermitian matrices of the same size, and the eigenvalues of each and of the sum, in decreasing order."""

    first: NDArray[np.complex128]
    second: NDArray[np.complex128]

    def eigenvalues(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]:
        """Return the eigenvalues of A, of B, of A + B, and a bound on their rounding."""
        a, b, both = (
            np.linalg.eigvalsh(m)[::-1].astype(np.float64) for m in (self.first, self.second, self.first + self.second)
        )
        error = _ROUNDING * len(a) * float(np.abs(a).max() + np.abs(b).max() + 1e-300)
        return a, b, both, error

    def numbers(self) -> dict[str, object]:
        """Return both matrices as lists of real and imaginary parts."""
        return {
            name: [matrix.real.tolist(), matrix.imag.tolist()]
            for name, matrix in (("A", self.first), ("B", self.second))
        }


@dataclass(frozen=True)
class Row:
    """One inequality ``left <= right`` of one pair, with its rounding error and its place in the statement."""

    left: float
    right: float
    error: float
    pair: Pair
    place: str


def judge_rows(rows: list[Row], scope: str, printed: str) -> Evidence:
    """Judge all rows; the witness is the pair and the place of the worst violation."""
    left, right, error = np.array([(row.left, row.right, row.error) for row in rows]).T

    def case(index: int) -> dict[str, object]:
        return {**rows[index].pair.numbers(), "place": rows[index].place}

    norms = error / _ROUNDING
    return judge_inequality(
        left, right, error, scope=scope, case=case, printed=printed, size=norms, domain="not tried: larger matrices"
    )


def _rotation(rng: np.random.Generator, n: int, kind: str) -> NDArray[np.complex128]:
    """Draw no rotation, a permutation (attains equality), a real or complex uniform rotation, or one close to none."""
    if kind == "none":
        return np.eye(n, dtype=complex)
    if kind == "permutation":
        return np.eye(n, dtype=complex)[rng.permutation(n)]
    gaussian = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n)) * (kind == "complex")
    return np.linalg.qr(np.eye(n) + 1e-3 * gaussian if kind == "small" else gaussian)[0]


def draw_pairs(context: Context, first_spectra: strategies.SearchStrategy[list[float]], examples: int) -> list[Pair]:
    """Draw pairs with simple, repeated, tiny, huge and opposite eigenvalues in every relative position."""
    rng = context.rng("rotations")
    eigenvalues = strategies.one_of(
        strategies.integers(-3, 3).map(float), strategies.floats(-1e3, 1e3), strategies.sampled_from([1e-9, -1e-9, 1e6])
    )
    kinds = strategies.sampled_from(["none", "permutation", "real", "complex", "small"])
    both = first_spectra.flatmap(
        lambda one: strategies.tuples(
            strategies.just(one), strategies.lists(eigenvalues, min_size=len(one), max_size=len(one)), kinds
        )
    )
    found = []
    for one, other, kind in draw_cases(context, both, examples):
        basis = _rotation(rng, len(one), kind)
        found.append(Pair(np.diag(one).astype(complex), (basis * other) @ basis.conj().T))
    return found
