r"""Algorithm 2 on the same samples in all iterations, whose Gram matrices are a given distance from the identity.

With $\|b^*\| = 1$, $c_0 = |a^{0\top}a^*|$ and $S_i = X_i^\top X_i/m$ the distance is $\|S_i - I\|_{op} = kc_0$. One
case is the worst single client: $(S - I)a^0$ turns the clients' minimiser as far from g as that distance allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

from algorithms.adapter import AB
from algorithms.exact_rolora import ExactRoLoRA
from algorithms.federation import Federation
from algorithms.rounds import go_on, one_round
from algorithms.tree import Tree
from paper_checks.context import Context
from toymodels.regression import Regressor

SHARES = (0.3, 0.95)
"""Distances over the first cosine: one that is allowed, one that is not."""


@dataclass(frozen=True)
class FixedRun:
    r"""One run.

    Attributes:
        share: k.
        s: step.
        cosine: $c_0$.
        factors: $(\delta^{t+1}/\delta^t)^2$ of every iteration.
        product_factor: at the end, squared error of the product over $(\delta^T)^2$.
    """

    share: float
    s: float
    cosine: float
    factors: tuple[float, ...]
    product_factor: float


def worst_gram(distance: float) -> np.ndarray:
    """Return a Gram matrix in the plane, a on the first axis: the minimiser is off by the most, against a*."""
    side = np.sqrt(1.0 - distance**2)
    return np.eye(2) + distance * np.array([[-distance, -side], [-side, distance]])


def follow(grams: list[np.ndarray], cosine: float, s: float, share: float, turns: int) -> FixedRun:
    """Follow iterations of the toolkit's Algorithm 2 from a = e_1, a* = (cosine, sine, 0, ...)."""
    d = len(grams[0])
    truth, own = np.zeros((d, 1)), np.zeros((1, d))
    truth[0, 0], truth[1, 0], own[0, 0] = cosine, np.sqrt(1.0 - cosine**2), 1.0
    target, start = torch.from_numpy(truth @ own), np.zeros((d, d))
    start[0, 0] = 1.0
    fed = Federation(tuple(Regressor(torch.from_numpy(G), target) for G in grams))
    algorithm = ExactRoLoRA(s)
    state = first = algorithm.start(fed, Tree(W=torch.from_numpy(start)))

    def sine_squared(state: AB) -> float:
        a = state.A["W"].numpy()
        return float(((a - truth * (truth.T @ a)) ** 2).sum())

    factors, before = [], sine_squared(first)
    for state in go_on(algorithm.round, fed, first, turns):
        factors.append(sine_squared(state) / before)
        before = sine_squared(state)
        if before < 1e-12:
            break
    state = one_round(algorithm.refit, fed, state)
    error = float(((algorithm.weights(state)["W"] - target) ** 2).sum())
    return FixedRun(share, s, cosine, tuple(factors), error / before)


def fixed_runs(context: Context) -> list[FixedRun]:
    """Follow the worst client at several angles and steps, then clients with random eigenvectors."""
    found = []
    for share, cosine, s in product(SHARES, (0.05, 0.3, 0.9, 0.999), (0.05, 0.5)):
        found.append(follow([worst_gram(share * cosine)], cosine, s, share, 12))
    rng = context.rng("grams")
    for share, (N, d), _ in product(SHARES, ((1, 2), (2, 3), (5, 6)), range(context.size(2, 20))):
        cosine, grams = float(rng.uniform(0.02, 0.99)), []
        for _ in range(N):
            basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
            grams.append(np.eye(d) + share * cosine * (basis * rng.choice([-1.0, 1.0], d)) @ basis.T)
        found.append(follow(grams, cosine, float(rng.choice([0.01, 0.25, 0.5])), share, 30))
    return found


def excess(run: FixedRun, rate: float = 1.0) -> float:
    """Return the largest amount by which an iteration, or the product at the end, misses what the theorem states."""
    allowed = 1.0 - rate * run.s * run.cosine**2
    distance = (run.share * run.cosine) ** 2
    product_allowed = 1.0 / (1.0 - distance) if distance < 1.0 else np.inf
    return max(max(run.factors) - allowed, run.product_factor - product_allowed)
