"""Rounds of the algorithms with every value that their boxes name, from the algorithms as they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from algorithms.adapter import AB, Adapter, LoRAState
from algorithms.descent import Descent
from algorithms.exact_rolora import ExactRoLoRA
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.context import Context
from paper_checks.recorded_federation import Seen, Watched
from toymodels.quadratic import Quadratic, random_quadratics
from toymodels.regression import Regressor

SCOPE = (
    "quadratic losses of 1 to 4 clients, square, tall and wide weights, ranks 1 to the smaller side; how clients train "
    "is not printed beyond gradient descent in Algorithm 1: here by 3 steps of it"
)


@dataclass(frozen=True)
class Round:
    """One round of an algorithm in A and B.

    Attributes:
        clients: Losses.
        base: Frozen weights.
        before: Factors at the start.
        after: Factors at the end.
        trips: Trips of the round, with what travelled.
        up: Numbers a client sent on each trip.
        alpha: Scale of the product.
    """

    clients: tuple[Quadratic, ...]
    base: Tensor
    before: AB
    after: AB
    trips: tuple[Seen, ...]
    up: tuple[float, ...]
    alpha: float


Algorithm = Callable[[Adapter], Any]


def rounds_of(context: Context, algorithm: Algorithm, rounds: int = 3) -> list[Round]:
    """Run some rounds on every kind of federation, from factors that are both not zero."""
    rng = context.rng("federations")
    found = []
    for number, (shape, rank) in enumerate([((4, 4), 1), ((5, 3), 2), ((3, 6), 3), ((1, 2), 1)] * context.size(1, 4)):
        made = random_quadratics(shape, 1 + (number + 1) % 4, rng)
        adapter = Adapter(rank, float(rng.choice([0.5, 2.0])))
        chosen, fed = algorithm(adapter), Watched(tuple(made.clients))
        A, B = (torch.from_numpy(0.5 * rng.standard_normal(size)) for size in ((shape[0], rank), (rank, shape[1])))
        factors, base = AB(Tree(W=A), Tree(W=B)), Tree(made.start)
        chosen.start(fed, base)
        fed.set_shared(A=factors.A, B=factors.B)
        state = LoRAState(base, factors)
        for turn in range(1, rounds + 1):
            before, state = state, one_round(chosen.round, fed, state)
            up = tuple(
                entry.entries / len(fed.clients)
                for entry in fed.ledger.entries
                if entry.round == turn and entry.direction == "up"
            )
            found.append(
                Round(
                    tuple(made.clients), base["W"], before.factors, state.factors, tuple(fed.trips), up, adapter.scale
                )
            )
    return found


LOCAL = Descent(3, 0.02)


def descend(one: Round, client: Quadratic, A: Tensor, B: Tensor, train: str, rate: float) -> tuple[Tensor, Tensor]:
    """Take local steps in A, B or both, written out."""
    for _ in range(LOCAL.steps):
        slope = one.alpha * client.gradient({"W": one.base + one.alpha * A @ B})["W"]
        step_A, step_B = slope @ B.mT, A.mT @ slope
        A = A - rate * LOCAL.rate() * step_A if "A" in train else A
        B = B - rate * LOCAL.rate() * step_B if "B" in train else B
    return A, B


@dataclass(frozen=True)
class Iteration:
    """One iteration of Algorithm 2 on regression data.

    Attributes:
        X: Samples of every client; none for the population loss.
        truth: $a^*$, ``(d, 1)``.
        own_b: $b_i^*$ of every client, ``(1, d)``.
        a: Before.
        a_after: After.
        b_after: The mean of the minimisers.
        eta: Step.
    """

    X: tuple[Tensor, ...]
    truth: Tensor
    own_b: tuple[Tensor, ...]
    a: Tensor
    a_after: Tensor
    b_after: Tensor
    eta: float

    def mean_of_minimisers(self) -> Tensor:
        """Return the mean of the minimisers: least squares on samples, or the closed form for the population loss."""
        if not self.X:
            return torch.stack([float((self.truth * self.a).sum()) * b for b in self.own_b]).mean(dim=0)
        pairs = zip(self.X, self.own_b, strict=True)
        found = [torch.linalg.lstsq(X @ self.a, X @ self.truth @ b).solution for X, b in pairs]
        return torch.stack(found).mean(dim=0)


def exact_iterations(context: Context, population: bool, frozen: bool = False) -> list[Iteration]:
    """Run two iterations on every kind of regression, clients alike and not."""
    rng = context.rng("regressions")
    found = []
    for number, (d, m) in enumerate([(2, 3), (3, 4), (5, 2), (8, 40)] * context.size(1, 5)):
        N = 1 + number % 4
        truth = torch.linalg.qr(torch.from_numpy(rng.standard_normal((d, 1))))[0]
        spread = float(number % 2) if not population else 1.0
        common = rng.standard_normal((1, d))
        own_b = tuple(torch.from_numpy(common + spread * rng.standard_normal((1, d))) for _ in range(N))
        X = () if population else tuple(torch.from_numpy(rng.standard_normal((m, d))) for _ in range(N))
        eye = torch.eye(d, dtype=torch.float64)
        grams = [eye] * N if population else [x.mT @ x / m for x in X]
        clients = tuple(Regressor(G, truth @ b) for G, b in zip(grams, own_b, strict=True))
        eta = float(rng.uniform(0.05, 0.5)) / max(float((b**2).sum()) for b in own_b)
        algorithm = ExactRoLoRA(eta, rounds_of_b_only=frozen)
        fed = Watched(clients)
        state = algorithm.start(fed, Tree(W=torch.from_numpy(rng.standard_normal((d, d)))))
        for _ in (1, 2):
            before, state = state, one_round(algorithm.round, fed, state)
            found.append(Iteration(X, truth, own_b, before.A["W"], state.A["W"], state.B["W"], eta))
    return found
