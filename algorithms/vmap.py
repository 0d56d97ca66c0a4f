"""The executor that evaluates all clients at once by `torch.vmap`, for small dense objectives of equal shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from algorithms.federation import Client, Exchange, Executor, FederationError, Memory, Reply

_TENSOR = object()
"""Marks the positions of tensors in a structure."""


class StackableClient(Client, Protocol):
    """A client that is determined by its tensors: replacing them gives another client."""

    def tensors(self) -> Mapping[str, Tensor]:
        """Return the tensors of its data."""
        ...

    def with_tensors(self, tensors: Mapping[str, Tensor]) -> Client:
        """Return the client with other tensors."""
        ...


@dataclass(frozen=True)
class Columns:
    """The stacked values of several clients of one structure.

    Attributes:
        tensors: Tensors of all clients, stacked along dimension 0 or common to all.
        places: For each tensor, 0 if it is stacked and None if it is common, as `in_dims` of `torch.vmap`.
        leaves: Leaves of the first client, with a mark for each tensor.
        form: The structure.
    """

    tensors: list[Tensor]
    places: list[int | None]
    leaves: list[Any]
    form: Any

    def rebuild(self, given: Sequence[Tensor]) -> Any:
        """Return the values of one client from its tensors."""
        own = iter(given)
        return pytree.tree_unflatten([next(own) if leaf is _TENSOR else leaf for leaf in self.leaves], self.form)


class Vmap(Executor):
    """Runs the work of all clients in one batched evaluation, in which a client's number is a tensor.

    Clients of unequal data must be brought to equal shapes first, by sufficient statistics or by samples of weight
    zero. Clients whose memory or arguments differ in structure, such as in rank, form separate groups. The work must
    not branch on values. The stacked data of the last cohorts are kept between exchanges, and values that all clients
    share are stored once.
    """

    def __init__(self) -> None:
        self._last: dict[tuple[int, ...], tuple[tuple[Client, ...], Columns]] = {}

    def replies(self, exchange: Exchange) -> Iterator[Reply]:
        """Return one reply for each client, in order.

        Raises:
            FederationError: The clients cannot be stacked.
        """
        assert exchange.clients is not None
        clients = [exchange.clients[number] for number in exchange.cohort]
        if not hasattr(clients[0], "with_tensors"):
            raise FederationError(f"{type(clients[0]).__name__} cannot be stacked; use the sequential executor")
        memories = [exchange.memory(number, client) for number, client in zip(exchange.cohort, clients, strict=True)]
        own = [{name: values[number] for name, values in exchange.each.items()} for number in exchange.cohort]
        held = [(m.kept, m.personal, m.drawn, each) for m, each in zip(memories, own, strict=True)]
        found: dict[int, Reply] = {}
        for places in _groups(held):
            columns = _columns([held[place] for place in places])
            numbers = torch.tensor([exchange.cohort[place] for place in places])
            found.update(
                zip(
                    places, self._answers(exchange, [clients[place] for place in places], numbers, columns), strict=True
                )
            )
        return iter([found[place] for place in range(len(clients))])

    def _answers(self, exchange: Exchange, clients: Sequence[Client], numbers: Tensor, held: Columns) -> list[Reply]:
        data, first = self._data(clients), cast(StackableClient, clients[0])
        forms: list[tuple[Any, list[Any]]] = []

        def one(number: Tensor, *given: Tensor) -> list[Tensor]:
            client = first.with_tensors(data.rebuild(given[: len(data.tensors)]))
            kept, personal, drawn, each = held.rebuild(given[len(data.tensors) :])
            reply = exchange.work(
                client, Memory(number, kept, personal, exchange.shared, drawn, exchange.round), **exchange.sent, **each
            )
            leaves, form = pytree.tree_flatten((reply.upload, dict(reply.keep), dict(reply.personal)))
            forms[:] = [(form, [_TENSOR if isinstance(leaf, Tensor) else leaf for leaf in leaves])]
            return [leaf for leaf in leaves if isinstance(leaf, Tensor)]

        places = (0, *data.places, *held.places)
        try:
            answers = torch.vmap(one, in_dims=places, randomness="same")(numbers, *data.tensors, *held.tensors)
        except RuntimeError as error:
            if "vmap" not in str(error):
                raise
            raise FederationError(
                "its control flow depends on the client's values; use the sequential executor"
            ) from error
        (form, leaves) = forms[0]
        whole = Columns([], [], leaves, form)
        return [Reply(*whole.rebuild([answer[place] for answer in answers])) for place in range(len(clients))]

    def _data(self, clients: Sequence[Client]) -> Columns:
        key = tuple(map(id, clients))
        if key not in self._last:
            items = [dict(client.tensors()) for client in cast(Sequence[StackableClient], clients)]
            if len(_groups(items)) > 1:
                raise FederationError(
                    "the clients' tensors differ in shape: pad their data, or use the sequential executor"
                )
            if len(self._last) >= 8:
                self._last.clear()
            self._last[key] = (tuple(clients), _columns(items))  # holding the clients keeps their ids from being reused
        return self._last[key][1]


def _groups(items: Sequence[Any]) -> list[list[int]]:
    """Group the positions of items that agree in structure, shapes and types of tensors, and all other values."""
    groups: list[tuple[Any, list[int]]] = []
    for place, item in enumerate(items):
        leaves, form = pytree.tree_flatten(item)
        kind = (form, [(leaf.shape, leaf.dtype) if isinstance(leaf, Tensor) else leaf for leaf in leaves])
        same = next((places for known, places in groups if known == kind), None)
        if same is None:
            groups.append((kind, [place]))
        else:
            same.append(place)
    return [places for _, places in groups]


def _columns(items: Sequence[Any]) -> Columns:
    leaves, forms = zip(*(pytree.tree_flatten(item) for item in items), strict=True)
    stand = [_TENSOR if isinstance(leaf, Tensor) else leaf for leaf in leaves[0]]
    columns = [
        (column[0], None) if _common(column) else (torch.stack(column), 0)
        for column in zip(*leaves, strict=True)
        if isinstance(column[0], Tensor)
    ]
    return Columns([column for column, _ in columns], [place for _, place in columns], stand, forms[0])


def _common(column: Sequence[Tensor]) -> bool:
    """Return whether all clients have the same tensor, such as a broadcast value that each of them keeps."""
    first = column[0]
    return all(leaf.data_ptr() == first.data_ptr() and leaf.stride() == first.stride() for leaf in column)
