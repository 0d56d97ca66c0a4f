"""Appendix A.4.1, proof of Proposition 5.5: the minimiser's concentration (eqs. (189) to (204), (227) to (240))."""

from __future__ import annotations

from collections.abc import Mapping
from math import log, pi
from typing import Any

import sympy

from paper_checks.claim import LITERAL, Evidence, Form, Intended, Reading, claim
from paper_checks.methods.identity import Equation, rational
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
    Moments,
    Z,
    judge_moments,
    measure_moments,
    parts,
)


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


def first_square(weight: float, noise: float) -> sympy.Expr:
    r"""Return $\alpha^2m + 1 - \alpha^2$."""
    return rational(weight) * ALPHA**2 * M + rational(noise) * (1 - ALPHA**2)


@claim(
    "rolora/eq-189",
    where="Appendix A.4.1, eqs. (189) to (204); (200) and (201) repeat (194) and (196)",
    says=r"With $z_1 = \frac{s_1}N$, $s_1 = \frac{(X_1a)^\top(X_1a^*)}{\|X_1a\|^2}$, $u_1 = z_1X_1a$, $\alpha = "
    r"a^\top a^*$, $r_1 = \|x_{1,1}\|^2$ and $r_2 = x_{1,1}^\top x_{1,2}$: $u_1^\top "
    r"u_1 = z_1^2\|X_1a\|^2 = \frac{s_1^2}{N^2}\|X_1a\|^2 = \frac1{N^2}\frac{((X_1a)^\top(X_1a^*))^2}{\|X_1a\|^4}"
    r"\|X_1a\|^2 = \frac1{N^2}\frac{((X_1a)^\top(X_1a^*))^2}{\|X_1a\|^2}$. "
    + COORDINATES
    + r"$E[\frac1{N^2}\frac{((X_1a)^\top(X_1a^*))^2}{\|X_1a\|^2}] = E[\frac1{N^2}\frac{(x_{1,1}^\top(\alpha x_{1,1} + "
    r"\beta x_{1,2}))^2}{\|x_{1,1}\|^2}] = \frac1{N^2}E[\frac{(x_{1,1}^\top(\alpha x_{1,1} + \beta "
    r"x_{1,2}))^2}{\|x_{1,1}\|^2}]$, and $E[\frac{(x_{1,1}^\top(\alpha x_{1,1} + \beta x_{1,2}))^2}{\|x_{1,1}\|^2}] = "
    r"E[\frac{(\alpha r_1 + \beta r_2)^2}{r_1}] = E[\frac{\alpha^2r_1^2 + \beta^2r_2^2 + 2\alpha\beta r_1r_2}{r_1}] = "
    r"E[\alpha^2r_1] + E[\frac{\beta^2r_2^2}{r_1}] + E[2\alpha\beta r_2]$ with $E[\alpha^2r_1] = \alpha^2m$ and "
    r"$E[2\alpha\beta r_2] = 0$; $E[r_2|x_{1,1}] = 0$, $\mathrm{Var}(r_2|x_{1,1}) = r_1$, $r_2|x_{1,1} \sim N(0, "
    r"r_1)$, $E[r_2^2|x_{1,1}] = r_1$, $E[\frac{r_2^2}{r_1}|x_{1,1}] = 1$ and $E[\frac{r_2^2}{r_1}] = 1$. So "
    r"$E[\frac{((X_1a)^\top(X_1a^*))^2}{\|X_1a\|^2}] = \alpha^2m + \beta^2$ and $E[u_1^\top u_1] = "
    r"\frac1{N^2}E[\frac{((X_1a)^\top(X_1a^*))^2}{\|X_1a\|^2}] = \frac{\alpha^2m + (1 - \alpha^2)}{N^2}$.",
    measure=measure_moments("u1'u1", "quotient", "r2^2/r1", "r1", "r2"),
    mutants=[{"power": 1}, {"noise": 2.0}, {"weight": 0.5}],
    because=r"The paper does not define $\beta$. It means the $\sqrt{1 - \alpha^2}$ of the line before (193).",
    expect=("holds", "proof"),
    intended=Intended(
        "literal",
        r"“$\alpha x_{1,1} + \sqrt{1-\alpha^2}x_{1,2}$” (before (193)) is written $\alpha x_{1,1} + \beta x_{1,2}$ "
        r"next, and (204) has $1 - \alpha^2$ instead of the $\beta^2$ of (202)",
    ),
    print="unstated",
)
def eq_189(data: Moments, power: int = 2, noise: float = 1.0, weight: float = 1.0) -> Evidence:
    """Every line: those before an expectation with symbols, given the first column by moments of the second."""
    h, g, _ = symbols_of(1)
    product, r_1, r_2 = scalar_product(1), h**2, h * g
    linear = OURS.dot(ACROSS)
    lines = [IN_COORDINATES]
    for N in CLIENTS:
        forms = (scale(1) ** 2 * r_1, product**2 / r_1**2 * r_1, product**2 / r_1)
        lines += [
            Equation(f"({number}), N = {N}", (scale(1) / N) ** 2 * r_1, form / sympy.Integer(N) ** power)
            for number, form in zip((190, 191, 192), forms, strict=True)
        ]
    lines += [
        Equation("(194)", product**2 / r_1, (ALPHA * r_1 + BETA * r_2) ** 2 / r_1),
        Equation(
            "(195)", product**2 / r_1, (ALPHA**2 * r_1**2 + BETA**2 * r_2**2 + 2 * ALPHA * BETA * r_1 * r_2) / r_1
        ),
        Equation("(196)", product**2 / r_1, ALPHA**2 * r_1 + BETA**2 * r_2**2 / r_1 + 2 * ALPHA * BETA * r_2),
        Equation("(197), linear in the second column", linear.subs(dict.fromkeys(ACROSS, 0)), sympy.Integer(0)),
        Equation("(198), (199)", mean_of_form(linear**2, list(ACROSS)), rational(noise) * OURS.dot(OURS)),
    ]
    formulas = {
        "r1": lambda N: rational(weight) * M,
        "r2": lambda N: 0,
        "r2^2/r1": lambda N: rational(noise),
        "quotient": lambda N: first_square(weight, noise),
        "u1'u1": lambda N: first_square(weight, noise) / N**power,
    }
    return judge_moments(data, formulas, others=lines)


@claim(
    "rolora/eq-227",
    where="Appendix A.4.1, eqs. (227) to (229), with the line before them",
    says=LETTERS + r"$v^\top u_1 = z_1(X_1a^*)^\top(X_1a) = \frac{s_1}N(X_1a^*)^\top(X_1a)$, $E[v^\top u_1] = "
    r"\frac1NE[s_1(X_1a^*)^\top(X_1a)]$, $E[s_1(X_1a^*)^\top(X_1a)] = "
    r"E[\frac{((X_1a)^\top(X_1a^*))^2}{\|X_1a\|^2}] = \alpha^2m + (1 - \alpha^2)$, and $E[v^\top u_1] = "
    r"\frac{\alpha^2m + (1 - \alpha^2)}N$, $z_1$ being $\frac{s_1}N$.",
    measure=measure_moments("v'u1", "quotient"),
    mutants=[{"power": 2}, {"noise": 2.0}, {"weight": 0.5}],
    uses=("rolora/eq-189",),
    expect=("holds", "proof"),
)
def eq_227(data: Moments, power: int = 1, noise: float = 1.0, weight: float = 1.0) -> Evidence:
    """The same quotient as in eq. (202), divided by N once."""
    formulas = {
        "quotient": lambda N: first_square(weight, noise),
        "v'u1": lambda N: first_square(weight, noise) / N**power,
    }
    product = scalar_product(1)
    lines = [Equation("(227)", scale(1) * product, product**2 / symbols_of(1)[0] ** 2)]
    return judge_moments(data, formulas, others=lines)


CUT: Mapping[str, Any] = {"N": 2, "m": 1, "alpha": "3/5", "constant": "5", "halvings": 512}
"""One sample, where $s_2$ has Cauchy's law: its mean size, cut off at $2^{512}$, passes any such constant."""


def without_mean(name: str, share: float) -> Evidence:
    r"""Return whether a size that is independently ``share`` times $|s_2|$ or more has a mean of at most the constant.

    $s_2 = \alpha + \beta R$ with R of Cauchy's law, and $E\min(|R|, 2^k) \ge \frac k\pi\log4$.
    """
    least = 0.8 * CUT["halvings"] * log(4.0) / pi - 0.6
    promise = Relation(
        f"a lower bound of the mean size of {name}", share * least, float(CUT["constant"]), at_most=True, case=CUT
    )
    return judge_relations([promise], "two clients with one sample each, sizes cut off")


@claim(
    "rolora/eq-230",
    where="Appendix A.4.1, eqs. (230) to (236); the factor $z_2$ before the second term of (232) multiplies 0",
    says=LETTERS
    + r"$v^\top u_2 = z_2(X_1a^*)^\top(X_1a)$ and $E[z_2(X_1a^*)^\top(X_1a)|z_2] = z_2E[(X_1a^*)^\top(X_1a)]$. "
    + COORDINATES
    + r"By (209) $E[(X_1a^*)^\top(X_1a)] = E[\alpha\|x_{1,1}\|^2 + \sqrt{1 - \alpha^2}(x_{1,1}^\top x_{1,2})] = "
    r"\alpha E[\|x_{1,1}\|^2] + z_2\sqrt{1 - \alpha^2}E[x_{1,1}^\top x_{1,2}] = \alpha m$, so "
    r"$E[E[z_2(X_1a^*)^\top(X_1a)|z_2]] = E[z_2\alpha m] = \alpha mE[z_2]$ and, with $E[s_i] = \alpha$, $\alpha "
    r"mE[z_2] = \frac{\alpha m}N\sum_{i=2}^NE[s_i] = \frac mN(N - 1)\alpha^2 = E[v^\top u_2]$.",
    measure=measure_moments("v'u2", "z2", "product", "r1", "r2"),
    control=Form(r"For $m \ge 3$.", {"fewest": 3}),
    correction=Form(
        r"""For $m \ge 2$. With one sample $s_i = \alpha + \sqrt{1 - \alpha^2}\,\frac{x_{i,2}}{x_{i,1}}$ follows
        Cauchy's law if $\alpha^2 < 1$: neither $E[s_i]$ nor, for $N \ge 2$, $E[z_2]$ and $E[v^\top u_2]$ exist.""",
        {"fewest": 2},
        mutants=({"others": 0.0}, {"power": 1}, {"factor": 2.0}, {"fewest": 1}),
        asks="weaker",
    ),
    importance="detail",
    readings=(
        LITERAL,
        Reading(
            "two samples or more",
            r"(230) to (236) for $m \ge 2$.",
            {"fewest": 2},
            r"$E[s_i] = \alpha$ is used, a mean that exists for $m \ge 2$.",
            ({"others": 0.0}, {"power": 1}, {"factor": 2.0}, {"fewest": 1}),
        ),
    ),
    because="With one sample, $s_i$ is a quotient of two normal variables. It follows a Cauchy law, which does not "
    "have a mean.",
    uses=("rolora/eq-205",),
    expect=("holds", "proof"),
    intended=Intended(
        "two samples or more",
        r"“(236) follows by $E[s_i] = \alpha$”, a mean that exists for $m \ge 2$ only; (242), which divides by "
        r"“$m(m-2)$”, takes $m \ge 3$ anyway",
    ),
    print="unstated",
)
def eq_230(data: Moments, others: float = 1.0, power: int = 2, factor: float = 1.0, fewest: int = 1) -> Evidence:
    r"""Independence of the other clients from the first, whose $|(X_1a)^\top(X_1a^*)|$ is at least 3/5 on average."""
    product = scalar_product(1)
    formulas = {
        "r1": lambda N: M,
        "r2": lambda N: 0,
        "product": lambda N: rational(factor) * ALPHA * M,
        "z2": lambda N: (N - rational(others)) * ALPHA ** (power - 1) / N,
        "v'u2": lambda N: rational(factor) * M * (N - rational(others)) * ALPHA**power / N,
    }
    mean, given = expectation(product, 1), expectation(Z * product, 1)
    h, g, _ = symbols_of(1)
    lines = [
        Equation("(230)", given, Z * mean),
        IN_COORDINATES,
        Equation("(232)", mean, ALPHA * expectation(h**2, 1) + Z * BETA * expectation(h * g, 1)),
        Equation("(234)", given, Z * ALPHA * M),
    ]
    one_sample = [without_mean("v'u_2", 0.6 / 2)] if fewest < 2 else []
    return judge_parts([judge_moments(data, formulas, others=lines), *one_sample])


@claim(
    "rolora/eq-237",
    where="Appendix A.4.1, eqs. (237) to (240)",
    says=LETTERS
    + r"$u_1^\top u_2 = z_1z_2\|X_1a\|^2 = \frac1{N^2}((X_1a^*)^\top(X_1a))\sum_{i=2}^Ns_i$ with $z_1 = \frac{s_1}N$; "
    r"$E[u_1^\top u_2] = E[\frac1{N^2}((X_1a^*)^\top(X_1a))\sum_{i=2}^Ns_i] = \frac1{N^2}E[(X_1a^*)^\top(X_1a)] \cdot "
    r"E[\sum_{i=2}^Ns_i] = \frac1{N^2}E[(X_1a^*)^\top(X_1a)] \cdot (N - 1)E[s_i] = \frac{(N - 1)m\alpha^2}{N^2}$, by "
    r"$E[(X_1a^*)^\top(X_1a)] = \alpha m$ and $E[s_i] = \alpha$.",
    measure=measure_moments("u1'u2", "product", "sum of s", "s"),
    control=Form(r"For $m \ge 3$.", {"fewest": 3}),
    correction=Form(
        r"""For $m \ge 2$. With one sample and $\alpha^2 < 1$, see (230), neither $E[s_i]$ nor, for $N \ge 2$,
        $E[u_1^\top u_2]$ exists.""",
        {"fewest": 2},
        mutants=({"others": 0.0}, {"power": 1}, {"clients_power": 1}, {"fewest": 1}),
        asks="weaker",
    ),
    importance="detail",
    readings=(
        LITERAL,
        Reading(
            "two samples or more",
            r"(237) to (240) for $m \ge 2$.",
            {"fewest": 2},
            r"$E[s_i] = \alpha$ is used, a mean that exists for $m \ge 2$.",
            ({"others": 0.0}, {"power": 1}, {"clients_power": 1}, {"fewest": 1}),
        ),
    ),
    because="With one sample, $s_i$ is a quotient of two normal variables. It follows a Cauchy law, which does not "
    "have a mean.",
    uses=("rolora/eq-230",),
    expect=("holds", "proof"),
    intended=Intended(
        "two samples or more",
        r"(240) uses “$E[s_i] = \alpha$”, a mean that exists for $m \ge 2$ only; (242), which divides by "
        r"“$m(m-2)$”, takes $m \ge 3$ anyway",
    ),
    print="unstated",
)
def eq_237(data: Moments, others: float = 1.0, power: int = 2, clients_power: int = 2, fewest: int = 1) -> Evidence:
    r"""Independence again; $u_1^\top u_2$ is $z_2/N$ times the same product."""
    terms = data.terms
    formulas = {
        "product": lambda N: ALPHA * M,
        "s": lambda N: ALPHA,
        "sum of s": lambda N: (N - rational(others)) * terms["s"][N],
        "u1'u2": lambda N: (N - rational(others)) * M * ALPHA**power / N**clients_power,
    }
    lines = []
    for N in CLIENTS:
        others_sum = sum((scale(i) for i in range(2, N + 1)), sympy.Integer(0))
        whole, square = parts(N)["u1'u2"], sympy.Integer(N) ** clients_power
        lines.append(Equation(f"(237), N = {N}", whole, scalar_product(1) * others_sum / square))
        apart = terms["product"][N] * terms["sum of s"][N] / square
        lines.append(Equation(f"(238), N = {N}", terms["u1'u2"][N], apart))
    one_sample = [without_mean("u_1'u_2", 0.6 / 4)] if fewest < 2 else []
    return judge_parts([judge_moments(data, formulas, others=lines), *one_sample])
