"""The executor that runs one client after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from algorithms.exchange import Exchange, FederationError, Reply, StepRecord
from algorithms.executor import Executor
from algorithms.lent import Lent


class Sequential(Executor):
    """Runs one client after the other: the reference executor."""

    def replies(self, exchange: Exchange) -> Iterator[Reply]:
        """Yield one reply for each client of the cohort, in order.

        Raises:
            FederationError: The work modifies its arguments or its memory in place.
        """
        common = Lent([exchange.sent, exchange.shared])
        for number in exchange.cohort:
            yield reply_of(exchange, number, common)
        require_unwritten(common)


def reply_of(exchange: Exchange, number: int, common: Lent, steps: StepRecord | None = None) -> Reply:
    """Do the work of one client and return its reply.

    Args:
        exchange: The exchange.
        number: Number of the client.
        common: Values that are lent to the whole cohort.
        steps: Record of the client's local steps, if they are recorded.

    Raises:
        FederationError: The work modifies its arguments or its memory in place.
    """
    assert exchange.clients is not None
    client, sent = exchange.clients[number], exchange.arguments_for(number)
    memory = exchange.memory(number, client)
    if steps is not None:
        memory = replace(memory, steps=steps)
    own = {name: values[number] for name, values in exchange.each.items()}
    mine = Lent([own, memory.kept, memory.personal])
    try:
        reply = exchange.work(client, memory, **sent)
    except Exception as error:
        error.add_note(f"in the work of client {number}")
        raise
    if common.written_by_torch() or mine.written():
        raise FederationError(f"the work of client {number} {_WRITES}")
    return reply


_WRITES = (
    "changed in place a value from the server or one that it keeps, which other clients and checkpoints share; make "
    "new tensors (w - step instead of w.sub_(step))"
)


def require_unwritten(common: Lent) -> None:
    """Check after an exchange that no client wrote into what the whole cohort shares.

    Raises:
        FederationError: One did, in a way that torch does not count, so that the first to do so is unknown.
    """
    if common.written():
        raise FederationError(f"the work of a client {_WRITES}; writes through .data and numpy count as well")
