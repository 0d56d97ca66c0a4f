"""A Ray cluster: an existing one, or a new one on this machine that ends with this process. Needs the extra `ray`."""

from __future__ import annotations

import os
import socket
import sys
import time
import weakref
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

from workloads.numbers import read_real
from workloads.processes.shadows import require_own_modules

LOCAL = "local"
"""Address of a cluster that starts on this machine."""
PATIENCE = 20.0
"""Seconds to wait for the room of workers that have just ended."""
EACH = 8
"""Workers for each processor of this machine that a cluster here has at most; more would only wait for one another."""
GRAIN = 1e-4
"""Parts of a GPU are counted in these by Ray."""
_GRAPHICS = f"the GPUs of a worker must be a fraction such as 0.25, at least {GRAIN:g}, or a whole number"


def import_ray(failed: Callable[[str], Exception]) -> Any:
    """Import Ray, quiet and without usage reports.

    Raises:
        Exception: As `failed` makes it, of what is wrong: it is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's own, 15, waits for everything else on the machine
    try:
        import ray
    except ImportError as error:
        raise failed("Ray is not installed: pip install 'rankproof[ray]'") from error
    return ray


def cluster(
    address: str, workers: int, failed: Callable[[str], Exception], most: int | None = None
) -> tuple[Any, bool]:
    """Connect Ray; a cluster that this process has already joined is reused.

    Args:
        address: Address as `ray.init` takes it, or `LOCAL`.
        workers: Processors that a local one has at least.
        failed: The error to raise, of what is wrong.
        most: Processors that a local one has; default: as many as this machine, or `workers`.

    Returns:
        The package, and whether this call connected it, so its caller ends that.

    Raises:
        Exception: As `failed` makes it: Ray is not installed, the cluster is missing, too many workers for one here,
            or modules of the current folder that hide those of this package.
    """
    ray = import_ray(failed)
    require_own_modules(failed, here_first=True)
    if ray.is_initialized():
        return ray, False
    here: dict[str, Any] = {}
    if address == LOCAL:
        processors = os.cpu_count() or 1
        if workers > EACH * processors:
            raise failed(
                f"a local cluster has at most {EACH * processors} workers, {EACH} for each processor, got "
                f"{workers}: use fewer"
            )
        here["num_cpus"] = most or max(workers, processors)
    else:
        _require_answer(address, failed)
    try:
        ray.init(address, include_dashboard=False, log_to_driver=False, logging_level="ERROR", **here)
    except (ConnectionError, RuntimeError, ValueError) as error:
        text = " ".join(str(error).split())[:160]
        raise failed(f"no Ray cluster answers at {address} ({text}): name another, or {LOCAL}") from error
    return ray, True


def search_path() -> list[str]:
    """Return this process's module search path, for `use_search_path` in a worker."""
    return [os.path.abspath(place) for place in sys.path]  # "" is the current folder


def use_search_path(path: Sequence[str]) -> None:
    """Look for modules where the process that started this worker does, in its order, then where Ray does.

    Ray puts the current folder first, where another module of the same name may lie.
    """
    sys.path[:] = [*path, *(place for place in sys.path if place not in path)]


class ActorPool:
    """Actors of a cluster; they end with this object or its process, and so does a cluster that starts for them.

    Attributes:
        ray: The package.
    """

    def __init__(self, address: str, workers: int, graphics: float, failed: Callable[[str], Exception]) -> None:
        """Join a cluster as `cluster` does; it must have room for so many actors, and for the GPUs of all of them.

        Raises:
            Exception: As `failed` makes it: as in `cluster` and `require_room`.
        """
        self.ray, own = cluster(address, workers, failed)
        self._actors: list[Any] = []
        self._end = weakref.finalize(self, _end, self.ray, self._actors, own)
        try:
            require_room(self.ray, address, workers, graphics, failed)
        except BaseException:
            self.close()
            raise

    @property
    def ended(self) -> bool:
        """Whether the actors were ended."""
        return not self._end.alive

    def add(self, kind: type, graphics: float, *settings: Any) -> Any:
        """Start an actor of a class, which is called with the module search path of this process and the settings."""
        options = {"num_cpus": 1, "num_gpus": graphics, "max_restarts": 0}
        self._actors.append(self.ray.remote(kind).options(**options).remote(search_path(), *settings))
        return self._actors[-1]

    def remove(self, actor: Any) -> None:
        """End one of the actors."""
        self.ray.kill(actor)
        self._actors.remove(actor)

    def close(self) -> None:
        """End the actors, even in the middle of their work."""
        self._end()


def _end(ray: Any, actors: Sequence[Any], own: bool) -> None:
    if not ray.is_initialized():
        return
    for actor in actors:
        ray.kill(actor)
    if own:
        ray.shutdown()


def describe_loss(error: BaseException) -> str:
    """Describe an error of Ray itself in one line."""
    return f"the Ray cluster failed ({type(error).__name__}: {' '.join(str(error).split())[:200]})"


def _require_answer(address: str, failed: Callable[[str], Exception]) -> None:
    """Fail fast if nothing listens at the address; Ray's own time-out is long."""
    if "://" in address:
        raise failed(
            f"{address} is an address for programs outside the cluster: run this on one of its machines, with "
            f"auto as address"
        )
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        return
    if int(port) > 65535:
        raise failed(f"{address} has an invalid port: ports end at 65535")
    try:
        socket.create_connection((host, int(port)), timeout=5.0).close()
    except OSError as error:
        raise failed(f"no Ray cluster answers at {address} ({error}): name another, or {LOCAL}") from error


def require_graphics(graphics: float, failed: Callable[[str], Exception]) -> None:
    """Check the GPUs of a worker: a fraction of one, or whole ones, as Ray can assign them.

    Raises:
        Exception: As `failed` makes it: neither.
    """
    if not (GRAIN <= graphics <= 1.0 or (isfinite(graphics) and graphics >= 1.0 and graphics == int(graphics))):
        raise failed(f"{_GRAPHICS}, got {graphics:g}")


def graphics_of(text: str, failed: Callable[[str], Exception]) -> float:
    """Return the GPUs of a worker as the command line names them; see `require_graphics`.

    Raises:
        Exception: As `failed` makes it.
    """
    try:
        graphics = read_real(text)
    except ValueError as error:
        raise failed(f"{_GRAPHICS}, got {text[:40]!r}") from error
    require_graphics(graphics, failed)
    return graphics


def workers_at_once(processors: float, graphics: float, each: float) -> int:
    """Return the number of workers of one processor each that fit on a machine.

    Args:
        processors: Processors of the machine.
        graphics: GPUs of the machine.
        each: GPUs of each worker; a fraction is a part of a single GPU.

    >>> workers_at_once(16, 1, 0.2), workers_at_once(16, 2, 0.4), workers_at_once(16, 3, 2), workers_at_once(4, 0, 0)
    (5, 4, 1, 4)
    """
    if not each:
        return int(processors)
    return int(min(processors, graphics // each if each > 1.0 else graphics * int(1.0 / each + GRAIN)))


def require_room(
    ray: Any, address: str, processors: float, graphics: float, failed: Callable[[str], Exception]
) -> None:
    """Check that a cluster has enough free resources, after waiting for work that has just ended.

    Raises: Exception: As `failed` makes it: the resources are not enough.
    """
    patience = time.monotonic() + PATIENCE
    for kind, needed in (("CPU", processors), ("GPU", graphics)):
        while (free := ray.available_resources().get(kind, 0.0)) < needed:
            if ray.cluster_resources().get(kind, 0.0) < needed or time.monotonic() > patience:
                has = f"the Ray cluster at {address} has {free:g} {kind} free"
                raise failed(f"{has}, and {needed:g} are needed: use fewer workers")
            time.sleep(0.1)
