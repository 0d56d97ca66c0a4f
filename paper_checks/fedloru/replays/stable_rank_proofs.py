r"""Proofs about the stable rank as R grows, Gaussian noise; $n = \sigma s_N$ and $m = \sigma s_M > n$.

$\|H_N\|_F^2 = \|\epsilon_N\|_F^2 + O(\|\epsilon_N\|) + O(1)$ with $\|\epsilon_N\|_F^2/R \to n^2$, by the law of large
numbers for entries of variance $n^2/R$. $\|H_N\| \to \lambda_N$ by Proposition 3.1 as corrected: the outlier of
$\theta_0$ in modulus, $|\theta_0| + n^2/|\theta_0|$, if $|\theta_0| > n$, else the edge $2n$. So
$\mathrm{srank}(H_N)/R \to n^2/\lambda_N^2$. For Wigner matrices with a fixed law of finite fourth moment both limits
hold in probability, the first by the law of large numbers again, the second by prop-3.1-dist.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.limit_proofs import more, n, other, outliers, semicircle, theta
from paper_checks.proof_steps import non_negative, positive
from paper_checks.replay import proof, require

m = sympy.Symbol("m", positive=True)


def bulk_square(bulk: Fraction) -> None:
    r"""$R^2$ entries of variance $n^2/R$: the mean square of an eigenvalue of the noise is $n^2$."""
    R = sympy.Symbol("R", positive=True)
    stated = bulk * n**2
    require(sympy.simplify(R**2 * (n**2 / R) / R - stated) == 0, "the mean square of the bulk")


def norm() -> None:
    r"""The limit of the norm: an outlier beyond the threshold, else the edge, which is the smaller of the two."""
    outlier = theta + n**2 / theta
    outliers(outlier, 1)
    semicircle(2)
    require(positive((outlier - 2 * n).subs(theta, n + more)), "an outlier lies beyond the edge")


def grows_with_noise() -> None:
    r"""$n/\lambda_N$ grows with n up to 1/2, which it is from $n = |\theta_0|$ on.

    $n/\lambda = n\theta/(\theta^2 + n^2)$ has a derivative of the sign of $\theta^2 - n^2$.
    """
    ratio = n / (theta + n**2 / theta)
    require(positive(sympy.factor(sympy.diff(ratio, n)).subs(theta, n + more)), "n over the outlier grows with n")
    require(sympy.simplify(ratio.subs(theta, n)) == sympy.Rational(1, 2), "1/2 at the threshold")
    require(positive((sympy.Rational(1, 2) - ratio).subs(theta, n + more)), "less than 1/2 beyond it")


@proof("fedloru-v2/eq-36")
def eq_36(bulk: Fraction = Fraction(1)) -> str:
    r"""The numerator is $\sum\theta_j^2 + n^2R(1 + o(1))$; by eq. (29) every fixed index past the outliers is counted.

    None of the eigenvalues inside the bulk tends to an edge, and their mean square is the semicircle's, $n^2$, not
    $U_N^2 = 4n^2$.
    """
    bulk_square(bulk)
    semicircle(2)
    return "the mean square of the entries"


@proof("fedloru-v2/eq-36-conv")
def eq_36_conv(bulk: Fraction = Fraction(1)) -> str:
    r"""The quotient of both limits, and 1/4 where the edge is the norm."""
    at_edge = bulk * n**2 / (2 * n) ** 2
    bulk_square(bulk)
    norm()
    require(at_edge == Fraction(1, 4), "1/4 at the edge")
    return "the mean square of the entries, and the norm by Proposition 3.1"


@proof("fedloru-v2/eq-37")
def eq_37(bulk: Fraction = Fraction(1)) -> str:
    r"""The difference of two limits, which is not 0 since $n/\lambda_N < m/\lambda_M$."""
    bulk_square(bulk)
    norm()
    grows_with_noise()
    return "the mean square of the entries, the norm by Proposition 3.1, and the order of the two limits"


@proof("fedloru-v2/thm-3.2")
def thm_3_2(bulk: Fraction = Fraction(1)) -> str:
    r"""The difference over R tends to $m^2/\lambda_M^2 - n^2/\lambda_N^2 > 0$ for $|\theta_0| > n$.

    $n/\lambda_N < m/\lambda_M$, where for $m \ge |\theta_0|$ the right side is 1/2. The printed bound over R keeps the
    edges, $B_N/R \to 1$: by eq. (43) it is four times that limit for $|\theta_0| \ge m$. With a fixed $B_N$ the bound
    stays finite, and the difference grows.
    """
    g_M, g_N = theta + m**2 / theta, theta + n**2 / theta
    limit = bulk * (m**2 / g_M**2 - n**2 / g_N**2)
    printed = 4 * (m**2 - n**2) * (theta**2 - m**2 * n**2 / theta**2) / (g_M * g_N) ** 2
    bulk_square(bulk)
    norm()
    grows_with_noise()
    require(sympy.simplify(printed - 4 * limit) == 0, "the printed bound is four times the limit")
    require(positive(sympy.factor(limit).subs({theta: n + more + other, m: n + more})), "the limit is positive")
    return "the mean square of the entries, the norm by Proposition 3.1, and the order of the two limits"


@proof("fedloru-v2/thm-3.2@estimates-sets-by-condition")
def between_the_estimates(first: Fraction = Fraction(8), second: Fraction = Fraction(4)) -> str:
    r"""Index by index: a spike of the sets adds at least its term of the bound, every other index at least an edge's.

    All signs drop out, since $g(\theta) = \theta + n^2/\theta$ is odd; let the spikes be positive. By the condition a
    spike is in the sets unless it is at its own threshold, where its limit is the edge, $g(n) = 2n$: at M and at N the
    term of every spike is the square of $g(\theta_j)/g(\theta_0)$. For a spike of $\mathcal{P}_N \cup \mathcal{Q}_N$
    the difference of these is $F_j$, by eq. (39) $(g_M(\theta_j)g_N(\theta_0) + g_N(\theta_j)g_M(\theta_0))(m^2 -
    n^2)(\theta_0/\theta_j - \theta_j/\theta_0)$ over $g_M(\theta_0)^2g_N(\theta_0)^2$, and $g_M \ge 2m$ and $g_N \ge
    2n$ at every spike bound the first bracket by 8mn. A spike at $\sigma s_N$ is counted in $B_N$; its term is the
    edge's at N, and at M no less than the edge's, as $g_M \ge 2m$. With the other indices at the edges all $B_N$ add at
    least the difference of eq. (43), which is positive for $\theta_0 \ge m > n$. So the bound holds, and with $B_N \ge
    1$ the difference is positive.
    """
    spike, x, y, u, v = sympy.symbols("theta_j x y u v", positive=True)
    g_M, g_N = theta + m**2 / theta, theta + n**2 / theta
    g_Mj, g_Nj = spike + m**2 / spike, spike + n**2 / spike
    norms, gap, spread = (g_M * g_N) ** 2, m**2 - n**2, theta / spike - spike / theta
    difference = (g_Mj / g_M) ** 2 - (g_Nj / g_N) ** 2
    edges = (2 * m / g_M) ** 2 - (2 * n / g_N) ** 2
    bracket = (2 * m + x) * (2 * n + y) + (2 * n + u) * (2 * m + v) - first * m * n
    stated = second * gap * (theta**2 - m**2 * n**2 / theta**2) / norms
    require(sympy.simplify(g_Mj - 2 * m - (spike - m) ** 2 / spike) == 0, "a spike's limit exceeds the edge")
    require(
        sympy.simplify(difference - (g_Mj * g_N + g_Nj * g_M) * gap * spread / norms) == 0,
        "the term of a spike, eq. (39)",
    )
    require(non_negative(bracket), "the bracket, at limits of 2m and 2n or more")
    require(positive((theta - spike).subs(theta, spike + more)), "the spread of the spikes")
    require(sympy.simplify(edges - stated) == 0, "the difference of the edges, eq. (43)")
    require(positive(sympy.factor(edges).subs({theta: n + more + other, m: n + more})), "the edges are positive")
    return "every spike of the sets by eq. (39) and the arithmetic mean, every other index by eq. (43)"


@proof("fedloru-v2/claim-ill@small-against-the-noise")
def claim_ill(share: Fraction = Fraction(3, 20), product: Fraction = Fraction(1)) -> str:
    r"""Stable ranks, with independent noise at M and at N: limiting probability 1/2 below both thresholds, 0 above n.

    Above n the difference over R has a positive limit (Theorem 3.2 as corrected), whether the noise at M and at N is
    independent or, as printed, one X. Below both thresholds each stable rank is $\frac R4(1 - \xi R^{-2/3} +
    o(R^{-2/3}))$ with independent $\xi$ of one law: $\|\epsilon\|_F^2/(Rn^2)$ is 1 up to the order of 1/R, and for
    spikes below the threshold the extreme eigenvalues of H are those of the noise up to $o(R^{-2/3})$ (Benaych-Georges,
    Guionnet and Maida), $n(2 + R^{-2/3}\xi)$ with $\xi$ the larger of two independent variables of Tracy and Widom's
    law, which is continuous. By symmetry the client has the larger $\xi$ with probability 1/2.

    Expressions (36): the term of a spike is the square of $(\theta_j + n^2/\theta_j)/(\theta_0 + n^2/\theta_0)$, a
    multiple of $(\theta_j^2 + n^2)/(\theta_0^2 + n^2)$, which does not fall as n grows to m, since $|\theta_j| \le
    |\theta_0|$; it is 1 for $\theta_0$ itself. The term of an edge is the square of $2n\theta_0/(\theta_0^2 + n^2)$,
    and $m(\theta_0^2 + n^2) - n(\theta_0^2 + m^2) = (m - n)(\theta_0^2 - mn)$: it falls if and only if $\theta_0^2 <
    mn$. So a negative difference needs $\theta_0^2 < mn$, and one spike has it there.
    """
    xi, small = sympy.symbols("xi delta", positive=True)
    rank = 1 / (2 + small * xi) ** 2  # srank / R, small = R^(-2/3)
    slope = sympy.diff(rank, small).subs(small, 0)
    lesser = sympy.Symbol("theta_j", positive=True)
    grows = sympy.numer(sympy.together(sympy.diff((lesser**2 + n) / (theta**2 + n), n))).subs(theta, lesser + more)
    edge = m * (theta**2 + n**2) - n * (theta**2 + m**2) - (m - n) * (theta**2 - product * m * n)
    grows_with_noise()
    require(sympy.simplify(slope + xi / 4) == 0, "the stable rank falls with the norm, alike at both sample sizes")
    require(0 < share < Fraction(1, 2), "a share between 0 and the limit 1/2")
    require(positive(grows), "the term of a spike grows with the noise")
    require(sympy.expand(edge) == 0, "where the term of an edge falls")
    return (
        "the order of two limits above the threshold; two independent variables of one continuous law below it; the "
        "terms of (36) as functions of the noise"
    )
