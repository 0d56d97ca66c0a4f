r"""Replays of the claims in ``general_laws``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v1/prop-3.2")
def v1_prop_3_2(values: Values) -> Violation:
    r"""Marchenko-Pastur noise $sX$: by Weyl's inequality no eigenvalue can be as far out as the printed limit.

    $R_\mu(w) = 1/(1 - cw)$ with c the ratio, whose root is rational here; U = (1 + sqrt c)^2.
    """
    theta, s, ratio = fractions(values, "theta", "s", "ratio")
    root = Fraction(float(ratio) ** 0.5)
    unmet = "" if root**2 == ratio and 0 < s < 1 and theta > 0 else "theta > 0, s in (0, 1), ratio a square"
    edge = s * (1 + root) ** 2
    g = theta + s / (1 - ratio * s / theta)
    printed = g if g > edge else edge
    return Violation(printed, theta + edge, unmet=unmet, reads="printed limit of lambda_1 against Weyl's theta + U_N")


@replay("fedloru-iclr/prop-3.1")
def iclr_prop_3_1(values: Values) -> Violation:
    r"""The noise has the eigenvalues $s h(1 - (2j-1)/R)$, which fill a uniform law.

    One positive spike moves each of them up, at most to the one above it (Weyl); the distance of that interval from 0
    and from both edges does not vanish as R grows.
    """
    share, s, theta, half = fractions(values, "share", "s", "theta", "half_width")
    unmet = "" if 0 < share < 1 and 0 < s < 1 and theta > 0 else "0 < share < 1, s in (0, 1), theta > 0"
    R = int(values["R"])
    i = round(share * R)
    low, high = (s * half * (1 - Fraction(2 * j - 1, R)) for j in (i, i - 1))
    apart = [Fraction(0) if low <= limit <= high else min(abs(limit - low), abs(limit - high))
             for limit in (Fraction(0), -s * half, s * half)]  # fmt: skip
    spacing = high - low
    return Violation(
        min(apart),
        spacing,
        unmet=unmet,
        reads=f"distance of lambda_i, i = {float(share):g} R, from {{0, L, U}} against the level spacing",
    )


@replay("fedloru-v1/thm-3.3")
def v1_thm_3_3(values: Values) -> Violation:
    r"""Noise with the eigenvalues $h(1 - (2j-1)/R)$ and uniformly random eigenvectors, one spike: the gap over R.

    With y = v^T X v for the spike's direction, ||H||_F^2 = theta^2 + 2 theta s y + s^2 sum d^2 and
    theta + s y <= ||H|| <= theta + s h. The mean of y is 0 and its variance 2 sum d^2 / (R (R + 2)), so |y| <= delta
    except with probability variance / delta^2 (Chebyshev) for each of client and server.
    """
    theta, s_M, s_N, half = fractions(values, "theta", "s_M", "s_N", "half_width")
    R, delta = int(values["R"]), Fraction(1, 10)
    squares = half**2 * Fraction(R**2 - 1, 3 * R)  # sum of the squares of the eigenvalues
    fails = 2 * (2 * squares / (R * (R + 2))) / delta**2
    unmet = (
        "" if 0 < s_N < s_M < 1 and theta > s_N * delta and fails < Fraction(1, 100) else "0 < s_N < s_M < 1, large R"
    )
    client = (theta**2 - 2 * theta * s_M * delta + s_M**2 * squares) / (theta + s_M * half) ** 2
    server = (theta**2 + 2 * theta * s_N * delta + s_N**2 * squares) / (theta - s_N * delta) ** 2
    return Violation(
        (client - server) / R,
        Fraction(0),
        unmet=unmet,
        reads=f"lower bound on gap/R (sure but for probability {float(fails):.1g}) against its limit 0",
    )
