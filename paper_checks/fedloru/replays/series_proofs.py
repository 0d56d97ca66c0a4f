r"""Proofs about quotients, transforms and cumulant series: all dimensions, orders and laws in their scope.

Exponents and indices are symbols here, so that one identity stands for all orders.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import sympy

from paper_checks.proof_steps import non_negative, rational
from paper_checks.replay import proof, require

n, k, d = sympy.symbols("n k d", integer=True, positive=True)
theta_1, theta_j, S_M, S_N = sympy.symbols("theta_1 theta_j s_M s_N", positive=True)


def zero(expression: Any) -> bool:
    """Whether an expression with symbolic exponents is identically 0."""
    return bool(sympy.simplify(sympy.powsimp(sympy.expand(sympy.expand_power_exp(expression)))) == 0)


@proof("fedloru-v2/eq-55")
def eq_55(power: int = 2, factor: Fraction = Fraction(1)) -> str:
    r"""Given (54): for every r, with $A = \sum_{i \le r}\alpha_i^2$ and $P = \sum_{i \le r}\alpha_i^2\phi_i^2$.

    $\frac PA - \frac{P + ap}{A + a} = \frac{a(P - Ap)}{A(A + a)}$ for $a = \alpha_{r+1}^2$, $p = \phi_{r+1}^2$, and
    $P - Ap = \sum_{i \le r}\alpha_i^2(\phi_i^2 - \phi_{r+1}^2)$: a sum of terms that are not negative, since $\phi_i$
    falls with $|\theta_i|$. For $\alpha_i \ne 0$ the sum is 0 if and only if every term is, the first one included,
    whose $\phi_1$ is the largest: if and only if $|\theta_1| = \cdots = |\theta_{r+1}|$, and no more than two
    distinct $\theta_i$ share a magnitude. At $\theta_1 = -\theta_2$ the proof of Theorem 3.3 gives the limits of
    $E[C_{N,1}]$ and $E[C_{N,2}]$, for either way to label the eigenvectors. Where clients order their own eigenvalues
    and $\theta_1$'s is first with probability p, two independent ones keep the same eigenvector with probability
    $p^2 + (1 - p)^2$, so that $E[C_{N,1} - C_{N,2}] \to (p^2 + (1 - p)^2 - 1)\phi_1^2 = -2p(1 - p)\phi_1^2$.
    """
    P, A, a, p = sympy.symbols("P A a p", positive=True)
    alpha = sympy.Symbol("alpha", positive=True)
    last = (alpha**power).subs(alpha, sympy.sqrt(a))
    drop = factor * last * (P - A * p) / (A * (A + a))
    weights, gaps = sympy.symbols("a1:4", positive=True), sympy.symbols("d1:4", positive=True)
    spread = sum(w * (p + gap) for w, gap in zip(weights, gaps, strict=True)) - p * sum(weights)
    theta, noise, more = sympy.symbols("theta n more", positive=True)
    falls = sympy.numer(sympy.together((noise / theta) ** 2 - (noise / (theta + more)) ** 2))
    first = sympy.Symbol("p_1", positive=True)  # probability that a client has the eigenvalue of theta_1 first
    kept, half = first**2 + (1 - first) ** 2 - 1, sympy.Rational(1, 2)
    require(sympy.expand(kept + 2 * first * (1 - first)) == 0, "clients that order their own eigenvalues")
    require(kept.subs(first, half) == -half, "either eigenvalue first equally often")
    require(sympy.simplify(P / A - (P + a * p) / (A + a) - drop) == 0, "the difference of the quotients")
    require(sympy.expand(spread - sum(w * g for w, g in zip(weights, gaps, strict=True))) == 0, "the sum of terms")
    require(non_negative(falls), "the overlap grows with the spike")
    return "the quotients with their sums as symbols, which stand for every r"


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


def uniform() -> None:
    r"""$wh'$ increases for the uniform law, $h(w) = w\coth w - 1$; its fourth cumulant is negative."""
    w, more = sympy.symbols("w more", positive=True)
    h = w * sympy.cosh(w) / sympy.sinh(w) - 1
    stated = sympy.cosh(w) * sympy.sinh(w) ** 2 - 3 * w * sympy.sinh(w) + 2 * w**2 * sympy.cosh(w)
    slope = sympy.diff(w * sympy.diff(h, w), w) * sympy.sinh(w) ** 3
    first = [(sympy.Integer(9) ** order - 1) / 4 + 8 * order**2 - 10 * order for order in range(6)]
    series = sum(c * w ** (2 * order) / sympy.factorial(2 * order) for order, c in enumerate(first))
    split = (sympy.cosh(3 * w) - sympy.cosh(w)) / 4 - 3 * w * sympy.sinh(w) + 2 * w**2 * sympy.cosh(w)
    require(sympy.simplify((slope - stated).rewrite(sympy.exp)) == 0, "the slope of w h'")
    require(sympy.simplify((split - stated).rewrite(sympy.exp)) == 0, "products of hyperbolic functions")
    require(sympy.expand(sympy.series(stated, w, 0, 12).removeO() - series) == 0, "its coefficients")
    require(
        first[0] == first[1] == 0 and non_negative(sympy.expand((8 * n**2 - 10 * n).subs(n, 2 + more))), "their sign"
    )
    require(sympy.series(h / w, w, 0, 5).removeO().coeff(w, 3) < 0, "a negative fourth cumulant")


@proof("fedloru-v1/Fj1")
def fj1(shift: int = 0) -> str:
    r"""The term of $C_n$ for every n, and its sign.

    $s_NR(s_N/\theta_j) = \sum_nC_ns_N^n\theta_j^{1-n}$ and its likes give the series, and
    $\theta_1\theta_j^{1-n} - \theta_j\theta_1^{1-n} = (\theta_1^n - \theta_j^n)/(\theta_1\theta_j)^{n-1} > 0$ for $n
    \ge 1$, while $s_N^n < s_M^n$. So a term has the sign of $-C_n$, and the sum is negative where no $C_n$ is and one
    is positive. Where no $C_n$ is negative it converges above the thresholds: R is the inverse of the Stieltjes
    transform less 1/w, analytic for w between 0 and $g(U^+)$, and the radius of convergence of a series without
    negative coefficients ends at a singularity on the positive axis (Pringsheim).

    Elsewhere it may diverge at an outlier: Kesten and McKay's law of degree 3 has $R(w) = 3(\sqrt{1+4w^2} - 1)/(2w)$
    and $g(U^+) = \sqrt2$, where $R(w) + 1/w$ has its first critical value, and its cumulants, Catalan numbers times
    $\pm3$, do not tend to 0, so that the series diverges at $w = 1$.

    Any law: $F_{j,1}$ is $\theta_1\theta_j$ times the increment of $h(w) = wR(w)$ over $[s_N, s_M]/\theta_1$ less that
    over $[s_N, s_M]/\theta_j$, which have one length on a logarithmic scale; it is negative if $wh'(w)$ increases. The
    uniform law on $[-1, 1]$ has $R(w) = \coth w - 1/w$, $C_4 < 0$, and $(wh')'\sinh^3w = \cosh w\sinh^2w - 3w\sinh w +
    2w^2\cosh w$, whose coefficient of $w^{2k}/(2k)!$ is $(9^k - 1)/4 + 8k^2 - 10k$: 0 for $k \le 1$, positive from
    $k = 2$ on. With a negative mean: the semicircle of mean -1/2 in fractions.
    """
    power = n - 1 + shift

    def part(theta: Any, s: Any) -> Any:
        return s * (s / theta) ** (n - 1)

    defined = theta_1 * (part(theta_j, S_N) - part(theta_j, S_M)) + theta_j * (part(theta_1, S_M) - part(theta_1, S_N))
    printed = (S_N**n - S_M**n) * (theta_1 * theta_j**-power - theta_j * theta_1**-power)
    signed = (theta_1**n - theta_j**n) / (theta_1 * theta_j) ** (n - 1)
    M, N, one, j = Fraction(1, 10), Fraction(1, 20), Fraction(1), Fraction(1, 2)

    def of_mean(w: Fraction) -> Fraction:
        return w - Fraction(1, 2)

    example = one * (N * of_mean(N / j) - M * of_mean(M / j)) + j * (M * of_mean(M / one) - N * of_mean(N / one))
    require(zero(defined - printed), "the term of C_n")
    require(zero(theta_1 * theta_j**-power - theta_j * theta_1**-power - signed), "the sign of the term")
    require(example > 0, "a positive sum for a negative mean")
    kesten_mckay()
    uniform()
    return (
        "the term of C_n with n as a symbol; one law of negative mean in fractions; a law whose series diverges at an "
        "outlier; the uniform law"
    )


@proof("fedloru-v1/Fj2")
def fj2(pair_sign: int = 1) -> str:
    r"""T(n) in pairs for every n, and their signs.

    In the product of $\sum a_kt^{k-1}$ and $\sum b_kt^{k-1}$ the coefficient of $t^{n-1}$ takes $b_{n-k+1}$, since
    $(k - 1) + (n - k) = n - 1$. The places k and $n - k + 1$ carry the same $C_kC_{n-k+1}$, and the sum of their
    braces, with $d = n - 2k + 1 > 0$, is $(s_Ns_M)^{k-1}(s_M^d - s_N^d)\,(\theta_j\theta_1)^{1-k}(\theta_1^{-d} -
    \theta_j^{-d}) < 0$; the brace of a middle place ($d = 0$) vanishes. Hence $T(n) \le 0$ where no cumulant is
    negative, and $T(1) = 0$. The semicircle has the one cumulant $C_2$, so that only $k = n - k + 1 = 2$ contributes,
    a middle place. Within the radius of convergence of R, for non-negative cumulants at every outlier (as for
    $F_{j,1}$), the series converge absolutely, and so does their Cauchy product. The semicircle of mean $-m$ has
    $T(2) = C_1C_2$ times a negative number, which is positive.
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
    return "the pairs k and n - k + 1 with k and n as symbols"


def scaling(outer: int, inner: int, power_shift: int) -> None:
    r"""$g_{\mu_N}(z) = g_\mu(z/s)/s$, so that $R_{\mu_N}(w) = sR_\mu(sw)$ and $C_n^{(\mu_N)} = s^nC_n^{(\mu)}$.

    $w = g_{\mu_N}(z)$ gives $R_{\mu_N}(w) = z - 1/w = s(R_\mu(sw) + 1/(sw)) - 1/w = sR_\mu(sw)$; then by coefficients.
    """
    s, w, R = sympy.symbols("s w R", positive=True)
    scaled = s * (R + 1 / (s * w)) - 1 / w
    require(sympy.expand(scaled - s**outer * R) == 0, "the R-transform of scaled noise")
    require(zero(s**outer * (s**inner * w) ** (n - 1) - s ** (n + power_shift) * w ** (n - 1)), "its cumulants")


@proof("fedloru-v2/eq-33")
def eq_33(offset: int = 0, least: int = 0, first_block: int = 1) -> str:
    r"""For every n: at $g = g_\mu(1/z) = zM(z)$, $M = \sum_{i \ge 0}m_iz^i$, the definition of R is $R(g) + 1/g = 1/z$.

    So $M = 1 + gR(g) = 1 + \sum_{r \ge 1}C_rz^rM^r$, and the coefficient of $z^n$ in $z^rM^r$ is the sum of
    $m_{i_1}\cdots m_{i_r}$ over all $i_j \ge 0$ with $i_1 + \cdots + i_r = n - r$. Moments of every law fix the
    $C_n$ in this way, as formal series; for a law of compact support they converge for small z.
    """
    z, M, order = sympy.Symbol("z"), sympy.Symbol("M"), 4
    C, moments = sympy.symbols(f"C1:{order + 1}"), [sympy.Integer(1)]
    for size in range(1, order + 1):
        blocks = (
            (r, places)
            for r in range(first_block, size + 1)
            for places in product(range(least, size), repeat=r)
            if sum(places) == size - r + offset
        )
        moments.append(
            sum((C[r - 1] * sympy.prod(moments[i] for i in places) for r, places in blocks), sympy.Integer(0))
        )
    series = sum(m * z**power for power, m in enumerate(moments))
    composed = 1 + sum(c * (z * series) ** r for r, c in enumerate(C, start=1))
    apart = sympy.Poly(sympy.expand(series - composed), z)
    require(sympy.expand(z * M * (1 / z - 1 / (z * M)) - (M - 1)) == 0, "M = 1 + g R(g)")
    require(all(apart.coeff_monomial(z**power) == 0 for power in range(order + 1)), "the recursion to fourth order")
    return "the coefficients of M = 1 + g R(g), for every n"


@proof("fedloru-v2/eq-34")
def eq_34(power_shift: int = 0, outer: int = 1, inner: int = 1) -> str:
    """The definition of R at scaled points, for every law of compact support and every n."""
    scaling(outer, inner, power_shift)
    return "the definition of R at scaled points; the power of s as a symbol"


@proof("fedloru-v2/eq-35")
def eq_35(s_power: int = 2, sign: int = 1, third: int = 0) -> str:
    r"""(34) at $x = 1/\theta$, and R of the semicircle.

    $\sigma^2g^2 - zg + 1 = 0$ is $z = \sigma^2g + 1/g$, so that $R(w) = z - 1/w$ at $w = g$ is $\sigma^2w$.
    """
    sigma, s, theta, g, z = sympy.symbols("sigma s theta g z", positive=True)
    of_semicircle = sympy.solve(sigma**2 * g**2 - z * g + 1, z)[0] - 1 / g
    outlier = s * of_semicircle.subs(g, s / theta) + theta
    stated = theta + sign * sigma**2 * s**s_power / theta
    scaling(1, 1, 0)
    require(sympy.expand(of_semicircle - sigma**2 * g) == 0, "R of the semicircle")
    require(sympy.expand(outlier + third / theta**2 - stated) == 0, "the outlier")
    return "the R-transform of the semicircle from the equation of its Stieltjes transform"


@proof("fedloru-v1/eq-29-32@the-outliers")
def v1_eq_29_32(
    beyond: Fraction = Fraction(1),
    coefficient: Fraction = Fraction(1),
    outer: int = 1,
    inner: int = 1,
    power_shift: int = 0,
) -> str:
    r"""For every law of compact support, by the definition of R: $R_\mu(g_\mu(z)) + 1/g_\mu(z) = z$.

    Moments. $zg = 1 + gR(g) = 1 + \sum_rC_rg^r$ with $g = \sum_nm_nz^{-n-1}$; the coefficient of $z^{-n}$ is the
    recursion, since $g^r$ contributes $m_{i_1}\cdots m_{i_r}$ for $r + i_1 + \cdots + i_r = n$.

    Inverse. Beyond the upper end of the support $k = 1/g$ grows continuously from $1/g(U^+)$ to infinity, since g falls
    to 0. For $\theta > 1/g(U^+)$ there is one z with $k(z) = \theta$, and $z = R(1/\theta) + \theta$ by the definition
    of R; mirrored below. All values of k off the support are then beyond these two thresholds, so that no $\theta$
    between them is one. For the semicircle the threshold is $\sigma s$: $\theta - \sigma^2s^2/\theta$ is the positive
    root of $z^2 - 4\sigma^2s^2$ if and only if $\theta > \sigma s$.
    """
    s, w, R, theta = sympy.symbols("s w R theta", positive=True)
    scaled = s * (R + 1 / (s * w)) - 1 / w
    inverse = coefficient * s**outer * R + theta
    noise, more = sympy.symbols("n a", positive=True)
    at = beyond * noise + more
    scaling(outer, inner, power_shift)
    require(sympy.expand((scaled + 1 / w).subs(w, 1 / theta) - inverse) == 0, "z by the definition of R")
    require(non_negative(sympy.numer(sympy.together(at - noise**2 / at))), "the root beyond the threshold")
    return "the definition of R for every law; orders as symbols; the threshold of the semicircle"


def products_of_kernels() -> bool:
    r"""The functions $1/(z - x)$, $z \notin \mathbb{R}$, span an algebra that is dense in those vanishing at infinity.

    Products are in the span by partial fractions (with a limit for equal z), conjugates too; the functions separate
    points and have no common zero, so that the theorem of Stone and Weierstrass applies.
    """
    z, w, x = sympy.symbols("z w x")
    split = (1 / (z - x) - 1 / (w - x)) / (w - z)
    return bool(sympy.cancel(split - 1 / ((z - x) * (w - x))) == 0)


def limit_of_atoms(stays: Fraction) -> tuple[Fraction, Fraction]:
    """Mass of the limit, and limit of the integral of 1, for an atom that stays at 0 and the rest moving to infinity.

    The transform tends to stays/z, which is that of the mass at 0; a moving atom at n contributes 1/(z - n) to it.
    """
    z, at = sympy.symbols("z n")
    limit = sympy.limit(rational(stays) / z + rational(1 - stays) / (z - at), at, sympy.oo)
    return Fraction(str(sympy.cancel(limit * z))), Fraction(1)


@proof("fedloru-v2/lem-A.1b@vaguely")
def vaguely(sign: int = 1) -> str:
    r"""Integrals against $\mu_n$ converge on a dense span, hence on all continuous functions that vanish at infinity.

    They are functionals of norm at most 1, so that a limit on a dense set is one everywhere. It is positive, and by
    the theorem of Riesz an integral against a unique measure $\mu \ge 0$ with $\mu(\mathbb{R}) \le 1$, for which
    $g_\mu = g$. Another measure with the same transform has the same integrals on the span, and is $\mu$.
    """
    mass, _ = limit_of_atoms(Fraction(1, 2))
    require(products_of_kernels(), "products of the functions")
    require(sign * mass > 0 and abs(sign) == 1, "a positive functional of norm 1")
    return "the theorems of Stone and Weierstrass and of Riesz; products by partial fractions"


@proof("fedloru-v2/lem-A.1b")
def lem_A_1b(least_mass: Fraction = Fraction(1)) -> str:
    r"""Vague convergence as in the reading that holds; weak convergence if and only if $\mu(\mathbb{R}) = 1$.

    The integrals of a continuous function $0 \le \chi \le 1$ of bounded support converge. If $\mu(\mathbb{R}) = 1$
    there is one with $\int\chi\,d\mu > 1 - \epsilon$, so that $\mu_n$ has at most $\epsilon$ outside of its support
    for large n: no mass escapes, and bounded continuous functions may be cut off. Conversely the integral of 1 is 1 for
    all n and has to be $\mu(\mathbb{R})$. A limit of any smaller mass m occurs without weak convergence, for an atom of
    mass m that stays and one that moves away.
    """
    mass, integral = limit_of_atoms(min(least_mass, Fraction(1)))
    kept, whole = limit_of_atoms(Fraction(1))
    require(products_of_kernels(), "products of the functions")
    require(mass == integral, "a limit of the least mass is one of weak convergence")
    require(kept == whole and least_mass <= kept, "a weak limit has that mass")
    return "vague convergence on a dense span; atoms that stay and move away, in fractions"
