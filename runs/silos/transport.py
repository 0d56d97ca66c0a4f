"""Tools of a server of silos: a line that carries letters, what a silo tells about itself, and patience."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple, Protocol

from algorithms.exchange import require_whole
from algorithms.federation import FederationError
from runs.silos.wire import Message


class Transport(Protocol):
    """A carrier of letters; through Flower, or in tests without it."""

    def nodes(self) -> Collection[int]:
        """Who is there, by numbers that mean nothing else."""
        ...

    def send(self, node: int, letter: Message, seconds: float) -> str | None:
        """Sends a letter that is of no use after so many seconds; a ticket for its answer, or none if it cannot go."""
        ...

    def receive(self, tickets: Collection[str]) -> Iterator[tuple[str, Message | str]]:
        """Answers that are there, or in words why there will be none, each with its ticket."""
        ...


@dataclass(frozen=True)
class AnswerPolicy:
    """The server's policy for silos that do not answer, or answer wrongly.

    Attributes:
        seconds: Seconds that a trip may take; then the round goes on with those that answered, or ends.
        again: Seconds after which a silo that has not answered is asked again.
        least: Silos of a cohort that have to answer each trip; default: all.
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
        data: Digest of its data, made with a key that the silo alone has; empty where nothing could be read.
    """

    samples: float
    values: bool
    statistics: frozenset[str]
    data: str = ""
