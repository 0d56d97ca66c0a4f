"""The work of a trip in several processes of this machine, which stay from trip to trip.

Who does what is said in `algorithms.executors.team`. What is sent lies in shared memory, once for all workers, as do
the clients' data.

A script that uses this needs the line ``if __name__ == "__main__":``, since every worker imports it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import torch

from algorithms.executors.sharing import Packed
from algorithms.executors.team import Member, Team
from algorithms.executors.worker import Answer, Order, packed, serve
from algorithms.federation import FederationError, InterruptedWorkError
from workloads.processes.worker_pool import WorkerPool


class _Worker(Member):
    """A process."""

    def __init__(self, process: BaseProcess, connection: Connection) -> None:
        super().__init__()
        self.process, self.connection = process, connection

    def send(self, order: Order) -> None:
        self.connection.send(order)


class Processes(Team):
    """Clients in several processes, which start with the first trip and end with this object, or with this process.

    Where one of them ends by itself, all do, and the trip fails.
    """

    def __init__(self, workers: int, threads: int = 1) -> None:
        super().__init__(workers, threads)
        self._workers: list[_Worker] = []
        self._crew: WorkerPool | None = None

    def close(self) -> None:
        """Ends the workers; the next trip starts new ones."""
        if self._crew is not None:
            self._crew.close()
        for worker in self._workers:
            worker.lost = True
        self._workers, self._crew = [], None

    def _started(self) -> WorkerPool:
        if self._crew is None:
            self._crew = WorkerPool(
                self.workers, serve, self.threads, torch.get_default_dtype(), failed=FederationError
            )
            self._workers = list(map(_Worker, self._crew.processes, self._crew.connections))
        return self._crew

    def _minded(self) -> AbstractContextManager[None]:
        return self._started().closing_on_error(InterruptedWorkError, self.close)

    def _members(self) -> Sequence[_Worker]:
        return self._workers

    def _arrived(self, busy: Collection[Member]) -> Iterator[tuple[Member, Answer]]:
        workers = {worker.connection: worker for worker in busy if isinstance(worker, _Worker)}
        for connection in wait(list(workers)):
            assert isinstance(connection, Connection)
            yield workers[connection], connection.recv()

    def _packed(self, what: str, message: Any) -> Packed:
        return packed(what, message)

    def _for_all(self, packed: Packed) -> Packed:
        return packed
