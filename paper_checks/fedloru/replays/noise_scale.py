"""Section 3.1 and Appendix A: the scale of the noise, and its variance without the factor 1/R.

Setting: `shared.limits`.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

import sympy

from paper_checks.fedloru.replays.shared.limits import at_the_edges, sigma
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values


@proof("fedloru-v2/claim-scale")
def claim_scale(exponent: Fraction = Fraction(1, 2)) -> str:
    r"""The covariances of independent terms vanish: $E\|\frac1M\sum_kG_k\|_F^2 = \frac1{M^2}\cdot MV$ for every M."""
    M, V = sympy.symbols("M V", positive=True)
    stated = V * (M**-exponent) ** 2
    require(sympy.simplify(M * V / M**2 - stated) == 0, "the formula is the variance of a mean")
    return "the variance of a mean"


@replay("fedloru-v2/claim-scale")
def claim_scale_as_printed(values: Values) -> Violation:
    """A sample Hessian that is 0 or 2 with equal probability: the mean of M of them over all 2^M samples, by counts."""
    M = int(values["M"])
    assumes = assuming(Hypothesis("M", M, ">=", 1), Hypothesis("M, for an exact sum over all samples", M, "<=", 64))
    noise = sum((comb(M, k) * (Fraction(2 * k, M) - 1) ** 2 for k in range(M + 1)), Fraction(0)) / 2**M
    return Violation(
        abs(noise - Fraction(1, M**2)),
        0,
        assumes=assumes,
        reads=f"we compute |E (H_M - H)^2 - V s_M^2| for M = {M}, s_M = 1/M and V = 1",
    )


@proof("fedloru-v2/claim-scaling-var@fixed-index-and-mean-square")
def claim_scaling_var(exponent: Fraction = Fraction(1, 2)) -> str:
    r"""Entries of variance $\sigma^2$ are $\sqrt R$ times entries of variance $\sigma^2/R$.

    By Weyl's inequality $|\lambda_i(H_N) - \lambda_i(\epsilon_N)| \le \|H_{\mathrm{true}}\|$, which does not depend on
    R, while $\lambda_k(\epsilon_N)/\sqrt R$ has a lower limit of at least $2\sigma s_N$ for fixed k by (W), and an
    upper one of at most $-2\sigma s_N$ for indices counted from the other end. The mean square of all eigenvalues
    diverges as well, since $\|\epsilon_N\|_F^2/R$ has the mean $\sigma^2s_N^2R$.
    """
    R = sympy.Symbol("R", positive=True)
    scaled = (R**exponent) ** 2 * sigma**2 / R
    require(sympy.simplify(scaled - sigma**2) == 0, "the variance of scaled entries")
    require(sympy.limit(R**exponent, R, sympy.oo) == sympy.oo, "the scale diverges")
    at_the_edges(2)
    return "we use the scale of the entries, Weyl's inequalities and the edge of the semicircle"


@replay("fedloru-v2/claim-scaling-var")
def claim_scaling_var_as_printed(values: Values) -> Violation:
    r"""How many eigenvalues stay within a fixed distance c of 0, over the root of R, for Gaussian noise.

    Entries of variance $\sigma^2$ have the semicircle of radius $2\sigma\sqrt R$, whose density at 0 is
    $1/(\pi\sigma\sqrt R)$, and by the local semicircle law (Erdos, Schlein and Yau) the R eigenvalues follow it on
    lengths far above their spacing $\pi\sigma/\sqrt R$: within c there are $2c\sqrt R/(\pi\sigma)$, up to a
    factor that tends to 1. A true Hessian of bounded rank moves the count by at most its rank. $\pi < 22/7$.
    """
    sigma, width = Fraction(values["sigma"]), Fraction(values["width"])
    assumes = assuming(Hypothesis("sigma", sigma, ">", 0), Hypothesis("distance c", width, ">", 0))
    return Violation(
        2 * width / (Fraction(22, 7) * sigma),
        0,
        assumes=assumes,
        reads="the entries of the noise have the variance sigma^2 instead of sigma^2 s_N^2/R. We compute a lower "
        "bound on the limit of the number of eigenvalues with |lambda_i| <= width, divided by the root of R (a factor "
        "s_N < 1 makes the limit larger)",
    )
