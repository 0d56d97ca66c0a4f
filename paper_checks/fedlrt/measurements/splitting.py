"""Steps of the basis update and Galerkin splitting on random matrices (Appendix D)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from algorithms.low_rank import USV, Truncation, append_columns, augment, product, truncate
from algorithms.tree import Tree
from paper_checks.context import Context
from toymodels.quadratic import Quadratic


def flow(loss: Quadratic, start: Tensor, time: float) -> Tensor:
    """Return the gradient flow of a quadratic, exactly."""
    values, turn = torch.linalg.eigh(loss.matrix)
    level = torch.where(values.abs() < 1e-14, torch.full_like(values, time), -torch.expm1(-values * time) / values)
    x, b = turn.mT @ start.reshape(-1), turn.mT @ loss.B.reshape(-1)
    return (turn @ (torch.exp(-values * time) * x + level * b)).reshape(start.shape)


def split_step(loss: Quadratic, factors: USV, time: float, theta: float) -> tuple[Tensor, float]:
    """Take one step of K, L, augmentation, S and truncation; return also the largest slope at nine times."""
    U, S, V = (part["W"] for part in factors)
    eyes = [Tree(W=torch.eye(side, dtype=S.dtype)) for side in loss.B.shape]
    K = flow(loss.projected(eyes[0], factors.V), U @ S, time)
    L = flow(loss.projected(factors.U, eyes[1]), S @ V.mT, time).mT
    # A completion would reach, by chance, what no gradient of K and L shows.
    Ut = append_columns(factors.U, augment(factors.U, Tree(W=K), "none"))
    Vt = append_columns(factors.V, augment(factors.V, Tree(W=L), "none"))
    small, start = loss.projected(Ut, Vt), Ut["W"].mT @ U @ S @ V.mT @ Vt["W"]
    slope = 0.0
    for part in np.linspace(0.0, time, 9):
        W = Ut["W"] @ flow(small, start, float(part)) @ Vt["W"].mT
        slope = max(slope, float(torch.linalg.matrix_norm(loss.gradient({"W": W})["W"])))
    end = flow(small, start, time)
    cut = Truncation(theta / float(torch.linalg.matrix_norm(end)), least=1)
    return product(truncate(Ut, Tree(W=end), Vt, cut))["W"], slope


@dataclass(frozen=True)
class Step:
    """A point of rank r with its gradient.

    Attributes:
        kind: Kind of the point, in words.
        U: ``(m, r)``, orthonormal.
        S: ``(r, r)``.
        V: ``(n, r)``, orthonormal.
        G: Gradient in W, ``(m, n)``.
        rate: Size of the explicit Euler step.
    """

    kind: str
    U: Tensor
    S: Tensor
    V: Tensor
    G: Tensor
    rate: float

    @property
    def fits(self) -> bool:
        """Return whether 2r columns fit side by side."""
        return 2 * self.S.shape[0] <= min(self.G.shape)

    @property
    def sides(self) -> tuple[tuple[Tensor, Tensor, Tensor, Tensor], ...]:
        """Return for U and for V: the basis, the start K(0) or L(0), its gradient, and the gradient in the factor."""
        K_slope, L_slope = self.G @ self.V, self.G.mT @ self.U
        return (
            (self.U, self.U @ self.S, K_slope, K_slope @ self.S.mT),
            (self.V, self.V @ self.S.mT, L_slope, L_slope @ self.S),
        )


SHAPES = (((2, 2), 1), ((5, 5), 2), ((6, 4), 2), ((4, 9), 2), ((9, 8), 3))
"""Shapes and ranks at which 2r columns fit."""

BEYOND = (((3, 3), 2), ((2, 5), 2))
"""Shapes and ranks at which 2r columns do not fit."""

STEP_SCOPE = (
    "square, tall and wide matrices of rank 1 to 3, S with condition numbers up to 1e4, gradients that are generic, of "
    "rank one or zero, learning rates from 1e-2 to 10"
)


def draw_steps(rng: np.random.Generator, shapes: Sequence[tuple[tuple[int, int], int]]) -> list[Step]:
    """Draw points of every kind, those with singular S at the end of each shape."""
    found = []
    for (m, n), r in shapes:
        for rate in (1e-2, 1.0, 10.0):
            U, V = (torch.linalg.qr(torch.from_numpy(rng.standard_normal((side, r))))[0] for side in (m, n))
            turns = [torch.linalg.qr(torch.from_numpy(rng.standard_normal((r, r))))[0] for _ in range(2)]
            G = torch.from_numpy(rng.standard_normal((m, n)))
            low = torch.from_numpy(np.outer(rng.standard_normal(m), rng.standard_normal(n)))
            for kind, least, slope in (
                ("generic", 0.5, G),
                ("badly conditioned", 1e-4, G),
                ("zero", 0.5, 0.0 * G),
                ("rank one", 0.5, low),
                ("singular", 0.0, G),
            ):
                sigma = torch.logspace(0, -4, r, dtype=torch.float64) if least == 1e-4 else torch.ones(r).double()
                sigma[-1] = least
                S = turns[0] * sigma @ turns[1]
                found.append(Step(kind, U, S, V, slope, rate))
    return found


def measure_steps(context: Context) -> list[Step]:
    """Draw points of every kind, of all shapes."""
    return draw_steps(context.rng("points"), SHAPES * context.size(1, 5))
