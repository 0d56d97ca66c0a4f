"""What a worker of `algorithms.executors.processes` does: it takes orders, and holds what is kept for the round."""

from __future__ import annotations

import os
import pickle
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

import torch

from algorithms.executors.sharing import Packed, pack, unpack
from algorithms.federation import FederationError
from algorithms.partial_sums import added_up
from algorithms.sequential import Sequential
from algorithms.trip import Reply, Trip


@dataclass(frozen=True)
class Order:
    """What a worker is told: what all parts of a trip have in common, and one part.

    Attributes:
        clients: Of the federation, the first time.
        lasting: What every client was told or equipped with, where that is new to the worker.
        trip: Without clients and memories, the first time.
        federation: Whose trip it is.
        gone: Federations that are no more: all that is held of them is forgotten.
        fresh: A new round: what clients kept is forgotten.
        part: Cohort, shares (none: replies are wanted), and what is sent to and known by these clients alone.
    """

    clients: Packed | None
    lasting: Packed | None
    trip: Packed | None
    federation: int
    gone: Sequence[int]
    fresh: bool
    part: Packed


def packed(what: str, message: Any) -> Packed:
    """A message as it travels.

    Raises:
        FederationError: It cannot be sent to another process.
    """
    try:
        return pack(message)
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


def serve(connection: Connection, threads: int, dtype: torch.dtype) -> None:
    """The life of a worker."""
    torch.set_num_threads(threads)
    torch.set_default_dtype(dtype)
    federations: dict[int, Held] = {}
    with suppress(EOFError, OSError):  # whoever gave the orders is gone, or wants no answer any more
        while True:
            _answer(connection, federations)
    os._exit(0)


def _answer(connection: Connection, federations: dict[int, Held]) -> None:
    """Waits for one order, and sends what comes of it."""
    order = connection.recv()
    for number in order.gone:
        federations.pop(number, None)
    held = federations.setdefault(order.federation, Held())
    try:
        answer: Any = tuple(packed("what came of the work", part) for part in held.answer(order))
    except Exception as error:
        answer = _failure(error)
    connection.send((answer, tuple(held.kept)))


def _failure(error: Exception) -> Failure:
    trace = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = FederationError(f"{type(error).__name__}: {error}")
    return Failure(error.with_traceback(None), trace)


class Held:
    """What a worker holds of a federation from one order to the next."""

    def __init__(self) -> None:
        self.clients: Any = None
        self.lasting: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})
        self.trip: Trip | None = None
        self.kept: dict[int, Mapping[str, Any]] = {}

    def answer(self, order: Order) -> tuple[Any, ...]:
        """Replies alone, or their sum and receipts; what is kept for the round stays here."""
        self.clients = self.clients if order.clients is None else unpack(order.clients)
        self.lasting = self.lasting if order.lasting is None else unpack(order.lasting)
        self.trip = self.trip if order.trip is None else unpack(order.trip)
        if order.fresh:
            self.kept = {}
        cohort, shares, each, personal = unpack(order.part)
        assert self.trip is not None
        shared, equipped = self.lasting
        trip = replace(
            self.trip, cohort=cohort, clients=self.clients, each=each, kept=self.kept, personal=personal,
            shared=shared, equipped=equipped,
        )  # fmt: skip
        replies = self._keeping(trip)
        return (list(replies),) if shares is None else added_up(trip, replies, shares, len(cohort))

    def _keeping(self, trip: Trip) -> Iterator[Reply]:
        for number, reply in zip(trip.cohort, Sequential().replies(trip), strict=True):
            if reply.keep:
                self.kept[number] = {**self.kept.get(number, {}), **reply.keep}
            yield replace(reply, keep={})
