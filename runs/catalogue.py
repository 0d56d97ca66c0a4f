"""Algorithms and toy problems by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import Executor, Sequential
from algorithms.fedlin import FedLin
from algorithms.fedloru import FedLoRU, FineTuneFedLoRU, NestedFedLoRU, PersonalFedLoRU
from algorithms.fedlrt import FeDLRT
from algorithms.lora import Adapter, ExactRoLoRA, FedLoRA, FFALoRA, FlexLoRA, RoLoRA
from algorithms.low_rank import Truncation
from algorithms.naive_fedlrt import NaiveFeDLRT
from algorithms.pfedlora import PersonalFedLoRA
from algorithms.vmap import Vmap
from runs.run import Algorithm, FederatedProblem
from runs.settings import RunError, TrainSettings
from toymodels.legendre import heterogeneous, homogeneous
from toymodels.quadratic import random_quadratics
from toymodels.regression import regression
from toymodels.ridges import ridge_problem

T = TypeVar("T")


def _local(s: TrainSettings) -> Descent:
    return Descent(s.steps, s.learning_rate)


def _adapter(s: TrainSettings) -> Adapter:
    return Adapter(s.rank, s.scale, s.seed)


def _fedlrt(correction: str) -> Callable[[TrainSettings], Algorithm]:
    return lambda s: FeDLRT(_local(s), s.rank, Truncation(s.truncation), correction)


ALGORITHMS: Mapping[str, Callable[[TrainSettings], Algorithm]] = {
    "fedavg": lambda s: FedAvg(_local(s)),
    "fedlin": lambda s: FedLin(_local(s)),
    "fedlrt": _fedlrt("simplified"),
    "fedlrt-full": _fedlrt("full"),
    "fedlrt-plain": _fedlrt("none"),
    "fedlora": lambda s: FedLoRA(_local(s), _adapter(s)),
    "ffa-lora": lambda s: FFALoRA(_local(s), _adapter(s)),
    "rolora": lambda s: RoLoRA(_local(s), _adapter(s)),
    "flexlora": lambda s: FlexLoRA(_local(s), _adapter(s)),
    "fedloru": lambda s: FedLoRU(_local(s), _adapter(s), s.tau, s.restart),
    "fedloru-finetune": lambda s: FineTuneFedLoRU(_local(s), _adapter(s), s.tau, s.restart),
    "pfedloru": lambda s: PersonalFedLoRU(
        _local(s), _adapter(s), s.tau, s.restart, personal=_local(s), personal_adapter=Adapter(1, s.scale, s.seed + 1)
    ),
    "pfedlora-1": lambda s: PersonalFedLoRA(_local(s), _local(s), _adapter(s)),
    "pfedlora-2": lambda s: PersonalFedLoRA(_local(s), _local(s), _adapter(s), jointly=True),
    "fedlrt-naive": lambda s: NaiveFeDLRT(_local(s), s.rank, Truncation(s.truncation)),
    "rolora-exact": lambda s: ExactRoLoRA(s.learning_rate),
    "mfedloru": lambda s: NestedFedLoRU(
        _local(s), _adapter(s), s.tau, s.restart, ranks=((max(1, s.rank // 2),) * 2,) * s.clients
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
ENTRIES: Mapping[str, Callable[[TrainSettings], int]] = {
    **dict.fromkeys(("quadratics", "indefinite-quadratics"), lambda s: s.clients * (s.rows * s.columns) ** 2),
    **dict.fromkeys(
        ("legendre", "legendre-heterogeneous"),
        lambda s: s.clients * (s.samples + s.rows * s.columns) * s.rows * s.columns,
    ),
    "regression": lambda s: s.clients * (s.rows + s.columns) * s.rows + s.samples * s.rows,
    "regression-population": lambda s: s.clients * (s.rows + s.columns) * s.rows,
    **dict.fromkeys(("ridges", "ridges-nonconvex"), lambda s: s.clients * s.samples * s.rows * s.columns),
}
"""Numbers that a problem holds at least, by its name."""
EXECUTORS: Mapping[str, Callable[[], Executor]] = {"sequential": Sequential, "vmap": Vmap}


def algorithm_of(name: str, settings: TrainSettings) -> Algorithm:
    """An algorithm by its name.

    Raises:
        RunError: An unknown name.
        FederationError: Settings that it does not take.
    """
    return _named(ALGORITHMS, "algorithm", name)(settings)


def problem_of(name: str, settings: TrainSettings) -> FederatedProblem:
    """A problem by its name.

    Raises:
        RunError: An unknown name, or more numbers than the machine's memory holds.
    """
    made = _named(PROBLEMS, "problem", name)
    remedy = "lower rows, columns, samples or clients"
    needed, memory = 8 * ENTRIES[name](settings), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > memory:
        raise RunError(f"{name} of this size takes {needed / 1e9:,.0f} GB, {memory / 1e9:,.0f} GB are here; {remedy}")
    try:
        return made(settings)
    except MemoryError as error:
        raise RunError(f"{name} of this size does not fit in memory; {remedy}") from error


def executor_of(name: str) -> Executor:
    """An executor by its name.

    Raises:
        RunError: An unknown name.
    """
    return _named(EXECUTORS, "executor", name)()


def _named(known: Mapping[str, T], kind: str, name: str) -> T:
    if name not in known:
        raise RunError(f"unknown {kind} {name!r}; known: {', '.join(known)}")
    return known[name]
