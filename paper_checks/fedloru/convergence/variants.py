"""Appendices C.2 to C.4: the boxes of pFedLoRU, mFedLoRU and pFedLoRA (Algorithms 2 to 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from algorithms.adapter import AB, Adapter
from algorithms.federation import Federation
from algorithms.fedloru import RESTARTS, FedLoRU, FedLoRUState, Restart
from algorithms.mfedloru import NestedFedLoRU
from algorithms.pfedlora import PersonalFedLoRA
from algorithms.pfedloru import PersonalFedLoRU
from algorithms.rounds import final, go_on, one_round
from algorithms.tree import Tree
from paper_checks.claim import Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.fedloru.convergence.accumulation import SCOPE, Run, by_hand, draw_runs, executed
from paper_checks.methods.promises import Promise, Promises, judge_promises, promises, same

PERSONAL = {"L": 1.0, "U": 1.0, "personal_alpha": 2.0}
"""Personal factors of the run by hand, and their scale."""


def draw_personal(context: Context) -> list[tuple[Run, AB, float]]:
    """Runs with T a multiple of tau and not, with personal factors of rank 1 and their scale."""
    rng = context.rng("personal")
    runs = []
    for number, run in enumerate([by_hand(**PERSONAL, rounds=2), *draw_runs(context)[2:]]):
        if number:
            m, n = run.W.shape
            L, U = (torch.from_numpy(0.3 * rng.standard_normal(size)) for size in ((m, 1), (1, n)))
            scale = float(rng.choice([0.25, 2.0]))
        else:
            L, U = (torch.full((1, 1), PERSONAL[name], dtype=torch.float64) for name in ("L", "U"))
            scale = PERSONAL["personal_alpha"]
        runs.append((run, AB(Tree(W=L), Tree(W=U)), scale))
    return runs


@dataclass(frozen=True)
class Last:
    """The end of a run: what client 0 trained and what its return statement is made of.

    Attributes:
        case: The run in plain numbers, if it can be followed by hand.
        start: W as it was sent at the beginning.
        copy: W as the clients hold it at the end.
        products: Sum of the accumulated products, without alpha.
        leftover: Product of the factors that are not accumulated yet, zero if tau divides T.
        personal: The personal product, zero without one.
        reached: The model of client 0 in the last round, after averaging.
        alphas: Scales of the shared and of the personal product.
        jumps: For every accumulation but the last: the model the next round starts from, and the one reached.
        uploads: Numbers sent in a round by one client, counted and expected.
    """

    case: Mapping[str, Any] | None
    start: Tensor
    copy: Tensor
    products: Tensor
    leftover: Tensor
    personal: Tensor
    reached: Tensor
    alphas: tuple[float, float]
    jumps: tuple[tuple[Tensor, Tensor], ...]
    uploads: tuple[float, float]


Endings = Mapping[str, tuple[Last, ...]]


def run_personal(context: Context) -> Endings:
    """PFedLoRU under every restart; `momentum` is the listing."""
    drawn = draw_personal(context)
    return {restart: tuple(_personal(*one, restart) for one in drawn) for restart in RESTARTS}


def _personal(run: Run, own: AB, scale: float, restart: Restart) -> Last:
    algorithm = PersonalFedLoRU(
        run.local, run.adapter, run.tau, restart, personal=run.local, personal_adapter=Adapter(1, scale)
    )
    fed = Federation(run.clients)
    start = algorithm.start(fed, Tree(W=run.W))
    fed.equip(LU=own)
    last = last_models(run, algorithm, fed, start, lambda state: algorithm.personal_weights(fed, state, 0))
    mine = fed.personal(0)["LU"]
    sent = fed.ledger.count("up", run.rounds) / len(run.clients)
    return replace(
        last,
        personal=mine.A["W"] @ mine.B["W"],
        alphas=(run.alpha, scale),
        uploads=(sent, run.A.numel() + run.B.numel()),
    )


def last_models(
    run: Run, algorithm: FedLoRU, fed: Federation, start: FedLoRUState, model: Callable[[FedLoRUState], Tree]
) -> Last:
    """Executes the rounds; what is personal and what is sent is left to the caller."""
    products, leftover, jumps, last = torch.zeros_like(run.W), torch.zeros_like(run.W), [], run.W
    for reached, after in executed(run, algorithm, fed, start._replace(factors=run.factors)):
        last, product = model(reached)["W"], reached.factors.A["W"] @ reached.factors.B["W"]
        accumulates = reached.rounds % run.tau == 0
        products = products + product if accumulates else products
        leftover = torch.zeros_like(product) if accumulates else product
        if accumulates and reached.rounds < run.rounds:
            jumps.append((model(after)["W"], last))
    case = None if run.case is None else {**run.case, "restart": algorithm.restart}
    return Last(
        case,
        run.W,
        fed.state.shared["base"]["W"],
        products,
        leftover,
        torch.zeros_like(run.W),
        last,
        (run.alpha, 1.0),
        tuple(jumps),
        (0.0, 0.0),
    )


def judge_return(
    endings: tuple[Last, ...],
    *,
    power: int,
    personal_power: int,
    leftover: bool,
    scale: float,
    keep: tuple[str, ...],
    scope: str = SCOPE,
) -> Evidence:
    """The model that a box returns against the model that was reached.

    Args:
        endings: the ends of the runs.
        power: power of alpha before the sum of products in what is returned.
        personal_power: power of the personal scale before the personal product.
        leftover: whether the factors that are not accumulated yet are returned too.
        scale: factor of the sum.
        keep: the promises.
        scope: what was run.
    """
    promises = []
    for last in endings:
        alpha, own = last.alphas
        rest = alpha * last.leftover if leftover else torch.zeros_like(last.leftover)
        if "returned" in keep:
            returned = last.start + scale * alpha**power * last.products + rest + own**personal_power * last.personal
            promises.append(same(REACHED, returned, last.reached, last.case))
        if "updated" in keep:
            name = "W as updated, the factors not accumulated yet and the personal product are that model"
            promises.append(same(name, last.copy + rest + own**personal_power * last.personal, last.reached, last.case))
        if "copies" in keep:
            copied = last.start + scale * alpha * last.products
            promises.append(
                same("every client holds W plus alpha times the sum of products", copied, last.copy, last.case)
            )
        if "continue" in keep:
            name = "after an accumulation training goes on from the model that was reached"
            promises += [same(name, *jump, last.case) for jump in last.jumps]
        if "uploads" in keep:
            promises.append(Promise("what a client sends is what the text says", *last.uploads))
    return judge_promises(promises, scope)


REACHED = "the returned model is the one that client 0 reached in the last round, after averaging"
PROMISES = ("returned", "continue", "copies", "uploads")
COPIES = Form("Every client's W ends as $W + \\alpha\\sum_{\\tau|t}A_tB_t$.", {"keep": ("copies",)})
GLOBAL_COPIES = Form("Every client's W ends as $W + \\alpha_g\\sum_{\\tau|t}A_tB_t$.", COPIES.constants)
RETURN_MUTANTS = ({"restart": "momentum"}, {"leftover": False}, {"power": 0}, {"scale": 1.001})


@claim(
    "fedloru-v2/alg-2",
    where="Appendix C.2, Algorithm 2",
    says=r"Client k trains $L^{(k)}$, $U^{(k)}$ and then A, B in $W + \alpha_gAB + \alpha_pL^{(k)}U^{(k)}$ and sends "
    r"A and B only; the server averages them, $A_t \leftarrow \sum_{k\in\mathcal{K}_M}p^{(k)}A_t^{(k)}$ and $B_t$ "
    r"likewise; every $\tau$ rounds each client assigns $W \leftarrow W + \alpha_gA_tB_t$. Returned is $W + "
    r"\sum_{\tau|t}A_tB_t + L_T^{(k)}U_T^{(k)}$. The text: inference is based on $W + "
    r"\alpha_pL_T^{(k)}U_T^{(k)}$.",
    measure=run_personal,
    control=GLOBAL_COPIES,
    correction=Form(
        r"With W the model at the start and the scales in place, $W + \alpha_g\sum_{\tau|t}A_tB_t + "
        r"\alpha_pL_T^{(k)}U_T^{(k)}$ (plus $\alpha_gA_TB_T$ unless $\tau$ divides T) is the model that client k "
        "reaches in round T, after averaging, if it is drawn there and the factors restart at $AB = 0$; others keep "
        r"their $L^{(k)}, U^{(k)}$ of the round before. With W as the box has updated it "
        r"the sum is counted twice, and the text's $W + \alpha_pL_T^{(k)}U_T^{(k)}$ (plus the same) is that model.",
        {"restart": "random", "power": 1, "personal_power": 1, "leftover": True, "keep": (*PROMISES, "updated")},
        (*RETURN_MUTANTS, {"personal_power": 0}),
    ),
    kind="algorithm",
    because=r"The returned model lacks both scales and, unless $\tau$ divides T, the last factors; none restart; with "
    "the updated W, the sum counts twice.",
    expect=("corrected", "search"),
)
def alg_2(
    endings: Endings,
    restart: str = "momentum",
    power: int = 0,
    personal_power: int = 0,
    leftover: bool = False,
    scale: float = 1.0,
    keep: tuple[str, ...] = PROMISES,
) -> Evidence:
    """The returned model, the model that training goes on from, clients' W, and what they send, in executed runs."""
    return judge_return(
        endings[restart], power=power, personal_power=personal_power, leftover=leftover, scale=scale, keep=keep
    )


def run_nested(context: Context) -> Endings:
    """MFedLoRU under every restart, clients of several nested ranks and some that opt out."""
    drawn = [by_hand(rounds=2), *draw_runs(context)[2:]]
    rng = context.rng("ranks")
    ranks = []
    for run in drawn:
        r = run.A.shape[1]
        small = [
            None if r < 2 or rng.random() < 0.3 else tuple(int(k) for k in rng.integers(1, r, 2)) for _ in run.clients
        ]
        ranks.append(tuple(small))
    return {
        restart: tuple(_nested(run, own, restart) for run, own in zip(drawn, ranks, strict=True))
        for restart in RESTARTS
    }


def _nested(run: Run, ranks: tuple[Any, ...], restart: Restart) -> Last:
    algorithm = NestedFedLoRU(run.local, run.adapter, run.tau, restart, ranks=ranks)
    fed = Federation(run.clients)
    last = last_models(run, algorithm, fed, algorithm.start(fed, Tree(W=run.W)), algorithm.weights)
    (m, r), n = run.A.shape, run.B.shape[1]
    nested = [r * (m + n) if one is None else one[0] * (m + r) + one[1] * (n + r) for one in ranks]
    return replace(last, uploads=(fed.ledger.count("up", run.rounds), sum(nested)))


@claim(
    "fedloru-v2/alg-3",
    where="Appendix C.3, Algorithm 3, with the text around it",
    says=r"Clients train nested factors of ranks $r_A, r_B < r$ (or opt out) and send these, the server recovers "
    r"$A_t^{(k)}$, $B_t^{(k)}$ and averages, $A_t \leftarrow \sum_{k\in\mathcal{K}_M}p^{(k)}A_t^{(k)}$ (in the text "
    r"before the box $A_{t-1}^{(k)}$) and $B_t$ likewise; every $\tau$ rounds each client assigns $W \leftarrow W + "
    r"\alpha A_tB_t$. Returned is $W + \sum_{\tau|t}A_tB_t$.",
    measure=run_nested,
    control=COPIES,
    correction=Form(
        r"With W the model at the start, $W + \alpha\sum_{\tau|t}A_tB_t$ (plus $\alpha A_TB_T$ unless $\tau$ divides "
        "T) is the model reached in round T, after averaging, if the factors restart at $AB = 0$; with W as the box "
        r"has updated it, W alone (plus the same). The average is that of $A_t^{(k)}$, as in the box. A client with "
        "nested factors sends $r_A(m + r) + r_B(n + r)$ numbers.",
        {"restart": "random", "power": 1, "leftover": True, "keep": (*PROMISES, "updated")},
        RETURN_MUTANTS,
    ),
    kind="algorithm",
    because=r"With W as at the start, the returned model lacks $\alpha$; with W as the box has updated it, the sum "
    "counts twice.",
    expect=("corrected", "search"),
)
def alg_3(
    endings: Endings,
    restart: str = "momentum",
    power: int = 0,
    leftover: bool = False,
    scale: float = 1.0,
    keep: tuple[str, ...] = PROMISES,
) -> Evidence:
    """The returned model, the model that training goes on from, clients' W, and what they send, in executed runs."""
    scope = f"{SCOPE}; nested ranks from 1 to r - 1, and clients that opt out"
    return judge_return(
        endings[restart], power=power, personal_power=0, leftover=leftover, scale=scale, keep=keep, scope=scope
    )


@dataclass(frozen=True)
class Served:
    """The end of a run of pFedLoRA: the global weights, the personal product and its scale, the model trained.

    Attributes:
        case: The run in plain numbers, if it can be followed by hand.
        W: Global weights.
        personal: Personal product of client 0.
        alpha: Scale of the personal product.
        model: The model of client 0.
        sent: Numbers sent by each client.
        size: Numbers in W.
        after: Personal products of client 0 and of the last one before and after one more round for client 0 alone,
            where there are several.
    """

    case: Mapping[str, Any] | None
    W: Tensor
    personal: Tensor
    alpha: float
    model: Tensor
    sent: int
    size: int
    after: tuple[tuple[Tensor, Tensor], ...] = ()


def run_pfedlora(context: Context) -> list[Served]:
    """Both variants of pFedLoRA."""
    found = []
    for jointly in (False, True):
        for run, own, scale in draw_personal(context):
            algorithm = PersonalFedLoRA(run.local, run.local, Adapter(1, scale), jointly)
            fed = Federation(run.clients)
            w = algorithm.start(fed, Tree(W=run.W))
            fed.equip(LU=own)
            w = final(go_on(algorithm.round, fed, w, run.rounds), w)
            case = None if run.case is None or jointly else run.case  # the replay follows the first variant
            sent = fed.ledger.count("up", run.rounds) // len(run.clients)
            model = algorithm.personal_weights(fed, w, 0)["W"]
            ends = (0, len(run.clients) - 1)
            before = [_product(fed, client) for client in ends]
            one_round(algorithm.round, fed, w, (0,))
            after = tuple(zip(before, (_product(fed, client) for client in ends), strict=True)) if ends[1] else ()
            found.append(Served(case, w["W"], before[0], scale, model, sent, run.W.numel(), after))
    return found


def _product(fed: Federation, client: int) -> Tensor:
    LU: AB = fed.personal(client)["LU"]
    return LU.A["W"] @ LU.B["W"]


@promises(
    "fedloru-v2/alg-4",
    where="Appendix C.4, Algorithm 4, both variants",
    says=r"Client k, where it is drawn in round t, trains $L^{(k)}, U^{(k)}$ and then W, or all of them together, on "
    r"$W + \alpha_pL^{(k)}U^{(k)}$, from $W_{t-1}$ and $L_{t-1}^{(k)}, U_{t-1}^{(k)}$, and sends W only; the server "
    r"averages, $W_t \leftarrow \sum_{k\in\mathcal{K}_M}p^{(k)}W_t^{(k)}$. The final model of client k is $W_T + "
    r"L_T^{(k)}U_T^{(k)}$.",
    measure=run_pfedlora,
    control=Form("Only W is sent, all of it.", {"keep": ("sent",)}),
    correction=Form(
        r"With the scale in place, $W_T + \alpha_pL_T^{(k)}U_T^{(k)}$, it is the model that client k reaches in round "
        r"T, after averaging, where it is drawn; others keep their $L^{(k)}, U^{(k)}$ of the round before. The weights "
        "of the average are those of eq-agg.",
        {"personal_power": 1, "keep": ("returned", "sent", "idle")},
        ({"personal_power": 0}, {"personal_power": 2}, {"scale": 1.001}, {"idle": False}),
    ),
    kind="algorithm",
    because=r"The returned model lacks the scale $\alpha_p$ with which it was trained.",
    expect=("corrected", "search"),
)
def alg_4(
    runs: list[Served],
    personal_power: int = 0,
    scale: float = 1.0,
    keep: tuple[str, ...] = ("returned", "sent"),
    idle: bool = True,
) -> Promises:
    """The returned model against the model that the local steps descend in, and what clients send, in executed runs."""
    for one in runs:
        if "returned" in keep:
            returned = scale * (one.W + one.alpha**personal_power * one.personal)
            yield same(REACHED, returned, one.model, one.case)
        if "sent" in keep:
            yield Promise("a client sends W", one.sent, one.size)
        if "idle" in keep and one.after:
            yield same("a client that is not drawn keeps its L and U", *one.after[-1 if idle else 0])
    return f"{SCOPE}; personal scales 1/4 and 2; both variants"
