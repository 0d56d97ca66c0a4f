"""A worker of `algorithms.executors.team`: it takes orders, and holds what is kept for the round."""

from __future__ import annotations

import ctypes
import os
import pickle
import traceback
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


@dataclass(frozen=True)
class Task:
    """An order to a worker: what all parts of an exchange have in common, and one part.

    Attributes:
        clients: Clients of the federation, the first time; as they travel, like the next two.
        lasting: Values that every client was told or equipped with, where they are new to the worker.
        exchange: The exchange without clients and memories, the first time.
        federation: Number of the federation whose exchange it is.
        gone: Federations that are no more: all that is held of them is forgotten.
        fresh: A new round: what clients kept is forgotten.
        part: Cohort, shares (none: replies are wanted), and what is sent to and known by these clients alone.
        again: Earlier exchanges of the round for some clients, since what these kept is not here.
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
    """A message as it travels.

    Args:
        what: Name of the message, for errors.
        message: The message.
        shared: Whether its tensors lie in memory that processes of this machine share.

    Raises:
        FederationError: It cannot be sent to another process.
    """
    try:
        return pack(message, shared)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise FederationError(f"{what} cannot be sent to other processes ({error}); use another executor") from error


@dataclass(frozen=True)
class Failure:
    """An error in a worker."""

    error: Exception
    trace: str

    def raise_here(self) -> None:
        """The error, with where it came from."""
        self.error.add_note(self.trace)
        raise self.error


@dataclass(frozen=True)
class Answer:
    """A worker's answer to an order.

    Attributes:
        content: Replies alone, or their sum and acknowledgements; or what went wrong.
        kept: Clients that kept something in this exchange.
        again: Clients whose earlier exchanges of the round were done again.
    """

    content: tuple[Packed, ...] | Failure
    kept: tuple[int, ...] = ()
    again: tuple[int, ...] = ()


def serve(connection: Connection, threads: int, dtype: torch.dtype) -> None:
    """The life of a worker."""
    configure_process(threads, dtype)
    federations: dict[int, WorkerState] = {}
    with suppress(EOFError, OSError):  # whoever gave the orders is gone, or wants no answer any more
        while True:
            connection.send(run_task(connection.recv(), federations))
    os._exit(0)


def configure_process(threads: int, dtype: torch.dtype) -> None:
    """Makes this process one for work: its threads, its default type, and freed memory stays for the next client.

    To take memory from the system anew for each client costs a fifth of the time of a network of a million weights.
    """
    torch.set_num_threads(threads)
    torch.set_default_dtype(dtype)
    with suppress(AttributeError, OSError):  # of the GNU C library alone
        setting = ctypes.CDLL(None).mallopt
        setting(-3, 1 << 25)  # M_MMAP_THRESHOLD: tensors of less than 32 MiB, its largest value, lie in the heap
        setting(-1, 1 << 30)  # M_TRIM_THRESHOLD: of which 1 GiB may be free


def run_task(task: Task, federations: dict[int, WorkerState], shared: bool = True) -> Answer:
    """Returns the answer to an order.

    Args:
        order: The order.
        federations: States of federations that the worker holds, by their numbers; brought up to date here.
        shared: As `packed` takes it.
    """
    for number in task.gone:
        federations.pop(number, None)
    held = federations.setdefault(task.federation, WorkerState())
    try:
        again = held.prepare(task)
        content, kept = held.answer(task.part)
        return Answer(tuple(pack_message("what came of the work", part, shared) for part in content), kept, again)
    except Exception as error:
        return Answer(_failure(error))


def _failure(error: Exception) -> Failure:
    trace = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = FederationError(f"{type(error).__name__}: {error}")
    return Failure(error.with_traceback(None), trace)


def _read(message: Packed) -> Any:
    """A message from whoever gives the orders; what it is made of must be here, too."""
    try:
        return unpack(message)
    except (ImportError, AttributeError) as error:
        raise FederationError(
            f"a worker cannot import what it is to do ({error}); put it into a module that it can import"
        ) from error


class WorkerState:
    """State of a federation that a worker holds from one order to the next."""

    def __init__(self) -> None:
        self.clients: Any = None
        self.lasting: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})
        self.exchange: Exchange | None = None
        self.kept: dict[int, Mapping[str, Any]] = {}

    def prepare(self, task: Task) -> tuple[int, ...]:
        """Takes what is new, and does again what clients did in this round elsewhere; returns their numbers."""
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
        """Replies alone, or their sum and acknowledgements; and who kept something for the round, which stays here."""
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
