r"""Fit of the spiked model $H = \sum_i \theta_i v_i v_i^T + \sigma X$ to the eigenvalues of one matrix.

The noise is estimated from the second moment of the eigenvalues that are not called outliers, because under the model
this is the most precise estimate: $\|H\|_F^2$ has relative standard deviation $2/R$ for any shape of the bulk. The
eigenvalues called outliers take more than their share of it away, $\lambda_i^2 = \theta_i^2 + 2\sigma^2 +
\sigma^4/\theta_i^2$, which gives, for $k$ outliers and Gaussian noise,

$$\sigma^2 = \sum_{\text{not outlying}} \lambda^2 \Big/ \Big(R + 1 - 2k - \sum_{i \le k} \sigma^2/\theta_i^2\Big).$$

The iteration starts with every eigenvalue in the bulk. Calling one an outlier lowers $\sigma$, and a lower $\sigma$
calls no fewer, so the iteration ends with the fewest outliers that are consistent with the model. If the bulk is a
semicircle, this is the answer. If it is not, `SpikedFit.distance` is large.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite, nan, sqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rmt.checks import require_number, require_row
from rmt.closed_laws import Semicircle
from rmt.comparison import distribution_distance
from rmt.results import Result, join_texts
from rmt.spiked import SpikedModel
from rmt.tracy_widom import TracyWidom1

LEVEL = 1e-3
"""Chance that the largest eigenvalue of pure noise is called an outlier; the same at the lower edge."""


class ThresholdedFit(Result):
    """A fit that calls an eigenvalue outside its thresholds an outlier."""

    thresholds: tuple[float, float]

    @property
    def cuts(self) -> tuple[float, float]:
        """Former name of `thresholds`, and still its key in JSON."""
        return self.thresholds

    def _values(self) -> dict[str, Any]:
        return {"cuts" if name == "thresholds" else name: value for name, value in super()._values().items()}


@dataclass(frozen=True)
class SpikedFit(ThresholdedFit):
    r"""The spiked model fitted to one spectrum.

    Attributes:
        model: Fitted spikes, largest first, and semicircular noise at scale 1.
        R: Number of eigenvalues.
        outliers: Eigenvalues called outliers, largest first, one for each spike.
        spike_sd: Standard deviations of the spikes by theory, for Gaussian noise: that of the outlier over
            $1 - \sigma^2/\theta^2$, each spike taken alone. Outliers within about two deviations of each other repel,
            and those of several equal spikes are off by more than this says. It is nan so close to the edge that the
            outlier fluctuates with it.
        sigma: $\sigma$, half the bulk edge.
        sigma_sd: Standard deviation of $\sigma$ by theory, $\sigma / R$.
        thresholds: An eigenvalue outside these two numbers is called an outlier: the bulk edges and `LEVEL` beyond.
        distance: Kolmogorov distance of the eigenvalues not called outliers from the fitted semicircle.
        iterations: Times the noise was estimated.
    """

    model: SpikedModel
    R: int
    outliers: tuple[float, ...]
    spike_sd: tuple[float, ...]
    sigma: float
    sigma_sd: float
    thresholds: tuple[float, float]
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


def fit_spiked(eigenvalues: ArrayLike, level: float = LEVEL, *, mistaken: float | None = None) -> SpikedFit:
    r"""Fit spikes and noise to all eigenvalues of one symmetric matrix.

    An eigenvalue beyond $\pm\sigma(2 + q R^{-2/3})$ is an outlier, with $q$ the upper Tracy-Widom (beta 1) quantile
    at ``level``; its spike is $\theta = (\lambda \pm \sqrt{\lambda^2 - 4\sigma^2})/2$, the inverse of
    $\lambda = \theta + \sigma^2/\theta$. A spike whose outlier is not beyond that line stays in the bulk, and raises
    $\sigma^2$ by $\theta^2/R$. Outliers that carry most of the second moment hide each other: more than
    about R/4 of equal size, or two among a dozen eigenvalues, are the bulk.

    Args:
        eigenvalues: All R of them, zeros included, any order, shape ``(R,)``.
        level: Chance of calling the largest (or the smallest) eigenvalue of pure noise an outlier.
        mistaken: Former name of ``level``.

    Raises:
        ValueError: Fewer than 4 eigenvalues, another shape, one that is complex or not finite, no noise left apart
            from the outliers (a matrix of low rank, or none at all), ``level`` outside (0, 1/2), or both names of it
            with different numbers.

    >>> fit = fit_spiked([9.0, -1.0, -0.5, 0.0, 0.5, 1.0, -0.75, 0.75, 0.25, -0.25] + 90 * [0.01, -0.01])
    >>> len(fit.outliers), round(fit.model.spikes[0], 2)
    (9, 9.0)
    """
    values = np.sort(require_row("eigenvalues", eigenvalues))[::-1]
    R = len(values)
    if R < 4 or not np.isfinite(values).all():
        raise ValueError(f"a fit needs at least 4 eigenvalues, all finite, got {R}")
    unit = unit_of(values)
    split = split_outliers(values / unit, R, named_level(level, mistaken))
    model, sd = build_model(values[split.outlying] / unit, split.sigma, R)
    return SpikedFit(
        model=SpikedModel(tuple(unit * spike for spike in model.spikes), Semicircle(unit * split.sigma)),
        R=R,
        outliers=tuple(values[split.outlying].tolist()),
        spike_sd=tuple((unit * sd).tolist()),
        sigma=unit * split.sigma,
        sigma_sd=unit * split.sigma / R,
        thresholds=(-unit * split.threshold, unit * split.threshold),
        distance=distribution_distance(values[~split.outlying] / unit, model.noise_law),
        iterations=split.iterations,
    )


def unit_of(values: NDArray[np.float64]) -> float:
    """Return a power of two near the largest value, so no power overflows or vanishes; it changes no digit."""
    _, exponent = np.frexp(np.abs(values).max(initial=0.0))
    return float(np.ldexp(1.0, min(max(int(exponent), -1000), 1000)))


def named_level(level: float, mistaken: float | None) -> float:
    """Return the level by either of its names.

    Raises:
        ValueError: No number, or two.
    """
    if mistaken is not None and level not in (LEVEL, mistaken):
        raise ValueError(f"level and mistaken are two names for one number, got {level} and {mistaken}: give level")
    return require_number("level", level if mistaken is None else mistaken)


@dataclass(frozen=True, eq=False)
class OutlierSplit:
    r"""The split of eigenvalues into outliers and bulk, and the noise estimated from the bulk.

    Attributes:
        outlying: One truth value for each eigenvalue.
        sigma: $\sigma$.
        threshold: An eigenvalue of larger modulus is an outlier.
        iterations: Times the noise was estimated.
    """

    outlying: NDArray[np.bool_]
    sigma: float
    threshold: float
    iterations: int


def split_outliers(values: NDArray[np.float64], R: int, level: float = LEVEL, rest: float = 0.0) -> OutlierSplit:
    """Split eigenvalues into outliers and bulk by the iteration of the module's docstring; others may be in the bulk.

    Args:
        values: Known eigenvalues, shape ``(k,)``.
        R: Dimension.
        level: Chance of calling the largest (or the smallest) eigenvalue of pure noise an outlier.
        rest: Sum of squares of the R - k others, which stay in the bulk.

    Raises:
        ValueError: No noise left apart from the outliers, or ``level`` outside (0, 1/2).
    """
    if not 0.0 < level < 0.5:
        raise ValueError(f"level must lie between 0 and 1/2, got {level}")
    beyond = 2.0 + float(TracyWidom1().quantile(1.0 - level)) * R ** (-2.0 / 3.0)
    outlying = np.zeros(len(values), dtype=bool)
    iterations = 0
    while True:
        iterations += 1
        sigma = _noise(values[outlying], rest + float((values[~outlying] ** 2).sum()), R)
        called = np.abs(values) > beyond * sigma
        if (called == outlying).all():
            return OutlierSplit(outlying, sigma, beyond * sigma, iterations)
        outlying = called


def build_model(outliers: NDArray[np.float64], sigma: float, R: int) -> tuple[SpikedModel, NDArray[np.float64]]:
    """Build the model from outliers and a noise level; also return the standard deviations of its spikes by theory."""
    spikes = spike_of(outliers, sigma)
    model = SpikedModel(tuple(spikes), Semicircle(sigma))
    alone = [sd_alone(model, spike, R) for spike in model.spikes]
    sd = [one / (1.0 - (sigma / spike) ** 2) for one, spike in zip(alone, model.spikes, strict=True)]
    return model, np.array(sd)


def sd_alone(model: SpikedModel, spike: float, R: int) -> float:
    """Return the standard deviation of the outlier of a spike by theory, as if there were no other spikes.

    It is nan if the outlier is so close to the edge that it fluctuates with it, as happens at levels of about 0.1.
    """
    try:
        return replace(model, spikes=(spike,)).outlier_sd(spike, R)
    except ValueError:
        return nan


class Fitted(Protocol):
    """A fit of any kind."""

    @property
    def model(self) -> SpikedModel:
        """The fitted model at scale 1."""
        ...


def predict(fit: Fitted, scale_factor: float) -> SpikedModel:
    r"""Predict the model at another sample size: the same spikes, the noise times ``scale_factor``.

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
    r"""Solve $\theta + \sigma^2/\theta = \lambda$ with $|\theta| \ge \sigma$ for the spikes, shaped like the outliers.

    Args:
        outliers: Eigenvalues with $|\lambda| \ge 2\sigma$.
        sigma: Half the bulk edge.
    """
    located = np.asarray(outliers, dtype=float)
    return (located + np.sign(located) * np.sqrt(located**2 - 4.0 * sigma**2)) / 2.0


def _noise(outliers: NDArray[np.float64], rest: float, R: int) -> float:
    """Solve the second-moment equation of the module's docstring for sigma, given the outliers."""
    weight, sigma_squared = float(R + 1 - 2 * len(outliers)), 0.0
    # The correction is a fraction of one eigenvalue for each outlier: a contraction.
    for _ in range(100):
        if rest <= 0.0 or weight <= 0.0:
            raise ValueError(
                f"no noise is left apart from {len(outliers)} outliers among {R} eigenvalues: the matrix is (nearly) "
                "of low rank, so a spiked model cannot be fitted"
            )
        before, sigma_squared = sigma_squared, rest / weight
        if abs(sigma_squared - before) <= 1e-14 * sigma_squared:
            break
        ratios = sigma_squared / spike_of(outliers, min(sqrt(sigma_squared), _largest_sigma(outliers))) ** 2
        weight = R + 1 - 2 * len(outliers) - float(ratios.sum())
    return sqrt(sigma_squared)


def _largest_sigma(outliers: NDArray[np.float64]) -> float:
    return float(np.abs(outliers).min()) / 2.0 if len(outliers) else np.inf
