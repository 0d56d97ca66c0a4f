"""Replays of the claims in ``coefficients``, in fractions."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, square


@replay("fedlrt/eq-26-gradients")
def eq_26_gradients_as_printed(values: Values) -> Violation:
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
    means = [sum(entries) / len(forces) for entries in zip(*forces, strict=True)]
    third = min(max(abs(f - g) for f, g in zip(force, means, strict=True)) for force in forces)
    name = "third equation with the other sign, largest entry of F_c - F for the client where it is smallest"
    return Violation(
        min(apart),
        0,
        assumes=(*assumes, Hypothesis(name, third, ">", 0)),
        given={"gradients by rows": slopes, "F": forces},
        reads="losses |W - A|^2 / 2, A a target, at W = S e1 e1^T, where the wide bases are the axes: largest entry of "
        "the left side minus the right one, for the client where it is smallest",
    )


@replay("fedlrt/lemma-3")
def lemma_3_as_printed(values: Values) -> Violation:
    """Columns of U against rows of F in the printed product of (25)."""
    n, r = int(values["n"]), int(values["r"])
    return Violation(
        abs(n - r),
        0,
        assumes=[Hypothesis("r", r, ">=", 1), Hypothesis("r", r, "<=", n)],
        reads="columns of U against rows of F, difference",
    )


@replay("fedlrt/lemma-3-proof")
def lemma_3_proof_as_printed(values: Values) -> Violation:
    """U and V of the first r columns of I, D with one entry 1: squares of both sides of step (II)."""
    r = int(values["r"])
    basis = Fraction(r)  # the square of the Frobenius norm of r columns of I
    return Violation(
        basis**4,
        1,
        assumes=[Hypothesis("r", r, ">=", 1)],
        reads="U and V of r columns of I, D with one entry 1: |U|^2|U'|^2|D|^2|V|^2|V'|^2 against |D|^2",
    )
