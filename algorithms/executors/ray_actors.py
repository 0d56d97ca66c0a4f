"""The work of a trip in Ray actors, on this machine or others; needs the extra `ray`.

Who does what is said in `algorithms.executors.team`. What is sent is put once for each trip in the object store, from
which each machine takes one copy for all of its actors, and so are the clients with their data, once for all. An actor
that is lost, alone or with its machine, is replaced; its part of the trip is done again, and the run goes on.

The package, and the modules of the clients and their work, must be importable where actors are.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from algorithms.executors.sharing import Packed
from algorithms.executors.team import LOSSES, Member, Team
from algorithms.executors.worker import Answer, Held, Order, answered, packed, settle
from algorithms.federation import FederationError, InterruptedWorkError
from workloads.processes.cluster import LOCAL, cluster, import_ray, require_graphics, require_room

PATIENCE = 300.0
"""Seconds to wait for an actor, when there is none."""
STARTS = 20
"""Actors for each worker that may be lost in turn before they work; fewer where they fail by themselves."""


class Actors(Team):
    """Clients in Ray actors, which start with the first trip and end with this object, or with this process.

    A cluster that stands is joined at once, so that one that does not answer, or has no room, is known before anything
    is made for a run.

    Attributes:
        address: Address for `ray.init`, or `local` for a cluster that starts on this machine and ends with this.
        graphics: GPUs of each actor; a part of one is shared.

    Raises:
        FederationError: A number of workers, threads or GPUs that does not serve, Ray is not installed, or the cluster
            does not answer or has no room.
    """

    def __init__(self, workers: int, address: str = LOCAL, graphics: float = 0.0, threads: int = 1) -> None:
        super().__init__(workers, threads)
        if graphics:
            require_graphics(graphics, FederationError)
        self.address, self.graphics = address, graphics
        self._ray = import_ray(FederationError)
        self._actors: list[_Actor] = []
        self._end: Any = None
        self._failed = 0
        if address != LOCAL:
            self._join()

    def close(self) -> None:
        """Ends the actors, in the middle of their work if need be; the next trip starts new ones."""
        if self._end is not None:
            self._end()
        for actor in self._actors:
            actor.lost = True
        self._actors.clear()
        self._end = None

    @contextmanager
    def _minded(self) -> Iterator[None]:
        try:
            self._start()
            yield
        except BaseException as error:
            self.close()
            if isinstance(error, self._ray.exceptions.RayError):
                text = " ".join(str(error).split())[:200]
                raise InterruptedWorkError(f"the Ray cluster cannot go on ({type(error).__name__}: {text})") from error
            raise

    def _join(self) -> None:
        if self._end is None:
            _, own = cluster(self.address, self.workers, FederationError)
            self._end = weakref.finalize(self, _end, self._ray, self._actors, own)
            try:
                require_room(self._ray, self.address, self.workers, self.workers * self.graphics, FederationError)
            except FederationError:
                self.close()
                raise

    def _start(self) -> None:
        self._join()
        if not self._actors:
            self._failed = 0
            for _ in range(self.workers):
                self._add()

    def _add(self) -> None:
        options = {"num_cpus": 1, "num_gpus": self.graphics, "max_restarts": 0}
        kind = self._ray.remote(Worker).options(**options)
        self._actors.append(_Actor(kind.remote(sys.path, self.threads, str(torch.get_default_dtype()))))

    def _members(self) -> Sequence[Member]:
        return [actor for actor in self._actors if actor.process]

    def _arrived(self, busy: Collection[Member]) -> Iterator[tuple[Member, Answer | None]]:
        awaited = {actor.answer: actor for actor in self._actors if actor in busy or not actor.process}
        ready, _ = self._ray.wait(list(awaited), timeout=None if busy else PATIENCE)
        if not ready:
            raise FederationError(
                f"the Ray cluster at {self.address} started no worker within {PATIENCE:g} s; it has no room, or its "
                "machines are gone"
            )
        for reference in ready:
            actor = awaited[reference]
            try:
                found = self._ray.get(reference)
            except self._ray.exceptions.RayTaskError:
                raise  # it can be had again, and would be the same
            except self._ray.exceptions.RayError as error:
                self._replace(actor, error)
                if actor in busy:
                    yield actor, None
                continue
            if actor in busy:
                yield actor, found
            else:
                actor.process, self._failed = found, 0

    def _replace(self, actor: _Actor, error: Exception) -> None:
        """Another actor in place of one that is lost.

        Raises:
            FederationError: Too many have not even started.
        """
        actor.lost = True
        self._ray.kill(actor.handle)
        self._actors.remove(actor)
        if not actor.process:
            self._failed += 1
            if self._failed >= (LOSSES if getattr(error, "actor_init_failed", False) else STARTS) * self.workers:
                text = " ".join(str(error).split())[:200]
                raise FederationError(
                    f"{self._failed} workers in turn did not start on the Ray cluster at {self.address} "
                    f"({type(error).__name__}: {text}); is rankproof installed there, in this version?"
                ) from error
        self._add()

    def _packed(self, what: str, message: Any) -> Packed:
        return packed(what, message, shared=False)

    def _for_all(self, packed: Packed) -> Any:
        return self._ray.put(packed)


class _Actor(Member):
    """An actor, as who gives the orders knows it.

    Attributes:
        handle: Ray's handle of the actor.
        process: Number of its process, once the actor has started.
        answer: The answer awaited from it.
    """

    def __init__(self, handle: Any) -> None:
        super().__init__()
        self.handle, self.process = handle, 0
        self.answer = handle.started.remote()

    def send(self, order: Order) -> None:
        """Gives it an order; what all workers are given goes by reference."""
        alone = replace(order, clients=None, lasting=None, trip=None)
        self.answer = self.handle.answer.remote(alone, order.clients, order.lasting, order.trip)


class Worker:
    """An actor that works for federations."""

    def __init__(self, path: Sequence[str], threads: int, dtype: str) -> None:
        """Makes it as a worker process is.

        Args:
            path: Folders of modules where the user stands.
            threads: Threads for linear algebra.
            dtype: Name of the default type.
        """
        sys.path += [place for place in path if place not in sys.path]
        settle(threads, getattr(torch, dtype.removeprefix("torch.")))
        self._federations: dict[int, Held] = {}

    def started(self) -> int:
        """The number of this process."""
        return os.getpid()

    def answer(self, order: Order, clients: Packed | None, lasting: Packed | None, trip: Packed | None) -> Answer:
        """Returns the answer to an order."""
        whole = replace(order, clients=clients, lasting=lasting, trip=trip)
        return answered(whole, self._federations, shared=False)


def _end(ray: Any, actors: Sequence[_Actor], own: bool) -> None:
    if not ray.is_initialized():
        return
    for actor in actors:
        ray.kill(actor.handle)
    if own:
        ray.shutdown()
