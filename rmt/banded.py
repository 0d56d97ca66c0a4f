r"""The spiked Gaussian model as an exact band matrix, for dimensions far beyond any dense matrix.

The orthogonal group leaves Gaussian noise (GOE) alone, so $k$ spikes may sit on the first $k$ coordinates, and
Householder reflections that fix those coordinates bring the matrix to half-width $k$ without changing eigenvalues or
the components of eigenvectors along the spikes. Row by row the band is independent: Gaussian inside, $\chi$ on the
outermost diagonal. Eigenvectors of outliers decay geometrically along the band and those of the edge beyond
$O(R^{1/3})$ rows like the Airy function, so only the first rows are ever drawn; what the rest adds to the Frobenius
norm is a single $\chi^2$.

Source: Dumitriu and Edelman (2002) for the reduction, Bloemendal and Virág (2016) for several spikes, Edelman and
Persson (2005) for the number of rows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf, log

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eig_banded, eigh_tridiagonal
from scipy.linalg.lapack import dgbtrf, dgbtrs
from scipy.sparse import csc_array, diags_array, eye_array
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from rmt.checks import freeze, require, require_number, require_order, require_reals
from rmt.spiked import SpikedModel, StableRank, check_dimension, power_of_two

# Airy length beyond the turning point at which an edge eigenvector has left no weight that doubles can see.
_AIRY_TAIL = 6.5
# Above this size a band of several spikes is cheaper by shift and invert than by reduction to tridiagonal form, for at
# most one eigenvalue in so many: each takes a vector that is kept orthogonal to all others.
_LONG_BAND = 1500
_ONE_IN = 20
_HEAD = 600
# Eigenvectors of eigenvalues closer than this would keep, by rounding, a part of each other above 1e-9.
_CLOSE = 1e-6


@dataclass(frozen=True, eq=False)
class BandedDraw:
    """One draw of the spiked Gaussian model, reduced to its first rows.

    Attributes:
        model: the model it was drawn from.
        R: dimension of the full matrix.
        band: lower band, shape ``(width + 1, rows)``: ``band[d, i]`` is the entry ``(i + d, i)``.
        rest_norm: Frobenius norm of all that lies outside the kept rows.
        top_kept: number of largest eigenvalues, of those asked for, that the kept rows determine.
        bottom_kept: the same for the smallest.
    """

    model: SpikedModel
    R: int
    band: NDArray[np.float64]
    rest_norm: float
    top_kept: int
    bottom_kept: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "band", freeze("band", self.band))

    @property
    def rows(self) -> int:
        """Number of rows kept."""
        return self.band.shape[1]

    @cached_property
    def _scaled(self) -> tuple[NDArray[np.float64], float]:
        """The band in a unit of its own size, and the unit: solvers square entries and know absolute thresholds."""
        unit = power_of_two(self.band)
        return self.band / unit, unit

    def top(self, count: int) -> NDArray[np.float64]:
        """Return the ``count`` largest eigenvalues, in decreasing order.

        Raises:
            ValueError: more eigenvalues asked for than the kept rows determine.
        """
        band, unit = self._scaled
        return unit * _largest(band, self._checked(count, self.top_kept))[0]

    def bottom(self, count: int) -> NDArray[np.float64]:
        """Return the ``count`` smallest eigenvalues, in increasing order.

        Raises:
            ValueError: more eigenvalues asked for than the kept rows determine.
        """
        band, unit = self._scaled
        return -unit * _largest(-band, self._checked(count, self.bottom_kept))[0]

    def at(self, index: int) -> float:
        """Return the ``index``-th largest eigenvalue, anywhere in the spectrum; needs all rows and at most one spike.

        Raises:
            ValueError: rows are missing, the band is wider than tridiagonal, or the index is out of range.
        """
        if self.rows < self.R or self.band.shape[0] > 2:
            raise ValueError(f"needs all {self.R} rows and at most one spike, got {self.rows} rows")
        if not 1 <= index <= self.R:
            raise ValueError(f"index must lie between 1 and R = {self.R}, got {index}")
        index = require_order("index", index)
        window, (band, unit) = (self.R - index, self.R - index), self._scaled
        return unit * float(
            eigh_tridiagonal(band[0], band[1, :-1], eigvals_only=True, select="i", select_range=window)[0]
        )

    def top_components(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        r"""Return the largest eigenvalues and $\langle v_j, u_i\rangle$, shape ``(count, spikes)``, spikes decreasing.

        The sign of each eigenvector is arbitrary.
        """
        band, unit = self._scaled
        values, vectors = _largest(band, self._checked(count, self.top_kept), vectors=True)
        return unit * values, vectors[: len(self.model.spikes)].T

    def bottom_components(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the same as ``top_components`` for the smallest eigenvalues in increasing order."""
        band, unit = self._scaled
        values, vectors = _largest(-band, self._checked(count, self.bottom_kept), vectors=True)
        return -unit * values, vectors[: len(self.model.spikes)].T

    def top_overlaps(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        r"""Return the largest eigenvalues and $|\langle v_j, u_i\rangle|^2$, ``(count, spikes)``, spikes decreasing."""
        values, components = self.top_components(count)
        return values, components**2

    def bottom_overlaps(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the same as ``top_overlaps`` for the smallest eigenvalues in increasing order."""
        values, components = self.bottom_components(count)
        return values, components**2

    def stable_rank(self) -> StableRank:
        """Return the stable rank of the full matrix of this draw, exact for any number of rows kept.

        Raises:
            ValueError: the kept rows do not determine the end of the spectrum that has the largest absolute value.
        """
        highest = max([self.model.bulk_edges[1], *(o.location for o in self.model.outliers)])
        lowest = min([self.model.bulk_edges[0], *(o.location for o in self.model.outliers)])
        if self.rows < self.R:
            if highest >= -lowest:
                self._checked(1, self.top_kept)
            if -lowest >= highest:
                self._checked(1, self.bottom_kept)
        # At small R the other end can win; what the kept rows say of it is a lower bound and exact if they are all.
        band, unit = self._scaled
        norm = max(float(_largest(band, 1)[0][0]), float(_largest(-band, 1)[0][0]))
        value = float((band[0] ** 2).sum() + 2 * (band[1:] ** 2).sum() + (self.rest_norm / unit) ** 2) / norm**2
        return StableRank(value, value * (unit * norm) * (unit * norm), unit * norm)

    def counts_below(self, grid: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of eigenvalues of the kept rows at or below each point of a grid, by Sturm sequences.

        With all rows kept this is the global distribution of the spectrum without computing one eigenvalue.

        Args:
            grid: points, shape ``(points,)``.

        Raises:
            ValueError: a band of more than one spike (its Sturm sequence is not scalar).
        """
        if self.band.shape[0] > 2:
            raise ValueError("counts are for models of at most one spike; a few spikes do not change the bulk")
        band, unit = self._scaled
        points = require_reals("grid", grid)
        require(points.ndim == 1, f"the grid must be points in a row, (points,), got shape {points.shape}")
        grid = points / unit
        squares = band[1] ** 2
        counts = np.zeros(grid.shape, dtype=np.int64)
        pivots, ratio = np.ones_like(grid), np.empty_like(grid)
        tiny = np.finfo(float).tiny
        for start in range(0, self.rows, 512):
            block = band[0, start : start + 512, None] - grid
            for offset, row in enumerate(block):
                if start + offset:
                    np.divide(squares[start + offset - 1], pivots, out=ratio)
                    np.subtract(row, ratio, out=row)
                row[row == 0.0] = -tiny
                pivots = row
            counts += (block < 0.0).sum(axis=0)
        return counts

    def _checked(self, count: int, kept: int) -> int:
        count = require_order("count", count)
        if not 1 <= count <= min(kept, self.rows):
            raise ValueError(
                f"these {self.rows} rows determine {min(kept, self.rows)} eigenvalues at this end, but {count} "
                f"were requested; draw with a larger top or bottom, or with more rows"
            )
        return count


def rows_needed(model: SpikedModel, R: int, top: int = 1, bottom: int = 0, tolerance: float = 1e-12) -> int:
    r"""Return rows that determine the extreme eigenvalues to ``tolerance`` of the bulk edge.

    Outliers need $O(\log(1/\epsilon)/\log(\theta/\sigma s))$ rows, the edge $O(R^{1/3})$; a spike near the threshold
    is served by the rows of the edge.

    Args:
        model: Gaussian spiked model.
        R: dimension.
        top: how many of the largest eigenvalues.
        bottom: how many of the smallest.
        tolerance: error allowed, relative to the edge.

    Returns:
        A number of rows between 1 and R.

    Raises:
        ValueError: counts that are not whole numbers from 0 to R, or a tolerance outside (0, 1).
    """
    R = check_dimension(R, at_least=max(1, len(model.spikes)))
    top, bottom = _counts(top, bottom, R)
    inside = 0.0 < require_number("tolerance", tolerance) < 1.0
    require(inside, f"tolerance must lie between 0 and 1, got {tolerance}")
    width = max(1, len(model.spikes))
    ends = [
        (top, [o.spike for o in model.outliers if o.separated and o.spike > 0]),
        (bottom, [-o.spike for o in reversed(model.outliers) if o.separated and o.spike < 0]),
    ]
    needed = [width]
    for count, outliers in ends:
        airy_zero = (1.5 * np.pi * count) ** (2.0 / 3.0)  # beyond the modulus of the Airy zero of that index
        edge = ceil((width ** (2.0 / 3.0) * _AIRY_TAIL + airy_zero) * R ** (1.0 / 3.0)) + 20 * width
        if 0 < count <= len(outliers):
            decay = log(outliers[count - 1] / model.sigma())
            few = 0.5 * log(1.0 / tolerance) / decay if decay > 0 else inf  # at the threshold, to rounding
            needed.append(edge if few > edge else min(edge, width * (ceil(few) + 15)))
        elif count:
            needed.append(edge)
    return min(R, max(needed))


def _counts(top: int, bottom: int, R: int) -> tuple[int, int]:
    """Return numbers of largest and smallest eigenvalues as ints, if they are whole and from 0 to R."""
    inside = all(0 <= require_number(name, count) <= R for name, count in (("top", top), ("bottom", bottom)))
    require(inside, f"top and bottom must lie between 0 and R = {R}, got {top} and {bottom}")
    return require_order("top", top), require_order("bottom", bottom)


def draw_banded(
    model: SpikedModel, R: int, rng: np.random.Generator, *, top: int = 1, bottom: int = 0, rows: int | None = None
) -> BandedDraw:
    """Draw the spiked Gaussian model (GOE noise: diagonal variance twice the off-diagonal one) in band form.

    Args:
        model: spiked model with semicircular noise.
        R: dimension, at least the number of spikes.
        rng: random generator.
        top: how many of the largest eigenvalues the kept rows must determine.
        bottom: the same for the smallest.
        rows: rows to keep, at most R; by default as many as ``rows_needed`` says. Fewer determine fewer eigenvalues.

    Returns:
        The draw. Its law is exact in everything the kept rows determine.

    Raises:
        ValueError: non-semicircular noise, R smaller than the number of spikes, or a count out of range.
    """
    sigma, spikes = model.sigma(), model.spikes
    R = check_dimension(R, at_least=max(1, len(spikes)))
    top, bottom = _counts(top, bottom, R)
    if rows is None:
        rows = rows_needed(model, R, top, bottom)
    if not max(1, len(spikes)) <= rows <= R:
        raise ValueError(f"rows must lie between {max(1, len(spikes))} and R = {R}, got {rows}")
    rows, width = require_order("rows", rows), max(1, len(spikes))
    scale = sigma / np.sqrt(R)
    band = np.empty((width + 1, rows))
    band[0] = np.sqrt(2.0) * rng.standard_normal(rows)
    for diagonal in range(1, width):
        band[diagonal] = rng.standard_normal(rows)
    degrees = np.maximum(R - width - np.arange(rows, dtype=float), 0.0)
    band[width] = np.sqrt(rng.chisquare(np.maximum(degrees, 1.0))) * (degrees > 0)
    band *= scale
    for diagonal in range(1, width + 1):  # entries that would lie below the last row of the full matrix
        band[diagonal, max(0, R - diagonal) :] = 0.0
    band[0] += model.noise_law.moment(1)
    band[0, : len(spikes)] += spikes
    rest = _rest_norm(model, R, rows, band, scale, rng)
    for diagonal in range(1, width + 1):  # entries that leave the kept rows belong to the rest
        band[diagonal, rows - diagonal :] = 0.0
    kept = [_determined(model, R, rows, *ends) for ends in ((top, 0), (0, bottom))]
    return BandedDraw(model, R, band, rest, *kept)


def _determined(model: SpikedModel, R: int, rows: int, top: int, bottom: int) -> int:
    """Return the number of eigenvalues, of those asked for at one end, that these rows determine."""
    counts = range(1, max(top, bottom) + 1)
    return bisect_right(counts, rows, key=lambda count: rows_needed(model, R, min(top, count), min(bottom, count)))


def _rest_norm(
    model: SpikedModel, R: int, rows: int, band: NDArray[np.float64], scale: float, rng: np.random.Generator
) -> float:
    """Draw the norm outside the kept rows: independent squares, of which only the total is drawn."""
    if rows == R:
        return 0.0
    centre = model.noise_law.moment(1)
    width, unit = band.shape[0] - 1, power_of_two(scale, centre)
    band, centre, scale = band / unit, centre / unit, scale / unit
    leaving = sum(float((band[d, rows - d :] ** 2).sum()) for d in range(1, width + 1))
    left = R - rows
    degrees = float(left) * (left - 1.0) / 2.0
    # Diagonal entries c + sqrt(2) scale g_i: their squares depend on sum g_i and the chi-square around the mean only.
    mean = rng.standard_normal() / np.sqrt(left)
    around = rng.chisquare(left - 1.0) if left > 1 else 0.0
    diagonal = left * (centre + np.sqrt(2.0) * scale * mean) ** 2 + 2.0 * scale**2 * around
    off_diagonal = rng.chisquare(degrees) * scale**2 if degrees else 0.0
    return unit * float(np.sqrt(2.0 * leaving + diagonal + 2.0 * off_diagonal))


def _largest(
    band: NDArray[np.float64], count: int, vectors: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest eigenvalues, decreasing, and if asked for unit eigenvectors as columns; entries of order 1."""
    rows, width = band.shape[1], band.shape[0] - 1
    window = (rows - count, rows - 1)
    if width == 1:
        values = eigh_tridiagonal(
            band[0], band[1, :-1], eigvals_only=True, select="i", select_range=window, lapack_driver="stebz"
        )[::-1]
    elif rows <= _LONG_BAND or _ONE_IN * count > rows:
        values = eig_banded(band, lower=True, eigvals_only=True, select="i", select_range=window)[::-1]
    else:
        values = _largest_of_long_band(band, count)
    if not vectors:
        return values, np.empty((rows, 0))
    found = np.empty((rows, count))
    for index, value in enumerate(values):
        close = np.flatnonzero(np.abs(values[:index] - value) < _CLOSE)
        found[:, index] = _inverse_iteration(band, value, found[:, close])[1]
    return values, found


def _largest_of_long_band(band: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return outliers from the band's head, the edge by shift and invert; the inertia proves that none is missing."""
    rows, matrix = band.shape[1], _sparse(band)
    first = min(rows, max(_HEAD, 10 * count))
    head, window = band[:, :first], (first - count, first - 1)
    guesses = eig_banded(head, lower=True, eigvals_only=True, select="i", select_range=window)
    spread = 2.0 * float(np.sqrt(np.mean(band[-1, :first] ** 2)))
    edge = float(np.median(band[0])) + spread
    rounding = 64.0 * float(np.finfo(float).eps) * float(np.abs(band).max())
    near = count + 3
    while near < rows:
        inverse = LinearOperator((rows, rows), matvec=_solver(band, edge), dtype=float)
        start = np.linspace(1.0, 0.0, rows)
        values = eigsh(matrix, k=near, sigma=edge, OPinv=inverse, v0=start, return_eigenvectors=False)
        pairs = [_inverse_iteration(band, guess) for guess in guesses if guess > values.max()]
        small = max(1e-9 * spread, rounding)
        outliers = [value for value, vector in pairs if _residual(matrix, value, vector) < small]
        # Equal ones are kept: a value that is listed too often fails the count.
        merged = np.sort(np.concatenate([values, outliers]))[::-1][:count]
        if len(merged) == count and _none_missing(matrix, merged, max(1e-12 * spread, rounding)):
            return merged
        near *= 2
    return eig_banded(band, lower=True, eigvals_only=True, select="i", select_range=(rows - count, rows - 1))[::-1]


def _none_missing(matrix: csc_array, values: NDArray[np.float64], slack: float) -> bool:
    """Check that these are the largest eigenvalues, decreasing, up to the slack; several may equal the last."""
    last = float(values[-1])
    found = _count_above(matrix, last - slack)
    if found <= len(values):
        return found == len(values)
    return _count_above(matrix, last + slack) == int((values > last + slack).sum())


def _sparse(band: NDArray[np.float64]) -> csc_array:
    rows, width = band.shape[1], band.shape[0] - 1
    lower = [band[d, : rows - d] for d in range(1, width + 1)]
    offsets = [0, *(-d for d in range(1, width + 1)), *range(1, width + 1)]
    return diags_array([band[0], *lower, *lower], offsets=offsets, format="csc")


def _solver(band: NDArray[np.float64], shift: float) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Solve with the shifted matrix, by LAPACK's banded LU."""
    rows, width = band.shape[1], band.shape[0] - 1
    storage = np.zeros((3 * width + 1, rows))
    storage[2 * width] = band[0] - shift
    for offset in range(1, width + 1):
        storage[2 * width + offset, : rows - offset] = band[offset, : rows - offset]
        storage[2 * width - offset, offset:] = band[offset, : rows - offset]
    factors, pivots, _ = dgbtrf(storage, width, width, overwrite_ab=True)
    return lambda right: dgbtrs(factors, width, width, right, pivots)[0]


def _inverse_iteration(
    band: NDArray[np.float64], value: float, known: NDArray[np.float64] | None = None
) -> tuple[float, NDArray[np.float64]]:
    """Return the eigenpair nearest to ``value``; the shift is moved off the eigenvalue by rounding only.

    Args:
        band: lower band, entries of order 1.
        value: eigenvalue.
        known: eigenvectors of eigenvalues next to it, shape ``(rows, n)``, to which the new one is orthogonal.
    """
    rows = band.shape[1]
    solve = _solver(band, value + 4e-16 * (abs(value) + 1.0))
    vector, quotient = np.linspace(1.0, 0.5, rows), value
    if known is not None and known.shape[1]:  # the same start would leave nothing but what is known already
        vector *= np.cos(known.shape[1] * np.arange(rows))
        vector = _orthogonal(vector, known)
    for _ in range(4):
        found = solve(vector)
        quotient = value + 4e-16 * (abs(value) + 1.0) + float(vector @ vector) / float(vector @ found)
        if known is not None and known.shape[1]:
            found = _orthogonal(found, known)
        vector = found / np.linalg.norm(found)
    return quotient, vector


def _orthogonal(vector: NDArray[np.float64], known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Project a vector off orthonormal columns, in two passes: one leaves rounding of what it removes."""
    for _ in range(2):
        vector = vector - known @ (known.T @ vector)
    return vector


def _residual(matrix: csc_array, value: float, vector: NDArray[np.float64]) -> float:
    """Return distance of a unit vector from an eigenvector; the value is off by its square only."""
    return float(np.linalg.norm(matrix @ vector - value * vector))


def _count_above(matrix: csc_array, shift: float) -> int:
    """Count the eigenvalues above a shift by the signs of the pivots of an unpivoted factorisation (Sylvester)."""
    shifted = (matrix - shift * eye_array(matrix.shape[0], format="csc")).tocsc()
    factor = splu(shifted, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    return int((factor.U.diagonal() > 0).sum())
