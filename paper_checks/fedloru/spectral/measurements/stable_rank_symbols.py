"""The summands of Theorem 3.2's proof, in symbols and at points."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from paper_checks.context import Context
from paper_checks.methods.domain import OPEN_UNIT, POSITIVE, UNIT, Axis, Cases, Searched
from paper_checks.methods.identity import rational
from paper_checks.methods.inequality import collect_cases
from rmt.spiked import wigner_outlier

THETA_0, THETA_J, SIGMA, S_M, S_N = sympy.symbols("theta_0 theta_j sigma s_M s_N", nonzero=True)


def draw_points(context: Context, count: int = 12) -> list[dict[str, Fraction]]:
    r"""Draw exact points with $|\theta_0| \ge |\theta_j| > 0$, $\theta_0^2 \ge \sigma^2 s_M^2$, $0 < s_N < s_M < 1$."""
    rng = context.rng("points")
    points: list[dict[str, Fraction]] = []
    while len(points) < count:
        numbers = [Fraction(int(rng.integers(1, 60)), int(rng.integers(1, 60))) for _ in range(5)]
        signs = [int(sign) for sign in rng.choice([-1, 1], 2)]
        s_M = numbers[3] / (numbers[3] + 1)
        point = {
            "theta_0": signs[0] * max(numbers[0], numbers[1]),
            "theta_j": signs[1] * min(numbers[0], numbers[1]),
            "sigma": numbers[2],
            "s_M": s_M,
            "s_N": s_M * numbers[4] / (numbers[4] + 1),
        }
        if point["theta_0"] ** 2 >= (point["sigma"] * s_M) ** 2 and abs(point["theta_j"]) != abs(point["theta_0"]):
            points.append(point)
    return points


SYMBOLS = {str(symbol): symbol for symbol in (THETA_0, THETA_J, SIGMA, S_M, S_N)}


def as_symbols(points: list[dict[str, Fraction]]) -> list[dict[sympy.Symbol, sympy.Rational]]:
    """Return the same points for substitution into expressions."""
    return [{SYMBOLS[name]: rational(value) for name, value in point.items()} for point in points]


SPIKE = Axis("theta_0", 1e-3, 1e3, POSITIVE, signed=True, words="the largest spike, theta_0")

RATIO = Axis("ratio", 1e-3, 1.0, UNIT, signed=True, words="a spike over the largest one, theta_j/theta_0")

NOISE = Axis("noise", 1e-3, 1e3, POSITIVE, words="scale of the client's noise, sigma s_M")

SHRINK = Axis("shrink", 1e-3, 0.9999, OPEN_UNIT, words="scale of the server's noise over the client's, s_N/s_M")

AXES = (SPIKE, RATIO, NOISE, SHRINK)


def parameters(case: Mapping[str, Any]) -> dict[str, Any]:
    r"""Return the paper's parameters from those searched: $\theta_j/\theta_0$, $\sigma s_M$, $s_N/s_M$; $s_M = 1/2$."""
    half = Fraction(1, 2) if isinstance(case["theta_0"], Fraction) else 0.5
    return {
        "theta_0": case["theta_0"],
        "theta_j": case["ratio"] * case["theta_0"],
        "sigma": case["noise"] / half,
        "s_M": half,
        "s_N": case["shrink"] * half,
    }


def outliers(values: Mapping[str, Any]) -> tuple[Any, Any, Any, Any]:
    r"""Return $g_M^{-1}(\theta_j), g_N^{-1}(\theta_0), g_N^{-1}(\theta_j), g_M^{-1}(\theta_0)$ for any number type."""
    noise_M, noise_N = values["sigma"] * values["s_M"], values["sigma"] * values["s_N"]
    return (
        wigner_outlier(values["theta_j"], noise_M),
        wigner_outlier(values["theta_0"], noise_N),
        wigner_outlier(values["theta_j"], noise_N),
        wigner_outlier(values["theta_0"], noise_M),
    )


def F_j(values: Mapping[str, Any]) -> Any:
    r"""Return the difference $F_j$ of eq. 39, from its definition, for any kind of number."""
    g_Mj, g_N0, g_Nj, g_M0 = outliers(values)
    return (g_Mj / g_M0) ** 2 - (g_Nj / g_N0) ** 2


def search_signs(context: Context) -> Searched:
    """Search cases with every sign and magnitude, also where the assumption of Theorem 3.2 fails."""

    def gap(cases: Cases) -> np.ndarray:
        return F_j(parameters(cases))

    return collect_cases(
        context,
        AXES,
        lambda cases: np.ones(len(cases["noise"]), bool),
        gap,
        examples=context.size(200, 2000),
        restarts=context.size(1, 4),
    )
