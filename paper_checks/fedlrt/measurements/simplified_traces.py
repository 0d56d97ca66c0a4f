"""Rounds with simplified correction, on which Theorem 4 and its corollary are judged, and their witness."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from algorithms.descent import Descent
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.convergence_runs import LIMIT, Run, as_run
from paper_checks.fedlrt.measurements.traces import E1, Array, Trace, distance_loss, run_of, trace, with_gradient

SIMPLIFIED_ROUNDING = 1e-11

SMALL = 0.1
"""The delta up to which Assumption 1 counts as met."""

SCOPE = (
    "runs of 1 and 3 rounds: two opposite clients in 2 x 2, least squares, indefinite quadratics in 5 x 4 with 1 to 3 "
    "clients"
)


def far_outside() -> Trace:
    """Follow two steps of two clients with opposite gradients outside the block, a hundred times the global one.

    Their second derivatives in w11 and w22 are ((1/2, b), (b, 0)) with b^2 = 1/2, of eigenvalues 1 and -1/2.
    """
    coupled = np.zeros((4, 4))
    coupled[0, 0], coupled[0, 3], coupled[3, 0] = 0.5, np.sqrt(0.5), np.sqrt(0.5)
    signs = np.diag([1.0, 1.0, 1.0, -1.0])
    slope = np.array([[1.0, 0.1], [0.1, 0.0]])
    clients = [
        with_gradient(H, E1, slope + np.diag([0.0, apart]))
        for H, apart in ((coupled, 100.0), (signs @ coupled @ signs, -100.0))
    ]
    return trace("far outside", clients, E1, 1, Descent(2, 0.5), "simplified")


def _curvature(rng: np.random.Generator) -> Array:
    basis = np.linalg.qr(rng.standard_normal((20, 20)))[0]
    return np.asarray(basis * np.concatenate([[1.0, -1.0], rng.uniform(-1.0, 1.0, 18)]) @ basis.T)


RATES = (1e-3, 1.0 / 48.0, LIMIT, 0.5, 1.0)
"""Values of s λ L at which the corners of the domain are tried."""

WITNESS = {
    "start": "1",
    "slope": [["10", "1"], ["2", "4"]],
    "norm": "11",
    "delta": "1/10",
    "apart_inside": "300000",
    "apart_outside": "800",
    "step": "1/32",
    "steps": 2,
    "theta": "1/10",
}
"""The losses are sign (300000 w11 + 800 w22 + w11 w22) + <slope, w> in the displacement w from start e1 e1'."""

SLOPE = np.array([[10.0, 1.0], [2.0, 4.0]])
"""A gradient of norm 11, its square outside the block 21; it widens both bases."""


@lru_cache(maxsize=2)
def _all_traces(context: Context) -> list[tuple[list[Any], Mapping[str, object] | None]]:
    coupled, start = np.zeros((4, 4)), E1
    coupled[0, 3] = coupled[3, 0] = 1.0
    opposite = [with_gradient(sign * coupled, start, sign * np.diag([3e5, 800.0]) + SLOPE) for sign in (1.0, -1.0)]
    alone = np.diag([0.0, 0.0, 0.0, 1.0])
    curved = [with_gradient(sign * alone, start, sign * np.diag([170e3, 600.0]) + SLOPE) for sign in (1.0, -1.0)]
    found: list[tuple[list[Any], Mapping[str, object] | None]] = [
        (run_of("opposite", opposite, start, 1, Descent(2, 1 / 32), "simplified", 1), WITNESS),
        (run_of("curved", curved, start, 1, Descent(2, 1 / 48), "simplified", 1), None),
    ]
    linear = with_gradient(0.0 * coupled, start, SLOPE)
    tilted = with_gradient(np.eye(4), start, np.diag([24.0, 1.0]))
    inside = with_gradient(np.eye(4), start, np.diag([24.0, 0.0]))
    for clients, steps, whole, rounds in (
        ([linear], 1, LIMIT, 1),
        ([tilted], 1, 1e-3, 1),
        ([inside], 24, LIMIT, 1),
        ([inside], 48, 1 / 24, 1),
        ([tilted, inside], 3, LIMIT, 3),
        ([inside], 1, 1.0, 1),
        ([tilted, inside], 3, 0.5, 1),
    ):
        found.append((run_of("hand", clients, start, 1, Descent(steps, whole / steps), "simplified", rounds), None))
    half, without = (
        with_gradient(0.0 * coupled, start, np.array(slope)) for slope in ([[5, 3], [4, 0.0]], [[0, 1], [2, 4.0]])
    )
    for corner, steps, whole in product((inside, half, without), (1, 100), RATES):
        found.append((run_of("corner", [corner], start, 1, Descent(steps, whole / steps), "simplified", 1), None))
    downhill = [distance_loss([[0.9, 1e-4], [1e-4, 0.1]])]  # the truncation costs all it can
    found.append((run_of("aligned", downhill, E1, 1, Descent(1, 1e-3), "simplified", 1, kept=1), None))
    rng = context.rng("quadratics")
    for number in range(context.size(16, 80)):
        rank, count, steps = 1 + number % 2, 1 + number % 3, (1, 2, 5)[number // 2 % 3]
        W = rng.standard_normal((5, rank)) @ rng.standard_normal((rank, 4))
        U, _, Vh = np.linalg.svd(W)
        clients = []
        for _ in range(count):
            slope = rng.standard_normal((5, 4)) * (0.02, 0.3)[number // 3 % 2]
            slope += 3.0 * U[:, :rank] @ rng.standard_normal((rank, rank)) @ Vh[:rank]
            clients.append(with_gradient(_curvature(rng), W, slope))
        whole = (LIMIT, 0.3 * LIMIT, 1.0, 1e-3)[number // 4 % 4]
        rounds, kept = (1, 3)[number % 2], (None, rank)[number // 2 % 2]
        local = Descent(steps, whole / steps)
        found.append((run_of("random", clients, W, rank, local, "simplified", rounds, kept), None))
    return found


def all_traces(context: Context) -> list[tuple[list[Any], Mapping[str, object] | None]]:
    """Follow rounds with simplified correction, and return the witness of the first; the same for all claims."""
    return _all_traces(Context("fedlrt/simplified", context.seed, context.budget))


def measure_simplified(context: Context) -> list[Run]:
    """Follow the two opposite clients, small rates, quadratics, clients with large and small gradients outside."""
    runs = [*all_traces(context), ([far_outside()], None)]
    return [as_run(traces, given=witness, simplified=True) for traces, witness in runs]
