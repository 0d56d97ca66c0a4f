"""Replays of the claims in ``edges``."""

from __future__ import annotations

from fractions import Fraction
from math import factorial, isqrt

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v2/eq-26-27")
def eq_26_27(values: Values) -> Violation:
    r"""Independent entries from one law: $\pm a\sigma$ with probability $p = R^{-3/2}/a^2$, Gaussian otherwise.

    A large entry in row i and column j gives Rayleigh quotients $(X_{ii}+X_{jj})/2 \pm a\sigma$, hence
    $\max(\lambda_1, -\lambda_R) \ge a\sigma$. The large entries touch $O(\sqrt R)$ of the R rows, so the limiting
    density is that of the Gaussian part, whose entries have variance $(1 - R^{-1/2})/(1-p)$ of $\sigma^2/R$.
    """
    R, (size, edge) = int(values["R"]), fractions(values, "size", "edge")
    root = isqrt(R)
    p = 1 / (size**2 * root**3)
    pairs = R * (R - 1) // 2
    left_over = (1 - p * size**2 * R) / (1 - p)  # variance of the Gaussian part, in units of sigma^2 / R
    share = 2 * p * pairs / R
    unmet = ""
    if root**2 != R or not 0 < p < 1:
        unmet = "R a square and p a probability"
    elif p * size**2 * R + (1 - p) * left_over != 1 or left_over < 0:
        unmet = "variance sigma^2 / R"
    elif share > Fraction(1, 100) or 1 - left_over > Fraction(1, 50):
        unmet = "a limiting density that the large entries do not change"
    elif size <= 2 or edge != 2:
        unmet = "entries larger than U = 2 sigma"
    # P(none) = (1 - p)^pairs <= exp(-x) <= 1 / (1 + x + x^2/2 + ...) with x = p * pairs.
    series = sum((p * pairs) ** k / factorial(k) for k in range(12))
    event = f"P(max(lambda_1, -lambda_R) >= {float(size):g} sigma s)"
    return Violation(1 - 1 / series, Fraction(1, 2), unmet=unmet, reads=f"{event}, from below, against 1/2")


@replay("fedloru-v2/eq-28")
def eq_28(values: Values) -> Violation:
    r"""$U_N \le \liminf\lambda_i \le \limsup\lambda_i \le L_N$ for the same i."""
    sigma, s = fractions(values, "sigma", "s")
    unmet = "" if sigma > 0 and 0 < s < 1 else "sigma > 0 and s in (0, 1)"
    return Violation(2 * sigma * s, -2 * sigma * s, unmet=unmet, reads="U against L, which eq. (28) puts above it")


@replay("fedloru-v1/eq-20-22")
def eq_20_22(values: Values) -> Violation:
    """Diagonal matrices: the eigenvalues are the sorted entries."""
    true, noise = [int(v) for v in values["H_true"]], [int(v) for v in values["epsilon"]]
    j, k, R = int(values["j"]), int(values["k"]), len(true)
    both = [a + b for a, b in zip(true, noise, strict=True)]
    p, q = sum(v > 0 for v in true), sum(v < 0 for v in true)
    i = j + k - R
    met = values["line"] == "second" and 1 <= j <= R and 1 <= k <= R and p < i < R - q
    left = sorted(both, reverse=True)[i - 1]
    right = sorted(true, reverse=True)[R + i - j - 1] + sorted(noise, reverse=True)[R + i - k - 1]
    return Violation(Fraction(left), Fraction(right), unmet="" if met else "p < i = j + k - R < R - q",
                     reads=f"lambda_{i}(H_N) against the printed upper bound")  # fmt: skip
