"""Earlier versions, Section 3.1: limits for a general law of the noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_checks.claim import Best, Dropped, Evidence, Form, claim
from paper_checks.context import LEVEL, Context
from paper_checks.fedloru.spectral.general_noise import (
    LEFT_SKEWED,
    MARCHENKO_PASTUR,
    SEMICIRCLE,
    SKEWED,
    SPOTS,
    UNIFORM,
    Case,
    Noise,
    Spot,
    limiting_eigenvalue,
    observe,
)
from paper_checks.methods.bands import Predictions
from paper_checks.methods.limit import Ladder, judge_limit, mean_interval
from paper_checks.methods.parts import judge_parts
from paper_checks.methods.probability import Counted, judge_probability
from rmt.secular import draw_rotated
from rmt.spiked import SpikedModel


@dataclass(frozen=True)
class Observed:
    """Ladders of eigenvalues at their spots, and of eigenvalues at a share of the spectrum."""

    ladders: dict[Spot, Ladder]
    inside: dict[tuple[Noise, float], Ladder]


def measure_extremes(context: Context) -> Observed:
    """All spots."""
    return Observed(observe(context, SPOTS), {})


def _branch_scope(spots: Sequence[Spot]) -> str:
    laws = ", ".join(dict.fromkeys(spot.noise.name for spot in spots))
    ratios = [spot.relative for spot in spots if spot.theta]
    finite = [ratio for ratio in ratios if np.isfinite(ratio)]
    return (
        f"{laws}; spikes of either sign at {min(finite):.2g} to {max(finite):.2g} thresholds, alone and four "
        "together, uniformly random eigenvectors"
    )


@claim(
    "fedloru-v1/prop-3.2",
    where="v1, Section 3.1, Proposition 3.2, eqs. (5) to (7)",
    says=r"As $R \to \infty$, weakly almost surely, for $i = 1, \ldots, p$: $\lambda_i(H_N) \to g_N^{-1}(\theta_i)$ if "
    r"$g_N^{-1}(\theta_i) > U_N$, else $U_N$ (5); for $i = 0, \ldots, q-1$: $\lambda_{R-i}(H_N) \to "
    r"g_N^{-1}(\theta_{p+q-i})$ if that is $< L_N$, else $L_N$ (6); $g_N^{-1}(\theta) = \theta + "
    r"s(N)\mathcal{R}_\mu(s(N)\theta^{-1})$ (7), and $U_N$ and $L_N$ are lower and upper bounds of $\mu_N$. For fixed "
    r"$i > p$ a $\lambda_i$ that converges to a limit outside $[0, U_N]$ converges to $U_N$, and mirrored. The noise "
    r"is $s(N)X^R$, $X^R$ with a limit law $\mu$ of compact support and smooth density, and with QUE.",
    measure=measure_extremes,
    control=Form(
        r"The statement for spikes that leave the bulk, $1/\theta$ strictly between $g_{\mu_N}(L_N^-)$ and "
        r"$g_{\mu_N}(U_N^+)$, and noise without stray eigenvalues whose eigenvectors are uniformly random.",
        {"separated_only": True, "strays": False},
    ),
    correction=Form(
        r"$\lambda_i(H_N) \to g_N^{-1}(\theta_i)$ if $1/\theta_i < g_{\mu_N}(U_N^+)$, the Stieltjes transform at the "
        "edge (infinite if the density jumps there: then every spike leaves), else $U_N$; mirrored with "
        r"$g_{\mu_N}(L_N^-)$; if the extreme eigenvalues of $s(N)X^R$ themselves tend to $L_N$ and $U_N$, which weak "
        r"convergence to $\mu$ does not imply. $U_N$ is the upper bound, $L_N$ the lower one. Where the density "
        r"vanishes like a square root at the edge, the printed condition $g_N^{-1}(\theta_i) > U_N$ also holds for "
        r"spikes a little below the threshold, because $R_{\mu_N}(w) + 1/w$ has a local minimum, $U_N$, there. For "
        r"fixed $i > p$, $\lambda_i \to U_N$, and mirrored. Almost surely, if the extreme eigenvalues converge so and "
        "the eigenvectors are uniformly random; under QUE alone in probability.",
        {"rule": "threshold", "strays": False},
        mutants=(
            {"coefficient": 1.2},
            {"edge": 1.1},
            {"threshold": 1.7},
            {"threshold": 0.6},
            {"inner": False},
            {"strays": True},
        ),
    ),
    vary=("coefficient", "edge"),
    uses=("fedloru-v2/prop-3.1",),
    importance="result",
    because=r"The condition $g_N^{-1}(\theta) > U_N$ can also hold for spikes below $1/g_{\mu_N}(U_N)$, whose "
    "eigenvalue stays at the edge.",
    hypotheses=(
        Dropped(r"$1/\theta_i < g_{\mu_N}(U_N^+)$ where the outlier is claimed", {"rule": "printed"}),
        Dropped("extreme eigenvalues of the noise that tend to the edges", {"strays": True}),
    ),
    expect=("corrected", "proof"),
)
def v1_prop_3_2(
    data: Observed,
    rule: str = "printed",
    coefficient: float = 1.0,
    edge: float = 1.0,
    threshold: float = 1.0,
    inner: bool = True,
    separated_only: bool = False,
    strays: bool = True,
) -> Evidence:
    """Every branch for five laws, single spikes and four together, and noise with one stray eigenvalue."""
    form = {"rule": rule, "coefficient": coefficient, "edge": edge, "threshold": threshold, "inner": inner}
    spots = [s for s in data.ladders if (strays or not s.stray) and not (separated_only and s.relative <= 1.0)]
    if separated_only:
        spots = [spot for spot in spots if spot.theta]

    def predict(**form: Any) -> Predictions:
        return {spot.name: limiting_eigenvalue(spot, **form) for spot in spots}

    return judge_limit(
        {spot.name: data.ladders[spot] for spot in spots},
        predict(**form),
        scope=_branch_scope(spots),
        resolution=0.02,
        settings={spot.name: spot.numbers() for spot in spots},
    )


SHARES = (0.2, 0.4, 0.8)
BULK_SPIKE, BULK_SCALE = 1.0, 0.5


def measure_with_bulk(context: Context) -> Observed:
    """Marchenko-Pastur and uniform noise: the spots, and eigenvalues at fixed shares of the spectrum."""
    ladders = observe(context, [s for s in SPOTS if s.noise is MARCHENKO_PASTUR and not s.stray])
    inside, dimensions = {}, (10**3, 10**4)
    for noise in (UNIFORM, MARCHENKO_PASTUR):
        model, draws = SpikedModel((BULK_SPIKE,), noise.law, BULK_SCALE), {}
        for R in dimensions:
            rng, spectrum = context.rng(f"{noise.name}, R = {R}"), noise.spectrum(R)
            draws[R] = [draw_rotated(model, R, rng, spectrum=spectrum) for _ in range(context.size(12, 60))]
        for share in SHARES:
            rungs = ((R, np.array([one.eigenvalue(round(share * R)) for one in draws[R]])) for R in dimensions)
            inside[noise, share] = Ladder(tuple(rungs))
    return Observed(ladders, inside)


@cache
def _quantile(noise: Noise, level: float) -> float:
    return BULK_SCALE * float(noise.law.quantile(level))


def limit_inside(noise: Noise, share: float, interior: str, edge: float) -> float:
    """Limit of the eigenvalue at a share of the spectrum; of a set of limits the nearest is taken."""
    quantile = _quantile(noise, 1.0 - share)
    if interior == "set":
        ends = (edge * BULK_SCALE * end for end in noise.law.support)
        return min((0.0, *ends), key=lambda limit: abs(limit - quantile))
    return quantile if interior == "quantile" else _quantile(noise, share)


@claim(
    "fedloru-iclr/prop-3.1",
    where="iclr, Section 3.1, Proposition 3.1, eqs. (2) to (4), and its last sentence",
    says=r"For $H_N = H_{\mathrm{true}} + \epsilon(N)$, as $R \to \infty$, weakly almost surely: for $i = 1, \ldots, "
    r"p$, $\lambda_i(H_N) \to g_N^{-1}(\theta_i)$ if $g_N^{-1}(\theta_i) > U_N$, else $U_N$ (2); for $i = 0, \ldots, "
    r"q-1$, $\lambda_{R-i}(H_N) \to "
    r"g_N^{-1}(\theta_{p+q-i})$ if that is $< L_N$, else $L_N$ (3); $g_N^{-1}(\theta) = \theta + "
    r"s(N)\mathcal{R}_\mu(s(N)\theta^{-1})$ (4); $U_N$ and $L_N$ are lower and upper bounds (in this order) of the "
    r"limit "
    r"law $\mu_N$ of $\epsilon(N)$; and for $p < i \le P - q$, $\lambda_i(H_N) \to \{0, L_N, U_N\}$. The noise is "
    r"$s(N)X^R$, $X^R$ with a limit law $\mu$ of compact support and smooth density, and with QUE.",
    measure=measure_with_bulk,
    control=Form(
        r"For noise whose extreme eigenvalues tend to $U_N$ and $L_N$ and whose eigenvectors are uniformly random: the "
        r"two branches for spikes that leave the bulk, and $\lambda_i \to U_N$ for fixed $i > p$, and mirrored.",
        {"separated_only": True},
    ),
    correction=Form(
        r"For noise whose extreme eigenvalues tend to $U_N$ and $L_N$: the two branches with the thresholds "
        r"$1/g_{\mu_N}(U_N^+)$ and $1/g_{\mu_N}(L_N^-)$ as for v1, Proposition 3.2 "
        r"($g_{\mu_N}(z) = \int\frac{d\mu_N(x)}{z - x}$ to the right of the support, and to the left of it); for fixed "
        r"$i > p$, which the proof treats, "
        r"$\lambda_i \to U_N$, and mirrored; for $i = \lfloor cR \rfloor$, $0 < c < 1$, $\lambda_i$ tends to the "
        r"$(1-c)$-quantile of $\mu_N$ where that is unique, inside the bulk. "
        "Almost surely, if the extreme eigenvalues converge so and the eigenvectors are uniformly random; under QUE "
        "alone in probability.",
        {"rule": "threshold", "interior": "quantile"},
        mutants=({"interior": "mirrored"}, {"threshold": 1.7}, {"threshold": 0.6}, {"edge": 1.1}, {"coefficient": 1.2}),
    ),
    vary=("coefficient", "edge"),
    uses=("fedloru-v1/prop-3.2", "fedloru-v2/prop-3.1-bulk"),
    importance="result",
    because="Spikes below the threshold can meet the printed condition and stay at the edge; indices in proportion to "
    "R end inside the bulk.",
    hypotheses=(Dropped(r"$1/\theta_i < g_{\mu_N}(U_N^+)$ where the outlier is claimed", {"rule": "printed"}),),
    expect=("corrected", "proof"),
)
def iclr_prop_3_1(
    data: Observed,
    rule: str = "printed",
    interior: str = "set",
    coefficient: float = 1.0,
    edge: float = 1.0,
    threshold: float = 1.0,
    separated_only: bool = False,
) -> Evidence:
    """Eigenvalues at fixed shares of the spectrum, then the branches for one asymmetric law."""
    form: dict[str, Any] = {
        "rule": rule,
        "interior": interior,
        "coefficient": coefficient,
        "edge": edge,
        "threshold": threshold,
    }
    spots = [s for s in data.ladders if not (separated_only and s.theta and s.relative <= 1.0)]
    shares = (
        {}
        if separated_only
        else {f"lambda_i at i = {share:g} R, {noise.name}": (noise, share) for noise, share in data.inside}
    )

    def predict(interior: str, edge: float, **form: Any) -> Predictions:
        inside = {name: limit_inside(*at, interior, edge) for name, at in shares.items()}
        return inside | {spot.name: limiting_eigenvalue(spot, edge=edge, **form) for spot in spots}

    inner = (
        f"; shares {', '.join(map(str, SHARES))} of the spectrum of {UNIFORM.name} and {MARCHENKO_PASTUR.name} noise"
    )
    settings: dict[str, dict[str, float]] = {
        name: {"share": share, "s": BULK_SCALE, "theta": BULK_SPIKE, **dict(noise.numbers)}
        for name, (noise, share) in shares.items()
    }
    return judge_limit(
        {name: data.inside[at] for name, at in shares.items()} | {spot.name: data.ladders[spot] for spot in spots},
        predict(**form),
        resolution=0.02,
        scope=_branch_scope(spots) + ("" if separated_only else inner),
        settings=settings | {spot.name: spot.numbers() for spot in spots},
    )


# The spike decides both norms, or the server's alone, or the bulk decides both.
CASES = (
    Case(UNIFORM, 1.0, 0.8, 0.1),
    Case(SEMICIRCLE, 1.0, 0.6, 0.3),
    Case(MARCHENKO_PASTUR, 2.0, 0.8, 0.4),
    Case(MARCHENKO_PASTUR, -3.0, 0.6, 0.3),
    Case(SKEWED, 2.0, 0.9, 0.3),
    Case(SEMICIRCLE, 0.5, 0.8, 0.15),
    Case(SEMICIRCLE, 0.2, 0.8, 0.4),
    Case(LEFT_SKEWED, 0.15, 0.8, 0.2),
)
NEGATIVE = Case(LEFT_SKEWED, 0.15, 0.8, 0.2)


@dataclass(frozen=True)
class Gaps:
    """Gaps over R of every case, and the gaps themselves of the case in which the bulk decides."""

    ladders: dict[Case, Ladder]
    negative: NDArray[np.float64]


def measure_gaps(context: Context) -> Gaps:
    """Client and server drawn independently."""

    def gaps(case: Case, R: int, draws: int) -> NDArray[np.float64]:
        rng, spectrum = context.rng(f"{case.name}, R = {R}"), case.noise.spectrum(R)
        ranks = [
            [draw_rotated(case.models[which], R, rng, spectrum=spectrum).stable_rank().value for which in "MN"]
            for _ in range(draws)
        ]
        return -np.diff(np.array(ranks), axis=1)[:, 0]

    ladders = {
        case: Ladder(tuple((R, gaps(case, R, context.size(24, 100)) / R) for R in (10**3, 20_000))) for case in CASES
    }
    return Gaps(ladders, gaps(NEGATIVE, 10**4, context.size(60, 300)))


def limiting_gap(case: Case, second_moment: float, moment: str, norm: str, **_: Any) -> float:
    """Limit of the gap over R; ``norm`` g takes the spike's outlier for the norm even where the bulk decides."""
    client, server = (_rank_over_dimension(case, which, moment, norm) for which in "MN")
    return second_moment * (client - server)


@cache
def _rank_over_dimension(case: Case, which: str, moment: str, norm: str) -> float:
    model, law = case.models[which], case.models[which].noise_law
    top = model.spectral_norm
    if norm == "g":
        top = case.theta + model.scale * float(case.noise.transform(model.scale / case.theta))
    return (law.moment(2) if moment == "second" else law.variance) / top**2


@claim(
    "fedloru-v1/thm-3.3",
    where="v1, Section 3.1, Theorem 3.3, eq. (9); iclr, Section 3.1, Theorem 3.2, eq. (5)",
    says=r"For any integers $N > M > \bar R$ and any pair in $\Omega^R(\theta_1, \ldots, \theta_{p+q})$: "
    r"$\mathrm{srank}(H_M) - \mathrm{srank}(H_N) \to S(\theta_1, \dots, \theta_{p+q}, \mu) > 0$ weakly almost surely "
    r"as $R \to \infty$, where $S$ does not depend on the sequence $(h^R, \omega^R)$.",
    also=("fedloru-iclr/thm-3.2",),
    measure=measure_gaps,
    control=Form(
        "For noise whose extreme eigenvalues tend to the edges and whose eigenvectors are uniformly random the "
        "difference is positive for large $R$ where the spike decides the norm of $H_N$.",
        {"control": True},
    ),
    correction=Form(
        r"$(\mathrm{srank}(H_M) - \mathrm{srank}(H_N))/R \to m_2(\mu)\left(\frac{s(M)^2}{\lambda_M^2} - "
        r"\frac{s(N)^2}{\lambda_N^2}\right) \ge 0$ with $m_2$ the second moment and $\lambda = \lim\|H\|_2$, for "
        r"noise whose extreme eigenvalues tend to the edges. It is positive exactly if a spike decides $\lambda_N$ "
        r"($\lambda_N$ exceeds $\max(|L_N|, |U_N|)$), because $s/\lambda(s)$ never decreases: $\lambda - s\lambda' = "
        r"|\theta|(1 - x^2R_\mu'(x)) > 0$ at $x = s/\theta$ above the threshold. Then the difference itself grows "
        "like $R$. Where the bulk decides both norms the limit is 0 and the difference can be negative. "
        "Almost surely, if the extreme eigenvalues converge so and the eigenvectors are uniformly random; under QUE "
        "alone in probability.",
        {"growth": 1.0, "bulk_sign": "negative"},
        mutants=(
            {"second_moment": 1.25},
            {"second_moment": 0.8},
            {"moment": "variance"},
            {"norm": "g"},
            {"bulk_sign": "positive"},
        ),
    ),
    vary=("second_moment",),
    uses=("fedloru-v1/prop-3.2",),
    importance="result",
    because="The difference grows in proportion to R where a spike decides the norm, and can be negative where the "
    "bulk does.",
    best={"second_moment": Best(1.0, "proved: the squared Frobenius norm over R tends to the second moment")},
    hypotheses=(Dropped(r"a spike that decides the norm, for a positive difference", {"bulk_sign": "positive"}),),
    expect=("corrected", "proof"),
)
def v1_thm_3_3(
    data: Gaps,
    growth: float = 0.0,
    second_moment: float = 1.0,
    moment: str = "second",
    norm: str = "norm",
    bulk_sign: str = "positive",
    control: bool = False,
) -> Evidence:
    """A finite limit means 0 over R (``growth`` 0); then the sign of the gap where the bulk decides."""
    constants: dict[str, Any] = {"growth": growth, "second_moment": second_moment, "moment": moment, "norm": norm}

    def predict(growth: float, **form: Any) -> Predictions:
        return {case.name: growth * limiting_gap(case, **form) if growth else 0.0 for case in data.ladders}

    decided = sum(case.spike_decides("N") for case in data.ladders)
    scope = (
        f"{len(data.ladders)} laws and spikes; the spike decides the norm of H_N in {decided}, the bulk both norms in "
        f"{sum(not case.spike_decides('M') and not case.spike_decides('N') for case in data.ladders)}"
    )
    if control:
        cases = {case: ladder for case, ladder in data.ladders.items() if case.spike_decides("N")}
        return _judge_positive(cases, f"{decided} laws and spikes, in each the spike decides the norm of H_N")
    limits = judge_limit(
        {case.name: ladder for case, ladder in data.ladders.items()},
        predict(**constants),
        scope=scope,
        settings={case.name: case.numbers() for case in data.ladders},
        level=LEVEL / 2,
        resolution=0.02,
    )
    counted = Counted(int((data.negative < 0).sum()), len(data.negative))
    found = f"{limits.obtained}; {counted.happened} of {counted.draws} gaps negative where the bulk decides both norms"
    if not limits.ok:
        return replace(limits, obtained=found)
    low, high = (0.5, 1.0) if bulk_sign == "negative" else (0.0, 0.5)
    what = f"gap < 0, {NEGATIVE.name}"
    sign = judge_probability(counted, low, high, scope=limits.scope, what=what, level=LEVEL / 2)
    both = judge_parts([limits, sign])
    return replace(both, printed=limits.printed, obtained=found, cases=limits.cases) if both.ok else both


def _judge_positive(ladders: dict[Case, Ladder], scope: str) -> Evidence:
    """Judges that the gap is positive in every case, at its largest dimension."""
    intervals = {case: mean_interval(ladder.rungs[-1][1], LEVEL / len(ladders)) for case, ladder in ladders.items()}
    case, worst = min(intervals.items(), key=lambda item: item[1].low)
    ok = True if worst.low > 0 else False if worst.high <= 0 else None
    return Evidence(
        ok,
        scope,
        f"{case.name}: gap/R positive",
        f"{worst.middle:.3g}",
        worst.low,
        cases=len(ladders),
        level=LEVEL,
        reason="" if ok is not None else "an interval contains 0",
    )
