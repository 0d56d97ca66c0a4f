"""FedAvg (McMahan et al., 2017): local descent from the server's weights, averaged. FeDLRT, Algorithm 3."""

from __future__ import annotations

from dataclasses import dataclass

from algorithms.descent import Descent, descend
from algorithms.federation import Client, Cohort, Federation, Memory, Reply
from algorithms.tree import Tree


@dataclass(frozen=True)
class FedAvg:
    """The algorithm; its state is the server's weights.

    Attributes:
        local: Local steps.
    """

    local: Descent

    def start(self, fed: Federation, w: Tree) -> Tree:
        """The state before the first round."""
        return w

    def round(self, fed: Federation, cohort: Cohort, w: Tree) -> Tree:
        """One round."""
        return fed.mean(local_descent, to=cohort, draw=self.local.draw, w=w, settings=self.local)

    def weights(self, w: Tree) -> Tree:
        """The model."""
        return w

    def client_model(self, w: Tree, sent: Tree) -> Tree:
        """The model that a client trained in a round, from what it sent."""
        return sent


def local_descent(client: Client, memory: Memory, w: Tree, settings: Descent) -> Reply:
    """Local steps from the server's weights."""
    trained, personal = descend(client, w, settings, memory)
    return Reply(upload=trained, personal=personal)
