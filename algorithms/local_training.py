"""Local training, a baseline: every client trains its own model from common initial weights, without communication."""

from __future__ import annotations

from dataclasses import dataclass

from algorithms.descent import Descent, descend
from algorithms.federation import Client, Cohort, Federation, Memory, Reply
from algorithms.tree import Tree


@dataclass(frozen=True)
class LocalTraining:
    """Trains every client by itself; the state is the initial weights, which stay the global model.

    Attributes:
        local: Local steps.
    """

    local: Descent

    def start(self, fed: Federation, w: Tree) -> Tree:
        """Give the initial weights to every client and return them."""
        fed.set_personal(w=w)
        return w

    def round(self, fed: Federation, cohort: Cohort, w: Tree) -> Tree:
        """Train the clients of the cohort for one round; the state does not change."""
        fed.gather(train_alone, to=cohort, draw=self.local.draw, local=self.local)
        return w

    def weights(self, w: Tree) -> Tree:
        """Return the initial weights."""
        return w

    def personal_weights(self, fed: Federation, w: Tree, client: int) -> Tree:
        """Return the model of a client."""
        mine: Tree = fed.personal(client)["w"]
        return mine


def train_alone(client: Client, memory: Memory, local: Descent) -> Reply:
    """Take local steps from the client's own weights."""
    trained, personal = descend(client, memory.personal["w"], local, memory)
    return Reply(personal={"w": trained, **personal})
