"""Replays of the claims in ``results``: printed accuracies in per cent, each with every rounding."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Violation, replay
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
    unmet = "" if len(texts) == 5 and all(0 <= Fraction(text) <= 100 for text in texts) else "five accuracies"
    return Violation(distance, rounding, unmet=unmet, reads="distance of the average from the mean of its row")


@replay("rolora/table-6")
def table_6(values: Values) -> Violation:
    """Difference of the two printings of one value, against their roundings."""
    one, two = values["Table 1"], values["Table 6"]
    return Violation(
        abs(Fraction(one) - Fraction(two)), half_unit(one) + half_unit(two),
        reads=f"difference of the values in column {values['column']}",
    )  # fmt: skip
