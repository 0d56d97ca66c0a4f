r"""The functions that attain a worst case, so real algorithms can be run on them.

From the primal solution come points, gradients and values of every client; a function of the class through them is
$f(w) = \frac{\mu}{2}\|w\|^2 + \min_\alpha\big[\frac M2\|w - \sum_i\alpha_i(x_i - h_i/M)\|^2
+ \sum_i\alpha_i(v_i - \|h_i\|^2/(2M))\big]$ over weights $\alpha \ge 0$ of sum 1, with $\mu$ the least curvature,
$M = L - \mu$, and $h_i$, $v_i$ the data without their quadratic part (Drori and Taylor's smooth interpolation).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from paper_checks.methods.worst_case.gram import Vector
from paper_checks.methods.worst_case.problem import WorstCase
from paper_checks.methods.worst_case.sdp import Solved

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Interpolated:
    """One client: the function of least values through given data, for L = 1.

    Attributes:
        points: shape ``(m, d)``.
        gradients: at them, same shape.
        values: at them, shape ``(m,)``.
        low: least curvature.
        samples: of its data; all clients count the same.
    """

    points: Array
    gradients: Array
    values: Array
    low: float
    samples: float = 1.0

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """Return the value at a weight matrix of one row."""
        return torch.tensor(self.at(w["W"].numpy().reshape(-1))[0], dtype=torch.float64)

    def gradient(self, w: Any, batch: Tensor | None = None) -> Any:
        """Return the gradient there, in the type of the weights."""
        slope = self.at(w["W"].numpy().reshape(-1))[1]
        return type(w)({"W": torch.from_numpy(slope.reshape(tuple(w["W"].shape)))})

    def at(self, x: Array) -> tuple[float, Array]:
        """Return value and gradient at a point of shape ``(d,)``."""
        span = 1.0 - self.low
        slopes = self.gradients - self.low * self.points
        feet = self.points - slopes / span
        lifts = self.values - 0.5 * self.low * (self.points**2).sum(axis=1) - (slopes**2).sum(axis=1) / (2.0 * span)
        weights = _least_on_simplex(np.sqrt(span) * (x - feet), lifts)
        foot = weights @ feet
        value = 0.5 * self.low * x @ x + 0.5 * span * ((x - foot) ** 2).sum() + weights @ lifts
        return float(value), self.low * x + span * (x - foot)


def worst_clients(problem: WorstCase, solved: Solved) -> list[Interpolated]:
    """Return the clients of a worst case: as many as its setting has, with start at 0 and mean gradient of norm 1.

    The spread of the clients around their mean points to the corners of a regular simplex. Where a smoother mean is
    asked for, the value is an upper bound only, and the mean of these clients need not be as smooth.
    """
    clients = problem.setting.clients
    centred = np.eye(clients) - 1.0 / clients
    corners = centred / np.sqrt(1.0 - 1.0 / clients) if clients > 1 else centred
    coordinates: dict[tuple[tuple[str, str], str], Array] = {}
    sizes = {}
    for block, names in problem.blocks.items():
        values, vectors = np.linalg.eigh(solved.gram[block])
        held = values > 1e-12 * max(values.max(), 1.0)
        rows = vectors[:, held] * np.sqrt(values[held])
        sizes[block] = rows.shape[1]
        for name, row in zip(names, rows, strict=True):
            coordinates[block, name] = row

    def place(vector: Vector, client: int) -> Array:
        parts = []
        for block in problem.blocks:
            total = np.zeros(sizes[block])
            for (at, name), factor in vector.parts.items():
                if at == block:
                    total = total + float(factor) * coordinates[at, name]
            parts.append(np.outer(corners[client], total).ravel() if block[0] == "spread" else total)
        return np.concatenate(parts)

    found = []
    for client in range(clients):
        start = place(problem.gradients["start"], client)
        points = np.array([place(point, client) for point in problem.points.values()])
        slopes = np.array([place(problem.gradients[name], client) + start for name in problem.points])
        rises = np.array([solved.values.get(name, 0.0) for name in problem.points]) + points @ start
        found.append(Interpolated(points, slopes, rises, float(problem.setting.low)))
    return found


def change_of_mean(clients: list[Interpolated], end: Array) -> float:
    """Return the change of the mean loss from the start to a point of shape ``(d,)``."""
    start = np.zeros_like(end)
    return float(np.mean([client.at(end)[0] - client.at(start)[0] for client in clients]))


def _least_on_simplex(rows: Array, costs: Array) -> Array:
    """Minimise |weights @ rows|^2 / 2 + weights @ costs over non-negative weights of sum 1."""
    import clarabel
    from scipy.sparse import csc_matrix

    count = len(costs)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    answer = clarabel.DefaultSolver(
        csc_matrix(np.triu(rows @ rows.T)),
        costs,
        csc_matrix(np.vstack([np.ones((1, count)), -np.eye(count)])),
        np.concatenate([[1.0], np.zeros(count)]),
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(count)],
        settings,
    ).solve()
    weights = np.clip(np.array(answer.x), 0.0, None)
    return weights / weights.sum()
