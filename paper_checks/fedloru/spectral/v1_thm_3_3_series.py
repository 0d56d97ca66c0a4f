"""Appendix A.3 of v1 and iclr: the series in free cumulants (eq. (36) of v1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from paper_checks.claim import LITERAL, Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.domain import OPEN_UNIT, Axis, Cases, Searched
from paper_checks.methods.identity import Equation, Equations, Point, generic_points, identities, judge_identity
from paper_checks.methods.inequality import collect_cases, judge_inequality

R_SYMBOLS = sympy.symbols("R_Mj R_Nj R_M1 R_N1 theta_1 theta_j s_M s_N")


def draw_values(context: Context) -> list[Point]:
    """Draw values of R at the four arguments, of both spikes and factors; first for a semicircle, R(w) = w."""
    theta_1, theta_j, s_M, s_N = sympy.Integer(2), sympy.Integer(1), sympy.Rational(1, 2), sympy.Rational(1, 4)
    of_law = s_M / theta_j, s_N / theta_j, s_M / theta_1, s_N / theta_1
    semicircle: Point = dict(zip(R_SYMBOLS, (*of_law, theta_1, theta_j, s_M, s_N), strict=True))
    return [semicircle, *generic_points(context, R_SYMBOLS, 5)]


@identities(
    "fedloru-v1/eq-36",
    where="v1 Appendix A.3, eq. (36) and after; iclr Appendix A.3, eq. (32) and after",
    says=r"""$F_j = \left(\frac{g_M(j)}{g_M(1)}\right)^2 - \left(\frac{g_N(j)}{g_N(1)}\right)^2 =
    \left(\frac{g_M(j)}{g_M(1)} + \frac{g_N(j)}{g_N(1)}\right)\left(\frac{g_M(j)}{g_M(1)} - \frac{g_N(j)}{g_N(1)}\right)
    = \left(\frac{g_M(j)}{g_M(1)} + \frac{g_N(j)}{g_N(1)}\right)\frac{g_M(j)g_N(1) - g_N(j)g_M(1)}{g_M(1)g_N(1)}$
    ($g(j)$ for $g^{-1}(\theta_j)$), and $g_M(j)g_N(1) - g_N(j)g_M(1) = \theta_1\{s_NR(s_N/\theta_j) -
    s_MR(s_M/\theta_j)\} + \theta_j\{s_MR(s_M/\theta_1) - s_NR(s_N/\theta_1)\} + s_Ns_M\{R(s_M/\theta_1)R(s_N/\theta_j)
    - R(s_N/\theta_1)R(s_M/\theta_j)\}$.""",
    measure=draw_values,
    control=Form("The quotient, and the numerator up to its sign.", {"squared": True}),
    correction=Form(
        r"""The quotient is right; the numerator is the negative of the printed one, $\theta_1\{s_MR(s_M/\theta_j) -
        s_NR(s_N/\theta_j)\} + \cdots$. The sign of the conclusion turns with it.""",
        {"sign": 1},
        mutants=({"sign": -1}, {"cross": 0}, {"cross": -1}),
    ),
    also=("fedloru-iclr/eq-32",),
    because="The expanded numerator has the opposite sign of the expression that it is said to equal.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal", "“We can simplify the numerator part as” the negative of itself; M and N are exchanged"
    ),
)
def v1_eq_36(points: list[Point], sign: int = -1, cross: int = 1, squared: bool = False) -> Equations:
    """Both lines multiply out as stated with the values of R as symbols, so for any law."""
    Mj, Nj, M1, N1, theta_1, theta_j, s_M, s_N = R_SYMBOLS
    g_Mj, g_Nj, g_M1, g_N1 = theta_j + s_M * Mj, theta_j + s_N * Nj, theta_1 + s_M * M1, theta_1 + s_N * N1
    numerator = g_Mj * g_N1 - g_Nj * g_M1
    stated = sign * (
        theta_1 * (s_M * Mj - s_N * Nj) + theta_j * (s_N * N1 - s_M * M1) + cross * s_N * s_M * (N1 * Mj - M1 * Nj)
    )
    quotient = (g_Mj / g_M1 + g_Nj / g_N1) * numerator / (g_M1 * g_N1)
    product = (g_Mj / g_M1 + g_Nj / g_N1) * (g_Mj / g_M1 - g_Nj / g_N1)
    power = 2 if squared else 1
    yield from [
        Equation("product", (g_Mj / g_M1) ** 2 - (g_Nj / g_N1) ** 2, product),
        Equation("quotient", product, quotient),
        Equation("numerator", numerator**power, stated**power),
    ]
    return points, "any law, spikes and factors"


# R-transforms of laws, for any kind of number; the first two have free cumulants of one sign only.
R_TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "semicircle": lambda x: x,
    "Marchenko-Pastur, ratio 1/2": lambda x: 1 / (1 - x / 2),
    "semicircle of mean -1/2": lambda x: x - x / (2 * x),
    "mirrored Marchenko-Pastur": lambda x: -1 / (1 + x / 2),
    "centred mirrored Marchenko-Pastur": lambda x: x / (1 + x),
}

NON_NEGATIVE = tuple(R_TRANSFORMS)[:2]
"""Laws with non-negative free cumulants."""
NOT_BELOW_0 = (*NON_NEGATIVE, "centred mirrored Marchenko-Pastur")
"""Laws of mean 0 or more."""

ORDER = 7

AXES = (
    Axis("x", 1e-3, 0.82, OPEN_UNIT, words="scale of the client's noise over the spike, s_M/theta_j"),
    Axis("ratio", 1e-3, 0.999, OPEN_UNIT, words="the spike over the largest one, theta_j/theta_1"),
    Axis("shrink", 1e-3, 0.999, OPEN_UNIT, words="scale of the server's noise over that of the client's, s_N/s_M"),
)


def _scales(case: Mapping[str, Any]) -> tuple[Any, Any, Any, Any]:
    theta_1, theta_j = case["ratio"] / case["ratio"], case["ratio"]
    s_M = case["x"] * theta_j
    return theta_1, theta_j, s_M, case["shrink"] * s_M


def first_part(case: Mapping[str, Any], law: str) -> Any:
    """Return F_{j,1} as printed, for any kind of number."""
    theta_1, theta_j, s_M, s_N = _scales(case)
    R = R_TRANSFORMS[law]
    return theta_1 * (s_N * R(s_N / theta_j) - s_M * R(s_M / theta_j)) + theta_j * (
        s_M * R(s_M / theta_1) - s_N * R(s_N / theta_1)
    )


def search_cases(context: Context) -> Searched:
    r"""Search at $\theta_1 = 1$: $\theta_j$ = ratio, $s_M = x\theta_j$ (above all thresholds), $s_N$ = shrink $s_M$.

    The threshold of Marchenko-Pastur, the largest, is at $x = 1/(1/2 + 1/\sqrt2) = 0.828$.
    """

    def gap(cases: Cases) -> NDArray[np.float64]:
        return -first_part(cases, "semicircle")

    return collect_cases(
        context, AXES, lambda cases: np.ones(len(cases["x"]), bool), gap, examples=context.size(200, 2000), restarts=1
    )


@cache
def cumulants(law: str) -> list[Fraction]:
    """Return the first free cumulants of a law of ``R_TRANSFORMS``, exactly."""
    x = sympy.Symbol("x")
    series = sympy.series(sympy.simplify(R_TRANSFORMS[law](x)), x, 0, ORDER).removeO()
    return [Fraction(str(series.coeff(x, n))) for n in range(ORDER)]


def term(case: Mapping[str, Any], law: str, n: int) -> Any:
    """Return T(n) as defined, for any kind of number."""
    theta_1, theta_j, s_M, s_N = _scales(case)
    C = [c if isinstance(case["x"], Fraction) else float(c) for c in cumulants(law)]
    return sum(
        C[k - 1]
        * C[n - k]
        * (
            (s_N / theta_j) ** (k - 1) * (s_M / theta_1) ** (n - k)
            - (s_M / theta_j) ** (k - 1) * (s_N / theta_1) ** (n - k)
        )
        for k in range(1, n + 1)
        if 2 * k != n + 1  # the middle place is 0, and rounding would give it a sign
    )


def judge_negative(cases: Searched, quantities: list[tuple[str, int]], strict: bool) -> Evidence:
    """Judge that F_{j,1} (n = 0) and T(n) of the named laws are negative, or not positive, exactly, in all cases."""
    names = list(R_TRANSFORMS)

    def value(case: Mapping[str, Any], law: str, n: int) -> Any:
        return term(case, law, n) if n else first_part(case, law)

    def exact(case: Mapping[str, Fraction]) -> tuple[Fraction, Fraction]:
        return value(case, names[int(case["law"])], int(case["n"])), Fraction(0)

    columns = [np.asarray(value(cases, law, n), dtype=float) for law, n in quantities]
    size = len(cases["x"])

    def case(index: int) -> dict[str, float]:
        law, n = quantities[index // size]
        return {"law": names.index(law), "n": n, **{k: float(c[index % size]) for k, c in cases.items()}}

    left = np.concatenate(columns)
    shown = ", ".join(f"T({n}) of the {law}" if n else f"F_j1 of the {law}" for law, n in quantities)
    return judge_inequality(
        left,
        np.zeros(len(left)),
        0.0,
        strict=strict,
        exact=exact,
        case=case,
        domain=cases.domain,
        scope=f"{shown}; {size} cases with theta_1 > theta_j > 0 above the thresholds",
        printed=f"all {'<' if strict else '<='} 0",
    )


@claim(
    "fedloru-v1/Fj1",
    where="v1 and iclr, Appendix A.3, after eq. (36) and (32)",
    says=r"""In part (i), where $\theta_1 > \theta_j > 0$: $F_{j,1} = \theta_1\{s_NR(s_N/\theta_j) -
    s_MR(s_M/\theta_j)\} + \theta_j\{s_MR(s_M/\theta_1) - s_NR(s_N/\theta_1)\}$; by $R(s_N/\theta) = \sum_{n \ge
    1}C_n(s_N/\theta)^{n-1}$ it is $\sum_nC_n(s_N^n - s_M^n)\theta_1(1/\theta_j)^{n-1} - \sum_nC_n(s_N^n -
    s_M^n)\theta_j(1/\theta_1)^{n-1} = \sum_n C_n(s_N^n - s_M^n)(\theta_1(1/\theta_j)^{n-1} -
    \theta_j(1/\theta_1)^{n-1})$, which is negative since $\theta_1 > \theta_j$ and $s_N < s_M$.""",
    measure=search_cases,
    readings=(
        LITERAL,
        Reading(
            "noise of mean 0 or more",
            r"Where the series of R converges at $s_M/\theta_j$, $F_{j,1}$ is the printed series; it is negative for "
            r"every law $\mu$ of mean 0 or more that is not a point, wherever $\theta_j$ has an outlier at M.",
            {"laws": NOT_BELOW_0},
            r"The noise is the error of $H_N$, the mean over “a dataset generated from the distribution $\psi$”, so "
            r"$\mu$ has mean 0; the examples of the paper have mean 0 or more.",
            ({"laws": tuple(R_TRANSFORMS)[2:3]}, {"laws": tuple(R_TRANSFORMS)[3:4]}, {"shift": 1}),
        ),
    ),
    because=r"The paper allows any law $\mu$ of compact support, but for a semicircle of mean $-1/2$, $F_{j,1}$ is "
    "positive.",
    hypotheses=(Dropped("noise of mean 0 or more", {"laws": tuple(R_TRANSFORMS)}),),
    expect=("holds", "proof"),
    intended=Intended(
        "noise of mean 0 or more",
        r"an error $H_N - H_{true}$ of “a dataset generated from the distribution $\psi$” has mean 0; “when ... "
        "converges” assumes convergence",
    ),
    print="unstated",
)
def fj1(cases: Searched, laws: tuple[str, ...] = tuple(R_TRANSFORMS), shift: int = 0) -> Evidence:
    """The series with cumulants as symbols, then the sign for several laws."""
    C = sympy.symbols(f"C1:{ORDER + 1}")
    t1, tj, sM, sN = sympy.symbols("theta_1 theta_j s_M s_N")

    def R(x: sympy.Expr) -> sympy.Expr:
        return sum(c * x**n for n, c in enumerate(C))

    left = t1 * (sN * R(sN / tj) - sM * R(sM / tj)) + tj * (sM * R(sM / t1) - sN * R(sN / t1))
    right = sum(
        c * (sN**n - sM**n) * (t1 * tj ** -(n - 1 + shift) - tj * t1 ** -(n - 1 + shift))
        for n, c in enumerate(C, start=1)
    )
    apart = sum(c * (sN**n - sM**n) * t1 * (1 / tj) ** (n - 1 + shift) for n, c in enumerate(C, start=1))
    apart -= sum(c * (sN**n - sM**n) * tj * (1 / t1) ** (n - 1 + shift) for n, c in enumerate(C, start=1))
    point = {symbol: sympy.Rational(3 + 2 * k, 5 + k * k) for k, symbol in enumerate((*C, t1, tj, sM, sN))}
    lines = [Equation("two series", left, apart), Equation("one series", apart, right)]
    series = judge_identity(lines, [point], f"{ORDER} cumulants as symbols")
    return series if not series.ok else judge_negative(cases, [(law, 0) for law in laws], strict=True)


def _pairing_lines(printed_index: bool, pair_sign: int) -> list[Equation]:
    """Return the Cauchy product, and both pairings of T(n), with cumulants, factors and spikes as symbols."""
    a, b = sympy.symbols("a1:6"), sympy.symbols("b1:6")
    C = sympy.symbols("C1:8")
    t1, tj, sM, sN, t = sympy.symbols("theta_1 theta_j s_M s_N t")
    product = sympy.expand(sum(x * t**k for k, x in enumerate(a)) * sum(x * t**k for k, x in enumerate(b)))
    lines = [
        Equation(
            f"Cauchy product, n = {n}",
            product.coeff(t, n - 1),
            sum(a[k - 1] * b[(n if printed_index else n - k + 1) - 1] for k in range(1, n + 1)),
        )
        for n in range(1, 6)
    ]

    def braces(k: int, n: int) -> sympy.Expr:
        return (sN / tj) ** (k - 1) * (sM / t1) ** (n - k) - (sM / tj) ** (k - 1) * (sN / t1) ** (n - k)

    def series(scale: sympy.Expr) -> sympy.Expr:
        return sum(c * (scale * t) ** k for k, c in enumerate(C))

    difference = sympy.expand(series(sN / tj) * series(sM / t1) - series(sM / tj) * series(sN / t1))
    for n in range(2, 8):
        terms = sum(C[k - 1] * C[n - k] * braces(k, n) for k in range(1, n + 1))
        lines.append(Equation(f"T({n}) in the product of the series", difference.coeff(t, n - 1), terms))
        whole = sum(C[k - 1] * C[n - k] * braces(k, n) for k in range(1, n + 1))
        half = range(1, n // 2 + 1)
        paired = sum(C[k - 1] * C[n - k] * (braces(k, n) + pair_sign * braces(n - k + 1, n)) for k in half)
        factored = sum(
            C[k - 1]
            * C[n - k]
            * (sN ** (k - 1) * sM ** (n - k) - sM ** (k - 1) * sN ** (n - k))
            * (tj ** (1 - k) * t1 ** (k - n) - tj ** (k - n) * t1 ** (1 - k))
            for k in half
        )
        lines += [Equation(f"T({n}) in pairs", whole, paired), Equation(f"T({n}) in factors", whole, factored)]
    return lines


def _wrong_bracket() -> str:
    """Return an n and a k at which a bracket of T(n) does not have the stated sign, s_N < s_M and theta_j < theta_1."""
    s_N, s_M, theta_j, theta_1 = Fraction(1, 3), Fraction(1, 2), Fraction(3, 4), Fraction(5, 4)
    for n, k in [(order, place) for order in range(2, 8) for place in range(1, order + 1)]:
        first = s_N ** (k - 1) * s_M ** (n - k) - s_M ** (k - 1) * s_N ** (n - k)
        second = 1 / (theta_j ** (k - 1) * theta_1 ** (n - k)) - 1 / (theta_j ** (n - k) * theta_1 ** (k - 1))
        if (first > 0) != (n - 2 * k + 1 > 0) or (second > 0) != (n - 2 * k + 1 < 0):
            return f"n = {n}, k = {k}"
    return ""


@claim(
    "fedloru-v1/Fj2",
    where="v1 and iclr, Appendix A.3, part (i), from F_{j,2} to the sign of T(2m + 1); for its last words see "
    "fedloru-v1/eq-35",
    says=r"""In part (i), where $\theta_1 > \theta_j > 0$ and $s_N < s_M$: $F_{j,2} = R(s_N/\theta_j)R(s_M/\theta_1) -
    R(s_M/\theta_j)R(s_N/\theta_1) = \sum_nC_n(\frac{s_M}{\theta_1})^{n-1}\sum_nC_n(\frac{s_N}{\theta_j})^{n-1} -
    \sum_nC_n(\frac{s_N}{\theta_1})^{n-1}\sum_nC_n(\frac{s_M}{\theta_j})^{n-1}$; by $\sum_1^\infty a_n\sum_1^\infty b_n
    = \sum_{n=1}^\infty\sum_{k=1}^na_kb_{n-1+1}$ for series that converge it is $\sum_n\sum_{k \le
    n}C_kC_{n-k+1}(\frac{s_N}{\theta_j})^{k-1}(\frac{s_M}{\theta_1})^{n-k} - \sum_n\sum_{k \le
    n}C_kC_{n-k+1}(\frac{s_M}{\theta_j})^{k-1}(\frac{s_N}{\theta_1})^{n-k} = \sum_nT(n)$, $T(n) = \sum_{k \le
    n}C_kC_{n-k+1}\{(\frac{s_N}{\theta_j})^{k-1}(\frac{s_M}{\theta_1})^{n-k} -
    (\frac{s_M}{\theta_j})^{k-1}(\frac{s_N}{\theta_1})^{n-k}\}$. For $n = 2m$, $T(n) = \sum_{k \le
    m}[C_kC_{n-k+1}\{(\frac{s_N}{\theta_j})^{k-1}(\frac{s_M}{\theta_1})^{n-k} -
    (\frac{s_M}{\theta_j})^{k-1}(\frac{s_N}{\theta_1})^{n-k}\} -
    C_{n-k+1}C_k\{(\frac{s_N}{\theta_j})^{n-k}(\frac{s_M}{\theta_1})^{k-1} -
    (\frac{s_M}{\theta_j})^{n-k}(\frac{s_N}{\theta_1})^{k-1}\}] = \sum_{k \le m}C_kC_{n-k+1}(s_N^{k-1}s_M^{n-k} -
    s_M^{k-1}s_N^{n-k})(\frac1{\theta_j^{k-1}\theta_1^{n-k}} - \frac1{\theta_j^{n-k}\theta_1^{k-1}})$; the first bracket
    is positive if and only if $n - 2k + 1 > 0$, the second if and only if $n - 2k + 1 < 0$, so $T(2m)$ is
    negative. For $n = 2m + 1$ the (m + 1)-th term is 0, $T(n)$ is the same sum over $k \le m$, and negative.""",
    measure=search_cases,
    readings=(
        LITERAL,
        Reading(
            "index and sign corrected",
            "As printed, with $b_{n-k+1}$ and a plus between the braces: $T(n) < 0$ for $n = 2m$ and $2m + 1$, and "
            r"therefore $F_{j,2} < 0$, for every law $\mu$.",
            {"printed_index": False, "pair_sign": 1},
            "The sum over k and the factors in the next line have this index and this sign.",
            ({"pair_sign": -1}, {"printed_index": True}),
        ),
    ),
    control=Form(
        "The factored form, and the sign for the Marchenko-Pastur law.",
        {"printed_index": False, "pair_sign": 1, "laws": NON_NEGATIVE[1:]},
    ),
    correction=Form(
        r"""With $b_{n-k+1}$ in the Cauchy product and a plus between the braces it holds where the series of R
        converges at $s_M/\theta_j$ (for non-negative free cumulants, at every outlier). $T(n) \le 0$ for laws with
        non-negative free cumulants; for the centred semicircle every T(n), and $F_{j,2}$, is 0 ($T(1) = 0$ for every
        law). For the centred law with $R(w) = \frac w{1+w}$, $F_{j,2}$ is positive at every pair of outliers.""",
        {"printed_index": False, "pair_sign": 1, "strict": False, "laws": NON_NEGATIVE},
        mutants=({"printed_index": True}, {"pair_sign": -1}, {"laws": tuple(R_TRANSFORMS)[2:3]}, {"strict": True}),
    ),
    because="For a centred law with $C_3 < 0$, $T(4)$ is positive. For the semicircle all T(n) are 0. The index and "
    "the sign of pairs are slips.",
    hypotheses=(Dropped(r"non-negative free cumulants", {"laws": tuple(R_TRANSFORMS)}),),
    expect=("corrected", "proof"),
    family="the correction: non-negative free cumulants",
    intended=Intended(
        "index and sign corrected",
        "“Therefore, we can deduce T(2m) is negative”: needs cumulants ≥ 0; “b_{n-1+1}” and one sign are misprints",
    ),
    print="misprint",
)
def fj2(
    cases: Searched,
    printed_index: bool = True,
    pair_sign: int = -1,
    strict: bool = True,
    laws: tuple[str, ...] = tuple(R_TRANSFORMS),
) -> Evidence:
    """The algebra with symbols, then the sign of T(2) to T(5) for several laws."""
    lines = _pairing_lines(printed_index, pair_sign)
    symbols = sorted({s for line in lines for s in line.left.free_symbols | line.right.free_symbols}, key=str)
    points = [
        {symbol: sympy.Rational(7 + 3 * k + shift, 11 + 2 * k) for k, symbol in enumerate(symbols)} for shift in (0, 1)
    ]
    algebra = judge_identity(lines, points, "cumulants, factors and spikes as symbols, n up to 7")
    if not algebra.ok:
        return algebra
    wrong = _wrong_bracket()
    if wrong:
        return Evidence(False, "brackets of T(n), n up to 7", "signs of both brackets", wrong, -1.0)
    return judge_negative(cases, [(law, n) for law in laws for n in range(2, 6)], strict)
