"""Section 3.1: the simplified correction on toy problems and in the tests of Section 4.1."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values


@replay("fedlrt/claim-simplified-sufficient")
def claim_simplified_sufficient(values: Values) -> Violation:
    """Run one round of Algorithm 5 from the minimiser e1 e1' of the mean loss, rank 1 in 2 x 2.

    The mean gradient is zero there, so that the wide bases are e1, e2 up to signs. Entry (1, 1) is the block: its
    gradient is zero for every client, and stays so. Entry (1, 2) has no correction: each client goes its own way.
    The other entries stay 0, and the mean has rank 1, so that nothing is truncated. With the full correction each
    client would stay, as its first step is the mean gradient.
    """
    curvatures, centres = ([Fraction(v) for v in values[name]] for name in ("curvatures", "centres"))
    step, steps = Fraction(values["step"]), int(values["steps"])
    clients = assuming(Hypothesis("clients", len(curvatures), "=", 2), Hypothesis("centres", len(centres), "=", 2))
    slope = sum((h * -t for h, t in zip(curvatures, centres, strict=True)), Fraction(0)) / 2
    assumes = (
        *clients,
        Hypothesis("smallest h", min(curvatures), ">", 0),
        Hypothesis("largest h, at most L", max(curvatures), "<=", 1),
        Hypothesis("gradient of the mean loss at e1 e1'", slope, "=", 0),
        Hypothesis("lambda", step, ">", 0),
        Hypothesis("12 s lambda L", 12 * steps * step, "<=", 1),
    )
    ends = []
    for h, t in zip(curvatures, centres, strict=True):
        w = Fraction(0)
        for _ in range(steps):
            w -= step * h * (w - t)
        ends.append(w)
    mean = sum(ends, Fraction(0)) / len(ends)
    return Violation(
        abs(mean),
        Fraction(0),
        assumes=assumes,
        given={"U": [1, 0], "V": [1, 0], "S": 1, "smoothness L": 1},
        reads="two clients (w11 - 1)^2/2 + h (w12 - t)^2/2 + w21^2/2 + w22^2/2, L = 1: distance from the "
        "minimiser after a round that starts there",
    )
