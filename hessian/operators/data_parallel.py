"""Shards of the data in other processes: the product is the sum of their products, the same to rounding.

A matrix is sent to every worker once, in a file that all map as memory. After that, vectors and products go through
shared memory. Each worker multiplies its batches like a single process, and the workers' sums are added in their order,
in double precision. One product over all data checks that the workers hold the same loss as this process.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Sequence
from itertools import count
from typing import Any

import torch
from torch import Tensor

from hessian.loss.graphs import Block, Positions
from hessian.loss.objective import Objective
from hessian.numerics.symmetric import CurvatureError
from hessian.numerics.vector_parts import norm_of
from hessian.operators.link import Link
from hessian.operators.shards import LocalShards, shares_of
from hessian.operators.worker import Order, Task
from hessian.operators.worker_processes import Processes
from workloads.processes.worker_pool import Failure

COLUMNS = 2**18
"""Added at a time."""
ENDED = "its workers have ended: build the operator again"


class Workers:
    """Processes with one thread each, or Ray actors, to which shards of the data are distributed.

    They start with the first matrix, serve any number of matrices, and end with the last of these and this object, with
    `close`, or with this process. A script that uses processes needs the line ``if __name__ == "__main__":``.

    Attributes:
        count: Number of workers.
        devices: Device of each; None: the device of the model.
        ray: Address of a Ray cluster whose actors they are, or `local`; nothing: processes of this machine.
    """

    def __init__(self, workers: int | str | Sequence[str], ray: str | None = None) -> None:
        """Set how many workers there are, or on which devices.

        Args:
            workers: A number, for the device of the model; or one device for each, such as ``"cuda:0,cuda:1"``.
            ray: An address as `ray.init` takes it, such as `auto`, or `local` for a cluster started on this machine.

        Raises:
            CurvatureError: No number of workers, or devices that are not here.
        """
        self.devices: tuple[str, ...] | None = None
        if isinstance(workers, str):
            workers = int(workers) if re.fullmatch("[0-9]+", workers) else [name.strip() for name in workers.split(",")]
        if isinstance(workers, int):
            if isinstance(workers, bool) or workers < 1:
                raise CurvatureError(
                    f"workers must be at least 1, or devices such as 'cuda:0,cuda:1', got {workers!r}",
                    keywords=("workers",),
                )
            self.count = workers
        else:
            self.devices = tuple(workers)
            self.count = len(self.devices)
            if not self.devices or not all(isinstance(name, str) for name in self.devices):
                raise CurvatureError(
                    f"workers must be a number, or devices such as 'cuda:0,cuda:1', got {workers!r}",
                    keywords=("workers",),
                )
            for name in self.devices:
                _require_device(name, here=ray is None)
        self.ray = ray
        self._link: Link | None = None
        self._numbers = count()
        self._gone: list[int] = []

    @staticmethod
    def of(workers: Workers | int | str | Sequence[str] | None, ray: str | None = None) -> Workers | None:
        """Return workers, or None for one worker that has no own device and is not an actor: this process.

        Raises:
            CurvatureError: As the constructor.
        """
        if workers is None and ray is not None:
            raise CurvatureError("--ray needs a number of workers: give workers=, such as 2", keywords=("workers",))
        if workers is None or isinstance(workers, Workers):
            return workers
        found = Workers(workers, ray)
        return None if found.count == 1 and found.devices is None and ray is None else found

    @property
    def device(self) -> str | None:
        """Device of the first worker; None: the device of the model."""
        return None if self.devices is None or self.ray is not None else self.devices[0]

    def close(self) -> None:
        """End the workers; the next matrix starts new ones."""
        if self._link is not None:
            self._link.close()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take(self, task: Task, shares: Sequence[range]) -> tuple[Link, int]:
        """Send a matrix to the workers.

        Args:
            task: The matrix.
            shares: Numbers of batches for each of the first workers.

        Returns:
            The way to the workers, and the number by which they know the matrix.

        Raises:
            CurvatureError: It cannot be sent, or a worker fails.
        """
        own = str(task.objective.parameters[0].device)
        devices = self.devices or (own,) * self.count
        if self.ray is not None:
            devices = tuple(torch.device(name).type for name in devices)  # an actor sees the one that it has
        if self._link is None or self._link.ended:
            if self.ray is None:
                self._link = Processes(self.count)
            else:
                from hessian.operators.ray_actors import Actors  # an extra

                self._link = Actors(self.count, devices, self.ray)
        number = next(self._numbers)
        gone = tuple(self._gone)
        orders = [
            Order("take", number, gone, share, device) for share, device in zip(shares, devices, strict=False)
        ] + [Order("forget", number, gone)] * (self.count - len(shares))
        try:
            self.ask(self._link, orders, task=task)
        except BaseException:
            self._gone.append(number)
            raise
        return self._link, number

    def ask(self, link: Link, orders: Sequence[Order], **message: Any) -> list[Any]:
        """Return the workers' answers.

        Args:
            link: Link as given by `take`.
            orders: Orders, one for each of the first workers.
            message: Message of `Link.ask`.

        Raises:
            CurvatureError: They are not the ones that took the matrix, one has ended, or as a worker raises it.
        """
        if link.ended:
            raise CurvatureError(ENDED)
        found = link.ask(orders, **message)
        for answer in found:
            if isinstance(answer, Failure):
                raise answer.error
        return found

    @property
    def forgotten(self) -> list[int]:
        """Numbers of matrices that no longer exist; whoever drops a matrix adds its number."""
        return self._gone


class RemoteShards:
    """Shards of the data in other processes.

    Attributes:
        keeps_graph: Whether workers reuse graphs.
        workers: Number of workers that have some.
        fault: Why some vectors are multiplied one at a time though more were asked for; empty if none are.
    """

    fault = ""

    def __init__(self, objective: Objective, matrix: str, keep: bool, team: Workers) -> None:
        """Send the shards to the workers.

        Args:
            objective: The loss.
            matrix: One of `hessian.loss.output_curvature.MATRICES`.
            keep: Keep the graphs.
            team: Who gets them; no more than there are batches.

        Raises:
            CurvatureError: Something cannot be sent, a worker fails, or what workers hold is not what was sent.
        """
        self.keeps_graph, self._team = keep, team
        self._compared: set[tuple[Block, int]] = set()
        self._parameters = objective.parameters
        self._device = objective.parameters[0].device
        every: Positions = tuple(range(len(self._parameters)))
        ramp = torch.linspace(-1.0, 1.5, self._size(every), dtype=self._parameters[0].dtype, device=self._device)[None]
        expected = LocalShards(objective, matrix, keep=False).products(Block(every, every), ramp, 1)
        if self._device.type == "cuda":
            torch.cuda.empty_cache()  # a worker may share the device
        shares = shares_of(list(objective.sizes), team.count)
        self.workers = len(shares)
        self._link, self._number = team.take(Task.of(objective, matrix, keep), shares)
        weakref.finalize(self, team.forgotten.append, self._number)
        self._require_same(expected, Block(every, every), ramp)

    def products(self, block: Block, vectors: Tensor, together: int, into: Tensor | None = None) -> Tensor:
        """Multiply a block by each vector, (k, columns) to (k, rows), so many together, into new or given rows."""
        answer = add_up(self._products(block, vectors, together), vectors)
        # Workers compare each number of vectors at once before its first use.
        asked = {(block, count) for count in (min(together, len(vectors)), len(vectors) % together) if count > 1}
        if not self.fault and not asked <= self._compared:
            self._compared |= asked
            self.fault = next(filter(None, self._ask("fault")), "")
        return answer if into is None else into.copy_(answer)

    def gradients(self, by: Positions) -> None:
        """Compute the gradient of every shard by some parameters, and discard it."""
        self._ask("gradients", block=Block(by, by))

    def measure_held(self) -> dict[str, int]:
        """Return the bytes that workers hold on the parameters' device, including their program."""
        return {"graph": 0, "workers": self._here(self._ask("held"))}

    def peak_elsewhere(self, block: Block, vectors: Tensor, together: int) -> int:
        """Return the further bytes that workers hold on the parameters' device at the peak of products."""
        width = self._size(block.rows)
        peaks = self._here(self._ask("peak", vectors=vectors.cpu(), width=width, block=block, together=together))
        return peaks + (self._link.shared if self._device.type == "cpu" else 0)

    def _products(self, block: Block, vectors: Tensor, together: int) -> list[Tensor]:
        width = self._size(block.rows)
        return self._ask("products", vectors=vectors.cpu(), width=width, block=block, together=together)

    def _ask(self, action: str, block: Block | None = None, together: int = 1, **message: Any) -> list[Any]:
        order = Order(action, self._number, block=block, together=together)
        return self._team.ask(self._link, [order] * self.workers, **message)

    def _here(self, found: list[tuple[str, int]]) -> int:
        """Return the sum over workers on the device of the parameters."""
        if self._team.ray is not None:
            return 0  # actors have memory of their own
        return sum(size for device, size in found if device == str(self._device))

    def _size(self, positions: Positions) -> int:
        return sum(self._parameters[i].numel() for i in positions)

    def _require_same(self, expected: Tensor, block: Block, ramp: Tensor) -> None:
        if not bool(torch.isfinite(expected).all()):
            return  # which is refused where it is used
        terms = self._products(block, ramp, 1)
        size = sum(norm_of(term) for term in terms)
        gap = norm_of(add_up(terms, ramp) - expected)
        if not gap <= 1e3 * torch.finfo(ramp.dtype).eps * size:
            raise CurvatureError(
                f"the loss in the workers differs from the loss in this process: their product differs by "
                f"{gap / max(size, 1e-300):.1g} "
                "of it. Globals that the model or the loss reads from its module, such as the model itself for a "
                "penalty, are different objects in a worker: make them attributes, or leave out workers=",
                keywords=("workers",),
            )


def add_up(terms: Sequence[Tensor], like: Tensor) -> Tensor:
    """Add terms (k, width) in their order, in double precision, and move the sum to the device of other rows."""
    total = torch.empty_like(terms[0])
    for start in range(0, total.shape[1], COLUMNS):
        columns = slice(start, start + COLUMNS)
        total[:, columns] = sum((term[:, columns].double() for term in terms[1:]), terms[0][:, columns].double())
    return total.to(like.device)


def _require_device(name: str, here: bool) -> None:
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise CurvatureError(f"device {name!r} does not exist: use cpu or cuda:0, for example") from error
    if here and device.type == "cuda" and not (device.index or 0) < torch.cuda.device_count():
        raise CurvatureError(
            f"device {name} does not exist: torch sees {torch.cuda.device_count()} CUDA devices on this machine"
        )
