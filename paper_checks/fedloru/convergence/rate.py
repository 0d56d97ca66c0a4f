"""Section 4.2: the rate of Theorem 4.2, in families of runs that get longer and longer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch

from paper_checks.claim import Best, Dropped, Evidence, Reading, claim
from paper_checks.context import Context
from paper_checks.fedloru.convergence.bounded_runs import Bounded, Setting, follow
from paper_checks.fedloru.convergence.bounded_settings import draw_settings, judge_bounds, scalar_setting
from paper_checks.fedloru.convergence.theorem import Constants
from paper_checks.methods.promises import Promise


@dataclass(frozen=True)
class Family:
    """Runs of several lengths T at the step size eta_0 / sqrt(T), within one set of constants.

    Attributes:
        name: Name of the runs.
        least: The least gradient in the factors, by T.
        weights: The least gradient in W, by T.
        bound: Bound on the least gradient times sqrt(T).
        kind: Name of the family of runs: averages and restarts, the printed weights of a cohort, which do not sum to
            1 over it, or factors that go on after an accumulation.
        case: Case in plain numbers, if it can be replayed.
    """

    name: str
    least: Mapping[int, float]
    weights: Mapping[int, float]
    bound: float
    kind: Literal["averages", "printed weights", "going on"] = "averages"
    case: Mapping[str, Any] | None = None


ONE_OF_TWO = {"shares": "3/4 1/4", "targets": "0 1", "W": "1/10", "A": 1, "eta_0": "1/10", "rounds": 144}
"""One of two clients a round, losses (w - target)^2 / 2 up to |w - target| = 1, one local step, restart at A and B = 0
after each round."""
UNSEEN = {"target": "0 0 0 1", "A": "1 0", "C_B": "1/10", "eta_0": "1/2"}
"""One client, loss |W - target|^2 / 2 from W = 0 and B = 0: A^T times the gradient is 0, and nothing moves."""


def printed_weights(T: int) -> Family:
    r"""Client k moves w by $-\eta(p^{(k)})^2$ times its gradient: mean and second moment of w, round by round."""
    (p, q), rate, eta_0 = (0.75, 0.25), 0.1 / T**0.5, 0.1
    mean, square, least = 0.1, 0.01, float("inf")
    for _ in range(T):
        least = min(least, square - 2 * q * mean + q**2)  # E (w - 1/4)^2, the squared gradient in B
        stays, moved = (1 - rate * p**2, 1 - rate * q**2), rate * q**2
        mean, square = (
            (stays[0] * mean + stays[1] * mean + moved) / 2,
            ((stays[0] ** 2 + stays[1] ** 2) * square + 2 * stays[1] * moved * mean + moved**2) / 2,
        )
    K_1, K_2 = Constants(1.0, 1.0, 0.0, 1.0, rate, 1).corrected()
    bound = 4 * 0.15**2 / 2 / (3 * eta_0) + K_1 * eta_0 + K_2 * eta_0**2
    return Family("printed weights of a cohort", {T: least}, {T: least}, bound, "printed weights", ONE_OF_TWO)


ZIGZAG = {"eta_0": "1/2", "rounds": 64}
"""One client and weight, A = B = 1 and W = 0: slopes 1 and -1 by turns at the models where the rounds start."""


def factors_that_go_on(lengths: Sequence[int]) -> Family:
    """One local step and one accumulation a round, after which the factors stay as they are.

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


def family_of(name: str, settings: list[Setting], eta_0: float) -> Family:
    """Follow settings of growing size, and collect what Theorem 4.2 says of them."""
    traces = [follow(setting) for setting in settings]
    each = [Constants.of(trace) for trace in traces]
    shared = Constants(*(max(getattr(c, field) for c in each) for field in ("L", "G", "sigma2", "C_A", "C_B", "E")))
    K_1, K_2 = shared.corrected()
    above = max(trace.above for trace in traces)
    bound = 4 * above / (3 * eta_0 * shared.E) + K_1 * eta_0 + K_2 * eta_0**2
    least = {t.setting.rounds: min(one["in_A"] + one["in_B"] for one in t.rounds) for t in traces}
    weights = {t.setting.rounds: min(one["in_W"] for one in t.rounds) for t in traces}
    return Family(name, least, weights, bound)


def not_levelled(lengths: Sequence[int]) -> Family:
    """Slopes that the constants allow and T rounds do not level."""
    eta_0 = above = 0.05
    slow = []
    for T in lengths:
        rate = eta_0 / T**0.5
        slope = (above / (2 * T * rate)) ** 0.5  # descends by half of what there is
        W = (above + slope**2 / 40.0) / slope
        case = {
            "L": 20,
            "zone": slope / 20,
            "W": W,
            "A": 0,
            "B": 1,
            "rate": rate,
            "steps": 1,
            "rounds": T,
            "share": "0.01",
        }
        slow.append(scalar_setting("slow", case))
    return family_of("slopes that T rounds do not level", slow, eta_0)


def measure_families(context: Context) -> list[Family]:
    """Slopes that the constants allow and T rounds do not level; factors that cannot see the gradient; drawn runs."""
    lengths = context.size((4, 256), (4, 64, 1024))
    blind = []
    for T in lengths:
        corner = torch.tensor([[0.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
        unit = torch.tensor([[1.0], [0.0]], dtype=torch.float64)
        client, W_0 = Bounded(corner[None], 1.0, 1.0), torch.zeros_like(corner)
        blind.append(Setting("blind", (client,), W_0, unit, torch.zeros_like(unit.mT), 0.5 / T**0.5, rounds=T))
    unseen = replace(family_of("factors that cannot see the gradient", blind, 0.5), case=UNSEEN)
    found = [not_levelled(lengths), unseen]
    found.append(printed_weights(int(str(ONE_OF_TWO["rounds"]))))
    found.append(factors_that_go_on((64, 256, 1024)))
    drawn = [s for s in draw_settings(context.rng("settings"), 1) if s.name == "without noise"]
    for setting in drawn[: context.size(1, 4)]:
        of_all = [replace(setting, rate=0.03 / T**0.5, rounds=T) for T in (4, 16, 36)]
        found.append(family_of("drawn runs", of_all, 0.03))
    return found


KINDS = {"printed": ("averages", "printed weights"), "of mean p": ("averages",), "going on": ("going on",)}
"""Families of runs that are judged, by what the sums run over, or by what goes on."""


@claim(
    "fedloru-v2/thm-4.2-rate",
    where="Theorem 4.2, last display; Sections 1 and 4.2",
    says=r"Under (A.1) to (A.5), choosing the step size $\eta = \Theta(T^{-1/2})$ yields $\min_{0\le t\le "
    r"T-1}\mathbb{E}[\|\nabla_Af(\tilde W_t)\|_F^2 + \|\nabla_Bf(\tilde W_t)\|_F^2] = O(T^{-1/2})$; FedLoRU attains "
    "the same $O(T^{-1/2})$ convergence rate as classical FedAvg, and its rate is asymptotically equivalent to that of "
    "classical FedAvg.",
    measure=measure_families,
    readings=(
        Reading(
            "printed weights of a cohort",
            "The rate for a cohort of clients in each round, whose factors the server adds up with the printed weights "
            "$p^{(k)}$, of sum 1 over all clients, and for factors that start anew at $AB = 0$ after an accumulation.",
            why="Algorithm 1 selects M clients for each round and prints these sums; Appendix B restarts the factors.",
        ),
        Reading(
            "factors that go on",
            "The rate for Algorithm 1 with all clients in each round, where training goes on from the same factors "
            "after an accumulation, and the assumptions have the same constants for all T.",
            {"cohorts": "going on"},
            "Algorithm 1 does not reset the factors, and Appendix D.2 has momentum initialisation, which keeps them.",
            ({"power": 0.75},),
        ),
        Reading(
            "as analysed in Appendix B",
            "The rate for the iterates that Appendix B analyses: the sums run over all clients (or over a cohort "
            "chosen independently of the round's samples, with weights of at least 0 that sum to 1 over it and have "
            "mean $p^{(k)}$ given the rounds before), the factors start anew at $AB = 0$ after an accumulation, and "
            "the assumptions have the same constants for all T.",
            {"cohorts": "of mean p"},
            r"Appendix B writes the averages as sums over all K clients, and restarts so that the loss stays as it is; "
            "a rate in T needs constants that do not change with T. Rates that are asymptotically equivalent are of "
            "the same order here.",
            ({"power": 1.0}, {"power": 0.75}),
        ),
        Reading(
            "of the gradient in W",
            r"$\min_t\mathbb{E}[\|\nabla f(\tilde W_t)\|_F^2] = O(T^{-1/2})$ for the same iterates.",
            {"cohorts": "of mean p", "weights": True},
            "The rate of FedAvg is one of the gradient in the weights, and both rates are called the same.",
            ({"power": 0.75},),
        ),
    ),
    uses=("fedloru-v2/thm-4.2", "fedloru-v2/eq-agg"),
    importance="result",
    because=r"Printed weights of cohorts lead to $\sum_k(p^{(k)})^2\nabla f^{(k)} = 0$; with factors that go on, and "
    "in W, no gradient need fall.",
    hypotheses=(Dropped("sums over all clients", {"cohorts": "printed"}),),
    best={"power": Best(0.5, "proved: one weight whose slope is chosen for T attains it")},
    expect=("depends on the reading", "proof"),
)
def thm_4_2_rate(
    families: list[Family], power: float = 0.5, weights: bool = False, cohorts: str = "printed"
) -> Evidence:
    """The least gradient of each run against a constant of its family over a power of T."""
    lines = []
    judged = [family for family in families if family.kind in KINDS[cohorts]]
    for family in judged:
        found = family.weights if weights else family.least
        lines += [
            Promise(
                family.name,
                value,
                family.bound / T**power,
                1e-12,
                True,
                None if family.case is None else {**family.case, "rounds": T},
            )
            for T, value in found.items()
        ]
    lengths = sorted({T for family in judged for T in family.least})
    if cohorts == "going on":
        each = ", ".join(map(str, lengths))
        return judge_bounds(lines, f"a loss chosen for each of T = {each}, within one set of constants")
    scope = f"{len(judged)} families of runs with T from {lengths[0]} to {lengths[-1]}, among them losses chosen for "
    scope += "each T within the same constants, for which the rate is attained"
    if cohorts == "printed":
        scope += ", and cohorts of one of two clients with the printed weights"
    return judge_bounds(lines, scope)
