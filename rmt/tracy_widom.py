r"""The Tracy-Widom law of real symmetric matrices (beta = 1), from its Fredholm determinant.

The largest eigenvalue of pure GOE noise with bulk edge 2, times R^(2/3), converges to this law:

.. math:: R^{2/3} (\lambda_{\max} - 2) \Rightarrow F_1, \qquad F_1(s) = \det(I - B_s)_{L^2(0, \infty)},
          \quad B_s(u, v) = \mathrm{Ai}(u + v + s).

Sources: Ferrari and Spohn 2005 (the kernel); Bornemann 2010 (the determinant by Gauss-Legendre nodes converges
exponentially); Baik, Buckingham and DiFranco 2008 (the left tail with its constant).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import airy

from .checks import require_reals

NODES = 40
"""Gauss-Legendre nodes; the determinant then agrees with twice as many to rounding for every s right of SEAM."""
SEAM = -9.0
"""Left of this the determinant is a product of factors lost in rounding, and the asymptotic tail is the better one."""
DEAD = (-100.0, 120.0)
"""Beyond these F_1 is 0 and 1 in double precision, with all its derivatives."""
BATCH = 256


@dataclass(frozen=True)
class TracyWidom1:
    r"""The Tracy-Widom law for beta = 1; the variable s has no unit.

    Accuracy: absolute 1e-13 in ``cdf`` and ``pdf``; relative 1e-6 at s = -8, about 5e-5 further left. The upper tail
    ``sf`` keeps its relative accuracy (1e-12) as far as it is representable.

    >>> law = TracyWidom1()
    >>> round(law.cdf(0.0), 12), round(law.mean, 10), round(law.variance, 10)
    (0.831908066203, -1.2065335746, 1.6077810346)
    """

    @property
    def mean(self) -> float:
        """The mean, -1.20653..., integrated once from the density."""
        return _mean_and_variance()[0]

    @property
    def variance(self) -> float:
        """The variance, 1.60778..., integrated once from the density."""
        return _mean_and_variance()[1]

    def cdf(self, s: ArrayLike) -> Any:
        r"""Return the distribution function F_1(s), shaped like s; s may be infinite."""
        return _unwrap(np.exp(_log_cdf(require_reals("s", s))[0]))

    def sf(self, s: ArrayLike) -> Any:
        r"""Return the upper tail 1 - F_1(s), without cancellation."""
        return _unwrap(0.0 - np.expm1(_log_cdf(require_reals("s", s))[0]))

    def pdf(self, s: ArrayLike) -> Any:
        r"""Return the density, the exact derivative of the discretised determinant.

        .. math:: F_1'(s) = -F_1(s) \operatorname{tr}\bigl((I - B_s)^{-1} B_s'\bigr)
        """
        log_cdf, slope = _log_cdf(require_reals("s", s))
        return _unwrap(np.exp(log_cdf) * slope + 0.0)  # + 0.0: no negative zero far right

    def quantile(self, p: ArrayLike) -> Any:
        """Return s with F_1(s) = p for p in [0, 1], else ValueError; absolute accuracy 1e-12 / pdf(s) or better."""
        levels = require_reals("p", p)
        if np.any((levels < 0) | (levels > 1)):
            raise ValueError(f"p must lie in [0, 1], got {levels[(levels < 0) | (levels > 1)][0]}")
        result = np.where(levels > 0.5, np.inf, -np.inf)
        inner = (levels > 0) & (levels < 1)
        result[inner] = _solve_quantile(levels[inner])
        return _unwrap(result)


def _unwrap(values: Any) -> Any:
    """Return a plain number for a scalar argument, the array otherwise."""
    return values if np.ndim(values) else float(values)


def _log_cdf(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return log F_1(s) and its derivative, both shaped like s."""
    flat = np.clip(s.ravel(), *DEAD)
    value, slope = np.empty_like(flat), np.empty_like(flat)
    tail = flat < SEAM
    value[tail], slope[tail] = _left_tail(flat[tail])
    bulk = np.flatnonzero(~tail)
    for start in range(0, len(bulk), BATCH):
        batch = bulk[start : start + BATCH]
        value[batch], slope[batch] = _determinant(flat[batch])
    return value.reshape(s.shape), slope.reshape(s.shape)


def _determinant(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return log-determinant and derivative: one symmetric eigenproblem of NODES nodes for each s."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    length = np.maximum(16.0 - s, 8.0)[:, None]  # Ai(16) is below 1e-19
    u = length * (nodes + 1) / 2
    root = np.sqrt(length * weights / 2)
    ai, ai_prime, _, _ = airy(u[:, :, None] + u[:, None, :] + s[:, None, None])
    weight = root[:, :, None] * root[:, None, :]
    # Eigenvalues keep their absolute accuracy, so the product of 1 - lambda stays positive where an LU determinant,
    # accurate to 1e-16 only, has lost every digit.
    eigenvalues, vectors = np.linalg.eigh(weight * ai)
    rates = np.einsum("ski,ski->si", vectors, (weight * ai_prime) @ vectors)
    return np.log1p(-eigenvalues).sum(axis=1), (-rates / (1 - eigenvalues)).sum(axis=1)


def _left_tail(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Return left-tail expansion, with a relative error of about 0.02 / |s|^3.

    .. math:: F_1(s) \approx 2^{-11/48} e^{\zeta'(-1)/2} |s|^{-1/16} e^{-|s|^3/24 - |s|^{3/2}/(3\sqrt2)}
              \bigl(1 - |s|^{-3/2} / (24\sqrt2)\bigr)
    """
    zeta_prime = -0.16542114370045092  # the derivative of Riemann's zeta at -1
    a, c = -s, 1 / (24 * np.sqrt(2))
    log_constant = zeta_prime / 2 - 11 / 48 * np.log(2)
    value = log_constant - a**3 / 24 - a**1.5 / (3 * np.sqrt(2)) - np.log(a) / 16 + np.log1p(-c * a**-1.5)
    slope = a**2 / 8 + np.sqrt(a) / (2 * np.sqrt(2)) + 1 / (16 * a) - 1.5 * c * a**-2.5 / (1 - c * a**-1.5)
    return value, slope


def _solve_quantile(p: np.ndarray) -> np.ndarray:
    """Run Newton on the logarithm of the smaller tail, kept inside a bracket that shrinks."""
    low, high = np.full_like(p, -30.0), np.full_like(p, 20.0)  # every p of double precision lies inside
    grid, grid_cdf = _table()
    s = np.interp(p, grid_cdf, grid)
    active = np.arange(len(p))
    for _ in range(60):
        x, level = s[active], p[active]
        log_cdf, slope = _log_cdf(x)
        above = log_cdf > np.log(level)
        low[active], high[active] = np.where(above, low[active], x), np.where(above, x, high[active])
        log_sf = np.log(-np.expm1(log_cdf))
        lower_step = (log_cdf - np.log(level)) / slope
        upper_step = -(log_sf - np.log1p(-level)) * np.exp(np.minimum(log_sf - log_cdf, 0.0)) / slope
        new = x - np.where(level > 0.5, upper_step, lower_step)
        inside = (new >= low[active]) & (new <= high[active])
        s[active] = np.where(inside, new, (low[active] + high[active]) / 2)
        # Newton doubles the digits: a step of 1e-7 leaves an error of 1e-14.
        active = active[~inside | (np.abs(new - x) > 1e-7)]
        if len(active) == 0:
            break
    return s


@lru_cache(maxsize=1)
def _table() -> tuple[np.ndarray, np.ndarray]:
    """Return a coarse table of F_1, where the search for quantiles starts."""
    grid = np.linspace(SEAM, 10.0, 96)
    return grid, np.exp(_log_cdf(grid)[0])


@lru_cache(maxsize=1)
def _mean_and_variance() -> tuple[float, float]:
    """Return both moments by Gauss-Legendre on [-10, 15]; the law outside weighs less than 1e-17."""
    nodes, weights = np.polynomial.legendre.leggauss(160)
    s = 12.5 * nodes + 2.5
    log_cdf, slope = _log_cdf(s)
    mass = 12.5 * weights * np.exp(log_cdf) * slope
    mean = float(mass @ s)
    return mean, float(mass @ (s - mean) ** 2)
