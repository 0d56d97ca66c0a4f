"""Appendix B: the settings of the experiments on images."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values


@replay("fedlrt/exp-data")
def exp_data(values: Values) -> Violation:
    """A row of two pixels, 0 and 1: the mean of its first one over flips, normalised as CIFAR10's first channel."""
    one, other = (Fraction(value) for value in values["probabilities"])
    assumes = [Hypothesis(f"a probability of a flip, {value}", value, "<=", 1) for value in (one, other)]
    assumes += [Hypothesis(f"a probability of a flip, {value}, above 0", value, ">", 0) for value in (one, other)]
    mean, deviation = Fraction(4914, 10_000), Fraction(2470, 10_000)
    first = [(share * 1 + (1 - share) * 0 - mean) / deviation for share in (one, other)]
    return Violation(
        abs(first[0] - first[1]),
        Fraction(0),
        assumes=assumes,
        reads="a row of two pixels 0 and 1, flipped with either probability and normalised: difference of the means "
        "of its first pixel, both of which the text admits",
    )
