"""Appendix A.3 of v1 and iclr: the proof of Theorem 3.3 of v1."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.fedloru.replays.shared.sample_sizes import NOISES
from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, fractions


def spectrum(values: Values) -> tuple[list[Fraction], Fraction, Fraction, list[Hypothesis]]:
    """Return spikes, both noise scales, and what is assumed."""
    spikes = [Fraction(spike) for spike in values["spikes"]]
    client, server = fractions(values, "client", "server")
    assumes = [
        Hypothesis("sigma s_N", server, ">", 0),
        Hypothesis("sigma s_N, against sigma s_M", server, "<", client),
        Hypothesis("theta_1, an outlier at M", max(spikes), ">", client),
        Hypothesis("theta_(p+q)", min(spikes), "<", 0),
        Hypothesis("theta_1, against |theta_(p+q)|", max(spikes), ">", -min(spikes)),
    ]
    return spikes, client, server, assumes


@replay("fedloru-v1/proof-3.3-sets", **NOISES)
def proof_3_3_sets(values: Values) -> Violation:
    """Evaluate the negative outliers at both sample sizes, by the printed condition and by what leaves the bulk."""
    spikes, client, server, assumes = spectrum(values)
    by_limit = [sum(-spike > n for spike in spikes) for n in (client, server)]
    below = [spike for spike in spikes if spike < 0]
    by_condition = [sum(spike + n**2 / spike < -2 * n for spike in below) for n in (client, server)]
    more = min(at_N - at_M for at_M, at_N in (by_limit, by_condition))
    ways = (by_condition, "by the printed condition"), (by_limit, "by the eigenvalues that leave the bulk")
    told = (f"b_M = {at_M} and b_N = {at_N} {how}" for (at_M, at_N), how in ways)
    return Violation(
        more,
        0,
        strict=True,
        assumes=assumes,
        reads=f"{' and '.join(told)}. We compare the smaller b_N - b_M with 0; it should be negative",
    )


def edge(first: Fraction, n: Fraction) -> Fraction:
    """Return the square of U/g(theta_1), both written out."""
    return 4 * n**2 / ((first**2 + n**2) / first) ** 2


@replay("fedloru-v1/eq-35", **NOISES)
def eq_35(values: Values) -> Violation:
    """Sum over the positive end, term by term, what is at the edge at both sample sizes."""
    spikes, client, server, assumes = spectrum(values)
    first, alpha = max(spikes), int(values["alpha"])
    total = Fraction(0)
    for theta in [*(spike for spike in spikes if spike > 0), *[Fraction(0)] * alpha]:
        if theta <= server:
            total += edge(first, client) - edge(first, server)
    return Violation(
        total,
        0,
        strict=True,
        assumes=[*assumes, Hypothesis("alpha", alpha, ">=", 0)],
        reads="we compare the third sum, over the alpha eigenvalues at the upper edge and the spikes that stay there, "
        "with 0, which should be greater",
    )


def ratio(theta: Fraction, first: Fraction, n: Fraction) -> Fraction:
    """Return the square of g(theta)/g(theta_1), both written out."""
    return ((theta**2 + n**2) / theta) ** 2 / ((first**2 + n**2) / first) ** 2


@replay("fedloru-v1/Gj", server="sigma s_N")
def gj(values: Values) -> Violation:
    """Evaluate F_j from its definition with sigma s_M = 1."""
    first, theta, server = fractions(values, "theta_1", "theta_j", "server")
    F = ratio(theta, first, Fraction(1)) - ratio(theta, first, server)
    assumes = (
        Hypothesis("sigma s_N", server, ">", 0),
        Hypothesis("theta_j, against sigma s_N", theta, ">", server),
        Hypothesis("theta_j, against sigma s_M = 1", theta, "<", 1),
        Hypothesis("theta_1, against sigma s_M = 1", first, ">", 1),
    )
    return Violation(
        F, 0, strict=True, assumes=assumes, reads="with sigma s_M = 1, we compare F_j with 0, which should be greater"
    )


@replay("fedloru-v1/S3", **NOISES)
def s3(values: Values) -> Violation:
    """Compare the sum, term by term, with the printed prefactor times the bracket."""
    spikes, client, server, assumes = spectrum(values)
    first, bracket = max(spikes), edge(max(spikes), client) - edge(max(spikes), server)
    p, alpha = sum(spike > 0 for spike in spikes), int(values["alpha"])
    a_N = sum(spike > server for spike in spikes)
    summed = sum((edge(first, client) - edge(first, server) for _ in range(a_N + 1, p + alpha + 1)), Fraction(0))
    assumes.append(Hypothesis("alpha", alpha, ">=", 0))
    return Violation(
        abs(summed - (p + alpha - a_N - 1) * bracket),
        0,
        assumes=assumes,
        reads="we compute |S_3 - (p + alpha - a_N - 1) bracket|",
    )


@replay("fedloru-v1/S3@every-term-counted", **NOISES)
def s3_as_meant(values: Values) -> Violation:
    """Add the terms of S_3 one by one: the sum is said to be negative."""
    spikes, client, server, assumes = spectrum(values)
    first = max(spikes)
    p, alpha = sum(spike > 0 for spike in spikes), int(values["alpha"])
    a_N = sum(spike > server for spike in spikes)
    assumes.append(Hypothesis("alpha", alpha, ">=", 0))
    summed = sum((edge(first, client) - edge(first, server) for _ in range(a_N + 1, p + alpha + 1)), Fraction(0))
    return Violation(
        summed,
        0,
        assumes=assumes,
        given={"terms": p + alpha - a_N},
        reads="we compare S_3, which should be negative, with 0",
    )
