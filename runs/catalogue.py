"""Algorithms and toy problems by name, with the settings that a command line can give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import Executor, FederationError, Sequential
from algorithms.fedlin import FedLin
from algorithms.fedloru import FedLoRU, FineTuneFedLoRU, NestedFedLoRU, PersonalFedLoRU
from algorithms.fedlrt import FeDLRT
from algorithms.lora import Adapter, ExactRoLoRA, FedLoRA, FFALoRA, FlexLoRA, RoLoRA
from algorithms.low_rank import Truncation
from algorithms.naive_fedlrt import NaiveFeDLRT
from algorithms.pfedlora import PersonalFedLoRA
from algorithms.vmap import Vmap
from runs.run import Algorithm, FederatedProblem
from toymodels.legendre import heterogeneous, homogeneous
from toymodels.quadratic import random_quadratics
from toymodels.regression import regression
from toymodels.ridges import ridge_problem

T = TypeVar("T")


@dataclass(frozen=True)
class TrainSettings:
    """Settings of algorithms, problems and runs; each uses those that concern it.

    Attributes:
        clients: Number of clients.
        cohort: Clients of a round; default: all.
        rounds: Rounds.
        steps: Local steps of a round.
        learning_rate: Of the local steps.
        rank: Of factors; of the start, for FeDLRT.
        tau: Rounds between accumulations (FedLoRU).
        restart: Of the factors after one (FedLoRU).
        scale: Of the product of the factors (LoRA).
        truncation: Relative threshold of singular values (FeDLRT).
        rows: Of the weights.
        columns: Of the weights.
        heterogeneity: How much clients differ.
        samples: Of each client (regression, Legendre).
        seed: Of everything random.
        executor: `sequential` or `vmap`.
    """

    clients: int = 4
    cohort: int | None = None
    rounds: int = 100
    steps: int = 10
    learning_rate: float = 0.05
    rank: int = 2
    tau: int = 10
    restart: str = "random"
    scale: float = 1.0
    truncation: float = 0.01
    rows: int = 10
    columns: int = 8
    heterogeneity: float = 0.5
    samples: int = 50
    seed: int = 0
    executor: str = "sequential"

    @property
    def local(self) -> Descent:
        """Local steps."""
        return Descent(self.steps, self.learning_rate)

    @property
    def adapter(self) -> Adapter:
        """Rank, scale and start of factors."""
        return Adapter(self.rank, self.scale, self.seed)


def _fedlrt(correction: str) -> Callable[[TrainSettings], Algorithm]:
    return lambda s: FeDLRT(s.local, s.rank, Truncation(s.truncation), correction)


ALGORITHMS: Mapping[str, Callable[[TrainSettings], Algorithm]] = {
    "fedavg": lambda s: FedAvg(s.local),
    "fedlin": lambda s: FedLin(s.local),
    "fedlrt": _fedlrt("simplified"),
    "fedlrt-full": _fedlrt("full"),
    "fedlrt-plain": _fedlrt("none"),
    "fedlora": lambda s: FedLoRA(s.local, s.adapter),
    "ffa-lora": lambda s: FFALoRA(s.local, s.adapter),
    "rolora": lambda s: RoLoRA(s.local, s.adapter),
    "flexlora": lambda s: FlexLoRA(s.local, s.adapter),
    "fedloru": lambda s: FedLoRU(s.local, s.adapter, s.tau, s.restart),
    "fedloru-finetune": lambda s: FineTuneFedLoRU(s.local, s.adapter, s.tau, s.restart),
    "pfedloru": lambda s: PersonalFedLoRU(
        s.local, s.adapter, s.tau, s.restart, personal=s.local, personal_adapter=Adapter(1, s.scale, s.seed + 1)
    ),
    "pfedlora-1": lambda s: PersonalFedLoRA(s.local, s.local, s.adapter),
    "pfedlora-2": lambda s: PersonalFedLoRA(s.local, s.local, s.adapter, jointly=True),
    "fedlrt-naive": lambda s: NaiveFeDLRT(s.local, s.rank, Truncation(s.truncation)),
    "rolora-exact": lambda s: ExactRoLoRA(s.learning_rate),
    "mfedloru": lambda s: NestedFedLoRU(
        s.local, s.adapter, s.tau, s.restart, ranks=((max(1, s.rank // 2),) * 2,) * s.clients
    ),
}


def _quadratics(low: float) -> Callable[[TrainSettings], FederatedProblem]:
    def made(s: TrainSettings) -> FederatedProblem:
        rng = np.random.default_rng(s.seed)
        return random_quadratics(
            (s.rows, s.columns), s.clients, rng, curvatures=(low, 1.0), heterogeneity=s.heterogeneity, scale=0.1
        )

    return made


def _regression(population: bool) -> Callable[[TrainSettings], FederatedProblem]:
    def made(s: TrainSettings) -> FederatedProblem:
        rng = np.random.default_rng(s.seed)
        samples = None if population else s.samples
        return regression(s.rows, s.columns, s.clients, rng, samples=samples, heterogeneity=s.heterogeneity)

    return made


def _legendre(s: TrainSettings) -> FederatedProblem:
    shape, rank = (s.rows, s.columns), min(s.rank, s.rows, s.columns)
    rng = np.random.default_rng(s.seed)
    return homogeneous(s.clients, rng, shape=shape, rank=rank, samples=s.samples * s.clients, basis="uniform")


def _legendre_heterogeneous(s: TrainSettings) -> FederatedProblem:
    rng = np.random.default_rng(s.seed)
    return heterogeneous(s.clients, rng, shape=(s.rows, s.columns), samples=s.samples * s.clients, basis="uniform")


def _ridges(profile: str) -> Callable[[TrainSettings], FederatedProblem]:
    def made(s: TrainSettings) -> FederatedProblem:
        rng = np.random.default_rng(s.seed)
        return ridge_problem(
            (s.rows, s.columns), s.clients, rng, profile=profile, samples=s.samples, heterogeneity=s.heterogeneity
        )

    return made


PROBLEMS: Mapping[str, Callable[[TrainSettings], FederatedProblem]] = {
    "quadratics": _quadratics(0.1),
    "indefinite-quadratics": _quadratics(-0.05),
    "legendre": _legendre,
    "legendre-heterogeneous": _legendre_heterogeneous,
    "regression": _regression(population=False),
    "regression-population": _regression(population=True),
    "ridges": _ridges("pseudo-huber"),
    "ridges-nonconvex": _ridges("welsch"),
}
EXECUTORS: Mapping[str, Callable[[], Executor]] = {"sequential": Sequential, "vmap": Vmap}


def algorithm_of(name: str, settings: TrainSettings) -> Algorithm:
    """An algorithm by its name.

    Raises:
        FederationError: An unknown name, or settings that it does not take.
    """
    return _named(ALGORITHMS, "algorithm", name)(settings)


def problem_of(name: str, settings: TrainSettings) -> FederatedProblem:
    """A problem by its name.

    Raises:
        FederationError: An unknown name.
    """
    return _named(PROBLEMS, "problem", name)(settings)


def executor_of(name: str) -> Executor:
    """An executor by its name.

    Raises:
        FederationError: An unknown name.
    """
    return _named(EXECUTORS, "executor", name)()


def _named(known: Mapping[str, T], kind: str, name: str) -> T:
    if name not in known:
        raise FederationError(f"unknown {kind} {name!r}; known: {', '.join(known)}")
    return known[name]
