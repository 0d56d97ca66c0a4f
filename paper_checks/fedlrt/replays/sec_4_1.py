"""Section 4.1, homogeneous test: its setting, its step size, and what the paper says it shows."""

from __future__ import annotations

import numpy as np

from paper_checks.fedlrt.replays.shared.legendre_runs import DRAWN, RATE, Losses, fedlrt, gram, philox, product
from paper_checks.fedlrt.replays.shared.median_ranks import median_rank
from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values


@replay("fedlrt/claim-hom-stepsize")
def claim_hom_stepsize(values: Values) -> Violation:
    """Return the largest second derivative of clients that share 10,000 points evenly, against what the rate admits."""
    many = int(values["clients"])
    left_over = 32 % many if many else 32
    assumes = assuming(Hypothesis("clients", many, ">=", 2), Hypothesis("32 modulo the clients", left_over, "=", 0))
    x, y = philox(2026).uniform(-1.0, 1.0, (2, 10_000))
    parts = zip(np.array_split(x, many), np.array_split(y, many), strict=True)
    L = max(float(np.linalg.eigvalsh(gram(a, b, 20, "uniform"))[-1]) for a, b in parts)
    return Violation(
        RATE,
        1.0 / (12.0 * L * 20),
        error=1e-9,
        sampled="new random points",
        assumes=assumes,
        reads="with n = 20 and s = 20, we compare the rate with 1/(12 L s), where L is that of the client with the "
        "largest second derivative",
    )


@replay("fedlrt/claim-hom-clients")
def claim_hom_clients(values: Values) -> Violation:
    """Compare the distance after some rounds with many clients with that of one, from one start on the same points."""
    rng, many, rounds = philox(2024), int(values["clients"]), int(values["rounds"])
    left_over = 32 % many if many else 32
    assumes = assuming(
        Hypothesis("rounds", rounds, ">=", 1),
        Hypothesis("rounds", rounds, "<=", 2000),
        Hypothesis("clients", many, ">=", 2),
        Hypothesis("32 modulo the clients", left_over, "=", 0),
    )
    x, y = rng.uniform(-1.0, 1.0, (2, 10_000))
    target = rng.standard_normal((20, 4)) @ rng.standard_normal((4, 20)) / np.sqrt(20.0)
    start = 0.01 * rng.standard_normal((20, 20)) / np.sqrt(20.0)
    distances = []
    for count in (many, 1):
        parts = list(zip(np.array_split(x, count), np.array_split(y, count), strict=True))
        grams = np.stack([gram(a, b, 20) for a, b in parts])
        shares = np.array([len(a) / len(x) for a, _ in parts])
        losses = Losses(grams, np.stack([target] * count))
        end = product(fedlrt(start, 8, losses, "simplified", 20, 0.1, rounds, shares))
        distances.append(float(np.linalg.norm(end - target)))
    return Violation(
        distances[0],
        distances[1],
        error=1e-9,
        sampled=DRAWN,
        assumes=assumes,
        reads="with n = 20, rank 4, 10,000 points, 20 steps of 1e-3, tau = 0.1 and a start of size 0.01 and rank 8, "
        "we compare the distance to the minimiser with all these clients and with one client, which should be larger",
    )


@replay("fedlrt/claim-hom-rank@value-1-at-1-with-a-start-of-size-0-01")
def claim_hom_rank(values: Values) -> Violation:
    """Run FeDLRT from small starts with polynomials of value 1 at 1."""
    return median_rank(values)
