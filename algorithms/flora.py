r"""FLoRA (Wang et al., NeurIPS 2024): the server stacks the clients' factors, and every client merges the stack.

The mean of products is one product of stacked factors,
$\sum_k s_kA_kB_k = [s_1A_1\ \cdots\ s_KA_K]\,[B_1;\ \cdots;\ B_K]$, so it is exact and ranks may differ between
clients. Every client adds it to its weights and draws new factors with AB = 0. As in the released code, each client
draws an A of its own, and the shares multiply one of the two factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from algorithms.adapter import AB, Adapter, MergedState, require_rank_for_each
from algorithms.descent import Descent, descend, require_fresh
from algorithms.federation import Client, Cohort, Federation, Memory, Reply
from algorithms.fedlora import LoRA
from algorithms.tree import Tree


@dataclass(frozen=True)
class FLoRA(LoRA):
    r"""One round is $W \leftarrow W + \alpha\sum_k s_kA_kB_k$, where client k trains new factors of its own rank.

    Attributes:
        ranks: Rank of each client's factors, in the order of the clients; default: the adapter's rank.

    Raises:
        FederationError: The state of the optimiser is personal.
    """

    ranks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        require_fresh(self.local, "FLoRA draws its factors")

    def start(self, fed: Federation, w: Tree) -> MergedState:  # type: ignore[override]
        """Broadcast the weights and return the state before the first round; a given adapter is merged at once.

        Raises:
            FederationError: There is not one rank for each client, or a rank does not fit a layer.
        """
        require_rank_for_each(self.ranks, len(fed.clients))
        for rank in sorted({*self.ranks}):
            self.adapter.of_client(0, rank).pair(w)
        state = MergedState(*super().start(fed, w), 0)
        pair = state.factors._replace(rest=Tree())
        return self.merge(fed, state, pair) if any(bool(B.any()) for B in pair.B.values()) else state

    def round(self, fed: Federation, cohort: Cohort, state: MergedState) -> MergedState:
        """Do one round and return the new state."""
        ranks = {number: self.ranks[number] if self.ranks else self.adapter.rank for number in cohort}
        sent = fed.gather(
            train_new_factors,
            to=cohort,
            draw=self.local.draw,
            each={"adapter": {number: self.adapter.of_client(number, rank) for number, rank in ranks.items()}},
            rest=state.factors.rest,
            local=self.local,
        )
        merged = self.merge(fed, state, stack(sent, fed.cohort_shares(cohort)))
        rest = fed.average([factors.rest for factors in sent], of=cohort)
        return merged._replace(factors=merged.factors._replace(rest=rest))

    def merge(self, fed: Federation, state: MergedState, stacked: AB) -> MergedState:
        """Send stacked factors to every client and return the state with their product added to the weights."""
        fed.broadcast(stacked=stacked)
        base = self.adapter.weights(state.base, stacked)
        fed.set_shared(base=base)
        factors = state.factors._replace(B=state.factors.B.map(torch.zeros_like))
        return MergedState(base, factors, state.merged + max(A.shape[1] for A in stacked.A.values()))

    def merged_rank(self, state: MergedState, name: str) -> int:
        """Return the largest rank of what has been added to a weight."""
        return state.merged


def train_new_factors(client: Client, memory: Memory, adapter: Adapter, rest: Tree, local: Descent) -> Reply:
    """Draw new factors and take local steps in them and in the rest."""
    base = memory.shared["base"]
    start = adapter.pair(base, turn=memory.round)._replace(rest=rest)
    trained, _ = descend(client, start, local, memory, adapter.assembler(client, base), rates=adapter.rates(start))
    return Reply(upload=trained)


def stack(sent: Sequence[AB], shares: Sequence[float]) -> AB:
    r"""Return $[s_1A_1\ \cdots\ s_KA_K]$ and $[B_1;\ \cdots;\ B_K]$, whose product is the mean of the products."""
    names = sent[0].A
    A = {name: torch.cat([s * one.A[name] for s, one in zip(shares, sent, strict=True)], dim=1) for name in names}
    B = {name: torch.cat([one.B[name] for one in sent], dim=0) for name in names}
    return AB(Tree(A), Tree(B))
