"""Section 4.1 and Appendix C.1: FedLoRU for fine-tuning."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values


@replay("fedloru-v2/alg-1-fine-tune")
def fine_tune(values: Values) -> Violation:
    """Compare the share of one stored pair of rank 16, rounded down, times their number, with the model."""
    share, pairs = Fraction(values["share"]), int(values["accumulations"])
    assumes = [
        Hypothesis("share of a pair in per cent, as printed for rank 16", share, "=", Fraction("0.248")),
        Hypothesis("accumulations", pairs, ">=", 1),
    ]
    return Violation(
        pairs * (share - Fraction(1, 2000)),
        100,
        assumes=assumes,
        reads="with the share of each pair of factors rounded down, we compare the size of all stored pairs, in per "
        "cent of the model, with 100",
    )
