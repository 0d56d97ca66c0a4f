r"""Exact laws behind RoLoRA's probability statements: norms of variables, and what Gaussian samples do to Algorithm 2.

For one client $S = X^\top X/m$, and u the unit vector along $(I - aa^\top)a^*$. The client's minimiser is $\tilde b =
s\,b^*$ with $s - a^\top a^* = \delta S_{au}/S_{aa}$, and $\sqrt m\,S_{au}/S_{aa}$ has Student's law with m degrees of
freedom (a normal variable over the root of an independent $\chi^2_m$). The Schur complement is
$S_{uu} - S_{au}^2/S_{aa} \sim \chi^2_{m-1}/m$, independent of the row of a.
"""

from __future__ import annotations

from collections.abc import Callable
from math import expm1, inf, isfinite, log, log1p, pi, sqrt
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betainc, betaln, erf
from scipy.stats import chi2

from paper_checks.rolora.measurements.settings import Setting

GOLDEN = 0.5 * (sqrt(5.0) - 1.0)

BEST_C1 = 16.0 / 9.0
r"""Largest $c_1$ of eq. (18): $K^4/4$ with $K^2 = 8/3$; the rate of the lower tail tends to $\epsilon_1^2/4$."""

BEST_C3 = GOLDEN + 0.5 * log(GOLDEN)
r"""Largest $c_3$ of eq. (29): the rate of $|zw|$ sums at $\epsilon_2 = 1$, since rate over $\epsilon^2$ decreases."""

BEST_C5 = 0.5 * (1.0 - log(2.0))
r"""Largest $c_5$ of eq. (61): the rate of the upper tail of $\chi^2$ at $\epsilon_3 = 1$."""


def orlicz_norm(mean_of_exponential: Callable[[float], float], pole: float) -> float:
    r"""Return the norm $\inf\{t : E\exp(|\xi|/t) \le 2\}$ from $\lambda \mapsto E\exp(\lambda|\xi|)$.

    Args:
        mean_of_exponential: increasing, finite below the pole.
        pole: where it becomes infinite.
    """
    return 1.0 / brentq(lambda rate: mean_of_exponential(rate) - 2.0, 0.0, pole * (1.0 - 1e-9), xtol=1e-14)


def discrete_norm(values: NDArray[Any], masses: NDArray[Any], power: int) -> float:
    r"""Return the $\psi_1$ (power 1) or $\psi_2$ (power 2) norm of a law with finitely many values."""
    sizes = np.abs(values) ** power
    if not sizes.any():
        return 0.0
    scale = float(sizes.max())
    # At rate log(2)/max the mean is at most 2; it reaches 2 at the latest where the largest value does by itself.
    last = log(2.0 / float(masses[sizes == scale].sum())) / scale
    rate = brentq(
        lambda one: float(masses @ np.exp(one * sizes)) - 2.0, 0.99 * log(2.0) / scale, 1.01 * last, xtol=1e-14 / scale
    )
    return float(rate ** (-1.0 / power))


def gaussian_product_norm(correlation: float) -> float:
    r"""Return the $\psi_1$ norm of the product of two standard normal variables, by an integral over the angle."""
    angles = np.linspace(0.0, 2.0 * np.pi, 4001)[:-1]
    product = np.abs(np.cos(angles) * np.cos(angles - np.arccos(np.clip(correlation, -1.0, 1.0))))
    return orlicz_norm(lambda rate: float(np.mean(1.0 / (1.0 - 2.0 * rate * product))), 1.0 / (1.0 + abs(correlation)))


def chi_square_tails(room: float, n: int) -> tuple[float, float]:
    r"""Return $\log P(\chi^2_n \le (1 - room)n)$ and $\log P(\chi^2_n \ge (1 + room)n)$, even too small for floats."""
    low, high = (1.0 - room) * n, (1.0 + room) * n
    found = [float(chi2.logcdf(low, n)), float(chi2.logsf(high, n))]
    for place, ends in enumerate(((0.0, low / 2.0), (high / 2.0, mpmath.inf))):
        if not isfinite(found[place]):
            found[place] = float(mpmath.log(mpmath.gammainc(n / 2.0, *ends, regularized=True)))
    return found[0], found[1]


NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(400)


def student_tail(room: float, m: float) -> float:
    r"""Return $\log P(\|\tilde b - g\| > room\,\delta\|b^*\|)$ of one client: two-sided tail of $t_m/\sqrt m$.

    Up to the median from the incomplete beta function, or the error function for very large m. Beyond, the density
    $(1 + s^2)^{-(m+1)/2}$ is integrated from ``room`` on in u, $\frac{u^2}m = \log\frac{1+s^2}{1+room^2}$.
    """
    m, start = float(m), log1p(room**2)
    below = float(betainc(0.5, 0.5 * m, -expm1(-start)) if m < 1e10 else erf(sqrt(0.5 * m * start)))
    if below < 0.5:
        return log1p(-below)
    half = float(betaln(0.5, 0.5 * m)) if m < 1e6 else 0.5 * log(2.0 * pi / m) + 0.25 / m
    u = 6.0 * (1.0 + NODES)
    integrand = u * np.exp(-0.5 * u**2 * (1.0 - 1.0 / m)) / np.sqrt(np.expm1(start + u**2 / m))
    return float(log(2.0) - half - log(m) - 0.5 * (m - 1.0) * start + log(6.0 * NODE_WEIGHTS @ integrand))


SINE, COSINE = 0.6, 0.8


def schur_tail(room: float, m: int) -> float:
    r"""Return $\log P(|R - 1| > room)$ for $mR \sim \chi^2_{m-1}$."""
    below = float(chi2.logcdf(m * (1.0 - room), m - 1)) if room < 1.0 else -inf
    return float(np.logaddexp(chi2.logsf(m * (1.0 + room), m - 1), below))


def deviation_tails(one: Setting, factor: float) -> tuple[float, float]:
    r"""Bound the log-probability that the deviation exceeds $2\tilde\epsilon\,factor\,\delta\|b^*\|^2$."""
    limit = one.e2 / (1.0 - one.e0) * factor
    # From below: T within one level, only R beyond the limit; both are independent.
    apart = student_tail(one.level, one.m)
    least = COSINE - one.level * SINE
    low = log1p(-np.exp(min(apart, -1e-12))) + schur_tail(limit / least, one.m) if least > 0 else -inf
    # From above: T beyond a level, or one of the three parts beyond a third of the square.
    part = limit / (COSINE + one.level * SINE) / 3.0**0.5
    across = chi2.logsf(0.5 * part**2 * one.m, one.d - 2) if one.d > 2 else -inf
    tails = [apart, student_tail(part, one.m), schur_tail(part, one.m), schur_tail(1.0, one.m), float(across)]
    return float(low), min(0.0, float(np.logaddexp.reduce(tails)))
