"""Rounds with full correction that several claims share: two of few digits, and random ones."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from algorithms.descent import Descent
from algorithms.fedlrt import Correction
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.traces import E1, Trace, distance_loss, trace
from toymodels.quadratic import random_quadratics

SCOPE = (
    "rounds with full correction: least squares in 2 x 2, indefinite quadratics in 5 x 4 and 4 x 6, "
    "one and three clients"
)

ROUNDING = 1e-11


def random_traces(rng: np.random.Generator, count: int, correction: Correction) -> list[Trace]:
    """Follow rounds of one and three indefinite quadratics of tall and wide weights, with and without truncation."""
    found = []
    for number in range(count):
        clients, steps, rank = (1, 3)[number % 2], (1, 2, 5)[number % 3], 1 + number // 2 % 2
        shape = ((5, 4), (4, 6))[number // 3 % 2]
        given = random_quadratics(
            shape, clients, rng, curvatures=(-1.0, 1.0), target_rank=3, scale=(0.1, 3.0)[number % 2]
        )
        step = float(rng.choice([1.0, 0.3, 0.05])) / (12 * steps)
        kept = rank if number % 4 else None
        found.append(
            trace("random", given.clients, given.start["W"].numpy(), rank, Descent(steps, step), correction, kept)
        )
    return found


@lru_cache(maxsize=2)
def _rounds(context: Context) -> list[Trace]:
    uphill = trace("integers", [distance_loss([[65.0, 48.0], [48.0, 136.0]])], E1, 1, Descent(1, 0.01), "full", kept=1)
    aligned = trace("aligned", [distance_loss([[1.0, 1e-4], [1e-4, 0.1]])], E1, 1, Descent(1, 1e-3), "full", kept=1)
    long = trace("long", [distance_loss([[0.5, 0.2], [0.3, 1.0]])] * 2, E1, 1, Descent(24, 1 / 288), "full", kept=2)
    return [uphill, aligned, long, *random_traces(context.rng("rounds"), context.size(16, 80), "full")]


def measure_rounds(context: Context) -> list[Trace]:
    """Follow two quadratics of few digits, one that truncation moves uphill, and random rounds, for all claims."""
    return _rounds(Context("fedlrt/rounds", context.seed, context.budget))


WITNESS = {
    "W": [["1", "0"], ["0", "0"]],
    "B": [["65", "48"], ["48", "136"]],
    "step": "1/100",
    "theta": "9/4",
    "vector": ["4/5", "3/5"],
    "kept": "2",
    "tail": "1",
}


def by_hand(one: Trace) -> Mapping[str, object] | None:
    """Return the instance of few digits, ready for storage."""
    return WITNESS if one.name == "integers" else None
