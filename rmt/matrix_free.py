r"""The spiked model as a product with vectors: noise of any spectral law at dimensions no dense matrix reaches.

The noise is $U\,\mathrm{diag}(x)\,U^T$ with $x$ the quantiles of the law and $U$ three rounds of random signs and
cosine transforms, a fast stand-in for a uniformly random rotation: a product costs $O(R \log R)$ and memory is O(R).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct, idct
from scipy.sparse.linalg import LinearOperator, eigsh

from rmt.checks import whole
from rmt.spiked import SpikedModel, check_dimension, power_of_two

_ROUNDS = 3


@dataclass(frozen=True, eq=False)
class Rotation:
    """Rounds of random signs and cosine transforms, (rounds, R): an orthogonal matrix by its products."""

    signs: NDArray[np.float64]

    @classmethod
    def draw(cls, R: int, rng: np.random.Generator) -> Rotation:
        """Draws the signs."""
        return cls(2.0 * rng.integers(0, 2, (_ROUNDS, R)).astype(np.float64) - 1.0)

    def forward(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rotation of a vector (R,)."""
        for signs in self.signs:
            vector = dct(signs * vector, norm="ortho")
        return vector

    def back(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """The inverse rotation of a vector (R,)."""
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

    def operator(self) -> LinearOperator:
        """The matrix as a scipy operator; the spikes sit on the first coordinates."""
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
        r"""Largest eigenvalues by Lanczos, decreasing, and $|\langle v_j, u_i\rangle|^2$, shape ``(count, spikes)``."""
        return self._overlaps(count, "LA")

    def bottom_overlaps(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Smallest eigenvalues by Lanczos, increasing, and their overlaps."""
        return self._overlaps(count, "SA")

    def _overlaps(self, count: int, which: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if not 1 <= count < len(self.eigenvalues):
            raise ValueError(f"count must lie between 1 and R - 1 = {len(self.eigenvalues) - 1}, got {count}")
        count = whole("count", count)
        start = np.ones(len(self.eigenvalues))
        # ARPACK stops on an absolute tolerance below 1e-11: let it see numbers of order 1.
        unit = power_of_two(self.eigenvalues, self.model.spikes)
        values, vectors = eigsh(self.operator() * (1.0 / unit), k=count, which=which, v0=start, tol=1e-10)
        order = np.argsort(values) if which == "SA" else np.argsort(values)[::-1]
        return unit * values[order], vectors[: len(self.model.spikes), order].T ** 2


def draw_matrix_free(model: SpikedModel, R: int, rng: np.random.Generator) -> MatrixFreeDraw:
    """Draws the spiked model for products with vectors; its noise may have any compactly supported law.

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
