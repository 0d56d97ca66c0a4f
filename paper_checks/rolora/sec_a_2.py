"""Appendix A.2: definitions and auxiliary inequalities (Definition A.1 to Theorem A.8)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import exp, inf, log, pi, sin, sqrt

import numpy as np
import sympy
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import binom, chi2, gamma

from paper_checks.claim import Best, Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.domain import EITHER_SIDE, FROM_ONE, Stated, tried
from paper_checks.methods.identity import (
    Equation,
    Equations,
    Point,
    generic_points,
    identities,
    judge_identity,
    rational,
)
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.relations import Relation, Relations, relations
from paper_checks.rolora.measurements.laws import discrete_norm, gaussian_product_norm, orlicz_norm

Array = NDArray[np.float64]


@claim(
    "rolora/def-A.1",
    where="Appendix A.2, Definition A.1",
    says=r"""$\|\xi\|_{\psi_2} = \inf\{t > 0 : E[\exp(\xi^2/t^2)] \le 2\}$; a variable is sub-Gaussian if this is
    finite; Gaussian variables are; for $\xi \sim N(0,1)$ it is $\sqrt{8/3}$.""",
    measure=lambda context: generic_points(context, sympy.symbols("x:1"), 1),
    mutants=[{"square": 2.5}, {"limit": 3}],
    kind="definition",
    expect=("holds", "proof"),
)
def def_A_1(points: list[Point], square: float = 8 / 3, limit: int = 2) -> Evidence:
    r"""The Gaussian integral $E\exp(\xi^2/t^2) = (1 - 2/t^2)^{-1/2}$ is 2 exactly at the printed $t^2 = 8/3$."""
    x, rate = sympy.Symbol("x", real=True), sympy.Symbol("k", positive=True)
    whole = sympy.integrate(sympy.exp(-rate * x**2), (x, -sympy.oo, sympy.oo)) / sympy.sqrt(2 * sympy.pi)
    printed = sympy.nsimplify(square, rational=True, tolerance=1e-15)
    value = whole.subs(rate, sympy.Rational(1, 2) - 1 / printed) ** 2
    return judge_identity(
        [Equation("E exp(xi^2/t^2), squared", sympy.simplify(value), rational(limit) ** 2)],
        points,
        "the standard normal law, exactly; the mean decreases in t, so the norm is where it equals 2. Any other "
        "Gaussian variable is a constant plus a multiple of this one: of finite norm, as a norm is homogeneous and "
        "obeys the triangle inequality",
    )


Law = tuple[Array, Array]


def finite_laws(context: Context, centred: bool, count: int) -> list[Law]:
    """Return laws of two to four values: simple ones, skewed ones, random ones."""
    rng = context.rng("laws")
    simple: list[Law] = [(np.array([-1.0, 1.0]), np.array([0.5, 0.5]))]
    simple += [(np.array([-p / (1.0 - p), 1.0]), np.array([1.0 - p, p])) for p in (0.01, 0.1, 0.3)]
    for _ in range(count):
        size = int(rng.integers(2, 5))
        masses = rng.dirichlet(np.ones(size))
        simple.append((rng.standard_normal(size) * 10.0 ** rng.uniform(-2, 2), masses))
    return [(x - p @ x, p) for x, p in simple] if centred else simple


@relations(
    "rolora/def-A.2",
    where="Appendix A.2, Definition A.2, with the constants after eq. (58), where the brace is set before $|c|/t$ in "
    "our copy of the paper",
    says=r"""$\|\xi\|_{\psi_1} = \inf\{t > 0 : E[\exp(|\xi|/t)] \le 2\}$; a variable is sub-exponential if this is
    finite; for a constant $\|c\|_{\psi_1} = \inf_t\exp\{|c|/t \le 2\} = |c|/\log2$.""",
    measure=lambda context: finite_laws(context, False, 20),
    mutants=[{"base": 3.0}, {"power": 2.0}],
    kind="definition",
    readings=(
        Reading(
            "the exponential inside",
            r"$\|\xi\|_{\psi_1} = \inf\{t > 0 : E[\exp(|\xi|/t)] \le 2\}$; a variable is sub-exponential if this is "
            r"finite; for a constant $\|c\|_{\psi_1} = \inf\{t > 0 : \exp(|c|/t) \le 2\} = |c|/\log2$.",
            why="The exponential of an inequality has no meaning, and with the bracket after it the middle member is "
            "the definition for a constant.",
        ),
    ),
    expect=("holds", "search"),
    intended=Intended(
        "the exponential inside",
        r"Definition A.2 has “$\inf\{t > 0 : E[\exp(|\xi|/t)] \leq 2\}$”; so does the line after (58) for a constant",
    ),
)
def def_A_2(laws: list[Law], base: float = 2.0, power: float = 1.0) -> Relations:
    """The norm of a constant is as stated; at the norm of a law with finitely many values the mean is 2."""
    for c in (0.01, -1.0, 7.0):
        found = discrete_norm(np.array([c]), np.ones(1), 1)
        yield Relation("a constant", found, abs(c) / log(base), 1e-9 * abs(c))
    for values, masses in laws:
        shares = np.abs(values) / discrete_norm(values, masses, 1)
        yield Relation("the mean exponential is 2 at the norm", float(masses @ np.exp(shares**power)), 2.0, 1e-8)
    return f"constants, {len(laws)} laws of two to four values, of which each mean falls in t"


CORRELATIONS = (-1.0, -0.9, -0.5, -0.1, 0.0, 0.1, 0.3, 0.5, 0.9, 0.99, 1.0)
"""Correlations of pairs of normal variables."""


def product_ratios(context: Context) -> Array:
    """Return the quotient of the two sides of Lemma A.3 over dependent pairs, equal variables included."""
    rng = context.rng("joint")
    found = [gaussian_product_norm(rho) / (8.0 / 3.0) for rho in CORRELATIONS]
    for number in range(context.size(60, 400)):
        size = int(rng.integers(1, 5))
        masses, x, y = rng.dirichlet(np.ones(size)), rng.standard_normal(size), rng.standard_normal(size)
        y = x if number % 4 == 0 else y
        whole = discrete_norm(x, masses, 2) * discrete_norm(y, masses, 2)
        found.append(discrete_norm(x * y, masses, 1) / whole)
    return np.array(found)


@claim(
    "rolora/lem-A.3",
    where="Appendix A.2, Lemma A.3",
    says=r"""For sub-Gaussian random variables $\xi$ and v, $\xi v$ is sub-exponential and $\|\xi v\|_{\psi_1} \le
    \|\xi\|_{\psi_2} \cdot \|v\|_{\psi_2}$.""",
    measure=product_ratios,
    mutants=[{"factor": 0.99}],
    uses=("rolora/def-A.1", "rolora/def-A.2"),
    hypotheses=(
        Dropped(
            "sub-Gaussian variables, for the inequality",
            {},
            "a variable that is not sub-Gaussian has an infinite norm, and the bound says nothing; the product can "
            "then fail to be sub-exponential, as that of two equal squares of a normal variable does",
        ),
    ),
    expect=("holds", "proof"),
)
def lem_A_3(ratios: Array, factor: float = 1.0) -> Evidence:
    """Correlated normal pairs and joint laws of up to four values; equality for equal variables."""
    return judge_inequality(
        ratios,
        np.full(len(ratios), factor),
        1e-8,
        quotient=True,
        scope=f"normal pairs of {len(CORRELATIONS)} correlations and {len(ratios) - len(CORRELATIONS)} joint laws of "
        "up to four values",
        domain=tried(("correlation of the normal pairs", CORRELATIONS, EITHER_SIDE)),
        printed=f"quotient at most {factor:g}",
    )


BEST_C = 16.0 / 3.0 * log(2.0) ** 0.5
r"""A constant of Lemma A.4: $E e^{\lambda X} \le e^{\sqrt{\log 2}\lambda^2\|X\|^2}$, mixed by a normal law."""

COUNTS = tuple(2**k for k in range(10))
"""Numbers of signs in a sum."""


def sum_ratios(context: Context) -> Array:
    """Return the squared norm of the sum over the sum of squared norms, for independent centred variables."""
    found = []
    sign = discrete_norm(np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 2) ** 2
    for count in COUNTS:
        values = 2.0 * np.arange(count + 1) - count
        found.append(discrete_norm(values, binom.pmf(np.arange(count + 1), count, 0.5), 2) ** 2 / (count * sign))
    laws = finite_laws(context, True, context.size(20, 100))
    for (x, p), (y, q) in zip(laws, laws[1:] + laws[:1], strict=True):
        values, masses = np.add.outer(x, y).ravel(), np.outer(p, q).ravel()
        found.append(
            discrete_norm(values, masses, 2) ** 2 / (discrete_norm(x, p, 2) ** 2 + discrete_norm(y, q, 2) ** 2)
        )
    return np.array(found)


@claim(
    "rolora/lem-A.4",
    where="Appendix A.2, Lemma A.4",
    says=r"""For independent mean-zero sub-Gaussian $X_1, \ldots, X_N$ the sum is sub-Gaussian with
    $\|\sum_{i=1}^NX_i\|_{\psi_2}^2 \le C\sum_{i=1}^N\|X_i\|_{\psi_2}^2$, C some absolute constant.""",
    measure=sum_ratios,
    mutants=[{"C": 1.8}, {"C": 1.0}],
    best={"C": Best(BEST_C, r"proved, as $\frac{16}3\sqrt{\log2}$; signs need $\frac83\log2 = 1.848$")},
    uses=("rolora/def-A.1",),
    hypotheses=(
        Dropped("independent", {"independent": False}),
        Dropped("mean zero", {"centred": False}),
        Dropped(
            "sub-Gaussian, for the inequality",
            {},
            "another variable has an infinite norm, and the bound says nothing; a sub-Gaussian sum needs it",
        ),
    ),
    expect=("holds", "proof"),
)
def lem_A_4(ratios: Array, C: float = BEST_C, independent: bool = True, centred: bool = True) -> Evidence:
    r"""Any C from 4.441 on is proved; signs show that it is at least $\frac83\log 2 = 1.848$."""
    if not (independent and centred):
        values, masses = (np.array([-1.0, 1.0]), np.full(2, 0.5)) if centred else (np.ones(1), np.ones(1))
        same = discrete_norm(16.0 * values, masses, 2) ** 2 / (16.0 * discrete_norm(values, masses, 2) ** 2)
        ratios = np.append(ratios, same)  # of 16 times the same sign, or of 16 ones
    return judge_inequality(
        ratios,
        np.full(len(ratios), C),
        1e-8,
        quotient=True,
        scope=f"exact laws of sums of signs, {len(ratios) - len(COUNTS)} pairs of centred laws of up to four "
        f"values; C is not named in the paper: 16/3 sqrt(log 2) = {BEST_C:.4f} is enough, and sums of signs need "
        f"{ratios.max():.3f} "
        "or more (8/3 log 2 = 1.848 in the limit); for normal variables C = 1",
        domain=tried(("N, for signs", COUNTS, FROM_ONE)),
        printed=f"quotient at most {C:.4g}",
    )


@identities(
    "rolora/cor-A.5",
    where="Appendix A.2, Corollary A.5 and its proof",
    says=r"""For x with independent standard normal entries and any fixed a, $a^\top x$ is sub-Gaussian and $\|a^\top
    x\|_{\psi_2} \le C'\|a\|$, $C'$ some absolute constant: $\sqrt{8C/3}$ with the C of Lemma A.4 for standard normal
    variables, since $\|a^\top x\|_{\psi_2}^2 \le C\sum_{i=1}^Na_i^2\|\xi_i\|_{\psi_2}^2 = \frac83C\|a\|^2$.""",
    measure=lambda context: generic_points(context, sympy.symbols("a:3"), 3),
    correction=Form(
        r"$\|a^\top x\|_{\psi_2} \le C'\|a\|$ with $C' = \sqrt{8C/3}$, since $\|a^\top x\|_{\psi_2}^2 \le "
        r"C\sum_{i=1}^da_i^2\|\xi_i\|_{\psi_2}^2 = \frac83C\|a\|^2$: the sums end at d, as in the proof's first line.",
        {"last": "d"},
        mutants=({"C": 0.99}, {"C": 1.01}),
        asks="neither",
    ),
    control=Form("The bound, without the sums of its proof.", {"last": "none"}),
    uses=("rolora/def-A.1", "rolora/lem-A.4"),
    hypotheses=(
        Dropped("independent entries", {"independent": False}),
        Dropped("entries of unit variance", {"variance": 2}),
        Dropped("a is fixed", {"fixed": False}),
    ),
    because="The sums in the proof end at N, the number of clients, but they have d terms.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected", r"its proof begins with “$a^\top x = \sum_{i=1}^d a_i\xi_i$”: d for the N of the sums below it"
    ),
    print="misprint",
)
def cor_A_5(
    points: list[Point],
    last: str = "N",
    C: float = 1.0,
    independent: bool = True,
    variance: int = 1,
    fixed: bool = True,
) -> Equations:
    r"""$E\exp((a^\top x)^2/t^2) = \det(I - 2aa^\top/t^2)^{-1/2}$ is 2 exactly at $t^2 = \frac83C\|a\|^2$, C = 1.

    Args:
        points: entries of a.
        last: where the sums of the proof end: at N = 1, at d, or left out.
        C: of Lemma A.4.
        independent: otherwise all entries of x are one variable.
        variance: of the entries.
        fixed: otherwise a is the unit vector along x.
    """
    for d in (1, 2, 3):
        a = sympy.Matrix(sympy.symbols("a:3")[:d])
        square = sympy.Rational(8, 3) * rational(C) * (a.T * a)[0]
        if not fixed:
            determinant = (1 - 2 / (sympy.Rational(8, 3) * rational(C))) ** d
        elif not independent:
            determinant = 1 - 2 * sum(a) ** 2 / square
        else:
            determinant = (sympy.eye(d) - 2 * rational(variance) * a * a.T / square).det()
        yield Equation(f"d = {d}: E exp, to the power -2", determinant, sympy.Rational(1, 4))
        if last != "none":
            terms = sum(entry**2 for entry in a[: d if last == "d" else 1])
            yield Equation(f"d = {d}: the sum of the squares", terms, (a.T * a)[0])
    return points, (
        "d from 1 to 3, any a (for every d, a'x is normal with variance |a|^2); one client where the sums end at N; "
        "the best C is 1, and C' = sqrt(8/3) with equality"
    )


def circle_nets(_: Context) -> Array:
    """Return k equally spaced points' k, odd ones too, the radius of the net, and the least largest product."""
    rows = [(k, 2.0 * sin(pi / (2 * k)), float(np.cos(pi / k))) for k in [2, *range(4, 40), 100, 1000, 10000]]
    # Coordinate vectors of both signs in d = 2 and 3; the farthest point has equal coordinates.
    rows += [(2 * d, sqrt(2.0 - 2.0 / sqrt(d)), 1.0 / sqrt(d)) for d in (2, 3)]
    return np.array(rows)


@relations(
    "rolora/def-A.6",
    where="Appendix A.2, Definition A.6",
    says=r"""For $\epsilon > 0$ a subset $\mathcal N$ of $\mathcal A \subseteq \mathbb R^d$ is an $\epsilon$-net of
    $\mathcal A$ if for every $x \in \mathcal A$ there is $x' \in \mathcal N$ with $\|x - x'\| \le \epsilon$.""",
    measure=circle_nets,
    mutants=[{"factor": 0.99}, {"smallest": True}],
    kind="definition",
    expect=("holds", "search"),
)
def def_A_6(nets: Array, factor: float = 1.0, smallest: bool = False) -> Relations:
    """On the circle, equally spaced points are a net for the radius found by hand, but not for a smaller one."""
    for k, radius, _ in nets[:30]:
        angles = 2.0 * pi * np.arange(int(k)) / k
        points = np.linspace(0.0, 2.0 * pi / k, 401)  # one arc represents all; its middle is among them
        distances = 2.0 * np.abs(np.sin(0.5 * np.subtract.outer(points, angles))).min(axis=1)
        found = distances.min() if smallest else distances.max()
        yield Relation("the farthest point is at the radius found by hand", float(found), factor * radius, 1e-9)
        yield Relation(
            "at most (1 + 2/eps)^2 points, the number that (64) takes", k, (1.0 + 2.0 / radius) ** 2, at_most=True
        )
    return "nets of 2 to 32 equally spaced points of the circle"


BEST_SHARE = {
    "share": Best(0.5, r"proved: $1/(1 - \frac12\epsilon^2)$, sharp for the net of all points at least that far away")
}
"""The best share k in 1/(1 - k eps) of Lemma A.7."""


@claim(
    "rolora/lem-A.7",
    where="Appendix A.2, Lemma A.7",
    says=r"""For $a \in \mathbb R^d$, $\epsilon \in [0, 1)$ and any $\epsilon$-net $\mathcal N$ of the sphere $\mathcal
    S^{d-1}$: $\|a\| \le \frac1{1-\epsilon}\sup_{x \in \mathcal N}\langle a, x\rangle$.""",
    measure=circle_nets,
    mutants=[{"share": 0.1}, {"power": 3.0}],
    best={**BEST_SHARE, "power": Best(2.0, "proved, by the same")},
    uses=("rolora/def-A.6",),
    hypotheses=(
        Dropped(r"$\epsilon < 1$", {"below": 2}),
        Dropped(r"$\mathcal N$ is an $\epsilon$-net (but one of $10\epsilon$)", {"share": 0.1}),
    ),
    expect=("holds", "proof"),
)
def lem_A_7(nets: Array, share: float = 1.0, power: float = 1.0, below: int = 1) -> Evidence:
    r"""The farthest unit vector from the net has $\sup = 1 - \epsilon^2/2$, so $1/(1 - \epsilon^2/2)$ is sharp."""
    every_point = [(inf, 0.0, 1.0)]  # eps = 0: a net of all points, and the largest product is 1
    kept = np.concatenate([every_point, nets[nets[:, 1] < below]])
    with np.errstate(divide="ignore"):  # a power below 0, which a smaller constant can be
        right = kept[:, 2] / np.maximum(1.0 - share * kept[:, 1] ** power, 1e-12)
    return judge_inequality(
        np.ones(len(kept)),
        right,
        1e-12,
        quotient=True,
        case=lambda index: {"points": float(kept[index, 0])},
        domain=tried(("eps", kept[:, 1], Stated(0.0, 1.0, "[)"))),
        scope="nets of up to 10000 points of the circle, no antipodes needed, and coordinate vectors in d = 2 "
        "and 3, at the farthest unit vector, and all points for eps = 0; 1/(1 - eps^2/2) is the sharp factor",
        printed=f"1 <= sup / (1 - {share:g} eps^{power:g})",
    )


def integral(function: Callable[[float], float], low: float, high: float) -> float:
    """Integrate numerically."""
    return float(quad(function, low, high, limit=200, epsabs=1e-12)[0])


def tails(_: Context) -> Array:
    """Return the log-probability, t^2/sum of squared norms, t/largest norm and N, for exact laws of sums."""
    rows = []
    sign = 1.0 / log(2.0)
    for N in (1, 2, 10, 100, 10_000):
        for count in sorted({round(N * share) for share in (0.52, 0.6, 0.8, 1.0)} | {N - N // 2 + round(sqrt(N))}):
            if N >= count > N / 2:
                t = 2 * count - N  # two-sided tail of a sum of signs
                rows.append((log(2.0) + float(binom.logsf(count - 1, N, 0.5)), t**2 / (N * sign**2), t / sign, N))

    def exponential(rate: float) -> float:
        return exp(rate) * (1.0 - exp(-1.0 - rate)) / (1.0 + rate) + exp(-1.0) / (1.0 - rate)

    def square(rate: float) -> float:
        return sqrt(2.0 / pi) * integral(lambda z: exp(rate * abs(z * z - 1.0) - 0.5 * z * z), 0.0, 60.0)

    laws = (
        (orlicz_norm(exponential, 1.0), lambda x, N: gamma.logsf(x, N), lambda x, N: gamma.cdf(x, N)),
        (orlicz_norm(square, 0.45), lambda x, N: chi2.logsf(x, N), lambda x, N: chi2.cdf(x, N)),
    )
    for (size, upper, lower), N in product(laws, (1, 3, 30, 1000)):
        for t in N * np.array([0.1, 0.5, 1.0, 3.0, 20.0]):
            below = log(lower(N - t, N)) if t < N and lower(N - t, N) > 0 else -inf
            rows.append((float(np.logaddexp(upper(N + t, N), below)), t**2 / (N * size**2), t / size, N))
    return np.array([row for row in rows if row[0] > -inf])


@claim(
    "rolora/thm-A.8",
    where="Appendix A.2, Theorem A.8",
    says=r"""Bernstein: for independent mean-zero sub-exponential $X_1, \ldots, X_N$ and every $t \ge 0$, $P(|\sum_iX_i|
    \ge t) \le 2\exp(-c\min(t^2/\sum_i\|X_i\|_{\psi_1}^2, t/\max_i\|X_i\|_{\psi_1}))$, $c > 0$ an absolute constant.""",
    measure=tails,
    mutants=[{"c": 1.5}, {"pick": "max"}],
    best={"c": Best(0.25, r"proved; centred squared normal variables allow at most 0.595, signs 1.04")},
    uses=("rolora/def-A.2",),
    hypotheses=(
        Dropped("independent", {"independent": False}),
        Dropped("mean zero", {"centred": False}),
        Dropped("sub-exponential", {}, "another variable has an infinite norm, and the bound says nothing"),
    ),
    expect=("holds", "proof"),
)
def thm_A_8(
    rows: Array, c: float = 0.25, pick: str = "min", independent: bool = True, centred: bool = True
) -> Evidence:
    r"""With c = 1/4, which follows from $Ee^{\lambda X} \le e^{\lambda^2\|X\|^2}$ for $|\lambda|\|X\| \le 1$."""
    if not (independent and centred):  # 100 times the same sign, or 100 ones: the sum is 100 in size
        rows = np.vstack([rows, (0.0, 100.0 * log(2.0) ** 2, 100.0 * log(2.0), 100.0)])
    exponent = (np.minimum if pick == "min" else np.maximum)(rows[:, 1], rows[:, 2])
    left, right = rows[:, 0], log(2.0) - c * exponent
    return judge_inequality(
        left,
        right,
        1e-9 * (1.0 + np.abs(left)),
        scope=f"{len(rows)} exact tails of sums of signs, centred exponential and centred squared normal "
        f"variables, t from N/50 to 20 N; c is "
        "not named in the paper: 1/4 is enough, c > log(2)^-2/2 = 1.04 fails for sums of signs, and c > (k - log(1 + "
        "k))/2 = 0.5943 for centred squared normal variables, of norm k = 2.417, at t = N k as N grows",
        domain=tried(("N", rows[:, 3], FROM_ONE)),
        printed=f"log P <= log 2 - {c:g} {pick}(...)",
    )
