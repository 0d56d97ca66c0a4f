"""Expected forms of uploads: the server does the work itself, for a client of zero loss and with one step.

Structure, shapes and types of an upload follow from the request, not from data. If such a client cannot do the work,
because it needs more than a loss, silos are compared with one another.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from algorithms.descent import Descent
from algorithms.exchange import Exchange, Memory
from algorithms.partial_sums import Form, flatten


@dataclass(frozen=True)
class ZeroLossClient:
    """A client without data, whose loss is 0 at all weights."""

    takes_values: bool = False
    statistics: frozenset[str] = frozenset()
    samples: float = 1.0

    def loss(self, w: Mapping[str, Any], batch: Any = None) -> Tensor:
        """Return 0 as a function of all weights."""
        leaves = [leaf for leaf in pytree.tree_leaves(dict(w)) if isinstance(leaf, Tensor) and leaf.is_floating_point()]
        return torch.stack([(leaf * 0.0).sum().double() for leaf in leaves]).sum()

    def loss_and_statistics(self, w: Mapping[str, Any], batch: Any = None) -> tuple[Tensor, Mapping[str, Tensor]]:
        """Return the loss and unchanged statistics."""
        return self.loss(w), {name: w[name] for name in self.statistics if name in w}


class ExpectedUpload(NamedTuple):
    """Expected form of an upload.

    Attributes:
        upload: Form of the upload as it travels.
        made: Form that the server derives from it.
        size: Bytes of its tensors.
        keep: Names of the values that the client keeps until the round ends.
        personal: Names of the values that the client keeps permanently.
    """

    upload: Form
    made: Form
    size: int
    keep: frozenset[str]
    personal: frozenset[str]


class Rehearsal:
    """Computes the expected forms of a round's uploads, and remembers the state that work keeps for the round."""

    def __init__(self, client: ZeroLossClient) -> None:
        """Store the client.

        Args:
            client: Client that replaces the silos' clients.
        """
        self._client, self._round = client, -1
        self._kept: dict[int, dict[str, Any]] = {}

    def expect(self, trip: Exchange) -> Mapping[int, ExpectedUpload]:
        """Return the expected upload of each client of a cohort; empty if the work needs data."""
        if trip.round != self._round:
            self._round, self._kept = trip.round, {}
        found: dict[int, ExpectedUpload] = {}
        done: dict[Any, tuple[ExpectedUpload, dict[str, Any]]] = {}
        with suppress(Exception):  # work may ask a client for anything
            for number in trip.cohort:
                own = {name: values[number] for name, values in trip.each.items()}
                kept = self._kept.get(number, {})
                key = _key(own), id(kept) if kept else None
                if key not in done:
                    done[key] = self._one(trip, number, kept)
                found[number], self._kept[number] = done[key]
        return found if len(found) == len(trip.cohort) else {}

    def _one(self, trip: Exchange, number: int, kept: dict[str, Any]) -> tuple[ExpectedUpload, dict[str, Any]]:
        memory = Memory(number, kept, trip.equipped, trip.shared, None, trip.round)
        sent = {name: _of_one_step(value) for name, value in trip.arguments_for(number).items()}
        reply = trip.work(self._client, memory, **sent)
        leaves, upload = flatten(reply.upload, number)
        made = upload if trip.then is None else flatten(trip.then(reply.upload), number)[1]
        size = sum(leaf.numel() * leaf.element_size() for leaf in leaves)
        expected = ExpectedUpload(upload, made, size, frozenset(reply.keep), frozenset(reply.personal))
        return expected, {**kept, **reply.keep}


def describe_misfit(form: Form, expected: Form, exactly: bool) -> str | None:
    """Describe how the form of an upload differs from the expected one; None if it fits.

    Args:
        form: Form of the upload.
        expected: Form as it should be.
        exactly: Whether sizes must be equal; else tensors may have smaller sides, as those of clients of lower rank do.
    """
    if form.structure != expected.structure:
        return "an upload of another structure"
    for (shape, dtype), (right, kind) in zip(form.leaves, expected.leaves, strict=True):
        fits = shape == right if exactly else len(shape) == len(right) and all(map(int.__le__, shape, right))
        if not fits or dtype != kind:
            return f"a tensor of shape {tuple(shape)} and {dtype}, not {tuple(right)} and {kind}"
    return None


def _of_one_step(value: Any) -> Any:
    """Return settings with a single step on all samples, which does not change shapes."""
    if isinstance(value, Descent):
        return replace(value, steps=1, epochs=None, batch=None)
    if is_dataclass(value) and not isinstance(value, type):
        inner = {entry.name: getattr(value, entry.name) for entry in fields(value) if entry.init}
        fewer = {name: made for name, part in inner.items() if (made := _of_one_step(part)) is not part}
        return replace(value, **fewer) if fewer else value
    return value


def _key(value: Any) -> Any:
    leaves, structure = pytree.tree_flatten(value)
    parts = [(leaf.shape, leaf.dtype) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    return tuple(parts), repr(structure)
