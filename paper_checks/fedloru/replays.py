"""Naive second evaluations of the stored witnesses and certificates of FedLoRU.

Nothing here imports a formula, a sampler or a search of the toolkit: formulas are written out from the paper in exact
fractions where that is possible, and statistical witnesses are drawn anew by a different sampler.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import comb, isqrt
from typing import Any

import numpy as np
import sympy

from paper_checks.replay import Proof, Violation, replay

Values = Mapping[str, Any]


def _fractions(values: Values, *names: str) -> list[Fraction]:
    return [Fraction(values[name]) for name in names]


@replay("fedloru-v2/prop-3.1")
def prop_3_1(values: Values) -> Violation:
    """By eqs. (25) and (27) of the paper itself the limit is at most theta + U_N; the printed limit is larger."""
    theta, sigma, s = _fractions(values, "theta", "sigma", "s")
    unmet = "" if 0 < s < 1 and sigma > 0 and theta != 0 else "s in (0, 1), sigma > 0, theta non-zero"
    size, edge = abs(theta), 2 * sigma * s
    g = size + sigma**2 * s**2 / size
    printed = g if g > edge else edge
    return Violation(
        printed, size + edge, unmet=unmet,
        reads="printed limit of |lambda_1| against Weyl's bound |theta| + 2 sigma s for it",
    )  # fmt: skip


@replay("fedloru-v2/eq-5")
def eq_5(values: Values) -> Violation:
    """A squared inner product cannot have a negative limit; the printed set contains this spike."""
    theta, sigma, s = _fractions(values, "theta", "sigma", "s")
    edge, g = 2 * sigma * s, abs(theta) + sigma**2 * s**2 / abs(theta)
    unmet = "" if g > edge and 0 < s < 1 else "g^{-1}(theta) beyond the edge, s in (0, 1)"
    return Violation(
        Fraction(0), 1 - sigma**2 * s**2 / theta**2, unmet=unmet, reads="0 against the printed limit of a square"
    )


@replay("fedloru-v2/prop-3.1-bulk")
def prop_3_1_bulk(values: Values) -> Violation:
    """The same share of the spectrum of dense Gaussian Hessians, as a distance from either edge."""
    sigma, s, share = float(values["sigma"]), float(values["s"]), float(values["share"])
    R, draws, rng = 200, 60, np.random.default_rng(20_090)
    inside = []
    for _ in range(draws):
        upper = np.triu(rng.normal(0.0, sigma / np.sqrt(R), (R, R)))
        hessian = s * (upper + np.triu(upper, 1).T)
        hessian[0, 0] += 2.0 * sigma * s
        inside.append(np.linalg.eigvalsh(hessian)[R - round(share * R)])
    edge, mean = 2.0 * sigma * s, float(np.mean(inside))
    error = 7.0 * float(np.std(inside, ddof=1)) / np.sqrt(draws) + edge * R ** (-2.0 / 3.0)
    unmet = "" if 0 < share < 1 else "a share of the spectrum between 0 and 1"
    return Violation(edge - abs(mean), 0.0, error, exact=False, unmet=unmet,
                     reads=f"distance of the mean lambda_i, i = {share:g} R, from the nearer edge")  # fmt: skip


@replay("fedloru-v2/prop-3.1-dist")
def prop_3_1_dist(values: Values) -> Violation:
    """Rows i <= R/2 meet columns j > R/2 in Binomial(R/2, 1/R) entries; one row with ``degree`` of them is enough."""
    R, degree, factor = int(values["R"]), int(values["degree"]), Fraction(values["factor"])
    unmet = "" if degree > (2 * factor) ** 2 else "sqrt(degree) > 2 factor, so that the star exceeds the claimed norm"
    half = R // 2
    # P(Binomial >= degree) >= P(Binomial = degree), bounded below in fractions with (1 - 1/R)^n >= 1 - n/R.
    at_least = Fraction(comb(half, degree), R**degree) * (1 - Fraction(half - degree, R))
    # P(no such row) <= exp(-half * at_least) <= 1 / (1 + x + x^2/2 + ... ) with x = half * at_least.
    x = half * at_least
    series = sum((x**k / _factorial(k) for k in range(12)), Fraction(0))
    return Violation(1 - 1 / series, Fraction(1, 2), unmet=unmet,
                     reads="lower bound on P(||epsilon|| exceeds the limit by the factor) against 1/2")  # fmt: skip


def _factorial(k: int) -> int:
    return 1 if k < 2 else k * _factorial(k - 1)


@replay("fedloru-v2/claim-scale")
def claim_scale(values: Values) -> Violation:
    """A sample Hessian that is 0 or 2 with equal probability: the mean of M of them over all 2^M samples, by counts."""
    M = int(values["M"])
    noise = sum((comb(M, k) * (Fraction(2 * k, M) - 1) ** 2 for k in range(M + 1)), Fraction(0)) / 2**M
    unmet = "" if M >= 1 else "at least one sample"
    return Violation(abs(noise - Fraction(1, M**2)), Fraction(0), unmet=unmet,
                     reads=f"|E (H_M - H)^2 - V s_M^2| at M = {M} with s_M = 1/M and V = 1")  # fmt: skip


@replay("fedloru-v2/claim-Fj-sign")
def claim_Fj_sign(values: Values) -> Violation:
    """The sign of F_j from its definition."""
    theta_0, ratio, noise, shrink = _fractions(values, "theta_0", "ratio", "noise", "shrink")
    theta_j, noise_N = ratio * theta_0, shrink * noise
    unmet = "" if 0 < abs(ratio) <= 1 and 0 < shrink < 1 and noise > 0 else "|theta_j| <= |theta_0|, s_N < s_M"

    def share(n: Fraction) -> Fraction:
        return ((theta_j + n**2 / theta_j) / (theta_0 + n**2 / theta_0)) ** 2

    F = share(noise) - share(noise_N)
    return Violation(Fraction(0), F, unmet=unmet, strict=True, reads="0 against F_j, which should be greater")


@replay("fedloru-v2/eq-40")
def eq_40(values: Values) -> Proof:
    r"""A sum of non-negative terms.

    Both sides of eq. (40) carry $\sigma^2(s_M^2 - s_N^2)|\theta_0/\theta_j - \theta_j/\theta_0|/(g_M^2g_N^2) \ge 0$;
    what is left is $g_M(\theta_j)g_N(\theta_0) + g_N(\theta_j)g_M(\theta_0) \ge 8\sigma^2s_Ms_N$ for positive spikes
    (g is odd, so signs drop out). The certificate writes the difference as a sum of terms that are products of
    positive quantities and squares.
    """
    t0, tj, m, n = sympy.symbols("t0 tj m n", positive=True)  # |theta_0|, |theta_j|, sigma s_M, sigma s_N
    names = {"t0": t0, "tj": tj, "m": m, "n": n}

    def g(theta: sympy.Symbol, noise: sympy.Symbol) -> sympy.Expr:
        return theta + noise**2 / theta

    terms = [sympy.sympify(term, locals=names) for term in values["terms"]]
    signs = all(term.is_nonnegative for term in terms)
    left = g(tj, m) * g(t0, n) + g(tj, n) * g(t0, m) - 8 * m * n
    same = sympy.simplify(left - sum(terms)) == 0
    return Proof(bool(signs and same), f"{len(terms)} non-negative terms add up to the difference of the sides")


@replay("fedloru-v2/eq-44")
def eq_44(values: Values) -> Violation:
    """Lines 2 and 3 at the witness, in fractions."""
    theta, sigma, s = _fractions(values, "theta_0", "sigma", "s_M")
    U, g = 2 * sigma * s, theta + sigma**2 * s**2 / theta
    slope_g = 2 * sigma**2 * s / theta
    line_2 = (2 * U * 2 * sigma * g**2 - 2 * g * slope_g * U**2) / g**4
    line_3 = (4 * sigma * U * g - 4 * sigma**2 * s * U**2 * g / theta) / g**4
    return Violation(abs(line_2 - line_3), Fraction(0), reads="|line 2 - line 3|")


@replay("fedloru-v2/eq-32")
def eq_32(values: Values) -> Violation:
    r"""K = 1/g at $z = \theta + n^2/\theta$: the root of $z^2 - 4n^2 = (\theta - n^2/\theta)^2$ is taken by hand."""
    theta, noise = _fractions(values, "theta", "noise")
    unmet = "" if theta != 0 and noise > 0 and abs(theta) != noise else "theta non-zero, z outside the support"
    z = theta + noise**2 / theta
    square = z**2 - 4 * noise**2
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    if root**2 != square:
        unmet = "the square root is not rational"
    g = (z - (root if z > 0 else -root)) / (2 * noise**2)
    return Violation(abs(1 / g - theta), Fraction(0), unmet=unmet, reads="|k(k^{-1}(theta)) - theta|")


@replay("fedloru-v2/txt-ratio")
def txt_ratio(values: Values) -> Violation:
    """Corners of the rounding box of the two accuracies, against the printed ratio and its rounding."""
    half = Fraction(1, 200)
    fedavg, accuracy, ratio = Fraction(values["FedAvg"]), Fraction(values["X"]), Fraction(values["ratio"])
    corners = [
        ((accuracy + a) - (fedavg + b)) / (accuracy + a) for a in (-half, half) for b in (-half, half)
    ]  # fmt: skip
    distance = max(min(corners) - ratio, ratio - max(corners))
    return Violation(
        distance, Fraction(1, 2000), reads="distance of the printed ratio from (X - FedAvg)/X, all roundings"
    )


@replay("fedloru-v2/txt-total20")
def txt_total20(values: Values) -> Violation:
    """The counts added up."""
    counts = [int(count) for rank, count in values.items() if rank.startswith("r=")]
    return Violation(Fraction(abs(sum(counts) - int(values["total"]))), Fraction(0), reads="|sum of clients - total|")
