"""Appendix A.3, proof of Proposition 3.1: the map of the outliers (eqs. (30) to (35)).

Setting: `shared.limits`.

Setting: `shared.series`.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import sympy

from paper_checks.enclosures import rational_root
from paper_checks.fedloru.replays.shared.limits import determinant, n, noise, outliers, theta
from paper_checks.fedloru.replays.shared.series import scaling
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values, fractions


def _candidate(values: Values) -> Violation:
    r"""The only $\lambda$ outside of the support at which $k(\lambda) = \theta$ is possible, and k there.

    $k + \sigma^2s^2/k = \lambda$ for the subordination function, so $k(\lambda) = \theta$ leaves one candidate; of the
    two roots of this equation k is the one that grows like $\lambda$, the larger one in absolute value.
    """
    theta, sigma, s = fractions(values, "theta", "sigma", "s")
    candidate = theta + sigma**2 * s**2 / theta
    root = rational_root(candidate**2 - 4 * sigma**2 * s**2)
    k = (candidate + (root if candidate > 0 else -root)) / 2
    assumes = [*noise(sigma, s), Hypothesis("|lambda|, off the support", abs(candidate), ">", 2 * sigma * s)]
    return Violation(
        abs(k - theta),
        0,
        assumes=assumes,
        reads="we compute |k(lambda) - theta| at the only lambda that could belong to theta",
    )


@replay("fedloru-v2/eq-30-31")
def eq_30_31_as_printed(values: Values) -> Violation:
    r"""With an outlier of $H_N$ in the sentence before, the if and only if fails all the same."""
    return _candidate(values)


@replay("fedloru-v2/eq-30-31@outliers-of-the-true-hessian")
def eq_30_31_as_meant(values: Values) -> Violation:
    r"""With an outlier of $H_{\mathrm{true}}$ in the sentence before: the if and only if itself fails."""
    return _candidate(values)


@proof("fedloru-v2/eq-30-31")
def eq_30_31(
    least: Fraction = Fraction(1), coefficient: Fraction = Fraction(1), strength: Fraction = Fraction(1)
) -> str:
    r"""Eq. (30): $g_{H_N}$ and $g_{\epsilon_N}$ differ by at most $(p+q)\pi/(Rv)$, since the ranks do (interlacing).

    $g_{\epsilon_N}(z) \to g_\mu(z) = 1/k(z)$ by (W), and $\hat g_{H_{\mathrm{true}}}(k) = \frac1R\sum_j1/(k - \theta_j)
    + (1 - \frac{p+q}R)/k \to 1/k$. The outliers are as in Proposition 3.1 (for Wigner matrices that are not Gaussian as
    in prop-3.1-dist); beyond the edge k takes the values beyond $n$ only, so the other $\theta_j$ belong to no
    $\lambda$.
    """
    z = theta + coefficient * n**2 / theta
    k = sympy.Symbol("k", positive=True)
    g = 1 / k
    equation = strength * n**2 * g**2 - z * g + 1
    determinant()
    outliers(z, least)
    require(sympy.simplify(equation.subs(k, theta)) == 0, "the equation of the subordination function")
    return "we use interlacing, a small determinant and the transform of the semicircle beyond its edge"


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
    return "we compare the coefficients of M = 1 + g R(g), for every n"


@proof("fedloru-v2/eq-34")
def eq_34(power_shift: int = 0, outer: int = 1, inner: int = 1) -> str:
    """The definition of R at scaled points, for every law of compact support and every n."""
    scaling(outer, inner, power_shift)
    return "we use the definition of R at scaled points, with the power of s as a symbol"


@proof("fedloru-v2/eq-35")
def eq_35(s_power: int = 2, sign: int = 1, third: int = 0) -> str:
    r"""(34) at $x = 1/\theta$, and R of the semicircle.

    $\sigma^2g^2 - zg + 1 = 0$ is $z = \sigma^2g + 1/g$, so $R(w) = z - 1/w$ at $w = g$ is $\sigma^2w$.
    """
    sigma, s, theta, g, z = sympy.symbols("sigma s theta g z", positive=True)
    of_semicircle = sympy.solve(sigma**2 * g**2 - z * g + 1, z)[0] - 1 / g
    outlier = s * of_semicircle.subs(g, s / theta) + theta
    stated = theta + sign * sigma**2 * s**s_power / theta
    scaling(1, 1, 0)
    require(sympy.expand(of_semicircle - sigma**2 * g) == 0, "R of the semicircle")
    require(sympy.expand(outlier + third / theta**2 - stated) == 0, "the outlier")
    return "the equation of its Stieltjes transform gives the R-transform of the semicircle"


@replay("fedloru-v2/eq-32", noise="sigma s_N")
def eq_32(values: Values) -> Violation:
    r"""K = 1/g at $z = \theta + n^2/\theta$: the root of $z^2 - 4n^2 = (\theta - n^2/\theta)^2$ is taken by hand."""
    theta, noise = fractions(values, "theta", "noise")
    z = theta + noise**2 / theta
    root = rational_root(z**2 - 4 * noise**2)
    g = (z - (root if z > 0 else -root)) / (2 * noise**2)
    assumes = (Hypothesis("sigma s", noise, ">", 0), Hypothesis("|z|, outside of the support", abs(z), ">", 2 * noise))
    return Violation(abs(1 / g - theta), 0, assumes=assumes, reads="we compute |k(k^{-1}(theta)) - theta|")
