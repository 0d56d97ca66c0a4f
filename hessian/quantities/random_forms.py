r"""Intervals for traces from random quadratic forms $z^T A z$, with z uniform on a sphere of radius $\sqrt d$.

A form has mean $\operatorname{tr} A$ and variance $\frac{2d}{d+2} \|A - c\|_F^2$ with $c = \operatorname{tr} A/d$. The
same product that gives a form gives $\|(A - c) z\|^2$, whose mean is that norm, and it varies far less than a sample
variance of the forms. So the interval is that of Student's t, with as many degrees of freedom as the chi-square law
that varies as much as the mean of these squares. For a single direction, where a form is $\chi^2_1$ and no law is
skewer, it covers as often as stated: chance makes form and variance small together, and the few degrees of freedom
outweigh that.

For a projection A of rank k, a form is d times a variable with the law Beta(k/2, (d - k)/2), which depends only on k.
The interval of a count inverts this law and needs no variance.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, sqrt

import numpy as np
from scipy.stats import beta
from scipy.stats import t as student

from hessian.lanczos.krylov import Array

TINY = 1e-12
"""Fraction of the dimension below which a form of a projection is zero."""


def variance_of_form(square: float, directions: float) -> float:
    r"""Return the variance of one form, given $\|A - c\|_F^2$."""
    return 2.0 * directions / (directions + 2.0) * square


def half_width(square: float, directions: float, probes: int, degrees: float, confidence: float) -> float:
    r"""Return half of the width of the interval.

    Args:
        square: Estimate of $\|A - c\|_F^2$.
        directions: d.
        probes: Number of forms.
        degrees: Degrees of freedom of that estimate.
        confidence: Confidence level.
    """
    if square <= 0.0:
        return 0.0
    quantile = float(student.ppf((1.0 + confidence) / 2.0, max(degrees, 0.5)))
    return quantile * sqrt(variance_of_form(square, directions) / probes)


def probes_needed(square: float, directions: float, degrees: float, confidence: float, half: float) -> int:
    """Return the number of forms for half of a width; ``degrees`` are those of one form."""
    if square <= 0.0:
        return 1
    if half <= 0.0:
        return 10**9
    count = 1.0
    for _ in range(4):  # the quantile falls with the number
        quantile = float(student.ppf((1.0 + confidence) / 2.0, max(degrees * count, 0.5)))
        count = min(max(quantile**2 * variance_of_form(square, directions) / half**2, 1.0), 1e9)
    return ceil(count)


def shifted_squares(forms: Array, squares: Array, directions: float) -> tuple[float, Array]:
    r"""Return c and the squares $\|(A - c) z\|^2$, given the forms and $\|A z\|^2$."""
    shift = float(forms.mean()) / directions
    return shift, np.maximum(squares - 2.0 * shift * forms + shift**2 * directions, 0.0)


def count_interval(low: float, high: float, directions: int, probes: int, confidence: float) -> tuple[int, int]:
    """Return the least and the largest rank of a projection that its forms do not contradict.

    Args:
        low: Mean of lower bounds of the forms.
        high: Mean of upper bounds.
        directions: Dimension.
        probes: Number of forms.
        confidence: Confidence level.
    """
    chance = (1.0 - confidence) / 2.0
    least = _search(lambda rank: _chance_above(low, rank, directions, probes) > chance, directions)
    fewer = _search(lambda rest: _chance_below(high, directions - rest, directions, probes) > chance, directions)
    return min(least, directions - fewer), max(least, directions - fewer)


def _search(holds: Callable[[int], bool], most: int) -> int:
    """Return the least number from 0 on for which a monotone statement holds; the largest number if none."""
    first, last = 0, most
    while first < last:
        middle = (first + last) // 2
        first, last = (first, middle) if holds(middle) else (middle + 1, last)
    return first


def _chance_above(mean: float, rank: int, directions: int, probes: int) -> float:
    """Return the chance that the mean form of a projection is at least this."""
    if rank in (0, directions):
        return float(mean <= rank + TINY * directions)
    return float(beta.sf(min(max(mean / directions, 0.0), 1.0), *_beta_law(rank, directions, probes)))


def _chance_below(mean: float, rank: int, directions: int, probes: int) -> float:
    """Return the chance that the mean form of a projection is at most this."""
    if rank in (0, directions):
        return float(mean >= rank - TINY * directions)
    return float(beta.cdf(min(max(mean / directions, 0.0), 1.0), *_beta_law(rank, directions, probes)))


def _beta_law(rank: int, directions: int, probes: int) -> tuple[float, float]:
    """Return the parameters of the law of the mean form over d.

    The mean of independent beta variables is nearly such a variable, of the same mean and of its own variance.
    """
    scale = (probes * (directions + 2) / 2.0 - 1.0) / directions
    return scale * rank, scale * (directions - rank)
