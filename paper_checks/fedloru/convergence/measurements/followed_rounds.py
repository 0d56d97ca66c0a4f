"""Rounds of FedLoRU followed value by value, by hand and as the algorithm runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from algorithms.adapter import AB, Adapter
from algorithms.descent import Descent
from algorithms.federation import Federation
from algorithms.fedloru import RESTARTS, FedLoRU, FedLoRUState, Restart
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.context import Context
from toymodels.quadratic import Quadratic, centred, random_quadratics

HAND = {"W": 0.0, "A": 1.0, "B": 1.0, "target": 3.0, "alpha": 2.0, "rate": 0.125, "tau": 2, "rounds": 3}
"""A run by hand: one weight W, one client with loss (w - target)^2 / 2, one local step a round."""


@dataclass(frozen=True)
class Run:
    """A federation with quadratic losses, a start, and the settings of FedLoRU.

    Attributes:
        clients: Losses.
        W: Start of the weights, ``(m, n)``.
        A: Start of A, ``(m, r)``.
        B: Start of B, ``(r, n)``.
        alpha: Scale of the product.
        tau: Accumulation cycle.
        rounds: T.
        local: Local steps.
        case: The run in plain numbers, if it can be followed by hand.
    """

    clients: tuple[Quadratic, ...]
    W: Tensor
    A: Tensor
    B: Tensor
    alpha: float
    tau: int
    rounds: int
    local: Descent
    case: Mapping[str, Any] | None = None

    @property
    def factors(self) -> AB:
        """Return the start of both factors."""
        return AB(Tree(W=self.A), Tree(W=self.B))

    @property
    def adapter(self) -> Adapter:
        """Return the rank and scale."""
        return Adapter(self.A.shape[1], self.alpha)


def by_hand(**changes: Any) -> Run:
    """Return the run by hand, with other numbers."""
    case = {**HAND, **changes}
    W, A, B = (torch.tensor([[case[name]]], dtype=torch.float64) for name in ("W", "A", "B"))
    clients = (centred([[1.0]], [[case["target"]]]),)
    return Run(clients, W, A, B, case["alpha"], case["tau"], case["rounds"], Descent(1, case["rate"]), case)


def draw_runs(context: Context) -> list[Run]:
    """Return the run by hand, T a multiple of tau and not; then tall, wide and square weights, several clients."""
    runs = [by_hand(), by_hand(rounds=2)]
    rng = context.rng("runs")
    kinds = [
        ((4, 3), 2, 0.5, 2, 5, 3, -0.2),
        ((2, 5), 1, 2.0, 1, 2, 2, 0.1),
        ((3, 3), 3, 1.0, 3, 7, 1, 0.1),
        ((1, 4), 1, 2.0, 1, 3, 3, -0.2),
    ]
    for shape, rank, alpha, tau, rounds, clients, least in kinds * context.size(1, 4):
        made = random_quadratics(shape, clients, rng, curvatures=(least, 1.0))
        A, B = (torch.from_numpy(0.3 * rng.standard_normal(size)) for size in ((shape[0], rank), (rank, shape[1])))
        runs.append(Run(tuple(made.clients), made.start["W"], A, B, alpha, tau, rounds, Descent(3, 0.01)))
    return runs


SCOPE = (
    "a run by hand and runs with quadratic losses, convex and indefinite, on tall, wide and square weights, ranks from "
    "1 to the smaller side, 1 to 3 clients, alpha 1/2, 1 and 2, tau from 1 to 3, T a multiple of tau and not"
)


@dataclass(frozen=True)
class Round:
    """Results of one round.

    Attributes:
        aggregated: A_t and B_t, as the server has them before any restart.
        base: W as the clients had it in the round.
        starts_from: The model that the next round starts from.
        factors: The factors that it starts from.
    """

    aggregated: AB
    base: Tree
    starts_from: Tree
    factors: AB


@dataclass(frozen=True)
class Followed:
    """A run, round by round, with W as the clients hold it at the end, and the factors that FedLoRU draws to start."""

    run: Run
    rounds: tuple[Round, ...]
    copy: Tree
    drawn: AB

    def model(self, t: int) -> Tree:
        """Return the model that round t (from 1) trained: W and the averaged product, before any restart."""
        return self.run.adapter.weights(self.rounds[t - 1].base, self.rounds[t - 1].aggregated)

    def is_accumulated(self, t: int) -> bool:
        """Return whether round t ends an accumulation cycle."""
        return t % self.run.tau == 0


def executed(run: Run, algorithm: FedLoRU, fed: Federation, state: FedLoRUState) -> Iterator[tuple[FedLoRUState, ...]]:
    """Every round: the state with the averaged factors before any accumulation, and the state after it."""
    for t in range(1, run.rounds + 1):
        base = state.base
        state = one_round(algorithm.round, fed, state)
        aggregated = state.factors if t % run.tau else fed.state.shared["accumulated"]
        yield FedLoRUState(base, aggregated, t), state


def follow(run: Run, restart: Restart) -> Followed:
    """Run Algorithm 1; `momentum` is the listing, which has no restart."""
    algorithm = FedLoRU(run.local, run.adapter, run.tau, restart)
    fed = Federation(run.clients)
    drawn = algorithm.start(fed, Tree(W=run.W))
    start = drawn._replace(factors=run.factors)
    rounds = [
        Round(reached.factors, reached.base, algorithm.weights(after), after.factors)
        for reached, after in executed(run, algorithm, fed, start)
    ]
    return Followed(run, tuple(rounds), fed.state.shared["base"], drawn.factors)


Followings = Mapping[str, tuple[Followed, ...]]


def follow_all(context: Context) -> Followings:
    """Follow every run under every restart."""
    runs = draw_runs(context)
    return {restart: tuple(follow(run, restart) for run in runs) for restart in RESTARTS}
