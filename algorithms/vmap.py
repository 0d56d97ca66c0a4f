"""All clients of a cohort at once, by `torch.vmap`: for small dense objectives of equal shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, cast

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from algorithms.federation import Client, FederationError, Memory, Reply, Work

Columns = tuple[list[Tensor], list[int | None], Any]
"""One tensor for all clients, stacked along 0 or common to them (None), in the order of a structure."""


class StackableClient(Client, Protocol):
    """A client that is its tensors: its class, given others, is another client."""

    def tensors(self) -> Mapping[str, Tensor]:
        """Its data."""
        ...

    def with_tensors(self, tensors: Mapping[str, Tensor]) -> Client:
        """The same with other data."""
        ...


class Vmap:
    """The work of all clients in one batched evaluation, which knows no client's number.

    Clients of unequal data must have been brought to equal shapes, by sufficient statistics or by samples of weight
    zero. The work must not branch on values. The data of the last cohort stay stacked from trip to trip, and what all
    its clients hold in common is there once.
    """

    def __init__(self) -> None:
        self._last: tuple[tuple[Client, ...], Columns] | None = None

    def run(
        self, work: Work, clients: Sequence[Client], memories: Sequence[Memory], sent: Mapping[str, Any]
    ) -> list[Reply]:
        """One reply for each client, in their order.

        Raises:
            FederationError: Clients that cannot be stacked.
        """
        first: Any = clients[0]
        if not hasattr(first, "with_tensors"):
            raise FederationError(f"{type(first).__name__} cannot be stacked; use the sequential executor")
        shared = memories[0].shared
        nothing = memories[0].drawn is None
        data, data_places, data_form = self._data(clients)
        held, held_places, held_form = _columns([(m.round, m.personal, () if nothing else m.drawn) for m in memories])
        if not any(place == 0 for place in data_places + held_places):  # all clients are one and the same
            return [work(first, replace(memories[0], number=None), **sent)] * len(clients)
        form: list[Any] = []

        def one(*given: Tensor) -> list[Tensor]:
            own = pytree.tree_unflatten(list(given[: len(data)]), data_form)
            kept, personal, drawn = pytree.tree_unflatten(list(given[len(data) :]), held_form)
            reply = work(first.with_tensors(own), Memory(kept, personal, shared, None if nothing else drawn), **sent)
            answer, structure = pytree.tree_flatten((reply.upload, dict(reply.keep), dict(reply.personal)))
            form[:] = [structure]
            return answer

        try:
            answers = torch.vmap(one, in_dims=tuple(data_places + held_places))(*data, *held)
        except RuntimeError as error:
            if "vmap" not in str(error):
                raise
            raise FederationError("its steps depend on each client's values; use the sequential executor") from error
        replies = []
        for number in range(len(clients)):
            upload, keep, personal = pytree.tree_unflatten([answer[number] for answer in answers], form[0])
            replies.append(Reply(upload, keep, personal))
        return replies

    def _data(self, clients: Sequence[Client]) -> Columns:
        last = self._last
        if (
            last is None
            or len(last[0]) != len(clients)
            or any(a is not b for a, b in zip(last[0], clients, strict=True))
        ):
            columns = _columns([dict(client.tensors()) for client in cast(Sequence[StackableClient], clients)])
            self._last = last = (tuple(clients), columns)
        return last[1]


def _columns(items: Sequence[Any]) -> Columns:
    leaves, structures = zip(*(pytree.tree_flatten(item) for item in items), strict=True)
    if any(structure != structures[0] for structure in structures):
        raise FederationError("the clients hold different things; use the sequential executor")
    shapes = [[leaf.shape if isinstance(leaf, Tensor) else None for leaf in one] for one in leaves]
    if any(shape != shapes[0] for shape in shapes) or any(None in shape for shape in shapes):
        raise FederationError("the clients' tensors differ in shape: pad their data, or use the sequential executor")
    columns = [
        (column[0], None) if _common(column) else (torch.stack(column), 0) for column in zip(*leaves, strict=True)
    ]
    return [column for column, _ in columns], [place for _, place in columns], structures[0]


def _common(column: Sequence[Tensor]) -> bool:
    """The same tensor for every client, as what was told to all and is kept by each."""
    first = column[0]
    return all(leaf.data_ptr() == first.data_ptr() and leaf.stride() == first.stride() for leaf in column)
