"""Algorithm 3: FedAvg, executed and compared with its text."""

from __future__ import annotations

import torch

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.low_rank import product
from algorithms.rounds import one_round
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.descents import STEPS, Descents
from paper_checks.fedlrt.measurements.federations import SCOPE, draw_cases
from paper_checks.methods.relations import Relations, relations, same
from paper_checks.recorded_federation import Watched
from toymodels.quadratic import mean_of


def measure_fedavg(context: Context) -> list[Descents]:
    """Run one round of FedAvg with one and with several local steps."""
    found = []
    for case in draw_cases(context):
        for steps in (1, STEPS):
            rate = 0.5 / case.smoothness
            w = product(case.factors)
            fed = Watched(case.clients)
            after = one_round(FedAvg(Descent(steps, rate)).round, fed, w)["W"]
            found.append(Descents(case, w["W"], rate, steps, after, after))
    return found


@relations(
    "fedlrt/alg-3",
    where="Algorithm 3 (FedAvg) with eq. (3); for eq. (2) see fedlrt/eq-2",
    says=r"""FedAvg, in each of T rounds: broadcast $W^t$; $W_c^{s=0} \leftarrow W^t$; for $s = 0, \ldots, s_*-1$ on the
    client $W_c^{s+1} \leftarrow W_c^s - \lambda\nabla_W\mathcal{L}_c(W_c^s)$; $W^{t+1} \leftarrow$ aggregate of the
    $W_c^{s_*}$.""",
    measure=measure_fedavg,
    mutants=[{"rate": 1.01}, {"own": False}],
    kind="algorithm",
    expect=("holds", "search"),
)
def alg_3(runs: list[Descents], rate: float = 1.0, own: bool = True) -> Relations:
    """A round agrees with the recursion of every client and, with one local step, with a central step."""
    for one in runs:
        clients = one.case.clients
        whole = mean_of(clients, [1.0 / len(clients)] * len(clients))
        ends = []
        for client in clients:
            W = one.start
            for _ in range(one.steps):
                W = W - rate * one.rate * (client if own else whole).gradient({"W": W})["W"]
            ends.append(W)
        yield same("the mean of the clients' recursions", torch.stack(ends).mean(dim=0), one.found)
        if one.steps == 1:
            central = one.start - rate * one.rate * whole.gradient({"W": one.start})["W"]
            yield same("one local step is a central step", central, one.found)
    return f"{SCOPE}; full-rank weights, 1 and {STEPS} local steps"
