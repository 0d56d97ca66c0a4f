"""Replays of the claims in ``gradient``."""

from __future__ import annotations

from mpmath import log, mp, mpf, sqrt

from paper_checks.replay import Violation, replay
from paper_checks.rolora.replays.minimiser import thresholds
from paper_checks.stored_values import Values


@replay("rolora/lem-A.10")
def lem_A_10(values: Values) -> Violation:
    """One client, delta = 3/5: a lower bound of the probability that the printed bound fails, against 2 q^-10.

    Across a, in the plane of a and a*, the deviation is 2 delta s |R - 1| |b*|^2, m R a chi-square of m - 1 degrees of
    freedom independent of s; and |s - 4/5| <= eps' 3/5 with probability at least 1 - (1 + eps'^2)^(-m/2).
    """
    e, q, m, unmet = thresholds(values)
    if values["N"] != 1:
        unmet = "one client, for which the law is exact"
    tilde, level = e[2] / (1 - e[0]), e[2] / ((1 - e[0]) * (1 - e[1]))
    room = tilde * (level**2 + level) / (mpf(4) / 5 - level * mpf(3) / 5)
    k = (m - 1) / 2
    # The chi-square within the room: far from it the density is at most its mode, 1/sqrt(8 pi (k - 1)) (Stirling).
    within = 2 * room * m / sqrt(8 * mp.pi * (k - 1))
    # The event on s fails with probability at most (1 + eps'^2)^(-m/2).
    outside = mp.e ** (-m / 2 * mp.log1p(level**2))
    probability = (1 - min(mpf(1), within)) - outside
    if probability <= 0 or k < 2 or not 0 < room < 1:
        unmet = unmet or "thresholds so small that the density of chi-square decides"
        probability = mpf(10) ** -300
    return Violation(
        float(log(probability)), float(log(2) - 10 * log(q)), error=1e-9, unmet=unmet,
        reads="eps_3 = eps_2, m = C q samples, delta = 3/5; logarithms of a lower bound of the probability of "
        "failure, and of 2 q^-10",
    )  # fmt: skip


@replay("rolora/eq-77")
def eq_77(values: Values) -> Violation:
    """The last inequality: d^-10 < q^-10, that is q < d."""
    _, q, _, unmet = thresholds(values)
    if values["line"] != 79:
        unmet = "the last inequality"
    return Violation(float(q), float(values["d"]), error=1e-9, unmet=unmet, strict=True, reads="q against d")
