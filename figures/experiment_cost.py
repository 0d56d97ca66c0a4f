"""What an experiment costs before it starts: floating-point operations, counted on one small batch, and hours of a GPU.

Operations of matrix products and convolutions are counted as PyTorch counts them, two for a multiplication with an
addition, forward and backward. Evaluations, decompositions and elementwise operations are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torch.utils.flop_counter import FlopCounterMode

from algorithms.federation import Federation
from algorithms.rounds import one_round
from algorithms.tree import Tree
from figures.experiment import Design, Line
from figures.figure import Settings
from runs.plan import Parts, Plan, parts_of

SUSTAINED = 1e13
"""Operations in a second that a GPU is taken to sustain, an assumption: small batches and images keep it from more."""
BATCH = 4
"""Samples of the batch on which operations are counted."""
FEW = 2 * BATCH
"""Samples of a client on which they are counted, where clients have equally many."""


def operations(line: Line, rounds: int, settings: Settings) -> float:
    """Operations of one run of a line: those of its local steps, and those of a round that come to them.

    What comes to the steps may grow with a client's data, as a gradient of all of them does; it is counted on few
    samples where clients have equally many, and all that is counted is one client's.

    Raises:
        RunError, DataError: Settings that do not serve, or data that are not here.
    """
    root = None if settings.data_root is None else str(settings.data_root)
    rate = line.options.get("learning_rate", 0.1)
    plan = line.trial(rounds, (0,), rate).plan(0, root)
    given = plan.settings
    sizes = _federation(plan)[1].weights
    each = float(sum(sizes)) / len(sizes)
    few = FEW if given["partition"] == "even" else None
    one, two = (_of_a_client(plan, steps, few) for steps in (1, 2))
    step, beside = two - one, float(2 * one - two)
    if few is not None:
        beside += (_of_a_client(plan, 1, 2 * few) - one) / few * (each - few)
    samples = each * given["epochs"] if given["epochs"] else given["steps"] * given["batch"]
    return rounds * (given["cohort"] or len(sizes)) * (beside + step / BATCH * samples)


def _of_a_client(plan: Plan, steps: int, samples: int | None) -> int:
    """Operations of a round of one client, with so many steps and samples; none: its own samples."""
    few = {
        "steps": steps, "personal_steps": steps, "epochs": None, "personal_epochs": None, "batch": BATCH,
        "personal_batch": BATCH, **({} if samples is None else {"samples": samples * plan.settings["clients"]}),
    }  # fmt: skip
    given = {**plan.settings, **{name: value for name, value in few.items() if name in plan.settings}}
    parts, fed = _federation(replace(plan, settings=given))
    state = parts.algorithm.start(fed, Tree(parts.problem.start))
    with FlopCounterMode(display=False) as counter:
        one_round(parts.algorithm.round, fed, state, 1)
    return int(counter.get_total_flops())


def _federation(plan: Plan) -> tuple[Parts, Federation]:
    parts = parts_of(plan)
    return parts, Federation(parts.problem.clients, seed=0)


def announced(designs: Design | Sequence[Design], settings: Settings, left_out: Sequence[str] = ()) -> float:
    """Tells what an experiment costs, and what the paper leaves out; returns its operations.

    Args:
        designs: The experiment, in one design or several.
        settings: Where the data lie, and whom to tell.
        left_out: Settings that are not printed, with their sources.
    """
    every = [designs] if isinstance(designs, Design) else list(designs)
    total = 0.0
    for design in every:
        for line in design.lines:
            chooses = line.tuned and len(design.rates) > 1
            rounds = design.seeds + (len(design.rates) * design.tuning_rounds / design.rounds if chooses else 0)
            total += operations(line, design.rounds, settings) * rounds
    hours = total / SUSTAINED / 3600
    settings.announce(
        f"{sum(design.runs for design in every)} runs of up to {max(design.rounds for design in every)} rounds: "
        f"{total:.1e} floating-point operations, about {hours:,.{0 if hours >= 1 else 2}f} GPU hours at "
        f"{SUSTAINED / 1e12:g} TFLOP/s sustained (assumed), evaluations not counted"
    )
    for text in left_out:
        settings.announce(f"not printed: {text}")
    return total
