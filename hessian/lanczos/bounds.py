r"""Bounds of the norms of a symmetric matrix, given a Krylov basis of it and random probes of the rest.

With $H V^T = V^T T + Q^T B$ and $C = (1 - V^TV) H (1 - V^TV)$: $\|H\|_F^2 = \|T\|_F^2 + 2\|B\|_F^2 + \|C\|_F^2$,
and every eigenvalue beyond $c \ge \|C\|_2$ is at most the $\lambda$ that solves
$\lambda = \lambda_{max}(T + B^TB/(\lambda - c))$.

Without such a c there is a bound that holds with a probability. A unit eigenvector u to an eigenvalue $\lambda$ has
$Vu = (\lambda - T)^{-1} B^T Q u$, which limits its part along the starting vector, the more the farther $\lambda$ is
beyond the Ritz values: $\langle v_1, u\rangle^2 \le m^T (1 + M^TM)^{-1} m$ with $M = (\lambda - T)^{-1}B^T$ and m the
first row of M. A starting vector uniform on the sphere has $\langle v_1, u\rangle^2 \sim$ Beta(1/2, (P - 1)/2), so this
part is hardly ever so small (van Dorsselaer, Hochstenbach and van der Vorst, 2000). The event depends only on the
starting vector, so it does not matter how the number of steps was chosen.

The same holds for the compression of H to the complement of given rows W, with V the other rows and the first of them
a vector uniform on the sphere of that complement. W may depend on anything but this vector. So approximate eigenvectors
of an earlier matrix may be given: if they are good, the bound c of the complement is far below the largest Ritz value,
and the certificate above then bounds the eigenvalues of H itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import inf, log, sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.stats import beta

from hessian.lanczos.krylov import Array, Krylov
from hessian.numerics.intervals import Interval
from hessian.numerics.symmetric import CurvatureError

MISSED = 0.05
"""Share of the error probability that is left to a starting vector which hides an extreme eigenvalue."""
PLACES = 120
"""Bounds that are tried where there were several starting vectors; what rises and falls between two is not seen."""


def known_square(krylov: Krylov) -> float:
    """Return the part of the squared Frobenius norm that the basis contains."""
    return float((krylov.compression**2).sum() + 2.0 * (krylov.coupling**2).sum()) + 2.0 * krylov.lost_square


def spectral_norm(krylov: Krylov, rest_square: float, confidence: float) -> Interval:
    r"""Return the interval from the largest Ritz value in modulus to the upper bound of the norm.

    Args:
        krylov: The basis, whose first row was drawn at random.
        rest_square: Upper bound of $\|C\|_F^2$.
        confidence: Confidence level of what the norm is part of; a share `MISSED` of the rest is used up here.
    """
    low, probable = krylov.largest, probable_norm(krylov, MISSED * (1.0 - confidence))
    high = min(probable, certified_norm(krylov, sqrt(rest_square)))
    return Interval(low, low, high + krylov.rounding + sqrt(krylov.lost_square))


def probable_norm(krylov: Krylov, chance: float) -> float:
    """Return an upper bound of the spectral norm that fails with at most this chance, over the starting vector.

    Args:
        krylov: The basis, whose first row was drawn at random, in the complement of given rows if there are any. Then
            the bound follows from the bound of the complement.
        chance: Chance that the row sees too little of an eigenvector.

    Raises:
        CurvatureError: The basis was restarted, so the row is gone.
    """
    return krylov.remember(("probable norm", chance), lambda: _probable_norm(krylov, chance))


def _probable_norm(krylov: Krylov, chance: float) -> float:
    if krylov.given:
        c = complement_norm(krylov, chance)
        return max(certified_end(krylov, sign, c, max(c, krylov.largest)) for sign in (1.0, -1.0))
    if krylov.restarted:
        raise CurvatureError("after a restart the first row is not random, so it gives no bound on the norm")
    return _probable_bound(_Seen.of(krylov), chance / 2.0, (1.0, -1.0))


def complement_norm(krylov: Krylov, chance: float) -> float:
    """Return an upper bound of the norm in the complement of the given rows, which fails with at most this chance.

    Args:
        krylov: The basis, whose first row that was not given was drawn at random in the complement of those that were.
        chance: Chance that this row sees too little of an eigenvector of the compression to the complement.
    """

    def find() -> float:
        return _probable_bound(_Seen.of_complement(krylov), chance / 2.0, (1.0, -1.0))

    return krylov.remember(("complement norm", chance), find)


def complement_end(krylov: Krylov, sign: float, chance: float) -> float:
    """Return the same for the largest eigenvalue of the matrix times a sign."""

    def find() -> float:
        return _probable_bound(_Seen.of_complement(krylov), chance, (sign,))

    return krylov.remember(("complement end", sign, chance), find)


def probable_end(krylov: Krylov, sign: float, chance: float) -> float:
    """Return an upper bound of the largest eigenvalue of the matrix times a sign, which fails with at most this chance.

    Args:
        krylov: The basis, whose first row was drawn at random and not restarted, as for `probable_norm`.
        sign: 1 for the upper end of the spectrum, -1 for the lower one.
        chance: Chance that the row sees too little of an eigenvector.
    """
    if krylov.given:
        c = complement_end(krylov, sign, chance)
        return certified_end(krylov, sign, c, max(c, float((sign * krylov.ritz()[0]).max())))
    return krylov.remember(("probable end", sign, chance), lambda: _probable_bound(_Seen.of(krylov), chance, (sign,)))


@dataclass(frozen=True, eq=False)
class _Seen:
    """Part of a matrix that a basis shows whose first row is random.

    Attributes:
        P: Dimension.
        theta: Ritz values.
        first: Random row, by its coefficients.
        C: Coupling of the Ritz vectors to the rest.
        alone: The random row is the only start.
    """

    P: int
    theta: Array
    first: Array
    C: Array
    alone: bool

    @staticmethod
    def of(krylov: Krylov) -> _Seen:
        """Return what a basis shows of the matrix."""
        theta, S, _ = krylov.ritz()
        return _Seen(krylov.P, theta, S[0], krylov.coupling @ S, krylov.starts == 1)

    @staticmethod
    def of_complement(krylov: Krylov) -> _Seen:
        """Return what the rows that were not given show of the compression to the complement of those that were."""
        given = np.array(krylov.given, dtype=int)
        inside = np.setdiff1d(np.arange(krylov.size), given)
        outside = np.setdiff1d(np.arange(len(krylov.coupling)), given - krylov.size)
        theta, S = np.linalg.eigh(krylov.compression[np.ix_(inside, inside)])
        return _Seen(krylov.P - len(given), theta, S[0], krylov.coupling[np.ix_(outside, inside)] @ S, False)


def _probable_bound(seen: _Seen, chance: float, signs: tuple[float, ...]) -> float:
    """Return a bound of the matrix times each sign.

    Args:
        seen: Part of the matrix that the basis shows.
        chance: Chance that the row sees too little of an eigenvector at one end.
        signs: 1 for the upper end of the spectrum, -1 for the lower one.
    """
    theta, first, C = seen.theta, seen.first, seen.C
    ends = sorted(((float((sign * theta).max()), sign) for sign in signs), reverse=True)
    low = ends[0][0]
    scale = float(np.abs(theta).max()) + float(np.linalg.norm(C, 2)) if len(C) else 0.0
    if scale == 0.0:
        return low  # the basis is invariant, and a random vector has a part along every eigenvector
    least = _least_part(chance, seen.P)

    def excess(bound: float, sign: float) -> float:
        return _excess(theta, first, C, least, bound, sign)

    def crossing(near: float, start: float, sign: float) -> float:
        far = max(start + scale, near)
        while excess(far, sign) < 0.0:
            far = start + 4.0 * (far - start)
        return float(brentq(excess, near, far, args=(sign,), xtol=1e-12 * scale))

    found = low
    for start, sign in ends:
        near = last = start + 1e-10 * scale
        if seen.alone:
            # It rises with the bound: this end stays below what is found, or is beyond.
            within = excess(max(near, found), sign) >= 0.0
        else:
            # What the first of several is known to see may vanish at some bound and come back beyond.
            places = start + scale * np.r_[1e-10, np.geomspace(1e-6, 64.0, PLACES)]
            below = np.flatnonzero([excess(place, sign) < 0.0 for place in places])
            within = len(below) == 0
            if not within:
                last = float(places[below[-1]])
                near = near if below[0] == 0 else last
        if within:
            found = max(found, near)
        elif (bound := crossing(near, start, sign)) >= last:
            found = max(found, bound)
        else:
            found = max(found, crossing(last, start, sign))
    return found


@lru_cache
def _least_part(chance: float, P: int) -> float:
    """Return the square that a coordinate of a vector uniform on the sphere is below with this chance."""
    return float(beta.ppf(chance, 0.5, (P - 1) / 2.0))


def bound_hidden(krylov: Krylov, bound: float, sign: float, chance: float) -> float:
    """Return up to where the one start may hide an eigenvalue beyond a bound, with more than this chance.

    Args:
        krylov: The basis, whose first row was drawn at random and is the only start.
        bound: Returned if nothing beyond it is hidden; beyond all Ritz values, of the operator times the sign.
        sign: 1 for the upper end, -1 for the lower one.
        chance: Chance that the row sees too little of an eigenvector.
    """
    if krylov.restarted or krylov.starts != 1:
        return inf
    least = _least_part(chance, krylov.P)
    theta, S, _ = krylov.ritz()
    first, C = S[0], krylov.coupling @ S

    def excess(bound: float) -> float:  # not of the basis itself, which the solver would keep in memory
        return _excess(theta, first, C, least, bound, sign)

    if excess(bound) >= 0.0:
        return bound
    far = bound + krylov.largest + abs(bound)
    while excess(far) < 0.0:
        far = bound + 4.0 * (far - bound)
    return float(brentq(excess, bound, far, xtol=1e-12 * abs(far)))


def _excess(theta: Array, first: Array, C: Array, least: float, bound: float, sign: float) -> float:
    """Return by how much, in logarithms, the least part of the first row is more than an eigenvector there can have."""
    M = C / (bound - sign * theta)
    if len(M) == 1:
        most = float(M[0] @ first) ** 2 / (1.0 + float(M[0] @ M[0]))
    else:
        _, sizes, along = np.linalg.svd(M, full_matrices=False)
        most = float(((along @ first) ** 2 * sizes**2 / (1.0 + sizes**2)).sum())
    return log(least) - log(most) if most > 0.0 else inf


def certified_norm(krylov: Krylov, c: float) -> float:
    """Return an upper bound of the spectral norm, given c for C; infinite if c reaches the largest Ritz value."""
    low = krylov.largest
    if c >= low:
        return inf
    return max(certified_end(krylov, sign, c, low) for sign in (1.0, -1.0))


def certified_end(krylov: Krylov, sign: float, c: float, low: float) -> float:
    """Return an upper bound of the largest eigenvalue of the matrix times a sign.

    Args:
        krylov: The basis.
        sign: 1 for the upper end of the spectrum, -1 for the lower one.
        c: Upper bound of the eigenvalues of C times the sign.
        low: More than c, and at least the largest Ritz value times the sign; no bound is less.
    """
    T, B = krylov.compression, krylov.coupling
    if len(B) == 0:
        return low
    square, reach = B.T @ B, float(np.linalg.norm(B, 2))

    def excess(bound: float, sign: float) -> float:
        return bound - float(np.linalg.eigvalsh(sign * T + square / (bound - c))[-1])

    # The highest is at least the solution, since C and T alone have no eigenvalue beyond low.
    return _root(excess, sign, low + 1e-12 * abs(low), low + reach + 1e-9 * (abs(low) + reach))


def _root(excess: Callable[[float, float], float], sign: float, low: float, high: float) -> float:
    if excess(low, sign) >= 0.0:
        return low
    return float(brentq(excess, low, high, args=(sign,), xtol=1e-12 * high))
