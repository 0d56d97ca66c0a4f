r"""The spiked model with any noise law as a secular equation, exact at dimensions of a million without a matrix.

For $H = V \Theta V^T + D$ with $D$ diagonal and $k$ orthonormal columns $V$, the inertia of the bordered matrix
$[[\lambda - D, V], [V^T, \Theta^{-1}]]$ taken by either Schur complement gives, for $\lambda$ no entry of $D$,

$$\#\{\lambda_i(H) > \lambda\} = \#\{d_j > \lambda\} + n_-(\Theta^{-1} - M(\lambda)) - n_-(\Theta^{-1}),
\qquad M(\lambda) = V^T (\lambda - D)^{-1} V,$$

with $n_-$ the number of negative eigenvalues: a count in O(R k^2), for spikes of any sign, and any eigenvalue by
bisection. For one spike this is the secular equation $1/\theta = \sum_j v_j^2 / (\lambda - d_j)$.

Next to an entry of $D$, or for a tiny spike, one direction of $\Theta^{-1} - M$ is huge and its rounding hides the
others. With $\Theta^{-1} - M = F^T S F$, where $S$ holds signs and $F$ has a row for each spike and each entry of $D$,
a QR decomposition of $F^T$ with pivoting separates the sizes, and each direction is then counted in units of its own.

Noise $X = O\,\mathrm{diag}(x)\,O^T$ with $O$ uniform on the orthogonal group turns the spikes' directions into
uniformly random ones in the basis of $X$, so only these are drawn. Its eigenvalues do not fluctuate: they are the
quantiles of the law, and its extreme ones tend to the edges.

Source: Golub (1973) for the secular equation, Haynsworth (1968) for the inertia, Cox and Higham (1998) for the accuracy
of QR with pivoting on rows of very different size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr

from rmt.checks import freeze, require_order, require_row
from rmt.laws import Law
from rmt.spiked import SpikedModel, StableRank, check_dimension, power_of_two

_STEPS = 60
_GRID = 4097
_ERROR = 1e-6
"""Allowed error of quantiles found by interpolation, in widths of the law."""
_SMALLEST = 1e-290  # a gap whose inverse does not overflow
_EVEN = (
    128.0  # entries up to which the signs of all eigenvalues survive rounding, as spikes have an inverse of at least 1
)


@dataclass(frozen=True, eq=False)
class RotatedDraw:
    """One draw of the spiked model with rotated noise of given eigenvalues.

    Attributes:
        model: the model it was drawn from.
        noise: eigenvalues of the scaled noise in decreasing order, shape ``(R,)``.
        directions: spike directions in the eigenbasis of the noise, orthonormal columns, shape ``(R, spikes)``.
    """

    model: SpikedModel
    noise: NDArray[np.float64]
    directions: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("noise", "directions"):
            object.__setattr__(self, name, freeze(name, getattr(self, name)))

    @property
    def R(self) -> int:
        """Dimension."""
        return len(self.noise)

    @cached_property
    def _unit(self) -> float:
        return power_of_two(self.noise, self.model.spikes)

    @cached_property
    def _scaled(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Noise and spikes in a unit of their own size; a spike that vanishes next to the rest keeps its inverse."""
        spikes = np.asarray(self.model.spikes) / self._unit
        return self.noise / self._unit, np.copysign(np.maximum(np.abs(spikes), _SMALLEST), spikes)

    @cached_property
    def _ascending(self) -> NDArray[np.float64]:
        return np.ascontiguousarray(self._scaled[0][::-1])

    def count_above(self, point: float) -> int:
        """Return the number of eigenvalues above a point; a noise eigenvalue at the very point counts as below it.

        >>> draw = RotatedDraw(SpikedModel((1.0,)), np.array([1.0, -1.0]), np.array([[0.6], [0.8]]))
        >>> draw.count_above(1.0), draw.count_above(1.2), draw.count_above(1.5)
        (1, 1, 0)
        """
        return self._count_above(point / self._unit)

    def _count_above(self, point: float) -> int:
        noise, spikes = self._scaled
        gaps = point - noise
        first = len(noise) - int(self._ascending.searchsorted(point + _SMALLEST, "right"))
        last = len(noise) - int(self._ascending.searchsorted(point - _SMALLEST, "left"))
        near = gaps[first:last]
        near[np.abs(near) < _SMALLEST] = _SMALLEST
        above = first + int(np.count_nonzero(near < 0.0))
        if not len(spikes):
            return above
        inverse = 1.0 / spikes
        if len(inverse) == 1:
            direction = self.directions[:, 0]
            outside = int(inverse[0] < direction @ (direction / gaps))
        else:
            shifted = np.diag(inverse) - self.directions.T @ (self.directions / gaps[:, None])
            if np.abs(shifted).max() > _EVEN:
                shifted = self._in_own_units(gaps, inverse)
            outside = int((np.linalg.eigvalsh(shifted) < 0).sum())
        return above + outside - int((inverse < 0).sum())

    def _in_own_units(self, gaps: NDArray[np.float64], inverse: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a matrix congruent to the inertia's, ``(spikes, spikes)``, with all directions of order 1."""
        rows = np.vstack([np.diag(np.sqrt(np.abs(inverse))), self.directions / np.sqrt(np.abs(gaps))[:, None]])
        signs = np.concatenate([np.sign(inverse), -np.sign(gaps)])
        triangle, order = qr(rows.T, mode="r", pivoting=True, overwrite_a=True, check_finite=False)
        triangle /= np.linalg.norm(triangle, axis=1, keepdims=True)
        return (triangle * signs[order]) @ triangle.T

    def eigenvalue(self, index: int) -> float:
        """Return the ``index``-th largest eigenvalue, anywhere in the spectrum, to 1e-13 of the bracket it lies in.

        Raises:
            ValueError: an index that is not between 1 and R.
        """
        R, (noise, spikes) = self.R, self._scaled
        if not 1 <= index <= R:
            raise ValueError(f"index must lie between 1 and R = {R}, got {index}")
        index = require_order("index", index)
        positive = sum(spike > 0 for spike in spikes)
        negative = len(spikes) - positive
        # Weyl: at most ``positive`` eigenvalues move up past one of the noise, at most ``negative`` down.
        low = noise[index - 1 + negative] if index + negative <= R else noise[-1] + min(spikes)
        high = noise[index - 1 - positive] if index > positive else noise[0] + max(spikes)
        scale = max(abs(low), abs(high), np.finfo(float).tiny)
        low, high = low - 1e-15 * scale, high + 1e-15 * scale
        for _ in range(_STEPS):
            middle = 0.5 * (low + high)
            if high - low <= 1e-13 * scale:
                break
            low, high = (middle, high) if self._count_above(middle) >= index else (low, middle)
        return self._unit * float(0.5 * (low + high))

    def top(self, count: int) -> NDArray[np.float64]:
        """Return the ``count`` largest eigenvalues, in decreasing order."""
        return np.array([self.eigenvalue(index) for index in range(1, require_order("count", count) + 1)])

    def bottom(self, count: int) -> NDArray[np.float64]:
        """Return the ``count`` smallest eigenvalues, in increasing order."""
        return np.array([self.eigenvalue(self.R - index) for index in range(require_order("count", count))])

    def stable_rank(self) -> StableRank:
        r"""Return the stable rank, with $\|H\|_F^2 = \sum d_j^2 + 2\sum_i\theta_i v_i^T D v_i + \sum\theta_i^2$."""
        noise, spikes = self._scaled
        along = (noise[:, None] * self.directions**2).sum(axis=0)
        squared = float(noise @ noise + 2.0 * spikes @ along + spikes @ spikes)
        reach = self._unit * (noise[0] + max(0.0, *spikes, 0.0)), -self._unit * (noise[-1] + min(0.0, *spikes, 0.0))
        norm = self.eigenvalue(1) if reach[0] >= reach[1] else -self.eigenvalue(self.R)
        if min(reach) > norm:  # by Weyl the other end can reach further
            norm = max(norm, -self.eigenvalue(self.R) if reach[0] >= reach[1] else self.eigenvalue(1))
        if norm == 0.0:
            raise ValueError("the zero matrix has no stable rank")
        value = squared / (norm / self._unit) ** 2
        return StableRank(value, value * norm * norm, norm)


def law_spectrum(law: Law, R: int) -> NDArray[np.float64]:
    """Return R points that follow a law, in decreasing order: its quantiles at (j - 1/2) / R.

    The distribution function is inverted by interpolation between points that crowd at the edges, to about 1e-6 of the
    width of the law; next to edges and jumps inside by bisection. Levels inside an atom give its location.
    """
    levels = (np.arange(check_dimension(R)) + 0.5) / R
    lower, upper = law.support
    grid = lower + (upper - lower) * np.sin(np.linspace(0.0, np.pi / 2, _GRID)) ** 2
    reached = np.maximum.accumulate(law.cdf(grid))
    for location, mass in law.atoms:
        place, up_to = int(grid.searchsorted(location)), float(law.cdf(location))
        grid = np.insert(grid, place, [location, location])
        reached = np.insert(reached, place, [max(up_to - mass, 0.0), up_to])
    reached = np.maximum.accumulate(reached)
    points = np.interp(levels, reached, grid)
    bent = np.concatenate([[False], _bent(reached, grid), [False]])[reached.searchsorted(levels)]
    for location, mass in reversed(law.atoms):
        up_to = float(law.cdf(location))
        inside = (levels > up_to - mass) & (levels <= up_to)
        points[inside], bent[inside] = location, False
    points[bent] = law.quantile(levels[bent])
    return points[::-1].copy()


def _bent(reached: NDArray[np.float64], grid: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether a distribution function bends so much in a cell that interpolation misses by the error."""
    widths, masses = np.diff(grid), np.diff(reached)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.nan_to_num(masses / widths, nan=np.inf, posinf=np.inf)
        change = np.abs(np.diff(slopes))
        missed = widths / 4 * np.maximum(np.append(0.0, change), np.append(change, 0.0)) / slopes
    allowed = _ERROR * (grid[-1] - grid[0])
    return (widths > allowed) & ~(missed <= allowed)


def draw_rotated(
    model: SpikedModel, R: int, rng: np.random.Generator, *, spectrum: ArrayLike | None = None
) -> RotatedDraw:
    """Draw the spiked model with noise whose eigenvectors are uniformly random.

    Args:
        model: spiked model, any noise law.
        R: dimension, at least the number of spikes.
        rng: random generator.
        spectrum: eigenvalues of the noise before scaling, shape ``(R,)``; by default quantiles of the model's law.

    Raises:
        ValueError: R smaller than the number of spikes, or a spectrum that is not R finite real numbers.
    """
    spikes = model.spikes
    R = check_dimension(R, at_least=max(1, len(spikes)))
    noise = law_spectrum(model.noise, R) if spectrum is None else np.sort(require_row("spectrum", spectrum))[::-1]
    if noise.shape != (R,) or not np.isfinite(noise).all():
        raise ValueError(f"the spectrum must be {R} finite numbers, got shape {noise.shape}")
    directions = rng.standard_normal((R, len(spikes)))
    if len(spikes) == 1:
        directions /= np.linalg.norm(directions)
    elif spikes:
        directions = np.linalg.qr(directions)[0]
    return RotatedDraw(model, model.scale * noise, directions)
