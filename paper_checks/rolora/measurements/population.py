"""Iterations of Algorithm 2 under the population loss, executed by the toolkit, for the claims of Appendix A.5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algorithms.adapter import AB
from algorithms.exact_rolora import ExactRoLoRA
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.context import Context
from paper_checks.methods.relations import Relation
from paper_checks.recorded_federation import Watched
from toymodels.problem import Problem
from toymodels.regression import Regressor, regression


def close(name: str, left: float, right: float, case: Mapping[str, Any] | None = None) -> Relation:
    """Return the promise that two numbers are one, up to rounding."""
    return Relation(name, left, right, error=1e-10 * max(1.0, abs(left), abs(right)), case=case)


def draw_problems(context: Context) -> list[Problem]:
    """Draw federations of the toolkit in expectation, equal clients included."""
    rng = context.rng("problems")
    settings = [(2, 2, 1, 0.5), (3, 3, 2, 1.0), (4, 6, 5, 0.2), (8, 8, 3, 0.0), (20, 20, 10, 2.0)]
    return [
        regression(d, k, clients, rng, heterogeneity=spread, sine=float(rng.uniform(0.05, 0.95)))
        for d, k, clients, spread in settings * context.size(2, 8)
    ]


FEDERATIONS = "federations of 1 to 10 clients in 2 to 20 dimensions, square and not, under the population loss"

SCOPE = (
    "1 to 5 clients in 2 to 8 dimensions with minimisers of their own, equal ones, and ones whose mean is 0; starts at "
    "every angle, a* and its complement included"
)


@dataclass(frozen=True)
class Iteration:
    r"""One iteration.

    Attributes:
        truth: $a^*$, ``(d, 1)``.
        own_b: $b_i^*$ of every client, ``(1, k)``.
        a: $a^t$, a unit vector.
        eta: Step.
        minimisers: Uploads of the clients in the first half.
        slopes: Gradients of the clients in the second half.
        b_after: $b^{t+1}$.
        a_after: $a^{t+1}$.
        case: The same in fractions, if it can be followed by hand.
    """

    truth: Tensor
    own_b: tuple[Tensor, ...]
    a: Tensor
    eta: float
    minimisers: tuple[Tensor, ...]
    slopes: tuple[Tensor, ...]
    b_after: Tensor
    a_after: Tensor
    case: Mapping[str, Any] | None = None

    @property
    def mean_b(self) -> Tensor:
        r"""Return $\bar b^*$, the mean."""
        return torch.stack(self.own_b).mean(dim=0)

    @property
    def gamma_squared(self) -> float:
        r"""Return $\gamma^2$ of Definition A.13, from all pairs of clients: half their mean square distance."""
        stacked = torch.cat(self.own_b)
        return float(((stacked[:, None] - stacked[None]) ** 2).sum(dim=-1).mean()) / 2.0

    def sine_squared(self, a: Tensor) -> float:
        """Return the square of the angle distance of a unit vector."""
        return float(((a - self.truth @ (self.truth.mT @ a)) ** 2).sum())

    def loss(self, a: Tensor, b: Tensor) -> float:
        """Return the global loss, by the toolkit's clients."""
        return float(torch.stack([client.loss({"W": a @ b}) for client in self.clients()]).mean())

    def clients(self) -> tuple[Regressor, ...]:
        """Return the clients under the population loss."""
        eye = torch.eye(len(self.truth), dtype=torch.float64)
        return tuple(Regressor(eye, self.truth @ b) for b in self.own_b)


def iterate(
    truth: Tensor, own_b: Sequence[Tensor], a: Tensor, eta: float, case: Mapping[str, Any] | None = None
) -> Iteration:
    """Run one iteration of the toolkit's Algorithm 2 from a."""
    start = Iteration(truth, tuple(own_b), a, eta, (), (), own_b[0], a, case)
    fed = Watched(start.clients())
    after = one_round(ExactRoLoRA(eta).round, fed, AB(Tree(W=a), Tree(W=torch.zeros_like(own_b[0]))))
    sent_b, sent_a = ([upload["W"] for upload in trip.uploads] for trip in fed.trips)
    return Iteration(truth, tuple(own_b), a, eta, tuple(sent_b), tuple(sent_a), after.B["W"], after.A["W"], case)


def by_hand(a: Sequence[str], own_b: Sequence[Sequence[str]], eta: str) -> Iteration:
    r"""Return an iteration in fractions, with $a^* = (1, 0)$."""

    def floats(numbers: Sequence[str]) -> Tensor:
        return torch.tensor([float(Fraction(number)) for number in numbers], dtype=torch.float64)

    case = {"a": list(a), "b": [list(b) for b in own_b], "eta": eta}
    truth = floats(["1", "0"])[:, None]
    return iterate(truth, [floats(b)[None] for b in own_b], floats(a)[:, None], float(Fraction(eta)), case)


def iterations(context: Context) -> list[Iteration]:
    """Run some iterations that can be followed by hand, then random ones of every kind."""
    found = [
        by_hand(["3/5", "4/5"], [["1", "0"], ["1", "0"]], "1/8"),
        by_hand(["4/5", "3/5"], [["1", "0"], ["0", "2"]], "1/4"),
        by_hand(["3/5", "-4/5"], [["1", "2"]], "1/10"),
    ]
    rng = context.rng("iterations")
    for number, d in enumerate([2, 3, 5, 8] * context.size(3, 12)):
        clients, k = 1 + number % 5, d + (number % 3 == 2)
        basis = np.linalg.qr(rng.standard_normal((d, 2)))[0]
        sine = (rng.uniform(), 0.0, 1.0, 0.999)[number % 4] if number >= 4 else rng.uniform()
        a = np.sqrt(1.0 - sine**2) * basis[:, :1] + sine * basis[:, 1:] * rng.choice([-1.0, 1.0])
        spread = (1.0, 0.0, 3.0)[number % 3]
        own_b = rng.standard_normal((1, k)) + spread * rng.standard_normal((clients, k))
        if number % 6 == 5:
            own_b -= own_b.mean(axis=0)
        tensors = [torch.from_numpy(b[None].copy()) for b in own_b]
        eta = rng.uniform(0.05, 0.5) / max(float((own_b.mean(axis=0) ** 2).sum()), 1e-3)
        found.append(iterate(torch.from_numpy(basis[:, :1].copy()), tensors, torch.from_numpy(a), eta))
    return found
