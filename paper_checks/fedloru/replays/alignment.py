"""Replays of the claims in ``alignment``, and the pair of clients that those of ``alignment_steps`` have too."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, fractions

TWO_CLIENTS = {
    "noise": "sigma s_N",
    "gradient": "components of the gradient along the v_i",
    "noise_square": "variance b of the clients' own errors",
}


def slopes_and_overlaps(values: Values, rank: int) -> tuple[list[Fraction], list[Fraction]]:
    r"""$\alpha_i^2 = \phi_i^2\gamma_i^2$ and $\phi_i^2$ by modulus of the spikes, up to a rank, by eq. (5)."""
    noise, gradient = Fraction(values["noise"]), [Fraction(slope) for slope in values["gradient"]]
    spikes = [Fraction(spike) for spike in values["spikes"]]
    order = sorted(range(len(spikes)), key=lambda i: -abs(spikes[i]))[:rank]
    overlaps = [1 - (noise / spikes[i]) ** 2 for i in order]
    return [overlap * gradient[i] ** 2 for overlap, i in zip(overlaps, order, strict=True)], overlaps


def printed_quotient(values: Values, rank: int) -> Fraction:
    r"""The quotient of (54) and (57) with $\beta = 0$."""
    squares, overlaps = slopes_and_overlaps(values, rank)
    return sum((a * p for a, p in zip(squares, overlaps, strict=True)), Fraction(0)) / sum(squares)


def two_clients(values: Values) -> list[Hypothesis]:
    """Spikes that are all outliers, and a slope along each."""
    noise, spikes = Fraction(values["noise"]), [Fraction(spike) for spike in values["spikes"]]
    return [
        Hypothesis("sigma s_N", noise, ">", 0),
        Hypothesis("least |theta|, against sigma s_N", min(map(abs, spikes)), ">", noise),
        Hypothesis("slopes, against the number of spikes", len(values["gradient"]), "=", len(spikes)),
        Hypothesis("variance of the own errors", Fraction(values["noise_square"]), ">=", 0),
        Hypothesis("r", int(values["rank"]), ">=", 1),
    ]


@replay("fedloru-v2/def-approx")
def def_approx_as_printed(values: Values) -> Violation:
    r"""Two weights and one spike, $H_N = \mathrm{diag}(\theta_1, 0) + \epsilon$: is $\theta_1$ an eigenvalue of it?"""
    theta, e11, e12, e22 = fractions(values, "theta_1", "e11", "e12", "e22")
    return Violation(
        abs((theta + e11 - theta) * (e22 - theta) - e12**2),
        0,
        assumes=(Hypothesis("|theta_1|", abs(theta), ">", 0),),
        reads="H_true = diag(theta_1, 0), noise e: |det(H_N - theta_1)|, which is 0 for an eigenvalue",
    )


@replay("fedloru-v2/thm-3.3", **TWO_CLIENTS)
def thm_3_3_as_printed(values: Values) -> Violation:
    r"""A small first slope: the own errors decide the sign of the one-dimensional gradient, so that $E[C_1]$ is small.

    With slopes $m + \sqrt bz$ of independent clients $E[C_1] \to A_1^2\phi_1^2$, $A_1 = P(|z| \le |m_1|/\sqrt b)$ and
    $A_1^2 \le 2m_1^2/(\pi b) \le 2m_1^2/(3b)$; $E[C_2]$ tends to $A_2^2$ times the quotient of (54), and $A_2 \ge 1 -
    4b/|m|^2$: with errors e in the plane the cosine is at least $1 - 2|e|^2/|m|^2$, since the sine of the angle is at
    most $|e|/|m|$ for $|e| < |m|$.
    """
    errors, sizes = Fraction(values["noise_square"]), sorted(abs(Fraction(spike)) for spike in values["spikes"])
    apart = min((b - a for a, b in pairwise(sizes)), default=Fraction(0))
    assumes = assuming(
        *two_clients(values),
        Hypothesis("least distance of the |theta_i|", apart, ">", 0),
        Hypothesis("variance of the own errors", errors, ">", 0),
        Hypothesis("r", int(values["rank"]), "=", 1),
        Hypothesis("least slope", min(abs(Fraction(slope)) for slope in values["gradient"]), ">", 0),
    )
    squares, overlaps = slopes_and_overlaps(values, 2)
    first, second = printed_quotient(values, 1), printed_quotient(values, 2)
    at_most = 2 * squares[0] / (3 * errors) * overlaps[0]
    at_least = max(1 - 4 * errors / sum(squares), Fraction(0)) ** 2 * second
    return Violation(
        first - second - (at_most - at_least),
        0,
        assumes=assumes,
        reads=f"lim E C_1 is at most {float(at_most):.4g}, lim E C_2 at least "
        f"{float(at_least):.4g}; g(1) less lim E(C_1 - C_2), from below",
    )
