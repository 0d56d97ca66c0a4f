"""Federations on which FeDLRT's boxes are executed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from algorithms.low_rank import USV
from algorithms.tree import Tree
from paper_checks.context import Context
from toymodels.quadratic import Quadratic, random_quadratics


@dataclass(frozen=True)
class Case:
    """Clients with quadratic losses of matrices, and factors to start from.

    Attributes:
        clients: Losses of equal weight.
        factors: U ``(m, r)``, S ``(r, r)``, V ``(n, r)``.
        smoothness: L of all clients.
    """

    clients: tuple[Quadratic, ...]
    factors: USV
    smoothness: float

    @property
    def shape(self) -> tuple[int, int]:
        """Return rows and columns of the weights."""
        return self.factors.U["W"].shape[0], self.factors.V["W"].shape[0]

    @property
    def rank(self) -> int:
        """Return the rank of the start."""
        return self.factors.S["W"].shape[0]


SHAPES = (((4, 4), 1), ((6, 4), 2), ((4, 7), 2), ((5, 5), 2), ((2, 2), 1), ((8, 6), 3))

SCOPE = (
    "quadratic losses, convex and indefinite, of square, tall and wide weights from 2 by 2 to 8 by 6, ranks from 1 to "
    "half the smaller side, 1 to 4 clients"
)


def _case(shape: tuple[int, int], r: int, clients: int, least: float, rng: np.random.Generator) -> Case:
    made = random_quadratics(shape, clients, rng, curvatures=(least, 1.0))
    U, V = (np.linalg.qr(rng.standard_normal((side, r)))[0] for side in shape)
    S = rng.standard_normal((r, r)) + 2.0 * np.eye(r)
    factors = USV(*(Tree(W=torch.from_numpy(part)) for part in (U, S, V)))
    return Case(tuple(made.clients), factors, made.smoothness)


def draw_cases(context: Context) -> list[Case]:
    """Draw cases of every shape; S is full, not diagonal, as the boxes allow for the first round."""
    rng = context.rng("cases")
    cases = []
    for number, ((m, n), r) in enumerate(SHAPES * context.size(1, 4)):
        cases.append(_case((m, n), r, 1 + number % 4, -0.2 if number % 3 == 2 else 0.1, rng))
    return cases


def draw_beyond(context: Context) -> Case:
    """Draw a case of rank 2 in 3 by 3: four columns do not fit side by side."""
    return _case((3, 3), 2, 2, 0.1, context.rng("beyond"))
