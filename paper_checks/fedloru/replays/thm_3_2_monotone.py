"""Appendix A.4, proof of Theorem 3.2: what grows with the number of samples (eq. (41))."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, fractions


def two_sizes(sigma: Fraction, theta_0: Fraction, s_M: Fraction, s_larger: Fraction, s_N: Fraction) -> list[Hypothesis]:
    """Read Theorem 3.2's assumptions at M and at a larger sample size below N."""
    return [
        Hypothesis("sigma", sigma, ">", 0),
        Hypothesis("s_N", s_N, ">", 0),
        Hypothesis("the larger sample size's s, against s_N", s_larger, ">", s_N),
        Hypothesis("the larger sample size's s, against s_M", s_larger, "<", s_M),
        Hypothesis("s_M", s_M, "<", 1),
        Hypothesis("|theta_0|, against sigma s_M", abs(theta_0), ">=", sigma * s_M),
    ]


@replay("fedloru-v2/claim-Fj-mono")
def claim_Fj_mono(values: Values) -> Violation:
    r"""Evaluate the sum at M and at a larger sample size; the paper says it is positive and increases with the size.

    All spikes of the witness lie beyond the threshold of N, so either definition of the index set holds them all.
    """
    spikes = [Fraction(text) for text in values["spikes"]]
    sigma, s_M, s_N, position = fractions(values, "sigma", "s_M", "s_N", "position")
    s_larger = s_N + position * (s_M - s_N)
    theta_0 = sorted(spikes, key=lambda theta: theta**2)[-1]
    assumes = (
        *two_sizes(sigma, theta_0, s_M, s_larger, s_N),
        Hypothesis("least |theta_j|, against sigma s_N", min(map(abs, spikes)), ">", sigma * s_N),
    )

    def total(s: Fraction) -> Fraction:
        found = Fraction(0)
        for theta in spikes:
            for factor, sign in ((s, 1), (s_N, -1)):
                n = sigma * factor
                found += sign * (theta + n**2 / theta) ** 2 / (theta_0 + n**2 / theta_0) ** 2
        return found

    return Violation(
        total(s_M),
        total(s_larger),
        assumes=assumes,
        strict=True,
        reads="at a larger sample size, s is s_N + position (s_M - s_N). We compare the sum at M with the sum at that "
        "sample size, which should be greater",
    )
