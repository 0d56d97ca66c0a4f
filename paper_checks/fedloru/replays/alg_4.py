"""Algorithm 4 (Appendix C.4), both variants, executed and compared with its text."""

from __future__ import annotations

from paper_checks.fedloru.replays.shared.one_weight_listing import REACHED
from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, followed, fractions


@replay("fedloru-v2/alg-4")
def alg_4(values: Values) -> Violation:
    """Follow pFedLoRA, its first variant: compare what is returned with the model that the steps descend in."""
    W, target, rate, L, U, own = fractions(values, "W", "target", "rate", "L", "U", "personal_alpha")
    T = followed(values, "rounds")
    for _ in range(T):
        slope = W + own * L * U - target  # eq. (84)
        L, U = L - rate * slope * own * U, U - rate * slope * own * L
        W -= rate * (W + own * L * U - target)  # eq. (85)
    return Violation(
        abs(L * U - own * L * U),
        0,
        assumes=[Hypothesis("T", T, ">=", 1), Hypothesis("learning rate", rate, ">", 0)],
        reads="w = W + personal_alpha L U with loss (w - target)^2/2, a step in L, U, then in W; " + REACHED,
    )
