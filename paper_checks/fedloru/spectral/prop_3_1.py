"""Proposition 3.1: the outliers of a client's Hessian, and the noise above which they lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from paper_checks.claim import LITERAL, Best, Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import LEVEL, Context
from paper_checks.fedloru.spectral.measurements.spectra import NOISES, UNIT_LAW, Setting, Spectra, single_spikes
from paper_checks.methods.bands import Predictions
from paper_checks.methods.limit import Ladder, judge_limit
from paper_checks.methods.parts import judge_parts
from paper_checks.methods.probability import Counted, Law, judge_probability
from rmt.banded import draw_banded
from rmt.closed_laws import Semicircle
from rmt.dense import ENTRY_LAWS, wigner
from rmt.spiked import SpikedModel

FIXED_LAWS = ("gaussian", "rademacher", "uniform", "three-point", "exponential")

SPIKE = 3.0  # in units of sigma


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
    """Measure norms and outliers at R = 250 for every law."""
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


FAR = 0.4  # more than five standard deviations of that outlier at the dimension drawn, for every law above


def star_probability(R: int, degree: int) -> float:
    r"""Bound $P(\|X\| \ge \sigma\sqrt{degree})$ from below when an entry is $\pm\sigma$ with probability 1/R, else 0.

    The non-zero entries of the rows i <= R/2 in the columns j > R/2 number Binomial(R/2, 1/R) each, independently. A
    row with d of them holds a star, and one of the two vectors that weigh its centre against its leaves has a
    Rayleigh quotient of at least $\sigma\sqrt{d}$ in absolute value.
    """
    half = R // 2
    return float(-np.expm1(half * np.log1p(-binom.sf(degree - 1, half, 1.0 / R))))


def _events(data: Draws, name: str, factor: float, outlier: float, level: float) -> Iterator[Evidence]:
    """Return the one or two events of one law, each of which must have a probability of at most one half."""
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


@claim(
    "fedloru-v2/prop-3.1-dist",
    where="Section 3.1, eq. (1), Proposition 3.1",
    says=r"""The limits of Proposition 3.1 hold for $X^R$ real symmetric with each element independently drawn from a
    distribution with mean 0 and variance $\sigma^2/R$.""",
    measure=measure_laws,
    readings=(
        LITERAL,
        Reading(
            "Wigner matrix",
            r"The limits (2) and (3), with the condition $|\theta| > \sigma s_N$ as corrected there, hold in "
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
    expect=("holds", "proof"),
    intended=Intended(
        "Wigner matrix",
        "App. A: “where X^R is a Wigner matrix”: entries R^{-1/2} times one law, fourth moment finite by convention; "
        "“almost sure” (after Proposition 3.1) is judged for Gaussian entries there; for others it depends on how the "
        "matrices at different R are coupled, which is not printed",
    ),
    print="unstated",
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
    scope = (
        f"{judged.scope}; laws: {', '.join(laws)}; almost sure convergence: not judged; for independent matrices four "
        "moments are not enough for the norm"
    )
    return replace(judged, scope=scope, cases=len(laws))


TOGETHER = (3.0, 1.5, 0.6, -0.3, -1.8, -2.5)


def measure_extremes(context: Context) -> Spectra:
    """Measure the extreme eigenvalue of one spike at growing R, then all six spikes of both signs together."""
    ladders, spikes = {}, {}
    dimensions = (10**6, 10**9)
    for name, setting in single_spikes():
        rng, theta = context.rng(name), setting.spikes[0]
        rungs = []
        for R in dimensions:
            draws = context.size(12, 60)
            at = {"top": int(theta > 0), "bottom": int(theta < 0)}
            found = [draw_banded(setting.model(), R, rng, **at) for _ in range(draws)]
            rungs.append((R, np.array([d.top(1)[0] if theta > 0 else d.bottom(1)[0] for d in found])))
        ladders[name], spikes[name] = Ladder(tuple(rungs)), (setting, theta)
    setting = Setting(TOGETHER, 2.0, 0.5)
    rungs = []
    for R in (10**4, 10**6):
        rng = context.rng(f"together, R = {R}")
        found = [draw_banded(setting.model(), R, rng, top=3, bottom=3) for _ in range(context.size(24, 100))]
        rungs.append((R, np.array([[*d.top(3), *d.bottom(3)[::-1]] for d in found])))
    for index, ratio in enumerate(TOGETHER):
        name = f"theta = {ratio:g} sigma s beside five others"
        ladders[name] = Ladder(tuple((R, values[:, index]) for R, values in rungs))
        spikes[name] = (setting, setting.spikes[index])
    return Spectra(ladders, spikes)


def limiting_eigenvalue(
    setting: Setting, theta: float, rule: str, coefficient: float, edge: float, threshold: float, s_power: float
) -> float:
    """Return the two branches of Proposition 3.1, by the printed rule or by the threshold."""
    g = theta + coefficient * setting.sigma**2 * setting.s**s_power / theta
    limit = float(np.copysign(edge * setting.noise, theta))
    outside = (g > limit if theta > 0 else g < limit) if rule == "printed" else abs(theta) > threshold * setting.noise
    return g if outside else limit


@claim(
    "fedloru-v2/prop-3.1",
    where="Section 3.1, Proposition 3.1, eqs. (2) and (3)",
    says=r"""Let $H_N$ be as in (1), with i-th eigenvalue $\lambda_i(H_N)$. As $R \to \infty$: for $i = 1, \ldots, p$,
    $\lambda_i(H_N) \to g_N^{-1}(\theta_i)$ if $g_N^{-1}(\theta_i) > U_N$, and $\to U_N$ otherwise (2); for $i = 0,
    \ldots, q-1$, $\lambda_{R-i}(H_N) \to g_N^{-1}(\theta_{p+q-i})$ if $g_N^{-1}(\theta_{p+q-i}) < L_N$, and $\to L_N$
    otherwise (3). Here $g_N^{-1}(\theta) = \theta + \frac{\sigma^2 s_N^2}{\theta}$, $U_N = 2\sigma s_N$ and $L_N =
    -2\sigma s_N$; convergence is almost sure uniform convergence.""",
    measure=measure_extremes,
    control=Form(
        r"The statement for Gaussian noise and spikes with $|\theta| > \sigma s_N$.", {"supercritical_only": True}
    ),
    correction=Form(
        r"""$\lambda_i(H_N) \to g_N^{-1}(\theta_i)$ if $\theta_i > \sigma s_N$, else $U_N$; mirrored for negative spikes
        ($\theta < -\sigma s_N$). The printed condition $g_N^{-1}(\theta) > U_N$ holds for every positive $\theta \ne
        \sigma s_N$, since $\theta + \sigma^2s_N^2/\theta \ge 2\sigma s_N$. Almost surely, for Gaussian noise; for other
        entry laws see prop-3.1-dist.""",
        {"rule": "threshold"},
        mutants=({"coefficient": 1.05}, {"edge": 2.02}, {"threshold": 1.15}, {"threshold": 0.85}, {"s_power": 1.0}),
    ),
    vary=("coefficient", "edge"),
    uses=("fedloru-v2/eq-29", "fedloru-v2/eq-32", "fedloru-v2/lem-A.2"),
    importance="result",
    because=r"$\theta + \sigma^2s_N^2/\theta > U_N$ also holds for $0 < \theta < \sigma s_N$, but there the eigenvalue "
    "stays at $U_N$.",
    hypotheses=(Dropped(r"$|\theta_i| > \sigma s_N$ where the outlier is claimed", {"rule": "printed"}),),
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        "“if g_N^{-1}(θ_i) > U_N … otherwise U_N”; A.4: “It is possible that g_N^{-1}(θ_i) ≤ U_N for all i”, which for "
        "θ_i > 0 happens at θ_i = σ s_N only",
    ),
)
def prop_3_1(
    data: Spectra,
    rule: str = "printed",
    coefficient: float = 1.0,
    edge: float = 2.0,
    threshold: float = 1.0,
    s_power: float = 2.0,
    supercritical_only: bool = False,
) -> Evidence:
    """Every branch: spikes of both signs, below and above the threshold, one at a time and together."""

    def predict(rule: str, coefficient: float, edge: float, threshold: float, s_power: float, **_: Any) -> Predictions:
        return {
            name: limiting_eigenvalue(setting, theta, rule, coefficient, edge, threshold, s_power)
            for name, (setting, theta) in data.spikes.items()
            if not supercritical_only or abs(theta) > setting.noise
        }

    predicted = predict(rule, coefficient, edge, threshold, s_power)
    ratios = [theta / setting.noise for setting, theta in data.spikes.values()]
    return judge_limit(
        {name: data.ladders[name] for name in predicted},
        predicted,
        scope=f"spikes between {min(ratios):g} and {max(ratios):g} sigma s, alone with sigma s = "
        f"{' and '.join(f'{sigma * s:g}' for sigma, s in NOISES)} in turn, {len(TOGETHER)} together with sigma s = 1; "
        "Gaussian noise",
        settings=data.numbers(),
    )


@dataclass(frozen=True)
class Ordered:
    """Ladders of eigenvalues by index, the quantile predicted for those inside, and the nearer edge of each."""

    ladders: dict[str, Ladder]
    predicted_inside: dict[str, float]
    edges: dict[str, float]
    shares: dict[str, float]


BULK = Setting((2.0, -2.0), 2.0, 0.5)

SLOW = "lambda_i at i = floor(log2 R)"


def measure_bulk(context: Context) -> Ordered:
    """Measure eigenvalues at a fixed index past the outliers, a slowly growing one, and shares of the spectrum."""
    ladders, inside, edges, shares = {}, {}, {}, {}
    positive, rungs = SpikedModel(BULK.spikes[:1], Semicircle(BULK.sigma), BULK.s), []
    for R in (10**6, 10**8):
        rng, top = context.rng(f"fixed index, R = {R}"), R.bit_length() - 1
        rungs.append(
            (R, np.array([draw_banded(positive, R, rng, top=top).top(top) for _ in range(context.size(12, 60))]))
        )
    for name, index in (("lambda_2, p = 1", 2), ("lambda_4, p = 1", 4), (SLOW, 0)):
        ladders[name] = Ladder(tuple((R, found[:, index - 1]) for R, found in rungs))  # the last one for index 0
        edges[name] = 2.0 * BULK.noise
    rng = context.rng("fixed share")
    for share in (0.1, 0.5, 0.8):
        name = f"lambda_i at i = {share:g} R"
        rungs = []
        for R in (10**3, 10**4):
            draws = [draw_banded(positive, R, rng, top=R, rows=R) for _ in range(context.size(12, 40))]
            rungs.append((R, np.array([draw.at(round(share * R)) for draw in draws])))
        ladders[name], shares[name] = Ladder(tuple(rungs)), share
        inside[name] = BULK.noise * float(UNIT_LAW.quantile(1.0 - share))
        edges[name] = float(np.copysign(2.0 * BULK.noise, inside[name] or 1.0))
    return Ordered(ladders, inside, edges, shares)


@claim(
    "fedloru-v2/prop-3.1-bulk",
    where="Section 3.1, Proposition 3.1, last sentence",
    says=r"""For $p < i \le P - q$ we have $\lambda_i(H_N) \to \{L_N, U_N\}$ as $R \to \infty$; convergence is almost
    sure uniform convergence.""",
    measure=measure_bulk,
    readings=(
        Reading(
            "every index in the range",
            r"For every $i = i(R)$ with $p < i \le R - q$, also one that grows with R, $\lambda_i(H_N)$ comes "
            r"arbitrarily near to $\{L_N, U_N\}$ (with R for the printed P, which the paper does not define).",
            why="The range grows with R, the paper says that convergence is uniform, and Theorem 3.2 counts all these "
            "indices.",
        ),
        Reading(
            "fixed index",
            r"$\lambda_i(H_N) \to U_N$ for every fixed $i > p$, and $\lambda_{R-i}(H_N) \to L_N$ for every fixed $i "
            r"\ge q$. Almost surely, for Wigner matrices as in eq-29 (one law of entries over $\sqrt R$, fourth "
            "moment finite, taken from one infinite matrix for all R); for other noise see there.",
            {"fixed_only": True},
            r"Its proof ends with eq. (29), for all $i > p$ (respectively, $i \ge q$) fixed.",
            ({"edge": 2.1},),
        ),
    ),
    correction=Form(
        r"""Almost surely, for Wigner matrices as in eq-29 (one law of entries over $\sqrt R$, fourth moment finite,
        taken from one infinite matrix for all R): if $p < i(R) \le R - q$ and $i(R)/R \to c$, then
        $\lambda_{i(R)}(H_N)$ converges to the $(1-c)$-quantile of the semicircle on $[L_N, U_N]$: to $U_N$ for $c = 0$,
        as for every fixed index, to $L_N$ for $c = 1$, and to a value inside the bulk for $0 < c < 1$.""",
        {"interior": "quantile"},
        mutants=({"interior": "mirrored"}, {"edge": 2.02}),
    ),
    uses=("fedloru-v2/eq-29", "fedloru-v2/eq-21-25", "fedloru-v2/lem-A.2"),
    importance="result",
    because=r"An index in proportion to R, $i = \lfloor cR\rfloor$ with $0 < c < 1$, has its limit inside the bulk. P "
    "means R.",
    hypotheses=(Dropped(r"$i(R)/R \to 0$ or 1", {"fixed_only": False}),),
    expect=("corrected", "proof"),
    intended=Intended(
        "every index in the range",
        "“for p < i ≤ P-q”, and (36) relies on it for all of them; A.3 proves it “for all i > p … fixed” only; P is R",
    ),
    print="misprint",
)
def prop_3_1_bulk(data: Ordered, interior: str = "edges", edge: float = 2.0, fixed_only: bool = False) -> Evidence:
    """Indices at a fixed distance from the top or one that grows slowly, and at a fixed share of the spectrum."""

    def predict(interior: str, edge: float, **_: Any) -> Predictions:
        found = {}
        for name, limit in data.edges.items():
            value = data.predicted_inside.get(name)
            if value is None and (name != SLOW or not fixed_only):
                found[name] = limit * edge / 2.0
            elif value is not None and not fixed_only:
                # A limit "in {L, U}" is read as the nearer of the two.
                found[name] = {"edges": limit * edge / 2.0, "quantile": value, "mirrored": -value}[interior]
        return found

    predicted = predict(interior, edge)
    shares = ", ".join(f"{share:g}" for share in data.shares.values())
    others = "" if fixed_only else f", one that grows like log R, and shares {shares} of the spectrum"
    return judge_limit(
        {name: data.ladders[name] for name in predicted},
        predicted,
        resolution=0.01,
        scope=f"one spike at {BULK.spikes[0] / BULK.noise:g} sigma s; fixed indices{others}",
        settings={name: {"sigma": BULK.sigma, "s": BULK.s, "share": data.shares.get(name, 0.0)} for name in predicted},
    )
