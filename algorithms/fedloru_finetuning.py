r"""FedLoRU for fine-tuning (Appendix C.1): pairs of factors are kept beside $W_0$, which stays as it is.

The model is $W_0 + \alpha\sum_iA_iB_i + \alpha AB$, over the stored pairs and the current one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from algorithms.adapter import AB
from algorithms.descent import descend, takes_values
from algorithms.federation import Client, Cohort, Federation, Memory, Reply
from algorithms.fedloru import FedLoRU
from algorithms.tree import Tree


class PairsState(NamedTuple):
    """Weights that never change, the pairs of factors accumulated beside them, factors, and rounds done."""

    base: Tree
    pairs: tuple[AB, ...]
    factors: AB
    rounds: int


@dataclass(frozen=True)
class FineTuneFedLoRU(FedLoRU):
    """The algorithm; the restarts are those of `FedLoRU`."""

    def start(self, fed: Federation, w: Tree) -> PairsState:  # type: ignore[override]
        """The state before the first round; every client is told the weights."""
        fed.broadcast(base=w)
        fed.set_shared(pairs=())
        return PairsState(w, (), self.adapter.factors(w), 0)

    def round(self, fed: Federation, cohort: Cohort, state: PairsState) -> PairsState:  # type: ignore[override]
        """One round."""
        factors = fed.mean(train_beside_pairs, to=cohort, draw=self.local.draw, factors=state.factors, algorithm=self)
        rounds = state.rounds + 1
        if rounds % self.tau:
            return state._replace(factors=factors, rounds=rounds)
        pair = factors._replace(rest=Tree())
        fed.broadcast(accumulated=pair)
        pairs = (*state.pairs, pair)
        fed.set_shared(pairs=pairs)
        return PairsState(state.base, pairs, self.restart_factors(fed, state.base, factors, rounds), rounds)

    def weights(self, state: PairsState) -> Tree:  # type: ignore[override]
        """The model."""
        return self.client_model(state, state.factors)

    def values(self, state: PairsState) -> Tree:
        """The model through its pairs of factors."""
        return self.adapter.values(add_pairs(state.base, state.pairs, self.adapter.values), state.factors)

    def client_model(self, state: PairsState, sent: AB) -> Tree:  # type: ignore[override]
        """The model that a client trained in a round, from what it sent."""
        return self.adapter.weights(add_pairs(state.base, state.pairs, self.adapter.weights), sent)


def train_beside_pairs(client: Client, memory: Memory, factors: AB, algorithm: FineTuneFedLoRU) -> Reply:
    """Local steps in the current factors, the stored pairs frozen."""
    adapter = algorithm.adapter
    add = adapter.values if takes_values(client) else adapter.weights
    base = add_pairs(memory.shared["base"], memory.shared["pairs"], add)
    trained, personal = descend(client, factors, algorithm.local, memory, adapter.assembler(client, base))
    return Reply(upload=trained, personal=personal)


def add_pairs(base: Tree, pairs: tuple[AB, ...], add: Callable[[Any, AB], Tree]) -> Tree:
    """The weights with the stored pairs."""
    for kept in pairs:
        base = add(base, kept)
    return base
