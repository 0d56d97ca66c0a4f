r"""FedLoRU, Algorithm 1: low-rank updates that accumulate.

The model is $W + \alpha AB$. Every $\tau$ rounds, each client adds the averaged $\alpha AB$ to its W, and the factors
restart. The listing of Algorithm 1 omits the restart, so the same product counts twice. The paper's Appendix B
restarts with AB = 0, and its Appendix D.2 offers the initial factors of LoRA (`random`, the default here) or continuing
with the current factors (`momentum`, the listing). Our third option, `keep A`, sets B to zero and keeps A, which also
leaves the function unchanged. Weights that are not factorised are trained and averaged with the factors and never
accumulated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from algorithms.adapter import AB
from algorithms.descent import OPTIMISER
from algorithms.federation import Cohort, Federation, FederationError, require_whole
from algorithms.fedlora import LoRA
from algorithms.tree import Tree

Restart = Literal["random", "momentum", "keep A"]
RESTARTS: tuple[Restart, ...] = ("random", "momentum", "keep A")


class FedLoRUState(NamedTuple):
    """The accumulated weights, which every client has, the factors, and the number of completed rounds."""

    base: Tree
    factors: AB
    rounds: int


@dataclass(frozen=True)
class FedLoRU(LoRA):
    r"""FedLoRA with $W \leftarrow W + \alpha AB$ and a restart of A and B every $\tau$ rounds.

    Attributes:
        tau: Number of rounds between accumulations.
        restart: How the factors start after an accumulation. Personal optimiser states restart with them, except with
            `momentum`.

    Raises:
        FederationError: tau is below 1, or the restart is unknown.
    """

    tau: int
    restart: Restart = "random"

    def __post_init__(self) -> None:
        require_whole(1, tau=self.tau)
        if self.restart not in RESTARTS:
            raise FederationError(f"restart must be one of {RESTARTS}, got {self.restart!r}")

    def start(self, fed: Federation, w: Tree) -> FedLoRUState:  # type: ignore[override]
        """Broadcast the weights and return the state before the first round."""
        return FedLoRUState(*super().start(fed, w), 0)

    def round(self, fed: Federation, cohort: Cohort, state: FedLoRUState) -> FedLoRUState:
        """Do one round and return the new state."""
        return self.accumulate(fed, state, self.train(fed, cohort, state.factors))

    def client_model(self, state: FedLoRUState, sent: AB) -> Tree:
        """Return the model that a client trained in a round, given its upload."""
        return self.adapter.weights(state.base, sent)

    def merged_rank(self, state: FedLoRUState, name: str) -> int:
        """Return the largest rank of what has been added to a weight."""
        return state.rounds // self.tau * self.adapter.rank_of(name)

    def accumulate(self, fed: Federation, state: FedLoRUState, factors: AB) -> FedLoRUState:
        """Return the state with new factors; every tau rounds, add them to the clients' weights and restart them."""
        rounds = state.rounds + 1
        if rounds % self.tau:
            return FedLoRUState(state.base, factors, rounds)
        pair = factors._replace(rest=Tree())  # the rest is sent in every round
        fed.broadcast(accumulated=pair)
        base = self.adapter.weights(state.base, pair)
        fed.set_shared(base=base)
        return FedLoRUState(base, self.restart_factors(fed, base, factors, rounds), rounds)

    def restart_factors(self, fed: Federation, base: Mapping[str, Tensor], factors: AB, rounds: int) -> AB:
        """Return the factors after an accumulation; unless they continue, also reset personal optimiser states."""
        if self.restart == "momentum":
            return factors
        if self.local.optimiser_state == "personal":
            fed.set_personal(**{OPTIMISER: None})
        if self.restart == "keep A":
            return factors._replace(B=factors.B.map(torch.zeros_like))
        return self.adapter.pair(base, turn=rounds)._replace(rest=factors.rest)
