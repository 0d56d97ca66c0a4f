"""Reading the values of a stored file, and changing them to see what depends on them."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, get_args

Values = Mapping[str, Any]
DIGITS = 4300
"""Most digits of a number; Python's own bound where it reads whole ones."""
MOST_TRIED = 12
"""Most mutants that a proof is tried on, and most changes of stored values that a replay is."""
Change = Literal["a little", "doubled", "halved"]
CHANGES: tuple[Change, ...] = get_args(Change)
"""How stored values are changed, one at a time, to see what depends on them."""
_NUMBER = re.compile(r"(?P<digits>[-+]?\d+(?:\.\d*)?)(?:(?P<exponent>[eE][-+]?\d+)|/(?P<below>\d+))?")
_WITH_EXPONENT = re.compile(r"\s*[-+]?[\d_.]+e([-+]?\d+(?:_\d+)*)\s*", re.IGNORECASE)


def require_short(value: Any) -> None:
    """Refuse texts of numbers, such as 1e999999999, that take few letters and minutes to write out as fractions.

    Raises:
        ValueError: there is one.
    """
    if isinstance(value, str):
        found = _WITH_EXPONENT.fullmatch(value)
        if found and abs(int(found[1])) > DIGITS:
            raise ValueError(f"{value.strip()} has an exponent above {DIGITS}: write a smaller number")
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        require_short(part)


def fractions(values: Values, *names: str) -> list[Fraction]:
    """Return the named values as exact fractions; floats are taken by their exact binary value."""
    return [Fraction(values[name]) for name in names]


def followed(values: Values, name: str, most: int = 8) -> int:
    """Return a number of steps or rounds that are followed in fractions, whose digits multiply with each.

    Raises:
        ValueError: there are more of them.
    """
    count = int(values[name])
    if count > most:
        raise ValueError(f"at most {most} {name} can be followed in fractions, got {count}")
    return count


def square(entries: Sequence[Sequence[Any]], size: int) -> list[list[Fraction]]:
    """Return a stored matrix of as many rows as columns.

    Raises:
        ValueError: it has another shape.
    """
    rows = [[Fraction(entry) for entry in row] for row in entries]
    if [len(row) for row in rows] != [size] * size:
        raise ValueError(f"not {size} rows of {size} entries: {entries}")
    return rows


def expression(text: str, names: Mapping[str, Any]) -> Any:
    """Return a sympy expression from text: integers, the names given, and + - * / **; nothing else is evaluated.

    Raises:
        ValueError: the text holds anything else.
    """
    import sympy

    operators: dict[type, Any] = {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
        ast.Pow: operator.pow,
        ast.USub: operator.neg,
    }

    def require_small_power(base: Any, power: Any) -> None:
        bits = max(base.p.bit_length(), base.q.bit_length()) if isinstance(base, sympy.Rational) else 1
        if isinstance(power, sympy.Rational) and abs(power) * bits > 4 * DIGITS:
            raise ValueError(f"{text!r} has a power of more than {DIGITS} digits: write a smaller one")

    def read(node: ast.AST) -> Any:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return sympy.Integer(node.value)
        if isinstance(node, ast.Name) and node.id in names:
            return names[node.id]
        if isinstance(node, ast.UnaryOp | ast.BinOp) and type(node.op) in operators:
            parts = [read(node.operand)] if isinstance(node, ast.UnaryOp) else [read(node.left), read(node.right)]
            if isinstance(node.op, ast.Pow):
                require_small_power(*parts)
            return operators[type(node.op)](*parts)
        raise ValueError(f"{text!r} is not an expression in {', '.join(names)}")

    try:
        return sympy.sympify(read(ast.parse(text, mode="eval").body))
    except SyntaxError:
        raise ValueError(f"{text!r} is not an expression in {', '.join(names)}") from None


def changed_values(values: Values) -> Iterator[dict[str, Any]]:
    """Yield stored values with one number or text of them changed: a little, doubled, halved; some evenly spread."""
    places = list(_leaves(values))
    for change in CHANGES:
        for place in places[:: 1 + len(places) // MOST_TRIED]:
            yield _with_other(values, place, change)


def _leaves(value: Any) -> Iterator[tuple[Any, ...]]:
    """Yield where the numbers and texts are."""
    if not isinstance(value, Mapping | list):
        yield ()
        return
    for key in value if isinstance(value, Mapping) else range(len(value)):
        yield from ((key, *rest) for rest in _leaves(value[key]))


def _with_other(value: Any, place: Sequence[Any], change: Change) -> Any:
    if place:
        items = dict(value) if isinstance(value, Mapping) else list(value)
        items[place[0]] = _with_other(value[place[0]], place[1:], change)
        return items
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return _other_whole(value, change)
    if isinstance(value, float):
        other = {"a little": 1.001 * value + 0.001, "doubled": 2.0 * value + 2.0, "halved": value / 2.0}[change]
        return other if math.isfinite(other) else value / 2.0
    text = _NUMBER.sub(lambda number: _other_number(number, change), value, count=1)
    return f"other {value}" if text == value else text


def _other_number(text: re.Match[str], change: Change) -> str:
    """Return another number as text, with its exponent, and a whole one for a whole one."""
    digits, below, exponent = text["digits"], text["below"], text["exponent"] or ""
    factor = {"a little": Fraction(1001, 1000), "doubled": Fraction(2), "halved": Fraction(1, 2)}[change]
    if below:
        return str(factor * Fraction(f"{digits}/{below}") if int(below) else factor)
    if "." in digits:
        return f"{Decimal(digits) * factor.numerator / factor.denominator:f}{exponent}"
    return f"{_other_whole(int(digits), change)}{exponent}"


def _other_whole(value: int, change: Change) -> int:
    return {"a little": value + 1, "doubled": 2 * value + 2, "halved": value // 2}[change]
