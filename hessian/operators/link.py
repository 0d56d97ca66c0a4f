"""The connection to workers, which are processes of this machine or Ray actors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hessian.numerics.symmetric import CurvatureError
from hessian.operators.worker import Order, Task
from workloads.processes.cluster import ActorPool
from workloads.processes.worker_pool import WorkerPool


class Link(ABC):
    """A connection to workers, which end with this object or with this process."""

    _pool: WorkerPool | ActorPool

    @property
    def shared(self) -> int:
        """Bytes of the memory through which vectors go."""
        return 0

    @property
    def ended(self) -> bool:
        """Whether the workers have ended."""
        return self._pool.ended

    def close(self) -> None:
        """End the workers, even in the middle of their work."""
        self._pool.close()

    @abstractmethod
    def ask(
        self, orders: Sequence[Order], vectors: Tensor | None = None, width: int = 0, task: Task | None = None
    ) -> list[Any]:
        """Send one order to each of the first workers, and return their answers.

        Args:
            orders: Orders, as many as there are workers, or fewer.
            vectors: Vectors for all of them, (k, columns).
            width: Entries of each product.
            task: The matrix for all of them to take.

        Returns:
            One answer for each order; products are valid until the next call.

        Raises:
            CurvatureError: One of them ended, or what is to be taken cannot leave this process.
        """


def save(task: Task, file: Any) -> None:
    """Write a task.

    Raises:
        CurvatureError: It cannot leave this process.
    """
    try:
        torch.save(task, file)
    except OSError:
        raise
    except Exception as error:  # pickle, and any error of a user's class
        raise CurvatureError(
            f"the model, the loss or the data cannot be sent to workers ({' '.join(str(error).split())[:160]}): "
            f"avoid lambdas, nested functions and open files, or leave out workers=",
            keywords=("workers",),
        ) from error
