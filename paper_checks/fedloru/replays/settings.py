"""Settings: the deviations that Section 5 states, and Table A2 of iclr."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.fedloru.replays.parameter_counts import convolutions
from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values

STATED = {"IID": "0.382", "non-IID": "0.969"}
"""Largest standard deviations of Table 1 by Section 5.2, in percentage points."""


def _above(values: Values, unit: int) -> Violation:
    """Return the stated deviation, rounded down, against the bound in percentage points."""
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
    """Evaluate with accuracies as shares of 1."""
    return _above(values, 100)


@replay("fedloru-v2/txt-std-a@percentage-points")
def txt_std_a_in_points(values: Values) -> Violation:
    """Evaluate with accuracies in per cent."""
    return _above(values, 1)


@replay("fedloru-iclr/tab-A2")
def tab_a2(values: Values) -> Violation:
    """Count parameters of two networks that fit the table, with 1 x 1 convolutions in three shortcuts and with none."""
    depth, classes, channels = values["depth"], values["classes"], values["channels"]
    layers = convolutions((depth - 2) // 8)
    assumes = (
        Hypothesis("3 x 3 convolutions and the last layer", 2 + sum(k == 3 for k, _, _ in layers), "=", depth),
        Hypothesis("classes", classes, "=", 10),
        Hypothesis("channels of an image", channels, "=", 1 if depth == 10 else 3),
    )
    stem_and_head = 9 * channels * 64 + 2 * 64 + 512 * classes + classes
    kernels = sum(k * k * c * d + 2 * d for k, c, d in layers if k == 3)
    shortcuts = sum(c * d + 2 * d for k, c, d in layers if k == 1)
    return Violation(
        Fraction(stem_and_head + kernels + shortcuts),
        Fraction(stem_and_head + kernels),
        assumes=assumes,
        reads="parameters of a network that fits the table, with 1 x 1 convolutions in the shortcuts that change the "
        "number of channels, against the same without them",
    )
