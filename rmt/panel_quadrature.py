r"""Quadrature of a density on a compact interval, accurate for singular edges and close to the axis.

With x = c - h cos t the densities of random matrix theory, which vanish or blow up like a square root at the edges,
become smooth in t. Panels of Gauss-Legendre nodes in t shrink geometrically towards both edges, which keeps Cauchy
integrals accurate however close their pole comes to an edge, and are halved wherever the density asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

NODES = 20
LEVELS = 12
"""Panels shrink to an angle of pi / 16 / 2^12; their first node is 1e-14 half-widths away from the edge."""
STEEP_LEVELS = 36
"""The same next to a pole, where a density grows towards an edge slower than the power -1/2: there it is not smooth."""
BESIDE_EDGE = np.array([1e-7, 1e-5])
"""Distances from an edge, in widths, at which the power is measured."""
INVERSE_ROOT = -0.499
"""Powers up to this are -1/2, measured."""
MAX_HALVINGS, COUNTED_HALVINGS = 32, 24
TOUCH = 1e-13
"""Angle above the axis at which limits from above are taken."""
MISSED = 1e-8
"""Mass by which a panel may differ from the distribution function, which says when the nodes have missed a band."""
BATCH = 1000


@lru_cache(maxsize=1)
def _legendre() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return nodes and weights on [-1, 1], and the matrix from values at the nodes to Legendre coefficients."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    degrees = np.arange(NODES)
    to_coefficients = (degrees[:, None] + 0.5) * np.polynomial.legendre.legvander(nodes, NODES - 1).T * weights
    return nodes, weights, to_coefficients


def graded_breaks(count: int, levels: int = LEVELS, last_levels: int = LEVELS) -> np.ndarray:
    """Return break points in [0, 1]: count equal panels, the first and last divided geometrically to 0 and 1."""
    towards_zero = 0.5 ** np.arange(levels, 0, -1) / count
    towards_one = 1 - 0.5 ** np.arange(1, last_levels + 1) / count
    return np.concatenate([[0.0], towards_zero, np.arange(1, count) / count, towards_one, [1.0]])


def nodes_on(breaks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Gauss-Legendre nodes and weights of every panel between consecutive breaks, each (panels, NODES)."""
    nodes, weights, _ = _legendre()
    half = np.diff(breaks)[:, None] / 2
    return (breaks[:-1, None] + half) + half * nodes, half * weights


def _places(angles: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """Return the points at angles, from the nearer edge: next to an edge at 0 they keep their digits.

    No density is asked for its value at an edge.
    """
    width = upper - lower
    x = np.where(angles < np.pi / 2, lower + width * np.sin(angles / 2) ** 2, upper - width * np.cos(angles / 2) ** 2)
    return np.clip(x, np.nextafter(lower, upper), np.nextafter(upper, lower))


def _power(density: Callable[[np.ndarray], np.ndarray], edge: float, inward: float) -> float:
    """Return the power of the distance like which a density grows towards an edge, -1/2 too if it does not grow."""
    places = edge + inward * BESIDE_EDGE
    with np.errstate(all="ignore"):
        near, far = density(np.where(places == edge, np.nextafter(edge, edge + inward), places))
        power = float(np.log(far / near) / np.log(BESIDE_EDGE[1] / BESIDE_EDGE[0]))
    return power if INVERSE_ROOT < power < 0 else -0.5


def _stretch(
    x: np.ndarray, angles: np.ndarray, support: tuple[float, float], powers: tuple[float, float]
) -> np.ndarray:
    """Return dx/dt at nodes t, times what a density changes from x, which is rounded, to the node.

    Both are infinite or 0 at an edge, and rounding moves the nodes next to it.
    """
    (lower, upper), width = support, support[1] - support[0]
    result = np.sqrt(x - lower) * np.sqrt(upper - x)
    ends = (x - lower, np.sin(angles / 2)), (upper - x, np.cos(angles / 2))
    for (distance, root), power in zip(ends, powers, strict=True):
        if power > -0.5:
            result = result * (width * root * root / distance) ** (power + 0.5)
    return result


@dataclass(frozen=True)
class Panels:
    """A density on [L, U], as masses at Gauss-Legendre nodes in the angle t with x = c - h cos t.

    Attributes:
        lower: L.
        upper: U.
        breaks: (panels + 1,) angles between the panels, from 0 at L to pi at U.
        points: (panels, NODES) nodes x.
        masses: (panels, NODES) density times weight; their sum is the total mass.
        coefficients: (panels, NODES) Legendre coefficients of the density of mass in each panel.
        error: estimate of the absolute error of the total mass.
        powers: of the distance from L and from U like which the density grows towards them.
    """

    lower: float
    upper: float
    breaks: np.ndarray
    points: np.ndarray
    masses: np.ndarray
    coefficients: np.ndarray
    error: float
    powers: tuple[float, float]

    @classmethod
    def of(
        cls,
        density: Callable[[np.ndarray], np.ndarray],
        support: tuple[float, float],
        tolerance: float = 1e-13,
        below: Callable[[np.ndarray], np.ndarray] | None = None,
        widest: int | None = None,
    ) -> Panels:
        """Sample a density, halving panels until the last Legendre coefficients weigh less than the tolerance.

        Where the mass below points is known as well, every panel must also have the mass between its ends: bands that
        fall between the nodes are found. What is narrower than the smallest panel is spread over it.

        More than ``widest`` panels to be halved at once are left as they are, with their part of the error: the density
        is rough all over.
        """
        lower, upper = support
        half = (upper - lower) / 2
        powers = _power(density, lower, upper - lower), _power(density, upper, lower - upper)
        breaks = graded_breaks(16) * np.pi
        done: list[tuple[np.ndarray, ...]] = []
        starts, ends, error = breaks[:-1], breaks[1:], 0.0

        def cumulated(angles: np.ndarray) -> np.ndarray:
            places = lower + 2 * half * np.sin(angles / 2) ** 2
            return below(np.clip(places, lower, upper)) if below else np.full(angles.shape, np.nan)

        most = COUNTED_HALVINGS if below else MAX_HALVINGS
        reached = cumulated(breaks)
        left, right = reached[:-1], reached[1:]
        nodes, weights, to_coefficients = _legendre()
        for halving in range(most + 1):
            lengths = ((ends - starts) / 2)[:, None]
            angles = (starts[:, None] + lengths) + lengths * nodes
            x = _places(angles, lower, upper)
            values = density(x) * _stretch(x, angles, support, powers) * lengths
            coefficients = values @ to_coefficients.T
            tails = np.abs(coefficients[:, -4:]).max(axis=1)
            missed = np.abs(right - left - 2 * coefficients[:, 0]) > MISSED
            coarse = ((tails > tolerance) | missed) & np.isfinite(tails)
            rough = coarse & (halving < most and (widest is None or np.count_nonzero(coarse) <= widest))
            spread = coarse & ~rough & np.isfinite(right - left)
            values[spread] = (right - left)[spread, None] / 2
            coefficients[spread] = np.eye(1, NODES) * (right - left)[spread, None] / 2
            error += float(tails[~rough & ~spread].sum())
            done.append((starts[~rough], x[~rough], (values * weights)[~rough], coefficients[~rough]))
            if not rough.any():
                break
            middles = (starts + ends)[rough] / 2
            starts, ends = np.concatenate([starts[rough], middles]), np.concatenate([middles, ends[rough]])
            reached = cumulated(middles)
            left, right = np.concatenate([left[rough], reached]), np.concatenate([reached, right[rough]])
        starts, points, masses, coefficients = (np.concatenate(part) for part in zip(*done, strict=True))
        order = np.argsort(starts)
        breaks = np.append(starts[order], np.pi)
        return cls(lower, upper, breaks, points[order], masses[order], coefficients[order], error, powers)

    @property
    def total(self) -> float:
        """The total mass."""
        return float(self.masses.sum())

    def cdf(self, x: np.ndarray) -> np.ndarray:
        """Return mass left of x, by integrating each panel's Legendre series; x inside [L, U]."""
        angle = 2 * np.arcsin(np.sqrt((x - self.lower) / (self.upper - self.lower)))
        panel = np.clip(np.searchsorted(self.breaks, angle, side="right") - 1, 0, len(self.points) - 1)
        start, end = self.breaks[panel], self.breaks[panel + 1]
        local = np.clip((2 * angle - start - end) / (end - start), -1.0, 1.0)
        # The integral of P_k from -1 is (P_{k+1} - P_{k-1}) / (2k + 1), and 1 + x for k = 0.
        legendre = np.polynomial.legendre.legvander(local, NODES)
        primitives = np.empty((*local.shape, NODES))
        primitives[..., 0] = local + 1
        primitives[..., 1:] = (legendre[..., 2:] - legendre[..., :-2]) / (2 * np.arange(1, NODES) + 1)
        before = np.concatenate([[0.0], np.cumsum(self.masses.sum(axis=1))])
        return before[panel] + (self.coefficients[panel] * primitives).sum(axis=-1)

    def cauchy(self, z: np.ndarray, power: int = 1) -> np.ndarray:
        """Return the integral of density(x) / (z - x)^power, power 1 or 2, for complex z, (n,), off the interval.

        Relative accuracy 1e-10 where ``resolves(z)``.
        """
        points, masses = self.points.ravel(), self.masses.ravel()
        result = np.empty(z.shape, dtype=complex)
        for start in range(0, len(z), BATCH):
            kernel = 1 / (z[start : start + BATCH, None] - points)
            result[start : start + BATCH] = (kernel if power == 1 else kernel * kernel) @ masses
        return result

    def angle(self, z: np.ndarray) -> np.ndarray:
        """Return the integral of density(x) arg(z - x) / pi for complex z, (n,), Im z >= 0, off the interval."""
        points, masses = self.points.ravel(), self.masses.ravel()
        result = np.empty(z.shape)
        for start in range(0, len(z), BATCH):
            part = z[start : start + BATCH, None]
            result[start : start + BATCH] = np.arctan2(part.imag + 0.0, part.real - points) @ masses / np.pi
        return result

    def near(self, z: complex, density: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return the masses of a density on panels that shrink towards the foot of z, and z - x at their nodes.

        On the axis they are those of the limit from above.
        """
        lower, upper = self.lower, self.upper
        pole = complex(self.pole(np.array([z]))[0])
        foot, height = pole.real, pole.imag or TOUCH
        levels = int(np.clip(-np.log2(abs(height)), 1, 45))  # down to a panel of that height
        to_lower, to_upper = (
            graded_breaks(4, levels, STEEP_LEVELS if power > -0.5 else LEVELS) for power in self.powers
        )
        # Offsets from the foot, not angles: z - x keeps its digits however close the two are.
        offsets, weights = nodes_on(np.concatenate([-foot * to_lower[::-1], (np.pi - foot) * to_upper[1:]]))
        points = _places(foot + offsets, lower, upper)
        gaps = (upper - lower) * np.sin((1j * height - offsets) / 2) * np.sin(foot + (1j * height + offsets) / 2)
        values = density(points.ravel()).reshape(points.shape)
        return values * weights * _stretch(points, foot + offsets, (lower, upper), self.powers), gaps

    def resolves(self, z: np.ndarray) -> np.ndarray:
        """Return whether the nodes resolve the pole 1 / (z - x): not if z is close to the interval's inner part."""
        angle = self.pole(z)
        room = np.minimum(np.minimum(angle.real, np.pi - angle.real), 0.1)
        return np.abs(angle.imag) >= 0.9 * room

    def pole(self, z: np.ndarray) -> np.ndarray:
        """Return the complex angle t at which x = z."""
        return np.arccos(((self.lower + self.upper) / 2 - z) / ((self.upper - self.lower) / 2) + 0j)
