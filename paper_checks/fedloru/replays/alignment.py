"""Replays of the claims in ``alignment``, and the pair of clients that those of ``alignment_steps`` have too."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values


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


@replay("fedloru-v2/thm-3.3")
def thm_3_3(values: Values) -> Violation:
    r"""Two opposite spikes, no own errors: at r = 1 either client keeps either eigenvector, with probability 1/2.

    The noise and its negative have one law, and swapping both spikes gives the negative of the Hessian. Both clients
    keep the eigenvectors of one spike with probability 1/2; the cosine then tends to $\phi^2$ and else to 0. At r = 2
    it tends to $\phi^2$ for all clients.
    """
    spikes, slopes = [Fraction(spike) for spike in values["spikes"]], [Fraction(one) for one in values["gradient"]]
    assumes = assuming(
        Hypothesis("spikes", len(spikes), "=", 2),
        *two_clients(values),
        Hypothesis("theta_2, against -theta_1", spikes[-1], "=", -spikes[0]),
        Hypothesis("own errors", Fraction(values["noise_square"]), "=", 0),
        Hypothesis("r", int(values["rank"]), "=", 1),
        Hypothesis("least slope", min(map(abs, slopes)), ">", 0),
    )
    overlap = 1 - (Fraction(values["noise"]) / max(spikes)) ** 2
    drop, printed = overlap / 2 - overlap, printed_quotient(values, 1) - printed_quotient(values, 2)
    return Violation(abs(drop - printed), 0, assumes=assumes, reads="|lim E(C_1 - C_2) - g(1)|")
