r"""Fed-SB (Singhal et al., 2025): LoRA-SB in a federation; only the matrix R of $W_0 + \alpha ARB$ is trained.

A and B are frozen, and R is ``(r, r)``, so the average of R is the average of the products. Before the first round,
every client sends the gradient of its loss at $W_0$ once. The first step of full training with AdamW is
$-\eta\,\mathrm{sgn}(G) = U\Sigma V^T$ with the mean gradient G. A and B are the first r columns of U and rows of $V^T$,
and $R = \Sigma_r/\alpha$, so the model starts with the best approximation of that step. The released code
estimates G from a few samples of all clients together, and we take all samples. For $\eta$ it takes the rate of the
first step of a warm-up. The start in a federation follows that code and LoRA-SB, because we have not read the paper's
text on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import ClassVar, Literal, NamedTuple

import torch

from algorithms.adapter import AB, Adapter, factorised_names
from algorithms.descent import Descent, descend, gradient
from algorithms.federation import Client, Cohort, Federation, FederationError, Memory, Reply
from algorithms.fedlora import LoRA
from algorithms.low_rank import singular_triples
from algorithms.rolora import Half
from algorithms.tree import Tree

FirstStep = Literal["sign", "gradient"]
FIRST_STEPS: tuple[FirstStep, ...] = ("sign", "gradient")


class ARB(NamedTuple):
    """The three factors of every layer's update: A ``(m, r)``, R ``(r, r)`` and B ``(r, n)``."""

    A: Tree
    R: Tree
    B: Tree


class FedSBState(NamedTuple):
    """Frozen weights, the three factors, and the weights that are not factorised."""

    base: Tree
    update: ARB
    rest: Tree

    @property
    def factors(self) -> AB:
        """The update as two factors, A and RB."""
        A, R, B = self.update
        return AB(A, R @ B, self.rest)


@dataclass(frozen=True)
class FedSB(LoRA):
    r"""One round is $R \leftarrow \sum_k s_kR_k$ in the model $W_0 + \alpha ARB$ with $W_0$, A and B frozen.

    Attributes:
        first_step: The step whose singular vectors A and B are: along the signs of the mean gradient (`sign`), or along
            the gradient itself (`gradient`), as plain descent takes it.
        first_rate: Learning rate $\eta$ of that step; default: that of the first local step.

    Raises:
        FederationError: The kind of step is unknown, or its rate is not positive and finite.
    """

    trains_pairs: ClassVar[bool] = False

    first_step: FirstStep = "sign"
    first_rate: float | None = None
    makes_factors: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.first_step not in FIRST_STEPS:
            raise FederationError(f"first_step must be one of {FIRST_STEPS}, got {self.first_step!r}")
        if self.first_rate is not None and not (isfinite(self.first_rate) and self.first_rate > 0.0):
            raise FederationError(f"first_rate must be positive and finite, got {self.first_rate}")

    def start(self, fed: Federation, w: Tree) -> FedSBState:  # type: ignore[override]
        """Broadcast the weights, collect all clients' gradients, and broadcast A and B.

        Raises:
            FederationError: The rank does not fit a layer.
        """
        self.adapter.matrices(w)  # before any work
        fed.broadcast(base=w)
        G = fed.mean(first_gradient, to=fed.everyone, layers=self.adapter.layers)
        update = self.first_factors(G)
        fed.broadcast(A=update.A, B=update.B)
        return FedSBState(w, update, Tree() if self.adapter.rest == "frozen" else w.but(update.A))

    def round(self, fed: Federation, cohort: Cohort, state: FedSBState) -> FedSBState:
        """Do one round and return the new state."""
        start = Half(state.update.R, state.rest)
        R, rest = fed.mean(
            train_R, to=cohort, draw=self.local.draw, start=start, local=self.local, adapter=self.adapter
        )
        return FedSBState(state.base, state.update._replace(R=R), rest)

    def first_factors(self, G: Tree) -> ARB:
        """Return the factors of the best approximation of the first step, from the mean gradient."""
        rate = self.local.rate() if self.first_rate is None else self.first_rate
        A, R, B = {}, {}, {}
        for name, matrix in self.adapter.matrices(G).items():
            step = -rate * (matrix.sign() if self.first_step == "sign" else matrix)
            U, sigma, V = singular_triples(step, self.adapter.rank_of(name))
            found = (U, torch.diag(sigma) / self.adapter.scale, V.mT)
            A[name], R[name], B[name] = (factor.to(self.adapter.like(G[name])) for factor in found)
        return ARB(Tree(A), Tree(R), Tree(B))


def first_gradient(client: Client, memory: Memory, layers: str | None) -> Reply:
    """Compute the client's gradient in the factorised weights at the start."""
    G = gradient(client, memory.shared["base"])
    return Reply(upload=G.only(factorised_names(G, layers)))


def train_R(client: Client, memory: Memory, start: Half, local: Descent, adapter: Adapter) -> Reply:
    """Take local steps in R and the rest, with A and B frozen."""
    A, B, base = (memory.shared[name] for name in ("A", "B", "base"))
    trained, personal = descend(
        client, start, local, memory, lambda at: adapter.weights_for(client, base, AB(A, at.factor @ B, at.rest))
    )
    return Reply(upload=trained, personal=personal)
