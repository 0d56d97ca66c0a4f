"""Figure 3: at which rank a round of FeDLRT costs as much as one of FedLin or FedAvg."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.fedlrt.replays.shared.boxes import n, r
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values

STATED = {
    "communication, simplified": ((6, 8, 4), "217.8"),
    "communication, full": ((6, 10, 4), "204.8"),
    "client compute, simplified": ((4, 5, 1), "102.4"),
    "client compute, full": ((4, 8, 1), "93.7"),
    "client memory": ((4, 8, 2), "158.2"),
}
"""Factors of nr, of r^2 and of n^2 in Table 1's entries at s = b = 1, and the rank of equal cost."""


@proof("fedlrt/fig-3")
def fig_3(factor: Fraction = Fraction(100), width: Fraction = Fraction(512), moved: Fraction = Fraction(0)) -> str:
    r"""A cost $anr + br^2$ of FeDLRT grows with r, and $cn^2$ of FedLin does not depend on it: they cross once.

    With the simplified and the full correction a and b are 6 and 8 or 10 in communication, 4 and 5 or 8 in client
    compute, 4 and 8 in client memory, and c is 4, 1 and 2. A twentieth below the stated rank the cost is below
    FedLin's, and a twentieth above it is above. At rank 1 the least quotient is $n^2/(4n + 8)$.
    """
    half = Fraction(1, 20)
    for name, ((linear, square, full), text) in STATED.items():
        low, rank = linear * n * r + square * r**2, Fraction(text) + moved
        below, above = (low.subs({n: width, r: rank + side}) for side in (-half, half))
        require(below < full * width**2 < above, f"another rank of equal cost, {name}")
        require((full * n**2 / low).subs({n: width, r: 1}) >= factor, f"less is gained at rank 1, {name}")
    return (
        "the costs grow with r, and their difference changes sign around each rank; we also compute the quotients at "
        "rank 1"
    )


LEAST = Fraction(395, 1000)
"""40 % of full rank, half a unit of its last digit less."""


@replay("fedlrt/fig-3")
def fig_3_as_printed(values: Values) -> Violation:
    """Count client compute by Table 1 at s = b = 1: n^2 of FedLin, 4nr + 4r^2 + 4r^2 with the full correction."""
    n = int(values["n"])
    r = LEAST * n
    return Violation(
        4 * n * r + 8 * r**2,
        n**2,
        assumes=[Hypothesis("n", n, "=", 512)],
        reads="at 39.5 % of full rank, by Table 1, we compare the client compute with the full correction with the "
        "client compute of FedLin, which it should not exceed below 40 %",
    )
