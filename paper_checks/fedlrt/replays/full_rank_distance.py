"""Replay of the claim in ``full_rank_distance``, in fractions."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values


@replay("fedlrt/claim-close-to-full")
def claim_close_as_printed(values: Values) -> Violation:
    """The loss (W_33 - 1)^2 / 2 from e1 e1': where gradient descent ends, and where steps in the bases do.

    The gradient is a multiple of e3 e3', a matrix of rank one at every point but the minimisers. It takes e1 to 0, so
    that a QR decomposition of [e1|0] decides on the second column; any unit vector beside e1 is one.
    """
    rate, rounds = Fraction(values["rate"]), int(values["rounds"])
    entry, completion = int(values["entry"]), int(values["completion"])
    free = low = Fraction(0)  # the third diagonal entry
    basis = {0, completion}
    for _ in range(rounds):
        free -= rate * (free - 1)
        low -= rate * (low - 1) if entry in basis else 0
    assumes = (
        Hypothesis("place of the second basis vector", completion, "!=", 0),
        Hypothesis("place of the target's entry", entry, "!=", 0),
        Hypothesis("lambda L", rate, ">", 0),
        Hypothesis("lambda L", rate, "<", 1),
        Hypothesis("rounds", rounds, ">=", 1),
    )
    return Violation(
        abs(free - low),
        abs(free),
        strict=True,
        assumes=assumes,
        reads="loss (W_33 - 1)^2 / 2 from e1 e1', second basis vectors e2: "
        "distance from the full-rank weights, against the start's",
    )
