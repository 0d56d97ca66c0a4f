r"""Fit of the spiked model to a measured spectrum: extreme eigenvalues, the Frobenius norm, a quadrature of the rest.

The model, the second-moment equation and the thresholds are the same as in `hessian.fits.spiked_fit`, but only computed
eigenvalues can be outliers, and all others count as bulk. The sum of squares of the eigenvalues that were not computed
is estimated twice, by $\|H\|_F^2$ less the computed ones and by the quadrature itself, and the two are averaged with
the inverse of their variances. The first is more precise if the computed eigenvalues are a small part of the norm, the
second if they are nearly all of it. A probe's sum has relative variance $2 (m_4/m_2^2 - 1)/(d + 2)$ over the sphere in
dimension d, with $m_k$ the moments of the rest; where few directions could make it, it is taken for a larger one
(`hessian.lanczos.probes.inflate_spread`).

A quadrature node is a Ritz value, so one beyond a threshold proves an eigenvalue beyond it. Where the computed pairs do
not reach the bulk, or such a node exists, the outliers counted are "at least" so many, and the noise contains the
others: $\sigma$ is then the second moment of what was left, and no more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import hypot, inf, isfinite, isinf, nan, sqrt

import numpy as np
import torch
from scipy.stats import norm

from hessian.fits.bulk_laws import Bulk, LawFit, law_fits
from hessian.fits.spiked_fit import LEVEL, ThresholdedFit, build_model, named_level, predict, split_outliers, unit_of
from hessian.lanczos.krylov import Array, RitzPairs
from hessian.lanczos.probes import inflate_spread
from hessian.lanczos.quadrature import Moment, SpectralMeasure
from hessian.numerics.intervals import Interval
from rmt.closed_laws import Semicircle
from rmt.results import Result
from rmt.spiked import SpikedModel

UNDECIDED = 0.9
"""Width of the interval of a distance from which on it says nothing."""
ROUNDING = 10.0
"""Units of rounding, relative to the norm, that noise must exceed."""


@dataclass(frozen=True)
class Side(Result):
    """Outliers on one side of the bulk.

    Attributes:
        called: Number of computed eigenvalues beyond the threshold.
        complete: The last computed pair is within the threshold by more than its residual, and no quadrature node is
            beyond.
        hidden: Estimated number of further eigenvalues beyond the threshold, by the quadrature.
    """

    called: int
    complete: bool
    hidden: float

    def __str__(self) -> str:
        more = f", about {self.hidden:.0f} more by the quadrature" if self.hidden > 0.5 else ""
        return str(self.called) if self.complete else f"at least {self.called}{more}"


@dataclass(frozen=True)
class MeasuredFit(ThresholdedFit):
    r"""The spiked model fitted to a measured spectrum.

    Attributes:
        model: Spikes of the computed outliers, largest first, and semicircular noise at scale 1; hidden outliers are
            part of the noise.
        R: Dimension.
        outliers: Computed eigenvalues called outliers, largest first, one for each spike.
        spike_sd: Standard deviations of the spikes: by theory for each spike by itself, by the error of $\sigma$, and
            the Ritz residual taken as one, added as squares.
        sigma: $\sigma$, half the bulk edge.
        sigma_sd: Standard deviation of $\sigma$: by theory, $\sigma/R$, and by the second moment's estimate, added
            as squares.
        thresholds: An eigenvalue outside these two numbers is called an outlier.
        below: Outliers below the bulk.
        above: Outliers above the bulk.
        rest_by_norm: Sum of squares of the eigenvalues that were not computed, by the Frobenius norm.
        rest_by_quadrature: The same by the quadrature, which needs two steps for it and three for its error; an
            infinite deviation where there are fewer.
        distance: Kolmogorov distance of the bulk from the fitted semicircle, with what is certain and possible.
        alternatives: Other laws in its place.
        bulk: The spectrum without its outliers, from which the distances were taken.
        iterations: Times the noise was estimated.
    """

    model: SpikedModel
    R: int
    outliers: tuple[float, ...]
    spike_sd: tuple[float, ...]
    sigma: float
    sigma_sd: float
    thresholds: tuple[float, float]
    below: Side
    above: Side
    rest_by_norm: Moment
    rest_by_quadrature: Moment
    distance: Interval
    alternatives: tuple[LawFit, ...]
    bulk: Bulk
    iterations: int

    def words(self) -> dict[str, str]:
        """Return the model, its outliers and how far the bulk is from laws, in words."""
        verdict = "no semicircle" if self.distance.low > 0.0 else "a semicircle is possible"
        if self.distance.high - self.distance.low > UNDECIDED:
            verdict = "too few steps and probes to decide"
        others = [
            f"{law.name} {law.distance.value:.2f} ({law.distance.low:.2f} to {law.distance.high:.2f})"
            for law in self.alternatives
        ]
        certain = "" if self.complete else "\nthe noise includes outliers that were not computed: raise outliers"
        rank = {times: predict(self, times**-0.5).stable_rank(self.R).value for times in (1, 4)}
        return {
            "spiked model": f"sigma {self.sigma:.3g} +- {self.sigma_sd:.1g}, bulk edge {2 * self.sigma:.3g}",
            "outliers": f"above: {self.above}; below: {self.below}{certain}",
            "bulk": f"Kolmogorov distance {self.distance.value:.2f} from the fitted semicircle, "
            f"{self.distance.low:.2f} to {self.distance.high:.2f}: {verdict}",
            "other laws": "\n".join(others)
            or ("none has the moments of the bulk" if self.bulk.degree >= 2 else "too few steps for a fit"),
            "model's rank": f"{rank[1]:.4g} here, {rank[4]:.4g} at 4 times the samples (noise halved)",
        }

    @property
    def complete(self) -> bool:
        """Whether all outliers were among the computed pairs."""
        return self.below.complete and self.above.complete

    @property
    def outlier_count(self) -> str:
        """The numbers of outliers in words; `at least` where further ones may be."""
        return f"{self.above} above, {self.below} below"

    @property
    def disagreement(self) -> float:
        """Difference of the two estimates of the rest, in standard deviations of that difference."""
        spread = hypot(self.rest_by_norm.sd, self.rest_by_quadrature.sd)
        difference = self.rest_by_norm.value - self.rest_by_quadrature.value
        if isinf(spread):
            return 0.0
        return difference / spread if spread > 0.0 else (0.0 if difference == 0.0 else inf)


def fit_measured(
    pairs: RitzPairs,
    largest: int,
    frobenius: Interval,
    measure: SpectralMeasure,
    *,
    confidence: float = 0.95,
    level: float = LEVEL,
    mistaken: float | None = None,
) -> MeasuredFit:
    """Fit spikes and noise to what was measured of one symmetric matrix.

    Args:
        pairs: Extreme eigenpairs: the ``largest`` algebraically largest, then the smallest.
        largest: How many of the pairs are from the upper end.
        frobenius: Frobenius norm with its interval, of `stable_rank_of`.
        measure: Quadrature `without` these pairs.
        confidence: Confidence level of the interval of the norm.
        level: Chance of calling the largest (or the smallest) eigenvalue of pure noise an outlier.
        mistaken: Former name of ``level``.

    Raises:
        ValueError: Fewer than 4 eigenvalues, numbers that are not finite or do not belong together, or no noise left
            apart from the outliers (a matrix of low rank).
    """
    R, values = measure.P, pairs.values
    if R < 4 or not np.isfinite(values).all() or not all(np.isfinite(x).all() for x in measure.nodes):
        raise ValueError(f"a fit needs a dimension of at least 4 and finite eigenvalues, got dimension {R}")
    if not np.array_equal(measure.atoms, values):
        raise ValueError("the quadrature must be taken without the pairs that are fitted: spectral_measure(without=)")
    if not 0 <= largest <= len(values) or not 0.0 < confidence < 1.0 or not isfinite(frobenius.value):
        raise ValueError(
            f"expected largest between 0 and {len(values)}, confidence in (0, 1) and a finite norm, got {largest}, "
            f"{confidence} and {frobenius.value}"
        )
    unit = unit_of(np.concatenate([values, *measure.nodes]))
    values = values / unit
    residuals = pairs.residuals / unit
    left = R - len(values)
    by_quadrature = _rest_by_quadrature(_in_units(measure, unit), left, residuals)
    by_norm = _rest_by_norm(_divide(frobenius, unit), values, confidence)
    rest = _average(by_norm, by_quadrature) if left else Moment(0.0, 0.0)
    split = split_outliers(values, R, named_level(level, mistaken), rest.value)
    mine, sigma = split.outlying, split.sigma
    if sigma <= ROUNDING * torch.finfo(pairs.vectors.dtype).eps * (frobenius.value / unit):
        raise ValueError(
            f"no noise is left above rounding: {unit * sigma:.1e} compared with a norm of {frobenius.value:.3g}; "
            "the matrix is (nearly) of low rank, so a spiked model cannot be fitted"
        )
    model, theory = build_model(values[mine], sigma, R)
    measured_sd = sigma * rest.sd / (2.0 * (rest.value + float((values[~mine] ** 2).sum())))
    ratios = sigma / np.array(model.spikes)
    steepness = 1.0 / (1.0 - ratios**2)
    spike_sd = np.sqrt(theory**2 + (2.0 * ratios * steepness * measured_sd) ** 2 + (steepness * residuals[mine]) ** 2)
    scaled = SpikedModel(tuple(unit * spike for spike in model.spikes), Semicircle(unit * sigma))
    known = pairs.values
    bulk = Bulk.of(measure, int(mine.sum()), known[~mine], rounding=measure.rounding, residuals=pairs.residuals[~mine])
    nodes, counts = _count_nodes(measure)
    threshold = unit * split.threshold
    return MeasuredFit(
        model=scaled,
        R=R,
        outliers=tuple(known[mine].tolist()),
        spike_sd=tuple((unit * spike_sd).tolist()),
        sigma=unit * sigma,
        sigma_sd=unit * hypot(sigma / R, measured_sd),
        thresholds=(-threshold, threshold),
        below=_side(-known[largest:][::-1], pairs.residuals[largest:][::-1], -nodes, counts, threshold, left),
        above=_side(known[:largest], pairs.residuals[:largest], nodes, counts, threshold, left),
        rest_by_norm=_times(by_norm, unit),
        rest_by_quadrature=_times(by_quadrature, unit),
        distance=bulk.distance(scaled.noise_law.cdf),
        alternatives=law_fits(bulk),
        bulk=bulk,
        iterations=split.iterations,
    )


def _in_units(measure: SpectralMeasure, unit: float) -> SpectralMeasure:
    """Return the quadrature of the matrix over a unit."""
    return replace(measure, nodes=tuple(x / unit for x in measure.nodes), atoms=measure.atoms / unit)


def _divide(interval: Interval, unit: float) -> Interval:
    return Interval(interval.value / unit, interval.low / unit, interval.high / unit)


def _times(moment: Moment, unit: float) -> Moment:
    """Return a second moment of the matrix from that of the matrix over a unit."""
    return Moment(moment.value * unit * unit, moment.sd * unit * unit)


def _count_nodes(measure: SpectralMeasure) -> tuple[Array, Array]:
    """Return all nodes and the number of eigenvalues that each represents."""
    x, w = measure.rule(with_atoms=False)
    return x, measure.P * w


def _side(values: Array, residuals: Array, nodes: Array, counts: Array, threshold: float, left: int) -> Side:
    """Count the outliers of the upper side; values decrease towards the bulk."""
    beyond = nodes > threshold
    reached = left == 0 or (len(values) > 0 and bool(values[-1] + residuals[-1] <= threshold))
    return Side(int((values > threshold).sum()), reached and not bool(beyond.any()), float(counts[beyond].sum()))


def _rest_by_norm(frobenius: Interval, values: Array, confidence: float) -> Moment:
    sd = (frobenius.high**2 - frobenius.low**2) / (2.0 * float(norm.ppf((1.0 + confidence) / 2.0)))
    return Moment(frobenius.value**2 - float((values**2).sum()), sd)


def _rest_by_quadrature(measure: SpectralMeasure, left: int, residuals: Array) -> Moment:
    if not left:
        return Moment(0.0, 0.0)
    if measure.degree < 2:
        return Moment(nan, inf)
    x, w = measure.rule(with_atoms=False)
    mass = w * measure.P / left
    second, fourth = float(mass @ x**2), float(mass @ x**4)
    if measure.degree < 4:
        return Moment(left * second, inf)
    spread = sqrt(2.0 * max(fourth / second**2 - 1.0, 0.0) / (left + 2)) if second > 0.0 else 0.0
    # What inexact pairs hide from their complement.
    mixed = 2.0 * float((residuals**2).sum())
    return Moment(
        left * second, sqrt((left * second * inflate_spread(spread, left)) ** 2 / len(measure.nodes) + mixed**2)
    )


def _average(one: Moment, other: Moment) -> Moment:
    if min(one.sd, other.sd) == 0.0:
        return one if one.sd == 0.0 else other
    if isinf(other.sd):
        return one
    weights = np.array([one.sd**-2.0, other.sd**-2.0])
    value = float(weights @ [one.value, other.value] / weights.sum())
    return Moment(value, float(weights.sum()) ** -0.5)
