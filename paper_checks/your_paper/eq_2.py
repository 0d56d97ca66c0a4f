"""Equation (2) (Section 4): units first, then an identity."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import sympy

from paper_checks.claim import Evidence, claim
from paper_checks.methods.identity import Equation, generic_points, judge_identity, rational
from paper_checks.methods.units import judge_units

WEIGHTS = {"w": 1, "h": -2, "eta": 2}
"""Powers of the unit of the weights, while that of the loss stays."""
SYMBOLS = {name: sympy.Symbol(name) for name in WEIGHTS}
POINT = {"w": Fraction(3), "h": Fraction(5), "eta": Fraction(1, 7)}


@claim(
    "your-paper/eq-2",
    where="Section 4, eq. (2)",
    says=r"For $f(w) = \frac{h}{2}w^2$: $f(w - \eta f'(w)) = (1 - \eta h)^2f(w)$.",
    measure=lambda context: generic_points(context, tuple(SYMBOLS.values()), 3),
    mutants=[{"power": 0}, {"factor": 1.01}],
    expect=("holds", "proof"),
)
def eq_2(points: list[Any], factor: float = 1.0, power: int = 1) -> Evidence:
    """A lost power of h would be found by the units alone, and another factor by expansion."""

    def sides(at: Mapping[str, Any], number: Any) -> tuple[Any, Any]:
        w, h, eta = (at[name] for name in WEIGHTS)
        return h / 2 * (w - eta * h * w) ** 2, (1 - number * eta * h**power) ** 2 * h / 2 * w**2

    units = judge_units(
        {"eq. (2)": lambda at: sides(at, Fraction(factor))}, WEIGHTS, [POINT], "the weights in another unit"
    )
    if not units.ok:
        return units
    return judge_identity(
        [Equation("eq. (2)", *sides(SYMBOLS, rational(factor)))], points, "units, then all w, h and eta"
    )
