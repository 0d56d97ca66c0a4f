"""Rounds of FeDLRT followed step by step: what every client holds, and what the real algorithm returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from algorithms.descent import Descent
from algorithms.federation import Federation
from algorithms.fedlrt import Correction, FeDLRT
from algorithms.low_rank import Truncation, append_columns, augment, factorise, product
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.methods.domain import FROM_ONE, UNIT, Stated, Tried, tried
from toymodels.quadratic import Quadratic, centred, mean_of

Array = NDArray[np.float64]

CHAIN_ROUNDING = 1e-11


def norm(matrix: Array) -> float:
    """Return the Frobenius norm."""
    return float(np.linalg.norm(matrix))


def inner(A: Array, B: Array) -> float:
    """Return the sum of the products of the entries."""
    return float((A * B).sum())


@dataclass(frozen=True)
class Trace:
    r"""One round of clients with quadratic losses of smoothness L = 1.

    Attributes:
        name: of the instance.
        clients: losses of equal weight.
        steps: local steps.
        step: learning rate.
        rank: r, of the start.
        U: Wide basis ``(m, 2r)``; its first r columns are the basis of the start.
        V: Wide basis ``(n, 2r)``.
        W: Model at the start.
        coefficients: of every client at every point, ``(C, steps + 1, 2r, 2r)``.
        corrections: what each client adds to its gradient, ``(C, 2r, 2r)``.
        star: Model before truncation, ``(m, n)``.
        end: Model after truncation, ``(m, n)``.
    """

    name: str
    clients: tuple[Quadratic, ...]
    steps: int
    step: float
    rank: int
    U: Array
    V: Array
    W: Array
    coefficients: Array
    corrections: Array
    star: Array
    end: Array

    @property
    def whole(self) -> float:
        """Return the product s λ L."""
        return self.steps * self.step

    @cached_property
    def mean(self) -> Quadratic:
        """Return the global loss."""
        return mean_of(self.clients, [1.0 / len(self.clients)] * len(self.clients))

    def loss(self, W: Array) -> float:
        """Return the global loss of a model."""
        return float(self.mean.loss({"W": torch.from_numpy(W)}))

    def slope(self, W: Array, client: int | None = None) -> Array:
        """Return the gradient of a client's loss, or of the global one, by the model."""
        whose = self.mean if client is None else self.clients[client]
        gradient: Array = whose.gradient({"W": torch.from_numpy(W)})["W"].numpy()
        return gradient

    def model(self, coefficients: Array) -> Array:
        """Return the model of augmented coefficients."""
        return self.U @ coefficients @ self.V.T

    def wide(self, matrix: Array) -> Array:
        """Convert a gradient in the model to one in the augmented coefficients."""
        return self.U.T @ matrix @ self.V

    def block(self, coefficients: Array) -> Array:
        """Return the upper left block, ``(r, r)``."""
        return coefficients[..., : self.rank, : self.rank]

    def outside(self, coefficients: Array) -> Array:
        """Return the matrix with zeros in the upper left block."""
        other = coefficients.copy()
        other[..., : self.rank, : self.rank] = 0.0
        return other

    @cached_property
    def start(self) -> Array:
        """Return the augmented coefficients at the start."""
        first: Array = self.coefficients[0, 0]
        return first

    @cached_property
    def aggregate(self) -> Array:
        """Return the augmented coefficients before truncation."""
        mean: Array = self.coefficients[:, -1].mean(axis=0)
        return mean

    @cached_property
    def local_slopes(self) -> Array:
        """Return each client's gradient by the model at its points, the last one left out, ``(C, steps, m, n)``."""
        return np.array([[self.slope(self.model(S), c) for S in own[:-1]] for c, own in enumerate(self.coefficients)])

    @cached_property
    def travelled(self) -> Array:
        r"""Return $\frac\lambda C\sum_{c,s}P_{\tilde U}F_c(\tilde W_{r,c}^s)P_{\tilde V}$, F the negative gradient."""
        return -self.step * self.model(self.wide(self.local_slopes.mean(axis=0).sum(axis=0)))

    @cached_property
    def losses(self) -> tuple[float, float, float]:
        """Return the global loss at the start, before and after truncation."""
        return self.loss(self.W), self.loss(self.star), self.loss(self.end)

    @cached_property
    def slope_at_start(self) -> Array:
        """Return the gradient of the global loss by the model at the start."""
        return self.slope(self.W)

    @cached_property
    def gradient(self) -> Array:
        """Return the gradient of the global loss by the augmented coefficients at the start."""
        return self.wide(self.slope_at_start)

    @cached_property
    def change(self) -> float:
        """Return the change of the global loss, before truncation."""
        return self.losses[1] - self.losses[0]

    @cached_property
    def lost(self) -> float:
        """Return the norm of what the truncation takes away."""
        return norm(self.star - self.end)

    @cached_property
    def before(self) -> float:
        """Return the norm of the global gradient before truncation."""
        return norm(self.slope(self.star))

    @cached_property
    def needed(self) -> float:
        """Return the least delta that Assumption 1 admits at all points of all clients; infinite if there is none.

        The inequality is strict: delta must be greater.
        """
        excess = 0.0
        for c, own in enumerate(self.coefficients):
            for S in own[:-1]:
                for whose in (c, None):
                    slope = self.wide(self.slope(self.model(S), whose))
                    outside, inside = norm(self.outside(slope)), norm(self.block(slope))
                    # a^2 / (b + sqrt(a^2 + b^2)) is the difference of the norms without cancellation
                    excess = max(excess, outside**2 / (inside + float(np.hypot(inside, outside)) or 1.0))
        total = norm(self.gradient)
        return excess / total if total else float("inf")

    @cached_property
    def outer(self) -> float:
        """Return the root mean square of the clients' gradients outside the block at the start, over the global one."""
        total = norm(self.gradient)
        return self.outside_at_start / total if total else float("inf")

    @property
    def outside_at_start(self) -> float:
        """Return the root mean square of the norms of the clients' gradients outside the block at the start."""
        return float(np.sqrt(np.mean([norm(self.outside(self.wide(own[0]))) ** 2 for own in self.local_slopes])))

    @cached_property
    def outer_throughout(self) -> float:
        """Return the largest of the clients' gradients outside the block at all points, over the first global one."""
        total = norm(self.gradient)
        largest = max(norm(self.outside(self.wide(slope))) for slopes in self.local_slopes for slope in slopes)
        return largest / total if total else float("inf")

    @cached_property
    def outer_in_mean(self) -> float:
        """Return the root mean square of the clients' gradients outside the block in all steps, over the first one."""
        total = norm(self.gradient)
        squares = [norm(self.outside(self.wide(slope))) ** 2 for slopes in self.local_slopes for slope in slopes]
        return float(np.sqrt(np.mean(squares))) / total if total else float("inf")


def error_of(one: Trace) -> float:
    """Bound on the rounding of a round's squares and products."""
    return CHAIN_ROUNDING * (1.0 + norm(one.slope_at_start) ** 2 + float((one.local_slopes**2).max()))


class Rounds(Protocol):
    """Rounds of some local steps, with L = 1."""

    @property
    def steps(self) -> int:
        """Return the local steps of a round."""
        ...

    @property
    def whole(self) -> float:
        """Return the product s λ L."""
        ...


def tried_rates(rounds: Sequence[Rounds], stated: Stated, deltas: Sequence[float] | None = None) -> Tried:
    """Return the rates and numbers of local steps of rounds, and delta where a statement has one in [0, 1].

    Products of rate and steps are rounded to nine digits of the greatest one, so equal ones are.
    """
    unit = stated.high if isfinite(stated.high) else 1.0
    whole = unit * np.round(np.array([one.whole for one in rounds]) / unit, 9)
    delta = [] if deltas is None else [("δ", np.round(deltas, 9), UNIT)]
    return tried(("sλL", whole, stated), ("s", [one.steps for one in rounds], FROM_ONE), *delta)


def descent_constant(steps: int | None, delta: float = 0.0) -> float:
    r"""Return the constant of the descent, $\frac12(1 + (1 - \frac1s)\sqrt{1 + \delta^2})$; without steps its limit.

    With $\delta$ bounding what the correction leaves out, 0 for the full one.
    """
    return 0.5 * (1.0 + (1.0 - (1.0 / steps if steps else 0.0)) * float(np.sqrt(1.0 + delta**2)))


def trace(
    name: str,
    clients: Sequence[Quadratic],
    start: Array,
    rank: int,
    local: Descent,
    correction: Correction,
    kept: int | None = None,
) -> Trace:
    """Follow a round by the recursion of the paper's box.

    Args:
        name: of the instance.
        clients: losses of equal weight.
        start: model, ``(m, n)``; its best approximation of the given rank is taken.
        rank: of the start.
        local: steps and learning rate.
        correction: ``none``, ``full`` or ``simplified``.
        kept: rank after truncation; everything by default.

    Raises:
        ValueError: the real algorithm ends elsewhere.
    """
    w = Tree({"W": torch.from_numpy(np.asarray(start, dtype=float))})
    factors = factorise(w, rank)
    U, S, V = factors
    W = product(factors)
    mean = mean_of(clients, [1.0 / len(clients)] * len(clients))
    G = mean.gradient(W)
    Ut, Vt = append_columns(U, augment(U, G @ V @ S.T)), append_columns(V, augment(V, G.T @ U @ S))
    own = [client.projected(Ut, Vt) for client in clients]
    corner = torch.zeros(Ut["W"].shape[1], Vt["W"].shape[1], dtype=torch.float64)
    corner[:rank, :rank] = S["W"]
    slopes = [client.gradient({"W": corner})["W"] for client in own]
    total = torch.stack(slopes).mean(dim=0)
    added = [total - slope if correction == "full" else torch.zeros_like(slope) for slope in slopes]
    if correction == "simplified":
        for add, slope in zip(added, slopes, strict=True):
            add[:rank, :rank] = (total - slope)[:rank, :rank]
    points = []
    for client, add in zip(own, added, strict=True):
        walk = [corner]
        for _ in range(local.steps):
            walk.append(walk[-1] - local.rate() * (client.gradient({"W": walk[-1]})["W"] + add))
        points.append(torch.stack(walk))
    star = Ut["W"] @ torch.stack([walk[-1] for walk in points]).mean(dim=0) @ Vt["W"].mT

    def by_algorithm(truncation: Truncation) -> torch.Tensor:
        fed = Federation(list(clients))
        algorithm = FeDLRT(local, rank, truncation, correction)
        return algorithm.weights(one_round(algorithm.round, fed, factors))["W"]

    scale = max(1.0, max(float(slope.abs().max()) for slope in slopes))
    if float((by_algorithm(Truncation(0.0)) - star).abs().max()) > 1e-12 * scale:
        raise ValueError(f"{name}: the algorithm ends elsewhere")
    end = by_algorithm(Truncation(0.0, most=kept)) if kept is not None else star
    return Trace(
        name,
        tuple(clients),
        local.steps,
        local.rate(),
        rank,
        Ut["W"].numpy(),
        Vt["W"].numpy(),
        W["W"].numpy(),
        torch.stack(points).numpy(),
        torch.stack(added).numpy(),
        star.numpy(),
        end.numpy(),
    )


def run_of(
    name: str,
    clients: Sequence[Quadratic],
    start: Array,
    rank: int,
    local: Descent,
    correction: Correction,
    rounds: int,
    kept: int | None = None,
) -> list[Trace]:
    """Follow several rounds, one after the other; the rank after the first is the kept one, or what is there."""
    traces = [trace(name, clients, start, rank, local, correction, kept)]
    for _ in range(rounds - 1):
        end = traces[-1].end
        sigma = np.linalg.svd(end, compute_uv=False)
        there = int((sigma > 1e-12 * sigma[0]).sum())
        rank = min(there, kept if kept is not None else there)
        traces.append(trace(name, clients, end, rank, local, correction, kept))
    return traces


def with_gradient(H: Array, W: Array, slope: Array) -> Quadratic:
    """Return a quadratic loss with a chosen gradient at W; H has shape ``(mn, mn)``."""
    m, n = W.shape
    B = (H @ W.reshape(-1)).reshape(m, n) - slope
    return Quadratic(
        torch.from_numpy(H.reshape(m, n, m, n).copy()),
        torch.from_numpy(B.copy()),
        torch.tensor(0.0, dtype=torch.float64),
    )


def distance_loss(B: Sequence[Sequence[float]]) -> Quadratic:
    r"""Return the loss $\frac12\|W - B\|^2$."""
    target = torch.tensor(B, dtype=torch.float64)
    return centred(torch.eye(target.numel(), dtype=torch.float64), target)


E1 = np.array([[1.0, 0.0], [0.0, 0.0]])
