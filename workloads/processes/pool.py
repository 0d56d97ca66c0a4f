"""Independent tasks in the workers of a Ray cluster. Needs the extra `ray`."""

from __future__ import annotations

import argparse
import os
import pickle
import platform
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workloads.arguments import at_least
from workloads.processes.cluster import (
    LOCAL,
    cluster,
    describe_loss,
    graphics_of,
    search_path,
    use_search_path,
    workers_at_once,
)

RAY = "ray"
"""The word for it on the command line."""


@dataclass(frozen=True)
class Place:
    """The place of independent work: a Ray cluster and its workers.

    Attributes:
        address: Address of a Ray cluster, or `LOCAL`.
        workers: Processors of a local cluster; default: those of this machine.
        graphics: GPUs of each piece of work; a part of one is shared.
    """

    address: str = LOCAL
    workers: int | None = None
    graphics: float = 0.0


def add_place_options(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare the options for the place of independent work."""
    add = parser.add_argument
    add(
        "--on",
        choices=(RAY,),
        help=f"run {what} on the workers of a Ray cluster, longest first; default: on this machine",
    )
    add(
        "--address",
        metavar="A",
        help="with --on ray: address of the cluster, or auto; default: local, which starts one here",
    )
    add(
        "--workers",
        type=at_least(1),
        metavar="N",
        help="with --on ray: number of workers of a local cluster; default: one per processor",
    )
    add("--gpus-per-worker", metavar="X", help="with --on ray: GPUs per worker, such as 0.25; default: none")
    add("--dry-run", action="store_true", help="show the plan, with the cost where it is known, and run nothing")


def place_of(options: argparse.Namespace, failed: Callable[[str], Exception]) -> Place | None:
    """Return the place named by the options of `add_place_options`; None means this process.

    Raises:
        Exception: As `failed` makes it: they do not fit together.
    """
    graphics = options.gpus_per_worker
    if options.on is None:
        given = [
            flag
            for flag, value in (
                ("--address", options.address),
                ("--workers", options.workers),
                ("--gpus-per-worker", graphics),
            )
            if value is not None
        ]
        if given:
            raise failed(f"{given[0]} requires --on {RAY}: add it, or leave {given[0]} out")
        return None
    if options.address == "":
        raise failed("--address must name a cluster, such as auto; or leave it out")
    each = 0.0 if graphics is None else graphics_of(graphics, failed)
    address = options.address or LOCAL
    if options.workers is not None and address != LOCAL:
        raise failed(f"--workers is for a local cluster only: {address} has its own number of workers")
    return Place(address, options.workers, each)


def slots_of(place: Place | None, failed: Callable[[str], Exception]) -> tuple[str, ...]:
    """Return the machine of each concurrent task; a local cluster is started only to find its GPUs.

    Raises:
        Exception: As `failed` makes it: as of `RayPool`.
    """
    if place is None:
        return ("here",)
    if place.address == LOCAL and not place.graphics:
        return (platform.node(),) * (place.workers or os.cpu_count() or 1)
    with RayPool(place, failed) as pool:
        return pool.slots


class RayPool(Executor):
    """A pool for calls of module functions, each on its own processor, started in the order of submission.

    A call whose machine is lost is made again elsewhere; what it writes must bear that. Calls that are under way end
    with this object and with this process.

    Attributes:
        slots: The machine of each call that can be made at a time, when the cluster was joined.
    """

    def __init__(self, place: Place, failed: Callable[[str], Exception]) -> None:
        """Join the cluster.

        Args:
            place: Where.
            failed: The error to raise, of what is wrong.

        Raises:
            Exception: As `failed` makes it: Ray is not installed, the cluster is missing, or none of its machines has
                what a piece of work needs.
        """
        self._failed = failed
        self._under_way: set[Any] = set()
        self._ray, self._own = cluster(place.address, place.workers or 1, failed, place.workers)
        self.slots = self._slots(place.graphics)
        if not self.slots:
            self.shutdown()
            needed = f"a processor and {place.graphics:g} GPU" if place.graphics else "a processor"
            raise failed(f"no machine of the Ray cluster at {place.address} has {needed}: leave --gpus-per-worker out")
        self._call = self._ray.remote(_load_call).options(num_cpus=1, num_gpus=place.graphics, max_retries=3)

    def _slots(self, graphics: float) -> tuple[str, ...]:
        found: list[str] = []
        for node in self._ray.nodes():
            if node["Alive"]:
                has = node["Resources"]
                count = workers_at_once(has.get("CPU", 0.0), has.get("GPU", 0.0), graphics)
                found += count * [node["NodeManagerHostname"]]
        return tuple(found)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Submit a call."""
        answer: Future[Any] = Future()
        reference = self._call.remote(search_path(), os.getcwd(), pickle.dumps((function, arguments, named)))
        self._under_way.add(reference)

        def end(inner: Future[Any]) -> None:
            self._under_way.discard(reference)
            error = inner.exception()
            if error is None:
                answer.set_result(inner.result())
            elif isinstance(error, self._ray.exceptions.RayTaskError):
                error.cause.add_note(str(error))
                answer.set_exception(error.cause)
            else:
                answer.set_exception(self._failed(describe_loss(error)))

        reference.future().add_done_callback(end)
        return answer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the running calls."""
        if self._own:
            self._own = False
            self._ray.shutdown()
        else:
            for reference in list(self._under_way):
                self._ray.cancel(reference, force=True)


def _load_call(path: Sequence[str], folder: str, call: bytes) -> Any:
    """Load a call after setting the module path of the submitting process."""
    import torch

    use_search_path(path)
    if Path(folder).is_dir():
        os.chdir(folder)
    torch.set_num_threads(1)
    function, arguments, named = pickle.loads(call)
    return function(*arguments, **named)
