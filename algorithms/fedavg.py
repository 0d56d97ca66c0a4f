"""FedAvg (McMahan et al., 2017; FeDLRT, Algorithm 3): local descent from the server's weights, then averaging."""

from __future__ import annotations

from dataclasses import dataclass

from algorithms.descent import Descent, descend
from algorithms.federation import Client, Cohort, Federation, Memory, Reply
from algorithms.tree import Tree


@dataclass(frozen=True)
class FedAvg:
    r"""One round is $w \leftarrow \sum_k s_kw_k$, where $w_k$ is $w$ after client k's local steps; the state is $w$.

    Attributes:
        local: Local steps.
    """

    local: Descent

    def start(self, fed: Federation, w: Tree) -> Tree:
        """Return the state before the first round."""
        return w

    def round(self, fed: Federation, cohort: Cohort, w: Tree) -> Tree:
        """Do one round and return the new state."""
        return fed.mean(local_descent, to=cohort, draw=self.local.draw, w=w, settings=self.local)

    def weights(self, w: Tree) -> Tree:
        """Return the weights of the model."""
        return w

    def client_model(self, w: Tree, sent: Tree) -> Tree:
        """Return the model that a client trained in a round, given its upload."""
        return sent


def local_descent(client: Client, memory: Memory, w: Tree, settings: Descent) -> Reply:
    """Take local steps from the server's weights."""
    trained, personal = descend(client, w, settings, memory)
    return Reply(upload=trained, personal=personal)
