"""Laws given by a few numbers at each point, by which their distribution function counts without quadrature."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .checks import require_levels, unwrap
from .laws import Law
from .panel_quadrature import Panels

STEPS = 200
ROUNDING = 1e-14  # of a distribution function
NEAR_0, SMALLEST = 1e-6, 1e-104
"""Sizes in widths of a law: of quantiles that are searched by orders of magnitude, and of the smallest of them."""

Counted = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


def quantiles(
    levels: np.ndarray, low: np.ndarray, high: np.ndarray, counted: Counted, state: np.ndarray, least: float = NEAR_0
) -> np.ndarray:
    """Return the points at which a distribution function reaches levels: Newton's method, kept inside a bracket.

    Args:
        levels: (n,).
        low: where it lies below, (n,); updated.
        high: where it has reached the level, (n,); updated. Points with low = high are returned as they are.
        counted: (x, state) -> distribution function, density, state, where the state of a point starts the next.
        state: first guess, (n, ...).
        least: size of the smallest number that is resolved as well as others, in widths of the widest bracket.
    """
    widest = float((high - low).max(initial=0.0))
    x = low + (high - low) / 2
    active = np.flatnonzero(low < high)
    for step in range(STEPS):
        if not len(active):
            break
        here = x[active]
        reached, density, state[active] = counted(here, state[active])
        excess = reached - levels[active]
        enough = excess >= -ROUNDING  # in a gap rounding would choose the point
        high[active], low[active] = np.where(enough, here, high[active]), np.where(enough, low[active], here)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            new = here - excess / density
        middle = _middle(low[active], high[active], least * widest, NEAR_0 * widest)
        inside = (new > low[active]) & (new < high[active]) & (step % 4 < 3)  # every fourth step halves
        narrow = high[active] - low[active] <= 4e-16 * np.maximum(np.abs(middle), least * widest)
        met = (np.abs(excess) < ROUNDING) & (density * widest > 1e9 * ROUNDING)
        x[active] = np.where(met, here, np.where(narrow, high[active], np.where(inside, new, middle)))
        active = active[~(met | narrow)]
    return x


def _middle(low: np.ndarray, high: np.ndarray, least: float, near: float) -> np.ndarray:
    """Return points between low and high: half way, but near 0 half way between the orders of magnitude, (n,)."""
    middle = low + (high - low) / 2
    larger, smaller = np.maximum(np.abs(low), np.abs(high)), np.maximum(np.minimum(np.abs(low), np.abs(high)), least)
    close = (larger <= near) & (larger > 4 * smaller)
    across = (low < 0) & (high > 0)
    middle[close & across] = 0.0
    close &= ~across
    middle[close] = np.sign((low + high)[close]) * np.sqrt(larger[close]) * np.sqrt(smaller[close])
    return middle


class CountedLaw(Law):
    """A law whose equations are solved in units of its own, for the upper half-plane and its boundary.

    Subclasses have `_unit` (a power of two), `_negative_mass` (the mass below 0, where the numbers may be singular),
    and four functions of points in these units, Im z >= 0, (n,): `_numbers`, which solves the equations, and what
    follows from the numbers.
    """

    _unit: Any
    _negative_mass: Any

    @abstractmethod
    def _numbers(self, z: np.ndarray, guess: np.ndarray | None = None) -> np.ndarray:
        """Return the numbers at z, (n, k), from a guess nearby."""

    @abstractmethod
    def _resolvent(self, z: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return the Stieltjes transform, (n,)."""

    @abstractmethod
    def _resolvent_slope(self, z: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return its derivative, (n,)."""

    @abstractmethod
    def _above(self, z: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return the mean angle of z - x over pi, (n,); on the axis the mass above."""

    def _unsolved(self, z: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return where numbers are known not to be the solution, (n,)."""
        return np.zeros(z.shape, dtype=bool)

    def quantile(self, p: ArrayLike) -> Any:
        """Return the smallest x in the support with cdf(x) >= p; p in [0, 1]."""
        levels = require_levels(p)
        flat, (lower, upper) = levels.ravel(), (edge / self._unit for edge in self.support)
        low, high = np.where(flat >= 1, upper, lower), np.where(flat <= 0, lower, upper)
        up_to_0 = self._negative_mass + sum(mass for _, mass in self.atoms)
        for _, mass in self.atoms:
            at = (flat > self._negative_mass) & (flat <= self._negative_mass + mass)
            low[at], high[at] = 0.0, 0.0

        def counted(x: np.ndarray, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            z = np.where(x == 0.0, 1e-16, x) + 0j  # where they may be singular
            numbers = self._numbers(z, guess)
            reached = np.where(x == 0.0, up_to_0, 1 - self._above(z, numbers))
            return reached, -self._resolvent(z, numbers).imag / np.pi, numbers

        start = np.full_like(self._numbers(np.full(len(flat), 1j)), -1j)
        found = quantiles(flat, low, high, counted, start, SMALLEST) * self._unit
        return unwrap(self._reaching(flat, found).reshape(levels.shape))

    @cached_property
    def _panels(self) -> Panels:
        return Panels.of(self._pdf, self._interval, tolerance=1e-11, below=self._continuous_cdf)

    def _angle(self, z: np.ndarray) -> np.ndarray:
        points = z / self._unit
        return self._above(points, self._numbers(points))

    def _stieltjes(self, z: np.ndarray) -> np.ndarray:
        above = z.imag >= 0
        points = np.where(above, z, z.conj()) / self._unit
        g = self._resolvent(points, self._numbers(points)) / self._unit
        return np.where(above, g, g.conj())

    def _stieltjes_derivative(self, z: np.ndarray) -> np.ndarray:
        above = z.imag >= 0
        points = np.where(above, z, z.conj()) / self._unit
        slope = self._resolvent_slope(points, self._numbers(points)) / self._unit / self._unit
        return np.where(above, slope, slope.conj())

    def _pdf(self, x: np.ndarray) -> np.ndarray:
        flat = x.ravel()
        density = np.maximum(-self._stieltjes(flat + 0j).imag / np.pi, 0.0)
        return np.where((flat == 0.0) & bool(self.atoms), 0.0, density).reshape(
            x.shape
        )  # an atom hides what is next to it

    def _continuous_cdf(self, x: np.ndarray) -> np.ndarray:
        flat = x.ravel() / self._unit
        kernel = sum(mass for _, mass in self.atoms)
        below = np.full(flat.shape, self._negative_mass)
        elsewhere = flat != 0.0
        z = flat[elsewhere] + 0j
        numbers = self._numbers(z)
        mass = 1 - self._above(z, numbers) - kernel * (z.real > 0)
        below[elsewhere] = np.where(self._unsolved(z, numbers), np.nan, mass)
        left = np.minimum(below, self._negative_mass)
        return np.where(flat < 0.0, left, np.maximum(below, self._negative_mass)).reshape(x.shape)
