"""Appendix A.4.1, proof of Proposition 5.5: the squares (eqs. (205) to (226), (241) to (243))."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from paper_checks.claim import LITERAL, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.identity import Equation, judge_identity, rational
from paper_checks.methods.parts import judge_parts
from paper_checks.methods.relations import Relation, judge_relations
from paper_checks.rolora.measurements.expectations import (
    ALPHA,
    BETA,
    M,
    expectation,
    mean_of_form,
    scalar_product,
    scale,
    symbols_of,
)
from paper_checks.rolora.measurements.freezing_moments import (
    ACROSS,
    CLIENTS,
    COORDINATES,
    IN_COORDINATES,
    LETTERS,
    OURS,
    POINTS,
    Moments,
    Z,
    judge_moments,
    measure_moments,
)

TWO_CLIENTS = POINTS[0]


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
    """Compute the expectations for up to 4 clients."""
    of_two = {(i, j): expectation(scale(i) * scale(j), 4) for i in CLIENTS for j in CLIENTS}
    sums = {N: sum((scale(i) for i in range(2, N + 1)), sympy.Integer(0)) for N in CLIENTS}
    return Products(of_two, {N: expectation(one**2, 4) for N, one in sums.items()})


@claim(
    "rolora/eq-207",
    where="Appendix A.4.1, eqs. (207) and (208)",
    says=LETTERS + r"$E[z_2^2] = E[\frac{(s_2 + \ldots + s_N)^2}{N^2}] = \frac1{N^2}E[\sum_{i=2}^Ns_i^2 + "
    r"\sum_{i=1,j=1,i\ne j}^Ns_is_j] = \frac1{N^2}(\sum_{i=2}^NE[s_i^2] + \sum_{i=1,j=1,i\ne j}^NE[s_is_j])$.",
    measure=measure_products,
    control=Form("The statement for a single client, where both sums are empty.", {"most": 1}),
    correction=Form(
        r"""For $m \ge 3$, with both indices of the double sum from 2: $(N - 1)(N - 2)$ terms, as (224) counts them. The
        printed limits also count the terms with $s_1$, which adds $2(N - 1)\alpha^2$ in expectation.""",
        {"lower": 2},
        mutants=({"lower": 3}, {"lower": 1}, {"double": 0.5}),
    ),
    importance="detail",
    because="The indices of the double sum start at 1, so it also counts the products with $s_1$.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected", "(224) counts “$(N-1)(N-2)E[s_is_j]$”, so both indices of the double sum start at 2"
    ),
    print="misprint",
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
        lines.append(Equation(f"N^2 times (208), N = {N}", products.of_sum[N], squares + rational(double) * pairs))
    for N in range(1, most + 1):
        own = [scale(i) for i in range(2, N + 1)]
        apart = [scale(i) * scale(j) for i in range(lower, N + 1) for j in range(lower, N + 1) if i != j]
        right = sum((one**2 for one in own), rational(double) * sum(apart, sympy.Integer(0)))
        lines.append(Equation(f"N^2 times (207), N = {N}", sum(own, sympy.Integer(0)) ** 2, right))
    return judge_identity(lines, [TWO_CLIENTS], f"1 to {most} clients, every m >= 3, every angle", positive=("m",))


FEW, FROM_FOUR = (f"1 to 4 clients, every m >= {fewest}, every angle" for fewest in (3, 4))


@claim(
    "rolora/eq-205",
    where="Appendix A.4.1, eqs. (205), (206) and (209) to (226); for (207) and (208), which print two indices wrong, "
    "see rolora/eq-207",
    says=LETTERS
    + r"$u_2^\top u_2 = z_2^2\|X_1a\|^2$, $z_2$ is independent of $(X_1a^*, X_1a)$, $E[z_2^2\|X_1a\|^2|z_2] "
    r"= z_2^2E[\|X_1a\|^2] = z_2^2m$, $E[z_2^2\|X_1a\|^2] = mE[z_2^2]$ and $E[z_2^2] = E[\frac{(s_2 + \ldots + "
    r"s_N)^2}{N^2}]$. "
    + COORDINATES
    + r"$(X_ia)^\top(X_ia^*) = x_{i,1}^\top(\alpha x_{i,1} + \sqrt{1 - \alpha^2}x_{i,2}) = \alpha\|x_{i,1}\|^2 + "
    r"\sqrt{1 - \alpha^2}(x_{i,1}^\top x_{i,2})$ and $s_i = \frac{\alpha\|x_{i,1}\|^2 + \sqrt{1 - "
    r"\alpha^2}(x_{i,1}^\top x_{i,2})}{\|x_{i,1}\|^2} = \alpha + \sqrt{1 - \alpha^2}R$ with $R = \frac{x_{i,1}^\top "
    r"x_{i,2}}{\|x_{i,1}\|^2}$; $E[s_i^2] = E[(\alpha + \sqrt{1 - \alpha^2}R)^2] = E[\alpha^2 + (1 - \alpha^2)R^2 + "
    r"2\alpha\sqrt{1 - \alpha^2}R] = \alpha^2 + (1 - \alpha^2)E[R^2] + 2\alpha\sqrt{1 - \alpha^2}E[R]$; $E[R] = "
    r"E[E[R|x_{i,1}]] = 0$; $E[R^2|x_{i,1}] = \frac{E[(x_{i,1}^\top x_{i,2})^2|x_{i,1}]}{\|x_{i,1}\|^4} = "
    r"\frac1{\|x_{i,1}\|^2}$, $E[R^2] = E[\frac1{\|x_{i,1}\|^2}] = \frac1{m - 2}$; $E[s_i^2] = \alpha^2 + (1 - "
    r"\alpha^2)\frac1{m - 2}$. $E[s_i] = E[\alpha + \sqrt{1 - \alpha^2}R] = \alpha + \sqrt{1 - \alpha^2}E[R] = "
    r"\alpha$, and for $i \ne j$ $E[s_is_j] = E[s_i] \cdot E[s_j] = E[s_i]^2 = \alpha^2$. So $E[u_2^\top u_2] = "
    r"mE[z_2^2] = \frac m{N^2}((N - 1)E[s_i^2] + (N - 1)(N - 2)E[s_is_j]) = \frac m{N^2}((N - 1)(\alpha^2 + (1 - "
    r"\alpha^2)\frac1{m - 2}) + (N - 1)(N - 2)\alpha^2) = \frac m{N^2}[(N - 1)^2\alpha^2 + (N - 1)\frac{1 - "
    r"\alpha^2}{m - 2}]$.",
    measure=measure_moments("u2'u2", "s", "s^2", "R^2", "R", "1/r1", "z2^2", "s_i s_j"),
    control=Form(r"For $m \ge 4$.", {"fewest": 4}),
    correction=Form(
        r"""For $m \ge 3$. For m of 1 and 2 and $\alpha^2 < 1$ the means of $1/\|x_{i,1}\|^2$ and of $s_i^2$ are
        infinite for every N, that of $u_2^\top u_2$ for $N \ge 2$. $E[s_i] = \alpha$ holds for m = 2 as well; for $m =
        1$ and $\alpha^2 < 1$ $s_i$ has no mean.""",
        {"fewest": 3},
        mutants=({"two": 1.0}, {"others": 0.0}, {"fewest": 1}),
        asks="weaker",
    ),
    importance="detail",
    uses=("rolora/eq-207",),
    readings=(
        LITERAL,
        Reading(
            "three samples or more",
            r"(205), (206) and (209) to (226) for $m \ge 3$.",
            {"fewest": 3},
            r"The paper prints $\frac1{m - 2}$ as a mean of squares, so m is at least 3.",
            ({"two": 1.0}, {"others": 0.0}, {"fewest": 1}),
        ),
    ),
    because="With one or two samples the mean of the inverse chi-square variable is infinite, and 1/(m - 2) is -1 or "
    "has no value.",
    expect=("holds", "proof"),
    intended=Intended("three samples or more", r"“$E[R^2] = \frac{1}{m-2}$” (after (216)) is used, so $m \ge 3$"),
    print="unstated",
)
def eq_205(data: Moments, two: float = 2.0, others: float = 1.0, fewest: int = 1) -> Evidence:
    """Every expectation where it is finite; with fewer samples, one of them by itself."""
    inverse, rest_of = 1 / (M - rational(two)), lambda N: N - rational(others)
    square = ALPHA**2 + (1 - ALPHA**2) * inverse
    terms, R = data.terms, sympy.Symbol("p1") / sympy.Symbol("q1")  # any number

    def whole(N: int) -> sympy.Expr:
        rest = rest_of(N)
        return M / sympy.Integer(N) ** 2 * (rest**2 * ALPHA**2 + rest * (1 - ALPHA**2) * inverse)

    formulas = {
        "s": lambda N: ALPHA,
        "s_i s_j": lambda N: ALPHA**2,
        "R": lambda N: 0,
        "R^2": lambda N: inverse,
        "1/r1": lambda N: inverse,
        "s^2": lambda N: square,
        "u2'u2": whole,
    }
    h, g, _ = symbols_of(1)
    product, length = OURS.dot(ACROSS), OURS.dot(OURS)
    lines = [
        Equation("(205)", expectation(Z**2 * h**2, 1), Z**2 * M),
        IN_COORDINATES,
        Equation("(210)", scalar_product(1) / h**2, ALPHA + BETA * g / h),
        Equation("(212)", (ALPHA + BETA * R) ** 2, ALPHA**2 + BETA**2 * R**2 + 2 * ALPHA * BETA * R),
        Equation("(215)", mean_of_form(product**2, list(ACROSS)) / length**2, 1 / length),
    ]
    for N in CLIENTS:
        rest, least = rest_of(N), M / sympy.Integer(N) ** 2
        pairs = rest * (N - 2)
        lines += [
            Equation(f"(223), N = {N}", terms["u2'u2"][N], M * terms["z2^2"][N]),
            Equation(
                f"(224), N = {N}", terms["u2'u2"][N], least * (rest * terms["s^2"][N] + pairs * terms["s_i s_j"][N])
            ),
            Equation(f"(225), N = {N}", terms["u2'u2"][N], least * (rest * square + pairs * ALPHA**2)),
        ]
    found = [judge_moments(data, formulas, FEW if fewest < 4 else FROM_FOUR, lines)]
    if fewest < 3:
        few = Relation("E[R^2], a mean of squares", 0.0, 1.0 / (fewest - two), at_most=True, case={"m": fewest})
        found.append(judge_relations([few], f"{fewest} samples"))
    return judge_parts(found)


def corrected_loss(N: Any, four: float, two: float, power: int) -> sympy.Expr:
    r"""Return $1 + \tilde c$ of eq. (242)."""
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
    control=Form(r"The expectations of both sides for $m \ge 3$.", {"mean": True}),
    correction=Form(
        r"With E before the first two sides and for $m \ge 3$; then $Nm|\tilde c| \le 1$, see rolora/prop-5.5.",
        {"mean": True},
        mutants=({"four": 3.9}, {"two": 1.9}, {"power": 1}, {"cross": 1.0}, {"mean": False}),
        asks="weaker",
    ),
    importance="detail",
    because="The expectation sign is missing: the left side varies with the samples, but the right side does not.",
    uses=("rolora/eq-189", "rolora/eq-205", "rolora/eq-227", "rolora/eq-230", "rolora/eq-237", "rolora/eq-187"),
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected", "“Now we compute the expectation term by term” and (244) has E: the E is left out in (241)"
    ),
    print="misprint",
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
        return judge_relations([Relation("(242), over the squared sine", left, right, 1e-12, case=case)], "one client")
    lines = [Equation("one client", corrected_loss(sympy.Integer(1), four, two, power), 1 - 1 / M)]
    for N in CLIENTS:
        t = {name: terms[N] for name, terms in data.terms.items()}
        six = t["v'v"] + t["u1'u1"] + t["u2'u2"] - 2 * t["v'u1"] - 2 * t["v'u2"] + rational(cross) * t["u1'u2"]
        formula = (1 - ALPHA**2) * corrected_loss(N, four, two, power)
        lines += [Equation(f"(241), N = {N}", t["loss"], six), Equation(f"(242), N = {N}", six / M, formula)]
    return judge_identity(lines, data.points, FEW, positive=("m",))
