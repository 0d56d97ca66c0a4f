"""Moments of FFA-LoRA's minimiser on random samples, for the proof of Proposition 5.5."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from paper_checks.claim import Evidence
from paper_checks.context import Context
from paper_checks.methods.identity import Equation, Point, judge_identity, rational
from paper_checks.rolora.measurements.expectations import (
    ALPHA,
    BETA,
    M,
    expectation,
    scalar_product,
    scale,
    symbols_of,
    target_square,
)

CLIENTS = (1, 2, 3, 4)


@dataclass(frozen=True)
class Moments:
    """Expectations for 1 to 4 clients, in m and alpha, and exact points.

    Attributes:
        terms: Expectations by name and number of clients; N is a number.
        points: Values of m and alpha.
    """

    terms: Mapping[str, Mapping[int, sympy.Expr]]
    points: tuple[Point, ...]


def parts(N: int) -> dict[str, sympy.Expr]:
    """Return the six terms of eq. (188) and the whole, before expectations."""
    h_squared = symbols_of(1)[0] ** 2
    z_1, z_2 = scale(1) / N, sum((scale(i) for i in range(2, N + 1)), sympy.Integer(0)) / N
    return {
        "v'v": target_square(1),
        "u1'u1": z_1**2 * h_squared,
        "u2'u2": z_2**2 * h_squared,
        "v'u1": z_1 * scalar_product(1),
        "v'u2": z_2 * scalar_product(1),
        "u1'u2": z_1 * z_2 * h_squared,
        "r2^2/r1": symbols_of(1)[1] ** 2,
        "s^2": scale(1) ** 2,
        "s": scale(1),
        "R^2": symbols_of(1)[1] ** 2 / h_squared,
        "R": symbols_of(1)[1] / symbols_of(1)[0],
        "1/r1": 1 / h_squared,
        "r1": h_squared,
        "r2": symbols_of(1)[0] * symbols_of(1)[1],
        "quotient": scalar_product(1) ** 2 / h_squared,
        "product": scalar_product(1),
        "z2": z_2,
        "z2^2": z_2**2,
        "sum of s": N * z_2,
        "s_i s_j": scale(1) * scale(2),
        "sum of squares": sum((scale(i) ** 2 for i in range(2, N + 1)), sympy.Integer(0)) / N**2,
        "loss": target_square(1) - 2 * (z_1 + z_2) * scalar_product(1) + (z_1 + z_2) ** 2 * h_squared,
    }


Z = sympy.Symbol("z")

OURS, ACROSS = (sympy.Matrix(sympy.symbols(f"{name}1:3")) for name in "pq")
"""A given $z_2$, and two entries of the first two columns of a client's samples, $x_{i,1}$ and $x_{i,2}$."""


def point(m: int, cosine: str, sine: str) -> Point:
    """Return values of all symbols, at this number of samples and this angle."""
    free = [Z, *OURS, *ACROSS, *(symbol for client in CLIENTS for symbol in symbols_of(client)[:2])]
    others = {symbol: sympy.Rational(number + 2, 3) for number, symbol in enumerate(free)}
    return {M: sympy.Integer(m), ALPHA: rational(cosine), BETA: rational(sine), **others}


POINTS = tuple(point(*at) for at in ((3, "0.6", "0.8"), (4, "0.8", "0.6"), (10, "-0.28", "0.96")))


def measure_moments(*names: str) -> Callable[[Context], Moments]:
    """Return the measurement of the exact expectations of the named terms."""

    def measure(context: Context) -> Moments:
        found = {
            N: {name: expectation(part, max(N, 2)) for name, part in parts(N).items() if name in names} for N in CLIENTS
        }
        return Moments({name: {N: found[N][name] for N in CLIENTS} for name in names}, POINTS)

    return measure


IN_COORDINATES = Equation(
    "x_1 . (alpha x_1 + beta x_2)",
    OURS.dot(ALPHA * OURS + BETA * ACROSS),
    ALPHA * OURS.dot(OURS) + BETA * OURS.dot(ACROSS),
)
r"""The product $(X_ia)^\top(X_ia^*)$ for $a = e_1$, as in (193), (209) and (231)."""

SCOPE = "1 to 4 clients, every m for which the expectation is finite, every angle"


def judge_moments(
    data: Moments, formulas: Mapping[str, Callable[[int], Any]], scope: str = SCOPE, others: Sequence[Equation] = ()
) -> Evidence:
    """Judge formulas against exact expectations, for every number of clients, and equations before any expectation."""
    lines = [
        Equation(f"{name}, N = {N}", data.terms[name][N], sympy.sympify(formula(N)))
        for name, formula in formulas.items()
        for N in CLIENTS
    ]
    return judge_identity([*lines, *others], data.points, scope, positive=("m",))


LETTERS = (
    r"With $s_i = \frac{(X_ia)^\top(X_ia^*)}{\|X_ia\|^2}$, $z_2 = \frac1N(s_2 + \ldots + s_N)$, $v = X_1a^*$, $u_1 = "
    r"\frac{s_1}NX_1a$, $u_2 = z_2X_1a$ and $\alpha = a^\top a^*$: "
)

COORDINATES = (
    r"For $a = e_1$ without loss of generality, $a^* = \alpha e_1 + \sqrt{1 - \alpha^2}e_2$, $X_ia = x_{i,1}$ and "
    r"$X_ia^* = \alpha x_{i,1} + \sqrt{1 - \alpha^2}x_{i,2}$, the first two columns. "
)
