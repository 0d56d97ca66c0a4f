"""Replays of the claims in ``negative_gap``."""

from __future__ import annotations

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, fractions


def negative_gap(values: Values, relative: bool) -> Violation:
    """The spike, or its quotient by the noise at M, where the expressions (36) have a negative difference."""
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
        reads="one spike, rest eigenvalues at the edges, difference of the expressions (36) below 0; "
        f"|theta_0|{'/(sigma s_M)' if relative else ''} against the fixed number most",
    )


@replay("fedloru-v2/claim-ill")
def claim_ill_as_printed(values: Values) -> Violation:
    r"""The spike, where the expressions (36) at M and at N have a negative difference, against a fixed number.

    One spike, whose own term is $g^{-1}(\theta_0)^2/g^{-1}(\theta_0)^2 = 1$ at both, and as many edges at both.
    """
    return negative_gap(values, relative=False)


@replay("fedloru-v2/claim-ill@extremely-small-against-the-noise")
def extremely_small(values: Values) -> Violation:
    """The same, the spike in units of the noise at M."""
    return negative_gap(values, relative=True)
