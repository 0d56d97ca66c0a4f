"""Replays of the claims in ``truncated_rounds``."""

from __future__ import annotations

from paper_checks.fedlrt.replays.truncation_steps import TRUNCATED, inner, minus, one_step, truncated
from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values


def change_of_loss(values: Values) -> Violation:
    r"""One client, one local step, 2 x 2, rank 1, loss $|W - B|^2/2$, so that L = 1 and the wide bases span everything.

    The bases are wide because the gradient of U leaves the span of U, and likewise for V.
    """
    at = one_step(values)
    end, theta, assumes = truncated(values, at)
    after, square = minus(end, at.B), inner(at.F, at.F)
    return Violation(
        (inner(after, after) - square) / 2,
        -at.rate * (1 - 12 * at.rate) * square + theta,
        assumes=assumes,
        given=at.given,
        reads="one client, one step, L = |W - B|^2/2, rank 1 to 1 in either reading of the truncation rule (if the "
        "tail begins after what is kept, also with theta = 3/2): change of the loss, against the printed bound",
    )


thm_2_as_printed = replay("fedlrt/thm-2", **TRUNCATED)(change_of_loss)
thm_9_proof_as_printed = replay("fedlrt/thm-9-proof", **TRUNCATED)(change_of_loss)
