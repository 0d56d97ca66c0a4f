r"""Hessians at other sample sizes: a difference of two weighted covariances, with nothing fitted.

The samples' positive and negative parts have the means $\Lambda_+$ and $\Lambda_-$, which need not commute. The weights
are each sample's own positive and negative eigenvalues, $\tau_{ik} = r\,\max(\pm s_{ik}, 0)/\mathrm{tr}\Lambda_\pm$ for
its r directions. `rmt.CovarianceSum` is the law of the difference of two such samples. Without any model,

.. math:: E\|H_M\|_F^2 = \|H_N\|_F^2 + \frac1{M'}\Big(\frac1N\sum_i\|h_i\|_F^2 - \|H_N\|_F^2\Big), \qquad
          \frac1{M'} = \frac1M\,\frac{N-M}{N-1}.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hessian.fits.binned_laws import bin_values, law_of
from hessian.numerics.fixed_arrays import fix_arrays
from hessian.operators.sample_hessians import SampleHessians
from rmt import AtomicLaw, CovarianceSum, JointPopulation
from rmt.results import Result

Array = NDArray[np.float64]
CELL = 4
"""Points in the share of the spectrum that belongs to one eigenvalue, over which its overlaps are averaged."""


@dataclass(frozen=True, eq=False)
class HessianPrediction(Result):
    """Prediction for one sample size.

    Attributes:
        samples: M.
        above: the largest eigenvalues, decreasing, (top,).
        below: the smallest, increasing, (top,).
        overlaps_above: expected squared inner products of their eigenvectors with those of equal rank at N, (top,).
        overlaps_below: the same from the other end.
        stable_rank: expected squared Frobenius norm over the squared largest modulus.
        frobenius_squared: expected squared Frobenius norm.
    """

    samples: int
    above: Array
    below: Array
    overlaps_above: Array
    overlaps_below: Array
    stable_rank: float
    frobenius_squared: float

    def __post_init__(self) -> None:
        fix_arrays(self)


@dataclass(frozen=True, eq=False)
class HessianFit(Result):
    r"""The two populations and the samples' weights.

    Attributes:
        population: $\Lambda_+$ and $\Lambda_-$: a block of the directions in which they are largest, elsewhere as if
            they commuted.
        weights: laws of the positive and of the negative weights, of means 1 and -1.
        top: eigenvectors of $H_N$ in the block, largest eigenvalue first, (block, block).
        rows: r, the directions of one sample.
        samples: N.
        square: mean squared Frobenius norm of one sample's Hessian.
        frobenius_squared: $\|H_N\|_F^2$.
    """

    population: JointPopulation
    weights: tuple[AtomicLaw, AtomicLaw]
    top: Array
    rows: int
    samples: int
    square: float
    frobenius_squared: float

    def __post_init__(self) -> None:
        fix_arrays(self)

    def law(self, M: int) -> CovarianceSum:
        """Return the law of the spectrum over subsets of M of the N samples.

        Raises:
            ValueError: M out of range.
        """
        N = self.samples
        if not 1 <= M < N:
            raise ValueError(f"M must lie between 1 and N - 1 = {N - 1}, got {M}: predictions go from many to few")
        m = float(self.rows * M * (N - 1) / (N - M))
        return CovarianceSum(self.population, self.weights, (m, m))

    def predict(self, M: int, *, top: int = 5) -> HessianPrediction:
        """Predict the spectrum over subsets of M of the N samples; N must be far larger than M.

        Args:
            M: sample size, at least 1 and less than N.
            top: number of eigenvalues from either end.

        Raises:
            ValueError: M or top out of range.
        """
        law, dimension = self.law(M), self.population.dimension
        if not 1 <= 2 * top <= len(self.top):
            raise ValueError(f"top must lie between 1 and half the block, {len(self.top) // 2}, got {top}")
        places = np.column_stack([np.arange(top)[:, None] + (np.arange(CELL) + 0.5) / CELL, np.arange(top) + 0.5])
        levels = np.concatenate([1.0 - places / dimension, places / dimension])
        found = np.asarray(law.quantile(np.clip(levels, 0.0, 1.0)))
        ends, vectors = (found[:top, -1], found[top:, -1]), (self.top[:, :top], self.top[:, ::-1][:, :top])
        overlaps = []
        for cells, chosen in zip((found[:top, :-1], found[top:, :-1]), vectors, strict=True):
            shares = law.shares(cells.ravel(), chosen).reshape(top, CELL, top).mean(axis=1) / dimension
            overlaps.append(np.diagonal(shares))
        scatter = (self.square - self.frobenius_squared) * (self.samples - M) / (self.samples - 1) / M
        frobenius = self.frobenius_squared + scatter
        norm = max(float(ends[0][0]), -float(ends[1][0]))
        return HessianPrediction(M, ends[0], ends[1], overlaps[0], overlaps[1], frobenius / norm**2, float(frobenius))


def fit_difference(hessians: SampleHessians, *, block: int = 20, frobenius_squared: float | None = None) -> HessianFit:
    r"""Fit the model of a Hessian to the spectra of its samples and the means of their parts.

    Args:
        hessians: of N samples; directions that were left out hold the rest of the traces in equal shares.
        block: directions in which the two parts need not commute, those in which $\Lambda_+ + \Lambda_-$ is largest.
        frobenius_squared: $\|H_N\|_F^2$, needed where directions were left out.

    Raises:
        ValueError: a block out of range, a missing norm, or samples without positive or without negative eigenvalues.
    """
    d = len(hessians.plus)
    if not 2 <= block <= d:
        raise ValueError(f"block must lie between 2 and the number of directions, {d}, got {block}")
    signed = (np.maximum(hessians.eigenvalues, 0.0), np.maximum(-hessians.eigenvalues, 0.0))
    traces, rows = hessians.traces, hessians.eigenvalues.shape[1]
    if not min(traces) > 0.0:
        raise ValueError("the samples' Hessians are all of one sign: use fit_covariance, which fits one covariance")
    turn = np.linalg.eigh(hessians.plus + hessians.minus)[1][:, ::-1]
    parts = [turn.T @ part @ turn for part in (hessians.plus, hessians.minus)]
    inner = np.array([(part[:block, :block] + part[:block, :block].T) / 2 for part in parts])
    atoms = np.maximum(np.array([np.diag(part)[block:] for part in parts]).T, 0.0)
    counts = np.ones(len(atoms))
    outside = hessians.dimension - d
    if outside > 0 and frobenius_squared is None:
        raise ValueError(f"{outside} directions were left out: give frobenius_squared, the squared norm of all of H_N")
    if outside > 0:
        rest = [max(trace - float(np.trace(part)), 0.0) / outside for trace, part in zip(traces, parts, strict=True)]
        atoms, counts = np.vstack([atoms, rest]), np.append(counts, float(outside))
    laws = []
    for values, trace, sign in zip(signed, traces, (1.0, -1.0), strict=True):
        weights = values.ravel() * (rows / trace)
        weights[weights < 1e-12 * weights.max()] = 0.0
        locations, number = bin_values(weights, np.ones(len(weights)))
        laws.append(law_of(sign * locations, number))
    squares = float(((hessians.plus - hessians.minus) ** 2).sum()) if frobenius_squared is None else frobenius_squared
    return HessianFit(
        JointPopulation.of(atoms, counts, inner),
        (laws[0], laws[1]),
        np.linalg.eigh(inner[0] - inner[1])[1][:, ::-1],
        rows,
        len(hessians.eigenvalues),
        hessians.square,
        squares,
    )
