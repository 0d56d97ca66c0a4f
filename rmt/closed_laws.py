"""Laws in closed form: semicircle, Marchenko-Pastur, one point, finitely many points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np
from numpy.polynomial.polynomial import polyval

from .checks import (
    power,
    require,
    require_finite,
    require_numbers,
    require_order,
    require_positive,
    require_representable,
)
from .gaps import LEAST_OVERLAP, between_poles
from .laws import Law, _argument, _CumulantsFirst

SMALL, SMALL_TERMS = 0.05, 14
"""Where power series serve, and to which order: its first omitted term is 1e-18."""
LARGE = 2.0**500
"""Arguments from which on their inverse is taken, lest a product overflows."""
EVEN = 1e-2
"""Ratios below this or above its inverse have a band that is narrow compared with its location."""


@dataclass(frozen=True)
class Semicircle(_CumulantsFirst):
    r"""Wigner's semicircle law on [center - 2 sigma, center + 2 sigma], exact to rounding.

    .. math:: \rho(x) = \frac{\sqrt{4\sigma^2 - (x - c)^2}}{2\pi\sigma^2}, \qquad R(w) = c + \sigma^2 w

    Limit law of a symmetric matrix with independent entries of variance sigma^2 / R (Wigner 1955).

    >>> law = Semicircle(sigma=0.5)
    >>> law.support, law.edge_stieltjes, law.inverse_stieltjes(1.0)
    ((-1.0, 1.0), (-2.0, 2.0), 1.25)
    """

    sigma: float = 1.0
    center: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", require_positive("sigma", self.sigma))
        object.__setattr__(self, "center", require_finite("center", self.center))
        require_finite("the width 4 sigma", 4 * self.sigma)
        require_finite("an end, center -+ 2 sigma,", abs(self.center) + 2 * self.sigma)

    @property
    def support(self) -> tuple[float, float]:
        """The interval center -+ 2 sigma."""
        return self.center - 2 * self.sigma, self.center + 2 * self.sigma

    @property
    def edge_stieltjes(self) -> tuple[float, float]:
        """The limits -+ 1 / sigma."""
        return -1 / self.sigma, 1 / self.sigma

    @property
    def thresholds(self) -> tuple[float, float]:
        """Spikes leave the bulk beyond -+ sigma."""
        return -self.sigma, self.sigma

    def free_cumulants(self, n: int) -> tuple[float, ...]:
        """Return (center, sigma^2, 0, 0, ...)."""
        n = require_order("the number of cumulants", n)
        return (self.center, power(self.sigma, 2), *[0.0] * n)[:n] if n > 1 else (self.center,)[:n]

    def scaled(self, s: float) -> Semicircle:
        """Return the law of s X, s > 0."""
        return Semicircle(self.sigma * require_positive("s", s), self.center * float(s))

    def shifted(self, m: float) -> Semicircle:
        """Return the law of X + m."""
        return Semicircle(self.sigma, self.center + require_finite("m", m))

    def _pdf(self, x: np.ndarray) -> np.ndarray:
        y = np.clip((x - self.center) / (2 * self.sigma), -1.0, 1.0)
        return np.sqrt((1 - y) * (1 + y)) / (np.pi * self.sigma)

    def _continuous_cdf(self, x: np.ndarray) -> np.ndarray:
        y = np.clip((x - self.center) / (2 * self.sigma), -1.0, 1.0)
        return 0.5 + (y * np.sqrt((1 - y) * (1 + y)) + np.arcsin(y)) / np.pi

    def _angle(self, z: np.ndarray) -> np.ndarray:
        g = self.sigma * self._stieltjes(z)
        return _argument(g.conj()) + (g * g).imag / (2 * np.pi)

    def _stieltjes(self, z: np.ndarray) -> np.ndarray:
        return 0.5 / ((z - self.center) / 4 + _root(z, *self.support) / 4)

    def _stieltjes_derivative(self, z: np.ndarray) -> np.ndarray:
        root = _root(z, *self.support)
        return -0.5 / ((z - self.center) / 4 + root / 4) / root

    def _r_transform(self, w: np.ndarray) -> np.ndarray:
        return self.center + self.sigma * (self.sigma * w)

    def _overlap(self, w: np.ndarray) -> np.ndarray:
        return (1 - self.sigma * w) * (1 + self.sigma * w)

    def _in_gaps(self, w: float) -> list[tuple[float, float]]:
        return []


@dataclass(frozen=True)
class MarchenkoPastur(_CumulantsFirst):
    r"""Marchenko-Pastur law: the spectrum of Z Z^T / n for a p x n matrix Z with independent entries, ratio = p / n.

    .. math:: \rho(x) = \frac{\sqrt{(b - x)(x - a)}}{2\pi\,\gamma v\,x},\quad a, b = v(1 \mp \sqrt\gamma)^2,
              \qquad R(w) = \frac{v}{1 - \gamma v w}

    with v = entry_variance and gamma = ratio; for ratio > 1 an atom of mass 1 - 1/ratio sits at 0. Exact to rounding
    (Marchenko and Pastur 1967).

    >>> law = MarchenkoPastur(ratio=0.25)
    >>> law.support, law.free_cumulants(3)
    ((0.25, 2.25), (1.0, 0.25, 0.0625))
    """

    ratio: float
    entry_variance: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratio", require_positive("ratio", self.ratio))
        object.__setattr__(self, "entry_variance", require_positive("entry_variance", self.entry_variance))
        require_finite("the upper end, entry_variance (1 + sqrt(ratio))^2,", self._interval[1])

    @property
    def support(self) -> tuple[float, float]:
        """The convex hull (L, U), with L = 0 as soon as ratio >= 1."""
        lower, upper = self._interval
        return (0.0 if self.ratio >= 1 else lower), upper

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """The kernel of Z^T, of dimension p - n, when there is one."""
        return ((0.0, 1 - 1 / self.ratio),) if self.ratio > 1 else ()

    @property
    def edge_stieltjes(self) -> tuple[float, float]:
        """The one-sided limits (g(L-), g(U+)); -inf on the left for ratio >= 1."""
        below, above = self.thresholds
        return (1 / below if below else -np.inf), 1 / above

    @property
    def thresholds(self) -> tuple[float, float]:
        """Spikes leave the bulk beyond v (gamma -+ sqrt(gamma)); every negative one does for ratio >= 1."""
        root = float(np.sqrt(self.ratio))
        return min(self.entry_variance * (self.ratio - root), 0.0), self.entry_variance * (self.ratio + root)

    def free_cumulants(self, n: int) -> tuple[float, ...]:
        """Return C_k = ratio^(k-1) v^k."""
        n = require_order("the number of cumulants", n)
        return tuple(power(self.ratio, k - 1) * power(self.entry_variance, k) for k in range(1, n + 1))

    def scaled(self, s: float) -> MarchenkoPastur:
        """Return the law of s X, s > 0."""
        return MarchenkoPastur(self.ratio, self.entry_variance * require_positive("s", s))

    @property
    def _interval(self) -> tuple[float, float]:
        root = sqrt(self.ratio)
        return self.entry_variance * (1 - root) ** 2, self.entry_variance * (1 + root) ** 2

    def _beside_edges(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances 1 + y and y - 1 from the lower and upper end of the band, in units of its half-width."""
        v, root = self.entry_variance, np.sqrt(self.ratio)
        lower, upper = self._interval
        if EVEN < self.ratio < 1 / EVEN:
            half = 2 * root * v
            return (z - lower) / half, (z - upper) / half
        # Rounding of its ends is not small compared with a narrow band: its middle, v (1 + ratio), is better known.
        larger = max(self.ratio, 1.0)
        middle = ((z - v * larger) / v - min(self.ratio, 1.0)) / (2 * root)
        return middle + 1, middle - 1

    def _pdf(self, x: np.ndarray) -> np.ndarray:
        left, right = self._beside_edges(x)
        root, height = np.sqrt(self.ratio), np.sqrt(np.maximum(-right, 0.0))
        if self.ratio == 1:  # lower = 0: the ratio of two zeros is an infinite density
            return height / np.sqrt(2 * self.entry_variance) / np.sqrt(x) / np.pi
        return height * np.sqrt(np.maximum(left, 0.0)) / (np.pi * root) / x

    def _continuous_cdf(self, x: np.ndarray) -> np.ndarray:
        # With x = v (1 + ratio - 2 r cos t) the density of mass is sin(t)^2 / (1 + r^2 - 2 r cos t), whose Fourier
        # series is geometric; a ratio above 1 is the law of the other Gram matrix, with fewer eigenvalues.
        left, right = self._beside_edges(x)
        left, right = np.clip(left, 0.0, 2.0), np.clip(right, -2.0, 0.0)
        angle, r = 2 * np.arctan2(np.sqrt(left), np.sqrt(-right)), np.sqrt(min(self.ratio, 1 / self.ratio))
        sine = np.sqrt(left) * np.sqrt(-right)
        series = np.arctan2(r * sine, 1 + r * (left + right) / 2)
        if r < SMALL:
            second = sum((r ** (k - 2) * np.sin(k * angle) / k for k in range(2, SMALL_TERMS + 2)), np.zeros(x.shape))
            rest = series - second
        else:  # series - (series - r sine) / r^2, which keeps its digits next to 0 where the ratio is 1
            rest = sine / r - series * ((1 - r) * (1 + r) / r**2)
        return (angle + rest) / np.pi / max(self.ratio, 1.0)

    def _angle(self, z: np.ndarray) -> np.ndarray:
        g = self._stieltjes(z)
        part = self.ratio * (self.entry_variance * g)
        # The logarithm of 1 - part and its inverse cancel where the part is small: there the series serves.
        small = np.abs(part) < SMALL
        series = polyval(np.where(small, part, 0.0), [0.0, 0.0, *(1 - 1 / k for k in range(2, SMALL_TERMS))])
        rest = np.where(small | (part == 1), 0.5, 1 - part)
        other = np.where(small, series.imag / np.pi, (1 / rest).imag / np.pi + _argument(rest))
        return _argument(g.conj()) + other / self.ratio

    def _stieltjes(self, z: np.ndarray) -> np.ndarray:
        # Of the two equal forms of the root of gamma v z g^2 - line g + 1 = 0, take the one that does not cancel. The
        # line and the root of its discriminant are in units of v.
        v, gamma = self.entry_variance, self.ratio
        left, right = self._beside_edges(z)
        root = 2 * np.sqrt(gamma) * np.sqrt(left) * np.sqrt(right)
        even = EVEN < gamma < 1 / EVEN
        line = (z - v * (1 - gamma)) / v if even else np.sqrt(gamma) * (left + right) + 2 * gamma
        plus, minus = line + root, line - root
        direct = np.abs(plus) >= np.abs(minus)
        other = np.where(direct, 1.0, minus) / np.where(direct, 1.0, z) / (2 * gamma)
        return np.where(direct, 2.0 / np.where(direct, plus, 1.0) / v, other)

    def _stieltjes_derivative(self, z: np.ndarray) -> np.ndarray:
        g = self._stieltjes(z)
        left, right = self._beside_edges(z)
        root = 2 * np.sqrt(self.ratio) * np.sqrt(left) * np.sqrt(right)
        return -g * (1 - self.ratio * (self.entry_variance * g)) / root / self.entry_variance

    def _r_transform(self, w: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # 0 far out
            return self.entry_variance / (1 - self.ratio * (self.entry_variance * w))

    @np.errstate(over="ignore", divide="ignore")  # minus infinity at the pole of R
    def _overlap(self, w: np.ndarray) -> np.ndarray:
        part, root = self.entry_variance * w, np.sqrt(self.ratio)
        near = np.abs(part) < LARGE
        inner, outer = np.where(near, part, 0.0), np.where(near, LARGE, part)
        slope = np.where(near, root * inner / (1 - self.ratio * inner), root / (1 / outer - self.ratio))
        return (1 - slope) * (1 + slope)

    def _in_gaps(self, w: float) -> list[tuple[float, float]]:
        if self.ratio <= 1 or w <= 0:
            return []
        excess, overlap = self.ratio - 1.0 / self.entry_variance / w, float(self._overlap(np.array([w]))[0])
        if excess <= sqrt(self.ratio) or overlap <= LEAST_OVERLAP:
            return []
        # z = v / (1 - ratio v w) + 1 / w lies between the atom at 0 and the band.
        return [((excess - 1.0) / excess / w, overlap)]


@dataclass(frozen=True)
class AtomicLaw(Law):
    """Finitely many atoms, kept in increasing order; masses are positive and sum to 1 within 1e-12.

    >>> coin = AtomicLaw((-1.0, 1.0), (0.5, 0.5))
    >>> coin.free_cumulants(4), coin.stieltjes(2.0)
    ((0.0, 1.0, 0.0, -1.0), 0.6666666666666666)
    """

    locations: Sequence[float]
    masses: Sequence[float]

    def __post_init__(self) -> None:
        locations, masses = require_numbers("locations", self.locations), require_numbers("masses", self.masses)
        count = f"got {len(locations)} locations and {len(masses)} masses"
        require(len(locations) == len(masses) > 0, f"each location needs one mass, {count}")
        require(len(set(locations)) == len(locations), f"locations must differ, got {list(locations)}")
        for location, mass in zip(locations, masses, strict=True):
            require_finite("location", location)
            require_positive("mass", mass)
        require_finite("the distance between the outermost locations", max(locations) - min(locations))
        require(abs(sum(masses) - 1) < 1e-12, f"masses must sum to 1, got {sum(masses)}")
        pairs = sorted(zip(locations, masses, strict=True))
        object.__setattr__(self, "locations", tuple(location for location, _ in pairs))
        object.__setattr__(self, "masses", tuple(mass for _, mass in pairs))

    @property
    def support(self) -> tuple[float, float]:
        """First and last location."""
        return self.locations[0], self.locations[-1]

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Pairs (location, mass)."""
        return tuple(zip(self.locations, self.masses, strict=True))

    @property
    def edge_stieltjes(self) -> tuple[float, float]:
        """Infinite at atoms."""
        return -np.inf, np.inf

    def moment(self, n: int, about: float = 0.0) -> float:
        r"""Return the moment \int (x - about)^n \mu(dx), n >= 0."""
        n, about = require_order("the order of a moment", n), require_finite("about", about)
        return require_representable(sum(mass * power(location - about, n) for location, mass in self.atoms), n)

    def scaled(self, s: float) -> AtomicLaw:
        """Return the law of s X, s > 0."""
        s = require_positive("s", s)
        return self._moved([location * s for location in self.locations], f"scaled by {s}")

    def shifted(self, m: float) -> AtomicLaw:
        """Return the law of X + m."""
        m = require_finite("m", m)
        return self._moved([location + m for location in self.locations], f"shifted by {m}")

    def _moved(self, locations: list[float], how: str) -> AtomicLaw:
        """Return the law with other locations.

        Raises:
            ValueError: One exceeds double precision, or rounding makes two of them equal.
        """
        for old, new in zip(self.locations, locations, strict=True):
            require(isfinite(new), f"the location {old} exceeds double precision when {how}")
        for number, new in enumerate(locations[1:], 1):
            low, high = self.locations[number - 1 : number + 1]
            require(
                locations[number - 1] < new,
                f"the locations {low} and {high} are equal to rounding when {how}, both {new}; merge them first",
            )
        return AtomicLaw(locations, self.masses)

    def _pdf(self, x: np.ndarray) -> np.ndarray:
        return np.zeros_like(x)

    def _continuous_cdf(self, x: np.ndarray) -> np.ndarray:
        return np.zeros_like(x)

    def _angle(self, z: np.ndarray) -> np.ndarray:
        return _argument(z[:, None] - np.array(self.locations)) @ np.array(self.masses)

    def _stieltjes(self, z: np.ndarray) -> np.ndarray:
        return (1 / (z[:, None] - np.array(self.locations))) @ np.array(self.masses)

    def _stieltjes_derivative(self, z: np.ndarray) -> np.ndarray:
        inverse = 1 / (z[:, None] - np.array(self.locations))
        return -(inverse * inverse) @ np.array(self.masses)

    def _beyond(self, gap: np.ndarray, side: float) -> tuple[np.ndarray, np.ndarray]:
        edge = self.support[int(side > 0)]
        parts = np.array(self.masses) / (gap[:, None] + side * (edge - np.array(self.locations)))
        total = parts.sum(axis=1)
        return 1 / total, ((parts / total[:, None]) ** 2 / np.array(self.masses)).sum(axis=1)

    def _in_gaps(self, w: float) -> list[tuple[float, float]]:
        places, masses = np.array(self.locations), np.array(self.masses)
        with np.errstate(over="ignore"):  # an overlap of 0
            found = [(z, 1.0 / float(masses @ (w * gaps) ** -2.0)) for z, gaps in between_poles(places, masses, w)]
        return [(z, overlap) for z, overlap in found if overlap > LEAST_OVERLAP]


@dataclass(frozen=True)
class PointMass(Law):
    """All mass at one point: R(w) is its location; the neutral shift of free convolution."""

    location: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "location", require_finite("location", self.location))

    @property
    def support(self) -> tuple[float, float]:
        """The point, twice."""
        return self.location, self.location

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """One pair (location, 1)."""
        return ((self.location, 1.0),)

    @property
    def edge_stieltjes(self) -> tuple[float, float]:
        """Infinite at the atom."""
        return -np.inf, np.inf

    def moment(self, n: int, about: float = 0.0) -> float:
        """Return the power (location - about)^n, n >= 0."""
        n, about = require_order("the order of a moment", n), require_finite("about", about)
        return power(self.location - about, n)

    def scaled(self, s: float) -> PointMass:
        """Return the law of s X, s > 0."""
        return PointMass(self.location * require_positive("s", s))

    def shifted(self, m: float) -> PointMass:
        """Return the law of X + m."""
        return PointMass(self.location + require_finite("m", m))

    def _pdf(self, x: np.ndarray) -> np.ndarray:
        return np.zeros_like(x)

    def _continuous_cdf(self, x: np.ndarray) -> np.ndarray:
        return np.zeros_like(x)

    def _angle(self, z: np.ndarray) -> np.ndarray:
        return _argument(z - self.location)

    def _stieltjes(self, z: np.ndarray) -> np.ndarray:
        return 1 / (z - self.location)

    def _stieltjes_derivative(self, z: np.ndarray) -> np.ndarray:
        inverse = 1 / (z - self.location)
        return -inverse * inverse

    def _r_transform(self, w: np.ndarray) -> np.ndarray:
        return np.full_like(w, self.location)

    def _overlap(self, w: np.ndarray) -> np.ndarray:
        return np.ones_like(w)

    def _in_gaps(self, w: float) -> list[tuple[float, float]]:
        return []


def _root(z: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """Return the branch of sqrt((z - lower)(z - upper)) that behaves like z; on the cut, its limit from above."""
    return np.sqrt(z - lower) * np.sqrt(z - upper)
