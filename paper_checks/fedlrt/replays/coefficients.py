"""Replays of the claims in ``coefficients``, in fractions."""

from __future__ import annotations

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, square


@replay("fedlrt/eq-26-gradients")
def eq_26_gradients(values: Values) -> Violation:
    """Losses |W - A|^2 / 2 with both bases the axes of the plane, r = 1, at coefficients zero: F = A, gradient -A."""
    slopes = [[-entry for row in square(target, 2) for entry in row] for target in values["targets"]]
    forces = [[-entry for entry in slope] for slope in slopes]
    apart = [max(abs(f - g) for f, g in zip(*pair, strict=True)) for pair in zip(forces, slopes, strict=True)]
    return Violation(
        min(apart),
        0,
        given={"gradients by rows": slopes, "F": forces},
        reads="losses |W - A|^2 / 2, A a target, at W = 0: largest entry of the left side minus the right one, for the "
        "client where it is smallest",
    )


@replay("fedlrt/lemma-3")
def lemma_3(values: Values) -> Violation:
    """Columns of U against rows of F in the printed product of (25)."""
    n, r = int(values["n"]), int(values["r"])
    return Violation(abs(n - r), 0,
                     assumes=[Hypothesis("r", r, ">=", 1), Hypothesis("r", r, "<=", n)],
                     reads="columns of U against rows of F, difference")  # fmt: skip
