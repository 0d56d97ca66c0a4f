"""Rounds of the real FeDLRT, measured for the claims in ``truncated_rounds``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from algorithms.descent import Descent
from algorithms.federation import Federation
from algorithms.fedlrt import FeDLRT
from algorithms.low_rank import Truncation, augment, beside, factorise, product
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.context import Context
from paper_checks.fedlrt.truncated_rounds import WITNESS, Truncated
from toymodels.quadratic import Quadratic, centred, mean_of, random_quadratics


def round_of_fedlrt(
    name: str,
    clients: Sequence[Quadratic],
    start: torch.Tensor,
    ranks: tuple[int, int],
    local: Descent,
    theta: float | None = None,
    witness: Mapping[str, object] | None = None,
) -> Truncated:
    """One round by the real algorithm, from the first rank to the second; the threshold is what is lost by default."""
    rank, kept = ranks
    whole = mean_of(clients, [1.0 / len(clients)] * len(clients))

    def after(truncation: Truncation) -> Tree:
        fed = Federation(clients)
        algorithm = FeDLRT(local, rank, truncation, "full")
        state = algorithm.start(fed, Tree({"W": start}))
        return algorithm.weights(one_round(algorithm.round, fed, state))

    U, S, V = factorise(Tree({"W": start}), rank)
    w = product(factorise(Tree({"W": start}), rank))
    G = whole.gradient(w)
    Ut, Vt = beside(U, augment(U, G @ V @ S.T)), beside(V, augment(V, G.T @ U @ S))
    slope = float(torch.linalg.vector_norm((Ut.T @ G @ Vt)["W"]))
    wide, end = after(Truncation(0.0)), after(Truncation(0.0, most=kept))
    lost = float(torch.linalg.vector_norm(wide["W"] - end["W"]))
    return Truncated(
        name, local.steps, local.rate(), float(whole.loss(end) - whole.loss(w)), slope,
        float(torch.linalg.vector_norm(whole.gradient(wide)["W"])), lost, lost if theta is None else theta, witness,
    )  # fmt: skip


def all_runs(context: Context) -> list[Truncated]:
    """The integer instance, instances close to equality, and random indefinite quadratics of one and three clients."""

    def least_squares(B: list[list[float]]) -> Quadratic:
        return centred(torch.eye(4, dtype=torch.float64), torch.tensor(B, dtype=torch.float64))

    start = torch.tensor([[1.0, 0.0], [0.0, 0.0]], dtype=torch.float64)
    found = [
        round_of_fedlrt(
            "integers", [least_squares([[65.0, 48.0], [48.0, 136.0]])], start, (1, 1), Descent(1, 0.01), 9 / 4, WITNESS
        ),
        round_of_fedlrt("aligned", [least_squares([[1.0, 1e-4], [1e-4, 0.1]])], start, (1, 1), Descent(1, 1e-3)),
        round_of_fedlrt("nothing lost", [least_squares([[0.5, 0.2], [0.3, 1.0]])], start, (1, 2), Descent(24, 1e-5)),
        round_of_fedlrt(
            "nothing lost", [least_squares([[0.5, 0.2], [0.3, 1.0]])] * 2, start, (1, 2), Descent(24, 1 / 288)
        ),
        round_of_fedlrt("nothing lost", [least_squares([[0.5, 0.2], [0.3, 1.0]])], start, (1, 2), Descent(1, 1.0)),
        round_of_fedlrt("long steps", [least_squares([[0.5, 0.2], [0.3, 1.0]])], start, (1, 2), Descent(1, 3.0)),
        round_of_fedlrt("long steps", [least_squares([[0.5, 0.2], [0.3, 1.0]])], start, (1, 1), Descent(4, 1.5)),
    ]
    rng = context.rng("quadratics")
    for number in range(context.size(24, 200)):
        clients, steps, rank = (1, 3)[number % 2], (1, 2, 5)[number % 3], 1 + number // 2 % 2
        scale = (0.1, 3.0)[number // 4 % 2]
        given = random_quadratics((5, 4), clients, rng, curvatures=(-1.0, 1.0), target_rank=3, scale=scale)
        step = float(rng.choice([12.0, 1.0, 0.3, 0.05])) / (12 * steps)
        found.append(round_of_fedlrt("random", given.clients, given.start["W"], (rank, rank), Descent(steps, step)))
    return found
