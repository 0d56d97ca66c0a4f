"""The ledger of communication: bytes and entries per direction, counted from the tensors themselves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from algorithms.tree import tensors

Direction = Literal["down", "up"]


@dataclass(frozen=True)
class Entry:
    """One message of all clients in one direction.

    Attributes:
        round: Round, from 1; 0 is the start.
        trip: Number of the exchange in its round, from 1.
        direction: `down` to the clients or `up` to the server.
        what: Name of the work, or `tell` for a broadcast.
        clients: Number of receiving or sending clients.
        entries: Number of tensor entries, summed over all clients.
        bytes: Size of these entries.
    """

    round: int
    trip: int
    direction: Direction
    what: str
    clients: int
    entries: int
    bytes: int


class Ledger:
    """All messages of a run in order, with running totals."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries: list[Entry] = []
        self._totals: dict[Direction, tuple[int, int]] = {"down": (0, 0), "up": (0, 0)}
        for entry in entries:
            self._append(entry)

    def record(
        self, round: int, trip: int, direction: Direction, what: str, messages: Iterable[Any], copies: int = 1
    ) -> None:
        """Record the messages of several clients as one entry; messages without tensors are not recorded."""
        parts = [tensors(message) for message in messages]
        numbers = copies * sum(leaf.numel() for part in parts for leaf in part)
        size = copies * sum(leaf.numel() * leaf.element_size() for part in parts for leaf in part)
        self.add(round, trip, direction, what, copies * len(parts), numbers, size)

    def add(
        self, round: int, trip: int, direction: Direction, what: str, clients: int, entries: int, bytes: int
    ) -> None:
        """Record messages that have been counted already; messages without tensors are not recorded."""
        if entries:
            self._append(Entry(round, trip, direction, what, clients, entries, bytes))

    def bytes(self, direction: Direction | None = None, round: int | None = None) -> int:
        """Return the bytes sent in a direction (default: both) and in a round (default: all)."""
        if round is None:
            return sum(self._totals[one][1] for one in self._totals if direction in (None, one))
        return sum(entry.bytes for entry in self._of(direction, round))

    def count(self, direction: Direction | None = None, round: int | None = None) -> int:
        """Return the number of entries sent in a direction (default: both) and in a round (default: all)."""
        if round is None:
            return sum(self._totals[one][0] for one in self._totals if direction in (None, one))
        return sum(entry.entries for entry in self._of(direction, round))

    def trips(self, round: int) -> int:
        """Return the number of exchanges of a round, each down to the clients and back."""
        return max((entry.trip for entry in self.entries if entry.round == round), default=0)

    def _append(self, entry: Entry) -> None:
        self.entries.append(entry)
        entries, size = self._totals[entry.direction]
        self._totals[entry.direction] = entries + entry.entries, size + entry.bytes

    def _of(self, direction: Direction | None, round: int) -> Iterable[Entry]:
        return (entry for entry in self.entries if direction in (None, entry.direction) and entry.round == round)
