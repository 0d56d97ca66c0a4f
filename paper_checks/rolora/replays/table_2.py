"""Tables 2 and 10: language models by the budget of parameters, and what the text says of them."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.rolora.replays.table_1 import half_unit
from paper_checks.stored_values import Values

EXAMPLES = {
    "BoolQ": 3270,
    "PIQA": 1838,
    "SIQA": 1954,
    "HellaSwag": 10042,
    "WinoGrande": 1267,
    "ARC-e": 2376,
    "ARC-c": 1172,
    "OBQA": 500,
}


def with_deviation(values: Values) -> Violation:
    """Return how far a printed squared deviation is, for all roundings, from that of three trials of this mean."""
    (mean, spread), (size, divisor, places) = (
        [Fraction(values[name]) for name in ("mean", "deviation")],
        [int(values[name]) for name in ("size", "divisor", "places")],
    )
    task, up = values["cell"].rsplit(", ", 1)[1], {"cut": (0,), "rounded": (size - 1, size)}[values["trials"]]
    assumes = assuming(
        Hypothesis("divisor", divisor, ">=", 2),
        Hypothesis("divisor", divisor, "<=", 3),
        Hypothesis(f"examples of {task}", size, "=", EXAMPLES.get(task, 0)),
        Hypothesis("mean", mean, ">=", 0),
        Hypothesis("mean", mean, "<=", 100),
        Hypothesis("decimals, at least those that are printed", places, ">=", len(values["mean"].partition(".")[2])),
        Hypothesis("decimals", places, "<=", 2),
        Hypothesis("deviation, against its rounding", spread, ">", half_unit(values["deviation"])),
    )
    half = 100 * Fraction(1, 2 * 10**places)
    single = np.array(sorted({(20_000 * right + add) // (2 * size) for right in range(size + 1) for add in up}))
    there = np.isin(np.arange(30_001), single)
    found: list[int] = []  # three times the summed squares of the distances from the mean, in hundredths
    for total in range(ceil(3 * (100 * mean - half)), floor(3 * (100 * mean + half)) + 1):
        third = total - single[:, None] - single
        known = there[np.maximum(third, 0)] & (third >= 0)
        found += np.unique((3 * (single[:, None] ** 2 + single**2 + third**2) - total**2)[known]).tolist()
    least, most = ((100 * (spread + sign * half_unit(values["deviation"]))) ** 2 for sign in (-1, 1))
    squares = [Fraction(one, 3 * divisor) for one in found]
    gap = min((max(least - one, one - most, Fraction(0)) for one in squares), default=Fraction(1))
    return Violation(
        gap,
        0,
        assumes=assumes,
        reads=f"for {values['cell']}, three trials have the printed mean. We compute the least distance of their "
        "squared deviation from what the printed deviation allows, in squared hundredths of a point",
    )


table_2_over_three = replay("rolora/table-2@each-trial-rounded-squares-over-three")(with_deviation)


def three_trials(values: Values) -> Violation:
    """Return the distance of a printed mean from the nearest one that three whole numbers of right answers give."""
    text, size, trials = values["mean"], int(values["size"]), int(values["runs"])
    task, entering = values["cell"].rsplit(", ", 1)[1], values["trials"]
    assumes = assuming(
        Hypothesis("trials", trials, "=", 3),
        Hypothesis(f"examples of {task}", size, "=", EXAMPLES.get(task, 0)),
        Hypothesis("mean", Fraction(text), ">=", 0),
        Hypothesis("mean", Fraction(text), "<=", 100),
    )
    if entering == "whole":
        unit = Fraction(100, trials * size)
        nearest = unit * round(Fraction(text) / unit)
    else:
        up = {"cut": (0,), "rounded": (size - 1, size)}[entering]  # a tie either way
        single = {(20_000 * right + add) // (2 * size) for right in range(size + 1) for add in up}
        sums = 1  # bit s: whether s hundredths are the sum of the trials so far
        for _ in range(trials):
            added = 0
            for one in single:
                added |= sums << one
            sums = added
        goal = 100 * trials * Fraction(text)
        places = (place for place, bit in enumerate(reversed(f"{sums:b}")) if bit == "1")
        place = min(places, key=lambda place: abs(place * goal.denominator - goal.numerator))
        nearest = Fraction(place, 100 * trials)
    return Violation(
        abs(nearest - Fraction(text)),
        half_unit(text),
        assumes=assumes,
        reads=f"for {values['cell']}, we compare the distance of the printed mean from the nearest mean of three "
        f"trials, {float(nearest):.6g}, with what rounding allows",
    )


table_2_whole = replay("rolora/table-2@trials-as-they-are")(three_trials)

table_2_cut = replay("rolora/table-2@each-trial-cut-off")(three_trials)


@replay("rolora/txt-table2-best@significant-in-every-comparison")
def txt_table2_best(values: Values) -> Violation:
    """Compare Welch's square of t, three trials each, as large as roundings allow, with the least significant one.

    Its degrees of freedom are at most 4, for which the 5 % point of Student's law is more than 2.776, and fewer need
    more.
    """
    one, two, spread, other = (values[name] for name in ("mean", "other mean", "deviation", "other deviation"))
    lead = Fraction(one) - Fraction(two) + half_unit(one) + half_unit(two)
    assumes = assuming(
        Hypothesis("lead", lead, ">", 0),
        Hypothesis("deviation, against its rounding", Fraction(spread), ">", half_unit(spread)),
        Hypothesis("deviation of LoRA, against its rounding", Fraction(other), ">", half_unit(other)),
    )
    variance = ((Fraction(spread) - half_unit(spread)) ** 2 + (Fraction(other) - half_unit(other)) ** 2) / 3
    return Violation(
        Fraction(2776, 1000) ** 2,
        lead**2 / variance,
        assumes=assumes,
        reads="for RoLoRA and LoRA on BoolQ, we compare the square of the least significant t with the square of "
        "Welch's t, as large as rounding allows",
    )


@replay("rolora/txt-table2-ffa-var@on-both-tasks-named")
def txt_table2_ffa_var(values: Values) -> Violation:
    """Compare the least deviation that the rival's print allows, with the most of FFA-LoRA's."""
    own, other = values["deviation"], values["other deviation"]
    assumes = (
        Hypothesis("deviation of FFA-LoRA", Fraction(own), ">=", 0),
        Hypothesis("deviation of LoRA", Fraction(other), ">=", 0),
    )
    return Violation(
        Fraction(other) - half_unit(other),
        Fraction(own) + half_unit(own),
        assumes=assumes,
        strict=True,
        reads="on PIQA, with three trials, we compare LoRA's deviation with FFA-LoRA's, which should be larger",
    )


table_10_hundredths = replay("rolora/table-10@each-trial-cut-off-47-2-as-47-20")(with_deviation)

table_10_rounded = replay("rolora/table-10")(three_trials)

table_10_whole = replay("rolora/table-10@trials-as-they-are")(three_trials)
