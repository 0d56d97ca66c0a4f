"""Reading the values of a stored file."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

Values = Mapping[str, Any]
DIGITS = 4300
"""Most digits of a number; Python's own bound where it reads whole ones."""
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
