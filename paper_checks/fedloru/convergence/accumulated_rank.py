"""Section 4.1, Practical advantages: the rank that accumulations give to the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from algorithms.adapter import AB, Adapter
from algorithms.descent import Descent
from algorithms.federation import Federation
from algorithms.fedloru import FedLoRU
from algorithms.rounds import go_on, one_round
from algorithms.tree import Tree
from paper_checks.claim import LITERAL, Form, Reading
from paper_checks.context import Context
from paper_checks.methods.promises import Promise, Promises, promises
from toymodels.quadratic import Quadratic, centred, random_quadratics


@dataclass(frozen=True)
class Ranks:
    """Ranks of W - W_0 after each accumulation of a run.

    Attributes:
        generic: Whether the losses are quadratic with drawn coefficients.
        shape: Rows, columns and rank of the factors.
        ranks: Ranks after every accumulation.
        case: Case in plain numbers.
        keeps: Whether A is kept and one step makes a cycle.
        samples: Samples of all clients together where the losses are least squares with few of them.
    """

    generic: bool
    shape: tuple[int, int, int]
    ranks: tuple[int, ...]
    case: Mapping[str, Any] | None = None
    keeps: bool = False
    samples: int | None = None


SAME_ROWS = {"target": "1 0 0 0", "A": "1 1 1 -2", "rate": "0.25", "rounds": 2}
"""A 2 x 2 target of rank 1 from W_0 = 0, a new A in each of two cycles of one step."""


def _by_hand() -> Ranks:
    client = centred(torch.eye(4, dtype=torch.float64), torch.diag(torch.tensor([1.0, 0.0], dtype=torch.float64)))
    fed, start = Federation((client,)), Tree(W=torch.zeros(2, 2, dtype=torch.float64))
    algorithm = FedLoRU(Descent(1, 0.25), Adapter(1), 1)
    state, ranks = algorithm.start(fed, start), []
    for column in ([[1.0], [1.0]], [[1.0], [-2.0]]):
        fresh = AB(Tree(W=torch.tensor(column, dtype=torch.float64)), Tree(W=torch.zeros(1, 2, dtype=torch.float64)))
        state = one_round(algorithm.round, fed, state._replace(factors=fresh), (0,))
        ranks.append(int(torch.linalg.matrix_rank(state.base["W"])))
    return Ranks(False, (2, 2, 1), tuple(ranks), SAME_ROWS)


def _of_few_samples(rng: np.random.Generator, clients: int, shape: tuple[int, int, int], seed: int) -> Ranks:
    """Least squares |Wx - y|^2 / 2 with one drawn sample (x, y) a client: rows of a gradient are multiples of x."""
    m, n, r = shape
    losses = []
    for _ in range(clients):
        x, y = torch.from_numpy(rng.standard_normal(n)), torch.from_numpy(rng.standard_normal(m))
        x = x / torch.linalg.vector_norm(x)
        H = torch.einsum("ik,j,l->ijkl", torch.eye(m, dtype=torch.float64), x, x)
        losses.append(Quadratic(H, torch.outer(y, x), 0.5 * y @ y))
    fed, algorithm = Federation(tuple(losses)), FedLoRU(Descent(2, 0.2), Adapter(r, seed=seed), 3, "random")
    start = Tree(W=torch.from_numpy(rng.standard_normal((m, n))))
    rounds = go_on(algorithm.round, fed, algorithm.start(fed, start), 3 * 4)
    merged = [state.base - start for t, state in enumerate(rounds, 1) if t % 3 == 0]
    ranks = tuple(int(torch.linalg.matrix_rank(one["W"], rtol=1e-9)) for one in merged)
    return Ranks(False, shape, ranks, samples=clients)


def measure_ranks(context: Context) -> list[Ranks]:
    """By hand, of few samples, then drawn quadratic clients with targets of full rank or of rank 1."""
    rng, found = context.rng("ranks"), [_by_hand()]
    few = context.rng("few samples")
    found += [_of_few_samples(few, clients, (4, 4, 1), clients) for clients in (1, 2, 3)]
    for number in range(context.size(9, 60)):
        m, n = (int(k) for k in rng.integers(2, 6, 2))
        r, generic, keeps = int(rng.integers(1, min(m, n))), bool(number % 2), number % 9 == 1
        made = random_quadratics(
            (m, n),
            2,
            rng,
            heterogeneity=1.0 if generic else 0.0,
            curvatures=(0.5, 1.0) if generic else (1.0, 1.0),
            target_rank=None if generic else 1,
            scale=1.0 if generic else 0.0,
        )
        tau = 1 if keeps else 2
        fed = Federation(made.clients)
        algorithm = FedLoRU(Descent(tau, 0.2), Adapter(r, seed=number), tau, "keep A" if keeps else "random")
        start = Tree(W=made.start["W"])
        before, ranks = algorithm.start(fed, start), []
        for t, state in enumerate(go_on(algorithm.round, fed, before, tau * (-(-min(m, n) // r) + 1)), 1):
            if t % tau == 0:
                ranks.append(int(torch.linalg.matrix_rank((state.base - start)["W"], rtol=1e-9)))
        found.append(Ranks(generic, (m, n, r), tuple(ranks), keeps=keeps))
    return found


@promises(
    "fedloru-v2/claim-rank-growth",
    where="Section 4.1, Practical advantages",
    says="With each accumulation of low-rank update matrices the rank of the global model is incrementally enhanced, "
    "enabling the initiation of new learning phases.",
    measure=measure_ranks,
    readings=(
        LITERAL,
        Reading(
            "in general position",
            "With a fresh random A in every cycle, for polynomial losses of a degree of 2 or more, and but for "
            "coefficients of the losses, starts, drawn A and step sizes of measure 0, the rank of $W_T - W_0$ grows "
            "with each accumulation until it is full.",
            {"generic": True},
            "The sentence describes what training gains in practice; Appendix D.2 draws A at random.",
            ({"gain": 2}, {"gain": 5}),
        ),
    ),
    correction=Form(
        r"The rank of $W_T - W_0$ after N accumulations is at most $\min(m, n, rN)$, reached with a fresh random A in "
        r"every cycle for polynomial losses of a degree of 2 or more, but for coefficients of the losses, starts, "
        r"drawn A and step sizes of measure 0. Least squares with S samples in all clients together is such an "
        r"exception if $S < \min(m, n)$: the rank then stays at most S, whatever the samples. Neither need an "
        r"accumulation add to it where A is kept and $\tau = E = 1$: the rank then stays at most r.",
        {"form": "bound"},
        ({"fewer": 1}, {"capped": False}, {"per": 1.5}, {"kept": False}, {"spanned": False}),
    ),
    uses=("fedloru-v2/eq-WT",),
    because="An accumulation need not add to the rank, for instance in least squares with few samples.",
    vary=(),
    expect=("depends on the reading", "proof"),
)
def claim_rank_growth(
    runs: list[Ranks],
    form: str = "growth",
    generic: bool = False,
    fewer: int = 0,
    capped: bool = True,
    per: float = 1.0,
    kept: bool = True,
    gain: int = 1,
    spanned: bool = True,
) -> Promises:
    """Ranks after every accumulation: growing by ``gain`` at least, or at most (generically exactly) min(m, n, rN)."""
    for run in runs:
        m, n, r = run.shape
        if generic and (not run.generic or run.keeps):
            continue
        if run.keeps and form == "bound":
            yield from [
                Promise("the rank stays r where A is kept", rank, r if kept else min(m, n, r * N))
                for N, rank in enumerate(run.ranks, 1)
            ]
            continue
        if run.samples is not None and form == "bound":
            reached = run.samples if spanned else min(m, n)
            yield from [
                Promise("the rank of least squares is min(rN, samples)", rank, min(r * N, reached))
                for N, rank in enumerate(run.ranks, 1)
            ]
            continue
        before = 0
        for N, rank in enumerate(run.ranks, 1):
            if form == "growth":
                least = min(before + gain, m, n)
                yield Promise("the rank has grown", least, rank, at_most=True, case=run.case)
            else:
                bound = per * r * N - fewer
                bound = min(m, n, bound) if capped else bound
                yield Promise("the rank is at most min(m, n, rN)", rank, bound, at_most=True)
                if run.generic:
                    yield Promise("in general position the bound is reached", rank, bound)
            before = rank
    drawn = sum(run.generic and not (generic and run.keeps) for run in runs)
    scope = f"{drawn} runs of 2 clients with drawn quadratic losses, weights of 2 to 5 rows and columns"
    if generic:
        return scope
    few = sum(run.samples is not None for run in runs)
    by_hand = sum(run.case is not None for run in runs)
    return (
        f"{scope}; {len(runs) - drawn - few - by_hand} with a target of rank 1 at one distance and {by_hand} by hand; "
        f"{few} of least squares with 1 to {few} samples, 4 x 4"
    )
