"""Uploads of a cohort added up as they arrive, with the same bits wherever that is done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from algorithms.exchange import Acknowledgement, Exchange, FederationError, Reply
from algorithms.tree import narrow, wide

PARTS = 16
"""At most so many sums of a cohort are added up: of one client each in small cohorts."""


def part_size(clients: int) -> int:
    """Clients whose uploads make one partial sum; it depends on the cohort alone, and not on who adds up."""
    return max(1, -(-clients // PARTS))


class Form(NamedTuple):
    """Form of a message without its numbers: its structure, and shape and type of each tensor."""

    structure: Any
    leaves: tuple[tuple[torch.Size, torch.dtype], ...]


@dataclass(frozen=True, eq=False)
class Sum:
    """Uploads added up, in single precision where they are of half.

    Attributes:
        total: A tensor for each of the form's.
        form: Form of the uploads.
    """

    total: list[Tensor]
    form: Form

    def __reduce__(self) -> tuple[Any, ...]:
        """As a message: a structure alone does not travel well."""
        message = pytree.tree_unflatten(self.total, self.form.structure)
        return _sum_of, (message, tuple(dtype for _, dtype in self.form.leaves))

    def plus(self, other: Sum, number: int) -> Sum:
        """The sum of both, in place of this one.

        Raises:
            FederationError: The other, which begins with this client, is of other things.
        """
        require_same(other.form, self.form, number)
        return Sum(add_up(self.total, other.total), self.form)

    def message(self) -> Any:
        """The sum as a message, in the types of the uploads."""
        kinds = [dtype for _, dtype in self.form.leaves]
        return pytree.tree_unflatten(list(map(narrow, self.total, kinds)), self.form.structure)


def _sum_of(message: Any, kinds: Sequence[torch.dtype]) -> Sum:
    total, structure = pytree.tree_flatten(message)
    return Sum(total, Form(structure, tuple((leaf.shape, kind) for leaf, kind in zip(total, kinds, strict=True))))


def fold(exchange: Exchange, replies: Iterable[Reply], shares: Sequence[float]) -> tuple[Any, list[Acknowledgement]]:
    """Adds share times upload up as replies arrive, in the order of the cohort; one upload is held at a time.

    Partial sums of some clients each are added, so that several processes come to the same bits.

    Args:
        exchange: The exchange.
        replies: Replies in the order of the cohort.
        shares: Shares of the clients.

    Raises:
        FederationError: Uploads of several structures or shapes, or of something else than tensors.
    """
    added, acknowledgements = fold_parts(exchange, replies, shares, part_size(len(exchange.cohort)))
    return added.message(), acknowledgements


def fold_parts(
    exchange: Exchange, replies: Iterable[Reply], shares: Sequence[float], size: int
) -> tuple[Sum, list[Acknowledgement]]:
    """`fold` in parts of some size, whose sum is not yet rounded to the types of the uploads."""
    total: Sum | None = None
    partial: Sum | None = None
    acknowledgements: list[Acknowledgement] = []
    for number, share, reply in zip(exchange.cohort, shares, replies, strict=True):
        made = reply.upload if exchange.then is None else exchange.then(reply.upload)
        acknowledgements.append(Acknowledgement.of(number, reply, () if exchange.then is None else made))
        leaves, form = flatten(made, number)
        product = Sum(_times(leaves, share), form)
        partial = product if partial is None else partial.plus(product, number)
        if len(acknowledgements) % size == 0 or len(acknowledgements) == len(exchange.cohort):
            total, partial = partial if total is None else total.plus(partial, number), None
    assert total is not None
    return total, acknowledgements


def flatten(message: Any, number: int) -> tuple[list[Tensor], Form]:
    """The tensors of what a client sent, of which a mean is taken, and its form.

    Raises:
        FederationError: There is something else than tensors.
    """
    leaves, structure = pytree.tree_flatten(message)
    odd = [leaf for leaf in leaves if not isinstance(leaf, Tensor)]
    if odd:
        raise FederationError(
            f"client {number} sent a {type(odd[0]).__name__}; a mean is of tensors, in trees, tuples and mappings"
        )
    return leaves, Form(structure, tuple((leaf.shape, leaf.dtype) for leaf in leaves))


def require_same(form: Form, other: Form, number: int) -> None:
    """Checks that a client sent what those before it did.

    Raises:
        FederationError: It did not.
    """
    if form != other:
        raise FederationError(
            f"client {number} sent other things than those before it; a mean needs one structure, and tensors of the "
            "same shapes and types"
        )


def add_up(total: list[Tensor], part: list[Tensor]) -> list[Tensor]:
    """The sums, in place: the total is nobody else's."""
    if total:
        torch._foreach_add_(total, part)
    return total


def _times(leaves: list[Tensor], share: float) -> list[Tensor]:
    return list(torch._foreach_mul([wide(leaf) for leaf in leaves], share)) if leaves else []
