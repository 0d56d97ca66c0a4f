"""Theorem 3.2: the stable ranks of a client's Hessian and of the global one, and how their difference grows.

Setting: `shared.stable_rank_limits`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.fedloru.replays.shared.index_sets import REST, by_limit, read, shares
from paper_checks.fedloru.replays.shared.limits import more, n, other, theta
from paper_checks.fedloru.replays.shared.sample_sizes import NOISES, gap_and_printed, sample_sizes
from paper_checks.fedloru.replays.shared.stable_rank_limits import bulk_square, grows_with_noise, norm
from paper_checks.fedloru.replays.thm_3_2_monotone import two_sizes
from paper_checks.proof_steps import non_negative, positive
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values, expression, fractions


@replay("fedloru-v2/thm-3.2@estimates-sets-by-limit")
def thm_3_2_by_limit(values: Values) -> Violation:
    """Compare right side of eq. (4) with the difference of the expressions (36), with the sets by limits."""
    spikes, n_M, n_N, assumes = read(values)
    assumes.append(Hypothesis("rest: eigenvalues of the true Hessian that are 0", int(values["rest"]), ">=", 1))
    (g_M, U_M), (g_N, U_N), total = shares(spikes, n_M), shares(spikes, n_N), len(spikes) + int(values["rest"])
    at_M, at_N = by_limit(spikes, n_M), by_limit(spikes, n_N)
    stable_rank_M = sum((g_M[j] for j in at_M), (total - len(at_M)) * U_M)
    stable_rank_N = sum((g_N[j] for j in at_N), (total - len(at_N)) * U_N)
    theta = max(spikes, key=abs)
    norms = ((theta + n_M**2 / theta) * (theta + n_N**2 / theta)) ** 2
    bracket = sum((8 * n_M * n_N * abs(theta / spikes[j] - spikes[j] / theta) for j in at_N), Fraction(0))
    bracket += 4 * (total - len(at_N)) * (theta**2 - (n_M * n_N / theta) ** 2)
    return Violation(
        (n_M**2 - n_N**2) / norms * bracket,
        stable_rank_M - stable_rank_N,
        assumes=assumes,
        reads=f"{REST}. We compare the right side of eq. (4) with the difference of the expressions (36)",
    )


@replay("fedloru-v2/thm-3.2", **NOISES)
def thm_3_2_as_printed(values: Values) -> Violation:
    """The printed lower bound over R (the sum over spikes is of order 1/R) against the gap of the stable ranks over R.

    By eq. (43) that bound tends to the gap of the printed stable ranks.
    """
    gap, bound = gap_and_printed(values)
    return Violation(
        bound,
        gap,
        assumes=sample_sizes(values),
        reads="we compare the limit of the printed lower bound over R with the largest possible limit of the gap "
        "over R",
    )


m = sympy.Symbol("m", positive=True)


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
    return "we use the mean square of the entries, the norm in Proposition 3.1 and the order of the two limits"


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
    return (
        "eq. (39) and the arithmetic mean bound the term of every spike in the sets, and eq. (43) the term of every "
        "other index"
    )


@replay("fedloru-v2/thm-3.2-mono", s_larger="s at the larger sample size")
def infinite_bounds(values: Values) -> Violation:
    r"""Evaluate the reciprocal of the right side of (4) at both sample sizes, with $1/B_N = 0$ by eq. (29).

    The right side is at least $B_N$ times what one index adds, $4(m^2 - n^2)(\theta_0^2 - m^2n^2/\theta_0^2)$ over a
    square with $m = \sigma s_M$, $n = \sigma s_N$: positive at either size, so both right sides are infinite.
    """
    theta_0, sigma, s_M, s_larger, s_N = fractions(values, "theta_0", "sigma", "s_M", "s_larger", "s_N")
    assumes = assuming(*two_sizes(sigma, theta_0, s_M, s_larger, s_N))
    return Violation(
        Fraction(0),
        Fraction(0),
        assumes=assumes,
        strict=True,
        reads="if B_N is infinite, we compare 1/(right side of (4)) at M with its value at a larger "
        "sample size, which should be greater",
    )


@proof("fedloru-v2/thm-3.2-mono@a-finite-count")
def thm_3_2_mono(certificate: Values) -> str:
    r"""The right side of eq. (4) grows with $m = \sigma s_M$, which falls as M grows; $n = \sigma s_N$ stays.

    The count $B_N$ is finite, at least 1, and the count of the server, the same for every M. Let $t = |\theta_0| \ge m
    > n$, $g_M = (t^2 + m^2)/t$, and W the sum of the weights $w_j = |\theta_0/\theta_j - \theta_j/\theta_0|$. By eq.
    (43) the right side is $8nWh/g_N^2$ with $h = m(m^2 - n^2)/g_M^2$, plus $4B_N$ times $m^2/g_M^2 - n^2/g_N^2$. The
    derivative of $m/g_M$ by m has the sign of $t^2 - m^2 \ge 0$, and the derivative of h has the sign of $3m^2t^2 - m^4
    - n^2t^2 + 3m^2n^2 = m^2(t^2 - m^2) + t^2(m^2 - n^2) + m^2t^2 + 3m^2n^2 > 0$.

    The certificate holds the derivative, times $g_M^3g_N^2 > 0$ of t, as a sum of products of positive quantities for
    $m = n + a$ and $t = m + b$, $n, a, b > 0$, two weights and B indices at the edge.
    """
    n, a, b, w1, w2, B = sympy.symbols("n a b w1 w2 B", positive=True)
    m, t = sympy.symbols("m t", positive=True)
    names = {"n": n, "a": a, "b": b, "w1": w1, "w2": w2, "B": B, "m": n + a, "t": n + a + b}
    terms = [expression(term, names) for term in certificate["terms"]]
    g_M, g_N = t + m**2 / t, t + n**2 / t
    bracket = 8 * m * n * (w1 + w2) + 4 * B * (t**2 - m**2 * n**2 / t**2)
    right_side = (m**2 - n**2) / (g_M**2 * g_N**2) * bracket
    scaled = sympy.cancel(sympy.diff(right_side, m) * g_M**3 * g_N**2)
    difference = sympy.together(scaled.subs({m: names["m"], t: names["t"]}, simultaneous=True) - sum(terms))
    require(all(term.is_positive and term.free_symbols <= {n, a, b, w1, w2, B} for term in terms), "positive terms")
    require(sympy.expand(sympy.fraction(difference)[0]) == 0, "the sum of the terms")
    return (
        f"{len(terms)} positive terms add up to the scaled derivative; m = sigma s_M = n + a, n = sigma s_N, t = "
        "|theta_0| = m + b, w_j = |theta_0/theta_j - theta_j/theta_0|, B = B_N"
    )


def negative_gap(values: Values, relative: bool) -> Violation:
    """Return the spike, or its quotient by the noise at M, where the expressions (36) have a negative difference."""
    theta, sigma, s_M, s_N, most = fractions(values, "theta_0", "sigma", "s_M", "s_N", "most")
    rest = int(values["rest"])
    assumes = assuming(
        Hypothesis("|theta_0|", abs(theta), ">", 0),
        Hypothesis("sigma", sigma, ">", 0),
        Hypothesis("s_N", s_N, ">", 0),
        Hypothesis("s_N, against s_M", s_N, "<", s_M),
        Hypothesis("s_M", s_M, "<", 1),
        Hypothesis("eigenvalues at the edges", rest, ">=", 1),
        Hypothesis("fixed number", most, ">", 0),
    )
    at_M, at_N = (2 * noise / (theta + noise**2 / theta) for noise in (sigma * s_M, sigma * s_N))
    assumes += (
        Hypothesis("theta_0^2, against sigma^2 s_M^2", theta**2, "<=", (sigma * s_M) ** 2),
        Hypothesis("difference of the expressions (36)", rest * (at_M**2 - at_N**2), "<", 0),
    )
    return Violation(
        abs(theta) / (sigma * s_M if relative else 1),
        most,
        assumes=assumes,
        reads="there is one spike, the number rest counts the eigenvalues at the edges, and the difference of the "
        f"expressions (36) is negative. We compare |theta_0|{'/(sigma s_M)' if relative else ''} with the number "
        "most, which is fixed in advance",
    )


@replay("fedloru-v2/claim-ill")
def claim_ill_as_printed(values: Values) -> Violation:
    r"""Evaluate the spike, where the expressions (36) at M and at N have a negative difference, against a fixed number.

    One spike, whose own term is $g^{-1}(\theta_0)^2/g^{-1}(\theta_0)^2 = 1$ at both, and as many edges at both.
    """
    return negative_gap(values, relative=False)


@replay("fedloru-v2/claim-ill@extremely-small-against-the-noise")
def extremely_small(values: Values) -> Violation:
    """Evaluate the same, the spike in units of the noise at M."""
    return negative_gap(values, relative=True)


@proof("fedloru-v2/claim-ill@small-against-the-noise")
def claim_ill(share: Fraction = Fraction(3, 20), product: Fraction = Fraction(1)) -> str:
    r"""Stable ranks, with independent noise at M and at N: limiting probability 1/2 below both thresholds, 0 above n.

    Above n the difference over R has a positive limit (Theorem 3.2 as corrected), whether the noise at M and at N is
    independent or, as printed, one X. Below both thresholds each stable rank is $\frac R4(1 - \xi R^{-2/3} +
    o(R^{-2/3}))$ with independent $\xi$ of one law: $\|\epsilon\|_F^2/(Rn^2)$ is 1 up to the order of 1/R, and for
    spikes below the threshold the extreme eigenvalues of H equal those of the noise up to $o(R^{-2/3})$
    (Benaych-Georges, Guionnet and Maida), $n(2 + R^{-2/3}\xi)$ with $\xi$ the larger of two independent variables of
    Tracy and Widom's law, which is continuous. By symmetry the client has the larger $\xi$ with probability 1/2.

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
        "above the threshold we use the order of two limits, below it two independent variables of one continuous "
        "law; the terms of (36) are functions of the noise"
    )
