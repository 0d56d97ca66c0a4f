"""Appendix A.3 of v1 and iclr: the series in free cumulants (eq. (36) of v1).

Setting: `shared.series`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from paper_checks.fedloru.replays.shared.series import d, k, n, zero
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v1/eq-36")
def eq_36(values: Values) -> Violation:
    """Compare the numerator, multiplied out, with the printed one, for the semicircle of variance 1: R(w) = w."""
    t1, tj, sM, sN = fractions(values, "theta_1", "theta_j", "s_M", "s_N")
    assumes = assuming(
        Hypothesis("s_N", sN, ">", 0),
        Hypothesis("s_N, against s_M", sN, "<", sM),
        Hypothesis("theta_j, an outlier's at M", tj, ">", sM),
        Hypothesis("theta_j, against theta_1", tj, "<", t1),
    )
    Mj, Nj, M1, N1 = sM / tj, sN / tj, sM / t1, sN / t1
    numerator = (tj + sM * Mj) * (t1 + sN * N1) - (tj + sN * Nj) * (t1 + sM * M1)
    printed = t1 * (sN * Nj - sM * Mj) + tj * (sM * M1 - sN * N1) + sN * sM * (M1 * Nj - N1 * Mj)
    return Violation(
        abs(numerator - printed),
        0,
        assumes=assumes,
        reads="for the semicircle of variance 1, with R(w) = w, we compute |numerator - printed numerator|",
    )


@replay("fedloru-v1/Fj1", x="s_M/theta_j", ratio="theta_j/theta_1", shrink="s_N/s_M")
def fj1_as_printed(values: Values) -> Violation:
    """Evaluate F_{j,1} from its definition at theta_1 = 1, for the semicircle of mean -1/2: R(w) = w - 1/2."""
    x, tj, shrink = fractions(values, "x", "ratio", "shrink")
    sM, sN = x * tj, shrink * x * tj

    def R(w: Fraction) -> Fraction:
        return w - Fraction(1, 2)

    value = sN * R(sN / tj) - sM * R(sM / tj) + tj * (sM * R(sM) - sN * R(sN))
    assumes = (
        Hypothesis("theta_j, against theta_1 = 1", tj, "<", 1),
        Hypothesis("s_N", sN, ">", 0),
        Hypothesis("s_N, against s_M", sN, "<", sM),
        Hypothesis("s_M / theta_j, for outliers of this law", x, "<", 1),
    )
    return Violation(
        value,
        0,
        strict=True,
        assumes=assumes,
        reads="with theta_1 = 1 and a semicircle of mean -1/2, we compare F_j1 with 0, which should be greater",
    )


theta_1, theta_j, S_M, S_N = sympy.symbols("theta_1 theta_j s_M s_N", positive=True)


def kesten_mckay() -> None:
    r"""The law of degree 3: R is inverse to the transform up to $w = \sqrt2$, and its series diverges at $w = 1$."""
    w, z = sympy.symbols("w z", positive=True)
    R = 3 * (sympy.sqrt(1 + 4 * w**2) - 1) / (2 * w)
    g = (z - 3 * sympy.sqrt(z**2 - 8)) / (2 * (9 - z**2))  # of the density 3 sqrt(8 - x^2) / (2 pi (9 - x^2))
    slope = sympy.diff(R + 1 / w, w)
    edge = sympy.sqrt(2)
    catalan = [sympy.catalan(order) for order in range(5)]
    series = sum((-1) ** order * 3 * number * w ** (2 * order + 1) for order, number in enumerate(catalan))
    require(sympy.simplify((R + 1 / w).subs(w, g.subs(z, 4)) - 4) == 0, "R of Kesten and McKay's law")
    require(sympy.limit(g, z, 2 * edge) == edge, "its transform at the edge")
    require(sympy.solve(slope, w) == [edge], "its first critical value")
    require(sympy.expand(sympy.series(R, w, 0, 10).removeO() - series) == 0, "its cumulants")


def logarithmic_slope() -> None:
    r"""$wh'(w)$ increases with w for $h(w) = wR(w)$ and every law of mean 0 or more that is not a point."""
    x, t, u = sympy.symbols("x t u")
    G = sympy.Function("G")(x)
    first, second = G.diff(x), G.diff(x, 2)
    slope = x * G + G**2 / first  # w K + w^2 K' at w = G(x), K' = 1 / G'
    require(sympy.simplify(slope.diff(x) - (3 * G + x * first - G**2 * second / first**2)) == 0, "its derivative in x")
    a, b = 1 / (x - t), 1 / (x - u)
    require(sympy.simplify((a * b**3 + a**3 * b) / 2 - a**2 * b**2 - a * b * (a - b) ** 2 / 2) == 0, "G G'' and G'^2")
    require(sympy.simplify(a - x * a**2 + t * a**2) == 0, "G + x G'")
    require(sympy.simplify((t - u) * (a**2 - b**2) - (t - u) ** 2 * a * b * (a + b)) == 0, "one order of both factors")


@proof("fedloru-v1/Fj1@noise-of-mean-0-or-more")
def fj1(shift: int = 0) -> str:
    r"""The term of $C_n$ for every n, and the sign for every law of mean 0 or more.

    **The series.** $s_NR(s_N/\theta_j) = \sum_nC_ns_N^n\theta_j^{1-n}$ and its likes give it, where they converge. For
    non-negative cumulants they do above the thresholds: R is the inverse of the Stieltjes transform less 1/w, analytic
    for w between 0 and $g(U^+)$, and the radius of convergence of a series without negative coefficients ends at a
    singularity on the positive axis (Pringsheim). Elsewhere the series may diverge at an outlier: Kesten and McKay's
    law of degree 3 has $R(w) = 3(\sqrt{1+4w^2} - 1)/(2w)$ and $g(U^+) = \sqrt2$, where $R(w) + 1/w$ has its first
    critical value. Its cumulants, Catalan numbers times $\pm3$, do not tend to 0, so the series diverges at $w = 1$.

    **The sign.** $F_{j,1}$ is $\theta_1\theta_j$ times the increment of $h(w) = wR(w)$ over $[s_N, s_M]/\theta_1$ less
    that over $[s_N, s_M]/\theta_j$. Both have one length on a logarithmic scale, so it is negative if $wh'(w)$
    increases. With $x = R(w) + 1/w$ above the edge and $w = G(x)$, $wh' = xG + G^2/G'$, whose derivative in x is $3G +
    xG' - G^2G''/G'^2$. By Cauchy and Schwarz $GG'' \ge 2G'^2$, with equality for a point alone, so it is at most $G +
    xG' = -\int\frac t{(x - t)^2}d\mu$. Both t and $(x - t)^{-2}$ increase with t, so by Chebyshev's inequality this is
    at most $-\int t\,d\mu\int(x - t)^{-2}d\mu \le 0$. As w rises x falls, and $wh'$ increases.

    **A negative mean.** The semicircle of mean -1/2, in fractions, has a positive sum.
    """
    power = n - 1 + shift

    def part(theta: Any, s: Any) -> Any:
        return s * (s / theta) ** (n - 1)

    defined = theta_1 * (part(theta_j, S_N) - part(theta_j, S_M)) + theta_j * (part(theta_1, S_M) - part(theta_1, S_N))
    printed = (S_N**n - S_M**n) * (theta_1 * theta_j**-power - theta_j * theta_1**-power)
    M, N, one, j = Fraction(1, 10), Fraction(1, 20), Fraction(1), Fraction(1, 2)

    def of_mean(w: Fraction) -> Fraction:
        return w - Fraction(1, 2)

    example = one * (N * of_mean(N / j) - M * of_mean(M / j)) + j * (M * of_mean(M / one) - N * of_mean(N / one))
    require(zero(defined - printed), "the term of C_n")
    require(example > 0, "a positive sum for a negative mean")
    kesten_mckay()
    logarithmic_slope()
    return (
        "we compute the term of C_n with n as a symbol; the inequalities of Cauchy-Schwarz and Chebyshev give the "
        "sign for any law of mean 0 or more; for one law the series diverges at an outlier"
    )


@replay("fedloru-v1/Fj2")
def fj2_as_printed(values: Values) -> Violation:
    """Compare the coefficient n = 2 of the Cauchy product, a_1 b_2 + a_2 b_1, with the printed a_1 b_2 + a_2 b_2."""
    a1, a2, b1, b2 = fractions(values, "a1", "a2", "b1", "b2")
    coefficient, printed = a1 * b2 + a2 * b1, a1 * b2 + a2 * b2
    return Violation(
        abs(coefficient - printed),
        0,
        given={"coefficient": coefficient, "printed": printed},
        reads="for n = 2, we compute the distance of the coefficient of the product from its printed value",
    )


@replay("fedloru-v1/Fj2@index-and-sign-corrected", x="s_M/theta_j", ratio="theta_j/theta_1", shrink="s_N/s_M")
def fj2_as_meant(values: Values) -> Violation:
    """Evaluate F_{j,2} from its definition at theta_1 = 1, for the centred law with R(w) = w / (1 + w).

    It is Marchenko and Pastur's law of ratio 1, mirrored and shifted to mean 0, with the free cumulants 0, 1, -1, 1 and
    so on. R(w) + 1/w has no critical value, so every spike has an outlier.
    """
    x, tj, shrink = fractions(values, "x", "ratio", "shrink")
    sM, sN = x * tj, shrink * x * tj
    assumes = assuming(
        Hypothesis("theta_j", tj, ">", 0),
        Hypothesis("theta_j, against theta_1 = 1", tj, "<", 1),
        Hypothesis("s_N", sN, ">", 0),
        Hypothesis("s_N, against s_M", sN, "<", sM),
        Hypothesis("s_M / theta_j, for a series that converges", x, "<", 1),
    )

    def R(w: Fraction) -> Fraction:
        return w / (1 + w)

    return Violation(
        R(sN / tj) * R(sM) - R(sM / tj) * R(sN),
        0,
        strict=True,
        assumes=assumes,
        reads="with theta_1 = 1 and the centred law with R(w) = w / (1 + w), we compare F_j2 with 0, which "
        "should be greater",
    )


@proof("fedloru-v1/Fj2")
def fj2(pair_sign: int = 1) -> str:
    r"""T(n) in pairs for every n, and their signs.

    In the product of $\sum a_kt^{k-1}$ and $\sum b_kt^{k-1}$ the coefficient of $t^{n-1}$ takes $b_{n-k+1}$, since
    $(k - 1) + (n - k) = n - 1$. The places k and $n - k + 1$ carry the same $C_kC_{n-k+1}$, and the sum of their
    braces, with $d = n - 2k + 1 > 0$, is $(s_Ns_M)^{k-1}(s_M^d - s_N^d)\,(\theta_j\theta_1)^{1-k}(\theta_1^{-d} -
    \theta_j^{-d}) < 0$; the brace of a middle place ($d = 0$) vanishes. Hence $T(n) \le 0$ where no cumulant is
    negative, and $T(1) = 0$. The semicircle has the one cumulant $C_2$, so only $k = n - k + 1 = 2$ contributes,
    a middle place. Within the radius of convergence of R, for non-negative cumulants at every outlier (as for
    $F_{j,1}$), the series converge absolutely, and so does their Cauchy product. For
    $R(w) = w/(1 + w)$, with $ab = cd$ for the arguments of both products, $F_{j,2} = ab\,\frac{c + d - a - b}{(1 + a)(1
    + b)(1 + c)(1 + d)} > 0$, because $c = s_M/\theta_j$ is the largest of them.
    """

    def brace(at: Any, of: Any) -> Any:
        left = (S_N / theta_j) ** (at - 1) * (S_M / theta_1) ** (of - at)
        return left - (S_M / theta_j) ** (at - 1) * (S_N / theta_1) ** (of - at)

    length = 2 * k - 1 + d
    pair = brace(k, length) + pair_sign * brace(length - k + 1, length)
    printed = (S_N ** (k - 1) * S_M ** (length - k) - S_M ** (k - 1) * S_N ** (length - k)) * (
        theta_j ** (1 - k) * theta_1 ** (k - length) - theta_j ** (k - length) * theta_1 ** (1 - k)
    )
    signed = (S_N * S_M) ** (k - 1) * (S_M**d - S_N**d) * (theta_j * theta_1) ** (1 - k) * (theta_1**-d - theta_j**-d)
    require(zero((k - 1) + (n - k) - (n - 1)), "the Cauchy product")
    require(zero(pair - printed), "the pairs in factors")
    require(zero(printed - signed), "the sign of a pair")
    require(zero(brace(k, 2 * k - 1)), "the middle place")
    a, b, c, f = S_N / theta_j, S_M / theta_1, S_M / theta_j, S_N / theta_1
    centred = a / (1 + a) * b / (1 + b) - c / (1 + c) * f / (1 + f)
    stated = a * b * (c + f - a - b) / ((1 + a) * (1 + b) * (1 + c) * (1 + f))
    require(sympy.simplify(centred - stated) == 0, "the centred law with negative cumulants")
    return "we compare the pairs k and n - k + 1, with k and n as symbols"
