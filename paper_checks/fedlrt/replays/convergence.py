"""Replays of the claims in ``convergence``, in fractions."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.fedlrt.replays.truncation_steps import inner, minus, one_step
from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values


@replay("fedlrt/thm-3")
def thm_3(values: Values) -> Violation:
    """T = 1, one client, one step at the rate of the proof, L = 1; the truncation keeps rank 1."""
    at = one_step(values)
    theta = Fraction(values["theta"])
    vector, kept, tail = [Fraction(v) for v in values["vector"]], Fraction(values["kept"]), Fraction(values["tail"])
    other = [-vector[1], vector[0]]
    spectral = [[kept * vector[i] * vector[j] + tail * other[i] * other[j] for j in range(2)] for i in range(2)]
    unmet = at.unmet
    if spectral != at.star or inner([vector, other], [vector, other]) != 2 or not kept > tail > 0:
        unmet = unmet or "the singular values are the stated ones"
    if not tail < theta or not tail**2 + kept**2 < theta**2:
        unmet = unmet or "truncation to rank 1 at this threshold, in either reading of the criterion"
    if at.rate != Fraction(1, 24):
        unmet = unmet or "the learning rate of the proof"
    end = [[kept * vector[i] * vector[j] for j in range(2)] for i in range(2)]
    after = minus(end, at.B)
    square = inner(at.F, at.F)
    descent = (square - inner(after, after)) / 2
    return Violation(square, 48 * descent + 48 * theta, unmet=unmet, reads="squared gradient against the printed bound")


@replay("fedlrt/claim-thm3-text")
def claim_thm3_text(values: Values) -> Violation:
    """The diagonal of W under |W - e_k e_k'|^2 / 2 from e_1 e_1'; every other entry stays 0.

    The gradients in U and V are multiples of e_1, so that the second column of each basis is arbitrary; e_2 is one
    choice, and in these bases only the entries of the first two rows and columns can move.
    """
    size, start, target = int(values["size"]), int(values["start"]), int(values["target"])
    rate, rounds = Fraction(values["step"]), int(values["rounds"])
    unmet = "" if size >= 3 and start == 1 and target == 3 and 0 < rate <= Fraction(1, 12) and rounds >= 1 else "set-up"
    entry = Fraction(1)
    for _ in range(rounds):
        entry = entry - rate * entry
        if entry <= 0:
            unmet = unmet or "the coefficient keeps full rank"
    # The gradient at the end is entry at (1, 1) and -1 at (3, 3); at the start it is 1 and -1, of square 2.
    return Violation(entry**2 + 1, 2 * Fraction(1, 10**8), unmet=unmet,
                     reads="squared gradient at the end, against 1e-8 of that at the start")  # fmt: skip
