"""Section 6.1: half of the cost."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values

r, inputs, outputs, d = sympy.symbols("r inputs outputs d", positive=True)


@replay("rolora/txt-half-cost")
def txt_half_cost_as_printed(values: Values) -> Violation:
    """Compare numbers that a client of FFA-LoRA sends at rank 1, with half of what LoRA sends."""
    inputs, outputs = int(values["inputs"]), int(values["outputs"])
    assumes = assuming(
        Hypothesis("inputs of the matrix", inputs, ">=", 1), Hypothesis("outputs of the matrix", outputs, ">=", 1)
    )
    return Violation(
        abs(outputs - Fraction(inputs + outputs, 2)),
        0,
        assumes=assumes,
        reads="B is r x outputs and A is inputs x r. We compute the distance of the size of B from half the size of "
        "both, divided by r",
    )


ROBERTA_LARGE = [(1024, 1024)] * 4 + [(1024, 4096), (4096, 1024)]
"""Inputs and outputs of the six matrices of a layer."""

LLAMA_2_7B = [(4096, 4096)] * 4 + [(4096, 11008)] * 2 + [(11008, 4096)]
"""Inputs and outputs of the seven matrices of a layer."""


def numbers_sent(inputs: sympy.Expr, outputs: sympy.Expr) -> dict[str, list[sympy.Expr]]:
    """Return the numbers that a client sends in each of two rounds, A of inputs x r and B of r x outputs, summed."""
    A, B = r * inputs, r * outputs
    return {"LoRA": [A + B, A + B], "RoLoRA": [B, A], "FFA-LoRA": [B, B]}


def zero(expression: sympy.Expr) -> bool:
    """Return whether an expression is identically zero."""
    return bool(sympy.expand(expression) == 0)


def square_matrices_send(share: Fraction) -> None:
    """Show that with square matrices each round sends this share of what LoRA sends."""
    counts = numbers_sent(d, d)
    whole = counts["LoRA"]
    halves = all(zero(counts[name][k] - share * whole[k]) for name in ("RoLoRA", "FFA-LoRA") for k in range(2))
    require(halves, "for square matrices the share is another one")


@proof("rolora/txt-half-cost")
def txt_half_cost(share: Fraction = Fraction(1, 2)) -> str:
    r"""A square matrix has $d_{in} = d_{out} = d$: A and B have rd numbers each, LoRA sends both, the others one.

    For matrices of any shape A has $r\sum d_{in}$ numbers and B has $r\sum d_{out}$; LoRA sends both in each round.
    RoLoRA sends B in one round and A in the next: together half of what LoRA sends in two. A round of B exceeds half of
    one of LoRA by $\frac r2(\sum d_{out} - \sum d_{in})$, and a round of A falls short of it by the same amount, so
    each is half only if the sums agree. FFA-LoRA sends B in every round, the share $\sum d_{out}/\sum(d_{in} +
    d_{out})$ of LoRA. In a layer of Llama-2-7B four matrices are square, of 4096; two have 4096 inputs and 11,008
    outputs, and one has
    them the other way round: $42496/78080$, which is 0.544 to three decimals.
    """
    square_matrices_send(share)
    counts = numbers_sent(inputs, outputs)
    both, rounds = sum(counts["LoRA"]), [counts["RoLoRA"][k] - share * counts["LoRA"][k] for k in range(2)]
    require(zero(sum(counts["RoLoRA"]) - share * both), "two rounds of RoLoRA")
    apart = r * (outputs - inputs) / 2
    require(zero(rounds[0] - apart) and zero(rounds[0] + rounds[1]), "a round of RoLoRA")
    require(zero(counts["FFA-LoRA"][0] * (inputs + outputs) - counts["LoRA"][0] * outputs), "FFA-LoRA's share")
    total_in, total_out = (sum(shape[k] for shape in LLAMA_2_7B) for k in range(2))
    require(abs(Fraction("0.544") - Fraction(total_out, total_in + total_out)) < Fraction("0.0005"), "Llama")
    return "we add the sizes of the factors over the matrices"


@proof("rolora/txt-half-cost@square-matrices")
def txt_half_cost_square(share: Fraction = Fraction(1, 2)) -> str:
    r"""For $W_0 \in \mathbb R^{d \times d}$ A is $d \times r$ and B $r \times d$: rd numbers each.

    LoRA sends both in every round, 2rd numbers; RoLoRA sends one of them in each round, now B, now A, and FFA-LoRA B in
    all: half as many. Several square matrices add up. So do the six matrices of a layer of RoBERTa-Large: four are
    square, of 1024, one has 1024 inputs and 4096 outputs, and one has them the other way round, so inputs and
    outputs are 9216 each.
    """
    square_matrices_send(share)
    total_in, total_out = (sum(shape[k] for shape in ROBERTA_LARGE) for k in range(2))
    require(total_in == total_out == 9216, "a layer of RoBERTa-Large")
    return "we count the sizes of the factors of a square matrix and of a layer of RoBERTa-Large"
