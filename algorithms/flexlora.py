"""FlexLoRA (Bai et al., 2024): the mean of the clients' products, cut to the rank by its singular values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from algorithms.adapter import AB, LoRAState
from algorithms.federation import Cohort, Federation, FederationError
from algorithms.fedlora import LoRA
from algorithms.tree import Tree

SPLITS = ("balanced", "left", "right")


@dataclass(frozen=True)
class FlexLoRA(LoRA):
    """The algorithm.

    Attributes:
        split: Where the singular values go: half to each factor, to A (`left`) or to B (`right`).

    Raises:
        FederationError: An unknown split.
    """

    split: Literal["balanced", "left", "right"] = "balanced"

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise FederationError(f"split must be one of {SPLITS}, got {self.split!r}")

    def round(self, fed: Federation, cohort: Cohort, state: LoRAState) -> LoRAState:
        """One round."""
        update, rest = self.trained(fed, cohort, state.factors, then=product_and_rest)
        return state._replace(factors=best_factors(update, self.adapter.rank, self.split)._replace(rest=rest))


def product_and_rest(factors: AB) -> tuple[Tree, Tree]:
    """$AB$, and what is not factorised."""
    return factors.A @ factors.B, factors.rest


def best_factors(update: Tree, rank: int, split: str) -> AB:
    """Factors of the best approximation of given rank."""
    A, B = {}, {}
    for name, W in update.items():
        U, sigma, Vh = torch.linalg.svd(W, full_matrices=False)
        U, sigma, Vh = U[:, :rank], sigma[:rank], Vh[:rank]
        left = {"balanced": sigma.sqrt(), "left": sigma, "right": torch.ones_like(sigma)}[split]
        right = {"balanced": sigma.sqrt(), "left": torch.ones_like(sigma), "right": sigma}[split]
        A[name], B[name] = U * left, right[:, None] * Vh
    return AB(Tree(A), Tree(B))
