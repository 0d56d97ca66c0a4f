"""The executor that asks one client after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from torch import Tensor

from algorithms.exchange import FederationError, Receipt, Reply, Trip
from algorithms.partial_sums import fold
from algorithms.tree import tensors


class Sequential:
    """One client after the other: the reference."""

    def replies(self, trip: Trip) -> Iterator[Reply]:
        """One reply for each client of the cohort, in its order.

        Raises:
            FederationError: Work that changes in place what it is sent, told, or holds.
        """
        assert trip.clients is not None
        common = lent_tensors([trip.sent, trip.shared])
        for number in trip.cohort:
            client, sent = trip.clients[number], trip.sent_to(number)
            memory = trip.memory(number, client)
            own = {name: values[number] for name, values in trip.each.items()}
            lent = [*common, *lent_tensors([own, memory.kept, memory.personal])]
            versions = [leaf._version for leaf in lent]
            try:
                reply = trip.work(client, memory, **sent)
            except Exception as error:
                error.add_note(f"in the work of client {number}")
                raise
            if versions != [leaf._version for leaf in lent]:
                raise FederationError(
                    f"the work of client {number} changed in place what the server sent, or what it keeps, which other "
                    "clients and checkpoints share; make new tensors (w - step in place of w.sub_(step))"
                )
            yield reply

    def sum(self, trip: Trip, shares: Sequence[float]) -> tuple[Any, list[Receipt]]:
        """The sum of share times upload, as replies arrive."""
        return fold(trip, self.replies(trip), shares)

    def tell(self, trip: Trip) -> None:
        """Nothing to do: all clients are here."""


def lent_tensors(message: Any) -> list[Tensor]:
    """Return the tensors of a message that count what is written into them."""
    return [leaf for leaf in tensors(message) if not leaf.is_inference()]
