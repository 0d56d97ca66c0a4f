"""Table 1: the average of FedIT, from its accuracies."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values


@replay("fedex-lora/table-1")
def table_1(values: Values) -> Violation:
    """The distance of the mean from the printed average, against what the rounding of all numbers allows."""
    scores, average = [Fraction(score) for score in values["scores"]], Fraction(values["average"])
    assumes = (Hypothesis("scores", len(scores), "=", 8), Hypothesis("the least accuracy", min(scores), ">=", 0))
    return Violation(
        abs(sum(scores) / len(scores) - average),
        Fraction(1, 100),
        assumes=assumes,
        reads="distance of the mean from the average against half a unit for the scores and half for the average",
    )
