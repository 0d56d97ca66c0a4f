"""Replays of the claims in ``convergence``."""

from __future__ import annotations

from fractions import Fraction

from mpmath import ceil, iv, log, mp, mpf

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values


@replay("rolora/lem-5.3")
def lem_5_3(values: Values) -> Violation:
    """One client in the plane, by the law of the samples: a lower bound of the probability of failure.

    With T = z / chi_m (z normal) and R = chi^2_(m-1) / m, independent, the step leads to a + 2 s s_bar delta R u, s_bar
    = c + delta T. P(|T| > r) <= (1 + r^2)^(-m/2), and by Chebyshev R is within r of 1 but for 2 (m-1) / (m r - 1)^2.
    With T within 1/50 of 0 and R within 1/75 of 1 every step fails, by interval arithmetic.
    """
    iv.dps, mp.dps = 30, 30
    s, sine, q = (iv.mpf(str(values[name])) for name in ("s", "sine", "q"))
    m = int(values["samples"])
    T, R = iv.mpf([-1, 1]) / 50, 1 + iv.mpf([-1, 1]) / 75
    across = 2 * s * (iv.sqrt(1 - sine**2) + sine * T) * sine * R
    after = (sine - iv.sqrt(1 - sine**2) * across) ** 2 / (1 + across**2)
    # Both readings of the bracket in (9) must fail.
    fails = all(after.a > (sine**2 * (1 - s * bracket)).b for bracket in (1 - sine**2, (1 - sine) ** 2))
    missed = (1 + mpf(1) / 2500) ** (-mpf(m) / 2) + 2 * mpf(m - 1) / (mpf(m) / 75 - 1) ** 2
    met = 0 < float(values["s"]) <= 1 and 0 < float(values["sine"]) < 1 and m >= float(values["q"]) > 2 and m > 75
    unmet = "" if met else "a step of at most 1/|b*|^2, and m >= q"
    return Violation(
        float(1 - missed) if fails else 0.0, float((2 * q**-10).b), error=1e-9, unmet=unmet,
        reads="s = eta |b*|^2, delta_0 = sine, one client; at least this share of first steps is too small, and 2 "
        "q^-10",
    )  # fmt: skip


UNLIMITED = "c = s = eta |b*|^2, delta_0 = sine, eps = target, unlimited samples, the least T"


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
    return Violation(
        float(square),
        float(eps**2),
        error=1e-30,
        unmet=unmet,
        reads=f"{UNLIMITED}; squares of sin theta(a^T, a*) and of eps",
    )


@replay("rolora/s5-rolora-loss")
def s5_rolora_loss(values: Values) -> Violation:
    """The loss in expectation over the data is the squared sine, in units of |b*|^2."""
    square, eps, unmet = end(values)
    return Violation(
        float(square), float((1 + eps) * eps**2), error=1e-30, unmet=unmet, reads=f"{UNLIMITED}; loss and its bound"
    )
