"""A worker of `algorithms.executors.team`: it runs tasks and holds what clients keep for the round."""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

import torch

from algorithms.exchange import Exchange, Reply
from algorithms.executors.sharing import Packed, pack, unpack
from algorithms.federation import FederationError
from algorithms.partial_sums import fold_parts
from algorithms.sequential import Sequential
from workloads.processes.worker_pool import Failure, answer_messages


@dataclass(frozen=True)
class Task:
    """A task for a worker: one part of an exchange, and what the worker still lacks of the rest.

    Attributes:
        clients: Serialised clients of the federation; None if the worker has them, as for the next two.
        lasting: Serialised values in `shared` and `equipped`.
        exchange: Serialised exchange without clients and their memory.
        federation: Number of the federation.
        gone: Numbers of federations that have ended, whose data the worker discards.
        fresh: Whether a new round begins, so the worker discards what clients kept.
        part: Serialised cohort, shares (None if replies are requested), and arguments and personal values of these
            clients.
        again: Serialised earlier exchanges of this round to repeat for clients whose kept values another worker had.
    """

    clients: Any
    lasting: Any
    exchange: Any
    federation: int
    gone: Sequence[int]
    fresh: bool
    part: Packed
    again: tuple[Packed, ...] = ()


def pack_message(what: str, message: Any, shared: bool = True) -> Packed:
    """Serialise a message.

    Args:
        what: Name of the message, for errors.
        message: The message.
        shared: Whether its tensors are put into memory that the processes of this machine share.

    Raises:
        FederationError: The message cannot be sent to another process.
    """
    try:
        return pack(message, shared)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        local = any(word in str(error) for word in ("<locals>", "<lambda>", "local object"))
        first = "define it at the top level of a module, or " if local else ""
        raise FederationError(
            f"{what} cannot be sent to other processes ({error}); {first}use another executor, without workers"
        ) from error


@dataclass(frozen=True)
class Answer:
    """A worker's answer to a task.

    Attributes:
        content: Serialised replies, or their sum and acknowledgements; or an error.
        kept: Clients that kept something in this exchange.
        again: Clients whose earlier exchanges of the round were repeated.
    """

    content: tuple[Packed, ...] | Failure
    kept: tuple[int, ...] = ()
    again: tuple[int, ...] = ()


def serve(connection: Connection, threads: int, dtype: torch.dtype) -> None:
    """Run tasks from a connection until it is closed, then end the process."""
    configure_process(threads, dtype)
    federations: dict[int, WorkerState] = {}
    answer_messages(connection, lambda task: run_task(task, federations))


def configure_process(threads: int, dtype: torch.dtype) -> None:
    """Set the threads and default type of a worker process, and make it retain freed memory for the next client.

    Allocating memory from the system for each client takes a fifth of the time for a network of a million weights.
    """
    torch.set_num_threads(threads)
    torch.set_default_dtype(dtype)
    with suppress(AttributeError, OSError):  # only the GNU C library has this function
        setting = ctypes.CDLL(None).mallopt
        setting(-3, 1 << 25)  # M_MMAP_THRESHOLD: tensors of less than 32 MiB, its largest value, lie in the heap
        setting(-1, 1 << 30)  # M_TRIM_THRESHOLD: of which 1 GiB may be free


def run_task(task: Task, federations: dict[int, WorkerState], shared: bool = True) -> Answer:
    """Run a task and return the answer.

    Args:
        task: The task.
        federations: States of federations that the worker holds, by number; updated in place.
        shared: As in `pack_message`.
    """
    for number in task.gone:
        federations.pop(number, None)
    state = federations.setdefault(task.federation, WorkerState())
    try:
        again = state.prepare(task)
        content, kept = state.answer(task.part)
        return Answer(tuple(pack_message("the result of the work", part, shared) for part in content), kept, again)
    except Exception as error:
        return Answer(Failure.of(error, FederationError))


def _read(message: Packed) -> Any:
    """Return the message of a serialised one; its classes and functions must be importable in this process."""
    try:
        return unpack(message)
    except (ImportError, AttributeError) as error:
        raise FederationError(
            f"a worker cannot import its task ({error}); move it to a module that workers can import"
        ) from error


class WorkerState:
    """The state of a federation that a worker holds between tasks."""

    def __init__(self) -> None:
        self.clients: Any = None
        self.lasting: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})
        self.exchange: Exchange | None = None
        self.kept: dict[int, Mapping[str, Any]] = {}

    def prepare(self, task: Task) -> tuple[int, ...]:
        """Update the state, repeat the task's earlier exchanges, and return the numbers of their clients."""
        self.clients = self.clients if task.clients is None else _read(task.clients)
        self.lasting = self.lasting if task.lasting is None else _read(task.lasting)
        self.exchange = self.exchange if task.exchange is None else _read(task.exchange)
        if task.fresh:
            self.kept = {}
        exchanges: list[Exchange] = [_read(message) for message in task.again]
        again = sorted({number for exchange in exchanges for number in exchange.cohort})
        for number in again:
            self.kept.pop(number, None)
        for exchange in exchanges:
            for _ in self._keeping(replace(exchange, clients=self.clients, kept=self.kept), set()):
                pass
        return tuple(again)

    def answer(self, part: Packed) -> tuple[tuple[Any, ...], tuple[int, ...]]:
        """Return the replies, or their sum and acknowledgements, and the clients that kept something for the round."""
        cohort, shares, each, personal = unpack(part)
        assert self.exchange is not None
        shared, equipped = self.lasting
        exchange = replace(
            self.exchange,
            cohort=cohort,
            clients=self.clients,
            each=each,
            kept=self.kept,
            personal=personal,
            shared=shared,
            equipped=equipped,
        )
        keepers: set[int] = set()
        replies = self._keeping(exchange, keepers)
        content = (list(replies),) if shares is None else fold_parts(exchange, replies, shares, len(cohort))
        return content, tuple(sorted(keepers))

    def _keeping(self, exchange: Exchange, keepers: set[int]) -> Iterator[Reply]:
        for number, reply in zip(exchange.cohort, Sequential().replies(exchange), strict=True):
            if reply.keep:
                self.kept[number] = {**self.kept.get(number, {}), **reply.keep}
                keepers.add(number)
            yield replace(reply, keep={})
