"""Figure 3: at which rank a round of FeDLRT costs as much as one of FedLin or FedAvg; and what a correction costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy

from paper_checks.claim import Best, Evidence, Reading, claim
from paper_checks.context import Context
from paper_checks.fedlrt.counting import Polynomial, Powers, Sizes, amortised, count, evaluate, within, written
from paper_checks.fedlrt.table_of_costs import TABLE_1, WIDTH, count_costs
from paper_checks.methods.promises import Promise, Promises, judge_promises, promises

PAIRS = (("FeDLRT", "FedAvg"), ("FeDLRT, simplified", "FedLin"), ("FeDLRT, full", "FedLin"))
PANELS = ("communication", "client compute", "client memory")


@dataclass(frozen=True)
class Crossing:
    """A low-rank method and its full-rank counterpart in a panel of Figure 3.

    Attributes:
        panel: Name of the cost.
        low: The low-rank method; full: the other one.
        ranks: Ranks of equal cost, as `counted` and by `Table 1`.
        gains: How many times less the low-rank method costs at rank 1, likewise.
    """

    panel: str
    low: str
    full: str
    ranks: Mapping[str, float]
    gains: Mapping[str, float]


def find_crossings(context: Context) -> list[Crossing]:
    """Every pair in every panel at the width of the figure."""
    costs = count_costs(context)
    found = []
    for panel in PANELS:
        for low, full in PAIRS:
            ranks, gains = {}, {}
            for name, of in (("counted", costs), ("Table 1", TABLE_1)):
                ranks[name] = amortised(of[low][panel], of[full][panel], WIDTH)
                gains[name] = evaluate(of[full][panel], WIDTH, 1) / evaluate(of[low][panel], WIDTH, 1)
            found.append(Crossing(panel, low, full, ranks, gains))
    return found


@promises(
    "fedlrt/fig-3",
    where="Figure 3 and its caption (which ranks occur is a matter of the runs: fedlrt/fig-5 to fedlrt/fig-8)",
    says="Communication cost, compute cost of a client and client memory for $s_* = 1$, a single data point and n = "
    "512: "
    r"the costs drop by orders of magnitude after the amortisation point of $r \approx 200$, which is 40 % of full "
    "rank. The numerical evaluations show that, in practice, the matrix ranks are typically below it.",
    measure=find_crossings,
    mutants=[{"of": "Table 1", "panels": ("communication",), "lows": ("FeDLRT, full",), "point": 220.0}],
    readings=(
        Reading(
            "Table 1 in all panels",
            r"By Table 1's entries at $s_* = b = 1$ every cost of FeDLRT with simplified or full correction equals "
            "FedLin's at a rank of about 200, 40 % of n, and is a hundred times smaller at rank 1.",
            why="The text names FedLin as what is compared, and the caption the same costs as Table 1, in its "
            "variables.",
        ),
        Reading(
            "counted in all panels",
            "The same for the costs counted in a round: all multiplications, those of QR included, and all numbers "
            "held at once.",
            {"of": "counted"},
            r"Entries inside $O(\cdot)$ need not be what was plotted. With the simplified correction compute and "
            "memory do cross about there, at 200.7 and 203.0 (39 to 40 % of n), communication at 225.5.",
        ),
        Reading(
            "communication with full correction",
            "By Table 1's entries the communication of FeDLRT with full correction equals FedLin's at about 200, 40 % "
            "of "
            "n, and is a hundred times smaller at rank 1.",
            {"panels": ("communication",), "lows": ("FeDLRT, full",)},
            "$6nr + 10r^2 = 4n^2$ gives the 40 % of the caption exactly.",
            ({"point": 220.0}, {"point": 185.0}, {"share": 0.41}, {"factor": 1000.0}),
        ),
    ),
    best={"factor": Best(340.2, "proved: $4n^2/(6n + 10)$ at n = 512")},
    kind="number",
    uses=("fedlrt/table-1",),
    because="By Table 1 only the full correction's communication crosses at 0.40n; compute at 0.2n, memory at 0.3n.",
    expect=("depends on the reading", "proof"),
)
def fig_3(
    crossings: list[Crossing],
    point: float = 200.0,
    share: float = 0.4,
    factor: float = 100.0,
    of: str = "Table 1",
    panels: tuple[str, ...] = PANELS,
    lows: tuple[str, ...] = ("FeDLRT, simplified", "FeDLRT, full"),
) -> Promises:
    """Ranks of equal cost within 5 % of the printed one and half a unit of its last digit of 40 %; gains at rank 1."""
    for one in crossings:
        if one.panel not in panels or one.low not in lows:
            continue
        rank, gain, shown = one.ranks[of], one.gains[of], "client compute" if of == "Table 1" else "communication"
        case = {"n": WIDTH} if (one.panel, one.low) == (shown, "FeDLRT, full") else None
        yield Promise("share of full rank where costs are equal", abs(rank / WIDTH - share), 0.005, 0.0, True, case)
        yield Promise("rank of equal cost", abs(rank - point), 0.05 * point, at_most=True)
        yield Promise("times less at rank 1", factor, gain, at_most=True)
    told = "; ".join(
        f"{one.panel}, {one.low} and {one.full}: counted {one.ranks['counted']:.1f}, Table 1 {one.ranks['Table 1']:.1f}"
        for one in crossings
    )
    return f"n = {WIDTH}, one local step, one sample; {told}"


PAIR = ("FeDLRT, simplified", "FeDLRT, full")
SLIGHTLY = 0.1


def least_coefficient(polynomial: Mapping[Powers, Any], widest: int, steps: int) -> int:
    """The least coefficient where n is at least ``widest`` times r, s at least ``steps``, and r and b at least 1."""
    A, B, D, H = sympy.symbols("A B D H")
    r = 1 + B
    shifted = evaluate(polynomial, widest * r + A, r, steps + D, 1 + H)
    return int(min(sympy.Poly(sympy.expand(shifted), A, B, D, H).coeffs()))


@claim(
    "fedlrt/claim-simplified-cheaper",
    where="Section 3.3",
    says="The client's cost with the simplified correction is slightly below that with the full one, as gradients "
    "of coefficients that are not augmented suffice; the asymptotic behaviour is the same. Its main "
    "advantage is the smaller number of communication rounds.",
    measure=count_costs,
    readings=(
        Reading(
            "any number of local steps",
            "For every number of local steps and $2r \\le n$, counted as the boxes compute, the simplified correction "
            "saves a part of the client's communication, computation and memory, at most a tenth of each; "
            "orders are the same, and there is one communication round less.",
            why='It excepts no number of steps, and Figure 3 has one; for "slightly" a tenth is taken.',
        ),
        Reading(
            "from fifteen steps and n = 8r on",
            "The same for $s_* \\ge 15$ and $8r \\le n$.",
            {"steps": 15, "widest": 8},
            "The layers of Figure 5 have ranks far below n, and $s_* = 240/C$, 15 for 16 clients; with the 7 or 8 "
            "steps of 32 clients up to 12 % of the computation is saved. In the tests of Section 4.1, with $s_* = 20$ "
            "and 100, r is a fifth and two fifths of n, and 14 and 21 % of the communication are saved.",
            (
                {"steps": 15, "widest": 8, "cheaper": "FeDLRT, full", "than": "FeDLRT, simplified"},
                {"steps": 15, "widest": 8, "fewer": 0},
                {"steps": 15, "widest": 8, "cheaper": "FedLin"},
                {"steps": 15, "widest": 8, "slightly": 0.05},
            ),
        ),
        Reading(
            "by Table 1",
            "By Table 1's entries with their constants, for every number of local steps and $8r \\le n$, the "
            "simplified correction saves a part of the client's communication and computation, at most a tenth of "
            "either; memory is the same, orders are the same, and there is one communication round less.",
            {"of": "Table 1", "widest": 8},
            "Table 1 is in the same section, and has what the methods cost.",
            ({"slightly": 0.05}, {"fewer": 0}, {"cheaper": "FeDLRT, full", "than": "FeDLRT, simplified"}),
        ),
    ),
    vary=("fewer", "slightly"),
    uses=("fedlrt/table-1",),
    because="Counted, with one local step a third of a client's computation is saved (unless its first gradient is "
    "used again); by Table 1 at most 7.5 %.",
    expect=("depends on the reading", "proof"),
)
def claim_simplified_cheaper(
    costs: Mapping[str, Mapping[str, Polynomial]],
    cheaper: str = PAIR[0],
    than: str = PAIR[1],
    fewer: float = 1.0,
    steps: int = 1,
    widest: int = 2,
    slightly: float = SLIGHTLY,
    of: str = "counted",
) -> Evidence:
    """The difference has no negative term, is at most a share of the larger cost, and both are of one order."""
    promises, told = [], []
    share, size, table = Fraction(str(slightly)), {"n": WIDTH, "r": WIDTH // 16}, TABLE_1 if of == "Table 1" else costs
    for cost in PANELS:
        small, large = table[cheaper][cost], table[than][cost]
        difference = {power: large.get(power, 0) - small.get(power, 0) for power in {*small, *large}}
        promises.append(Promise(f"less {cost}", 0, min(difference.values()), at_most=True))
        if of == "Table 1" and cost == "client memory":
            promises.append(Promise(f"the same {cost}", max(difference.values()), 0))
        else:
            promises.append(Promise(f"some of the {cost} saved", 1, max(difference.values()), at_most=True))
        for one, other in ((small, large), (large, small)):
            promises.append(Promise("the same asymptotics", int(within(one, other) is not None), 0))
        told.append(f"{cost} saved: {written({power: value for power, value in difference.items() if value}) or '0'}")
        name = f"slightly less {cost}"
        if widest == 2:  # the largest rank, and one that can be followed by hand
            for r, case in ((WIDTH // 2, None), (size["r"], size if cost == "client compute" else None)):
                saved, whole = (evaluate(one, WIDTH, r, steps) for one in (difference, large))
                promises.append(Promise(name, saved, share * whole, at_most=True, case=case))
        else:
            left = {
                power: share.numerator * large.get(power, 0) - share.denominator * value
                for power, value in difference.items()
            }
            promises.append(Promise(f"{name}, all sizes", 0, least_coefficient(left, widest, steps), at_most=True))
    size_of_count = Sizes(11, 2)
    saved = len(count(than, size_of_count).trips) - len(count(cheaper, size_of_count).trips)
    promises.append(Promise("fewer rounds", saved, Fraction(fewer)))
    return judge_promises(
        promises, f"exact polynomials, {of}, s_* >= {steps}, {widest}r <= n; {'; '.join(told)}", whole=True
    )
