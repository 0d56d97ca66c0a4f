r"""Outliers of sums of weighted covariances: Hessians of few samples, which are differences of such.

In a few directions the covariances are blocks $B_1, \dots, B_G$, which need not commute; in all others they are a bulk,
which alone sets the numbers $a_g(z)$ of `CovarianceSum`. Outside the support of the bulk they decrease, so
$z - \sum_g a_g(z) B_g$ increases, and

.. math:: \Big(z - \sum_g a_g(z) B_g\Big) w = 0, \qquad q = \frac1{1 - \sum_g a_g'(z)\, w^T B_g w}

give outliers, the directions w (unit vectors) into which their eigenvectors project, and the squared length of that
projection. The outliers beyond an edge are as many as the eigenvalues of that matrix with the wrong sign at the edge.
With $s_g = w^T B_g w$ and $K_{gh} = \mathrm{tr}\,\Lambda_g Q\Lambda_h Q$ an outlier fluctuates with variance

.. math:: 2 q^2\, s^T \big(\mathrm{diag}(m_g / A_g) - K\big)^{-1} s, \qquad A_g = \int\frac{\tau^2}{(1-\tau b_g)^2}.

One group and one spike give the formulas of `SpikedCovariance`. Proofs: `docs/covariance-model.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from rmt.checks import freeze, require, require_positive
from rmt.covariance_sum import CovarianceSum
from rmt.joint_population import JointPopulation, check_block
from rmt.results import Result
from rmt.separable import EPS, Atoms
from rmt.spiked import AT_EDGE, REPULSION, StableRank, power_of_two

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SumOutlier(Result):
    """An eigenvalue outside the bulk.

    Attributes:
        location: its limit.
        direction: w, into which its eigenvector projects among the spikes' directions, (r,), of length 1.
        overlap: q, the squared length of that projection.
        sd: standard deviation for Gaussian samples, to leading order; nan where the limit of another outlier is within
            two of these deviations, as for repeated spikes, because such outliers repel each other; also nan within 0.4
            of them of an end of the bulk, with which the outlier fluctuates, see `SpikedModel.outlier_sd`.
        sd_of_weights: what independent draws of the weights from their laws add, in quadrature; nan as close to an end.
    """

    location: float
    direction: Array
    overlap: float
    sd: float
    sd_of_weights: float


@dataclass(frozen=True, eq=False)
class SpikedSum:
    r"""A sum of weighted covariances of populations with a bulk and a few other directions.

    Args:
        spikes: the covariances in these directions, (G, r, r), positive semidefinite.
        bulk: the covariances in the others.
        weights: law of the weights of each group, of either sign.
        samples: $m_g$, in the units of the bulk's counts.

    Raises:
        ValueError: what `JointPopulation` and `CovarianceSum` refuse.

    >>> from rmt import PointMass
    >>> bulk = JointPopulation.of([[1.0, 1.0]], [100.0])
    >>> model = SpikedSum(np.array([[[9.0]], [[4.0]]]), bulk, (PointMass(1.0), PointMass(-1.0)), (1000.0, 1000.0))
    >>> round(model.above[0].location, 2), round(model.above[0].overlap, 3)
    (5.25, 0.953)
    """

    spikes: Array
    bulk: JointPopulation
    weights: tuple[Atoms, ...]
    samples: tuple[float, ...]

    def __post_init__(self) -> None:
        given = type(self.bulk).__name__
        require(isinstance(self.bulk, JointPopulation), f"bulk must be a JointPopulation, got a {given}")
        object.__setattr__(self, "spikes", freeze("spikes", self.spikes))
        require(self.spikes.shape[-1:] > (0,), f"spikes must be (G, r, r) with r > 0, got {self.spikes.shape}")
        check_block("the array spikes", self.spikes, self.bulk.groups)
        law = self.law
        object.__setattr__(self, "weights", law.weights)
        object.__setattr__(self, "samples", law.samples)
        _ = self.population

    def with_samples(self, factor: float) -> SpikedSum:
        """Return the same populations and weights with so many times the samples."""
        return replace(self, samples=tuple(require_positive("factor", factor) * count for count in self.samples))

    @cached_property
    def population(self) -> JointPopulation:
        """Spikes and bulk."""
        require(not self.bulk.block.size, "the covariances of the bulk must commute: pass its block as spikes")
        return JointPopulation(self.bulk.atoms, self.bulk.counts, self.spikes)

    @cached_property
    def law(self) -> CovarianceSum:
        """Law of the bulk of the sum's spectrum."""
        return CovarianceSum(self.bulk, self.weights, self.samples)

    @cached_property
    def above(self) -> tuple[SumOutlier, ...]:
        """Outliers above the bulk, decreasing."""
        return self._beyond(1.0)

    @cached_property
    def below(self) -> tuple[SumOutlier, ...]:
        """Outliers below the bulk, increasing."""
        return self._beyond(-1.0)

    @cached_property
    def outliers_in_gaps(self) -> tuple[SumOutlier, ...]:
        """Eigenvalues in gaps of the bulk, increasing; gaps narrower than 1/500 of the support can be missed.

        The numbers a_g decrease in a gap as well, so it has as many outliers as the matrix of the module's docstring
        loses negative eigenvalues from its left end to its right end.
        """
        found, r = [], self.spikes.shape[-1]

        def values(z: float) -> Array:
            inner = z * np.eye(r) - np.tensordot(self.law.outside(z).a, self.spikes, 1)
            return np.asarray(np.linalg.eigvalsh(inner))

        for low, high in self.law._gaps:
            left, right = self._end_of_gap(low, high - low), self._end_of_gap(high, low - high)
            if left is None or right is None or left >= right:
                continue
            negative = [int((values(end) < 0.0).sum()) for end in (left, right)]
            for place in range(negative[1], negative[0]):
                z = brentq(
                    lambda z, place=place: float(values(z)[place]),
                    left,
                    right,
                    xtol=EPS * abs(high - low),
                    rtol=4 * EPS,
                )
                found.append(self._outlier(z, place, 1.0, (low, high)))
        return _without_shared_sd(sorted(found, key=lambda outlier: outlier.location))

    def _end_of_gap(self, end: float, inwards: float) -> float | None:
        """Return the point next to an end of a gap at which the numbers are known; none where the gap is too narrow."""
        for share in (0.0, *10.0 ** np.arange(-15, -5)):
            with suppress(ValueError):
                self.law.outside(end + share * inwards)
                return float(end + share * inwards)
        return None

    @property
    def spectral_norm(self) -> float:
        """Limit of the largest modulus of an eigenvalue."""
        ends = [outlier.location for outlier in (*self.above, *self.below)]
        return max(map(abs, (*self.law.support, *ends)))

    def stable_rank(self) -> StableRank:
        r"""Return the expected $\|S\|_F^2$ for Gaussian samples over the squared limit of the norm.

        Raises:
            ValueError: a stable rank below 1: there are too few directions or samples for the limit.
        """
        norm = self.spectral_norm
        scaled = CovarianceSum(self.population, self.weights, self.samples).scaled(1.0 / norm)
        value = scaled.frobenius_squared
        size = f"{self.population.dimension:g} directions and {list(self.samples)} samples"
        return StableRank.at_limit(value, norm, size, "draw the sum instead (draw_sum)")

    def _beyond(self, side: float) -> tuple[SumOutlier, ...]:
        law, r = self.law, self.spikes.shape[-1]
        edge = law.support[int(side > 0)]
        scale = max(abs(edge), float(np.abs(law.support).max()))
        start = np.nextafter(edge, side * np.inf)

        def values(z: float) -> Array:
            """Return eigenvalues, increasing, of what is negative before an outlier and positive beyond it."""
            inner = z * np.eye(r) - np.tensordot(law.outside(z).a, self.spikes, 1)
            return np.asarray(np.linalg.eigvalsh(side * inner))

        found = []
        for place in range(int((values(start) < 0.0).sum())):
            # In the root of the distance from the edge everything is smooth.
            far = sqrt(scale)
            while values(edge + side * far * far)[place] < 0.0:
                far *= 2.0

            def at(root: float, place: int = place) -> float:
                return float(values(edge + side * root * root if root else start)[place])

            root = brentq(at, 0.0, far, xtol=1e-15 * far, rtol=4 * EPS)
            if edge + side * root * root != edge:
                found.append(self._outlier(edge + side * root * root, place, side, (edge,)))
        return _without_shared_sd(found)

    def _outlier(self, z: float, place: int, side: float, ends: tuple[float, ...]) -> SumOutlier:
        here = self.law.outside(z)
        matrix = side * (z * np.eye(self.spikes.shape[-1]) - np.tensordot(here.a, self.spikes, 1))
        w = np.linalg.eigh(matrix)[1][:, place]
        s = np.einsum("i,gij,j->g", w, self.spikes, w)
        overlap = 1.0 / (1.0 - float(here.slope @ s))
        m = np.array(self.samples)
        squares, a = here.squares_in_units, here.a / here.units
        response = np.diag(m / squares) - here.traces_in_units
        s = s * here.units
        unit = power_of_two(s)  # deviations grow with s, and their squares might overflow
        s = s / unit
        spread = np.linalg.solve(response, s)
        drawn = (spread * m / squares) ** 2 @ (np.maximum(squares - a**2, 0.0) / m)
        sd, of_weights = unit * overlap * sqrt(2.0 * max(float(s @ spread), 0.0)), unit * overlap * sqrt(drawn)
        at_edge = min(abs(z - end) for end in ends) < AT_EDGE * sd
        return SumOutlier(z, w, overlap, *((nan, nan) if at_edge else (sd, of_weights)))


def _without_shared_sd(outliers: Sequence[SumOutlier]) -> tuple[SumOutlier, ...]:
    """Return the outliers, those that repel others without a standard deviation, which holds for single ones."""
    places = np.array([outlier.location for outlier in outliers])
    near = [int((np.abs(places - one.location) <= REPULSION * one.sd).sum()) > 1 for one in outliers]
    return tuple(replace(one, sd=nan) if repels else one for one, repels in zip(outliers, near, strict=True))
