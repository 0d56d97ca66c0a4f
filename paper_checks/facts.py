"""Facts: what was shown exactly, and the only thing from which evidence takes the grade of a proof.

A fact is made by showing it. The functions below return one where the statement is true and None where it could not
be shown; none can be declared. Some hold for all values of their symbols, others at one case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

import sympy
from sympy.polys.rings import PolyRing

from paper_checks.evaluation import HOLDS, Comparison
from paper_checks.evaluation import as_fraction as as_fraction

Exact: TypeAlias = Any
"""An integer, a fraction or a sympy rational; checked when it is compared."""

_SHOWN = object()


@dataclass(frozen=True)
class Fact:
    """Something shown exactly.

    Attributes:
        says: what was shown, in words.
        everywhere: whether for all values of its symbols rather than at one case.
    """

    says: str
    everywhere: bool
    shown: object = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.shown is not _SHOWN:
            raise TypeError(
                f"{self.says!r} is declared but not proved: facts must come from identity, positive or compared"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.says, self.everywhere)


def _restore(says: str, everywhere: bool) -> Fact:
    """Return a fact from another process of the same run, which showed it there."""
    return Fact(says, everywhere, _SHOWN)


def identity(says: str, difference: sympy.Expr) -> Fact | None:
    """Show that a rational expression in its symbols is identically zero.

    Raises:
        TypeError: it has a float, whose rounding can hide a difference.
    """
    require_exact(difference)
    return Fact(f"{says}: identically 0", True, _SHOWN) if vanishes(difference) else None


def positive(says: str, expression: sympy.Expr, substitution: Mapping[sympy.Symbol, sympy.Expr]) -> Fact | None:
    """Show that a rational expression is positive wherever the new symbols are (`proves_positive`).

    Raises:
        TypeError: it has a float, whose rounding can hide a difference.
    """
    require_exact(expression, *substitution.values())
    at = ", ".join(f"{name} = {value}" for name, value in substitution.items())
    words = f"{says}: positive for all positive symbols{f', {at}' if at else ''}"
    return Fact(words, True, _SHOWN) if proves_positive(expression, substitution) else None


def compare(says: str, left: Exact, relation: Comparison, right: Exact) -> Fact | None:
    """Show that a relation holds between two exact numbers.

    Raises:
        TypeError: one of them is not an integer, a fraction or a sympy rational; a float has an error.
    """
    holds = HOLDS[relation](as_fraction(left), as_fraction(right))
    return Fact(f"{says}: {left} {relation} {right}", False, _SHOWN) if holds else None


def require_exact(*expressions: Any, where: str = "") -> None:
    """Check that expressions have no floats.

    Args:
        expressions: numbers, or expressions of sympy.
        where: what they belong to, for the error.

    Raises:
        TypeError: there is one.
    """
    for expression in expressions:
        floats = sympy.sympify(expression).atoms(sympy.Float)
        if floats:
            found = f"{where}{': ' if where else ''}got {float(min(floats)):.17g}"
            raise TypeError(
                f'{found}, but exact expressions must not contain floats; write fractions, such as rational("0.1")'
            )


def combine(*facts: Fact | None) -> tuple[Fact, ...]:
    """Return all of the facts, or none at all if one of them could not be shown."""
    return () if any(fact is None for fact in facts) else tuple(fact for fact in facts if fact is not None)


@lru_cache(maxsize=4096, typed=True)
def vanishes(expression: sympy.Expr) -> bool:
    """Return whether a rational expression in its symbols is identically zero; exact for rational functions.

    A change of one line of a statement leaves the others as they were: they are not expanded again.
    """
    numerator, _ = sympy.fraction(sympy.together(expression))
    return bool(sympy.expand(numerator) == 0)


def proves_positive(expression: sympy.Expr, substitution: Mapping[sympy.Symbol, sympy.Expr]) -> bool:
    """Return whether a rational expression is shown to be positive for all positive values of its symbols.

    Written as a quotient of two polynomials that are not zero and have no coefficient of the other sign, it is
    positive wherever all symbols are; by continuity it is not negative where some of them are zero. An ordering such
    as n < m <= t becomes the substitution m = n + a, t = n + a + b. A failure proves nothing.

    Args:
        expression: rational in its symbols.
        substitution: symbols replaced by expressions in symbols that range over the positive numbers.

    >>> n, m, a = sympy.symbols("n m a")
    >>> proves_positive(m**2 / n - n, {m: n + a}), proves_positive(m - 2 * n, {m: n + a})
    (True, False)
    """
    return _signs_agree(sympy.sympify(expression), tuple(substitution.items()))


@lru_cache(maxsize=4096, typed=True)
def _signs_agree(expression: sympy.Expr, substitution: tuple[tuple[sympy.Symbol, sympy.Expr], ...]) -> bool:
    replaced = expression.subs(list(substitution), simultaneous=True)
    signs = []
    for part in sympy.fraction(sympy.together(replaced)):
        symbols = sorted(part.free_symbols, key=str)
        # Arithmetic in a polynomial ring: much faster than expanding the expression.
        coefficients = PolyRing(symbols, sympy.QQ).from_expr(part).coeffs() if symbols else [part]
        found = {int(sympy.sign(coefficient)) for coefficient in coefficients}
        if found not in ({1}, {-1}):
            return False
        signs.append(found)
    return bool(signs[0] == signs[1])
