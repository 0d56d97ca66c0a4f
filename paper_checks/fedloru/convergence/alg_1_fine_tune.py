"""Section 4.1 and Appendix C.1: FedLoRU for fine-tuning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from algorithms.federation import Federation
from algorithms.fedloru import FedLoRU
from algorithms.fedloru_finetuning import FineTuneFedLoRU, PairsState
from algorithms.rounds import go_on
from algorithms.tree import Tree
from paper_checks.claim import Intended, Reading
from paper_checks.context import Context
from paper_checks.fedloru.convergence.measurements.followed_rounds import SCOPE, Run, draw_runs
from paper_checks.methods.relations import Relation, Relations, relations, same


@dataclass(frozen=True)
class Beside:
    """The fine-tuning version of a run and the merged one: models round by round, weights, stored numbers."""

    run: Run
    separate: tuple[Tensor, ...]
    merged: tuple[Tensor, ...]
    weights: Tensor
    pairs: int


def run_beside(context: Context) -> list[Beside]:
    """Run both versions from the same start."""
    found = []
    for run in draw_runs(context):
        models: list[list[Tensor]] = []
        states: list[Any] = []
        for kind in (FineTuneFedLoRU, FedLoRU):
            algorithm: Any = kind(run.local, run.adapter, run.tau)
            fed = Federation(run.clients)
            start = algorithm.start(fed, Tree(W=run.W))._replace(factors=run.factors)
            models.append([])
            for state in go_on(algorithm.round, fed, start, run.rounds):
                models[-1].append(algorithm.weights(state)["W"])
            states.append(state)
        kept: PairsState = states[0]
        found.append(Beside(run, tuple(models[0]), tuple(models[1]), kept.base["W"], len(kept.pairs)))
    return found


PAIR = "0.248"
"""Trainable parameters at rank 16 in per cent of the model, by Appendix D.2: what one accumulation adds."""


@relations(
    "fedloru-v2/alg-1-fine-tune",
    where="Section 4.1, FedLoRU for fine-tuning, and Appendix C.1: what is stored, and its size",
    says="""The accumulated low-rank matrices are stored alongside the frozen pre-trained model, which stays intact;
    together they remain significantly smaller than the model.""",
    measure=run_beside,
    readings=(
        Reading(
            "any number of accumulations",
            "For any number of stored pairs, all of them together are smaller than the model, which stays intact.",
            why="The paper says that the size remains smaller, and does not limit the number of accumulations.",
        ),
        Reading(
            "in the paper's experiment",
            "The stored pairs and the frozen model give the same models as merging; with accumulations at rounds 15 "
            "and 30 of Section 5.2 and rank 16 of Appendix D.2, all stored pairs are less than half a per cent of the "
            "model.",
            {"accumulations": 2, "part": 0.005},
            "The sentence describes what fine-tuning needs; Section 5.2 accumulates every 15 rounds, at round 30 for "
            "the last time that is named, and Appendix D.2 has 0.248 % of the parameters in one pair of rank 16.",
            ({"scale": 0.999}, {"frozen": False}, {"accumulations": 20}),
        ),
    ),
    vary=("scale",),
    kind="algorithm",
    because="A pair of rank 16 has 0.248 % of the model's numbers, so after at most 405 accumulations all pairs are "
    "larger than the model.",
    expect=("holds", "search"),
    intended=Intended(
        "in the paper's experiment",
        "“their size remains significantly smaller than that of the original model” (Sec. 4.1), "
        "for the few accumulations of Sec. 5.2",
    ),
)
def fine_tune(
    runs: list[Beside], scale: float = 1.0, frozen: bool = True, accumulations: int = 405, part: float = 1.0
) -> Relations:
    """Models round by round, the weights at the end, and the numbers that are stored."""
    for one in runs:
        for separate, merged in zip(one.separate, one.merged, strict=True):
            yield same("the same model as with merging", scale * separate, merged)
        whole = one.run.W if frozen else one.merged[-1]
        yield same("the weights stay as they were", one.weights, whole)
        yield Relation("one pair for each accumulation", one.pairs, one.run.rounds // one.run.tau)
    case = {"share": PAIR, "accumulations": accumulations}
    yield Relation(
        "what the stored pairs are of the model", accumulations * float(PAIR) / 100, part, at_most=True, case=case
    )
    return (
        f"{SCOPE}; {accumulations} pairs of {PAIR} % of the model; the “detailed fine-tuning algorithm” that Section "
        "4.1 promises is a paragraph in Appendix C.1"
    )
