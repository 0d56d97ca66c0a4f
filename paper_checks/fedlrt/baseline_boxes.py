"""Algorithms 3, 4 and 6: FedAvg, FedLin and the naive low-rank scheme, executed and compared with their text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.fedlin import FedLin
from algorithms.fedlrt_naive import NaiveFeDLRT
from algorithms.low_rank import USV, Truncation, factorise, product
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.claim import Form
from paper_checks.context import Context
from paper_checks.fedlrt.federations import SCOPE, Case, draw_cases
from paper_checks.methods.promises import Promises, promises, same
from paper_checks.recorded_federation import Watched
from toymodels.quadratic import Quadratic, centred, mean_of

STEPS = 4


@dataclass(frozen=True)
class Descents:
    """Full-rank methods: the start, the clients, one round of a method and of its naive recursion."""

    case: Case
    start: Tensor
    rate: float
    steps: int
    found: Tensor
    printed: Tensor
    fixed: Tensor | None = None
    by_hand: Mapping[str, Any] | None = None


def measure_fedavg(context: Context) -> list[Descents]:
    """One round of FedAvg with one and with several local steps."""
    found = []
    for case in draw_cases(context):
        for steps in (1, STEPS):
            rate = 0.5 / case.smoothness
            w = product(case.factors)
            fed = Watched(case.clients)
            after = one_round(FedAvg(Descent(steps, rate)).round, fed, w)["W"]
            found.append(Descents(case, w["W"], rate, steps, after, after))
    return found


@promises(
    "fedlrt/alg-3",
    where="Algorithm 3 (FedAvg) with eq. (3); for eq. (2) see fedlrt/eq-2",
    says=r"FedAvg, in each of T rounds: broadcast $W^t$; $W_c^{s=0} \leftarrow W^t$; for $s = 0, \ldots, s_*-1$ on "
    r"the client $W_c^{s+1} \leftarrow W_c^s - \lambda\nabla_W\mathcal{L}_c(W_c^s)$; $W^{t+1} \leftarrow$ aggregate of "
    "the $W_c^{s_*}$.",
    measure=measure_fedavg,
    mutants=[{"rate": 1.01}, {"own": False}],
    kind="algorithm",
    expect=("holds", "search"),
)
def alg_3(runs: list[Descents], rate: float = 1.0, own: bool = True) -> Promises:
    """The round against the recursion of every client, and against a central step."""
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


def two_parabolas(rate: float = 0.125, steps: int = 2) -> tuple[tuple[Quadratic, ...], Mapping[str, Any]]:
    """The losses (w - 1)^2 / 2 and (w + 1/2)^2 of two clients; the mean is least at 0."""
    clients = (centred([[1.0]], [[1.0]]), centred([[2.0]], [[-0.5]]))
    return clients, {"curvatures": [1.0, 2.0], "centres": [1.0, -0.5], "rate": rate, "steps": steps}


def measure_fedlin(context: Context) -> list[Descents]:
    """One round of FedLin as printed and by eq. (4), from a start and from the global minimiser."""
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


@promises(
    "fedlrt/alg-4",
    where="Algorithm 4 (FedLin), line 9, with eq. (4)",
    says=r"FedLin, in each of T rounds: broadcast $W^t$; aggregate $G_{W,c} \leftarrow \nabla_W\mathcal{L}_c(W^t)$ to "
    r"$G_W$ and broadcast it; $W_c^{s=0} \leftarrow W^t$, $V_c \leftarrow G_W - G_{W,c}$; for $s = 0, \ldots, s_*-1$: "
    r"$W_c^{s+1} \leftarrow W_c^s - \lambda\nabla_W\mathcal{L}_c(W_c^s) + V_c$; $W^{t+1} \leftarrow$ aggregate of the "
    r"$W_c^{s_*}$.",
    measure=measure_fedlin,
    control=Form("The corrections cancel in the mean over the clients.", {"keep": ("cancel",)}),
    correction=Form(
        r"With the correction inside the bracket, $W_c^{s+1} = W_c^s - \lambda(\nabla \mathcal{L}_c(W_c^s) + V_c)$, "
        r"it is eq. (4) with the client's own gradient, and a stationary point of the global loss is a fixed point.",
        {"as_printed": False},
        ({"as_printed": True}, {"sign": -1.0}, {"sign": 0.0}),
    ),
    kind="algorithm",
    because=r"$V_c$ stands outside the bracket, without $\lambda$ and with the other sign than in (4): from two local "
    "steps on stationary points can move.",
    expect=("corrected", "proof"),
)
def alg_4(
    runs: list[Descents],
    as_printed: bool = True,
    sign: float = 1.0,
    keep: tuple[str, ...] = ("fixed", "equation", "cancel"),
) -> Promises:
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


@dataclass(frozen=True)
class Naive:
    """One round of Algorithm 6: the mean of the clients' models, and the server's model as printed and rebuilt."""

    clients: int
    mean: Tensor
    printed: Tensor
    rebuilt: Tensor
    by_hand: Mapping[str, Any] | None


def measure_naive(context: Context) -> list[Naive]:
    """Two clients by hand whose gradients leave the bases in different directions; then random ones."""
    W = torch.zeros(3, 3, dtype=torch.float64)
    W[0, 0] = 1.0
    targets = []
    for axis in (1, 2):
        target = W.clone()
        target[0, axis] = target[axis, 0] = 1.0
        targets.append(target)
    hand = {"targets": [target.to(torch.int64).tolist() for target in targets], "rate": 0.5}
    by_hand = tuple(centred(torch.eye(9, dtype=torch.float64), target) for target in targets)
    cases: list[Any] = [(Case(by_hand, factorise(Tree(W=W), 1), 1.0), 0.5, 1, hand)]
    cases += [(case, 0.3 / case.smoothness, 2, None) for case in draw_cases(context)]
    found = []
    for case, rate, steps, numbers in cases:
        ends: list[Tensor] = []
        uploads: tuple[Any, ...] = ()
        for as_printed in (True, False):
            fed = Watched(case.clients)
            algorithm = NaiveFeDLRT(Descent(steps, rate), case.rank, Truncation(0.0), as_printed)
            ends.append(product(one_round(algorithm.round, fed, case.factors))["W"])
            uploads = fed.trips[-1].uploads
        mean = torch.stack([product(upload)["W"] for upload in uploads]).mean(dim=0)
        found.append(Naive(len(case.clients), mean, ends[0], ends[1], numbers))
    return found


@promises(
    "fedlrt/alg-6",
    where="Algorithm 6 (naive FeDLRT) with Section 3",
    says=r"In each of T rounds: broadcast $U^t, V^t, S^t$; for $s = 0, \ldots, s_*-1$ the client augments $U_c^s$, "
    r"$V_c^s$ by its own basis gradients with QR decompositions, $\tilde S_c = \tilde U_c^\top "
    r"U_c^sS_c^sV_c^{s,\top}\tilde V_c$ and $\tilde S_c^* \leftarrow \tilde S_c - \lambda\nabla_{\tilde "
    r"S}\mathcal{L}_c(\tilde U_c\tilde S_c\tilde V_c^\top)$; the server aggregates the $\tilde S_c^*$ to $\tilde "
    r"S^*$, takes its SVD with threshold $\vartheta$, and $U^{t+1} \leftarrow \tilde UP_{r_1}$, $V^{t+1} \leftarrow "
    r"\tilde VQ_{r_1}$, $S^{t+1} \leftarrow \Sigma_{r_1}$.",
    measure=measure_naive,
    control=Form("With one client the model is the client's.", {"alone": True}),
    correction=Form(
        "Section 3 has the mean of the clients' models, $W^*$, in this place. To rebuild it or its factors the server "
        "needs every client's model, in full or as bases and coefficients (see fedlrt/claim-alg6): the bases of the "
        "clients can differ, and then the mean of their coefficients belongs to none of them. Beside that, lines 4 to "
        "10 never assign $U_c^{s+1}$, $S_c^{s+1}$, $V_c^{s+1}$: left open; in the check "
        r"$U_c^{s+1}S_c^{s+1}V_c^{s+1,\top}$ is $\tilde U_c\tilde S_c^*\tilde V_c^\top$ cut to its largest r singular "
        r"values, and the last step is sent uncut. The bases $\tilde U$, $\tilde V$ of line 13 are defined nowhere: "
        "for the print the first client's are taken.",
        {"as_printed": False},
        ({"as_printed": True}, {"scale": 1.001}),
    ),
    kind="algorithm",
    because=r"The clients' bases can differ, and then the mean of coefficients belongs to none; $\tilde U$, $\tilde "
    r"V$ are defined nowhere.",
    expect=("corrected", "search"),
)
def alg_6(runs: list[Naive], as_printed: bool = True, scale: float = 1.0, alone: bool = False) -> Promises:
    """The server's model against the mean of the clients' models."""
    for one in runs:
        if one.clients == 1 or not alone:
            server = scale * (one.printed if as_printed else one.rebuilt)
            yield same("the server's model is the mean of the clients'", server, one.mean, one.by_hand)
    return f"two clients by hand; {SCOPE}; one and two local steps, no truncation"
