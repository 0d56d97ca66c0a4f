"""Clients of toy problems that are drawn when they are asked for, so that a million of them cost their sizes alone.

A client comes from (seed, number), so that it is the same whenever it is asked for, in any process. The loss of so many
clients is not added up: `SampledProblem` takes the mean over the first of them, which are drawn as all others are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from toymodels.problem import Problem, ProblemError

SAMPLED, ROOM = 1000, 256e6
"""Most clients whose losses are evaluated, and most bytes that these hold."""
MakeClient = Callable[[np.random.Generator], Any]


@dataclass(frozen=True, eq=False)
class ClientsOnDemand(Sequence[Any]):
    """Clients that are drawn when they are asked for.

    Attributes:
        make: Draws a client.
        total: Number of clients.
        seed: Seed of all of them.
        samples: Size of the data of each.
    """

    make: MakeClient
    total: int
    seed: int
    samples: float = 1.0

    @property
    def sizes(self) -> NDArray[np.float64]:
        """Size of each client's data."""
        return np.broadcast_to(np.float64(self.samples), (self.total,))

    def __len__(self) -> int:
        return self.total

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[k] for k in range(*number.indices(self.total))]
        if not -self.total <= number < self.total:
            raise IndexError(f"no client {number} among {self.total}")
        return self.make(np.random.default_rng([self.seed, 1, int(number) % self.total]))

    def pooled(self) -> Any:
        """Refuse central training, which needs the losses of all clients at once.

        Raises:
            ProblemError: Always.
        """
        raise ProblemError(f"{self.total} clients are drawn on demand and cannot be pooled; choose fewer clients")


@dataclass(frozen=True, eq=False)
class SampledProblem(Problem):
    """A problem of clients on demand, evaluated on the first of them.

    Attributes:
        sampled: The clients whose mean loss is the loss.
    """

    sampled: tuple[Any, ...] = ()

    def loss(self, w: Mapping[str, Tensor]) -> float:
        """The mean loss of the sampled clients."""
        return float(sum(client.loss(w) for client in self.sampled)) / len(self.sampled)

    def evaluate_personal(self, weights_of: Callable[[int], Mapping[str, Tensor]], fed: Any = None) -> dict[str, float]:
        """`personal_loss`, the mean over the sampled clients of each one's loss at a model of its own."""
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
        smoothness: A Lipschitz constant of every client's gradient, perhaps infinite.
        entries: Numbers that a client holds.
        given: Facts and measures.
    """
    some = max(1, min(len(clients), SAMPLED, int(ROOM // (8 * entries))))
    shares: Any = np.broadcast_to(np.float64(1.0 / len(clients)), (len(clients),))
    return SampledProblem(name, clients, {"W": start}, shares, smoothness, sampled=tuple(clients[:some]), **given)
