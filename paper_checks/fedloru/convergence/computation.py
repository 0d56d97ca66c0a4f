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
from paper_checks.claim import LITERAL, Form, Reading
from paper_checks.context import Context
from paper_checks.methods.promises import Promise, Promises, promises
from toymodels.quadratic import random_quadratics

SHAPE = (12, 8, 2)
"""Rows, columns and rank of the weights in whole rounds."""
CYCLE = "FedLoRU, at the end of a cycle"


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
        alone: A and B trained in place of W.
    """

    m: int
    n: int
    r: int
    b: int
    full: int
    beside: int
    merged: int
    alone: int


def _operations(m: int, n: int, r: int, b: int, way: str) -> int:
    x = torch.zeros(b, n, requires_grad=True)
    W = torch.zeros(m, n, requires_grad=way == "full")
    A, B = (torch.zeros(size, requires_grad=way != "full") for size in ((m, r), (r, n)))
    with FlopCounterMode(display=False) as counter:
        if way == "full":
            y = x @ W.mT
        elif way == "beside":
            y = x @ W.mT + (x @ B.mT) @ A.mT
        elif way == "alone":
            y = (x @ B.mT) @ A.mT
        else:
            y = x @ (W + A @ B).mT
        y.sum().backward()
    return int(counter.get_total_flops())


def count_steps(context: Context) -> list[Step]:
    """Square, tall and wide layers, small and large batches, ranks up to those that save communication."""
    sizes = [
        (64, 64, 24, 32),
        (64, 64, 16, 32),
        (64, 64, 10, 32),
        (48, 48, 8, 1),
        (48, 96, 16, 8),
        (48, 96, 31, 8),
        (96, 24, 6, 128),
        (96, 24, 19, 4),
        (128, 128, 1, 16),
        (30, 60, 10, 16),
        (30, 60, 7, 16),
        (30, 60, 6, 16),
    ]
    return [Step(*size, *(_operations(*size, way) for way in ("full", "beside", "merged", "alone"))) for size in sizes]


def _outside_the_steps(algorithm: Callable[[Descent], Any], rounds: int) -> int:
    """Operations of the last round that do not belong to its local steps: what one step costs less than two."""
    counts = []
    for steps in (1, 2):
        made = random_quadratics(SHAPE[:2], 2, np.random.default_rng(0))
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
            "FedLoRU": _outside_the_steps(lambda local: FedLoRU(local, Adapter(SHAPE[2]), 3), 2),
            CYCLE: _outside_the_steps(lambda local: FedLoRU(local, Adapter(SHAPE[2]), 3), 3),
            "FeDLRT": _outside_the_steps(lambda local: FeDLRT(local, SHAPE[2]), 2),
        },
    )


ROUND = {"clients": 2, "steps": 100}
DECOMPOSED = 30
"""Operations of singular values and vectors of an m x n matrix are at most this times m n min(m, n)."""


def _beside_fedhm(one: Step) -> Promise:
    """A round of FedLoRU against one of FedHM: local steps, products of what comes back, one decomposition."""
    m, n, r, b = one.m, one.n, one.r, one.b
    steps = ROUND["clients"] * ROUND["steps"]
    whole = steps * one.alone + ROUND["clients"] * 2 * m * n * r + DECOMPOSED * m * n * min(m, n)
    return Promise(
        "operations of a round, against FedHM",
        steps * one.beside,
        whole,
        at_most=True,
        case={"m": m, "n": n, "r": r, "b": b, **ROUND},
    )


@promises(
    "fedloru-v2/claim-noextra",
    where="Section 4.1, Practical advantages, last sentence",
    says="As FedLoRU involves no process of compression, it takes no computation beyond that of conventional "
    "communication-efficient algorithms based on compression.",
    measure=count_arithmetic,
    readings=(
        LITERAL,
        Reading(
            "nothing in the place of compression",
            r"Outside local training a round of FedLoRU factorises and truncates nothing: it takes averages, and at "
            r"the end of a cycle the product $\alpha A_tB_t$.",
            {"compared": False},
            "The sentence gives as its reason that no compression process is involved.",
            ({"of": "FeDLRT"}, {"merging": 1.9}),
        ),
    ),
    correction=Form(
        r"Outside local training a round takes averages, and at the end of a cycle $\alpha A_tB_t$ with $2mnr$ "
        r"operations. A local step of a linear layer on b samples takes $(4mn + 6r(m+n))b$ with the factors beside W, "
        r"or $6mn(b + r)$ with $W + AB$ formed; $6mnb$ where W is trained, as in FedAvg; and $6r(m+n)b$ where the "
        r"factors stand in the place of W, as in FedHM, which decomposes W in each round.",
        {"compared": False, "counts": True},
        ({"beside": 6.1}, {"kept": 5.0}, {"formed": 5.0}, {"alone": 5.9}, {"merging": 1.9}),
        asks="neither",
    ),
    vary=("merging",),
    because="Every local step still passes through the frozen W, which clients of FedHM do not hold.",
    expect=("depends on the reading", "proof"),
)
def claim_noextra(
    found: Arithmetic,
    compared: bool = True,
    counts: bool = False,
    of: str = "FedLoRU",
    merging: float = 2.0,
    beside: float = 6.0,
    kept: float = 4.0,
    formed: float = 6.0,
    alone: float = 6.0,
) -> Promises:
    """Whole rounds beside one of FedHM; or what is outside the local steps, then the counts of a training step."""
    if compared:
        yield from [_beside_fedhm(one) for one in found.steps]
    else:
        m, n, r = SHAPE
        told = "operations of a round outside its local steps"
        yield from [
            Promise(told, found.outside[of], 0.0),
            Promise(f"{told}, at the end of a cycle", found.outside[CYCLE], merging * m * n * r),
        ]
    for one in found.steps if counts else ():
        m, n, r, b = one.m, one.n, one.r, one.b
        told = "operations of a step"
        yield Promise(f"{told}, W trained", one.full, 6 * m * n * b)
        yield Promise(f"{told}, factors beside W", one.beside, (kept * m * n + beside * r * (m + n)) * b)
        yield Promise(f"{told}, W + AB formed", one.merged, 6 * m * n * b + formed * m * n * r)
        yield Promise(f"{told}, factors alone", one.alone, alone * r * (m + n) * b)
    scope = "rounds of 2 clients, products of matrices counted by the tensor library"
    if not (compared or counts):
        return scope
    large = next(one for one in found.steps if (one.m, one.r) == (64, 24))
    return (
        f"{scope}; {len(found.steps)} linear layers, forward and backward, square, tall and wide, batches of 1 to 128, "
        f"such as, for m = n = 64, r = 24 and b = {large.b}, {large.beside:,} operations of a step with the factors "
        f"beside W, {large.alone:,} with the factors alone and {large.full:,} where W is trained"
    )
