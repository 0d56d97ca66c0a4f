"""Sections 4 and 6.1: what travels in a communication round, from the ledger of the algorithms as they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.federation import Federation
from algorithms.fedlora import FedLoRA
from algorithms.ffa_lora import FFALoRA
from algorithms.rolora import RoLoRA
from algorithms.rounds import one_round
from algorithms.tree import Tree
from figures.rolora.printed import TABLE_9
from paper_checks.claim import Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.printed import Cell, Rounded, judge_printed
from toymodels.quadratic import random_quadratics
from workloads.architectures import LLAMA_2_7B, ROBERTA_LARGE

exact = Rounded.exact
Traffic = Mapping[str, Mapping[str, Sequence[int]]]


def count_traffic(context: Context) -> dict[tuple[int, int], Traffic]:
    """Count the numbers sent in the communication rounds of one iteration, from the ledger of the algorithms.

    Args:
        context: seeds the problems, which do not matter.

    Returns:
        For inputs and outputs of one matrix, by method and direction: numbers per client in each communication round.
    """
    local, adapter = Descent(1, 0.01), Adapter(2)
    found: dict[tuple[int, int], Traffic] = {}
    for shape in ((6, 6), (6, 4), (4, 10)):
        problem = random_quadratics(shape, 2, context.rng(f"{shape}"))
        counts: dict[str, dict[str, list[int]]] = {}
        methods: dict[str, Any] = {
            "LoRA": FedLoRA(local, adapter),
            "FFA-LoRA": FFALoRA(local, adapter),
            "RoLoRA": RoLoRA(local, adapter),
        }
        for name, algorithm in methods.items():
            fed = Federation(problem.clients)
            one_round(algorithm.round, fed, algorithm.start(fed, Tree(problem.start)))
            counts[name] = {
                direction: [
                    sum(
                        e.entries // e.clients
                        for e in fed.ledger.entries
                        if (e.round, e.trip, e.direction) == (1, trip, direction)
                    )
                    for trip in range(1, fed.ledger.trips(1) + 1)
                ]
                for direction in ("up", "down")
            }
        found[shape] = counts
    return found


@claim(
    "rolora/txt-half-cost",
    where="Section 6.1, effect of the number of fine-tuning parameters; Section 3.1 for the shapes",
    says="""With the same fine-tuning parameters the communication cost of RoLoRA and of FFA-LoRA is always half of
    that of LoRA, since they freeze parameters.""",
    measure=count_traffic,
    importance="result",
    because=r"For $\sum d_{in} \ne \sum d_{out}$, never adapted here, FFA-LoRA sends $\sum d_{out}/\sum(d_{in} + "
    r"d_{out})$, RoLoRA half over two rounds.",
    readings=(
        Reading(
            "any matrices",
            "With the same fine-tuning parameters, for adapted matrices of any shape, the communication cost of "
            "RoLoRA and of FFA-LoRA is, over two rounds, half of that of LoRA.",
            why="The paper says that it is always so. In a single round RoLoRA does not send half either.",
        ),
        Reading(
            "square matrices",
            r"With the same fine-tuning parameters, for $W_0 \in \mathbb R^{d \times d}$ (also for all matrices of a "
            "RoBERTa-Large layer, whose inputs and outputs are equally many), the communication cost of RoLoRA and of "
            "FFA-LoRA is in every round half of that of LoRA.",
            {"shapes": "square"},
            r"Section 3.1 has $W_0 \in \mathbb R^{d \times d}$, all matrices of the tables are square, and the six of "
            "a layer of RoBERTa-Large have 9,216 inputs and as many outputs.",
            ({"share": 0.45}, {"share": 0.55}),
        ),
    ),
    correction=Form(
        r"""For matrices of any shape RoLoRA sends half of what LoRA does over an iteration of two rounds, in each round
        only if $\sum d_{in} = \sum d_{out}$. FFA-LoRA sends the fraction $\sum d_{out}/\sum(d_{in} + d_{out})$, which
        is 0.544 for all seven matrices of Llama-2-7B's layers.""",
        {"ffa": "outputs"},
        mutants=({"over": "round"}, {"ffa": "half"}, {"share": 0.45}),
        asks="neither",
    ),
    expect=("holds", "proof"),
    intended=Intended(
        "square matrices",
        r"“$W_0 \in \mathbb R^{d \times d}$” (3.1); the “$W_v, W_q$” of Tables 5, 7 and 8 and the “$W_k, W_v, W_q, "
        "W_o$” of Tables 9 and 11 are square",
    ),
)
def txt_half_cost(
    traffic: Mapping[tuple[int, int], Traffic],
    shapes: str = "any",
    over: str = "iteration",
    ffa: str = "half",
    share: float = 0.5,
) -> Evidence:
    """Numbers sent in a round, up and down, after the start, at which each method sends its first factors once.

    Args:
        traffic: from the ledger.
        shapes: whether the statement is only for square matrices, or for any.
        over: for other shapes, each communication round, or the two of an iteration together.
        ffa: whether FFA-LoRA is said to send half, or the share of the outputs, for other shapes.
        share: share of what LoRA sends.
    """
    cells, half = {}, Fraction(share)
    for (inputs, outputs), counts in traffic.items():
        other = inputs != outputs
        if other and shapes == "square":
            continue
        for direction in ("up", "down"):
            (whole,) = counts["LoRA"][direction]
            for method in ("FFA-LoRA", "RoLoRA"):
                rounds = counts[method][direction]
                of_outputs = method == "FFA-LoRA" and ffa == "outputs" and other
                part = Fraction(outputs, inputs + outputs) if of_outputs else half
                together = over == "iteration" and other
                sent = [Fraction(sum(rounds), len(rounds))] if together else [Fraction(n) for n in rounds]
                case = {"method": method, "inputs": inputs, "outputs": outputs}
                for number, size in enumerate(sent, start=1):
                    name = (
                        f"{inputs} x {outputs}, {method}, {direction}, {'iteration' if together else 'round'} {number}"
                    )
                    cells[name] = Cell(exact(part * whole), exact(size), case)
    adapted = {
        "RoBERTa-Large, W_v and W_q": (ROBERTA_LARGE, ("W_v", "W_q")),
        "RoBERTa-Large, every weight matrix": (ROBERTA_LARGE, tuple(ROBERTA_LARGE.shapes)),
        "Llama-2-7B, attention": (LLAMA_2_7B, TABLE_9.layers.matrices),
    }
    cells |= {
        f"FFA-LoRA, {name}": Cell(exact(half), exact(model.share_of_outputs(matrices)), {})
        for name, (model, matrices) in adapted.items()
    }
    widest = {
        name: float(model.share_of_outputs(tuple(model.shapes)))
        for name, model in (("RoBERTa-Large", ROBERTA_LARGE), ("Llama-2-7B", LLAMA_2_7B))
    }
    told = ", ".join(f"{name} {value:.3f}" for name, value in widest.items())
    scope = (
        f"the algorithms' own ledger for matrices of {', '.join(f'{a} x {b}' for a, b in traffic)}, rank 2, and "
        f"the adapted matrices of the tables; share of FFA-LoRA with every weight matrix of a layer adapted: {told}"
    )
    return judge_printed(cells, scope)
