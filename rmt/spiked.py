r"""The spiked model $H = \sum_i \theta_i v_i v_i^T + s X$ as a value, and everything it predicts.

Source: FedLoRU (v2, eq. 1, Proposition 3.1, eq. 5); the limits for a general noise law and the overlaps are those of
Benaych-Georges and Nadakuditi (2011), the Gaussian fluctuations those of Capitaine, Donati-Martin and Féral (2009).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, isfinite, sqrt
from typing import Any, TypeAlias

from rmt.closed_laws import Semicircle
from rmt.laws import Law
from rmt.tracy_widom import TracyWidom1

Number: TypeAlias = Any  # whatever adds, multiplies and divides: float, Fraction, array, sympy expression


@dataclass(frozen=True)
class Outlier:
    r"""Where one spike shows in the spectrum as the dimension grows.

    Attributes:
        spike: the eigenvalue $\theta$ of the unperturbed matrix.
        location: limit of the eigenvalue that belongs to it: outside the bulk if ``separated``, else the bulk edge.
        separated: whether an eigenvalue leaves the bulk.
        overlap: limit of $|\langle v, u\rangle|^2$ of the spike's direction with its eigenvector; 0 if not separated.
    """

    spike: float
    location: float
    separated: bool
    overlap: float


@dataclass(frozen=True)
class StableRank:
    r"""Stable rank $\\|H\\|_F^2 / \\|H\\|_2^2$ with its two ingredients."""

    value: float
    frobenius_squared: float
    spectral_norm: float


@dataclass(frozen=True)
class SpikedModel:
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
        spikes = tuple(sorted((float(spike) for spike in self.spikes), reverse=True))
        for spike in spikes:
            if not isfinite(spike) or spike == 0.0:
                raise ValueError(f"spikes must be finite and non-zero, got {spike}; leave a zero spike out")
        if not (isfinite(self.scale) and self.scale > 0.0):
            raise ValueError(f"scale must be positive and finite, got {self.scale}")
        if not isinstance(self.noise, Law):
            raise ValueError(f"noise must be a law of rmt, got {type(self.noise).__name__}")
        object.__setattr__(self, "spikes", spikes)

    def at_scale(self, scale: float) -> SpikedModel:
        """The same spikes and noise at another noise scale (another sample size)."""
        return replace(self, scale=scale)

    @cached_property
    def noise_law(self) -> Law:
        """Law of $s X$, the bulk of the spectrum."""
        return self.noise.scaled(self.scale)

    @property
    def bulk_edges(self) -> tuple[float, float]:
        """Left and right edge of the bulk, the papers' $L_N$ and $U_N$."""
        return self.noise_law.support

    @cached_property
    def thresholds(self) -> tuple[float, float]:
        r"""Spikes below the first or above the second value leave the bulk: $1/g(L^-)$ and $1/g(U^+)$."""
        left, right = self.noise_law.edge_stieltjes
        return (0.0 if left == -inf else 1.0 / left), (0.0 if right == inf else 1.0 / right)

    def separates(self, spike: float) -> bool:
        """Whether this spike sends an eigenvalue out of the bulk as the dimension grows."""
        below, above = self.thresholds
        return spike > above if spike > 0 else spike < below

    def outlier(self, spike: float) -> Outlier:
        r"""Limit location $g^{-1}(1/\theta)$ and overlap $-1/(\theta^2 g'(\lambda))$ of one spike.

        Source: Benaych-Georges and Nadakuditi (2011), Theorems 2.1 and 2.2.
        """
        if not self.separates(spike):
            left, right = self.bulk_edges
            return Outlier(spike, right if spike > 0 else left, False, 0.0)
        location = float(self.noise_law.inverse_stieltjes(1.0 / spike))
        overlap = -1.0 / (spike**2 * float(self.noise_law.stieltjes_derivative(location)))
        return Outlier(spike, location, True, min(max(overlap, 0.0), 1.0))

    @cached_property
    def outliers(self) -> tuple[Outlier, ...]:
        """One entry per spike, largest spike first; repeated spikes are repeated."""
        return tuple(self.outlier(spike) for spike in self.spikes)

    @cached_property
    def spectral_norm(self) -> float:
        """Limit of the largest absolute eigenvalue."""
        left, right = self.bulk_edges
        return max(abs(left), abs(right), *(abs(o.location) for o in self.outliers))

    def sigma(self) -> float:
        r"""Edge parameter of semicircular noise after scaling, the papers' $\sigma s$.

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
        r"""Standard deviation of the outlier of one spike at dimension R, to leading order $R^{-1/2}$.

        For a spike on one coordinate the fluctuation is not universal: with unit entry variance,
        $R\,\mathrm{Var} \to (1-\theta^{-2})^2 \left[d + (m_4 - 3)\theta^{-2} + 2/(\theta^2-1)\right]$ with $d$ the
        variance of a diagonal entry and $m_4$ the fourth moment; spread over many coordinates it is the Gaussian
        $2(1 - \theta^{-2})$.

        Args:
            spike: a spike that leaves the bulk.
            R: dimension.
            fourth_moment: fourth moment of an off-diagonal entry of unit variance.
            diagonal_variance: variance of a diagonal entry in units of an off-diagonal one.
            localised: spike on one coordinate (True) or spread over all of them.

        Raises:
            ValueError: non-semicircular noise, R < 1, or a spike that stays inside the bulk.
        """
        sigma, R = self.sigma(), check_dimension(R)
        if not self.separates(spike):
            raise ValueError(f"spike {spike} has no outlier; its eigenvalue follows the edge (edge_scale)")
        ratio = (sigma / spike) ** 2
        if localised:
            bracket = diagonal_variance + (fourth_moment - 3.0) * ratio + 2.0 * ratio / (1.0 - ratio)
            variance = (1.0 - ratio) ** 2 * bracket
        else:
            variance = 2.0 * (1.0 - ratio)
        return sigma * sqrt(variance / R)

    def edge_scale(self, R: int) -> float:
        r"""Size $\sigma s R^{-2/3}$ of the fluctuations of a bulk edge; in these units the law is Tracy-Widom (1)."""
        return self.sigma() * check_dimension(R) ** (-2.0 / 3.0)

    def edge_at(self, R: int) -> float:
        """Mean of the largest bulk eigenvalue at dimension R without spikes, for Gaussian noise."""
        return self.bulk_edges[1] + TracyWidom1().mean * self.edge_scale(R)

    def stable_rank(self, R: int) -> StableRank:
        r"""Stable rank at dimension R: expected $\|H\|_F^2$ over the limit of $\|H\|_2^2$.

        $E\|H\|_F^2 = \sum\theta_i^2 + 2 s m_1 \sum\theta_i + s^2 R\, m_2$ with the moments $m_1, m_2$ of the noise
        law: it grows like R, and so does the stable rank.

        Raises:
            ValueError: R smaller than the number of spikes.
        """
        R = check_dimension(R, at_least=max(1, len(self.spikes)))
        law = self.noise_law
        frobenius_squared = (
            sum(spike**2 for spike in self.spikes) + 2.0 * law.moment(1) * sum(self.spikes) + R * law.moment(2)
        )
        return StableRank(frobenius_squared / self.spectral_norm**2, frobenius_squared, self.spectral_norm)


def wigner_outlier(theta: Number, noise: Number) -> Number:
    r"""Outlier $\theta + (\sigma s)^2/\theta$ of a spike under semicircular noise, for any kind of number.

    The papers' $g_N^{-1}(\theta)$. It is the location of an eigenvalue only if $|\theta| > \sigma s$; floats,
    fractions, arrays and symbols are all welcome.

    Args:
        theta: the spike.
        noise: $\sigma s$, half the bulk edge.
    """
    return theta + noise**2 / theta


def check_dimension(R: int, at_least: int = 1) -> int:
    """Returns R as an int.

    Raises:
        ValueError: R is not a whole number of at least ``at_least``, or above 10^15, where doubles lose its digits.
    """
    if isinstance(R, bool) or not isfinite(R) or int(R) != R or at_least > R:
        raise ValueError(f"the dimension R must be a whole number of at least {at_least}, got {R}")
    if R > 10**15:
        raise ValueError(f"the dimension R must not exceed 10^15 (double precision), got {R}")
    return int(R)
