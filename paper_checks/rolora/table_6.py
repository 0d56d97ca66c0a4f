"""Table 6 (Appendix B.2.1): Table 1 with FlexLoRA."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from figures.rolora.printed import TABLE_1, TABLE_6, Row, find
from paper_checks.claim import Evidence, Form, Intended, claim
from paper_checks.methods.printed import Cell, Rounded, judge_printed
from paper_checks.rolora.table_1 import average_cells

printed = Rounded.printed

exact = Rounded.exact


@claim(
    "rolora/table-6",
    where="Appendix B.2.1: Table 6 is Table 1 with FlexLoRA added; compared with what Table 1 prints (the averages "
    "that both print are judged for Table 1)",
    says="Table 6: Table 1 with the results of FlexLoRA added, whose averages are the means of its five accuracies.",
    measure=lambda context: (TABLE_1, TABLE_6),
    control=Form(
        """131 of the 132 common values agree and FlexLoRA's four averages follow. The standard deviation of LoRA on
        QNLI (rank 4, 20 clients) is 2.02 in Table 1 and 0.20 in Table 6; nothing printed tells which is meant.""",
        {"without": (("LoRA", 20, "QNLI", "deviation"),)},
    ),
    kind="number",
    importance="detail",
    because="One deviation (LoRA, QNLI, 20 clients) is 2.02 in Table 1 and 0.20 in Table 6.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        "“We present Table 1 with the results of FlexLoRA ... added” (B.2.1): the common cells "
        "should agree, and one deviation does not",
    ),
    print="inconsistent",
)
def table_6(
    tables: tuple[Sequence[Row], Sequence[Row]], without: tuple[tuple[str, int, str, str], ...] = (), shift: float = 0.0
) -> Evidence:
    """Cell by cell; a difference that rounding could explain passes."""
    first, second = tables
    cells = {}
    for row in first:
        other = find(second, row.method, row.clients, row.rank)
        pairs = {("average", ""): (row.average, other.average)}
        for name, score in row.scores.items():
            pairs |= {(name, part): (getattr(score, part), getattr(other.scores[name], part)) for part in score._fields}
        for (name, part), (one, two) in pairs.items():
            if (row.method, row.clients, name, part) not in without:
                inputs = {
                    "method": row.method,
                    "rank": row.rank,
                    "clients": row.clients,
                    "column": f"{name} {part}",
                    "Table 1": one,
                    "Table 6": two,
                }
                label = f"{row.setting}, {row.method}, {name} {part}".strip()
                cells[label] = Cell(printed(two) + exact(Fraction(shift)), printed(one), inputs)
    common = len(cells)
    cells |= average_cells((row for row in second if row.method == "FlexLoRA"), shift)
    return judge_printed(cells, f"{common} values that both tables print, 4 averages of FlexLoRA")


@claim(
    "rolora/table-6-levels",
    where="Table 6, the cells with deviation 0.00; an observation of the toolkit, of which the paper says nothing "
    "(what runs of FlexLoRA give is not checkable here)",
    says=r"""The two cells of Table 6 with deviation 0.00, both of FlexLoRA with 50 clients, $50.92 \pm 0.00$ on SST-2
    (rank 8) and $52.71 \pm 0.00$ on RTE (rank 4), are what one and the same answer to every example gets on GLUE's
    validation sets, 444 of 872 (positive) and 146 of 277 (entailment).""",
    measure=lambda context: TABLE_6,
    mutants=[{"sst2": 445}, {"rte": 145}, {"rte_size": 276}],
    vary=("sst2", "rte"),
    kind="number",
    importance="detail",
    expect=("holds", "proof"),
)
def table_6_levels(
    rows: Sequence[Row], sst2: float = 444, rte: float = 146, sst2_size: float = 872, rte_size: float = 277
) -> Evidence:
    """Both are the share of the largest class, 444 of 872 and 146 of 277 validation examples."""
    share = {"SST-2": 100 * Fraction(sst2) / Fraction(sst2_size), "RTE": 100 * Fraction(rte) / Fraction(rte_size)}
    cells = {
        f"{row.name}, {name}": Cell(printed(score.mean), exact(share[name]), {})
        for row in rows
        for name, score in row.scores.items()
        if not Fraction(score.deviation)
    }
    near = [
        f"{row.scores['RTE'].mean} ({row.method}, {row.setting})"
        for row in rows
        if Fraction(row.scores["RTE"].mean) - Fraction(row.scores["RTE"].deviation) <= share["RTE"] and row.clients > 3
    ]
    scope = (
        f"{len(cells)} cells with deviation 0.00; means on RTE with more than 3 clients at most one deviation above "
        f"the constant answer: {', '.join(near)}"
    )
    return judge_printed(cells, scope)
