"""All clients of a cohort at once, by `torch.vmap`: for small dense objectives of equal shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from algorithms.federation import Acknowledgement, Client, Exchange, FederationError, Memory, Reply
from algorithms.partial_sums import fold

_TENSOR = object()
"""Stands in a structure where a tensor does."""


class StackableClient(Client, Protocol):
    """A client that is its tensors: its class, given others, is another client."""

    def tensors(self) -> Mapping[str, Tensor]:
        """Its data."""
        ...

    def with_tensors(self, tensors: Mapping[str, Tensor]) -> Client:
        """The same with other data."""
        ...


@dataclass(frozen=True)
class Columns:
    """Values of several clients, of one structure: one tensor for all of them in place of each one's.

    Attributes:
        tensors: Tensors stacked along 0, or common to all.
        places: 0 (stacked) or none (common), for each tensor.
        leaves: Leaves of the first client, with a mark where a tensor stands.
        form: The structure.
    """

    tensors: list[Tensor]
    places: list[int | None]
    leaves: list[Any]
    form: Any

    def rebuild(self, given: Sequence[Tensor]) -> Any:
        """Values of one client, made of its tensors."""
        own = iter(given)
        return pytree.tree_unflatten([next(own) if leaf is _TENSOR else leaf for leaf in self.leaves], self.form)


class Vmap:
    """The work of all clients in one batched evaluation, in which a client's number is a tensor.

    Clients of unequal data must have been brought to equal shapes, by sufficient statistics or by samples of weight
    zero; those that hold or are sent different things (ranks, say) form groups of their own. The work must not branch
    on values. The data of the last cohorts stay stacked from exchange to exchange, and what all clients hold in common is there
    once.
    """

    def __init__(self) -> None:
        self._last: dict[tuple[int, ...], tuple[tuple[Client, ...], Columns]] = {}

    def replies(self, exchange: Exchange) -> Iterator[Reply]:
        """One reply for each client, in their order.

        Raises:
            FederationError: Clients that cannot be stacked.
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

    def sum(self, exchange: Exchange, shares: Sequence[float]) -> tuple[Any, list[Acknowledgement]]:
        """The sum of share times upload."""
        return fold(exchange, self.replies(exchange), shares)

    def broadcast(self, exchange: Exchange) -> None:
        """Nothing to do: all clients are here."""

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
            raise FederationError("its steps depend on each client's values; use the sequential executor") from error
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
            self._last[key] = (tuple(clients), _columns(items))  # the clients too, so that no other has their ids
        return self._last[key][1]


def _groups(items: Sequence[Any]) -> list[list[int]]:
    """Places of items that have one structure, tensors of one shape and type, and equal other values."""
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
    """The same tensor for every client, as what was told to all and is kept by each."""
    first = column[0]
    return all(leaf.data_ptr() == first.data_ptr() and leaf.stride() == first.stride() for leaf in column)
