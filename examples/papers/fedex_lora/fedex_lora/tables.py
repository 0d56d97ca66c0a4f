"""Tables 1 and 4: averages of the printed scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from paper_checks.claim import Evidence, Form, claim
from paper_checks.methods.printed import Cell, Rounded, judge_printed

TABLE_1 = {
    "Centralized LoRA": ("73.45", "89.65", "82.23", "94.41", "87.97", "93.88", "82.76", "86.60", "86.37"),
    "FedIT": ("70.73", "87.59", "79.17", "91.06", "83.42", "92.71", "81.31", "82.68", "83.57"),
    "FFA-LoRA": ("65.78", "84.22", "72.41", "82.27", "72.53", "90.36", "76.28", "75.00", "77.35"),
    "FedEx-LoRA": ("73.21", "89.01", "81.98", "94.29", "87.29", "93.68", "82.33", "86.20", "85.99"),
}
"""Accuracies on eight data sets, and their average, as printed."""

TABLE_4 = {
    "reinitialised": ("0.00", "61.37", "75.74", "76.26", "53.98", "53.38", "53.46"),
    "unchanged": ("55.54", "59.93", "84.80", "92.77", "88.98", "88.41", "78.41"),
    "FedEx-LoRA": ("62.82", "75.09", "89.95", "94.84", "92.66", "90.95", "84.39"),
}
"""Scores on six data sets, and their average, as printed."""


def averages(table: Mapping[str, Sequence[str]], shift: float, changed: Mapping[str, str], scope: str) -> Evidence:
    """Judge the averages, up to the rounding of all numbers."""
    cells = {}
    for method, (*scores, average) in table.items():
        total = Rounded.exact(0)
        for score in scores:
            total = total + Rounded.printed(score)
        shown = Rounded.printed(changed.get(method, average)) + Rounded.exact(Fraction(shift))
        cells[method] = Cell(shown, total / Rounded.exact(len(scores)), {"scores": list(scores), "average": average})
    return judge_printed(cells, scope)


@claim(
    "fedex-lora/table-1",
    where="Section 4.1, Table 1, column Avg.",
    says="Table 1: averages 86.37, 83.57, 77.35 and 85.99 of eight accuracies.",
    measure=lambda context: TABLE_1,
    correction=Form(
        "Table 1: averages 86.37, 83.58, 77.35 and 85.99 of eight accuracies.",
        {"fedit": "83.58"},
        mutants=({"fedit": "83.60"}, {"fedit": "83.58", "shift": 0.03}),
        asks="neither",
    ),
    because="In the text that we read, the mean of FedIT's eight accuracies is 83.58.",
    kind="number",
    importance="detail",
    expect=("corrected", "proof"),
)
def table_1(table: Mapping[str, Sequence[str]], shift: float = 0.0, fedit: str = "83.57") -> Evidence:
    """Each average from the accuracies of its row."""
    return averages(table, shift, {"FedIT": fedit}, "all rows of Table 1")


@claim(
    "fedex-lora/table-4",
    where="Section 5, Table 4, column Avg",
    says="Table 4: averages 53.46, 78.41 and 84.39 of six scores for three assignments.",
    measure=lambda context: TABLE_4,
    mutants=[{"shift": 0.02}],
    kind="number",
    importance="detail",
    expect=("holds", "proof"),
)
def table_4(table: Mapping[str, Sequence[str]], shift: float = 0.0) -> Evidence:
    """Each average from the scores of its row."""
    return averages(table, shift, {}, "all rows of Table 4")
