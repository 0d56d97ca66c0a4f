"""Central training: one client has the data of all; what federated training is compared with."""

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
    """The baseline: a single client, whose steps, batches and epochs are over all samples; nothing travels.

    Its state is the weights.

    Attributes:
        local: Steps of a round; with one epoch, a round is a pass over all data.
    """

    local: Descent

    def start(self, fed: Federation, w: Tree) -> Tree:
        """The state before the first round."""
        return w

    def round(self, fed: Federation, cohort: Cohort, w: Tree) -> Tree:
        """One round."""
        fed.set_personal(w=w)
        fed.gather(train_alone, to=cohort, draw=self.local.draw, local=self.local)
        trained: Tree = fed.personal(cohort[0])["w"]
        return trained

    def weights(self, w: Tree) -> Tree:
        """The model."""
        return w

    def pool(
        self, clients: Clients | Sequence[Client], shares: Sequence[float] | None
    ) -> tuple[Sequence[Client], None]:
        """The single client: the clients' own ``pooled()``, else one with the mean of their losses."""
        own = getattr(clients, "pooled", None)
        if own is not None:
            return (own(),), None
        everybody = tuple(clients[number] for number in range(len(clients)))
        return (Pool(everybody, tuple(shares or [client.samples for client in everybody])),), None


@dataclass(frozen=True, eq=False)
class Pool:
    """The data of several clients: the mean of their losses weighted by their shares.

    Attributes:
        clients: Clients whose data are pooled.
        shares: Weights of the clients in averages.
    """

    clients: tuple[Client, ...]
    shares: tuple[float, ...]

    @property
    def samples(self) -> float:
        """Size of all data."""
        return float(sum(client.samples for client in self.clients))

    def loss(self, w: Mapping[str, Tensor], batch: Any = None) -> Tensor:
        """The mean loss.

        Raises:
            FederationError: A batch, which these clients cannot take from one another's samples.
        """
        if batch is not None:
            raise FederationError("central training in batches needs clients with a method pooled()")
        total = sum(self.shares)
        mean: Tensor = weighted_sum(
            (share / total, client.loss(w)) for share, client in zip(self.shares, self.clients, strict=True)
        )
        return mean
