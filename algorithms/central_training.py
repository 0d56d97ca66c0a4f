"""Central training, the baseline: one client holds the pooled data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from algorithms.descent import Descent
from algorithms.federation import Client, Clients, Cohort, Federation, FederationError
from algorithms.local_training import train_alone
from algorithms.tree import Tree, weighted_sum


@dataclass(frozen=True)
class CentralTraining:
    """Trains a single client on all samples, without communication; the state is the weights.

    Attributes:
        local: Local steps of a round; with one epoch, a round is a pass over all data.
    """

    local: Descent

    def start(self, fed: Federation, w: Tree) -> Tree:
        """Return the state before the first round."""
        return w

    def round(self, fed: Federation, cohort: Cohort, w: Tree) -> Tree:
        """Train the single client for one round and return its weights."""
        fed.set_personal(w=w)
        fed.gather(train_alone, to=cohort, draw=self.local.draw, local=self.local)
        trained: Tree = fed.personal(cohort[0])["w"]
        return trained

    def weights(self, w: Tree) -> Tree:
        """Return the weights of the model."""
        return w

    def pool(
        self, clients: Clients | Sequence[Client], shares: Sequence[float] | None
    ) -> tuple[Sequence[Client], None]:
        """Return the single client, and None for its shares.

        It is ``clients.pooled()`` if there is such a method, else a client with the mean of all losses.
        """
        own = getattr(clients, "pooled", None)
        if own is not None:
            return (own(),), None
        everybody = tuple(clients[number] for number in range(len(clients)))
        return (Pool(everybody, tuple(shares or [client.samples for client in everybody])),), None


@dataclass(frozen=True, eq=False)
class Pool:
    r"""A client with the pooled data of others, whose loss is the weighted mean $\sum_k s_kL_k(w)/\sum_k s_k$.

    Attributes:
        clients: Clients whose data are pooled.
        shares: Weights of the clients in averages.
    """

    clients: tuple[Client, ...]
    shares: tuple[float, ...]

    @property
    def samples(self) -> float:
        """Number of samples of all clients."""
        return float(sum(client.samples for client in self.clients))

    def loss(self, w: Mapping[str, Tensor], batch: Any = None) -> Tensor:
        """Return the mean loss.

        Raises:
            FederationError: A batch is requested, which cannot be drawn across these clients' data.
        """
        if batch is not None:
            raise FederationError("central training in batches needs clients with a method pooled()")
        total = sum(self.shares)
        mean: Tensor = weighted_sum(
            (share / total, client.loss(w)) for share, client in zip(self.shares, self.clients, strict=True)
        )
        return mean
