r"""Draws of the spiked covariance model: from the samples themselves, or by products at dimensions no matrix reaches.

The matrix-free form replaces the Gaussian m x P matrix Z by $U\,\mathrm{diag}(s)\,V^T$ with s the square roots of
quantiles of the Marchenko-Pastur law and U, V fast stand-ins for uniformly random rotations: the law of Z but for the
fluctuations of s. A product costs $O((P+m)\log(P+m))$.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator

from rmt.checks import freeze
from rmt.closed_laws import MarchenkoPastur
from rmt.covariance import SpikedCovariance
from rmt.extreme_eigenpairs import checked_count, extreme_eigenpairs
from rmt.matrix_free import Rotation
from rmt.spiked import check_dimension


@dataclass(frozen=True, eq=False)
class WeightedSamples:
    r"""$\frac1m\sum_t \tau_t y_t y_t^T$ of m samples of dimension P.

    Attributes:
        population: eigenvalues of the population, (P,).
        weights: of the samples, (m,), of either sign.
        samples: standard normal samples, (m, P), or none in the matrix-free form.
        rotations: of the matrix-free form, on m and on P coordinates.
    """

    population: NDArray[np.float64]
    weights: NDArray[np.float64]
    samples: NDArray[np.float64] | None
    rotations: tuple[Rotation, Rotation] | None

    def __post_init__(self) -> None:
        for name in ("population", "weights"):
            object.__setattr__(self, name, freeze(name, getattr(self, name)))

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """S, (P, P).

        Raises:
            ValueError: a draw without samples.
        """
        if self.samples is None:
            raise ValueError("a matrix-free draw stores no matrix: use operator(), or draw_covariance")
        scaled = self.samples * np.sqrt(self.population)
        return (scaled.T * (self.weights / len(self.weights))) @ scaled

    def eigenvalues(self) -> NDArray[np.float64]:
        """Return all eigenvalues in increasing order."""
        return eigh(self.matrix, eigvals_only=True, check_finite=False)

    def operator(self) -> LinearOperator:
        """Return the matrix as a scipy operator."""
        P = len(self.population)
        return LinearOperator((P, P), matvec=self.product, dtype=float)

    def product(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the matrix times a vector (P,)."""
        root, m = np.sqrt(self.population), len(self.weights)
        right = root * np.asarray(vector, dtype=float).reshape(-1)
        if self.samples is not None:
            return root * (self.samples.T @ (self.weights / m * (self.samples @ right)))
        assert self.rotations is not None
        of_samples, of_coordinates = self.rotations
        P = len(root)
        size = min(m, P)
        stretch = self._singular
        inner = np.zeros(m)
        inner[:size] = stretch * of_coordinates.forward(right)[:size]
        inner = of_samples.forward(self.weights * of_samples.back(inner))
        outer = np.zeros(P)
        outer[:size] = stretch * inner[:size]
        return root * of_coordinates.back(outer) * (max(m, P) / m)

    @cached_property
    def _singular(self) -> NDArray[np.float64]:
        """Singular values of Z over the root of its longer side."""
        shorter, longer = sorted((len(self.weights), len(self.population)))
        law = MarchenkoPastur(shorter / longer)
        return np.sqrt(law.quantile((np.arange(shorter) + 0.5) / shorter))


@dataclass(frozen=True, eq=False)
class CovarianceDraw(WeightedSamples):
    """A draw of the model: the spikes first, then quantiles of the bulk, and quantiles of the weights.

    Attributes:
        model: the model it was drawn from.
    """

    model: SpikedCovariance

    def top_overlaps(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        r"""Return the largest eigenvalues, decreasing, and $|\langle v_j, u_i\rangle|^2$, shape ``(count, spikes)``."""
        P = len(self.population)
        count = checked_count(count, P, "P")
        if self.samples is not None:
            values, vectors = eigh(self.matrix, subset_by_index=(P - count, P - 1), check_finite=False)
            values, vectors = values[::-1], vectors[:, ::-1]
        else:
            values, vectors = extreme_eigenpairs(self.product, P, count, largest=True)
        return values, vectors[: len(self.model.spikes)].T ** 2


def draw_covariance(model: SpikedCovariance, P: int, rng: np.random.Generator) -> CovarianceDraw:
    """Draw Gaussian samples of the model.

    Args:
        model: spiked covariance model.
        P: dimension, at least the number of spikes; the number of samples is P / ratio, rounded.
        rng: random generator.

    Raises:
        ValueError: P out of range, or no sample left.
    """
    population, weights = _place(model, P)
    return CovarianceDraw(population, weights, rng.standard_normal((len(weights), len(population))), None, model)


def draw_covariance_matrix_free(model: SpikedCovariance, P: int, rng: np.random.Generator) -> CovarianceDraw:
    """Draw the model for products with vectors, as `draw_covariance` otherwise."""
    population, weights = _place(model, P)
    rotations = Rotation.draw(len(weights), rng), Rotation.draw(len(population), rng)
    return CovarianceDraw(population, weights, None, rotations, model)


def _place(model: SpikedCovariance, P: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    P = check_dimension(P, at_least=max(2, len(model.spikes)))
    m, others = round(P / model.ratio), P - len(model.spikes)
    if m < 1:
        raise ValueError(f"at P = {P} a ratio of {model.ratio} leaves no sample: use a larger P")
    bulk = model.bulk.quantile((np.arange(others) + 0.5) / others) if others else []
    return np.concatenate([model.spikes, bulk]), np.asarray(model.weights.quantile((np.arange(m) + 0.5) / m))
