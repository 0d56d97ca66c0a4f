"""Appendix A.3, proof of Proposition 3.1: the map of the outliers (eqs. (30) to (35))."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import prod
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from paper_checks.claim import LITERAL, Best, Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.facts import Fact, combine, identity, positive
from paper_checks.fedloru.spectral.measurements.spectra import Setting
from paper_checks.methods.bands import Predictions
from paper_checks.methods.domain import POSITIVE, Axis, Searched
from paper_checks.methods.identity import Equation, Equations, Point, generic_points, identities, rational
from paper_checks.methods.inequality import collect_cases, judge_inequality
from paper_checks.methods.limit import Ladder, judge_limit
from rmt.banded import draw_banded
from rmt.closed_laws import PointMass, Semicircle
from rmt.cumulants import free_cumulants_from_moments, moments_from_free_cumulants
from rmt.dense import draw_dense
from rmt.free import FreeSum
from rmt.spiked import wigner_outlier

# Spikes of both signs, outside and inside of the range of k, which takes only values beyond sigma s.
PLANTED = Setting((1.5, 0.65, 0.3, -0.2, -1.0), 2.0, 0.25)

POINTS = tuple(PLANTED.noise * z for z in (0.7 + 0.5j, -1.5 + 0.8j, 2.2 + 1.2j))

TRANSFORM_DIMENSION = 250


def subordination(z: complex, strength: float) -> complex:
    r"""Return $k(z) = 1/g_{\mu_N}(z)$ for the semicircle, its variance times ``strength``; z itself for strength 0."""
    return complex(1.0 / Semicircle(PLANTED.noise * strength**0.5).stieltjes(z)) if strength else z


def _k_outside(eigenvalues: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return k at points outside of the support: the larger root of k + (sigma s)^2/k = lambda in absolute value."""
    root = np.sqrt(np.maximum(eigenvalues**2 - 4 * PLANTED.noise**2, 0.0))
    return 0.5 * (eigenvalues + np.sign(eigenvalues) * root)


@dataclass(frozen=True)
class Planted:
    """Ladders of the eigenvalues that belong to the spikes, and of the empirical Stieltjes transform.

    Attributes:
        eigenvalues: by name, with the spike: as many from either end as there are spikes of that sign.
        spikes: the spike of each.
        transforms: real and imaginary parts, by name.
        places: the point z of each, and whether it is the imaginary part.
        mapped: by name, k at the eigenvalues that are far outside of the support.
        sources: the spike of each.
    """

    eigenvalues: dict[str, Ladder]
    spikes: dict[str, float]
    transforms: dict[str, Ladder]
    places: dict[str, tuple[complex, bool]]
    mapped: dict[str, Ladder]
    sources: dict[str, float]


def measure_planted(context: Context) -> Planted:
    """Measure eigenvalues at large R in band form, transforms from dense spectra."""
    model, rng = PLANTED.model(), context.rng("eigenvalues")
    above = [theta for theta in PLANTED.spikes if theta > 0]
    below = [theta for theta in PLANTED.spikes if theta < 0]
    rungs = []
    for R in context.size((10**4, 10**5), (10**4, 10**6)):
        draws = [draw_banded(model, R, rng, top=len(above), bottom=len(below)) for _ in range(context.size(16, 60))]
        rungs.append((R, np.array([[*d.top(len(above)), *d.bottom(len(below))[::-1]] for d in draws])))
    spikes = {f"eigenvalue of theta = {theta / PLANTED.noise:.3g} sigma s": theta for theta in PLANTED.spikes}
    eigenvalues = {
        name: Ladder(tuple((R, found[:, column]) for R, found in rungs)) for column, name in enumerate(spikes)
    }
    rng, R, rows = context.rng("transforms"), TRANSFORM_DIMENSION, []
    for _ in range(context.size(60, 100)):
        spectrum = draw_dense(model, R, rng, entries="goe").eigenvalues()
        rows.append([np.mean(1.0 / (z - spectrum)) for z in POINTS])
    values, transforms, places = np.array(rows), {}, {}
    for column, z in enumerate(POINTS):
        for part, found in (("Re", values[:, column].real), ("Im", values[:, column].imag)):
            name = f"{part} g_H({z / PLANTED.noise:.3g} sigma s)"
            transforms[name], places[name] = (
                Ladder(((R, found),), "a transform is a mean over R eigenvalues"),
                (z, part == "Im"),
            )
    sources = {
        f"k at the eigenvalue of theta = {theta / PLANTED.noise:.3g} sigma s": theta
        for theta in PLANTED.spikes
        if abs(theta) > 1.5 * PLANTED.noise
    }
    columns = {name: list(spikes.values()).index(theta) for name, theta in sources.items()}
    mapped = {
        name: Ladder(tuple((R, _k_outside(found[:, column])) for R, found in rungs)) for name, column in columns.items()
    }
    return Planted(eigenvalues, spikes, transforms, places, mapped, sources)


@claim(
    "fedloru-v2/eq-30-31",
    where="Appendix A.3, eqs. (30) and (31)",
    says=r"""$\hat g_{H_N}(z) = g_{\mu_{H_N}}(z) + o(1) = g_{\mu_N \boxplus \nu}(z) + o(1) = g_\nu(k(z)) + o(1) = \hat
    g_{H_{\mathrm{true}}}(k(z)) + o(1)$ (30), where k is the subordination function with $g_{\mu_N \boxplus \nu}(z) =
    g_\nu(k(z))$. For an eigenvalue $\lambda$ of $H_N$ outside of the support $\hat g_{H_{\mathrm{true}}}$ has a
    singularity at $k(\lambda)$, for any R, which must correspond to one of the outlier eigenvalues of $H_N$. In other
    words, $\theta_i$ is an outlier eigenvalue of $H_{\mathrm{true}}$ if and only if $k(\lambda) = \theta_i$ for an
    eigenvalue $\lambda$ of $H_N$ outside $\mathrm{supp}(\mu_N \boxplus \nu) = \mathrm{supp}(\mu_N)$; the family of the
    outliers of $H_N$ is $\{k^{-1}(\theta_j) : k^{-1}(\theta_j) \in \mathbb{R}\setminus\mathrm{supp}(\mu_N \boxplus
    \nu)\}$ (31).""",
    measure=measure_planted,
    readings=(
        LITERAL,
        Reading(
            "outliers of the true Hessian",
            r"As printed, but that the singularity at $k(\lambda)$ must correspond to one of the outlier eigenvalues "
            r"of $H_{\mathrm{true}}$.",
            {"outlier_of": "H_true"},
            r"It is a singularity of $\hat g_{H_{\mathrm{true}}}$, and the next sentence says $k(\lambda) = \theta_i$.",
            ({"coefficient": 1.1},),
        ),
    ),
    control=Form(
        "The statement about the transforms, eq. (30), for noise with the semicircle as its limit law.",
        {"outliers": False, "outlier_of": "H_true"},
    ),
    correction=Form(
        r"""Eq. (30) holds if the semicircle is the limit law of the noise. For Gaussian noise, and in probability for
        Wigner matrices as in prop-3.1-dist, the outliers of $H_N$ tend to the $k^{-1}(\theta_j)$ with $|\theta_j| >
        \sigma s_N$, the range of $k$ on $\mathbb{R}\setminus\mathrm{supp}(\mu_N)$. The other $\theta_j$ are outlier
        eigenvalues of $H_{\mathrm{true}}$ (whose limiting density is $\delta_0$) without any such $\lambda$, although
        $\theta_j + \sigma^2s_N^2/\theta_j$ lies outside of the support for $|\theta_j| \ne \sigma s_N$. In the sentence
        before, $k(\lambda)$ corresponds to an outlier of $H_{\mathrm{true}}$, not of $H_N$, and only in the limit: at a
        finite R, with noise of a density, it is none of the $\theta_j$ with probability 1, and tends to one.""",
        {"least": 1.0, "outlier_of": "H_true"},
        mutants=(
            {"outlier_of": "H_N"},
            {"least": 0.5},
            {"least": 1.5},
            {"coefficient": 1.1},
            {"strength": 0.75},
            {"strength": 0.0},
        ),
    ),
    uses=("fedloru-v2/lem-A.1a", "fedloru-v2/lem-A.2", "fedloru-v2/eq-32"),
    because=r"Spikes $|\theta_j| < \sigma s_N$ do not give outliers of $H_N$, as k never takes these values. Its "
    r"values are $H_{\mathrm{true}}$'s.",
    best={
        "coefficient": Best(1.0, "proved: the outlier is where k is the spike"),
        "strength": Best(1.0, "proved: k belongs to noise of this variance"),
        "least": Best(1.0, r"proved: k takes all values beyond $\sigma s_N$ off the support, and no others"),
    },
    expect=("corrected", "proof"),
    intended=Intended(
        "outliers of the true Hessian",
        "“k(λ) must correspond to one of the outlier eigenvalues of H_N … In other words, θ_i is an outlier "
        "eigenvalue of H_true if and only if there exists an eigenvalue λ … such that k(λ) = θ_i” (A.3): the second "
        "sentence says the first one again, with H_true",
    ),
    print="misprint",
)
def eq_30_31(
    data: Planted,
    least: float = 0.0,
    coefficient: float = 1.0,
    strength: float = 1.0,
    outliers: bool = True,
    outlier_of: str = "H_N",
) -> Evidence:
    """Every spike beyond ``least`` in units of sigma s has an outlier, the others end at the edge of the support.

    ``outlier_of`` is the matrix of which k takes an outlier there, the nearest one.
    """

    def predict(least: float, coefficient: float, strength: float, **_: Any) -> Predictions:
        found = {}
        for name, theta in data.spikes.items():
            edge = FreeSum(Semicircle(PLANTED.noise), PointMass(0.0)).support[int(theta > 0)]
            outside = abs(theta) > least * PLANTED.noise
            found[name] = wigner_outlier(theta, coefficient**0.5 * PLANTED.noise) if outside else edge
        for name, (z, imaginary) in data.places.items():
            at, zeros = subordination(z, strength), TRANSFORM_DIMENSION - len(PLANTED.spikes)
            value = (zeros / at + sum(1.0 / (at - theta) for theta in PLANTED.spikes)) / TRANSFORM_DIMENSION
            found[name] = value.imag if imaginary else value.real
        of_true = list(data.spikes.values())
        of_noisy = [found[name] for name, theta in data.spikes.items() if abs(theta) > least * PLANTED.noise]
        for name, theta in data.sources.items():
            near = of_true if outlier_of == "H_true" else of_noisy
            found[name] = min(near, key=lambda other, spike=theta: abs(other - spike))
        return found

    ladders = {**data.transforms, **({**data.eigenvalues, **data.mapped} if outliers else {})}
    predicted = predict(least, coefficient, strength)
    return judge_limit(
        ladders,
        {name: predicted[name] for name in ladders},
        resolution=0.02,
        scope=f"{len(data.spikes)} spikes from {min(data.spikes.values()) / PLANTED.noise:.3g} to "
        f"{max(data.spikes.values()) / PLANTED.noise:.3g} sigma s, Gaussian noise; {len(POINTS)} points z",
        settings={
            name: {"theta": theta, "sigma": PLANTED.sigma, "s": PLANTED.s}
            for name, theta in {**data.spikes, **data.sources}.items()
        },
    )


ORDER = 7

CUMULANTS = sympy.symbols(f"C1:{ORDER + 1}")


def _products(gaps: list[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    if not gaps:
        yield []
        return
    for head in noncrossing_partitions(gaps[0]):
        for tail in _products(gaps[1:]):
            yield head + tail


def noncrossing_partitions(elements: tuple[int, ...]) -> Iterator[list[tuple[int, ...]]]:
    """Return all noncrossing partitions, by the block of the first element; no recursion for moments is used."""
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


def _compositions(total: int, parts: int, least: int) -> Iterator[tuple[int, ...]]:
    if parts == 0:
        if total == 0:
            yield ()
        return
    for head in range(least, total + 1):
        for tail in _compositions(total - head, parts - 1, least):
            yield (head, *tail)


MOMENTS = sympy.symbols(f"m1:{ORDER + 1}")

S, X = sympy.symbols("s x")


def draw_cumulants(context: Context) -> list[Point]:
    """Draw exact values for the cumulants (and s), to refute a false line."""
    return generic_points(context, (*CUMULANTS, *MOMENTS, S, X), 6)


@identities(
    "fedloru-v2/eq-33",
    where="Appendix A.3, eq. (33)",
    says=r"""$m_n = \sum_{r=1}^{n} \sum_{0 \le i_1, \ldots, i_r \le n-r,\ i_1+\cdots+i_r=n-r} C_r \left[\prod_{j=1}^{r}
    m_{i_j}\right]$ for the moments $m_n$ ($m_0 = 1$) and the cumulants $C_n$ whose series is the
    $\mathcal{R}$-transform.""",
    measure=draw_cumulants,
    mutants=[{"offset": 1}, {"least": 1}, {"first_block": 2}],
    expect=("holds", "proof"),
    intended=Intended(
        "literal",
        "“let C_n^(μ) denote the n-th cumulant … Consequently, the R-transform exhibits the scaling property” (A.3): "
        "the free cumulants, of which the R-transform is made; m_0 = 1 by convention",
    ),
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
    says=r"""Using the scaling property of moments, $m_n^{\mu_N} = s_N^nm_n^\mu$, the scaling relation of the cumulants
    is $C_n^{(\mu_N)} = s_N^n C_n^{(\mu)}$, and $\mathcal{R}_{\mu_N}(\theta) = s_N \mathcal{R}_\mu(s_N\theta)$.""",
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
    says=r"""For the outliers of $H_N$: $k^{-1}(\theta) = s_N\mathcal{R}_\mu(s_N/\theta) + \theta$ and, since the
    R-transform of a semicircle law $\mu$ is $\mathcal{R}_\mu(x) = \sigma^2x$, $k^{-1}(\theta) = \theta +
    \frac{\sigma^2s_N^2}\theta$.""",
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
    """Collect spikes of both signs over six decades around the threshold."""
    return collect_cases(
        context,
        (Axis("theta", 1e-3, 1e3, POSITIVE, signed=True), Axis("noise", 1e-2, 1e2, POSITIVE, words="sigma s_N")),
        lambda cases: np.ones(len(cases["noise"]), bool),
        lambda cases: np.abs(np.abs(cases["theta"]) - cases["noise"]),
        examples=context.size(200, 2000),
        restarts=1,
    )


def _inverse_of_k(beyond: float, coefficient: float) -> tuple[Fact, ...]:
    r"""For $\theta > \sigma s_N$, k being odd: $1/k(z) = g(z)$ with the root that is positive for z > 2n."""
    theta, n, more = sympy.symbols("theta n a", positive=True)
    z, root = theta + rational(coefficient) * n**2 / theta, theta - n**2 / theta
    return combine(
        identity("the square root of z^2 - 4 n^2", z**2 - 4 * n**2 - root**2),
        positive("that root", root, {theta: rational(beyond) * n + more}),
        identity("k(z) - theta", 2 * n**2 / (z - root) - theta),
        positive("k off the support, which is more than z/2, less n", z / 2 - n, {theta: n + more}),
    )


@claim(
    "fedloru-v2/eq-32",
    where="Appendix A.3, eq. (32)",
    says=r"""From the subordination relation $k^{-1}(\theta) = g^{-1}_{\mu_N \boxplus \nu}(g_\nu(\theta)) =
    \mathcal{R}_{\mu_N}(g_\nu(\theta) + g_\nu^{-1}(g_\nu(\theta)) = \mathcal{R}_{\mu_N}(1/\theta) + \theta$ (a
    parenthesis is missing in the print) for the eigenvalues $\theta_j$ of $H_{\mathrm{true}}$, $\mu_N$ the
    semicircle.""",
    measure=collect_spikes,
    readings=(
        LITERAL,
        Reading(
            "the outliers",
            r"(32), with its parenthesis closed, for the outliers of $H_N$, $\theta = k(\lambda)$ with $\lambda$ off "
            r"the support: for $|\theta| > \sigma s_N$, which are all values that k takes there. For $|\theta| < "
            r"\sigma s_N$ the right side is also off the support, but $k(\theta + \sigma^2s_N^2/\theta) = "
            r"\sigma^2s_N^2/\theta$.",
            {"beyond": 1.0},
            "(35), which follows from (32), is called an expression for the outliers of $H_N$.",
            ({"beyond": 0.9}, {"coefficient": 1.001}),
        ),
    ),
    uses=("fedloru-v2/eq-35",),
    because=r"For $|\theta| < \sigma s_N$ no z off the support has $k(z) = \theta$: $k(\theta + \sigma^2s_N^2/\theta) "
    r"= \sigma^2s_N^2/\theta$.",
    hypotheses=(Dropped(r"$|\theta| > \sigma s_N$", {"beyond": 0.0}),),
    expect=("holds", "proof"),
    intended=Intended(
        "the outliers",
        "“we have an expression for the outliers of H_N” (35): the inverse $k^{-1}$ is used only "
        "where k takes the value θ; a parenthesis is lost",
    ),
    print="unstated",
)
def eq_32(cases: Searched, beyond: float = 0.0, coefficient: float = 1.0) -> Evidence:
    """1/g at the printed inverse is theta for |theta| > sigma s_N, with the root that g has outside the support."""
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
