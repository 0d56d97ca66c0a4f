r"""Algorithm 2 of RoLoRA on a regression, and the angle between its a and the true $a^*$ at every iteration."""

from __future__ import annotations

import numpy as np
import torch

from algorithms.adapter import AB
from algorithms.exact_rolora import ExactRoLoRA
from algorithms.federation import Federation
from algorithms.rounds import one_round
from algorithms.tree import Tree
from toymodels.problem import Problem
from toymodels.regression import with_fresh_data


def rate_of(problem: Problem, step: float) -> float:
    r"""Return $\eta$ for which $\eta\|\bar b^*\|^2$ is the given step."""
    return step / float((problem.facts["mean_B"] ** 2).sum())


def angle_of(problem: Problem, state: AB) -> float:
    r"""Return $\|(I - a^*a^{*T})a\|$ of a unit a, accurate to the last digits even if small (Definition 5.2)."""
    a, truth = state.A["W"], problem.facts["truth"]
    return float(torch.linalg.vector_norm(a - truth @ (truth.mT @ a)))


def run_exact(
    problem: Problem, step: float, iterations: int, fresh: np.random.Generator | None = None
) -> tuple[np.ndarray, AB]:
    r"""Return the angle distances of $a^0$ to $a^T$, shape ``(iterations + 1,)``, and $(a^T, b^{T+1})$.

    Args:
        problem: Regression of rank 1.
        step: $\eta\|\bar b^*\|^2$.
        iterations: T.
        fresh: Draws new samples for every iteration; by default the samples stay.
    """
    algorithm = ExactRoLoRA(rate_of(problem, step))
    fed = Federation(problem.clients, shares=problem.shares)
    state = algorithm.start(fed, Tree(problem.start))
    angles = [angle_of(problem, state)]
    for number in range(iterations):
        if fresh is not None and number:
            clients = with_fresh_data(problem, fresh, constants=False).clients
            fed = Federation(clients, shares=problem.shares, state=fed.state, ledger=fed.ledger)
        state = one_round(algorithm.round, fed, state)
        angles.append(angle_of(problem, state))
    return np.array(angles), one_round(algorithm.refit, fed, state)
