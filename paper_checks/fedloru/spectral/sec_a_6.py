"""Appendix A.6: several local steps."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

from paper_checks.claim import Best, Evidence, claim
from paper_checks.context import Context
from paper_checks.facts import combine, compare

Plane = tuple[Fraction, Fraction]


def displacement(
    curvatures: Plane, frame: tuple[Plane, Plane], minimiser: Plane, rank: int, step: Fraction, steps: int
) -> Plane:
    """Return where gradient descent from 0 on a quadratic ends within the first ``rank`` eigenvectors; exact."""
    end = [Fraction(0), Fraction(0)]
    for curvature, vector in list(zip(curvatures, frame, strict=True))[:rank]:
        along = sum((v * m for v, m in zip(vector, minimiser, strict=True)), Fraction(0))
        moved = (1 - (1 - step * curvature) ** steps) * along
        end = [e + moved * v for e, v in zip(end, vector, strict=True)]
    return end[0], end[1]


def signed_square_cosine(first: Plane, second: Plane) -> Fraction:
    """Return the square of the cosine, with its sign."""
    dot = first[0] * second[0] + first[1] * second[1]
    norms = (first[0] ** 2 + first[1] ** 2) * (second[0] ** 2 + second[1] ** 2)
    return dot * abs(dot) / norms if norms else Fraction(0)


SOON = (
    (Fraction(4), Fraction(1)),
    (Fraction(4, 5), Fraction(3, 5)),
    (Fraction(-5), Fraction(-4)),
    (Fraction(1), Fraction(-1)),
)
"""A pair that reverses its order after two steps already."""


def draw_quadratics(context: Context) -> list[tuple[Plane, Plane, Plane, Plane]]:
    """Draw pairs of quadratic clients in the plane: curvatures, the second one's first eigenvector, both minimisers."""
    turns = [(Fraction(4, 5), Fraction(3, 5)), (Fraction(12, 13), Fraction(5, 13)), (Fraction(3, 5), Fraction(4, 5))]
    curvatures = [(Fraction(4), Fraction(1)), (Fraction(10), Fraction(1)), (Fraction(3), Fraction(2))]
    rng = context.rng("minimisers")
    pairs = [SOON]
    for turn, curvature in product(turns, curvatures):
        for _ in range(context.size(10, 100)):
            numbers = [Fraction(int(n)) for n in rng.integers(-5, 6, 4)]
            pairs.append((curvature, turn, (numbers[0], numbers[1]), (numbers[2], numbers[3])))
    return pairs


@claim(
    "fedloru-v2/A.6-limitation",
    where="Appendix A.6",
    says="""Theorem 3.3 analyses a single update step; it does not directly guarantee that the alignment of the
    clients' updates after several local steps behaves the same.""",
    measure=draw_quadratics,
    mutants=[{"steps": 1}, {"same_hessian": True}],
    vary=("steps",),
    best={"steps": Best(2, "exactly, by a pair in the plane; after one there is nothing to reverse")},
    uses=("fedloru-v2/thm-3.3",),
    expect=("holds", "proof"),
    seen_in=("hessian/alignment",),
)
def a_6_limitation(
    pairs: list[tuple[Plane, Plane, Plane, Plane]], steps: float = 50, same_hessian: bool = False
) -> Evidence:
    """Quadratic clients whose rank-1 gradients agree better than rank-2 ones, and whose rank-1 updates agree worse."""
    found, most = [], Fraction(-2)
    for curvatures, turn, *minimisers in pairs:
        if not any(minimisers[0]) or not any(minimisers[1]):
            continue
        plain = ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1)))
        turned = plain if same_hessian else (turn, (-turn[1], turn[0]))
        step = 1 / (2 * curvatures[0])

        def gap(
            count: int,
            frames: Any = (plain, turned),
            curvatures: Plane = curvatures,
            step: Fraction = step,
            minimisers: Any = tuple(minimisers),
        ) -> Fraction:
            ranks = []
            for rank in (1, 2):
                ends = [
                    displacement(curvatures, frame, minimiser, rank, step, count)
                    for frame, minimiser in zip(frames, minimisers, strict=True)
                ]
                ranks.append(signed_square_cosine(*ends))
            return ranks[0] - ranks[1]

        once, later = gap(1), gap(max(1, round(steps)))
        if once > 0:
            most = max(most, -later)
            if later < 0:
                found.append((once, later))
    scope = (
        f"{len(pairs)} pairs of quadratic clients in the plane, eigenvectors of each its own, exact; gradient descent "
        f"of {round(steps)} steps from 0, at half the inverse of the larger curvature, in the span of the first r "
        "eigenvectors; C_r is the cosine of both updates, whose square keeps its sign in what is told"
    )
    if not found:
        return Evidence(
            False,
            scope,
            "some pair reverses its order",
            f"none; closest {float(most):.3g}",
            margin=float(most),
            cases=len(pairs),
            witness={"steps": str(steps)},
        )
    strongest = min(found, key=lambda pair: pair[1])
    return Evidence(
        True,
        scope,
        "C_1 > C_2 after one step and C_1 < C_2 later, for some clients",
        f"{len(found)} pairs; C_1|C_1| - C_2|C_2| goes from {float(strongest[0]):.3g} to {float(strongest[1]):.3g}",
        margin=-float(strongest[1]),
        cases=len(pairs),
        whole=True,  # one pair is enough
        facts=combine(compare("one step", strongest[0], ">", 0), compare("later", strongest[1], "<", 0)),
    )
