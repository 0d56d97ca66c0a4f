"""FeDLRT in numpy for quadratic losses: long runs at a fraction of the cost of the toolkit's rounds.

Claims that rest on these rounds compare their first ones with the algorithm's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from paper_checks.fedlrt.measurements.traces import Array

Step = Callable[[Array], Array]


class Losses(Protocol):
    """Quadratic losses of some clients, and the minimiser of their mean by `shares`."""

    @property
    def shares(self) -> Array:
        """Return the shares of the clients in a mean, ``(clients,)``."""

    @property
    def target(self) -> Array:
        """Return the minimiser, ``(m, n)``."""

    def gradients(self, W: Array) -> Array:
        """Return the gradients of the clients' losses, ``(clients, m, n)``."""

    def excess(self, W: Array) -> float:
        """Return the mean loss above its least value."""

    def step(self, U: Array, V: Array, rate: float) -> Step:
        """Return a step of descent as a map of changes ``(clients, kl, 1)`` of the coefficients S of U S V'."""


def by_matrices(hessians: Array, rate: float) -> Step:
    """Return a step of descent by second derivatives ``(clients, kl, kl)``."""
    step = np.eye(hessians.shape[1]) - rate * hessians
    return lambda change: np.asarray(step @ change)


@dataclass(frozen=True, eq=False)
class Rounds:
    """Settings of FeDLRT.

    Attributes:
        rank: Rank of the start.
        correction: `none`, `simplified` or `full`.
        rate: Learning rate of the local steps.
        steps: Local steps.
        tau: Tolerance of the truncation: the tail after the last kept value is below tau times the norm.
        last: The last round.
        until: Distance to stop at.
        most: The highest rank that is kept.
    """

    rank: int
    correction: str
    rate: float
    steps: int
    tau: float
    last: int
    until: float = 0.0
    most: int | None = None


def _widen(basis: Array, slope: Array) -> Array:
    """Return a basis next to what a gradient adds to it."""
    r = basis.shape[1]
    new = slope - basis @ (basis.T @ slope)
    return np.hstack([basis, np.linalg.qr(np.hstack([basis, new]))[0][:, r : 2 * r]])


def _mean_coefficients(losses: Losses, U: Array, V: Array, S: Array, own: Array, mean: Array, rounds: Rounds) -> Array:
    """Return the mean of the clients' coefficients after their local steps."""
    r = len(S)
    along = U.T @ own @ V
    if rounds.correction == "simplified":
        along[:, :r, :r] = (U.T @ mean @ V)[:r, :r]
    elif rounds.correction == "full":
        along[:] = U.T @ mean @ V
    first = -rounds.rate * along.reshape(len(own), -1, 1)
    step, moved = losses.step(U, V, rounds.rate), first
    for _ in range(rounds.steps - 1):
        moved = step(moved) + first
    found = np.tensordot(losses.shares, moved[:, :, 0], 1).reshape(along.shape[1:])
    found[:r, :r] += S
    return np.asarray(found)


Bases = tuple[Array, Array]

Watch = Callable[[Array, Array, Bases, Bases], None]


def low_rank_rounds(
    losses: Losses, start: Array, rounds: Rounds, watch: Watch | None = None
) -> tuple[list[float], list[int], list[float]]:
    """Follow distances to the target, ranks and losses round by round, from a start that is cut to a rank.

    It is Algorithm 1, or 5 with the simplified correction; claims compare first rounds with the toolkit's own. In every
    round that is made ``watch`` is called with the clients' gradients, their mean, the bases and the wide ones.
    """
    U, sigma, Vt = np.linalg.svd(start)
    U, S, V = U[:, : rounds.rank], np.diag(sigma[: rounds.rank]), Vt[: rounds.rank].T
    distances, ranks, excess = list[float](), list[int](), list[float]()
    for count in range(rounds.last + 1):
        W = U @ S @ V.T
        distances.append(float(np.linalg.norm(W - losses.target)))
        ranks.append(len(S))
        excess.append(losses.excess(W))
        if distances[-1] <= rounds.until or count == rounds.last:
            break
        own = losses.gradients(W)
        mean = np.tensordot(losses.shares, own, 1)
        old = (U, V)
        U, V = _widen(U, mean @ V @ S.T), _widen(V, mean.T @ U @ S)
        if watch:
            watch(own, mean, old, (U, V))
        P, sigma, Qt = np.linalg.svd(_mean_coefficients(losses, U, V, S, own, mean, rounds))
        tails = np.sqrt(np.cumsum((sigma**2)[::-1])[::-1])
        kept = max(1, int((tails > max(rounds.tau, 1e-13) * tails[0]).sum()))
        kept = min(kept, rounds.most or kept)
        U, S, V = U @ P[:, :kept], np.diag(sigma[:kept]), V @ Qt[:kept].T
    return distances, ranks, excess
