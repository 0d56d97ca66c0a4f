"""What an experiment costs before it starts: floating-point operations, counted on one small batch, and hours of a GPU.

Operations of matrix products and convolutions are counted as PyTorch counts them, two for a multiplication with an
addition, forward and backward. Evaluations, decompositions and elementwise operations are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch.utils.flop_counter import FlopCounterMode

from algorithms.federation import Federation
from algorithms.rounds import one_round
from algorithms.tree import Tree
from figures.experiment import Design, Line
from figures.figure import Settings
from runs.plan import parts_of

SUSTAINED = 1e13
"""Operations in a second that a GPU is taken to sustain, an assumption: small batches and images keep it from more."""
BATCH = 4
"""Samples of the batch on which operations are counted."""
ONE_STEP: Mapping[str, Any] = {
    "steps": 1, "personal_steps": 1, "epochs": None, "personal_epochs": None, "batch": BATCH, "personal_batch": BATCH
}  # fmt: skip


def operations(line: Line, rounds: int, settings: Settings) -> float:
    """Operations of one run of a line.

    Raises:
        RunError, DataError: Settings that do not serve, or data that are not here.
    """
    root = None if settings.data_root is None else str(settings.data_root)
    rate = line.options.get("learning_rate", 0.1)
    plan = line.trial(rounds, (0,), rate).plan(0, root)
    given = dict(plan.settings)
    one_step = {name: value for name, value in ONE_STEP.items() if name in given}
    parts = parts_of(replace(plan, settings={**given, **one_step}))
    fed = Federation(parts.problem.clients, seed=0)
    state = parts.algorithm.start(fed, Tree(parts.problem.start))
    with FlopCounterMode(display=False) as counter:
        one_round(parts.algorithm.round, fed, state, 1)
    sizes = [float(size) for size in fed.weights]
    samples = (given["cohort"] or len(sizes)) * sum(sizes) / len(sizes) * given["epochs"]
    return counter.get_total_flops() / BATCH * samples * rounds


def announced(design: Design, settings: Settings, left_out: Sequence[str] = ()) -> float:
    """Tells what an experiment costs, and what the paper leaves out; returns its operations.

    Args:
        design: The experiment.
        settings: Where the data lie, and whom to tell.
        left_out: Settings that are not printed, with their sources.
    """
    total = 0.0
    for line in design.lines:
        one = operations(line, design.rounds, settings)
        choosing = (
            len(design.rates) * design.tuning_rounds / design.rounds if line.tuned and len(design.rates) > 1 else 0
        )
        total += one * (design.seeds + choosing)
    settings.announce(
        f"{design.runs} runs of up to {design.rounds} rounds: {total:.1e} floating-point operations, about "
        f"{total / SUSTAINED / 3600:,.0f} GPU hours at {SUSTAINED / 1e12:g} TFLOP/s sustained (assumed), "
        "evaluations not counted"
    )
    for text in left_out:
        settings.announce(f"not printed: {text}")
    return total
