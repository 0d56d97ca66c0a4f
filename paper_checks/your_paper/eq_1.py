"""Equation (1) (Section 2): an identity, proved by expansion."""

from __future__ import annotations

import sympy

from paper_checks.context import Context
from paper_checks.methods.identity import Equation, Equations, Point, generic_points, identities, rational

A, B = sympy.symbols("a b")


def draw_points(context: Context) -> list[Point]:
    """Exact values of both symbols, where a false form is refuted."""
    return generic_points(context, (A, B), 3)


@identities(
    "your-paper/eq-1",
    where="Section 2, eq. (1)",
    says=r"For real $a$ and $b$: $(a + b)^2 + (a - b)^2 = 2(a^2 + b^2)$.",
    measure=draw_points,
    mutants=[{"factor": 2.02}, {"sign": -1}],
    expect=("holds", "proof"),
)
def eq_1(points: list[Point], factor: float = 2.0, sign: int = 1) -> Equations:
    """Both sides for all values of the symbols."""
    yield Equation("eq. (1)", (A + B) ** 2 + sign * (A - B) ** 2, rational(factor) * (A**2 + B**2))
    return points, "real a and b"
