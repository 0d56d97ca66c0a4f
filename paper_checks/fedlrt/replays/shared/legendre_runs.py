"""The Legendre least squares of Section 4.1, and the algorithms in numpy on points drawn by another generator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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


DRAWN = "computed in numpy on new random points and targets"
