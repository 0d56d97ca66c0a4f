r"""Gauss-Newton matrices at other sample sizes, from one large sample: a weighted covariance, with nothing fitted.

$G_M = \frac1M\sum_{i\in S} A_i^T A_i$ over M of N samples. Its model is a sample covariance (`rmt.SeparableLaw`) whose
population are the eigenvalues of $G_N$ and whose weights are those of the samples' own spectra, $\tau_{ik} = K
\mathrm{eig}_k(A_i A_i^T) / \mathrm{tr}\,G_N$. Independently of the model,

.. math:: E\|G_M\|_F^2 = \|G_N\|_F^2 + \frac{1}{M'}\Big(\frac1N\sum_i\|A_i^T A_i\|_F^2 - \|G_N\|_F^2\Big), \qquad
          \frac{1}{M'} = \frac{1}{M}\,\frac{N - M}{N - 1},

for subsets without repetition: M' is the number of independent samples that scatter as much. The alternative, a
bootstrap, resamples the samples' blocks in the top eigenvectors and needs no model.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import gamma

from hessian.fits.binned_laws import bin_values, law_of
from hessian.numerics.fixed_arrays import fix_arrays
from hessian.operators.per_sample import SampleSpectra, mean_square
from rmt import AtomicLaw, SeparableLaw
from rmt.checks import require_row
from rmt.results import Result

Array = NDArray[np.float64]
CELL = 12
"""Points in the share of the spectrum that belongs to one eigenvalue, over which its overlaps are averaged."""


@dataclass(frozen=True, eq=False)
class SamplePrediction(Result):
    """Prediction for one sample size.

    Attributes:
        samples: M.
        eigenvalues: the largest, decreasing, (top,).
        low, high: their 95 % intervals over subsets, from the scatter of one isolated eigenvalue. They leave out the
            error of the model, up to 11 % in untrained perceptrons (`docs/covariance-model.md`).
        overlaps: expected squared inner products of the i-th eigenvector at M with the j-th at N, (top, top).
        stable_rank: expected squared Frobenius norm over the squared first eigenvalue.
        stable_rank_low, stable_rank_high: its 95 % interval over subsets, from that of the first eigenvalue.
        frobenius_squared: expected squared Frobenius norm.
    """

    samples: int
    eigenvalues: Array
    low: Array
    high: Array
    overlaps: Array
    stable_rank: float
    stable_rank_low: float
    stable_rank_high: float
    frobenius_squared: float

    def __post_init__(self) -> None:
        fix_arrays(self)


@dataclass(frozen=True, eq=False)
class CovarianceFit(Result):
    r"""The population and the samples' weights.

    Attributes:
        top: the known eigenvalues of $G_N$, decreasing.
        population: law of all, the rest gathered in few atoms.
        dimension: number of eigenvalues that the population represents.
        weights: law of the weights, of mean 1.
        spectra: of the samples.
        frobenius_squared: $\|G_N\|_F^2$.
    """

    top: Array
    population: AtomicLaw
    dimension: float
    weights: AtomicLaw
    spectra: SampleSpectra
    frobenius_squared: float

    def __post_init__(self) -> None:
        fix_arrays(self)

    def predict(self, M: int, *, top: int = 5) -> SamplePrediction:
        """Predict the spectrum over subsets of M of the N samples; N must be far larger than M.

        Args:
            M: sample size, at least 1 and less than N.
            top: number of eigenvalues.

        Raises:
            ValueError: M or top out of range.
        """
        N, K = self.spectra.eigenvalues.shape
        if not 1 <= M < N:
            raise ValueError(f"M must lie between 1 and N - 1 = {N - 1}, got {M}: predictions go from many to few")
        if not 1 <= top <= len(self.top):
            raise ValueError(f"top must lie between 1 and {len(self.top)}, the known eigenvalues, got {top}")
        independent = M * (N - 1) / (N - M)
        law = SeparableLaw(self.population, self.weights, self.dimension / (independent * K))
        places = np.arange(top)[:, None] + (np.arange(CELL) + 0.5) / CELL
        levels = 1.0 - np.column_stack([places, np.arange(top) + 0.5]) / self.dimension
        found = np.asarray(law.quantile(np.clip(levels, 0.0, 1.0)))
        eigenvalues, cells = found[:, -1], found[:, :-1]
        shares = law.overlaps(cells.ravel(), self.top[:top]).reshape(top, CELL, top).mean(axis=1) / self.dimension
        variations = self._variations(independent, top)
        shapes, variation = 1.0 / variations, float(variations[0])
        low, high = (eigenvalues * gamma.ppf(level, shapes) / shapes for level in (0.025, 0.975))
        scatter = (self.spectra.square - self.frobenius_squared) / independent
        frobenius = self.frobenius_squared + scatter
        rank, first = float(frobenius / eigenvalues[0] ** 2), float(eigenvalues[0])
        rest = max(frobenius - first**2 * (1.0 + variation), 0.0)  # of the other eigenvalues; the first is in both
        ranks = (rank, min(rank, 1.0 + rest / float(high[0]) ** 2), max(rank, 1.0 + rest / float(low[0]) ** 2))
        return SamplePrediction(M, eigenvalues, low, high, shares, *ranks, float(frobenius))

    def _variations(self, independent: float, top: int) -> Array:
        """Return the squared coefficients of variation of the first eigenvalues, to first order, (top,).

        They are computed from the samples' own terms in the eigenvectors of all samples where these are known, and
        otherwise from Gaussian directions with the samples' weights.
        """
        weights = self.spectra.eigenvalues / self.spectra.trace
        gaussian = float(2.0 * (weights**2).sum(axis=1).mean() + weights.sum(axis=1).var())
        found = np.full(top, gaussian / independent)
        terms = (self.spectra.blocks**2).sum(axis=1)[:, :top]
        means = terms.mean(axis=0)
        if len(means) and np.allclose(means, self.top[: len(means)], rtol=1e-4, atol=1e-6 * self.top[0]):
            found[: len(means)] = terms.var(axis=0) / means**2 / independent
        return np.maximum(found, 1e-12)


def fit_covariance(
    eigenvalues: ArrayLike, spectra: SampleSpectra, *, frobenius_squared: float | None = None
) -> CovarianceFit:
    r"""Fit the model of a Gauss-Newton matrix to its largest eigenvalues and the spectra of its samples.

    Args:
        eigenvalues: the largest of $G_N$, by products or all of them.
        spectra: of the same N samples.
        frobenius_squared: $\|G_N\|_F^2$, needed where eigenvalues are missing: the missing ones are then replaced by
            equal ones of the same sum and sum of squares. Default: that of the eigenvalues.

    Raises:
        ValueError: no positive eigenvalue, a trace that is not that of the samples, or a missing or too small norm.
    """
    known = np.sort(require_row("eigenvalues", eigenvalues))[::-1]
    known = known[known > known[:1] * 1e-14]
    if not len(known) or not np.isfinite(known).all():
        raise ValueError("the population needs at least one positive eigenvalue, all of them finite")
    rest = spectra.trace - float(known.sum())
    if rest < -1e-6 * spectra.trace:
        raise ValueError(
            f"eigenvalues sum to {known.sum():.6g}, and the samples' traces average {spectra.trace:.6g}: not the same "
            "matrix; take both from the same weights, loss and data"
        )
    values, counts = known, np.ones(len(known))
    squares = mean_square(known[None])
    if rest > 1e-6 * spectra.trace:
        missing = (frobenius_squared or float("nan")) - squares
        if not (isfinite(missing) and missing > 0.0):
            raise ValueError(
                f"eigenvalues account for {known.sum() / spectra.trace:.3g} of the trace: give more, or "
                f"frobenius_squared above their {squares:.6g}"
            )
        # At least 1: rounding of the norm must not put more than all of it into one.
        values, counts = np.append(known, missing / rest), np.append(counts, max(rest**2 / missing, 1.0))
        squares += missing
    kept = min(len(known), 60)
    small, number = bin_values(values[kept:], counts[kept:])
    values, counts = np.concatenate([known[:kept], small]), np.concatenate([np.ones(kept), number])
    weights = spectra.eigenvalues.ravel() * (spectra.eigenvalues.shape[1] / spectra.trace)
    weights[weights < 1e-12 * weights.max()] = 0.0
    atoms, shares = bin_values(weights, np.ones(len(weights)))
    return CovarianceFit(known, law_of(values, counts), float(counts.sum()), law_of(atoms, shares), spectra, squares)


def bootstrap_eigenvalues(spectra: SampleSpectra, M: int, draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return eigenvalues of resampled blocks, the alternative without a model.

    Args:
        spectra: with blocks in r directions, the top eigenvectors of $G_N$.
        M: sample size; drawn without repetition.
        draws: number of resamples.
        rng: random generator.

    Returns:
        Eigenvalues, decreasing, (draws, r), and squared entries of the eigenvectors, (draws, r, r), the i-th
        eigenvector's share of the j-th direction.

    Raises:
        ValueError: no directions, or M above N.
    """
    N, _, r = spectra.blocks.shape
    if r == 0 or not 1 <= M <= N:
        raise ValueError(f"need blocks in some directions and 1 <= M <= N = {N}, got {r} directions and M = {M}")
    values, shares = [], []
    for _ in range(draws):
        rows = spectra.blocks[rng.permutation(N)[:M]].reshape(-1, r)
        eigenvalues, vectors = np.linalg.eigh(rows.T @ rows / M)
        values.append(eigenvalues[::-1])
        shares.append((vectors[:, ::-1] ** 2).T)
    return np.array(values), np.array(shares)
