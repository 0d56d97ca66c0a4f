"""Algorithm 4 (Appendix C.4), both variants, executed and compared with its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from algorithms.adapter import AB, Adapter
from algorithms.federation import Federation
from algorithms.pfedlora import PersonalFedLoRA
from algorithms.rounds import final, go_on, one_round
from algorithms.tree import Tree
from paper_checks.claim import Form, Intended
from paper_checks.context import Context
from paper_checks.fedloru.convergence.measurements.returned_models import REACHED, draw_personal
from paper_checks.methods.relations import Relation, Relations, relations, same


@dataclass(frozen=True)
class Served:
    """The end of a run of pFedLoRA: the global weights, the personal product and its scale, the model trained.

    Attributes:
        case: The run in plain numbers, if it can be followed by hand. W: Global weights. personal: Personal product of
        client 0. alpha: Scale of the personal product. model: The model of client 0. sent: Numbers sent by each client.
        size: Numbers in W. after: Personal products of client 0 and of the last one before and after one more round of
        only client 0, if there are several.
    """

    case: Mapping[str, Any] | None
    W: Tensor
    personal: Tensor
    alpha: float
    model: Tensor
    sent: int
    size: int
    after: tuple[tuple[Tensor, Tensor], ...] = ()


def _product(fed: Federation, client: int) -> Tensor:
    LU: AB = fed.personal(client)["LU"]
    return LU.A["W"] @ LU.B["W"]


def run_pfedlora(context: Context) -> list[Served]:
    """Run both variants of pFedLoRA."""
    found = []
    for jointly in (False, True):
        for run, own, scale in draw_personal(context):
            algorithm = PersonalFedLoRA(run.local, run.local, Adapter(1, scale), jointly)
            fed = Federation(run.clients)
            w = algorithm.start(fed, Tree(W=run.W))
            fed.set_personal(LU=own)
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


@relations(
    "fedloru-v2/alg-4",
    where="Appendix C.4, Algorithm 4, both variants",
    says=r"""Client k, where it is drawn in round t, trains $L^{(k)}, U^{(k)}$ and then W, or all of them together, on
    $W + \alpha_pL^{(k)}U^{(k)}$, from $W_{t-1}$ and $L_{t-1}^{(k)}, U_{t-1}^{(k)}$, and sends W only; the server
    averages, $W_t \leftarrow \sum_{k\in\mathcal{K}_M}p^{(k)}W_t^{(k)}$. The final model of client k is $W_T +
    L_T^{(k)}U_T^{(k)}$.""",
    measure=run_pfedlora,
    control=Form("Only W is sent, all of it.", {"keep": ("sent",)}),
    correction=Form(
        r"""With the scale in place $W_T + \alpha_pL_T^{(k)}U_T^{(k)}$ is the model that client k reaches in round T,
        after averaging, if it is drawn. Other clients keep their $L^{(k)}, U^{(k)}$ of the round before. The weights of
        the average are those of eq-agg.""",
        {"personal_power": 1, "keep": ("returned", "sent", "idle")},
        ({"personal_power": 0}, {"personal_power": 2}, {"scale": 1.001}, {"idle": False}),
    ),
    kind="algorithm",
    because=r"The returned model lacks the scale $\alpha_p$ with which it was trained.",
    expect=("holds", "search"),
    intended=Intended("as corrected", "(84) to (86) train “W + α_per L U”; the box returns “W_T + L_T U_T”"),
    print="misprint",
)
def alg_4(
    runs: list[Served],
    personal_power: int = 0,
    scale: float = 1.0,
    keep: tuple[str, ...] = ("returned", "sent"),
    idle: bool = True,
) -> Relations:
    """In executed runs the returned model is the one that the local steps optimise; uploads are as stated."""
    for one in runs:
        if "returned" in keep:
            returned = scale * (one.W + one.alpha**personal_power * one.personal)
            yield same(REACHED, returned, one.model, one.case)
        if "sent" in keep:
            yield Relation("a client sends W", one.sent, one.size)
        if "idle" in keep and one.after:
            yield same("a client that is not drawn keeps its L and U", *one.after[-1 if idle else 0])
    return (
        "a run by hand and runs with quadratic losses, convex and indefinite, on tall, wide and square weights, 1 to 3 "
        "clients, personal scales 1/4 and 2; both variants"
    )
