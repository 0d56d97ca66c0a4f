r"""The state of an optimiser that follows the bases in which its coefficients stand.

Coefficients S of $U S V^T$ become $P S Q^T$ in other bases, with $P = U_{new}^TU$ and $Q = V_{new}^TV$; so does a sum
of their gradients. Running means of squared entries have no such rule: the squares of P and Q map them, which
is right for independent entries.
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
"""Under which name a client keeps the bases that the state of its optimiser belongs to."""


def follow_bases(personal: Mapping[str, Any], client: Client, S: Tree, U: Tree, V: Tree) -> Mapping[str, Any]:
    """A client's personal values, with the state of its optimiser in new bases.

    Args:
        personal: Personal values of the client.
        client: Client in coefficient space; its statistics have no state.
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
        raise FederationError(
            f"nothing is known of how a {type(state).__name__} follows bases that move; use Sgd, Adam or AdamW"
        )
    return {**personal, OPTIMISER: state}


def store_bases(personal: Mapping[str, Any], U: Tree, V: Tree) -> Mapping[str, Any]:
    """The kept state of a client's optimiser, and the bases that it belongs to."""
    return {**personal, BASES: (U, V)} if personal else personal
