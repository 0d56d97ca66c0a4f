"""A worker that multiplies pieces of the data: it takes its share once, and answers orders about it."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.serialization import default_restore_location

from hessian.loss.checked_objective import held_by_model
from hessian.loss.factories import user_error
from hessian.loss.graphs import Part
from hessian.loss.objective import Objective
from hessian.numerics.live_bytes import held_by
from hessian.numerics.symmetric import CurvatureError
from hessian.operators.shards import PiecesHere

Message = str | bytes
"""A matrix as all workers take it: a file that they see as memory, or its content."""


class Taken(NamedTuple):
    """A matrix as it is sent to a worker.

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
    def of(objective: Objective, matrix: str, keep: bool) -> Taken:
        """With how this process computes."""
        return Taken(objective, matrix, keep, torch.get_default_dtype(), torch.get_float32_matmul_precision())

    def pieces(self, numbers: range, device: torch.device) -> PiecesHere:
        """A share of the pieces in this process, which from now on computes as the sender does."""
        torch.set_default_dtype(self.default)
        torch.set_float32_matmul_precision(self.precision)
        return PiecesHere(self.objective.share(numbers, device), self.matrix, self.keep)


@dataclass(frozen=True)
class Order:
    """An order to a worker.

    Attributes:
        task: `take`, `products`, `peak`, `gradients`, `fault`, `held`, or `forget` what is gone, as all others do
            first.
        matrix: Number of the matrix.
        gone: Matrices that are no more.
        numbers: Numbers of the batches to take.
        device: Device of these batches.
        part: Part of the matrix to multiply.
        together: Vectors multiplied together.
    """

    task: str
    matrix: int
    gone: tuple[int, ...] = ()
    numbers: range | None = None
    device: str = "cpu"
    part: Part | None = None
    together: int = 1


@dataclass(frozen=True)
class Failure:
    """An error in a worker."""

    error: Exception

    @staticmethod
    def of(error: Exception) -> Failure:
        """As it is where the sender knows what to do about it, in words with its place elsewhere."""
        if not isinstance(error, CurvatureError | RuntimeError | MemoryError):
            error = user_error(error, "the model or the loss in a worker")
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            error = RuntimeError(f"{type(error).__name__}: {error}")
        return Failure(error.with_traceback(None))


@dataclass(frozen=True)
class Desk:
    """Memory of a worker: its pieces of every matrix, by the matrix's number."""

    pieces: dict[int, PiecesHere] = field(default_factory=dict)

    def answer(self, order: Order, vectors: Tensor | None = None, message: Message | None = None) -> Any:
        """Returns the answer to an order, or a failure.

        Args:
            order: The order.
            vectors: Vectors to multiply, (k, columns), on the processor.
            message: The matrix to take, as sent.
        """
        try:
            for number in order.gone:
                self.pieces.pop(number, None)
            return self._done(order, vectors, message)
        except Exception as error:
            return Failure.of(error)

    def _done(self, order: Order, vectors: Tensor | None, message: Message | None) -> Any:
        if order.task == "forget":
            return None
        if order.task == "take":
            assert message is not None
            assert order.numbers is not None
            device = torch.device(order.device)
            pieces = _loaded(message, device).pieces(order.numbers, device)
            self.pieces[order.matrix] = pieces
            return pieces.used
        pieces = self.pieces[order.matrix]
        device = pieces.objective.parameters[0].device
        if order.task == "fault":
            return pieces.fault
        if order.task == "held":
            objective = pieces.objective
            model = held_by_model(objective.model.module, objective.parameters, objective.batches)
            return str(device), sum(model.values()) + sum(pieces.held().values())
        assert order.part is not None
        if order.task == "gradients":
            return pieces.gradients(order.part.rows)
        assert vectors is not None
        part, own = order.part, vectors.to(device)
        if order.task == "products":
            return pieces.products(part, own, order.together)
        multiply: Callable[[], Tensor] = lambda: pieces.products(part, own, order.together)  # noqa: E731
        return str(device), held_by(multiply, device)[1].peak + own.nbytes


def _loaded(message: Message, device: torch.device) -> Taken:
    """The matrix that was sent; tensors of a processor stay in the file until they are read."""

    def restored(storage: Any, place: str) -> Any:
        return storage if place == "cpu" else default_restore_location(storage, str(device))

    source: Any = message if isinstance(message, str) else io.BytesIO(message)
    try:
        taken: Taken = torch.load(source, map_location=restored, mmap=isinstance(message, str), weights_only=False)
    except (ImportError, AttributeError) as error:
        raise CurvatureError(
            f"a worker cannot find the model, the loss or the data ({' '.join(str(error).split())[:160]}): define "
            "their functions and classes in a module that can be imported there"
        ) from error
    return taken
