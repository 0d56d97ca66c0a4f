"""Laws given by a density or by an R-transform, for the theorems that are stated for a general noise law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .checks import abbreviate, require, require_numbers
from .continuation import descend
from .gaps import LEAST_OVERLAP, pairs_in_gaps
from .laws import EPS, ROUNDING, Law
from .panel_quadrature import NODES, Panels

MASS_TOLERANCE = 1e-8
FLAT_EXPONENT = 0.02
"""A density that grows slower than this power of the distance from the edge counts as not vanishing there."""

SLOW_POWER = 0.49
"""A density that vanishes at the edge faster than this power of the distance is resolved there, over the distance."""

DIGITS = 2**20
"""Distance from an edge, in units of its rounding, from which the distance has digits enough to measure a power."""

CLOSEST = 1e-10
"""Distance from an edge, in units of the width, below which the nodes no longer resolve 1/(z - x)."""

EDGE_ERROR = 1e-10
"""Error of the edges of a law given by its R-transform, in widths of the law."""

ROUGH = 50
"""Panels to be halved at once, of a density that solves an analytic equation, beyond which this is not solved."""


@dataclass(frozen=True)
class DensityLaw(Law):
    r"""A law given by its density on a compact interval.

    Accuracy, for a density that is smooth inside and behaves like a power (>= -1/2) of the distance at the edges:
    mass, cdf and moments 1e-12, g(z) 1e-10, edge values g(U+) 1e-8 for square-root edges and 1e-5 for slower
    powers, if the support is at most 1e4 times as far from 0 as it is wide and z is not so close to it that
    rounding of z matters more. A power between -1/2 and -0.499 counts as -1/2, so g(z) next to such an edge away
    from 0 has errors up to 2e-7. Jumps and kinks inside are found by halving and cost nothing away from them; only
    g(z) at complex z above such a kink, close to the axis, is poorer.

    Closer to an edge than 1e-10 of the width, 1/g is continued as a power of the distance: overlaps of spikes next to
    their threshold are continuous, to 1e-9 at a square-root edge, 1e-5 where g' is finite at the edge and 0.01 where it
    grows like a logarithm (a density that vanishes linearly).

    An edge value is infinite when the density does not vanish at the edge like a power d^a, a > 0.02, of the distance;
    a slower decay (a logarithm) cannot be distinguished from a constant in double precision, and is taken as infinite.

    Args:
        density: takes an array of points inside the support, returns the density there (or one constant).
        interval: its support (L, U), finite.
        name: what the law is called in messages.

    Raises:
        ValueError: an unbounded support; a negative or non-finite density; a total mass other than 1 (within 1e-8, or
            the quadrature error where that is larger); a density whose quadrature error exceeds 1e-6, which is too
            steep at an edge or not smooth.

    >>> uniform = DensityLaw(lambda x: 0.5, (-1.0, 1.0), "uniform")
    >>> round(uniform.stieltjes(2.0), 12), uniform.edge_stieltjes  # log(3) / 2
    (0.549306144334, (-inf, inf))
    """

    density: Callable[[np.ndarray], Any]
    interval: tuple[float, float]
    name: str = "density"

    def __post_init__(self) -> None:
        require(callable(self.density), f"{self.name}: density must be a function, got {abbreviate(self.density)}")
        support = require_numbers(f"{self.name}: the support", self.interval)
        require(len(support) == 2, f"{self.name}: the support must be a pair (L, U), got {self.interval}")
        require(bool(np.all(np.isfinite(support))), f"{self.name}: needs a compact support, got {support}")
        require(support[0] < support[1], f"{self.name}: support must have L < U, got {support}")
        object.__setattr__(self, "interval", support)
        masses, points = self._panels.masses, self._panels.points
        for fault, wrong in (("finite", ~np.isfinite(masses)), ("non-negative", masses < 0)):
            if wrong.any():
                x = points[wrong][0]
                raise ValueError(f"{self.name}: density must be {fault}, got {self._pdf(np.array([x]))[0]} at x = {x}")
        total, allowed = self._panels.total, max(MASS_TOLERANCE, self._panels.error)
        require(
            abs(total - 1) <= allowed,
            f"{self.name}: density must integrate to 1, got {total:.12g}; if it does, a narrow peak was missed: "
            "widen the peak, or give quantiles of the law to AtomicLaw",
        )
        require(
            allowed <= ROUNDING,
            f"{self.name}: the mass of this density is known to {allowed:.1g} only, and {ROUNDING} is needed; it grows "
            "faster than the power -1/2 of the distance from an edge, or it is not smooth enough",
        )

    @property
    def support(self) -> tuple[float, float]:
        """The interval (L, U)."""
        return self.interval

    @property
    def edge_stieltjes(self) -> tuple[float, float]:
        """The one-sided limits (g(L-), g(U+)), infinite where the density does not vanish at the edge."""
        return self._edge_values

    @cached_property
    def _edge_values(self) -> tuple[float, float]:
        lower, upper = self.support
        left = -np.inf if self._stays(lower, upper - lower) else -self._edge_value(lower, upper - lower)
        right = np.inf if self._stays(upper, lower - upper) else self._edge_value(upper, lower - upper)
        return left, right

    def _edge_value(self, edge: float, inward: float) -> float:
        """Return |g| at an edge where the density vanishes like a power of the distance.

        Next to the edge the nodes resolve 1/d for a square root and faster powers. For a slower one, density d^k over
        distance d, they miss a part (17 % of g for k = 0.05), and the integral is that of the power. This is done up
        to the first break between panels where distances have digits enough.
        """
        masses, gaps = self._panels.masses, np.abs(self._panels.points - edge)
        angles = self._panels.breaks if inward > 0 else np.pi - self._panels.breaks[::-1]
        ends = abs(inward) * np.sin(angles[1:] / 2) ** 2  # distances of the breaks
        length = float(ends[np.argmax(ends > DIGITS * np.spacing(abs(edge)))])
        pair = edge + np.sign(inward) * length * np.array([0.5, 0.005])
        far, near = self._pdf(pair)
        ratio = np.divide(*np.abs(pair - edge))  # of the distances as they are rounded
        power = float(np.log(far / near) / np.log(ratio)) if near > 0 else np.inf
        if power > SLOW_POWER:
            return float(np.sum(masses / gaps))
        if power <= 0:
            return np.inf
        next_to_it = gaps.mean(axis=1) < length
        rest = np.sum(masses[~next_to_it] / gaps[~next_to_it])
        return float(rest + masses[next_to_it].sum() * (power + 1) / (power * length))

    def _beyond(self, gap: np.ndarray, side: float) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = self.support
        half, edge = (upper - lower) / 2, upper if side > 0 else lower
        # Offsets from the edge, in units of the half-width: they keep their digits however close z comes to the edge.
        kernels = 1 / ((gap / half)[:, None] + (side * (edge - self._panels.points) / half).ravel())
        g, slope = kernels @ self._panels.masses.ravel(), kernels**2 @ self._panels.masses.ravel()
        return half / g, slope / g**2

    def _gap(self, w: np.ndarray, side: float) -> tuple[np.ndarray, np.ndarray]:
        """Return it as every law; closer to the edge than the nodes resolve, 1/|g| is a power of the distance."""
        seam = CLOSEST * (self.support[1] - self.support[0])
        (value,), (slope,) = self._beyond(np.array([seam]), side)
        at_edge = min(abs(self.thresholds[int(side > 0)]), value - slope * seam)  # 1/|g| is concave
        power = min(slope * seam / (value - at_edge), 1.0)
        gap, overlap = np.empty_like(w), np.empty_like(w)
        close = 1 / w <= value
        rise = np.maximum((1 / w[close] - at_edge) / (value - at_edge), 0.0)
        gap[close], overlap[close] = seam * rise ** (1 / power), rise ** (1 / power - 1) / slope
        gap[~close], overlap[~close] = super()._gap(w[~close], side)
        return gap, overlap

    def _stays(self, edge: float, inward: float) -> bool:
        """Return whether the density stays away from zero at the edge, judged by its slope on a logarithmic scale."""
        near, far = self._pdf(edge + inward * np.array([1e-9, 1e-5]))
        return bool(near > 0 and np.log(far / near) < FLAT_EXPONENT * np.log(1e4)) if far > 0 else bool(near > 0)

    def _pdf(self, x: np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.asarray(self.density(x), dtype=float), x.shape)

    def _stieltjes(self, z: np.ndarray) -> np.ndarray:
        return self._cauchy(z, 1)

    def _stieltjes_derivative(self, z: np.ndarray) -> np.ndarray:
        return -self._cauchy(z, 2)

    def _in_gaps(self, w: float) -> list[tuple[float, float]]:
        # Next to a gap panels are narrow, so that in the gap their nodes serve as atoms.
        order = np.argsort(self._panels.points.ravel())
        points, masses = self._panels.points.ravel()[order], self._panels.masses.ravel()[order]
        kept = np.flatnonzero(masses > 0)
        points, masses = points[kept], masses[kept]
        gaps = [
            (2 * points[k] - points[k - 1], 2 * points[k + 1] - points[k + 2])
            for k in np.flatnonzero(np.diff(kept) > NODES)  # the density vanishes on a panel at least
            if 0 < k < len(points) - 2
        ]
        return pairs_in_gaps(
            w, gaps, lambda x: float(masses @ (1 / (x - points))), lambda x: -float(masses @ (x - points) ** -2.0)
        )

    def _cauchy(self, z: np.ndarray, power: int) -> np.ndarray:
        known = np.isfinite(z)  # others are where an iteration has failed
        result = np.full(z.shape, np.nan, dtype=complex)
        resolved = known & self._panels.resolves(z)
        result[resolved] = self._panels.cauchy(z[resolved], power)
        near = known & ~resolved
        result[near] = [self._cauchy_near_the_axis(point, power) for point in z[near]]
        return result

    def _cauchy_near_the_axis(self, z: complex, power: int) -> complex:
        """Return the same integral on panels that shrink towards the foot of z; on the axis, its limit from above."""
        masses, gaps = self._panels.near(z, self._pdf)
        return complex(np.sum(masses / gaps**power))


@dataclass(frozen=True)
class RTransformLaw(Law):
    r"""A law given by its R-transform, an analytic function near 0 that is real on the real axis.

    The edges are the critical points of z(w) = R(w) + 1/w nearest to 0 on each side (Marchenko and Pastur 1967); where
    there is none, z(w) must tend to a finite edge as \|w\| grows, and an atom there is recognised. The density solves
    z(w) = x + i0, followed down from high above the axis. Accuracy about 1e-10 (edges 1e-10, total mass 1e-8). Rounding
    is felt next to an atom that is not at 0: give the transform of the law with the atom at 0, and use `shifted`.

    Args:
        transform: w -> R(w) on complex arrays; its continuation must hold wherever g takes its values.
        name: what the law is called in messages.

    Raises:
        ValueError: no edge on one side; or a total mass other than 1 (within 1e-6), in which case the function is not
            the R-transform of a law with a density, or its continuation has a cut in the way.

    >>> law = RTransformLaw(lambda w: 1 / (1 - 0.25 * w), "Marchenko-Pastur, ratio 1/4")
    >>> tuple(round(edge, 9) for edge in law.support)
    (0.25, 2.25)
    """

    transform: Callable[[np.ndarray], Any]
    name: str = "R-transform"

    def __post_init__(self) -> None:
        require(
            callable(self.transform), f"{self.name}: transform must be a function, got {abbreviate(self.transform)}"
        )
        require(self.variance_scale > 0, f"{self.name}: R'(0), the variance, must be positive")
        lower, upper = self.support
        require(lower < upper, f"{self.name}: edges out of order, got ({lower}, {upper})")
        density, discrete = self._panels.masses, sum(mass for _, mass in self.atoms)
        away = next((place for place, _ in self.atoms if abs(place) > 1e-9 * self.variance_scale), 0.0)
        total = self._panels.total + discrete
        fault = f"{self.name}: not the R-transform of a law with a density and atoms only at the edges"
        # Next to an atom g is large, and R less the place of the atom has few digits left.
        remedy = (
            f"; or rounding next to the atom at {away:.12g} is in the way: give R without that constant, and shift the "
            f"law by it, RTransformLaw(...).shifted({away:.12g})"
        )
        remedy = remedy if away else ""
        require(bool(abs(total - 1) <= 1e-6), f"{fault}: total mass {total}{remedy}")
        require(
            self._panels.error <= ROUNDING, f"{fault}, or a branch cut blocks its continuation: rough density{remedy}"
        )
        require(bool(density.min() > -1e-9), f"{fault}: negative density{remedy}")

    @cached_property
    def variance_scale(self) -> float:
        """Square root of R'(0), the standard deviation, which sets the scale of all searches."""
        # The largest circle on which a tenth of it agrees lies where R is analytic, in any unit of x.
        radii = 10.0 ** np.arange(160, -161, -1)
        with np.errstate(all="ignore"):
            slopes = np.array([_derivative(self._r_transform_complex, np.zeros(1, complex), r)[0].real for r in radii])
            agree = np.abs(slopes[:-1] - slopes[1:]) <= 1e-9 * np.abs(slopes[1:])
        found = slopes[1:][agree & np.isfinite(slopes[1:]) & (slopes[1:] != 0)]
        return float(np.sqrt(found[0])) if len(found) and found[0] > 0 else 0.0

    @property
    def support(self) -> tuple[float, float]:
        """The convex hull (L, U) of the support."""
        return self._left[0], self._right[0]

    @property
    def edge_stieltjes(self) -> tuple[float, float]:
        """The one-sided limits (g(L-), g(U+))."""
        return self._left[1], self._right[1]

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Pairs (location, mass), at the edges only."""
        return tuple((edge, mass) for edge, _, mass in (self._left, self._right) if mass > 0)

    @property
    def _atom_errors(self) -> tuple[float, ...]:
        error = EDGE_ERROR * (self.support[1] - self.support[0]) + 4 * EPS * self._size
        return (error,) * len(self.atoms)

    @cached_property
    def _left(self) -> tuple[float, float, float]:
        return self._edge(-1.0)

    @cached_property
    def _right(self) -> tuple[float, float, float]:
        return self._edge(1.0)

    @cached_property
    def _panels(self) -> Panels:
        return Panels.of(self._pdf, self.support, tolerance=1e-10, widest=ROUGH)

    def _edge(self, side: float) -> tuple[float, float, float]:
        """Return (edge, g at the edge, mass of an atom there) on one side."""
        w = side * np.geomspace(1e-3, 1e9, 2000) / self.variance_scale
        with np.errstate(all="ignore"):
            rises, values = -self._overlap(w), self._r_transform(w) + 1 / w
        stop = np.flatnonzero((rises > 0) | ~np.isfinite(rises))
        # Rounding decides the sign once w^2 z'(w) has become tiny; that is an edge at infinite w, not a crossing.
        if len(stop) and np.isfinite(rises[stop[0]]) and rises[stop[0]] > 1e-6:
            low, high = w[stop[0] - 1], w[stop[0]]
            for _ in range(80):
                middle = (low + high) / 2
                low, high = (middle, high) if self._overlap(np.array([middle]))[0] > 0 else (low, middle)
            return float(self._r_transform(np.array([low]))[0] + 1 / low), float(low), 0.0
        # z(w) = edge + mass / w + c / w^2 + ... far out
        far = side * np.array([1e5, 2e5, 4e5]) / self.variance_scale
        edge, mass, _ = np.linalg.solve(1 / far[:, None] ** np.arange(3), self._r_transform(far) + 1 / far)
        settled = np.isfinite(edge) and abs(edge - values[-1]) < 1e-6 * (self.variance_scale + abs(edge))
        require(bool(settled), f"{self.name}: no finite edge found on the {'right' if side > 0 else 'left'}")
        return float(edge), side * np.inf, float(mass) if mass > 1e-7 else 0.0

    def _r_transform_complex(self, w: np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.asarray(self.transform(w), dtype=complex), w.shape)

    def _r_transform(self, w: np.ndarray) -> np.ndarray:
        return self._r_transform_complex(w + 0j).real

    def _overlap(self, w: np.ndarray) -> np.ndarray:
        radius = np.where(w == 0, 1.0, 1e-3 * np.abs(w))
        return 1 - w**2 * _derivative(self._r_transform_complex, w + 0j, radius).real

    def _in_gaps(self, w: float) -> list[tuple[float, float]]:
        with np.errstate(all="ignore"):
            z, overlap = float(self._r_transform(np.array([w]))[0] + 1 / w), float(self._overlap(np.array([w]))[0])
        if not (self.support[0] < z < self.support[1] and LEAST_OVERLAP < overlap <= 1):
            return []
        # R may have other branches there, on which z lies in a band.
        return [(z, overlap)] if abs(self._stieltjes(np.array([z + 0j]))[0] - w) <= ROUNDING * abs(w) else []

    def _subordinate(self, z: np.ndarray) -> np.ndarray:
        """Return F = 1/g, the solution of F = z - R(1/F), for Im z >= 0."""

        def fixed_point(u: np.ndarray, z: np.ndarray) -> np.ndarray:
            return z - self._r_transform_complex(1 / u)

        def newton_step(u: np.ndarray, z: np.ndarray) -> np.ndarray:
            slope = _derivative(self._r_transform_complex, 1 / u, 1e-3 / np.abs(u))
            return (u - fixed_point(u, z)) / (1 - slope / u**2)

        return descend(z, newton_step, fixed_point, self.support[1] - self.support[0])

    def _pdf(self, x: np.ndarray) -> np.ndarray:
        flat = x.ravel()
        return (-(1 / self._subordinate(flat + 0j)).imag / np.pi).reshape(x.shape)

    def _stieltjes(self, z: np.ndarray) -> np.ndarray:
        above = z.imag >= 0
        g = 1 / self._subordinate(np.where(above, z, z.conj()))
        return np.where(above, g, g.conj())

    def _stieltjes_derivative(self, z: np.ndarray) -> np.ndarray:
        w = self._stieltjes(z)
        return 1 / (_derivative(self._r_transform_complex, w, 1e-3 * np.abs(w)) - 1 / w**2)


def _derivative(function: Callable[[np.ndarray], np.ndarray], w: np.ndarray, radius: Any) -> np.ndarray:
    """Return f' of an analytic function by the trapezoidal rule on 8 points of a circle: error of order radius^8."""
    roots = np.exp(0.25j * np.pi * np.arange(8))
    samples = [function(w + radius * root) * root.conjugate() for root in roots]
    return np.sum(samples, axis=0) / (8 * np.asarray(radius))
