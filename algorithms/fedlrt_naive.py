r"""Naive FeDLRT: every client updates its own bases (Algorithm 6 of the FeDLRT paper).

The box averages the clients' coefficients, although they belong to different bases, and does not say which client's
bases to use. According to the text, the server computes $W^* = \frac1C\sum_c \tilde U_c\tilde S_c\tilde V_c^T$ and
decomposes it, at the cost of a full matrix. This is the default. `as_printed` averages the coefficients and uses the
bases of the first client.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from algorithms.descent import Descent, descend, gradient
from algorithms.federation import Client, Cohort, Federation, Memory, Reply
from algorithms.kernels import CONVOLUTIONS, Convolution
from algorithms.low_rank import (
    USV,
    Truncation,
    append_columns,
    augment,
    factorise,
    product,
    project,
    truncate,
    values,
    weights_for,
)
from algorithms.moving_bases import follow_bases, store_bases
from algorithms.schedules import Constant
from algorithms.tree import Tree


@dataclass(frozen=True)
class NaiveFeDLRT:
    r"""One round truncates $\frac1C\sum_c \tilde U_c\tilde S_c\tilde V_c^T$; the state is the factors.

    Attributes:
        local: Local steps; each augments the client's bases, steps in the coefficients and truncates to the largest
            rank that the server sent. The state of an optimiser follows the bases from step to step.
        rank: Initial rank; if the mean of the clients' models has a larger rank, clients keep that.
        truncation: Rule for the number of singular values that the server keeps.
        as_printed: Average coefficients across bases.
        layers: Patterns for the names of the layers that are factorised; default: all weights, which then must be
            matrices.
        convolution: How to reshape a convolution kernel into a matrix; see `algorithms.kernels`.
        cap: Lower a rank that exceeds the smaller side of a layer; without it, such a rank is an error.
    """

    local: Descent
    rank: int
    truncation: Truncation = field(default_factory=Truncation)
    as_printed: bool = False
    layers: str | None = None
    convolution: Convolution = CONVOLUTIONS[0]
    cap: bool = False

    def start(self, fed: Federation, w: Tree) -> USV:
        """Return the state before the first round."""
        return factorise(w, self.rank, self.layers, self.convolution, self.cap)

    def round(self, fed: Federation, cohort: Cohort, state: USV) -> USV:
        """Do one round and return the new state."""
        sent: dict[str, Any] = {"draw": self.local.draw, "U": state.U, "S": state.S, "V": state.V, "local": self.local}
        if self.as_printed:
            uploads = fed.gather(own_bases, to=cohort, **sent)
            S = fed.average([upload.S for upload in uploads], of=cohort)
            return truncate(uploads[0].U, S, uploads[0].V, self.truncation)
        mean = fed.mean(own_bases, to=cohort, then=product, **sent)
        layers = mean.only(state.U)
        return truncate(_identity(layers, 0), mean, _identity(layers, 1), self.truncation)

    def weights(self, state: USV) -> Tree:
        """Return the weights of the model."""
        return product(state) if self.layers is None else values(state)


def own_bases(client: Client, memory: Memory, U: Tree, S: Tree, V: Tree, local: Descent) -> Reply:
    """Take local steps in the client's own bases; the result of the last one is sent without truncation."""
    factors = USV(U, S, V)
    most, steps = max(entry.shape[1] for entry in U.values()), local.count(memory.drawn)
    personal = local.optimiser_state == "personal"
    kept: Mapping[str, Any] = memory.personal if personal else {}
    for step in range(steps):
        batch = None if memory.drawn is None else memory.drawn[step]
        if step:
            factors = truncate(*factors, Truncation(0.0, least=1, most=most))
        gradients = gradient(client, factors, lambda at: weights_for(client, at), batch)
        Ut, Vt = (
            append_columns(factors.U, augment(factors.U, gradients.U)),
            append_columns(factors.V, augment(factors.V, gradients.V)),
        )
        w = product(factors)
        St = Tree({**w, **(Ut.T @ w.only(Ut) @ Vt)})
        rate = local.rate(memory.round, step, steps)
        one = replace(local, steps=1, epochs=None, learning_rate=_Rate(rate), optimiser_state="personal")
        inside = project(client, Ut, Vt)
        known = replace(
            memory,
            drawn=None if batch is None else [batch],
            personal=follow_bases(kept, inside, St, Ut, Vt),
            steps=None,  # the bases move between these descents of one step
        )
        stepped, state = descend(inside, St, one, known)
        factors, kept = USV(Ut, stepped, Vt), store_bases(state, Ut, Vt)
    return Reply(upload=factors, personal=kept if personal else {})


class _Rate(Constant):
    """The rate of one step, which may be 0 at the end of a schedule."""

    def __post_init__(self) -> None:
        """Accept any rate, because the schedule has been checked."""


def _identity(w: Tree, side: int) -> Tree:
    return w.map(lambda W: W.new_zeros(W.shape[side], W.shape[side]).fill_diagonal_(1.0))
