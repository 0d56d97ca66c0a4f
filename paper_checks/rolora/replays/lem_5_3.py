"""Lemma 5.3, which is Lemma A.11: how an iteration contracts the angle.

Setting: `shared.contraction`.
"""

from __future__ import annotations

from fractions import Fraction

from paper_checks.enclosures import rational_root
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.rolora.replays.shared.concentration import GRADIENT_WORDS, enough_for_gradient, enough_for_minimisers
from paper_checks.rolora.replays.shared.contraction import (
    FIXED_WORDS,
    fixed_samples,
    near_identity,
    on_events,
    unlimited,
)
from paper_checks.rolora.replays.shared.own_samples import learning_rate
from paper_checks.rolora.replays.shared.thresholds import thresholds
from paper_checks.stored_values import Values, fractions


@proof("rolora/lem-5.3", {**FIXED_WORDS, **GRADIENT_WORDS})
def lem_5_3(
    limit: Fraction = Fraction(1, 2),
    threshold: Fraction = Fraction(1, 10),
    share: Fraction = Fraction(3, 10),
    factor: Fraction = Fraction("0.743"),
    samples: Fraction = Fraction(100),
    printed: Fraction = Fraction(1, 16),
    more: Fraction = Fraction(1, 20),
    alpha: Fraction = Fraction(3, 5),
    beta: Fraction = Fraction(7, 20),
) -> str:
    r"""The events, fixed samples, infinitely many samples, and the factor at the largest step for $\delta^0 = 0.28$.

    The events have the stated probability by the proofs of Lemmas A.9 and A.10, with $\epsilon_2$ for $\epsilon_3$
    (so that $\tilde\epsilon \le \epsilon'$), and fixed samples by singular values.
    """
    enough_for_minimisers(samples)
    enough_for_gradient(samples, alpha, beta)
    near_identity(samples, share, printed)
    on_events(limit, threshold)
    fixed_samples(share, more)
    unlimited()
    cosine = 1 - Fraction(28, 100) ** 2
    square = (1 - 2 * cosine) ** 2 / (1 + 4 * cosine * (1 - cosine))
    require(abs(square - factor**2) < Fraction(1, 1000) * factor, "the first factor")
    return (
        r"on the events, the signs of polynomials in $1 - (\delta^0)^2$ give the bound; for fixed samples, "
        "the sign of a polynomial in its root and the step does; for infinitely many samples, it follows from a "
        "function that is concave in the squared cosine"
    )


def first_step(values: Values) -> Violation:
    """One client in the plane, by the law of the samples: a lower bound on the probability of failure.

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
        reads="one client has m = C q samples, |b*| = 1, s = eta |b*|^2, delta_0 = sine and eps_3 = eps_2. We compare "
        "a lower bound on the probability that delta_1 is above the bound, which tends to 1 with more samples, with 2 "
        "q^-10",
    )


lem_5_3_as_printed = replay("rolora/lem-5.3")(first_step)

as_in_80 = replay("rolora/lem-5.3@as-in-80")(first_step)
