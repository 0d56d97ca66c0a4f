"""Cost of a run before it starts: floating-point operations and bytes, measured on one small batch of one client.

`forecast` counts the bytes alone, of any run.

Operations of matrix products and convolutions are counted as PyTorch counts them, two for a multiplication with an
addition, forward and backward. Evaluations, decompositions and elementwise operations are left out. Texts are taken to
be as long as the longest of a batch is in the mean. A round may cost more after every accumulation, because clients
keep the accumulated pairs as factors, so operations are counted before and after one accumulation and extended
linearly. Bytes are those before the first round, of the first two, and of a round that accumulates; what later ones
send may differ, as it does where ranks change. Where clients have ranks of their own, the rounds are of all clients.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import nextafter, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch.utils.flop_counter import FlopCounterMode

from algorithms.descent import Descent
from algorithms.federation import Federation
from algorithms.fedex_lora import FedExLoRA
from algorithms.ledger import Entry
from algorithms.rounds import one_round
from algorithms.tree import Tree
from rmt.results import Result
from runs.catalogue import PER_CLIENT
from runs.estimate import Estimate, estimate
from runs.experiments import one_thread
from runs.network_problem import NetworkProblem
from runs.plan import Build, Parts, Plan, build_problem, parts_of

BATCH = 4
"""Samples of the batch on which operations are counted, unless a client has fewer."""
FEW = 2 * BATCH
"""Samples of a client on which they are counted, where clients have equally many."""
PROBLEMS = 3
"""Problems of a run's rounds: with all samples, and with `FEW` or twice as many of each client."""
NO_PRUNING: Mapping[str, Any] = {"decay": nextafter(1.0, 0.0)}
"""HetLoRA's decay, if it is below 1, so that clients report whether they prune, and no rank changes."""
ONE_STEP: Mapping[str, Any] = {"steps": 1, "personal_steps": 1, "epochs": None, "personal_epochs": None, "tau": 2}
"""A first round with one local step of each kind, which does not accumulate."""


@dataclass(frozen=True)
class Cost(Result):
    """Cost of one run.

    Attributes:
        operations: Floating-point operations.
        bytes: Bytes that travel, down and up.
    """

    operations: float
    bytes: float


@dataclass(frozen=True)
class Forecast(Result):
    """Size of a run before it starts.

    Attributes:
        clients: Number of clients.
        samples: Training samples of all clients; None for a toy problem.
        weights: Numbers in the weights that an algorithm trains or adds factors to.
        down: Bytes to all clients in all rounds.
        up: Bytes to the server.
        start: Bytes that each client receives before the first round.
        received: Bytes that a client of the cohort receives in a round, in the mean over the rounds; of `largest_rank`,
            if clients have ranks of their own.
        sent: Bytes that it sends.
        largest_rank: Largest rank of a client, if clients have ranks of their own; else None.
        unless: Assumption of the bytes, in words; empty if they are exact.
        time: Estimated time of the local steps; None where no network is trained by such steps.
    """

    clients: int
    samples: int | None
    weights: int
    down: float
    up: float
    start: float
    received: float
    sent: float
    largest_rank: int | None
    unless: str
    time: Estimate | None


def forecast(plan: Plan) -> Forecast:
    """Return the size of a run.

    The bytes are exact unless ranks change, or clients have ranks of their own and take part in only some rounds: then
    they are the mean over the cohorts.

    Raises:
        RunError, DataError: The settings are not valid, or the data are missing.
        FederationError: A round fails.
    """
    with one_thread():
        small = _SmallRounds.of(plan, built_once())
        problem, traffic = small.parts.problem, small.traffic()
        down, up = map(float, traffic.total)
        start = float(traffic.before[0]) / len(problem.clients)
        received, sent = map(float, small.of_a_client(traffic))
        samples = int(sum(problem.clients.sizes)) if isinstance(problem, NetworkProblem) else None
        weights = sum(prod(weight.shape) for weight in problem.start.values())
        time = estimate(plan, small.parts, 0, None)
        rank, unless = small.largest_rank, small.unless
        each = start, received, sent, rank
        return Forecast(len(problem.clients), samples, weights, down, up, *each, unless, time)


def built_once() -> Build:
    """Return `build_problem` with a memory of its last few problems, for plans that share them."""
    return lru_cache(PROBLEMS)(build_problem)


def cost_of(plan: Plan, build: Build | None = None) -> Cost:
    """Return the cost of a run that trains a network: of its local steps, and of the rest of its rounds.

    The rest may grow with a client's data, as a gradient over all of them does; it is counted on few
    samples where clients have equally many, and all that is counted is one client's.

    Args:
        plan: The run.
        build: From `built_once`, if the costs of several plans are asked for.

    Raises:
        RunError, DataError: The settings are not valid, or the data are missing.
    """
    with one_thread():
        return _count(plan, build or built_once())


def _count(plan: Plan, build: Build) -> Cost:
    small = _SmallRounds.of(plan, build)
    given, few, run = plan.settings, small.few, small.run
    each = float(small.sizes.mean())

    def operations_of_a_client(one: float, after: int = 0) -> float:
        """Return the operations of one client's round after so many others, from those with one step on few samples."""
        beside, all_steps = one, 0.0
        for name, kind in (("steps", "local"), ("personal_steps", "personal")):
            local = getattr(small.parts.algorithm, kind, None)
            if not isinstance(local, Descent):
                continue
            step = run(after=after, **{name: 2}).operations - one
            beside -= step
            all_steps += step / small.batch * _mean_samples(local, small.sizes)
        if few is not None:
            beside += (run(2 * few, after).operations - one) / few * (each - few)
        return beside + all_steps

    rounds, one = plan.conduct.rounds, run()
    first = operations_of_a_client(one.operations)
    operations = rounds * first
    if "tau" in given and rounds >= given["tau"]:
        accumulated = sum(done // given["tau"] for done in range(rounds))  # before each round, over all rounds
        after = ONE_STEP["tau"]  # rounds until one accumulation
        operations += accumulated * (operations_of_a_client(run(after=after).operations, after) - first)
    return Cost(small.cohort * operations, float(small.traffic(one).total.sum()))


@dataclass(frozen=True, eq=False)
class _SmallRounds:
    """Rounds of a plan on small batches.

    Attributes:
        plan: The run.
        parts: Its algorithm and problem.
        sizes: Samples of each client.
        few: Samples of a client, where clients have equally many; else None, which leaves all of them.
        build: Returns the problems.
    """

    plan: Plan
    parts: Parts
    sizes: NDArray[np.float64]
    few: int | None
    build: Build

    @classmethod
    def of(cls, plan: Plan, build: Build) -> _SmallRounds:
        parts = parts_of(plan, build)
        sizes = Federation(parts.problem.clients, seed=0).shares
        even = plan.settings.get("partition") == "even" and float(sizes.mean()) >= 2 * FEW
        return cls(plan, parts, sizes, FEW if even else None, build)

    @property
    def batch(self) -> int:
        """Samples of the batch of a local step; every client has as many. Toy problems are counted as with `BATCH`."""
        return min(BATCH, int(self.sizes.min())) if "partition" in self.plan.settings else BATCH

    @property
    def cohort(self) -> int:
        """Clients of a round."""
        return self.plan.settings["cohort"] or len(self.sizes)

    @property
    def own_ranks(self) -> tuple[int, ...]:
        """Ranks of the clients, if they have their own; else empty."""
        found = (getattr(self.parts.algorithm, name, None) for name in PER_CLIENT)
        return next((ranks for ranks in found if ranks), ())

    @property
    def largest_rank(self) -> int | None:
        """Largest rank of a client, if they have their own."""
        return max(self.own_ranks, default=None)

    @property
    def unless(self) -> str:
        """Assumption of the bytes of the run, in words; empty if they are exact."""
        if "truncation" in self.plan.settings or self.plan.settings.get("decay", 1.0) < 1.0:
            return "if ranks stay as at the start"
        return "in the mean over the cohorts" if self.own_ranks and self.cohort < len(self.sizes) else ""

    def run(self, samples: int | None = None, after: int = 0, cohort: int = 1, **changes: Any) -> _Round:
        """Run one round after others, with one local step of each kind or other numbers of them, on small batches.

        Toy problems keep their batches, because some use all of their data in each step.
        """
        small = {"batch": self.batch, "personal_batch": self.batch} if "partition" in self.plan.settings else {}
        steps = {**ONE_STEP, **small, **changes}
        problem = self.parts.problem
        width = problem.width_of(self.plan.settings["batch"]) if isinstance(problem, NetworkProblem) else None
        few = self.few if samples is None else samples
        return _one_round(self.plan, self.build, steps, few, width, after, cohort)

    def traffic(self, one: _Round | None = None) -> _Traffic:
        """Return the bytes of the whole run.

        Args:
            one: Its first round for one client, if that has been run; not used if clients have ranks of their own.
        """
        given, rounds, cohort = self.plan.settings, self.plan.conduct.rounds, self.cohort
        if one is None or self.own_ranks:
            one = self.run(cohort=len(self.sizes) if self.own_ranks else 1)
        every = one.cohort
        # What a client may lack after rounds without it is sent from the second round on; changes of ranks are unknown.
        # Neither of the two rounds accumulates.
        later = one if "truncation" in given else self.run(after=1, tau=3, cohort=every)
        kinds = [(one, 1), (later, rounds - 1)]
        if "tau" in given and rounds >= given["tau"]:
            accumulations = rounds // given["tau"]
            kinds += [(self.run(tau=1, cohort=every), accumulations), (one, -accumulations)]
        to_cohort, broadcast = np.zeros(2), np.zeros(2)
        for kind, number in kinds:
            to_cohort += number * cohort / every * kind.to_cohort
            broadcast += number * kind.broadcast
        algorithm = self.parts.algorithm
        if isinstance(algorithm, FedExLoRA) and algorithm.residual_rank is not None:
            # The residual has `rank` columns for each client but one, and at most `residual_rank`.
            enough = min(cohort, algorithm.residual_rank // algorithm.adapter.rank + 2)
            several = one if enough == every else self.run(cohort=enough)
            broadcast += rounds * (several.broadcast - one.broadcast)
        elif cohort != every:  # other messages to all may have a part for each client of the cohort, as stacks do
            alone, several = (one.broadcast, self.run(cohort=2)) if every == 1 else (self._broadcast_of_one(), one)
            broadcast += rounds * (cohort - every) * (several.broadcast - alone) / (several.cohort - 1)
        return _Traffic(one.before, to_cohort, broadcast)

    def _broadcast_of_one(self) -> NDArray[np.float64]:
        """Return the bytes sent to all clients in a round of one client, in the mean over the clients' ranks."""
        ranks = self.own_ranks
        return sum((ranks.count(rank) * self._of_rank(rank).broadcast for rank in set(ranks)), np.zeros(2)) / len(ranks)

    def _of_rank(self, rank: int, after: int = 0) -> _Round:
        """Return a round of one client among clients of equal rank, where they have ranks of their own."""
        name = next(name for name in PER_CLIENT if getattr(self.parts.algorithm, name, None))
        alike: dict[str, Any] = {name: (rank,) * len(self.sizes), **({"tau": 3} if after else {})}
        return self.run(after=after, **alike)

    def of_a_client(self, traffic: _Traffic) -> NDArray[np.float64]:
        """Return the bytes of a client of the cohort in a round, down and up, in the mean over the rounds.

        If clients have ranks of their own, it is one of the largest rank.
        """
        rounds, rank = max(1, self.plan.conduct.rounds), self.largest_rank
        own = traffic.to_cohort / rounds / self.cohort if rank is None else self._of_rank(rank, after=1).to_cohort
        return own + traffic.broadcast / rounds / len(self.sizes)


class _Traffic(NamedTuple):
    """Bytes of a run, down and up.

    Attributes:
        before: Bytes before the first round.
        to_cohort: Bytes to and from the clients of the rounds.
        broadcast: Bytes sent to all clients in the rounds.
    """

    before: NDArray[np.float64]
    to_cohort: NDArray[np.float64]
    broadcast: NDArray[np.float64]

    @property
    def total(self) -> NDArray[np.float64]:
        """All bytes."""
        return self.before + self.to_cohort + self.broadcast


def _mean_samples(local: Descent, sizes: NDArray[np.float64]) -> float:
    """Return the samples of all local steps of a client in a round, in the mean over the clients."""
    if local.epochs is not None:
        return local.epochs * float(sizes.mean())
    return local.steps * float(np.minimum(local.batch or np.inf, sizes).mean())


@dataclass(frozen=True)
class _Round:
    """The cost of a round of a few clients.

    Attributes:
        cohort: Number of clients in the round.
        operations: Floating-point operations.
        before: Bytes that are sent before the first round, down and up, as the others are.
        to_cohort: Bytes sent to or from the clients of the round.
        broadcast: Bytes sent to all clients.
    """

    cohort: int
    operations: float
    before: NDArray[np.float64]
    to_cohort: NDArray[np.float64]
    broadcast: NDArray[np.float64]


def _one_round(
    plan: Plan, build: Build, steps: Mapping[str, Any], samples: int | None, width: int | None, after: int, cohort: int
) -> _Round:
    """Run a round for given steps, batches, samples and width, after other rounds, which are not counted.

    Clients with ranks of their own all take part in the other rounds too if all take part in the run; else one client
    does.
    """
    few = {**steps, "training_loss": 0, **({} if samples is None else {"samples": samples * plan.settings["clients"]})}
    few |= NO_PRUNING if plan.settings.get("decay", 1.0) < 1.0 else {}
    given = {**plan.settings, **{name: value for name, value in few.items() if name in plan.settings}}
    parts = parts_of(replace(plan, settings=given), build)
    problem = parts.problem.of_width(width) if isinstance(parts.problem, NetworkProblem) else parts.problem
    # If all clients take part, the first ones alone are a federation in which all take part.
    all_take_part = plan.settings["cohort"] in (None, len(problem.clients))
    whole = not all_take_part or any(getattr(parts.algorithm, name, None) for name in PER_CLIENT)
    clients = problem.clients if whole else [problem.clients[k] for k in range(cohort)]
    fed = Federation(clients, seed=0, known=getattr(parts.problem, "known", ()))
    state = parts.algorithm.start(fed, Tree(parts.problem.start))
    scale = len(problem.clients) / len(fed.clients)
    before = _bytes_of(fed.ledger.entries) * scale
    for _ in range(after):
        state = one_round(parts.algorithm.round, fed, state, cohort if all_take_part else 1)
    with FlopCounterMode(display=False) as counter:
        one_round(parts.algorithm.round, fed, state, cohort)
    sent = [entry for entry in fed.ledger.entries if entry.round > after]
    told = _bytes_of([entry for entry in sent if entry.what == "tell"])
    return _Round(cohort, float(counter.get_total_flops()), before, _bytes_of(sent) - told, told * scale)


def _bytes_of(entries: Iterable[Entry]) -> NDArray[np.float64]:
    """Return the bytes of messages, down and up."""
    sizes = {"down": 0.0, "up": 0.0}
    for entry in entries:
        sizes[entry.direction] += entry.bytes
    return np.array([sizes["down"], sizes["up"]])
