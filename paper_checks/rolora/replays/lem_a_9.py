"""Lemma A.9: the minimiser over B, and the last lines of its proof (eq. (43)).

Setting: `shared.concentration`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy
from mpmath import iv

from paper_checks.enclosures import enclose
from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.rolora.replays.shared.concentration import (
    EULER,
    LOG_2,
    enough_for_minimisers,
    interval,
    normal_quotient,
    surely,
)
from paper_checks.rolora.replays.shared.thresholds import thresholds
from paper_checks.stored_values import Values


def least_quotient() -> None:
    r"""A client's minimiser is off by more than $e\delta$ with probability at least $e^{-(x+1)^2}$, $x = e\sqrt{m/2}$.

    For a standard normal g, $P(|g| > y\sqrt2) = \operatorname{erfc}y$, which falls and is convex for $y \ge 0$: its
    slope is $-\frac2{\sqrt\pi}e^{-y^2}$. So by Jensen's inequality $P(|T| > e) = E\operatorname{erfc}(e\chi_m/\sqrt2)
    \ge \operatorname{erfc}(eE\chi_m/\sqrt2) \ge \operatorname{erfc}x$ with $x = e\sqrt{m/2}$, as $E\chi_m \le
    \sqrt{E\chi_m^2} = \sqrt m$. And $\operatorname{erfc}x \ge \frac2{\sqrt\pi}\int_x^{x+1}e^{-y^2}dy \ge
    e^{-(x+1)^2}$, as $\pi < 4$. T is symmetric, so T > e has half the probability of |T| > e. With m = Cq, one
    client and $e = \epsilon'$, $x^2 = \frac{Cd\log(2/\epsilon_0)}{2(1-\epsilon_0)^2(1-\epsilon_1)^2}$.
    """
    m, y, x, C, d, L, near, far, e2 = sympy.symbols("m y x C d L near far e2", positive=True)
    slope = sympy.diff(sympy.erfc(y), y)
    convex = sympy.simplify(slope.diff(y) * sympy.sqrt(sympy.pi) * sympy.exp(y**2) - 4 * y) == 0
    falls = sympy.simplify(slope * sympy.sqrt(sympy.pi) * sympy.exp(y**2) + 2) == 0
    require(convex and falls, "erfc falls and is convex")
    density = y ** (m / 2 - 1) * sympy.exp(-y / 2) / (2 ** (m / 2) * sympy.gamma(m / 2))
    square = sympy.gammasimp(sympy.integrate(density * y, (y, 0, sympy.oo)))
    require(sympy.simplify(square - m) == 0, "the mean of a chi-square variable")
    # At y = x + 1/(1 + d) the exponent of the integrand is less than (x + 1)^2.
    room = sympy.factor(sympy.together((x + 1) ** 2 - (x + 1 / (1 + d)) ** 2))
    require(non_negative(sympy.expand(sympy.numer(room))) and surely(4 - iv.pi), "the bound from below")
    level = e2 / (near * far)  # near = 1 - eps_0, far = 1 - eps_1
    stated = level**2 * C * d * L / e2**2 / 2 - C * d * L / (2 * near**2 * far**2)
    require(sympy.simplify(stated) == 0, "x at m = Cq")


@proof("rolora/lem-A.9")
def lem_A_9(factor: Fraction = Fraction(20)) -> str:
    r"""The law of a client's minimiser, a union over clients, and the sample count.

    One client's minimiser is farther than $\epsilon'\delta$ from $cb^*$ with probability at most
    $(1 + \epsilon'^2)^{-m/2}$, and one of N clients with at most N times that. For $m \ge Cq$, C = 20, the
    exponent is at least $\log N + 10\log\max\{\log N, d\}$, so the probability is at most $\max\{\log N,
    d\}^{-10}$. The mean of the minimisers is within the largest of their distances. From below, for one client: "Least
    quotient".
    """
    normal_quotient()
    enough_for_minimisers(factor)
    least_quotient()
    return (
        "we use the exact law of a client's minimiser, two-sided bounds on its tail and a union bound over the "
        "clients; interval arithmetic gives the number of samples"
    )


@replay("rolora/lem-A.9")
def lem_A_9_as_printed(values: Values) -> Violation:
    """One client: the minimiser is off by delta |b*| |z| / chi_m, z normal and independent of chi_m.

    erfc(x chi) is convex in chi and E chi_m <= sqrt(m), so the bound fails with probability at least erfc(x), x =
    eps' sqrt(m/2), which is more than exp(-(x + 1)^2), from the integral over [x, x + 1] (on the page of the proof).
    """
    at = thresholds(values)
    one = Hypothesis("N, for which the law is exact", int(values["N"]), "=", 1)
    x = at.e[2] / ((1 - at.e[0]) * (1 - at.e[1])) * enclose("sqrt", Fraction(at.m, 2))[1]
    return Violation(
        enclose("exp", -((x + 1) ** 2))[0],
        at.q[0] ** -10,
        assumes=(*at.assumes, one),
        reads="one client has m = C q samples. The probability of failure is at least exp(-(x + 1)^2) with x = eps' "
        "(m/2)^(1/2). For any C, a smaller eps_2 does not change x and makes q arbitrarily large. We compare this "
        "lower bound with q^-10",
    )


@proof("rolora/eq-43")
def eq_43(factor: Fraction = Fraction(28), C: Fraction = Fraction(4)) -> str:
    r"""For $d \ge 2$, $M = \max\{A, dL\} \ge 2\log2$, f the factor: $m\min(\epsilon_1, \epsilon_2)^2 \ge fM$.

    $\log(1 + 2/\epsilon_0) \le 2L$, so the exponents are at most $\log2 + 3M - c_3fM$ and $M - \frac f4M$
    ($c_1/K^4 = \frac14$). Plus $4Q \le 4M/\log2$ they fall in M: M = 2 log 2 decides. And $4Q > 10\log Q$, as $\log Q
    \le Q/e$. (43) follows by (37) and (42), whose proofs are [one](rolora--eq-36.md) and
    [another](rolora--eq-38.md).
    """
    f, rest = interval(factor), interval(C)
    golden = (iv.sqrt(5) - 1) / 2
    c3 = golden + iv.log(golden) / 2
    net, lower = c3 * f - 3 - rest / LOG_2, f / 4 - 1 - rest / LOG_2
    sums = 2 * iv.exp(-net * 2 * LOG_2) + iv.exp(-lower * 2 * LOG_2)
    met = surely(net) and surely(lower) and surely(1 - sums) and surely(rest - 10 / EULER)
    require(met, "the exponents")
    return r"interval arithmetic bounds the exponents for any number of clients, any thresholds and $d \ge 2$"


@replay("rolora/eq-43")
def eq_43_as_printed(values: Values) -> Violation:
    """Evaluate both ends of the chain: N p_0 against q^-10, with the largest constants that (18) and (29) allow.

    If both inequalities held, N p_0 would be below q^-10. p_0 is at least twice its part of the net; c_3 is the golden
    ratio's inverse plus half its logarithm.
    """
    at = thresholds(values)
    golden = [(root - 1) / 2 for root in enclose("sqrt", 5)]
    c3 = golden[1] + enclose("ln", golden[1])[1] / 2
    net = int(values["d"]) * enclose("ln", 1 + 2 / at.e[0])[0] - c3 * at.e[2] ** 2 * at.m
    return Violation(
        enclose("ln", 2 * int(values["N"]))[0] + net,
        -10 * enclose("ln", at.q[0])[0],
        assumes=at.assumes,
        reads="there are m = C q samples, where C is the constant of Omega, and c_3 is at its largest. N p_0 and "
        "q^-10 are the ends of the chain. For any C, a smaller eps_2 does not change the first and makes the second "
        "arbitrarily small. We compare a lower bound on log(N p_0) with log(q^-10)",
    )
