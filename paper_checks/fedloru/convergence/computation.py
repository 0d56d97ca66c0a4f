"""Section 4.1, Practical advantages: the arithmetic of local training, counted by the tensor library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.federation import Federation
from algorithms.fedloru import FedLoRU
from algorithms.fedlrt import FeDLRT
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.claim import Evidence, claim
from paper_checks.context import Context
from paper_checks.methods.promises import Promise, judge_promises
from toymodels.quadratic import random_quadratics


@dataclass(frozen=True)
class Step:
    """Operations of one training step of a linear layer, forward and backward, as counted.

    Attributes:
        m: Outputs.
        n: Inputs.
        r: Rank.
        b: Samples of the batch (and positions, for a convolution).
        full: W trained.
        beside: A and B trained, the input passed through them beside the frozen W.
        merged: A and B trained, W + AB formed in every step.
    """

    m: int
    n: int
    r: int
    b: int
    full: int
    beside: int
    merged: int


def _operations(m: int, n: int, r: int, b: int, way: str) -> int:
    x = torch.zeros(b, n, requires_grad=True)
    W = torch.zeros(m, n, requires_grad=way == "full")
    A, B = (torch.zeros(size, requires_grad=way != "full") for size in ((m, r), (r, n)))
    with FlopCounterMode(display=False) as counter:
        if way == "full":
            y = x @ W.mT
        elif way == "beside":
            y = x @ W.mT + (x @ B.mT) @ A.mT
        else:
            y = x @ (W + A @ B).mT
        y.sum().backward()
    return int(counter.get_total_flops())


def count_steps(context: Context) -> list[Step]:
    """Square, tall and wide layers, small and large batches, ranks up to those that save communication."""
    sizes = [(64, 64, 24, 32), (64, 64, 16, 32), (64, 64, 10, 32), (48, 48, 8, 1), (48, 96, 16, 8), (48, 96, 31, 8),
             (96, 24, 6, 128), (96, 24, 19, 4), (128, 128, 1, 16),
             (30, 60, 10, 16), (30, 60, 7, 16), (30, 60, 6, 16)]  # fmt: skip
    return [Step(*size, *(_operations(*size, way) for way in ("full", "beside", "merged"))) for size in sizes]


def _outside_the_steps(algorithm: Callable[[Descent], Any], rounds: int) -> int:
    """Operations of the last round that do not belong to its local steps: what one step costs less than two."""
    counts = []
    for steps in (1, 2):
        made = random_quadratics((12, 8), 2, np.random.default_rng(0))
        method, fed = algorithm(Descent(steps, 0.01)), Federation(made.clients)
        state = method.start(fed, Tree(W=made.start["W"]))
        for _ in range(rounds):
            with FlopCounterMode(display=False) as counter:
                state = one_round(method.round, fed, state)
        counts.append(int(counter.get_total_flops()))
    return 2 * counts[0] - counts[1]


@dataclass(frozen=True)
class Arithmetic:
    """Operations as counted.

    Attributes:
        steps: Training steps of linear layers.
        outside: Operations of a round outside its local steps, by algorithm.
    """

    steps: list[Step]
    outside: dict[str, int]


def count_arithmetic(context: Context) -> Arithmetic:
    """Steps, and whole rounds of FedLoRU, at the end of a cycle and not, and of a method that truncates."""
    return Arithmetic(
        count_steps(context),
        {
            "FedLoRU": _outside_the_steps(lambda local: FedLoRU(local, Adapter(2), 3), 2),
            "FedLoRU, accumulating": _outside_the_steps(lambda local: FedLoRU(local, Adapter(2), 3), 3),
            "FeDLRT": _outside_the_steps(lambda local: FeDLRT(local, 2), 2),
        },
    )


@claim(
    "fedloru-v2/claim-noextra",
    where="Section 4.1, Practical advantages, last sentence",
    says="Since no compression process is involved, there is no additional computation compared to conventional "
    "compression-based communication-efficient algorithms.",
    measure=count_arithmetic,
    mutants=[{"of": "FedLoRU, accumulating"}, {"of": "FeDLRT"}, {"beside": 6.1}, {"kept": 5.0}, {"formed": 5.0}],
    vary=("beside", "kept", "formed"),
    expect="holds",
    grade="search",
    method="counted operations",
)
def claim_noextra(found: Arithmetic, of: str = "FedLoRU", beside: float = 6.0, kept: float = 4.0, formed: float = 6.0
                  ) -> Evidence:  # fmt: skip
    """The round, then the counts of a training step against their formulas."""
    promises = [Promise("operations of a round outside its local steps", found.outside[of], 0.0)]
    for one in found.steps:
        m, n, r, b = one.m, one.n, one.r, one.b
        told = "operations of a step"
        promises.append(Promise(f"{told}, W trained", one.full, 6 * m * n * b))
        promises.append(Promise(f"{told}, factors beside W", one.beside, (kept * m * n + beside * r * (m + n)) * b))
        promises.append(Promise(f"{told}, W + AB formed", one.merged, 6 * m * n * b + formed * m * n * r))
    large = next(one for one in found.steps if (one.m, one.r) == (64, 24))
    return judge_promises(
        promises, f"rounds of 2 clients, products of matrices counted by the tensor library; {len(found.steps)} linear "
        f"layers, forward and backward, square, tall and wide, batches of 1 to 128, such as {large.beside:,} "
        f"operations instead of {large.full:,} for m = n = 64, r = 24",
    )  # fmt: skip
