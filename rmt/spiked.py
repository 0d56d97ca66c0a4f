r"""The spiked model $H = \sum_i \theta_i v_i v_i^T + s X$ as a value, and everything it predicts.

Source: FedLoRU (v2, eq. 1, Proposition 3.1, eq. 5); the limits for a general noise law and the overlaps are those of
Benaych-Georges and Nadakuditi (2011), the Gaussian fluctuations those of Capitaine, Donati-Martin and Féral (2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, frexp, isfinite, sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from rmt.checks import (
    require_finite,
    require_flag,
    require_fourth_moment,
    require_not_negative,
    require_number,
    require_numbers,
    require_positive,
)
from rmt.closed_laws import Semicircle
from rmt.laws import Law
from rmt.results import Result
from rmt.tracy_widom import TracyWidom1

REPULSION = 2.0
"""Outliers within so many standard deviations repel: at this distance by 0.28 of one, and their own shrinks by 7 %."""
AT_EDGE = 0.4
r"""Outliers within so many standard deviations of an edge fluctuate with it.

With $\theta/\sigma = 1 + \omega R^{-1/3}$ the distance from the edge is $\omega^2$ in its scale $\sigma R^{-2/3}$, and
$\omega^{3/2}/2$ standard deviations: 0.4 at $\omega = 0.86$. Measured over predicted deviations of 3000 draws, alike at
R = 100, 1000 and 10^5: 1.78 at $\omega = 0.2$, 1.3 at 0.4, 1.13 at 0.6, 1.05 at 0.8, 1.02 at 0.9 and at 1, 0.97 at 1.5,
0.98 at 2, 0.99 at 3. Other entry laws and sample covariances agree within the error of their draws.
"""
Number: TypeAlias = Any  # anything that adds, multiplies and divides: float, Fraction, array, sympy expression


@dataclass(frozen=True)
class Outlier(Result):
    r"""Place and overlap of one spike in the spectrum as the dimension grows.

    Attributes:
        spike: the eigenvalue $\theta$ of the unperturbed matrix.
        location: limit of the eigenvalue that belongs to it: outside the bulk if ``separated``, else the bulk edge.
        separated: whether an eigenvalue leaves the bulk; not at the threshold itself. Of a model's ``outliers`` it
            means beyond an end of the bulk, and those between two bands are the model's ``outliers_in_gaps``.
        overlap: limit of $|\langle v, u\rangle|^2$ of the spike's direction with its eigenvector; 0 if not separated.
            It tends to 0 at a threshold where $g'$ is infinite, as at every square-root edge.
    """

    spike: float
    location: float
    separated: bool
    overlap: float


@dataclass(frozen=True)
class StableRank(Result):
    r"""Stable rank $\|H\|_F^2 / \|H\|_2^2$ with its two ingredients.

    The square is 0 or infinite where double precision cannot hold it (norms below 1e-162 or above 1e154); the stable
    rank itself is computed without it.
    """

    value: float
    frobenius_squared: float
    spectral_norm: float

    @classmethod
    def at_limit(cls, value: float, norm: float, size: str, remedy: str) -> StableRank:
        r"""Return an expected $\|H\|_F^2$ over the square of the limit of $\|H\|_2$.

        Args:
            value: this quotient.
            norm: the limit.
            size: of the matrix, for the message.
            remedy: for the message.

        Raises:
            ValueError: The quotient is below 1 by more than rounding, so the limit does not apply at this size.
        """
        if value < 1.0 - 1e-12:
            raise ValueError(
                f"at {size} the limit of the norm gives a stable rank of {value:.6g}, but every matrix has at "
                f"least 1; {remedy}"
            )
        return cls(value, value * norm * norm, norm)


@dataclass(frozen=True)
class SpikedModel(Result):
    r"""$H = \sum_i \theta_i v_i v_i^T + s X$, an $R \times R$ symmetric matrix with noise of a given spectral law.

    Spikes may have any sign, be repeated, small and in any order. The noise law is that of $X$; for the papers'
    Wigner noise it is the semicircle, whose ``sigma`` means entries of variance ``sigma**2 / R``.

    Args:
        spikes: the non-zero eigenvalues $\theta_i$; may be empty.
        noise: limit law of the eigenvalues of $X$.
        scale: $s > 0$, in the papers a decreasing function of the sample size.

    Raises:
        ValueError: a spike that is zero or not finite, or a scale that is not positive and finite.

    >>> model = SpikedModel((2.0, 0.5), scale=1.0)
    >>> [round(o.location, 3) for o in model.outliers]
    [2.5, 2.0]
    """

    spikes: tuple[float, ...] = ()
    noise: Law = field(default_factory=Semicircle)
    scale: float = 1.0

    def __post_init__(self) -> None:
        spikes = tuple(sorted(map(_nonzero, require_numbers("spikes", self.spikes)), reverse=True))
        scale = require_positive("scale", self.scale)
        if not isinstance(self.noise, Law):
            raise ValueError(f"noise must be a law of rmt, got {type(self.noise).__name__}")
        object.__setattr__(self, "spikes", spikes)
        object.__setattr__(self, "scale", scale)

    def at_scale(self, scale: float) -> SpikedModel:
        """Return the same spikes and noise at another noise scale (another sample size)."""
        return replace(self, scale=scale)

    @cached_property
    def noise_law(self) -> Law:
        """Law of $s X$, the bulk of the spectrum."""
        return self.noise.scaled(self.scale)

    @property
    def bulk_edges(self) -> tuple[float, float]:
        """Left and right edge of the bulk, the papers' $L_N$ and $U_N$.

        Raises:
            ValueError: One of them is beyond double precision.
        """
        left, right = (self.scale * edge for edge in self.noise.support)
        if not (isfinite(left) and isfinite(right)):
            raise ValueError(f"the bulk exceeds double precision at scale {self.scale}; rescale the model")
        return left, right

    @cached_property
    def thresholds(self) -> tuple[float, float]:
        r"""Spikes below the first or above the second value leave the bulk: $1/g(L^-)$ and $1/g(U^+)$."""
        below, above = self.noise.thresholds
        return self.scale * below, self.scale * above

    def separates(self, spike: float) -> bool:
        """Return whether this spike sends an eigenvalue beyond an end of the bulk as the dimension grows.

        It does beyond its threshold. Where the bulk has gaps, `in_gaps` has the eigenvalues there.

        Raises:
            ValueError: a spike that is zero or not finite.
        """
        spike, (below, above) = _nonzero(spike), self.thresholds
        return spike > above if spike > 0 else spike < below

    def outlier(self, spike: float) -> Outlier:
        r"""Return the limit location $g^{-1}(1/\theta)$ and the overlap $-1/(\theta^2 g'(\lambda))$ of one spike.

        This means beyond an end of the bulk; `in_gaps` has the eigenvalues in its gaps.

        As $\theta + R(1/\theta)$ and $1 - R'(1/\theta)/\theta^2$ they keep their digits at the threshold, where the
        eigenvalue is lost in the edge long before its overlap has vanished.

        Raises:
            ValueError: a spike that is zero or not finite.

        Source: Benaych-Georges and Nadakuditi (2011), Theorems 2.1 and 2.2.
        """
        spike, (left, right) = _nonzero(spike), self.bulk_edges
        if not self.separates(spike):
            return Outlier(spike, right if spike > 0 else left, False, 0.0)
        location, overlap = self.noise.outlier(spike, self.scale)
        return Outlier(spike, location, True, overlap)

    @cached_property
    def outliers(self) -> tuple[Outlier, ...]:
        """One entry per spike, largest spike first; repeated spikes are repeated."""
        return tuple(self.outlier(spike) for spike in self.spikes)

    def in_gaps(self, spike: float) -> tuple[Outlier, ...]:
        r"""Return the eigenvalues that one spike sends into gaps of the bulk, increasing: at most one in each gap.

        They have $g(\lambda) = 1/\theta$ and the overlap $-1/(\theta^2 g'(\lambda))$ as beyond the edges. A gap may lie
        between two bands, or between a band and an atom, as below Marchenko-Pastur noise of a ratio above 1. Gaps
        narrower than 1/500 of the support can be missed if the noise is neither a closed form nor a free sum of these.

        Raises:
            ValueError: a spike that is zero or not finite.

        >>> from rmt import AtomicLaw, FreeSum
        >>> model = SpikedModel((0.6,), FreeSum(AtomicLaw((-3.0, 3.0), (0.9, 0.1)), Semicircle(0.3)))
        >>> [(round(o.location, 3), round(o.overlap, 3)) for o in model.in_gaps(0.6)]
        [(-2.316, 0.63)]
        """
        spike = _nonzero(spike)
        found = self.noise.outliers_in_gaps(spike, self.scale)
        return tuple(Outlier(spike, location, True, overlap) for location, overlap in found)

    @cached_property
    def outliers_in_gaps(self) -> tuple[Outlier, ...]:
        """The eigenvalues in gaps of the bulk, largest spike first; a spike has none, one or several of them."""
        return tuple(found for spike in self.spikes for found in self.in_gaps(spike))

    @cached_property
    def spectral_norm(self) -> float:
        """Limit of the largest absolute eigenvalue."""
        left, right = self.bulk_edges
        return max(abs(left), abs(right), *(abs(o.location) for o in self.outliers))

    def sigma(self) -> float:
        r"""Return the edge parameter of semicircular noise after scaling, the papers' $\sigma s$.

        Raises:
            ValueError: the noise is not semicircular.
        """
        if not isinstance(self.noise_law, Semicircle):
            raise ValueError(f"this needs semicircular (Wigner) noise, got {type(self.noise).__name__}")
        return self.noise_law.sigma

    def outlier_sd(
        self,
        spike: float,
        R: int,
        *,
        fourth_moment: float = 3.0,
        diagonal_variance: float = 2.0,
        localised: bool = True,
    ) -> float:
        r"""Return the standard deviation of the outlier of one spike at dimension R, to leading order $R^{-1/2}$.

        For a spike on one coordinate the fluctuation is not universal: with unit entry variance,
        $R\,\mathrm{Var} \to (1-\theta^{-2})^2 \left[d + (m_4 - 3)\theta^{-2} + 2/(\theta^2-1)\right]$ with $d$ the
        variance of a diagonal entry and $m_4$ the fourth moment; spread over many coordinates it is the Gaussian
        $2(1 - \theta^{-2})$.

        The outliers of k equal spikes repel one another: they fluctuate like the eigenvalues of a random k x k matrix,
        their means are apart by the same order $R^{-1/2}$, and each has its own deviation. Spikes that differ, but
        whose outliers are within the fluctuation of each other, do much the same. No single number holds for such
        spikes, and within two standard deviations for Gaussian noise they are refused.

        Close to the threshold an outlier fluctuates with the edge, by order $R^{-2/3}$, and the formula tends to 0
        instead. Spikes whose outlier is within 0.4 standard deviations for Gaussian noise of the edge, which are those
        with $\theta - \sigma s < 0.86\,\sigma s R^{-1/3}$, are refused: in draws the deviation is 4 % above the formula
        there, 30 % at 0.4 instead of 0.86, and 78 % at 0.2. Outside this window the formula is right within 4 %, at
        R = 100 as at R = 10^5.

        Args:
            spike: a spike that leaves the bulk.
            R: dimension.
            fourth_moment: fourth moment of an off-diagonal entry of unit variance, 3 for Gaussian entries.
            diagonal_variance: variance of a diagonal entry in units of an off-diagonal one.
            localised: spike on one coordinate (True) or spread over all of them.

        Raises:
            ValueError: non-semicircular noise, R < 1, a spike that stays inside the bulk, is too close to the threshold
                or whose outlier repels that of another spike, a fourth moment below 1 or infinite, a negative variance,
                or ``localised`` that is not True or False.
        """
        localised = require_flag("localised", localised)
        sigma, R, spike = self.sigma(), check_dimension(R), _nonzero(spike)
        fourth_moment = require_finite("fourth_moment", require_fourth_moment(fourth_moment))
        diagonal_variance = require_not_negative("diagonal_variance", diagonal_variance)
        if not self.separates(spike):
            raise ValueError(f"spike {spike} has no outlier; its eigenvalue follows the edge (edge_scale)")
        ratio = (sigma / spike) ** 2
        gaussian = 2.0 * (1.0 - ratio)
        one = self.outlier(spike)
        require_clear(one, self.bulk_edges[int(spike > 0)], sigma * sqrt(gaussian / R))
        require_single(one, self.outliers, sigma * sqrt(gaussian / R))
        bracket = diagonal_variance + (fourth_moment - 3.0) * ratio + 2.0 * ratio / (1.0 - ratio)
        return sigma * sqrt(((1.0 - ratio) ** 2 * bracket if localised else gaussian) / R)

    def edge_scale(self, R: int) -> float:
        r"""Return the size $\sigma s R^{-2/3}$ of a bulk edge's fluctuations; in it the law is Tracy-Widom (1)."""
        return self.sigma() * check_dimension(R) ** (-2.0 / 3.0)

    def edge_at(self, R: int) -> float:
        """Return the mean of the largest bulk eigenvalue at dimension R without spikes, for Gaussian noise."""
        return self.bulk_edges[1] + TracyWidom1().mean * self.edge_scale(R)

    def stable_rank(self, R: int) -> StableRank:
        r"""Return the stable rank at dimension R: expected $\|H\|_F^2$ over the limit of $\|H\|_2^2$.

        $E\|H\|_F^2 = \sum\theta_i^2 + 2 s m_1 \sum\theta_i + s^2 R\, m_2$ with the moments $m_1, m_2$ of the noise
        law: it grows like R, and so does the stable rank.

        Raises:
            ValueError: R smaller than the number of spikes or so small that the limit of the norm does not apply (a
                stable rank below 1), or no spikes and no noise.
        """
        R = check_dimension(R, at_least=max(1, len(self.spikes)))
        norm = self.spectral_norm
        if norm == 0.0:
            raise ValueError("the zero matrix has no stable rank: give a spike, or noise that is not 0")
        spikes, law = [spike / norm for spike in self.spikes], self.noise.scaled(self.scale / norm)
        rest = sum(spike * spike for spike in spikes) + 2.0 * law.moment(1) * sum(spikes)
        value = rest + R * law.moment(2)
        least = ceil((1.0 - rest) / law.moment(2)) if value < 1.0 else R
        return StableRank.at_limit(value, norm, f"R = {R}", f"use R of at least {least}, or draw the model")


def require_clear(outlier: Outlier, edge: float, sd: float) -> None:
    """Check that an outlier is so far from the edge that it does not fluctuate with it.

    Args:
        outlier: that of one spike.
        edge: end of the bulk that it is beyond.
        sd: standard deviation for Gaussian noise.

    Raises:
        ValueError: It is not.
    """
    if abs(outlier.location - edge) < AT_EDGE * sd:
        raise ValueError(
            f"spike {outlier.spike} is too close to the threshold for a standard deviation at this dimension: its "
            f"outlier is within {AT_EDGE:g} standard deviations of the edge and fluctuates with it (edge_scale), by "
            "more than the formula says; draw the model, or take a larger dimension"
        )


def require_single(outlier: Outlier, outliers: Sequence[Outlier], sd: float) -> None:
    """Check that no outlier of another spike of a model is within the fluctuation of this one.

    Args:
        outlier: that of one spike.
        outliers: those of all spikes; the nearest spike is the same one.
        sd: standard deviation for Gaussian noise.

    Raises:
        ValueError: One is.
    """
    others = sorted(outliers, key=lambda other: abs(other.spike - outlier.spike))[1:]
    for other in others:
        if other.separated and abs(other.location - outlier.location) <= REPULSION * sd:
            raise ValueError(
                f"spike {outlier.spike} has no standard deviation of its own: its outlier and that of spike "
                f"{other.spike} repel each other, because their limits are within {REPULSION:g} standard deviations; "
                "draw the model, or take a model with one of these spikes for the deviation without the others"
            )


def _nonzero(spike: float) -> float:
    """Return a spike as a float.

    Raises:
        ValueError: It is zero or not finite.
    """
    if not isfinite(require_number("a spike", spike)) or spike == 0.0:
        raise ValueError(f"spikes must be finite and non-zero, got {spike}; leave a zero spike out")
    return float(spike)


def wigner_outlier(theta: Number, noise: Number) -> Number:
    r"""Return the outlier $\theta + (\sigma s)^2/\theta$ of a spike under semicircular noise, for any kind of number.

    The papers' $g_N^{-1}(\theta)$. It is the location of an eigenvalue only if $|\theta| > \sigma s$; floats,
    fractions, arrays and symbols are all welcome.

    Args:
        theta: the spike.
        noise: $\sigma s$, half the bulk edge.
    """
    return theta + noise * (noise / theta)


def power_of_two(*values: ArrayLike) -> float:
    """Return the power of two next to the largest modulus: in this unit squares and inverses are doubles.

    Dividing by it changes no digit. It stays between 2^-1000 and 2^1000, and is 1 where all values are 0.
    """
    largest = max((float(np.max(np.abs(value), initial=0.0)) for value in map(np.asarray, values)), default=0.0)
    return 2.0 ** min(max(frexp(largest)[1], -1000), 1000) if largest else 1.0


def check_dimension(R: int, at_least: int = 1) -> int:
    """Return R as an int.

    Raises:
        ValueError: R is not a whole number of at least ``at_least``, or above 10^15, where doubles are not exact.
    """
    if require_number("the dimension R", R) > 10**15:
        raise ValueError("the dimension R must not exceed 10^15, beyond which doubles are not exact")
    if isinstance(R, bool) or not isfinite(R) or int(R) != R or at_least > R:
        raise ValueError(f"the dimension R must be a whole number of at least {at_least}, got {R}")
    return int(R)
