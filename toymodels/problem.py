"""A federated problem with a known solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor


class ProblemError(ValueError):
    """Invalid numbers or shapes of a problem; the message names cause and remedy."""


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Clients, initial weights, and what is known about the losses.

    The global loss is $L(w) = \sum_k s_kL_k(w)$ with the clients' losses $L_k$ and `shares` $s_k$.

    Attributes:
        name: Name of the problem.
        clients: The clients, each with ``loss(w)``; see `algorithms.exchange.Client`.
        start: Initial weights by name, here a single matrix ``W``.
        shares: Weights of the clients in averages, of sum 1.
        smoothness: A Lipschitz constant L of every client's gradient in the Frobenius norm.
        minimiser: Minimiser of the global loss, if it is unique and known.
        least: Value of the global loss at the minimiser.
        facts: Further known numbers and tensors, by name.
        measures: Further functions of the weights to evaluate, by name.
    """

    name: str
    clients: Sequence[Any]
    start: Mapping[str, Tensor]
    shares: Sequence[float]
    smoothness: float
    minimiser: Mapping[str, Tensor] | None = None
    least: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    measures: Mapping[str, Callable[[Mapping[str, Tensor]], float]] = field(default_factory=dict)

    def loss(self, w: Mapping[str, Tensor]) -> float:
        """Return the global loss."""
        pairs = zip(self.shares, self.clients, strict=True)
        return float(sum(share * client.loss(w) for share, client in pairs))

    def evaluate_personal(self, weights_of: Callable[[int], Mapping[str, Tensor]], fed: Any = None) -> dict[str, float]:
        r"""Return `personal_loss`, $\sum_k s_kL_k(w_k)$ over the clients' own models $w_k$.

        Args:
            weights_of: Returns the model of a client, given its number.
            fed: The federation; not used here.
        """
        pairs = enumerate(zip(self.shares, self.clients, strict=True))
        return {"personal_loss": float(sum(share * client.loss(weights_of(k)) for k, (share, client) in pairs))}
