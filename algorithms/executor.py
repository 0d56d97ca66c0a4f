"""The interface of the executors, which do the work of exchanges."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from algorithms.exchange import Acknowledgement, Exchange, Reply
from algorithms.partial_sums import fold


class Executor(ABC):
    """Does the work of exchanges. All executors return the same results up to rounding.

    An executor that has all clients in its own process needs only `replies`.
    """

    @abstractmethod
    def replies(self, exchange: Exchange) -> Iterator[Reply]:
        """Yield one reply for each client of the cohort, in order."""

    def sum(self, exchange: Exchange, shares: Sequence[float]) -> tuple[Any, list[Acknowledgement]]:
        r"""Return $\sum_k s_k\,\mathrm{then}(u_k)$ over shares and uploads, and the acknowledgements in order.

        By default the uploads are added as the replies arrive.
        """
        return fold(exchange, self.replies(exchange), shares)

    def broadcast(self, exchange: Exchange) -> None:  # noqa: B027 - most executors have nothing to send
        """Send values to every client, without a reply. By default nothing is sent now.

        Later exchanges list the values in `shared`. Clients in this process see them there, and other executors send
        them with the next exchange.
        """

    def absent(self, round: int) -> Collection[int]:
        """Return the clients that are sent nothing in the rest of a round. By default none is absent."""
        return ()

    def unreached(self) -> Collection[int]:
        """Return the clients that did not receive the last exchange because they had no connection."""
        return ()


class Wrapper(Executor):
    """Passes everything on to another executor; a subclass looks at what passes."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def replies(self, exchange: Exchange) -> Iterator[Reply]:
        """Return the replies of the wrapped executor."""
        return self._executor.replies(exchange)

    def sum(self, exchange: Exchange, shares: Sequence[float]) -> tuple[Any, list[Acknowledgement]]:
        """Return the sum and the acknowledgements of the wrapped executor."""
        return self._executor.sum(exchange, shares)

    def broadcast(self, exchange: Exchange) -> None:
        """Send values as the wrapped executor does."""
        self._executor.broadcast(exchange)

    def absent(self, round: int) -> Collection[int]:
        """Return the clients that the wrapped executor sends nothing in the rest of a round."""
        return self._executor.absent(round)

    def unreached(self) -> Collection[int]:
        """Return the clients that did not receive the last exchange of the wrapped executor."""
        return self._executor.unreached()
