r"""Legendre least squares on a grid: long runs of FeDLRT with many clients, at a fraction of the cost of a round.

A loss $\frac12\overline{(p(x)^T(W - T)p(y))^2}$ over some points holds polynomials of degree $2(n - 1)$ in x and in y
only. So $(2n - 1)^2$ signed weights on the Gauss nodes that reproduce the mean of each product of Legendre polynomials
over the points give the same loss, exactly but for rounding. Claims that rest on these rounds compare their first ones
with the algorithm's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from toymodels.legendre import legendre_features

Array = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Grid:
    """The losses of some clients with one target.

    Attributes:
        weights: Signed, of each client at each pair of nodes, ``(clients, nodes, nodes)``.
        shares: Of the clients in a mean, ``(clients,)``.
        features: Polynomials at the nodes, ``(nodes, n)``.
        target: ``(n, n)``, where every loss is zero.
    """

    weights: Array
    shares: Array
    features: Array
    target: Array

    def gradients(self, W: Array) -> Array:
        """Of the clients' losses, ``(clients, n, n)``."""
        residual = self.features @ (W - self.target) @ self.features.T
        return np.asarray(self.features.T @ (self.weights * residual) @ self.features)

    def hessians(self, U: Array, V: Array) -> Array:
        """Of the clients' losses in the coefficients S of U S V', ``(clients, kl, kl)``."""
        rows, columns = self.features @ U, self.features @ V
        (a, b, i), (c, d, j) = _pairs(U.shape[1]), _pairs(V.shape[1])
        moments = (rows[:, a] * rows[:, b]).T @ self.weights @ (columns[:, c] * columns[:, d])
        size = U.shape[1] * V.shape[1]
        return np.asarray(moments[:, i[:, None, :, None], j[None, :, None, :]].reshape(-1, size, size))

    def excess(self, W: Array) -> float:
        """The mean loss."""
        residual = self.features @ (W - self.target) @ self.features.T
        return float(0.5 * (np.tensordot(self.shares, self.weights, 1) * residual**2).sum())


@cache
def _pairs(k: int) -> tuple[Places, Places, Places]:
    """Pairs a <= b of k columns, and the place of each among them."""
    a, b = np.triu_indices(k)
    place = np.empty((k, k), dtype=np.int64)
    place[a, b] = place[b, a] = np.arange(len(a))
    return a, b, place


def on_grid(parts: Sequence[tuple[Array, Array]], target: Array, basis: str) -> Grid:
    """The losses over the points of some clients, with exact values of a square target.

    Args:
        parts: Coordinates x and y of each client.
        target: ``(n, n)``.
        basis: Of the polynomials.
    """
    n, total = len(target), sum(len(x) for x, _ in parts)
    nodes, gauss = leggauss(2 * n - 1)
    at_nodes = legendre_features(nodes, 2 * n - 1, "dx") * gauss[:, None]
    weights = []
    for x, y in parts:
        p, q = (legendre_features(points, 2 * n - 1, "dx") for points in (x, y))
        weights.append(at_nodes @ (p.T @ q / len(x)) @ at_nodes.T)
    shares = np.array([len(x) / total for x, _ in parts])
    return Grid(np.stack(weights), shares, legendre_features(nodes, n, basis), target)


@dataclass(frozen=True, eq=False)
class Rounds:
    """Settings of FeDLRT.

    Attributes:
        rank: Of the start.
        correction: `simplified` or `full`.
        rate: Of the local steps.
        steps: Local steps.
        tau: Of the truncation: the tail after the last kept value is below tau times the norm.
        last: The last round.
        until: Distance to stop at.
    """

    rank: int
    correction: str
    rate: float
    steps: int
    tau: float
    last: int
    until: float = 0.0


def low_rank_rounds(grid: Grid, start: Array, rounds: Rounds) -> tuple[list[float], list[int], list[float]]:
    """Distances to the target, ranks and losses round by round, from a start that is cut to a rank."""
    U, sigma, Vt = np.linalg.svd(start)
    U, S, V = U[:, : rounds.rank], np.diag(sigma[: rounds.rank]), Vt[: rounds.rank].T
    distances, ranks, losses = list[float](), list[int](), list[float]()
    for count in range(rounds.last + 1):
        W = U @ S @ V.T
        distances.append(float(np.linalg.norm(W - grid.target)))
        ranks.append(len(S))
        losses.append(grid.excess(W))
        if distances[-1] <= rounds.until or count == rounds.last:
            break
        own = grid.gradients(W)
        mean = np.tensordot(grid.shares, own, 1)
        U, V = _widened(U, mean @ V @ S.T), _widened(V, mean.T @ U @ S)
        P, sigma, Qt = np.linalg.svd(_coefficients(grid, U, V, S, own, mean, rounds))
        tails = np.sqrt(np.cumsum((sigma**2)[::-1])[::-1])
        kept = max(1, int((tails > max(rounds.tau, 1e-13) * tails[0]).sum()))
        U, S, V = U @ P[:, :kept], np.diag(sigma[:kept]), V @ Qt[:kept].T
    return distances, ranks, losses


def _widened(basis: Array, slope: Array) -> Array:
    """A basis beside what a gradient adds to it."""
    r = basis.shape[1]
    new = slope - basis @ (basis.T @ slope)
    return np.hstack([basis, np.linalg.qr(np.hstack([basis, new]))[0][:, r : 2 * r]])


def _coefficients(grid: Grid, U: Array, V: Array, S: Array, own: Array, mean: Array, rounds: Rounds) -> Array:
    """The mean of the clients' coefficients after their local steps."""
    r = len(S)
    along = U.T @ own @ V
    if rounds.correction == "simplified":
        along[:, :r, :r] = (U.T @ mean @ V)[:r, :r]
    else:
        along[:] = U.T @ mean @ V
    change = -rounds.rate * along.reshape(len(own), -1, 1)
    step = np.eye(change.shape[1]) - rounds.rate * grid.hessians(U, V)
    moved = change
    for _ in range(rounds.steps - 1):
        moved = step @ moved + change
    found = np.tensordot(grid.shares, moved[:, :, 0], 1).reshape(along.shape[1:])
    found[:r, :r] += S
    return np.asarray(found)
