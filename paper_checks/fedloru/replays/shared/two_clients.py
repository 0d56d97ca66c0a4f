"""The mean cosine of two clients' gradients: its limit, and the printed one."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from paper_checks.enclosures import enclose
from paper_checks.replay import Hypothesis, Violation, assuming
from paper_checks.stored_values import Values

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
    """Read spikes that are all outliers, and a slope along each."""
    noise, spikes = Fraction(values["noise"]), [Fraction(spike) for spike in values["spikes"]]
    return [
        Hypothesis("sigma s_N", noise, ">", 0),
        Hypothesis("least |theta|, against sigma s_N", min(map(abs, spikes)), ">", noise),
        Hypothesis("slopes, against the number of spikes", len(values["gradient"]), "=", len(spikes)),
        Hypothesis("variance of the own errors", Fraction(values["noise_square"]), ">=", 0),
        Hypothesis("r", int(values["rank"]), ">=", 1),
    ]


def rank_of(values: Values) -> int:
    """Return the r of the statement."""
    return int(values["rank"])


def outliers(values: Values) -> int:
    """Return how many spikes there are, all of them outliers."""
    return len(values["spikes"])


def cosine_and_limit(values: Values, rank_allowed: Hypothesis) -> Violation:
    r"""A lower bound on the printed limit of the mean cosine minus the limit itself.

    The limit is $A^2$ times the printed one, A the mean cosine between $m + \sqrt b z$ and m, the slopes along the
    outliers. In one dimension A is largest, $P(|z| \le |m|/\sqrt b)$, and
    $1 - P(|z| \le x)^2 \ge e^{-2x^2/\pi} \ge e^{-2x^2/3}$:
    a square holds less of a Gaussian law of the plane than the disc of equal area.
    """
    rank, errors = rank_of(values), Fraction(values["noise_square"])
    assumes = assuming(*two_clients(values), rank_allowed, Hypothesis("variance of the own errors", errors, ">", 0))
    every, squares = (slopes_and_overlaps(values, r)[0] for r in (outliers(values), rank))
    lost = enclose("exp", -2 * sum(squares) / (3 * errors))[0]
    return Violation(
        lost * printed_quotient(values, rank),
        0,
        assumes=assumes,
        given={"alpha_i^2": every},
        reads=f"we compute the printed limit minus lim E C_r for r = {rank}, from below",
    )


def small_first_slope(values: Values) -> Violation:
    r"""A small first slope: the own errors decide the sign of the one-dimensional gradient, so $E[C_1]$ is small.

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
        reads=f"lim E C_1 is at most {float(at_most):.4g} and lim E C_2 at least {float(at_least):.4g}. We compute "
        "g(1) minus lim E(C_1 - C_2), from below",
    )
