r"""Several covariance matrices of one space, as sums of weighted covariances see them: by traces of a resolvent.

$\Lambda_1, \dots, \Lambda_G$ share most of their eigenvectors; in a block of a few directions they need not. What a sum
of samples with these covariances knows of them are traces with $Q = (z - \sum_g a_g \Lambda_g)^{-1}$.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rmt.checks import freeze, require

Array = NDArray[np.float64]
TOLERANCE = 1e-12
"""Share of the largest entry or eigenvalue of a block, below which a value is rounding."""


@dataclass(frozen=True, eq=False)
class Resolvent:
    r"""Traces at points (n,).

    Attributes:
        trace: of Q, (n,).
        first: of $\Lambda_g Q$, (n, G).
        slope: of $\Lambda_g Q^2$, (n, G).
        second: of $\Lambda_g Q \Lambda_h Q$, (n, G, G).
        square: of $Q^2$, (n,).
    """

    trace: np.ndarray
    first: np.ndarray
    slope: np.ndarray
    second: np.ndarray
    square: np.ndarray


@dataclass(frozen=True, eq=False)
class JointPopulation:
    r"""G covariance matrices that commute but for a block.

    Attributes:
        atoms: eigenvalues in shared directions, (n, G), none negative.
        counts: how many directions have them, (n,), positive.
        block: the matrices in the other directions, (G, r, r), positive semidefinite; r = 0 for none.

    Raises:
        ValueError: shapes that do not fit, negative eigenvalues, or nothing at all.
    """

    atoms: Array
    counts: Array
    block: Array

    @classmethod
    def of(cls, atoms: ArrayLike, counts: ArrayLike, block: ArrayLike | None = None) -> JointPopulation:
        """Build it from anything that makes arrays; without a block by default."""
        found = freeze("atoms", atoms)
        require(found.ndim == 2, f"atoms must be (n, G), got {found.shape}")
        return cls(
            found,
            freeze("counts", counts),
            np.zeros((found.shape[1], 0, 0)) if block is None else freeze("block", block),
        )

    def __post_init__(self) -> None:
        for name in ("atoms", "counts", "block"):
            object.__setattr__(self, name, freeze(name, getattr(self, name)))
        shapes = f"got atoms {self.atoms.shape}, counts {self.counts.shape} and block {self.block.shape}"
        require(self.atoms.ndim == 2 and self.atoms.shape[1] > 0, f"atoms must be (n, G), {shapes}")
        require(self.counts.shape == self.atoms.shape[:1], f"every atom needs one count, {shapes}")
        for name, part in (("atoms", self.atoms), ("counts", self.counts)):
            require(bool(np.isfinite(part).all()), f"{name} must be finite")
        require(bool((self.counts > 0).all()), f"counts must be positive, got {self.counts.min(initial=1.0)}")
        least = float(self.atoms.min(initial=0.0))
        require(least >= 0, f"eigenvalues of a covariance are never negative, got {least}; weights may be")
        check_block("the block", self.block, self.groups)
        require(bool((self.largest > 0).all()), "no covariance may be the zero matrix")

    @property
    def groups(self) -> int:
        """G."""
        return self.atoms.shape[1]

    @property
    def dimension(self) -> float:
        """Number of directions."""
        return float(self.counts.sum()) + self.block.shape[-1]

    @property
    def largest(self) -> Array:
        """Largest eigenvalue of each, (G,)."""
        block = np.linalg.eigvalsh(self.block)[:, -1] if self.block.size else np.zeros(self.groups)
        return np.maximum(self.atoms.max(axis=0, initial=0.0), block)

    @property
    def traces(self) -> Array:
        """Trace of each, (G,)."""
        return self.counts @ self.atoms + np.trace(self.block, axis1=1, axis2=2)

    def products(self) -> Array:
        r"""Return the traces of $\Lambda_g \Lambda_h$, (G, G)."""
        return np.asarray((self.atoms.T * self.counts) @ self.atoms + np.einsum("gij,hji->gh", self.block, self.block))

    def scaled(self, factors: Array) -> JointPopulation:
        """Return each matrix times a positive factor, (G,)."""
        return JointPopulation(self.atoms * factors, self.counts, self.block * factors[:, None, None])

    def rank(self, capacities: Array) -> float:
        """Return the largest rank of a sum of matrices of given ranks, (G,), each in the range of its covariance."""
        everything = range(self.groups)
        subsets = chain.from_iterable(combinations(everything, size) for size in range(self.groups + 1))
        return float(min(self._reach(set(everything) - set(cut)) + sum(capacities[list(cut)]) for cut in subsets))

    def _reach(self, groups: set[int]) -> float:
        """Return the dimension of the span of the ranges of some of the matrices."""
        chosen = sorted(groups)
        reached = float(self.counts[(self.atoms[:, chosen] > 0).any(axis=1)].sum())
        if self.block.size and chosen:
            parts = self.block[chosen]  # each in its own unit, since a rank has none
            sizes = np.abs(parts).max(axis=(1, 2), keepdims=True)
            reached += float(np.linalg.matrix_rank((parts / np.where(sizes, sizes, 1.0)).sum(axis=0), hermitian=True))
        return reached

    def smallest(self, z: float, a: Array) -> float:
        r"""Return the smallest eigenvalue of $z - \sum_g a_g\Lambda_g$ for real numbers."""
        least = float((z - self.atoms @ a).min(initial=np.inf))
        if self.block.size:
            inner = z * np.eye(self.block.shape[-1]) - np.tensordot(a, self.block, 1)
            least = min(least, float(np.linalg.eigvalsh(inner)[0]))
        return least

    @np.errstate(all="ignore")
    def resolvent(self, z: np.ndarray, a: np.ndarray) -> Resolvent:
        """Return the traces at z (n,) with the numbers a (n, G); not finite at a pole."""
        inverse = 1.0 / (z[:, None] - a @ self.atoms.T)
        once, twice = inverse * self.counts, inverse**2 * self.counts
        pairs = (self.atoms[:, :, None] * self.atoms[:, None, :]).reshape(len(self.atoms), self.groups**2)
        trace, first, slope = once.sum(axis=1), once @ self.atoms, twice @ self.atoms
        second, square = (twice @ pairs).reshape(len(z), self.groups, self.groups), twice.sum(axis=1)
        if self.block.size:
            Q = self._inverse(z, a)
            turned = self.block[None] @ Q[:, None]
            trace = trace + np.trace(Q, axis1=1, axis2=2)
            first = first + np.trace(turned, axis1=2, axis2=3)
            slope = slope + np.einsum("ngij,nji->ng", turned, Q)
            second = second + np.einsum("ngij,nhji->ngh", turned, turned)
            square = square + np.einsum("nij,nji->n", Q, Q)
        return Resolvent(trace, first, slope, second, square)

    def angle(self, z: np.ndarray, a: np.ndarray) -> Array:
        r"""Return $\Im\log\det(z - \sum_g a_g\Lambda_g)$ for Im z >= 0, Im a <= 0, from 0 at infinity, (n,)."""
        total = np.maximum(-a.imag, 0.0) @ self.atoms.T + np.maximum(z.imag, 0.0)[:, None]
        angle = np.arctan2(total, z.real[:, None] - a.real @ self.atoms.T) @ self.counts
        if self.block.size:
            values = np.linalg.eigvals(self._inner(z, a))
            # The imaginary part of the matrix is positive, and so are those of its eigenvalues but for rounding.
            angle = angle + np.arctan2(np.maximum(values.imag, 0.0), values.real).sum(axis=1)
        return np.asarray(angle)

    def shares(self, z: np.ndarray, a: np.ndarray, directions: Array) -> Array:
        """Return the imaginary part of $-v^T Q v$ for directions of the block (r, k): (n, k)."""
        Q = self._inverse(z, a)
        return np.asarray(-np.einsum("ik,nij,jk->nk", directions, Q, directions).imag)

    def _inner(self, z: np.ndarray, a: np.ndarray) -> np.ndarray:
        identity = np.eye(self.block.shape[-1])
        return np.asarray(z[:, None, None] * identity - np.tensordot(a, self.block, 1))

    def _inverse(self, z: np.ndarray, a: np.ndarray) -> np.ndarray:
        return nan_where_singular(np.linalg.inv, self._inner(z, a))


def check_block(name: str, block: Array, groups: int) -> None:
    """Check covariances in some directions.

    Raises:
        ValueError: They are not one positive semidefinite matrix for each group.
    """
    size = block.shape[-1] if block.ndim else 0
    require(
        block.shape == (groups, size, size),
        f"{name} must be (G, r, r), one matrix for each of {groups} covariances, got {block.shape}",
    )
    require(bool(np.isfinite(block).all()), f"{name} must be finite")
    uneven = np.abs(block - block.transpose(0, 2, 1)).max(initial=0.0)
    require(bool(uneven <= TOLERANCE * np.abs(block).max(initial=0.0)), f"{name} must be symmetric")
    for values in np.linalg.eigvalsh(block) if size else ():
        require(values[0] >= -TOLERANCE * values[-1], f"{name} has a negative eigenvalue, {values[0]}")


def nan_where_singular(of: Callable[..., np.ndarray], *stacks: np.ndarray) -> np.ndarray:
    """Apply a function to stacks of matrices, (n, ...) each; shaped as the last, nan where one is singular."""
    try:
        return np.asarray(of(*stacks))
    except np.linalg.LinAlgError:
        if len(stacks[0]) == 1:
            return np.full_like(stacks[-1], np.nan)
        single = (nan_where_singular(of, *(stack[i : i + 1] for stack in stacks)) for i in range(len(stacks[0])))
        return np.concatenate(list(single))
