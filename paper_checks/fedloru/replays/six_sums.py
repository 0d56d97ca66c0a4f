"""Replays of the claims in ``six_sums``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions


def ratio(theta: Fraction, first: Fraction, n: Fraction) -> Fraction:
    """The square of g(theta)/g(theta_1), both written out."""
    return ((theta**2 + n**2) / theta) ** 2 / ((first**2 + n**2) / first) ** 2


def edge(first: Fraction, n: Fraction) -> Fraction:
    """The square of U/g(theta_1), both written out."""
    return 4 * n**2 / ((first**2 + n**2) / first) ** 2


def spectrum(values: Values) -> tuple[list[Fraction], Fraction, Fraction, str]:
    """Spikes, both noise scales, and an assumption that is not met."""
    spikes = [Fraction(spike) for spike in values["spikes"]]
    client, server = fractions(values, "client", "server")
    met = client > server > 0 and max(spikes) > client and max(spikes) >= max(-spike for spike in spikes)
    return spikes, client, server, "" if met else "s_N < s_M, theta_1 an outlier at M and the largest in modulus"


@replay("fedloru-v1/proof-3.3-sets")
def proof_3_3_sets(values: Values) -> Violation:
    """Outliers counted on the side that the witness names."""
    spikes, client, server, unmet = spectrum(values)
    sign = 1 if values["end"] == "positive" else -1
    at_M, at_N = (Fraction(sum(sign * spike > n for spike in spikes)) for n in (client, server))
    left, right = (at_M, at_N) if sign > 0 else (at_N, at_M)
    reads = "a_M against a_N" if sign > 0 else "b_N against b_M"
    return Violation(left, right, strict=True, unmet=unmet, reads=f"{reads}, which should be greater")


@replay("fedloru-v1/eq-35")
def eq_35(values: Values) -> Violation:
    """The named sum, term by term."""
    spikes, client, server, unmet = spectrum(values)
    first, (side, part) = max(spikes), str(values["sum"]).split(": ")
    sign, extra = (1, int(values["alpha"])) if side == "positive" else (-1, int(values["beta"]))
    own = sorted((spike for spike in spikes if sign * spike > 0), key=abs, reverse=True)
    total = Fraction(0)
    for place in range(len(own) + extra):
        theta = own[place] if place < len(own) else Fraction(0)
        out_M, out_N = abs(theta) > client, abs(theta) > server
        if part == "outliers at both" and out_M and theta != first:
            total += ratio(theta, first, client) - ratio(theta, first, server)
        if part == "outliers at N only" and out_N and not out_M:
            total += edge(first, client) - ratio(theta, first, server)
        if part == "at the edge" and not out_N:
            total += edge(first, client) - edge(first, server)
    return Violation(
        total, Fraction(0), strict=True, unmet=unmet, reads=f"sum '{part}' against 0, which should be greater"
    )


@replay("fedloru-v1/Gj")
def gj(values: Values) -> Violation:
    """F_j from its definition with sigma s_M = 1."""
    first, theta, server = fractions(values, "theta_1", "theta_j", "server")
    F = ratio(theta, first, Fraction(1)) - ratio(theta, first, server)
    unmet = "" if 0 < server < theta <= 1 < first else "sigma s_N < theta_j <= sigma s_M < theta_1"
    return Violation(F, Fraction(0), strict=True, unmet=unmet, reads="F_j against 0, which should be greater")


@replay("fedloru-v1/S3")
def s3(values: Values) -> Violation:
    """The sum term by term, against the printed prefactor times the bracket."""
    spikes, client, server, unmet = spectrum(values)
    first, bracket = max(spikes), edge(max(spikes), client) - edge(max(spikes), server)
    p, alpha = sum(spike > 0 for spike in spikes), int(values["alpha"])
    a_N = sum(spike > server for spike in spikes)
    summed = sum((edge(first, client) - edge(first, server) for _ in range(a_N + 1, p + alpha + 1)), Fraction(0))
    return Violation(abs(summed - (p + alpha - a_N - 1) * bracket), Fraction(0), unmet=unmet,
                     reads="|S_3 - (p + alpha - a_N - 1) bracket|")  # fmt: skip
