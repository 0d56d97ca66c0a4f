"""FlexLoRA (Bai et al., 2024): the server averages the clients' products and truncates the mean to a rank.

Each client may have its own rank. It receives the first columns of A and rows of B, which belong to the largest
singular values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch

from algorithms.adapter import AB, LoRAState, require_ranks_within
from algorithms.descent import require_fresh
from algorithms.federation import Cohort, Federation, FederationError
from algorithms.fedlora import LoRA
from algorithms.low_rank import singular_triples
from algorithms.tree import Tree

Split = Literal["balanced", "left", "right"]
SPLITS: tuple[Split, ...] = ("balanced", "left", "right")


@dataclass(frozen=True)
class FlexLoRA(LoRA):
    r"""One round is $AB \leftarrow$ the best approximation of $\sum_k s_kA_kB_k$ of the adapter's rank.

    Attributes:
        split: Where the singular values go: their square roots to each factor (`balanced`), all to A (`left`) or all to
            B (`right`). If the mean has a lower rank, only `left` and `right` keep directions in which it can grow.
        ranks: Rank of each client's factors, in the order of the clients; default: the adapter's rank, which is also
            the server's.

    Raises:
        FederationError: The split is unknown, a rank is not between 1 and the server's, or the state of the optimiser
            is personal.
    """

    split: Split = "balanced"
    ranks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise FederationError(f"split must be one of {SPLITS}, got {self.split!r}")
        require_ranks_within(self.ranks, self.adapter.rank)
        require_fresh(self.local, "FlexLoRA makes its factors of singular vectors")

    def round(self, fed: Federation, cohort: Cohort, state: LoRAState) -> LoRAState:
        """Do one round and return the new state."""
        factors = {number: first(state.factors, self.ranks[number]) for number in cohort} if self.ranks else None
        update, rest = self.train(fed, cohort, factors or state.factors, then=product_and_rest)
        ranks = {name: self.adapter.rank_of(name) for name in update}
        return state._replace(factors=best_factors(update, ranks, self.split)._replace(rest=rest))


def product_and_rest(factors: AB) -> tuple[Tree, Tree]:
    """Return the products $AB$, and the weights that are not factorised."""
    return factors.A @ factors.B, factors.rest


def first(factors: AB, rank: int) -> AB:
    """Return the first columns of A and rows of B."""
    return AB(factors.A.map(lambda A: A[:, :rank]), factors.B.map(lambda B: B[:rank]), factors.rest)


def best_factors(update: Tree, ranks: int | Mapping[str, int], split: Split) -> AB:
    """Return factors of the best approximation of given rank, one for all weights or one for each.

    If a matrix has a lower rank, the columns of A and rows of B beyond it do not depend on rounding errors. `balanced`
    makes both zero, `left` makes those of A zero and those of B fixed orthonormal directions, and `right` the reverse.
    """
    A, B = {}, {}
    for name, W in update.items():
        U, sigma, V = singular_triples(W, ranks if isinstance(ranks, int) else ranks[name])
        left = {"balanced": sigma.sqrt(), "left": sigma, "right": torch.ones_like(sigma)}[split]
        right = {"balanced": sigma.sqrt(), "left": torch.ones_like(sigma), "right": sigma}[split]
        A[name], B[name] = U * left, right[:, None] * V.mT
    return AB(Tree(A), Tree(B))
