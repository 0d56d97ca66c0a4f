"""How far the clients' updates of a round point where the federation's does: what FedLoRU's Figure 8 plots."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from algorithms.exchange import Acknowledgement, Exchange
from algorithms.federation import Executor, FederationError, Reply, Sequential
from algorithms.partial_sums import fold
from algorithms.tree import Tree


class UploadRecorder:
    """An executor that keeps what the clients of the last averaged exchange sent: a model for each client of the cohort.

    Numbers are those of the executor that it watches.
    """

    def __init__(self, executor: Executor | None = None) -> None:
        self._executor: Executor = executor if executor is not None else Sequential()
        self._sent: list[Any] = []

    def replies(self, exchange: Exchange) -> Iterator[Reply]:
        """One reply for each client of the cohort, in its order."""
        return self._executor.replies(exchange)

    def sum(self, exchange: Exchange, shares: Sequence[float]) -> tuple[Any, list[Acknowledgement]]:
        """The sum of share times upload, and an acknowledgement for each client."""
        sent: list[Any] = []

        def then(upload: Any) -> Any:
            sent.append(upload if exchange.then is None else exchange.then(upload))
            return sent[-1]

        answer = fold(replace(exchange, then=then), self._executor.replies(exchange), shares)
        self._sent = sent
        return answer

    def broadcast(self, exchange: Exchange) -> None:
        """Brings values to every client."""
        self._executor.broadcast(exchange)

    def take(self) -> list[Any]:
        """Returns what the clients sent since the last call, in the order of the cohort, as the server adds it up."""
        sent, self._sent = self._sent, []
        return sent


def require_models(algorithm: Any) -> None:
    """Checks that the clients send a model at the end of a round, which the algorithm knows how to read.

    Raises:
        FederationError: They do not.
    """
    if not hasattr(algorithm, "client_model"):
        raise FederationError(
            f"{type(algorithm).__name__} has no alignment: its clients do not send a model at the end of a round; "
            "leave alignment out, or choose FedAvg, FedLin, FedHM, FedLoRA or FedLoRU"
        )


def alignment(algorithm: Any, before: Any, after: Any, sent: Sequence[Any], left_out: Collection[str] = ()) -> float:
    """The mean over the clients of the cosine between their update of the model and the federation's.

    An update is the difference to the model before the round, all its weights as one vector. FedLoRU v2, Appendix F.5.

    Args:
        algorithm: Algorithm of the round; its `client_model` reads what a client sent.
        before: State of the algorithm before the round.
        after: State of the algorithm after the round.
        sent: Uploads of the clients, as the server adds them up.
        left_out: Names of what is no weight, such as running statistics.

    Returns:
        A number from -1 to 1; nan where an update is zero.
    """
    start = algorithm.weights(before)
    together = _vector(algorithm.weights(after) - start, left_out)
    cosines = []
    for one in sent:
        alone = _vector(algorithm.client_model(before, one) - start, left_out)
        cosines.append((alone @ together) / (alone.norm() * together.norm()))
    return float(torch.stack(cosines).mean())


def _vector(update: Tree, left_out: Collection[str]) -> torch.Tensor:
    return torch.cat([part.detach().reshape(-1).double() for name, part in update.items() if name not in left_out])
