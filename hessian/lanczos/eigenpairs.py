r"""Extreme eigenpairs by thick-restarted Lanczos, copies of repeated eigenvalues included.

A Krylov space of one start holds one eigenvector of each eigenvalue, so copies do not show. Once the pairs have
converged, another random start in the complement of what was found shows one more copy of each. Its Ritz values never
exceed the eigenvalues of the complement, so one beyond the last pair listed belongs on the list. If there is none, the
same start bounds what it can hide (`hessian.lanczos.bounds.bound_hidden`), so a simple spectrum takes few more
products. The search is repeated until a start shows nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np
import torch
from torch import Tensor

from hessian.lanczos.basis_rows import Store
from hessian.lanczos.bounds import bound_hidden
from hessian.lanczos.krylov import Array, Krylov, Positions, Progress, RitzPairs
from hessian.numerics.symmetric import CurvatureError, ScaledOperator, SymmetricOperator, multiply

HIDDEN = 1e-3
"""Chance that one start in the complement hides an eigenvalue that belongs on the list."""
LOOK = 3
"""Products between two looks at the complement."""


def usual_basis(pairs: int) -> int:
    """Return the number of rows of the basis where memory suffices."""
    return 2 * pairs + 40


def more_in_search(pairs: int) -> int:
    """Return the most vectors that the search for copies holds besides pairs and a basis of the usual size."""
    return (usual_basis(pairs) - pairs) // 2


def extreme_eigenpairs(
    operator: SymmetricOperator,
    largest: int,
    smallest: int = 0,
    *,
    tolerance: float = 1e-3,
    rng: np.random.Generator,
    block: int = 1,
    basis: int = 0,
    products: int = 1000,
    progress: Progress | None = None,
) -> RitzPairs:
    """Return the algebraically largest and smallest eigenpairs with their copies, by thick-restarted (block) Lanczos.

    Residuals say how near an eigenvalue is, not which one: at a loose tolerance a pair that has not shown yet may lie
    before the last ones returned.

    Args:
        operator: The matrix.
        largest: Number of largest eigenpairs.
        smallest: Number of smallest eigenpairs.
        tolerance: Largest residual, relative to the norm; reached, or the products are used up: look at `residuals`.
        rng: Source of the starting vectors.
        block: Starting vectors: those of a repeated eigenvalue's copies that are found together.
        basis: Rows of the basis before a restart; default: 40 more than twice the pairs. Memory is basis times P.
        products: Largest number of products, about. Where they do not suffice to search for copies, `missed` says so.
        progress: Called with a description of the current step.

    Raises:
        CurvatureError: Numbers of pairs that are negative, both zero, or together more than P.
    """
    wanted, P = largest + smallest, operator.P
    if largest < 0 or smallest < 0 or not 1 <= wanted <= P:
        raise CurvatureError(f"expected between 1 and P = {P} pairs, got {largest} largest and {smallest} smallest")
    limit = min(max(basis or usual_basis(wanted), wanted + 2 * block), P)
    scaled = ScaledOperator(operator)
    krylov = Krylov(scaled, rng, block=min(block, P), store=Store(reserve=min(limit + block, P)))
    while True:
        krylov.extend(min(10, max(1, limit - krylov.size)))
        if krylov.invariant and krylov.size < wanted:
            krylov.seed(block)
            continue
        values, _, residuals = krylov.ritz()
        positions = np.r_[:smallest, len(values) - largest : len(values)] if len(values) >= wanted else np.r_[:0]
        floor, norm = krylov.rounding, float(np.abs(values).max(initial=0.0))
        worst = float((residuals[positions] + floor).max(initial=0.0))
        if progress is not None:
            unit = scaled.unit
            progress(f"{krylov.products} products, residual {worst * unit:.1e} of {norm * unit:.3g}")
        reached = len(positions) == wanted and worst <= max(tolerance * norm, 2.0 * floor)
        if reached or krylov.products >= products or (krylov.invariant and krylov.size >= wanted):
            break
        if krylov.size + block > limit and krylov.size < P:
            _restart(krylov, limit, wanted, smallest)
    found = replace(krylov.pairs(positions), missed=0.0 if krylov.size == P else inf)
    if reached and found.missed:
        # Pairs that are not listed are kept out of the way too: what is left is farther from the list.
        near = np.r_[:0] if basis else _nearest(krylov.size, largest, smallest, more_in_search(wanted))
        others = [krylov.pairs(near).vectors] if len(near) else []
        rows, left = limit - (wanted if basis else 0), products - krylov.products
        del krylov
        copies = _Copies(scaled, largest, max(tolerance * norm, 2.0 * floor), floor, rows, progress)
        found = copies.search(found, others, rng.spawn(1)[0], left)
    unit = scaled.unit
    return replace(
        found,
        values=found.values * unit,
        residuals=found.residuals * unit,
        missed=found.missed * unit,
        rounding=found.rounding * unit,
    )


def _restart(krylov: Krylov, limit: int, wanted: int, smallest: int) -> None:
    """Restart with the Ritz vectors nearest to both ends, as many as leave room."""
    keep = min(wanted + max(limit - wanted, 0) // 2, krylov.size - 1)
    low = min(smallest + (keep - wanted) // 2, keep) if smallest else 0
    krylov.restart(np.r_[:low, krylov.size - (keep - low) : krylov.size])


def _nearest(size: int, largest: int, smallest: int, count: int) -> Positions:
    """Return positions, in increasing order, of so many Ritz pairs next to those listed."""
    rest = np.arange(smallest, size - largest)
    low = 0 if not smallest else count // 2 if largest else count
    return np.union1d(rest[:low], rest[max(len(rest) - (count - low), 0) :])


@dataclass(frozen=True)
class _Copies:
    """The search for copies of eigenvalues that a list of extreme pairs lacks.

    Attributes:
        operator: The matrix.
        largest: Number of pairs from the upper end.
        slack: Error of an eigenvalue that does not matter, and largest residual of a copy.
        floor: Rounding of a product.
        rows: Rows of a basis.
        progress: Called with a description of the current step.
    """

    operator: SymmetricOperator
    largest: int
    slack: float
    floor: float
    rows: int
    progress: Progress | None

    def search(self, listed: RitzPairs, others: list[Tensor], rng: np.random.Generator, products: int) -> RitzPairs:
        """Return the list with the copies that so many products find.

        Args:
            listed: Converged pairs.
            others: Approximate eigenvectors, orthogonal to these, that are not listed.
            rng: Source of the starting vectors.
            products: Largest number of products, about.
        """
        P = self.operator.P
        while len(listed) < P and products > 0:
            outside = [listed.vectors, *others]
            left = P - sum(map(len, outside))
            rows = min(self.rows, left)
            krylov = Krylov(self.operator, rng, store=Store(reserve=min(rows + 1, left)), outside=outside)
            beyond, missed = self._find_beyond(krylov, listed.values, rows, left, products)
            products -= krylov.products + len(beyond)
            if len(beyond) == 0:
                return replace(listed, missed=missed)
            fresh = self._measure(krylov.pairs(beyond))
            del krylov
            if others and fresh.residuals.max() > self.slack:
                others = []  # these are part of the eigenvectors that are missing
                continue
            listed = self._merge(listed, fresh)
        return listed if len(listed) < P else replace(listed, missed=0.0)

    def _find_beyond(
        self, krylov: Krylov, values: Array, rows: int, left: int, products: int
    ) -> tuple[Positions, float]:
        """Return positions of converged Ritz pairs that belong on the list, or how far beyond it one may be.

        Args:
            krylov: One random start in the complement of the list.
            values: Eigenvalues listed.
            rows: Largest number of rows of the basis.
            left: Dimension of the complement.
            products: Largest number of products.
        """
        low, high = self._ends(values)
        none = np.r_[:0]
        while True:
            krylov.extend(min(LOOK, rows - krylov.size))
            theta, _, residuals = krylov.ritz()
            above, below = theta > high, theta < low
            upper, lower = np.r_[values[: self.largest], theta[above]], np.r_[values[self.largest :], theta[below]]
            if above.any():
                above &= theta >= np.sort(upper)[len(upper) - self.largest]
            if below.any():
                below &= theta <= np.sort(lower)[len(values) - self.largest - 1]
            beyond = np.flatnonzero(above | below)
            if self.progress is not None:
                self.progress(f"search for copies: {krylov.products} products, {len(beyond)} found")
            full = krylov.size >= rows
            if len(beyond) == 0:
                missed = self.slack + max(self._bound_hidden(krylov, high, 1.0), self._bound_hidden(krylov, -low, -1.0))
                if missed <= self.slack or krylov.size >= left:
                    return none, self.slack
                if full or krylov.products >= products:
                    return none, missed
            elif krylov.size >= left or krylov.invariant or residuals[beyond].max() + krylov.rounding <= self.slack:
                return beyond, inf
            elif krylov.products >= products or (full and rows < 3):
                return none, inf
            elif full:
                _restart(krylov, rows, len(beyond), int(below.sum()))

    def _bound_hidden(self, krylov: Krylov, bound: float, sign: float) -> float:
        """Return how far beyond a bound the start may hide an eigenvalue of the operator times the sign."""
        return 0.0 if bound == inf else bound_hidden(krylov, bound, sign, HIDDEN / 2.0) - bound

    def _ends(self, values: Array) -> tuple[float, float]:
        """Return the values between which an eigenvalue is not missed on the list."""
        low = float(values[self.largest]) - self.slack if len(values) > self.largest else -inf
        return low, float(values[self.largest - 1]) + self.slack if self.largest else inf

    def _measure(self, pairs: RitzPairs) -> RitzPairs:
        """Return pairs of the compressed operator with residuals as pairs of the whole one."""
        residuals = pairs.residuals.copy()
        for place, (value, vector) in enumerate(zip(pairs.values, pairs.vectors, strict=True)):
            image = multiply(self.operator, vector[None].clone())[0].sub_(vector, alpha=float(value))
            residuals[place] = max(residuals[place], float(torch.linalg.vector_norm(image)) + self.floor)
        return replace(pairs, residuals=residuals)

    def _merge(self, listed: RitzPairs, fresh: RitzPairs) -> RitzPairs:
        """Return the most extreme pairs of both."""
        low, high = self._ends(listed.values)
        values, residuals = np.r_[listed.values, fresh.values], np.r_[listed.residuals, fresh.residuals]
        new, old = np.arange(len(listed), len(values)), np.arange(len(listed))
        upper, lower = (
            end[np.argsort(-values[end], kind="stable")]
            for end in (
                np.r_[old[: self.largest], new[fresh.values > high]],
                np.r_[old[self.largest :], new[fresh.values < low]],
            )
        )
        kept = np.r_[upper[: self.largest], lower[len(lower) - (len(listed) - self.largest) :]]
        vectors = torch.empty_like(listed.vectors)
        for place, one in enumerate(kept):
            vectors[place] = listed.vectors[one] if one < len(listed) else fresh.vectors[one - len(listed)]
        return replace(listed, values=values[kept], vectors=vectors, residuals=residuals[kept], missed=inf)
