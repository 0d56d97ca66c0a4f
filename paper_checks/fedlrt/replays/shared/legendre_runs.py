"""The Legendre least squares of Section 4.1, and the algorithms in numpy on points drawn by another generator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from paper_checks.replay import Hypothesis, Violation, assuming
from paper_checks.stored_values import Values

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Losses:
    """Least-squares losses of the clients.

    Attributes:
        grams: Second derivatives in the entries of W, row by row, of each client, or one for all of them.
        targets: Their targets, ``(clients, n, n)``; a client's values are the values of its target.
    """

    grams: Array
    targets: Array

    def gradients(self, W: Array) -> Array:
        """Return gradients in W, ``(clients, n, n)``."""
        return np.asarray(self.grams @ (W - self.targets).reshape(len(self.targets), -1, 1)).reshape(self.targets.shape)

    def change(self, U: Array, V: Array, steps: int) -> Callable[[Array], Array]:
        """Return the function from a change of S in U S V' to what it adds to the gradients in S, row by row.

        Second derivatives in the coefficients are written down where that costs less than the steps do without them.
        """
        entries = np.kron(U, V)
        if entries.shape[1] > 4 * steps:
            return lambda moved: np.asarray(entries.T @ (self.grams @ (entries @ moved)))
        within = entries.T @ self.grams @ entries
        return lambda moved: np.asarray(within @ moved)


def product(factors: tuple[Array, Array, Array]) -> Array:
    """Return the product of the factors U, S, V."""
    U, S, V = factors
    return U @ S @ V.T


RATE = 1e-3


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
    """Return factors after rounds of Algorithms 1 and 5, with the tail after the last kept singular value below theta.

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
        for _ in range(steps):  # the gradient at the start, plus what the way since then adds to it
            moved = moved - RATE * (slope + change(moved))
        P, sigma, Qt = np.linalg.svd(mean_of(St + moved.reshape(first.shape)))
        tails = np.sqrt(np.cumsum((sigma**2)[::-1])[::-1])
        kept = int((tails > max(tau, 1e-12) * tails[0]).sum())
        U, S, V = Ut @ P[:, :kept], np.diag(sigma[:kept]), Vt2 @ Qt[:kept].T
    return U, S, V


@dataclass(frozen=True, eq=False)
class Problem:
    """One client: the target, the second derivative, and 20 starts of size 0.01."""

    target: Array
    H: Array
    starts: tuple[Array, ...]

    @cache  # noqa: B019  # the problems are kept, too: several claims are about one run
    def after(self, start: int, rounds: int) -> tuple[Array, Array, Array]:
        """Return the factors after some rounds from a start."""
        losses = Losses(self.H[None], self.target[None])
        return fedlrt(self.starts[start], 8, losses, "simplified", 20, 0.1, rounds)


def features(points: Array, n: int, basis: str = "uniform") -> Array:
    """Return Legendre polynomials by (k + 1) P_{k+1} = (2k + 1) x P_k - k P_{k-1}, in some normalisation."""
    columns = [np.ones_like(points), points]
    for k in range(1, n - 1):
        columns.append(((2 * k + 1) * points * columns[k] - k * columns[k - 1]) / (k + 1))
    order = np.arange(n)
    size = {"plain": np.ones(n), "dx": np.sqrt(order + 0.5), "uniform": np.sqrt(2.0 * order + 1.0)}[basis]
    return np.stack(columns[:n], axis=1) * size


def gram(x: Array, y: Array, n: int, basis: str = "uniform") -> Array:
    """Return the second derivative of the loss in the entries of W, row by row."""
    p, q = features(x, n, basis), features(y, n, basis)
    both = (p[:, :, None] * q[:, None, :]).reshape(len(x), n * n)
    return both.T @ both / len(x)


def philox(seed: int) -> np.random.Generator:
    """Return another generator of random numbers than the search uses."""
    return np.random.Generator(np.random.Philox(seed))


@cache
def one_client(basis: str = "plain") -> Problem:
    """Draw points, target and normal starts."""
    rng = philox(2027)
    x, y = rng.uniform(-1.0, 1.0, (2, 10_000))
    target = rng.standard_normal((20, 4)) @ rng.standard_normal((4, 20)) / np.sqrt(20.0)
    drawn = tuple(0.01 * rng.standard_normal((20, 20)) / np.sqrt(20.0) for _ in range(20))
    return Problem(target, gram(x, y, 20, basis), drawn)


PLAIN = (
    "n = 20, target AB/sqrt(20) with normal factors of rank 4, one client, value 1 at 1, tau = 0.1, start of rank 8 "
    "and size"
)


def weakest_factor(target: Array) -> Hypothesis:
    """Return the condition on the normal factors of the target."""
    sigma = np.linalg.svd(target, compute_uv=False)[:4]
    share = Fraction(float(sigma[-1] / np.linalg.norm(sigma)))
    return Hypothesis("last singular value of the target over its norm", share, ">", Fraction(3, 20))


DRAWN = "the algorithms in numpy on points and targets drawn anew, Philox"


def rank_below(values: Values) -> Violation:
    """Judge starts of size 0.01: the target's rank, which should never be above the median of the runs'."""
    rounds = int(values["rounds"])
    assumes = assuming(Hypothesis("rounds", rounds, ">=", 50), Hypothesis("rounds", rounds, "<=", 2000))
    problem = one_client()
    assumes += assuming(weakest_factor(problem.target))
    ranks = [len(problem.after(start, rounds)[1]) for start in range(len(problem.starts))]
    return Violation(
        4,
        float(np.median(ranks)),
        error=0.25,
        sampled=DRAWN,
        assumes=assumes,
        reads=f"{PLAIN} 0.01: rank 4, and the median rank over 20 starts after these rounds",
    )


def spread_of(values: Values, stated: int) -> Violation:
    """Return means over uniform points of the squares of P_k, 1/(2k + 1): spread of curvatures, two normalisations."""
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
