"""Section 3.1 and Appendix A: what the noise model assumes (eq. 1), and which noise the results need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from paper_checks.claim import LITERAL, Best, Dropped, Evidence, Form, Reading, claim
from paper_checks.context import LEVEL, Context
from paper_checks.methods.bands import Predictions
from paper_checks.methods.limit import Ladder, judge_limit
from paper_checks.methods.mean import Tails, judge_means
from paper_checks.methods.parts import judge_parts
from paper_checks.methods.probability import Counted, Law, judge_probability
from rmt.banded import draw_banded
from rmt.closed_laws import Semicircle
from rmt.cumulants import free_cumulants_from_moments, moments_from_free_cumulants
from rmt.dense import ENTRY_LAWS, wigner
from rmt.spiked import SpikedModel

FIXED_LAWS = ("gaussian", "rademacher", "uniform", "three-point", "exponential")


SPIKE = 3.0  # in units of sigma
FAR = 0.4  # more than five standard deviations of that outlier at the dimension drawn, for every law above


@dataclass(frozen=True)
class Draws:
    r"""Dense draws for laws that do not change with R, in units of $\sigma$.

    Attributes:
        norms: spectral norms of pure noise, by law.
        outliers: largest eigenvalues with one spike on a coordinate, by law.
        sparse_dimension: dimension at which the exact law of sparse entries is evaluated.
    """

    norms: dict[str, NDArray[np.float64]]
    outliers: dict[str, NDArray[np.float64]]
    sparse_dimension: int


def measure_laws(context: Context) -> Draws:
    """Norms and outliers at R = 250 for every law."""
    norms, outliers = {}, {}
    for name in FIXED_LAWS:
        rng = context.rng(name)
        found = []
        for _ in range(context.size(30, 100)):
            matrix = wigner(1.0, 250, rng, ENTRY_LAWS[name])
            norm = np.abs(np.linalg.eigvalsh(matrix)[[0, -1]]).max()
            matrix[0, 0] += SPIKE
            found.append((norm, np.linalg.eigvalsh(matrix)[-1]))
        norms[name], outliers[name] = np.array(found).T
    return Draws(norms, outliers, 10**7)


def star_probability(R: int, degree: int) -> float:
    r"""Lower bound on $P(\|X\| \ge \sigma\sqrt{degree})$ when an entry is $\pm\sigma$ with probability 1/R, else 0.

    The non-zero entries of the rows i <= R/2 in the columns j > R/2 number Binomial(R/2, 1/R) each, independently. A
    row with d of them holds a star, and one of the two vectors that weigh its centre against its leaves has a
    Rayleigh quotient of at least $\sigma\sqrt{d}$ in absolute value.
    """
    half = R // 2
    return float(-np.expm1(half * np.log1p(-binom.sf(degree - 1, half, 1.0 / R))))


@claim(
    "fedloru-v2/prop-3.1-dist",
    where="Section 3.1, eq. (1), Proposition 3.1",
    says="The limits of Proposition 3.1 hold for $X^R$ real symmetric with each element independently drawn from "
    r"a distribution with mean 0 and variance $\sigma^2/R$.",
    measure=measure_laws,
    readings=(
        LITERAL,
        Reading(
            "Wigner matrix",
            r"The limits of Proposition 3.1, with the condition $|\theta| > \sigma s_N$ as corrected there, hold in "
            r"probability for entries that are $R^{-1/2}$ times a fixed law of mean 0, variance $\sigma^2$ and finite "
            "fourth moment.",
            {"laws": FIXED_LAWS},
            r"Appendix A calls $X^R$ a Wigner matrix, whose entries have laws that do not change with R but for their "
            "scale (Bai and Yin).",
            ({"factor": 0.9}, {"outlier": 2.0}),
        ),
    ),
    vary=("outlier",),
    uses=("fedloru-v2/lem-A.2",),
    importance="result",
    because=r"A law that changes with R can keep mean 0 and variance $\sigma^2/R$, and still send $\|\epsilon_N\|$ to "
    "infinity.",
    best={"outlier": Best(SPIKE + 1 / SPIKE, "proved: the limit of that spike's eigenvalue")},
    hypotheses=(
        Dropped(
            r"a law of the entries that does not change with R but for its scale",
            {"laws": (*FIXED_LAWS, "one-per-row")},
        ),
    ),
    expect=("depends on the reading", "proof"),
)
def prop_3_1_dist(
    data: Draws,
    laws: tuple[str, ...] = (*FIXED_LAWS, "one-per-row"),
    factor: float = 1.2,
    outlier: float = SPIKE + 1 / SPIKE,
) -> Evidence:
    """Sampled norms and outliers of five laws: none misses its limit by a fixed amount in half of the draws or more."""
    level = LEVEL / (2 * len(laws))
    judged = judge_parts(event for name in laws for event in _events(data, name, factor, outlier, level))
    return replace(judged, scope=f"{judged.scope}; laws: {', '.join(laws)}", cases=len(laws))


def _events(data: Draws, name: str, factor: float, outlier: float, level: float) -> Iterator[Evidence]:
    """The one or two events of one law, each of which must have a probability of at most one half."""
    excess = f"||epsilon|| > {factor:g} * 2 sigma s, {name} entries"
    if name == "one-per-row":
        degree = int(np.floor((2.0 * factor) ** 2)) + 1
        yield judge_probability(
            Law(star_probability(data.sparse_dimension, degree), 1e-9),
            0.0,
            0.5,
            what=excess,
            scope=f"exact law at R = {data.sparse_dimension}: a row with {degree} entries",
            witness={"R": data.sparse_dimension, "degree": degree, "factor": factor},
        )
        return
    norms, outliers = data.norms[name] / 2.0, data.outliers[name]
    scope = f"{len(norms)} dense draws of each law at R = 250, without and with a spike at {SPIKE:g} sigma s"
    for what, happened in (
        (excess, norms > factor),
        (f"|lambda_1 - {outlier:g} sigma s| > {FAR:g} sigma s, {name} entries", np.abs(outliers - outlier) > FAR),
    ):
        counted = Counted(int(happened.sum()), len(happened))
        yield judge_probability(counted, 0.0, 0.5, scope=scope, what=what, level=level)


MOMENT_DIMENSION = 400
ATOMS = ((-1.0, 0.5), (0.5, 0.25), (2.0, 0.25))


LINEAR_STATISTICS = "traces of powers of a Wigner matrix obey a central limit theorem (Lytova and Pastur)"


def _moment(name: str) -> int:
    return int(name.split()[1])


def sum_moments(convolution: str, variance: float) -> dict[int, float]:
    """Moments 2, 3, 4 of the sum of a semicircle of given variance and the atoms, free or independent."""
    atoms = [sum(mass * location**k for location, mass in ATOMS) for k in range(1, 5)]
    if convolution == "free":
        cumulants = list(free_cumulants_from_moments(atoms))
        cumulants[1] += variance
        moments = moments_from_free_cumulants(cumulants)
    else:
        m2, m4 = variance, 2.0 * variance**2
        moments = (atoms[0], atoms[1] + m2, atoms[2] + 3 * atoms[0] * m2, atoms[3] + 6 * atoms[1] * m2 + m4)
    return {k: float(moments[k - 1]) for k in (2, 3, 4)}


def measure_moments(context: Context) -> dict[str, NDArray[np.float64]]:
    """Normalised traces of powers of X + D."""
    R = MOMENT_DIMENSION
    diagonal = np.concatenate([np.full(round(mass * R), location) for location, mass in ATOMS])
    found: dict[str, NDArray[np.float64]] = {}
    for law in ("gaussian", "rademacher"):
        rng = context.rng(law)
        traces = []
        for _ in range(context.size(80, 300)):
            matrix = wigner(1.0, R, rng, ENTRY_LAWS[law])
            matrix.flat[:: R + 1] += diagonal
            square = matrix @ matrix
            traces.append([np.trace(square), np.vdot(square, matrix), np.vdot(square, square)])
        for column, power in enumerate((2, 3, 4)):
            found[f"moment {power} of X + D, {law}"] = np.array(traces)[:, column] / R
    return found


@claim(
    "fedloru-v2/lem-A.2",
    where="Appendix A.1, Lemma A.2",
    says=r"Let $X$ be an $N \times N$ random real symmetric Wigner matrix and $D$ deterministic symmetric with "
    r"$\|D\|$ bounded uniformly in N, both with deterministic limits $\mu_X$, $\mu_D$ of their spectral measures. "
    r"Then $X + D$ has a limiting spectral measure, the free convolution $\mu_X \boxplus \mu_D$.",
    measure=measure_moments,
    mutants=[{"convolution": "classical"}, {"variance": 1.5}],
    expect=("holds", "proof"),
)
def lem_A_2(draws: dict[str, NDArray[np.float64]], convolution: str = "free", variance: float = 1.0) -> Evidence:
    """Mean normalised moments of X + D against those of the free convolution."""
    predicted = sum_moments(convolution, variance)
    return judge_means(
        draws,
        {name: predicted[_moment(name)] for name in draws},
        tails=Tails(normal=LINEAR_STATISTICS),
        scope=f"{', '.join(draws)}; R = {MOMENT_DIMENSION}, D with {len(ATOMS)} unequal atoms; entries of X of one "
        "law, over the root of R",
    )


FEATURES = 5


def noise_deviation(M: int) -> float:
    r"""Standard deviation of $\|H_M - I\|_F^2 / V$, from the moments of $\|x\|^2$, a $\chi^2$ of d degrees.

    A mean of M independent $g_i = x_ix_i^\top - I$ has $E\|\bar g\|^4 = (E\|g\|^4 + (M-1)(V^2 + 2\,\mathrm{tr}\,C^2))
    / M^3$, where their covariance C is 2 on the symmetric matrices, of trace $V = d(d+1)$.
    """
    d, V = FEATURES, FEATURES * (FEATURES + 1)
    r = [float(np.prod(d + 2.0 * np.arange(k))) for k in range(5)]
    fourth = r[4] - 4 * r[3] + (4 + 2 * d) * r[2] - 4 * d * r[1] + d**2
    square = (fourth + (M - 1) * (V**2 + 4 * V)) / M**3 / V**2
    return float(np.sqrt(square - 1.0 / M**2))


def measure_sample_noise(context: Context) -> dict[str, NDArray[np.float64]]:
    r"""$\|H_M - I\|_F^2 / V$ with $V = d(d+1)$ for $x \sim N(0, I_d)$."""
    d, repeats = FEATURES, context.size(20_000, 80_000)
    found = {}
    for M in (4, 16, 64):
        x = context.rng(f"M = {M}").standard_normal((repeats, M, d))
        noise = np.einsum("nmi,nmj->nij", x, x) / M - np.eye(d)
        found[f"squared noise at M = {M}"] = (noise**2).sum(axis=(1, 2)) / (d * (d + 1))
    return found


@claim(
    "fedloru-v2/claim-scale",
    where="Section 3.1, after Theorem 3.2",
    says=r"Under a typical scaling assumption such as $s_M = 1/M$, $\sigma^2s_M^2$ remains sufficiently small in most "
    r"practical settings, which makes ill-conditioning, $\theta_0^2 \le \sigma^2s_M^2$, unlikely.",
    measure=measure_sample_noise,
    control=Form(r"$s_M$ decreases with $M$.", {"decreasing": True}),
    correction=Form(
        r"$s_M \propto M^{-1/2}$: for the mean of $M$ independent sample Hessians "
        r"$E\|H_M - H_{\mathrm{true}}\|_F^2 = V/M$ exactly, V that of one. It is small for large M as well, but falls "
        "with $1/M$ and not with $1/M^2$.",
        {"exponent": 0.5},
        mutants=({"exponent": 0.55}, {"exponent": 0.45}),
    ),
    kind="assumption",
    because="The mean of M independent sample Hessians deviates from its expectation by the order of $M^{-1/2}$, not "
    "$1/M$.",
    expect=("corrected", "proof"),
    seen_in=("hessian/fmnist-exact", "hessian/predictions"),
)
def claim_scale(draws: dict[str, NDArray[np.float64]], exponent: float = 1.0, decreasing: bool = False) -> Evidence:
    """Squared noise of the mean of M sample Hessians, in units of that of one sample."""
    tails = Tails({name: noise_deviation(int(name.split()[-1])) for name in draws})
    if decreasing:
        names = sorted(draws, key=lambda name: int(name.split()[-1]))
        intervals = [tails.interval(name, draws[name], LEVEL / len(draws)) for name in names]
        room = min(larger.low - smaller.high for larger, smaller in pairwise(intervals))
        return Evidence(
            room > 0,
            f"{len(names)} sample sizes",
            "each interval below the one before",
            f"by at least {room:.3g}",
            room,
            level=LEVEL,
        )

    def predict(exponent: float, **_: Any) -> Predictions:
        return {name: float(int(name.split()[-1]) ** (-2.0 * exponent)) for name in draws}

    return judge_means(
        draws,
        predict(exponent),
        tails=tails,
        share=0.05,
        scope=f"Hessians x x^T of linear regression with Gaussian x in {FEATURES} dimensions; {', '.join(draws)}; the "
        "order of s_M alone: how small sigma^2 s_M^2 is in practice is not judged",
        settings={name: {"M": int(name.split()[-1])} for name in draws},
    )


CONSTANT_VARIANCE = 2.0  # sigma, with a spike of half of it
CENTRE = 20.0  # in units of sigma; the edges of the bulk lie at 200 where eigenvalues are counted


def measure_growth(context: Context) -> dict[str, Ladder]:
    """Extreme eigenvalues of noise of constant entry variance, and its central eigenvalues over the root of R."""
    sigma, low, middle, high = CONSTANT_VARIANCE, 10**4, 10**6, 10**8
    rng, draws = context.rng("growth"), context.size(16, 80)

    def extremes(R: int) -> NDArray[np.float64]:
        model = SpikedModel((sigma / 2,), Semicircle(sigma), float(np.sqrt(R)))
        found = [draw_banded(model, R, rng, top=1, bottom=1) for _ in range(draws)]
        squares = [d.stable_rank().frobenius_squared for d in found]
        return np.array([(d.top(1)[0], d.bottom(1)[0], np.sqrt(f / R)) for d, f in zip(found, squares, strict=True)])

    base, between, far = extremes(low).mean(axis=0), extremes(middle), extremes(high)
    ladders = {  # the growth to the middle, squared, is that to the end where it is a power
        name: Ladder(((middle, (between[:, column] / base[column]) ** 2), (high, far[:, column] / base[column])))
        for column, name in enumerate(("lambda_1", "lambda_R", "root mean square"))
    }
    model, ends = SpikedModel((sigma / 2,), Semicircle(sigma), float(np.sqrt(low))), np.array([-1.0, 1.0])
    counts = []
    for _ in range(draws):
        below, above = draw_banded(model, low, rng, top=low, rows=low).counts_below(CENTRE * sigma * ends)
        counts.append((above - below) / np.sqrt(low))
    return {**ladders, CENTRAL: Ladder(((low, np.array(counts)),), "such a count deviates by the root of log R only")}


CENTRAL = f"eigenvalues within {CENTRE:g} sigma of 0, over the root of R"


@claim(
    "fedloru-v2/claim-scaling-var",
    where="Appendix A, discussion of the noise model: the variance without 1/R",
    says=r"If a variance of $\sigma^2$ were used instead of $\sigma^2/R$, the eigenvalues of the perturbed Hessian "
    "would diverge as R increases.",
    measure=measure_growth,
    readings=(
        Reading(
            "every eigenvalue",
            r"$|\lambda_i(H_N)| \to \infty$ for every index $i = i(R)$, also one that grows with R.",
            why="It says the eigenvalues, without exception.",
        ),
        Reading(
            "fixed index and mean square",
            r"For Wigner noise, entries $s_N$ times one law of mean 0 and variance $\sigma^2$ for all R, in "
            r"probability: $|\lambda_i(H_N)| \to \infty$ for every index at a fixed distance from either end, and so "
            "does the root mean square of all eigenvalues.",
            {"every": False},
            "It is said to explain the scale of the noise, and outliers are compared with the edges. Appendix A calls "
            "the noise a Wigner matrix.",
            ({"exponent": 0.0}, {"exponent": 0.49}, {"exponent": 0.51}),
        ),
    ),
    uses=("fedloru-v2/prop-3.1",),
    because=r"With Gaussian noise about $\sqrt R$ eigenvalues around the median stay bounded: the density at 0 is of "
    r"order $\sqrt R$ only.",
    expect=("depends on the reading", "proof"),
)
def claim_scaling_var(ladders: dict[str, Ladder], every: bool = True, exponent: float = 0.5) -> Evidence:
    """Growth of the extreme eigenvalues from R = 10^4 to 10^8, by a power of R; those that stay near 0, if any."""
    kept = {name: ladder for name, ladder in ladders.items() if every or name != CENTRAL}

    def predict(exponent: float) -> Predictions:
        return {name: 0.0 if name == CENTRAL else 10.0 ** (4 * exponent) for name in kept}

    return judge_limit(
        kept,
        predict(exponent),
        resolution=0.02,
        scope="lambda_1, lambda_R and the root mean square over their means at R = 10^4, one spike inside the bulk, "
        "Gaussian noise",
        settings={CENTRAL: {"sigma": CONSTANT_VARIANCE, "width": CENTRE * CONSTANT_VARIANCE}},
    )
