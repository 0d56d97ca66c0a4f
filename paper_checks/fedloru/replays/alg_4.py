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
        reads="the weight is w = W + personal_alpha L U and its loss is (w - target)^2/2. Each round takes a step in "
        "L and U, then a step in W. We compute the " + REACHED,
    )
