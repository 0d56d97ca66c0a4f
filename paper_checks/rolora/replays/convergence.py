"""Replays of the claims in ``convergence``, in fractions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from paper_checks.enclosures import enclosed, rational_root
from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.rolora.replays.gradient import MANY_SAMPLES, learning_rate
from paper_checks.rolora.replays.minimiser import thresholds
from paper_checks.stored_values import Values, fractions


def first_step(values: Values) -> Violation:
    """One client in the plane, by the law of the samples: a lower bound of the probability of failure.

    With T = z / chi_m (z normal) and R = chi^2_(m-1) / m, independent, the step leads to a + 2 s s_bar delta R u, s_bar
    = c + delta T. P(|T| > r) <= (1 + r^2)^(-m/2), and by Chebyshev R is within r of 1 but for 2 (m-1) / (m r - 1)^2.
    With T within 1/50 of 0 and R within 1/75 of 1 every step fails: the new squared sine grows with the move.
    """
    s, sine = fractions(values, "s", "sine")
    at = thresholds(values)
    m, (e_0, e_1, e_2) = at.m, at.e
    assumes = assuming(
        *at.assumes,
        *learning_rate(s),
        Hypothesis("delta_0", sine, ">", 0),
        Hypothesis("delta_0", sine, "<", 1),
        Hypothesis("eps', against (1 - delta_0^2)/16", e_2 / ((1 - e_0) * (1 - e_1)), "<", (1 - sine**2) / 16),
        Hypothesis("eps~ of eps_3 = eps_2, likewise", e_2 / (1 - e_0), "<", (1 - sine**2) / 16),
        Hypothesis("N, for which the law is exact", int(values["N"]), "=", 1),
        Hypothesis("d", int(values["d"]), "=", 2),
        Hypothesis("samples, for Chebyshev", m, ">", 75),
    )
    cosine = rational_root(1 - sine**2)
    low, high = (
        2 * s * (cosine + sine * T) * sine * R
        for T, R in ((Fraction(-1, 50), Fraction(74, 75)), (Fraction(1, 50), Fraction(76, 75)))
    )
    least = (cosine * low - sine) ** 2 / (1 + high**2)
    # Both readings of the bracket in (9).
    most = max(sine**2 * (1 - s * bracket) for bracket in (1 - sine**2, (1 - sine) ** 2))
    x, n = Fraction(1, 2500), m // 2  # (1 + x)^n >= 1 + n x + n (n - 1) x^2 / 2
    missed = 1 / (1 + n * x + n * (n - 1) * x**2 / 2) + 2 * (m - 1) / (Fraction(m, 75) - 1) ** 2
    assumes += (
        Hypothesis("cosine times the least step, against delta_0: it passes a*", cosine * low, ">=", sine),
        Hypothesis("least squared sine after the step, against both bounds", least, ">", most),
    )
    return Violation(
        1 - missed,
        2 * at.q[0] ** -10,
        assumes=assumes,
        given={"m": m},
        reads="s = eta |b*|^2, |b*| = 1, delta_0 = sine, eps_3 = eps_2, one client, m = C q samples; a "
        "lower bound of the probability that delta_1 is above the bound, which tends to 1 with more "
        "samples, and 2 q^-10",
    )


lem_5_3_as_printed = replay("rolora/lem-5.3")(first_step)
as_in_80 = replay("rolora/lem-5.3@as-in-80")(first_step)


@dataclass(frozen=True)
class End:
    """A run of the least T for infinitely many samples.

    Attributes:
        square: squared sine after T iterations.
        eps: the accuracy.
        assumes: what is assumed.
        reads: how the stored values are read, and T.
    """

    square: Fraction
    eps: Fraction
    assumes: tuple[Hypothesis, ...]
    reads: str


def end(values: Values) -> End:
    """The end of the run, by the exact recursion of the squared tangent."""
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
    return End(
        tangent / (1 + tangent),
        eps,
        assumes,
        f"s = eta |b*|^2, delta_0 = sine, eps = target; {MANY_SAMPLES}; the theorem asks for "
        f" T >= 2 log(delta_0/eps) / (c (1 - delta_0^2)): T = {most}",
    )


def tied_end(values: Values) -> End:
    """The same where c is that of the step."""
    found = end(values)
    s, c = fractions(values, "s", "c")
    return replace(found, assumes=(*found.assumes, Hypothesis("c, against eta |b*|^2", c, "=", s)))


def missed_angle(found: End) -> Violation:
    """Squares of the angle distance and of the accuracy."""
    return Violation(
        found.square,
        found.eps**2,
        assumes=found.assumes,
        reads=f"{found.reads}; squares of sin theta(a^T, a*) and of eps",
    )


def missed_loss(found: End) -> Violation:
    """The loss in expectation over the data is the squared sine, in units of |b*|^2."""
    return Violation(
        found.square,
        (1 + found.eps) * found.eps**2,
        assumes=found.assumes,
        reads=f"{found.reads}; loss over |b*|^2, which is sin^2 theta(a^T, a*), and its bound (1 + eps) eps^2",
    )


@replay("rolora/thm-5.4")
def thm_5_4_as_printed(values: Values) -> Violation:
    """The angle after T iterations."""
    found = end(values)
    return missed_angle(found)


@replay("rolora/thm-5.4@c-of-the-step")
def thm_5_4_tied(values: Values) -> Violation:
    """The angle after T iterations, where c is that of the step."""
    found = tied_end(values)
    return missed_angle(found)


@replay("rolora/thm-5.4@some-c")
def thm_5_4_some(values: Values) -> Violation:
    r"""The angle after T iterations at the largest step.

    There the squared tangent u becomes $u((1 - u)/(1 + 3u))^2$, so that 1/u grows by 8 in the limit: u falls like
    1/(8t), and any constant times $\log(\delta_0/\epsilon)$ is too few iterations for small $\epsilon$.
    """
    found = end(values)
    (s,) = fractions(values, "s")
    found = replace(
        found,
        assumes=(*found.assumes, Hypothesis("eta |b*|^2, the largest", s, "=", 1)),
        reads=f"{found.reads}, the squared tangent falls like 1/(8t), so that for any other c a smaller eps fails too",
    )
    return missed_angle(found)


@replay("rolora/s5-rolora-loss")
def s5_rolora_loss_as_printed(values: Values) -> Violation:
    """The loss after T iterations."""
    found = end(values)
    return missed_loss(found)


@replay("rolora/s5-rolora-loss@c-of-the-step")
def s5_rolora_loss_tied(values: Values) -> Violation:
    """The loss after T iterations, where c is that of the step."""
    found = tied_end(values)
    return missed_loss(found)
