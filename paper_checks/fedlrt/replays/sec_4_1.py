"""Section 4.1, homogeneous test: its setting, its step size, and what it is said to show."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from paper_checks.fedlrt.replays.shared.legendre_runs import (
    DRAWN,
    PLAIN,
    RATE,
    Losses,
    fedlrt,
    gram,
    one_client,
    philox,
    product,
    rank_below,
    spread_of,
    weakest_factor,
)
from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values


@replay("fedlrt/exp-homogeneous")
def exp_homogeneous(values: Values) -> Violation:
    """Evaluate the spread of the curvatures, n = 20."""
    return spread_of(values, 20)


def _step_of(values: Values, basis: str) -> Violation:
    """Return the largest second derivative of clients that share 10,000 points evenly, against what the rate admits."""
    many = int(values["clients"])
    assumes = assuming(
        Hypothesis("clients", many, ">=", 2), Hypothesis("32 modulo the clients", 32 % many if many else 32, "=", 0)
    )
    x, y = philox(2026).uniform(-1.0, 1.0, (2, 10_000))
    parts = zip(np.array_split(x, many), np.array_split(y, many), strict=True)
    L = max(float(np.linalg.eigvalsh(gram(a, b, 20, basis))[-1]) for a, b in parts)
    return Violation(
        RATE,
        1.0 / (12.0 * L * 20),
        error=1e-9,
        sampled="points drawn anew, Philox",
        assumes=assumes,
        reads="n = 20, s = 20: the rate against 1/(12 L s), L of the client with the largest second derivative",
    )


def step_for_dx(values: Values) -> Violation:
    """Return the step size, with polynomials orthonormal for dx."""
    return _step_of(values, "dx")


stepsize_dx = replay("fedlrt/claim-hom-stepsize@orthonormal-for-dx")(step_for_dx)


def step_for_the_uniform_law(values: Values) -> Violation:
    """Return the step size, with polynomials orthonormal for the uniform law."""
    return _step_of(values, "uniform")


stepsize_uniform = replay("fedlrt/claim-hom-stepsize@orthonormal-for-the-uniform-law")(step_for_the_uniform_law)

claim_hom_rank = replay("fedlrt/claim-hom-rank")(rank_below)


def _standstill_distance(values: Values, distance: float) -> Violation:
    """Return the distance, from a start of size 0.01, where a round adds less in new directions than it cuts."""
    rounds = int(values["rounds"])
    assumes = assuming(Hypothesis("rounds", rounds, ">=", 200), Hypothesis("rounds", rounds, "<=", 2000))
    problem = one_client()
    factors = problem.after(0, rounds)
    W = product(factors)
    off = (W - problem.target).ravel()
    # |gradient|^2 is at most twice the curvature times the loss.
    steepest = float(np.sqrt(np.linalg.eigvalsh(problem.H)[-1] * (off @ problem.H @ off)))
    assumes += assuming(
        weakest_factor(problem.target),
        Hypothesis("rank", len(factors[1]), "<=", 3),
        Hypothesis(
            "twice what a round moves at most at a loss no greater",
            Fraction(2 * 20 * RATE * steepest),
            "<=",
            Fraction(0.1 * float(np.linalg.norm(W))),
        ),
    )
    return Violation(
        float(np.linalg.norm(W - problem.target)),
        distance,
        error=1e-9,
        sampled=DRAWN,
        assumes=assumes,
        reads=f"{PLAIN} 0.01: distance to the minimiser after these rounds, and the distance stated; the rank is "
        "below 4, and at a loss no greater twice what a round moves is below the threshold: no rank is added",
    )


@replay("fedlrt/claim-hom-error@value-1-at-1-with-a-start-of-size-0-01")
def claim_hom_error(values: Values) -> Violation:
    """Compare the distance with 1e-5."""
    return _standstill_distance(values, 1e-5)


@replay("fedlrt/claim-hom-clients")
def claim_hom_clients(values: Values) -> Violation:
    """Compare the distance after some rounds with many clients with that of one, from one start on the same points."""
    rng, many, rounds = philox(2024), int(values["clients"]), int(values["rounds"])
    assumes = assuming(
        Hypothesis("rounds", rounds, ">=", 1),
        Hypothesis("rounds", rounds, "<=", 2000),
        Hypothesis("clients", many, ">=", 2),
        Hypothesis("32 modulo the clients", 32 % many if many else 32, "=", 0),
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
        reads="n = 20, rank 4, 10,000 points, 20 steps of 1e-3, tau = 0.1, "
        "a start of size 0.01 and rank 8: distance to the minimiser with all these "
        "clients, which should be below that with one",
    )


@replay("fedlrt/claim-hom-10x@value-1-at-1-with-a-start-of-size-0-01")
def claim_hom_10x(values: Values) -> Violation:
    """Compare the distance with 1e-2, the farthest that is compared."""
    return _standstill_distance(values, 1e-2)


@replay("fedlrt/claim-hom-10x@at-most-ten-times-orthonormal-for-the-uniform-law")
def claim_hom_10x_most(values: Values) -> Violation:
    """Compare FedLin's distance after ten times the rounds, by the curvatures, with FeDLRT's, from one start.

    With one client FedLin's round is 20 steps of gradient descent on the loss.
    """
    rounds = int(values["rounds"])
    assumes = assuming(Hypothesis("rounds", rounds, ">=", 1), Hypothesis("rounds", rounds, "<=", 2000))
    problem = one_client(basis="uniform")
    assumes += assuming(weakest_factor(problem.target))
    ours = float(np.linalg.norm(product(problem.after(0, rounds)) - problem.target))
    curvatures, axes = np.linalg.eigh(problem.H)
    off = axes.T @ (problem.starts[0] - problem.target).ravel()
    theirs = float(np.linalg.norm((1.0 - RATE * curvatures) ** (20 * 10 * rounds) * off))
    assumes += assuming(
        Hypothesis("distance of FeDLRT, from the farthest that is compared", Fraction(ours), "<=", Fraction(1, 100)),
        Hypothesis("distance of FeDLRT, to the nearest that is compared", Fraction(ours), ">=", Fraction(1, 100_000)),
    )
    return Violation(
        theirs,
        ours,
        error=1e-9,
        sampled=DRAWN,
        assumes=assumes,
        reads=f"{PLAIN.replace('value 1 at 1', 'orthonormal for the uniform law')} 0.01: FedLin's distance to the "
        "minimiser after ten times these rounds, and FeDLRT's after them",
    )


jointly_dx = replay("fedlrt/claim-hom-jointly@orthonormal-for-dx-with-a-start-of-size-0-01")(step_for_dx)

jointly_uniform = replay("fedlrt/claim-hom-jointly@orthonormal-for-the-uniform-law-with-a-start-of-size-0-01")(
    step_for_the_uniform_law
)

jointly_plain = replay("fedlrt/claim-hom-jointly")(rank_below)
