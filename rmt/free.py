r"""Free additive convolution: the limiting spectrum of A + U B U^T for a uniformly random rotation U.

The law a [+] b is reached by subordination: g(z) = g_a(\omega_a(z)) = g_b(\omega_b(z)) with
\omega_a + \omega_b = z + 1/g(z), where (h = 1/g(\omega) - \omega)

.. math:: \omega_a = z + h_b(\omega_b), \qquad \omega_b = z + h_a(\omega_a).

Sources: Voiculescu 1993, Biane 1998 (subordination); Belinschi and Bercovici 2007 (the fixed point).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from .checks import require, require_finite, require_levels, require_points, require_positive, unwrap
from .closed_laws import PointMass, Semicircle
from .continuation import LEAST, NARROW, descend, lowest_heights
from .counting import SMALLEST, quantiles
from .gaps import LEAST_OVERLAP
from .laws import EPS, Affine, Law, _argument, _CumulantsFirst
from .panel_quadrature import Panels
from .spiked import power_of_two

DEGENERATE = 1e-8
"""Slope of the subordination equation below which rounding decides its root (two coins at 0: every root will do)."""

FAR = 2.0**100
"""Sizes beyond this, or below its inverse, are taken in units of their own."""
NEXT = 4e-15
"""Distance from an atom, relative to those of the parts, closer than which rounding hides the continuous part."""
SOLVED = 1e-4
"""Relative difference of 1/g of the parts up to which they are solved."""


@dataclass(frozen=True)
class FreeSum(_CumulantsFirst):
    """The free additive convolution of two laws, itself a law.

    Free cumulants and R-transforms add; the edges are the critical points of z(w) = R_a + R_b + 1/w. A point mass
    shifts the other law and two semicircles make a semicircle, both in closed form (``closed_form``).

    Accuracy, for parts in closed form: transforms and edges 1e-12; density 1e-10 away from edges and atoms, about 1e-7
    within a distance of 1e-13 of an edge and at isolated points where the equation degenerates or a subordination
    function passes through infinity (inside a gap); cdf 1e-9. Parts given by a density add their own error, and take
    seconds where a subordination function comes close to their support.

    >>> from rmt.closed_laws import AtomicLaw
    >>> coin = AtomicLaw((-1.0, 1.0), (0.5, 0.5))
    >>> arcsine = FreeSum(coin, coin)
    >>> arcsine.support, round(arcsine.pdf(0.0), 12)  # 1 / (2 pi)
    ((-2.0, 2.0), 0.159154943092)
    """

    a: Law
    b: Law

    def __post_init__(self) -> None:
        for name, part in (("a", self.a), ("b", self.b)):
            require(isinstance(part, Law), f"{name} must be a Law, got {part!r}")

    @cached_property
    def closed_form(self) -> Law | None:
        """The same law as a closed form, where there is one."""
        for one, other in ((self.a, self.b), (self.b, self.a)):
            if isinstance(one, PointMass):
                return other.shifted(one.location)
        if isinstance(self.a, Semicircle) and isinstance(self.b, Semicircle):
            return Semicircle(float(np.hypot(self.a.sigma, self.b.sigma)), self.a.center + self.b.center)
        return None

    @cached_property
    def _same(self) -> Law | None:
        """The same law as a closed form, or as a free sum in units of its size where that is far from 1."""
        unit = power_of_two(*self.a.support, *self.b.support)
        if self.closed_form or 1 / FAR < unit < FAR:
            return self.closed_form
        return Affine(FreeSum(self.a.scaled(1 / unit), self.b.scaled(1 / unit)), unit)

    @property
    def support(self) -> tuple[float, float]:
        """The convex hull (L, U) of the support."""
        return self._same.support if self._same else (self._left[0], self._right[0])

    @property
    def edge_stieltjes(self) -> tuple[float, float]:
        """The one-sided limits (g(L-), g(U+))."""
        return self._same.edge_stieltjes if self._same else (self._left[1], self._right[1])

    @property
    def thresholds(self) -> tuple[float, float]:
        """Spikes below the first or above the second leave the bulk: 1/g(L-) and 1/g(U+)."""
        return self._same.thresholds if self._same else super().thresholds

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Two atoms whose masses pass 1 together leave one (Bercovici and Voiculescu 1998)."""
        return tuple((x + y, mass) for x, y, mass in self._pairs_of_atoms)

    @cached_property
    def _pairs_of_atoms(self) -> tuple[tuple[float, float, float], ...]:
        """The locations of two atoms that leave one, and its mass."""
        pairs = ((x, y, p + q - 1) for x, p in self.a.atoms for y, q in self.b.atoms)
        return tuple(sorted((pair for pair in pairs if pair[2] > 1e-15), key=lambda pair: pair[0] + pair[1]))

    def subordination(self, z: np.ndarray | complex) -> tuple[np.ndarray, np.ndarray]:
        r"""Return the subordination functions (\omega_a(z), \omega_b(z)), Im z >= 0 (limit from above)."""
        points = require_points("z", z).astype(complex)
        low = points[points.imag < 0]
        require(low.size == 0, f"z must lie in the upper half-plane, got {low[:1]}")
        first, second = self._subordinate(points.ravel())
        return first.reshape(points.shape)[()], second.reshape(points.shape)[()]

    def free_cumulants(self, n: int) -> tuple[float, ...]:
        """Return the first n free cumulants, which are sums of the parts' cumulants."""
        return tuple(x + y for x, y in zip(self.a.free_cumulants(n), self.b.free_cumulants(n), strict=True))

    def scaled(self, s: float) -> FreeSum:
        """Return the law of s X, s > 0."""
        return FreeSum(self.a.scaled(require_positive("s", s)), self.b.scaled(s))

    def shifted(self, m: float) -> FreeSum:
        """Return the law of X + m."""
        return FreeSum(self.a.shifted(require_finite("m", m)), self.b)

    def quantile(self, p: ArrayLike) -> Any:
        """Return the smallest x in the support with cdf(x) >= p; p in [0, 1]."""
        if self._same:
            return self._same.quantile(p)
        levels, (lower, upper) = require_levels(p), self.support
        flat = levels.ravel()
        low, high = np.where(flat >= 1, upper, lower), np.where(flat <= 0, lower, upper)
        for (location, mass), below in zip(self.atoms, self._below_atoms, strict=True):
            before, after = flat <= below, flat > below + mass
            high = np.where(before, np.minimum(high, location), np.where(after, high, location))
            low = np.where(after, np.maximum(low, location), np.where(before, low, location))

        def counted(x: np.ndarray, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            z = self._beside_atoms(x) + 0j
            omega = self._subordinate_first(z, guess)
            with np.errstate(all="ignore"):  # in a gap it may sit on an atom of the part
                density = -self._ordered[0]._stieltjes(omega).imag / np.pi
            return 1 - self._angle_at(z, omega), density, omega

        found = quantiles(flat, low, high, counted, np.full(flat.shape, -1j), SMALLEST)
        return unwrap(self._reaching(flat, found).reshape(levels.shape))

    @property
    def _interval(self) -> tuple[float, float]:
        return self._same._interval if self._same else self.support

    @property
    def _size(self) -> float:
        return max(self.a._size, self.b._size)

    @property
    def _atom_errors(self) -> tuple[float, ...]:
        a, b = (dict(zip((x for x, _ in law.atoms), law._atom_errors, strict=False)) for law in (self.a, self.b))
        return tuple(a.get(x, 0.0) + b.get(y, 0.0) + 2 * EPS * max(abs(x), abs(y)) for x, y, _ in self._pairs_of_atoms)

    @cached_property
    def _panels(self) -> Panels:
        return Panels.of(self._pdf, self._interval, tolerance=1e-11, below=self._continuous_cdf)

    def _continuous_cdf(self, x: np.ndarray) -> np.ndarray:
        if self._same:
            return self._same._continuous_cdf(x)
        lower, upper = self.support  # where the equation degenerates
        beside = self._beside_atoms(x)
        discrete = sum((mass * (beside > location) for location, mass in self.atoms), np.zeros(x.shape))
        below = 1 - self._angle(beside + 0j) - discrete
        return np.where(x <= lower, 0.0, np.where(x >= upper, 1 - sum(mass for _, mass in self.atoms), below))

    def _beside_atoms(self, x: np.ndarray) -> np.ndarray:
        """Move points of the axis off the atoms, as far as these hide what is next to them; to the left if on one."""
        least = LEAST * (self.support[1] - self.support[0])
        for one, other, _ in self._pairs_of_atoms:
            location, reach = one + other, max(NEXT * max(abs(one), abs(other)), least)
            moved = np.where(x > location, location + reach, location - reach)
            x = np.where(np.abs(x - location) < reach, moved, x)
        return x

    @cached_property
    def _below_atoms(self) -> np.ndarray:
        """Mass below each atom."""
        places = np.array([location for location, _ in self.atoms])
        beside = self._beside_atoms(places)
        below = self._orderly(beside, 1 - self._angle(beside + 0j))
        return np.where(places <= self.support[0], 0.0, below)

    def _angle(self, z: np.ndarray) -> np.ndarray:
        return self._same._angle(z) if self._same else self._angle_at(z, self._subordinate_first(z))

    def _angle_at(self, z: np.ndarray, omega: np.ndarray) -> np.ndarray:
        r"""Return the mean angle of z - x over pi, from that of the parts.

        $\int\log(z-x) = \int\log(\omega_a-x)\,\mu_a(dx) + \int\log(\omega_b-x)\,\mu_b(dx) - \log(1/g)$, because both
        sides have the derivative g and are log z far away. On the axis the imaginary part counts the mass above.
        """
        first, second = self._ordered
        with np.errstate(all="ignore"):
            inverse = 1 / first._stieltjes(omega)
            partner = z + inverse - omega
        partner = partner.real + 1j * np.maximum(partner.imag, z.imag)
        # Where g vanishes the partner sees the point from infinity, as 1/g does.
        finite_ones = np.isfinite(partner) & np.isfinite(inverse)
        result = np.asarray(first._angle(omega))
        result[finite_ones] += second._angle(partner[finite_ones]) - _argument(inverse[finite_ones])
        return result

    def _pdf(self, x: np.ndarray) -> np.ndarray:
        if self._same:
            return self._same._pdf(x)
        density = np.maximum(-self._from_above(x.ravel() + 0j).imag / np.pi, 0.0).reshape(x.shape)
        return np.where(self._beside_atoms(x) == x, density, 0.0)  # an atom hides what is next to it

    def _stieltjes(self, z: np.ndarray) -> np.ndarray:
        if self._same:
            return self._same._stieltjes(z)
        above = z.imag >= 0
        g = self._from_above(np.where(above, z, z.conj()))
        return np.where(above, g, g.conj())

    def _stieltjes_derivative(self, z: np.ndarray) -> np.ndarray:
        if self._same:
            return self._same._stieltjes_derivative(z)
        above = z.imag >= 0
        omega_a, omega_b = self._subordinate(np.where(above, z, z.conj()))
        _, slope_a = _shift(self.a, omega_a)
        _, slope_b = _shift(self.b, omega_b)
        slope = self.a._stieltjes_derivative(omega_a) * (1 + slope_b) / (1 - slope_a * slope_b)
        return np.where(above, slope, slope.conj())

    def _r_transform(self, w: np.ndarray) -> np.ndarray:
        return self.a._r_transform(w) + self.b._r_transform(w)

    def _overlap(self, w: np.ndarray) -> np.ndarray:
        return self.a._overlap(w) + self.b._overlap(w) - 1

    def _in_gaps(self, w: float) -> list[tuple[float, float]]:
        r"""Return the pairs (z, -w^2 / g'(z)) with g(z) = w in gaps of the support, w not 0.

        Both parts take the value w at real $\omega$ off their supports, and of all pairs those with -w^2 z'(w) > 0
        attract: continued above the axis they stay there, where subordination is unique. If both lie beyond the ends
        of their part's support, z lies beyond the end of that of the sum.
        """
        if self._same:
            return self._same._in_gaps(w)
        outer: list[list[tuple[float, float]]] = [[], []]
        inner = [part._in_gaps(w) for part in (self.a, self.b)]
        for part, found in zip((self.a, self.b), outer, strict=True):
            low, high = part.edge_stieltjes
            if low < w < high:
                at = np.array([w])
                found.append((float(part._r_transform(at)[0]) + 1 / w, float(part._overlap(at)[0])))
        pairs = [(one, other) for one in inner[0] for other in inner[1] + outer[1]]
        pairs += [(one, other) for one in outer[0] for other in inner[1]]
        solutions = [(x + y - 1 / w, p + q - 1) for (x, p), (y, q) in pairs]
        return [(z, overlap) for z, overlap in solutions if overlap > LEAST_OVERLAP]

    def _from_above(self, z: np.ndarray) -> np.ndarray:
        first, _ = self._ordered
        return first._stieltjes(self._subordinate_first(z))

    @property
    def _ordered(self) -> tuple[Law, Law]:
        """The parts, atoms first: in a gap of the sum the partner of a gapped law sees infinity."""
        return (self.b, self.a) if self.b.atoms and not self.a.atoms else (self.a, self.b)

    def _subordinate(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        omega, (first, _) = self._subordinate_first(z), self._ordered
        with np.errstate(divide="ignore", invalid="ignore"):
            partner = z + _shift(first, omega)[0]
        return (omega, partner) if first is self.a else (partner, omega)

    def _subordinate_first(self, z: np.ndarray, guess: np.ndarray | None = None) -> np.ndarray:
        first, second = self._ordered

        def fixed_point(u: np.ndarray, z: np.ndarray) -> np.ndarray:
            return z + _shift(second, z + _shift(first, u)[0])[0]

        def newton_step(u: np.ndarray, z: np.ndarray) -> np.ndarray:
            h_first, slope_first = _shift(first, u)
            h_second, slope_second = _shift(second, z + h_first)
            slope = 1 - slope_first * slope_second
            return np.where(np.abs(slope) > DEGENERATE, u - z - h_second, np.nan) / slope

        (lower_a, upper_a), (lower_b, upper_b) = self.a.support, self.b.support
        scale = upper_a - lower_a + upper_b - lower_b
        lowest = lowest_heights(z, scale)
        omega = descend(z, newton_step, fixed_point, scale, guess, lowest=lowest)
        wrong, left = self._mismatch(z, omega)
        for finest in NARROW:
            if not (again := np.flatnonzero(wrong)).size:
                break
            tried = descend(z[again], newton_step, fixed_point, scale, finest=finest * scale, lowest=lowest[again])
            wrong_now, left_now = self._mismatch(z[again], tried)
            better = left_now < left[again]
            omega[again[better]], left[again[better]] = tried[better], left_now[better]
            wrong[again[better]] = wrong_now[better]
        return omega

    def _mismatch(self, z: np.ndarray, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return by how much 1/g of the parts differs beyond rounding, and where; 0 where the partner is infinite.

        Solutions on the axis that repel are not limits from above, however well they solve the equation.
        """
        first, second = self._ordered
        with np.errstate(all="ignore"):
            inverse = 1 / first._stieltjes(omega)
            partner = z + inverse - omega
            partner = partner.real + 1j * np.maximum(partner.imag, z.imag)
            difference = np.abs(inverse - 1 / second._stieltjes(partner))
            rounding = 1e-14 * (np.abs(omega) + np.abs(partner) + np.abs(z))
            left = np.where(np.isfinite(partner) & np.isfinite(difference), difference, 0.0)
            on_axis = np.flatnonzero((omega.imag == 0) & np.isfinite(partner) & (z.imag == 0))
            slope = _shift(first, omega[on_axis])[1].real * _shift(second, partner[on_axis])[1].real
            left[on_axis[slope > 1 + SOLVED]] = np.inf
            return left > SOLVED * np.abs(inverse) + rounding, left

    @cached_property
    def _left(self) -> tuple[float, float]:
        return self._edge(0)

    @cached_property
    def _right(self) -> tuple[float, float]:
        return self._edge(1)

    def _edge(self, side: int) -> tuple[float, float]:
        r"""Return (edge, g there) on the left (0) or right (1).

        -w^2 z'(w) decreases from 1 as \|w\| grows, being the overlap of the spike 1/w: the edge is its only zero, or
        lies at the largest w that both parts reach.
        """
        sign = 1.0 if side else -1.0
        last = sign * min(sign * self.a.edge_stieltjes[side], sign * self.b.edge_stieltjes[side])
        edges = self.a.support[side], self.b.support[side]

        def overlap(w: float) -> float:
            return float(self._overlap(np.array([w]))[0])

        high = last
        if np.isinf(last):
            masses = (dict(part.atoms).get(edge, 0.0) for part, edge in zip((self.a, self.b), edges, strict=True))
            if sum(masses) >= 1 - 1e-12:
                return sum(edges), last
            high = sign / sum(part.support[1] - part.support[0] for part in (self.a, self.b))
            while overlap(high) > 0:
                high *= 2
        if overlap(high) < 0:
            high = brentq(overlap, 0.0, high, xtol=abs(high) * 1e-18, rtol=4 * np.finfo(float).eps)
        return float(self._r_transform(np.array([high]))[0] + 1 / high), float(high)


def _shift(law: Law, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the self-energy h = 1/g - omega and its derivative."""
    with np.errstate(all="ignore"):  # a point may sit on an atom
        g, slope = law._stieltjes(omega), law._stieltjes_derivative(omega)
        return 1 / g - omega, -slope / g**2 - 1
