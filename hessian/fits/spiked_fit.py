r"""Fit of the spiked model $H = \sum_i \theta_i v_i v_i^T + \sigma X$ to the eigenvalues of one matrix.

The noise is estimated from the second moment of the eigenvalues that are not called outliers, because under the model
it is the sharpest there is: $\|H\|_F^2$ has relative standard deviation $2/R$, whatever the shape of the bulk. The
eigenvalues called outliers take more than their share of it away, $\lambda_i^2 = \theta_i^2 + 2\sigma^2 +
\sigma^4/\theta_i^2$, which gives, for $k$ outliers and Gaussian noise,

$$\sigma^2 = \sum_{\text{not outlying}} \lambda^2 \Big/ \Big(R + 1 - 2k - \sum_{i \le k} \sigma^2/\theta_i^2\Big).$$

The iteration starts with every eigenvalue in the bulk. Calling one an outlier lowers $\sigma$, and a lower $\sigma$
calls no fewer, so it ends, and it ends with the fewest outliers that are consistent with the model: the reading of a
spectrum that is kindest to the semicircle. Where the bulk is one, this is the answer; where it is not,
`SpikedFit.distance` says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rmt.checks import require_row
from rmt.closed_laws import Semicircle
from rmt.comparison import distribution_distance
from rmt.results import Result, join_texts
from rmt.spiked import SpikedModel
from rmt.tracy_widom import TracyWidom1

MISTAKEN = 1e-3
"""Chance that the largest eigenvalue of pure noise is called an outlier; the same at the lower edge."""


@dataclass(frozen=True)
class SpikedFit(Result):
    r"""The spiked model that belongs to one spectrum.

    Attributes:
        model: Fitted spikes, largest first, and semicircular noise at scale 1.
        R: Number of eigenvalues.
        outliers: Eigenvalues called outliers, largest first, one for each spike.
        spike_sd: Standard deviations of the spikes by theory, for Gaussian noise: that of the outlier over
            $1 - \sigma^2/\theta^2$.
        sigma: $\sigma$, half the bulk edge.
        sigma_sd: Standard deviation of $\sigma$ by theory, $\sigma / R$.
        cuts: An eigenvalue outside these two numbers is called an outlier: the bulk edges and `MISTAKEN` beyond.
        distance: Kolmogorov distance of the eigenvalues not called outliers from the fitted semicircle.
        iterations: Times the noise was estimated.
    """

    model: SpikedModel
    R: int
    outliers: tuple[float, ...]
    spike_sd: tuple[float, ...]
    sigma: float
    sigma_sd: float
    cuts: tuple[float, float]
    distance: float
    iterations: int

    def words(self) -> dict[str, str]:
        """Return noise, outliers and how far the bulk is from the semicircle, in words."""
        return {
            "spiked model": f"sigma {self.sigma:.3g} +- {self.sigma_sd:.1g}, bulk edge {2 * self.sigma:.3g}",
            "outliers": join_texts([f"{value:.4g}" for value in self.outliers]) or "none",
            "bulk": f"Kolmogorov distance {self.distance:.2f} from the fitted semicircle",
            "spikes": join_texts(
                [f"{spike:.4g} +- {sd:.1g}" for spike, sd in zip(self.model.spikes, self.spike_sd, strict=True)]
            )
            or "none",
            "dimension": f"{self.R:,}",
        }

    @property
    def bulk_fraction(self) -> float:
        """Share of the eigenvalues that is not called an outlier."""
        return 1.0 - len(self.outliers) / self.R


def fit_spiked(eigenvalues: ArrayLike, mistaken: float = MISTAKEN) -> SpikedFit:
    r"""Fits spikes and noise to all eigenvalues of one symmetric matrix.

    An eigenvalue beyond $\pm\sigma(2 + q R^{-2/3})$ is an outlier, with $q$ the upper Tracy-Widom (beta 1) quantile
    at ``mistaken``; its spike is $\theta = (\lambda \pm \sqrt{\lambda^2 - 4\sigma^2})/2$, the inverse of
    $\lambda = \theta + \sigma^2/\theta$. A spike whose outlier is not beyond that line stays in the bulk, and raises
    $\sigma^2$ by $\theta^2/R$. Outliers that carry most of the second moment hide each other: more than
    about R/4 of equal size, or two among a dozen eigenvalues, are the bulk.

    Args:
        eigenvalues: All R of them, zeros included, any order, shape ``(R,)``.
        mistaken: Chance of calling the largest (or the smallest) eigenvalue of pure noise an outlier.

    Raises:
        ValueError: Fewer than 4 eigenvalues, another shape, one that is complex or not finite, no noise left beside
            the outliers (a matrix of low rank, or none at all), or ``mistaken`` outside (0, 1/2).

    >>> fit = fit_spiked([9.0, -1.0, -0.5, 0.0, 0.5, 1.0, -0.75, 0.75, 0.25, -0.25] + 90 * [0.01, -0.01])
    >>> len(fit.outliers), round(fit.model.spikes[0], 2)
    (9, 9.0)
    """
    values = np.sort(require_row("eigenvalues", eigenvalues))[::-1]
    R = len(values)
    if R < 4 or not np.isfinite(values).all():
        raise ValueError(f"a fit needs at least 4 eigenvalues, all finite, got {R}")
    called = call_outliers(values, R, mistaken)
    model, sd = fitted_model(values[called.outlying], called.sigma, R)
    return SpikedFit(
        model=model,
        R=R,
        outliers=tuple(values[called.outlying].tolist()),
        spike_sd=tuple(sd.tolist()),
        sigma=called.sigma,
        sigma_sd=called.sigma / R,
        cuts=(-called.cut, called.cut),
        distance=distribution_distance(values[~called.outlying], model.noise_law),
        iterations=called.iterations,
    )


@dataclass(frozen=True, eq=False)
class Called:
    r"""Which eigenvalues are outliers, and the noise that the others leave.

    Attributes:
        outlying: One truth value for each eigenvalue.
        sigma: $\sigma$.
        cut: An eigenvalue of larger modulus is an outlier.
        iterations: Times the noise was estimated.
    """

    outlying: NDArray[np.bool_]
    sigma: float
    cut: float
    iterations: int


def call_outliers(values: NDArray[np.float64], R: int, mistaken: float = MISTAKEN, rest: float = 0.0) -> Called:
    """The iteration of the module's docstring, for known eigenvalues beside others in the bulk.

    Args:
        values: Known eigenvalues, shape ``(k,)``.
        R: Dimension.
        mistaken: Chance of calling the largest (or the smallest) eigenvalue of pure noise an outlier.
        rest: Sum of squares of the R - k others, which stay in the bulk.

    Raises:
        ValueError: No noise left beside the outliers, or ``mistaken`` outside (0, 1/2).
    """
    if not 0.0 < mistaken < 0.5:
        raise ValueError(f"mistaken must lie between 0 and 1/2, got {mistaken}")
    beyond = 2.0 + float(TracyWidom1().quantile(1.0 - mistaken)) * R ** (-2.0 / 3.0)
    outlying = np.zeros(len(values), dtype=bool)
    iterations = 0
    while True:
        iterations += 1
        sigma = _noise(values[outlying], rest + float((values[~outlying] ** 2).sum()), R)
        called = np.abs(values) > beyond * sigma
        if (called == outlying).all():
            return Called(outlying, sigma, beyond * sigma, iterations)
        outlying = called


def fitted_model(outliers: NDArray[np.float64], sigma: float, R: int) -> tuple[SpikedModel, NDArray[np.float64]]:
    """The model of some outliers and a noise level, and the standard deviations of its spikes by theory."""
    spikes = spike_of(outliers, sigma)
    model = SpikedModel(tuple(spikes), Semicircle(sigma))
    sd = [model.outlier_sd(spike, R) / (1.0 - (sigma / spike) ** 2) for spike in model.spikes]
    return model, np.array(sd)


class Fitted(Protocol):
    """A fit, whatever it was made from."""

    @property
    def model(self) -> SpikedModel:
        """The fitted model at scale 1."""
        ...


def predict(fit: Fitted, scale_factor: float) -> SpikedModel:
    r"""The fitted model at another sample size: the same spikes, the noise times ``scale_factor``.

    From M to M' samples the factor is $\sqrt{M/M'}$ for a mean over independent samples.

    Args:
        fit: Fit at one sample size.
        scale_factor: $s(M')/s(M)$.

    Raises:
        ValueError: A factor that is not positive and finite.
    """
    if not (isfinite(scale_factor) and scale_factor > 0.0):
        raise ValueError(f"scale_factor must be positive and finite, got {scale_factor}")
    return fit.model.at_scale(fit.model.scale * scale_factor)


def spike_of(outliers: ArrayLike, sigma: float) -> NDArray[np.float64]:
    r"""The spikes: $\theta + \sigma^2/\theta = \lambda$ with $|\theta| \ge \sigma$; shaped like the outliers.

    Args:
        outliers: Eigenvalues with $|\lambda| \ge 2\sigma$.
        sigma: Half the bulk edge.
    """
    located = np.asarray(outliers, dtype=float)
    return (located + np.sign(located) * np.sqrt(located**2 - 4.0 * sigma**2)) / 2.0


def _noise(outliers: NDArray[np.float64], rest: float, R: int) -> float:
    """The sigma that solves the second-moment equation of the module's docstring for given outliers."""
    weight, sigma_squared = float(R + 1 - 2 * len(outliers)), 0.0
    # The correction is a fraction of one eigenvalue for each outlier: a contraction.
    for _ in range(100):
        if rest <= 0.0 or weight <= 0.0:
            raise ValueError(
                f"no noise is left beside {len(outliers)} outliers among {R} eigenvalues: the matrix is (nearly) of "
                "low rank, and the spiked model has nothing to fit"
            )
        before, sigma_squared = sigma_squared, rest / weight
        if abs(sigma_squared - before) <= 1e-14 * sigma_squared:
            break
        ratios = sigma_squared / spike_of(outliers, min(sqrt(sigma_squared), _largest_sigma(outliers))) ** 2
        weight = R + 1 - 2 * len(outliers) - float(ratios.sum())
    return sqrt(sigma_squared)


def _largest_sigma(outliers: NDArray[np.float64]) -> float:
    return float(np.abs(outliers).min()) / 2.0 if len(outliers) else np.inf
