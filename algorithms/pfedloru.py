r"""pFedLoRU (FedLoRU, Algorithm 2): personal factors L, U in addition to the global ones, trained first and never sent.

The model of client k is $W + \alpha AB + \alpha_p L_kU_k$. (The box returns W plus the unscaled products, but its
inference formula has $\alpha_p$, as in training.)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from algorithms.adapter import AB, Adapter
from algorithms.descent import Descent, descend
from algorithms.federation import Client, Cohort, Federation, FederationError, Memory, Reply
from algorithms.fedloru import FedLoRU, FedLoRUState
from algorithms.tree import Tree

PERSONAL = "personal optimiser"
"""Name of the personal value with the state of the optimiser of a client's personal factors."""


@dataclass(frozen=True)
class PersonalFedLoRU(FedLoRU):
    r"""FedLoRU whose clients first train $L_k, U_k$ with A and B frozen, then A and B with $L_k, U_k$ frozen.

    Attributes:
        personal: Local steps in L and U.
        personal_adapter: Rank, scale, initial values and layers of L and U. Its rest has no effect, because only the
            one of `adapter` says whether the other weights are trained.

    Raises:
        FederationError: As in `FedLoRU`; or only the personal rest is frozen.
    """

    trains_pairs: ClassVar[bool] = False

    personal: Descent = field(default_factory=Descent)
    personal_adapter: Adapter = field(default_factory=lambda: Adapter(1))

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.adapter.rest, self.personal_adapter.rest) == ("trained", "frozen"):
            raise FederationError("the rest belongs to the shared factors; freeze it there, and leave the personal one")

    @property
    def descents(self) -> tuple[Descent, ...]:
        """The local trainings of a client in a round, in order."""
        return (self.personal, self.local)

    def start(self, fed: Federation, w: Tree) -> FedLoRUState:  # type: ignore[override]
        """Give initial personal factors to every client and return the state before the first round."""
        fed.set_personal(LU=self.personal_adapter.pair(w))
        return super().start(fed, w)

    def round(self, fed: Federation, cohort: Cohort, state: FedLoRUState) -> FedLoRUState:
        """Do one round and return the new state."""
        factors = fed.mean(
            train_personal_then_shared, to=cohort, draw=self._draws, factors=state.factors, algorithm=self
        )
        return self.accumulate(fed, state, factors)

    def personal_weights(self, fed: Federation, state: FedLoRUState, client: int) -> Tree:
        """Return the model of a client."""
        return self.personal_adapter.weights(self.weights(state), fed.personal(client)["LU"])

    def _draws(self, client: Client, rng: np.random.Generator) -> tuple[Any, Any] | None:
        return pair(self.personal.draw(client, rng), self.local.draw(client, rng))


def train_personal_then_shared(client: Client, memory: Memory, factors: AB, algorithm: PersonalFedLoRU) -> Reply:
    """Train the personal factors, eq. (80) of the paper, and then the shared ones, eq. (81)."""
    shared, own, base = algorithm.adapter, algorithm.personal_adapter, memory.shared["base"]
    first, second = (None, None) if memory.drawn is None else memory.drawn
    with_shared = shared.weights_for(client, base, factors)
    LU, kept = descend(
        client,
        memory.personal["LU"],
        algorithm.personal,
        replace(memory, drawn=first),
        own.assembler(client, with_shared),
        slot=PERSONAL,
    )
    # Weights without shared factors are trained themselves, so their personal products are added to them in each step.
    outside = AB(LU.A.but(factors.A), LU.B.but(factors.A))
    inside = AB(LU.A.but(outside.A), LU.B.but(outside.A))
    with_inside = own.weights_for(client, base, inside)
    trained, personal = descend(
        client,
        factors,
        algorithm.local,
        replace(memory, drawn=second),
        lambda at: own.weights_for(client, shared.weights_for(client, with_inside, at), outside),
    )
    return Reply(upload=trained, personal={"LU": LU, **kept, **personal})


def pair(first: Any, second: Any) -> tuple[Any, Any] | None:
    """Return the batches of two kinds of local steps, or None if neither has batches.

    Raises:
        FederationError: Only one kind has batches.
    """
    if first is None and second is None:
        return None
    if first is None or second is None:
        raise FederationError("give a batch for both kinds of local steps, or for neither")
    return first, second
