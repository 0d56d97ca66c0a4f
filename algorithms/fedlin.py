r"""FedLin (Mitra et al., 2021): local descent with the drift of each client's gradient taken out.

FeDLRT, eq. (4) and Algorithm 4. Line 9 of the box prints $W - \lambda\nabla L_c(W) + V_c$ with $V_c = G - G_c$, where
eq. (4) has the correction inside the bracket, $W - \lambda(\nabla L_c(W) + G - G_c)$: that is the default here.
"""

from __future__ import annotations

from dataclasses import dataclass

from algorithms.descent import Descent, descend, gradient
from algorithms.federation import Client, Cohort, Federation, FederationError, Memory, Reply
from algorithms.tree import Tree


@dataclass(frozen=True)
class FedLin:
    """The algorithm; its state is the server's weights.

    Attributes:
        local: Local steps.
        as_printed: Line 9 of the box as printed: the correction outside the bracket, with its sign.

    Raises:
        FederationError: Line 9 as printed with steps that are not plain ones of one size.
    """

    local: Descent
    as_printed: bool = False

    def __post_init__(self) -> None:
        local, given = self.local, self.local.learning_rate
        stays = not callable(given) or given.per == "round"
        if self.as_printed and not (local.optimiser is None and local.clip is None and stays):
            raise FederationError(
                "line 9 as printed is for plain steps at a rate that stays for a round; leave optimiser, clip and "
                "schedules per step out"
            )

    def start(self, fed: Federation, w: Tree) -> Tree:
        """The state before the first round."""
        return w

    def round(self, fed: Federation, cohort: Cohort, w: Tree) -> Tree:
        """One round: two exchanges."""
        G = fed.mean(local_gradient, to=cohort, w=w)
        return fed.mean(
            corrected_descent, to=cohort, draw=self.local.draw, G=G, settings=self.local, as_printed=self.as_printed
        )

    def weights(self, w: Tree) -> Tree:
        """The model."""
        return w

    def client_model(self, w: Tree, sent: Tree) -> Tree:
        """The model that a client trained in a round, from what it sent."""
        return sent


def local_gradient(client: Client, memory: Memory, w: Tree) -> Reply:
    """The client's gradient at the server's weights."""
    G_c = gradient(client, w)
    return Reply(upload=G_c, keep={"w": w, "G_c": G_c})


def corrected_descent(client: Client, memory: Memory, G: Tree, settings: Descent, as_printed: bool) -> Reply:
    """Local steps with the difference of the mean and the client's own gradient added."""
    V = G - memory.kept["G_c"]
    if as_printed:
        rate = settings.rate(memory.round)
        if rate == 0.0:
            raise FederationError(
                "the learning rate is 0, and line 9 as printed adds its correction beside the step; give the schedule "
                "a minimum"
            )
        V = V * (-1.0 / rate)  # outside the bracket, + V is - rate * (- V / rate)
    trained, personal = descend(client, memory.kept["w"], settings, memory, correction=V)
    return Reply(upload=trained, personal=personal)
