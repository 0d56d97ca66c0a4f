"""Replays of the claims in ``coefficients``, in fractions."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, square


@replay("fedlrt/eq-26-gradients")
def eq_26_gradients(values: Values) -> Violation:
    """Losses |W - A|^2 / 2 at W = S e1 e1^T, r = 1: the wide bases are the axes of the plane, where 2r = n."""
    targets, S = [square(target, 2) for target in values["targets"]], Fraction(values["S"])
    slopes = [[S - a, -b, -c, -d] for (a, b), (c, d) in targets]
    assumes = assuming(
        Hypothesis("S", S, "!=", 0),
        Hypothesis("gradient of U across U", sum(slope[2] for slope in slopes) * S, "!=", 0),
        Hypothesis("gradient of V across V", sum(slope[1] for slope in slopes) * S, "!=", 0),
    )
    forces = [[-entry for entry in slope] for slope in slopes]
    apart = [max(abs(f - g) for f, g in zip(*pair, strict=True)) for pair in zip(forces, slopes, strict=True)]
    return Violation(
        min(apart),
        0,
        assumes=assumes,
        given={"gradients by rows": slopes, "F": forces},
        reads="losses |W - A|^2 / 2, A a target, at W = S e1 e1^T, where the wide bases are the axes: largest entry of "
        "the left side minus the right one, for the client where it is smallest",
    )


@replay("fedlrt/lemma-3")
def lemma_3(values: Values) -> Violation:
    """Columns of U against rows of F in the printed product of (25)."""
    n, r = int(values["n"]), int(values["r"])
    return Violation(
        abs(n - r),
        0,
        assumes=[Hypothesis("r", r, ">=", 1), Hypothesis("r", r, "<=", n)],
        reads="columns of U against rows of F, difference",
    )
