"""The common part of executors with several workers: division of the work, and recovery of lost workers.

The cohort is cut into parts that depend only on the cohort. A worker does a part and returns its sum, and the sums are
added in the order of the cohort, as `fold` does in one process. The result is therefore bit-identical for any number of
workers and any order of their answers. What a client keeps for a round stays in the worker that did its part. If that
worker is lost, the worker that gets the client's next part repeats the exchanges of this round in which the client kept
something. This gives the same values, because work is a function of its arguments, and its random numbers depend only
on (seed, round, exchange, client). So nothing is stored twice to guard against losses, which are rare. Several
federations may share the workers, one exchange after the other.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, MutableMapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import Any

from algorithms.exchange import Acknowledgement, Cohort, Exchange, Key, Reply, require_whole
from algorithms.executor import Executor
from algorithms.executors.sharing import Packed, unpack
from algorithms.executors.worker import Answer, Task
from algorithms.federation import FederationError, InterruptedWorkError
from algorithms.partial_sums import PARTS, Sum, part_size
from workloads.processes.worker_pool import Failure

LOSSES = 3
"""Number of workers that may be lost at the same part before the run stops."""


@dataclass
class _Seen:
    """The part of a federation that a worker already has: tokens of its clients, values, exchange and round."""

    clients: object = None
    lasting: object = None
    exchange: object = None
    round: object = None


class Member(ABC):
    """A worker as seen by the team.

    Attributes:
        seen: The part that it already has of each federation.
        gone_known: Number of ended federations that it has been informed of.
        lost: Whether it was lost, with everything that it held.
    """

    def __init__(self) -> None:
        self.seen: MutableMapping[Key, _Seen] = weakref.WeakKeyDictionary()
        self.gone_known = 0
        self.lost = False

    @abstractmethod
    def send(self, task: Task) -> None:
        """Send a task; the worker must have answered the previous one."""


@dataclass
class _Served:
    """A federation that the team serves: its serialised clients and values, and the workers that hold client memory.

    Attributes:
        number: Number of the federation at the workers.
        clients: The clients, and their serialised form.
        lasting: Values in `shared` and `equipped`, and their serialised form.
        kept: Values kept in this round; a new object marks a new round.
        owners: Worker that holds what a client kept, by the client's number.
        past: Exchanges of this round, each with the clients that kept something in it.
    """

    number: int
    clients: tuple[object, Any] | None = None
    lasting: tuple[list[Any], Any] | None = None
    kept: object = None
    owners: dict[int, Member] = field(default_factory=dict)
    past: list[tuple[Exchange, set[int]]] = field(default_factory=list)


class Team(Executor):
    """Runs clients in several workers.

    Attributes:
        workers: Number of workers.
        threads: Threads for linear algebra of each worker; default: 1.
        say: Called with a one-line message if a worker is lost.

    Raises:
        FederationError: There are fewer than one worker or thread, or more workers than parts of an exchange.
    """

    def __init__(self, workers: int, threads: int = 1) -> None:
        require_whole(1, workers=workers, threads=threads)
        if workers > PARTS:
            raise FederationError(
                f"workers must be at most {PARTS}, the parts into which an exchange is cut, got {workers}"
            )
        self.workers, self.threads = workers, threads
        self.say: Callable[[str], None] = lambda text: None
        self._served: MutableMapping[Key, _Served] = weakref.WeakKeyDictionary()
        self._numbers = count()
        self._gone: list[int] = []

    @abstractmethod
    def close(self) -> None:
        """End the workers; the next exchange starts new ones."""

    @abstractmethod
    def _supervise(self) -> AbstractContextManager[None]:
        """Start the workers if necessary, and end them if the body raises an error."""

    @abstractmethod
    def _members(self) -> Sequence[Member]:
        """Return the workers that accept tasks now."""

    @abstractmethod
    def _receive(self, busy: Collection[Member]) -> Iterable[tuple[Member, Answer | None]]:
        """Wait for answers, or for a worker that accepts tasks; an answer of None means that the worker was lost."""

    @abstractmethod
    def _pack(self, what: str, message: Any) -> Packed:
        """Serialise a message."""

    @abstractmethod
    def _publish(self, packed: Packed) -> Any:
        """Make one copy of a serialised message available to all workers."""

    def replies(self, exchange: Exchange) -> Iterator[Reply]:
        """Yield one reply for each client of the cohort, in order.

        Raises:
            FederationError: A client's work failed, workers ended, or a message cannot be sent to workers.
        """
        for (sent,) in self._answers(exchange, None):
            yield from unpack(sent, own=True)

    def sum(self, exchange: Exchange, shares: Sequence[float]) -> tuple[Any, list[Acknowledgement]]:
        """Return the sum of share times upload, after the exchange's `then`, and the clients' acknowledgements.

        Raises:
            FederationError: As in `replies`.
        """
        total: Sum | None = None
        acknowledgements: list[Acknowledgement] = []
        for sent, of_part in self._answers(exchange, shares):
            part: Sum = unpack(sent, own=total is None)
            total = part if total is None else total.plus(part, exchange.cohort[len(acknowledgements)])
            acknowledgements += unpack(of_part, own=True)
        assert total is not None
        return total.message(), acknowledgements

    def _answers(self, exchange: Exchange, shares: Sequence[float] | None) -> Iterator[tuple[Packed, ...]]:
        """Yield the workers' answers to the parts, in the order of the cohort."""
        size = part_size(len(exchange.cohort))
        parts = [exchange.cohort[start : start + size] for start in range(0, len(exchange.cohort), size)]
        with self._supervise():
            dispatcher = _Dispatcher(self, exchange, shares, parts)
            done: dict[int, tuple[Packed, ...] | Failure] = {}
            busy: dict[Member, int] = {}
            for number in range(len(parts)):
                while number not in done:
                    for member in self._members():
                        if member not in busy and (task := dispatcher.next(member)) is not None:
                            busy[member] = task[0]
                            member.send(task[1])
                    for member, answer in self._receive(list(busy)):
                        answered = busy.pop(member)
                        if answer is None:
                            dispatcher.record_loss(answered)
                        else:
                            done[answered] = answer.content
                            dispatcher.record_owner(member, answer)
                found = done.pop(number)
                if isinstance(found, Failure):
                    found.error.add_note(found.trace)
                    raise found.error
                else:
                    yield found
            dispatcher.close()

    def _serve(self, exchange: Exchange) -> _Served:
        """Return the federation of an exchange, with new clients, values and rounds taken into account.

        In a new round, clients may move to other workers.
        """
        served = self._served.get(exchange.key)
        if served is None:
            self._served[exchange.key] = served = _Served(next(self._numbers))
            weakref.finalize(exchange.key, self._gone.append, served.number)
        if served.kept is not exchange.kept:
            served.kept, served.owners, served.past = exchange.kept, {}, []
        if served.clients is None or served.clients[0] is not exchange.clients:
            served.clients = exchange.clients, self._publish(self._pack("the clients", exchange.clients))
        values = [*exchange.shared.items(), None, *exchange.equipped.items()]
        if served.lasting is None or not _same(served.lasting[0], values):
            lasting = self._pack("the values of all clients", (dict(exchange.shared), dict(exchange.equipped)))
            served.lasting = values, self._publish(lasting)
        return served


class _Dispatcher:
    """Assigns the parts of an exchange to workers.

    Any worker takes the next part, except that clients return to the worker that holds what they kept.
    """

    def __init__(self, of: Team, exchange: Exchange, shares: Sequence[float] | None, parts: Sequence[Cohort]) -> None:
        self._served = of._serve(exchange)
        self._of, self._exchange, self._parts, self._token = of, exchange, parts, object()
        common = replace(exchange, cohort=(), clients=None, each={}, kept={}, personal={}, shared={}, equipped={})
        self._common = of._publish(of._pack(exchange.name, common))
        rest = iter(shares or ())
        self._shares = [None if shares is None else list(islice(rest, len(part))) for part in parts]
        self._left = list(range(len(parts)))
        self._losses = dict.fromkeys(self._left, 0)
        self._keepers: set[int] = set()

    def next(self, member: Member) -> tuple[int, Task] | None:
        """Return the number of the next part for a worker and the task, or None if no part is left for it."""
        owned = self._served.owners
        for number in self._left:
            held = (owned[client] for client in self._parts[number] if client in owned)
            if next((owner for owner in held if not owner.lost), member) is member:
                self._left.remove(number)
                return number, self._task(member, number)
        return None

    def record_owner(self, member: Member, answer: Answer) -> None:
        """Record that a worker holds what the clients of its answer kept."""
        self._served.owners.update(dict.fromkeys((*answer.again, *answer.kept), member))
        self._keepers.update(answer.kept)

    def record_loss(self, number: int) -> None:
        """Record that a worker was lost at a part, and return the part to the queue.

        Raises:
            FederationError: `LOSSES` workers in turn were lost at this part.
        """
        self._losses[number] += 1
        exchange, part = self._exchange, self._parts[number]
        clients = f"client {part[0]}" if len(part) == 1 else f"clients {part[0]} to {part[-1]}"
        if self._losses[number] == LOSSES:
            raise InterruptedWorkError(
                f"{LOSSES} workers in a row died during the work of {clients}, most likely because memory ran "
                f"out; look at "
                "the data there, or use fewer workers"
            )
        self._of.say(f"round {exchange.round}, {exchange.name}: a worker died; the work of {clients} is repeated")
        self._left.insert(0, number)

    def close(self) -> None:
        """End the exchange, and store the arguments of clients that kept something, so it can be repeated."""
        if self._keepers:
            exchange, keepers = self._exchange, self._keepers
            given = exchange.restrict([client for client in exchange.cohort if client in keepers])
            shared, equipped = dict(exchange.shared), dict(exchange.equipped)
            past = replace(given, then=None, kept={}, key=Key(), shared=shared, equipped=equipped)
            self._served.past.append((past, keepers))

    def _task(self, member: Member, number: int) -> Task:
        cohort, served, exchange = self._parts[number], self._served, self._exchange
        assert served.clients is not None
        assert served.lasting is not None
        part, (clients, lasting) = exchange.restrict(cohort), (served.clients, served.lasting)
        seen = member.seen.setdefault(exchange.key, _Seen())
        new = seen.clients is not clients[0], seen.lasting is not lasting[0], seen.exchange is not self._token
        fresh, gone = seen.round is not exchange.kept, self._of._gone[member.gone_known :]
        member.seen[exchange.key] = _Seen(clients[0], lasting[0], self._token, exchange.kept)
        member.gone_known += len(gone)
        return Task(
            clients[1] if new[0] else None,
            lasting[1] if new[1] else None,
            self._common if new[2] else None,
            served.number,
            gone,
            fresh,
            self._of._pack(exchange.name, (tuple(cohort), self._shares[number], part.each, part.personal)),
            self._repeats({client for client in cohort if served.owners.get(client, member) is not member}),
        )

    def _repeats(self, clients: set[int]) -> tuple[Packed, ...]:
        """Return the earlier exchanges of this round in which these clients kept something that the worker lacks."""
        if not clients:
            return ()
        return tuple(
            self._of._pack(
                exchange.name, exchange.restrict([client for client in exchange.cohort if client in clients])
            )
            for exchange, keepers in self._served.past
            if clients & keepers
        )


def _same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(
        a is b or (a is not None and b is not None and a[0] == b[0] and a[1] is b[1])
        for a, b in zip(one, other, strict=True)
    )
