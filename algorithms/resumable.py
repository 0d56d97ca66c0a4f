"""The sequential executor with a record of the round in progress, from which the round can be resumed in the middle.

A round is a function of what its exchanges return. To resume it, the function is called again: exchanges that were
complete return their recorded results at once, and the exchange in progress continues after the recorded replies, in
the middle of a client's local steps if these are taken by `algorithms.descent.descend`. Random numbers depend only on
(seed, round, exchange, client), so the round ends with the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

from algorithms.descent import Descended, Stepped
from algorithms.exchange import Acknowledgement, Exchange, FederationError, Reply
from algorithms.executor import Executor
from algorithms.lent import Lent
from algorithms.partial_sums import Folding, Sum, part_size, sum_of
from algorithms.sequential import reply_of, require_unwritten

DATACLASSES: Mapping[str, type] = {f"{kind.__module__}.{kind.__qualname__}": kind for kind in (Acknowledgement, Reply)}
"""Dataclasses in a `RoundProgress`, by module and name."""


class RecordedSum(NamedTuple):
    """A sum of uploads as plain values: its message before rounding, and the names of the uploads' types."""

    message: Any
    kinds: tuple[str, ...]

    @staticmethod
    def of(value: Sum | None) -> RecordedSum | None:
        """Return the record of a sum."""
        if value is None:
            return None
        return RecordedSum(value.unrounded, tuple(str(kind).removeprefix("torch.") for _, kind in value.form.leaves))

    def restore(self) -> Sum:
        """Return the sum.

        Raises:
            ValueError, AttributeError, TypeError: It is not what `of` gives.
        """
        kinds = [getattr(torch, kind) for kind in self.kinds]
        if not all(isinstance(kind, torch.dtype) for kind in kinds):
            raise ValueError(f"unknown types of uploads, {self.kinds}")
        return sum_of(self.message, kinds)


class RecordedExchange(NamedTuple):
    """The record of an exchange: either the sum of the uploads so far, or all replies so far.

    Attributes:
        summed: Whether the uploads are summed.
        total: Sum of the complete groups of clients.
        partial: Sum of the current group.
        acknowledgements: Acknowledgements of the clients in the sum, in order.
        replies: Replies in order, where the uploads are not summed.
    """

    summed: bool
    total: RecordedSum | None
    partial: RecordedSum | None
    acknowledgements: list[Acknowledgement]
    replies: list[Reply]


class RoundProgress(NamedTuple):
    """The progress of a round.

    Attributes:
        round: Number of the round.
        exchanges: Its exchanges so far; the last one may be in progress.
        descents: Results of the complete descents of the client at work.
        stepped: State of its descent in progress.
    """

    round: int
    exchanges: list[RecordedExchange]
    descents: list[Descended]
    stepped: Stepped | None

    def check(self) -> None:
        """Check that a stored progress has the parts of one.

        Raises:
            ValueError, AttributeError, TypeError: It has not.
        """
        for exchange in self.exchanges:
            for part in (exchange.total, exchange.partial):
                if part is not None:
                    part.restore()
            parts = (
                *((one, Acknowledgement) for one in exchange.acknowledgements),
                *((one, Reply) for one in exchange.replies),
            )
            if not all(isinstance(one, kind) for one, kind in parts):
                raise ValueError("an exchange without its replies")
        steps = () if self.stepped is None else (self.stepped,)
        right = all(isinstance(one, Descended) for one in self.descents) and type(self.round) is int
        if not right or not all(isinstance(one, Stepped) and type(one.steps) is int for one in steps):
            raise ValueError("a client without its steps")

    @property
    def clients(self) -> int:
        """Number of clients whose work is complete in the last exchange."""
        last = self.exchanges[-1] if self.exchanges else None
        return 0 if last is None else len(last.acknowledgements) + len(last.replies)

    @property
    def steps(self) -> int:
        """Number of steps that the client at work has taken in its current descent."""
        return 0 if self.stepped is None else self.stepped.steps

    def __str__(self) -> str:
        done = f"{self.clients} client{'s are' if self.clients != 1 else ' is'} done"
        steps = f", and {self.steps} step{'s' * (self.steps != 1)} of the next one" if self.steps else ""
        return f"round {self.round}: in exchange {len(self.exchanges)}, {done}{steps}"


class Resumable(Executor):
    """Runs one client after the other, with the same bits as `Sequential`, and records the progress of the round.

    Attributes:
        recorded: Called after each local step, client and exchange; `progress` is then what a round resumes from.
    """

    def __init__(self, before: RoundProgress | None = None) -> None:
        """Begin a record.

        Args:
            before: Progress of the first round that this executor runs; default: it begins.
        """
        self.recorded: Callable[[], None] = lambda: None
        self._before = before
        self._round = 0
        self._exchanges: list[RecordedExchange] = []
        self._folding: Folding | None = None
        self._replies: list[Reply] | None = None
        self._client: tuple[list[Descended], Stepped | None] = [], None  # one value, because interrupts come any time
        self._next_descent = 0
        self._changing = False

    @property
    def progress(self) -> RoundProgress | None:
        """The progress of the current round; None before its first step, and while it changes or is repeated."""
        if self._changing or not self._round:
            return None
        current = [] if self._replies is None and self._folding is None else [self._current()]
        exchanges = [*self._exchanges, *current]
        repeated = 0 if self._before is None else len(self._before.exchanges)
        return RoundProgress(self._round, exchanges, *self._client) if len(exchanges) >= max(1, repeated) else None

    def replies(self, exchange: Exchange) -> Iterator[Reply]:
        """Yield one reply for each client of the cohort, in order.

        Raises:
            FederationError: As in `Sequential.replies`; or the recorded round was another.
        """
        with self._change():
            known = self._begin(exchange, summed=False)
            self._replies = replies = [] if known is None else list(known.replies)
        yield from list(replies)
        for _, reply in self._work(exchange, len(replies)):
            with self._change():
                replies.append(reply)
                self._client = [], None
            yield reply
        self._end()

    def sum(self, exchange: Exchange, shares: Sequence[float]) -> tuple[Any, list[Acknowledgement]]:
        """Return the sum of share times upload, added up as replies arrive, and the acknowledgements."""
        with self._change():
            known = self._begin(exchange, summed=True)
            self._folding = folding = Folding(exchange, part_size(len(exchange.cohort)))
            if known is not None:
                parts = (known.total, known.partial)
                folding.total, folding.partial = (None if part is None else part.restore() for part in parts)
                folding.acknowledgements = list(known.acknowledgements)
        for number, reply in self._work(exchange, len(folding.acknowledgements)):
            with self._change():  # sums are formed in place
                folding.add(number, shares[len(folding.acknowledgements)], reply)
                self._client = [], None
        self._end()
        assert folding.total is not None
        return folding.total.message(), folding.acknowledgements

    def resume(self) -> Descended | Stepped | None:
        """Return what is recorded of the next descent of the client at work."""
        descents, stepped = self._client
        self._next_descent += 1
        return descents[self._next_descent - 1] if self._next_descent <= len(descents) else stepped

    def record(self, state: Stepped) -> None:
        """Record the state after a step."""
        self._client = self._client[0], state
        self.recorded()

    def finish(self, result: Descended) -> None:
        """Record the result of a descent."""
        self._client = [*self._client[0], result], None

    def _begin(self, exchange: Exchange, summed: bool) -> RecordedExchange | None:
        """Take what is recorded of an exchange, in a new round after discarding the record of the last one."""
        if exchange.round != self._round:
            self._round, self._exchanges = exchange.round, []
            if self._before is not None and self._before.round != exchange.round:
                self._before = None
        self._folding = self._replies = None
        known = None if self._before is None else self._before.exchanges[exchange.number - 1 : exchange.number]
        self._client = [], None
        if not known or self._before is None:
            return None
        if known[0].summed is not summed:
            raise FederationError(
                f"exchange {exchange.number} was another when the round was interrupted; "
                "resume it with the code that began it"
            )
        if exchange.number == len(self._before.exchanges):
            self._client = self._before.descents, self._before.stepped
        return known[0]

    def _work(self, exchange: Exchange, done: int) -> Iterator[tuple[int, Reply]]:
        """Yield the replies of the clients after the first `done`."""
        common = Lent([exchange.sent, exchange.shared])
        for number in exchange.cohort[done:]:
            self._next_descent = 0
            yield number, reply_of(exchange, number, common, self)
            self.recorded()
        require_unwritten(common)

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Mark the record as changing; an error or an interrupt within leaves it so."""
        self._changing = True
        yield
        self._changing = False

    def _end(self) -> None:
        """Add the exchange to the complete ones."""
        with self._change():
            self._exchanges.append(self._current())
            self._folding = self._replies = None
        self.recorded()

    def _current(self) -> RecordedExchange:
        folding = self._folding
        if folding is None:
            return RecordedExchange(False, None, None, [], list(self._replies or ()))
        sums = RecordedSum.of(folding.total), RecordedSum.of(folding.partial)
        return RecordedExchange(True, *sums, list(folding.acknowledgements), [])
