"""Table 1, Section 2.3 and Appendix A.2: numbers of parameters."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from paper_checks.claim import Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.methods.identity import Equation, Equations, Point, generic_points, identities
from paper_checks.methods.printed import Cell, Rounded, judge_printed

EXAMPLE = {"m": 256, "n": 256, "R": 16, "O": 256, "I": 256, "K1": 3, "K2": 3}
"""The reference example of Table 1."""
TABLE_1 = {
    "FC, original": ("66", "256"),
    "FC, low-rank": ("16", "32"),
    "FC, FedPara": ("16", "256"),
    "convolution, original": ("590", "256"),
    "convolution, low-rank": ("21", "32"),
    "convolution, FedPara (Proposition 1)": ("82", "256"),
    "convolution, FedPara (Proposition 3)": ("21", "256"),
}
"""Parameters in thousands, and maximal ranks, as printed."""


def count_parameters(at: dict[str, int]) -> dict[str, tuple[int, int]]:
    """Return the number of parameters and the maximal rank of each row, by the formulas of the table."""
    m, n, R, O, I = at["m"], at["n"], at["R"], at["O"], at["I"]  # noqa: E741
    taps = at["K1"] * at["K2"]
    return {
        "FC, original": (m * n, min(m, n)),
        "FC, low-rank": (2 * R * (m + n), 2 * R),
        "FC, FedPara": (2 * R * (m + n), min(R**2, m, n)),
        "convolution, original": (O * I * taps, min(O, I * taps)),
        "convolution, low-rank": (2 * R * (O + I + R * taps), 2 * R),
        "convolution, FedPara (Proposition 1)": (2 * R * (O + I * taps), min(R**2, O)),
        "convolution, FedPara (Proposition 3)": (2 * R * (O + I + R * taps), min(R**2, O)),
    }


@claim(
    "fedpara/table-1",
    where="Section 2.1, Table 1, column Example",
    says="""Table 1: 66 K, 16 K and 16 K parameters with ranks 256, 32 and 256 of a layer of 256 x 256, and 590 K, 21 K,
    82 K and 21 K parameters with ranks 256, 32, 256 and 256 of kernels of 256 x 256 x 3 x 3, for R = 16.""",
    measure=lambda context: EXAMPLE,
    mutants=[{"shift": 1.0}, {"R": 17}],
    kind="number",
    importance="detail",
    expect=("holds", "proof"),
)
def table_1(example: dict[str, int], shift: float = 0.0, R: int = 16) -> Evidence:
    """Each number of parameters and each rank by the formula of its row."""
    cells = {}
    for row, (count, rank) in count_parameters({**example, "R": R}).items():
        printed_count, printed_rank = TABLE_1[row]
        shown = Rounded.printed(printed_count) + Rounded.exact(Fraction(shift))
        cells[f"{row}, parameters"] = Cell(shown, Rounded.exact(Fraction(count, 1000)), {"parameters": count})
        cells[f"{row}, rank"] = Cell(Rounded.exact(int(printed_rank)), Rounded.exact(rank), {"rank": rank})
    return judge_printed(cells, "all rows of Table 1")


@claim(
    "fedpara/fewer",
    where="Section 2.2, after Proposition 3",
    says="In the convolutional example of Table 1, Proposition 3 needs 3.8 times fewer parameters than Proposition 1.",
    measure=lambda context: EXAMPLE,
    correction=Form(
        "In the convolutional example of Table 1, Proposition 3 needs 3.9 times fewer parameters than Proposition 1.",
        {"times": "3.9"},
        mutants=({"times": "4.0"}, {"times": "3.7"}),
        asks="neither",
    ),
    because="The quotient of 81,920 and 20,992 is 3.902.",
    kind="number",
    importance="detail",
    expect=("corrected", "proof"),
)
def fewer(example: dict[str, int], times: str = "3.8") -> Evidence:
    """The quotient of the numbers of parameters of both propositions."""
    rows = count_parameters(example)
    many, few = (rows[f"convolution, FedPara (Proposition {number})"][0] for number in (1, 3))
    cell = Cell(Rounded.printed(times), Rounded.exact(Fraction(many, few)), {"many": many, "few": few, "times": times})
    return judge_printed({"times fewer": cell}, "the example of Table 1")


@claim(
    "fedpara/entries",
    where="Appendix A.2",
    says="A product of inner ranks 10 and 10 has 2.5 times fewer entries than a matrix of 100 x 100.",
    measure=lambda context: (100, 10),
    mutants=[{"times": "2.4"}, {"times": "5.0"}],
    kind="number",
    importance="detail",
    expect=("holds", "proof"),
)
def entries(sizes: tuple[int, int], times: str = "2.5") -> Evidence:
    """The quotient of both numbers."""
    side, R = sizes
    quotient = Rounded.exact(Fraction(side**2, 2 * R * (side + side)))
    return judge_printed({"times fewer": Cell(Rounded.printed(times), quotient, {"side": side})}, "the example")


W1, W2, R, ROWS, COLUMNS = sympy.symbols("W1 W2 R m n")


def draw_points(context: Context) -> list[Point]:
    """Return exact points of all symbols."""
    return generic_points(context, (W1, W2, R, ROWS, COLUMNS), 3)


@identities(
    "fedpara/pfedpara",
    where="Section 2.3, pFedPara",
    says=r"""$W = W_1 \odot (W_2 + 1)$ is $W_{per.} + W_{glo.}$ with $W_{per.} = W_1 \odot W_2$ and $W_{glo.} = W_1$;
    only $W_1$ is sent, which halves the parameters that FedPara sends with the same ranks.""",
    measure=draw_points,
    mutants=[{"ones": 0}, {"half": 1}],
    expect=("holds", "proof"),
)
def pfedpara(points: list[Point], ones: int = 1, half: int = 2) -> Equations:
    """Entry by entry, and the numbers sent for an m by n matrix."""
    yield Equation("the parts add up", W1 * (W2 + ones), W1 * W2 + W1)
    sent: Any = R * (ROWS + COLUMNS)
    yield Equation("half of the parameters", half * sent, 2 * R * (ROWS + COLUMNS))
    return points, "any entries, ranks and sizes"
