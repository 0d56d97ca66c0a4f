"""Cosine similarity of the clients' updates and the server's update in a round (FedLoRU, Figure 8)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import torch

from algorithms.exchange import Acknowledgement, Exchange
from algorithms.executor import Executor, Wrapper
from algorithms.federation import FederationError, Sequential
from algorithms.partial_sums import fold
from algorithms.tree import Tree


class UploadRecorder(Wrapper):
    """An executor that also keeps the uploads of the last averaged exchange, one model for each client of the cohort.

    The results are bit-identical to those of the executor that it wraps.
    """

    def __init__(self, executor: Executor | None = None) -> None:
        super().__init__(executor if executor is not None else Sequential())
        self._sent: list[Any] = []

    def sum(self, exchange: Exchange, shares: Sequence[float]) -> tuple[Any, list[Acknowledgement]]:
        """Return the sum of share times upload and the acknowledgements, and keep the uploads."""
        sent: list[Any] = []

        def then(upload: Any) -> Any:
            sent.append(upload if exchange.then is None else exchange.then(upload))
            return sent[-1]

        answer = fold(replace(exchange, then=then), self._executor.replies(exchange), shares)
        self._sent = sent
        return answer

    def take(self) -> list[Any]:
        """Return and discard the last uploads, in the order of the cohort and in the form that the server sums."""
        sent, self._sent = self._sent, []
        return sent


def require_models(algorithm: Any) -> None:
    """Check that the algorithm can convert the clients' last uploads of a round to models, by `client_model`.

    Raises:
        FederationError: It cannot.
    """
    if not hasattr(algorithm, "client_model"):
        raise FederationError(
            f"{type(algorithm).__name__} has no alignment: its clients do not send a model at the end of a round; "
            "leave alignment out, or choose FedAvg, FedProx, FedLin, SCAFFOLD, FedHM, FedLoRA, FedLoRU, FRLoRA or "
            "FedPara"
        )


def alignment(algorithm: Any, before: Any, after: Any, sent: Sequence[Any], left_out: Collection[str] = ()) -> float:
    r"""Return the mean cosine similarity $\frac1K\sum_k\cos\angle(w_k - w,\; w^+ - w)$ of FedLoRU v2, Appendix F.5.

    Here $w$ and $w^+$ are the weights of the model before and after the round, as one vector, and $w_k$ those of client
    k.

    Args:
        algorithm: Algorithm of the round; its `client_model` converts an upload to a model.
        before: State of the algorithm before the round.
        after: State of the algorithm after the round.
        sent: Uploads of the clients, in the form that the server sums.
        left_out: Names of entries that are not weights, such as running statistics.

    Returns:
        A number from -1 to 1; nan if an update is zero.
    """
    start = algorithm.weights(before)
    together = _vector(algorithm.weights(after) - start, left_out)
    cosines = []
    for one in sent:
        update = _vector(algorithm.client_model(before, one) - start, left_out)
        cosines.append((update @ together) / (update.norm() * together.norm()))
    return float(torch.stack(cosines).mean())


def _vector(update: Tree, left_out: Collection[str]) -> torch.Tensor:
    return torch.cat([part.detach().reshape(-1).double() for name, part in update.items() if name not in left_out])
