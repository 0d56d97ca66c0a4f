r"""FedLoRA: FedAvg of LoRA, both factors of $W_0 + \alpha AB$ trained at once and averaged apart; RoLoRA's `LoRA`.

The frozen $W_0$ is told to every client at the start.
"""

from __future__ import annotations

from dataclasses import dataclass

from algorithms.adapter import AB, Adapter, LoRAState
from algorithms.descent import Descent, descend
from algorithms.federation import Client, Cohort, Federation, Memory, Reply
from algorithms.tree import Tree


@dataclass(frozen=True)
class LoRA:
    """What the algorithms with a frozen base share: the start and the model.

    Attributes:
        local: Local steps.
        adapter: Rank, scale and start of the factors.
    """

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
class FedLoRA(LoRA):
    """The algorithm."""

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


def train_factors(client: Client, memory: Memory, factors: AB, local: Descent, adapter: Adapter) -> Reply:
    """Local steps in both factors at once."""
    trained, personal = descend(client, factors, local, memory, adapter.over(client, memory.shared["base"]))
    return Reply(upload=trained, personal=personal)
