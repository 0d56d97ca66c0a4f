r"""FedLoRU for fine-tuning (Appendix C.1): $W_0$ stays frozen, and accumulated pairs of factors are stored.

The model is $W_0 + \alpha\sum_iA_iB_i + \alpha AB$, with the sum over the stored pairs.
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
    """The frozen weights, the stored pairs of factors, the current factors, and the number of completed rounds."""

    base: Tree
    pairs: tuple[AB, ...]
    factors: AB
    rounds: int


@dataclass(frozen=True)
class FineTuneFedLoRU(FedLoRU):
    """FedLoRU that stores the pair (A, B) every tau rounds instead of adding it to W; restarts as in `FedLoRU`."""

    def start(self, fed: Federation, w: Tree) -> PairsState:  # type: ignore[override]
        """Broadcast the weights and return the state before the first round."""
        fed.broadcast(base=w)
        fed.set_shared(pairs=())
        return PairsState(w, (), self.adapter.factors(w), 0)

    def round(self, fed: Federation, cohort: Cohort, state: PairsState) -> PairsState:  # type: ignore[override]
        """Do one round and return the new state."""
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
        """Return the weights of the model."""
        return self.client_model(state, state.factors)

    def values(self, state: PairsState) -> Tree:
        """Return the model as factors through which layers compute."""
        return self.adapter.values(add_pairs(state.base, state.pairs, self.adapter.values), state.factors)

    def client_model(self, state: PairsState, sent: AB) -> Tree:  # type: ignore[override]
        """Return the model that a client trained in a round, given its upload."""
        return self.adapter.weights(add_pairs(state.base, state.pairs, self.adapter.weights), sent)


def train_beside_pairs(client: Client, memory: Memory, factors: AB, algorithm: FineTuneFedLoRU) -> Reply:
    """Take local steps in the current factors, with the stored pairs frozen."""
    adapter = algorithm.adapter
    add = adapter.values if takes_values(client) else adapter.weights
    base = add_pairs(memory.shared["base"], memory.shared["pairs"], add)
    trained, personal = descend(
        client, factors, algorithm.local, memory, adapter.assembler(client, base), rates=adapter.rates(factors)
    )
    return Reply(upload=trained, personal=personal)


def add_pairs(base: Tree, pairs: tuple[AB, ...], add: Callable[[Any, AB], Tree]) -> Tree:
    """Add the stored pairs to the weights."""
    for kept in pairs:
        base = add(base, kept)
    return base
