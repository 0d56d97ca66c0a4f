r"""Error of averaging the clients' factors separately, and the directions of a factor, computed from the uploads.

Clients send the factors of their updates $A_iB_i$, and the server multiplies the factors that it averages. With shares
$s_i$ that sum to 1, $\bar A = \sum s_iA_i$ and $\bar B = \sum s_iB_i$,

$$\sum_i s_iA_iB_i - \bar A\bar B = \sum_i s_i(A_i - \bar A)(B_i - \bar B),$$

which is zero if the clients share one factor. The best rank-r approximation of the mean of the products is given by its
r leading singular triples (Eckart and Young, 1936).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algorithms.adapter import AB
from algorithms.alignment import UploadRecorder
from algorithms.exchange import Acknowledgement, Exchange
from algorithms.federation import FederationError
from algorithms.rolora import Half
from algorithms.tree import Tree, weighted_sum


@dataclass(frozen=True)
class AveragedExchange:
    """An exchange whose uploads were averaged.

    Attributes:
        work: Name of the clients' task.
        shares: Weights of the clients in averages; they sum to 1.
        sent: Uploads of the clients, as the server adds them up.
        mean: Mean of the uploads.
        common: The factors that the server sent to all clients, by name; empty if it sent none.
    """

    work: str
    shares: tuple[float, ...]
    sent: tuple[Any, ...]
    mean: Any
    common: Mapping[str, Tree]

    @property
    def pairs(self) -> tuple[AB, ...] | None:
        """Each client's factors; None where the server added up the clients' products."""
        return None if type(self.sent[0]) is tuple else tuple(map(self._pair, self.sent))

    @property
    def products(self) -> tuple[Tree, ...]:
        """Each client's product, in double precision."""
        if self.pairs is None:
            return tuple(product.map(Tensor.double) for product, _ in self.sent)
        return tuple(product_of(pair) for pair in self.pairs)

    @property
    def averaged(self) -> AB | None:
        """The factors that the server averaged; None where it averaged products."""
        return None if self.pairs is None else self._pair(self.mean)

    def _pair(self, upload: Any) -> AB:
        if isinstance(upload, AB):
            return upload
        if not isinstance(upload, Half):
            raise FederationError(f"{self.work} sends a {type(upload).__name__}, which is not a factor of an update")
        return AB(self.common["A"], upload.factor) if self.work == "train_B" else AB(upload.factor, self.common["B"])


class ExchangeRecorder(UploadRecorder):
    """An executor that records the uploads of every averaged exchange and otherwise changes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._exchanges: list[AveragedExchange] = []

    def sum(self, exchange: Exchange, shares: Sequence[float]) -> tuple[Any, list[Acknowledgement]]:
        """Return the sum of shares times uploads, and an acknowledgement for each client."""
        known = {**exchange.shared, **exchange.sent}
        common: dict[str, Any] = {name: known[name] for name in ("A", "B") if name in known}
        mean, receipts = super().sum(exchange, shares)
        self._exchanges.append(AveragedExchange(exchange.name, tuple(shares), tuple(self.take()), mean, common))
        return mean, receipts

    def exchanges(self) -> list[AveragedExchange]:
        """Return the exchanges since the last call."""
        found, self._exchanges = self._exchanges, []
        return found


def product_of(pair: AB) -> Tree:
    """Return $AB$ for every layer, in double precision."""
    return pair.A.map(Tensor.double) @ pair.B.map(Tensor.double)


@dataclass(frozen=True)
class AggregationError:
    """Distance between the server's product and the mean of the clients' products, all layers as one vector.

    Attributes:
        norm: Norm of the mean of the clients' products.
        change: Norm of that mean minus the product before the exchange.
        error: Distance of the server's product from that mean.
        least: Distance of the nearest product of the same rank from that mean.
        angle: Angle between the server's A and the best subspace of that rank for the rows, see `angle_between`.
    """

    norm: float
    change: float
    error: float
    least: float
    angle: float


def aggregation_error(exchange: AveragedExchange, server: AB, before: Tree) -> AggregationError:
    """Measure the error of one exchange.

    Args:
        exchange: The exchange with its uploads.
        server: The server's factors after the exchange.
        before: Product before the exchange.
    """
    mean = weighted_sum(zip(exchange.shares, exchange.products, strict=True))
    least, U = 0.0, {}
    for name, M in mean.items():
        rank = server.A[name].shape[1]
        left, sigma, _ = torch.linalg.svd(M, full_matrices=False)
        least, U[name] = least + float((sigma[rank:] ** 2).sum()), left[:, :rank]
    error = _norm(mean - product_of(server))
    return AggregationError(_norm(mean), _norm(mean - before), error, sqrt(least), angle_between(server.A, U))


def angle_between(A: Mapping[str, Tensor], U: Mapping[str, Tensor]) -> float:
    r"""Return $\|(1 - QQ^T)U\|_F/\sqrt r$, the distance of A's column space from orthonormal U, over all layers.

    The root mean square of the sines of the principal angles, which at rank 1 is the angle distance of RoLoRA's
    Definition 5.2; 0 for the same space, 1 for an orthogonal one, $\sqrt{1 - r/m}$ for one at random in m dimensions.
    """
    total, count = 0.0, 0
    for name, target in U.items():
        Q, target = torch.linalg.qr(A[name].double())[0], target.double()
        total += float(((target - Q @ (Q.mT @ target)) ** 2).sum())
        count += target.shape[1]
    return sqrt(total / count)


def errors_of_few(exchange: AveragedExchange, few: int, draws: int, rng: np.random.Generator) -> float:
    """Return the root mean square error of averaging over smaller cohorts drawn from the clients that sent uploads.

    Args:
        exchange: The exchange, with factors of both kinds from each client.
        few: Number of clients of such a cohort.
        draws: Number of cohorts.
        rng: Draws them.
    """
    pairs = exchange.pairs
    assert pairs is not None
    squares = []
    for _ in range(draws):
        chosen = rng.choice(len(pairs), few, replace=False)
        total = sum(exchange.shares[number] for number in chosen)
        shares = [exchange.shares[number] / total for number in chosen]
        some = [pairs[number]._replace(rest=Tree()) for number in chosen]
        mean = weighted_sum(zip(shares, map(product_of, some), strict=True))
        apart = weighted_sum(zip(shares, some, strict=True))
        squares.append(_norm(mean - product_of(apart)) ** 2)
    return sqrt(float(np.mean(squares)))


def _norm(tree: Tree) -> float:
    return sqrt(float(tree.square()))
