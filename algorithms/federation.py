"""The federation a round works with: what is sent to clients, what they keep, and what comes back.

A round is a plain function of a `Federation` and reads like the box of its paper. It sends work to a cohort with `mean`
or `gather`; each call is one trip, down and up again. Work is a module-level function of one client: it reads the
client's memory and what was sent, and answers with a `Reply`. Only tensors travel, and each that does is in the ledger;
what is no tensor is a setting that everybody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from algorithms.ledger import Ledger
from algorithms.tree import tensors, weighted_sum

Cohort = tuple[int, ...]
"""Numbers of clients, increasing."""


class FederationError(ValueError):
    """A federation or a round that cannot go on; the message names round, client and cause."""


class Client(Protocol):
    """Anything that answers: a closed-form objective, or a network with its data."""

    @property
    def samples(self) -> float:
        """Size of its data."""
        ...

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """The loss at some weights, a differentiable scalar; of a batch of its samples, if one is named."""
        ...


@dataclass(frozen=True)
class Memory:
    """What a client knows beside what is sent.

    Attributes:
        round: What it kept on earlier trips of this round.
        personal: What it keeps for good.
        shared: What every client was told.
        drawn: Random numbers for this work, drawn before it from (seed, round, trip, client).
        number: Its own; none where one evaluation stands for several clients.
    """

    round: Mapping[str, Any] = field(default_factory=dict)
    personal: Mapping[str, Any] = field(default_factory=dict)
    shared: Mapping[str, Any] = field(default_factory=dict)
    drawn: Any = None
    number: int | None = None


@dataclass(frozen=True)
class Reply:
    """What one client's work leads to.

    Attributes:
        upload: Travels to the server: a tree, a tensor, or tuples and mappings of these.
        keep: Stays with the client until the round ends.
        personal: Stays with the client for good.
    """

    upload: Any = ()
    keep: Mapping[str, Any] = field(default_factory=dict)
    personal: Mapping[str, Any] = field(default_factory=dict)


Work = Callable[..., Reply]
Draw = Callable[[Client, np.random.Generator], Any]


class Executor(Protocol):
    """Where the work of a trip is done; the answers do not depend on it but for rounding."""

    def run(
        self, work: Work, clients: Sequence[Client], memories: Sequence[Memory], sent: Mapping[str, Any]
    ) -> list[Reply]:
        """One reply for each client, in their order."""
        ...


class Sequential:
    """One client after the other: the reference."""

    def run(
        self, work: Work, clients: Sequence[Client], memories: Sequence[Memory], sent: Mapping[str, Any]
    ) -> list[Reply]:
        """One reply for each client, in their order."""
        return [work(client, memory, **sent) for client, memory in zip(clients, memories, strict=True)]


@dataclass(frozen=True)
class FederationState:
    """What a federation holds between rounds: enough to go on from.

    Attributes:
        round: Rounds done.
        personal: What each client keeps for good, by its number.
        shared: What every client was told.
    """

    round: int = 0
    personal: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    shared: Mapping[str, Any] = field(default_factory=dict)


class Federation:
    """Clients, what they hold, and the ledger of what travels.

    Attributes:
        clients: In the order of their numbers.
        weights: Of the clients in averages, normalised over each cohort.
        seed: Of cohorts and of what clients draw.
        ledger: What has travelled.
    """

    def __init__(
        self,
        clients: Sequence[Client],
        *,
        weights: Sequence[float] | None = None,
        seed: int = 0,
        executor: Executor | None = None,
        ledger: Ledger | None = None,
        state: FederationState | None = None,
    ) -> None:
        """Puts a federation together.

        Args:
            clients: At least one, each with data.
            weights: Of the clients in averages; default: the sizes of their data.
            seed: Of cohorts and of what clients draw.
            executor: Default: one client after the other.
            ledger: To go on with.
            state: To go on from.

        Raises:
            FederationError: No client, one without data, or weights that do not serve.
        """
        if not clients:
            raise FederationError("a federation needs at least one client")
        for number, client in enumerate(clients):
            if not client.samples > 0:
                raise FederationError(f"client {number} has no data; leave it out")
        given = [float(client.samples) for client in clients] if weights is None else [float(w) for w in weights]
        if len(given) != len(clients) or not all(np.isfinite(given)) or min(given) < 0.0:
            raise FederationError(f"expected {len(clients)} finite weights of at least 0, got {given}")
        self.clients, self.weights, self.seed = tuple(clients), tuple(given), seed
        self.ledger = ledger if ledger is not None else Ledger()
        self._executor: Executor = executor if executor is not None else Sequential()
        before = state or FederationState()
        self._round, self._trip = before.round, 0
        self._personal = {number: dict(kept) for number, kept in before.personal.items()}
        self._shared = dict(before.shared)
        self._kept: dict[int, dict[str, Any]] = {}

    @property
    def state(self) -> FederationState:
        """What there is between rounds."""
        return FederationState(self._round, {n: dict(kept) for n, kept in self._personal.items()}, dict(self._shared))

    @property
    def everyone(self) -> Cohort:
        """All clients."""
        return tuple(range(len(self.clients)))

    def begin(self) -> int:
        """Starts a round: forgets what clients kept for the last one. Returns its number, from 1."""
        self._round += 1
        self._trip = 0
        self._kept = {}
        return self._round

    def cohort(self, size: int | None = None) -> Cohort:
        """The clients of this round, drawn without replacement from (seed, round); all of them by default.

        Raises:
            FederationError: A size that is not between 1 and the number of clients.
        """
        if size is None or size == len(self.clients):
            return self.everyone
        if not 1 <= size <= len(self.clients):
            raise FederationError(f"a cohort has between 1 and {len(self.clients)} clients, got {size}")
        rng = np.random.default_rng([self.seed, self._round])
        return tuple(sorted(rng.choice(len(self.clients), size, replace=False).tolist()))

    def gather(self, work: Work, *, to: Cohort, draw: Draw | None = None, **sent: Any) -> list[Any]:
        """Sends work to a cohort and returns each client's upload, in the order of the cohort.

        Args:
            work: A function of a client, its memory and what is sent.
            to: The cohort.
            draw: Draws what the work needs at random, from each client and its generator, before the work.
            sent: Tensors travel; everything else is a setting.

        Raises:
            FederationError: A client's work failed, or sent numbers that are not finite.
        """
        self._trip += 1
        name = work.__name__.strip("_")
        self.ledger.record(self._round, self._trip, "down", name, [sent], copies=len(to))
        clients = [self.clients[number] for number in to]
        memories = [self._memory(number, draw) for number in to]
        try:
            replies = self._executor.run(work, clients, memories, sent)
        except FederationError as error:
            raise FederationError(f"round {self._round}, {name}: {error}") from error
        for number, reply in zip(to, replies, strict=True):
            if not all(bool(torch.isfinite(part).all()) for part in tensors(reply.upload)):
                raise FederationError(
                    f"round {self._round}, client {number}: {name} sent numbers that are not finite; "
                    "lower the learning rate or look at its data"
                )
            self._kept.setdefault(number, {}).update(reply.keep)
            if reply.personal:
                self._personal.setdefault(number, {}).update(reply.personal)
        self.ledger.record(self._round, self._trip, "up", name, [reply.upload for reply in replies])
        return [reply.upload for reply in replies]

    def mean(self, work: Work, *, to: Cohort, draw: Draw | None = None, **sent: Any) -> Any:
        """Sends work to a cohort and returns the weighted mean of the uploads.

        Raises:
            FederationError: As `gather`; or the cohort has no weight.
        """
        return self.average(self.gather(work, to=to, draw=draw, **sent), of=to)

    def average(self, uploads: Sequence[Any], *, of: Cohort) -> Any:
        """The weighted mean of what a cohort sent.

        Raises:
            FederationError: The cohort has no weight.
        """
        total = sum(self.weights[number] for number in of)
        if not total > 0.0:
            raise FederationError(f"round {self._round}: the clients {list(of)} have total weight 0")
        return weighted_sum((self.weights[n] / total, upload) for n, upload in zip(of, uploads, strict=True))

    def tell(self, **values: Any) -> None:
        """Sends values to every client, which remembers them from now on."""
        self.ledger.record(self._round, self._trip, "down", "tell", [values], copies=len(self.clients))
        self._shared.update(values)

    def agree(self, **values: Any) -> None:
        """What every client works out by itself from what it knows; nothing travels."""
        self._shared.update(values)

    def equip(self, **values: Any) -> None:
        """What every client keeps for good from now on, until its own work changes it; nothing travels."""
        for number in self.everyone:
            self._personal.setdefault(number, {}).update(values)

    def _memory(self, number: int, draw: Draw | None) -> Memory:
        drawn = None
        if draw is not None:
            drawn = draw(self.clients[number], np.random.default_rng([self.seed, self._round, self._trip, number]))
        return Memory(self._kept.get(number, {}), self._personal.get(number, {}), self._shared, drawn, number)
