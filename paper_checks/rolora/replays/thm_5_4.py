"""Theorem 5.4: linear convergence of RoLoRA, its step and its constant.

Setting: `shared.contraction`.

Setting: `shared.expected_loss`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

import sympy

from paper_checks.enclosures import enclose
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.rolora.replays.shared.contraction import (
    FIXED_WORDS,
    D,
    fixed_samples,
    near_identity,
    on_events,
    u,
    unlimited,
)
from paper_checks.rolora.replays.shared.expected_loss import expected_loss
from paper_checks.rolora.replays.shared.iterations import one_iteration
from paper_checks.rolora.replays.shared.own_samples import MANY_SAMPLES, learning_rate
from paper_checks.stored_values import Values, fractions


@proof("rolora/thm-5.4", FIXED_WORDS)
def thm_5_4(
    limit: Fraction = Fraction(1, 2),
    threshold: Fraction = Fraction(1, 10),
    fixed: Fraction = Fraction(3, 10),
    normal: Fraction = Fraction(5),
    samples: Fraction = Fraction(100),
    printed: Fraction = Fraction(1, 16),
    more: Fraction = Fraction(1, 20),
) -> str:
    r"""Every iteration contracts, by Lemma 5.3 as corrected.

    On fresh samples both events of an iteration fail with probability at most $2\max\{\log N, d\}^{-10}$, the event of
    Lemma A.9 at $a^T$ with half of it; the probabilities add up. So $\delta^T \le \delta^0(1 - y)^{T/2} \le
    \delta^0e^{-yT/2} \le \epsilon$ with $y = s(1 - (\delta^0)^2)$. $a^T(b^{T+1} - g)^\top$ and $(I -
    a^Ta^{T\top})a^*b^{*\top}$ are orthogonal, of norms at most $\epsilon'\delta^T$ (the event of Lemma A.9 at $a^T$; e
    instead of $\epsilon'$ for fixed samples) and $\delta^T$: together at most $\sqrt{1 + \epsilon'^2}\,\epsilon \le (1
    + \epsilon')\epsilon$. Normal samples: the singular values of $X_i$ are within $\sqrt d + t$ of $\sqrt m$ with
    probability at least $1 - 2e^{-t^2/2}$ (Davidson and Szarek), so $\|S_i - I\| \le 2z + z^2$ with $z = (\sqrt d
    + t)/\sqrt m$; $t^2 = 2\log(2N/p)$ and $mz^2 \le m\rho^2/C$.
    """
    on_events(limit, threshold)
    fixed_samples(fixed, more)
    # 2z + z^2 <= rho for z = rho / sqrt(C): 2 / sqrt(C) <= 1 - rho / C at the largest rho.
    require(normal > fixed and 4 / normal <= (1 - fixed / normal) ** 2, "the number of samples")
    near_identity(samples, fixed, printed)
    return (
        "we apply the corrected Lemma 5.3 in every iteration; the error of the product is a sum of two orthogonal "
        "parts; the known bound on the singular values of normal samples gives their number"
    )


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
    """Return the end of the run, by the exact recursion of the squared tangent."""
    s, c, sine, eps = fractions(values, "s", "c", "sine", "target")
    assumes = assuming(
        *learning_rate(s),
        Hypothesis("c", c, ">", 0),
        Hypothesis("c", c, "<", 1),
        Hypothesis("eps", eps, ">", 0),
        Hypothesis("eps, against delta_0", eps, "<", sine),
        Hypothesis("delta_0", sine, "<", 1),
    )
    least, most = (ceil(2 / (c * (1 - sine**2)) * log) for log in enclose("ln", sine / eps))
    if least != most or most > 6:
        raise ValueError(f"{least} to {most} iterations are not followed in fractions")
    tangent = sine**2 / (1 - sine**2)  # squared
    for _ in range(most):
        tangent *= ((1 + tangent - 2 * s) / (1 + tangent + 2 * s * tangent)) ** 2
    return End(
        tangent / (1 + tangent),
        eps,
        assumes,
        f"s = eta |b*|^2, delta_0 = sine and eps = target. We take {MANY_SAMPLES}. The theorem requires T >= 2 "
        f"log(delta_0/eps) / (c (1 - delta_0^2)), so we take T = {most}",
    )


def missed_angle(found: End) -> Violation:
    """Return the squares of the angle distance and of the accuracy."""
    return Violation(
        found.square,
        found.eps**2,
        assumes=found.assumes,
        reads=f"{found.reads}. We compare the square of sin theta(a^T, a*) with the square of eps",
    )


@replay("rolora/thm-5.4")
def thm_5_4_as_printed(values: Values) -> Violation:
    """Evaluate the angle after T iterations."""
    found = end(values)
    return missed_angle(found)


def tied_end(values: Values) -> End:
    """Return the end of the run where c is given by the step."""
    found = end(values)
    s, c = fractions(values, "s", "c")
    return replace(found, assumes=(*found.assumes, Hypothesis("c, against eta |b*|^2", c, "=", s)))


@replay("rolora/thm-5.4@c-of-the-step")
def thm_5_4_tied(values: Values) -> Violation:
    """Evaluate the angle after T iterations, where c is given by the step."""
    found = tied_end(values)
    return missed_angle(found)


def missed_loss(found: End) -> Violation:
    """Compare the loss in expectation over the data, the squared sine in units of |b*|^2, with the statement."""
    return Violation(
        found.square,
        (1 + found.eps) * found.eps**2,
        assumes=found.assumes,
        reads=f"{found.reads}. We compare the loss over |b*|^2, which is sin^2 theta(a^T, a*), with its bound (1 + "
        "eps) eps^2",
    )


@replay("rolora/s5-rolora-loss")
def s5_rolora_loss_as_printed(values: Values) -> Violation:
    """Evaluate the loss after T iterations."""
    found = end(values)
    return missed_loss(found)


@replay("rolora/s5-rolora-loss@c-of-the-step")
def s5_rolora_loss_tied(values: Values) -> Violation:
    """Evaluate the loss after T iterations, where c is given by the step."""
    found = tied_end(values)
    return missed_loss(found)


@proof("rolora/s5-rolora-loss")
def s5_rolora_loss(four: Fraction = Fraction(4), two: Fraction = Fraction(2), fewest: Fraction = Fraction(4)) -> str:
    r"""The expectation of Proposition 5.5 at $a^T$, with $\delta^T \le \epsilon$ by Theorem 5.4 as corrected.

    Its second term has the sign of $N(4 - m) - 2 < 0$ for $m \ge 4$. The loss caused by the angle is its first,
    $\|b^*\|^2(\delta^T)^2$, and Theorem 5.4 as corrected has a T for every $\epsilon$.
    """
    expected_loss(four, two)
    require(fewest >= four and two > 0, "the number of samples")
    return (
        "we use the expected loss of Proposition 5.5 at the last a; its second term is negative for 4 or more samples"
    )


@proof("rolora/s5-rolora-loss@at-recovery")
def at_recovery(four: Fraction = Fraction(4), two: Fraction = Fraction(2), fewest: Fraction = Fraction(4)) -> str:
    r"""With $\delta^T \le \epsilon$ given, the expectation of Proposition 5.5 at $a^T$ is the statement.

    Its second term has the sign of $N(4 - m) - 2$, which is negative for $m \ge 4$, so nothing is added to the
    squared sine. That more iterations make $\epsilon$ arbitrarily small is [Theorem 5.4 as
    corrected](rolora--thm-5.4.md), on samples that are near enough to the identity once for all iterations.
    """
    return str(s5_rolora_loss.evaluate(four, two, fewest))


@proof("rolora/a4-c@c-of-the-step", FIXED_WORDS)
def a4_c(
    limit: Fraction = Fraction(1, 2),
    share: Fraction = Fraction(3, 10),
    printed: Fraction = Fraction(1, 16),
    samples: Fraction = Fraction(100),
    more: Fraction = Fraction(1, 20),
) -> str:
    r"""Fixed samples near the identity, c = s up to 1/2; with unlimited ones that too, for larger c the step 1/2.

    With unlimited samples $(1 - D)(1 + u(1-u)) - (1-u)^2 = (u - D)(1 + u(1-u)) + (1-u)u(2-u)$ is not negative for $D
    \le u \le 1$.
    """
    near_identity(samples, share, printed)
    fixed_samples(share, more)
    require(limit <= Fraction(1, 2), "a step")
    unlimited()
    left = (1 - D) * (1 + u * (1 - u)) - (1 - u) ** 2
    right = (u - D) * (1 + u * (1 - u)) + (1 - u) * u * (2 - u)
    require(sympy.expand(left - right) == 0, "half the step")
    return r"we use the signs of polynomials, and for $m \ge 100q$ singular values give the probability"


a4_c_as_printed = replay("rolora/a4-c")(one_iteration)
