"""Lemma B.5."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from paper_checks.claim import Evidence, Intended, claim
from paper_checks.context import Context
from paper_checks.fedloru.convergence.measurements.bounded_runs import Bounded
from paper_checks.fedloru.convergence.measurements.bounded_settings import judge_bounds
from paper_checks.methods.relations import Relation


@dataclass(frozen=True)
class Pair:
    """One loss at two values of A with B fixed, or of B with A fixed, and the same for both moving.

    Attributes:
        change: Norm of the change of the gradient in the factor that moves.
        step: Norm of its change.
        L: Curvature in W.
        fixed: Norm of the factor that stays.
        moving: Norm of the one that moves, the larger of its two.
        joint: Change of both gradients where both factors move, over the norm of their change.
    """

    change: float
    step: float
    L: float
    fixed: float
    moving: float
    joint: float


def draw_pairs(context: Context) -> list[Pair]:
    """Draw tall, wide and square weights, ranks from 1 beyond the smaller side; close and distant, tiny and large."""
    rng = context.rng("pairs")
    found = []
    for number in range(context.size(250, 2500)):
        m, n, r = (int(k) for k in rng.integers(1, 5, 3)) if number % 3 else (1, 1, 1)
        size, kind = 10.0 ** rng.uniform(-2, 1), str(rng.choice(["huber", "cosine"]))
        zone = float(rng.choice([1e-1, 1.0, 1e4]))
        client = Bounded(
            torch.from_numpy(rng.standard_normal((1, m, n))), float(10.0 ** rng.uniform(-1, 2)), zone, kind
        )
        A, A2 = (torch.from_numpy(rng.standard_normal((m, r))) for _ in range(2))
        B, B2 = (torch.from_numpy(size * rng.standard_normal((r, n))) for _ in range(2))
        A2, B2 = A + (A2 - A) * 10.0 ** rng.uniform(-6, 0), B + (B2 - B) * 10.0 ** rng.uniform(-6, 0)

        def slope(left: Tensor, right: Tensor, client: Bounded = client) -> Tensor:
            return client.every_gradient(left @ right)[0]

        first = slope(A, B)
        both = (slope(A2, B2) @ B2.mT - first @ B.mT).norm() ** 2 + (A2.mT @ slope(A2, B2) - A.mT @ first).norm() ** 2
        moved = ((A2 - A).norm() ** 2 + (B2 - B).norm() ** 2) ** 0.5
        joint = float(both**0.5 / moved)
        in_A, in_B = (slope(A2, B) - first) @ B.mT, A.mT @ (slope(A, B2) - first)
        largest = float(torch.maximum(A.norm(), A2.norm())), float(torch.maximum(B.norm(), B2.norm()))
        found.append(
            Pair(float(in_A.norm()), float((A2 - A).norm()), client.curvature, float(B.norm()), largest[0], joint)
        )
        found.append(
            Pair(float(in_B.norm()), float((B2 - B).norm()), client.curvature, float(A.norm()), largest[1], joint)
        )
    return found


@claim(
    "fedloru-v2/lem-B.5",
    where="Appendix B.1, Lemma B.5",
    says="""Under Assumption B.1 each $f^{(k)}$ is $LC_B^2$-smooth in A (for fixed B) and $LC_A^2$-smooth in B (for
    fixed A), and so is f.""",
    measure=draw_pairs,
    mutants=[{"constant": 0.99}, {"power": 1}, {"factor": "moving"}, {"jointly": True}],
    uses=("fedloru-v2/assump-4.1",),
    expect=("holds", "kernel"),
    intended=Intended(
        "literal",
        r"$C_A$ and $C_B$ bound the fixed factors: “$\|A_{t,i}^{(k)}\| \le C_A$, $\|B_{t,i}^{(k)}\| \le C_B$” (A.3), "
        r"and the proof puts $C_B$ for $\|B\|$",
    ),
)
def lem_B_5(
    pairs: list[Pair], constant: float = 1.0, power: int = 2, factor: str = "fixed", jointly: bool = False
) -> Evidence:
    """Difference quotients of the factor gradients; ``factor`` says whose norm is in the constant."""
    lines = []
    for pair in pairs:
        norm = pair.fixed if factor == "fixed" else pair.moving
        bound = constant * pair.L * (max(pair.fixed, pair.moving) if jointly else norm) ** power
        # Over a small step a difference of gradients has the rounding of the gradients.
        error = 1e-9 * bound * pair.step + 1e-12 * pair.L * (1.0 + pair.fixed) ** 2 * (1.0 + pair.moving)
        left, right = (pair.joint, bound) if jointly else (pair.change, bound * pair.step)
        lines.append(Relation("smooth in one factor", left, right, 1e-6 * bound if jointly else error, True))
    return judge_bounds(
        lines,
        f"{len(pairs)} pairs of factors of 1 to 4 rows, columns and ranks, the fixed one with the norm C_B or C_A, "
        "which bounds it by (A.3), norms from 0.01 to 50, Huber and cosine losses, L from 0.1 to 100, close and "
        "distant pairs; f by the proof, for weights of sum 1",
    )
