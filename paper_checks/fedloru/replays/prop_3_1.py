"""Proposition 3.1: the outliers of a client's Hessian, and the noise above which they lie.

Setting: `shared.limits`.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

import sympy

from paper_checks.fedloru.replays.shared.limits import (
    determinant,
    n,
    noise,
    outliers,
    past_the_outliers,
    s,
    sigma,
    theta,
)
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v2/prop-3.1-dist")
def prop_3_1_dist(values: Values) -> Violation:
    """Rows i <= R/2 meet columns j > R/2 in Binomial(R/2, 1/R) entries; one row with ``degree`` of them is enough."""
    R, degree, factor = int(values["R"]), int(values["degree"]), Fraction(values["factor"])
    assumes = assuming(
        Hypothesis("R, against the degree", R, ">=", 2 * degree),
        Hypothesis("degree, for exact binomials", degree, "<=", 50),
        Hypothesis("degree, so the star exceeds the claimed norm", degree, ">", (2 * factor) ** 2),
        Hypothesis("factor over the limit", factor, ">", 1),
    )
    half = R // 2
    # P(Binomial >= degree) >= P(Binomial = degree), bounded below in fractions with (1 - 1/R)^n >= 1 - n/R.
    at_least = Fraction(comb(half, degree), R**degree) * (1 - Fraction(half - degree, R))
    # P(no such row) <= exp(-half * at_least) <= 1 / (1 + x + x^2/2 + ... ) with x = half * at_least.
    x = half * at_least
    series = sum((x**k / factorial(k) for k in range(12)), Fraction(0))
    return Violation(
        1 - 1 / series,
        Fraction(1, 2),
        assumes=assumes,
        reads="each entry is sigma s_N or -sigma s_N, each with probability 1/(2R), and 0 otherwise. A row with as "
        "many nonzero entries as the degree makes ||epsilon_N|| at least root(degree) sigma s_N, which exceeds 2 "
        "sigma s_N times the factor. We compare a lower bound on the probability of such a row with 1/2",
    )


def exchange_of_entries(moment: int) -> None:
    r"""$x^T(z - \epsilon_N)^{-1}y$ has the limit in probability that it has for Gaussian entries, for unit x and y.

    Entries are cut off at $\delta$ first, $\delta \to 0$ slowly: by the fourth moment of their law none is larger, with
    a probability that tends to 1, and the means that this leaves are taken off with a matrix whose norm tends to 0. Let
    $\epsilon'$ have Gaussian entries of the same variances, cut off likewise, $X_t = \sqrt{1-t}\,\epsilon +
    \sqrt t\,\epsilon'$, $G = (z - X_t)^{-1}$ with z not real, and F a bounded function of $x^TGy$ with bounded
    derivatives. $\frac{d}{dt}E\,F$ is half of the sum over the entries of $E[(\epsilon'_{ij}t^{-1/2} -
    \epsilon_{ij}(1-t)^{-1/2})\,\partial_{ij}F]$. Expanded in the entry, its terms with variances cancel, and what is
    left is at most a multiple of $E(|\epsilon_{ij}|^3 + |\epsilon'_{ij}|^3)\sup|\partial_{ij}^3F|$, with the supremum
    over the values of this entry. By $\partial_{ij}G = G\,\partial_{ij}X_t\,G$ the third derivative is at most a
    multiple of $|(Gx)_i|^2 + |(Gx)_j|^2 + |(Gy)_i|^2 + |(Gy)_j|^2$, for another value of the bounded entry too, which
    changes $(Gx)_i$ by at most a multiple of $|(Gx)_i| + |(Gx)_j|$. These squares have the sum $2R(|Gx|^2 + |Gy|^2) \le
    4R/|\mathrm{Im}\,z|^2$ over all entries, and the third moments are of the order $R^{-3/2}$: the change of $E\,F$ is
    of the order $R^{-1/2}$.
    """
    R = sympy.Symbol("R", positive=True)
    entries = sympy.Matrix(2, 2, lambda i, j: sympy.Symbol(f"x{min(i, j)}{max(i, j)}"))
    unit = sympy.Matrix([[0, 1], [1, 0]])
    resolvent = (sympy.Symbol("z") * sympy.eye(2) - entries).inv()
    change = resolvent.diff(entries[0, 1]) - resolvent * unit * resolvent
    order = R * R ** -sympy.Rational(moment, 2)
    require(sympy.simplify(change) == sympy.zeros(2), "the derivative of G")
    require(sympy.limit(order, R, sympy.oo) == 0, "the sum of the third moments")


@proof("fedloru-v2/prop-3.1-dist@wigner-matrix")
def wigner_matrix(
    coefficient: Fraction = Fraction(1),
    edge: Fraction = Fraction(2),
    threshold: Fraction = Fraction(1),
    moment: int = 3,
) -> str:
    r"""Proposition 3.1 as corrected, with an exchange of the entries instead of theorem (I).

    By the exchange $V^T(z - \epsilon_N)^{-1}V \to g(z)I$ in probability for every z that is not real, as for Gaussian
    entries. By (B), which holds in probability, these functions are analytic and bounded on compact sets off $[L, U]$
    for large R, so they converge there as well. The determinant, the outliers and the eigenvalues at the edges are
    then as for Gaussian noise, in probability.
    """
    z = theta + coefficient * n**2 / theta
    exchange_of_entries(moment)
    determinant()
    outliers(z, threshold)
    past_the_outliers(edge, 1)
    return (
        "we exchange the entries, and use a small determinant, the transform of the semicircle and Weyl's inequalities"
    )


@replay("fedloru-v2/prop-3.1")
def prop_3_1_as_printed(values: Values) -> Violation:
    """By eqs. (25) and (27) of the paper itself the limit is at most theta + U_N; the printed limit is larger."""
    theta, sigma, s = fractions(values, "theta", "sigma", "s")
    assumes = assuming(*noise(sigma, s), Hypothesis("theta", theta, "!=", 0))
    size, edge = abs(theta), 2 * sigma * s
    g = size + sigma**2 * s**2 / size
    printed = g if g > edge else edge
    return Violation(
        printed,
        size + edge,
        assumes=assumes,
        reads="we compare the printed limit of |lambda_1| with Weyl's bound on it, |theta| + 2 sigma s",
    )


@proof("fedloru-v2/prop-3.1")
def prop_3_1(
    coefficient: Fraction = Fraction(1),
    edge: Fraction = Fraction(2),
    threshold: Fraction = Fraction(1),
    s_power: Fraction = Fraction(2),
) -> str:
    r"""Gaussian noise: the eigenvalues off the support from a small determinant, the others at the edge.

    Only eigenvalues that tend to zeros of the determinant stay outside $[L, U]$. A further $\lambda_i$, $i \le p$, is
    at least $\lambda_{i+q}(\epsilon_N) \to U$ by Weyl's inequality, and tends to U.
    """
    printed = theta + coefficient * sigma**2 * s**s_power / theta
    z = theta + n**2 / theta
    determinant()
    outliers(z, threshold)
    require(sympy.simplify(printed - z.subs(n, sigma * s)) == 0, "the printed limit")
    past_the_outliers(edge, 1)
    return "we use a small determinant, the transform of the semicircle beyond its edge, and Weyl's inequalities"


@replay("fedloru-v2/prop-3.1-bulk")
def prop_3_1_bulk_as_printed(values: Values) -> Violation:
    r"""The eigenvalue at a share of the spectrum tends to a quantile of the semicircle (Weyl; Wigner's law).

    With d = min(c, 1 - c) the semicircle has at most $\frac{2d}\pi\sqrt{2d} \le \frac{2d}3 < d$ of its mass within
    $2\sigma sd$ of an edge: its density there is at most $\sqrt{2d}/(\pi\sigma s)$. So the quantile is farther inside.
    """
    sigma, s, share = fractions(values, "sigma", "s", "share")
    assumes = assuming(*noise(sigma, s), Hypothesis("share", share, ">", 0), Hypothesis("share", share, "<", 1))
    return Violation(
        2 * sigma * s * min(share, 1 - share),
        0,
        assumes=assumes,
        reads=f"we compute a lower bound on the distance of lim lambda_i, with i = {float(share):g} R, from the set "
        f"{{L, U}}",
    )


@proof("fedloru-v2/prop-3.1-bulk@fixed-index")
def fixed_index(edge: Fraction = Fraction(2)) -> str:
    """The limit of eq. (29), and the same from below."""
    past_the_outliers(edge, 1)
    return "eq. (29) with symbolic indices gives the limit"


@proof("fedloru-v2/prop-3.1-bulk")
def prop_3_1_bulk(edge: Fraction = Fraction(2)) -> str:
    r"""An index with $i(R)/R \to c$ between two of the noise with the same limiting share.

    $\lambda_{i+q}(\epsilon_N) \le \lambda_i(H_N) \le \lambda_{i-p}(\epsilon_N)$ for $p < i \le R - q$, and $(i \pm
    k)/R \to c$. For $0 < c < 1$ both ends tend to the $(1-c)$-quantile of the semicircle by (W), where its distribution
    function is strictly increasing. For $c = 0$ the upper end is at most $\lambda_1(\epsilon_N) \to U$ by (B), and the
    lower one is at least $\lambda_{\lfloor\delta R\rfloor}(\epsilon_N)$ for large R and every $\delta > 0$; its limit,
    the $(1-\delta)$-quantile, tends to U with $\delta \to 0$. Fixed indices have c = 0 (eq. 29); $c = 1$ is mirrored.
    """
    c, R, k = sympy.symbols("c R k", positive=True)
    share = sympy.limit((c * R + k) / R, R, sympy.oo)
    slower = sympy.limit((sympy.sqrt(R) + k) / R, R, sympy.oo)
    past_the_outliers(edge, 1)
    require(share == c, "the share of a shifted index")
    require(slower == 0, "the share of an index that grows more slowly than R")
    return "we use Weyl's inequalities with symbolic indices, Wigner's law and the edges of eq. (29)"
