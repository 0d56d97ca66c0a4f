"""v1 Appendix A.2: the map from spikes to outliers for a general noise law (eq. 29 to 32)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_checks.claim import Dropped, Evidence, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.domain import POSITIVE, Stated, tried
from paper_checks.methods.inequality import judge_inequality
from rmt.closed_laws import MarchenkoPastur, Semicircle
from rmt.cumulants import free_cumulants_from_moments
from rmt.free import FreeSum
from rmt.general_laws import DensityLaw
from rmt.laws import Law
from rmt.spiked import SpikedModel


@dataclass(frozen=True)
class Continued:
    """A noise law with its R-transform in closed form, which goes on where no z outside the support belongs to it.

    Attributes:
        name: what the law is called.
        law: the law.
        transform: its R-transform, meromorphic.
        accuracy: relative accuracy of its Stieltjes transform.
        numbers: parameters, for the witness.
    """

    name: str
    law: Law
    transform: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    accuracy: float
    numbers: dict[str, float]


def continued_laws() -> tuple[Continued, ...]:
    """Laws with smooth densities: one-sided, symmetric, of negative mean, lopsided; one that jumps at its edges."""

    def poisson(ratio: float) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        return lambda w: 1.0 / (1.0 - ratio * w)

    lopsided = FreeSum(Semicircle(0.5, -1.0), MarchenkoPastur(0.3))
    return (
        Continued("Marchenko-Pastur", MarchenkoPastur(0.25), poisson(0.25), 1e-11, {"ratio": 0.25}),
        Continued("semicircle", Semicircle(1.5), lambda w: 2.25 * w, 1e-11, {}),
        Continued("semicircle of negative mean", Semicircle(1.0, -0.7), lambda w: w - 0.7, 1e-11, {}),
        Continued(
            "Marchenko-Pastur of negative mean",
            MarchenkoPastur(0.4).shifted(-2.0),
            lambda w: poisson(0.4)(w) - 2.0,
            1e-11,
            {},
        ),
        Continued("semicircle [+] Marchenko-Pastur", lopsided, lambda w: 0.25 * w - 1.0 + poisson(0.3)(w), 1e-9, {}),
        Continued(
            "uniform", DensityLaw(lambda x: 0.5, (-1.0, 1.0), "uniform"), lambda w: 1.0 / np.tanh(w) - 1.0 / w, 1e-8, {}
        ),
    )


@dataclass(frozen=True)
class Mapped:
    """Spikes for one law, the thresholds beyond which they separate, and cumulants from the density.

    Attributes:
        of: the law.
        s: factor of the noise, one per spike.
        theta: the spikes.
        threshold: threshold of the same sign, 0 where every spike separates.
        cumulants: by s, those of the scaled law from the moments of its density, and those of the law.
    """

    of: Continued
    s: NDArray[np.float64]
    theta: NDArray[np.float64]
    threshold: NDArray[np.float64]
    cumulants: dict[float, tuple[tuple[float, ...], tuple[float, ...]]]


SCALES = (0.9, 0.25, 0.0075)
ORDER = 6


def _cumulants_by_quadrature(law: Law) -> tuple[float, ...]:
    r"""Free cumulants from moments of the density, by Gauss and Legendre in the angle $x = c + h \sin\phi$."""
    nodes, weights = np.polynomial.legendre.leggauss(120)
    (lower, upper), angles = law.support, 0.5 * np.pi * nodes
    x = 0.5 * (lower + upper) + 0.5 * (upper - lower) * np.sin(angles)
    masses = law.pdf(x) * 0.5 * (upper - lower) * np.cos(angles) * 0.5 * np.pi * weights
    return free_cumulants_from_moments([float(np.sum(masses * x**n)) for n in range(1, ORDER + 1)])


def measure_maps(context: Context) -> list[Mapped]:
    """Spikes of both signs from far below to far above the thresholds of each law."""
    found = []
    for of in continued_laws():
        rng, rows = context.rng(of.name), []
        drawn = np.exp(rng.uniform(-4.0, 4.0, context.size(15, 200)))
        ratios = np.concatenate([[0.01, 0.3, 0.5, 0.8, 0.95, 0.99, 1.01, 1.2, 2.0, 10.0, 1e3], drawn])
        for s in SCALES:
            for sign, threshold in zip((-1.0, 1.0), SpikedModel((), of.law, s).thresholds, strict=True):
                rows += [(s, r * (threshold or sign * s), threshold) for r in ratios]
        s, theta, threshold = np.array(rows).T
        own = of.law.free_cumulants(ORDER)
        cumulants = {scale: (_cumulants_by_quadrature(of.law.scaled(scale)), own) for scale in SCALES}
        found.append(Mapped(of, s, theta, threshold, cumulants))
    return found


@claim(
    "fedloru-v1/eq-29-32",
    where="v1 Appendix A.2, eqs. (29), (31) and (32); iclr Appendix A.2, eqs. (25), (27) and (28); the recursion (30), "
    "iclr (26), is that of fedloru-v2/eq-33",
    says=r"For the noise law $\mu$ and the eigenvalues $\theta$ of $H_{\mathrm{true}}$, k the subordination function, "
    r"the outliers of $H_N$ are the $k^{-1}(\theta_j)$ off the support of $\mu_N \boxplus \nu$; $k^{-1}(\theta) = "
    r"g_{\mu_N \boxplus \nu}^{-1}(g_\nu(\theta)) = \mathcal{R}_{\mu_N}(g_\nu(\theta)) + g_\nu^{-1}(g_\nu(\theta)) = "
    r"\mathcal{R}_{\mu_N}(1/\theta) + \theta$ (29; v1 lacks a parenthesis); from $m_n^{\mu_N} = s(N)^nm_n^\mu$ and "
    r"$C_n^{(\mu_N)} = s(N)^nC_n^{(\mu)}$, $\mathcal{R}_{\mu_N}(\theta) = s(N)\mathcal{R}_\mu(s(N)\theta)$ (31); and, "
    r"as an expression for the outliers of $H_N$, $k^{-1}(\theta) = s(N)\mathcal{R}_\mu(s(N)/\theta) + \theta$ (32).",
    measure=measure_maps,
    readings=(
        Reading(
            "every eigenvalue of the true Hessian",
            r"(29), (31) and (32) for every eigenvalue $\theta \ne 0$ of $H_{\mathrm{true}}$: wherever "
            r"$s(N)\mathcal{R}_\mu(s(N)/\theta) + \theta$ is a number off the support, k is $\theta$ there.",
            why=r"The lines are written for $\theta$ without a condition, and Proposition 3.2 compares (32) with $U_N$ "
            "at every spike.",
        ),
        Reading(
            "the outliers",
            r"(29), (31) and (32) for the outliers of $H_N$, $\theta = k(\lambda)$ with $\lambda$ off the support: for "
            r"$\theta > 1/g_{\mu_N}(U_N^+)$ and $\theta < 1/g_{\mu_N}(L_N^-)$, which is all $\theta \ne 0$ only if "
            r"$g_{\mu_N}$ is infinite at both edges. Between the two, where $\theta$ is no value of k, a formula of "
            r"$\mathcal{R}_\mu$ can go on (for Marchenko-Pastur beyond a pole).",
            {"beyond": 1.0},
            "(32) is called an expression for the outliers, and the lines before it name them.",
            ({"beyond": 0.9}, {"coefficient": 1.001}, {"outer": 0}, {"inner": 0}, {"power_shift": 1}),
        ),
    ),
    uses=("fedloru-v2/eq-33", "fedloru-v2/eq-34"),
    also=("fedloru-iclr/eq-25-28",),
    because=r"As a formula for every $\theta$: k has no value between $1/g_{\mu_N}(L_N)$ and $1/g_{\mu_N}(U_N)$ off "
    "the support.",
    hypotheses=(Dropped(r"$\theta$ beyond the thresholds", {"beyond": 0.0}),),
    expect=("depends on the reading", "proof"),
)
def eq_29_32(
    data: list[Mapped],
    beyond: float = 0.0,
    coefficient: float = 1.0,
    outer: int = 1,
    inner: int = 1,
    power_shift: int = 0,
) -> Evidence:
    """Law by law: the cumulants, then whether k undoes the printed inverse at every spike it leaves outside."""
    passed: list[Evidence] = []
    for at in data:
        evidence = _map_of_one_law(at, beyond, coefficient, (outer, inner), power_shift)
        if not evidence.ok:
            return evidence
        passed.append(evidence)
    weakest = min(passed, key=lambda evidence: evidence.margin)
    scope = f"{len(data)} laws, s = {SCALES}: " + "; ".join(evidence.scope for evidence in passed)
    return replace(weakest, scope=scope, cases=sum(evidence.cases for evidence in passed))


def _map_of_one_law(
    at: Mapped, beyond: float, coefficient: float, powers: tuple[int, int], power_shift: int
) -> Evidence:
    kept = np.abs(at.theta) > beyond * np.abs(at.threshold)
    s, theta = at.s[kept], at.theta[kept]
    unit = np.abs(np.where(at.threshold[kept] == 0.0, s, at.threshold[kept]))
    with np.errstate(divide="ignore"):
        z = coefficient * s ** powers[0] * at.of.transform(s ** powers[1] / theta) + theta
    back, error = np.full(len(z), np.nan), np.full(len(z), np.nan)
    for scale in SCALES:
        law = at.of.law.scaled(scale)
        (lower, upper) = law.support
        room = 1e-6 * (upper - lower)  # closer to an edge, rounding decides
        here = (s == scale) & np.isfinite(z) & ((z < lower - room) | (z > upper + room))
        k = 1.0 / law.stieltjes(z[here])
        slope = np.abs(k**2 * law.stieltjes_derivative(z[here]))
        back[here] = k
        error[here] = at.of.accuracy * np.abs(k) + slope * 1e-14 * (np.abs(z[here]) + np.abs(theta[here]) + scale)
    outside, least = np.isfinite(back), beyond if at.threshold.all() else 0.0
    ratios = np.round(np.abs(theta) / unit, 9)[outside]
    s, theta, left = s[outside], theta[outside], np.abs(back - theta)[outside]
    places: list[dict[str, Any]] = [
        {"law": at.of.name, **at.of.numbers, "s": float(a), "theta": float(b)} for a, b in zip(s, theta, strict=True)
    ]
    rows, errors = list(left / np.abs(theta)), list(error[outside] / np.abs(theta))
    sizes = list((np.abs(z[outside]) + np.abs(theta)) / np.abs(theta))
    for scale, (scaled, own) in at.cumulants.items():
        for n in range(1, ORDER + 1):
            rows.append(abs(scaled[n - 1] / scale**n - scale**power_shift * own[n - 1]))
            errors.append(1e-8 * max(1.0, *np.abs(at.of.law.support)) ** n)
            sizes.append(max(1.0, *np.abs(at.of.law.support)) ** n)
            places.append({"law": at.of.name, "s": scale, "n": n})
    return judge_inequality(
        np.array(rows),
        np.zeros(len(rows)),
        np.array(errors),
        size=np.array(sizes),
        quotient=True,
        case=places,
        scope=f"{at.of.name}, {len(theta)} spikes from {theta.min():.2g} to {theta.max():.2g}",
        domain=tried(("s", s, POSITIVE), ("theta over its threshold", ratios, Stated(least, inf))),
        printed=f"|k(k^-1(theta)) - theta| = 0 and C_n(mu_N) = s^n C_n(mu), {at.of.name}",
    )
