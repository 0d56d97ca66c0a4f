"""Iterations on samples, for Lemma 5.3 and Theorem 5.4."""

from __future__ import annotations

import numpy as np
import torch

from algorithms.exact_rolora import ExactRoLoRA
from algorithms.federation import Federation
from algorithms.rounds import final, go_on, one_round
from algorithms.tree import Tree
from toymodels.regression import regression


def after_iterations(
    d: int, N: int, m: int | None, s: float, sine: float, turns: int, rng: np.random.Generator
) -> tuple[float, ...]:
    r"""Return the angle distance after some iterations, the product's squared error with the next b, and the loss.

    All in units of $\|b^*\|$; without m the population loss.
    """
    problem = regression(d, d, N, rng, samples=m, sine=sine, constants=False)
    target = problem.clients[0].target
    scale = float((target**2).sum())
    algorithm = ExactRoLoRA(s / scale)
    fed = Federation(problem.clients)
    state = algorithm.start(fed, Tree(problem.start))
    state = final(go_on(algorithm.round, fed, state, turns), state)
    state = one_round(algorithm.refit, fed, state)
    truth, a = problem.facts["truth"], state.A["W"]
    sine_after = float(torch.linalg.vector_norm(a - truth * (truth * a).sum()))
    W = algorithm.weights(state)
    loss = sum(float(client.loss(W)) for client in problem.clients) / N
    return sine_after, float(((W["W"] - target) ** 2).sum()) / scale, loss / scale


FIXED = (
    r"$\|X_i^\top X_i/m - I\|_{op} \le \frac3{10}\sqrt{1 - (\delta^0)^2}$ for every client and "
    r"$\eta \le 1/(2L_{max}^2)$"
)
"""The hypothesis of the statements without a probability."""
