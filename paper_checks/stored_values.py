"""Reading the values of a stored file."""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

Values = Mapping[str, Any]


def fractions(values: Values, *names: str) -> list[Fraction]:
    """The named values as exact fractions; floats are taken by their exact binary value."""
    return [Fraction(values[name]) for name in names]


def followed(values: Values, name: str, most: int = 8) -> int:
    """A number of steps or rounds that are followed in fractions, whose digits multiply with each.

    Raises:
        ValueError: there are more of them.
    """
    count = int(values[name])
    if count > most:
        raise ValueError(f"at most {most} {name} are followed in fractions, got {count}")
    return count


def square(entries: Sequence[Sequence[Any]], size: int) -> list[list[Fraction]]:
    """A stored matrix of as many rows as columns.

    Raises:
        ValueError: it has another shape.
    """
    rows = [[Fraction(entry) for entry in row] for row in entries]
    if [len(row) for row in rows] != [size] * size:
        raise ValueError(f"not {size} rows of {size} entries: {entries}")
    return rows


def expression(text: str, names: Mapping[str, Any]) -> Any:
    """A sympy expression from text: integers, the names given, and + - * / **; nothing else is evaluated.

    Raises:
        ValueError: the text holds anything else.
    """
    import sympy

    operators: dict[type, Any] = {
        ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
        ast.Pow: operator.pow, ast.USub: operator.neg,
    }  # fmt: skip

    def read(node: ast.AST) -> Any:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return sympy.Integer(node.value)
        if isinstance(node, ast.Name) and node.id in names:
            return names[node.id]
        if isinstance(node, ast.UnaryOp | ast.BinOp) and type(node.op) in operators:
            parts = [node.operand] if isinstance(node, ast.UnaryOp) else [node.left, node.right]
            return operators[type(node.op)](*map(read, parts))
        raise ValueError(f"{text!r} is no expression in {', '.join(names)}")

    try:
        return sympy.sympify(read(ast.parse(text, mode="eval").body))
    except SyntaxError:
        raise ValueError(f"{text!r} is no expression in {', '.join(names)}") from None
