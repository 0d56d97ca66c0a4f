"""The federation a round works with: what is sent to clients, what they keep, and what comes back.

A round is a plain function of a `Federation` and reads like the box of its paper. It sends work to a cohort with `mean`
or `gather`; each call is one exchange, down and up again. Work is a module-level function of one client: it reads the
client's memory and what was sent, and answers with a `Reply`. Only tensors travel, and each that does is in the ledger;
what is no tensor is a setting that everybody knows. The loop over rounds is `algorithms.rounds`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from algorithms.exchange import (
    Acknowledgement,
    Client,
    Clients,
    Cohort,
    Draw,
    Each,
    Exchange,
    Executor,
    FederationError,
    InterruptedWorkError,
    Key,
    Memory,
    Reply,
    Then,
    Work,
    first_that_is_not_finite,
    is_whole,
    require_whole,
)
from algorithms.ledger import Ledger
from algorithms.sequential import Sequential
from algorithms.tree import tensors, weighted_sum

__all__ = [
    "Acknowledgement",
    "Client",
    "Clients",
    "Cohort",
    "Draw",
    "Each",
    "Exchange",
    "Executor",
    "Federation",
    "FederationError",
    "FederationState",
    "InterruptedWorkError",
    "Memory",
    "Reply",
    "Sequential",
    "Then",
    "Work",
    "require_whole",
]


@dataclass(frozen=True)
class FederationState:
    """State of a federation between rounds: enough to go on from.

    Attributes:
        round: Rounds done.
        personal: Values that clients keep for good, by number, for clients that have worked. Those of a client stay
            the same object until it works again.
        shared: Values that every client was told.
        equipped: Values that every client keeps until its own work changes them.
    """

    round: int = 0
    personal: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    shared: Mapping[str, Any] = field(default_factory=dict)
    equipped: Mapping[str, Any] = field(default_factory=dict)


class Federation:
    """Clients, what they hold, and the ledger of what travels.

    Attributes:
        clients: Clients in the order of their numbers.
        shares: Weights of the clients in averages, normalised over each cohort.
        seed: Seed of cohorts and of what clients draw.
        ledger: Record of the messages and bytes that have travelled.
    """

    def __init__(
        self,
        clients: Clients | Sequence[Client],
        *,
        shares: Sequence[float] | None = None,
        seed: int = 0,
        executor: Executor | None = None,
        ledger: Ledger | None = None,
        state: FederationState | None = None,
        known: Sequence[Any] = (),
    ) -> None:
        """Puts a federation together; a lazy sequence of clients (`Clients`) makes none of them here.

        Args:
            clients: Clients, at least one, each with data.
            shares: Weights of the clients in averages; default: the sizes of their data.
            seed: Seed of cohorts and of what clients draw.
            executor: Default: one client after the other.
            ledger: Ledger to go on with.
            state: State to go on from.
            known: Tensors that every client has beforehand, such as a pretrained model's: telling them costs nothing.

        Raises:
            FederationError: No client, one without data, or shares or a seed that do not serve.
        """
        require_whole(0, seed=seed)
        if not len(clients):
            raise FederationError("a federation needs at least one client")
        lazy = hasattr(clients, "sizes")
        given = clients.sizes if isinstance(clients, Clients) else [client.samples for client in clients]
        sizes = np.asarray(given, dtype=np.float64)
        if not (sizes > 0).all():
            raise FederationError(f"client {int((~(sizes > 0)).argmax())} has no data; leave it out")
        parts = sizes if shares is None else np.asarray(shares, dtype=np.float64)
        if parts.shape != (len(clients),) or not np.isfinite(parts).all() or parts.min() < 0.0:
            some = parts.reshape(-1)[:10].tolist()
            raise FederationError(f"expected {len(clients)} finite shares of at least 0, got {parts.size}: {some}")
        self.clients: Sequence[Client] | Clients = clients if lazy else tuple(clients)  # type: ignore[arg-type]
        self.shares, self.seed = parts, seed
        self.ledger = ledger if ledger is not None else Ledger()
        self._executor: Executor = executor if executor is not None else Sequential()
        before = state or FederationState()
        self._round, self._exchanges = before.round, 0
        self._personal = dict(before.personal)
        self._shared, self._equipped = dict(before.shared), dict(before.equipped)
        self._kept: dict[int, Mapping[str, Any]] = {}
        self._key = Key()
        self._known = tuple(known)

    @property
    def state(self) -> FederationState:
        """State between rounds."""
        return FederationState(self._round, dict(self._personal), dict(self._shared), dict(self._equipped))

    @property
    def everyone(self) -> Cohort:
        """All clients."""
        return tuple(range(len(self.clients)))

    def personal(self, number: int) -> Mapping[str, Any]:
        """Values that a client keeps for good."""
        return {**self._equipped, **self._personal.get(number, {})}

    def _begin(self) -> int:
        """Starts a round: forgets what clients kept for the last one. Returns its number, from 1; for `rounds` only."""
        self._round += 1
        self._exchanges = 0
        self._kept = {}
        return self._round

    def cohort(self, size: int | None = None) -> Cohort:
        """The clients of this round, drawn without replacement from (seed, round); all of them by default.

        Raises:
            FederationError: A size that is not between 1 and the number of clients.
        """
        if size is None:
            return self.everyone
        if not is_whole(size) or not 1 <= size <= len(self.clients):
            raise FederationError(f"a cohort has between 1 and {len(self.clients)} clients, got {size!r}")
        if size == len(self.clients):
            return self.everyone
        rng = np.random.default_rng([self.seed, self._round])
        return tuple(sorted(rng.choice(len(self.clients), size, replace=False).tolist()))

    def gather(
        self, work: Work, *, to: Cohort, draw: Draw | None = None, each: Each | None = None, **sent: Any
    ) -> list[Any]:
        """Sends work to a cohort and returns each client's upload, in the order of the cohort.

        Args:
            work: A function of a client, its memory and what is sent.
            to: The cohort.
            draw: Draws what the work needs at random, from each client and its generator, before the work.
            each: Arguments sent to one client alone: by name, then by the client's number.
            sent: Arguments sent to all; tensors travel, everything else is a setting.

        Raises:
            FederationError: A client's work failed, or sent numbers that are not finite.
        """
        exchange, uploads, acknowledgements = self._next(work, to, draw, each, None, sent), [], []
        with exchange.naming_errors():
            for number, reply in zip(to, self._executor.replies(exchange), strict=True):
                acknowledgements.append(Acknowledgement.of(number, reply))
                uploads.append(reply.upload)
        self._settle(exchange, acknowledgements)
        return uploads

    def mean(
        self,
        work: Work,
        *,
        to: Cohort,
        draw: Draw | None = None,
        each: Each | None = None,
        then: Then | None = None,
        **sent: Any,
    ) -> Any:
        """Sends work to a cohort and returns the weighted mean of the uploads, added up as they arrive.

        Args:
            work: As in `gather`, like `draw` and `each`.
            to: The cohort.
            draw: Draws random numbers, as in `gather`.
            each: Arguments sent to one client alone.
            sent: Arguments sent to all.
            then: Function that the server applies to an upload before it is added up.

        Raises:
            FederationError: As `gather`; or the cohort's shares are 0.
        """
        self._require_cohort(to)
        shares = self.cohort_shares(to)
        exchange = self._next(work, to, draw, each, then, sent)
        with exchange.naming_errors():
            total, acknowledgements = self._executor.sum(exchange, shares)
        self._settle(exchange, acknowledgements)
        return total

    def cohort_shares(self, of: Cohort) -> list[float]:
        """The shares of a cohort, of sum 1.

        Raises:
            FederationError: They are all 0.
        """
        shares = [float(self.shares[number]) for number in of]
        total = sum(shares)
        if not total > 0.0:
            raise FederationError(f"round {self._round}: the shares of the clients {list(of)} have sum 0")
        return [share / total for share in shares]

    def average(self, uploads: Sequence[Any], *, of: Cohort) -> Any:
        """The weighted mean of what a cohort sent.

        Raises:
            FederationError: The cohort's shares are 0.
        """
        return weighted_sum(zip(self.cohort_shares(of), uploads, strict=True))

    def tell(self, **values: Any) -> None:
        """Sends values to every client, which remembers them from now on; nothing comes back."""
        known = set(map(id, self._known))
        message = [leaf for leaf in tensors(values) if id(leaf) not in known]
        self.ledger.record(self._round, self._exchanges, "down", "tell", [message], copies=len(self.clients))
        self._shared.update(values)
        everyone = range(len(self.clients))
        self._executor.tell(self._new_exchange(_remember, everyone, None, None, None, values))

    def agree(self, **values: Any) -> None:
        """Sets what every client can work out by itself from what it knows; costs no communication."""
        self._shared.update(values)

    def equip(self, **values: Any) -> None:
        """Sets what every client keeps for good until its own work changes it; costs no communication."""
        self._equipped.update(values)
        for number, kept in self._personal.items():
            if kept.keys() & values.keys():
                self._personal[number] = {name: value for name, value in kept.items() if name not in values}

    def _next(
        self, work: Work, to: Cohort, draw: Draw | None, each: Each | None, then: Then | None, sent: Mapping[str, Any]
    ) -> Exchange:
        self._require_cohort(to)
        self._exchanges += 1
        exchange = self._new_exchange(work, to, draw, each, then, sent)
        self.ledger.record(self._round, self._exchanges, "down", exchange.name, *exchange.down())
        return exchange

    def _require_cohort(self, to: Cohort) -> None:
        right = len(to) > 0 and all(map(is_whole, to)) and len(set(to)) == len(to)
        if not right or min(to) < 0 or max(to) >= len(self.clients):
            raise FederationError(
                f"round {self._round}: a cohort is some of the clients 0 to {len(self.clients) - 1}, each once, got "
                f"{list(to)[:10]}"
            )

    def _new_exchange(
        self, work: Work, to: Cohort, draw: Draw | None, each: Each | None, then: Then | None, sent: Mapping[str, Any]
    ) -> Exchange:
        return Exchange(
            self._round,
            self._exchanges,
            work,
            to,
            self.clients,
            sent,
            each or {},
            then,
            self.seed,
            draw,
            self._kept,
            self._personal,
            self._equipped,
            self._shared,
            self._key,
        )

    def _settle(self, exchange: Exchange, acknowledgements: Sequence[Acknowledgement]) -> None:
        """One check of all that came back, then what clients keep, then the ledger."""
        wrong = first_that_is_not_finite(acknowledgements)
        if wrong is not None:
            own: Mapping[str, Any] = getattr(self.clients[wrong], "tensors", dict)()
            odd = [name for name, part in own.items() if part.is_floating_point() and not part.isfinite().all()]
            cause = (
                f"its data {odd[0]} are not finite; mend them, or leave it out"
                if odd
                else "lower the learning rate or look at its data, and for roots or norms of 0 with infinite slopes"
            )
            raise FederationError(
                f"round {self._round}, client {wrong}: {exchange.name} came to numbers that are not finite; {cause}"
            )
        for one in acknowledgements:
            if one.keep:
                self._kept[one.number] = {**self._kept.get(one.number, {}), **one.keep}
            if one.personal:
                self._personal[one.number] = {**self._personal.get(one.number, {}), **one.personal}
        entries, size = sum(one.entries for one in acknowledgements), sum(one.bytes for one in acknowledgements)
        self.ledger.add(self._round, self._exchanges, "up", exchange.name, len(acknowledgements), entries, size)


def _remember(client: Client, memory: Memory, **values: Any) -> Reply:
    """Work of a client that is told something: it remembers it."""
    return Reply()
