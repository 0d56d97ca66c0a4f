"""Table 1 (Section 5): printed numbers, by interval arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from paper_checks.claim import Evidence, claim
from paper_checks.methods.printed import Cell, Rounded, judge_printed

TABLE_1 = {"sum": ("88.1", "90.4", "87.9", "88.8"), "mean": ("89.3", "91.2", "90.2", "90.2")}
"""Accuracies of two methods on three data sets, and their average, as printed."""


@claim(
    "your-paper/table-1",
    where="Section 5, Table 1, column Average",
    says="Table 1: accuracies of two methods on three data sets, with their averages 88.8 and 90.2.",
    measure=lambda context: TABLE_1,
    mutants=[{"shift": 0.2}, {"weight": 2}],
    kind="number",
    importance="detail",
    expect=("holds", "proof"),
)
def table_1(table: Mapping[str, Sequence[str]], shift: float = 0.0, weight: int = 1) -> Evidence:
    """Each average, up to rounding, from the three accuracies of its row; a weight of the first one is a mutant."""
    cells = {}
    for method, (first, *others, average) in table.items():
        total = Rounded.exact(weight) * Rounded.printed(first)
        for other in others:
            total = total + Rounded.printed(other)
        printed = Rounded.printed(average) + Rounded.exact(Fraction(shift))
        cells[method] = Cell(printed, total / Rounded.exact(len(others) + weight), {"row": [first, *others]})
    return judge_printed(cells, "both rows of Table 1")
