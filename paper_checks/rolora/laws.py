r"""Exact laws behind RoLoRA's probability statements: norms of variables, and what Gaussian samples do to Algorithm 2.

For one client $S = X^\top X/m$, and u the unit vector along $(I - aa^\top)a^*$. The client's minimiser is $\tilde b =
s\,b^*$ with $s - a^\top a^* = \delta S_{au}/S_{aa}$, and $\sqrt m\,S_{au}/S_{aa}$ has Student's law with m degrees of
freedom (a normal variable over the root of an independent $\chi^2_m$). The Schur complement is
$S_{uu} - S_{au}^2/S_{aa} \sim \chi^2_{m-1}/m$, independent of the row of a.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from math import expm1, isfinite, log, log1p, pi, prod, sqrt
from typing import Any

import mpmath
import numpy as np
import sympy
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import betainc, betaln, erf
from scipy.stats import chi2, norm

Array = NDArray[np.float64]
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(400)

GOLDEN = 0.5 * (sqrt(5.0) - 1.0)
BEST_C1 = 16.0 / 9.0
r"""Largest $c_1$ of eq. (18): $K^4/4$ with $K^2 = 8/3$; the rate of the lower tail tends to $\epsilon_1^2/4$."""
BEST_C3 = GOLDEN + 0.5 * log(GOLDEN)
r"""Largest $c_3$ of eq. (29): the rate of $|zw|$ sums at $\epsilon_2 = 1$, since rate over $\epsilon^2$ decreases."""
BEST_C5 = 0.5 * (1.0 - log(2.0))
r"""Largest $c_5$ of eq. (61): the rate of the upper tail of $\chi^2$ at $\epsilon_3 = 1$."""


def orlicz_norm(mean_of_exponential: Callable[[float], float], pole: float) -> float:
    r"""The norm $\inf\{t : E\exp(|\xi|/t) \le 2\}$ from $\lambda \mapsto E\exp(\lambda|\xi|)$.

    Args:
        mean_of_exponential: increasing, finite below the pole.
        pole: where it becomes infinite.
    """
    return 1.0 / brentq(lambda rate: mean_of_exponential(rate) - 2.0, 0.0, pole * (1.0 - 1e-9), xtol=1e-14)


def discrete_norm(values: NDArray[Any], masses: NDArray[Any], power: int) -> float:
    r"""$\psi_1$ (power 1) or $\psi_2$ (power 2) norm of a law with finitely many values."""
    sizes = np.abs(values) ** power
    if not sizes.any():
        return 0.0
    scale = float(sizes.max())
    # At rate log(2)/max the mean is at most 2; it reaches 2 at the latest where the largest value alone does.
    last = log(2.0 / float(masses[sizes == scale].sum())) / scale
    rate = brentq(
        lambda one: float(masses @ np.exp(one * sizes)) - 2.0, 0.99 * log(2.0) / scale, 1.01 * last, xtol=1e-14 / scale
    )
    return float(rate ** (-1.0 / power))


def gaussian_product_norm(correlation: float) -> float:
    r"""$\psi_1$ norm of the product of two standard normal variables, by an integral over the angle."""
    angles = np.linspace(0.0, 2.0 * np.pi, 4001)[:-1]
    product = np.abs(np.cos(angles) * np.cos(angles - np.arccos(np.clip(correlation, -1.0, 1.0))))
    return orlicz_norm(lambda rate: float(np.mean(1.0 / (1.0 - 2.0 * rate * product))), 1.0 / (1.0 + abs(correlation)))


def centred_product_norm(correlation: float) -> float:
    r"""$\psi_1$ norm of $zw - \rho$ for standard normal z, w of correlation $\rho \ge 0$.

    In polar coordinates $zw = Qk$ with k a function of the angle and Q exponential of mean 2; the mean over Q is in
    closed form on either side of $Qk = \rho$.
    """
    angles = np.linspace(0.0, 2.0 * np.pi, 4001)[:-1]
    k = np.cos(angles) * np.cos(angles - np.arccos(np.clip(correlation, -1.0, 1.0)))
    against, along = -k[k <= 0.0], k[k > 0.0]
    turn = correlation / along

    def mean(rate: float) -> float:
        far = np.exp(rate * correlation) / (1.0 - 2.0 * rate * against)
        below = np.exp(rate * correlation) * -np.expm1(-turn * (0.5 + rate * along)) / (1.0 + 2.0 * rate * along)
        above = np.exp(-rate * correlation - turn * (0.5 - rate * along)) / (1.0 - 2.0 * rate * along)
        return float((far.sum() + below.sum() + above.sum()) / len(k))

    return orlicz_norm(mean, 1.0 / (1.0 + correlation))


def chi_square_tails(room: float, n: int) -> tuple[float, float]:
    r"""$\log P(\chi^2_n \le (1 - room)n)$ and $\log P(\chi^2_n \ge (1 + room)n)$, too small for floats or not."""
    low, high = (1.0 - room) * n, (1.0 + room) * n
    found = [float(chi2.logcdf(low, n)), float(chi2.logsf(high, n))]
    for place, ends in enumerate(((0.0, low / 2.0), (high / 2.0, mpmath.inf))):
        if not isfinite(found[place]):
            found[place] = float(mpmath.log(mpmath.gammainc(n / 2.0, *ends, regularized=True)))
    return found[0], found[1]


def student_tail(room: float, m: float) -> float:
    r"""$\log P(\|\tilde b - g\| > room\,\delta\|b^*\|)$ of one client: two-sided tail of $t_m/\sqrt m$.

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


def product_tail(room: float, m: int) -> float:
    r"""$\log P(|\sum_j z_jw_j| \ge room\,m)$ for 2m independent normal variables: $|N(0,1)|\,\chi_m \ge room\,m$.

    Conditional on the $z_j$ the sum is normal; by the half-angle form of its density, $P = E\,2\Phi(-room\,m/\chi_m)$.
    The integrand is smooth in $\log\chi_m$ and vanishes at both ends, so that the trapezoidal rule is exact to
    rounding.
    """
    middle = 0.5 * m * (1.0 + sqrt(1.0 + 4.0 * room**2))  # where the integrand is largest
    width = min(20.0 / sqrt(m), 12.0)
    y = middle * np.exp(2.0 * np.linspace(-width, min(width, 4.0), 4001))
    logs = chi2.logpdf(y, m) + np.log(y) + log(2.0) + norm.logsf(room * m / np.sqrt(y))
    top = float(logs.max())
    return top + log(float(np.trapezoid(np.exp(logs - top), np.log(y))))


def column_tail(room: float, n: int, d: int) -> float:
    r"""$P(\|(S - I)v\| \ge room)$ for a unit vector v and S of n samples in d dimensions, room at most 1.

    Along v it is $\chi^2_n/n - 1$, across it $\sqrt{\chi^2_n\chi^2_{d-1}}/n$ with independent variables. With
    $room\sin\varphi$ along v the rest is smooth in $\varphi$.
    """
    angle = 0.5 * pi * NODES
    y = n * (1.0 + room * np.sin(angle))
    rest = (room * n * np.cos(angle)) ** 2 / y
    density = chi2.pdf(y, n) * n * room * np.cos(angle) * 0.5 * pi
    along = chi2.cdf(n * (1.0 - room), n) + chi2.sf(n * (1.0 + room), n)
    return float(along + (NODE_WEIGHTS * density) @ chi2.sf(rest, d - 1))


def plane_tail(room: float, m: int) -> float:
    r"""$\log P(\|(S - I)v\| \ge room)$ for v along $Ta - u$ in the plane, one client's own samples, room < 1.

    Along a it is -T and along u it is 1 - R, with $mR \sim \chi^2_{m-1}$, over the root of $1 + T^2$.
    """
    most = room / sqrt(1.0 - room**2)
    angle = 0.25 * pi * (1.0 + NODES)
    t = most * np.sin(angle)
    within = _schur_beyond(room * np.cos(angle), t, m) * most * np.cos(angle) * 0.25 * pi
    return float(np.log(np.exp(student_tail(most, m)) + NODE_WEIGHTS @ within))


def across_tail(room: float, m: int) -> float:
    r"""The same for $u^\top(S - I)v$, from below: without T beyond 50."""
    most = min(50.0, 20.0 / sqrt(m))
    edge = min(most, sqrt(1.0 / room**2 - 1.0))  # beyond, R is never small enough; up to it, smooth in the angle
    angle = 0.25 * pi * (1.0 + NODES)
    parts = (
        (edge * np.sin(angle), edge * np.cos(angle) * 0.25 * pi),
        (edge + 0.5 * (most - edge) * (1.0 + NODES), 0.5 * (most - edge) * np.ones_like(angle)),
    )
    return float(
        np.log(sum((NODE_WEIGHTS * slope) @ _schur_beyond(room * np.sqrt(1.0 + t**2), t, m) for t, slope in parts))
    )


def _schur_beyond(apart: Array, t: Array, m: int) -> Array:
    """Probability that R is that far from 1, times the density of T at that size."""
    missing = chi2.sf(m * (1.0 + apart), m - 1) + chi2.cdf(m * (1.0 - apart), m - 1)
    return np.asarray(np.exp(log(2.0) - betaln(0.5, 0.5 * m) - 0.5 * (m + 1.0) * np.log1p(t**2)) * missing)


def integral(function: Callable[[float], float], low: float, high: float) -> float:
    """Numerical integral."""
    return float(quad(function, low, high, limit=200, epsabs=1e-12)[0])


def squares_and_inverses(N: int) -> tuple[tuple[sympy.Symbol, ...], tuple[sympy.Symbol, ...]]:
    r"""Symbols $q_i = \chi^2_m/m$ and $w_i = 1/(mq_i)$ of N independent clients."""
    return sympy.symbols(f"q:{N}"), sympy.symbols(f"w:{N}")


def expected(polynomial: sympy.Expr, N: int, m: int) -> float:
    """Expectation of a polynomial in those symbols, by moments of chi-square and its inverse.

    >>> expected(sympy.Symbol("q0") * sympy.Symbol("w0") + sympy.Symbol("w0"), 1, 4)
    0.75
    """
    whole = sympy.Poly(polynomial, *chain(*squares_and_inverses(N)))

    def moment(power: int) -> float:
        if power < 0:
            return 1.0 / prod(m - 2 * i for i in range(1, 1 - power))
        return float(prod(m + 2 * i for i in range(power)))

    return sum(
        float(factor) * prod(moment(a - b) / float(m) ** a for a, b in zip(powers[:N], powers[N:], strict=True))
        for powers, factor in whole.terms()
    )
