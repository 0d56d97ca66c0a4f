"""A worker that multiplies shards of the data: it loads its share once, and answers orders about it."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.serialization import default_restore_location

from hessian.loss.checked_objective import measure_model_memory
from hessian.loss.factories import user_error
from hessian.loss.graphs import Block
from hessian.loss.objective import Objective
from hessian.numerics.live_bytes import measure_memory
from hessian.numerics.symmetric import CurvatureError
from hessian.operators.shards import LocalShards
from workloads.processes.worker_pool import Failure

Message = str | bytes
"""A task as workers receive it: the path of a file that they map as memory, or its content."""


class Task(NamedTuple):
    """Task that is sent to a worker once: the loss, the kind of matrix and numerical settings.

    Attributes:
        objective: The loss over all data.
        matrix: One of `hessian.loss.output_curvature.MATRICES`.
        keep: Keep the graphs.
        default: Dtype of tensors that are made without one.
        precision: Precision of products of matrices in float32.
    """

    objective: Objective
    matrix: str
    keep: bool
    default: torch.dtype
    precision: str

    @staticmethod
    def of(objective: Objective, matrix: str, keep: bool) -> Task:
        """Add the numerical settings of this process."""
        return Task(objective, matrix, keep, torch.get_default_dtype(), torch.get_float32_matmul_precision())

    def shards(self, numbers: range, device: torch.device) -> LocalShards:
        """Build a share of the shards in this process, which from then on computes with the sender's settings."""
        torch.set_default_dtype(self.default)
        torch.set_float32_matmul_precision(self.precision)
        return LocalShards(self.objective.share(numbers, device), self.matrix, self.keep)


@dataclass(frozen=True)
class Order:
    """An order to a worker.

    Attributes:
        action: `take`, `products`, `peak`, `gradients`, `fault`, `held`, or `forget` what is gone, as all others do
            first.
        matrix: Number of the matrix.
        gone: Numbers of matrices that no longer exist.
        numbers: Numbers of the batches to take.
        device: Device of these batches.
        block: Part of the matrix to multiply.
        together: Vectors multiplied together.
    """

    action: str
    matrix: int
    gone: tuple[int, ...] = ()
    numbers: range | None = None
    device: str = "cpu"
    block: Block | None = None
    together: int = 1


@dataclass(frozen=True)
class WorkerState:
    """State of a worker: its shards of every matrix, by the matrix's number."""

    shards: dict[int, LocalShards] = field(default_factory=dict)

    def answer(self, order: Order, vectors: Tensor | None = None, message: Message | None = None) -> Any:
        """Return the answer to an order, or a failure.

        Args:
            order: The order.
            vectors: Vectors to multiply, (k, columns), on the processor.
            message: The matrix to take, as sent.
        """
        try:
            for number in order.gone:
                self.shards.pop(number, None)
            return self._execute(order, vectors, message)
        except (CurvatureError, RuntimeError, MemoryError) as error:  # the sender can handle these
            return Failure.of(error, RuntimeError)
        except Exception as error:
            return Failure.of(user_error(error, "the model or the loss in a worker"), RuntimeError)

    def _execute(self, order: Order, vectors: Tensor | None, message: Message | None) -> Any:
        if order.action == "forget":
            return None
        if order.action == "take":
            assert message is not None
            assert order.numbers is not None
            device = torch.device(order.device)
            self.shards[order.matrix] = _load(message, device).shards(order.numbers, device)
            return None
        shards = self.shards[order.matrix]
        device = shards.objective.parameters[0].device
        if order.action == "fault":
            return shards.fault
        if order.action == "held":
            objective = shards.objective
            model = measure_model_memory(objective.model.module, objective.parameters, objective.batches)
            return str(device), sum(model.values()) + sum(shards.measure_held().values())
        assert order.block is not None
        if order.action == "gradients":
            return shards.gradients(order.block.rows)
        assert vectors is not None
        block, own = order.block, vectors.to(device)
        if order.action == "products":
            return shards.products(block, own, order.together)
        multiply: Callable[[], Tensor] = lambda: shards.products(block, own, order.together)  # noqa: E731
        return str(device), measure_memory(multiply, device)[1].peak + own.nbytes


def _load(message: Message, device: torch.device) -> Task:
    """Load the matrix that was sent; tensors of a processor stay in the file until they are read."""

    def restored(storage: Any, place: str) -> Any:
        return storage if place == "cpu" else default_restore_location(storage, str(device))

    source: Any = message if isinstance(message, str) else io.BytesIO(message)
    try:
        task: Task = torch.load(source, map_location=restored, mmap=isinstance(message, str), weights_only=False)
    except (ImportError, AttributeError) as error:
        raise CurvatureError(
            f"a worker cannot find the model, the loss or the data ({' '.join(str(error).split())[:160]}): define "
            "their functions and classes in a module that can be imported there"
        ) from error
    return task
