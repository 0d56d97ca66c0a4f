"""Settings: deviations, splits, cycles and versions that Section 5 and Appendix D state, and Table A2 of iclr."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.fedloru.replays.parameter_counts import convolutions
from paper_checks.replay import Hypothesis, Violation, assuming, replay
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
        reads="we compare the largest standard deviation that the text states for Table 1 with the bound, in points",
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
        reads="we compare the numbers of parameters of two networks that fit the table, one with 1 x 1 convolutions "
        "in the shortcuts that change the number of channels and one without them",
    )


@replay("fedloru-v2/txt-splits")
def txt_splits(values: Values) -> Violation:
    """Compare the samples of Alpaca for training in two places."""
    parts = [int(values[f"{name}, Section 5.1"]) for name in ("training", "validation", "test")]
    assumes = [
        Hypothesis("samples in all", sum(parts), "=", 52_000),
        Hypothesis("samples for validation and for the test, the larger", max(parts[1:]), "=", 2000),
        Hypothesis("samples for training in D.1", int(values["training, D.1"]), "=", 50_000),
    ]
    return Violation(
        abs(parts[0] - int(values["training, D.1"])),
        0,
        assumes=assumes,
        reads="we compute the difference between Section 5.1 and Appendix D.1 in the number of training samples of "
        "Alpaca",
    )


@replay("fedloru-v2/txt-cycle")
def txt_cycle(values: Values) -> Violation:
    """Look for the cycle of fine-tuning in the grid."""
    cycle, grid = int(values["cycle"]), [int(one) for one in values["grid"].split()]
    assumes = [
        Hypothesis("cycle, Section 5.2", cycle, "=", 15),
        Hypothesis("cycles that differ from the grid", len({*grid} ^ {*range(20, 81, 10)}), "=", 0),
    ]
    return Violation(
        min(abs(cycle - one) for one in grid),
        0,
        assumes=assumes,
        reads="we compute the distance, in rounds, of the cycle used for fine-tuning from the nearest cycle in the "
        "grid",
    )


@replay("fedloru-v2/txt-alpha-ratio")
def txt_alpha_ratio(values: Values) -> Violation:
    """Evaluate the second quotient where the first one is 1/2."""
    r_A, r_B, scale = int(values["r_A"]), int(values["r_B"]), Fraction(values["alpha_A"])
    assumes = assuming(
        Hypothesis("rank of the update of A", r_A, ">=", 1),
        Hypothesis("rank of the update of B", r_B, ">=", 1),
        Hypothesis("alpha_A / r_A, less 1/2", scale / max(r_A, 1) - Fraction(1, 2), "=", 0),
    )
    return Violation(
        abs(scale / r_B - Fraction(1, 2)), 0, assumes=assumes, reads="we compute the distance of alpha_A / r_B from 1/2"
    )


@replay("fedloru-v2/txt-pytorch")
def txt_pytorch(values: Values) -> Violation:
    """Compare the first part of the stated version with that of the last one."""
    major, minor, last = (int(values[name]) for name in ("major", "minor", "last major"))
    assumes = [
        Hypothesis("first part of the stated version", major, "=", 11),
        Hypothesis("second part of the stated version", minor, "=", 4),
        Hypothesis("first part of the last version before November 2025", last, "=", 2),
    ]
    return Violation(
        major,
        last,
        strict=True,
        assumes=assumes,
        reads="we compare the first part of the stated version of PyTorch with the first part of the last version",
    )
