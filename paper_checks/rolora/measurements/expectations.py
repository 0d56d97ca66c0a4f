r"""Exact expectations over normal samples of what FFA-LoRA's loss is made of (Appendix A.4.1).

For client i, $X_ia = x_i$ and $X_ia^* = \alpha x_i + \beta y_i$ with independent standard normal vectors of m entries.
Only $r_i = \|x_i\|^2$, the standard normal $g_i = x_i^\top y_i/\|x_i\|$, and $w_i = \|y_i\|^2 - g_i^2$ matter; they
are independent, $r_i$ chi-square with m degrees of freedom and $w_i$ with m - 1. Everything is a polynomial in $g_i$,
$w_i$, $h_i = \sqrt{r_i}$ and $1/h_i$, whose monomials have closed expectations.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import sympy

M, ALPHA = sympy.Symbol("m", positive=True), sympy.Symbol("alpha")

BETA = sympy.Symbol("beta")  # beta^2 = 1 - alpha^2 is put in at the end


@cache
def symbols_of(client: int) -> tuple[sympy.Symbol, sympy.Symbol, sympy.Symbol]:
    """Return h, g and w of one client."""
    return sympy.Symbol(f"h{client}"), sympy.Symbol(f"g{client}"), sympy.Symbol(f"w{client}")


def scale(client: int) -> sympy.Expr:
    r"""Return $s_i = (X_ia)^\top(X_ia^*)/\|X_ia\|^2$."""
    h, g, _ = symbols_of(client)
    return ALPHA + BETA * g / h


def scalar_product(client: int) -> sympy.Expr:
    r"""Return $(X_ia)^\top(X_ia^*)$."""
    h, g, _ = symbols_of(client)
    return ALPHA * h**2 + BETA * h * g


def target_square(client: int) -> sympy.Expr:
    r"""Return $\|X_ia^*\|^2$."""
    h, g, w = symbols_of(client)
    return ALPHA**2 * h**2 + 2 * ALPHA * BETA * h * g + BETA**2 * (g**2 + w)


def chi_square_moment(degrees: sympy.Expr, power: int) -> sympy.Expr:
    """Return E of a power of a chi-square variable; negative powers need more degrees than twice their size."""
    if power >= 0:
        return sympy.prod([degrees + 2 * k for k in range(power)])
    return 1 / sympy.prod([degrees - 2 * k for k in range(1, -power + 1)])


def expectation(expression: sympy.Expr, clients: int) -> sympy.Expr:
    """Return the expectation, as a rational function of m and alpha; for m above twice the powers of 1/h.

    Raises:
        ValueError: an odd power of h without an odd power of g, whose expectation is not rational.
    """
    expanded = sympy.expand(expression)
    total = sympy.Integer(0)
    generators = [symbol for client in range(1, clients + 1) for symbol in symbols_of(client)]
    for term in sympy.Add.make_args(expanded):
        powers = term.as_powers_dict()
        factor = term
        for symbol in generators:
            factor = factor / symbol ** powers.get(symbol, 0)
        for client in range(1, clients + 1):
            h, g, w = (int(powers.get(symbol, 0)) for symbol in symbols_of(client))
            if g % 2:
                factor = sympy.Integer(0)
                break
            if h % 2:
                raise ValueError(f"no rational expectation: {term}")
            factor *= sympy.factorial2(g - 1) * chi_square_moment(M, h // 2) * chi_square_moment(M - 1, w)
        total += factor
    return sympy.expand(total).subs(BETA**2, 1 - ALPHA**2) if total else total


def mean_of_form(expression: sympy.Expr, entries: Sequence[sympy.Symbol]) -> sympy.Expr:
    """Return the mean of a quadratic form in independent standard normal entries."""
    return sympy.Add(*(sympy.diff(expression, entry, 2) for entry in entries)) / 2
