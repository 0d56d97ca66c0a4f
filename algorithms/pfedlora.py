r"""pFedLoRA (FedLoRU, Algorithm 4, both variants): full global weights and low-rank personal factors.

The model of client k is $W + \alpha_p L_kU_k$. W is sent in full; L and U are never sent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from algorithms.adapter import AB, Adapter
from algorithms.descent import Descent, descend
from algorithms.federation import Client, Cohort, Federation, FederationError, Memory, Reply
from algorithms.pfedloru import PERSONAL, pair
from algorithms.tree import Tree


class Both(NamedTuple):
    """The global weights and a client's personal factors, trained together."""

    W: Tree
    LU: AB


@dataclass(frozen=True)
class PersonalFedLoRA:
    r"""One round is $W \leftarrow \sum_k s_kW_k$ after steps in $L_k, U_k$ and in $W_k$; the state is $W$.

    Attributes:
        local: Local steps in W; in variant 2, in W, L and U at once.
        personal: Local steps in L and U, before the steps in W (variant 1).
        adapter: Rank, scale and initial values of the personal factors; the rest is trained, as all of W.
        jointly: Variant 2: train W, L and U in the same steps, `local.steps` plus `personal.steps` of them.

    Raises:
        FederationError: The settings of joint steps differ in more than their number, or the rest is frozen.
    """

    local: Descent
    personal: Descent
    adapter: Adapter
    jointly: bool = False

    def __post_init__(self) -> None:
        if self.adapter.rest == "frozen":
            raise FederationError("pFedLoRA trains all global weights, so no rest is frozen; leave rest out")
        if self.jointly:
            self.together()

    @property
    def descents(self) -> tuple[Descent, ...]:
        """The local trainings of a client in a round, in order."""
        return (self.personal, self.local)

    def start(self, fed: Federation, w: Tree) -> Tree:
        """Give initial personal factors to every client and return the state before the first round."""
        fed.set_personal(LU=self.adapter.pair(w))
        return w

    def round(self, fed: Federation, cohort: Cohort, w: Tree) -> Tree:
        """Do one round and return the new state."""
        work = train_jointly if self.jointly else train_in_turn
        return fed.mean(work, to=cohort, draw=self._draws, w=w, algorithm=self)

    def weights(self, w: Tree) -> Tree:
        """Return the global model."""
        return w

    def personal_weights(self, fed: Federation, w: Tree, client: int) -> Tree:
        """Return the model of a client."""
        return self.adapter.weights(w, fed.personal(client)["LU"])

    def together(self) -> Descent:
        """Return the settings of the joint steps of variant 2.

        Raises:
            FederationError: The learning rates or batches differ, or only one kind is counted in epochs.
        """
        one, other = self.local, self.personal
        if replace(one, steps=1, epochs=None) != replace(other, steps=1, epochs=None):
            raise FederationError("joint steps need one learning rate and one batch for both kinds")
        if (one.epochs is None) != (other.epochs is None):
            raise FederationError(
                "joint steps must be counted the same way: give both steps and personal_steps, or both epochs and "
                "personal_epochs"
            )
        epochs = None if one.epochs is None or other.epochs is None else one.epochs + other.epochs
        return replace(one, steps=one.steps + other.steps, epochs=epochs)

    def _draws(self, client: Client, rng: np.random.Generator) -> Any:
        if self.jointly:
            return self.together().draw(client, rng)
        return pair(self.personal.draw(client, rng), self.local.draw(client, rng))


def train_in_turn(client: Client, memory: Memory, w: Tree, algorithm: PersonalFedLoRA) -> Reply:
    """Train the personal factors at the server's weights, eq. (84), and then the weights, eq. (85)."""
    own = algorithm.adapter
    first, second = (None, None) if memory.drawn is None else memory.drawn
    LU, kept = descend(
        client,
        memory.personal["LU"],
        algorithm.personal,
        replace(memory, drawn=first),
        own.assembler(client, w),
        slot=PERSONAL,
    )
    trained, personal = descend(
        client, w, algorithm.local, replace(memory, drawn=second), lambda W: own.weights_for(client, W, LU)
    )
    return Reply(upload=trained, personal={"LU": LU, **kept, **personal})


def train_jointly(client: Client, memory: Memory, w: Tree, algorithm: PersonalFedLoRA) -> Reply:
    """Train weights and personal factors in the same steps, eq. (86)."""
    own = algorithm.adapter
    start = Both(w, memory.personal["LU"])
    (W, LU), personal = descend(
        client, start, algorithm.together(), memory, lambda both: own.weights_for(client, both.W, both.LU)
    )
    return Reply(upload=W, personal={"LU": LU, **personal})
