"""Section 6.1 and Appendix B: numbers of layers and rounds, and sizes, recomputed from the networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

from figures.rolora.printed import (
    TABLE_4,
    TABLE_5,
    TABLE_7,
    TABLE_8,
    TABLE_9,
    TABLE_11,
    Configuration,
    LayerSet,
    Schedule,
)
from paper_checks.claim import LITERAL, Best, Evidence, Form, Intended, Reading, claim
from paper_checks.methods.printed import Cell, Order, Rounded, judge_order, judge_printed
from workloads.architectures import LLAMA_2_7B, ROBERTA_LARGE

printed = Rounded.printed
exact = Rounded.exact


@claim(
    "rolora/table-4",
    where="Table 4 and its caption, Appendix B.1",
    says="""Table 4: the rounds are for 3 clients; with more clients they are decreased accordingly, to keep the number
    of samples used in fine-tuning; 20 local epochs.""",
    measure=lambda context: TABLE_4,
    readings=(
        LITERAL,
        Reading(
            "a local epoch is a batch",
            "The same with 20 local steps of one batch in a round. The rounds then are 75 for 20 clients and 30 for 50 "
            "(RTE 30 and 12).",
            {"unit": "batches"},
            "FederatedScope, which the paper uses, counts local updates in batches by default; 20 passes in each of "
            "500 rounds would be 10,000 over the training set.",
            ({"few": 60}, {"few": 2.5}),
        ),
    ),
    kind="number",
    importance="detail",
    because="If an epoch is a pass over a client's share, all clients together use the same number of samples per "
    "round, however many they are.",
    expect=("holds", "proof"),
    intended=Intended(
        "a local epoch is a batch",
        "“Local Epochs” (row of Table 4) against “to maintain a constant sample count” with fewer rounds (its "
        "caption), which needs local steps of one batch",
    ),
    print="inconsistent",
)
def table_4(
    schedules: Mapping[str, Schedule], unit: str = "epochs", few: float = 3.0, many: tuple[int, ...] = (20, 50)
) -> Evidence:
    """The rounds that keep the number of samples are fewer with more clients, and whole numbers.

    Args:
        schedules: rounds with few clients, and what a round is.
        unit: what a round has 20 of at each client.
        few: the clients that the rounds are for.
        many: other numbers of clients.
    """
    orders, told = {}, []
    for name, schedule in schedules.items():
        for clients in many:
            # Samples of a round in units of what does not depend on the clients: the training set, or a batch.
            before, after = (1, 1) if unit == "epochs" else (Fraction(few), clients)
            rounds = Fraction(schedule.rounds * before, after)
            inputs = {"dataset": name, "clients": clients, "rounds with 3": schedule.rounds, "epochs": schedule.epochs}
            if clients > 3:
                orders[f"{name}, fewer rounds with {clients} clients"] = Order(
                    exact(schedule.rounds), exact(rounds), inputs
                )
            left = exact(abs(rounds - round(rounds)))
            orders[f"{name}, whole rounds with {clients} clients"] = Order(exact(Fraction(1, 1000)), left, inputs)
            told.append(f"{name} {float(rounds):g}")
    scope = (
        f"{', '.join(map(str, many))} clients, no overlap of their samples, 20 local {unit} a round; rounds: "
        f"{', '.join(told)}"
    )
    if unit == "batches":
        scope += "; 75 is odd, so RoLoRA ends in the middle of an iteration"
    return judge_order(orders, scope)


def parameters(where: LayerSet, rank: int = 4) -> int:
    """Return the LoRA parameters of RoBERTa-Large."""
    return ROBERTA_LARGE.adapters(where.matrices, rank, where.layers)


@claim(
    "rolora/table-5",
    where="Table 5 and row P2 of Table 7",
    says="Tables 5 and 7: the layer sets with LoRA of Table 1, budget P2, are the same in both.",
    measure=lambda context: (TABLE_5, TABLE_7),
    mutants=[{"budget": "P1"}, {"budget": "P3"}],
    kind="number",
    importance="detail",
    expect=("holds", "proof"),
    intended=Intended(
        "literal",
        r"“The selected layer set attached with LoRA modules for Table 1” (Table 5): $\mathcal P_2$, as in Table 7",
    ),
)
def table_5(
    tables: tuple[Mapping[str, LayerSet], Mapping[str, Mapping[str, LayerSet]]], budget: str = "P2", shift: float = 0.0
) -> Evidence:
    """The first layer, the last layer and the number of matrices are the same for each data set."""
    cells = {}
    for name, where in tables[0].items():
        other = tables[1][budget][name]
        for what, one, two in (
            ("first", where.first, other.first),
            ("last", where.last, other.last),
            ("matrices", where.adapted, other.adapted),
        ):
            cells[f"{name}, {what}"] = Cell(exact(one + Fraction(shift)), exact(two), {})
    sizes = ", ".join(f"{name} {where.adapted} matrices, {parameters(where):,}" for name, where in tables[0].items())
    return judge_printed(cells, f"five data sets; LoRA parameters at rank 4: {sizes}")


@claim(
    "rolora/table-7",
    where="Table 7 and Section 6.1",
    says="Table 7: for each data set the three budgets range from low to high.",
    measure=lambda context: TABLE_7,
    mutants=[{"budgets": ("P2", "P1", "P3")}, {"budgets": ("P1", "P3", "P2")}, {"layers": 23}],
    best={"factor": Best(1.33, "computed from the printed layers")},
    kind="number",
    expect=("holds", "proof"),
    intended=Intended(
        "literal", r"“three budgets ($\mathcal P_1$, $\mathcal P_2$, $\mathcal P_3$) ranging from low to high” (6.1)"
    ),
)
def table_7(
    table: Mapping[str, Mapping[str, LayerSet]],
    budgets: tuple[str, ...] = ("P1", "P2", "P3"),
    layers: int = 24,
    factor: float = 1.0,
) -> Evidence:
    """The number of parameters grows from each budget to the next, and all layers exist; rank 4 for all."""
    orders, told = {}, []
    for name in table[budgets[0]]:
        sizes = [parameters(table[budget][name]) for budget in budgets]
        for number in (1, 2):
            less = exact(Fraction(factor) * sizes[number - 1])
            orders[f"{name}, {budgets[number]} above {budgets[number - 1]}"] = Order(exact(sizes[number]), less, {})
        last = max(table[budget][name].last for budget in budgets)
        orders[f"{name}, layers that exist"] = Order(exact(layers), exact(last), {})
        told.append(f"{name} {', '.join(f'{size:,}' for size in sizes)}")
    return judge_order(orders, f"RoBERTa-Large, LoRA parameters at rank 4 by budget: {'; '.join(told)}")


@claim(
    "rolora/table-7-every",
    where="Section 6.1, effect of the number of fine-tuning parameters, with Table 7",
    says="The LoRA module is applied to every weight matrix of the selected layers.",
    measure=lambda context: TABLE_7,
    expect=("not checkable here", None),
    expect_reason="the statement depends on what a layer is. If a layer is a weight matrix, given by its type and its "
    "index as in Table 7, the paper says that every listed one carries LoRA, and does not print whether one was left "
    "out. If it is a transformer block, the sentence does not agree with Table 7, where only two of the six weight "
    "matrices of a block carry LoRA, those of values and queries, and in P1 of SST-2 only the one of values",
)
def table_7_every(table: Mapping[str, Mapping[str, LayerSet]]) -> Evidence:
    """Undecided: the scope gives the listed types."""
    cells = {f"{budget}, {name}": where for budget, sets in table.items() for name, where in sets.items()}
    types: dict[str, int] = {}
    for where in cells.values():
        types[" and ".join(where.matrices)] = types.get(" and ".join(where.matrices), 0) + 1
    told = ", ".join(f"{names} in {count} cell{'s'[: count - 1]}" for names, count in types.items())
    scope = f"{len(cells)} cells of Table 7: {told}; a block of RoBERTa-Large has {len(ROBERTA_LARGE.shapes)} matrices"
    return Evidence(None, scope, cases=len(cells), reason=table_7_every.expect_reason)


BYTES = (1, 2, 4, 8)
KILOBYTES = (1000.0, 1024.0)


def worst_gap(cells: Mapping[str, Cell]) -> Fraction:
    """Return the largest relative distance between printed and recomputed."""
    return max(
        max(c.printed.low - c.recomputed.high, c.recomputed.low - c.printed.high, Fraction(0)) / c.printed.high
        for c in cells.values()
    )


@claim(
    "rolora/table-8",
    where="Table 8 and Section 6.1: uplink cost at rank 4, RoBERTa-Large",
    says="""The communication costs of the three methods are identical: 187.5 KB with LoRA on W_v and W_q of layers 21
    to 23 (LoRA) or 18 to 23 (FFA-LoRA, RoLoRA), and 250 KB with layers 20 to 23 or 16 to 23.""",
    measure=lambda context: TABLE_8,
    correction=Form(
        """The communication costs of the three methods are identical: 192 KiB, which is 0.1875 MiB, and 256 KiB, which
        is 0.25 MiB, per client and round, with 4 bytes a number. The printed numbers are 1000 times the MiB.""",
        {"kilobytes": (1024**2 / 1000,), "sizes": (4,), "copies": (1,)},
        mutants=({"kilobytes": (1000.0,)}, {"sizes": (2,)}, {"hidden": 768.0}),
        asks="neither",
    ),
    kind="number",
    importance="detail",
    because="Numbers of 1, 2, 4 or 8 bytes and a KB of 1000 or 1024 bytes never give 187.5 and 250, which are 1000 "
    "times the size in MiB.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected",
        "“standardizing the size of the transmitted messages” (6.1): the three costs are equal; "
        "187.5 and 250 are 1000 times 0.1875 and 0.25 MiB",
    ),
    print="misprint",
)
def table_8(
    table: Mapping[str, Mapping[str, LayerSet]],
    kilobytes: tuple[float, ...] = KILOBYTES,
    sizes: tuple[int, ...] = BYTES,
    copies: tuple[int, ...] = (1, 2, 3, 6),
    hidden: float = 1024.0,
) -> Evidence:
    """One size of a number and of a kilobyte, for one or both directions and one or all clients, gives the sizes."""
    found = {}
    for kilobyte, size, copy in product(kilobytes, sizes, copies):
        cells = {}
        for cost, columns in table.items():
            for method, where in columns.items():
                factors = 2 if method == "LoRA" else 1
                numbers = where.adapted * factors * 4 * Fraction(hidden)
                sent = numbers * size * copy / Fraction(kilobyte)
                cells[f"{cost} KB, {method}"] = Cell(printed(cost), exact(sent), {})
        found[kilobyte, size, copy] = cells
    best = min(found, key=lambda reading: (worst_gap(found[reading]), reading[2]))
    scope = (
        f"{len(found)} readings (bytes a number {', '.join(map(str, sizes))}; KB of "
        f"{', '.join(f'{k:g}' for k in kilobytes)} bytes; messages counted {', '.join(map(str, copies))}); nearest: "
        f"{best[1]} bytes, KB of {best[0]:g}, messages {best[2]}"
    )
    evidence = judge_printed(found[best], scope)
    witness = {
        "rank": 4,
        **{
            f"{cost} {method}": where.adapted * (2 if method == "LoRA" else 1)
            for cost, columns in table.items()
            for method, where in columns.items()
        },
    }
    return replace(evidence, witness=None if evidence.ok else witness)


PASSES = "10 rounds of 30 are 300 batches, or 300 passes"
SAMPLES = "how many samples a client has"
CHOSEN = "the optimiser, and the learning rate that was chosen"
UNSAID = (
    "the experiment cannot be repeated from the paper, which leaves open whether a local epoch is a batch or a pass "
    f"over the samples of a client ({PASSES}), {SAMPLES}, {CHOSEN}"
)


def of_configuration(setup: Configuration, ranks: Sequence[int], reason: str, of_layers: int = 32) -> Evidence:
    """Leave a configuration undecided, and report what is printed with what follows from it.

    Args:
        setup: rounds and layers.
        ranks: whose parameters are reported.
        reason: why it is undecided.
        of_layers: layers of the network.
    """
    where = setup.layers
    sizes = ", ".join(
        f"{(size := LLAMA_2_7B.adapters(where.matrices, rank, where.layers)):,} at rank {rank} "
        f"({float(Fraction(100 * size, LLAMA_2_7B.parameters)):.4f} % of the model; {4 * size / 1e6:.2f} MB in 32 "
        "bits, half of it a round of RoLoRA)"
        for rank in ranks
    )
    samples = setup.rounds * setup.epochs * setup.batch
    there = "exist" if 0 <= where.first <= where.last < of_layers else "do not all exist"
    scope = (
        f"the layers {there} in Llama-2-7B, which has {of_layers}, counted from "
        f"0; {setup.rounds} rounds, in which A and B are trained by RoLoRA, {setup.rounds % 2 or 'none'} being left "
        f"over; {where.adapted} square matrices in {where.layers} layers; LoRA parameters: {sizes}; if epochs are "
        f"batches, {samples} samples a client and {50 * samples:,} of 50 clients"
    )
    return Evidence(None, scope, cases=1, reason=reason)


@claim(
    "rolora/table-9",
    where="Table 9, for Tables 2 and 10",
    says="Table 9: 10 rounds, batch size 1, 30 local epochs; LoRA on W_k, W_v, W_q, W_o of layers 26 to 31.",
    measure=lambda context: TABLE_9,
    kind="setting",
    importance="detail",
    expect=("not checkable here", None),
    intended=Intended("literal", "“Local Epochs” (Table 9): batches or passes, and which training sets, is not said"),
    print="unstated",
    expect_reason=UNSAID.replace(
        SAMPLES,
        "which training sets of the eight sub-tasks Section 6.2 merges and deals out evenly to the clients (WinoGrande "
        "has several; rolora/exp-commonsense)",
    ),
)
def table_9(setup: Configuration) -> Evidence:
    """Undecided: the scope says that all layers exist and that the number of rounds is even."""
    return of_configuration(setup, (8, 2), table_9.expect_reason)


@claim(
    "rolora/table-11",
    where="Table 11, for Table 12",
    says="Table 11: 100 rounds, batch size 1, 30 local epochs; LoRA on W_k, W_v, W_q, W_o of layers 24 to 31.",
    measure=lambda context: TABLE_11,
    kind="setting",
    importance="detail",
    expect=("not checkable here", None),
    intended=Intended("literal", "“Local Epochs” (Table 11): batches or passes, and the rank, is not said"),
    print="unstated",
    expect_reason=UNSAID.replace(PASSES, "100 rounds of 30 are 3000 of them").replace(
        CHOSEN, "the optimiser, the learning rate that was chosen, and the rank of LoRA"
    ),
)
def table_11(setup: Configuration) -> Evidence:
    """Undecided: the scope says that all layers exist and that the number of rounds is even."""
    return of_configuration(setup, (1,), table_11.expect_reason)
