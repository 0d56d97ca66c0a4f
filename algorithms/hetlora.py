r"""HetLoRA (Cho et al., EMNLP 2024): factors of different ranks are padded with zeros, and clients prune their ranks.

Each client receives the first columns of A and rows of B. Its loss has the penalty $\lambda\|A_{tail}\|\|B_{tail}\|$ on
those from $\lfloor\gamma r_k\rfloor$ on. If training has reduced this product of norms, the client cuts the tail off
before it sends its factors, and its rank stays lower. It reports this decision first, as one number, so the server
knows the form of what follows. The server pads the factors with zeros and weights a client by
$\|A_kB_k\|_F$, the norm of the singular values of its update. The paper writes one weight matrix. With several layers,
we sum the penalties and take the norm of the whole update, so a client has one rank and one weight. The defaults
of decay and penalty are those of a public implementation by others. Weights that are not factorised are averaged by the
clients' shares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from algorithms.adapter import AB, Adapter, require_ranks_within
from algorithms.descent import Descent, Wrapped, descend, require_fresh
from algorithms.federation import Client, Cohort, Each, Federation, FederationError, Memory, Reply
from algorithms.fedlora import LoRA, train_factors
from algorithms.flexlora import first
from algorithms.rbla import pad
from algorithms.tree import Tree, narrow, weighted_sum, wide

Weighting = Literal["norms", "shares"]
WEIGHTINGS: tuple[Weighting, ...] = ("norms", "shares")


class HetLoRAState(NamedTuple):
    """Frozen weights, the server's factors, and the rank of each client, which may have been pruned."""

    base: Tree
    factors: AB
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class HetLoRA(LoRA):
    r"""One round is $A, B \leftarrow \sum_k p_kA_k, \sum_k p_kB_k$ of padded factors, with $p_k \propto \|A_kB_k\|_F$.

    Attributes:
        ranks: Initial rank of each client's factors, in the order of the clients; default: the adapter's rank, which is
            also the server's.
        decay: $\gamma$, the part of its rank that a client keeps when it prunes; with 1, ranks stay as they are and
            nothing is penalised.
        penalty: $\lambda$, the weight of the penalty on the part that may be pruned.
        weighting: Weight of a client in the averages: the `norms` of the updates, or the `shares` of the data, which is
            the paper's plain padding.

    Raises:
        FederationError: A value is out of its range, or the state of the optimiser is personal although ranks change.
    """

    ranks: tuple[int, ...] = ()
    decay: float = 0.99
    penalty: float = 0.01
    weighting: Weighting = "norms"

    def __post_init__(self) -> None:
        require_ranks_within(self.ranks, self.adapter.rank)
        if not 0.0 < self.decay <= 1.0 or not 0.0 <= self.penalty < float("inf"):
            raise FederationError(
                f"expected a decay above 0 and at most 1 and a finite penalty of at least 0, got {self.decay} and "
                f"{self.penalty}"
            )
        if self.weighting not in WEIGHTINGS:
            raise FederationError(f"weighting must be one of {WEIGHTINGS}, got {self.weighting!r}")
        if self.decay < 1.0:
            require_fresh(self.local, "HetLoRA may prune its factors")

    def start(self, fed: Federation, w: Tree) -> HetLoRAState:  # type: ignore[override]
        """Broadcast the frozen weights and return the state before the first round.

        Raises:
            FederationError: There is not one rank for each client, or the adapter's rank does not fit a layer.
        """
        base, factors = super().start(fed, w)
        largest = max(A.shape[1] for A in factors.A.values())  # layers of a given adapter may have several ranks
        return HetLoRAState(base, factors, self.ranks or (largest,) * len(fed.clients))

    def round(self, fed: Federation, cohort: Cohort, state: HetLoRAState) -> HetLoRAState:
        """Do one round and return the new state."""
        ranks = list(state.ranks)
        factors = {number: first(state.factors, ranks[number]) for number in cohort}
        common: dict[str, Any] = {"to": cohort, "draw": self.local.draw, "local": self.local, "adapter": self.adapter}
        if self.decay == 1.0:
            sent = fed.gather(train_factors, each={"factors": factors}, **common)
        else:
            kept = {number: self.kept(ranks[number]) for number in cohort}
            each: Each = {"factors": factors, "kept": kept}
            for number, shrunk in zip(
                cohort, fed.gather(train_with_penalty, each=each, penalty=self.penalty, **common), strict=True
            ):
                ranks[number] = kept[number] if bool(shrunk) else ranks[number]
            sent = fed.gather(send_factors, to=cohort, each={"rank": {number: ranks[number] for number in cohort}})
        padded = [AB(one.A, one.B) for one in (pad(state.factors, one).factors for one in sent)]
        A, B, _ = self.average(padded, fed.cohort_shares(cohort), state.factors)
        rest = fed.average([one.rest for one in sent], of=cohort)
        return HetLoRAState(state.base, AB(A, B, rest), tuple(ranks))

    def kept(self, rank: int) -> int:
        """Return the rank that a client keeps if it prunes."""
        return max(1, floor(round(self.decay * rank, 9)))

    def average(self, padded: Sequence[AB], shares: Sequence[float], like: AB) -> AB:
        """Return the weighted mean of padded factors, in the type of the server's; by shares if all updates are 0."""
        weights: Sequence[Any] = shares
        if self.weighting == "norms":
            norms = torch.stack([(one.A @ one.B).square() for one in padded]).sqrt()
            total = norms.sum()
            weights = list(torch.where(total > 0, norms / total, norms.new_tensor(shares)))
        A, B, _ = weighted_sum(zip(weights, padded, strict=True))
        narrowed = [own.map(lambda old, new: narrow(new, old.dtype), mean) for own, mean in ((like.A, A), (like.B, B))]
        return AB(*narrowed)


def train_with_penalty(
    client: Client, memory: Memory, factors: AB, kept: int, penalty: float, local: Descent, adapter: Adapter
) -> Reply:
    """Take local steps in both factors with a penalty on their tails, and report whether the tails have shrunk."""
    penalised = Penalised(client, adapter.assembler(client, memory.shared["base"]), penalty, kept)
    trained, _ = descend(penalised, factors, local, memory, rates=adapter.rates(factors))
    before = tail(factors, kept)
    return Reply(upload=(tail(trained, kept) < before).to(before.dtype), keep={"trained": trained})


def send_factors(client: Client, memory: Memory, rank: int) -> Reply:
    """Send the first columns of A and rows of B, and the rest."""
    return Reply(upload=first(memory.kept["trained"], rank))


def tail(factors: AB, kept: int) -> Tensor:
    r"""Return $\|A_{tail}\|\|B_{tail}\|$, summed over the layers; the tails are the columns and rows from `kept` on."""
    norms = [
        torch.linalg.vector_norm(wide(A[:, kept:])) * torch.linalg.vector_norm(wide(factors.B[name][kept:]))
        for name, A in factors.A.items()
    ]
    return torch.stack(norms).sum()


@dataclass(frozen=True)
class Penalised(Wrapped):
    """A client whose loss is a function of the factors and has a penalty on their tails."""

    assemble: Callable[[AB], Mapping[str, Any]]
    penalty: float
    kept: int

    def loss(self, at: Any, batch: Any = None) -> Tensor:
        """Return the loss at factors, with the penalty."""
        loss: Tensor = self.client.loss(self.assemble(at), batch)
        return loss + self.penalty * tail(at, self.kept)

    def loss_and_statistics(self, at: Any, batch: Any = None) -> tuple[Tensor, Mapping[str, Tensor]]:
        """Return the loss at factors with the penalty, and the new statistics."""
        loss, new = self.client.loss_and_statistics(self.assemble(at), batch)
        return loss + self.penalty * tail(at, self.kept), new
