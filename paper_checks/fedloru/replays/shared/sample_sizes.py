"""The assumptions of Theorem 3.2 at two sample sizes, and bounds on the limits of the stable ranks."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis
from paper_checks.stored_values import Values, fractions

NOISES = {"client": "sigma s_M", "server": "sigma s_N"}


def sample_sizes(values: Values) -> list[Hypothesis]:
    """Return the assumptions of Theorem 3.2; client and server are sigma s_M and sigma s_N."""
    client, server = fractions(values, "client", "server")
    return [
        Hypothesis("sigma s_N", server, ">", 0),
        Hypothesis("sigma s_N, against sigma s_M", server, "<", client),
        Hypothesis("|theta_0|, against sigma s_M", max(abs(Fraction(x)) for x in values["spikes"]), ">=", client),
    ]


def limits(values: Values, noise: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    r"""Bounds on the limit of the stable rank over R, and the printed one, $4n^2/g^{-1}(\theta_0)^2$.

    The squared Frobenius norm over R tends to $n^2$ (law of large numbers). The spectral norm has a limit of at most
    $|\theta_0| + 2n$ (Weyl; Bai and Yin) and, squared, of at least the limit of $|Hv|^2$ for the direction v of
    $\theta_0$, $\theta_0^2 + n^2$ (law of large numbers for a row of the noise).
    """
    theta = max(abs(Fraction(spike)) for spike in values["spikes"])
    low, high = noise**2 / (theta + 2 * noise) ** 2, noise**2 / (theta**2 + noise**2)
    return low, high, 4 * noise**2 / (theta + noise**2 / theta) ** 2


def gap_and_printed(values: Values) -> tuple[Fraction, Fraction]:
    """Return the largest that the gap of the stable ranks over R can tend to, and the gap of the printed ones."""
    client, server = (limits(values, Fraction(values[who])) for who in ("client", "server"))
    return client[1] - server[0], client[2] - server[2]
