r"""FedProx (Li et al., 2020), Algorithm 2: local descent on the client's loss plus $\frac\mu2\|w - w^t\|^2$.

The proximal term pulls every client back to the server's weights $w^t$. The algorithm's box draws clients in proportion
to their data and averages with equal weights. The paper's experiments and its released code draw clients uniformly and
weight by data, as a federation does here. Stragglers, which return fewer steps, are not modelled.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from algorithms.descent import Descent, descend
from algorithms.federation import Client, Cohort, Federation, FederationError, Memory, Reply
from algorithms.tree import Tree


@dataclass(frozen=True)
class FedProx:
    r"""FedAvg with local steps $w \leftarrow w - \eta\,(\nabla L_k(w) + \mu(w - w^t))$; the state is $w^t$.

    Attributes:
        local: Local steps.
        mu: Weight $\mu$ of the proximal term; 0 gives FedAvg. The paper chooses it for each data set from 0.001, 0.01,
            0.1 and 1, and takes 1 for three of five.

    Raises:
        FederationError: mu is negative or not finite.
    """

    local: Descent
    mu: float = 1.0

    def __post_init__(self) -> None:
        if not isfinite(self.mu) or self.mu < 0.0:
            raise FederationError(f"mu must be finite and at least 0, got {self.mu}")

    def start(self, fed: Federation, w: Tree) -> Tree:
        """Return the state before the first round."""
        return w

    def round(self, fed: Federation, cohort: Cohort, w: Tree) -> Tree:
        """Do one round and return the new state."""
        return fed.mean(proximal_descent, to=cohort, draw=self.local.draw, w=w, settings=self.local, mu=self.mu)

    def weights(self, w: Tree) -> Tree:
        """Return the weights of the model."""
        return w

    def client_model(self, w: Tree, sent: Tree) -> Tree:
        """Return the model that a client trained in a round, given its upload."""
        return sent


def proximal_descent(client: Client, memory: Memory, w: Tree, settings: Descent, mu: float) -> Reply:
    """Take local steps from the server's weights, which pull the client's weights back."""
    trained, personal = descend(client, w, settings, memory, pull=mu)
    return Reply(upload=trained, personal=personal)
