"""Appendix A.4: the steps of the stable-rank theorem (Theorem 3.2), eq. 39 to 44."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import sympy

from paper_checks.claim import Dropped, Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.facts import Fact, identity, positive, together
from paper_checks.methods.domain import FROM_ONE, OPEN_UNIT, POSITIVE, UNIT, Axis, Cases, Searched
from paper_checks.methods.identity import Equation, Equations, identities, judge_identity, rational
from paper_checks.methods.inequality import collect_cases, judge_inequality
from paper_checks.methods.units import judge_units
from rmt.spiked import wigner_outlier

THETA_0, THETA_J, SIGMA, S_M, S_N = sympy.symbols("theta_0 theta_j sigma s_M s_N", nonzero=True)
_MORE, _FURTHER = sympy.symbols("a b", positive=True)
SYMBOLS = {str(symbol): symbol for symbol in (THETA_0, THETA_J, SIGMA, S_M, S_N)}

# Under a change of the unit of curvature the spikes and sigma scale, the factors s do not.
WEIGHTS = {"theta_0": 1, "theta_j": 1, "sigma": 1}


def draw_points(context: Context, count: int = 12) -> list[dict[str, Fraction]]:
    r"""Exact points with $|\theta_0| \ge |\theta_j| > 0$, $\theta_0^2 \ge \sigma^2 s_M^2$, $0 < s_N < s_M < 1$."""
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


def as_symbols(points: list[dict[str, Fraction]]) -> list[dict[sympy.Symbol, sympy.Rational]]:
    """The same points for substitution into expressions."""
    return [{SYMBOLS[name]: rational(value) for name, value in point.items()} for point in points]


def outliers(values: Mapping[str, Any]) -> tuple[Any, Any, Any, Any]:
    r"""$g_M^{-1}(\theta_j), g_N^{-1}(\theta_0), g_N^{-1}(\theta_j), g_M^{-1}(\theta_0)$ for any kind of number."""
    noise_M, noise_N = values["sigma"] * values["s_M"], values["sigma"] * values["s_N"]
    return (
        wigner_outlier(values["theta_j"], noise_M),
        wigner_outlier(values["theta_0"], noise_N),
        wigner_outlier(values["theta_j"], noise_N),
        wigner_outlier(values["theta_0"], noise_M),
    )


@identities(
    "fedloru-v2/eq-39",
    where="Appendix A.4, eq. (39) and the two displays before it",
    says=r"With $g_M(j)$ for $g_M^{-1}(\theta_j)$ in the first two displays: $F_j = \frac{g_M(j)^2g_N(0)^2 - "
    r"g_N(j)^2g_M(0)^2}{g_M(0)^2g_N(0)^2} = \frac{(g_M(j)g_N(0) + g_N(j)g_M(0))(g_M(j)g_N(0) - "
    r"g_N(j)g_M(0))}{g_M(0)^2g_N(0)^2}$; $g_M(j)g_N(0) - g_N(j)g_M(0) = (\theta_j + "
    r"\frac{\sigma^2s_M^2}{\theta_j})(\theta_0 + \frac{\sigma^2s_N^2}{\theta_0}) - (\theta_j + "
    r"\frac{\sigma^2s_N^2}{\theta_j})(\theta_0 + \frac{\sigma^2s_M^2}{\theta_0}) = \sigma^2(s_M^2 - "
    r"s_N^2)(\frac{\theta_0}{\theta_j} - \frac{\theta_j}{\theta_0})$; thus $F_j = "
    r"\frac{g_M^{-1}(\theta_j)^2}{g_M^{-1}(\theta_0)^2} - \frac{g_N^{-1}(\theta_j)^2}{g_N^{-1}(\theta_0)^2} = "
    r"\frac{g_M^{-1}(\theta_j)g_N^{-1}(\theta_0)+g_N^{-1}(\theta_j)g_M^{-1}(\theta_0)}"
    r"{g_M^{-1}(\theta_0)^2g_N^{-1}(\theta_0)^2}\,\sigma^2(s_M^2-s_N^2)"
    r"\left(\frac{\theta_0}{\theta_j}-\frac{\theta_j}{\theta_0}\right)$.",
    measure=draw_points,
    mutants=[{"sigma_power": 4}, {"sign": -1}, {"swapped": True}],
    expect=("holds", "proof"),
)
def eq_39(
    points: list[dict[str, Fraction]], sigma_power: int = 2, sign: int = 1, swapped: bool = False, factor: float = 1.0
) -> Equations:
    """Every line by expansion: the quotient, its factors, the inner identity and what it leads to."""
    g_Mj, g_N0, g_Nj, g_M0 = outliers(SYMBOLS)
    whole, below = g_Mj**2 / g_M0**2 - g_Nj**2 / g_N0**2, g_M0**2 * g_N0**2
    factors = (g_Mj * g_N0 + g_Nj * g_M0) * (g_Mj * g_N0 - g_Nj * g_M0)
    difference = THETA_0 / THETA_J - THETA_J / THETA_0
    inner = rational(factor) * sign * SIGMA**sigma_power * (S_M**2 - S_N**2) * (-difference if swapped else difference)
    yield from [
        Equation("common denominator", whole, (g_Mj**2 * g_N0**2 - g_Nj**2 * g_M0**2) / below),
        Equation("factors", whole, factors / below),
        Equation("inner identity", g_Mj * g_N0 - g_Nj * g_M0, inner),
        Equation("eq. (39)", whole, (g_Mj * g_N0 + g_Nj * g_M0) / below * inner),
    ]
    return as_symbols(points), "all non-zero theta_0, theta_j, sigma, s_M, s_N"


SPIKE = Axis("theta_0", 1e-3, 1e3, POSITIVE, signed=True, words="the largest spike, theta_0")
RATIO = Axis("ratio", 1e-3, 1.0, UNIT, signed=True, words="a spike over the largest one, theta_j/theta_0")
NOISE = Axis("noise", 1e-3, 1e3, POSITIVE, words="scale of the client's noise, sigma s_M")
SHRINK = Axis("shrink", 1e-3, 0.9999, OPEN_UNIT, words="scale of the server's noise over the client's, s_N/s_M")
AXES = (SPIKE, RATIO, NOISE, SHRINK)
BOUND_AXES = (  # with a sample size between M and N
    SPIKE,
    RATIO,
    NOISE,
    replace(SHRINK, words="scale of the noise at a sample size between M and N over that at M"),
    Axis("shrink_N", 1e-3, 0.9999, OPEN_UNIT, words="scale of the noise at N over that at this sample size"),
    Axis("count", 1.0, 1e6, FROM_ONE, words="the count B_N"),
)


def parameters(case: Mapping[str, Any]) -> dict[str, Any]:
    r"""The paper's parameters from those searched: $\theta_j/\theta_0$, $\sigma s_M$ and $s_N/s_M$, at $s_M = 1/2$."""
    half = Fraction(1, 2) if isinstance(case["theta_0"], Fraction) else 0.5
    return {
        "theta_0": case["theta_0"],
        "theta_j": case["ratio"] * case["theta_0"],
        "sigma": case["noise"] / half,
        "s_M": half,
        "s_N": case["shrink"] * half,
    }


def F_j(values: Mapping[str, Any]) -> Any:
    r"""The difference $F_j$ of eq. 39, from its definition, for any kind of number."""
    g_Mj, g_N0, g_Nj, g_M0 = outliers(values)
    return (g_Mj / g_M0) ** 2 - (g_Nj / g_N0) ** 2


def lower_bound(values: Mapping[str, Any], constant: Any = 8, sigma_power: int = 4) -> Any:
    """Right side of eq. 40 for any kind of number."""
    _, g_N0, _, g_M0 = outliers(values)
    t0, tj, s_M, s_N = values["theta_0"], values["theta_j"], values["s_M"], values["s_N"]
    numerator = constant * values["sigma"] ** sigma_power * s_M * s_N * (s_M**2 - s_N**2)
    return numerator / (g_M0**2 * g_N0**2) * abs(t0 / tj - tj / t0)


def _above_threshold(cases: Cases) -> np.ndarray:
    return np.abs(cases["theta_0"]) >= cases["noise"]


def search_eq_40(context: Context) -> Searched:
    """Cases of Theorem 3.2's assumption, driven towards equality in eq. 40."""

    def gap(cases: Cases) -> np.ndarray:
        values = parameters(cases)
        bound = lower_bound(values)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(bound > 0, F_j(values) / bound - 1.0, np.inf)

    return collect_cases(
        context, AXES, _above_threshold, gap, examples=context.size(200, 2000), restarts=context.size(1, 6)
    )


def search_signs(context: Context) -> Searched:
    """Cases with every sign and magnitude, also where the assumption of Theorem 3.2 fails."""

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


@claim(
    "fedloru-v2/claim-Fj-sign",
    where="Appendix A.4, after eq. (39), what the analysis of signs comes to",
    says=r"The overall sign of $F_j$, $j \in \mathcal{P}_N \cup \mathcal{Q}_N$, is positive.",
    measure=search_signs,
    control=Form(r"$F_j > 0$ whenever $|\theta_j| < |\theta_0|$.", {"below_largest": True}),
    correction=Form(
        r"$F_j \ge 0$, with equality exactly for $|\theta_j| = |\theta_0|$, in particular for $\theta_j = \theta_0$, "
        r"which the sum over $\mathcal{P}_N \cup \mathcal{Q}_N$ contains.",
        {"strict": False},
        mutants=({"swapped": True}, {"sign": -1}),
    ),
    uses=("fedloru-v2/eq-39",),
    importance="detail",
    because=r"$F_j = 0$ for $\theta_j = \theta_0$, which the sum contains, and whenever $|\theta_j| = |\theta_0|$.",
    hypotheses=(Dropped(r"$|\theta_j| \le |\theta_0|$", {"swapped": True}),),
    expect=("corrected", "proof"),
)
def claim_Fj_sign(
    cases: Searched, strict: bool = True, below_largest: bool = False, swapped: bool = False, sign: int = 1
) -> Evidence:
    """By eq. (39), in which the last factor is 0 exactly for |theta_j| = |theta_0|, over all signs and magnitudes.

    ``swapped`` drops that theta_0 is the largest.
    """

    def sides(case: Mapping[str, Any]) -> tuple[Any, Any]:
        values = parameters(case)
        if swapped:
            values = {**values, "theta_0": values["theta_j"], "theta_j": values["theta_0"]}
        return 0 * values["theta_0"], sign * F_j(values)

    kept = {name: column[np.abs(cases["ratio"]) < 1.0] if below_largest else column for name, column in cases.items()}
    left, right = sides(kept)
    judged = judge_inequality(
        left,
        right,
        0.0,
        scope=f"{len(right)} cases, all signs, theta_j/theta_0 in [-1, 1], sigma s over six decades",
        quotient=True,
        case=kept,
        exact=sides,
        strict=strict,
        domain=cases.domain,
        printed="0 < F_j" if strict else "0 <= F_j",
    )
    return replace(judged, facts=_sign_of_F_j()) if judged.ok and not below_largest else judged


@cache
def _sign_of_F_j() -> tuple[Fact, ...]:
    """F_j is a function of squares, so that magnitudes are enough: positive below the largest spike, 0 for equal."""
    below, client = {THETA_0: THETA_J + _MORE}, {S_M: S_N + _FURTHER}
    return together(
        positive("F_j for |theta_j| < |theta_0|", F_j(SYMBOLS), {**below, **client}),
        identity("F_j for |theta_j| = |theta_0|", F_j({**SYMBOLS, "theta_0": THETA_J})),
        identity("F_j, signs", F_j({**SYMBOLS, "theta_0": -THETA_0}) - F_j(SYMBOLS)),
    )


@claim(
    "fedloru-v2/eq-40",
    where="Appendix A.4, eq. (40)",
    says=r"Since $g_M^{-1}(\theta_j) \ge U_M$ for $j \in \mathcal{P}_M$ or $g_M^{-1}(\theta_j) \le L_M$ for $j \in "
    r"\mathcal{Q}_M$, for $j \in \mathcal{P}_N \cup \mathcal{Q}_N$: $F_j \ge \frac{8\sigma^4 s_M s_N "
    r"(s_M^2-s_N^2)}{g_M^{-1}(\theta_0)^2 "
    r"g_N^{-1}(\theta_0)^2}\left|\frac{\theta_0}{\theta_j}-\frac{\theta_j}{\theta_0}\right|$.",
    measure=search_eq_40,
    mutants=[{"constant": 8.1}, {"sigma_power": 3}, {"swapped": True}],
    uses=("fedloru-v2/eq-39", "fedloru-v2/claim-Fj-sign"),
    expect=("holds", "proof"),
)
def eq_40(cases: Searched, constant: float = 8.0, sigma_power: int = 4, swapped: bool = False) -> Evidence:
    """The bound with its constant, and its units: both sides are pure numbers."""
    factor = Fraction(constant)

    def sides(case: Mapping[str, Any]) -> tuple[Any, Any]:
        values = parameters(case)
        if swapped:
            values = {**values, "theta_0": values["theta_j"], "theta_j": values["theta_0"]}
        exact = isinstance(values["theta_0"], Fraction)
        return lower_bound(values, factor if exact else constant, sigma_power), F_j(values)

    units = judge_units(
        {"eq. (40)": lambda point: (lower_bound(point, factor, sigma_power), F_j(point))},
        WEIGHTS,
        [
            {
                "theta_0": Fraction(3),
                "theta_j": Fraction(2),
                "sigma": Fraction(5),
                "s_M": Fraction(1, 2),
                "s_N": Fraction(1, 3),
            }
        ],
        "theta and sigma scale together",
    )
    if not units.ok:
        return units
    left, right = sides(cases)
    return judge_inequality(
        left,
        right,
        0.0,
        quotient=True,
        case=cases,
        exact=sides,
        domain=cases.domain,
        scope=f"{len(left)} cases with theta_0^2 >= sigma^2 s_M^2, all signs, s_N/s_M up to 0.9999",
        printed=f"bound with constant {constant:g} <= F_j",
    )


@identities(
    "fedloru-v2/eq-43",
    where="Appendix A.4, eq. (43)",
    says=r"$\frac{U_M^2}{g_M^{-1}(\theta_0)^2} - \frac{U_N^2}{g_N^{-1}(\theta_0)^2} = \frac{U_M^2g_N^{-1}(\theta_0)^2 "
    r"- U_N^2g_M^{-1}(\theta_0)^2}{g_M^{-1}(\theta_0)^2g_N^{-1}(\theta_0)^2} = \frac{4\sigma^2s_M^2(\theta_0 + "
    r"\sigma^2s_N^2/\theta_0)^2 - 4\sigma^2s_N^2(\theta_0 + \sigma^2s_M^2/\theta_0)^2}"
    r"{g_M^{-1}(\theta_0)^2g_N^{-1}(\theta_0)^2} = \frac{4\sigma^2(\theta_0^2(s_M^2 - s_N^2) + "
    r"\sigma^4s_M^2s_N^2(s_N^2/\theta_0^2 - s_M^2/\theta_0^2))}{g_M^{-1}(\theta_0)^2g_N^{-1}(\theta_0)^2} = "
    r"\frac{4\sigma^2(s_M^2 - s_N^2)(\theta_0^2 - \sigma^4s_M^2s_N^2/\theta_0^2)}"
    r"{g_M^{-1}(\theta_0)^2g_N^{-1}(\theta_0)^2}$.",
    measure=draw_points,
    mutants=[{"sigma_power": 2}, {"sign": -1}, {"edge": 1}],
    expect=("holds", "proof"),
)
def eq_43(
    points: list[dict[str, Fraction]], sigma_power: int = 4, sign: int = 1, edge: int = 2, factor: float = 4.0
) -> Equations:
    """Each printed line against the left side."""
    _, g_N0, _, g_M0 = outliers(SYMBOLS)
    U_M, U_N, four = edge * SIGMA * S_M, edge * SIGMA * S_N, rational(factor)
    left = U_M**2 / g_M0**2 - U_N**2 / g_N0**2
    below = g_M0**2 * g_N0**2
    expanded = THETA_0**2 * (S_M**2 - S_N**2) + sign * SIGMA**sigma_power * S_M**2 * S_N**2 * (
        S_N**2 / THETA_0**2 - S_M**2 / THETA_0**2
    )
    factored = (S_M**2 - S_N**2) * (THETA_0**2 - sign * SIGMA**sigma_power * S_M**2 * S_N**2 / THETA_0**2)
    squares = (
        four * SIGMA**2 * S_M**2 * (THETA_0 + SIGMA**2 * S_N**2 / THETA_0) ** 2
        - four * SIGMA**2 * S_N**2 * (THETA_0 + SIGMA**2 * S_M**2 / THETA_0) ** 2
    )
    yield from [
        Equation("line 1", left, (U_M**2 * g_N0**2 - U_N**2 * g_M0**2) / below),
        Equation("line 2", left, squares / below),
        Equation("line 3", left, four * SIGMA**2 * expanded / below),
        Equation("line 4", left, four * SIGMA**2 * factored / below),
    ]
    return as_symbols(points), "all non-zero theta_0, sigma, s_M, s_N"


def _eq_44_lines(values: Mapping[str, Any], g_power: int, sign: int) -> dict[str, Any]:
    """Lines 2 to 4 of eq. 44 without the common factor, for any kind of number."""
    t0, sigma, s = values["theta_0"], values["sigma"], values["s_M"]
    U, g = 2 * sigma * s, wigner_outlier(t0, sigma * s)
    return {
        "line 2": (2 * U * (2 * sigma) * g**2 - 2 * g * (2 * sigma**2 * s / t0) * U**2) / g**4,
        "line 3": (4 * sigma * U * g**g_power - sign * 4 * sigma**2 * s * U**2 * g / t0) / g**4,
        "line 4": 4 * sigma * U * (t0**2 - sign * sigma**2 * s**2) / (t0 * g**3),
    }


@claim(
    "fedloru-v2/eq-44",
    where="Appendix A.4, eq. (44)",
    says=r"With $g = g_M^{-1}(\theta_0)$: $\frac\partial{\partial M}\left(\frac{U_M^2}{g^2} - "
    r"\frac{U_N^2}{g_N^{-1}(\theta_0)^2}\right) = \frac\partial{\partial s_M}\left(\frac{U_M^2}{g^2} - "
    r"\frac{U_N^2}{g_N^{-1}(\theta_0)^2}\right)\frac{\partial s_M}{\partial M} = "
    r"\frac{2U_MU_M'g^2-2gg'U_M^2}{g^4}\frac{\partial s_M}{\partial M} = \frac{4\sigma U_M g - "
    r"4\sigma^2s_MU_M^2g/\theta_0}{g^4}\frac{\partial s_M}{\partial M} = \frac{4\sigma "
    r"U_M(\theta_0^2-\sigma^2s_M^2)}{\theta_0g^3}\frac{\partial s_M}{\partial M}$.",
    measure=draw_points,
    control=Form("Lines 2 and 4 as printed.", {"lines": ("line 2", "line 4")}),
    correction=Form(
        r"Line 3 with the square of $g$: $\frac{4\sigma U_M g^2 - 4\sigma^2s_MU_M^2g/\theta_0}{g^4}$; "
        "lines 2 and 4 stand as printed.",
        {"g_power": 2},
        mutants=({"g_power": 3}, {"sign": -1}),
    ),
    importance="detail",
    because=r"The third line lacks a square: $4\sigma U_Mg$ should be $4\sigma U_Mg^2$; the fourth line follows from "
    "that.",
    expect=("corrected", "proof"),
)
def eq_44(
    points: list[dict[str, Fraction]],
    g_power: int = 1,
    sign: int = 1,
    lines: tuple[str, ...] = ("line 2", "line 3", "line 4"),
) -> Evidence:
    """The units of each line, then each line against the derivative by expansion."""
    sides = {
        name: lambda point, name=name: (
            _eq_44_lines(point, g_power, sign)["line 2"],
            _eq_44_lines(point, g_power, sign)[name],
        )
        for name in lines
    }
    units = judge_units(sides, WEIGHTS, points, "theta_0 and sigma carry the unit of curvature, s_M none")
    if not units.ok:
        return units
    at_M, at_N = ((2 * SIGMA * s) ** 2 / wigner_outlier(THETA_0, SIGMA * s) ** 2 for s in (S_M, S_N))
    derivative = sympy.diff(at_M - at_N, S_M)
    printed = _eq_44_lines(SYMBOLS, g_power, sign)
    return judge_identity(
        [Equation(name, derivative, printed[name]) for name in lines],
        as_symbols(points),
        "units of every line, then every line without the factor ds_M/dM, for all non-zero theta_0, sigma, s_M",
    )
