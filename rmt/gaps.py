r"""Gaps of a support, and the equations of spikes between two bands or atoms.

A Stieltjes transform decreases in a gap, so it takes a value there at most once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import exp, log

import numpy as np
from scipy.optimize import brentq

EPS = float(np.finfo(float).eps)
LEAST_OVERLAP = 1e-12
"""Overlaps below cannot be distinguished from rounding: they are those of spikes at a threshold."""
UNIFORM, GEOMETRIC = 512, 128
"""Points of the grid on which gaps are sought: over the whole support, and towards each end and 0."""
NEAREST = 1e-8
"""Least distance of the grid from an end or 0, in widths."""
REAL = 1e-9
"""A transform with a smaller imaginary part, relative to its size and to that of the law, is real."""
HALVINGS = 50
BESIDE = 1e-20
"""Distance from an atom at 0, in widths of a gap, at which the grid cannot tell an end of the gap from the atom."""
NEXT_TO_ATOM = 1e-120
"""Distance from an atom, in widths, at which the rest of a law changes no digit of its transforms."""


def between_poles(poles: np.ndarray, masses: np.ndarray, value: float) -> Iterator[tuple[float, np.ndarray]]:
    r"""Yield z with $\sum_j m_j/(z - p_j)$ = value between each two neighbours of increasing poles, for masses > 0.

    Yields:
        z, and the distances z - p, (n,), which keep their digits.
    """
    for k in np.flatnonzero(np.diff(poles) > 0):
        offsets = np.concatenate([poles[k] - poles[: k + 1], poles[k + 1] - poles[k + 1 :]])
        width, right = poles[k + 1] - poles[k], np.arange(len(poles)) > k

        def distances(
            t: float, offsets: np.ndarray = offsets, width: float = width, right: np.ndarray = right
        ) -> np.ndarray:
            return offsets + np.where(right, -width / (1.0 + np.exp(t)), width / (1.0 + np.exp(-t)))

        def excess(t: float, distances: Callable[[float], np.ndarray] = distances) -> float:
            return float((masses / distances(t)).sum()) - value

        low, high = -1.0, 1.0
        while excess(low) < 0 and low > -500:
            low *= 2.0
        while excess(high) > 0 and high < 500:
            high *= 2.0
        if excess(low) >= 0 >= excess(high):
            found = distances(brentq(excess, low, high, xtol=1e-16, rtol=4 * EPS))
            yield float(poles[k] + found[k] if found[k] < width / 2 else poles[k + 1] + found[k + 1]), found


def find_gaps(
    transform: Callable[[np.ndarray], np.ndarray], support: tuple[float, float], atoms: tuple[float, ...]
) -> tuple[tuple[float, float], ...]:
    """Return the gaps of a support whose transform is known on the axis from above; narrow ones are missed.

    Args:
        transform: Stieltjes transform at complex points (n,).
        support: the convex hull of the support.
        atoms: places of atoms, which end a gap.
    """
    lower, upper = support
    width = upper - lower
    if not width > 0:
        return ()
    steps = width * np.geomspace(NEAREST, 0.5, GEOMETRIC)
    grid = np.concatenate([np.linspace(lower, upper, UNIFORM + 2)[1:-1], lower + steps, upper - steps, steps, -steps])
    grid = np.unique(grid[(grid > lower) & (grid < upper) & ~np.isin(grid, atoms)])

    def is_real(x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            g = transform(x + 0j)
            return np.isfinite(g) & (np.abs(g.imag) <= REAL * (np.abs(g) + 1.0 / width))

    points = np.unique([lower, *grid, *atoms, upper])
    free = np.isin(points, grid)
    free[free] = is_real(points[free])
    inside = np.flatnonzero(free)
    if not inside.size:
        return ()
    runs = np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1)
    outer = np.array([[points[run[0] - 1], points[run[-1] + 1]] for run in runs])
    inner = np.array([[points[run[0]], points[run[-1]]] for run in runs])
    for _ in range(HALVINGS):
        middle = inner + (outer - inner) / 2
        real = is_real(middle.ravel()).reshape(middle.shape)
        inner, outer = np.where(real, middle, inner), np.where(real, outer, middle)
    return tuple((float(low), float(high)) for low, high in inner)


def pairs_in_gaps(
    w: float,
    gaps: Iterable[tuple[float, float]],
    transform: Callable[[float], float],
    slope: Callable[[float], float],
    kernel: float = 0.0,
) -> list[tuple[float, float]]:
    """Return the pairs (z, -w^2 / g'(z)) with g(z) = w in gaps, of a transform g and its slope g' on the axis.

    Next to an atom at 0, whose mass is the kernel, z keeps its digits.
    """
    pairs = []
    for low, high in gaps:
        if kernel and min(abs(low), abs(high)) <= BESIDE * (high - low):
            pairs.extend(_pair_beside_kernel(w, high if high > 0.0 else low, transform, slope, kernel))
        elif low < high and transform(low) > w > transform(high):
            z = brentq(lambda x: transform(x) - w, low, high, xtol=EPS * max(abs(low), abs(high)), rtol=4 * EPS)
            pairs.append((z, min(-w * (w / slope(z)), 1.0)))
    return [(z, overlap) for z, overlap in pairs if overlap > LEAST_OVERLAP]


def _pair_beside_kernel(
    w: float, far: float, transform: Callable[[float], float], slope: Callable[[float], float], kernel: float
) -> list[tuple[float, float]]:
    """Return the pair of a gap from an atom at 0 to another end, if there is one."""
    side = 1.0 if far > 0.0 else -1.0
    if side * transform(far) >= side * w:
        return []
    if side * kernel / w < abs(far) * NEXT_TO_ATOM and side * w > 0.0:
        return [(kernel / w, kernel)]

    def excess(logarithm: float) -> float:
        g = transform(side * exp(logarithm))
        if side * w <= 0.0:
            return side * (g - w)
        return log(g / w) if g / w > 0.0 else log(EPS)  # close to the atom a straight line

    low, high = log(abs(far) * NEXT_TO_ATOM) - 2.0, log(abs(far))
    if not excess(low) > 0.0 > excess(high):
        return []
    z = side * exp(brentq(excess, low, high, xtol=1e-15, rtol=4 * EPS))
    z -= (1.0 / w - 1.0 / (g := transform(z))) * g * (g / slope(z))  # the digits that the logarithm has lost
    return [(z, min(-w * (w / slope(z)), 1.0))]
