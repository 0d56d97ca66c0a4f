"""Gradients of a client's loss in any parameters of its weights, and local steps along them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from algorithms.federation import Client, FederationError, Memory

Assemble = Callable[[Any], Mapping[str, Tensor]]
"""From parameters, such as factors, to weights; differentiable."""


@dataclass(frozen=True)
class Descent:
    """Local steps of every client.

    Attributes:
        steps: Number of steps in a round.
        learning_rate: Of each step.
        batch: Samples of a step, drawn without replacement for each; all of them by default.

    Raises:
        FederationError: A value out of its range.
    """

    steps: int = 1
    learning_rate: float = 1e-2
    batch: int | None = None

    def __post_init__(self) -> None:
        if self.steps < 1 or not 0.0 < self.learning_rate < float("inf") or (self.batch is not None and self.batch < 1):
            raise FederationError(
                "steps and batch must be at least 1 and the learning rate positive, got "
                f"{self.steps}, {self.batch} and {self.learning_rate}"
            )

    def draw(self, client: Client, rng: np.random.Generator) -> Tensor | None:
        """Indices of the samples of each step, shape ``(steps, batch)``; none for full batches."""
        if self.batch is None:
            return None
        count = int(client.samples)
        return torch.from_numpy(np.stack([rng.permutation(count)[: self.batch] for _ in range(self.steps)]))


def weights(parameters: Any) -> Mapping[str, Tensor]:
    """Parameters that are the weights themselves."""
    return parameters


def gradient(client: Client, at: Any, assemble: Assemble = weights, batch: Tensor | None = None) -> Any:
    """The gradient of a client's loss in every tensor of the parameters.

    Where the client knows the gradient in its weights, that is pulled back; else the loss is differentiated.
    """
    own = getattr(client, "gradient", None)
    if own is None:
        return torch.func.grad(lambda parameters: client.loss(assemble(parameters), batch))(at)
    if assemble is weights:
        return own(at, batch)
    pulled: Any = torch.func.vjp(assemble, at)
    w, pull = pulled
    return pull(own(w, batch))[0]


def descend(
    client: Client,
    start: Any,
    settings: Descent,
    memory: Memory,
    assemble: Assemble = weights,
    correction: Any = None,
) -> Any:
    """Local steps ``w - rate (gradient + correction)`` from given parameters.

    Args:
        client: Whose loss it is.
        start: Parameters: a tree, or mappings and tuples of trees.
        settings: Number and size of the steps.
        memory: Its drawn numbers are the batches.
        assemble: From parameters to weights.
        correction: Added to every gradient; of the parameters' structure.
    """
    w = start
    for step in range(settings.steps):
        slope = gradient(client, w, assemble, None if memory.drawn is None else memory.drawn[step])
        if correction is not None:
            slope = pytree.tree_map(torch.add, slope, correction)
        w = pytree.tree_map(lambda value, change: value - settings.learning_rate * change, w, slope)
    return w
