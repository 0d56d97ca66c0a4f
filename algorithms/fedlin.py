r"""FedLin (Mitra et al., 2021): local descent with a correction of each client's drift (FeDLRT, Algorithm 4).

Line 9 of the box prints $W - \lambda\nabla L_c(W) + V_c$ with $V_c = G - G_c$, but eq. (4) has the correction inside
the bracket, $W - \lambda(\nabla L_c(W) + G - G_c)$. The default here is eq. (4).
"""

from __future__ import annotations

from dataclasses import dataclass

from algorithms.descent import Descent, descend, gradient
from algorithms.federation import Client, Cohort, Federation, FederationError, Memory, Reply
from algorithms.tree import Tree


@dataclass(frozen=True)
class FedLin:
    r"""Clients step by $W \leftarrow W - \lambda(\nabla L_c(W) + G - G_c)$; the state is the mean of their weights.

    Attributes:
        local: Local steps.
        as_printed: Use line 9 of the algorithm's box as printed, with the correction outside the bracket.

    Raises:
        FederationError: Line 9 as printed is combined with steps other than plain ones of constant size.
    """

    local: Descent
    as_printed: bool = False

    def __post_init__(self) -> None:
        local, given = self.local, self.local.learning_rate
        stays = not callable(given) or given.per == "round"
        if self.as_printed and not (local.optimiser is None and local.clip is None and stays):
            raise FederationError(
                "line 9 as printed requires plain steps at a constant rate within each round; leave optimiser, "
                "clip and "
                "schedules per step out"
            )

    def start(self, fed: Federation, w: Tree) -> Tree:
        """Return the state before the first round."""
        return w

    def round(self, fed: Federation, cohort: Cohort, w: Tree) -> Tree:
        """Do one round, which is two exchanges, and return the new state."""
        G = fed.mean(local_gradient, to=cohort, w=w)
        return fed.mean(
            corrected_descent, to=cohort, draw=self.local.draw, G=G, settings=self.local, as_printed=self.as_printed
        )

    def weights(self, w: Tree) -> Tree:
        """Return the weights of the model."""
        return w

    def client_model(self, w: Tree, sent: Tree) -> Tree:
        """Return the model that a client trained in a round, given its upload."""
        return sent


def local_gradient(client: Client, memory: Memory, w: Tree) -> Reply:
    """Compute the client's gradient at the server's weights."""
    G_c = gradient(client, w)
    return Reply(upload=G_c, keep={"w": w, "G_c": G_c})


def corrected_descent(client: Client, memory: Memory, G: Tree, settings: Descent, as_printed: bool) -> Reply:
    """Take local steps along the gradient plus the correction, the mean gradient minus the client's."""
    V = G - memory.kept["G_c"]
    if as_printed:
        rate = settings.rate(memory.round)
        if rate == 0.0:
            raise FederationError(
                "the learning rate is 0, but line 9 as printed adds its correction outside the step; give the schedule "
                "a minimum"
            )
        V = V * (-1.0 / rate)  # outside the bracket, + V is - rate * (- V / rate)
    trained, personal = descend(client, memory.kept["w"], settings, memory, correction=V)
    return Reply(upload=trained, personal=personal)
