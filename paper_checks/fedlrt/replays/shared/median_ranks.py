"""The median rank of FeDLRT over starts of size 0.01 in the homogeneous test, with polynomials of value 1 at 1."""

from __future__ import annotations

import numpy as np

from paper_checks.fedlrt.replays.shared.legendre_runs import DRAWN, Losses, fedlrt, gram, philox
from paper_checks.replay import Hypothesis, Violation, assuming
from paper_checks.stored_values import Values


def median_rank(values: Values) -> Violation:
    """Return the median rank after some rounds with polynomials of value 1 at 1, against the target's."""
    rng, starts, rounds = philox(2024), int(values["starts"]), int(values["rounds"])
    assumes = assuming(
        Hypothesis("starts", starts, "=", 20),
        Hypothesis("rounds", rounds, ">=", 1),
        Hypothesis("rounds", rounds, "<=", 2000),
    )
    x, y = rng.uniform(-1.0, 1.0, (2, 10_000))
    target = rng.standard_normal((20, 4)) @ rng.standard_normal((4, 20)) / np.sqrt(20.0)
    losses = Losses(gram(x, y, 20, "plain")[None], target[None])
    ranks = []
    for _ in range(starts):
        start = 0.01 * rng.standard_normal((20, 20)) / np.sqrt(20.0)
        ranks.append(len(fedlrt(start, 8, losses, "simplified", 20, 0.1, rounds)[1]))
    return Violation(
        4,
        float(np.median(ranks)),
        error=1e-9,
        sampled=DRAWN,
        assumes=assumes,
        reads="with n = 20, polynomials that equal 1 at x = 1, 10,000 points, 20 steps of 1e-3, tau = 0.1 and starts "
        "of size 0.01 and rank 8, we compare 4, the target's rank, with the median rank after these rounds, "
        "which should not be below it",
    )
