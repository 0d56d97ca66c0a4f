"""Replays of the claims in ``minimiser``."""

from __future__ import annotations

from mpmath import ceil, erfc, exp, log, log1p, mp, mpf, sqrt

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values


def thresholds(values: Values) -> tuple[list[mpf], mpf, mpf, str]:
    """Thresholds, q, the fewest samples m >= C q, and what is not met."""
    mp.dps = 60
    e = [mpf(str(values[f"eps_{k}"])) for k in (0, 1, 2)]
    N, d, C = (mpf(str(values[name])) for name in ("N", "d", "C"))
    sound = all(0 < one < 1 for one in e) and N >= 1 and d >= 2 and int(N) == N and d == int(d) and C > 0
    q = max(log(N) / min(e[1], e[2]) ** 2, d * log(2 / e[0]) / e[2] ** 2)
    return e, q, ceil(C * q), "" if sound and q > 1 else "thresholds in (0, 1), whole N and d >= 2, q > 1"


@replay("rolora/lem-A.9")
def lem_A_9(values: Values) -> Violation:
    """One client: the minimiser is off by delta |b*| |z| / chi_m, z normal and independent of chi_m.

    Phi(-x chi) is convex in chi and E chi_m <= sqrt(m), so that the bound fails with probability at least
    2 Phi(-eps' sqrt(m)) = erfc(eps' sqrt(m/2)).
    """
    e, q, m, unmet = thresholds(values)
    if values["N"] != 1:
        unmet = "one client, for which the law is exact"
    level = e[2] / ((1 - e[0]) * (1 - e[1]))
    return Violation(
        float(log(erfc(level * sqrt(m / 2)))), float(-10 * log(q)), error=1e-9, unmet=unmet,
        reads="m = C q samples; logarithms of a lower bound of the probability of failure, and of q^-10",
    )  # fmt: skip


@replay("rolora/eq-43")
def eq_43(values: Values) -> Violation:
    """The first inequality: N p_0 against exp(-4 q), with the largest constants that (18) and (29) allow."""
    e, q, m, unmet = thresholds(values)
    if values["inequality"] != 1:
        unmet = "the first inequality"
    golden = (sqrt(mpf(5)) - 1) / 2
    c1, c3 = mpf(16) / 9, golden + log(golden) / 2
    net = mpf(str(values["d"])) * log1p(2 / e[0]) - c3 * e[2] ** 2 * m
    lower = -c1 * e[1] ** 2 * m * mpf(9) / 64
    top = max(net, lower)
    left = log(mpf(str(values["N"]))) + top + log(2 * exp(net - top) + exp(lower - top))
    return Violation(
        float(left),
        float(-4 * q),
        error=1e-6,
        unmet=unmet,
        reads="m = C q samples; logarithms of N p_0 and of exp(-4 q)",
    )
