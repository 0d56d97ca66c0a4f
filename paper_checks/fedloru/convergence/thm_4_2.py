"""Theorem 4.2: convergence and its rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from paper_checks.claim import Best, Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedloru.convergence.measurements.bounded_runs import Bounded, Setting, Trace, follow, scalar_setting
from paper_checks.fedloru.convergence.measurements.bounded_settings import (
    BACK_AND_FORTH,
    WITH_COHORTS,
    at_most,
    draw_settings,
    follow_settings,
    judge_bounds,
)
from paper_checks.fedloru.convergence.measurements.families import (
    ONE_OF_TWO,
    Constants,
    Family,
    family_of,
    not_levelled,
    printed_weights,
)
from paper_checks.methods.relations import Relation


def mean_square(trace: Trace) -> float:
    """Return the left side of eq. (9)."""
    return sum(one["in_A"] + one["in_B"] for one in trace.rounds) / len(trace.rounds)


def right_side(trace: Trace, K_1: float, K_2: float, start: float = 4 / 3) -> float:
    """Return the right side of eq. (9)."""
    setting = trace.setting
    return (
        start * trace.above / (setting.rate * setting.rounds * setting.steps)
        + K_1 * setting.rate
        + K_2 * setting.rate**2
    )


def both_bounds(trace: Trace, K_1: float, K_2: float) -> list[Relation]:
    """Return both bounds of the corrected theorem, the first one with what the loss has fallen by."""
    fallen = trace.rounds[0]["loss"] - trace.rounds[-1]["next"]
    E, rate = trace.setting.steps, trace.setting.rate
    exact = fallen / (rate * len(trace.rounds) * E) + (1.5 - 0.75 / E) * K_1 * rate
    return [
        at_most("(9)", mean_square(trace), right_side(trace, K_1, K_2), trace),
        at_most("(9) with 2E - 1", mean_square(trace), exact, trace),
    ]


@dataclass(frozen=True)
class Runs:
    """Runs, and two as listed: left side of eq. (9), its right side with the corrected constants.

    Attributes:
        traces: The runs.
        raw: One whose cohort keeps the clients' shares of all clients as its weights.
        kept: One whose factors go on after an accumulation.
    """

    traces: tuple[Trace, ...]
    raw: tuple[float, float]
    kept: tuple[float, float]


FROM_THE_MINIMUM = {"share": "1/2", "A": 1, "B": 1, "zone": 2, "rate": "1/1000", "rounds": 2}
"""One of two equal clients a round from the minimum of its loss (AB - 1)^2 / 2, linear beyond a zone."""


def _run_raw_cohort() -> tuple[float, float]:
    """Run one of two equal clients a round, weight 1/2 each, never normalised: every average halves both factors."""
    W, A, B, rate, target, L, z, rounds = 0.0, 1.0, 1.0, 1e-3, 1.0, 1.0, 2.0, 2
    total, C_A, C_B = 0.0, 1.0, 1.0
    for _ in range(rounds):
        slope = L * float(np.clip(W + A * B - target, -z, z))
        total += (slope * A) ** 2 + (slope * B) ** 2
        A, B = A - rate * slope * B, B - rate * slope * A
        C_A, C_B = max(C_A, A), max(C_B, B)
        A, B = A / 2, B / 2
    K_1, K_2 = Constants(L, L * z, 0.0, C_A, C_B, 1).corrected()
    return total / rounds, K_1 * rate + K_2 * rate**2


KEPT_FACTORS = {"W": -1, "A": 1, "B": 1, "zone": 2, "rate": "1/1000", "rounds": 2}
"""One client from the minimum of its loss w^2 / 2, linear beyond a zone, w = W + AB; an accumulation every round."""


def _run_kept_factors() -> tuple[float, float]:
    """Run one client, one step and one accumulation a round, after which the factors stay as they are."""
    W, A, B, rate, z, rounds = -1.0, 1.0, 1.0, 1e-3, 2.0, 2
    total, C_A, C_B = 0.0, 1.0, 1.0
    for _ in range(rounds):
        slope = float(np.clip(W + A * B, -z, z))
        total += (slope * A) ** 2 + (slope * B) ** 2
        A, B = A - rate * slope * B, B - rate * slope * A
        C_A, C_B = max(C_A, A), max(C_B, B)
        W += A * B
    K_1, K_2 = Constants(1.0, z, 0.0, C_A, C_B, 1).corrected()
    return total / rounds, K_1 * rate + K_2 * rate**2


@claim(
    "fedloru-v2/thm-4.2",
    where="Theorem 4.2, eq. (9), with $K_1$ and $K_2$ of Appendix B",
    says=r"""Let (A.1) to (A.5) hold, let $(W_t, A_t, B_t)$, $t = 0, \ldots, T$, be the iterates of FedLoRU, and for any
    fixed $\eta > 0$ $\tilde W_t = W_{t-1} + A_{t-1}B_{t-1}$, $\Delta_0 = f(\tilde W_0) - f^\star$ with an optimal value
    $f^\star$ of f. Then $\frac1T\sum_{t=1}^T\mathbb{E}[\|\nabla_Af(\tilde W_t)\|_F^2 + \|\nabla_Bf(\tilde W_t)\|_F^2]
    \le \frac{4\Delta_0}{3\eta TE} + K_1\eta + K_2\eta^2$, where $K_1, K_2 > 0$ depend only on $(C_A, C_B, G, L, E,
    \sigma^2)$ (see Appendix B).""",
    measure=lambda context: Runs(follow_settings(context), _run_raw_cohort(), _run_kept_factors()),
    readings=(
        Reading(
            "as analysed in Appendix B",
            r"The bound for $\alpha = 1$, $\tilde W_t$ the model at the start of round t, $t = 1, \ldots, T$, and "
            r"$\Delta_0$ taken at the start of the first; the cohort of a round is chosen independently of the round's "
            "samples, its weights are at least 0, sum to 1 over it and have mean $p^{(k)}$ given the rounds before, "
            "and the factors restart at $AB = 0$ after an accumulation; $K_1$ and $K_2$ are those printed there.",
            why=r"$\tilde W_0 = W_{-1} + A_{-1}B_{-1}$ is not defined; Appendix B has $\alpha = 1$, $\tilde W_t$ at "
            "the start of round t, averages, and a restart that leaves the loss as it is.",
        ),
    ),
    control=Form(r"The bound in runs with $C_B \le 1$.", {"comparable": True}),
    correction=Form(
        r"""For every $\eta > 0$, with $Q = GC_AC_B + \frac12L(C_A^2+C_B^2)^2$, the mean is at most
        $\frac{\Delta_0}{\eta TE} + (2E-1)G^2Q\eta$, and at most $\frac{4\Delta_0}{3\eta TE} + K_1\eta + K_2\eta^2$ with
        $K_1 = \frac43EG^2Q$ and $K_2 = \frac13(E-1)^2G^2[(LC_B(C_A^2+C_B^2)+GC_A)^2 + (LC_A(C_A^2+C_B^2)+GC_B)^2]$; for
        $E \ge 2$ neither bound is always the smaller one. The constants do not depend on $\sigma^2$ or $\eta$, and the
        bounds are invariant under changes of units. Factors restart at $AB = 0$; each round's cohort is chosen
        independently of its samples, by any rule, with weights of at least 0 that sum to 1 over the cohort and have
        mean $p^{(k)}$ given the earlier rounds. With the printed weights $p^{(k)}$ over a part of the clients, which
        sum to less than 1, no
        constants work: from the minimum the mean can be 9/64 at $T = 2$ for every $\eta$. If the factors are kept after
        an accumulation, no constants work either, because the mean can be 1. The first holds with $f(\tilde W_1) -
        \mathbb{E}[f(\tilde W_{T+1})]$ for $\Delta_0$ as well, and then no factor below $2E-1$ works as $\eta \to
        0$.""",
        {"form": "corrected"},
        ({"first": 0.99}, {"curvature": 0.99}, {"power": 2}, {"raw": True}, {"going_on": True}),
    ),
    uses=(
        "fedloru-v2/assump-4.1",
        "fedloru-v2/eq-agg",
        "fedloru-v2/claim-reinit",
        "fedloru-v2/eq-76",
        "fedloru-v2/eq-77-K",
        "fedloru-v2/eq-78-79",
    ),
    importance="result",
    because="Appendix B loses the factors $C_B^2$ (Lemma B.7) and L (drift). If the factors are kept, as in Algorithm "
    "1, no constants work.",
    best={
        "first": Best(1.0, "proved for E = 1: samples of opposite slopes at the bottom of a parabola attain it"),
        "curvature": Best(1.0, "proved for E = 1: samples of opposite slopes at the bottom of a parabola attain it"),
    },
    expect=("corrected", "proof"),
    intended=Intended(
        "as analysed in Appendix B",
        "The theorem has “W̃_t = W_{t-1} + A_{t-1} B_{t-1}”, and no W̃_0; App. B lets W̃_t “denote the model "
        "parameter at the start of round t”, with “A_{t+1} = Σ_{k=1}^K p^(k) A_{t,E}^(k)” and “then reinitialize the "
        "low-rank matrices”, neither of which Algorithm 1 does; “the positive constants K_1, K_2 depend only on (…) "
        "(see Appendix B)”: they are part of the claim as printed there",
    ),
    print="inconsistent",
)
def thm_4_2(
    runs: Runs,
    form: str = "printed",
    first: float = 1.0,
    curvature: float = 1.0,
    power: int = 1,
    comparable: bool = False,
    raw: bool = False,
    going_on: bool = False,
) -> Evidence:
    """Both sides for every run; ``power``: of the step size next to K_1."""
    lines = []
    for trace in runs.traces:
        constants = Constants.of(trace)
        if comparable and constants.C_B > 1.0:
            continue
        K_1, K_2 = constants.printed(trace) if form == "printed" else constants.corrected(curvature)
        K_1 *= first * trace.setting.rate ** (power - 1.0)
        if form != "corrected":
            lines.append(at_most("(9)", mean_square(trace), right_side(trace, K_1, K_2), trace))
        else:
            lines += both_bounds(trace, K_1, K_2)
    if raw:
        name = "(9) with weights that do not sum to 1"
        lines = [Relation(name, *runs.raw, at_most=True, case=FROM_THE_MINIMUM), *lines]
    if going_on:
        lines = [Relation("(9) with factors that are kept", *runs.kept, at_most=True, case=KEPT_FACTORS), *lines]
    return judge_bounds(lines, WITH_COHORTS)


UNSEEN = "factors that cannot see the gradient"
"""One client, loss |W - target|^2 / 2 from W = 0 and B = 0: A^T times the gradient is 0, and nothing moves."""

ZIGZAG = {"eta_0": "1/2", "rounds": 64}
"""One client and weight, A = B = 1 and W = 0: slopes 1 and -1 by turns at the models where the rounds start."""


def follow_kept_factors(lengths: Sequence[int]) -> Family:
    """Run one local step and one accumulation a round, after which the factors stay as they are.

    The loss falls and rises by as much between two rounds. Its slope goes to 0 beyond them, and from there stays.
    """
    eta_0, least, gaps = 0.5, dict[int, float](), list[float]()
    for T in lengths:
        rate, factors, models = eta_0 / T**0.5, [1.0], [1.0]
        for t in range(T):
            factors.append(factors[-1] * (1 - rate * (-1) ** t))
            models.append(models[-1] + 2 * factors[-1] ** 2 - factors[-2] ** 2)
        knots = [models[0] - 1.0, *models, models[-1] + 1.0]
        slopes = [0.0, *((-1.0) ** t for t in range(T + 1)), 0.0]
        W, A, B, found = 0.0, 1.0, 1.0, list[float]()
        for _ in range(T):
            slope = float(np.interp(W + A * B, knots, slopes))
            found.append(slope**2 * (A**2 + B**2))
            A, B = A - rate * slope * B, B - rate * slope * A
            W += A * B
        gaps += map(float, np.diff(models))
        least[T] = min(found)
    # The start is above the least value by a triangle of height 1 over half of a gap, or over an end, at most.
    above, L = max(*gaps, 2.0) / 4, max(2 / min(gaps), 1.0)
    K_1, K_2 = Constants(L, 1.0, 0.0, 1.0, 1.0, 1).corrected()
    bound = 4 * above / (3 * eta_0) + K_1 * eta_0 + K_2 * eta_0**2
    return Family("factors that go on", least, {}, bound, "going on", ZIGZAG)


def measure_families(context: Context) -> list[Family]:
    """Follow slopes that T rounds do not level, factors that cannot see the gradient, and drawn runs."""
    lengths = context.size((4, 256), (4, 64, 1024))
    blind = []
    for T in lengths:
        corner = torch.tensor([[0.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
        unit = torch.tensor([[1.0], [0.0]], dtype=torch.float64)
        client, W_0 = Bounded(corner[None], 1.0, 1.0), torch.zeros_like(corner)
        blind.append(Setting("blind", (client,), W_0, unit, torch.zeros_like(unit.mT), 0.5 / T**0.5, rounds=T))
    found = [not_levelled(lengths), family_of(UNSEEN, blind, 0.5)]
    found.append(printed_weights(int(str(ONE_OF_TWO["rounds"]))))
    found.append(follow_kept_factors((64, 256, 1024)))
    drawn = [s for s in draw_settings(context.rng("settings"), 1) if s.name == "without noise"]
    for setting in drawn[: context.size(1, 4)]:
        of_all = [replace(setting, rate=0.03 / T**0.5, rounds=T) for T in (4, 16, 36)]
        found.append(family_of("drawn runs", of_all, 0.03))
    return found


KINDS = {"printed": ("averages", "printed weights"), "of mean p": ("averages",), "going on": ("going on",)}
"""Families of runs that are judged, by what the sums run over, or by the factors that stay."""


@claim(
    "fedloru-v2/thm-4.2-rate",
    where="Theorem 4.2, last display; Sections 1 and 4.2",
    says=r"""Under (A.1) to (A.5), choosing the step size $\eta = \Theta(T^{-1/2})$ yields $\min_{0\le t\le
    T-1}\mathbb{E}[\|\nabla_Af(\tilde W_t)\|_F^2 + \|\nabla_Bf(\tilde W_t)\|_F^2] = O(T^{-1/2})$; FedLoRU attains the
    same $O(T^{-1/2})$ convergence rate as classical FedAvg, and its rate is asymptotically equivalent to that of
    classical FedAvg.""",
    measure=measure_families,
    readings=(
        Reading(
            "printed weights of a cohort",
            "The rate for a cohort of clients in each round, whose factors the server adds up with the printed weights "
            "$p^{(k)}$, of sum 1 over all clients, and for factors that restart at $AB = 0$ after an accumulation.",
            why="Algorithm 1 selects M clients for each round and prints these sums; Appendix B restarts the factors.",
        ),
        Reading(
            "factors that go on",
            "The rate for Algorithm 1 with all clients in each round, if training continues with the same factors "
            "after an accumulation and the assumptions have the same constants for all T.",
            {"cohorts": "going on"},
            "Algorithm 1 does not reset the factors, and Appendix D.2 has momentum initialisation, which keeps them.",
            ({"power": 0.75},),
        ),
        Reading(
            "as analysed in Appendix B",
            "The rate for the iterates that Appendix B analyses: the sums run over all clients (or over a cohort "
            "chosen independently of the round's samples, with weights of at least 0 that sum to 1 over it and have "
            "mean $p^{(k)}$ given the rounds before), the factors restart at $AB = 0$ after an accumulation, and "
            "the assumptions have the same constants for all T.",
            {"cohorts": "of mean p"},
            "Appendix B writes the averages as sums over all K clients, and restarts without changing the loss; a rate "
            "in T needs constants that do not change with T. Rates that are asymptotically equivalent are of the same "
            "order here.",
            ({"power": 1.0}, {"power": 0.75}),
        ),
    ),
    uses=("fedloru-v2/thm-4.2", "fedloru-v2/eq-agg"),
    importance="result",
    because=r"The printed cohort weights lead to $\sum_k(p^{(k)})^2\nabla f^{(k)} = 0$. Without a restart no gradient "
    "need decrease.",
    hypotheses=(Dropped("sums over all clients", {"cohorts": "printed"}),),
    best={"power": Best(0.5, "proved: one weight whose slope is chosen for T attains it")},
    expect=("holds", "proof"),
    intended=Intended(
        "as analysed in Appendix B",
        "App. B: “A_{t+1} = Σ_{k=1}^K p^(k) A_{t,E}^(k)” and “then reinitialize the low-rank "
        "matrices”; Algorithm 1 does neither",
    ),
    print="inconsistent",
)
def thm_4_2_rate(families: list[Family], power: float = 0.5, cohorts: str = "printed") -> Evidence:
    """The least gradient of each run against a constant of its family over a power of T."""
    lines = []
    judged = [family for family in families if family.kind in KINDS[cohorts]]
    for family in judged:
        lines += [
            Relation(
                family.name,
                value,
                family.bound / T**power,
                1e-12,
                True,
                None if family.case is None else {**family.case, "rounds": T},
            )
            for T, value in family.least.items()
        ]
    lengths = sorted({T for family in judged for T in family.least})
    if cohorts == "going on":
        each = ", ".join(map(str, lengths))
        return judge_bounds(lines, f"a loss chosen for each of T = {each}, within one set of constants")
    scope = f"{len(judged)} families of runs with T from {lengths[0]} to {lengths[-1]}, among them losses chosen for "
    scope += "each T within the same constants, for which the rate is attained"
    if cohorts == "printed":
        scope += ", and cohorts of one of two clients with the printed weights"
    unseen = {value for family in judged if family.name == UNSEEN for value in family.weights.values()}
    if unseen:
        scope += (
            f"; the gradient in W, of which the display does not speak, need not fall: it stays {max(unseen):g} in "
        )
        scope += "the runs whose factors cannot see it"
    return judge_bounds(lines, scope)


SCALED = {**BACK_AND_FORTH, "alpha": "1/4", "L": 1600, "zone": "1/400"}
"""Back and forth as a function of AB, for the loss of W + AB/4."""


def follow_scaled(context: Context) -> tuple[Trace, ...]:
    """Follow back and forth at several scales with the same curvature and gradient in AB, and drawn runs."""
    found = []
    for alpha in (0.25, 4.0):
        case = {**BACK_AND_FORTH, "L": 100 / alpha**2, "zone": alpha / 100, "rounds": 60}
        found.append(replace(scalar_setting("back and forth", case), alpha=alpha))
    found.append(replace(scalar_setting("by hand", SCALED, replayed=True), alpha=0.25))
    drawn = draw_settings(context.rng("settings"), 1)
    for setting, alpha in zip(
        [s for s in drawn if s.name != "cohorts" and s.case is None][-5:], (0.5, 2, 4, 0.5, 2), strict=True
    ):
        found.append(replace(setting, alpha=alpha, rate=0.05))
    return tuple(follow(setting) for setting in found)


@claim(
    "fedloru-v2/claim-alpha-ext",
    where="Appendix B, its first sentence, in brackets; about Theorem 4.2",
    says=r"""The convergence of FedLoRU is established in the case $\alpha = 1$ (the extension to $\alpha \ne 1$ is
    straightforward).""",
    measure=follow_scaled,
    readings=(
        Reading(
            "of the bound as printed",
            r"Eq. (9) with $K_1$ and $K_2$ as printed in Appendix B holds at every $\alpha \ne 0$, 1 included, with "
            r"$\alpha^2L$ for L, $|\alpha|G$ for G and $\alpha^2\sigma^2$ for $\sigma^2$.",
            why=r"It is (9) that Appendix B sets out to establish at $\alpha = 1$; as a function of AB the loss $f(W + "
            r"\alpha AB)$ has these constants.",
        ),
        Reading(
            "of the corrected bounds",
            r"With $Q = GC_AC_B + \frac12L(C_A^2+C_B^2)^2$ and the $K_1$, $K_2$ of thm-4.2 as corrected, the mean of "
            r"(9) is at most $\frac{4\Delta_0}{3\eta TE} + K_1\eta + K_2\eta^2$, and at most $\frac{\Delta_0}{\eta TE} "
            r"+ (2E-1)G^2Q\eta$, at $\alpha = 1$, and at every other $\alpha \ne 0$ with $\alpha^2L$ instead of L and "
            r"$|\alpha|G$ for G.",
            {"form": "corrected"},
            r"What is straightforward is the step from $\alpha = 1$ to $\alpha \ne 1$; the corrected "
            r"bounds do not contain $\sigma^2$.",
            ({"curvature_power": 1}, {"gradient_power": 0}, {"curvature_power": 0}, {"first": 0.7}),
        ),
    ),
    uses=("fedloru-v2/thm-4.2", "fedloru-v2/eq-7"),
    because=r"With the printed constants (9) fails even for $\alpha = 1$. The extension to other $\alpha$ is right.",
    expect=("holds", "proof"),
    intended=Intended(
        "of the corrected bounds",
        "“the extension to α ≠ 1 is straightforward” (App. B): the step from α = 1, which is "
        "right; (9) itself is judged in thm-4.2",
    ),
)
def claim_alpha_ext(
    traces: tuple[Trace, ...],
    form: str = "printed",
    curvature_power: int = 2,
    gradient_power: int = 1,
    first: float = 1.0,
) -> Evidence:
    """Both sides of (9), or of both corrected bounds, with gradients of f(W + alpha AB) in the factors."""
    lines = []
    for trace in traces:
        a = abs(trace.setting.alpha)
        scaled = replace(
            Constants.of(trace), L=trace.L * a ** (curvature_power - 2), G=trace.G * a ** (gradient_power - 1)
        )
        K_1, K_2 = scaled.printed(trace) if form == "printed" else scaled.corrected()
        if form == "printed":
            lines.append(at_most("(9)", mean_square(trace), right_side(trace, first * K_1, K_2), trace))
        else:
            lines += both_bounds(trace, first * K_1, K_2)
    return judge_bounds(lines, f"{len(traces)} runs with alpha from 1/4 to 4, also with noise and cohorts")
