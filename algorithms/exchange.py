"""One exchange: work that goes to the clients of a cohort, what each of them knows, and what comes back.

An executor does the work of an exchange. It either gives the replies one by one, or adds the uploads up as they arrive, by
`algorithms.partial_sums.fold`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from algorithms.tree import tensors

Cohort = Sequence[int]
"""Numbers of clients, increasing."""


class FederationError(ValueError):
    """A federation or a round that cannot go on; the message names round, client and cause."""


class InterruptedWorkError(FederationError):
    """A round whose worker or client is gone; the same round may succeed later."""


def require_whole(least: int, /, **values: Any) -> None:
    """Refuses what is no whole number, or a smaller one.

    Raises:
        FederationError: Names the first such value.
    """
    for name, value in values.items():
        if not is_whole(value) or value < least:
            raise FederationError(f"{name} must be a whole number of at least {least}, got {value!r}")


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number, of Python or numpy; a truth is none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


class Client(Protocol):
    """Anything that answers: a closed-form objective, or a network with its data."""

    @property
    def samples(self) -> float:
        """Size of its data."""
        ...

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """The loss at some weights, a differentiable scalar; of a batch of its samples, if one is named."""
        ...


@runtime_checkable
class Clients(Protocol):
    """A lazy sequence of clients: a client is made when it is asked for, the sizes of their data are known."""

    @property
    def sizes(self) -> Sequence[float]:
        """Size of each client's data."""
        ...

    def __len__(self) -> int:
        """Number of clients."""
        ...

    def __getitem__(self, number: int, /) -> Client:
        """A client."""
        ...


@dataclass(frozen=True)
class Memory:
    """Memory of a client, beside what is sent.

    Attributes:
        number: Number of the client; a tensor where the work of several clients is one evaluation.
        kept: Values that it kept on earlier exchanges of this round.
        personal: Values that it keeps for good.
        shared: Values that every client was told.
        drawn: Random numbers for this work, drawn before it from (seed, round, exchange, client).
        round: Number of the round, from 1.
    """

    number: int | Tensor = 0
    kept: Mapping[str, Any] = field(default_factory=dict)
    personal: Mapping[str, Any] = field(default_factory=dict)
    shared: Mapping[str, Any] = field(default_factory=dict)
    drawn: Any = None
    round: int = 1


@dataclass(frozen=True)
class Reply:
    """Outcome of one client's work.

    Attributes:
        upload: Travels to the server: a tree, a tensor, or tuples and mappings of these.
        keep: Stays with the client until the round ends.
        personal: Stays with the client for good.
    """

    upload: Any = ()
    keep: Mapping[str, Any] = field(default_factory=dict)
    personal: Mapping[str, Any] = field(default_factory=dict)


Work = Callable[..., Reply]
Draw = Callable[[Client, np.random.Generator], Any]
Then = Callable[[Any], Any]
Each = Mapping[str, Mapping[int, Any]]


class Key:
    """Key of a federation: an executor that serves several tells by it whose exchange it is."""


@dataclass(frozen=True)
class Exchange:
    """Work for a cohort and all that its clients know.

    Attributes:
        round: Number of the round.
        number: Number of the exchange in its round.
        work: A module-level function of a client, its memory and what is sent.
        cohort: The clients' numbers.
        clients: All clients of the federation.
        sent: Arguments sent to all of the cohort.
        each: Arguments sent to one client alone: by name, then by the client's number.
        then: Function that the server applies to an upload before it is added up.
        seed: Seed of what clients draw.
        draw: Draws what the work needs at random.
        kept: Values kept on earlier exchanges of the round, by client.
        personal: Values kept for good, by client; they take precedence over `equipped`.
        equipped: Values that every client keeps until its own work changes them.
        shared: Values that every client was told.
        key: Key of the federation.
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
        """Name of the work, as the ledger and errors call it."""
        return str(self.work.__name__.strip("_"))

    def memory(self, number: int, client: Client) -> Memory:
        """Memory of a client; what it needs at random is drawn here."""
        drawn = None
        if self.draw is not None:
            drawn = self.draw(client, np.random.default_rng([self.seed, self.round, self.number, number]))
        personal = self.personal.get(number, {})
        if self.equipped:
            personal = {**self.equipped, **personal}
        return Memory(number, self.kept.get(number, {}), personal, self.shared, drawn, self.round)

    def sent_to(self, number: int) -> Mapping[str, Any]:
        """Values that a client is sent."""
        if not self.each:
            return self.sent
        return {**self.sent, **{name: values[number] for name, values in self.each.items()}}

    def part(self, cohort: Cohort) -> Exchange:
        """The same for some of the clients, with nothing of the others; the clients themselves are left out."""
        return replace(
            self,
            cohort=cohort,
            clients=None,
            each={name: {number: values[number] for number in cohort} for name, values in self.each.items()},
            kept={number: self.kept[number] for number in cohort if number in self.kept},
            personal={number: self.personal[number] for number in cohort if number in self.personal},
        )

    def down(self) -> tuple[list[Any], int]:
        """Messages that go down, as the ledger takes them, and copies of each."""
        if not any(tensors(list(values.values())) for values in self.each.values()):
            return [self.sent], len(self.cohort)
        return [self.sent_to(number) for number in self.cohort], 1

    @contextmanager
    def naming_errors(self) -> Iterator[None]:
        """Puts round and work before the message of an error."""
        try:
            yield
        except FederationError as error:
            kind = InterruptedWorkError if isinstance(error, InterruptedWorkError) else FederationError
            raise kind(f"round {self.round}, {self.name}: {error}") from error


@dataclass(frozen=True)
class Acknowledgement:
    """Rest of a reply once its upload has been taken.

    Attributes:
        number: Number of the client.
        entries: Numbers that it sent.
        bytes: The same in bytes.
        finite: Whether all of them are finite, what the server made of them, and what stays with the client for good; a
            scalar on their device, or nothing.
        keep: Stays with the client until the round ends; empty where a worker holds it.
        personal: Stays with the client for good.
    """

    number: int
    entries: int
    bytes: int
    finite: Tensor | None
    keep: Mapping[str, Any]
    personal: Mapping[str, Any]

    @staticmethod
    def of(number: int, reply: Reply, made: Any = ()) -> Acknowledgement:
        """The acknowledgement for a reply, and for what the server made of it."""
        sent = tensors(reply.upload)
        entries, size = sum(leaf.numel() for leaf in sent), sum(leaf.numel() * leaf.element_size() for leaf in sent)
        return Acknowledgement(
            number,
            entries,
            size,
            _finite([*sent, *tensors(made), *tensors(reply.personal)]),
            reply.keep,
            reply.personal,
        )


class Executor(Protocol):
    """Place where the work of an exchange is done; the answers do not depend on it but for rounding."""

    def replies(self, exchange: Exchange) -> Iterator[Reply]:
        """One reply for each client of the cohort, in its order."""
        ...

    def sum(self, exchange: Exchange, shares: Sequence[float]) -> tuple[Any, list[Acknowledgement]]:
        """The sum of share times upload, after the exchange's `then`, and an acknowledgement for each client, in their order."""
        ...

    def tell(self, exchange: Exchange) -> None:
        """Brings values to every client; nothing comes back. They are in `shared` of later exchanges, too."""
        ...


def first_that_is_not_finite(acknowledgements: Sequence[Acknowledgement]) -> int | None:
    """The number of the first client that sent what is not finite; one synchronisation for all."""
    known = [one for one in acknowledgements if one.finite is not None]
    if not known:
        return None
    flags = torch.stack([one.finite for one in known if one.finite is not None])
    if bool(flags.all()):
        return None
    return known[int((~flags).nonzero()[0, 0])].number


def _finite(leaves: Sequence[Tensor]) -> Tensor | None:
    """Whether all entries are finite: the smallest and the largest of each leaf tell, since they are NaN if any is."""
    ends = [end for leaf in leaves if leaf.is_floating_point() and leaf.numel() for end in torch.aminmax(leaf.detach())]
    if not ends:
        return None
    if any(end.dtype != ends[0].dtype for end in ends):
        ends = [end.double() for end in ends]
    return torch.isfinite(torch.stack(ends)).all()
