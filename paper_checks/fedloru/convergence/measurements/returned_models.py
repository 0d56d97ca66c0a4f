"""The models that pFedLoRU and mFedLoRU return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from algorithms.adapter import AB
from algorithms.federation import Federation
from algorithms.fedloru import FedLoRU, FedLoRUState
from algorithms.tree import Tree
from paper_checks.claim import Evidence
from paper_checks.context import Context
from paper_checks.fedloru.convergence.measurements.followed_rounds import SCOPE, Run, by_hand, draw_runs, executed
from paper_checks.methods.relations import Relation, judge_relations, same

PERSONAL = {"L": 1.0, "U": 1.0, "personal_alpha": 2.0}
"""Personal factors of the run by hand, and their scale."""


def draw_personal(context: Context) -> list[tuple[Run, AB, float]]:
    """Draw runs with T a multiple of tau and not, with personal factors of rank 1 and their scale."""
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
        divides: Whether T is a multiple of tau.
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
    divides: bool


Endings = Mapping[str, tuple[Last, ...]]


def last_models(
    run: Run, algorithm: FedLoRU, fed: Federation, start: FedLoRUState, model: Callable[[FedLoRUState], Tree]
) -> Last:
    """Execute the rounds; what is personal and what is sent is left to the caller."""
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
        run.rounds % run.tau == 0,
    )


REACHED = "the returned model is the one that client 0 reached in the last round, after averaging"


def judge_return(
    endings: tuple[Last, ...],
    *,
    power: int,
    personal_power: int,
    leftover: bool,
    scale: float,
    keep: tuple[str, ...],
    scope: str = SCOPE,
    divides: bool = False,
) -> Evidence:
    """Judge the model that a box returns against the model that was reached.

    Args:
        endings: the ends of the runs.
        power: power of alpha before the sum of products in what is returned.
        personal_power: power of the personal scale before the personal product.
        leftover: whether the factors that are not accumulated yet are returned too.
        scale: factor of the sum.
        keep: the promises.
        scope: what was run.
        divides: whether only runs are judged whose T is a multiple of tau.
    """
    promises = []
    for last in endings:
        if divides and not last.divides:
            continue
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
            promises.append(Relation("what a client sends is what the text says", *last.uploads))
    return judge_relations(promises, f"those with T a multiple of tau of: {scope}" if divides else scope)


PROMISES = ("returned", "continue", "copies", "uploads")

RETURN_MUTANTS = ({"restart": "momentum"}, {"leftover": False}, {"power": 0}, {"scale": 1.001})

MEANT_MUTANTS = ({"restart": "momentum"}, {"divides": False}, {"power": 0}, {"scale": 1.001})
