"""Replays of the claims in ``eigenvectors``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.fedloru.replays.edges import noise
from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v2/def-phi")
def def_phi_as_printed(values: Values) -> Violation:
    r"""Eq. (5) of the paper: the square tends to $1 - n^2/\theta^2$; the printed limit, squared, is something else."""
    theta, sigma, s = fractions(values, "theta", "sigma", "s")
    square = 1 - (sigma * s / theta) ** 2
    assumes = [*noise(sigma, s), Hypothesis("|theta|, an outlier's", abs(theta), ">", sigma * s)]
    return Violation(
        abs(square - square**2),
        0,
        assumes=assumes,
        reads="|limit of the squared overlap by eq. (5) - square of the printed limit|",
    )


@replay("fedloru-v2/lem-A.6")
def lem_A_6_as_printed(values: Values) -> Violation:
    r"""The cosine of an angle that tends to $\phi$ tends to one between $1 - \phi^2/2$ and $1 - \phi^2/2 + \phi^4/24$.

    By eq. (5) the square of the cosine tends to $\phi^2$.
    """
    theta, sigma, s = fractions(values, "theta", "sigma", "s")
    square = 1 - (sigma * s / theta) ** 2
    assumes = [*noise(sigma, s), Hypothesis("|theta|, an outlier's", abs(theta), ">", sigma * s)]
    low, high = 1 - square / 2, 1 - square / 2 + square**2 / 24
    return Violation(
        max(square - high**2, low**2 - square),
        0,
        assumes=assumes,
        reads="|phi^2 - cos(phi)^2|, from below: the limit of the squared overlap by eq. (5), and that of an angle "
        "that tends to phi",
    )


@replay("fedloru-v2/claim-overlap-mono@sets-by-condition")
def claim_overlap_mono_as_read(values: Values) -> Violation:
    r"""A spike below both thresholds: it meets $g_N^{-1}(\theta) > U_N$, and no eigenvector leans towards it.

    For $|\theta| \le \sigma s$ the overlap of the extreme eigenvector tends to 0, by the stored proof of eq. (5).
    """
    theta, sigma, s_M, s_N = fractions(values, "theta", "sigma", "s_M", "s_N")
    known = assuming(*noise(sigma, s_N), Hypothesis("theta", theta, ">", 0))
    assumes = [
        *known,
        Hypothesis("s_N, against s_M", s_N, "<", s_M),
        Hypothesis("s_M", s_M, "<", 1),
        Hypothesis("theta, against sigma s_N", theta, "<", sigma * s_N),
        Hypothesis("g_N^{-1}(theta), against U_N", theta + (sigma * s_N) ** 2 / theta, ">", 2 * sigma * s_N),
    ]
    at_M, at_N = (max(1 - (sigma * s / theta) ** 2, Fraction(0)) for s in (s_M, s_N))
    return Violation(
        at_M,
        at_N,
        strict=True,
        assumes=assumes,
        reads="limit of the squared overlap at M against that at N, which should be greater",
    )


@replay("fedloru-v2/assump-bulk")
def assump_bulk_as_printed(values: Values) -> Violation:
    r"""Weighted moments of the bulk, unit noise: those of the spike's direction v less the part of its outlier.

    $\langle v, Hv\rangle \to \theta$ and $|Hv|^2 \to \theta^2 + 1$ by the law of large numbers; the outlier has the
    weight of eq. (5). Uniform weights have the moments of the semicircle, 0 and 1.
    """
    theta, power = Fraction(values["theta"]), int(values["power"])
    assumes = assuming(
        Hypothesis("theta, an outlier's at unit noise", theta, ">", 1),
        Hypothesis("power", power, ">=", 1),
        Hypothesis("power", power, "<=", 2),
    )
    moment, weight = (theta, theta**2 + 1)[power - 1], 1 - 1 / theta**2
    weighted = (moment - weight * (theta + 1 / theta) ** power) / (1 - weight)
    return Violation(
        abs(weighted - (power - 1)),
        0,
        assumes=assumes,
        reads="one spike theta, sigma s_N = 1, power of the bulk eigenvalues: |their mean weighted by the "
        "squared overlaps with v - that for uniform weights|",
    )
