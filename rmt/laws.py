r"""Noise laws as values: density, Stieltjes transform, R-transform, free cumulants of a compactly supported law.

Sign convention of the papers: g(z) = \int \mu(dx) / (z - x), so g(z) ~ 1/z far away, and
R(w) = g^{-1}(w) - 1/w, with free cumulants as its Taylor coefficients: R(w) = C_1 + C_2 w + C_3 w^2 + ...

Lengths are in the units of the law's variable x; g and w in 1/x; densities in 1/x; C_n and moments in x^n.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial.polynomial import polyder, polyval
from numpy.typing import ArrayLike

from .checks import (
    power,
    require,
    require_finite,
    require_levels,
    require_order,
    require_points,
    require_positive,
    require_reals,
    require_representable,
    unwrap,
)
from .cumulants import free_cumulants_from_moments, moments_from_free_cumulants
from .gaps import NEXT_TO_ATOM, find_gaps, pairs_in_gaps
from .panel_quadrature import Panels

SERIES_RADIUS = 2e-3
"""Below this |w| (in units of 1 / half-width) R(w) is summed from cumulants: 1/w would cancel too many digits."""
SERIES_TERMS = 8
NEWTON_STEPS = 200
FAR = 1e17
"""Distance in sizes of the law at which the rounding of a point exceeds the law."""
BESIDE = (1e-3, 1e-6, 1e-9)
"""Distances from the ends of the support, in widths, at which bands and atoms must add up to 1."""
EPS = float(np.finfo(float).eps)
ROUNDING = 1e-6
"""A distribution function that misses 0 or 1 or decreases by more is wrong; next to an edge rounding is felt as its
root."""


class Law(ABC):
    """A probability law with compact support; every law is a frozen dataclass, hence a value.

    All methods take scalars or arrays and return the same shape. Subclasses supply ``support``, ``edge_stieltjes`` and
    the underscored methods, which receive arrays that have passed the door; what they leave out is computed by
    quadrature (relative accuracy 1e-10 unless the subclass says otherwise).
    """

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The convex hull (L, U) of the support."""

    @property
    @abstractmethod
    def edge_stieltjes(self) -> tuple[float, float]:
        """The one-sided limits (g(L-), g(U+)), possibly (-inf, inf)."""

    @property
    def thresholds(self) -> tuple[float, float]:
        """Spikes below the first or above the second leave the bulk: 1/g(L-) and 1/g(U+), 0 where g is infinite."""
        left, right = self.edge_stieltjes
        return 1.0 / left + 0.0, 1.0 / right

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Pairs (location, mass)."""
        return ()

    @abstractmethod
    def _pdf(self, x: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _stieltjes(self, z: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _stieltjes_derivative(self, z: np.ndarray) -> np.ndarray: ...

    @property
    def mean(self) -> float:
        """The mean."""
        return self.moment(1)

    @property
    def variance(self) -> float:
        """The variance, which is the second free cumulant."""
        return self.moment(2, about=self.mean)

    def pdf(self, x: ArrayLike) -> Any:
        """Return the density of the continuous part; 0 outside the support, possibly inf at an edge."""
        points = require_reals("x", x)
        self._complete()
        lower, upper = self._interval
        density = np.zeros(points.shape)
        inside = (points >= lower) & (points <= upper)
        with np.errstate(all="ignore"):  # at an edge, or in units too small, the density may be infinite
            density[inside] = self._pdf(points[inside])
        return unwrap(density)

    def cdf(self, x: ArrayLike) -> Any:
        """Return P(X <= x); an atom counts at points closer than its place is known."""
        points = self._on_atoms(require_reals("x", x))
        self._complete()
        lower, upper = self.support
        mass = self._orderly(points.ravel(), self._mass_up_to(points.ravel())).reshape(points.shape)
        return unwrap(np.where(points >= upper, 1.0, np.where(points < lower, 0.0, np.clip(mass, 0.0, 1.0))))

    def quantile(self, p: ArrayLike) -> Any:
        """Return the smallest x in the support with cdf(x) >= p, by bisection to rounding; p in [0, 1]."""
        levels = require_levels(p)
        # Halving the numbers of the doubles between two points finds a quantile next to 0 with all its digits.
        low, high = (_place_of(np.full(levels.shape, edge)) for edge in self.support)
        while (low + 1 < high).any():
            middle = (low >> 1) + (high >> 1) + (low & high & 1)
            enough = np.asarray(self.cdf(_double_at(middle))) >= levels
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        found = self._on_atoms(_double_at(high))
        high = np.where(levels == 1, self.support[1], found)  # rounding reaches 1 before the end
        return unwrap(np.where(levels <= self.cdf(self.support[0]), self.support[0], high))

    def moment(self, n: int, about: float = 0.0) -> float:
        r"""Return the moment \int (x - about)^n \mu(dx), n >= 0.

        Raises:
            ValueError: an order that is not a whole number >= 0, or a moment beyond double precision.
        """
        n, about = require_order("the order of a moment", n), require_finite("about", about)
        if n == 0:
            return 1.0
        locations, weights = np.array(self.atoms).reshape(-1, 2).T
        with np.errstate(over="ignore", invalid="ignore"):
            discrete = weights @ (locations - about) ** n
            return require_representable(
                float(discrete + np.sum(self._panels.masses * (self._panels.points - about) ** n)), n
            )

    def free_cumulants(self, n: int) -> tuple[float, ...]:
        """Return the first n free cumulants, (mean, variance, ...)."""
        n = require_order("the number of cumulants", n)
        # Only the first cumulant feels a shift: central moments avoid the cancellation of a far-away mean.
        central = [0.0, *(self.moment(k, about=self.mean) for k in range(2, n + 1))]
        return (self.mean, *free_cumulants_from_moments(central)[1:])[:n]

    def stieltjes(self, z: ArrayLike) -> Any:
        r"""Return g(z) = \int \mu(dx) / (z - x) for complex z off the support and real z not in (L, U)."""
        return self._off_support(z, self._stieltjes, self.edge_stieltjes)

    def stieltjes_derivative(self, z: ArrayLike) -> Any:
        r"""Return g'(z) = -\int \mu(dx) / (z - x)^2 for complex z off the support and real z outside [L, U]."""
        return self._off_support(z, self._stieltjes_derivative, None)

    def inverse_stieltjes(self, w: ArrayLike) -> Any:
        """Return the real z outside [L, U] with g(z) = w, for real w != 0 strictly between g(L-) and g(U+)."""
        values = self._transform_domain(w)
        require(not np.any(values == 0), "g(z) = 0 only at infinity: w must not be 0")
        return unwrap(self._r_transform(values.ravel()).reshape(values.shape) + 1 / values)

    def r_transform(self, w: ArrayLike) -> Any:
        """Return R(w) = g^{-1}(w) - 1/w for real w strictly between g(L-) and g(U+); R(0) is the mean."""
        values = self._transform_domain(w)
        return unwrap(self._r_transform(values.ravel()).reshape(values.shape))

    def outlier(self, theta: float, scale: float = 1.0) -> tuple[float, float]:
        r"""Return limits of the outlier eigenvalue and of its squared overlap for a spike theta in noise scale * X.

        They are $\lambda = \theta + s R(s/\theta)$ and $1 - (s/\theta)^2 R'(s/\theta) = -1/(\theta^2 g_s'(\lambda))$,
        which rounding leaves between the edge and the far side, and between 0 and 1.

        Raises:
            ValueError: theta inside the thresholds, zero or not finite, or a scale that is not positive and finite.
        """
        theta, scale = require_finite("a spike", theta), require_positive("scale", scale)
        below, above = self.thresholds
        outside = theta > scale * above if theta > 0 else theta < scale * below
        require(outside, f"a spike must lie outside [{scale * below}, {scale * above}], got {theta}")
        lower, upper = self.support
        w = np.clip([scale / theta], *np.nextafter(self.edge_stieltjes, 0.0))  # at the edge value only by rounding
        location, overlap = theta + scale * float(self._r_transform(w)[0]), float(self._overlap(w)[0])
        location = max(location, scale * upper) if theta > 0 else min(location, scale * lower)
        return location, min(max(overlap, 0.0), 1.0)

    def outliers_in_gaps(self, theta: float, scale: float = 1.0) -> tuple[tuple[float, float], ...]:
        r"""Return limits of the eigenvalues in gaps of the support, and of their squared overlaps, for a spike theta.

        In a gap g decreases, so an eigenvalue is there where $1/\theta$ lies between the values of g at its ends:
        one in each gap at most, at $g_s(\lambda) = 1/\theta$, with the overlap $-1/(\theta^2 g_s'(\lambda))$. Laws in
        closed form and free sums of such need not know the gaps. Of a law of another kind, gaps narrower than 1/500 of
        the support can be missed.

        Raises:
            ValueError: theta zero or not finite, or a scale that is not positive and finite.
        """
        theta, scale = require_finite("a spike", theta), require_positive("scale", scale)
        require(theta != 0.0, "a spike must not be 0")
        return tuple(sorted((scale * z, overlap) for z, overlap in self._in_gaps(scale / theta)))

    def scaled(self, s: float) -> Law:
        """Return the law of s X, s > 0; C_n becomes s^n C_n."""
        return Affine(self, scale=require_positive("s", s))

    def shifted(self, m: float) -> Law:
        """Return the law of X + m; C_1 becomes C_1 + m."""
        return Affine(self, shift=require_finite("m", m))

    @property
    def _interval(self) -> tuple[float, float]:
        """Convex hull of the continuous part alone."""
        return self.support

    @property
    def _size(self) -> float:
        """The largest modulus that enters the equations: its rounding moves every point."""
        return max(map(abs, self.support))

    @property
    def _atom_errors(self) -> tuple[float, ...]:
        """Errors of the locations of atoms; 0, or none at all, where they are given."""
        return ()

    @cached_property
    def _gaps(self) -> tuple[tuple[float, float], ...]:
        """The gaps of the support, as far as a grid finds them."""
        return find_gaps(self._stieltjes, self.support, tuple(location for location, _ in self.atoms))

    def _in_gaps(self, w: float) -> list[tuple[float, float]]:
        """Return the pairs (z, -w^2 / g'(z)) with g(z) = w in gaps of the support, w not 0."""

        def transform(x: float) -> float:
            return float(self._stieltjes(np.array([x + 0j]))[0].real)

        def slope(x: float) -> float:
            return float(self._stieltjes_derivative(np.array([x + 0j]))[0].real)

        return pairs_in_gaps(w, self._gaps, transform, slope, dict(self.atoms).get(0.0, 0.0))

    def _on_atoms(self, x: np.ndarray) -> np.ndarray:
        """Return points, those below an atom by less than its location is known moved onto it."""
        if errors := self._atom_errors:
            for (location, _), error in zip(self.atoms, errors, strict=True):
                x = np.where((x < location) & (x >= location - error), location, x)
        return x

    def _mass_up_to(self, x: np.ndarray) -> np.ndarray:
        """Return mass of bands and atoms up to points (n,), as the equations give it: not cut off at the ends."""
        mass = self._continuous_cdf(np.clip(x, *self._interval))
        for location, weight in self.atoms:
            mass = mass + weight * (x >= location)
        return mass

    def _orderly(self, x: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Return the masses up to points (n,), in any order.

        Raises:
            ValueError: One is not between 0 and 1, or they decrease: the equations were not solved.
        """
        order = np.argsort(x, kind="stable")
        places, ordered = x[order], mass[order]
        right = (ordered >= -ROUNDING) & (ordered <= 1 + ROUNDING)
        # Points closer than rounding of the parts moves them are not compared.
        before = np.searchsorted(places, places - 1e-14 * self._size)
        right &= ordered >= np.concatenate([[0.0], np.maximum.accumulate(ordered)])[before] - ROUNDING
        self._require_solved(places, right)
        return mass

    def _reaching(self, levels: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return quantiles (n,), at which the distribution function must reach the levels.

        Raises:
            ValueError: It does not.
        """
        self._require_solved(x, np.asarray(self.cdf(x)) >= levels - ROUNDING)
        return x

    def _require_solved(self, x: np.ndarray, right: np.ndarray) -> None:
        if not right.all():
            raise ValueError(
                f"the distribution function of this {type(self).__name__} cannot be computed accurately near x = "
                f"{x[~right][0]}; "
                "its parts or their atoms differ too much in scale"
            )

    def _complete(self) -> None:
        """Check once that bands and atoms add up to 1: the distribution function runs from 0 to 1 inside the support.

        The mass within a distance d of an end e is at most 2 d |Im g(e + i d)|, and high above the axis the
        equations have one solution only.

        Raises:
            ValueError: They do not, because an end or the distribution function is wrong.
        """
        if "_is_complete" in self.__dict__:
            return
        lower, upper = self.support
        for end, inwards in ((lower, 1.0), (upper, -1.0)):
            places = end + inwards * (upper - lower) * np.array(BESIDE)
            places = places[(places > lower) & (places < upper)]
            distances = np.abs(places - end)
            mass = self._mass_up_to(places)
            with np.errstate(all="ignore"):
                most = 2 * distances * np.abs(self._stieltjes(end + 1j * distances).imag)
            beyond = mass if inwards > 0 else 1 - mass
            self._require_solved(places, (beyond >= -ROUNDING) & ~(beyond > most + ROUNDING))
        self.__dict__["_is_complete"] = True

    def _angle(self, z: np.ndarray) -> np.ndarray:
        r"""Return $\int \arg(z - x)\,\mu(dx)/\pi$ for complex z with Im z >= 0; on the axis it is the mass above."""
        result = sum((mass * _argument(z - location) for location, mass in self.atoms), np.zeros(z.shape))
        lower, upper = self._interval
        if lower == upper:
            return result
        known = np.isfinite(z)  # others are where an iteration has failed
        result[~known] = np.nan
        resolved, inner = self._panels.resolves(z), (z.imag == 0) & (z.real > lower) & (z.real < upper)
        result[known & resolved & ~inner] += self._panels.angle(z[known & resolved & ~inner])
        result[inner] += self._panels.total - self._panels.cdf(z[inner].real)
        for place in np.flatnonzero(known & ~resolved & ~inner):
            masses, gaps = self._panels.near(complex(z[place]), self._pdf)
            result[place] += float(np.sum(masses * _argument(gaps)))
        return result

    @cached_property
    def _panels(self) -> Panels:
        return Panels.of(self._pdf, self._interval)

    def _continuous_cdf(self, x: np.ndarray) -> np.ndarray:
        return self._panels.cdf(x)

    def _transform_domain(self, w: ArrayLike) -> np.ndarray:
        values = require_reals("w", w)
        low, high = self.edge_stieltjes
        bad = values[(values <= low) | (values >= high)]
        if bad.size:
            raise ValueError(f"w must lie strictly between g(L-) = {low} and g(U+) = {high}, got {bad[:1]}")
        return values

    def _off_support(
        self, z: ArrayLike, transform: Callable[[np.ndarray], np.ndarray], at_edges: tuple[float, float] | None
    ) -> Any:
        points = require_points("z", z)
        flat = points.ravel().astype(complex)
        if not np.isfinite(flat).all():
            raise ValueError(f"z must be finite, got {flat[~np.isfinite(flat)][:1]}")
        lower, upper = self.support
        inside = (flat.imag == 0) & (flat.real >= lower) & (flat.real <= upper)
        edges = inside & ((flat.real == lower) | (flat.real == upper)) if at_edges else np.zeros_like(inside)
        bad = flat[inside & ~edges]
        if bad.size:
            raise ValueError(f"z must lie off the support [{lower}, {upper}], got {bad[:1].real}")
        result = np.empty_like(flat)
        # So far away that the law is a point at 0, squares of distances may exceed double precision.
        far = np.maximum(np.abs(flat.real), np.abs(flat.imag)) / FAR > max(abs(lower), abs(upper))
        inverse = 0.25 / (flat[far] / 4)
        result[far] = inverse if at_edges else -inverse * inverse
        rest = ~edges & ~far
        with np.errstate(all="ignore"):
            result[rest] = transform(flat[rest])
        lost = flat[rest & ~np.isfinite(result)]
        if lost.size:
            raise ValueError(f"the transform exceeds double precision at z = {lost[:1]}; rescale the law")
        if at_edges:
            result[edges] = np.where(flat[edges].real == upper, at_edges[1], at_edges[0])
        return unwrap((result if np.iscomplexobj(points) else result.real).reshape(points.shape))

    def _r_transform(self, w: np.ndarray) -> np.ndarray:
        """Return R(w) by its series near 0, else by solving g(z) = w; beyond an edge value of g, z is the edge."""
        half, near = self._near(w)
        result = self.mean + half * polyval(np.where(near, w * half, 0.0), self._unit_cumulants)
        for side, edge in zip((-1.0, 1.0), self.support, strict=True):
            here = ~near & (side * w > 0)
            result[here] = edge + side * self._gap(np.abs(w[here]), side)[0] - 1 / w[here]
        return result

    def _overlap(self, w: np.ndarray) -> np.ndarray:
        r"""Return 1 - w^2 R'(w) = -w^2 / g'(z) at g(z) = w, of the spike 1/w: 1 at w = 0, and 0 at most edges."""
        half, near = self._near(w)
        small = np.where(near, w * half, 0.0)
        result = 1.0 - small**2 * polyval(small, polyder(self._unit_cumulants))
        for side in (-1.0, 1.0):
            here = ~near & (side * w > 0)
            result[here] = self._gap(np.abs(w[here]), side)[1]
        return result

    def _near(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the half-width of the support, and the arguments for which the series in its units serves."""
        half = (self.support[1] - self.support[0]) / 2
        return half, np.abs(w) * half < SERIES_RADIUS

    @cached_property
    def _unit_cumulants(self) -> np.ndarray:
        """Free cumulants of (X - mean) in units of the half-width of the support, the first one 0."""
        half, mean = (self.support[1] - self.support[0]) / 2, self.mean
        points = np.append(self._panels.points.ravel(), [location for location, _ in self.atoms])
        masses = np.append(self._panels.masses.ravel(), [mass for _, mass in self.atoms])
        powers = ((points - mean) / (half or 1.0)) ** np.arange(2, SERIES_TERMS + 1)[:, None]
        return np.array(free_cumulants_from_moments([0.0, *(powers @ masses)]))

    def _beyond(self, gap: np.ndarray, side: float) -> tuple[np.ndarray, np.ndarray]:
        """Return 1/|g| at a distance beyond an edge, and its derivative; it increases and is concave."""
        edge = self.support[int(side > 0)]
        z = np.where(edge + side * gap == edge, np.nextafter(edge, side * np.inf), edge + side * gap) + 0j
        g = self._stieltjes(z).real
        return side / g, -self._stieltjes_derivative(z).real / g**2

    def _gap(self, w: np.ndarray, side: float) -> tuple[np.ndarray, np.ndarray]:
        """Return distance beyond the edge at which |g| = w > 0, and -w^2 / g' there.

        Newton in the root of the distance, in which 1/|g| is smooth at a square-root edge, kept inside a bracket.
        """
        target = 1 / w
        width = self.support[1] - self.support[0]
        low, high = np.sqrt(np.maximum(target - width, 0.0)), np.sqrt(target)
        root = high.copy()
        mass = dict(self.atoms).get(self.support[int(side > 0)], 0.0)
        alone = (mass > 0.0) & (target < width * NEXT_TO_ATOM)  # so close to an atom nothing else counts
        active = np.flatnonzero(~alone)
        for _ in range(NEWTON_STEPS):
            if len(active) == 0:
                break
            old = root[active]
            value, slope = self._beyond(old**2, side)
            above = value > target[active]
            low[active], high[active] = np.where(above, low[active], old), np.where(above, old, high[active])
            new = old - (value - target[active]) / (2 * old * slope)
            inside = (new >= low[active]) & (new <= high[active]) & (new > 0)  # a converged point is an end
            middle = np.where(low[active] > 0, np.sqrt(low[active]) * np.sqrt(high[active]), high[active] / 16)
            root[active] = np.where(inside, new, middle)
            active = active[np.abs(root[active] - old) > 4e-16 * old]
        gap, overlap = mass * target, np.full_like(w, mass)
        gap[~alone] = root[~alone] ** 2
        overlap[~alone] = 1 / self._beyond(gap[~alone], side)[1]
        return gap, overlap


def _place_of(x: np.ndarray) -> np.ndarray:
    """Return the place of each double in the order of all doubles, as a whole number; that of 0 is 0."""
    size = np.asarray(np.abs(x), dtype=float).view(np.int64)
    return np.where(x < 0, -size, size)


def _double_at(place: np.ndarray) -> np.ndarray:
    """Return the double at each place in the order of all doubles."""
    return np.copysign(np.abs(place).view(float), place)


def _argument(z: np.ndarray) -> np.ndarray:
    """Return the angle of z with Im z >= 0 over pi, from 0 to 1."""
    return np.arctan2(np.maximum(z.imag, 0.0) + 0.0, z.real) / np.pi


class _CumulantsFirst(Law):
    """A law whose free cumulants are known in closed form; its moments follow from them."""

    def moment(self, n: int, about: float = 0.0) -> float:
        r"""Return the moment \int (x - about)^n \mu(dx), n >= 0, from the free cumulants."""
        n, about = require_order("the order of a moment", n), require_finite("about", about)
        cumulants = self.free_cumulants(n)
        if n == 0:
            return 1.0
        return require_representable(float(moments_from_free_cumulants((cumulants[0] - about, *cumulants[1:]))[-1]), n)

    @property
    def mean(self) -> float:
        """The mean."""
        return self.free_cumulants(1)[0]

    @property
    def variance(self) -> float:
        """The variance, which is the second free cumulant."""
        return self.free_cumulants(2)[1]

    @abstractmethod
    def free_cumulants(self, n: int) -> tuple[float, ...]:
        """Return the first n free cumulants, (mean, variance, ...)."""


@dataclass(frozen=True)
class Affine(_CumulantsFirst):
    """The law of scale X + shift, scale > 0, for a law without a closed form of its own."""

    base: Law
    scale: float = 1.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", require_positive("scale", self.scale))
        object.__setattr__(self, "shift", require_finite("shift", self.shift))

    @property
    def support(self) -> tuple[float, float]:
        """The convex hull (L, U) of the support."""
        lower, upper = (self.scale * edge + self.shift for edge in self.base.support)
        return require_finite("the lower end of the support", lower), require_finite(
            "the upper end of the support", upper
        )

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Pairs (location, mass)."""
        return tuple((self.scale * location + self.shift, mass) for location, mass in self.base.atoms)

    @property
    def edge_stieltjes(self) -> tuple[float, float]:
        """The one-sided limits (g(L-), g(U+))."""
        low, high = self.base.edge_stieltjes
        return low / self.scale, high / self.scale

    @property
    def thresholds(self) -> tuple[float, float]:
        """The thresholds 1/g(L-) and 1/g(U+) of spikes, which no shift moves."""
        below, above = self.base.thresholds
        return self.scale * below, self.scale * above

    def free_cumulants(self, n: int) -> tuple[float, ...]:
        """Return the first n free cumulants, (mean, variance, ...)."""
        scaled = tuple(power(self.scale, k + 1) * c for k, c in enumerate(self.base.free_cumulants(n)))
        return (scaled[0] + self.shift, *scaled[1:]) if n else ()

    def quantile(self, p: ArrayLike) -> Any:
        """Return the smallest x in the support with cdf(x) >= p; p in [0, 1]."""
        return self.scale * self.base.quantile(p) + self.shift

    def scaled(self, s: float) -> Law:
        """Return the law of s X, s > 0."""
        return Affine(self.base, self.scale * require_positive("s", s), self.shift * float(s))

    def shifted(self, m: float) -> Law:
        """Return the law of X + m."""
        return Affine(self.base, self.scale, self.shift + require_finite("m", m))

    @property
    def _size(self) -> float:
        return self.scale * self.base._size + abs(self.shift)

    @property
    def _atom_errors(self) -> tuple[float, ...]:
        atoms, errors = self.base.atoms, self.base._atom_errors or (0.0,) * len(self.base.atoms)
        return tuple(
            self.scale * error + 2 * EPS * max(abs(self.scale * location), abs(self.shift))
            for (location, _), error in zip(atoms, errors, strict=True)
        )

    @property
    def _interval(self) -> tuple[float, float]:
        lower, upper = self.base._interval
        return self.scale * lower + self.shift, self.scale * upper + self.shift

    def _to_base(self, x: np.ndarray) -> np.ndarray:
        return (x - self.shift) / self.scale

    def _pdf(self, x: np.ndarray) -> np.ndarray:
        return self.base.pdf(self._to_base(x)) / self.scale

    def _continuous_cdf(self, x: np.ndarray) -> np.ndarray:
        return self.base._continuous_cdf(np.clip(self._to_base(x), *self.base._interval))

    def _angle(self, z: np.ndarray) -> np.ndarray:
        return self.base._angle(self._to_base(z))

    def _stieltjes(self, z: np.ndarray) -> np.ndarray:
        return self.base._stieltjes(self._to_base(z)) / self.scale

    def _stieltjes_derivative(self, z: np.ndarray) -> np.ndarray:
        return self.base._stieltjes_derivative(self._to_base(z)) / self.scale / self.scale

    def _r_transform(self, w: np.ndarray) -> np.ndarray:
        return self.scale * self.base._r_transform(self.scale * w) + self.shift

    def _overlap(self, w: np.ndarray) -> np.ndarray:
        return self.base._overlap(self.scale * w)

    def _in_gaps(self, w: float) -> list[tuple[float, float]]:
        return [(self.scale * z + self.shift, overlap) for z, overlap in self.base._in_gaps(self.scale * w)]
