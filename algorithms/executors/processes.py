"""The work of a trip in several processes, which stay from trip to trip.

The cohort is cut into parts that depend on nothing but the cohort; a worker does a part and returns its sum, and the
sums are added in the order of the cohort, as `fold` does in one process: the same bits for any number of workers. What
is sent lies in shared memory, once for all workers, as do the clients' data. What a client keeps for a round stays in
the worker that has its part. Several federations may share the processes, in turns from trip to trip.

A script that uses this needs the line ``if __name__ == "__main__":``, since every worker imports it.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import torch

from algorithms.executors.sharing import Packed, unpack
from algorithms.executors.worker import Failure, Order, packed, serve
from algorithms.federation import FederationError
from algorithms.partial_sums import Sum, part_size
from algorithms.trip import Cohort, Key, Receipt, Reply, Trip, require_whole
from workloads.crew import Crew


@dataclass
class _Seen:
    """What a worker holds of a federation."""

    clients: object = None
    lasting: object = None
    trip: object = None
    round: object = None


@dataclass
class _Worker:
    """A process, what it holds of each federation, and of how many it was told that they are gone."""

    process: BaseProcess
    connection: Connection
    seen: MutableMapping[Key, _Seen] = field(default_factory=weakref.WeakKeyDictionary)
    told: int = 0


@dataclass
class _Served:
    """A federation: what of it goes to every worker, as it travels, and which worker holds what a client kept.

    Attributes:
        number: By which workers know it.
        clients: Packed, beside what they were made of.
        lasting: What clients were told or equipped with, likewise.
        kept: What is kept in this round; the federation has one object for it.
        owners: Numbers of workers by the numbers of clients that kept something.
        lost: Whether that went with its workers.
    """

    number: int
    clients: tuple[object, Packed] | None = None
    lasting: tuple[list[Any], Packed] | None = None
    kept: object = None
    owners: dict[int, int] = field(default_factory=dict)
    lost: bool = False


class Processes:
    """Clients in several processes, each with one thread for linear algebra.

    Attributes:
        workers: How many; they start with the first trip and end with this object, or with this process.
        threads: Of each worker.

    Raises:
        FederationError: Fewer than one of either.
    """

    def __init__(self, workers: int, threads: int = 1) -> None:
        require_whole(1, workers=workers, threads=threads)
        self.workers, self.threads = workers, threads
        self._workers: list[_Worker] = []
        self._crew: Crew | None = None
        self._served: MutableMapping[Key, _Served] = weakref.WeakKeyDictionary()
        self._numbers = count()
        self._gone: list[int] = []

    def replies(self, trip: Trip) -> Iterator[Reply]:
        """One reply for each client of the cohort, in its order.

        Raises:
            FederationError: A client's work failed, a worker ended, or something cannot be sent to workers.
        """
        for (sent,) in self._answers(trip, None):
            yield from unpack(sent, own=True)

    def sum(self, trip: Trip, shares: Sequence[float]) -> tuple[Any, list[Receipt]]:
        """The sum of share times upload, after the trip's `then`, and a receipt for each client.

        Raises:
            FederationError: As `replies`.
        """
        total: Sum | None = None
        receipts: list[Receipt] = []
        for sent, of_part in self._answers(trip, shares):
            part: Sum = unpack(sent, own=total is None)
            total = part if total is None else total.plus(part, trip.cohort[len(receipts)])
            receipts += unpack(of_part, own=True)
        assert total is not None
        return total.message(), receipts

    def tell(self, trip: Trip) -> None:
        """Nothing to do: it goes with the next trip."""

    def close(self) -> None:
        """Ends the workers; the next trip starts new ones."""
        if self._crew is not None:
            self._crew.close()
        self._workers, self._crew = [], None
        for served in self._served.values():
            served.lost = bool(served.owners)

    def _answers(self, trip: Trip, shares: Sequence[float] | None) -> Iterator[tuple[Packed, ...]]:
        """What workers make of each part, in the order of the cohort."""
        size = part_size(len(trip.cohort))
        parts = [trip.cohort[start : start + size] for start in range(0, len(trip.cohort), size)]
        with self._started().minded(FederationError, self.close):
            orders = _Orders(self, trip, shares, parts)
            done: dict[int, Any] = {}
            busy: dict[Any, tuple[_Worker, int]] = {}
            for number in range(len(parts)):
                while number not in done:
                    for worker in self._workers:
                        if worker.connection not in busy and (order := orders.next(worker)) is not None:
                            worker.connection.send(order[1])
                            busy[worker.connection] = worker, order[0]
                    for connection in wait(list(busy)):
                        worker, answered = busy.pop(connection)
                        done[answered], keeping = worker.connection.recv()
                        orders.served.owners.update(dict.fromkeys(keeping, self._workers.index(worker)))
                answer = done.pop(number)
                if isinstance(answer, Failure):
                    answer.raise_here()
                yield answer

    def _started(self) -> Crew:
        if self._crew is None:
            self._crew = Crew(self.workers, serve, self.threads, torch.get_default_dtype())
            self._workers = list(map(_Worker, self._crew.processes, self._crew.connections))
        return self._crew

    def _serving(self, trip: Trip) -> _Served:
        """The federation of a trip; in a new round its clients may go to other workers.

        Raises:
            FederationError: What its clients kept in this round is lost.
        """
        served = self._served.get(trip.key)
        if served is None:
            self._served[trip.key] = served = _Served(next(self._numbers))
            weakref.finalize(trip.key, self._gone.append, served.number)
        if served.kept is not trip.kept:
            served.kept, served.owners, served.lost = trip.kept, {}, False
        if served.lost:
            raise FederationError(
                "what clients kept in this round went with their workers, which end when the work of any federation "
                "fails; begin the round again"
            )
        if served.clients is None or served.clients[0] is not trip.clients:
            served.clients = trip.clients, packed("the clients", trip.clients)
        values = [*trip.shared.items(), None, *trip.equipped.items()]
        if served.lasting is None or not _same(served.lasting[0], values):
            served.lasting = values, packed("what clients were told", (dict(trip.shared), dict(trip.equipped)))
        return served


class _Orders:
    """Hands out the parts of a trip: any worker takes the next, but clients that kept something stay where that is.

    Attributes:
        served: The federation.
    """

    def __init__(self, of: Processes, trip: Trip, shares: Sequence[float] | None, parts: Sequence[Cohort]) -> None:
        self.served = of._serving(trip)
        self._of, self._trip, self._parts, self._token = of, trip, parts, object()
        common = replace(trip, cohort=(), clients=None, each={}, kept={}, personal={}, shared={}, equipped={})
        self._common = packed(trip.name, common)
        rest = iter(shares or ())
        self._shares = [None if shares is None else list(islice(rest, len(part))) for part in parts]
        self._left = list(range(len(parts)))

    def next(self, worker: _Worker) -> tuple[int, Order] | None:
        """The number of the next part for a worker, and its order."""
        own, owned = self._of._workers.index(worker), self.served.owners
        for number in self._left:
            owners = {owned[client] for client in self._parts[number] if client in owned}
            if len(owners) > 1:
                raise FederationError("clients that kept something in several processes need the same cohort again")
            if owners <= {own}:
                self._left.remove(number)
                return number, self._order(worker, number)
        return None

    def _order(self, worker: _Worker, number: int) -> Order:
        cohort, served, trip = self._parts[number], self.served, self._trip
        assert served.clients is not None
        assert served.lasting is not None
        part, (clients, lasting) = trip.part(cohort), (served.clients, served.lasting)
        seen = worker.seen.setdefault(trip.key, _Seen())
        new = seen.clients is not clients[0], seen.lasting is not lasting[0], seen.trip is not self._token
        fresh, gone = seen.round is not trip.kept, self._of._gone[worker.told :]
        worker.seen[trip.key] = _Seen(clients[0], lasting[0], self._token, trip.kept)
        worker.told += len(gone)
        return Order(
            clients[1] if new[0] else None, lasting[1] if new[1] else None,
            self._common if new[2] else None, served.number, gone, fresh,
            packed(trip.name, (tuple(cohort), self._shares[number], part.each, part.personal)),
        )  # fmt: skip


def _same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(
        a is b or (a is not None and b is not None and a[0] == b[0] and a[1] is b[1])
        for a, b in zip(one, other, strict=True)
    )
