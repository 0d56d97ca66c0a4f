"""Sums of a cohort's uploads, formed as they arrive and bit-identical for every executor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from algorithms.exchange import Acknowledgement, Exchange, FederationError, Reply
from algorithms.multiples import add_multiple_
from algorithms.tree import narrow, wide

PARTS = 16
"""Largest number of partial sums of a cohort; small cohorts have one for each client."""


def part_size(clients: int) -> int:
    """Return the number of clients in a partial sum; it depends only on the size of the cohort."""
    return max(1, -(-clients // PARTS))


class Form(NamedTuple):
    """The form of a message without its entries: its structure, and the shape and type of each tensor."""

    structure: Any
    leaves: tuple[tuple[torch.Size, torch.dtype], ...]


@dataclass(frozen=True, eq=False)
class Sum:
    """A sum of uploads; half precision is summed in single precision.

    Attributes:
        total: One tensor for each tensor of the form.
        form: Form of the uploads.
    """

    total: list[Tensor]
    form: Form

    def __reduce__(self) -> tuple[Any, ...]:
        """Serialise the sum as a message, because a bare tree structure cannot be pickled reliably."""
        return sum_of, (self.unrounded, tuple(dtype for _, dtype in self.form.leaves))

    @property
    def unrounded(self) -> Any:
        """The sum as a message, before rounding to the types of the uploads."""
        return pytree.tree_unflatten(self.total, self.form.structure)

    def plus(self, other: Sum, number: int) -> Sum:
        """Return the sum of both; the tensors of this one are overwritten.

        Args:
            other: Sum to add.
            number: First client of the other sum, for errors.

        Raises:
            FederationError: The other sum has another form.
        """
        require_same(other.form, self.form, number)
        return Sum(add_up(self.total, other.total), self.form)

    def plus_share(self, leaves: list[Tensor], form: Form, share: float, number: int) -> Sum:
        """Return the sum with a share of an upload, rounded before the addition; this sum's tensors are overwritten.

        Args:
            leaves: Tensors of the upload.
            form: Its form.
            share: The share.
            number: Number of the client, for errors.

        Raises:
            FederationError: The upload has another form.
        """
        require_same(form, self.form, number)
        if leaves:
            add_multiple_(self.total, [wide(leaf) for leaf in leaves], share)
        return Sum(self.total, self.form)

    def message(self) -> Any:
        """Return the sum as a message, in the types of the uploads."""
        kinds = [dtype for _, dtype in self.form.leaves]
        return pytree.tree_unflatten(list(map(narrow, self.total, kinds)), self.form.structure)


def sum_of(message: Any, kinds: Sequence[torch.dtype]) -> Sum:
    """Return the sum with an unrounded message, of uploads of the given types."""
    total, structure = pytree.tree_flatten(message)
    return Sum(total, Form(structure, tuple((leaf.shape, kind) for leaf, kind in zip(total, kinds, strict=True))))


def fold(exchange: Exchange, replies: Iterable[Reply], shares: Sequence[float]) -> tuple[Any, list[Acknowledgement]]:
    r"""Return $\sum_k s_k\,\mathrm{then}(u_k)$ in the order of the cohort, holding one upload at a time.

    The sum is formed from partial sums of fixed groups of clients, so several processes get the same bits.

    Args:
        exchange: The exchange.
        replies: Replies in the order of the cohort.
        shares: Shares $s_k$ of the clients.

    Raises:
        FederationError: The uploads differ in structure or shape, or are not tensors.
    """
    added, acknowledgements = fold_parts(exchange, replies, shares, part_size(len(exchange.cohort)))
    return added.message(), acknowledgements


def fold_parts(
    exchange: Exchange, replies: Iterable[Reply], shares: Sequence[float], size: int
) -> tuple[Sum, list[Acknowledgement]]:
    """Return the sum of `fold`, from partial sums of `size` clients, before rounding to the types of the uploads."""
    folding = Folding(exchange, size)
    for number, share, reply in zip(exchange.cohort, shares, replies, strict=True):
        folding.add(number, share, reply)
    assert folding.total is not None
    return folding.total, folding.acknowledgements


class Folding:
    """The state of `fold_parts` between two replies.

    Attributes:
        total: Sum of the complete groups of clients.
        partial: Sum of the current group.
        acknowledgements: Acknowledgements of the replies so far.
    """

    def __init__(self, exchange: Exchange, size: int) -> None:
        self._exchange, self._size = exchange, size
        self.total: Sum | None = None
        self.partial: Sum | None = None
        self.acknowledgements: list[Acknowledgement] = []

    def add(self, number: int, share: float, reply: Reply) -> None:
        """Add the reply of the next client of the cohort.

        Raises:
            FederationError: As in `fold`.
        """
        then, size = self._exchange.then, len(self._exchange.cohort)
        result = reply.upload if then is None else then(reply.upload)
        self.acknowledgements.append(Acknowledgement.of(number, reply, () if then is None else result))
        leaves, form = flatten(result, number)
        partial = self.partial
        partial = (
            Sum(_times(leaves, share), form) if partial is None else partial.plus_share(leaves, form, share, number)
        )
        if len(self.acknowledgements) % self._size == 0 or len(self.acknowledgements) == size:
            self.total, partial = partial if self.total is None else self.total.plus(partial, number), None
        self.partial = partial


def flatten(message: Any, number: int) -> tuple[list[Tensor], Form]:
    """Return the tensors of a client's upload, and its form.

    Raises:
        FederationError: The upload contains something other than tensors.
    """
    leaves, structure = pytree.tree_flatten(message)
    odd = [leaf for leaf in leaves if not isinstance(leaf, Tensor)]
    if odd:
        raise FederationError(
            f"client {number} sent a {type(odd[0]).__name__}; a mean needs tensors, in trees, tuples or mappings"
        )
    return leaves, Form(structure, tuple((leaf.shape, leaf.dtype) for leaf in leaves))


def require_same(form: Form, other: Form, number: int) -> None:
    """Check that the upload of a client has the form of the uploads before it.

    Raises:
        FederationError: It has another form.
    """
    if form != other:
        raise FederationError(
            f"client {number} sent a different structure from the clients before it; a mean needs one structure, "
            f"with tensors of the same shapes and types"
        )


def add_up(total: list[Tensor], part: list[Tensor]) -> list[Tensor]:
    """Add `part` to `total` in place, which nothing else may refer to."""
    if total:
        torch._foreach_add_(total, part)
    return total


def _times(leaves: list[Tensor], share: float) -> list[Tensor]:
    return list(torch._foreach_mul([wide(leaf) for leaf in leaves], share)) if leaves else []
