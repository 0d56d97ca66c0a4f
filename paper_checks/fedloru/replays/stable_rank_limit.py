"""Replays of the claims in ``stable_rank_limit``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, fractions

NOISES = {"client": "sigma s_M", "server": "sigma s_N"}


def sample_sizes(values: Values) -> list[Hypothesis]:
    """The assumptions of Theorem 3.2; client and server are sigma s_M and sigma s_N."""
    client, server = fractions(values, "client", "server")
    return [
        Hypothesis("sigma s_N", server, ">", 0),
        Hypothesis("sigma s_N, against sigma s_M", server, "<", client),
        Hypothesis("|theta_0|, against sigma s_M", max(abs(Fraction(x)) for x in values["spikes"]), ">=", client),
    ]


BOUNDS = "theta_0^2 + n^2 <= lim ||H||^2 <= (|theta_0| + 2 n)^2, n = sigma s"


def limits(values: Values, noise: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    r"""Bounds on the limit of the stable rank over R, and the printed one, $4n^2/g^{-1}(\theta_0)^2$.

    The squared Frobenius norm over R tends to $n^2$ (law of large numbers). The spectral norm has a limit of at most
    $|\theta_0| + 2n$ (Weyl; Bai and Yin) and, squared, of at least that of $|Hv|^2$ for the direction v of $\theta_0$,
    $\theta_0^2 + n^2$ (law of large numbers for a row of the noise).
    """
    theta = max(abs(Fraction(spike)) for spike in values["spikes"])
    low, high = noise**2 / (theta + 2 * noise) ** 2, noise**2 / (theta**2 + noise**2)
    return low, high, 4 * noise**2 / (theta + noise**2 / theta) ** 2


@replay("fedloru-v2/eq-36", **NOISES)
def eq_36_as_printed(values: Values) -> Violation:
    """The expected squared Frobenius norm over R from the entry variances of eq. (1), against the printed numerator."""
    noise, R, spikes = Fraction(values["client"]), int(values["R"]), [Fraction(spike) for spike in values["spikes"]]
    expected = (sum(spike**2 for spike in spikes) + R * R * noise**2 / R) / R
    outliers = [spike + noise**2 / spike for spike in spikes]
    printed = (sum(g**2 for g in outliers) + (R - len(spikes)) * 4 * noise**2) / Fraction(R)
    return Violation(
        abs(printed - expected),
        noise**2,
        assumes=sample_sizes(values),
        reads="at M, with N_u + N_l = R - p - q: |printed numerator - E ||H||_F^2| / R against sigma^2 s_M^2",
    )


@replay("fedloru-v2/eq-36-conv", **NOISES)
def eq_36_conv_as_printed(values: Values) -> Violation:
    """The printed stable rank over R less the largest that the stable rank over R can tend to."""
    _, high, printed = limits(values, Fraction(values["client"]))
    return Violation(
        printed - high, 0, assumes=sample_sizes(values), reads=f"at M: lim |srank^ - srank| / R from below, by {BOUNDS}"
    )


def gap_and_printed(values: Values) -> tuple[Fraction, Fraction]:
    """The largest that the gap of the stable ranks over R can tend to, and the gap of the printed ones."""
    client, server = (limits(values, Fraction(values[who])) for who in ("client", "server"))
    return client[1] - server[0], client[2] - server[2]


@replay("fedloru-v2/eq-37", **NOISES)
def eq_37_as_printed(values: Values) -> Violation:
    """The gap of the printed stable ranks over R less that of the stable ranks over R."""
    gap, printed = gap_and_printed(values)
    return Violation(
        printed - gap,
        0,
        assumes=sample_sizes(values),
        reads=f"lim |gap of srank^ - gap of srank| / R from below, by {BOUNDS}",
    )


@replay("fedloru-v2/thm-3.2", **NOISES)
def thm_3_2_as_printed(values: Values) -> Violation:
    """The printed lower bound over R (the sum over spikes is of order 1/R) against the gap of the stable ranks over R.

    By eq. (43) that bound tends to the gap of the printed stable ranks.
    """
    gap, bound = gap_and_printed(values)
    return Violation(
        bound,
        gap,
        assumes=sample_sizes(values),
        reads="limit of the printed lower bound / R against the largest that lim gap / R can be",
    )
