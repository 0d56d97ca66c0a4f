"""Symbolic identities: proved by expansion, refuted at an exact rational point, undecided otherwise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import sympy

from paper_checks.claim import Evidence
from paper_checks.context import Context
from paper_checks.engine.lines import Line
from paper_checks.evaluation import format_apart
from paper_checks.facts import compare, identity, require_exact, vanishes
from paper_checks.methods.sides import UndefinedError
from paper_checks.methods.yielded import by

Point = Mapping[sympy.Symbol, sympy.Rational]
_KINDS = ("integer", "even", "odd", "prime", "composite", "rational", "irrational", "imaginary")
"""Assumptions on the kind of a number, which the scope states; every number is real by default."""


@dataclass(frozen=True)
class Equation:
    """One equation between expressions or plain numbers; ``name`` says which line of the paper it is.

    Raises:
        TypeError: a side is neither.
    """

    name: str
    left: Any
    right: Any

    def __post_init__(self) -> None:
        for side in ("left", "right"):
            object.__setattr__(self, side, _expression(getattr(self, side), f"{self.name}: the {side} side"))


def _expression(value: Any, what: str) -> sympy.Expr:
    """Return an expression or a number as an expression; a text is none, because sympy would evaluate it."""
    try:
        found = sympy.sympify(value, strict=True)
    except sympy.SympifyError:
        found = None
    if not isinstance(found, sympy.Expr):
        raise TypeError(f"{what} must be an expression or a number, got {type(value).__name__} {value!r}")
    return found


def judge_identity(
    equations: Sequence[Equation], points: Sequence[Point], scope: str, positive: Collection[str] = ()
) -> Evidence:
    """Judge equations that should hold for all values of their symbols.

    A symbol without assumptions is a number of either sign; the assumptions of the others must be those of the
    statement, since an expansion makes use of them.

    Args:
        equations: the lines, all of which must hold.
        points: exact rational points that satisfy the assumptions; they show that the assumptions can be met, and one
            of them is the witness of a false line.
        scope: what the symbols range over.
        positive: names of the symbols that the statement says are positive.

    Returns:
        Evidence by facts: the difference of the sides expands to zero, or does not at an exact point. Undecided if
        neither could be shown.

    Raises:
        TypeError: a side or a point has a float.
        UndefinedError: a symbol with a sign that the statement does not state, or a point that does not meet the
            assumptions of its symbols.
    """
    points = [{symbol: sympy.sympify(value) for symbol, value in point.items()} for point in points]
    for equation in equations:
        require_exact(equation.left, equation.right, where=equation.name)
    for point in points:
        require_exact(*point.values(), where="a point")
    _check_signs(equations, points, positive)
    _check_points(points)
    undecided, facts = [], []
    outcomes: list[bool | None] = []
    for number, equation in enumerate(equations):
        difference = equation.left - equation.right
        shown = identity(equation.name, difference)
        outcomes.append(None if shown is None else True)
        if shown is not None:
            facts.append(shown)
            continue
        for point in points:
            value = difference.subs(point)
            if value.is_comparable and value != 0:
                sides = float(equation.left.subs(point)), float(equation.right.subs(point))
                exact = compare(equation.name, value, "!=", 0) if value.is_Rational else None
                return Evidence(
                    ok=False,
                    scope=scope,
                    printed=f"{equation.name}: both sides equal",
                    obtained="left {}, right {} at the witness".format(*format_apart(*sides)),
                    margin=-float(abs(value)) - number,
                    cases=len(points),
                    witness={str(symbol): str(number) for symbol, number in point.items()},
                    sides=sides,
                    facts=(exact,) if exact else (),
                    lines=_lines(equations, [*outcomes[:-1], False], points),
                )
        undecided.append(equation.name)
    lines = _lines(equations, outcomes, points)
    if undecided:
        reason = f"neither proved nor refuted at {len(points)} points: {', '.join(undecided)}"
        return Evidence(None, scope, cases=len(points), reason=reason, lines=lines)
    names = [equation.name for equation in equations]
    listed = "; ".join(names) if len(names) <= 4 else f"{names[0]} to {names[-1]}, {len(names)} lines"
    many = f"in all {len(equations)} lines" if len(equations) > 1 else "in its one line"
    obtained = f"difference of the sides is identically 0 {many}"
    told = [f"positive: {', '.join(positive)}"] if positive else []
    stated = "; ".join([scope, *told, *_assumed(equations, points)])
    return Evidence(
        True, stated, listed, obtained, float(len(equations)), cases=len(points), facts=tuple(facts), lines=lines
    )


identities = by(judge_identity, exact=True)
"""Declares a claim whose judge yields equations and returns points, what the symbols range over, and the names of the
symbols that the statement says are positive, if there are any.

The judge receives its floats as the exact decimals that are written, because rounding could hide a difference.
"""
Equations = Generator[Equation, None, tuple[Sequence[Point], str] | tuple[Sequence[Point], str, Collection[str]]]


def _at_points(equation: Equation, points: Sequence[Point]) -> bool | None:
    """Return the truth of an equation as far as known; it is not expanded because another one is false."""
    for point in points:
        value = (equation.left - equation.right).subs(point)
        if value != 0 if value.is_comparable else value.is_polynomial() and not vanishes(value):
            return False
    return None


def _lines(equations: Sequence[Equation], outcomes: Sequence[bool | None], points: Sequence[Point]) -> dict[str, Line]:
    """Return one line for all equations of a name; those after the last outcome are evaluated on demand."""
    named = defaultdict[str, list[tuple[Equation, bool | None, bool]]](list)
    for number, equation in enumerate(equations):
        known = number < len(outcomes)
        named[equation.name].append((equation, outcomes[number] if known else None, known))
    return {name: _line(some, points) for name, some in named.items()}


def _line(some: Sequence[tuple[Equation, bool | None, bool]], points: Sequence[Point]) -> Line:
    def later() -> bool | None:
        return False if any(_at_points(one, points) is False for one, _, known in some if not known) else None

    found = [ok for _, ok, _ in some]
    ok = False if False in found else None if None in found else True
    waiting = ok is None and not all(known for _, _, known in some)
    sides = tuple((one.left, one.right) for one, _, _ in some)
    return Line(ok, sides, formula=True, later=later if waiting else None)


def _check_signs(equations: Sequence[Equation], points: Sequence[Point], positive: Collection[str]) -> None:
    sides = (sympy.sympify(side) for equation in equations for side in (equation.left, equation.right))
    found = {symbol for side in sides for symbol in side.free_symbols}
    found |= {symbol for point in points for symbol in point}  # a side like |x|/x may have lost its symbols by the sign
    for symbol in sorted(found, key=str):
        signed = symbol.is_extended_nonnegative or symbol.is_extended_nonpositive
        if signed and str(symbol) not in positive:
            raise UndefinedError(
                f"the symbol {symbol} has a sign that the statement does not give it; {_remedy(symbol)}"
            )
        if str(symbol) in positive and any(not point[symbol] > 0 for point in points if symbol in point):
            raise UndefinedError(f"the statement says that {symbol} is positive, and at some point it is not")


def _check_points(points: Sequence[Point]) -> None:
    for symbol, value in (pair for point in points for pair in point.items()):
        for fact, state in getattr(symbol, "_assumptions_orig", {}).items():
            if getattr(value, f"is_{fact}") not in (None, state):
                raise UndefinedError(
                    f"the symbol {symbol} is declared with {fact}={state}, and at some point it is {value}"
                )


def _assumed(equations: Sequence[Equation], points: Sequence[Point]) -> Iterator[str]:
    """Yield what the symbols are assumed to be, such as even; a side like (-1)^k may have lost its symbols by it."""
    found = {symbol for one in equations for side in (one.left, one.right) for symbol in side.free_symbols}
    found |= {symbol for point in points for symbol in point}
    for fact in _KINDS:
        for state, word in ((True, fact), (False, f"not {fact}")):
            names = sorted(str(one) for one in found if getattr(one, "_assumptions_orig", {}).get(fact) is state)
            if names:
                yield f"{word}: {', '.join(names)}"


def _remedy(symbol: sympy.Symbol) -> str:
    """Return how to say the sign of a symbol, or how to do without it."""
    if symbol.is_zero:
        return f"it is declared zero: write 0 for {symbol}"
    if symbol.is_extended_nonpositive:
        return f"it is declared negative: write -{str(symbol)[0]} with a positive symbol {str(symbol)[0]}"
    word = "positive" if symbol.is_extended_positive else "nonnegative"
    return (
        f"the symbol {symbol} is declared {word}: if the statement says so, name it in what the judge returns, "
        f'as in return points, scope, ("{symbol}",); else declare it without {word}=True'
    )


def generic_points(context: Context, symbols: Sequence[sympy.Symbol], count: int) -> list[Point]:
    """Return exact points without accidental relations: distinct values other than 0 and 1.

    Values are of either sign, but meet the assumptions with which a symbol was declared, such as ``positive=True`` or
    ``integer=True``.

    Raises:
        UndefinedError: no rational number was found that meets the assumptions of a symbol.
    """
    rng = context.rng("points")
    points: list[Point] = []
    for _ in range(count):
        sizes = rng.permutation(np.arange(2, 2 + max(100, 2 * len(symbols))))[: len(symbols)]
        signs = rng.choice([-1, 1], len(symbols))
        drawn = zip(symbols, sizes.tolist(), signs.tolist(), strict=True)
        points.append({symbol: _value_of(symbol, size, sign) for symbol, size, sign in drawn})
    return points


def _value_of(symbol: sympy.Symbol, size: int, sign: int) -> sympy.Rational:
    """Return a value with the assumptions of a symbol: the one that was drawn, or else another one of its size."""
    for value in _of_size(size, sign):
        if all(getattr(value, f"is_{fact}") in (None, state) for fact, state in symbol.assumptions0.items()):
            return value
    facts = ", ".join(f"{fact}={state}" for fact, state in symbol._assumptions_orig.items())
    raise UndefinedError(f"no point for the symbol {symbol}: no rational number has {facts}; write points by hand")


def _of_size(size: int, sign: int) -> Iterator[sympy.Rational]:
    """Yield rational numbers, fractions before whole ones; those of different sizes differ."""
    sizes = (sympy.Rational(size, 101), sympy.Integer(size), sympy.Integer(2 * size), sympy.Integer(2 * size + 1))
    yield from (one * value for value, one in product(sizes, (sign, -sign)))
    yield sympy.Integer(sympy.prime(size))


def rational(value: str | int | float | Fraction) -> sympy.Rational:
    """Return an exact rational number; floats are taken by their exact binary value."""
    fraction = Fraction(value)
    return sympy.Rational(fraction.numerator, fraction.denominator)
