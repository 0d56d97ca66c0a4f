"""Replays of the claims in ``communication`` and ``alternating``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values


@replay("rolora/eq-1")
def eq_1(values: Values) -> Violation:
    """Two clients with different A and one B: whether the mean of the products differs from the product of means."""
    As, Bs = ([Fraction(number) for number in values[name]] for name in ("A", "B"))
    N = len(As)
    assumes = assuming(Hypothesis("clients", N, ">=", 2), Hypothesis("clients with a B", len(Bs), "=", N))
    assumes += (Hypothesis("A_1 - A_2", As[0] - As[1], "!=", 0),)
    products = sum((A * B for A, B in zip(As, Bs, strict=True)), Fraction(0)) / N
    means = sum(As, Fraction(0)) * sum(Bs, Fraction(0)) / N**2
    return Violation(
        0,
        abs(products - means),
        assumes=assumes,
        given={"(1)": products, "(2)": means},
        strict=True,
        reads="two clients, A and B numbers; 0, against the distance of (1) and (2), printed as larger",
    )


@replay("rolora/eq-4")
def eq_4(values: Values) -> Violation:
    """Adapters of one number: the mean of the products against that of the A_i times that of the B_i, which is B."""
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
        reads="two clients, A_i^(t+1) and, as in (3), B_i^(t+1) numbers; distance of both sides of (4)",
    )


@replay("rolora/table-4")
def table_4(values: Values) -> Violation:
    """Samples used in a round by clients that share 3000 samples evenly, and the rounds that keep their number."""
    samples, epochs, clients, rounds = 3000, values["epochs"], values["clients"], values["rounds with 3"]
    assumes = assuming(
        Hypothesis("clients", clients, ">", 3),
        Hypothesis("passes over the data in a round", epochs, ">=", 1),
        Hypothesis("rounds with 3 clients", rounds, ">=", 1),
    )
    of_round = {N: sum(Fraction(samples, N) * epochs for _ in range(N)) for N in (3, clients)}
    return Violation(
        rounds * of_round[3] / of_round[clients],
        rounds,
        assumes=assumes,
        strict=True,
        reads="SST-2, rounds that use the same number of samples if a round is 20 passes of every client over its own "
        "share of the data, to be fewer than with 3 clients",
    )


@replay("rolora/table-8")
def table_8(values: Values) -> Violation:
    """The smallest distance of the printed sizes from those of any reading, the worst cell of each reading."""
    factors, rank = {name: count for name, count in values.items() if name != "rank"}, values["rank"]
    distances = []
    for size in (1, 2, 4, 8):
        for copies in (1, 2, 3, 6):
            for kilobyte in (1000, 1024):
                apart = []
                for name, count in factors.items():
                    text = name.split()[0]
                    half = Fraction(1, 2 * 10 ** len(text.partition(".")[2]))
                    sent = Fraction(count * rank * 1024 * size * copies, kilobyte)
                    apart.append(abs(sent - Fraction(text)) - half)
                distances.append(max(apart))
    assumes = (Hypothesis("rank", rank, "=", 4), Hypothesis("printed sizes", len(factors), "=", 6))
    return Violation(
        min(distances),
        0,
        assumes=assumes,
        reads="number of factors, A or B, that a client sends, times rank 4, times 1024 numbers, times 1, 2, 4 or 8 "
        "bytes, times 1, 2, 3 or 6 messages, over 1000 or 1024 for KB: for the nearest of these ways of counting (4, "
        "1, 1024), the largest distance of the six from the printed size, beyond its rounding",
    )


@replay("rolora/txt-half-cost")
def txt_half_cost_as_printed(values: Values) -> Violation:
    """Numbers that a client of FFA-LoRA sends at rank 1, against half of what LoRA sends."""
    inputs, outputs = int(values["inputs"]), int(values["outputs"])
    assumes = assuming(
        Hypothesis("inputs of the matrix", inputs, ">=", 1), Hypothesis("outputs of the matrix", outputs, ">=", 1)
    )
    return Violation(
        abs(outputs - Fraction(inputs + outputs, 2)),
        0,
        assumes=assumes,
        reads="B is r x outputs, A is inputs x r; distance of B from half of both, over r",
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
        reads="one layer with two inputs, rank 1 and one output, whose loss is the output; x and other x have the "
        "same xA, of which the gradient of B is made; largest difference of the gradients of A, which xA alone does "
        "not give",
    )
