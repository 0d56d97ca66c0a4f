r"""Legendre least squares on a grid: long runs of FeDLRT with many clients, at a fraction of the cost of a round.

A loss $\frac12\overline{(p(x)^T(W - T)p(y))^2}$ over some points holds polynomials of degree $2(n - 1)$ in x and in y
only. So $(2n - 1)^2$ signed weights on the Gauss nodes that reproduce the mean of each product of Legendre polynomials
over the points give the same loss, exactly but for rounding. Claims that rest on these rounds compare their first ones
with the algorithm's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from paper_checks.fedlrt.measurements.fast_rounds import Step, by_matrices
from paper_checks.fedlrt.measurements.traces import Array
from toymodels.legendre import legendre_features

Places = NDArray[np.int64]

FEW = 20_000
"""Entries of all clients' second derivatives up to which they are worth writing down."""


@cache
def _pairs(k: int) -> tuple[Places, Places, Places]:
    """Return pairs a <= b of k columns, and the place of each among them."""
    a, b = np.triu_indices(k)
    place = np.empty((k, k), dtype=np.int64)
    place[a, b] = place[b, a] = np.arange(len(a))
    return a, b, place


@dataclass(frozen=True, eq=False)
class Grid:
    """The losses of some clients with one target.

    Attributes:
        weights: Signed weights of each client at each pair of nodes, ``(clients, nodes, nodes)``.
        shares: Shares of the clients in a mean, ``(clients,)``.
        features: Polynomials at the nodes, ``(nodes, n)``.
        target: ``(n, n)``, where every loss is zero.
    """

    weights: Array
    shares: Array
    features: Array
    target: Array

    def gradients(self, W: Array) -> Array:
        """Return the gradients of the clients' losses, ``(clients, n, n)``."""
        residual = self.features @ (W - self.target) @ self.features.T
        return np.asarray(self.features.T @ (self.weights * residual) @ self.features)

    def hessians(self, U: Array, V: Array) -> Array:
        """Return the Hessians of the clients' losses in the coefficients S of U S V', ``(clients, kl, kl)``."""
        rows, columns = self.features @ U, self.features @ V
        (a, b, i), (c, d, j) = _pairs(U.shape[1]), _pairs(V.shape[1])
        moments = (rows[:, a] * rows[:, b]).T @ self.weights @ (columns[:, c] * columns[:, d])
        size = U.shape[1] * V.shape[1]
        return np.asarray(moments[:, i[:, None, :, None], j[None, :, None, :]].reshape(-1, size, size))

    @cached_property
    def mean_weights(self) -> Array:
        """Return the weights of the mean loss, ``(nodes, nodes)``."""
        return np.tensordot(self.shares, self.weights, 1)

    def excess(self, W: Array) -> float:
        """Return the mean loss."""
        residual = self.features @ (W - self.target) @ self.features.T
        return float(0.5 * (self.mean_weights * residual**2).sum())

    def step(self, U: Array, V: Array, rate: float) -> Step:
        """Return a step by second derivatives, or by values at the nodes, cheaper for many clients or coefficients."""
        left, right = U.shape[1], V.shape[1]
        if len(self.weights) * (left * right) ** 2 <= FEW:
            return by_matrices(self.hessians(U, V), rate)
        rows, columns = self.features @ U, self.features @ V

        def step(change: Array) -> Array:
            values = self.weights * (rows @ change.reshape(-1, left, right) @ columns.T)
            return np.asarray(change - rate * (rows.T @ values @ columns).reshape(change.shape))

        return step


def on_grid(parts: Sequence[tuple[Array, Array]], target: Array, basis: str) -> Grid:
    """Return the losses over the points of some clients, with exact values of a square target.

    Args:
        parts: Coordinates x and y of each client.
        target: Target of all clients, ``(n, n)``.
        basis: Normalisation of the polynomials.
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
