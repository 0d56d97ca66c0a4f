"""Local runs of FedLoRU and the averages of their factors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from algorithms.adapter import AB
from algorithms.federation import Cohort
from algorithms.fedloru import FedLoRU
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.context import Context
from paper_checks.fedloru.convergence.measurements.bounded_runs import Scripted, Setting, scalar_setting
from paper_checks.fedloru.convergence.measurements.bounded_settings import draw_settings
from paper_checks.recorded_federation import Watched

ONE_STEP = {"L": 1, "zone": 10, "W": 0, "A": 1, "B": 1, "rate": "0.5", "steps": 1, "rounds": 1, "share": 1}
"""One weight, loss w^2/2, one local step that halves both factors."""


@dataclass(frozen=True)
class LocalRun:
    """One round: what each client of the cohort sent, and what the server made of it.

    Attributes:
        setting: The run.
        cohort: The clients that took part.
        script: Samples of each step by the identity of the client; empty for all.
        uploads: Factors that the clients sent, in the order of the cohort.
        mean: Mean at the server.
    """

    setting: Setting
    cohort: Cohort
    script: Mapping[int, Tensor]
    uploads: tuple[AB, ...]
    mean: AB


def run_rounds(context: Context) -> list[LocalRun]:
    """Run first rounds by the toolkit's FedLoRU, on all outcomes of noise and cohort (at most two of each run)."""
    hand = scalar_setting("by hand", ONE_STEP, replayed=True)
    drawn = [s for s in draw_settings(context.rng("settings"), context.size(1, 4)) if s.name != "back and forth"]
    settings = [hand, *(replace(s, alpha=a, rate=s.rate / a**2, case=None) for s in drawn for a in (1.0, 0.5, 3.0))]
    found = []
    for setting in settings:
        for cohort, script in setting.outcomes()[:2]:
            fed = Watched(setting.clients)
            algorithm = FedLoRU(Scripted(setting.steps, setting.rate, script=script), setting.adapter, 1000)
            state = algorithm.start(fed, Tree(W=setting.W))
            state = state._replace(factors=AB(Tree(W=setting.A), Tree(W=setting.B)))
            after = one_round(algorithm.round, fed, state, cohort)
            found.append(LocalRun(setting, cohort, script, fed.trips[-1].uploads, after.factors))
    return found


def gradients(run: LocalRun, client: int, A: Tensor, B: Tensor, step: int | None) -> tuple[Tensor, Tensor]:
    """Return the gradients of f(W + alpha AB) in A and B by differentiating the loss; of a step's sample, or exact."""
    A, B = A.clone().requires_grad_(), B.clone().requires_grad_()
    one, setting = run.setting.clients[client], run.setting
    batch = run.script[id(one)][step] if run.script and step is not None else None
    one.loss({"W": setting.W + setting.alpha * A @ B}, batch).backward()
    assert A.grad is not None
    assert B.grad is not None
    return A.grad, B.grad


ROUNDS = (
    "rounds by hand and of all shapes, with 1 to 3 clients, 1 to 4 local steps, noise, cohorts, alpha 1/2, 1 and 3; "
    "gradients by differentiating the loss"
)


@dataclass(frozen=True)
class Averaged:
    """Factors of a cohort, the shares of all clients, and the server's average.

    Attributes:
        shares: p of every client, of sum 1.
        cohort: The clients that took part.
        uploads: Factors that the clients sent.
        mean: The toolkit's average.
        case: Case in plain numbers.
    """

    shares: tuple[float, ...]
    cohort: Cohort
    uploads: tuple[AB, ...]
    mean: AB
    case: Mapping[str, Any] | None = None


def draw_averages(context: Context) -> list[Averaged]:
    """Draw one of two clients by hand, then cohorts of 1 to all of 1 to 5 clients of different shares."""
    rng = context.rng("averages")
    one = AB(Tree(W=torch.ones(1, 1, dtype=torch.float64)), Tree(W=torch.ones(1, 1, dtype=torch.float64)))
    case = {"shares": "1/2 1/2", "cohort": "1", "A": "1", "B": "1"}
    found = [Averaged((0.5, 0.5), (1,), (one,), one, case)]
    for number in range(context.size(30, 300)):
        K = 1 + number % 5
        shares = rng.dirichlet([2.0] * K)
        size = K if number % 2 else int(rng.integers(1, K + 1))
        cohort = tuple(sorted(int(k) for k in rng.choice(K, size, replace=False)))
        m, n, r = (int(k) for k in rng.integers(1, 5, 3))
        uploads = tuple(
            AB(
                Tree(W=torch.from_numpy(rng.standard_normal((m, r)))),
                Tree(W=torch.from_numpy(rng.standard_normal((r, n)))),
            )
            for _ in cohort
        )
        fed = Watched(tuple(scalar_setting("", ONE_STEP).clients) * K, shares=[float(p) for p in shares])
        found.append(Averaged(tuple(float(p) for p in shares), cohort, uploads, fed.average(uploads, of=cohort)))
    return found
