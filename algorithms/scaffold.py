r"""SCAFFOLD (Karimireddy et al., 2020), Algorithm 1: control variates correct the drift of each client.

Server and clients keep estimates $c$ and $c_k$ of the gradients of all clients' loss and of their own. FedLin measures
both in every round, at the price of a second exchange. SCAFFOLD keeps them from round to round and needs one exchange,
so its correction is that of each client's last round. The paper weights all clients alike. With the shares $s_k$ of a
federation, whose sum over all clients is 1, we keep its invariant $c = \sum_k s_kc_k$: the server adds
$\sum_{k\in S}s_k\,\Delta c_k$, which is the paper's $\frac{|S|}N$ times the mean if all shares are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal, NamedTuple

import torch

from algorithms.descent import Descent, descend, gradient, statistics_of
from algorithms.federation import Client, Cohort, Federation, FederationError, Memory, Reply
from algorithms.tree import Tree

Control = Literal["steps", "gradient"]
CONTROLS: tuple[Control, ...] = ("steps", "gradient")
OWN = "control"
"""Name of the personal value with a client's control variate."""


class ScaffoldState(NamedTuple):
    """The weights, and the server's control variate, which has no running statistics."""

    w: Tree
    c: Tree


@dataclass(frozen=True)
class Scaffold:
    r"""Clients step by $y \leftarrow y - \eta\,(\nabla L_k(y) - c_k + c)$; $w \leftarrow w + \eta_g(\sum_ks_ky_k - w)$.

    Attributes:
        local: Local steps.
        server_rate: Learning rate $\eta_g$ of the server; running statistics are averaged at any rate.
        control: How a client renews $c_k$: by the mean gradient of its local steps, $c_k - c + (w - y)/(K\eta)$
            (`steps`, option II of the paper and of its experiments), or by its gradient at $w$ over all of its samples
            (`gradient`, option I).

    Raises:
        FederationError: The server's rate is not positive and finite, the control is unknown, or `steps` is combined
            with an optimiser or with clipping.
    """

    local: Descent
    server_rate: float = 1.0
    control: Control = "steps"

    def __post_init__(self) -> None:
        if not isfinite(self.server_rate) or self.server_rate <= 0.0:
            raise FederationError(f"server_rate must be positive and finite, got {self.server_rate}")
        if self.control not in CONTROLS:
            raise FederationError(f"control must be one of {CONTROLS}, got {self.control!r}")
        if self.control == "steps" and not (self.local.optimiser is None and self.local.clip is None):
            raise FederationError(
                "control 'steps' takes the change of the weights for a sum of gradients, which needs plain steps; "
                "leave optimiser and clip out, or choose control 'gradient'"
            )

    def start(self, fed: Federation, w: Tree) -> ScaffoldState:
        """Set all control variates to zero and return the state before the first round."""
        c = w.but(statistics_of(fed.clients[0])).map(torch.zeros_like)
        fed.set_personal(**{OWN: c})
        return ScaffoldState(w, c)

    def round(self, fed: Federation, cohort: Cohort, state: ScaffoldState) -> ScaffoldState:
        """Do one round and return the new state."""
        w, c = state
        y, change = fed.mean(
            controlled_descent, to=cohort, draw=self.local.draw, w=w, c=c, settings=self.local, control=self.control
        )
        if self.server_rate != 1.0:
            trained = w.only(c)
            y = Tree({**y, **(trained + self.server_rate * (y.only(c) - trained))})
        share = float(sum(fed.shares[number] for number in fed.answered) / sum(fed.shares))
        return ScaffoldState(y, c + share * change)

    def weights(self, state: ScaffoldState) -> Tree:
        """Return the weights of the model."""
        return state.w

    def client_model(self, state: ScaffoldState, sent: tuple[Tree, Tree]) -> Tree:
        """Return the model that a client trained in a round, given its upload."""
        return sent[0]


def controlled_descent(client: Client, memory: Memory, w: Tree, c: Tree, settings: Descent, control: Control) -> Reply:
    """Take corrected local steps, and renew the client's control variate."""
    own: Tree = memory.personal[OWN]
    y, personal = descend(client, w, settings, memory, correction=c - own)
    if control == "gradient":
        new = gradient(client, w).only(c)
    else:
        steps = settings.count(memory.drawn)
        length = sum(settings.rate(memory.round, step, steps) for step in range(steps))
        if length == 0.0:
            raise FederationError(
                "the learning rate is 0 in all steps of this round, so they have no mean gradient; give the schedule a "
                "minimum, or choose control 'gradient'"
            )
        new = own - c + (w.only(c) - y.only(c)) / length
    return Reply(upload=(y, new - own), personal={**personal, OWN: new})
