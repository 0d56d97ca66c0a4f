"""Algorithm 4: FedLin, executed and compared with its text."""

from __future__ import annotations

from typing import Any

import torch

from algorithms.descent import Descent
from algorithms.fedlin import FedLin
from algorithms.low_rank import USV, product
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.claim import Form, Intended
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.descents import STEPS, Descents, two_parabolas
from paper_checks.fedlrt.measurements.federations import SCOPE, Case, draw_cases
from paper_checks.methods.relations import Relations, relations, same
from paper_checks.recorded_federation import Watched
from toymodels.quadratic import mean_of


def measure_fedlin(context: Context) -> list[Descents]:
    """Run one round of FedLin as printed and by eq. (4), from a start and from the global minimiser."""
    clients, by_hand = two_parabolas()
    single = USV(*(Tree(W=torch.ones(1, 1, dtype=torch.float64)) for _ in range(3)))
    cases: list[Any] = [(Case(clients, single, 2.0), torch.zeros(1, 1, dtype=torch.float64), by_hand)]
    cases += [(case, product(case.factors)["W"], None) for case in draw_cases(context)]
    found = []
    for case, start, hand in cases:
        whole = mean_of(case.clients, [1.0 / len(case.clients)] * len(case.clients))
        minimiser = torch.linalg.solve(whole.matrix, whole.B.reshape(-1)).reshape(start.shape)
        rate, steps = (float(hand["rate"]), int(hand["steps"])) if hand else (0.05 / case.smoothness, STEPS)
        for from_start in (minimiser, start):
            ends = []
            for as_printed in (False, True):
                fed = Watched(case.clients)
                algorithm = FedLin(Descent(steps, rate), as_printed)
                ends.append(one_round(algorithm.round, fed, Tree(W=from_start))["W"])
            fixed = minimiser if from_start is minimiser else None
            found.append(Descents(case, from_start, rate, steps, ends[0], ends[1], fixed, hand))
    return found


@relations(
    "fedlrt/alg-4",
    where="Algorithm 4 (FedLin), line 9, with eq. (4)",
    says=r"""FedLin, in each of T rounds: broadcast $W^t$; aggregate $G_{W,c} \leftarrow \nabla_W\mathcal{L}_c(W^t)$ to
    $G_W$ and broadcast it; $W_c^{s=0} \leftarrow W^t$, $V_c \leftarrow G_W - G_{W,c}$; for $s = 0, \ldots, s_*-1$:
    $W_c^{s+1} \leftarrow W_c^s - \lambda\nabla_W\mathcal{L}_c(W_c^s) + V_c$; $W^{t+1} \leftarrow$ aggregate of the
    $W_c^{s_*}$.""",
    measure=measure_fedlin,
    control=Form("The corrections cancel in the mean over the clients.", {"keep": ("cancel",)}),
    correction=Form(
        r"""With the correction inside the bracket, $W_c^{s+1} = W_c^s - \lambda(\nabla \mathcal{L}_c(W_c^s) + V_c)$, it
        is eq. (4) with the client's own gradient, and a stationary point of the global loss is a fixed point.""",
        {"as_printed": False},
        ({"as_printed": True}, {"sign": -1.0}, {"sign": 0.0}),
    ),
    kind="algorithm",
    because=r"$V_c$, here $G_W - G_{W,c}$, is outside the bracket, lacks $\lambda$ and is not subtracted, so "
    "stationary points need not be fixed points.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected",
        r"(4) has “$\lambda(\nabla_w\mathcal{L}(w_c^s) - V_c)$” and Algorithm 2 “$+ V_c$”, both in the bracket, but "
        "line 9 puts $V_c$ outside.",
    ),
    print="misprint",
)
def alg_4(
    runs: list[Descents],
    as_printed: bool = True,
    sign: float = 1.0,
    keep: tuple[str, ...] = ("fixed", "equation", "cancel"),
) -> Relations:
    """The round as the box prints it, or corrected, against eq. (4)."""
    for one in runs:
        end = one.printed if as_printed else one.found
        slopes = [client.gradient({"W": one.start})["W"] for client in one.case.clients]
        mean = torch.stack(slopes).mean(dim=0)
        if "fixed" in keep and one.fixed is not None:
            yield same("a stationary point stays", end, one.fixed, one.by_hand)
        if "equation" in keep:
            ends = []
            for client, slope in zip(one.case.clients, slopes, strict=True):
                W = one.start
                for _ in range(one.steps):
                    W = W - one.rate * (client.gradient({"W": W})["W"] - sign * (slope - mean))
                ends.append(W)
            yield same("a round is that of eq. (4)", end, torch.stack(ends).mean(dim=0))
        if "cancel" in keep:
            total = torch.stack([mean - slope for slope in slopes]).sum(dim=0)
            yield same("the corrections cancel", total, torch.zeros_like(total))
    return f"two parabolas by hand; {SCOPE}; full-rank weights, {STEPS} local steps"
