"""Proofs of a sign: after a substitution that spells out the assumptions, only non-negative coefficients are left."""

from __future__ import annotations

from collections.abc import Mapping

import sympy
from sympy.polys.rings import PolyRing


def proves_positive(expression: sympy.Expr, substitution: Mapping[sympy.Symbol, sympy.Expr]) -> bool:
    """Whether a rational expression is shown to be positive for all positive values of its symbols.

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
    replaced = sympy.sympify(expression).subs(list(substitution.items()), simultaneous=True)
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
