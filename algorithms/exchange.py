"""One exchange between the server and a cohort: the work, what each client knows, and the replies.

An executor (`algorithms.executor`) does the work of an exchange. It either returns the replies one by one or sums the
uploads as they arrive (`algorithms.partial_sums.fold`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import isfinite
from numbers import Integral
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from algorithms.tree import tensors

Cohort = Sequence[int]
"""Numbers of clients, increasing."""


class FederationError(ValueError):
    """A federation or a round that cannot continue; the message names the round, the client and the cause."""


class InterruptedWorkError(FederationError):
    """A round that lost a worker or a client; the same round may succeed if it is repeated."""


def require_whole(least: int, /, **values: Any) -> None:
    """Check that all values are whole numbers of at least `least`.

    Raises:
        FederationError: A value is not; the message names the first one.
    """
    for name, value in values.items():
        if not is_whole(value) or value < least:
            raise FederationError(f"{name} must be a whole number of at least {least}, got {value!r}")


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer of Python or numpy; booleans do not count."""
    return isinstance(value, Integral) and not isinstance(value, bool)


class Client(Protocol):
    """A client: a closed-form objective, or a network with its data."""

    @property
    def samples(self) -> float:
        """Number of samples."""
        ...

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """Return the loss at weights `w`, a differentiable scalar; default: over all samples."""
        ...


@runtime_checkable
class Clients(Protocol):
    """A lazy sequence of clients: each client is built on access, but the sizes of their data are known."""

    @property
    def sizes(self) -> Sequence[float]:
        """Size of each client's data."""
        ...

    def __len__(self) -> int:
        """Return the number of clients."""
        ...

    def __getitem__(self, number: int, /) -> Client:
        """Return a client."""
        ...


@dataclass(frozen=True)
class Memory:
    """Knowledge of a client in addition to the arguments that it is sent.

    Attributes:
        number: Number of the client; a tensor if several clients are evaluated at once.
        kept: Values that it kept in earlier exchanges of this round.
        personal: Values that it keeps across rounds.
        shared: Values that every client knows.
        drawn: Random numbers for this work, drawn in advance from (seed, round, exchange, client).
        round: Number of the round, from 1.
        steps: Record of the local steps of this work, from which they are resumed; None: they are not recorded.
    """

    number: int | Tensor = 0
    kept: Mapping[str, Any] = field(default_factory=dict)
    personal: Mapping[str, Any] = field(default_factory=dict)
    shared: Mapping[str, Any] = field(default_factory=dict)
    drawn: Any = None
    round: int = 1
    steps: StepRecord | None = None


class StepRecord(Protocol):
    """The record of the local steps of one client's work, which may consist of several descents in turn."""

    def resume(self) -> Any:
        """Return what was recorded of the next descent: its last step, or its result; None if nothing was."""
        ...

    def record(self, state: Any) -> None:
        """Record the state after a step of the current descent."""
        ...

    def finish(self, result: Any) -> None:
        """Record the result of the current descent."""
        ...


@dataclass(frozen=True)
class Reply:
    """The outcome of one client's work.

    Attributes:
        upload: Tensors for the server: a tree, a tensor, or tuples and mappings of these.
        keep: Values that the client keeps until the round ends.
        personal: Values that the client keeps across rounds.
    """

    upload: Any = ()
    keep: Mapping[str, Any] = field(default_factory=dict)
    personal: Mapping[str, Any] = field(default_factory=dict)


Work = Callable[..., Reply]
Draw = Callable[[Client, np.random.Generator], Any]
Then = Callable[[Any], Any]
Each = Mapping[str, Mapping[int, Any]]


class Key:
    """Identity of a federation; an executor that serves several federations distinguishes their exchanges by it."""


@dataclass(frozen=True)
class Exchange:
    """The work of a cohort, and everything that its clients know.

    Attributes:
        round: Number of the round.
        number: Number of the exchange in its round, from 1.
        work: A module-level function of a client, its memory and what is sent.
        cohort: The clients' numbers.
        clients: All clients of the federation.
        sent: Arguments sent to the whole cohort.
        each: Arguments that differ between clients: by name, then by the client's number.
        then: Function that the server applies to each upload before it sums them.
        seed: Seed of the clients' random numbers.
        draw: Draws the random numbers that the work needs.
        kept: Values kept in earlier exchanges of the round, by client.
        personal: Values kept across rounds, by client; they take precedence over `equipped`.
        equipped: Personal values of every client whose own work has not changed them.
        shared: Values that every client knows.
        key: Identity of the federation.
    """

    round: int
    number: int
    work: Work
    cohort: Cohort
    clients: Clients | Sequence[Client] | None
    sent: Mapping[str, Any]
    each: Each
    then: Then | None
    seed: int
    draw: Draw | None
    kept: Mapping[int, Mapping[str, Any]]
    personal: Mapping[int, Mapping[str, Any]]
    equipped: Mapping[str, Any]
    shared: Mapping[str, Any]
    key: Key = field(default_factory=Key)

    @property
    def name(self) -> str:
        """Name of the work, as in the ledger and in errors."""
        return str(self.work.__name__.strip("_"))

    def memory(self, number: int, client: Client) -> Memory:
        """Return the memory of a client, and draw its random numbers."""
        drawn = None
        if self.draw is not None:
            drawn = self.draw(client, np.random.default_rng([self.seed, self.round, self.number, number]))
        personal = self.personal.get(number, {})
        if self.equipped:
            personal = {**self.equipped, **personal}
        return Memory(number, self.kept.get(number, {}), personal, self.shared, drawn, self.round)

    def arguments_for(self, number: int) -> Mapping[str, Any]:
        """Return the arguments of the work of one client."""
        if not self.each:
            return self.sent
        return {**self.sent, **{name: values[number] for name, values in self.each.items()}}

    def restrict(self, cohort: Cohort) -> Exchange:
        """Return the exchange with a part of its cohort: without the values of others, and without client objects."""
        return replace(
            self,
            cohort=cohort,
            clients=None,
            each={name: {number: values[number] for number in cohort} for name, values in self.each.items()},
            kept={number: self.kept[number] for number in cohort if number in self.kept},
            personal={number: self.personal[number] for number in cohort if number in self.personal},
        )

    def messages_down(self) -> tuple[list[Any], int]:
        """Return the messages to the clients and the number of copies of each, as the ledger records them."""
        if not any(tensors(list(values.values())) for values in self.each.values()):
            return [self.sent], len(self.cohort)
        return [self.arguments_for(number) for number in self.cohort], 1

    @contextmanager
    def naming_errors(self) -> Iterator[None]:
        """Prefix the message of an error with the round and the work."""
        try:
            yield
        except FederationError as error:
            kind = InterruptedWorkError if isinstance(error, InterruptedWorkError) else FederationError
            raise kind(f"round {self.round}, {self.name}: {error}") from error


@dataclass(frozen=True)
class Acknowledgement:
    """The rest of a reply after its upload has been summed.

    Attributes:
        number: Number of the client.
        entries: Number of entries that it sent.
        bytes: Size of these entries.
        finite: Whether the upload, the result of `then` and the personal values are all finite: a scalar on their
            device; None without floating-point values.
        keep: Values that the client keeps until the round ends; empty if a worker holds them.
        personal: Values that the client keeps across rounds.
    """

    number: int
    entries: int
    bytes: int
    finite: Tensor | None
    keep: Mapping[str, Any]
    personal: Mapping[str, Any]

    @staticmethod
    def of(number: int, reply: Reply, result: Any = ()) -> Acknowledgement:
        """Return the acknowledgement of a reply and of the result that the server computed from it."""
        sent = tensors(reply.upload)
        entries, size = sum(leaf.numel() for leaf in sent), sum(leaf.numel() * leaf.element_size() for leaf in sent)
        return Acknowledgement(
            number,
            entries,
            size,
            _finite([*sent, *tensors(result), *tensors(reply.personal)]),
            reply.keep,
            reply.personal,
        )


def first_that_is_not_finite(acknowledgements: Sequence[Acknowledgement]) -> int | None:
    """Return the number of the first client with a non-finite value, or None; synchronises the device once."""
    known = [one for one in acknowledgements if one.finite is not None]
    if not known:
        return None
    flags = torch.stack([one.finite for one in known if one.finite is not None])
    if bool(flags.all()):
        return None
    return known[int((~flags).nonzero()[0, 0])].number


def _finite(leaves: Sequence[Tensor]) -> Tensor | None:
    """Return whether all entries are finite, as a scalar on their device.

    Tensors of finite norm have only finite entries, and on a processor this is a fast test. Otherwise, for instance if
    squares overflow, we look at the minimum and the maximum of each tensor, which are NaN if any entry is.
    """
    numbers = [leaf.detach() for leaf in leaves if leaf.is_floating_point() and leaf.numel()]
    if not numbers:
        return None
    if all(leaf.is_cpu and isfinite(torch.linalg.vector_norm(leaf)) for leaf in numbers):
        return torch.tensor(True, device="cpu")
    ends = [end for leaf in numbers for end in torch.aminmax(leaf)]
    if any(end.dtype != ends[0].dtype for end in ends):
        ends = [end.double() for end in ends]
    return torch.isfinite(torch.stack(ends)).all()
