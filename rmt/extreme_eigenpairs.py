r"""Eigenpairs from one end of a spectrum known by products with vectors, with every copy of a repeated eigenvalue.

A Krylov space of one start holds one eigenvector of each eigenvalue, so single-start Lanczos skips copies. A second
start in the complement of what was found shows one more copy of each. Its Ritz values never exceed the eigenvalues of
the complement, so one beyond the last value listed belongs on the list. The search ends when there is none.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from rmt.checks import require, require_order
from rmt.spiked import power_of_two

Array = NDArray[np.float64]
Product = Callable[[Array], Array]
Counted = Callable[[float], int]

_SMALL = 500
"""Dimension up to which the whole matrix costs no more than its products."""
_LARGEST = 5000
"""Dimension up to which the whole matrix is worth forming where Lanczos fails."""
_MODEST = 2000
"""Dimension up to which it is worth forming where eigenvalues repeat or crowd."""
_ONE_IN = 20
"""Lanczos is meant for at most one eigenvalue in so many."""
_TOLERANCE = 2e-11
"""Residual of a pair, relative to the norm."""
_COARSE, _SHARE = 1e-2, 30.0
"""The same of the search for copies: at most this, and at most this part of a distance between eigenvalues."""
_SLACK = 1e-9
"""Differences of eigenvalues, relative to the norm, that count as none."""
_RESTARTS = 2000
"""Most restarts of one search: a million dimensions take a quarter of that at the edge of a semicircle."""
_POWERS = 10
"""Products by which the norm is estimated: within a factor of 2 up to a dimension of a million."""


def checked_count(count: int, dimension: int, name: str = "R") -> int:
    """Return a number of eigenpairs as an int.

    Raises:
        ValueError: It is not a whole number between 1 and the dimension - 1.
    """
    require(1 <= count < dimension, f"count must lie between 1 and {name} - 1 = {dimension - 1}, got {count}")
    return require_order("count", count)


def extreme_eigenpairs(
    product: Product, dimension: int, count: int, *, largest: bool, count_beyond: Counted | None = None
) -> tuple[Array, Array]:
    """Return the first eigenvalues from one end of the spectrum inwards, and unit eigenvectors as columns.

    Args:
        product: A symmetric matrix times a vector.
        dimension: Dimension of the matrix.
        count: How many pairs; below the dimension.
        largest: The largest ones, decreasing; else the smallest, increasing.
        count_beyond: How many eigenvalues lie between a point and that end, where this is known: it saves the search
            for copies where there are none.

    Raises:
        ValueError: Eigenvalues lie too close together for Lanczos, at a dimension too large for the whole matrix.
    """
    if dimension <= _SMALL or (dimension <= _LARGEST and _ONE_IN * count > dimension):
        return _of_whole_matrix(product, dimension, count, largest)
    try:
        return _by_lanczos(product, dimension, count, largest, count_beyond)
    except ArpackError:
        require(
            dimension <= _LARGEST,
            f"{count} eigenvalues at this end are too close together to be found by products at dimension "
            f"{dimension}; request fewer, or use a dimension of at most {_LARGEST}",
        )
        return _of_whole_matrix(product, dimension, count, largest)


def _of_whole_matrix(product: Product, dimension: int, count: int, largest: bool) -> tuple[Array, Array]:
    matrix = np.array([product(row) for row in np.eye(dimension)])
    window = (dimension - count, dimension - 1) if largest else (0, count - 1)
    values, vectors = eigh((matrix + matrix.T) / 2, subset_by_index=window, check_finite=False)
    return (values[::-1], vectors[:, ::-1]) if largest else (values, vectors)


def _by_lanczos(
    product: Product, dimension: int, count: int, largest: bool, count_beyond: Counted | None
) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    norm = _norm(product, rng.standard_normal(dimension))
    if norm == 0.0:
        return np.zeros(count), np.eye(dimension, count)
    restarts = dimension // 5 if dimension <= _MODEST else _RESTARTS  # then the whole matrix is faster
    unit = power_of_two(norm) * (1.0 if largest else -1.0)
    values, vectors = np.empty(0), np.empty((dimension, 0))

    def shifted(vector: Array) -> Array:
        """Return the matrix in its unit, plus 3: what was found is at 0, all else between 1 and 5.

        ARPACK compares residuals with the eigenvalue itself, which must therefore not be small.
        """
        vector = np.asarray(vector, dtype=float).reshape(-1)
        image: Array = product(vector) / unit + 3.0 * vector
        return image - vectors @ (values * (vectors.T @ vector))

    operator = LinearOperator((dimension, dimension), matvec=shifted, dtype=float)

    def found(number: int, tolerance: float, start: Array) -> tuple[Array, Array]:
        """Return the largest pairs of what is left, with residuals of at most the tolerance."""
        pairs: tuple[Array, Array] = eigsh(
            operator, k=number, which="LA", v0=start, maxiter=restarts, tol=tolerance / 5.0
        )
        return pairs

    fresh = found(count, _TOLERANCE, rng.standard_normal(dimension))
    while True:
        values, vectors = np.append(values, fresh[0]), np.hstack([vectors, fresh[1]])
        order = np.argsort(-values)[:count]
        last = float(values[order[-1]])
        beyond = values[order] - last
        beyond = beyond[beyond > _SLACK]
        if not len(beyond):  # a copy would not change the list
            break
        if count_beyond is not None:
            if count_beyond((last - _SLACK - 3.0) * unit) <= count:
                break
            if dimension <= _MODEST:
                return _of_whole_matrix(product, dimension, count, largest)
        # What is hidden repeats one of the list: a Ritz pair farther from all of these than its residual is none.
        coarse = max(min(_COARSE, float(beyond.min()) / _SHARE), _TOLERANCE)
        hidden, start = found(1, coarse, rng.standard_normal(dimension))
        if hidden[0] <= last + _SLACK:
            break
        if dimension <= _MODEST:
            return _of_whole_matrix(product, dimension, count, largest)
        fresh = found(1, _TOLERANCE, start[:, 0])
    return (values[order] - 3.0) * unit, vectors[:, order]


def _norm(product: Product, vector: Array) -> float:
    """Return a lower bound on the largest modulus of an eigenvalue, and about that, by the power method."""
    length = _length(vector)
    for _ in range(_POWERS):
        if length == 0.0:
            break
        vector = product(vector / length)
        length = _length(vector)
    return length


def _length(vector: Array) -> float:
    unit = power_of_two(vector)  # squares of the entries may leave double precision
    return unit * float(np.linalg.norm(vector / unit))
