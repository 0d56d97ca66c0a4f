"""Appendix A.4.1, proof of Proposition 5.5: the loss at the minimiser (eqs. (182) to (188))."""

from __future__ import annotations

import sympy

from paper_checks.claim import Evidence, claim
from paper_checks.context import Context
from paper_checks.methods.identity import (
    Equation,
    Equations,
    Point,
    generic_points,
    identities,
    judge_identity,
    rational,
)

# Two samples: Xa and Xa*, two columns of b* and of any other b, and a number instead of the mean of the s_i.
OURS, THEIRS = (sympy.Matrix(sympy.symbols(f"{name}1:3")) for name in "uv")

B_STAR, OTHER_B, SCALE = sympy.symbols("b1:3"), sympy.symbols("f1:3"), sympy.Symbol("s")

SAMPLES, A, TRUTH = sympy.Matrix(2, 2, sympy.symbols("x1:5")), *(sympy.Matrix(sympy.symbols(f"{n}1:3")) for n in "at")

SCALES = sympy.symbols("s1:4")


def draw_entries(context: Context) -> list[Point]:
    """Draw values of all symbols."""
    return generic_points(context, (SCALE, *OURS, *THEIRS, *B_STAR, *OTHER_B, *SAMPLES, *A, *TRUTH, *SCALES), 3)


@identities(
    "rolora/eq-182",
    where="Appendix A.4.1, eqs. (182) to (186)",
    says=r"""Minimising the objective gives $b_i^\top = \frac{a^\top X_i^\top X_ia^*b^{*\top}}{a^\top X_i^\top X_ia}$
    and $(b^{FFA})^\top = \frac1N\sum_{i=1}^N\frac{a^\top X_i^\top X_ia^*b^{*\top}}{a^\top X_i^\top X_ia}$, which is
    called $\bar b^\top$. With $s_i = \frac{a^\top X_i^\top X_ia^*}{a^\top X_i^\top X_ia} =
    \frac{(X_ia)^\top(X_ia^*)}{\|X_ia\|^2}$, $\bar b = \frac1N\sum_is_ib^* = \bar sb^*$ and, for each i,
    $\|X_ia^*b^{*\top} - X_ia\bar b^\top\|^2 = \|(X_ia^* - \bar sX_ia)b^{*\top}\|^2 = \|X_ia^* - \bar
    sX_ia\|^2\|b^*\|^2$.""",
    measure=draw_entries,
    mutants=[{"factor": 1.01}, {"power": 1}, {"swapped": True}],
    uses=("rolora/alg-ffa",),
    expect=("holds", "proof"),
)
def eq_182(points: list[Point], factor: float = 1.0, power: int = 2, swapped: bool = False) -> Equations:
    r"""A client's loss at another b exceeds its least by a square, in each column; two samples represent any number.

    All sides are inner products of $X_ia$ and $X_ia^*$, which an orthogonal map of the samples leaves as they are, and
    some such map brings the two vectors into the plane of the first two samples. Columns add up.
    """
    s_i = rational(factor) * OURS.dot(THEIRS) / (THEIRS.dot(THEIRS) if swapped else OURS.dot(OURS))
    for number, (b, other) in enumerate(zip(B_STAR, OTHER_B, strict=True), start=1):
        at_other, at_b_i = (THEIRS * b - OURS * free for free in (other, s_i * b))
        excess = at_other.dot(at_other) - at_b_i.dot(at_b_i)
        square = OURS.dot(OURS) * (other - s_i * b) ** 2
        yield Equation(f"(182), column {number}: what another b adds is a square", excess, square)
    gram = SAMPLES.T * SAMPLES
    quotient = (A.T * gram * TRUTH)[0] / (A.T * gram * A)[0]
    ours, theirs = SAMPLES * A, SAMPLES * TRUTH
    yield Equation("(184)", quotient, rational(factor) * ours.dot(theirs) / ours.dot(ours))
    for b in B_STAR:
        mean = sum(scale * b for scale in SCALES) / len(SCALES)
        yield Equation("(183): the mean of the minimisers", mean, sum(SCALES) / len(SCALES) * b)
    outer, rest = (THEIRS - SCALE * OURS) * sympy.Matrix([B_STAR]), THEIRS - SCALE * OURS
    apart = THEIRS * sympy.Matrix([B_STAR]) - OURS * (SCALE * sympy.Matrix([B_STAR]))
    yield from [Equation("(185)", left, right) for left, right in zip(apart, outer, strict=True)]
    squares = sum(entry**2 for entry in apart)
    yield Equation("(186)", squares, rest.dot(rest) * sum(b**power for b in B_STAR))
    return points, (
        "two samples, two columns, every entry symbolic; enough, as an orthogonal map of the samples keeps all inner "
        "products and brings two vectors into one plane, and columns add up"
    )


@claim(
    "rolora/eq-187",
    where="Appendix A.4.1, eqs. (187) and (188)",
    says=r"""With $v = X_1a^*$, $u_1 = z_1X_1a$ and $u_2 = z_2X_1a$: $\|X_1a^* - z_1X_1a - z_2X_1a\|^2 = \|v - u_1 -
    u_2\|^2 = v^\top v + u_1^\top u_1 + u_2^\top u_2 - 2v^\top u_1 - 2v^\top u_2 + 2u_1^\top u_2$.""",
    measure=lambda context: generic_points(context, sympy.symbols("v1:4 p1:4 q1:4 x1:4 z1:3"), 3),
    mutants=[{"cross": -2.0}, {"cross": 1.0}, {"twice": 1.0}],
    expect=("holds", "proof"),
)
def eq_187(points: list[Point], cross: float = 2.0, twice: float = 2.0) -> Evidence:
    """We expand the square in three dimensions, as many as three vectors span."""
    v, u_1, u_2 = (sympy.Matrix(sympy.symbols(f"{name}1:4")) for name in "vpq")
    whole = v - u_1 - u_2
    six = v.dot(v) + u_1.dot(u_1) + u_2.dot(u_2) - rational(twice) * (v.dot(u_1) + v.dot(u_2))
    six += rational(cross) * u_1.dot(u_2)
    x, (z_1, z_2) = sympy.Matrix(sympy.symbols("x1:4")), sympy.symbols("z1:3")
    named = whole.subs({**dict(zip(u_1, z_1 * x, strict=True)), **dict(zip(u_2, z_2 * x, strict=True))})
    first = [Equation("(187)", left, right) for left, right in zip(v - z_1 * x - z_2 * x, named, strict=True)]
    lines = [*first, Equation("(188)", whole.dot(whole), six)]
    return judge_identity(lines, points, "any three vectors in three dimensions: enough, as they span no more")
