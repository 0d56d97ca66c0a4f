r"""FedLoRA: FedAvg of LoRA, both factors of $W_0 + \alpha AB$ trained at once and averaged apart; RoLoRA's `LoRA`.

The frozen $W_0$ is told to every client at the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from algorithms.adapter import AB, Adapted, Adapter, LoRAState
from algorithms.descent import Descent, descend
from algorithms.federation import Client, Cohort, Federation, Memory, Reply, Then
from algorithms.tree import Tree


@dataclass(frozen=True)
class LoRA:
    """The common part of algorithms with factors beside a base: the start, the exchange that trains both, and the model.

    Attributes:
        local: Local steps.
        adapter: Rank, scale and start of the factors.
    """

    local: Descent
    adapter: Adapter

    def start(self, fed: Federation, w: Tree) -> LoRAState:
        """The state before the first round; every client is told the frozen weights."""
        fed.broadcast(base=w)
        return LoRAState(w, self.adapter.factors(w))

    def train(self, fed: Federation, cohort: Cohort, factors: AB | Mapping[int, AB], then: Then | None = None) -> Any:
        """The mean of a cohort's trained factors, or of what the server makes of each client's.

        Args:
            fed: The federation.
            cohort: Clients that train.
            factors: Factors for the whole cohort; or for each of its clients, by its number.
            then: Function that the server applies to each client's factors, before the mean.
        """
        common: dict[str, Any] = {"factors": factors} if isinstance(factors, AB) else {}
        each = {} if isinstance(factors, AB) else {"factors": factors}
        return fed.mean(
            train_factors,
            to=cohort,
            draw=self.local.draw,
            each=each,
            then=then,
            local=self.local,
            adapter=self.adapter,
            **common,
        )

    def weights(self, state: Adapted) -> Tree:
        """The model."""
        return self.adapter.weights(state.base, state.factors)

    def values(self, state: Any) -> Tree:
        """The model through its factors."""
        return self.adapter.values(state.base, state.factors)


@dataclass(frozen=True)
class FedLoRA(LoRA):
    """The algorithm."""

    def round(self, fed: Federation, cohort: Cohort, state: LoRAState) -> LoRAState:
        """One round."""
        return state._replace(factors=self.train(fed, cohort, state.factors))

    def client_model(self, state: LoRAState, sent: AB) -> Tree:
        """The model that a client trained in a round, from what it sent."""
        return self.adapter.weights(state.base, sent)


def train_factors(client: Client, memory: Memory, factors: AB, local: Descent, adapter: Adapter) -> Reply:
    """Local steps in both factors at once."""
    trained, personal = descend(client, factors, local, memory, adapter.assembler(client, memory.shared["base"]))
    return Reply(upload=trained, personal=personal)
