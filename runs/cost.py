"""Cost of a run before it starts: floating-point operations and bytes, measured on one small batch of one client.

Operations of matrix products and convolutions are counted as PyTorch counts them, two for a multiplication with an
addition, forward and backward. Evaluations, decompositions and elementwise operations are left out. Texts are taken to
be as long as the longest of a batch is in the mean. A round may cost more after every accumulation, because clients
keep the accumulated pairs as factors, so operations are counted before and after one accumulation and extended
linearly. Bytes are those before the first round, of the first two, and of a round that accumulates; what later ones
send may differ, as it does where ranks change or clients have their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.flop_counter import FlopCounterMode

from algorithms.descent import Descent
from algorithms.federation import Federation
from algorithms.rounds import one_round
from algorithms.tree import Tree
from rmt.results import Result
from runs.catalogue import PER_CLIENT
from runs.experiments import one_thread
from runs.network_problem import NetworkProblem
from runs.plan import Plan, parts_of

BATCH = 4
"""Samples of the batch on which operations are counted."""
FEW = 2 * BATCH
"""Samples of a client on which they are counted, where clients have equally many."""
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


def cost_of(plan: Plan) -> Cost:
    """Return the cost of a run that trains a network: of its local steps, and of the rest of its rounds.

    The rest may grow with a client's data, as a gradient over all of them does; it is counted on few
    samples where clients have equally many, and all that is counted is one client's.

    Raises:
        RunError, DataError: The settings are not valid, or the data are missing.
    """
    with one_thread():
        return _count(plan)


def _count(plan: Plan) -> Cost:
    given = plan.settings
    parts = parts_of(plan)
    width = parts.problem.width_of(given["batch"]) if isinstance(parts.problem, NetworkProblem) else None
    sizes = Federation(parts.problem.clients, seed=0).shares
    each = float(sizes.mean())
    few = FEW if given["partition"] == "even" and each >= 2 * FEW else None

    def run(samples: int | None = few, after: int = 0, cohort: int = 1, **changes: int) -> _Round:
        return _one_round(plan, {**ONE_STEP, **changes}, samples, width, after, cohort)

    def operations_of_a_client(one: float, after: int = 0) -> float:
        """Return the operations of one client's round after so many others, from those with one step on few samples."""
        beside, all_steps = one, 0.0
        for name, kind in (("steps", "local"), ("personal_steps", "personal")):
            local = getattr(parts.algorithm, kind, None)
            if not isinstance(local, Descent):
                continue
            step = run(after=after, **{name: 2}).operations - one
            beside -= step
            all_steps += step / BATCH * _mean_samples(local, sizes)
        if few is not None:
            beside += (run(2 * few, after).operations - one) / few * (each - few)
        return beside + all_steps

    rounds, cohort, one = plan.conduct.rounds, given["cohort"] or len(sizes), run()
    first = operations_of_a_client(one.operations)
    # What a client may lack after rounds without it is sent from the second round on; changes of ranks are unknown.
    later = one if "truncation" in given else run(after=1, tau=3)  # neither of the two rounds accumulates
    operations = rounds * first
    sent = one.before + one.of_a_cohort(cohort) + (rounds - 1) * later.of_a_cohort(cohort)
    if "tau" in given and rounds >= given["tau"]:
        sent += rounds // given["tau"] * (run(tau=1).of_a_cohort(cohort) - one.of_a_cohort(cohort))
        accumulated = sum(done // given["tau"] for done in range(rounds))  # before each round, over all rounds
        after = ONE_STEP["tau"]  # rounds until one accumulation
        operations += accumulated * (operations_of_a_client(run(after=after).operations, after) - first)
    if cohort > 1:  # what is sent to all may have a part for each client of the cohort, as stacked factors do
        sent += rounds * (cohort - 1) * (run(cohort=2).broadcast - one.broadcast)
    return Cost(cohort * operations, sent)


def _mean_samples(local: Descent, sizes: NDArray[np.float64]) -> float:
    """Return the samples of all local steps of a client in a round, in the mean over the clients."""
    if local.epochs is not None:
        return local.epochs * float(sizes.mean())
    return local.steps * float(np.minimum(local.batch or np.inf, sizes).mean())


@dataclass(frozen=True)
class _Round:
    """The cost of a round of one client.

    Attributes:
        operations: Floating-point operations.
        before: Bytes that are sent before the first round.
        to_cohort: Bytes sent to or from the clients of the round.
        broadcast: Bytes sent to all clients.
    """

    operations: float
    before: float
    to_cohort: float
    broadcast: float

    def of_a_cohort(self, clients: int) -> float:
        """Return the bytes of a round of so many clients."""
        return self.broadcast + clients * self.to_cohort


def _one_round(
    plan: Plan, steps: Mapping[str, Any], samples: int | None, width: int | None, after: int, cohort: int
) -> _Round:
    """Run a round on small batches, for given steps, samples and width, after other rounds, which are not counted.

    With a cohort of more than one client, only the broadcasts are meant.
    """
    few = {
        **steps,
        "batch": BATCH,
        "personal_batch": BATCH,
        "training_loss": 0,
        **({} if samples is None else {"samples": samples * plan.settings["clients"]}),
    }
    given = {**plan.settings, **{name: value for name, value in few.items() if name in plan.settings}}
    parts = parts_of(replace(plan, settings=given))
    problem = parts.problem.of_width(width) if isinstance(parts.problem, NetworkProblem) else parts.problem
    # If all clients take part, the first ones alone are a federation in which all take part.
    all_take_part = plan.settings["cohort"] in (None, len(problem.clients))
    whole = not all_take_part or any(plan.settings.get(name) for name in PER_CLIENT)
    fed = Federation(problem.clients if whole else [problem.clients[k] for k in range(cohort)], seed=0)
    state = parts.algorithm.start(fed, Tree(parts.problem.start))
    scale = len(problem.clients) / len(fed.clients)
    before = fed.ledger.bytes() * scale
    for _ in range(after):
        state = one_round(parts.algorithm.round, fed, state, 1)
    with FlopCounterMode(display=False) as counter:
        one_round(parts.algorithm.round, fed, state, cohort)
    sent = [entry for entry in fed.ledger.entries if entry.round > after]
    told = sum(entry.bytes for entry in sent if entry.what == "tell")
    to_cohort, broadcast = sum(entry.bytes for entry in sent) - told, told * scale
    return _Round(float(counter.get_total_flops()), before, to_cohort, broadcast)
