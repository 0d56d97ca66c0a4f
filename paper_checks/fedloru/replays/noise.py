"""Replays of the claims in ``noise``."""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values


@replay("fedloru-v2/prop-3.1-dist")
def prop_3_1_dist(values: Values) -> Violation:
    """Rows i <= R/2 meet columns j > R/2 in Binomial(R/2, 1/R) entries; one row with ``degree`` of them is enough."""
    R, degree, factor = int(values["R"]), int(values["degree"]), Fraction(values["factor"])
    assumes = assuming(
        Hypothesis("R, against the degree", R, ">=", 2 * degree),
        Hypothesis("degree, for exact binomials", degree, "<=", 50),
        Hypothesis("degree, so that the star exceeds the claimed norm", degree, ">", (2 * factor) ** 2),
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
        reads="entries sigma s_N with either sign, each with probability 1/(2R), else 0: P(a row has "
        "degree of them, so that ||epsilon_N|| >= root(degree) sigma s_N > factor 2 sigma s_N), "
        "from below, against 1/2",
    )


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
        reads="entries of the noise of variance sigma^2 in the place of sigma^2 s_N^2/R: lim (number of |lambda_i| <= "
        "width) / root of R, from below; a factor s_N < 1 makes it larger",
    )


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
        reads=f"|E (H_M - H)^2 - V s_M^2| at M = {M} with s_M = 1/M and V = 1",
    )
