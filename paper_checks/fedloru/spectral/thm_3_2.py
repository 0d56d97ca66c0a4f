"""Theorem 3.2: the stable ranks of a client's Hessian and of the global one, and how their difference grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import sympy

from paper_checks.claim import Best, Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import LEVEL, Context
from paper_checks.facts import Fact, combine, identity, positive
from paper_checks.fedloru.spectral.measurements.spike_sets import (
    READINGS,
    Gap,
    Instance,
    SetReading,
    assumed,
    draw_instances,
    judge_instances,
)
from paper_checks.fedloru.spectral.measurements.spike_sets import SetReading as Sets
from paper_checks.fedloru.spectral.measurements.stable_rank_symbols import (
    NOISE,
    RATIO,
    S_M,
    S_N,
    SHRINK,
    SIGMA,
    SPIKE,
    SYMBOLS,
    THETA_0,
    THETA_J,
    outliers,
    parameters,
)
from paper_checks.fedloru.spectral.measurements.stable_ranks import (
    ABOVE,
    BETWEEN,
    NOISE_SIGMA,
    SETTLED,
    R,
    Ranks,
    Sizes,
    draw_ranks,
    expected_gap,
    measure_ranks,
)
from paper_checks.fedloru.spectral.thm_3_2_monotone import A, B, beside_border, where
from paper_checks.methods.domain import FROM_ONE, OPEN_UNIT, Axis, Cases, Searched
from paper_checks.methods.inequality import collect_cases, judge_inequality
from paper_checks.methods.limit import Ladder, judge_limit
from paper_checks.methods.parts import judge_parts
from paper_checks.methods.probability import Counted
from rmt.spiked import wigner_outlier


def difference(instance: Instance, sets: SetReading) -> Fraction:
    """Return eq. (36) at M minus eq. (36) at N: each index with its outlier or the edge, by the sets at M and at N."""
    at_M, at_N = instance.outside(instance.noise_M, sets), instance.outside(instance.noise_N, sets)
    edge_M, edge_N = instance.edges
    spikes = sum(
        (share_M if i in at_M else edge_M) - (share_N if i in at_N else edge_N)
        for i, (share_M, share_N) in enumerate(instance.shares)
    )
    return spikes + instance.rest * (edge_M - edge_N)


def _sums(instance: Instance, sets: SetReading) -> tuple[Fraction, Fraction]:
    """Return the two sums of eq. (4) without its factors."""
    m, n, theta = instance.noise_M, instance.noise_N, instance.theta_0
    at_N = instance.outside(n, sets)
    norms = (wigner_outlier(theta, m) * wigner_outlier(theta, n)) ** 2
    pairs = sum((abs(theta / instance.spikes[j] - instance.spikes[j] / theta) for j in at_N), Fraction(0))
    counted = instance.rest + len(instance.spikes) - len(at_N)
    edges = counted * (theta**2 - (m * n / theta) ** 2)
    return (m**2 - n**2) * m * n * pairs / norms, (m**2 - n**2) * edges / norms


def bound(instance: Instance, sets: SetReading, first: Fraction, second: Fraction) -> Fraction:
    """Return the right side of eq. (4), with factors for the printed 8 and 4."""
    spikes, edges = instance.once(("sums of the bound", sets), lambda: _sums(instance, sets))
    return first * spikes + second * edges


@cache
def _proof() -> tuple[Fact, ...]:
    r"""Each outlier exceeds the edge, so $F_j$ is at least its part of the bound; the rest is eq. (43)."""
    g_Mj, g_N0, g_Nj, g_M0 = outliers(SYMBOLS)
    m, n = SIGMA * S_M, SIGMA * S_N
    spread, gap = THETA_0 / THETA_J - THETA_J / THETA_0, m**2 - n**2
    norms = (g_M0 * g_N0) ** 2
    edges = (2 * m / g_M0) ** 2 - (2 * n / g_N0) ** 2
    products = g_Mj * g_N0 + g_Nj * g_M0
    excess = g_Mj * (g_N0 - 2 * n) + 2 * n * (g_Mj - 2 * m) + g_Nj * (g_M0 - 2 * m) + 2 * m * (g_Nj - 2 * n)
    a, b = sympy.symbols("a b", positive=True)
    return combine(
        identity("an outlier exceeds the edge by a square", (g_Mj - 2 * m) - (THETA_J - m) ** 2 / THETA_J),
        identity("F_j", (g_Mj / g_M0) ** 2 - (g_Nj / g_N0) ** 2 - products * gap * spread / norms),
        identity("F_j less its bound", products - 8 * m * n - excess),
        positive("the spread of the spikes", spread, {THETA_0: THETA_J + a}),
        identity("eq. (43)", edges - 4 * gap * (THETA_0**2 - (m * n / THETA_0) ** 2) / norms),
        positive("the edges", edges, {S_M: S_N + a, THETA_0: SIGMA * (S_N + a) + b}),
    )


def judge_estimates(
    instances: Sequence[Instance], sets: SetReading, first: float, second: float, assumption: bool
) -> Evidence:
    """Return whether the difference of the estimates is positive and at least the right side of eq. (4).

    Args:
        instances: those with no eigenvalue at an edge are left out.
        sets: which indices count as outliers.
        first: the printed 8.
        second: the printed 4.
        assumption: whether to ask for the theorem's.
    """
    factors = Fraction(str(first)), Fraction(str(second))

    def gap(instance: Instance, sets: SetReading) -> Gap:
        left = instance.once(("difference", sets), lambda: difference(instance, sets))
        right = bound(instance, sets, *factors)
        short = max(right - left, -left)
        return Gap(left <= 0 or left < right, short, f"difference {float(left):.6g} against {float(right):.6g}")

    return judge_instances(
        [instance for instance in assumed(list(instances), assumption) if instance.rest],
        gap,
        (sets,),
        proof=lambda: _proof() if sets == "condition" and factors[0] <= 8 and factors[1] <= 4 and assumption else (),
        scope="expressions (36) with 1 to 19 indices besides the spikes, the same number at M and at N",
        printed="the difference of the expressions (36) is positive, and at least the right side of (4)",
    )


def printed_bound(sizes: Sizes) -> float:
    r"""Return the right side of (4) over R, with $B_N$ = R minus the number of outliers (printed sets: all spikes)."""
    theta, client, server = sizes.theta_0, sizes.client, sizes.server
    below = (wigner_outlier(theta, client) * wigner_outlier(theta, server)) ** 2
    pairs = sum(8.0 * NOISE_SIGMA**2 * client * server * abs(theta / t - t / theta) for t in sizes.spikes)
    counted = 4.0 * NOISE_SIGMA**2 * (R - len(sizes.spikes)) * (theta**2 - (client * server / theta) ** 2)
    return (client**2 - server**2) / NOISE_SIGMA**2 / below * (pairs + counted) / R


@dataclass(frozen=True)
class Theorem:
    """Stable ranks of the Hessians themselves, and exact instances of the estimates of eq. (36)."""

    ranks: dict[str, Ranks]
    instances: list[Instance]


def measure_theorem(context: Context) -> Theorem:
    """Measure stable ranks, and draw instances."""
    return Theorem(measure_ranks(context), draw_instances(context))


@claim(
    "fedloru-v2/thm-3.2",
    where="Section 3.1, Theorem 3.2, eq. (4), and Appendix A.4, eq. (45); that the lower bound decreases with M, the "
    "last sentence of both, is fedloru-v2/thm-3.2-mono",
    says=r"""With $\theta_0 = \theta_1 1\{|\theta_1| \ge |\theta_{p+q}|\} + \theta_{p+q} 1\{|\theta_1| <
    |\theta_{p+q}|\}$ and $\theta_0^2 \ge \sigma^2s_M^2$, the difference in the limiting stable rank, as $R \to \infty$,
    between $H_N$ and $H_M$ is positive and bounded below: $\widehat{\mathrm{srank}}(H_M) -
    \widehat{\mathrm{srank}}(H_N) \ge \frac{s_M^2 - s_N^2}{g_M^{-1}(\theta_0)^2g_N^{-1}(\theta_0)^2}\left[\sum_{j \in
    \mathcal{P}_N \cup \mathcal{Q}_N}8\sigma^4s_Ms_N\left|\frac{\theta_0}{\theta_j} - \frac{\theta_j}{\theta_0}\right| +
    4\sigma^2B_N\left(\theta_0^2 - \frac{\sigma^4s_M^2s_N^2}{\theta_0^2}\right)\right]$, where $B_N = |\{i :
    \lambda_i(H_N) \to U_N \text{ or } L_N\}|$, $\mathcal{P}_N = \{i \le p : g_N^{-1}(\theta_i) > U_N\}$ and
    $\mathcal{Q}_N = \{i > p : g_N^{-1}(\theta_i) < L_N\}$.""",
    measure=measure_theorem,
    mutants=[{"second": 4.05}, {"first": 16.0}],
    readings=(
        Reading(
            "stable ranks of the Hessians",
            r"For large R, $\mathrm{srank}(H_M) - \mathrm{srank}(H_N)$ is positive and at least the right side of "
            r"(4), with all indices in $B_N$ that are not in $\mathcal{P}_N \cup \mathcal{Q}_N$.",
            why="The theorem speaks of the difference in the limiting stable rank of the Hessians, (37) equates it "
            "with that of the estimates, and by Proposition 3.1 all other eigenvalues tend to $U_N$ or $L_N$.",
        ),
        Reading(
            "estimates, sets by condition",
            r"Between the estimates (36) with finite counts, $N_u + N_l = B_N \ge 1$ and as many indices at M as at "
            r"N: $\widehat{\mathrm{srank}}(H_M) - \widehat{\mathrm{srank}}(H_N)$ is positive and at least the right "
            r"side of (4), $\mathcal{P}_N = \{i \le p : g_N^{-1}(\theta_i) > U_N\}$ and its likes.",
            {"form": "estimates"},
            "The displayed inequality compares the estimates, which (36) defines with counts. The proof matches the "
            "indices at M and at N, and the theorem prints these sets. This reading takes finite counts as given; the "
            "model does not have any (see (36)).",
        ),
        Reading(
            "estimates, sets by limit",
            r"The same with $\mathcal{P}_N = \{i \le p : \lambda_i(H_N) \to g_N^{-1}(\theta_i)\}$ and its likes.",
            {"form": "estimates", "sets": "limit"},
            "Appendix A.4 prints these sets as equal to those of the theorem, and counts the others at the edges.",
        ),
    ),
    correction=Form(
        r"""For Gaussian noise, and in probability for Wigner matrices as in prop-3.1-dist, the difference of the stable
        ranks is positive for large R and grows in proportion to R, for every $|\theta_0| > \sigma s_N$ (also between
        $\sigma s_N$ and $\sigma s_M$): over R it tends to $\sigma^2\left(\frac{s_M^2}{\lambda_M^2} -
        \frac{s_N^2}{\lambda_N^2}\right) > 0$ with $\lambda = \theta_0 + \sigma^2s^2/\theta_0$ for $|\theta_0| > \sigma
        s$, else $2\sigma s$ ($s/\lambda$ increases with s up to $\sigma s = |\theta_0|$, and stays). The printed bound
        over R is four times that for $\theta_0^2 \ge \sigma^2s_M^2$; with any fixed finite number for $B_N$ it would
        hold for large R, since the left side is unbounded.""",
        {"form": "limit"},
        mutants=({"bulk": 0.0}, {"bulk": 1.1}, {"bulk": 0.9}),
    ),
    vary=("first", "second"),
    best={
        "first": Best(8.0, r"proved: attained in the limit of $\theta_j, \theta_0 \to \sigma s_M$ and $s_N \to s_M$")
    },
    hypotheses=(Dropped(r"$\theta_0^2 \ge \sigma^2s_M^2$", {"assumption": False}),),
    uses=("fedloru-v2/eq-37", "fedloru-v2/eq-40", "fedloru-v2/eq-42", "fedloru-v2/eq-43"),
    also=("fedloru-v2/eq-45",),
    importance="result",
    because=r"Eigenvalues inside the bulk make up the stable rank. Their mean square is $\sigma^2s_N^2$, but the bound "
    r"counts $4\sigma^2s_N^2$ each.",
    expect=("corrected", "proof"),
    intended=Intended(
        "stable ranks of the Hessians",
        "App. A.4 takes (36) as the limit of srank: “|srank - ŝrank| → 0” by “Proposition 3.1”; "
        "$B_N$ counts every bulk index",
    ),
    seen_in=("hessian/predictions", "fedloru/fig-1"),
)
def thm_3_2(
    data: Theorem,
    form: str = "bound",
    bulk: float = 1.0,
    sets: Sets = "condition",
    first: float = 8.0,
    second: float = 4.0,
    assumption: bool = True,
) -> Evidence:
    """The difference over R against the printed bound from below, or the limit; or the same of the estimates (36)."""
    if form == "estimates":
        return judge_estimates(data.instances, sets, first, second, assumption)
    settings = ABOVE if form == "bound" else ABOVE | BETWEEN
    predicted = {
        name: printed_bound(sizes) if form == "bound" else expected_gap(sizes, bulk) for name, sizes in settings.items()
    }
    gaps = {name: data.ranks[name].gaps() / R for name in settings}
    smallest = min(float(np.mean(values)) for values in gaps.values())
    if form == "bound":  # what exceeds a lower bound satisfies it
        gaps = {name: np.minimum(values, predicted[name]) for name, values in gaps.items()}
    return judge_limit(
        {name: Ladder(((R, values),), SETTLED) for name, values in gaps.items()},
        predicted,
        scope=f"{', '.join(settings)}; spikes of both signs, independent noise; the smallest difference is "
        f"{smallest:.3g} R",
        settings={name: sizes.numbers() for name, sizes in settings.items()},
    )


WEIGHT, COUNT = sympy.symbols("weight count", positive=True)


def bound_4(values: Mapping[str, Any], weight: Any, count: Any, g_power: int = 2) -> Any:
    r"""Return the right side of eq. 4 for any kind of number.

    Args:
        values: the paper's parameters.
        weight: sum of $|\theta_0/\theta_j - \theta_j/\theta_0|$ over the set.
        count: $B_N$.
        g_power: power of $g_M^{-1}(\theta_0)$ below.
    """
    t0, sigma, s_M, s_N = (values[name] for name in ("theta_0", "sigma", "s_M", "s_N"))
    g_M0, g_N0 = wigner_outlier(t0, sigma * s_M), wigner_outlier(t0, sigma * s_N)
    bracket = 8 * sigma**4 * s_M * s_N * weight + 4 * sigma**2 * count * (t0**2 - sigma**4 * s_M**2 * s_N**2 / t0**2)
    return (s_M**2 - s_N**2) / (g_M0**g_power * g_N0**2) * bracket


def _bounds(case: Mapping[str, Any], g_power: int = 2, least: float = 1) -> tuple[Any, Any]:
    """Return the bound at a size between M and N and at M; ``least`` shifts the count to start there or to infinity."""
    at_M = parameters({**case, "shrink": case["shrink"] * case["shrink_N"]})
    weight = abs(1 / case["ratio"] - case["ratio"])
    count = case["count"] // 1 + (least - 1)
    larger = {**at_M, "s_M": case["shrink"] * at_M["s_M"]}
    return bound_4(larger, weight, count, g_power), bound_4(at_M, weight, count, g_power)


BORDER = (1.0, 0.999, 0.99, 0.9, 0.6, 0.34)

BOUND_AXES = (  # with a sample size between M and N
    SPIKE,
    RATIO,
    NOISE,
    replace(SHRINK, words="scale of the noise at a sample size between M and N over that at M"),
    Axis("shrink_N", 1e-3, 0.9999, OPEN_UNIT, words="scale of the noise at N over that at this sample size"),
    Axis("count", 1.0, 1e6, FROM_ONE, words="the count B_N"),
)


def search_bounds(context: Context) -> Searched:
    """Search cases of Theorem 3.2's assumption, towards where the bound hardly moves, and at and beyond its border."""

    def gap(cases: Cases) -> np.ndarray:
        between, at_M = _bounds(cases)
        return at_M / between - 1.0

    def within(cases: Cases) -> np.ndarray:
        return np.abs(cases["theta_0"]) >= cases["noise"]

    found = collect_cases(
        context, BOUND_AXES, within, gap, examples=context.size(200, 2000), restarts=context.size(1, 4)
    )
    drawn = found.holding({name: column[:1000] for name, column in found.items()})  # corners and draws lead
    border = beside_border(drawn, *BORDER)
    return found.holding({name: np.concatenate([found[name], column]) for name, column in border.items()})


@claim(
    "fedloru-v2/thm-3.2-mono",
    where="Theorem 3.2, eq. (4), last sentence, and Appendix A.4, after eq. (45)",
    says="The lower bound of Theorem 3.2, the right side of (4), decreases with $M$.",
    measure=search_bounds,
    mutants=[],
    readings=(
        Reading(
            "the count of the limits",
            r"With $B_N = |\{i : \lambda_i(H_N) \to U_N \text{ or } L_N\}|$, and $s_M > s_N$ with $\theta_0^2 \ge "
            r"\sigma^2 s_M^2$ at the smaller of two sample sizes below N, s strictly smaller at the larger of them: "
            "there the right side of (4), a number or infinite, is strictly smaller.",
            why="Theorem 3.2 defines $B_N$ so, and by eq. (29) every fixed index $i > p$ counts.",
        ),
        Reading(
            "a finite count",
            r"For a finite count $B_N \ge 1$, and $s_M > s_N$ with $\theta_0^2 \ge \sigma^2 s_M^2$ at the smaller of "
            "two sample sizes below N, s strictly smaller at the larger of them: there the right side of (4) is "
            "strictly smaller.",
            {"count": "finite"},
            "At each R the indices besides the spikes are finitely many. With $B_N = 0$ and one spike the right side "
            "is 0.",
            ({"reach": 3.0}, {"direction": -1}, {"g_power": 4}, {"least": 0}),
        ),
    ),
    uses=("fedloru-v2/eq-29", "fedloru-v2/eq-41", "fedloru-v2/eq-43", "fedloru-v2/eq-44"),
    importance="result",
    because="$B_N$ as defined is infinite, so the right side of (4) is infinite for every M.",
    expect=("holds", "proof"),
    intended=Intended(
        "a finite count",
        "“the lower bound decreases with M” is shown term by term in (41), (44) for a fixed count "
        "$B_N$; that it is finite is nowhere said",
    ),
    print="unstated",
)
def thm_3_2_mono(
    cases: Searched, count: str = "of limits", reach: float = 1.0, direction: int = 1, g_power: int = 2, least: int = 1
) -> Evidence:
    """The bound at two sample sizes below N; ``reach`` extends the range of sigma s_M, ``least`` is the least B_N.

    Where limits are counted the reciprocals are compared, which are 0 for infinite bounds.
    """

    def sides(case: Mapping[str, Any]) -> tuple[Any, Any]:
        between, at_M = _bounds(case, g_power, least)
        return direction * between, direction * at_M

    kept = where(cases, reach * np.abs(cases["theta_0"]) >= cases["noise"])
    pairs = "pairs of sample sizes below N with theta_0^2 >= sigma^2 s_M^2, |theta_j| up to |theta_0|"
    if count == "of limits":
        between, at_M = _bounds(kept, g_power, np.inf)
        return judge_inequality(
            1 / at_M,
            1 / between,
            0.0,
            case=kept,
            strict=True,
            domain=cases.domain,
            scope=f"{len(at_M)} {pairs}, infinite B_N",
            printed="1/(bound at M) < 1/(bound at the larger sample size)",
        )
    left, right = sides(kept)
    evidence = judge_inequality(
        left,
        right,
        0.0,
        quotient=True,
        case=kept,
        exact=sides,
        strict=True,
        domain=cases.domain,
        scope=f"{len(left)} {pairs}, B_N from 1 to 10^6",
        printed="bound at the larger sample size < bound at M",
    )
    if not evidence.ok or reach != 1.0:
        return evidence
    slope = sympy.diff(bound_4(SYMBOLS, WEIGHT, COUNT, g_power), S_M)
    shown = positive("slope of the bound", slope, {S_M: S_N + A, THETA_0: SIGMA * (S_N + A) + B})
    return replace(evidence, facts=combine(shown))


@dataclass(frozen=True)
class Gaps:
    """How often the difference of the stable ranks was negative, and exact instances for the expressions (36).

    Attributes:
        counts: Negative differences for the largest spike above both thresholds, between them and below both.
        single: One spike, around the size at which the difference of the expressions (36) turns, in seven units.
        drawn: Instances of several spikes.
    """

    counts: dict[str, Counted]
    single: tuple[Instance, ...]
    drawn: tuple[Instance, ...]


def _single() -> tuple[Instance, ...]:
    r"""$\sigma s_M = 32/5$ and $\sigma s_N = 18/5$, the spike at several shares of their geometric mean, 24/5."""
    ratios = [Fraction(text) for text in ("1/2", "49/50", "1", "51/50", "5/4")]
    factors = Fraction(16, 25), Fraction(9, 25), Fraction(1, 2)
    return tuple(
        Instance(((-1) ** place * ratio * Fraction(24, 5) * unit,), 10 * unit, *factors, 1 + place)
        for unit in (Fraction(10) ** power for power in range(-3, 4))
        for place, ratio in enumerate(ratios)
    )


BELOW = {"theta_0 below both": Sizes((0.3,), 1.0, 0.5)}


def measure_gaps(context: Context) -> Gaps:
    """Draw signs at R = 10^5, and exact instances."""
    counts = {}
    for place, settings in (("above", ABOVE), ("between", BETWEEN), ("below", BELOW)):
        name, sizes = list(settings.items())[-1]
        gaps = draw_ranks(sizes, 10**5, context.size(120, 1000), context.rng(name)).gaps()
        counts[place] = Counted(int((gaps < 0).sum()), len(gaps))
    return Gaps(counts, _single(), tuple(draw_instances(context)))


def _judge_signs(
    counts: dict[str, Counted], possible: tuple[str, ...], impossible: tuple[str, ...], share: float
) -> Evidence:
    """Judge where a negative gap has a probability of more than ``share``, and where of less."""
    level = LEVEL / (len(possible) + len(impossible))
    shares = {place: counts[place].interval(level) for place in (*possible, *impossible)}
    room = min([shares[place][0] - share for place in possible] + [share - shares[place][1] for place in impossible])
    apart = max([share - shares[place][1] for place in possible] + [shares[place][0] - share for place in impossible])
    found = "; ".join(f"{place}: {count.happened} of {count.draws}" for place, count in counts.items())
    scope = (
        "negative gaps at R = 10^5: the largest spike above both thresholds, between sigma s_N and sigma s_M with "
        "theta_0^2 < sigma^2 s_M s_N, where the right side of (4) is negative, and below both, independent noise"
    )
    printed = f"P(gap < 0) > {share:g} {', '.join(possible)}; < {share:g} {', '.join(impossible)}"
    draws = counts["below"].draws
    if room >= 0:
        return Evidence(True, scope, printed, found, room, level=LEVEL, cases=draws)
    if apart > 0:
        return Evidence(
            False, scope, printed, found, -apart, level=LEVEL, cases=draws, witness={"share": share, "found": found}
        )
    return Evidence(None, scope, printed, found, room, level=LEVEL, reason="an interval straddles a bound")


def _judge_expressions(instances: Sequence[Instance], product: float) -> Evidence:
    r"""Judge the expressions (36): negative only for $\theta_0^2 < \sigma^2s_Ms_N$, and so for one spike."""

    def gap(one: Instance, sets: Sets) -> Gap:
        turns = Fraction(str(product)) * one.noise_M * one.noise_N
        found, small = difference(one, sets), one.theta_0**2 < turns
        fails = not small if found < 0 else small and len(one.spikes) == 1
        return Gap(fails, abs(one.theta_0**2 - turns), f"gap {float(found):.6g}")

    return judge_instances(
        [one for one in instances if one.rest],
        gap,
        ("condition",),
        proof=tuple,
        scope="expressions (36) with 1 to 19 indices besides the spikes, the same number at M and at N",
        printed=f"gap < 0 only for theta_0^2 < {product:g} sigma^2 s_M s_N, and there for one spike",
    )


def _judge_sizes(instances: Sequence[Instance], most: float, relative: bool) -> Evidence:
    """Judge that the spike is at most a fixed number wherever the expressions (36) have a negative gap, by either sets.

    The number is one of the noise at M, if ``relative``.
    """

    def size_of(one: Instance) -> Fraction:
        return abs(one.theta_0) / (one.noise_M if relative else 1)

    negative = [one for one in instances if all(difference(one, sets) < 0 for sets in READINGS)]
    largest = max(negative, key=size_of)
    size, name = size_of(largest), "|theta_0|/(sigma s_M)" if relative else "|theta_0|"
    witness = {
        "theta_0": str(largest.theta_0),
        "sigma": str(largest.sigma),
        "s_M": str(largest.s_m),
        "s_N": str(largest.s_n),
        "rest": largest.rest,
        "most": str(Fraction(str(most))),
    }
    return Evidence(
        size <= most,
        f"one spike, in units from 1/1000 to 1000; {len(negative)} instances of a negative gap",
        f"{name} <= {most:g}",
        f"{name} up to {float(size):g}",
        float(most - size),
        cases=len(negative),
        witness=witness,
    )


@claim(
    "fedloru-v2/claim-ill",
    where="Section 3.1, after Theorem 3.2",
    says=r"""In the special case $\theta_0^2 \le \sigma^2s_M^2$ the gap can become negative; this scenario arises only
    when the Hessian is extremely ill-conditioned, meaning that the largest singular value is extremely small.""",
    measure=measure_gaps,
    readings=(
        Reading(
            "small in itself",
            r"A negative gap arises only where the largest singular value of $H_{\mathrm{true}}$, $|\theta_0|$, is "
            "small as a number: below a fixed one, here 1.",
            why="The sentence does not name a scale with which the singular value is compared.",
        ),
        Reading(
            "extremely small against the noise",
            r"A negative gap arises only where $|\theta_0|$ is much smaller than the noise: below a fixed share "
            r"of $\sigma s_M$, here a tenth.",
            {"against": "noise at M", "most": 0.1},
            r"The paper calls the singular value extremely small, in the case $\theta_0^2 \le \sigma^2s_M^2$. Every "
            "share below 1 fails, for $s_N/s_M$ near enough to 1.",
            ({"most": 0.05},),
        ),
        Reading(
            "small against the noise",
            r"A negative gap arises, and only where $|\theta_0|$ is at most of the size of the noise. For independent "
            "Gaussian noise at M and at N the stable ranks have one with a probability that does not vanish for some "
            r"$|\theta_0| \le \sigma s_N$, and with one that vanishes as $R \to \infty$ for every $|\theta_0| > \sigma "
            "s_N$. The expressions (36), with finite counts, as many indices at M as at N, and the sets of the "
            r"theorem, have one only for $\theta_0^2 < \sigma^2s_Ms_N$, and there for a single spike.",
            {"against": "noise"},
            r"The case is $\theta_0^2 \le \sigma^2s_M^2$, which the paper calls unlikely because $\sigma^2s_M^2$ is "
            "small.",
            (
                {"possible": ("above",)},
                {"impossible": ("below",)},
                {"possible": ("between",)},
                {"product": 1.05},
                {"product": 0.95},
            ),
        ),
    ),
    uses=("fedloru-v2/thm-3.2", "fedloru-v2/eq-43"),
    because=r"Units do not matter: (36) decreases below $\sqrt{s_Ms_N}\sigma$, and stable ranks can decrease below "
    r"$\sigma s_N$, of any size.",
    vary=(),
    expect=("holds", "proof"),
    family="independent Gaussian noise",
    intended=Intended(
        "small against the noise",
        "“In the special case where θ_0² ≤ σ² s_M²”; “σ² s_M² remains sufficiently small”; the paper measures small "
        "relative to the noise",
    ),
)
def claim_ill(
    data: Gaps,
    against: str = "nothing",
    possible: tuple[str, ...] = ("below",),
    impossible: tuple[str, ...] = ("above",),
    share: float = 0.15,
    product: float = 1.0,
    most: float = 1.0,
) -> Evidence:
    """The signs of the gaps of the stable ranks and of (36), or the sizes of the spike where the latter is < 0."""
    if against != "noise":
        return _judge_sizes(data.single, most, against == "noise at M")
    expressions = _judge_expressions((*data.single, *data.drawn), product)
    return judge_parts((expressions, _judge_signs(data.counts, possible, impossible, share)))
