r"""Replays of the claims in ``general_laws``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.enclosures import rational_root
from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v1/prop-3.2")
def v1_prop_3_2_as_printed(values: Values) -> Violation:
    r"""Marchenko-Pastur noise $sX$: by Weyl's inequality no eigenvalue can be as far out as the printed limit.

    $R_\mu(w) = 1/(1 - cw)$ with c the ratio, whose root is rational here; U = (1 + sqrt c)^2.
    """
    theta, s, ratio = fractions(values, "theta", "s", "ratio")
    edge = s * (1 + rational_root(ratio)) ** 2
    g = theta + s / (1 - ratio * s / theta)
    printed = g if g > edge else edge
    assumes = (
        Hypothesis("theta", theta, ">", 0),
        Hypothesis("s", s, ">", 0),
        Hypothesis("s", s, "<", 1),
        Hypothesis("ratio", ratio, ">", 0),
    )
    return Violation(
        printed,
        theta + edge,
        assumes=assumes,
        reads="one spike theta, Marchenko-Pastur noise, R(w) = 1/(1 - ratio w): printed limit of lambda_1 "
        "against Weyl's bound theta + U_N for it",
    )


@replay("fedloru-iclr/prop-3.1")
def iclr_prop_3_1_as_printed(values: Values) -> Violation:
    r"""The noise has the eigenvalues $s h(1 - (2j-1)/R)$, which fill a uniform law.

    One positive spike moves each of them up, at most to the one above it (Weyl); the distance of that interval from 0
    and from both edges does not vanish as R grows.
    """
    share, s, half = fractions(values, "share", "s", "half_width")
    R = int(values["R"])
    assumes = (
        Hypothesis("share", share, ">", 0),
        Hypothesis("share", share, "<", 1),
        Hypothesis("s", s, ">", 0),
        Hypothesis("s", s, "<", 1),
        Hypothesis("half width of the law", half, ">", 0),
        Hypothesis("R", R, ">=", 2),
    )
    i = round(share * R)
    low, high = (s * half * (1 - Fraction(2 * j - 1, R)) for j in (i, i - 1))
    apart = [
        Fraction(0) if low <= limit <= high else min(abs(limit - low), abs(limit - high))
        for limit in (Fraction(0), -s * half, s * half)
    ]
    spacing = high - low
    return Violation(
        min(apart),
        spacing,
        assumes=assumes,
        reads="one positive spike, eigenvalues of X that fill the uniform law on [-half_width, half_width], whose "
        "density is constant there, and eigenvectors of any law, say uniformly random ones: distance of lambda_i, "
        f"i = {float(share):g} R, from {{0, L, U}} against the level spacing",
    )


@replay("fedloru-v1/thm-3.3")
def v1_thm_3_3_as_printed(values: Values) -> Violation:
    r"""Noise with the eigenvalues $h(1 - (2j-1)/R)$ and uniformly random eigenvectors, one spike: the gap over R.

    With y = v^T X v for the spike's direction, ||H||_F^2 = theta^2 + 2 theta s y + s^2 sum d^2 and
    theta + s y <= ||H|| <= theta + s h. The mean of y is 0 and its variance 2 sum d^2 / (R (R + 2)), so |y| <= delta
    except with probability variance / delta^2 (Chebyshev) for each of client and server.
    """
    theta, s_M, s_N, half = fractions(values, "theta", "s_M", "s_N", "half_width")
    R, delta = int(values["R"]), Fraction(1, 10)
    squares = half**2 * Fraction(R**2 - 1, 3 * R)  # sum of the squares of the eigenvalues
    fails = 2 * (2 * squares / (R * (R + 2))) / delta**2
    assumes = (
        Hypothesis("s_N", s_N, ">", 0),
        Hypothesis("s_N, against s_M", s_N, "<", s_M),
        Hypothesis("s_M", s_M, "<", 1),
        Hypothesis("half width of the law", half, ">", 0),
        Hypothesis("theta, against s_N delta, delta = 1/10", theta, ">", s_N * delta),
        Hypothesis(
            "probability of |v^T X v| > delta at M or at N, v the spike's direction", fails, "<", Fraction(1, 100)
        ),
    )
    client = (theta**2 - 2 * theta * s_M * delta + s_M**2 * squares) / (theta + s_M * half) ** 2
    server = (theta**2 + 2 * theta * s_N * delta + s_N**2 * squares) / (theta - s_N * delta) ** 2
    return Violation(
        (client - server) / R,
        0,
        assumes=assumes,
        reads="one spike theta, eigenvalues of X that fill the uniform law on [-half_width, half_width], whose density "
        "is constant there, uniformly random eigenvectors: (srank(H_M) - srank(H_N))/R, from below where "
        "|v^T X v| <= delta at M and at N, against 0, the limit of S/R",
    )
