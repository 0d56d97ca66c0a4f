"""Algorithm 2 (Appendix C.2): pFedLoRU, executed and compared with its text."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.fedloru.replays.shared.one_weight_listing import EITHER, start
from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v2/alg-2")
def alg_2(values: Values) -> Violation:
    """Follow the listing of pFedLoRU: compare what is returned with the model of the last round."""
    run, tau, T, assumes = start(values, most=5)  # digits multiply faster with two pairs of factors
    L, U, own = fractions(values, "L", "U", "personal_alpha")
    W_0, products, trained = run.W, Fraction(0), run.W
    for t in range(1, T + 1):
        slope = run.W + run.alpha * run.A * run.B + own * L * U - run.target  # eq. (80)
        L, U = L - run.rate * slope * own * U, U - run.rate * slope * own * L
        run.step(own * L * U)  # eq. (81)
        trained = run.W + run.alpha * run.A * run.B + own * L * U
        if t % tau == 0:
            run.W += run.alpha * run.A * run.B
            products += run.A * run.B
    return Violation(
        min(abs(W + products + L * U - trained) for W in (W_0, run.W)),
        0,
        assumes=assumes,
        reads="the weight is w = W + alpha A B + personal_alpha L U and its loss is (w - target)^2/2. Each round "
        "takes a step in L and U, then a step in A and B. We compute the " + EITHER,
    )
