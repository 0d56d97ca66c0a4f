"""The problem of silos: their data stay with them, the server has a start, and perhaps data for an evaluation."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import torch
from torch import Tensor

from algorithms.descent import takes_values
from algorithms.federation import Client, Federation, FederationError, Memory, Reply
from algorithms.tree import Tree
from algorithms.weights import dense_tree
from runs.settings import ANSWERED, CONTENT, SIZES, START, RunError, at_least
from runs.silos.given import measure

SILOS = "silos"
"""Name of the problem in runs."""
RUN_NAME = "name at the silos"
"""Name of what a run's settings have of the name under which silos keep what belongs to it."""
Evaluate = Callable[[Mapping[str, Any]], Mapping[str, float]]


@dataclass(frozen=True)
class SiloSettings:
    """The silos of a run, by name.

    Attributes:
        clients: Number of silos.
        silos: Names of the silos, between commas; a silo's place among them is the number of its client.

    Raises:
        RunError: Invalid names, or another number of them.
    """

    silos: str
    clients: int = 2

    def __post_init__(self) -> None:
        at_least(1, clients=self.clients)
        if len(set(self.names)) != self.clients or not all(self.names):
            raise RunError(f"silos must be {self.clients} different names between commas, got {self.silos!r}")
        if not self.silos.isprintable() or re.search(r"[<>&\"'`|\\]", self.silos):
            raise RunError(f"silos' names must be printable and without < > & ` | \\ and quotes, got {self.silos!r}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order of the clients."""
        return tuple(name.strip() for name in self.silos.split(","))

    @classmethod
    def suggest(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Suggest nothing, because the data are elsewhere."""
        return {}

    def build(self, seed: int, device: str = "cpu", root: str | None = None) -> NoReturn:
        """Refuse: one machine cannot build this problem.

        Raises:
            RunError: Always, with what to do instead.
        """
        raise RunError(
            "silos hold their own data: `rankproof flower new FOLDER` writes the app that trains with them, and the "
            "`flwr run` command that began a run also resumes it"
        )


@dataclass(frozen=True)
class RemoteClient:
    """A client as its server knows it: only its number of samples and the kind of its network."""

    name: str
    samples: float
    takes_values: bool
    statistics: frozenset[str]
    data: str = ""

    def loss(self, w: Mapping[str, Tensor], batch: Any = None) -> Tensor:
        """Refuse: the data are not here.

        Raises:
            FederationError: Always.
        """
        raise FederationError(f"the data of silo {self.name} are not on this machine; an algorithm must ask the silo")


@dataclass(frozen=True)
class RemoteClients:
    """The clients of all silos."""

    clients: tuple[RemoteClient, ...]

    @property
    def sizes(self) -> Sequence[float]:
        """Size of each client's data, as reported."""
        return [client.samples for client in self.clients]

    def __len__(self) -> int:
        return len(self.clients)

    def __getitem__(self, number: int, /) -> RemoteClient:
        return self.clients[number]


def local_loss(client: Client, memory: Memory, w: Mapping[str, Any]) -> Reply:
    """Return the loss of a client at the model, in double precision, for evaluations without data at the server."""
    loss: Tensor = client.loss(w if takes_values(client) else dense_tree(w))
    return Reply(upload=loss.detach().double())


@dataclass(frozen=True, eq=False)
class SiloProblem:
    """A federated problem whose clients are remote.

    Attributes:
        clients: Clients as the server knows them.
        start: Initial weights.
        measure: Numbers by name for weights, evaluated at the server; default: the clients are asked for their losses.
        run: Name under which silos keep what belongs to the run; empty for those that an earlier version began.
        counts: Whether the number of silos whose losses were averaged is a metric; an earlier version began tables
            without it.
    """

    clients: RemoteClients
    start: Tree
    measure: Evaluate | None = None
    run: str = ""
    counts: bool = True

    @property
    def shares(self) -> None:
        """Weights of the clients in averages: the sizes of their data."""
        return None

    @property
    def given(self) -> Mapping[str, str | Sequence[float]]:
        """Facts by which a resumed run recognises the problem."""
        digest = hashlib.sha256()
        for name, entry in self.start.items():
            numbers = entry.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
            digest.update(f"{name} {tuple(entry.shape)} {entry.dtype} ".encode() + numbers)
        data = {f"{CONTENT}{client.name}": client.data for client in self.clients.clients if client.data}
        own = {RUN_NAME: self.run} if self.run else {}
        return {START: digest.hexdigest(), SIZES: list(self.clients.sizes), **data, **own}

    def evaluate(self, w: Mapping[str, Any], fed: Federation) -> Mapping[str, float]:
        """Evaluate weights; the silos' mean loss takes an exchange, which the ledger counts.

        The mean is over the silos that answer, whose number is the metric `silos`.

        Raises:
            FederationError: The function of the user's changes the weights, or returns no numbers by name.
        """
        if self.measure is not None:
            return measure(self.measure, w)
        loss = float(fed.mean(local_loss, to=fed.everyone, w=w))
        return {"loss": loss, **({ANSWERED: len(fed.answered)} if self.counts else {})}
