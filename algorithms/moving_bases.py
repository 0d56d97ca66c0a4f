r"""Optimiser states that follow changes of the bases of their coefficients.

In new bases, coefficients S of $U S V^T$ become $P S Q^T$ with $P = U_{new}^TU$ and $Q = V_{new}^TV$, and so does a sum
of their gradients. Running means of squared entries have no exact rule. We map them by the entrywise squares of
P and Q, which is correct for independent entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from algorithms.descent import OPTIMISER, statistics_of
from algorithms.federation import Client, FederationError
from algorithms.optimisers import Moments, Velocity
from algorithms.tree import Tree

BASES = "bases"
"""Name of the personal value with the bases to which the state of a client's optimiser belongs."""


def follow_bases(personal: Mapping[str, Any], client: Client, S: Tree, U: Tree, V: Tree) -> Mapping[str, Any]:
    """Return a client's personal values with the state of its optimiser transformed to new bases.

    Args:
        personal: Personal values of the client.
        client: The client in coefficient space; its statistics have no optimiser state.
        S: Coefficients and weights without bases, in the order of the state.
        U: New bases, ``(m, r)``.
        V: New bases, ``(n, r)``.
    """
    state = personal.get(OPTIMISER)
    if not state or BASES not in personal:
        return personal
    before_U, before_V = personal[BASES]
    names = S.but(statistics_of(client))

    def move(entries: Sequence[Tensor], squared: bool = False) -> list[Tensor]:
        found = []
        for name, entry in zip(names, entries, strict=True):
            if name in U:
                P, Q = U[name].mT @ before_U[name], V[name].mT @ before_V[name]
                entry = P**2 @ entry @ (Q**2).mT if squared else P @ entry @ Q.mT
            found.append(entry)
        return found

    if isinstance(state, Velocity):
        state = Velocity(move(state.velocity))
    elif isinstance(state, Moments):
        state = Moments(move(state.first), move(state.second, squared=True), state.steps)
    else:
        raise FederationError(f"a {type(state).__name__} does not support changing bases; use Sgd, Adam or AdamW")
    return {**personal, OPTIMISER: state}


def store_bases(personal: Mapping[str, Any], U: Tree, V: Tree) -> Mapping[str, Any]:
    """Return personal values with the bases to which the optimiser's state belongs; nothing without a state."""
    return {**personal, BASES: (U, V)} if personal else personal
