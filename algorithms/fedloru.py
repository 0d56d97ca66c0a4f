r"""FedLoRU, Algorithm 1: low-rank updates that accumulate.

The model is $W + \alpha AB$; every $\tau$ rounds each client adds the averaged $\alpha AB$ to its W, and the factors
start anew. The listing of Algorithm 1 prints no restart, by which the same product counts twice; the paper's Appendix B
restarts with AB = 0, its Appendix D.2 offers the start of LoRA (`random`, the default here) and going on from the
current factors (`momentum`, the listing). `keep A` is a third that leaves the function as it was: B starts at zero, A
goes on. What is not factorised is trained and averaged beside the factors and has no part in this.
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
    """Weights that every client has, factors, and rounds done."""

    base: Tree
    factors: AB
    rounds: int


@dataclass(frozen=True)
class FedLoRU(LoRA):
    """The algorithm.

    Attributes:
        tau: Rounds between accumulations.
        restart: Start of the factors after an accumulation; a personal state of the optimiser starts anew with them.

    Raises:
        FederationError: tau below 1, or an unknown restart.
    """

    tau: int
    restart: Restart = "random"

    def __post_init__(self) -> None:
        require_whole(1, tau=self.tau)
        if self.restart not in RESTARTS:
            raise FederationError(f"restart must be one of {RESTARTS}, got {self.restart!r}")

    def start(self, fed: Federation, w: Tree) -> FedLoRUState:  # type: ignore[override]
        """The state before the first round; every client is told the weights."""
        return FedLoRUState(*super().start(fed, w), 0)

    def round(self, fed: Federation, cohort: Cohort, state: FedLoRUState) -> FedLoRUState:
        """One round."""
        return self.accumulate(fed, state, self.train(fed, cohort, state.factors))

    def client_model(self, state: FedLoRUState, sent: AB) -> Tree:
        """The model that a client trained in a round, from what it sent."""
        return self.adapter.weights(state.base, sent)

    def accumulate(self, fed: Federation, state: FedLoRUState, factors: AB) -> FedLoRUState:
        """The state with new factors; at the end of a cycle they are added to everybody's weights and start anew."""
        rounds = state.rounds + 1
        if rounds % self.tau:
            return FedLoRUState(state.base, factors, rounds)
        pair = factors._replace(rest=Tree())  # the rest travels in every round
        fed.broadcast(accumulated=pair)
        base = self.adapter.weights(state.base, pair)
        fed.set_shared(base=base)
        return FedLoRUState(base, self.restart_factors(fed, base, factors, rounds), rounds)

    def restart_factors(self, fed: Federation, base: Mapping[str, Tensor], factors: AB, rounds: int) -> AB:
        """Start of the factors after an accumulation."""
        if self.restart == "momentum":
            return factors
        if self.local.optimiser_state == "personal":
            fed.set_personal(**{OPTIMISER: None})
        if self.restart == "keep A":
            return factors._replace(B=factors.B.map(torch.zeros_like))
        return self.adapter.pair(base, turn=rounds)._replace(rest=factors.rest)
