"""Clients of toy problems that are drawn on access, so a million of them only need memory for their sizes.

A client is determined by (seed, number), so it is the same on every access and in every process. The loss is not
summed over so many clients: `SampledProblem` averages it over the first of them, which have the same law as all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from toymodels.problem import Problem, ProblemError, finite, integer, seed_number

SAMPLED, ROOM = 1000, 256e6
"""Largest number of clients whose losses are evaluated, and largest number of bytes that they hold."""
MakeClient = Callable[[np.random.Generator], Any]


@dataclass(frozen=True, eq=False)
class ClientsOnDemand(Sequence[Any]):
    """A sequence of clients that are drawn on access.

    Attributes:
        make: Draws a client.
        total: Number of clients.
        seed: Seed of all clients.
        samples: Number of samples of each client.

    Raises:
        ProblemError: There is no client, a client has no sample, or the seed or the number of clients is not a whole
            number of at least 0.
    """

    make: MakeClient
    total: int
    seed: int
    samples: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", seed_number(self.seed))
        object.__setattr__(self, "total", integer("the number of clients", self.total))
        object.__setattr__(self, "samples", finite("the number of samples", self.samples))
        if self.total < 1 or self.samples < 1.0:
            raise ProblemError(
                f"expected at least one client, with at least one sample, got {self.total} clients with "
                f"{self.samples:g} samples each"
            )

    @property
    def sizes(self) -> NDArray[np.float64]:
        """Number of samples of each client."""
        return np.broadcast_to(np.float64(self.samples), (self.total,))

    def __len__(self) -> int:
        return self.total

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[k] for k in range(*number.indices(self.total))]
        number = integer("the number of a client", number)
        if not -self.total <= number < self.total:
            raise IndexError(f"client {number} does not exist; there are {self.total}")
        return self.make(np.random.default_rng([self.seed, 1, number % self.total]))

    def pooled(self) -> Any:
        """Raise an error, because central training needs the losses of all clients at once.

        Raises:
            ProblemError: Always.
        """
        raise ProblemError(f"{self.total} clients are drawn on demand and cannot be pooled; choose fewer clients")


@dataclass(frozen=True, eq=False)
class SampledProblem(Problem):
    """A problem with clients on demand, whose loss is the mean over the first of them.

    Attributes:
        evaluated: Number of clients over which the loss is averaged.
        sampled: These clients, the first of the problem's.
    """

    evaluated: int = 1
    sampled: tuple[Any, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sampled", tuple(self.clients[: self.evaluated]))
        self._check(self.sampled)

    def loss(self, w: Mapping[str, Tensor]) -> float:
        """Return the mean loss of the sampled clients."""
        return float(sum(client.loss(w) for client in self.sampled)) / len(self.sampled)

    def evaluate_personal(self, weights_of: Callable[[int], Mapping[str, Tensor]], fed: Any = None) -> dict[str, float]:
        """Return `personal_loss`, the mean loss of the sampled clients at their own models."""
        total = sum(client.loss(weights_of(number)) for number, client in enumerate(self.sampled))
        return {"personal_loss": float(total) / len(self.sampled)}


def sampled_problem(
    name: str, clients: ClientsOnDemand, start: Tensor, smoothness: float, entries: int, **given: Any
) -> SampledProblem:
    """Return the problem of clients on demand.

    Args:
        name: Name of the problem.
        clients: The clients, of equal sizes.
        start: Initial matrix.
        smoothness: A Lipschitz constant of every client's gradient, possibly infinite.
        entries: Number of entries that a client holds.
        given: Facts and measures of the problem.
    """
    some = max(1, min(len(clients), SAMPLED, int(ROOM // (8 * entries))))
    shares: Any = np.broadcast_to(np.float64(1.0 / len(clients)), (len(clients),))
    return SampledProblem(name, clients, {"W": start}, shares, smoothness, evaluated=some, **given)
