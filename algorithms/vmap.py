"""All clients of a cohort at once, by `torch.vmap`: for small dense objectives of equal shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from algorithms.federation import Client, FederationError, Memory, Reply, Work


class StackableClient(Client, Protocol):
    """A client that is its tensors: its class, given others, is another client."""

    def tensors(self) -> Mapping[str, Tensor]:
        """Its data."""
        ...

    def with_tensors(self, tensors: Mapping[str, Tensor]) -> Client:
        """The same with other data."""
        ...


class Vmap:
    """The work of all clients in one batched evaluation.

    Clients of unequal data must have been brought to equal shapes, by sufficient statistics or by samples of weight
    zero. The work must not branch on values.
    """

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
        stackable = cast(Sequence[StackableClient], clients)
        own = [
            (dict(c.tensors()), m.round, m.personal, () if nothing else m.drawn)
            for c, m in zip(stackable, memories, strict=True)
        ]
        leaves, structures = zip(*(pytree.tree_flatten(item) for item in own), strict=True)
        if any(structure != structures[0] for structure in structures):
            raise FederationError("the clients hold different things; use the sequential executor")
        shapes = [[leaf.shape if isinstance(leaf, Tensor) else None for leaf in one] for one in leaves]
        if any(shape != shapes[0] for shape in shapes) or any(None in shape for shape in shapes):
            raise FederationError(
                "the clients' tensors differ in shape: pad their data, or use the sequential executor"
            )
        stacked = [torch.stack(column) for column in zip(*leaves, strict=True)]
        form: list[Any] = []

        def one(*given: Tensor) -> list[Tensor]:
            data, kept, personal, drawn = pytree.tree_unflatten(list(given), structures[0])
            reply = work(first.with_tensors(data), Memory(kept, personal, shared, None if nothing else drawn), **sent)
            answer, structure = pytree.tree_flatten((reply.upload, dict(reply.keep), dict(reply.personal)))
            form[:] = [structure]
            return answer

        answers = torch.vmap(one)(*stacked)
        replies = []
        for number in range(len(clients)):
            upload, keep, personal = pytree.tree_unflatten([answer[number] for answer in answers], form[0])
            replies.append(Reply(upload, keep, personal))
        return replies
