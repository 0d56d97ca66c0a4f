"""Values of the constant terms that formal statements set: numbers, fractions, powers, ``exp`` and ``sqrt``."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from fractions import Fraction

Number = Fraction | float
_OPERATORS: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FUNCTIONS: dict[str, Callable[[float], float]] = {"exp": math.exp, "sqrt": math.sqrt}


def value_of(term: str) -> str:
    """Return the value of a term of real numbers: a fraction, else a float; a term with variables as it is written.

    >>> value_of("12"), value_of("1 / 2 + 1 / 4"), value_of("2 ^ 3"), value_of("exp 1 - 1"), value_of("fun s => s")
    ('12', '3/4', '8', '1.718281828459045', 'fun s => s')
    """
    written = term.strip()
    python = written.replace("^", "**")
    for name in _FUNCTIONS:
        python = _with_brackets(python, name)
    try:
        return str(_evaluate(ast.parse(python, mode="eval").body))
    except (SyntaxError, ValueError, ArithmeticError):
        return written


def _with_brackets(term: str, name: str) -> str:
    """Return a term with an application ``f x`` as ``f(x)``, where x is a number."""
    words = term.split()
    for at, word in enumerate(words[:-1]):
        if word.lstrip("(") == name and words[at + 1].rstrip(")").isdigit():
            number = words[at + 1].rstrip(")")
            words[at + 1] = words[at + 1].replace(number, f"({number})", 1)
    return " ".join(words)


def _evaluate(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return Fraction(number)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_evaluate(inner)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as power)) if 0 <= power <= 64:
            return _evaluate(left) ** power
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return _OPERATORS[type(sign)](_evaluate(left), _evaluate(right))
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](float(_evaluate(inner)))
    raise ValueError(f"not a number: {ast.unparse(node)}")
