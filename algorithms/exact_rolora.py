r"""RoLoRA, Algorithm 2, for the rank-1 regressor: exact minimisation in b, then a normalised gradient step in a."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from algorithms.adapter import AB
from algorithms.descent import gradient
from algorithms.federation import Client, Cohort, Federation, FederationError, Memory, Reply
from algorithms.tree import Tree


@dataclass(frozen=True)
class ExactRoLoRA:
    r"""Alternates $b \leftarrow \sum_k s_k\arg\min_b L_k(ab)$ and a normalised $a \leftarrow a - \eta\nabla_aL(ab)$.

    The clients can compute the minimiser of their loss in b at a given a (`best_b`). The state is ``(a, b)``: a unit
    vector ``(m, 1)``, and ``(1, n)``. As in the box, $b^t$ belongs to $a^{t-1}$. The theorems pair $a^T$ with the next
    b, which `refit` returns.

    Attributes:
        learning_rate: $\eta$ of the gradient step.
        rounds_of_b_only: Do not update a: FFA-LoRA on the same problem.
    """

    learning_rate: float
    rounds_of_b_only: bool = False

    def start(self, fed: Federation, w: Tree) -> AB:
        r"""Return the initial state: $a^0$, the first left singular vector of the initial weights, and b = 0.

        Raises:
            FederationError: An initial matrix is zero, so its direction is not defined.
        """
        for name, W in w.items():
            if W.ndim != 2 or not bool(W.any()):
                raise FederationError(
                    f"the exact scheme starts from the direction of {name}: a matrix that is not 0; other methods, "
                    "such as RoLoRA, train convolutions"
                )
        a = w.map(lambda W: torch.linalg.svd(W, full_matrices=False)[0][:, :1])
        return AB(a, w.map(lambda W: W.new_zeros(1, W.shape[1])))

    def round(self, fed: Federation, cohort: Cohort, state: AB) -> AB:
        """Do one iteration, which is two communication rounds."""
        a, b, _ = self.refit(fed, cohort, state)
        if self.rounds_of_b_only:
            return AB(a, b)
        gradient_a = fed.mean(slope_in_a, to=cohort, b=b)
        stepped = a - self.learning_rate * gradient_a
        return AB(stepped.map(lambda column: column / torch.linalg.vector_norm(column)), b)

    def refit(self, fed: Federation, cohort: Cohort, state: AB) -> AB:
        """Return the state after the first half of an iteration: the same a, with the mean of the clients' best b."""
        return AB(state.A, fed.mean(minimise_b, to=cohort, a=state.A))

    def weights(self, state: AB) -> Tree:
        """Return the model $ab$."""
        return state.A @ state.B


def minimise_b(client: Any, memory: Memory, a: Tree) -> Reply:
    """Minimise the client's loss in b at a given a.

    Raises:
        FederationError: The client has no method `best_b`, or the minimiser is not unique.
    """
    if not hasattr(client, "best_b"):
        raise FederationError(
            f"{type(client).__name__} has no closed form for b; the exact scheme needs a regression, RoLoRA does not"
        )
    try:
        b = client.best_b(a)
    except ValueError as error:
        raise FederationError(str(error)) from error
    return Reply(upload=b, keep={"a": a})


def slope_in_a(client: Client, memory: Memory, b: Tree) -> Reply:
    """Compute the gradient in a at the mean b."""
    return Reply(upload=gradient(client, memory.kept["a"], lambda a: a @ b))
