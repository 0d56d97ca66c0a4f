"""Server-side transport: it sends messages, with the facts that silos report and the policy for their answers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple, Protocol

from algorithms.exchange import require_whole
from algorithms.federation import FederationError
from runs.silos.wire import Message


class Transport(Protocol):
    """A carrier of messages: Flower, or a replacement in tests."""

    def nodes(self) -> Collection[int]:
        """Return the numbers of the connected nodes."""
        ...

    def send(self, node: int, message: Message, seconds: float) -> str | None:
        """Send a message with a time limit in seconds, and return a ticket for its answer; None if it cannot go."""
        ...

    def receive(self, tickets: Collection[str]) -> Iterator[tuple[str, Message | str]]:
        """Yield the answers that have arrived, or the reason why there will be none, each with its ticket."""
        ...


@dataclass(frozen=True)
class AnswerPolicy:
    """The server's policy for silos that do not answer, or answer wrongly.

    Attributes:
        seconds: Time limit of an exchange; then the round continues with the silos that answered, or ends.
        again: Seconds after which a silo that has not answered is asked again.
        least: Number of silos of a cohort that have to answer each exchange; default: all.
        wrong: Whether a silo that sends what is refused, or whose client fails, will `stop` the run or is `left out` of
            the rest of it.

    Raises:
        FederationError: A value out of its range.
    """

    seconds: float = 3600.0
    again: float = 900.0
    least: int | None = None
    wrong: Literal["stop", "left out"] = "stop"

    def __post_init__(self) -> None:
        for name in ("seconds", "again"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < inf:
                raise FederationError(f"{name} must be a positive number, got {value!r}")
        if self.least is not None:
            require_whole(1, least=self.least)
        if self.wrong not in ("stop", "left out"):
            raise FederationError(f"wrong must be 'stop' or 'left out', got {self.wrong!r}")


class ClientFacts(NamedTuple):
    """A silo's facts about its client.

    Attributes:
        samples: Size of its data.
        values: Whether its layers compute through factors.
        statistics: Names of weights that are observed and not trained.
        data: Digest of its data, made with the silo's secret key; empty if nothing could be read.
    """

    samples: float
    values: bool
    statistics: frozenset[str]
    data: str = ""
