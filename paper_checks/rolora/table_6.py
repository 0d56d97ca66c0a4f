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


MAJORITY = {"SST-2": ("positive", 444, 872), "RTE": ("entailment", 146, 277)}
"""The largest class of GLUE's validation sets, from outside the paper."""


def constant_answers(rows: Sequence[Row]) -> str:
    """Return which cells with deviation 0.00 are what one and the same answer to every example gets."""
    found = [
        f"{score.mean} on {name} ({row.method}, {row.setting}; {most} of {size}, {label})"
        for row in rows
        for name, (label, most, size) in MAJORITY.items()
        if not Fraction((score := row.scores[name]).deviation)
        and printed(score.mean).low <= 100 * Fraction(most, size) <= printed(score.mean).high
    ]
    return f"as many as the same answer to every example gets have, with deviation 0.00, {' and '.join(found)}"


@claim(
    "rolora/table-6",
    where="Appendix B.2.1: Table 6 is Table 1 with FlexLoRA added; compared with what Table 1 prints (the averages "
    "that both print are judged for Table 1)",
    says="Table 6: Table 1 with the results of FlexLoRA added, whose averages are the means of its five accuracies.",
    measure=lambda context: (TABLE_1, TABLE_6),
    correction=Form(
        """Of the 132 values that both Table 1 and Table 6 print, 131 agree. The deviation of LoRA on QNLI (rank 4, 20
        clients) is 2.02 in Table 1 and 0.20 in Table 6, and the paper does not say which is right. The four averages of
        FlexLoRA are the means of their accuracies.""",
        {"without": (("LoRA", 20, "QNLI", "deviation"),)},
        mutants=({"without": ()}, {"shift": 0.02}),
        asks="weaker",
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
    """The tables agree in each cell, up to differences that rounding could explain."""
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
    common, constant = len(cells), constant_answers(second)
    cells |= average_cells((row for row in second if row.method == "FlexLoRA"), shift)
    return judge_printed(cells, f"{common} values that both tables print, 4 averages of FlexLoRA; {constant}")
