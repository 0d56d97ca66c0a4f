r"""Intervals from few random probes, where a bound of the largest eigenvalue takes the place of a pilot's spread.

Probes z of a matrix C, uniform on the sphere of radius $\sqrt d$, have squares $\|Cz\|^2$ of mean $F = \|C\|_F^2$. If
$\|C\|_2^2 \le b$, no direction carries more than the share b/F of the mean. Of all such weights the most unequal, b on
each of F/b directions, spread the most (Szekely and Bakirov, 2003, on tails of quadratic forms), so that the mean of N
squares is hardly farther from F than $b \chi^2_\nu/N$ with $\nu = NF/b$ degrees of freedom, and never farther than for
a single direction, $\nu = N$. The interval holds those F for which the observed mean is in neither tail. It needs no
estimate of the spread, so that two probes suffice where little is left to estimate.
"""

from __future__ import annotations

import numpy as np
from scipy.special import chdtr, chdtri

from hessian.lanczos.krylov import Array
from hessian.numerics.intervals import Interval

FEWEST = 2
"""Least number of probes."""
MOST_DEGREES = 1e9
"""Degrees of freedom beyond which the law of a mean is a single number."""
PRECISION = 1e-9
"""Relative precision of the ends of an interval."""


def bounded_interval(squares: Array, bound: float, confidence: float) -> Interval:
    r"""Return the interval of $\|C\|_F^2$.

    Args:
        squares: $\|Cz\|^2$ of each probe.
        bound: Upper bound of $\|C\|_2^2$.
        confidence: Confidence level.
    """
    mean, count = float(squares.mean()), len(squares)
    if mean <= 0.0 or bound <= 0.0:
        return Interval(0.0, 0.0, 0.0)
    chance = (1.0 - confidence) / 2.0
    return Interval(mean, *(_solve(mean, count, bound, tail) for tail in (1.0 - chance, chance)))


def bounded_count(mean: float, bound: float, confidence: float, width: float, most: int) -> int:
    """Return the least number of probes whose interval is at most so wide if their mean is as given.

    Args:
        mean: Expected mean of the squares.
        bound: Upper bound of the squared norm.
        confidence: Confidence level.
        width: Distance of the ends.
        most: Returned if so many do not suffice.
    """

    def suffices(count: int) -> bool:
        found = bounded_interval(np.full(count, mean), bound, confidence)
        return found.high - found.low <= width

    first, last = FEWEST, max(most, FEWEST)
    while first < last:
        middle = (first + last) // 2
        first, last = (first, middle) if suffices(middle) else (middle + 1, last)
    return first


def degrees_of(mean: float, bound: float) -> float:
    """Return the degrees of freedom of the law of one probe's square."""
    return max(mean / bound, 1.0) if bound > 0.0 else MOST_DEGREES


def _solve(mean: float, count: int, bound: float, tail: float) -> float:
    """Return the squared norm for which a smaller mean of the probes than the observed one has this chance."""
    scaled = mean * count / bound
    if scaled >= MOST_DEGREES:
        return mean
    if chdtr(count, scaled) <= tail:
        return mean * count / float(chdtri(count, 1.0 - tail))  # a single direction
    low, high = float(count), 2.0 * max(scaled, count)
    while chdtr(high, scaled) > tail:  # it falls with the degrees of freedom
        low, high = high, 2.0 * high
    while high - low > PRECISION * low:
        middle = (low + high) / 2.0
        low, high = (middle, high) if chdtr(middle, scaled) > tail else (low, middle)
    return low * bound / count
