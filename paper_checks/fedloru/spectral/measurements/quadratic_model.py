"""A model with quadratic losses, for the richness of spikes."""

from __future__ import annotations

import sympy

WEIGHTS = sympy.symbols("w1:4")

OUTPUTS = sympy.symbols("y1:3")

HALF = sympy.Rational(1, 2)


def quadratic(name: str, variables: tuple[sympy.Symbol, ...]) -> sympy.Expr:
    """Return a general quadratic with symbolic coefficients."""
    n = len(variables)
    linear = sympy.symbols(f"{name}_1:{n + 1}")
    square = {(i, j): sympy.Symbol(f"{name}_{min(i, j) + 1}{max(i, j) + 1}") for i in range(n) for j in range(n)}
    value = sympy.Symbol(f"{name}_0") + sum(a * v for a, v in zip(linear, variables, strict=True))
    return value + HALF * sum(square[i, j] * variables[i] * variables[j] for i in range(n) for j in range(n))


MODEL = tuple(quadratic(f"h{i}", WEIGHTS[:2]) for i in (1, 2))
