"""Replays of the claims in ``convergence``."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
from mpmath import ceil, log, mp, mpf

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values


@replay("rolora/lem-5.3")
def lem_5_3(values: Values) -> Violation:
    """One client in the plane, by the law of the samples: chi-squares in place of matrices, on a fresh stream.

    With s_bar = c + delta T, T = z / chi_m and R = chi^2_(m-1) / m the step leads to a + 2 s s_bar delta R u.
    """
    s, sine, m, q = (float(values[name]) for name in ("s", "sine", "samples", "q"))
    rng, draws, cosine = np.random.default_rng(20260101), 20_000, sqrt(1.0 - sine**2)
    T = rng.standard_normal(draws) / np.sqrt(rng.chisquare(m, draws))
    across = 2.0 * s * (cosine + sine * T) * sine * rng.chisquare(m - 1, draws) / m
    after = np.abs(sine - cosine * across) / np.sqrt(1.0 + across**2)
    # Both readings of the bracket in (9) must fail.
    limit = max(1.0 - s * (1.0 - sine**2), 1.0 - s * (1.0 - sine) ** 2)
    share = float(np.mean(after**2 > sine**2 * limit))
    unmet = "" if 0 < s <= 1 and 0 < sine < 1 and m >= q > 2 else "a step of at most 1/|b*|^2, and m >= q"
    return Violation(
        share, 2.0 * q**-10.0, error=5.0 / sqrt(draws), exact=False, unmet=unmet,
        reads="share of first steps that are too small, and 2 q^-10",
    )  # fmt: skip


def end(values: Values) -> tuple[mpf, mpf, str]:
    """Squared sine after T iterations for infinitely many samples, eps, and what is not met."""
    mp.dps = 60
    s, sine, target = (Fraction(values[name]) for name in ("s", "sine", "target"))
    unmet = "" if 0 < s < 1 and 0 < target < sine < 1 else "c = s in (0, 1), an accuracy below the first angle"
    c, start, eps = (mpf(x.numerator) / x.denominator for x in (s, sine, target))
    turns = int(ceil(2 / (c * (1 - start**2)) * log(start / eps)))
    tangent = start**2 / (1 - start**2)  # squared
    for _ in range(turns):
        tangent *= ((1 + tangent - 2 * c) / (1 + tangent + 2 * c * tangent)) ** 2
    return tangent / (1 + tangent), eps, unmet


@replay("rolora/thm-5.4")
def thm_5_4(values: Values) -> Violation:
    """The exact recursion of the squared tangent."""
    square, eps, unmet = end(values)
    return Violation(float(square), float(eps**2), error=1e-30, unmet=unmet, reads="squares of the sine and of eps")


@replay("rolora/s5-rolora-loss")
def s5_rolora_loss(values: Values) -> Violation:
    """The loss in expectation over the data is the squared sine, in units of |b*|^2."""
    square, eps, unmet = end(values)
    return Violation(float(square), float((1 + eps) * eps**2), error=1e-30, unmet=unmet, reads="loss and its bound")
