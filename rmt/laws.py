r"""Noise laws as values: density, Stieltjes transform, R-transform, free cumulants of a compactly supported law.

Sign convention of the papers: g(z) = \int \mu(dx) / (z - x), so that g(z) ~ 1/z far away, and
R(w) = g^{-1}(w) - 1/w, with free cumulants as its Taylor coefficients: R(w) = C_1 + C_2 w + C_3 w^2 + ...

Lengths are in the units of the law's variable x; g and w in 1/x; densities in 1/x; C_n and moments in x^n.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .cumulants import free_cumulants_from_moments, moments_from_free_cumulants
from .panel_quadrature import Panels

SERIES_RADIUS = 2e-3
"""Below this |w| (in units of 1 / half-width) R(w) is summed from cumulants: 1/w would cancel too many digits."""
SERIES_TERMS = 8


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
        """Density of the continuous part; 0 outside the support, possibly inf at an edge."""
        points = _reals("x", x)
        lower, upper = self._interval
        density = np.zeros(points.shape)
        inside = (points >= lower) & (points <= upper)
        with np.errstate(divide="ignore", invalid="ignore"):  # at an edge the density may be infinite
            density[inside] = self._pdf(points[inside])
        return _unwrapped(density)

    def cdf(self, x: ArrayLike) -> Any:
        """Probability of values up to and including x."""
        points = _reals("x", x)
        lower, upper = self.support
        mass = self._continuous_cdf(np.clip(points, *self._interval).ravel()).reshape(points.shape)
        for location, weight in self.atoms:
            mass = mass + weight * (points >= location)
        return _unwrapped(np.where(points >= upper, 1.0, np.where(points < lower, 0.0, np.clip(mass, 0.0, 1.0))))

    def quantile(self, p: ArrayLike) -> Any:
        """The smallest x in the support with cdf(x) >= p, by bisection to rounding; p in [0, 1]."""
        levels = _reals("p", p)
        bad = levels[(levels < 0) | (levels > 1)]
        _require(bad.size == 0, f"p must lie in [0, 1], got {bad[:1]}")
        low, high = (np.full(levels.shape, edge) for edge in self.support)
        for _ in range(64):
            middle = low + (high - low) / 2
            enough = np.asarray(self.cdf(middle)) >= levels
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return _unwrapped(np.where(levels <= self.cdf(self.support[0]), self.support[0], high))

    def moment(self, n: int, about: float = 0.0) -> float:
        r"""The moment \int (x - about)^n \mu(dx), n >= 0."""
        _require(n == int(n) and n >= 0, f"the order of a moment must be an integer >= 0, got {n}")
        discrete = sum(weight * (location - about) ** n for location, weight in self.atoms)
        return float(discrete + np.sum(self._panels.masses * (self._panels.points - about) ** n))

    def free_cumulants(self, n: int) -> tuple[float, ...]:
        """The first n free cumulants, (mean, variance, ...)."""
        _require(n == int(n) and n >= 0, f"the number of cumulants must be an integer >= 0, got {n}")
        # Only the first cumulant feels a shift: central moments avoid the cancellation of a far-away mean.
        central = [0.0, *(self.moment(k, about=self.mean) for k in range(2, n + 1))]
        return (self.mean, *free_cumulants_from_moments(central)[1:])[:n]

    def stieltjes(self, z: ArrayLike) -> Any:
        r"""g(z) = \int \mu(dx) / (z - x) for complex z off the support and real z outside (L, U), edges included."""
        return self._off_support(z, self._stieltjes, self.edge_stieltjes)

    def stieltjes_derivative(self, z: ArrayLike) -> Any:
        r"""g'(z) = -\int \mu(dx) / (z - x)^2 for complex z off the support and real z outside [L, U]."""
        return self._off_support(z, self._stieltjes_derivative, None)

    def inverse_stieltjes(self, w: ArrayLike) -> Any:
        """The real z outside [L, U] with g(z) = w, for real w != 0 strictly between g(L-) and g(U+)."""
        values = self._transform_domain(w)
        _require(not np.any(values == 0), "g(z) = 0 only at infinity: w must not be 0")
        return _unwrapped(self._r_transform(values.ravel()).reshape(values.shape) + 1 / values)

    def r_transform(self, w: ArrayLike) -> Any:
        """R(w) = g^{-1}(w) - 1/w for real w strictly between g(L-) and g(U+); R(0) is the mean."""
        values = self._transform_domain(w)
        return _unwrapped(self._r_transform(values.ravel()).reshape(values.shape))

    def scaled(self, s: float) -> Law:
        """The law of s X, s > 0; C_n becomes s^n C_n."""
        return Affine(self, scale=_positive("s", s))

    def shifted(self, m: float) -> Law:
        """The law of X + m; C_1 becomes C_1 + m."""
        return Affine(self, shift=_finite("m", m))

    @property
    def _interval(self) -> tuple[float, float]:
        """Convex hull of the continuous part alone."""
        return self.support

    @cached_property
    def _panels(self) -> Panels:
        return Panels.of(self._pdf, self._interval)

    def _continuous_cdf(self, x: np.ndarray) -> np.ndarray:
        return self._panels.cdf(x)

    def _transform_domain(self, w: ArrayLike) -> np.ndarray:
        values = _reals("w", w)
        low, high = self.edge_stieltjes
        bad = values[(values <= low) | (values >= high)]
        _require(bad.size == 0, f"w must lie strictly between g(L-) = {low} and g(U+) = {high}, got {bad[:1]}")
        return values

    def _off_support(
        self, z: ArrayLike, transform: Callable[[np.ndarray], np.ndarray], at_edges: tuple[float, float] | None
    ) -> Any:
        points = np.asarray(z)
        flat = points.ravel().astype(complex)
        _require(bool(np.all(np.isfinite(flat))), f"z must be finite, got {flat[~np.isfinite(flat)][:1]}")
        lower, upper = self.support
        inside = (flat.imag == 0) & (flat.real >= lower) & (flat.real <= upper)
        edges = inside & ((flat.real == lower) | (flat.real == upper)) if at_edges else np.zeros_like(inside)
        bad = flat[inside & ~edges]
        _require(bad.size == 0, f"z must lie off the support [{lower}, {upper}], got {bad[:1].real}")
        result = np.empty_like(flat)
        result[~edges] = transform(flat[~edges])
        if at_edges:
            result[edges] = np.where(flat[edges].real == upper, at_edges[1], at_edges[0])
        return _unwrapped((result if np.iscomplexobj(points) else result.real).reshape(points.shape))

    def _r_transform(self, w: np.ndarray) -> np.ndarray:
        """R(w) by its series near 0 and by solving g(z) = w elsewhere."""
        lower, upper = self.support
        near = np.abs(w) * (upper - lower) / 2 < SERIES_RADIUS
        result = np.polynomial.polynomial.polyval(w, self.free_cumulants(SERIES_TERMS))
        far = w[~near]
        result[~near] = self._solve_inverse(far) - 1 / far
        return result

    def _solve_inverse(self, w: np.ndarray) -> np.ndarray:
        """Newton on F = 1/g, which increases and is nearly linear outside the support, kept inside a bracket."""
        lower, upper = self.support
        right = w > 0
        low = np.where(right, np.maximum(np.nextafter(upper, np.inf), lower + 1 / w), lower + 1 / w)
        high = np.where(right, upper + 1 / w, np.minimum(np.nextafter(lower, -np.inf), upper + 1 / w))
        z = np.where(right, high, low)
        active = np.arange(len(w))
        for _ in range(100):
            old, target = z[active], w[active]
            g, slope = self._stieltjes(old + 0j).real, self._stieltjes_derivative(old + 0j).real
            above = 1 / g > 1 / target
            low[active], high[active] = np.where(above, low[active], old), np.where(above, old, high[active])
            new = old + (1 / g - 1 / target) * g**2 / slope
            inside = (new >= low[active]) & (new <= high[active])  # an end is allowed: a converged point is one
            z[active] = np.where(inside, new, low[active] + (high[active] - low[active]) / 2)
            active = active[np.abs(z[active] - old) > 1e-14 * (np.abs(old) + upper - lower)]
            if len(active) == 0:
                break
        return z


class _CumulantsFirst(Law):
    """A law whose free cumulants are known in closed form; its moments follow from them."""

    def moment(self, n: int, about: float = 0.0) -> float:
        r"""The moment \int (x - about)^n \mu(dx), n >= 0, from the free cumulants."""
        _require(n == int(n) and n >= 0, f"the order of a moment must be an integer >= 0, got {n}")
        cumulants = self.free_cumulants(n)
        return float(moments_from_free_cumulants((cumulants[0] - about, *cumulants[1:]))[-1]) if n else 1.0

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
        """The first n free cumulants, (mean, variance, ...)."""


@dataclass(frozen=True)
class Affine(_CumulantsFirst):
    """The law of scale X + shift, scale > 0, for a law without a closed form of its own."""

    base: Law
    scale: float = 1.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        _positive("scale", self.scale)
        _finite("shift", self.shift)

    @property
    def support(self) -> tuple[float, float]:
        """The convex hull (L, U) of the support."""
        lower, upper = self.base.support
        return self.scale * lower + self.shift, self.scale * upper + self.shift

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Pairs (location, mass)."""
        return tuple((self.scale * location + self.shift, mass) for location, mass in self.base.atoms)

    @property
    def edge_stieltjes(self) -> tuple[float, float]:
        """The one-sided limits (g(L-), g(U+))."""
        low, high = self.base.edge_stieltjes
        return low / self.scale, high / self.scale

    def free_cumulants(self, n: int) -> tuple[float, ...]:
        """The first n free cumulants, (mean, variance, ...)."""
        scaled = tuple(self.scale ** (k + 1) * c for k, c in enumerate(self.base.free_cumulants(n)))
        return (scaled[0] + self.shift, *scaled[1:]) if n else ()

    def quantile(self, p: ArrayLike) -> Any:
        """The smallest x in the support with cdf(x) >= p; p in [0, 1]."""
        return self.scale * self.base.quantile(p) + self.shift

    def scaled(self, s: float) -> Law:
        """The law of s X, s > 0."""
        return Affine(self.base, self.scale * _positive("s", s), self.shift * s)

    def shifted(self, m: float) -> Law:
        """The law of X + m."""
        return Affine(self.base, self.scale, self.shift + _finite("m", m))

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

    def _stieltjes(self, z: np.ndarray) -> np.ndarray:
        return self.base._stieltjes(self._to_base(z)) / self.scale

    def _stieltjes_derivative(self, z: np.ndarray) -> np.ndarray:
        return self.base._stieltjes_derivative(self._to_base(z)) / self.scale**2

    def _r_transform(self, w: np.ndarray) -> np.ndarray:
        return self.scale * self.base._r_transform(self.scale * w) + self.shift


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _finite(name: str, value: float) -> float:
    _require(math.isfinite(value), f"{name} must be finite, got {value}")
    return value


def _positive(name: str, value: float) -> float:
    _require(math.isfinite(value) and value > 0, f"{name} must be positive and finite, got {value}")
    return value


def _reals(name: str, values: ArrayLike) -> np.ndarray:
    array = np.asarray(values)
    _require(not np.iscomplexobj(array), f"{name} must be real, got {array.ravel()[:1]}")
    array = array.astype(float)
    _require(not np.any(np.isnan(array)), f"{name} must be a number, got nan")
    return array


def _unwrapped(values: np.ndarray) -> Any:
    """A plain number for a scalar argument, the array otherwise."""
    return values if values.ndim else values.item()
