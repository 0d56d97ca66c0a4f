"""An executor with Ray actors, on this machine or on others; needs the extra `ray`.

`algorithms.executors.team` describes how the work is divided. Each message is put into the object store once for an
exchange, and each machine takes one copy for all of its actors; the clients and their data are stored once for the run.
A lost actor or machine is replaced: its part of the exchange is repeated, and the run continues.

The package and the modules of the clients and their work must be importable on all machines.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from algorithms.executors.sharing import Packed
from algorithms.executors.team import LOSSES, Member, Team
from algorithms.executors.worker import Answer, Task, WorkerState, configure_process, pack_message, run_task
from algorithms.federation import FederationError, InterruptedWorkError
from workloads.processes.cluster import LOCAL, ActorPool, describe_loss, import_ray, require_graphics, use_search_path

PATIENCE = 300.0
"""Seconds to wait for the first actor."""
STARTS = 20
"""Number of consecutive actors per worker that may be lost before they start; `LOSSES` if they fail by themselves."""


class Actors(Team):
    """Runs clients in Ray actors, which start with the first exchange and end with this object or its process.

    An existing cluster is joined immediately, so a cluster that does not answer or lacks resources is detected
    before anything is created for a run.

    Attributes:
        address: Address for `ray.init`, or `local` for a cluster that starts on this machine and ends with this object.
        graphics: GPUs of each actor; a fraction shares a GPU.

    Raises:
        FederationError: The number of workers, threads or GPUs is invalid, Ray is not installed, or the cluster does
            not answer or lacks resources.
    """

    def __init__(self, workers: int, address: str = LOCAL, graphics: float = 0.0, threads: int = 1) -> None:
        super().__init__(workers, threads)
        if graphics:
            require_graphics(graphics, FederationError)
        self.address, self.graphics = address, graphics
        self._ray = import_ray(FederationError)
        self._actors: list[_Actor] = []
        self._pool: ActorPool | None = None
        self._failed = 0
        if address != LOCAL:
            self._join()

    def close(self) -> None:
        """End the actors, even in the middle of their work; the next exchange starts new ones."""
        if self._pool is not None:
            self._pool.close()
        for actor in self._actors:
            actor.lost = True
        self._actors, self._pool = [], None

    @contextmanager
    def _supervise(self) -> Iterator[None]:
        try:
            self._start()
            yield
        except BaseException as error:
            self.close()
            if isinstance(error, self._ray.exceptions.RayError):
                raise InterruptedWorkError(describe_loss(error)) from error
            raise

    def _join(self) -> ActorPool:
        if self._pool is None:
            self._pool = ActorPool(self.address, self.workers, self.workers * self.graphics, FederationError)
        return self._pool

    def _start(self) -> None:
        self._join()
        if not self._actors:
            self._failed = 0
            for _ in range(self.workers):
                self._add()

    def _add(self) -> None:
        dtype = str(torch.get_default_dtype())
        self._actors.append(_Actor(self._join().add(Worker, self.graphics, self.threads, dtype)))

    def _members(self) -> Sequence[Member]:
        return [actor for actor in self._actors if actor.process]

    def _receive(self, busy: Collection[Member]) -> Iterator[tuple[Member, Answer | None]]:
        awaited = {actor.answer: actor for actor in self._actors if actor in busy or not actor.process}
        ready, _ = self._ray.wait(list(awaited), timeout=None if busy else PATIENCE)
        if not ready:
            raise FederationError(
                f"the Ray cluster at {self.address} started no worker within {PATIENCE:g} s; it has no free resources, "
                f"or its machines are gone"
            )
        for reference in ready:
            actor = awaited[reference]
            try:
                found = self._ray.get(reference)
            except self._ray.exceptions.RayTaskError:
                raise  # an error of the task itself, which would occur again
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
        """Replace a lost actor.

        Raises:
            FederationError: Too many actors in turn have not started.
        """
        actor.lost = True
        self._join().remove(actor.handle)
        self._actors.remove(actor)
        if not actor.process:
            self._failed += 1
            if self._failed >= (LOSSES if getattr(error, "actor_init_failed", False) else STARTS) * self.workers:
                text = " ".join(str(error).split())[:200]
                raise FederationError(
                    f"{self._failed} workers in a row did not start on the Ray cluster at {self.address} "
                    f"({type(error).__name__}: {text}); install the same version of rankproof there"
                ) from error
        self._add()

    def _pack(self, what: str, message: Any) -> Packed:
        return pack_message(what, message, shared=False)

    def _publish(self, packed: Packed) -> Any:
        return self._ray.put(packed)


class _Actor(Member):
    """An actor as seen by the team.

    Attributes:
        handle: Ray's handle of the actor.
        process: Process id once the actor has started, 0 before.
        answer: Reference of the result that is awaited from it.
    """

    def __init__(self, handle: Any) -> None:
        super().__init__()
        self.handle, self.process = handle, 0
        self.answer = handle.started.remote()

    def send(self, task: Task) -> None:
        """Send a task; parts that all workers need are passed by reference."""
        own = replace(task, clients=None, lasting=None, exchange=None)
        self.answer = self.handle.answer.remote(own, task.clients, task.lasting, task.exchange)


class Worker:
    """The class of the actors, which run tasks of any number of federations."""

    def __init__(self, path: Sequence[str], threads: int, dtype: str) -> None:
        """Configure the process like a worker process.

        Args:
            path: Module search path of the user's process.
            threads: Threads for linear algebra.
            dtype: Name of the default type.
        """
        use_search_path(path)
        configure_process(threads, getattr(torch, dtype.removeprefix("torch.")))
        self._federations: dict[int, WorkerState] = {}

    def started(self) -> int:
        """Return the id of this process."""
        return os.getpid()

    def answer(self, task: Task, clients: Packed | None, lasting: Packed | None, exchange: Packed | None) -> Answer:
        """Run a task and return its result."""
        task = replace(task, clients=clients, lasting=lasting, exchange=exchange)
        return run_task(task, self._federations, shared=False)
