"""Cost of a run before it starts: floating-point operations and bytes, measured on one small batch of one client.

Operations of matrix products and convolutions are counted as PyTorch counts them, two for a multiplication with an
addition, forward and backward. Evaluations, decompositions and elementwise operations are left out. Texts are taken to
be as long as the longest of a batch is in the mean. Bytes are those of a first round; what a later one sends may
differ, as it does where ranks change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch.utils.flop_counter import FlopCounterMode

from algorithms.federation import Federation
from algorithms.rounds import one_round
from algorithms.tree import Tree
from rmt.results import Result
from runs.experiments import one_thread
from runs.network_problem import NetworkProblem
from runs.plan import Plan, parts_of

BATCH = 4
"""Samples of the batch on which operations are counted."""
FEW = 2 * BATCH
"""Samples of a client on which they are counted, where clients have equally many."""


@dataclass(frozen=True)
class Cost(Result):
    """Cost of one run, or of one client's round.

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
        RunError, DataError: Settings that do not serve, or data that are not here.
    """
    with one_thread():
        return _count(plan)


def _count(plan: Plan) -> Cost:
    given = plan.settings
    problem = parts_of(plan).problem
    width = problem.width_of(given["batch"]) if isinstance(problem, NetworkProblem) else None
    sizes = Federation(problem.clients, seed=0).shares
    each = float(sum(sizes)) / len(sizes)
    few = FEW if given["partition"] == "even" and each >= 2 * FEW else None
    one, two = (_of_a_client(plan, steps, few, width) for steps in (1, 2))
    step, beside = two.operations - one.operations, 2 * one.operations - two.operations
    if few is not None:
        beside += (_of_a_client(plan, 1, 2 * few, width).operations - one.operations) / few * (each - few)
    samples = each * given["epochs"] if given["epochs"] else given["steps"] * given["batch"]
    times = plan.conduct.rounds * (given["cohort"] or len(sizes))
    return Cost(times * (beside + step / BATCH * samples), times * one.bytes)


def _of_a_client(plan: Plan, steps: int, samples: int | None, width: int | None) -> Cost:
    """Return the cost of one client's round, for given numbers of steps and samples and a width of the samples."""
    few = {
        "steps": steps,
        "personal_steps": steps,
        "epochs": None,
        "personal_epochs": None,
        "batch": BATCH,
        "personal_batch": BATCH,
        "training_loss": 0,
        **({} if samples is None else {"samples": samples * plan.settings["clients"]}),
    }
    given = {**plan.settings, **{name: value for name, value in few.items() if name in plan.settings}}
    parts = parts_of(replace(plan, settings=given))
    problem = parts.problem.of_width(width) if isinstance(parts.problem, NetworkProblem) else parts.problem
    fed = Federation(problem.clients, seed=0)
    state = parts.algorithm.start(fed, Tree(parts.problem.start))
    before = fed.ledger.bytes("down") + fed.ledger.bytes("up")
    with FlopCounterMode(display=False) as counter:
        one_round(parts.algorithm.round, fed, state, 1)
    sent = fed.ledger.bytes("down") + fed.ledger.bytes("up") - before
    return Cost(float(counter.get_total_flops()), float(sent))
