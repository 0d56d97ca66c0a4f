"""Section 2, (A2): the proof of the largest distance."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.proof_steps import rational
from paper_checks.replay import proof, require


@proof("scaffold/sec-6-extreme")
def sec_6_extreme(factor: Fraction = Fraction(2)) -> str:
    r"""The norm of the symmetric matrix $\nabla^2f_i - \nabla^2f$ is its largest value along a direction, up to sign.

    There the client has a curvature $\beta - u$ and the others one of $-\beta + v$ in the mean, with $u, v \ge 0$, or
    with both signs changed. With $t = 1/N$ the distance is $(1 - t)(2\beta - u - v)$, which is
    $2\beta - 2t\beta - (1 - t)(u + v)$.
    """
    beta, u, v = sympy.symbols("beta u v", nonnegative=True)
    t = sympy.Symbol("t", positive=True)
    distance = (1 - t) * ((beta - u) - (-beta + v))
    left_over = sympy.expand(2 * beta - distance - 2 * t * beta - (1 - t) * (u + v))
    require(left_over == 0, "what is left of 2 beta")
    require(bool(rational(factor) >= 2), "the factor is at least 2")
    return "the distance is 2 beta less two terms that are not negative"
