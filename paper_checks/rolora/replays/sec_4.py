"""Section 4: alternating rounds (eqs. (3) and (4)), Figure 1 and their cost."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay
from paper_checks.rolora.replays.messages import square_matrices_send
from paper_checks.stored_values import Values


@replay("rolora/txt-odd-even")
def txt_odd_even(values: Values) -> Violation:
    """Compare what (3) has the clients send in the odd round, their B, with what the sentence has, their A."""
    rows, rank, columns = (int(values[name]) for name in ("rows of A", "rank", "columns of B"))
    assumes = [Hypothesis("rank", rank, ">=", 1), Hypothesis("least side", min(rows, columns), ">=", rank)]
    return Violation(
        abs(rank * columns - rows * rank),
        0,
        assumes=assumes,
        reads="we compute the difference in size between B, which a client sends in the odd round by (3), and A, "
        "which it sends by the sentence",
    )


@replay("rolora/eq-4")
def eq_4(values: Values) -> Violation:
    """Compare the mean of the products with the product of the means, for adapters of one number and one B."""
    As, Bs = ([Fraction(number) for number in values[name]] for name in ("A", "B"))
    assumes = assuming(Hypothesis("clients", len(As), ">=", 2), Hypothesis("local updates of B", len(Bs), "=", len(As)))
    N = len(As)
    products = sum((A * B for A, B in zip(As, Bs, strict=True)), Fraction(0)) / N
    aggregated = sum(As, Fraction(0)) * sum(Bs, Fraction(0)) / N**2
    return Violation(
        abs(products - aggregated),
        0,
        assumes=assumes,
        given={"left": products, "right": aggregated},
        reads="for two clients whose A_i^(t+1) and B_i^(t+1) are numbers, with B as in (3), we compute the distance "
        "between the two sides of (4)",
    )


@replay("rolora/s4-cost")
def s4_cost_as_printed(values: Values) -> Violation:
    """The gradient of A is x times B's weight in the loss: for two inputs with the same xA it is not the same.

    So xA, from which the gradient of B follows, is not enough to train A.
    """
    A, x, other = ([Fraction(entry) for entry in values[name]] for name in ("A", "x", "other x"))
    products = [sum(one * two for one, two in zip(at, A, strict=True)) for at in (x, other)]
    assumes = (Hypothesis("xA, less that of the other input", products[0] - products[1], "=", 0),)
    apart = max(abs(one - two) for one, two in zip(x, other, strict=True)) * abs(Fraction(values["B"]))
    return Violation(
        apart,
        0,
        assumes=assumes,
        reads="a layer has two inputs, rank 1 and one output, and its loss is the output. The inputs x and other x "
        "have the same xA, which determines the gradient of B. We compute the largest difference between their "
        "gradients of A, which xA does not determine",
    )


@proof("rolora/s4-cost@numbers-trained-and-sent")
def s4_cost(share: Fraction = Fraction(1, 2)) -> str:
    r"""For $W_0 \in \mathbb R^{d \times d}$ A is $d \times r$ and B $r \times d$: rd numbers each.

    In FedAVG of LoRA a client trains and sends both, 2rd numbers. In a round of RoLoRA, as in every round of FFA-LoRA,
    it trains one of them, and sends that one: half as many. Several matrices, each square, add up, since d is then the
    sum of their sizes.
    """
    square_matrices_send(share)
    return "sizes of the factors"
