r"""LoRA-FAIR (Bian et al., ICCV 2025): the server corrects the mean B to bring its product close to the mean product.

In each layer, the correction $\Delta B$ lowers the objective of eq. (8),
$1 - \cos(\sum_k s_kA_kB_k,\ \bar A(\bar B + \Delta B)) + \lambda\|\Delta B\|$, by steps of descent from 0. Clients
continue from $\bar A$ and $\bar B + \Delta B$, and the frozen weights do not change. As here, the paper's B is 0 at the
start. Equation (8) has the norm. Implementations by others have its square, `squared` here.
The number and the rate of the server's steps are our choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from algorithms.adapter import AB, LoRAState
from algorithms.federation import Cohort, Federation, FederationError, require_whole
from algorithms.fedlora import LoRA
from algorithms.tree import Tree, narrow, wide

Penalty = Literal["norm", "squared"]
PENALTIES: tuple[Penalty, ...] = ("norm", "squared")


@dataclass(frozen=True)
class LoRAFair(LoRA):
    r"""One round is FedLoRA's, and the server adds a correction to the mean of the B.

    Attributes:
        penalty_weight: $\lambda$.
        penalty: Penalty on the correction: its `norm`, or the `squared` norm.
        server_steps: Number of the server's descent steps in a round.
        server_rate: Rate of these steps.

    Raises:
        FederationError: A value is out of its range.
    """

    penalty_weight: float = 0.01
    penalty: Penalty = "norm"
    server_steps: int = 100
    server_rate: float = 0.01

    def __post_init__(self) -> None:
        require_whole(1, server_steps=self.server_steps)
        if self.penalty not in PENALTIES:
            raise FederationError(f"penalty must be one of {PENALTIES}, got {self.penalty!r}")
        if not 0.0 <= self.penalty_weight < float("inf") or not 0.0 < self.server_rate < float("inf"):
            raise FederationError(
                "expected a finite penalty_weight of at least 0 and a positive, finite server_rate, got "
                f"{self.penalty_weight} and {self.server_rate}"
            )

    def round(self, fed: Federation, cohort: Cohort, state: LoRAState) -> LoRAState:
        """Do one round and return the new state."""
        (A, B, rest), products = self.train(fed, cohort, state.factors, then=with_products)
        return state._replace(factors=AB(A, A.map(self.correct, B, products), rest))

    def correct(self, A: Tensor, B: Tensor, product: Tensor) -> Tensor:
        r"""Return $\bar B + \Delta B$ of one layer; without a correction if a product is 0 and has no angle.

        With $M = \bar A^TP$ and $G = \bar A^T\bar A$, the cosine of $\bar AC$ and $P$ is
        $\langle M, C\rangle / (\|P\|\sqrt{\langle C, GC\rangle})$, so steps take no product of the layer's size.
        """
        left, start, target = wide(A), wide(B), wide(product)
        M, G, size = left.mT @ target, left.mT @ left, torch.linalg.vector_norm(target)
        has_angle, change = (size > 0) & (G @ start).any(), torch.zeros_like(start)
        for _ in range(self.server_steps):
            C = start + change
            GC = G @ C
            norm = (C * GC).sum().clamp(min=0).sqrt()
            slope = (M * C).sum() / (size * norm**3) * GC - M / (size * norm)
            change = self.shrink(change - self.server_rate * slope)
        return narrow(torch.where(has_angle, start + change, start), B.dtype)

    def shrink(self, change: Tensor) -> Tensor:
        """Return a correction after the step of the penalty, which is implicit.

        A correction that the norm outweighs becomes exactly 0. Explicit steps would jump around 0 in directions of
        rounding errors.
        """
        step = self.server_rate * self.penalty_weight
        if self.penalty == "squared":
            return change / (1.0 + 2.0 * step)
        length = torch.linalg.vector_norm(change)
        return change * torch.where(length > step, 1.0 - step / length, 0.0 * length)


def with_products(factors: AB) -> tuple[AB, Tree]:
    """Return a client's factors, and their products."""
    return factors, factors.A @ factors.B
