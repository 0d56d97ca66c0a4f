"""Tables 3 and 4 (Section 7.3): speedups and slowdowns, from the rounds that are printed next to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from paper_checks.claim import Evidence, claim
from paper_checks.methods.printed import Cell, Rounded, judge_printed

Row = Sequence[tuple[int, str]]

TABLE_3: Mapping[str, tuple[int, Row]] = {
    "SCAFFOLD, 0 %": (317, ((77, "4.1"), (152, "2.1"), (286, "1.1"), (266, "1.2"))),
    "SCAFFOLD, 10 %": (365, ((62, "5.9"), (20, "18.2"), (16, "22.8"), (11, "33.2"))),
    "SCAFFOLD, 100 %": (416, ((60, "6.9"), (10, "41.6"), (7, "59.4"), (4, "104"))),
    "FedAvg, 0 %": (317, ((258, "1.2"), (428, "0.7"), (711, "0.4"))),
    "FedAvg, 10 %": (365, ((74, "4.9"), (34, "10.7"), (25, "14.6"), (18, "20.3"))),
    "FedAvg, 100 %": (416, ((83, "5"), (10, "41.6"), (6, "69.3"), (4, "104"))),
    "FedProx, 10 %": (365, ((979, "0.4"), (794, "0.5"), (894, "0.4"), (916, "0.4"))),
    "FedProx, 100 %": (416, ((459, "0.9"), (351, "1.2"), (308, "1.4"), (351, "1.2"))),
}
"""Rounds of SGD, then rounds and speedup of a method with 1, 5, 10 and 20 epochs."""

TABLE_4: Mapping[str, tuple[int, Row]] = {
    "SCAFFOLD, 0 %": (143, ((290, "2.0"), (790, "5.5"))),
    "SCAFFOLD, 10 %": (9, ((13, "1.4"), (28, "3.1"))),
    "FedAvg, 0 %": (179, ((334, "1.9"),)),
    "FedAvg, 10 %": (12, ((17, "1.4"), (35, "2.9"))),
}
"""Rounds with 20 % of the clients, then rounds and slowdown with 5 % and 1 %."""


def quotients(table: Mapping[str, tuple[int, Row]], shift: float, faster: bool, scope: str) -> Evidence:
    """Judge each printed quotient of rounds, up to its rounding."""
    cells = {}
    for name, (first, row) in table.items():
        for number, (rounds, printed) in enumerate(row):
            exact = Rounded.exact(Fraction(first, rounds) if faster else Fraction(rounds, first))
            shown = Rounded.printed(printed) + Rounded.exact(Fraction(shift))
            cells[f"{name}, {number + 1}"] = Cell(shown, exact, {"first": first, "rounds": rounds})
    return judge_printed(cells, scope)


@claim(
    "scaffold/table-3",
    where="Section 7.3, Table 3",
    says="Table 3: rounds to an accuracy of 0.5, and speedups over SGD.",
    measure=lambda context: TABLE_3,
    mutants=[{"shift": 0.1}, {"faster": False}],
    kind="number",
    importance="detail",
    expect=("holds", "proof"),
)
def table_3(table: Mapping[str, tuple[int, Row]], shift: float = 0.0, faster: bool = True) -> Evidence:
    """Rounds of SGD over those of the method, in all cells with a number of rounds."""
    return quotients(table, shift, faster, "all cells of Table 3 that print a number of rounds")


@claim(
    "scaffold/table-4",
    where="Section 7.3, Table 4",
    says="Table 4: rounds to an accuracy of 0.45 as fewer clients take part, and slowdowns.",
    measure=lambda context: TABLE_4,
    mutants=[{"shift": 0.1}, {"faster": True}],
    kind="number",
    importance="detail",
    expect=("holds", "proof"),
)
def table_4(table: Mapping[str, tuple[int, Row]], shift: float = 0.0, faster: bool = False) -> Evidence:
    """Rounds over those with 20 % of the clients, in all cells with a number of rounds."""
    return quotients(table, shift, faster, "all cells of Table 4 that print a number of rounds")
