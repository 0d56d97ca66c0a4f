"""Replays of the claims in ``convergence``, in fractions."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from paper_checks.enclosures import enclosed, rational_root
from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.rolora.replays.gradient import learning_rate
from paper_checks.stored_values import Values, fractions


def first_step(values: Values) -> Violation:
    """One client in the plane, by the law of the samples: a lower bound of the probability of failure.

    With T = z / chi_m (z normal) and R = chi^2_(m-1) / m, independent, the step leads to a + 2 s s_bar delta R u, s_bar
    = c + delta T. P(|T| > r) <= (1 + r^2)^(-m/2), and by Chebyshev R is within r of 1 but for 2 (m-1) / (m r - 1)^2.
    With T within 1/50 of 0 and R within 1/75 of 1 every step fails: the new squared sine grows with the move.
    """
    s, sine, q = fractions(values, "s", "sine", "q")
    m = int(values["samples"])
    assumes = assuming(
        *learning_rate(s),
        Hypothesis("delta_0", sine, ">", 0),
        Hypothesis("delta_0", sine, "<", 1),
        Hypothesis("q", q, ">", 2),
        Hypothesis("samples, against q", m, ">=", q),
        Hypothesis("samples, for Chebyshev", m, ">", 75),
    )
    cosine = rational_root(1 - sine**2)
    low, high = (2 * s * (cosine + sine * T) * sine * R for T, R in ((Fraction(-1, 50), Fraction(74, 75)),
                                                                     (Fraction(1, 50), Fraction(76, 75))))  # fmt: skip
    least = (cosine * low - sine) ** 2 / (1 + high**2)
    # Both readings of the bracket in (9).
    most = max(sine**2 * (1 - s * bracket) for bracket in (1 - sine**2, (1 - sine) ** 2))
    x, n = Fraction(1, 2500), m // 2  # (1 + x)^n >= 1 + n x + n (n - 1) x^2 / 2
    missed = 1 / (1 + n * x + n * (n - 1) * x**2 / 2) + 2 * (m - 1) / (Fraction(m, 75) - 1) ** 2
    assumes += (
        Hypothesis("least move, beyond the minimiser", cosine * low, ">=", sine),
        Hypothesis("least squared sine after the step, against both bounds", least, ">", most),
    )
    return Violation(1 - missed, 2 * q**-10, assumes=assumes,
                     reads="s = eta |b*|^2, delta_0 = sine, one client; at least this share of first steps is too "
                     "small, and 2 q^-10")  # fmt: skip


lem_5_3 = replay("rolora/lem-5.3")(first_step)
as_in_80 = replay("rolora/lem-5.3@as-in-80")(first_step)

UNLIMITED = "s = eta |b*|^2, delta_0 = sine, eps = target, unlimited samples, the least T for c"


def end(values: Values) -> tuple[Fraction, Fraction, tuple[Hypothesis, ...]]:
    """Squared sine after T iterations for infinitely many samples, eps, and what is assumed."""
    s, c, sine, eps = fractions(values, "s", "c", "sine", "target")
    assumes = assuming(
        *learning_rate(s),
        Hypothesis("c", c, ">", 0),
        Hypothesis("c", c, "<", 1),
        Hypothesis("eps", eps, ">", 0),
        Hypothesis("eps, against delta_0", eps, "<", sine),
        Hypothesis("delta_0", sine, "<", 1),
    )
    least, most = (ceil(2 / (c * (1 - sine**2)) * log) for log in enclosed("ln", sine / eps))
    if least != most or most > 6:
        raise ValueError(f"{least} to {most} iterations are not followed in fractions")
    tangent = sine**2 / (1 - sine**2)  # squared
    for _ in range(most):
        tangent *= ((1 + tangent - 2 * s) / (1 + tangent + 2 * s * tangent)) ** 2
    return tangent / (1 + tangent), eps, assumes


def angle_at_the_end(values: Values) -> Violation:
    """The exact recursion of the squared tangent."""
    square, eps, assumes = end(values)
    return Violation(square, eps**2, assumes=assumes, reads=f"{UNLIMITED}; squares of sin theta(a^T, a*) and of eps")


thm_5_4 = replay("rolora/thm-5.4")(angle_at_the_end)


def tied_end(values: Values) -> tuple[Fraction, Fraction, tuple[Hypothesis, ...]]:
    """The same where c is that of the step."""
    square, eps, assumes = end(values)
    s, c = fractions(values, "s", "c")
    return square, eps, (*assumes, Hypothesis("c, against eta |b*|^2", c, "=", s))


@replay("rolora/thm-5.4@c-of-the-step")
def thm_5_4_tied(values: Values) -> Violation:
    """The same where c is that of the step."""
    square, eps, assumes = tied_end(values)
    return Violation(square, eps**2, assumes=assumes, reads=f"{UNLIMITED}; squares of sin theta(a^T, a*) and of eps")


@replay("rolora/s5-rolora-loss")
def s5_rolora_loss(values: Values) -> Violation:
    """The loss in expectation over the data is the squared sine, in units of |b*|^2."""
    square, eps, assumes = end(values)
    return Violation(square, (1 + eps) * eps**2, assumes=assumes, reads=f"{UNLIMITED}; loss and its bound")


@replay("rolora/s5-rolora-loss@c-of-the-step")
def s5_rolora_loss_tied(values: Values) -> Violation:
    """The same loss where c is that of the step."""
    square, eps, assumes = tied_end(values)
    return Violation(square, (1 + eps) * eps**2, assumes=assumes, reads=f"{UNLIMITED}; loss and its bound")
