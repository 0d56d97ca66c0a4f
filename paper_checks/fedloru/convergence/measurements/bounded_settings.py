"""The runs on which Appendix B is evaluated: by hand, near equality, of random shapes, with noise, and with cohorts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import torch

from paper_checks.claim import Evidence
from paper_checks.context import Budget, Context
from paper_checks.fedloru.convergence.measurements.bounded_runs import Bounded, Setting, Trace, follow, scalar_setting
from paper_checks.methods.relations import Relation, judge_relations

BACK_AND_FORTH = {
    "L": 100,
    "zone": "0.01",
    "W": 0,
    "A": "0.0025",
    "B": 4,
    "rate": "0.00125",
    "steps": 1,
    "rounds": 2,
    "share": "0.01",
}
"""One weight that steps from z to -z and back: the step in A is 2/(L B^2), and B hardly moves."""

STEEP = {
    "L": 20,
    "zone": "0.05",
    "W": "-0.95",
    "A": 1,
    "B": 1,
    "rate": "0.025",
    "steps": 2,
    "rounds": 1,
    "share": "0.01",
}
"""One weight whose gradient falls from 1 to almost 0 in one local step."""

NARROW = {"L": 1, "zone": 1, "W": 0, "A": "0.5", "B": 2, "rate": "0.0001", "steps": 4, "rounds": 1, "share": "0.01"}
"""One weight at the edge of its zone, AB = z, a tiny step: estimates by the triangle inequality are nearly tight."""

FAR = {"L": 1, "zone": 1, "W": 100, "A": "0.5", "B": 2, "rate": "0.0001", "steps": 4, "rounds": 1, "share": "0.000001"}
"""One weight far out, where the gradient is constant."""


def by_hand() -> list[Setting]:
    """Return runs of one weight; the first two can be followed by hand."""
    mirrored = {"A": 2, "B": "0.5"}
    return [
        scalar_setting("back and forth", BACK_AND_FORTH, replayed=True),
        scalar_setting("steep", STEEP, replayed=True),
        scalar_setting("back and forth for long", {**BACK_AND_FORTH, "rounds": 80}),
        scalar_setting("edge of the zone", NARROW),
        scalar_setting("edge of the zone, factors exchanged", {**NARROW, **mirrored}),
        scalar_setting("far out", FAR, replayed=True),
        scalar_setting("far out, factors exchanged", {**FAR, **mirrored}),
        scalar_setting("steep, large factors", {**STEEP, "W": "-8.95", "A": 3, "B": 3, "rate": "0.003"}),
        scalar_setting("without noise, L below 1", {**NARROW, "L": "0.25", "rate": "0.3", "rounds": 6}),
    ]


def _random_setting(
    rng: np.random.Generator, name: str, shape: tuple[int, int], rank: int, clients: int, **rest: object
) -> Setting:
    """Return clients with their own samples, and a start of norm about 1."""
    m, n = shape
    kind, L, z = str(rng.choice(["huber", "cosine"])), float(rng.choice([0.5, 1.0, 8.0])), float(rng.choice([0.3, 1.0]))
    made = tuple(Bounded(torch.from_numpy(rng.standard_normal((2, m, n))), L, z, kind) for _ in range(clients))
    A, B = (torch.from_numpy(0.7 * rng.standard_normal(size)) for size in ((m, rank), (rank, n)))
    W = torch.from_numpy(rng.standard_normal(shape))
    return Setting(name, made, W, A, B, float(rng.choice([0.01, 0.1, 0.5])) / L, **rest)  # type: ignore[arg-type]


def opposite_samples() -> Setting:
    """Return two samples on either side of the weight: the gradient is pure noise, of variance G^2."""
    centres = torch.tensor([[[-2.0]], [[2.0]]], dtype=torch.float64)
    one = torch.ones(1, 1, dtype=torch.float64)
    client = Bounded(centres, 1.0, 1.0)
    return Setting("pure noise", (client,), 0 * one, 0.1 * one, one, 0.1, steps=2, rounds=2, noisy=True, share=1.0)


def draw_settings(rng: np.random.Generator, repeats: int) -> list[Setting]:
    """Draw all kinds of runs."""
    found = [*by_hand(), opposite_samples()]
    for _ in range(repeats):
        for shape, rank, clients in (((4, 2), 1, 1), ((2, 3), 2, 2), ((3, 3), 1, 3), ((1, 4), 1, 2)):
            found.append(_random_setting(rng, "without noise", shape, rank, clients, steps=3, rounds=8, tau=3))
        found.append(_random_setting(rng, "with noise", (2, 3), 1, 1, steps=2, rounds=2, tau=1, noisy=True, share=1.0))
        found.append(_random_setting(rng, "with noise", (3, 2), 1, 2, steps=2, rounds=1, noisy=True, share=1.0))
        found.append(_random_setting(rng, "cohorts", (2, 2), 1, 3, steps=2, rounds=3, tau=2, size=1))
        found.append(
            _random_setting(rng, "cohorts with noise", (2, 2), 1, 2, steps=2, rounds=2, size=1, noisy=True, share=1.0)
        )
    return found


@cache
def _traces(seed: int, budget: Budget) -> tuple[Trace, ...]:
    context = Context("fedloru-v2/thm-4.2", seed, budget)
    return tuple(follow(setting) for setting in draw_settings(context.rng("settings"), context.size(1, 5)))


def follow_settings(context: Context) -> tuple[Trace, ...]:
    """Follow all kinds of runs; the same for every claim of Appendix B."""
    return _traces(context.seed, context.budget)


def with_all_clients(traces: tuple[Trace, ...]) -> list[Trace]:
    """Return the runs in which every client takes part in every round, as in Appendix B."""
    return [trace for trace in traces if trace.setting.size is None]


SCOPE = (
    "runs of FedLoRU, alpha = 1, on losses with bounded gradient, convex (Huber) and not (cosine): one weight by hand "
    "and near equality; tall, wide and square weights with 1 to 3 clients; expectations over batches taken over all "
    "outcomes"
)

WITH_COHORTS = f"{SCOPE}, and over uniform cohorts of one client in runs with partial participation"


def at_most(name: str, left: float, right: float, trace: Trace) -> Relation:
    """Return one inequality of one run."""
    return Relation(name, left, right, 1e-9 * max(abs(left), abs(right)), True, trace.setting.case)


def equal(name: str, left: float, right: float, trace: Trace) -> Relation:
    """Return one equation of one run."""
    return Relation(name, left, right, 1e-9 * max(abs(left), abs(right), 1e-3), case=trace.setting.case)


def judge_bounds(lines: Sequence[Relation], scope: str) -> Evidence:
    """Judge inequalities ``left <= right``; the first violated one that can be followed by hand is the witness."""
    evidence = judge_relations(lines, scope)
    compared = [float(line.right / line.left) for line in lines if line.left > 1e-12 and line.right > 0.0]
    slack = min(compared, default=None)
    tight = sum(0.99 <= ratio <= 1.01 for ratio in compared) / len(lines) if lines else None
    obtained = evidence.obtained + (f"; right/left at least {slack:.5g}" if slack is not None else "")
    return replace(evidence, slack=slack, tight=tight, obtained=obtained)


Traces = tuple[Trace, ...]


def printed_D(trace: Trace, C_A: float, C_B: float) -> float:
    """Return D of Lemma B.8, which does not contain L."""
    E, s2 = trace.setting.steps, trace.sigma2 + trace.G**2
    return float(E**2 * s2 * (6 * C_A**2 * C_B**2 * (1 + trace.setting.rate**2 * E**2 * s2) + trace.G**2))


def drift_rates(trace: Trace, curvature: float = 1.0, own: float = 1.0) -> tuple[float, float]:
    r"""Return Lipschitz constants of the gradients in A, $LC_B(C_A^2+C_B^2)+GC_A$, and in B, with A and B exchanged."""
    L, G, C_A, C_B = curvature * trace.L, own * trace.G, trace.C_A, trace.C_B
    both = C_A**2 + C_B**2
    return L * C_B * both + G * C_A, L * C_A * both + G * C_B
