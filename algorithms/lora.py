r"""Federated training of $W_0 + \alpha AB$: FedLoRA, FFA-LoRA, RoLoRA and FlexLoRA.

A is ``(m, r)`` and B ``(r, n)`` for a layer of shape ``(m, n)``. The frozen $W_0$ is told to every client at the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from algorithms.descent import Assemble, Descent, descend, gradient
from algorithms.federation import Client, Cohort, Federation, FederationError, Memory, Reply
from algorithms.tree import Tree

SPLITS = ("balanced", "left", "right")


class AB(NamedTuple):
    r"""Factors of the update of every layer: A ``(m, r)``, B ``(r, n)``."""

    A: Tree
    B: Tree


@dataclass(frozen=True)
class Adapter:
    r"""The update $\alpha AB$ and its start: A normal with variance 1/m, B zero.

    Attributes:
        rank: r, at most the smaller side of every layer.
        scale: $\alpha$.
        seed: Of the start.

    Raises:
        FederationError: A rank or a scale out of its range.
    """

    rank: int
    scale: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rank < 1 or not np.isfinite(self.scale) or self.scale == 0.0:
            raise FederationError(f"rank must be at least 1 and scale not 0, got {self.rank} and {self.scale}")

    def factors(self, w: Mapping[str, Tensor], turn: int = 0) -> AB:
        """Fresh factors, the same on every call with the same turn.

        Raises:
            FederationError: The rank does not fit a layer.
        """
        generator = torch.Generator().manual_seed(int(np.random.SeedSequence([self.seed, turn]).generate_state(1)[0]))
        A, B = {}, {}
        for name, W in w.items():
            if W.ndim != 2 or self.rank > min(W.shape):
                raise FederationError(f"rank {self.rank} does not fit {name} of shape {tuple(W.shape)}")
            m, n = W.shape
            A[name] = torch.randn(m, self.rank, generator=generator, dtype=torch.float64).to(W) / m**0.5
            B[name] = W.new_zeros(self.rank, n)
        return AB(Tree(A), Tree(B))

    def weights(self, base: Mapping[str, Tensor], factors: AB) -> Tree:
        r"""$W_0 + \alpha AB$."""
        return self.scale * (factors.A @ factors.B) + base

    def over(self, base: Mapping[str, Tensor]) -> Assemble:
        """The weights as a function of the factors."""
        return lambda factors: self.weights(base, factors)


class LoRAState(NamedTuple):
    """Frozen weights and factors."""

    base: Tree
    factors: AB


@dataclass(frozen=True)
class _LoRA:
    """What the algorithms of this module share: the start and the model."""

    local: Descent
    adapter: Adapter

    def start(self, fed: Federation, w: Tree) -> LoRAState:
        """The state before the first round; every client is told the frozen weights."""
        fed.tell(base=w)
        return LoRAState(w, self.adapter.factors(w))

    def weights(self, state: LoRAState) -> Tree:
        """The model."""
        return self.adapter.weights(state.base, state.factors)


@dataclass(frozen=True)
class FedLoRA(_LoRA):
    """FedAvg of LoRA: both factors trained at once and averaged apart; RoLoRA's baseline `LoRA`."""

    def round(self, fed: Federation, cohort: Cohort, state: LoRAState) -> LoRAState:
        """One round."""
        factors = fed.mean(
            train_factors,
            to=cohort,
            draw=self.local.draw,
            factors=state.factors,
            local=self.local,
            adapter=self.adapter,
        )
        return state._replace(factors=factors)


@dataclass(frozen=True)
class FFALoRA(_LoRA):
    """FFA-LoRA: A stays as it was drawn; B is trained and averaged."""

    def start(self, fed: Federation, w: Tree) -> LoRAState:
        """The state before the first round; every client is told the frozen weights and A."""
        state = super().start(fed, w)
        fed.tell(A=state.factors.A)
        return state

    def round(self, fed: Federation, cohort: Cohort, state: LoRAState) -> LoRAState:
        """One round."""
        A, B = state.factors
        B = fed.mean(train_B, to=cohort, draw=self.local.draw, B=B, local=self.local, adapter=self.adapter)
        return state._replace(factors=AB(A, B))


@dataclass(frozen=True)
class RoLoRA(_LoRA):
    """RoLoRA, Algorithm 1: B with A frozen, then A with B frozen, each averaged.

    Attributes:
        frozen_a: Leave the second trip out: FFA-LoRA by the same code.
    """

    frozen_a: bool = False

    def start(self, fed: Federation, w: Tree) -> LoRAState:
        """The state before the first round; every client is told the frozen weights and both factors."""
        state = super().start(fed, w)
        fed.tell(A=state.factors.A, B=state.factors.B)
        return state

    def round(self, fed: Federation, cohort: Cohort, state: LoRAState) -> LoRAState:
        """One iteration: two communication rounds."""
        A, B = state.factors
        # What is broadcast at the end of one half is what the other half starts from.
        B = fed.mean(train_B, to=cohort, draw=self.local.draw, local=self.local, adapter=self.adapter)
        fed.tell(B=B)
        if not self.frozen_a:
            A = fed.mean(train_A, to=cohort, draw=self.local.draw, local=self.local, adapter=self.adapter)
            fed.tell(A=A)
        return state._replace(factors=AB(A, B))


@dataclass(frozen=True)
class FlexLoRA(_LoRA):
    """FlexLoRA: the mean of the clients' products, cut to the rank by its singular values.

    Attributes:
        split: Where the singular values go: half to each factor, to A (`left`) or to B (`right`).

    Raises:
        FederationError: An unknown split.
    """

    split: str = "balanced"

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise FederationError(f"split must be one of {SPLITS}, got {self.split!r}")

    def round(self, fed: Federation, cohort: Cohort, state: LoRAState) -> LoRAState:
        """One round."""
        update = fed.mean(
            train_factors,
            to=cohort,
            draw=self.local.draw,
            then=product_of,
            factors=state.factors,
            local=self.local,
            adapter=self.adapter,
        )
        return state._replace(factors=best_factors(update, self.adapter.rank, self.split))


def product_of(factors: AB) -> Tree:
    """$AB$."""
    return factors.A @ factors.B


def best_factors(update: Tree, rank: int, split: str) -> AB:
    """Factors of the best approximation of given rank."""
    A, B = {}, {}
    for name, W in update.items():
        U, sigma, Vh = torch.linalg.svd(W, full_matrices=False)
        U, sigma, Vh = U[:, :rank], sigma[:rank], Vh[:rank]
        left = {"balanced": sigma.sqrt(), "left": sigma, "right": torch.ones_like(sigma)}[split]
        right = {"balanced": sigma.sqrt(), "left": torch.ones_like(sigma), "right": sigma}[split]
        A[name], B[name] = U * left, right[:, None] * Vh
    return AB(Tree(A), Tree(B))


def train_factors(client: Client, memory: Memory, factors: AB, local: Descent, adapter: Adapter) -> Reply:
    """Local steps in both factors at once."""
    return Reply(upload=descend(client, factors, local, memory, adapter.over(memory.shared["base"])))


def train_B(client: Client, memory: Memory, local: Descent, adapter: Adapter, B: Tree | None = None) -> Reply:
    """Local steps in B."""
    A, base = memory.shared["A"], memory.shared["base"]
    start = memory.shared["B"] if B is None else B
    return Reply(upload=descend(client, start, local, memory, lambda b: adapter.weights(base, AB(A, b))))


def train_A(client: Client, memory: Memory, local: Descent, adapter: Adapter) -> Reply:
    """Local steps in A."""
    B, base = memory.shared["B"], memory.shared["base"]
    return Reply(upload=descend(client, memory.shared["A"], local, memory, lambda a: adapter.weights(base, AB(a, B))))


@dataclass(frozen=True)
class ExactRoLoRA:
    r"""RoLoRA, Algorithm 2: the rank-1 regressor, b minimised exactly, one normalised gradient step in a.

    The clients know the minimiser of their loss in b at a given a (`best_b`). The state is ``(a, b)``: a unit vector
    ``(m, 1)`` and ``(1, n)``. As in the box, $b^t$ belongs to $a^{t-1}$; the theorems speak of $a^T$ with the next
    one, which `refitted` gives.

    Attributes:
        learning_rate: $\eta$ of the gradient step.
        rounds_of_b_only: a stays as it was: FFA-LoRA on the same problem.
    """

    learning_rate: float
    rounds_of_b_only: bool = False

    def start(self, fed: Federation, w: Tree) -> AB:
        r"""From $a^0$, the first left singular vector of the start, and b = 0.

        Raises:
            FederationError: A start that is zero, which has no direction.
        """
        for name, W in w.items():
            if W.ndim != 2 or not bool(W.any()):
                raise FederationError(f"the exact scheme starts from the direction of {name}: a matrix that is not 0")
        a = w.map(lambda W: torch.linalg.svd(W, full_matrices=False)[0][:, :1])
        return AB(a, w.map(lambda W: W.new_zeros(1, W.shape[1])))

    def round(self, fed: Federation, cohort: Cohort, state: AB) -> AB:
        """One iteration: two communication rounds."""
        a, b = self.refitted(fed, cohort, state)
        if self.rounds_of_b_only:
            return AB(a, b)
        slope = fed.mean(slope_in_a, to=cohort, b=b)
        stepped = a - self.learning_rate * slope
        return AB(stepped.map(lambda column: column / torch.linalg.vector_norm(column)), b)

    def refitted(self, fed: Federation, cohort: Cohort, state: AB) -> AB:
        """The first half of an iteration: a as it is, with the mean of the clients' best b for it."""
        return AB(state.A, fed.mean(minimise_b, to=cohort, a=state.A))

    def weights(self, state: AB) -> Tree:
        """The model."""
        return state.A @ state.B


def minimise_b(client: Any, memory: Memory, a: Tree) -> Reply:
    """The best b at a given a.

    Raises:
        FederationError: The client does not know it, or there is no single one.
    """
    if not hasattr(client, "best_b"):
        raise FederationError(f"{type(client).__name__} has no closed form for b; the exact scheme needs a regression")
    try:
        b = client.best_b(a)
    except ValueError as error:
        raise FederationError(str(error)) from error
    return Reply(upload=b, keep={"a": a})


def slope_in_a(client: Client, memory: Memory, b: Tree) -> Reply:
    """The gradient in a at the mean b."""
    return Reply(upload=gradient(client, memory.kept["a"], lambda a: a @ b))
