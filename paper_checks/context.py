"""Context of a measurement: the budget, and random streams named by the claim."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

Budget = Literal["quick", "full"]
BUDGETS: tuple[Budget, ...] = ("quick", "full")
Size = TypeVar("Size")

LEVEL = 1e-6
"""Probability of a false alarm of one stochastic claim; verdicts then do not depend on the seed."""

SUITE_LEVEL = 1e-3
"""Upper bound on the sum of the levels of a whole run."""


@dataclass(frozen=True)
class Context:
    """Seed, budget and claim of one measurement.

    Attributes:
        claim_id: names the random streams, so adding a claim changes no other.
        seed: root seed of the run.
        budget: changes sample sizes and scope, never tolerances.
    """

    claim_id: str
    seed: int = 0
    budget: Budget = "quick"

    def seed_sequence(self, purpose: str = "") -> np.random.SeedSequence:
        """Return the stream of this claim for one purpose."""
        digest = hashlib.sha256(f"{self.claim_id}\n{purpose}".encode()).digest()
        words = [int.from_bytes(digest[i : i + 4], "big") for i in range(0, 16, 4)]
        return np.random.SeedSequence([self.seed, *words])

    def rng(self, purpose: str = "") -> np.random.Generator:
        """Return the random generator of the stream of this claim for one purpose."""
        return np.random.default_rng(self.seed_sequence(purpose))

    def integer_seed(self, purpose: str = "") -> int:
        """Return a 32-bit seed of that stream, for libraries that take integers."""
        return int(self.seed_sequence(purpose).generate_state(1)[0])

    def size(self, quick: Size, full: Size) -> Size:
        """Return the size that belongs to the budget."""
        return quick if self.budget == "quick" else full
