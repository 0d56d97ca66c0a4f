r"""FedEx-LoRA (Singhal et al., ACL 2025): the factors are averaged, and the residual goes into the frozen weights.

The residual $\sum_k s_kA_kB_k - \bar A\bar B$ makes the average of products exact. The released code adds it as a
matrix (`dense`). The paper sends factors of it, whose rank is at most the number of clients times r. We send
$\sum_{k<K} s_k(A_k - A_K)(B_k - \bar B)$, which is the same matrix with r columns less and without a decomposition. The
paper's variant of fixed cost truncates the residual to a rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from algorithms.adapter import AB, MergedState
from algorithms.federation import Cohort, Federation, FederationError, require_whole
from algorithms.fedlora import LoRA, train_factors
from algorithms.flexlora import best_factors, product_and_rest
from algorithms.tree import Tree

Residual = Literal["factors", "dense"]
RESIDUALS: tuple[Residual, ...] = ("factors", "dense")


@dataclass(frozen=True)
class FedExLoRA(LoRA):
    r"""One round is FedLoRA's and $W \leftarrow W + \alpha(\sum_k s_kA_kB_k - \bar A\bar B)$ at every client.

    Attributes:
        residual: Form in which the residual is sent: its `factors`, or a `dense` matrix.
        residual_rank: Send the best approximation of this rank of the residual instead, as factors; default: send all
            of it.

    Raises:
        FederationError: The form is unknown, or a rank is given that is below 1 or for a dense residual.
    """

    residual: Residual = "factors"
    residual_rank: int | None = None

    def __post_init__(self) -> None:
        if self.residual not in RESIDUALS:
            raise FederationError(f"residual must be one of {RESIDUALS}, got {self.residual!r}")
        if self.residual_rank is not None:
            require_whole(1, residual_rank=self.residual_rank)
            if self.residual == "dense":
                raise FederationError("a truncated residual is sent as factors; leave residual or residual_rank out")

    def start(self, fed: Federation, w: Tree) -> MergedState:  # type: ignore[override]
        """Broadcast the weights and return the state before the first round."""
        return MergedState(*super().start(fed, w), 0)

    def round(self, fed: Federation, cohort: Cohort, state: MergedState) -> MergedState:
        """Do one round and return the new state."""
        sent = fed.gather(
            train_factors,
            to=cohort,
            draw=self.local.draw,
            factors=state.factors,
            local=self.local,
            adapter=self.adapter,
        )
        mean: AB = fed.average(sent, of=cohort)
        columns = residual_factors(sent, mean, fed.cohort_shares(cohort))
        rank = max(A.shape[1] for A in columns.A.values())
        if self.residual == "dense":
            products, _ = fed.average([product_and_rest(one) for one in sent], of=cohort)
            dense = products - mean.A @ mean.B
            fed.broadcast(residual=dense)
            base = self.adapter.add_products(state.base, dense)
        else:
            if self.residual_rank is not None and self.residual_rank < rank:
                rank = self.residual_rank
                columns = best_factors(columns.A @ columns.B, rank, "balanced")
            fed.broadcast(residual=columns)
            base = self.adapter.weights(state.base, columns)
        fed.set_shared(base=base)
        return MergedState(base, mean, state.merged + rank)

    def merged_rank(self, state: MergedState, name: str) -> int:
        """Return the largest rank of what has been added to a weight."""
        return state.merged


def residual_factors(sent: Sequence[AB], mean: AB, shares: Sequence[float]) -> AB:
    r"""Return factors of $\sum_k s_kA_kB_k - \bar A\bar B = \sum_{k<K} s_k(A_k - A_K)(B_k - \bar B)$.

    The equation holds because $\sum_k s_k(B_k - \bar B) = 0$.
    """
    A, B = {}, {}
    for name, last in sent[-1].A.items():
        lefts = [s * (one.A[name] - last) for s, one in zip(shares[:-1], sent[:-1], strict=True)]
        A[name] = torch.cat([last[:, :0], *lefts], dim=1)
        B[name] = torch.cat([mean.B[name][:0], *(one.B[name] - mean.B[name] for one in sent[:-1])], dim=0)
    return AB(Tree(A), Tree(B))
