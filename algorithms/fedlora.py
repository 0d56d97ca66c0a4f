r"""FedLoRA: FedAvg of the factors A and B of $W_0 + \alpha AB$, each averaged separately; RoLoRA's baseline `LoRA`.

The frozen $W_0$ is broadcast at the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from algorithms.adapter import AB, Adapted, Adapter, LoRAState, require_rank_for_each
from algorithms.descent import Descent, descend
from algorithms.federation import Client, Cohort, Federation, Memory, Reply, Then
from algorithms.tree import Tree


@dataclass(frozen=True)
class LoRA:
    r"""The common part of algorithms with a model $W_0 + \alpha AB$: initial state, training of both factors, model.

    Attributes:
        local: Local steps.
        adapter: Rank, scale and initial values of the factors.
        kept_factor: Name of the factor that every client keeps for itself; then there is no common adapter to export.
        trains_pairs: Whether clients train A and B in the same steps, so that B may have a learning rate of its own.
    """

    local: Descent
    adapter: Adapter
    kept_factor: ClassVar[str] = ""
    trains_pairs: ClassVar[bool] = True

    def start(self, fed: Federation, w: Tree) -> LoRAState:
        """Broadcast the frozen weights and return the state before the first round.

        Raises:
            FederationError: Clients have ranks, but not one for each, or the adapter's rank does not fit a layer.
        """
        require_rank_for_each(getattr(self, "ranks", ()), len(fed.clients))  # of methods with ranks by client
        fed.broadcast(base=w)
        return LoRAState(w, self.adapter.factors(w))

    def train(self, fed: Federation, cohort: Cohort, factors: AB | Mapping[int, AB], then: Then | None = None) -> Any:
        """Train both factors at the clients of a cohort and return the mean of their factors.

        Args:
            fed: The federation.
            cohort: Clients that train.
            factors: Initial factors of the whole cohort, or of each client by its number.
            then: Function that the server applies to each client's factors before it averages them.
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
        """Return the weights of the model."""
        return self.adapter.weights(state.base, state.factors)

    def values(self, state: Any) -> Tree:
        """Return the model as factors through which layers compute."""
        return self.adapter.values(state.base, state.factors)


@dataclass(frozen=True)
class FedLoRA(LoRA):
    r"""One round is $A \leftarrow \sum_k s_kA_k$ and $B \leftarrow \sum_k s_kB_k$ over the clients' trained factors."""

    def round(self, fed: Federation, cohort: Cohort, state: LoRAState) -> LoRAState:
        """Do one round and return the new state."""
        return state._replace(factors=self.train(fed, cohort, state.factors))

    def client_model(self, state: LoRAState, sent: AB) -> Tree:
        """Return the model that a client trained in a round, given its upload."""
        return self.adapter.weights(state.base, sent)


def train_factors(client: Client, memory: Memory, factors: AB, local: Descent, adapter: Adapter) -> Reply:
    """Take local steps in both factors at once."""
    trained, personal = descend(
        client, factors, local, memory, adapter.assembler(client, memory.shared["base"]), rates=adapter.rates(factors)
    )
    return Reply(upload=trained, personal=personal)
