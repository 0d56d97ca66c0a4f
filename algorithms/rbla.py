r"""RBLA (Chen et al., 2024): each column of A and row of B is averaged over the clients whose rank includes it.

Clients of small ranks do not dilute the columns that only others train, as padding with zeros does. Each client
receives the first columns of A and rows of B. The released code has no column beyond the largest rank of a round. Here
such a column keeps its value, because a later cohort may train it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from algorithms.adapter import AB, LoRAState, require_ranks_within
from algorithms.federation import Cohort, Federation
from algorithms.fedlora import LoRA
from algorithms.flexlora import first
from algorithms.tree import Tree, narrow, wide


class Padded(NamedTuple):
    """Factors of the server's rank with zeros beyond a client's, and for each layer 1 at the columns that it has."""

    factors: AB
    has: Tree


@dataclass(frozen=True)
class RBLA(LoRA):
    r"""One round is $a_j \leftarrow \sum_{r_k \ge j} s_ka_{kj} / \sum_{r_k \ge j} s_k$ for columns of A and rows of B.

    Attributes:
        ranks: Rank of each client's factors, in the order of the clients; default: the adapter's rank, which is also
            the server's.

    Raises:
        FederationError: A rank is not between 1 and the server's.
    """

    ranks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        require_ranks_within(self.ranks, self.adapter.rank)

    def round(self, fed: Federation, cohort: Cohort, state: LoRAState) -> LoRAState:
        """Do one round and return the new state."""
        before = state.factors
        factors = {number: first(before, self.ranks[number]) for number in cohort} if self.ranks else before
        (A, B, rest), has = self.train(fed, cohort, factors, then=partial(pad, before))
        return state._replace(
            factors=AB(
                before.A.map(lambda old, total, part: divide(total, part, old), A, has),
                before.B.map(lambda old, total, part: divide(total, part[:, None], old), B, has),
                rest,
            )
        )


def pad(like: AB, factors: AB) -> Padded:
    """Return a client's factors with zeros beyond its rank."""
    missing = {name: A.shape[1] - factors.A[name].shape[1] for name, A in like.A.items()}
    A = {name: torch.nn.functional.pad(wide(part), (0, missing[name])) for name, part in factors.A.items()}
    B = {name: torch.nn.functional.pad(wide(part), (0, 0, 0, missing[name])) for name, part in factors.B.items()}
    has = {name: wide(A.new_zeros(A.shape[1])) for name, A in like.A.items()}
    for name, part in factors.A.items():
        has[name][: part.shape[1]] = 1.0
    return Padded(AB(Tree(A), Tree(B), factors.rest), Tree(has))


def divide(total: Tensor, part: Tensor, old: Tensor) -> Tensor:
    """Return the total divided by the share of the clients that had a part in it; the old value if there were none."""
    return torch.where(part > 0, narrow(total / part, old.dtype), old)
