"""Table 1 and what the text says about it: costs counted while the algorithms run, as polynomials in the sizes."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from paper_checks.claim import Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.counting import (
    COSTS,
    FULL_RANK,
    LOW_RANK,
    METHODS,
    Polynomial,
    Sizes,
    count_round,
    describe_polynomial,
    evaluate,
    polynomials,
    unbounded_term,
)
from paper_checks.methods.printed import Cell, Rounded, judge_printed
from paper_checks.methods.relations import Relation, judge_relations

WIDTH = 512
"""Width of the layer in Figure 3."""


def count_costs(context: Context) -> dict[str, dict[str, Polynomial]]:
    """Return every cost of every method as a polynomial; counts depend only on sizes."""
    return {method: dict(polynomials(method)) for method in METHODS}


def cost_terms(**factors: int) -> dict[tuple[int, int, int, int], int]:
    """Return a polynomial from names such as ``nr`` or ``sbrr``."""
    return {tuple(name.count(letter) for letter in "nrsb"): factor for name, factor in factors.items() if factor}  # type: ignore[misc]


def _low_rank_row(extra: int, square: int) -> dict[str, Any]:
    return {
        "client compute": cost_terms(sbnr=4, sbrr=4, rr=extra),
        "client memory": cost_terms(nr=4, rr=8),
        "server compute": cost_terms(nr=2, rr=8, nrr=4, rrr=8),
        "server memory": cost_terms(nr=2, rr=4),
        "communication": cost_terms(nr=6, rr=square),
    }


_FULL = {
    "client compute": cost_terms(sbnn=1),
    "client memory": cost_terms(nn=2),
    "server compute": cost_terms(nn=1),
    "server memory": cost_terms(nn=2),
}

TABLE_1: dict[str, dict[str, Any]] = {
    "FedAvg": _FULL | {"communication": cost_terms(nn=2)},
    "FedLin": _FULL | {"communication": cost_terms(nn=4)},
    "FeDLRT": _low_rank_row(0, 6),
    "FeDLRT, simplified": _low_rank_row(1, 8),
    "FeDLRT, full": _low_rank_row(4, 10),
}
"""The entries of the methods whose algorithms the paper gives, inside their O()."""


def largest_ranks(
    costs: Mapping[str, Mapping[str, Polynomial]], factor: int = 10, bases: int = 0
) -> dict[tuple[str, str], int]:
    """Return the largest rank, or 0, of a layer as wide as Figure 3's at which a cost is so many times below FedLin's.

    Args:
        costs: by method and cost; a round of one local step and one sample.
        factor: times less.
        bases: multiples of nr that a client's compute has more, for the gradients in U and V.
    """
    found = {}
    for cost in ("communication", "client compute"):
        full = evaluate(costs["FedLin"][cost], WIDTH, 1)
        for method in ("FeDLRT, simplified", "FeDLRT, full"):
            more = bases * WIDTH if cost == "client compute" else 0
            ranks = [
                r for r in range(1, WIDTH // 2) if factor * (evaluate(costs[method][cost], WIDTH, r) + more * r) <= full
            ]
            found[cost, method] = max(ranks, default=0)
    return found


@claim(
    "fedlrt/claim-order-of-magnitude",
    where="Abstract",
    says="""The efficiency of FeDLRT is demonstrated in an array of computer vision benchmarks, where client compute
    and communication costs are reduced by up to an order of magnitude, with minimal impacts on global accuracy.""",
    measure=count_costs,
    uses=("fedlrt/table-1",),
    kind="experiment",
    importance="result",
    expect=("not checkable here", None),
    expect_reason="only training can show which ranks keep the accuracy of the benchmarks, and none of their figures "
    "shows the compute of a client. As for the costs alone, for a 512 x 512 layer, one local step and one sample, "
    "FeDLRT needs by Table 1 at most a tenth of FedLin's communication up to rank 31, with either correction, and at "
    "most a tenth of its client compute up to rank 12, or up to rank 6 if the gradients in U and V add 4nr",
)
def claim_order_of_magnitude(costs: Mapping[str, Mapping[str, Polynomial]]) -> Evidence:
    """Undecided, with the largest ranks at which the costs are a tenth of FedLin's."""
    tables = {
        "counted": largest_ranks(costs),
        "Table 1": largest_ranks(TABLE_1),
        "Table 1 and 4nr more": largest_ranks(TABLE_1, bases=4),
    }
    told = "; ".join(
        f"{name}: " + ", ".join(f"{cost} of {method}: r <= {rank}" for (cost, method), rank in ranks.items())
        for name, ranks in tables.items()
    )
    return Evidence(
        None,
        f"ranks up to which a cost is at most a tenth of FedLin's, n = {WIDTH}; {told}",
        cases=len(tables),
        reason=claim_order_of_magnitude.expect_reason,
    )


ROUNDS = (1, 2, 2, 2, 3)


@claim(
    "fedlrt/table-1",
    where="Table 1, rows of FedAvg, FedLin and FeDLRT, columns of costs and rounds (those of FeDLR and Riemannian FL, "
    "and the marks for variance correction and rank adaptivity: fedlrt/claim-linear-n)",
    says=r"""Client compute, client memory, server compute, server memory and communication, each inside $O(\cdot)$:
    FedAvg $s_*bn^2$, $2n^2$, $n^2$, $2n^2$, $2n^2$; FedLin the same with communication $4n^2$; FeDLRT $s_*b(4nr +
    4r^2)$, $4(nr + 2r^2)$, $2nr + (8 + 4n)r^2 + 8r^3$, $2nr + 4r^2$, $6nr + 6r^2$; with simplified correction compute
    $s_*b(4nr + 4r^2) + r^2$ and communication $6nr + 8r^2$, with full correction $s_*b(4nr + 4r^2) + 4r^2$ and $6nr +
    10r^2$. Communication rounds 1, 2, 2, 2, 3.""",
    measure=count_costs,
    readings=(
        Reading(
            "with their constants",
            r"The costs of a client, a layer and a round are at most the entries: communication and memory, as numbers "
            r"for a client and round, with their constants; compute as an order, up to factors without n, r, $s_*$ and "
            r"b, since its constants depend on which operations count as one ($2r \le n$, any fixed number of "
            "clients). The communication rounds are those printed.",
            why=r"The paper prints every entry inside $O(\cdot)$, but the costs of FedAvg and FedLin differ by "
            "constants only, and so do the costs of the variants of FeDLRT. Figure 3 shows three of these costs.",
        ),
    ),
    control=Form("As orders all entries hold.", {"constants": ()}),
    correction=Form(
        """Communication: $2n^2$, $4n^2$, $6nr+5r^2$, $6nr+7r^2$, $6nr+13r^2$; a client's memory in its local steps:
        $2n^2$, $3n^2$ with the correction, $4nr+8r^2$ as printed without it, and $4nr+9r^2$ and $4nr+12r^2$ with it;
        the server's memory at truncation: $4nr+4r^2$. So the communication of the full correction, FedLin's memory, the
        memory of the corrected clients and the server's memory exceed the printed numbers, while $6nr+5r^2$ and
        $6nr+7r^2$ are smaller than printed.""",
        {"squares": (5.0, 7.0, 13.0), "held": ((2, 8), (3, 9), (3, 12)), "bases": 4.0, "at_most": False},
        (
            {"squares": (6.0, 7.0, 13.0)},
            {"squares": (5.0, 8.0, 13.0)},
            {"squares": (5.0, 7.0, 10.0)},
            {"linear": 5.0, "squares": (9.0, 11.0, 17.0)},
            {"bases": 2.0},
            {"held": ((2, 8), (2, 9), (2, 12))},
            {"rounds": (1, 2, 2, 2, 2)},
            {"thinner": "nr"},
            {"thinner": "steps"},
            {"full_rank": "nr"},
        ),
        asks="neither",
    ),
    kind="number",
    uses=("fedlrt/alg-1", "fedlrt/alg-3", "fedlrt/alg-4", "fedlrt/alg-5"),
    importance="result",
    because="The asymptotic orders are right, but full correction sends $6nr + 13r^2$ numbers, not $6nr + 10r^2$, and "
    "memory is larger than printed.",
    vary=(),
    expect=("corrected", "proof"),
    intended=Intended(
        "with their constants",
        r"The entries have constants, and Figure 3 uses them: “$r \approx 200$, which is 40% of "
        "full rank” solves $6nr + 10r^2 = 4n^2$ at n = 512.",
    ),
)
def table_1(
    costs: Mapping[str, Mapping[str, Polynomial]],
    linear: float = 6.0,
    squares: tuple[float, ...] = (6.0, 8.0, 10.0),
    held: tuple[tuple[int, int], ...] = ((2, 8), (2, 8), (2, 8)),
    bases: float = 2.0,
    thinner: str = "",
    rounds: tuple[int, ...] = ROUNDS,
    constants: tuple[str, ...] = ("communication", "client memory", "server memory"),
    full_rank: str = "",
    at_most: bool = True,
) -> Evidence:
    """Each entry bounds the count: term by term if constants are meant, otherwise up to a factor.

    Args:
        costs: counted.
        linear: factor of nr in FeDLRT's communication.
        squares: of r^2 there, by variant.
        held: factors of n^2 and of r^2 in the client's memory, without correction, simplified, full.
        bases: factor of nr in the server's memory.
        thinner: an entry with a factor less, as a mutant: `nr`, or `steps`.
        rounds: communication rounds of the five methods.
        constants: columns that are read with their constants.
        full_rank: `nr` for a communication of FedAvg and FedLin that is linear in n, as a mutant.
        at_most: whether constants are bounds, term by term, or numbers.
    """
    table = {method: dict(row) for method, row in TABLE_1.items()}
    for method, square, (_, small) in zip(LOW_RANK, squares, held, strict=True):
        table[method]["communication"] = {(1, 1, 0, 0): linear, (0, 2, 0, 0): square}
        table[method]["client memory"] = cost_terms(nr=4, rr=small)
        table[method]["server memory"] = {(1, 1, 0, 0): bases, (0, 2, 0, 0): 4}
        if thinner == "nr":
            table[method]["server compute"] = cost_terms(nr=2, rr=8, rrr=8)
        if thinner == "steps":
            table[method]["client compute"] = cost_terms(bnr=4, brr=4)
    for method, (large, _) in zip(FULL_RANK, (held[0], held[2]), strict=True):
        table[method]["client memory"] = cost_terms(nn=large)
        if full_rank == "nr":
            table[method]["communication"] = cost_terms(nr=4)
    size = Sizes(11)
    cells = {}
    for (method, row), trips in zip(table.items(), rounds, strict=True):
        obtained = len(count_round(method, size).trips)
        cells[f"{method}, rounds"] = Cell(Rounded.exact(trips), Rounded.exact(obtained), {"method": method})
        for cost in COSTS:
            entry, counted = row[cost], costs[method][cost]
            if cost in constants:
                for powers in sorted({*entry, *counted}, reverse=True):
                    bound, found = (Fraction(of.get(powers, 0)) for of in (entry, counted))
                    pair = [Rounded.exact(side) for side in (bound, max(bound, found) if at_most else found)]
                    at = {"method": method, "cost": cost, "n": 4, "r": 1}
                    cells[f"{method}, {cost}, factor of {describe_polynomial({powers: 1})[1:]}"] = Cell(
                        pair[0], pair[1], at
                    )
            else:
                beyond = unbounded_term(counted, entry)
                more = Rounded.exact(int(beyond is not None))
                cells[f"{method}, {cost} as an order"] = Cell(Rounded.exact(0), more, {"beyond": str(beyond)})
    told = "; ".join(
        f"{method}: {cost} {describe_polynomial(costs[method][cost])}" for method in LOW_RANK for cost in COSTS
    )
    return judge_printed(cells, f"five methods, six columns, as polynomials for all 2r <= n; counted: {told}")


OTHERS: dict[str, dict[str, Any]] = {
    "FeDLR": {
        "client compute": cost_terms(sbnn=1, nnn=1),
        "client memory": cost_terms(nn=2),
        "server compute": cost_terms(nn=1, nnn=1),
        "server memory": cost_terms(nr=4),
        "communication": cost_terms(nr=4),
    },
    "Riemannian FL": {
        "client compute": cost_terms(nnr=2, nrr=4, nr=2),
        "client memory": cost_terms(nn=2),
        "server compute": cost_terms(nr=2, nnr=1),
        "server memory": cost_terms(nr=4),
        "communication": cost_terms(nr=4),
    },
}
"""The entries of the low-rank methods of other papers."""

MARKS = {
    "FedAvg": (False, False),
    "FedLin": (True, False),
    "FeDLRT": (False, True),
    "FeDLRT, simplified": (True, True),
    "FeDLRT, full": (True, True),
    "FeDLR": (False, True),
    "Riemannian FL": (False, True),
}
"""Table 1's marks for variance correction and for an adaptive rank."""


@claim(
    "fedlrt/claim-linear-n",
    where="Table 1, caption, with the marks of the table (on methods beyond it: fedlrt/claim-only-method)",
    says="""The FeDLRT variants are the only low-rank schemes with memory, compute and communication costs that scale
    linearly in n, with automatic compression and variance correction.""",
    measure=count_costs,
    mutants=[
        {"degree": 0.0},
        {"degree": 2.0},
        {"variants": ("FedLin",)},
        {"others": ("FeDLRT, full",)},
        {"corrected": 3},
    ],
    readings=(
        Reading(
            "the correction as an option",
            "At a given rank every cost of each of the table's three variants is linear in n, and each has automatic "
            "compression; two of them have variance correction. Each of the table's other low-rank schemes lacks at "
            "least one of these properties.",
            why="The sentence is the caption of this table, which has three variants. One of them is named by its lack "
            "of the correction, so the correction is an option of FeDLRT.",
        ),
    ),
    uses=("fedlrt/table-1",),
    importance="result",
    expect=("holds", "proof"),
    intended=Intended(
        "the correction as an option",
        "Caption: “The FeDLRT variants are the only low-rank schemes” - the group; the rows “w/o "
        "var/cor” show what each one has.",
    ),
)
def claim_linear_n(
    costs: Mapping[str, Mapping[str, Polynomial]],
    degree: float = 1.0,
    variants: tuple[str, ...] = tuple(LOW_RANK),
    others: tuple[str, ...] = tuple(OTHERS),
    corrected: int = 2,
) -> Evidence:
    """At a given rank our counts for FeDLRT are linear in n, and by the table each other scheme lacks a property.

    FeDLRT's marks follow from Algorithms 1 and 5; the other schemes' marks are the table's.
    """
    promises = [
        Relation(f"power of n in {cost}", max(i for i, *_ in costs[variant][cost]), Fraction(degree))
        for variant in variants
        for cost in COSTS
    ]
    with_correction, adaptive = (sum(MARKS[variant][mark] for variant in variants) for mark in (0, 1))
    promises.append(Relation("variants with an adaptive rank", adaptive, len(variants)))
    promises.append(Relation("variants with variance correction", corrected, with_correction, at_most=True))
    for other in others:
        powers = [i for entry in {**TABLE_1, **OTHERS}[other].values() for i, *_ in entry]
        lacks = int(max(powers) > degree) + MARKS[other].count(False)
        promises.append(Relation("what another low-rank scheme lacks, at least one", 1, lacks, at_most=True))
    return judge_relations(promises, "exact polynomials in n, r, local steps and batch size, 2r <= n", whole=True)


@claim(
    "fedlrt/claim-only-method",
    where="Section 3.3, first paragraph",
    says="""To the best of the authors' knowledge FeDLRT is the only low-rank method with adaptive compression
    incorporating variance correction whose server compute cost scales linearly with the layer dimension.""",
    measure=lambda context: {name: row["server compute"] for name, row in {**TABLE_1, **OTHERS}.items()},
    uses=("fedlrt/claim-svd-size", "fedlrt/claim-linear-n"),
    importance="detail",
    expect=("not checkable here", None),
    expect_reason="which methods there are, and which of them the authors knew, is not in the paper; in Table 1 the "
    "server compute of the other two low-rank schemes is of order n^3 and n^2 at a given rank, and neither has a mark "
    "for variance correction",
)
def claim_only_method(server: Mapping[str, Mapping[tuple[int, ...], int]]) -> Evidence:
    """Undecided, with the powers of n in the table's entries."""
    told = "; ".join(
        f"{name}: n^{max(i for i, *_ in server[name])}, "
        + ("with" if MARKS[name][0] else "without")
        + " variance correction"
        for name in (*LOW_RANK, *OTHERS)
    )
    return Evidence(
        None, f"server compute of Table 1; {told}", cases=len(server), reason=claim_only_method.expect_reason
    )
