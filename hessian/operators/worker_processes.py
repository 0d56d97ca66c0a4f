"""Workers that are processes of this machine: orders pass through pipes, vectors and products through shared memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hessian.numerics.symmetric import CurvatureError
from hessian.operators.link import Link, save
from hessian.operators.shared_rows import Frame, SharedFile
from hessian.operators.worker import Order, Task, WorkerState
from workloads.processes.worker_pool import WorkerPool, answer_messages, receive


class _Envelope(NamedTuple):
    """An order with the files and the place that belong to it.

    Attributes:
        order: The order.
        task: File of what is to be taken.
        shared: File of vectors and products, where it is a new one.
        frame: Where these lie in it.
        place: Place of the worker.
    """

    order: Order
    task: str | None
    shared: str | None
    frame: Frame | None
    place: int


class Processes(Link):
    """Processes with one thread each."""

    def __init__(self, count: int) -> None:
        self._pool: WorkerPool = WorkerPool(count, serve, failed=CurvatureError)
        self._file: SharedFile | None = None
        self._informed = 0  # of the first workers, who see the file

    @property
    def shared(self) -> int:
        """Bytes of the memory through which vectors go."""
        return 0 if self._file is None else self._file.memory.nbytes

    def ask(
        self, orders: Sequence[Order], vectors: Tensor | None = None, width: int = 0, task: Task | None = None
    ) -> list[Any]:
        """Send one order to each of the first workers, as in `Link.ask`."""
        path = None if task is None else _write(task)
        frame, new = None, None
        if vectors is not None:
            frame = Frame(len(vectors), vectors.shape[1], width, vectors.dtype, len(orders))
            if frame.size > self.shared or len(orders) > self._informed:
                new = self._file = SharedFile.create(max(frame.size, self.shared))
                self._informed = len(orders)
            assert self._file is not None
            frame.vectors(self._file.memory).copy_(vectors)
        try:
            with self._pool.closing_on_error(CurvatureError, self.close):
                answers = self._answers(
                    [
                        _Envelope(order, path, new.path if new else None, frame, place)
                        for place, order in enumerate(orders)
                    ]
                )
        finally:
            if new is not None:
                new.unlink()
            if path is not None:
                with suppress(OSError):
                    os.unlink(path)
        if orders[0].action == "products":
            assert frame is not None
            assert self._file is not None
            memory = self._file.memory
            return [frame.products(memory, i) if one is None else one for i, one in enumerate(answers)]
        return answers

    def _answers(self, envelopes: Sequence[_Envelope]) -> list[Any]:
        connections = self._pool.connections[: len(envelopes)]
        for connection, one in zip(connections, envelopes, strict=True):
            connection.send(one)
        found: dict[Connection, Any] = {}
        while waiting := [connection for connection in connections if connection not in found]:
            found.update(receive(waiting))
        return [found[connection] for connection in connections]


def serve(connection: Connection) -> None:
    """Answer orders until the connection closes, and end the process."""
    torch.set_num_threads(1)
    state, memory = WorkerState(), torch.empty(0, dtype=torch.uint8)

    def answer(envelope: _Envelope) -> Any:
        nonlocal memory
        memory = memory if envelope.shared is None else SharedFile.open(envelope.shared)
        vectors = None if envelope.frame is None else envelope.frame.vectors(memory)
        found = state.answer(envelope.order, vectors, envelope.task)
        if not isinstance(found, Tensor):
            return found
        assert envelope.frame is not None
        envelope.frame.products(memory, envelope.place).copy_(found)
        return None

    answer_messages(connection, answer)


def _write(task: Task) -> str:
    """Write a task to a file, which workers map as memory.

    Raises:
        CurvatureError: It cannot leave this process.
    """
    handle, path = tempfile.mkstemp(prefix="rankproof-")
    try:
        with os.fdopen(handle, "wb") as file:
            save(task, file)
    except BaseException:
        os.unlink(path)
        raise
    return path
