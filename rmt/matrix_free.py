r"""The spiked model as a product with vectors: noise of any spectral law at dimensions no dense matrix reaches.

The noise is $U\,\mathrm{diag}(x)\,U^T$ with $x$ the quantiles of the law and $U$ three rounds of random signs and
cosine transforms, a fast stand-in for a uniformly random rotation: a product costs $O(R \log R)$ and memory is O(R).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct, idct
from scipy.sparse.linalg import LinearOperator

from rmt.checks import freeze
from rmt.extreme_eigenpairs import checked_count, extreme_eigenpairs
from rmt.secular import RotatedDraw
from rmt.spiked import SpikedModel, check_dimension

_ROUNDS = 3


@dataclass(frozen=True, eq=False)
class Rotation:
    """Rounds of random signs and cosine transforms, (rounds, R): an orthogonal matrix by its products."""

    signs: NDArray[np.float64]

    @classmethod
    def draw(cls, R: int, rng: np.random.Generator) -> Rotation:
        """Draw the signs."""
        return cls(2.0 * rng.integers(0, 2, (_ROUNDS, R)).astype(np.float64) - 1.0)

    def forward(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rotation of a vector (R,)."""
        for signs in self.signs:
            vector = dct(signs * vector, norm="ortho")
        return vector

    def back(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the inverse rotation of a vector (R,)."""
        for signs in self.signs[::-1]:
            vector = signs * idct(vector, norm="ortho")
        return vector


@dataclass(frozen=True, eq=False)
class MatrixFreeDraw:
    """One draw of the spiked model, known by its products with vectors.

    Attributes:
        model: the model it was drawn from.
        eigenvalues: eigenvalues of the noise, shape ``(R,)``.
        signs: random signs, shape ``(rounds, R)``.
    """

    model: SpikedModel
    eigenvalues: NDArray[np.float64]
    signs: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("eigenvalues", "signs"):
            object.__setattr__(self, name, freeze(name, getattr(self, name)))

    def operator(self) -> LinearOperator:
        """Return the matrix as a scipy operator; the spikes sit on the first coordinates."""
        R = len(self.eigenvalues)
        return LinearOperator((R, R), matvec=self._product, dtype=float)

    def _product(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        vector = np.asarray(vector, dtype=float).reshape(-1)
        rotation = Rotation(self.signs)
        rotated = rotation.back(self.eigenvalues * rotation.forward(vector))
        count = len(self.model.spikes)
        rotated[:count] += np.asarray(self.model.spikes) * vector[:count]
        return rotated

    def top_overlaps(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        r"""Return the largest eigenvalues, decreasing, and $|\langle v_j, u_i\rangle|^2$, shape ``(count, spikes)``.

        Raises:
            ValueError: a count out of range, or what `extreme_eigenpairs` refuses.
        """
        return self._overlaps(count, largest=True)

    def bottom_overlaps(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the smallest eigenvalues, increasing, and their overlaps.

        Raises:
            ValueError: a count out of range, or what `extreme_eigenpairs` refuses.
        """
        return self._overlaps(count, largest=False)

    def _overlaps(self, count: int, largest: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        R, spikes = len(self.eigenvalues), len(self.model.spikes)

        def count_beyond(point: float) -> int:
            above = self._in_noise_basis.count_above(point)
            return above if largest else R - above

        values, vectors = extreme_eigenpairs(
            self._product, R, checked_count(count, R), largest=largest, count_beyond=count_beyond
        )
        return values, vectors[:spikes].T ** 2

    @cached_property
    def _in_noise_basis(self) -> RotatedDraw:
        """The same matrix in the eigenbasis of its noise, where the inertia counts eigenvalues."""
        order, rotation = np.argsort(-self.eigenvalues, kind="stable"), Rotation(self.signs)
        directions = np.empty((len(order), len(self.model.spikes)))
        for place in range(directions.shape[1]):
            coordinate = np.zeros(len(order))
            coordinate[place] = 1.0
            directions[:, place] = rotation.forward(coordinate)[order]
        return RotatedDraw(self.model, self.eigenvalues[order], directions)


def draw_matrix_free(model: SpikedModel, R: int, rng: np.random.Generator) -> MatrixFreeDraw:
    """Draw the spiked model for products with vectors; its noise may have any compactly supported law.

    Args:
        model: spiked model.
        R: dimension, at least 2 and at least the number of spikes.
        rng: random generator.

    Raises:
        ValueError: R out of range.
    """
    R = check_dimension(R, at_least=max(2, len(model.spikes)))
    eigenvalues = np.asarray(model.noise_law.quantile((np.arange(R) + 0.5) / R), dtype=np.float64)
    return MatrixFreeDraw(model, eigenvalues, Rotation.draw(R, rng).signs)
