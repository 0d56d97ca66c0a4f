"""The logarithm near 1, and signs of rational expressions."""

from __future__ import annotations

from typing import Any

import sympy

w, y, z = sympy.symbols("w y z", positive=True)
"""What 1 is shortened by, and the arguments of two functions."""


def positive(expression: Any) -> bool:
    """Whether a rational expression is a quotient of polynomials whose coefficients all have one sign."""
    signs = []
    for part in sympy.fraction(sympy.together(expression)):
        symbols = sorted(part.free_symbols, key=str)
        found = {sympy.sign(c) for c in sympy.Poly(part, *symbols).coeffs()} if symbols else {sympy.sign(part)}
        if found not in ({sympy.Integer(1)}, {sympy.Integer(-1)}):
            return False
        signs.append(found)
    return bool(signs[0] == signs[1])


def flaw_of_logarithms() -> str:
    r"""$-\log(1 - y) \ge y$ on (0, 1) and $\operatorname{artanh} z \ge z$: both vanish at 0, with derivatives >= 0."""
    one, two = -sympy.log(1 - y) - y, sympy.atanh(z) - z
    inside = {y: 1 / (1 + w), z: 1 / (1 + w)}
    checks = [f.subs(v, 0) == 0 and positive(sympy.simplify(f.diff(v)).subs(inside)) for f, v in ((one, y), (two, z))]
    return "" if all(checks) else "a logarithm"
