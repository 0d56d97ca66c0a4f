"""Replays of ``least_squares``, and the algorithms in numpy on points drawn anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values

Array = NDArray[np.float64]
RATE = 1e-3


def features(points: Array, n: int, basis: str = "uniform") -> Array:
    """Legendre polynomials by the recurrence (k + 1) P_{k+1} = (2k + 1) x P_k - k P_{k-1}, in some normalisation."""
    columns = [np.ones_like(points), points]
    for k in range(1, n - 1):
        columns.append(((2 * k + 1) * points * columns[k] - k * columns[k - 1]) / (k + 1))
    order = np.arange(n)
    size = {"plain": np.ones(n), "dx": np.sqrt(order + 0.5), "uniform": np.sqrt(2.0 * order + 1.0)}[basis]
    return np.stack(columns[:n], axis=1) * size


def gram(x: Array, y: Array, n: int, basis: str = "uniform") -> Array:
    """Second derivative of the loss in the entries of W, row by row."""
    p, q = features(x, n, basis), features(y, n, basis)
    both = (p[:, :, None] * q[:, None, :]).reshape(len(x), n * n)
    return both.T @ both / len(x)


def philox(seed: int) -> np.random.Generator:
    """Another source of randomness than that of the search."""
    return np.random.Generator(np.random.Philox(seed))


DRAWN = "the algorithms in numpy on points and targets drawn anew, Philox"


@dataclass(frozen=True, eq=False)
class Losses:
    """Least-squares losses of the clients.

    Attributes:
        grams: Second derivatives in the entries of W, row by row, of each client, or one for all of them.
        targets: Their targets, ``(clients, n, n)``; a client's values are those of its target.
    """

    grams: Array
    targets: Array

    def gradients(self, W: Array) -> Array:
        """Gradients in W, ``(clients, n, n)``."""
        return np.asarray(self.grams @ (W - self.targets).reshape(len(self.targets), -1, 1)).reshape(self.targets.shape)

    def change(self, U: Array, V: Array, steps: int) -> Callable[[Array], Array]:
        """Function from a change of the coefficients S of U S V' to what it adds to the gradients in them, row by row.

        Second derivatives in the coefficients are written down where that costs less than the steps do without them.
        """
        entries = np.kron(U, V)
        if entries.shape[1] > 4 * steps:
            return lambda moved: np.asarray(entries.T @ (self.grams @ (entries @ moved)))
        within = entries.T @ self.grams @ entries
        return lambda moved: np.asarray(within @ moved)


def product(factors: tuple[Array, Array, Array]) -> Array:
    """The matrix of factors U, S, V."""
    U, S, V = factors
    return U @ S @ V.T


def fedlrt(
    W: Array,
    rank: int,
    losses: Losses,
    correction: str,
    steps: int,
    tau: float,
    rounds: int,
    shares: Array | None = None,
) -> tuple[Array, Array, Array]:
    """Factors after rounds of Algorithms 1 and 5, with the tail after the last kept singular value below theta.

    Means are taken by the clients' shares, equal ones if none are given.
    """

    def mean_of(matrices: Array) -> Array:
        return np.asarray(np.average(matrices, axis=0, weights=shares))

    U, sigma, Vt = np.linalg.svd(W)
    U, S, V = U[:, :rank], np.diag(sigma[:rank]), Vt[:rank].T
    for _ in range(rounds):
        r = len(S)
        own = losses.gradients(U @ S @ V.T)
        G_U = mean_of(own @ V @ S.T)
        G_V = mean_of(own.transpose(0, 2, 1) @ U @ S)
        Ut, Vt2 = (np.linalg.qr(np.hstack(pair))[0] for pair in ((U, G_U), (V, G_V)))
        # The orthogonal factor may turn the old columns round; what is kept is what is new.
        Ut[:, :r], Vt2[:, :r] = U, V
        St = np.zeros((Ut.shape[1], Vt2.shape[1]))
        St[:r, :r] = S
        first = Ut.T @ own @ Vt2
        added = np.zeros_like(first) if correction == "none" else mean_of(first) - first
        if correction == "simplified":
            added[:, r:], added[:, :, r:] = 0.0, 0.0
        change = losses.change(Ut, Vt2, steps)
        slope = (first + added).reshape(len(first), -1, 1)
        moved = np.zeros_like(slope)
        for _ in range(steps):  # the gradient is that of the start and what the way since then adds to it
            moved = moved - RATE * (slope + change(moved))
        P, sigma, Qt = np.linalg.svd(mean_of(St + moved.reshape(first.shape)))
        tails = np.sqrt(np.cumsum((sigma**2)[::-1])[::-1])
        kept = int((tails > max(tau, 1e-12) * tails[0]).sum())
        U, S, V = Ut @ P[:, :kept], np.diag(sigma[:kept]), Vt2 @ Qt[:kept].T
    return U, S, V


def _step_of(values: Values, basis: str) -> Violation:
    """The largest second derivative of clients that share 10,000 points evenly, against what the rate admits."""
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


@dataclass(frozen=True, eq=False)
class Problem:
    """One client: the target, the second derivative, and 20 starts of size 0.01."""

    target: Array
    H: Array
    starts: tuple[Array, ...]

    @cache  # noqa: B019  # the problems are kept, too: several claims are about one run
    def after(self, start: int, rounds: int) -> tuple[Array, Array, Array]:
        """The factors after some rounds from a start."""
        losses = Losses(self.H[None], self.target[None])
        return fedlrt(self.starts[start], 8, losses, "simplified", 20, 0.1, rounds)


@cache
def one_client(basis: str = "plain") -> Problem:
    """Points and target drawn anew, and normal starts."""
    rng = philox(2027)
    x, y = rng.uniform(-1.0, 1.0, (2, 10_000))
    target = rng.standard_normal((20, 4)) @ rng.standard_normal((4, 20)) / np.sqrt(20.0)
    drawn = tuple(0.01 * rng.standard_normal((20, 20)) / np.sqrt(20.0) for _ in range(20))
    return Problem(target, gram(x, y, 20, basis), drawn)


PLAIN = (
    "n = 20, target AB/sqrt(20) with normal factors of rank 4, one client, value 1 at 1, tau = 0.1, start of rank 8 "
    "and size"
)


def weakest(target: Array) -> Hypothesis:
    """Condition on the normal factors of the target."""
    sigma = np.linalg.svd(target, compute_uv=False)[:4]
    share = Fraction(float(sigma[-1] / np.linalg.norm(sigma)))
    return Hypothesis("last singular value of the target over its norm", share, ">", Fraction(3, 20))


def rank_below(values: Values) -> Violation:
    """Starts of size 0.01: the target's rank, which should never be above the median of the runs'."""
    rounds = int(values["rounds"])
    assumes = assuming(Hypothesis("rounds", rounds, ">=", 50), Hypothesis("rounds", rounds, "<=", 2000))
    problem = one_client()
    assumes += assuming(weakest(problem.target))
    ranks = [len(problem.after(start, rounds)[1]) for start in range(len(problem.starts))]
    return Violation(
        4,
        float(np.median(ranks)),
        error=0.25,
        sampled=DRAWN,
        assumes=assumes,
        reads=f"{PLAIN} 0.01: rank 4, and the median rank over 20 starts after these rounds",
    )


def _away(values: Values, distance: float) -> Violation:
    """A start of size 0.01: the distance where a round adds less in new directions than the truncation cuts."""
    rounds = int(values["rounds"])
    assumes = assuming(Hypothesis("rounds", rounds, ">=", 200), Hypothesis("rounds", rounds, "<=", 2000))
    problem = one_client()
    factors = problem.after(0, rounds)
    W = product(factors)
    off = (W - problem.target).ravel()
    # |gradient|^2 is at most twice the curvature times the loss.
    steepest = float(np.sqrt(np.linalg.eigvalsh(problem.H)[-1] * (off @ problem.H @ off)))
    assumes += assuming(
        weakest(problem.target),
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
    """The distance against 1e-5."""
    return _away(values, 1e-5)


@replay("fedlrt/claim-hom-10x@value-1-at-1-with-a-start-of-size-0-01")
def claim_hom_10x(values: Values) -> Violation:
    """The distance against the farthest that is compared, 1e-2."""
    return _away(values, 1e-2)


@replay("fedlrt/claim-hom-10x@at-most-ten-times-orthonormal-for-the-uniform-law")
def claim_hom_10x_most(values: Values) -> Violation:
    """FedLin's distance after ten times the rounds, by the curvatures, against FeDLRT's, from one start.

    With one client FedLin's round is 20 steps of gradient descent on the loss.
    """
    rounds = int(values["rounds"])
    assumes = assuming(Hypothesis("rounds", rounds, ">=", 1), Hypothesis("rounds", rounds, "<=", 2000))
    problem = one_client(basis="uniform")
    assumes += assuming(weakest(problem.target))
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


def step_for_dx(values: Values) -> Violation:
    """The step size, with polynomials orthonormal for dx."""
    return _step_of(values, "dx")


def step_for_the_uniform_law(values: Values) -> Violation:
    """The step size, with polynomials orthonormal for the uniform law."""
    return _step_of(values, "uniform")


stepsize_dx = replay("fedlrt/claim-hom-stepsize@orthonormal-for-dx")(step_for_dx)
jointly_dx = replay("fedlrt/claim-hom-jointly@orthonormal-for-dx-with-a-start-of-size-0-01")(step_for_dx)
stepsize_uniform = replay("fedlrt/claim-hom-stepsize@orthonormal-for-the-uniform-law")(step_for_the_uniform_law)
jointly_uniform = replay("fedlrt/claim-hom-jointly@orthonormal-for-the-uniform-law-with-a-start-of-size-0-01")(
    step_for_the_uniform_law
)
jointly_plain = replay("fedlrt/claim-hom-jointly")(rank_below)
claim_hom_rank = replay("fedlrt/claim-hom-rank")(rank_below)
fig_4 = replay("fedlrt/fig-4")(rank_below)


def spread_of(values: Values, stated: int) -> Violation:
    """Means over uniform points of the squares of P_k, 1/(2k + 1): spread of the curvatures in two normalisations."""
    n = int(values["n"])
    assumes = assuming(Hypothesis("n", n, "=", stated))
    means = [Fraction(1, 2 * k + 1) for k in range(n)]
    plain = min(means) ** 2 / max(means) ** 2
    uniform = [mean * (2 * k + 1) for k, mean in enumerate(means)]
    return Violation(
        1 - plain / (min(uniform) ** 2 / max(uniform) ** 2),
        Fraction(1, 2),
        assumes=assumes,
        reads="least over largest curvature of the expected loss, with value 1 at 1 over "
        "orthonormal: 1 minus it, against a half",
    )


@replay("fedlrt/exp-homogeneous")
def exp_homogeneous(values: Values) -> Violation:
    """The spread of the curvatures, n = 20."""
    return spread_of(values, 20)


@replay("fedlrt/claim-hom-clients")
def claim_hom_clients(values: Values) -> Violation:
    """Distance after some rounds with many clients, against that with one, from the same start on the same points."""
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
