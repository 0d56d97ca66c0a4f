"""Appendices D to F: statements about Tables 2 to 7, and their forms in v1 and iclr."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from paper_checks.claim import Best, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedloru.tables import (
    CLIENTS_PER_RANK,
    LOW_RANK,
    PERSONAL_SIZES,
    TABLE_1_ICLR,
    TABLE_1_V1,
    TABLE_2_V1,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    TABLE_6,
    TABLE_7,
    Case,
    Ratio,
    in_percent,
)
from paper_checks.methods.printed import Cell, Order, Rounded, judge_order, judge_printed

ONE = Rounded.exact(1)
printed = Rounded.printed


def gap_order(row: Ratio) -> Order:
    """Return the statement that a method is above FedAvg."""
    return Order(printed(row.accuracy), printed(row.fedavg), {})


@claim(
    "fedloru-v2/txt-scal",
    where="Section 5.2 and Appendix F.4 (v2), Table 6 = iclr Table A5; Section 4.2 (v1), Table 2",
    says="""FedLoRU and FedLoRA outperform FedAvg when the number of clients exceeds 100 and 200, respectively
    (Appendix F.4: FedLoRA particularly when it reaches 200 and above), and the performance gap between low-rank
    algorithms and FedAvg continues to expand as $K$ increases.""",
    measure=lambda context: TABLE_6 + TABLE_2_V1,
    readings=(
        Reading(
            "from 20 clients on",
            "The order beyond these thresholds, and differences to FedAvg's accuracy that grow from row to row from $K "
            "= 20$ on (v1 has only FedLoRU).",
            why="The paper says that the gap expands as K increases, and the tables begin with 20 clients.",
        ),
        Reading(
            "from 100 clients on",
            "The order beyond these thresholds, and differences to FedAvg's accuracy that grow from row to row from $K "
            "= 100$ on, where FedLoRA is still 1.35 points behind (v1 has only FedLoRU).",
            {"gap_from": 100},
            "The paper says that the gap continues to expand beyond the numbers of clients from which FedAvg is "
            "outperformed.",
            ({"loru_above": 20}, {"lora_from": 100}, {"shrinks": True}),
        ),
    ),
    best={
        "loru_above": Best(50, "the tables: ahead at 100, behind at 50"),
        "lora_from": Best(200, "the tables: behind at 100, the next lower K"),
        "gap_from": Best(50, "the tables: between 20 and 50 the gap of FedLoRA shrinks"),
    },
    kind="number",
    importance="result",
    because="From 20 to 50 clients FedLoRA falls further behind FedAvg, from 4.44 points to 4.81.",
    expect=("holds", "proof"),
    intended=Intended(
        "from 100 clients on",
        "“outperform FedAvg when the number of clients exceeds 100 … Furthermore, the … gap … "
        "continues to expand”: beyond that point",
    ),
)
def txt_scal(
    rows: Sequence[Ratio],
    loru_above: float = 100.0,
    lora_from: float = 200.0,
    gap_from: float = 20.0,
    shrinks: bool = False,
) -> Evidence:
    """At every K beyond these thresholds the methods have the stated order, and the gap in points grows with K."""
    orders = {}
    curves: dict[tuple[str, str], list[Ratio]] = {}
    for row in sorted(rows, key=lambda row: row.clients):
        curves.setdefault((row.table, row.method), []).append(row)
        beyond = row.clients > loru_above if row.method == "FedLoRU" else row.clients >= lora_from
        if beyond:
            orders[f"{row.table}, {row.method}, K={row.clients}"] = gap_order(row)
    for (table, method), curve in curves.items():
        for before, after in pairwise([row for row in curve if row.clients >= gap_from]):
            wider, narrower = (before, after) if shrinks else (after, before)
            name = f"{table}, {method}, gap from K={before.clients} to {after.clients}"
            inputs = {
                "fewer": before.clients,
                "more": after.clients,
                "FedAvg": f"{before.fedavg} {after.fedavg}",
                "accuracy": f"{before.accuracy} {after.accuracy}",
            }
            orders[name] = Order(gap_order(wider).lead, gap_order(narrower).lead, inputs)
    scope = "rows of v2 Table 6 (both methods) and v1 Table 2 (FedLoRU), K = 20 to 400; gaps in percentage points, from"
    return judge_order(orders, f"{scope} K = {gap_from:g} on")


@claim(
    "fedloru-v2/txt-part",
    where="Section 5.2 and Appendix F.4 (v2), Table 7 compared with Table 6",
    says="""That FedLoRU and FedLoRA outperform FedAvg for many clients is a trend that lower participation further
    reinforces: at participation 0.1 low-rank training consistently outperforms FedAvg at $K = 100$ and $200$, and
    FedLoRU achieves the highest accuracy of the low-rank methods.""",
    measure=lambda context: (TABLE_6, TABLE_7),
    readings=(
        Reading(
            "larger gaps",
            "In Table 7 all three low-rank methods are above FedAvg, FedLoRU is above the other two, and the gaps of "
            "FedLoRU and FedLoRA to FedAvg are larger than at participation 0.5 and the same K (Table 6). We take "
            "FedAvg as printed, even at $K = 200$, where both tables have the same digits, 0.3885 and 38.85.",
            why="A trend that is reinforced is one that is larger; Table 6 has the same numbers of clients.",
        ),
    ),
    mutants=[{"best": "FedLoRA"}, {"best": "FedHM"}, {"reinforced": False}],
    best={"lead": Best(1.03, "the tables, for every rounding: the smallest of these leads, 1.05 points")},
    uses=("fedloru-v2/txt-scal",),
    kind="number",
    expect=("holds", "proof"),
    intended=Intended(
        "larger gaps",
        "“This trend is further reinforced in settings with a lower participation ratio, as shown in Table 7” (5.2): a "
        "reinforced trend is a larger gap at the same numbers of clients (Table 6)",
    ),
)
def txt_part(
    tables: tuple[Sequence[Ratio], Mapping[int, Mapping[str, str]]],
    best: str = "FedLoRU",
    reinforced: bool = True,
    lead: float = 0.0,
) -> Evidence:
    """Table 7 has the stated order, and its gaps to FedAvg compare with Table 6's as stated, at the same K."""
    half, tenth = tables
    orders, demanded = {}, Rounded.exact(Fraction(lead))
    for clients, row in tenth.items():
        values = in_percent(row, unit=100)
        for method in LOW_RANK:
            orders[f"K={clients}, {method} above FedAvg"] = Order(values[method], values["FedAvg"] + demanded, {})
            if method != best:
                orders[f"K={clients}, {best} above {method}"] = Order(values[best], values[method] + demanded, {})
        for before in (row for row in half if row.clients == clients):
            gaps = [values[before.method] - values["FedAvg"], gap_order(before).lead]
            more, less = gaps if reinforced else gaps[::-1]
            orders[f"K={clients}, gap of {before.method} at participation 0.1"] = Order(more, less + demanded, {})
    averages = {row.clients: row.fedavg for row in half}
    scope = (
        f"K = 100 and 200; FedAvg at K = 200 is printed {tenth[200]['FedAvg']} at participation 0.1 (Table 7) and "
        f"{averages[200]} at 0.5 (Table 6), the same digits, at K = 100 {tenth[100]['FedAvg']} and {averages[100]}"
    )
    return judge_order(orders, scope)


def printed_ratios(context: Context) -> tuple[Ratio, ...]:
    """Return all ratios of v2 Table 6 (the same as iclr Table A5) and v1 Table 2."""
    return TABLE_6 + TABLE_2_V1


@claim(
    "fedloru-v2/txt-ratio",
    where="Tables 6 (v2), A5 (iclr), 2 (v1) and the formula in their captions (in v1 in the text below)",
    says=r"The printed ratios are $(X - \mathrm{FedAvg})/X$ with $X$ the accuracy of FedLoRA or FedLoRU.",
    measure=printed_ratios,
    correction=Form(
        r"""The ratios are $(X - \mathrm{FedAvg})/\mathrm{FedAvg}$, and the one of FedLoRU with 20 clients is $-0.045$:
        there $-0.046$ is printed in all three tables, the accuracies give $-0.0452 \pm 0.0002$, and the formula of
        the caption $-0.0473$.""",
        {"denominator": "FedAvg", "amended": ((20, "FedLoRU", "-0.045"),)},
        mutants=({"denominator": "X"}, {"amended": ()}, {"shift": 0.002}, {"amended": ((20, "FedLoRU", "-0.047"),)}),
        asks="neither",
    ),
    kind="number",
    importance="detail",
    because=r"The printed ratios are relative to FedAvg. For 20 clients neither denominator gives $-0.046$.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        "“expressed as a proportion of FedLoRU's accuracy” (v1, after the formula); the captions of Tables 6 (v2), A5 "
        "(iclr) and Figures 2 (v2), 3 (iclr) also have it; only the numbers, and “compared to FedAvg” in the captions "
        "of both tables, speak for FedAvg",
    ),
    print="inconsistent",
)
def txt_ratio(
    ratios: Sequence[Ratio], denominator: str = "X", amended: tuple[tuple[int, str, str], ...] = (), shift: float = 0.0
) -> Evidence:
    """Each ratio follows from the two accuracies next to it."""
    cells = {}
    others = {(clients, method): ratio for clients, method, ratio in amended}
    for row in ratios:
        fedavg, accuracy = printed(row.fedavg), printed(row.accuracy)
        recomputed = ONE - fedavg / accuracy if denominator == "X" else accuracy / fedavg - ONE
        stated = printed(others.get((row.clients, row.method), row.ratio)) + Rounded.exact(Fraction(shift))
        inputs = {
            "table": row.table,
            "clients": str(row.clients),
            "method": row.method,
            "FedAvg": row.fedavg,
            "X": row.accuracy,
            "ratio": row.ratio,
            "denominator": denominator,
        }
        cells[f"{row.table}, {row.method}, K={row.clients}"] = Cell(stated, recomputed, inputs)
    return judge_printed(
        cells,
        f"{len(cells)} ratios (A5 prints those of Table 6 again), every accuracy taken as plus or minus half its last "
        "digit",
    )


@claim(
    "fedloru-v2/txt-total20",
    where="Table 2 (v2), Table A3 (iclr), Table A1 (v1), captions",
    says="Both model-heterogeneous settings have 20 clients in total.",
    measure=lambda context: CLIENTS_PER_RANK,
    correction=Form(
        "Setting 1 has 20 clients, setting 2 as printed 19: one of its counts, or its total, is off by one.",
        {"second": 19.0},
        mutants=({"second": 18.0}, {"second": 20.0}, {"total": 19.0}),
        asks="neither",
    ),
    kind="number",
    importance="detail",
    also=("fedloru-v2/tab-2", "fedloru-iclr/tab-A3", "fedloru-v1/tab-A1"),
    because="The clients of setting 2 are $6 + 6 + 7 = 19$.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        "“Both settings include total 20 clients” (captions); setting 2 lists 6, 6 and 7, and nothing says which "
        "number is meant",
    ),
    print="inconsistent",
)
def txt_total20(clients: Mapping[str, Mapping[str, int]], total: float = 20.0, second: float = 20.0) -> Evidence:
    """The counts add up."""
    cells = {
        name: Cell(
            Rounded.exact(Fraction(stated)),
            Rounded.exact(sum(clients[name].values())),
            {"setting": name, "total": f"{stated:g}", **{rank: str(count) for rank, count in clients[name].items()}},
        )
        for name, stated in (("setting 1", total), ("setting 2", second))
    }
    return judge_printed(cells, "clients per rank of both settings")


@claim(
    "fedloru-v2/txt-hm-tables",
    where="Appendix E, Tables 3 and 4 (v2) = Tables 2 and 3 (iclr) = Tables 3 and 4 (v1)",
    says="""Under both non-IID levels pFedLoRU shows a clear advantage in accuracy over pFedLoRA and, despite less than
    half the number of parameters, consistently achieves higher accuracy; FedHM outperforms mFedLoRU in both
    heterogeneous settings on CIFAR-10, mFedLoRU outperforms FedHM in both on CIFAR-100.""",
    measure=lambda context: (TABLE_3, TABLE_4),
    mutants=[{"share": 0.4}, {"simpler": "CIFAR-100"}, {"personal": "pFedLoRA(2)"}],
    best={
        "share": Best(0.4133, "the tables, for every rounding: 4.63 of 11.22 million"),
        "lead": Best(0.35, "the tables, for every rounding: 0.37 ± 0.01 points (CIFAR-100, setting 2)"),
    },
    kind="number",
    expect=("holds", "proof"),
)
def txt_hm_tables(
    tables: tuple[Mapping[str, Mapping[str, str]], Mapping[tuple[str, str], Mapping[str, str]]],
    share: float = 0.5,
    simpler: str = "CIFAR-10",
    personal: str = "pFedLoRU",
    lead: float = 0.0,
) -> Evidence:
    """The printed accuracies and the printed numbers of parameters have the stated order."""
    table_3, table_4 = tables
    demanded = Rounded.exact(Fraction(lead))
    orders = {}
    for psi, row in table_3.items():
        for rival in (name for name in row if name != personal):
            ahead = Order(printed(row[personal]), printed(row[rival]) + demanded, {})
            orders[f"psi={psi}, {personal} above {rival}"] = ahead
    sizes = {name: printed(size.removesuffix("M")) for name, size in PERSONAL_SIZES.items()}
    fraction = Rounded.exact(Fraction(str(share)))
    for rival in ("pFedLoRA(1)", "pFedLoRA(2)"):
        fewer = Order(fraction * sizes[rival], sizes["pFedLoRU"], {})
        orders[f"parameters of pFedLoRU below {share:g} of {rival}"] = fewer
    for (dataset, setting), row in table_4.items():
        better, worse = ("FedHM", "mFedLoRU") if dataset == simpler else ("mFedLoRU", "FedHM")
        ahead = Order(printed(row[better]), printed(row[worse]) + demanded, {})
        orders[f"{dataset}, {setting}, {better} above {worse}"] = ahead
    leads = [Fraction(row["pFedLoRU"]) - Fraction(row[name]) for row in table_3.values() for name in row]
    ahead_by = sorted(float(lead) for lead in leads if lead)
    scope = (
        "all values of both tables, the same in the three versions, as printed; pFedLoRU leads by "
        f"{ahead_by[0]:.2f} to {ahead_by[-1]:.2f} points, and how much is a clear advantage is not judged"
    )
    return judge_order(orders, scope)


FEDAVG_IN = {"iclr Table 1": "v2 Table 5 = iclr Table A4"}
"""Table 1 of iclr leaves FedAvg out."""


@claim(
    "fedloru-v2/txt-avgdrop",
    where="Appendix F.1 (v2) = D.1 (iclr), compared with Tables 5 and A4; Section 4.2 (iclr, v1) with Tables A4, A5; "
    "1, 2; that FedAvg consistently performs well, and what is sharp or significant, is not judged",
    says="""On CIFAR-100 FedAvg achieves $55.14$ % under IID with 100 clients and $19.18$ % under non-IID with 20; it
    drops from $69.97$ % at $K = 20$ to $21.44$ % at $K = 400$; it tends to drop with more clients and non-IID data.""",
    measure=lambda context: TABLE_1_ICLR + TABLE_1_V1,
    mutants=[{"non_iid": 19.81}, {"many": 24.94}, {"rises": True}],
    kind="number",
    expect=("holds", "proof"),
)
def txt_avgdrop(
    cases: Sequence[Case],
    iid: float = 55.14,
    non_iid: float = 19.18,
    few: float = 69.97,
    many: float = 21.44,
    rises: bool = False,
) -> Evidence:
    """The quoted values agree with every table that prints them, and the drops are as stated in every data set."""
    half = Fraction(1, 200)
    quoted = {("IID", 100): iid, ("NonIID", 20): non_iid, ("IID", 20): few}
    cells = {
        f"{FEDAVG_IN.get(case.table, case.table)}, {case.setting}": Cell(
            Rounded.about(quoted[case.split, case.clients], half), Rounded.exact(Fraction(case.fedavg)), {}
        )
        for case in cases
        if case.dataset == "CIFAR-100"
    }
    for row in (*TABLE_6, *TABLE_2_V1):
        by_clients = {20: few, 100: iid, 400: many}
        if row.clients in by_clients:
            value = Rounded.about(by_clients[row.clients], half)
            name = f"{row.table}, FedAvg beside {row.method}, K={row.clients}"
            cells[name] = Cell(value, Rounded.exact(Fraction(row.fedavg)), {})
    quotes = judge_printed(cells, "quoted values against Tables 5 and 6 (v2), 1 and 2 (v1)")
    if not quotes.ok:
        return quotes
    orders = {}
    for dataset, values in TABLE_5.items():
        for name, after in (("100 clients", values[1]), ("non-IID", values[2])):
            orders[f"{dataset}, {name}"] = Order(printed(values[0]), printed(after), {})
    curve = [row for row in TABLE_6 if row.method == "FedLoRU"]
    for before, later in pairwise(curve):
        orders[f"K={before.clients} to {later.clients}"] = Order(printed(before.fedavg), printed(later.fedavg), {})
    if rises:
        orders = {name: Order(order.smaller, order.greater, {}) for name, order in orders.items()}
    return judge_order(
        orders,
        f"{len(cells)} values of tables agree with those quoted; drops in Table 5 (3 data sets) and along Table 6",
    )
