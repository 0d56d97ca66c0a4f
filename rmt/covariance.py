r"""The spiked covariance model as a value: outliers, overlaps, fluctuations and stable rank of a weighted sample.

$S = \frac1m \sum_{t\le m} \tau_t\, y_t y_t^T$ with $y_t \sim N(0, \Lambda)$: a few spikes $\ell$ among the eigenvalues
of $\Lambda$, a bulk of others, and weights $\tau_t \ge 0$. It is the multiplicative sibling of `SpikedModel`: noise
grows with the population it samples.

With $x = \tau b$, $k_1 = \int\frac{\lambda}{\ell-\lambda}$ and $k_2 = \int\frac{\lambda^2}{(\ell-\lambda)^2}$ over
the bulk, the ratio $c = P/m$, and b the solution of $\int\frac{x}{1-x} = c\,k_1$,

.. math:: \mathrm{location} = \ell \int\frac{\tau}{1-x}, \qquad
          \mathrm{overlap} = \frac{1 - (k_2/k_1)\,\rho}{1+\rho}, \quad
          \rho = \int\Big(\frac{x}{1-x}\Big)^2 \Big/ \int\frac{x}{1-x},

and the spike has an outlier where that overlap is positive (proved in `docs/covariance-model.md`).

Sources: Baik, Ben Arous and Péché (2005); Baik and Silverstein (2006); Paul (2007) for equal weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite, log, sqrt

import numpy as np
from scipy.optimize import brentq

from rmt.checks import require_finite, require_flag, require_fourth_moment, require_numbers, require_positive
from rmt.closed_laws import PointMass
from rmt.gaps import LEAST_OVERLAP, between_poles
from rmt.separable import EPS, Atoms, SeparableLaw, power_of_two_of
from rmt.spiked import Outlier, StableRank, check_dimension, require_clear, require_single
from rmt.tracy_widom import TracyWidom1

UNIT = PointMass(1.0)


@dataclass(frozen=True)
class SpikedCovariance:
    r"""A weighted sample covariance of a population with a bulk and a few large (or small) eigenvalues.

    Args:
        spikes: eigenvalues of the population outside the bulk, positive; may be empty.
        bulk: law of the other eigenvalues of the population; finitely many atoms.
        weights: law of the weights of the samples; finitely many atoms, none negative.
        ratio: dimension over number of samples, $P/m$.

    Raises:
        ValueError: a spike that is not positive and finite, negative weights, or what `SeparableLaw` refuses.

    >>> model = SpikedCovariance((3.0, 1.2), ratio=0.25)
    >>> [(round(o.location, 3), round(o.overlap, 3)) for o in model.outliers]
    [(3.375, 0.833), (2.25, 0.0)]
    """

    spikes: tuple[float, ...] = ()
    bulk: Atoms = UNIT
    weights: Atoms = UNIT
    ratio: float = 1.0

    def __post_init__(self) -> None:
        spikes = tuple(sorted(require_numbers("spikes", self.spikes), reverse=True))
        for spike in spikes:
            if not (isfinite(spike) and spike > 0.0):
                raise ValueError(f"spikes of a population must be positive and finite, got {spike}")
        object.__setattr__(self, "spikes", spikes)
        object.__setattr__(self, "ratio", require_positive("ratio", self.ratio))
        if self.law.weights.support[0] < 0:
            raise ValueError(
                f"weights must not be negative in this model, got {self.weights.support[0]}; use SeparableLaw for "
                f"negative weights"
            )

    def at_ratio(self, ratio: float) -> SpikedCovariance:
        """Return the same population and weights at another ratio of dimension to samples (another sample size)."""
        return replace(self, ratio=ratio)

    @cached_property
    def law(self) -> SeparableLaw:
        """Law of the bulk of the sample's spectrum."""
        return SeparableLaw(self.bulk, self.weights, self.ratio)

    @property
    def bulk_edges(self) -> tuple[float, float]:
        """Left and right edge of the bulk, a kernel at 0 included."""
        return self.law.support

    @cached_property
    def thresholds(self) -> tuple[float, float]:
        """Spikes below the first or above the second leave the bulk."""
        unit = power_of_two_of(self.bulk)
        left, right = self.law.edges
        return (unit * left.z / left.a if left.a > 0 else 0.0), unit * right.z / right.a

    def separates(self, spike: float) -> bool:
        """Return whether this spike sends an eigenvalue beyond an end of the bulk as the dimension grows.

        Where the bulk has gaps, `in_gaps` has the eigenvalues there.
        """
        spike, (below, above) = require_positive("spike", spike), self.thresholds
        return spike > above or spike < below

    def outlier(self, spike: float) -> Outlier:
        """Return the limit location and overlap of one spike; inside the bulk the nearer edge in the population, and 0.

        `in_gaps` has the eigenvalues in gaps of the bulk.
        """
        spike, (below, above) = require_positive("spike", spike), self.thresholds
        left, right = self.law._interval
        if not self.separates(spike):
            lower = left if below > 0 else self.bulk_edges[0]
            # A kernel lies below every spike, so it does not decide which edge is nearer.
            middle = self.bulk.mean / (1.0 - dict(self.bulk.atoms).get(0.0, 0.0))
            return Outlier(spike, right if spike >= middle else lower, False, 0.0)
        found = self._resolved(spike)
        location = max(found.location, right) if spike > above else min(found.location, left)
        return Outlier(spike, location, True, found.overlap)

    @cached_property
    def outliers(self) -> tuple[Outlier, ...]:
        """One entry per spike, largest spike first; repeated spikes are repeated."""
        return tuple(self.outlier(spike) for spike in self.spikes)

    def in_gaps(self, spike: float) -> tuple[Outlier, ...]:
        r"""Return the eigenvalues that one spike sends into gaps of the bulk, increasing: at most one in each gap.

        The equation $\int\frac{x}{1-x} = c\,k_1$ has one solution b between each two neighbours among the $1/\tau$, and
        one before the first. An eigenvalue is at $\ell\int\frac{\tau}{1-x}$ for those with $A_2B_2 < 1$ (see
        `outlier_sd`) and for no others (proved in `docs/covariance-model.md`). With several
        weights one spike can therefore send several eigenvalues into gaps.

        Raises:
            ValueError: a spike that is not positive and finite.

        >>> from rmt import AtomicLaw
        >>> model = SpikedCovariance((0.3,), bulk=AtomicLaw((0.01, 1.0), (0.9, 0.1)), ratio=0.1)
        >>> [(round(o.location, 3), round(o.overlap, 3)) for o in model.in_gaps(0.3)]
        [(0.297, 0.991)]
        """
        spike = require_positive("spike", spike)
        unit, weight_unit = power_of_two_of(self.bulk), power_of_two_of(self.weights)
        eigenvalues, masses, weights, shares = self.law._arrays
        size, lower, upper = spike / unit, eigenvalues[eigenvalues > 0][0], eigenvalues[-1]
        if size in eigenvalues:  # an eigenvalue of the bulk, not a spike
            return ()
        shrunk = eigenvalues / (size - eigenvalues)
        value = self.ratio * float(shrunk @ masses)
        inverse, shares = 1.0 / weights[weights > 0][::-1], shares[weights > 0][::-1]
        solved = [
            (value / b, gaps) for b, gaps in between_poles(inverse, shares * inverse, -(value + float(shares.sum())))
        ]
        if lower < size < upper:  # else it belongs to an eigenvalue beyond an end of the bulk
            solved.extend(_before_first(inverse, shares, value))
        left, right = (edge.z for edge in self.law.edges)
        found = []
        for a, gaps in solved:
            if not left < size * a < right:
                continue
            squares = self.ratio * float(shares @ gaps**-2.0)  # of tau / (1 - x)
            with np.errstate(over="ignore"):
                slack = 1.0 - squares * float((shrunk / a) ** 2 @ masses)
                mixed = squares * float((size / (size - eigenvalues) / a) * (shrunk / a) @ masses)
            if slack > 0 and (overlap := slack / (slack + mixed)) > LEAST_OVERLAP:
                found.append(Outlier(spike, spike * a * weight_unit, True, overlap))
        return tuple(sorted(found, key=lambda outlier: outlier.location))

    @cached_property
    def outliers_in_gaps(self) -> tuple[Outlier, ...]:
        """The eigenvalues in gaps of the bulk, largest spike first; a spike has none, one or several of them."""
        return tuple(found for spike in self.spikes for found in self.in_gaps(spike))

    @cached_property
    def spectral_norm(self) -> float:
        """Limit of the largest eigenvalue."""
        return max(self.bulk_edges[1], *(outlier.location for outlier in self.outliers), 0.0)

    def outlier_sd(self, spike: float, P: int, *, fourth_moment: float = 3.0, drawn_weights: bool = False) -> float:
        r"""Return the standard deviation of the outlier of one spike at dimension P, to leading order.

        $\mathrm{Var} = \frac{\ell^2 q^2}{m}\Big[\frac{2A_2}{1-A_2B_2} + (m_4 - 3) A_2\Big]$ with the overlap q and
        $A_2 = \int\tau^2/(1-x)^2$, $A_2B_2 = \rho k_2/k_1$; weights that are drawn from their law and not fixed add
        $\frac{\ell^2 q^2}{m(1-A_2B_2)^2}\mathrm{Var}\frac{\tau}{1-x}$.

        Spikes that are equal, or whose outliers are within two standard deviations (for Gaussian samples and fixed
        weights) of each other, are refused: their outliers repel one another, see `SpikedModel.outlier_sd`. So are
        spikes whose outlier is within 0.4 of these deviations of the edge of the bulk: it fluctuates with the edge, by
        more than the formula says (1.6 times at a spike of 1.52, with P = 400 and a ratio of 0.25).

        Args:
            spike: a spike that leaves the bulk beyond an end.
            P: dimension.
            fourth_moment: of the samples' components along the spike, in units of their squared variance; 3 for
                Gaussian samples.
            drawn_weights: the weights are independent draws from their law.

        Raises:
            ValueError: P < 1, a spike that stays inside the bulk, is too close to the threshold or whose outlier repels
                that of another spike, a fourth moment below 1 or infinite, or ``drawn_weights`` that is not True or
                False.
        """
        drawn_weights = require_flag("drawn_weights", drawn_weights)
        fourth_moment = require_finite("fourth_moment", require_fourth_moment(fourth_moment))
        samples = check_dimension(P) / self.ratio
        if not self.separates(spike):
            place = (
                "is in a gap (SpikedSum has its deviation)" if self.in_gaps(spike) else "follows the edge (edge_scale)"
            )
            raise ValueError(f"spike {spike} has no outlier beyond the bulk; its eigenvalue {place}")
        spike, found, one = float(spike), self._resolved(spike), self.outlier(spike)
        slack, unit = 1.0 - found.crowding, spike * found.unit * found.overlap / sqrt(samples)
        gaussian = unit * sqrt(2.0 * found.squares / slack) if slack > 0.0 else inf  # at the threshold, to rounding
        require_clear(one, self.law._interval[int(spike > self.thresholds[1])], gaussian)
        require_single(one, self.outliers, gaussian)
        variance = found.squares * (2.0 / slack + fourth_moment - 3.0)
        if drawn_weights:
            variance += (found.squares - found.sum**2) / slack**2
        return unit * sqrt(max(variance, 0.0))

    def edge_scale(self, P: int) -> float:
        r"""Return the size $(z''(g)/2)^{1/3} P^{-2/3}$ of the upper edge's fluctuations, Tracy-Widom (1) in it."""
        curvature = self.law.edges[1].curvature
        return float(np.cbrt(curvature / 2.0)) * self.law._unit * check_dimension(P) ** (-2.0 / 3.0)

    def edge_at(self, P: int) -> float:
        """Return the mean of the largest eigenvalue at dimension P without spikes, for Gaussian samples."""
        return self.law._interval[1] + TracyWidom1().mean * self.edge_scale(P)

    def stable_rank(self, P: int) -> StableRank:
        r"""Return the stable rank at dimension P: $E\|S\|_F^2$ for Gaussian samples over the limit of $\|S\|_2^2$.

        $E\|S\|_F^2 = (\bar\tau^2 + \epsilon)\,\mathrm{tr}\Lambda^2 + \epsilon(\mathrm{tr}\Lambda)^2$ with the mean
        weight $\bar\tau$ and $\epsilon = \int\tau^2/m$.

        Raises:
            ValueError: P smaller than the number of spikes, or a stable rank below 1, where the limit does not apply.
        """
        P = check_dimension(P, at_least=max(1, len(self.spikes)))
        norm = self.spectral_norm
        unit = power_of_two_of(self.weights)
        weights = self.weights.scaled(1.0 / unit)
        spikes = np.array(self.spikes) * (unit / norm)
        bulk, others = self.bulk.scaled(unit / norm), P - len(self.spikes)
        trace = float(spikes.sum()) + others * bulk.moment(1)
        squares = float(spikes @ spikes) + others * bulk.moment(2)
        excess = weights.moment(2) * self.ratio / P
        value = (weights.mean**2 + excess) * squares + excess * trace**2
        return StableRank.at_limit(value, norm, f"P = {P}", "draw the matrix instead")

    def _resolved(self, spike: float) -> _Resolved:
        """Return the formulas of the module's docstring for a spike outside the bulk of the population."""
        unit, weight_unit = power_of_two_of(self.bulk), power_of_two_of(self.weights)
        eigenvalues, masses, weights, shares = self.law._arrays
        shrunk = eigenvalues / (spike / unit - eigenvalues)
        k1, k2 = float(shrunk @ masses), float(shrunk**2 @ masses)
        side, largest = (1.0 if k1 > 0 else -1.0), float(weights.max())

        def sums(logarithm: float) -> tuple[np.ndarray, np.ndarray]:
            """Return x / (1 - x) and 1 / (1 - x) at |b| = e^logarithm, as a share of 1 / largest weight where b > 0."""
            size = np.exp(logarithm)
            if side < 0:
                room = 1.0 + size * weights
                return -size * weights / room, 1.0 / room
            room = (1.0 + size * (1.0 - weights / largest)) / (1.0 + size)
            return size / (1.0 + size) * (weights / largest) / room, 1.0 / room

        def excess(logarithm: float) -> float:
            return float(sums(logarithm)[0] @ shares) / (self.ratio * k1) - 1.0

        low = high = log(self.ratio * abs(k1)) if k1 else 0.0
        while excess(low) > 0:
            low -= 2.0
        while excess(high) < 0:
            high += 1.0
        found = brentq(excess, low, high, xtol=1e-16, rtol=4 * EPS) if low < high else low
        x, inverse = sums(found)
        rho = float(x**2 @ shares) / float(x @ shares)
        lifted = weights * inverse
        return _Resolved(
            spike * float(lifted @ shares) * weight_unit,
            (1.0 - k2 / k1 * rho) / (1.0 + rho),
            k2 / k1 * rho,
            weight_unit,
            float(lifted @ shares),
            float(lifted**2 @ shares),
        )


def _before_first(poles: np.ndarray, shares: np.ndarray, value: float) -> list[tuple[float, np.ndarray]]:
    r"""Return the b below all poles with $\sum_j s_j b/(p_j - b)$ = value, if there is one.

    Returns:
        The number a that belongs to it, and the distances p - b, (n,), which keep their digits.
    """

    def distances(t: float) -> np.ndarray:
        return poles - poles[0] + poles[0] * np.exp(t)

    def excess(t: float) -> float:
        return float(shares @ (-poles[0] * np.expm1(t) / distances(t))) - value

    low, high = -1.0, 1.0
    while excess(low) < 0 and low > -500:
        low *= 2.0
    while excess(high) > 0 and high < 500:
        high *= 2.0
    if not excess(low) >= 0 >= excess(high):
        return []
    t = brentq(excess, low, high, xtol=1e-16, rtol=4 * EPS)
    return [(float(shares @ (1.0 / distances(t))), distances(t))]


@dataclass(frozen=True)
class _Resolved:
    """One spike.

    Attributes:
        location, overlap: of its outlier.
        crowding: A_2 B_2, 1 at the threshold.
        unit: of the weights, a power of two.
        sum, squares: the integrals of tau / (1 - x) and of its square, with tau in that unit.
    """

    location: float
    overlap: float
    crowding: float
    unit: float
    sum: float
    squares: float
