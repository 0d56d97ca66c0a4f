"""Replays of the claims in ``experiments``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values

STATED = {"IID": "0.382", "non-IID": "0.969"}
"""Largest standard deviations of Table 1 by Section 5.2, in percentage points."""


def _above(values: Values, unit: int) -> Violation:
    """The stated deviation, rounded down, against the bound in percentage points."""
    least = Fraction(values["deviation"]) - Fraction(1, 2000)
    assumes = [
        Hypothesis("unit in percentage points", int(values["unit"]), "=", unit),
        Hypothesis("deviation", Fraction(values["deviation"]), "=", Fraction(STATED[str(values["split"])])),
    ]
    return Violation(
        least,
        Fraction(values["bound"]) * unit,
        strict=True,
        assumes=assumes,
        reads="largest standard deviation stated of Table 1, against the bound, in points",
    )


@replay("fedloru-v2/txt-std-a")
def txt_std_a(values: Values) -> Violation:
    """With accuracies as shares of 1."""
    return _above(values, 100)


@replay("fedloru-v2/txt-std-a@percentage-points")
def txt_std_a_in_points(values: Values) -> Violation:
    """With accuracies in per cent."""
    return _above(values, 1)
