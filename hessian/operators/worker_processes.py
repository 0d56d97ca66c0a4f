"""Workers that are processes of this machine: orders go through pipes, vectors and products through shared memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hessian.numerics.symmetric import CurvatureError
from hessian.operators.shared_rows import Frame, SharedFile
from hessian.operators.worker import Desk, Order, Taken
from workloads.processes.worker_pool import WorkerPool


class _Sent(NamedTuple):
    """An order as it travels.

    Attributes:
        order: The order.
        taken: File of what is to be taken.
        shared: File of vectors and products, where it is a new one.
        frame: Where these lie in it.
        place: Place of the worker.
    """

    order: Order
    taken: str | None
    shared: str | None
    frame: Frame | None
    place: int


class Processes:
    """Processes with one thread each, which end with this object, or with this process.

    Attributes:
        shared: Bytes of the memory through which vectors go.
    """

    def __init__(self, count: int) -> None:
        self._crew = WorkerPool(count, serve, failed=CurvatureError)
        self._file: SharedFile | None = None
        self._told = 0  # of the first workers, who see the file

    @property
    def shared(self) -> int:
        """Bytes of the memory through which vectors go."""
        return 0 if self._file is None else self._file.memory.nbytes

    @property
    def ended(self) -> bool:
        """Whether they are no more."""
        return self._crew.ended

    def ask(
        self, orders: Sequence[Order], vectors: Tensor | None = None, width: int = 0, taken: Taken | None = None
    ) -> list[Any]:
        """Returns the answers of the first workers to an order for each.

        Args:
            orders: Orders, as many as there are workers, or fewer.
            vectors: Vectors for all of them, (k, columns).
            width: Entries of each product.
            taken: The matrix for all of them to take.

        Returns:
            One answer for each order; products are valid until the next call.

        Raises:
            CurvatureError: One of them ended, or what is to be taken cannot leave this process.
        """
        path = None if taken is None else _written(taken)
        frame, new = None, None
        if vectors is not None:
            frame = Frame(len(vectors), vectors.shape[1], width, vectors.dtype, len(orders))
            if frame.size > self.shared or len(orders) > self._told:
                new = self._file = SharedFile.made(max(frame.size, self.shared))
                self._told = len(orders)
            assert self._file is not None
            frame.vectors(self._file.memory).copy_(vectors)
        try:
            with self._crew.closing_on_error(CurvatureError, self.close):
                answers = self._answers(
                    [_Sent(order, path, new.path if new else None, frame, place) for place, order in enumerate(orders)]
                )
        finally:
            if new is not None:
                new.unlink()
            if path is not None:
                with suppress(OSError):
                    os.unlink(path)
        if orders[0].task == "products":
            assert frame is not None
            assert self._file is not None
            memory = self._file.memory
            return [frame.products(memory, i) if one is None else one for i, one in enumerate(answers)]
        return answers

    def close(self) -> None:
        """Ends them, in the middle of their work if need be."""
        self._crew.close()

    def _answers(self, sent: Sequence[_Sent]) -> list[Any]:
        connections = self._crew.connections[: len(sent)]
        for connection, one in zip(connections, sent, strict=True):
            connection.send(one)
        found: dict[Any, Any] = {}
        while waiting := [connection for connection in connections if connection not in found]:
            for ready in wait(waiting):
                answering: Any = ready
                found[answering] = answering.recv()
        return [found[connection] for connection in connections]


def serve(connection: Connection) -> None:
    """The life of a worker."""
    torch.set_num_threads(1)
    desk, memory = Desk(), torch.empty(0, dtype=torch.uint8)
    with suppress(EOFError, OSError):  # whoever gave the orders is gone, or wants no answer any more
        while True:
            sent: _Sent = connection.recv()
            memory = memory if sent.shared is None else SharedFile.found(sent.shared)
            vectors = None if sent.frame is None else sent.frame.vectors(memory)
            answer = desk.answer(sent.order, vectors, sent.taken)
            if isinstance(answer, Tensor):
                assert sent.frame is not None
                sent.frame.products(memory, sent.place).copy_(answer)
                answer = None
            connection.send(answer)
    os._exit(0)


def _written(taken: Taken) -> str:
    """A file of what is to be taken, which workers see as memory.

    Raises:
        CurvatureError: It cannot leave this process.
    """
    handle, path = tempfile.mkstemp(prefix="rankproof-")
    try:
        with os.fdopen(handle, "wb") as file:
            save(taken, file)
    except BaseException:
        os.unlink(path)
        raise
    return path


def save(taken: Taken, file: Any) -> None:
    """Writes what is to be taken.

    Raises:
        CurvatureError: It cannot leave this process.
    """
    try:
        torch.save(taken, file)
    except OSError:
        raise
    except Exception as error:  # pickle, and whatever a user's class says to it
        raise CurvatureError(
            f"the model, the loss or the data cannot be sent to workers ({' '.join(str(error).split())[:160]}): use no "
            "lambda, no function within a function and no open file, or leave out workers=",
            keywords=("workers",),
        ) from error
