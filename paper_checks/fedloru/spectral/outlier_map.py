"""Appendix A.3: the map from spikes to outliers through cumulants and R-transforms (eq. 32 to 35)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from math import prod

import numpy as np
import sympy

from paper_checks.claim import Dropped, Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.facts import Fact, identity, positive, together
from paper_checks.methods.domain import POSITIVE, Axis, Searched
from paper_checks.methods.identity import Equation, Equations, Point, generic_points, identities, rational
from paper_checks.methods.inequality import collect_cases, judge_inequality
from rmt.closed_laws import Semicircle
from rmt.cumulants import free_cumulants_from_moments, moments_from_free_cumulants
from rmt.spiked import wigner_outlier

ORDER = 7
CUMULANTS = sympy.symbols(f"C1:{ORDER + 1}")
MOMENTS = sympy.symbols(f"m1:{ORDER + 1}")
S, X = sympy.symbols("s x")


def noncrossing_partitions(elements: tuple[int, ...]) -> Iterator[list[tuple[int, ...]]]:
    """All noncrossing partitions, by the block of the first element; independent of any recursion for moments."""
    if not elements:
        yield []
        return
    first, rest = elements[0], elements[1:]
    for size in range(len(rest) + 1):
        for others in combinations(range(len(rest)), size):
            cuts = [-1, *others, len(rest)]
            gaps = [rest[a + 1 : b] for a, b in pairwise(cuts)]
            block = (first, *(rest[i] for i in others))
            for parts in _products(gaps):
                yield [block, *parts]


def _products(gaps: list[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    if not gaps:
        yield []
        return
    for head in noncrossing_partitions(gaps[0]):
        for tail in _products(gaps[1:]):
            yield head + tail


def _compositions(total: int, parts: int, least: int) -> Iterator[tuple[int, ...]]:
    if parts == 0:
        if total == 0:
            yield ()
        return
    for head in range(least, total + 1):
        for tail in _compositions(total - head, parts - 1, least):
            yield (head, *tail)


def draw_cumulants(context: Context) -> list[Point]:
    """Exact values for the cumulants (and s), to refute a false line."""
    return generic_points(context, (*CUMULANTS, *MOMENTS, S, X), 6)


@identities(
    "fedloru-v2/eq-33",
    where="Appendix A.3, eq. (33)",
    says=r"$m_n = \sum_{r=1}^{n} \sum_{0 \le i_1, \ldots, i_r \le n-r,\ i_1+\cdots+i_r=n-r} C_r \left[\prod_{j=1}^{r} "
    r"m_{i_j}\right]$ for the moments $m_n$ ($m_0 = 1$) and the cumulants $C_n$ whose series is the "
    r"$\mathcal{R}$-transform.",
    measure=draw_cumulants,
    mutants=[{"offset": 1}, {"least": 1}, {"first_block": 2}],
    expect=("holds", "proof"),
)
def eq_33(points: list[Point], offset: int = 0, least: int = 0, first_block: int = 1, factor: float = 1.0) -> Equations:
    """The recursion with all cumulants as symbols against the sum over noncrossing partitions."""
    moments: list[sympy.Expr] = [sympy.Integer(1)]
    for n in range(1, ORDER + 1):
        partitions = noncrossing_partitions(tuple(range(n)))
        expected = sum(prod(CUMULANTS[len(block) - 1] for block in partition) for partition in partitions)
        recursion = sum(
            rational(factor) * CUMULANTS[r - 1] * prod(moments[i] for i in indices)
            for r in range(first_block, n + 1)
            for indices in _compositions(n - r + offset, r, least)
            if max(indices, default=0) < n
        )
        moments.append(sympy.expand(expected))
        yield Equation(f"m_{n}", sympy.sympify(recursion), moments[-1])
    implemented = moments_from_free_cumulants(CUMULANTS)
    yield from [
        Equation(f"m_{n} as computed elsewhere in the checks", implemented[n - 1], moments[n])
        for n in range(1, ORDER + 1)
    ]
    return points, f"n = 1 to {ORDER}, all cumulants symbolic"


@identities(
    "fedloru-v2/eq-34",
    where="Appendix A.3, before and at eq. (34)",
    says=r"Using the scaling property of moments, $m_n^{\mu_N} = s_N^nm_n^\mu$, the scaling relation of the cumulants "
    r"is $C_n^{(\mu_N)} = s_N^n C_n^{(\mu)}$, and $\mathcal{R}_{\mu_N}(\theta) = s_N \mathcal{R}_\mu(s_N\theta)$.",
    measure=draw_cumulants,
    mutants=[{"power_shift": -1}, {"outer": 0}, {"inner": 0}],
    uses=("fedloru-v2/eq-33",),
    expect=("holds", "proof"),
)
def eq_34(points: list[Point], power_shift: int = 0, outer: int = 1, inner: int = 1, factor: float = 1.0) -> Equations:
    """From scaled moments to cumulants with all moments as symbols, then the R-transform term by term."""
    plain = free_cumulants_from_moments(MOMENTS)
    scaled = free_cumulants_from_moments([S**n * m for n, m in enumerate(MOMENTS, start=1)])
    yield from [
        Equation(f"C_{n}", scaled[n - 1], rational(factor) * S ** (n + power_shift) * plain[n - 1])
        for n in range(1, ORDER + 1)
    ]
    yield from [
        Equation(
            f"coefficient of x^{n - 1} in R",
            scaled[n - 1] * X ** (n - 1),
            S**outer * plain[n - 1] * (S**inner * X) ** (n - 1),
        )
        for n in range(1, ORDER + 1)
    ]
    return points, f"cumulants 1 to {ORDER} of any law, as symbols"


@identities(
    "fedloru-v2/eq-35",
    where="Appendix A.3, eq. (35) and the sentence after it",
    says=r"For the outliers of $H_N$: $k^{-1}(\theta) = s_N\mathcal{R}_\mu(s_N/\theta) + \theta$ and, since the "
    r"R-transform of a semicircle law $\mu$ is $\mathcal{R}_\mu(x) = \sigma^2x$, $k^{-1}(\theta) = \theta + "
    r"\frac{\sigma^2s_N^2}\theta$.",
    measure=draw_cumulants,
    mutants=[{"s_power": 1}, {"sign": -1}, {"third": 1}],
    uses=("fedloru-v2/eq-34",),
    expect=("holds", "proof"),
)
def eq_35(points: list[Point], s_power: int = 2, sign: int = 1, third: int = 0, factor: float = 1.0) -> Equations:
    """The cumulants of the semicircle from its Catalan moments, then the R-transform at 1/theta term by term."""
    sigma, theta = sympy.symbols("sigma theta")
    catalan = [sigma**n * sympy.catalan(n // 2) if n % 2 == 0 else sympy.Integer(0) for n in range(1, ORDER + 1)]
    cumulants = free_cumulants_from_moments(catalan)
    transform = sum(S**n * c / theta ** (n - 1) for n, c in enumerate(cumulants, start=1)) + third / theta**2
    yield from [
        Equation(f"C_{n} of the semicircle", cumulants[n - 1], sigma**2 if n == 2 else sympy.Integer(0))
        for n in range(1, ORDER + 1)
    ]
    printed = wigner_outlier(theta, rational(factor) * sigma * S) if s_power == 2 else theta + sigma**2 * S / theta
    yield Equation("outlier", transform + theta, theta + sign * (printed - theta))
    values = [{**point, sigma: point[CUMULANTS[0]], theta: point[CUMULANTS[1]]} for point in points]
    return values, f"all theta, sigma, s_N, as formulas (which theta k takes: eq-32); cumulants 1 to {ORDER}"


def collect_spikes(context: Context) -> Searched:
    """Spikes of both signs over six decades around the threshold."""
    return collect_cases(
        context,
        (Axis("theta", 1e-3, 1e3, POSITIVE, signed=True), Axis("noise", 1e-2, 1e2, POSITIVE, words="sigma s_N")),
        lambda cases: np.ones(len(cases["noise"]), bool),
        lambda cases: np.abs(np.abs(cases["theta"]) - cases["noise"]),
        examples=context.size(200, 2000),
        restarts=1,
    )


@claim(
    "fedloru-v2/eq-32",
    where="Appendix A.3, eq. (32)",
    says=r"From the subordination relation $k^{-1}(\theta) = g^{-1}_{\mu_N \boxplus \nu}(g_\nu(\theta)) = "
    r"\mathcal{R}_{\mu_N}(g_\nu(\theta) + g_\nu^{-1}(g_\nu(\theta)) = \mathcal{R}_{\mu_N}(1/\theta) + \theta$ (a "
    r"parenthesis is missing in the print) for the eigenvalues $\theta_j$ of $H_{\mathrm{true}}$, $\mu_N$ the "
    "semicircle.",
    measure=collect_spikes,
    control=Form(r"The statement for $|\theta| > 2\sigma s_N$.", {"beyond": 2.0}),
    correction=Form(
        r"It holds for $|\theta| > \sigma s_N$. On $\mathbb{R}\setminus\mathrm{supp}(\mu_N)$ the function $k$ takes "
        r"only values $|k| > \sigma s_N$; for $|\theta| < \sigma s_N$, $k(\theta + \sigma^2s_N^2/\theta) = "
        r"\sigma^2s_N^2/\theta \ne \theta$.",
        {"beyond": 1.0},
        mutants=({"beyond": 0.9}, {"coefficient": 1.001}),
    ),
    uses=("fedloru-v2/eq-35",),
    because=r"For $|\theta| < \sigma s_N$ no z off the support has $k(z) = \theta$: $k(\theta + \sigma^2s_N^2/\theta) "
    r"= \sigma^2s_N^2/\theta$.",
    hypotheses=(Dropped(r"$|\theta| > \sigma s_N$", {"beyond": 0.0}),),
    expect=("corrected", "proof"),
)
def eq_32(cases: Searched, beyond: float = 0.0, coefficient: float = 1.0) -> Evidence:
    """1/g at the printed inverse is theta for |theta| > sigma s_N, by the root that g takes off the support."""
    kept = np.abs(cases["theta"]) > beyond * cases["noise"]
    theta, noise = cases["theta"][kept], cases["noise"][kept]
    z = wigner_outlier(theta, np.sqrt(coefficient) * noise)
    outside = np.abs(z) > 2.0 * noise * (1.0 + 1e-9)  # closer to the edge, rounding decides
    theta, noise, z = theta[outside], noise[outside], z[outside]
    back = np.array([1.0 / Semicircle(n).stieltjes(at) for n, at in zip(noise, z, strict=True)]).real
    # Near the edge k has a square-root singularity, which magnifies rounding.
    error = 1e-12 / np.maximum(1.0 - (2.0 * noise / z) ** 2, 1e-12) ** 0.5 + 1e-12
    judged = judge_inequality(
        np.abs(back - theta) / np.abs(theta),
        np.zeros(len(theta)),
        error * (1.0 + (noise / theta) ** 2),
        size=1.0 + (noise / theta) ** 2,  # z over theta
        domain=cases.domain,
        quotient=True,
        case={"theta": theta, "noise": noise},
        scope=f"{len(theta)} spikes of both signs, theta/(sigma s) from {np.abs(theta / noise).min():.2g} to "
        f"{np.abs(theta / noise).max():.2g}",
        printed="|k(k^{-1}(theta)) - theta|/|theta| = 0",
    )
    return replace(judged, facts=_inverse_of_k(beyond, coefficient)) if judged.ok else judged


def _inverse_of_k(beyond: float, coefficient: float) -> tuple[Fact, ...]:
    r"""For $\theta > \sigma s_N$, k being odd: $1/k(z) = g(z)$ with the root that is positive for z > 2n."""
    theta, n, more = sympy.symbols("theta n a", positive=True)
    z, root = theta + rational(coefficient) * n**2 / theta, theta - n**2 / theta
    return together(
        identity("the square root of z^2 - 4 n^2", z**2 - 4 * n**2 - root**2),
        positive("that root", root, {theta: rational(beyond) * n + more}),
        identity("k(z) - theta", 2 * n**2 / (z - root) - theta),
        positive("k off the support, which is more than z/2, less n", z / 2 - n, {theta: n + more}),
    )
