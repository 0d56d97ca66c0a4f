"""Replays of the claims in ``results``: printed accuracies in per cent, each with every rounding."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values


def half_unit(text: str) -> Fraction:
    """Half a unit of the last printed digit."""
    return Fraction(1, 2 * 10 ** len(text.partition(".")[2]))


@replay("rolora/table-1")
def table_1(values: Values) -> Violation:
    """Distance of the printed average from the mean of its row, against all roundings together."""
    texts, average = values["accuracies"].split(), values["average"]
    distance = abs(sum((Fraction(text) for text in texts), Fraction(0)) / len(texts) - Fraction(average))
    rounding = half_unit(average) + sum((half_unit(text) for text in texts), Fraction(0)) / len(texts)
    assumes = (
        Hypothesis("accuracies in the row", len(texts), "=", 5),
        Hypothesis("least accuracy", min(map(Fraction, texts)), ">=", 0),
        Hypothesis("largest accuracy", max(map(Fraction, texts)), "<=", 100),
    )
    return Violation(
        distance,
        rounding,
        assumes=assumes,
        reads="LoRA, rank 8, 50 clients: distance of the average from the mean of its row",
    )


@replay("rolora/table-6")
def table_6(values: Values) -> Violation:
    """Difference of the two printings of one value, against their roundings."""
    one, two = values["Table 1"], values["Table 6"]
    return Violation(
        abs(Fraction(one) - Fraction(two)),
        half_unit(one) + half_unit(two),
        reads="LoRA, rank 4, 20 clients: difference of the two printed deviations for QNLI",
    )


def fall(before: str, after: str) -> tuple[Fraction, Fraction]:
    """The least and the most that a value falls by, of what both are rounded from."""
    told, room = Fraction(before) - Fraction(after), half_unit(before) + half_unit(after)
    return told - room, told + room


@replay("rolora/txt-table1-rolora")
def txt_table1_rolora(values: Values) -> Violation:
    """The least fall that the printed accuracies allow, against the most that both deviations allow."""
    before, after, one, two = (values[name] for name in ("before", "after", "spread before", "spread after"))
    spread = Fraction(one) + Fraction(two) + half_unit(one) + half_unit(two)
    assumes = (
        Hypothesis("accuracy before", Fraction(before), "<=", 100),
        Hypothesis("accuracy after", Fraction(after), ">=", 0),
        Hypothesis("deviation before", Fraction(one), ">=", 0),
        Hypothesis("deviation after", Fraction(two), ">=", 0),
    )
    return Violation(
        fall(before, after)[0],
        spread,
        assumes=assumes,
        reads="RoLoRA, rank 4, one data set: fall of the accuracy with more clients, in points, against "
        "the two printed deviations added",
    )


@replay("rolora/txt-table1-rolora@by-comparison-at-both-steps")
def txt_table1_rolora_steps(values: Values) -> Violation:
    """The least fall that the printed accuracies allow, against the most of another method."""
    before, after, one, two = (values[name] for name in ("before", "after", "other before", "other after"))
    assumes = (
        Hypothesis("accuracy before", Fraction(before), "<=", 100),
        Hypothesis("accuracy after", Fraction(after), ">=", 0),
        Hypothesis("accuracy of the other before", Fraction(one), ">=", 0),
        Hypothesis("accuracy of the other after", Fraction(two), "<=", 100),
    )
    return Violation(
        fall(before, after)[0],
        fall(one, two)[1],
        assumes=assumes,
        strict=True,
        reads="rank 4, one data set, 20 and 50 clients: fall of RoLoRA's accuracy, in points, against that of the "
        "other method, which is to be larger",
    )


@replay("rolora/txt-table2-best@significant-in-every-comparison")
def txt_table2_best(values: Values) -> Violation:
    """Welch's square of t, three trials each, as large as the roundings allow, against the least that is significant.

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
        reads="RoLoRA against LoRA on BoolQ; square of the least significant t, and of t",
    )


@replay("rolora/txt-table2-ffa-var@on-both-tasks-named")
def txt_table2_ffa_var(values: Values) -> Violation:
    """The least deviation that the rival's print allows, against the most of FFA-LoRA's."""
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
        reads="PIQA, three trials: LoRA's deviation, to be less than FFA-LoRA's",
    )


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


def three_trials(values: Values) -> Violation:
    """Distance of a printed mean from the nearest one that three whole numbers of right answers give."""
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
        reads=f"{values['cell']}: distance of the printed mean from the nearest mean of three trials, "
        f"{float(nearest):.6g}",
    )


def with_deviation(values: Values) -> Violation:
    """Distance of the square of a printed deviation, all roundings, from that of three trials with the printed mean."""
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
        reads=f"{values['cell']}: least distance, in squared hundredths of a point, of the squared deviation of three "
        "trials with the printed mean from what the printed deviation allows",
    )


table_2_over_three = replay("rolora/table-2@each-trial-rounded-squares-over-three")(with_deviation)
table_10_hundredths = replay("rolora/table-10@each-trial-cut-off-47-2-as-47-20")(with_deviation)
table_2_whole = replay("rolora/table-2@trials-as-they-are")(three_trials)
table_2_cut = replay("rolora/table-2@each-trial-cut-off")(three_trials)
table_10_rounded = replay("rolora/table-10")(three_trials)
table_10_whole = replay("rolora/table-10@trials-as-they-are")(three_trials)


PRINTED = {"LoRA": "45.81", "FFA-LoRA": "45.80", "RoLoRA": "45.93"}


@replay("rolora/table-12@anatomy-in-other")
def table_12(values: Values) -> Violation:
    """Distance of the accuracy on MMLU from that of its groups by the benchmark's own counts, against all roundings."""
    names, counts = ("human", "other", "social", "stem"), [int(number) for number in values["questions"]]
    assumes = assuming(
        Hypothesis("accuracy on MMLU", Fraction(values["MMLU"]), "=", Fraction(PRINTED.get(values["cell"], "0"))),
        Hypothesis("questions", sum(counts), "=", 14_042),
        Hypothesis("questions in human", counts[0], "=", 4705),
        Hypothesis("questions in social", counts[2], "=", 3077),
        Hypothesis("questions in other, anatomy among them", counts[1], "=", 3107 + 135),
    )
    shares = [Fraction(number, sum(counts)) for number in counts]
    whole, rounding = Fraction(0), half_unit(values["MMLU"])
    for name, share in zip(names, shares, strict=True):
        whole += share * Fraction(values[name])
        rounding += share * half_unit(values[name])
    return Violation(
        abs(whole - Fraction(values["MMLU"])),
        rounding,
        assumes=assumes,
        reads=f"{values['cell']}: distance of the accuracy on MMLU from the mean of its groups, {float(whole):.5g}",
    )
