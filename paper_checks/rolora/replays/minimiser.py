"""Replays of the claims in ``minimiser``, in fractions between which the logarithms are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from paper_checks.enclosures import enclosed
from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, fractions


@dataclass(frozen=True)
class Thresholds:
    """Thresholds of Appendix A.2, fractions below and above q, the fewest samples m >= C q, and what is assumed."""

    e: tuple[Fraction, Fraction, Fraction]
    q: tuple[Fraction, Fraction]
    m: int
    assumes: tuple[Hypothesis, ...]


def thresholds(values: Values) -> Thresholds:
    """Reads a setting.

    Raises:
        ValueError: the fewest samples are not decided by the fractions around q.
    """
    e_0, e_1, e_2, C = fractions(values, "eps_0", "eps_1", "eps_2", "C")
    N, d = int(values["N"]), int(values["d"])
    assumes = assuming(
        *(Hypothesis(f"eps_{k}", eps, ">", 0) for k, eps in enumerate((e_0, e_1, e_2))),
        *(Hypothesis(f"eps_{k}", eps, "<", 1) for k, eps in enumerate((e_0, e_1, e_2))),
        Hypothesis("N", N, ">=", 1),
        Hypothesis("d", d, ">=", 2),
        Hypothesis("C", C, ">", 0),
    )
    low, high = (
        max(clients / min(e_1, e_2) ** 2, d * net / e_2**2)
        for clients, net in zip(enclosed("ln", N), enclosed("ln", 2 / e_0), strict=True)
    )
    if ceil(C * low) != ceil(C * high):
        raise ValueError("samples are not decided")
    return Thresholds((e_0, e_1, e_2), (low, high), ceil(C * high), assumes)


@replay("rolora/eq-26")
def eq_26_as_printed(values: Values) -> Violation:
    """The exponent of (28) at an angle of w and b* over that for w along b*; that of (29) is the same for both.

    The norm of a summand is the cosine times the norm k of the product of two independent normal variables, and k is at
    least E|zw| / log 2 = 2 / (pi log 2) > 9/10 (Jensen). While eps_2 <= k cosine the first term of (28) is the smaller.
    """
    cosine, e_2 = fractions(values, "cosine", "eps_2")
    assumes = assuming(
        Hypothesis("cosine of the angle of w and b*", cosine, ">", 0),
        Hypothesis("cosine of the angle of w and b*", cosine, "<", 1),
        Hypothesis("eps_2", e_2, ">", 0),
        Hypothesis("eps_2, for the first term of (28)", e_2, "<=", cosine * Fraction(9, 10)),
    )
    return Violation(
        cosine**-2 - 1,
        0,
        assumes=assumes,
        reads="the exponent of (28) for w at that angle to b* over that for w along b* is cosine^-2; that less 1, "
        "which is the same for (29), whose exponent is c_3 eps_2^2 m for every w",
    )


@replay("rolora/eq-32")
def eq_32_as_printed(values: Values) -> Violation:
    """At b* = 0 both v and K are 0, so that the event of (32) is 0 >= 0, and certain."""
    size, e_0, e_2, rate = fractions(values, "b", "eps_0", "eps_2", "c_3")
    d, m = int(values["d"]), int(values["m"])
    assumes = assuming(
        Hypothesis("|b*|, for which v = 0 and K = 0", size, "=", 0),
        *(Hypothesis(name, eps, ">", 0) for name, eps in (("eps_0", e_0), ("eps_2", e_2))),
        *(Hypothesis(name, eps, "<", 1) for name, eps in (("eps_0", e_0), ("eps_2", e_2))),
        Hypothesis("d", d, ">=", 2),
        Hypothesis("m", m, ">=", 1),
        Hypothesis("c_3", rate, ">", 0),
    )
    right = 2 * (1 + 2 / e_0) ** d * enclosed("exp", -rate * e_2**2 * m)[1]
    return Violation(1, right, assumes=assumes, reads="P(0 >= 0) and (35); for a smaller c_3 more samples do the same")


@replay("rolora/lem-A.9")
def lem_A_9_as_printed(values: Values) -> Violation:
    """One client: the minimiser is off by delta |b*| |z| / chi_m, z normal and independent of chi_m.

    erfc(x chi) is convex in chi and E chi_m <= sqrt(m), so that the bound fails with probability at least erfc(x), x =
    eps' sqrt(m/2), which is more than exp(-(x + 1)^2), from the integral over [x, x + 1] (on the page of the proof).
    """
    at = thresholds(values)
    one = Hypothesis("N, for which the law is exact", int(values["N"]), "=", 1)
    x = at.e[2] / ((1 - at.e[0]) * (1 - at.e[1])) * enclosed("sqrt", Fraction(at.m, 2))[1]
    return Violation(
        enclosed("exp", -((x + 1) ** 2))[0],
        at.q[0] ** -10,
        assumes=(*at.assumes, one),
        reads="one client, m = C q samples; exp(-(x + 1)^2) with x = eps' (m/2)^(1/2), which the probability of "
        "failure is at least, and q^-10; a smaller eps_2 leaves x as it is, whatever C is, and makes q as large as one "
        "likes",
    )


@replay("rolora/eq-43")
def eq_43_as_printed(values: Values) -> Violation:
    """The first inequality: N p_0 against exp(-4 q), with the largest constants that (18) and (29) allow.

    p_0 is at least twice its part of the net; c_3 is the golden ratio's inverse plus half its logarithm.
    """
    at = thresholds(values)
    golden = [(root - 1) / 2 for root in enclosed("sqrt", 5)]
    c3 = golden[1] + enclosed("ln", golden[1])[1] / 2
    net = int(values["d"]) * enclosed("ln", 1 + 2 / at.e[0])[0] - c3 * at.e[2] ** 2 * at.m
    return Violation(
        enclosed("ln", 2 * int(values["N"]))[0] + net,
        -4 * at.q[0],
        assumes=at.assumes,
        reads="m = C q samples, C the constant of Omega, c_3 at its largest; logarithms of N p_0, from below, and of "
        "exp(-4 q): a smaller eps_2 leaves the first and makes the second as small as one likes, whatever C is",
    )
