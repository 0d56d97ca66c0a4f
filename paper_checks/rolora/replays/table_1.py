"""Table 1: its averages, its runs, and what the text says of the number of clients."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values


def half_unit(text: str) -> Fraction:
    """Return half a unit of the last printed digit."""
    return Fraction(1, 2 * 10 ** len(text.partition(".")[2]))


@replay("rolora/table-1")
def table_1(values: Values) -> Violation:
    """Compare distance of the printed average from the mean of its row, with all roundings together."""
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
        reads="for LoRA with rank 8 and 50 clients, we compare the distance of the average from the mean of its row "
        "with what rounding allows",
    )


def fall(before: str, after: str) -> tuple[Fraction, Fraction]:
    """Return the least and the most that a value falls by, of what both are rounded from."""
    told, room = Fraction(before) - Fraction(after), half_unit(before) + half_unit(after)
    return told - room, told + room


@replay("rolora/txt-table1-rolora")
def txt_table1_rolora(values: Values) -> Violation:
    """Compare the least fall that the printed accuracies allow, with the most that both deviations allow."""
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
        reads="for RoLoRA with rank 4 on one data set, we compare the fall of the accuracy with more clients, in "
        "points, with the sum of the two printed deviations",
    )


@replay("rolora/txt-table1-rolora@by-comparison-at-both-steps")
def txt_table1_rolora_steps(values: Values) -> Violation:
    """Compare the least fall that the printed accuracies allow, with the most of another method."""
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
        reads="for rank 4 on one data set, we compare the fall of RoLoRA's accuracy from 20 to 50 clients, in points, "
        "with the fall of the other method's accuracy, which should be larger",
    )
