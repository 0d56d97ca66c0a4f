"""Workers that are Ray actors, on this machine or others; needs the extra `ray`.

Each takes one processor of the cluster, and one GPU if it multiplies on one. The package, and the modules of the model,
the loss and the data, must be importable there.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hessian.numerics.symmetric import CurvatureError
from hessian.operators.link import Link, save
from hessian.operators.worker import Order, Task, WorkerState
from workloads.processes.cluster import ActorPool, use_search_path
from workloads.processes.worker_pool import OUT_OF_MEMORY


class Actors(Link):
    """Actors; they share no memory with this process, because the object store is Ray's own."""

    def __init__(self, count: int, devices: Sequence[str], address: str) -> None:
        """Start the actors.

        Args:
            count: Number of actors.
            devices: Device of each actor: `cpu` or `cuda`.
            address: Address for `ray.init`, or `local` for a cluster that starts on this machine and ends with this.

        Raises:
            CurvatureError: Ray is not installed, the cluster does not exist, or it has no room for the actors.
        """
        graphics = [int(device != "cpu") for device in devices]
        self._pool: ActorPool = ActorPool(address, count, sum(graphics), CurvatureError)
        self._ray = self._pool.ray
        self._actors = [self._pool.add(_Actor, one) for one in graphics]

    def ask(
        self, orders: Sequence[Order], vectors: Tensor | None = None, width: int = 0, task: Task | None = None
    ) -> list[Any]:
        """Send one order to each of the first actors, as in `Link.ask`."""
        put, content = self._ray.put, io.BytesIO()
        if task is not None:
            save(task, content)
        try:
            sent = (None if vectors is None else put(vectors.numpy())), (put(content.getvalue()) if task else None)
            actors = zip(self._actors, orders, strict=False)
            answers = self._ray.get([actor.answer.remote(order, *sent) for actor, order in actors])
        except self._ray.exceptions.RayError as error:
            self.close()
            raise CurvatureError(f"a worker has ended ({type(error).__name__}), {OUT_OF_MEMORY}") from error
        except BaseException:
            self.close()  # in the middle of their work
            raise
        return [torch.tensor(answer) if isinstance(answer, np.ndarray) else answer for answer in answers]


class _Actor:
    """An actor, which answers orders."""

    def __init__(self, path: Sequence[str]) -> None:
        use_search_path(path)
        torch.set_num_threads(1)
        self._state = WorkerState()

    def answer(self, order: Order, vectors: Any, message: bytes | None) -> Any:
        answer = self._state.answer(order, None if vectors is None else torch.tensor(vectors), message)
        return answer.cpu().numpy() if isinstance(answer, Tensor) else answer
