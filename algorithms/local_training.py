"""Local training: every client trains a model of its own from the common start, and nothing travels."""

from __future__ import annotations

from dataclasses import dataclass

from algorithms.descent import Descent, descend
from algorithms.federation import Client, Cohort, Federation, Memory, Reply
from algorithms.tree import Tree


@dataclass(frozen=True)
class LocalTraining:
    """The baseline; its state is the start, which is the global model for ever.

    Attributes:
        local: Local steps.
    """

    local: Descent

    def start(self, fed: Federation, w: Tree) -> Tree:
        """The state before the first round; everybody knows the start."""
        fed.set_personal(w=w)
        return w

    def round(self, fed: Federation, cohort: Cohort, w: Tree) -> Tree:
        """One round: the cohort goes on alone."""
        fed.gather(train_alone, to=cohort, draw=self.local.draw, local=self.local)
        return w

    def weights(self, w: Tree) -> Tree:
        """The start."""
        return w

    def personal_weights(self, fed: Federation, w: Tree, client: int) -> Tree:
        """The model of one client."""
        mine: Tree = fed.personal(client)["w"]
        return mine


def train_alone(client: Client, memory: Memory, local: Descent) -> Reply:
    """Local steps from where the client stands."""
    trained, personal = descend(client, memory.personal["w"], local, memory)
    return Reply(personal={"w": trained, **personal})
