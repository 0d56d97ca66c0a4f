"""Sections 2 and 3 and Appendix A: the algorithm boxes (Algorithms 1 to 6), executed and compared with their text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.fedlin import FedLin
from algorithms.fedlrt import FeDLRT
from algorithms.low_rank import USV, Truncation, augment, beside, factorise, product
from algorithms.naive_fedlrt import NaiveFeDLRT
from algorithms.tree import Tree
from paper_checks.claim import Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.fedlrt.federations import SCOPE, Case, draw_cases
from paper_checks.methods.promises import Promise, judge_promises, orthonormal, same
from paper_checks.watched import Watched
from toymodels.quadratic import Quadratic, centred, mean_of

STEPS, TAU, ROUNDS = 4, 0.1, 3


@dataclass(frozen=True)
class Round:
    """One round of FeDLRT as it was watched.

    Attributes:
        case: The federation.
        before: Factors at its start.
        after: Factors at its end.
        U: Wide basis ``(m, 2r)``.
        V: Wide basis ``(n, 2r)``.
        coefficients: What each client sends at the end, ``(2r, 2r)``.
        slopes: Gradient of each client in the wide coefficients at the start.
        corrections: What each client adds to its gradients: worked out from what was sent.
        trips: Number of trips.
    """

    case: Case
    before: USV
    after: USV
    U: Tensor
    V: Tensor
    coefficients: tuple[Tensor, ...]
    slopes: tuple[Tensor, ...]
    corrections: tuple[Tensor, ...]
    trips: int

    @property
    def start(self) -> Tensor:
        """The wide coefficients at the start: S in the corner of zeros."""
        S = self.before.S["W"]
        wide = torch.zeros(self.U.shape[1], self.V.shape[1], dtype=S.dtype)
        wide[: S.shape[0], : S.shape[1]] = S
        return wide

    @property
    def model(self) -> Tensor:
        """The model before truncation."""
        return self.U @ torch.stack(self.coefficients).mean(dim=0) @ self.V.mT


def watch(case: Case, correction: str, steps: int = STEPS) -> list[Round]:
    """Some rounds of FeDLRT at half the admissible step of Theorem 2."""
    local = Descent(steps, 0.5 / (12.0 * case.smoothness * steps))
    algorithm = FeDLRT(local, case.rank, Truncation(TAU), correction)
    fed = Watched(case.clients)
    state, rounds = case.factors, []
    for _ in range(ROUNDS):
        fed.begin()
        fed.trips.clear()
        before, state = state, algorithm.round(fed, fed.everyone, state)
        bars = next(trip.sent for trip in fed.trips if "Ubar" in trip.sent)
        U, V = beside(before.U, bars["Ubar"]), beside(before.V, bars["Vbar"])
        wide = [client.projected(U, V) for client in case.clients]
        watched = Round(case, before, state, U["W"], V["W"], tuple(u["W"] for u in fed.trips[-1].uploads), (), (),
                        len(fed.trips))  # fmt: skip
        start = watched.start
        slopes = tuple(client.gradient({"W": start})["W"] for client in wide)
        rounds.append(_with_corrections(watched, fed, correction, slopes))
    return rounds


def _with_corrections(watched: Round, fed: Watched, correction: str, slopes: tuple[Tensor, ...]) -> Round:
    """What clients add: the mean that was sent minus their own, from the trips and not from the algorithm's code."""
    last = fed.trips[-1].sent
    own: list[Tensor] = [torch.zeros_like(watched.start) for _ in slopes]
    r = watched.before.S["W"].shape[0]
    if correction == "full":
        own = [last["G_St"]["W"] - upload["W"] for upload in fed.trips[1].uploads]
    elif correction == "simplified":
        for added, upload in zip(own, fed.trips[0].uploads, strict=True):
            added[:r, :r] = last["G_S"]["W"] - upload["S"]["W"]
    return Round(watched.case, watched.before, watched.after, watched.U, watched.V, watched.coefficients, slopes,
                 tuple(own), watched.trips)  # fmt: skip


Watching = Mapping[str, tuple[Round, ...]]


def watch_all(context: Context) -> Watching:
    """Every case under every correction; and one local step under the full one."""
    cases = draw_cases(context)
    watching = {
        kind: tuple(one for case in cases for one in watch(case, kind)) for kind in ("none", "full", "simplified")
    }
    return {**watching, "one step": tuple(one for case in cases for one in watch(case, "full", steps=1))}


def promised_of_all(one: Round, mean: float = 1.0) -> list[Promise]:
    """What the text says of every variant of FeDLRT in a round."""
    U, S, V = (part["W"] for part in one.after)
    sigma = S.diagonal()
    wide = torch.stack([one.U @ S_c @ one.V.mT for S_c in one.coefficients]).mean(dim=0)
    tail = float(torch.linalg.matrix_norm(product(one.after)["W"] - one.model))
    theta = TAU * float(torch.linalg.matrix_norm(one.model))
    return [
        orthonormal("U is orthonormal", U),
        orthonormal("V is orthonormal", V),
        same("S is diagonal", S, torch.diag(sigma)),
        Promise("S has full rank", 0.0, float(sigma.min()) - 1e-12, at_most=True),
        same("averaging coefficients averages the clients' models", mean * wide, one.model),
        same("St is S in the corner of zeros (Lemma 1)", one.U.mT @ product(one.before)["W"] @ one.V, one.start),
        Promise("the truncated part is at most theta", tail, theta, 1e-12, at_most=True),
    ]


@claim(
    "fedlrt/alg-1",
    where="Algorithm 1 with Section 3.1",
    says=r"U and V stay orthonormal, S diagonal and of full rank; averaging coefficients in the shared bases averages "
    r"the clients' models; with full correction the first local step is the same at all clients; two communication "
    r"rounds without correction, three with the full one.",
    measure=watch_all,
    mutants=[{"rate": 1.01}, {"trips": 1}, {"mean": 1.01}, {"corrected": "simplified"}],
    vary=("rate", "mean"),
    kind="algorithm",
    expect="holds",
    method="algorithm",
)
def alg_1(watching: Watching, rate: float = 1.0, trips: int = 0, mean: float = 1.0,
          corrected: str = "full") -> Evidence:  # fmt: skip
    """Every promise in every round, without and with the full correction."""
    promises = []
    for kind, count in (("none", 2), (corrected, 3)):
        for one in watching[kind]:
            promises += promised_of_all(one, mean)
            promises.append(Promise("number of communication rounds", one.trips + trips, count))
    for one in watching["one step"]:
        step = rate * 0.5 / (12.0 * one.case.smoothness)
        stepped = one.start - step * torch.stack(one.slopes).mean(dim=0)
        promises += [same("the first corrected step is the mean gradient's", S_c, stepped) for S_c in one.coefficients]
    return judge_promises(promises, f"{SCOPE}; {ROUNDS} rounds of {STEPS} local steps, from a full S")


@dataclass(frozen=True)
class Augmented:
    """A basis, a direction, what the box's QR factorisation gives, and what the toolkit returns."""

    B: Tensor
    G: Tensor
    raw: Tensor
    Bbar: Tensor


@dataclass(frozen=True)
class Auxiliary:
    """Augmentations, and watched rounds for aggregation and coefficient updates."""

    augmented: tuple[Augmented, ...]
    watching: Watching


def measure_auxiliary(context: Context) -> Auxiliary:
    """Random bases with directions of full rank, and the rounds of all variants."""
    rng = context.rng("bases")
    found = []
    for m, r in ((2, 1), (4, 2), (7, 3), (40, 4)) * context.size(2, 10):
        signs = torch.from_numpy(rng.choice([-1.0, 1.0], r))
        B = torch.linalg.qr(torch.from_numpy(rng.standard_normal((m, r))))[0] * signs
        G = torch.from_numpy(rng.standard_normal((m, r)))
        raw = torch.linalg.qr(torch.cat([B, G], dim=1))[0]
        found.append(Augmented(B, G, raw, augment(Tree(W=B), Tree(W=G))["W"]))
    return Auxiliary(tuple(found), watch_all(context))


@claim(
    "fedlrt/alg-2",
    where="Algorithm 2 (auxiliary functions)",
    says=r"`basis_augmentation` returns $\bar B$ of $[B|\bar B] = \mathrm{qr}([B|G_B])$: $[B|\bar B]$ is orthonormal "
    r"and spans $[B|G_B]$; `aggregate` is the mean; `coefficient_update_var_cor` adds $V_c$ to every gradient and is "
    r"`coefficient_update` for $V_c = 0$.",
    measure=measure_auxiliary,
    mutants=[{"assembled": False}, {"share": 1.01}, {"added": 0.99}],
    vary=("share",),
    kind="algorithm",
    expect="holds",
    method="algorithm",
)
def alg_2(found: Auxiliary, assembled: bool = True, share: float = 1.0, added: float = 1.0) -> Evidence:
    """Bases as assembled by the clients, and coefficient updates step by step.

    The orthogonal factor of a library begins with columns of B up to their sign; only its second half is used.
    """
    promises = []
    for basis in found.augmented:
        whole = torch.cat([basis.B, basis.Bbar], dim=1) if assembled else basis.raw
        promises.append(orthonormal("[B|Bbar] is orthonormal", whole))
        promises.append(same("its first columns are B", whole[:, : basis.B.shape[1]], basis.B))
        promises.append(same("it spans G", whole @ (whole.mT @ basis.G), basis.G))
    for kind in ("none", "full", "simplified"):
        for one in found.watching[kind][::ROUNDS]:
            rate = 0.5 / (12.0 * one.case.smoothness * STEPS)
            bases = Tree(W=one.U), Tree(W=one.V)
            for client, correction, sent in zip(one.case.clients, one.corrections, one.coefficients, strict=True):
                S, projected = one.start, client.projected(*bases)
                for _ in range(STEPS):
                    S = S - rate * (projected.gradient({"W": S})["W"] + added * correction)
                promises.append(same("a client's coefficients are those of the recursion", S, sent))
            total = share * torch.stack(one.corrections).mean(dim=0)
            promises.append(same("the corrections cancel in the mean", total, torch.zeros_like(total)))
            mean = share * torch.stack(one.coefficients).mean(dim=0)
            promises.append(same("the aggregate is the mean", one.U @ mean @ one.V.mT, one.model))
    return judge_promises(promises, f"{SCOPE}; bases of 2 to 40 rows with directions of full rank")


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
            fed.begin()
            after = FedAvg(Descent(steps, rate)).round(fed, fed.everyone, w)["W"]
            found.append(Descents(case, w["W"], rate, steps, after, after))
    return found


@claim(
    "fedlrt/alg-3",
    where="Algorithm 3 (FedAvg) with eqs. (2) and (3)",
    says=r"Each client descends on its own loss from the server's weights, the server takes the mean; with one local "
    r"step this is gradient descent on the global loss.",
    measure=measure_fedavg,
    mutants=[{"rate": 1.01}, {"own": False}],
    vary=("rate",),
    kind="algorithm",
    expect="holds",
    method="algorithm",
)
def alg_3(runs: list[Descents], rate: float = 1.0, own: bool = True) -> Evidence:
    """The round against the recursion of every client, and against a central step."""
    promises = []
    for one in runs:
        clients = one.case.clients
        whole = mean_of(clients, [1.0 / len(clients)] * len(clients))
        ends = []
        for client in clients:
            W = one.start
            for _ in range(one.steps):
                W = W - rate * one.rate * (client if own else whole).gradient({"W": W})["W"]
            ends.append(W)
        promises.append(same("the mean of the clients' recursions", torch.stack(ends).mean(dim=0), one.found))
        if one.steps == 1:
            central = one.start - rate * one.rate * whole.gradient({"W": one.start})["W"]
            promises.append(same("one local step is a central step", central, one.found))
    return judge_promises(promises, f"{SCOPE}; full-rank weights, 1 and {STEPS} local steps")


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
                fed.begin()
                algorithm = FedLin(Descent(steps, rate), as_printed)
                ends.append(algorithm.round(fed, fed.everyone, Tree(W=from_start))["W"])
            fixed = minimiser if from_start is minimiser else None
            found.append(Descents(case, from_start, rate, steps, ends[0], ends[1], fixed, hand))
    return found


@claim(
    "fedlrt/alg-4",
    where="Algorithm 4 (FedLin), line 9, with eq. (4)",
    says=r"$W_c^{s+1} = W_c^s - \lambda\nabla L_c(W_c^s) + V_c$ with $V_c = G_W - G_{W,c}$, which is eq. (4); a "
    r"stationary point of the global loss stays where it is.",
    measure=measure_fedlin,
    vary=("sign",),
    control=Form("The corrections cancel in the mean over the clients.", {"keep": ("cancel",)}),
    correction=Form(
        r"With the correction inside the bracket, $W_c^{s+1} = W_c^s - \lambda(\nabla L_c(W_c^s) + V_c)$, it is eq. "
        r"(4), and a stationary point of the global loss is a fixed point.",
        {"as_printed": False},
        ({"as_printed": True}, {"sign": -1.0}, {"sign": 0.0}),
    ),
    kind="algorithm",
    expect="corrected",
    method="algorithm",
)
def alg_4(runs: list[Descents], as_printed: bool = True, sign: float = 1.0,
          keep: tuple[str, ...] = ("fixed", "equation", "cancel")) -> Evidence:  # fmt: skip
    """The round as the box prints it, or corrected, against eq. (4)."""
    promises = []
    for one in runs:
        end = one.printed if as_printed else one.found
        slopes = [client.gradient({"W": one.start})["W"] for client in one.case.clients]
        mean = torch.stack(slopes).mean(dim=0)
        if "fixed" in keep and one.fixed is not None:
            promises.append(same("a stationary point stays", end, one.fixed, one.by_hand))
        if "equation" in keep:
            ends = []
            for client, slope in zip(one.case.clients, slopes, strict=True):
                W = one.start
                for _ in range(one.steps):
                    W = W - one.rate * (client.gradient({"W": W})["W"] - sign * (slope - mean))
                ends.append(W)
            promises.append(same("a round is that of eq. (4)", end, torch.stack(ends).mean(dim=0)))
        if "cancel" in keep:
            total = torch.stack([mean - slope for slope in slopes]).sum(dim=0)
            promises.append(same("the corrections cancel", total, torch.zeros_like(total)))
    return judge_promises(promises, f"two parabolas by hand; {SCOPE}; full-rank weights, {STEPS} local steps")


@claim(
    "fedlrt/alg-5",
    where="Algorithm 5 (simplified variance correction) with eq. (9)",
    says=r"The correction is the upper-left r by r block of the full one and zero elsewhere; two communication rounds; "
    r"all else as in Algorithm 1.",
    measure=watch_all,
    mutants=[{"block": 1.01}, {"outside": 1.0}, {"trips": 1}],
    vary=("block", "outside"),
    kind="algorithm",
    expect="holds",
    method="algorithm",
)
def alg_5(watching: Watching, block: float = 1.0, outside: float = 0.0, trips: int = 0) -> Evidence:
    """The correction as it follows from what travels, against the full one in the same bases."""
    promises = []
    for one in watching["simplified"]:
        r = one.before.S["W"].shape[0]
        mean = torch.stack(one.slopes).mean(dim=0)
        promises += promised_of_all(one)
        for slope, correction in zip(one.slopes, one.corrections, strict=True):
            full = mean - slope
            expected = outside * full
            expected[:r, :r] = block * full[:r, :r]
            promises.append(same("the correction is the block of the full one", correction, expected))
        promises.append(Promise("number of communication rounds", one.trips + trips, 2))
    return judge_promises(promises, f"{SCOPE}; {ROUNDS} rounds of {STEPS} local steps, from a full S")


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
            fed.begin()
            algorithm = NaiveFeDLRT(Descent(steps, rate), case.rank, Truncation(0.0), as_printed)
            ends.append(product(algorithm.round(fed, fed.everyone, case.factors))["W"])
            uploads = fed.trips[-1].uploads
        mean = torch.stack([product(upload)["W"] for upload in uploads]).mean(dim=0)
        found.append(Naive(len(case.clients), mean, ends[0], ends[1], numbers))
    return found


@claim(
    "fedlrt/alg-6",
    where="Algorithm 6 (naive FeDLRT) with Section 3",
    says=r"Clients step in bases of their own; the server averages their coefficients and puts the mean into the bases "
    r"$\tilde U$, $\tilde V$: the mean model $W^* = \frac1C\sum_cU_cS_cV_c^\top$ that the text speaks of.",
    measure=measure_naive,
    vary=("scale",),
    control=Form("With one client the model is the client's.", {"alone": True}),
    correction=Form(
        r"The server has to rebuild $W^*$ from bases and coefficients of every client and to decompose the whole "
        r"matrix; the bases of the clients differ, so that the mean of their coefficients belongs to none of them.",
        {"as_printed": False},
        ({"as_printed": True}, {"scale": 1.001}),
    ),
    kind="algorithm",
    expect="corrected",
    method="algorithm",
)
def alg_6(runs: list[Naive], as_printed: bool = True, scale: float = 1.0, alone: bool = False) -> Evidence:
    """The server's model against the mean of the clients' models."""
    promises = []
    for one in runs:
        if one.clients == 1 or not alone:
            server = scale * (one.printed if as_printed else one.rebuilt)
            promises.append(same("the server's model is the mean of the clients'", server, one.mean, one.by_hand))
    return judge_promises(promises, f"two clients by hand; {SCOPE}; one and two local steps, no truncation")
