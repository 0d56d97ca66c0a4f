"""An executor with several processes on this machine, which persist between exchanges.

`algorithms.executors.team` describes how the work is divided. Messages and the clients' data are in shared memory, once
for all workers.

A script that uses this executor needs the line ``if __name__ == "__main__":``, because every worker imports the script.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import torch

from algorithms.executors.sharing import Packed
from algorithms.executors.team import Member, Team
from algorithms.executors.worker import Answer, Task, pack_message, serve
from algorithms.federation import FederationError, InterruptedWorkError
from workloads.processes.worker_pool import WorkerPool, receive


class _Worker(Member):
    """A worker process and the connection to it."""

    def __init__(self, process: BaseProcess, connection: Connection) -> None:
        super().__init__()
        self.process, self.connection = process, connection

    def send(self, task: Task) -> None:
        self.connection.send(task)


class Processes(Team):
    """Runs clients in several processes, which start with the first exchange and end with this object or its process.

    If one of them ends unexpectedly, all are ended and the exchange fails.
    """

    def __init__(self, workers: int, threads: int = 1) -> None:
        super().__init__(workers, threads)
        self._workers: list[_Worker] = []
        self._crew: WorkerPool | None = None

    def close(self) -> None:
        """End the workers; the next exchange starts new ones."""
        if self._crew is not None:
            self._crew.close()
        for worker in self._workers:
            worker.lost = True
        self._workers, self._crew = [], None

    def _start(self) -> WorkerPool:
        if self._crew is None:
            self._crew = WorkerPool(
                self.workers, serve, self.threads, torch.get_default_dtype(), failed=FederationError
            )
            self._workers = list(map(_Worker, self._crew.processes, self._crew.connections))
        return self._crew

    def _supervise(self) -> AbstractContextManager[None]:
        return self._start().closing_on_error(InterruptedWorkError, self.close)

    def _members(self) -> Sequence[_Worker]:
        return self._workers

    def _receive(self, busy: Collection[Member]) -> Iterator[tuple[Member, Answer]]:
        workers = {worker.connection: worker for worker in busy if isinstance(worker, _Worker)}
        for connection, answer in receive(workers):
            yield workers[connection], answer

    def _pack(self, what: str, message: Any) -> Packed:
        return pack_message(what, message)

    def _publish(self, packed: Packed) -> Packed:
        return packed
