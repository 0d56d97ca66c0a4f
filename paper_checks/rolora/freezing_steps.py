"""Appendix A.4.1: FFA-LoRA; the terms of its expected loss (proof of Proposition 5.5), exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log, pi
from typing import Any

import sympy

from paper_checks.claim import Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.methods.identity import Equation, Point, judge_identity, rational
from paper_checks.methods.parts import judge_parts
from paper_checks.methods.promises import Promise, judge_promises
from paper_checks.rolora.expectations import ALPHA, M, expectation, scalar_product, scale, symbols_of, target_square

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
    """The six terms of eq. (188) and the whole, before expectations."""
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
        "sum of squares": sum((scale(i) ** 2 for i in range(2, N + 1)), sympy.Integer(0)) / N**2,
        "loss": target_square(1) - 2 * (z_1 + z_2) * scalar_product(1) + (z_1 + z_2) ** 2 * h_squared,
    }


def measure_moments(*names: str) -> Callable[[Context], Moments]:
    """Exact expectations of the named terms."""

    def measure(context: Context) -> Moments:
        found = {N: {name: expectation(part, N) for name, part in parts(N).items() if name in names} for N in CLIENTS}
        points = [{M: sympy.Integer(m), ALPHA: rational(alpha)} for m, alpha in ((3, "0.6"), (4, "0.8"), (10, "-0.28"))]
        return Moments({name: {N: found[N][name] for N in CLIENTS} for name in names}, tuple(points))

    return measure


SCOPE = "1 to 4 clients, every m for which the expectation is finite, every angle"


def judge_moments(data: Moments, formulas: Mapping[str, Callable[[int], Any]], scope: str = SCOPE) -> Evidence:
    """Formulas against exact expectations, for every number of clients."""
    lines = [
        Equation(f"{name}, N = {N}", data.terms[name][N], sympy.sympify(formula(N)))
        for name, formula in formulas.items()
        for N in CLIENTS
    ]
    return judge_identity(lines, data.points, scope, positive=("m",))


@claim(
    "rolora/eq-vv",
    where="Appendix A.4.1, before eq. (189)",
    says=r"$E[v^\top v] = E\|X_1a^*\|^2 = m$ for $v = X_1a^*$.",
    measure=measure_moments("v'v"),
    mutants=[{"shift": -1.0}, {"factor": 0.5}],
    expect=("holds", "proof"),
)
def eq_vv(data: Moments, shift: float = 0.0, factor: float = 1.0) -> Evidence:
    """The entries of a normal vector have the second moment 1."""
    return judge_moments(data, {"v'v": lambda N: rational(factor) * (M + rational(shift))})


LETTERS = (
    r"With $s_i = \frac{(X_ia)^\top(X_ia^*)}{\|X_ia\|^2}$, $z_2 = \frac1N(s_2 + \ldots + s_N)$, $v = X_1a^*$, $u_1 = "
    r"\frac{s_1}NX_1a$, $u_2 = z_2X_1a$ and $\alpha = a^\top a^*$: "
)


def first_square(weight: float, noise: float) -> sympy.Expr:
    r"""$\alpha^2m + 1 - \alpha^2$."""
    return rational(weight) * ALPHA**2 * M + rational(noise) * (1 - ALPHA**2)


@claim(
    "rolora/eq-189",
    where="Appendix A.4.1, eqs. (189) to (204)",
    says=r"With $z_1 = \frac{s_1}N$, $s_1 = \frac{(X_1a)^\top(X_1a^*)}{\|X_1a\|^2}$, $u_1 = z_1X_1a$, $\alpha = "
    r"a^\top a^*$, $\beta = \sqrt{1 - \alpha^2}$, $r_1 = \|x_{1,1}\|^2$ and $r_2 = x_{1,1}^\top x_{1,2}$: $u_1^\top "
    r"u_1 = z_1^2\|X_1a\|^2 = \frac1{N^2}\frac{((X_1a)^\top(X_1a^*))^2}{\|X_1a\|^2}$ and "
    r"$E[\frac{((X_1a)^\top(X_1a^*))^2}{\|X_1a\|^2}] = E[\frac{(\alpha r_1 + \beta r_2)^2}{r_1}] = E[\alpha^2r_1] + "
    r"E[\frac{\beta^2r_2^2}{r_1}] + E[2\alpha\beta r_2] = \alpha^2m + \beta^2$, with $E[r_2^2/r_1] = 1$, so that "
    r"$E[u_1^\top u_1] = \frac{\alpha^2m + (1 - \alpha^2)}{N^2}$.",
    measure=measure_moments("u1'u1", "r2^2/r1"),
    mutants=[{"power": 1}, {"noise": 2.0}, {"weight": 0.5}],
    expect=("holds", "proof"),
)
def eq_189(data: Moments, power: int = 2, noise: float = 1.0, weight: float = 1.0) -> Evidence:
    """Both expectations."""
    formulas = {"r2^2/r1": lambda N: rational(noise), "u1'u1": lambda N: first_square(weight, noise) / N**power}
    return judge_moments(data, formulas)


@claim(
    "rolora/eq-227",
    where="Appendix A.4.1, eqs. (227) to (229)",
    says=LETTERS + r"$E[v^\top u_1] = \frac1NE[s_1(X_1a^*)^\top(X_1a)] = \frac{\alpha^2m + (1 - \alpha^2)}N$.",
    measure=measure_moments("v'u1"),
    mutants=[{"power": 2}, {"noise": 2.0}, {"weight": 0.5}],
    uses=("rolora/eq-189",),
    expect=("holds", "proof"),
)
def eq_227(data: Moments, power: int = 1, noise: float = 1.0, weight: float = 1.0) -> Evidence:
    """The same quotient as in eq. (202), divided by N once."""
    return judge_moments(data, {"v'u1": lambda N: first_square(weight, noise) / N**power})


CUT: Mapping[str, Any] = {"N": 2, "m": 1, "alpha": "3/5", "constant": "5", "halvings": 512}
"""One sample, where $s_2$ has Cauchy's law: its mean size, cut off at $2^{512}$, passes any such constant."""


def without_mean(name: str, share: float) -> Evidence:
    r"""Whether a size that is independently ``share`` times $|s_2|$ or more has a mean of at most the constant.

    $s_2 = \alpha + \beta R$ with R of Cauchy's law, and $E\min(|R|, 2^k) \ge \frac k\pi\log4$.
    """
    least = 0.8 * CUT["halvings"] * log(4.0) / pi - 0.6
    promise = Promise(f"the mean size of {name}", share * least, float(CUT["constant"]), at_most=True, case=CUT)
    return judge_promises([promise], "two clients with one sample each, sizes cut off")


@claim(
    "rolora/eq-230",
    where="Appendix A.4.1, eqs. (230) to (236); the factor $z_2$ before the second term of (232) multiplies 0",
    says=LETTERS + r"$E[v^\top u_2] = \alpha mE[z_2] = \frac{\alpha m}N\sum_{i=2}^NE[s_i] = \frac mN(N - 1)\alpha^2$.",
    measure=measure_moments("v'u2"),
    control=Form(r"For $m \ge 3$.", {"fewest": 3}),
    correction=Form(
        r"For $m \ge 2$. With one sample $s_i = \alpha + \sqrt{1 - \alpha^2}\,\frac{x_{i,2}}{x_{i,1}}$ has Cauchy's "
        r"law where $\alpha^2 < 1$: neither $E[s_i]$ nor, for $N \ge 2$, $E[z_2]$ and $E[v^\top u_2]$ exist.",
        {"fewest": 2},
        mutants=({"others": 0.0}, {"power": 1}, {"factor": 2.0}, {"fewest": 1}),
        asks="weaker",
    ),
    importance="detail",
    because="With one sample $s_i$ is a quotient of two normal variables, of Cauchy's law, which has no mean.",
    uses=("rolora/eq-205",),
    expect=("corrected", "proof"),
)
def eq_230(data: Moments, others: float = 1.0, power: int = 2, factor: float = 1.0, fewest: int = 1) -> Evidence:
    r"""Independence of the other clients from the first, whose $|(X_1a)^\top(X_1a^*)|$ is at least 3/5 on average."""
    formulas = {"v'u2": lambda N: rational(factor) * M * (N - rational(others)) * ALPHA**power / N}
    one_sample = [without_mean("v'u_2", 0.6 / 2)] if fewest < 2 else []
    return judge_parts([judge_moments(data, formulas), *one_sample])


@claim(
    "rolora/eq-237",
    where="Appendix A.4.1, eqs. (237) to (240)",
    says=LETTERS
    + r"$E[u_1^\top u_2] = \frac1{N^2}E[(X_1a^*)^\top(X_1a)] \cdot (N - 1)E[s_i] = \frac{(N - 1)m\alpha^2}{N^2}$.",
    measure=measure_moments("u1'u2"),
    control=Form(r"For $m \ge 3$.", {"fewest": 3}),
    correction=Form(
        r"For $m \ge 2$. With one sample, see (230), neither $E[s_i]$ nor, for $N \ge 2$, $E[u_1^\top u_2]$ exists.",
        {"fewest": 2},
        mutants=({"others": 0.0}, {"power": 1}, {"clients_power": 1}, {"fewest": 1}),
        asks="weaker",
    ),
    importance="detail",
    because="With one sample $s_i$ is a quotient of two normal variables, of Cauchy's law, which has no mean.",
    uses=("rolora/eq-230",),
    expect=("corrected", "proof"),
)
def eq_237(data: Moments, others: float = 1.0, power: int = 2, clients_power: int = 2, fewest: int = 1) -> Evidence:
    r"""Independence again; $u_1^\top u_2$ is $z_2/N$ times the same product."""
    formulas = {"u1'u2": lambda N: (N - rational(others)) * M * ALPHA**power / N**clients_power}
    one_sample = [without_mean("u_1'u_2", 0.6 / 4)] if fewest < 2 else []
    return judge_parts([judge_moments(data, formulas), *one_sample])


TWO_CLIENTS: Point = {M: sympy.Integer(3), ALPHA: sympy.Rational(3, 5)}


@dataclass(frozen=True)
class Products:
    """Exact expectations in m and alpha.

    Attributes:
        of_two: Expectation of the product of the scales of two clients, by the clients.
        of_sum: Expectation of the square of the sum over all clients but the first, by number of clients.
    """

    of_two: Mapping[tuple[int, int], sympy.Expr]
    of_sum: Mapping[int, sympy.Expr]


def measure_products(_: Context) -> Products:
    """For up to 4 clients."""
    of_two = {(i, j): expectation(scale(i) * scale(j), 4) for i in CLIENTS for j in CLIENTS}
    sums = {N: sum((scale(i) for i in range(2, N + 1)), sympy.Integer(0)) for N in CLIENTS}
    return Products(of_two, {N: expectation(one**2, 4) for N, one in sums.items()})


@claim(
    "rolora/eq-207",
    where="Appendix A.4.1, eqs. (207) and (208)",
    says=LETTERS + r"$E[z_2^2] = E[\frac{(s_2 + \ldots + s_N)^2}{N^2}] = \frac1{N^2}(\sum_{i=2}^NE[s_i^2] + "
    r"\sum_{i=1,j=1,i\ne j}^NE[s_is_j])$.",
    measure=measure_products,
    control=Form("The statement for a single client, where both sums are empty.", {"most": 1}),
    correction=Form(
        r"For $m \ge 3$, with both indices of the double sum from 2: $(N - 1)(N - 2)$ terms, as (224) counts them. "
        r"With the printed limits the terms with $s_1$ are counted too, $2(N - 1)\alpha^2$ more in expectation.",
        {"lower": 2},
        mutants=({"lower": 3}, {"lower": 1}, {"double": 0.5}),
    ),
    importance="detail",
    because="The indices of the double sum start at 1, so that the products with $s_1$ are counted too.",
    expect=("corrected", "proof"),
)
def eq_207(products: Products, lower: int = 1, double: float = 1.0, most: int = 4) -> Evidence:
    """N^2 times both sides, exact expectations, for 1 to 4 clients."""
    lines = []
    for N in range(1, most + 1):
        squares = sum((products.of_two[i, i] for i in range(2, N + 1)), sympy.Integer(0))
        pairs = sum(
            (products.of_two[i, j] for i in range(lower, N + 1) for j in range(lower, N + 1) if i != j),
            sympy.Integer(0),
        )
        lines.append(Equation(f"N = {N}", products.of_sum[N], squares + rational(double) * pairs))
    return judge_identity(lines, [TWO_CLIENTS], f"1 to {most} clients, every m >= 3, every angle", positive=("m",))


FEW = "1 to 4 clients, every m >= 3, every angle"


@claim(
    "rolora/eq-205",
    where="Appendix A.4.1, eqs. (205) to (226)",
    says=LETTERS + r"with $R = x_{i,1}^\top x_{i,2}/\|x_{i,1}\|^2$, "
    r"$E[u_2^\top u_2] = mE[z_2^2] = \frac m{N^2}[(N - 1)^2\alpha^2 + (N - 1)\frac{1 - \alpha^2}{m - 2}]$, "
    r"$E[s_i] = \alpha$, $E[s_i^2] = \alpha^2 + (1 - \alpha^2)\frac1{m - 2}$ and $E[R^2] = E[\frac1{\|x_{i,1}\|^2}] = "
    r"\frac1{m - 2}$.",
    measure=measure_moments("u2'u2", "s", "s^2", "R^2"),
    control=Form(r"For $m \ge 4$.", {"fewest": 4}),
    correction=Form(
        r"For $m \ge 3$. For m of 1 and 2 and $\alpha^2 < 1$ the means of $1/\|x_{i,1}\|^2$ and of $s_i^2$ are "
        r"infinite for every N, that of $u_2^\top u_2$ for $N \ge 2$. $E[s_i] = \alpha$ holds for m = 2 as well; for "
        "m = 1 $s_i$ has no mean.",
        {"fewest": 3},
        mutants=({"two": 1.0}, {"others": 0.0}, {"fewest": 1}),
        asks="weaker",
    ),
    importance="detail",
    because="With one sample the mean of the inverse chi-square variable is infinite, and 1/(m - 2) is -1.",
    expect=("corrected", "proof"),
)
def eq_205(data: Moments, two: float = 2.0, others: float = 1.0, fewest: int = 1) -> Evidence:
    """All four expectations where they are finite; with fewer samples, one of them by itself."""
    inverse = 1 / (M - rational(two))
    square = ALPHA**2 + (1 - ALPHA**2) * inverse

    def whole(N: int) -> sympy.Expr:
        rest = N - rational(others)
        return M / sympy.Integer(N) ** 2 * (rest**2 * ALPHA**2 + rest * (1 - ALPHA**2) * inverse)

    formulas = {"s": lambda N: ALPHA, "R^2": lambda N: inverse, "s^2": lambda N: square, "u2'u2": whole}
    parts = [judge_moments(data, formulas, FEW)]
    if fewest < 3:
        few = Promise("E[R^2], a mean of squares", 0.0, 1.0 / (fewest - two), at_most=True, case={"m": fewest})
        parts.append(judge_promises([few], f"{fewest} samples"))
    return judge_parts(parts)


def corrected_loss(N: Any, four: float, two: float, power: int) -> sympy.Expr:
    r"""$1 + \tilde c$ of eq. (242)."""
    return 1 + (N * (rational(four) - M) - rational(two)) / (N**power * M * (M - 2))


@claim(
    "rolora/eq-241",
    where="Appendix A.4.1, eqs. (241) to (243)",
    says=LETTERS
    + r"with $\bar s$ the mean of the $s_i$, $\frac1m\|X_1a^* - \bar sX_1a\|^2 = \frac1m(v^\top v + u_1^\top "
    r"u_1 + u_2^\top u_2 - 2v^\top u_1 - 2v^\top u_2 + 2u_1^\top u_2) = (1 - \alpha^2)[1 + \frac{N(4 - m) - 2}{N^2m(m "
    r"- 2)}] = (\delta^0)^2(1 + \tilde c)$, $\tilde c = \frac{N(4 - m) - 2}{N^2m(m - 2)} = O(\frac1{Nm})$ as N and m "
    "approach infinity.",
    measure=measure_moments("loss", "v'v", "u1'u1", "u2'u2", "v'u1", "v'u2", "u1'u2"),
    control=Form("The expectations of both sides.", {"mean": True}),
    correction=Form(
        r"With E before the first two sides and for $m \ge 3$; then $Nm|\tilde c| \le 1$, see rolora/prop-5.5.",
        {"mean": True},
        mutants=({"four": 3.9}, {"two": 1.9}, {"power": 1}, {"cross": 1.0}, {"mean": False}),
        asks="weaker",
    ),
    importance="detail",
    because="The expectation sign is missing: the left side varies with the samples, the right side does not.",
    uses=("rolora/eq-189", "rolora/eq-205", "rolora/eq-227", "rolora/eq-230", "rolora/eq-237", "rolora/eq-187"),
    expect=("corrected", "proof"),
)
def eq_241(
    data: Moments, four: float = 4.0, two: float = 2.0, power: int = 2, cross: float = 2.0, mean: bool = False
) -> Evidence:
    """The sum of the six expectations, the expectation of the whole, and the formula; one client by itself.

    Without the expectation, one client with three samples, x for $X_1a$ and y for $X_1u$, u across a.
    """
    if not mean:
        case = {"m": 3, "xx": "1", "xy": "1/2", "yy": "1", "sine": "4/5"}
        left, right = 0.25, float(corrected_loss(sympy.Integer(1), four, two, power).subs(M, 3))
        return judge_promises([Promise("(242), over the squared sine", left, right, 1e-12, case=case)], "one client")
    lines = [Equation("one client", corrected_loss(sympy.Integer(1), four, two, power), 1 - 1 / M)]
    for N in CLIENTS:
        t = {name: terms[N] for name, terms in data.terms.items()}
        six = t["v'v"] + t["u1'u1"] + t["u2'u2"] - 2 * t["v'u1"] - 2 * t["v'u2"] + rational(cross) * t["u1'u2"]
        formula = (1 - ALPHA**2) * corrected_loss(N, four, two, power)
        lines += [Equation(f"(241), N = {N}", t["loss"], six), Equation(f"(242), N = {N}", six / M, formula)]
    return judge_identity(lines, data.points, FEW, positive=("m",))
