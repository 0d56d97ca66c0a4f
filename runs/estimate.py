"""Estimated time of a run, from one timed step of a client and the evaluation of the start.

Gradients over all samples of a client, as FedLin and FeDLRT take them, are left out.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from algorithms.central_training import CentralTraining
from algorithms.descent import Descent, gradient
from algorithms.federation import Clients, FederationError
from algorithms.rounds import FederatedProblem
from algorithms.tree import Tree
from runs.network_problem import NetworkProblem
from runs.plan import Parts, Plan
from workloads.progress import format_time

ENOUGH = 1.0
"""Seconds after which one step is not timed a second time, to leave the first step's overhead out."""


@dataclass(frozen=True)
class Estimate:
    """Estimated time of the remaining rounds.

    Attributes:
        steps: Local steps of all clients in all rounds, rounded.
        step: Seconds of one.
        evaluations: Number of evaluations.
        evaluation: Seconds of one; none: unknown, and left out of the time.
        workers: Number of processes among which the steps are divided.
    """

    steps: int
    step: float
    evaluations: int
    evaluation: float | None
    workers: int = 1

    @property
    def seconds(self) -> float:
        """Seconds in all."""
        return self.steps * self.step / self.workers + self.evaluations * (self.evaluation or 0.0)

    def __str__(self) -> str:
        evaluation = "that are not counted" if self.evaluation is None else f"of {_format_short(self.evaluation)}"
        return (
            f"about {format_time(self.seconds)}: {self.steps:,} local steps of {_format_short(self.step)}, and "
            f"{self.evaluations:,} evaluations {evaluation}; fewer --rounds, --samples or --cohort shorten it"
        )


def estimate(plan: Plan, parts: Parts, done: int, evaluation: float | None) -> Estimate | None:
    """Estimate the time of the remaining rounds.

    Args:
        plan: The run.
        parts: Its algorithm, problem and executor.
        done: Number of rounds that are done.
        evaluation: Seconds of one evaluation, as the start took; none: a resumed run has not evaluated yet.

    Returns:
        The estimate, or None where the clients train no network, or do not do so by local steps.
    """
    local = getattr(parts.algorithm, "local", None)
    if not isinstance(local, Descent) or not isinstance(parts.problem, NetworkProblem):
        return None
    sizes = _sizes(parts.problem)
    if isinstance(parts.algorithm, CentralTraining):
        sizes = [sum(sizes)]
    cohort = min(plan.settings["cohort"] or len(sizes), len(sizes))
    trained = getattr(parts.algorithm, "descents", (local,))
    each = sum(steps_of(one, size) for one in trained for size in sizes) / len(sizes)
    rounds, every = plan.conduct.rounds, plan.conduct.evaluate_every
    left, workers = rounds - done, min(plan.conduct.workers, cohort)
    evaluations = rounds // every - done // every + bool(left and rounds % every)  # the last round is always evaluated
    try:
        step = _step(local, parts)
    except (FederationError, RuntimeError):  # the round that takes such a step names the client and the cause
        return None
    return Estimate(round(left * cohort * each), step, evaluations, evaluation, workers)


def _format_short(seconds: float) -> str:
    """Format seconds with three digits, below one as milliseconds, and long times as in the sum.

    >>> _format_short(0.25), _format_short(0.9996), _format_short(1.434), _format_short(1434.0)
    ('250 ms', '1 s', '1.43 s', '23:54 min')
    """
    if seconds < 0.9995:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 999.5 else format_time(seconds)


def steps_of(local: Descent, samples: float) -> int:
    """Return the number of local steps in a round of a client with a given number of samples."""
    if local.epochs is None:
        return local.steps
    return local.epochs * (1 if local.batch is None else ceil(samples / local.batch))


def _sizes(problem: FederatedProblem) -> Sequence[float]:
    """Return samples of each client."""
    clients = problem.clients
    return clients.sizes if isinstance(clients, Clients) else [client.samples for client in clients]


def _step(local: Descent, parts: Parts) -> float:
    """Return the seconds of one gradient, on a batch of the client with the most samples."""
    client, w = parts.problem.clients[int(np.argmax(_sizes(parts.problem)))], Tree(parts.problem.start)
    drawn = local.draw(client, np.random.default_rng(0))
    batch = None if drawn is None else drawn[0]

    def timed() -> float:
        started = time.perf_counter()
        slopes = gradient(client, w, batch=batch)
        float(next(iter(slopes.values())).sum())  # which waits for a device
        return time.perf_counter() - started

    first = timed()
    return first if first > ENOUGH else min(first, timed())
