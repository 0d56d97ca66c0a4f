"""Symbolic identities: proved by expansion, refuted at an exact rational point, undecided otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import sympy

from paper_checks.claim import Evidence
from paper_checks.context import Context

Point = Mapping[sympy.Symbol, sympy.Rational]


@dataclass(frozen=True)
class Equation:
    """One equation between expressions; ``name`` says which line of the paper it is."""

    name: str
    left: sympy.Expr
    right: sympy.Expr


def judge_identity(equations: Sequence[Equation], points: Sequence[Point], scope: str) -> Evidence:
    """Judges equations that should hold for all values of their symbols.

    Args:
        equations: the lines, all of which must hold.
        points: exact rational points that satisfy the assumptions; they show that the assumptions can be met, and one
            of them is the witness of a false line.
        scope: what the symbols range over.

    Returns:
        Evidence of grade proof: the difference of the sides expands to zero, or does not at an exact point. Undecided
        if neither could be shown.
    """
    undecided = []
    for number, equation in enumerate(equations):
        difference = equation.left - equation.right
        if vanishes(difference):
            continue
        for point in points:
            value = difference.subs(point)
            if value.is_comparable and value != 0:
                left, right = float(equation.left.subs(point)), float(equation.right.subs(point))
                return Evidence(
                    ok=False,
                    grade="proof",
                    scope=scope,
                    printed=f"{equation.name}: both sides equal",
                    obtained=f"left {left:.6g}, right {right:.6g} at the witness",
                    margin=-float(abs(value)) - number,
                    cases=len(points),
                    witness={str(symbol): str(number) for symbol, number in point.items()},
                )
        undecided.append(equation.name)
    if undecided:
        reason = f"neither proved nor refuted at {len(points)} points: {', '.join(undecided)}"
        return Evidence(None, "proof", scope, cases=len(points), reason=reason)
    names = [equation.name for equation in equations]
    listed = "; ".join(names) if len(names) <= 4 else f"{names[0]} to {names[-1]}, {len(names)} lines"
    obtained = f"difference of the sides is identically 0 in all {len(equations)} lines"
    return Evidence(True, "proof", scope, listed, obtained, float(len(equations)), cases=len(points))


def generic_points(context: Context, symbols: Sequence[sympy.Symbol], count: int) -> list[Point]:
    """Exact points without accidental relations: distinct values other than 0 and 1, of either sign."""
    rng = context.rng("points")
    points: list[Point] = []
    for _ in range(count):
        sizes = rng.permutation(np.arange(2, 2 + max(100, 2 * len(symbols))))[: len(symbols)]
        signs = rng.choice([-1, 1], len(symbols))
        points.append({s: sympy.Rational(int(a * b), 101) for s, a, b in zip(symbols, sizes, signs, strict=True)})
    return points


def vanishes(expression: sympy.Expr) -> bool:
    """Whether a rational expression in its symbols is identically zero; exact for rational functions."""
    numerator, _ = sympy.fraction(sympy.together(expression))
    return bool(sympy.expand(numerator) == 0)


def rational(value: str | int | float | Fraction) -> sympy.Rational:
    """An exact rational number; floats are taken by their exact binary value."""
    fraction = Fraction(value)
    return sympy.Rational(fraction.numerator, fraction.denominator)
