"""Section 4: alternating rounds (eqs. (3) and (4)), Figure 1 and their cost."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import torch

from algorithms.rolora import RoLoRA
from paper_checks.claim import Evidence, Form, Intended, Reading, claim
from paper_checks.methods.identity import Point, judge_identity, rational
from paper_checks.methods.printed import Cell, Rounded, judge_printed
from paper_checks.methods.relations import Relation, judge_relations, same
from paper_checks.rolora.measurements.symbolic_factors import SHAPES, entrywise, factors, mean, points_of
from paper_checks.rolora.measurements.watched_rounds import LOCAL, Round, rounds_of
from paper_checks.rolora.messages import Traffic, count_traffic

exact = Rounded.exact


def judge_half(points: list[Point], held: str, weight: float, synchronised: bool, number: str) -> Evidence:
    """Judge the mean of products with one factor the same at all clients."""
    lines = []
    for clients in (1, 2, 3):
        As, Bs = factors(clients)
        if synchronised:
            As, Bs = (As[:1] * clients, Bs) if held == "A" else (As, Bs[:1] * clients)
        products = mean([A * B for A, B in zip(As, Bs, strict=True)])
        aggregated = As[0] * mean(Bs) if held == "A" else mean(As) * Bs[0]
        lines += entrywise(f"eq. ({number}), N = {clients}", products, rational(weight) * aggregated)
    return judge_identity(lines, points, SHAPES)


@claim(
    "rolora/txt-odd-even",
    where="Section 4, the sentence before (3), compared with (3), (4), the text after them and Algorithm 1",
    says="Odd and even communication rounds alternate; they update and aggregate A and B, respectively.",
    measure=lambda context: rounds_of(context, lambda adapter: RoLoRA(LOCAL, adapter), rounds=1),
    correction=Form(
        "Odd rounds update and aggregate B, and even rounds A.", {"odd": "B"}, ({"odd": "A"},), asks="neither"
    ),
    uses=("rolora/alg-1",),
    importance="detail",
    because="According to (3), (4), the text after them and Algorithm 1, odd rounds train B and even rounds train A.",
    expect=("holds", "search"),
    intended=Intended(
        "as corrected",
        "“odd and even communication rounds designated for updating, aggregating A and B, respectively” (before (3)) "
        "against “all clients freeze $A^t$ and update $B^t$ in the odd communication round” (after (4))",
    ),
    print="inconsistent",
)
def txt_odd_even(rounds: list[Round], odd: str = "A") -> Evidence:
    """Uploads in the first and the second round have the stated shape, if the shapes of the factors differ."""
    promises = []
    for one in rounds:
        A, B = one.before.A["W"], one.before.B["W"]
        if A.shape == B.shape:
            continue
        even = "B" if odd == "A" else "A"
        case = {"rows of A": A.shape[0], "rank": A.shape[1], "columns of B": B.shape[1]}
        for name, trip, factor in (("odd", one.trips[0], odd), ("even", one.trips[1], even)):
            promised = (A if factor == "A" else B).numel()
            sent = trip.uploads[0].factor["W"].numel()
            told = case if A.numel() != B.numel() else None
            promises.append(Relation(f"numbers that a client sends in the {name} round", sent, promised, case=told))
    return judge_relations(promises, "1 to 4 clients, square, tall and wide weights; the first two rounds")


@claim(
    "rolora/eq-3",
    where="Section 4, eq. (3)",
    says=r"""In the odd round $\frac1N\sum_i\Delta W_i^{2t+1} = \frac1N(A_1^tB_1^{t+1} + \cdots + A_N^tB_N^{t+1}) =
    \frac1NA^t(B_1^{t+1} + \cdots + B_N^{t+1})$, the frozen $A_i^t$ being the same at all clients.""",
    measure=points_of,
    mutants=[{"synchronised": False}, {"weight": 1.01}],
    uses=("rolora/alg-1",),
    importance="result",
    expect=("holds", "kernel"),
)
def eq_3(points: list[Point], weight: float = 1.0, synchronised: bool = True) -> Evidence:
    """The common A is taken out of the sum; where the $A_i$ differ, the two sides do."""
    return judge_half(points, "A", weight, synchronised, "3")


TWO_UPDATES = {"A": ["1", "2"], "B": ["1", "3"]}
"""Two clients whose adapters are numbers."""


@claim(
    "rolora/eq-4",
    where="Section 4, eq. (4)",
    says=r"""In the even round $\frac1N\sum_i\Delta W_i^{2t+2} = \frac1N(A_1^{t+1}B_1^{t+1} + \cdots +
    A_N^{t+1}B_N^{t+1}) = \frac1N(A_1^{t+1} + \cdots + A_N^{t+1})B^{t+1}$.""",
    measure=points_of,
    readings=(
        Reading(
            "B of each client's own update",
            r"(4) with the $B_i^{t+1}$ of (3), the clients' own updates before the mean is taken.",
            why=r"(3) and Algorithm 1 write $B_i^{t+1}$ for a client's own update.",
        ),
        Reading(
            "B distributed",
            r"(4) with $B_i^{t+1} = B^{t+1}$ for every client i, the mean that the server distributes before the even "
            "round.",
            {"of": "distributed"},
            "The text after (4) says that the server distributes it, and that clients freeze it in the even round.",
            ({"synchronised": False}, {"weight": 1.01}),
        ),
    ),
    uses=("rolora/alg-1",),
    importance="result",
    because="It fails if $B_i^{t+1}$ is the client's own update in (3). A frozen factor with index i is client i's "
    "copy, as with $A_i^t$.",
    expect=("holds", "kernel"),
    intended=Intended(
        "B distributed",
        "“clients freeze $B^{t+1}$ and update $A^t$”, and of the other factor “the frozen $A_i^t$ are identical across "
        "all clients, as they are synchronized” (after (4))",
    ),
)
def eq_4(points: list[Point], weight: float = 1.0, synchronised: bool = True, of: str = "updates") -> Evidence:
    """The common B is taken out of the sum; where the $B_i$ differ, the two sides do.

    Args:
        points: entries.
        weight: of the right side.
        synchronised: whether all clients have the same B, where it is distributed.
        of: whether $B_i^{t+1}$ is the client's update of (3), or what the server distributes.
    """
    if of == "distributed":
        return judge_half(points, "B", weight, synchronised, "4")
    As, Bs = ([Fraction(number) for number in TWO_UPDATES[name]] for name in ("A", "B"))
    left = sum(A * B for A, B in zip(As, Bs, strict=True)) / 2
    line = Relation("(4)", left, Fraction(weight) * sum(As) / 2 * sum(Bs) / 2, case=TWO_UPDATES)
    return judge_relations([line], "two clients whose A and B are numbers")


@claim(
    "rolora/fig-1",
    where="Figure 1, by its caption and by Sections 1.1 and 4; we did not see the drawing",
    says="""RoLoRA framework overview: the alternating optimisation of LoRA. Clients train B with A frozen, and the
    server averages and broadcasts B; then they train A with B frozen, and the server averages and broadcasts A.""",
    measure=lambda context: rounds_of(context, lambda adapter: RoLoRA(LOCAL, adapter), rounds=1),
    mutants=[{"first": "A"}, {"trips": 1}, {"weight": 1.01}],
    uses=("rolora/alg-1",),
    kind="algorithm",
    importance="detail",
    expect=("holds", "search"),
    intended=Intended(
        "literal",
        "“based on the alternating optimization of LoRA as shown in Figure 1” (1.1); Section 4 lists the steps of two "
        "rounds",
    ),
)
def fig_1(rounds: list[Round], first: str = "B", trips: int = 2, weight: float = 1.0) -> Evidence:
    """In one iteration B is sent first, then A, and the server's new factor is the mean of what it receives."""
    promises = []
    for one in rounds:
        first_sent, last_sent = (one.trips[place].uploads[0].factor["W"] for place in (0, -1))
        sent = {"first": first_sent.shape, "second": last_sent.shape}
        shapes = {"A": one.before.A["W"].shape, "B": one.before.B["W"].shape}
        order = [first, "A" if first == "B" else "B"]
        promises.append(Relation("communication rounds of an iteration", len(one.trips), trips))
        for half, name in zip(sent, order, strict=True):
            promises.append(Relation(f"{name} travels {half}", float(sent[half] == shapes[name]), 1.0))
        for trip, after in zip(one.trips, (one.after.B["W"], one.after.A["W"]), strict=True):
            total = sum(upload.factor["W"] for upload in trip.uploads)
            promises.append(same("the server's factor is the mean", weight * total / len(trip.uploads), after))
    return judge_relations(promises, "1 to 4 clients, square, tall and wide weights; one iteration")


SAME_PRODUCT: dict[str, Any] = {"A": ["2", "1"], "B": "1", "x": ["2", "1"], "other x": ["1", "3"]}
"""Two inputs of one layer with the same xA, at rank 1."""


@claim(
    "rolora/s4-cost",
    where="Section 4, computation and communication cost",
    says="""In each communication round of RoLoRA the number of trainable parameters is effectively half of that of
    FedAVG of LoRA. The only additional cost compared with FFA-LoRA is the alternating freezing of parameters; it is
    negligible, being applied to the clients' models and possible concurrently with the server's aggregation.""",
    measure=count_traffic,
    readings=(
        Reading(
            "memory counted too",
            "The same, and training needs at most as much memory as in FFA-LoRA.",
            why="The paper says that it is the only additional cost, but the memory of a client is also a cost.",
        ),
        Reading(
            "numbers trained and sent",
            r"For $W_0 \in \mathbb R^{d \times d}$, in each communication round of RoLoRA a client trains and sends "
            "half as many numbers as in FedAVG of LoRA and as many as in FFA-LoRA. Apart from switching the frozen "
            "factor, computation and communication do not grow noticeably.",
            {"of": "sent"},
            "The sentence before counts trainable parameters, Table 8 what is sent, and Section 3.1 has square "
            "matrices. The backward pass of an adapted layer takes 3Tdr multiplications for T tokens with either "
            "factor, and in the lowest adapted layer Tdr more for A. We do not judge times.",
            ({"share": 0.45}, {"share": 0.55}),
        ),
    ),
    because="Memory is not counted. For A the backward pass stores the layer's input, d numbers per token, and for B "
    "only xA, r numbers.",
    importance="result",
    expect=("holds", "proof"),
    intended=Intended(
        "numbers trained and sent",
        "the paragraph is headed “Computation and Communication Cost”; memory is named apart, “memory and computation "
        "overheads” (Section 6)",
    ),
)
def s4_cost(traffic: Mapping[tuple[int, int], Traffic], share: float = 0.5, of: str = "all") -> Evidence:
    """One of two factors of equal size is trained and sent in a round; counted for square layers of several sizes.

    Args:
        traffic: counts for several shapes.
        share: of what LoRA sends.
        of: whether all costs are meant, the memory of the backward pass among them, or the numbers sent.
    """
    if of == "all":
        A, B = torch.tensor([float(entry) for entry in SAME_PRODUCT["A"]]), float(SAME_PRODUCT["B"])
        slopes: list[torch.Tensor] = []
        for name in ("x", "other x"):
            x, trained = torch.tensor([float(entry) for entry in SAME_PRODUCT[name]]), A.clone().requires_grad_()
            slopes += torch.autograd.grad((x @ trained) * B, trained)
        apart = float((slopes[0] - slopes[1]).abs().max())
        line = Relation("gradients of A for inputs with the same xA", apart, 0.0, case=SAME_PRODUCT)
        return judge_relations([line], "one layer of rank 1 with two inputs; memory of the backward pass")
    cells, widest = {}, Fraction(1, 2)
    for (inputs, outputs), counts in traffic.items():
        (whole,) = counts["LoRA"]["up"]
        widest = max(widest, *(Fraction(size) / Fraction(whole) for size in counts["RoLoRA"]["up"]))
        if inputs != outputs:
            continue
        for direction in ("up", "down"):
            (whole,) = counts["LoRA"][direction]
            (frozen,) = set(counts["FFA-LoRA"][direction])
            case = {"inputs": inputs, "outputs": outputs, "direction": direction}
            for number, size in enumerate(counts["RoLoRA"][direction], start=1):
                name = f"{inputs} x {outputs}, {direction}, round {number}"
                cells[f"{name}, of LoRA"] = Cell(exact(Fraction(share) * Fraction(whole)), exact(Fraction(size)), case)
                cells[f"{name}, as FFA-LoRA"] = Cell(exact(Fraction(frozen)), exact(Fraction(size)), case)
    scope = (
        f"the algorithms' own ledger, rank 2, after the start; for the rectangular shapes counted a single round of "
        f"RoLoRA carries up to the share {float(widest):.3g} of LoRA's, and two rounds together half of it"
    )
    return judge_printed(cells, scope)
