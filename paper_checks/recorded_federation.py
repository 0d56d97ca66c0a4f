"""A federation that keeps what travels, to look at every trip of a round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from algorithms.executor import Executor, Wrapper
from algorithms.federation import Exchange, Federation, Reply, Sequential


@dataclass(frozen=True)
class Seen:
    """One trip of a round: the work's name, what was sent, what each client answered."""

    work: str
    sent: dict[str, Any]
    uploads: tuple[Any, ...]


class Watching(Wrapper):
    """An executor that keeps the trips of a round; the next round starts with none."""

    def __init__(self, executor: Executor) -> None:
        super().__init__(executor)
        self.trips: list[Seen] = []
        self._round = 0

    def replies(self, trip: Exchange) -> Iterator[Reply]:
        """Return the replies, all at once."""
        replies = list(self._executor.replies(trip))
        if trip.round != self._round:
            self._round = trip.round
            self.trips.clear()
        self.trips.append(Seen(trip.work.__name__, dict(trip.sent), tuple(reply.upload for reply in replies)))
        return iter(replies)

    sum = Executor.sum  # of replies that are kept


class Watched(Federation):
    """A federation that keeps what travels.

    Attributes:
        trips: Trips of the last round.
    """

    def __init__(self, clients: Sequence[Any], *, executor: Executor | None = None, **options: Any) -> None:
        """Take what `Federation` takes."""
        watching = Watching(executor or Sequential())
        super().__init__(clients, executor=watching, **options)
        self.trips = watching.trips
