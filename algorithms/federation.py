"""The federation on which a round runs: its clients, their memory, and the communication with them.

A round is a plain function of a `Federation` and reads like the algorithm box of its paper. It sends work to a cohort
with `mean` or `gather`; each call is one exchange, down to the clients and back. The work is a module-level function of
one client: it reads the client's memory and the arguments, and returns a `Reply`. Only tensors are communicated, and
the ledger records all of them; other arguments are settings that everybody knows. `algorithms.rounds` has the loop over
rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from algorithms.executor import Executor
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
    """The state of a federation between rounds, from which it can be resumed.

    Attributes:
        round: Number of completed rounds.
        personal: Values that clients keep across rounds, by number, for clients that have worked. The object of a
            client stays the same until the client works again.
        shared: Values that every client knows.
        equipped: Personal values of every client whose own work has not changed them.
    """

    round: int = 0
    personal: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    shared: Mapping[str, Any] = field(default_factory=dict)
    equipped: Mapping[str, Any] = field(default_factory=dict)


class Federation:
    """Clients with their memory, and the ledger of all communication.

    Attributes:
        clients: Clients in the order of their numbers.
        shares: Weights of the clients in averages, normalised over each cohort.
        seed: Seed of the cohorts and of the clients' random numbers.
        ledger: Record of all messages and their bytes.
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
        """Create a federation. Clients of a lazy sequence (`Clients`) are not built yet.

        Args:
            clients: Clients, at least one, each with data.
            shares: Weights of the clients in averages; default: the sizes of their data.
            seed: Seed of the cohorts and of the clients' random numbers.
            executor: Default: one client after the other.
            ledger: Ledger to continue; default: a new one.
            state: State from which to resume; default: before the first round.
            known: Tensors that every client has from the start, such as those of a pretrained model; broadcasting them
                costs nothing.

        Raises:
            FederationError: Clients are missing, a client has no data, or the shares or the seed are invalid.
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
        self._answered: Cohort = ()
        self._key = Key()
        self._known = tuple(known)

    @property
    def state(self) -> FederationState:
        """The state between rounds."""
        return FederationState(self._round, dict(self._personal), dict(self._shared), dict(self._equipped))

    @property
    def everyone(self) -> Cohort:
        """The cohort of all clients."""
        return tuple(range(len(self.clients)))

    @property
    def answered(self) -> Cohort:
        """The clients that answered the last exchange; silos may be missing from its cohort."""
        return self._answered

    def personal(self, number: int) -> Mapping[str, Any]:
        """Return the values that a client keeps across rounds."""
        return {**self._equipped, **self._personal.get(number, {})}

    def _begin(self) -> int:
        """Start a round and return its number; discard what clients kept for the last one. For `rounds` only."""
        self._round += 1
        self._exchanges = 0
        self._kept = {}
        return self._round

    def cohort(self, size: int | None = None) -> Cohort:
        """Draw the clients of this round without replacement from (seed, round); default: all clients.

        Clients that an executor has left out are drawn only where the others are fewer than the size.

        Raises:
            FederationError: The size is not between 1 and the number of clients.
        """
        if size is None:
            return self.everyone
        if not is_whole(size) or not 1 <= size <= len(self.clients):
            raise FederationError(f"a cohort has between 1 and {len(self.clients)} clients, got {size!r}")
        if size == len(self.clients):
            return self.everyone
        rng = np.random.default_rng([self.seed, self._round])
        absent = self._executor.absent(self._round)
        there = tuple(number for number in self.everyone if number not in absent) if absent else self.everyone
        if len(there) <= size:
            gone = [number for number in self.everyone if number not in there]
            return tuple(sorted((*there, *gone[: size - len(there)])))
        return tuple(there[place] for place in sorted(rng.choice(len(there), size, replace=False)))

    def gather(
        self, work: Work, *, to: Cohort, draw: Draw | None = None, each: Each | None = None, **sent: Any
    ) -> list[Any]:
        """Send work to a cohort and return the clients' uploads in order.

        Args:
            work: A function of a client, its memory and the arguments.
            to: The cohort.
            draw: Draws the random numbers of the work from a client and its generator, before the work starts.
            each: Arguments that differ between clients: by name, then by the client's number.
            sent: Arguments for all clients; tensors are communicated, everything else is a setting.

        Raises:
            FederationError: A client's work failed or gave a non-finite value.
        """
        exchange, asked = self._next(work, to, draw, each, None, sent)
        uploads, acknowledgements = [], []
        with exchange.naming_errors():
            for number, reply in zip(to, self._executor.replies(exchange), strict=True):
                acknowledgements.append(Acknowledgement.of(number, reply))
                uploads.append(reply.upload)
        self._settle(exchange, asked, acknowledgements)
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
        r"""Send work to a cohort and return the mean $\sum_k s_k u_k$ of the uploads, which are summed as they arrive.

        The $s_k$ are the cohort's shares, of sum 1.

        Args:
            work: A function of a client, its memory and the arguments, as in `gather`.
            to: The cohort.
            draw: Draws the random numbers of the work, as in `gather`.
            each: Arguments that differ between clients, as in `gather`.
            then: Function that the server applies to each upload before it sums them.
            sent: Arguments for all clients.

        Raises:
            FederationError: As in `gather`; or the cohort's shares are all 0.
        """
        self._require_cohort(to)
        shares = self.cohort_shares(to)
        exchange, asked = self._next(work, to, draw, each, then, sent)
        with exchange.naming_errors():
            total, acknowledgements = self._executor.sum(exchange, shares)
        self._settle(exchange, asked, acknowledgements)
        return total

    def cohort_shares(self, of: Cohort) -> list[float]:
        """Return the shares of a cohort, scaled to sum 1.

        Raises:
            FederationError: The shares are all 0.
        """
        shares = [float(self.shares[number]) for number in of]
        total = sum(shares)
        if not total > 0.0:
            raise FederationError(f"round {self._round}: the shares of the clients {list(of)} have sum 0")
        return [share / total for share in shares]

    def average(self, uploads: Sequence[Any], *, of: Cohort) -> Any:
        """Return the weighted mean of the uploads of a cohort.

        Raises:
            FederationError: The cohort's shares are all 0.
        """
        return weighted_sum(zip(self.cohort_shares(of), uploads, strict=True))

    def broadcast(self, **values: Any) -> None:
        """Send values to every client, which keeps them in its `shared` memory and does not reply."""
        known = set(map(id, self._known))
        message = [leaf for leaf in tensors(values) if id(leaf) not in known]
        absent = self._executor.absent(self._round + 1)  # who misses only this round gets them later
        receivers = len(self.clients) - len(absent)
        self.ledger.record(self._round, self._exchanges, "down", "tell", [message], copies=receivers)
        self._shared.update(values)
        everyone = range(len(self.clients))
        self._executor.broadcast(self._new_exchange(_remember, everyone, None, None, None, values))

    def set_shared(self, **values: Any) -> None:
        """Set `shared` values that every client can compute from what it knows; costs no communication."""
        self._shared.update(values)

    def set_personal(self, **values: Any) -> None:
        """Set `personal` values that every client keeps until its own work changes them; costs no communication."""
        self._equipped.update(values)
        for number, kept in self._personal.items():
            if kept.keys() & values.keys():
                self._personal[number] = {name: value for name, value in kept.items() if name not in values}

    def _next(
        self, work: Work, to: Cohort, draw: Draw | None, each: Each | None, then: Then | None, sent: Mapping[str, Any]
    ) -> tuple[Exchange, Cohort]:
        """Return the next exchange, and the clients that are asked."""
        self._require_cohort(to)
        self._exchanges += 1
        absent = self._executor.absent(self._round)
        asked = tuple(number for number in to if number not in absent) if absent else to
        return self._new_exchange(work, to, draw, each, then, sent), asked

    def _require_cohort(self, to: Cohort) -> None:
        right = len(to) > 0 and all(map(is_whole, to)) and len(set(to)) == len(to)
        if not right or min(to) < 0 or max(to) >= len(self.clients):
            raise FederationError(
                f"round {self._round}: a cohort must be distinct clients from 0 to {len(self.clients) - 1}, got "
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

    def _settle(self, exchange: Exchange, asked: Cohort, acknowledgements: Sequence[Acknowledgement]) -> None:
        """Check that all replies are finite, store what clients keep, and record both directions in the ledger."""
        wrong = first_that_is_not_finite(acknowledgements)
        if wrong is not None:
            own: Mapping[str, Any] = getattr(self.clients[wrong], "tensors", dict)()
            odd = [name for name, part in own.items() if part.is_floating_point() and not part.isfinite().all()]
            cause = (
                f"its data {odd[0]} are not finite; correct them, or leave the client out"
                if odd
                else "lower the learning rate, check its data, and look for roots or norms at 0, whose "
                "derivatives are infinite"
            )
            raise FederationError(
                f"round {self._round}, client {wrong}: {exchange.name} returned non-finite numbers; {cause}"
            )
        for one in acknowledgements:
            if one.keep:
                self._kept[one.number] = {**self._kept.get(one.number, {}), **one.keep}
            if one.personal:
                self._personal[one.number] = {**self._personal.get(one.number, {}), **one.personal}
        self._answered = tuple(one.number for one in acknowledgements)
        unreached = self._executor.unreached()
        reached = replace(exchange, cohort=tuple(number for number in asked if number not in unreached))
        self.ledger.record(self._round, self._exchanges, "down", exchange.name, *reached.messages_down())
        entries, size = sum(one.entries for one in acknowledgements), sum(one.bytes for one in acknowledgements)
        self.ledger.add(self._round, self._exchanges, "up", exchange.name, len(acknowledgements), entries, size)


def _remember(client: Client, memory: Memory, **values: Any) -> Reply:
    """Do nothing: the values of a broadcast are already in the client's memory."""
    return Reply()
