"""Draws of sums of weighted covariances: from the samples themselves, or by products at any dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator

from rmt.checks import freeze, require, require_flag
from rmt.covariance_draws import WeightedSamples
from rmt.covariance_sum import of_every_group
from rmt.extreme_eigenpairs import checked_count, extreme_eigenpairs
from rmt.joint_population import JointPopulation
from rmt.matrix_free import Rotation
from rmt.separable import Atoms

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SumDraw:
    """A draw: the block's directions come first, then the atoms, each as often as it counts.

    Attributes:
        groups: the samples of each group, in the eigenvectors of its own block.
        turns: these eigenvectors, (G, r, r).
    """

    groups: tuple[WeightedSamples, ...]
    turns: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", tuple(self.groups))
        object.__setattr__(self, "turns", freeze("turns", self.turns))

    @property
    def P(self) -> int:
        """Dimension."""
        return len(self.groups[0].population)

    @cached_property
    def matrix(self) -> Array:
        """S, (P, P).

        Raises:
            ValueError: a matrix-free draw.
        """
        total, r = np.zeros((self.P, self.P)), self.turns.shape[-1]
        for turn, group in zip(self.turns, self.groups, strict=True):
            part = group.matrix.copy()
            part[:r] = turn @ part[:r]
            part[:, :r] = part[:, :r] @ turn.T
            total += part
        return total

    def operator(self) -> LinearOperator:
        """Return the matrix as a scipy operator."""
        return LinearOperator((self.P, self.P), matvec=self._product, dtype=float)

    def extreme_overlaps(self, count: int, side: str = "above") -> tuple[Array, Array]:
        """Return the first eigenvalues from one end of the spectrum, and what their eigenvectors have of the block.

        Args:
            count: at least 1 and below P.
            side: `above` or `below`.

        Returns:
            Eigenvalues (count,) from the end inwards, and squared entries in the block's coordinates, (count, r).
        """
        require(side in ("above", "below"), f"side must be 'above' or 'below', got {side!r}")
        count = checked_count(count, self.P, "P")
        if all(group.samples is not None for group in self.groups):
            places = (self.P - count, self.P - 1) if side == "above" else (0, count - 1)
            values, vectors = eigh(self.matrix, subset_by_index=places, check_finite=False)
            if side == "above":
                values, vectors = values[::-1], vectors[:, ::-1]
        else:
            values, vectors = extreme_eigenpairs(self._product, self.P, count, largest=side == "above")
        return values, vectors[: self.turns.shape[-1]].T ** 2

    def _product(self, vector: Array) -> Array:
        vector = np.asarray(vector, dtype=float).reshape(-1)
        total, r = np.zeros(self.P), self.turns.shape[-1]
        for turn, group in zip(self.turns, self.groups, strict=True):
            turned = vector.copy()
            turned[:r] = turn.T @ vector[:r]
            part = group.product(turned)
            part[:r] = turn @ part[:r]
            total += part
        return total


def draw_sum(
    population: JointPopulation,
    weights: Sequence[Atoms],
    samples: Sequence[int],
    rng: np.random.Generator,
    *,
    matrix_free: bool = False,
) -> SumDraw:
    """Draw Gaussian samples of every group; weights are quantiles of their laws.

    Args:
        population: with whole counts.
        weights: of each group.
        samples: number of each group's samples.
        rng: random generator.
        matrix_free: known by products only, which cost O((P + m) log(P + m)).

    Raises:
        ValueError: numbers of groups that differ, counts or numbers of samples that are not whole, or ``matrix_free``
            that is not True or False.
    """
    matrix_free = require_flag("matrix_free", matrix_free)
    laws, sizes = of_every_group(population, weights, samples)
    counts = np.rint(population.counts).astype(int)
    require(bool((counts == population.counts).all()), "counts must be whole numbers for a draw: round them")
    require(all(m % 1 == 0 and m >= 1 for m in sizes), f"numbers of samples must be whole, at least 1, got {samples}")
    groups, turns = [], []
    for g, (law, m) in enumerate(zip(laws, map(int, sizes), strict=True)):
        values, turn = np.linalg.eigh(population.block[g])
        eigenvalues = np.concatenate([np.maximum(values, 0.0), np.repeat(population.atoms[:, g], counts)])
        drawn = np.asarray(law.quantile((np.arange(m) + 0.5) / m))
        gaussian = None if matrix_free else rng.standard_normal((m, len(eigenvalues)))
        rotations = (Rotation.draw(m, rng), Rotation.draw(len(eigenvalues), rng)) if matrix_free else None
        groups.append(WeightedSamples(eigenvalues, drawn, gaussian, rotations))
        turns.append(turn)
    return SumDraw(tuple(groups), np.array(turns))
