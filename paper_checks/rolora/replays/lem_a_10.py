"""Lemma A.10: the gradient against its expectation, and its samples (eqs. (48), (77)).

Setting: `shared.concentration`.
"""

from __future__ import annotations

from fractions import Fraction

from paper_checks.enclosures import enclose
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.rolora.replays.shared.concentration import (
    EULER,
    GRADIENT_WORDS,
    LOG_2,
    enough_for_gradient,
    enough_for_minimisers,
    interval,
    normal_quotient,
    surely,
)
from paper_checks.rolora.replays.shared.one_step import gradient_too_far
from paper_checks.rolora.replays.shared.thresholds import thresholds
from paper_checks.stored_values import Values, fractions


@proof("rolora/lem-A.10", GRADIENT_WORDS)
def lem_A_10(
    factor: Fraction = Fraction(20),
    samples: Fraction = Fraction(100),
    alpha: Fraction = Fraction(3, 5),
    beta: Fraction = Fraction(7, 20),
) -> str:
    r"""The minimisers as in Lemma A.9, and two columns of the mean Gram matrix.

    The deviation of the gradient is at most $2|\bar s|\delta(|T|\,\|(\bar S - I)a\| + \|(\bar S - I)u\|)$ in
    which both norms are at most $\epsilon_3$ but for a probability of $4e^{-\kappa K} + 2e^{-\lambda
    K} \le K^{-10}$. With K = d for this and Q for the minimisers both fail with at most $2d^{-10}$, as $Q \ge d$.
    """
    normal_quotient()
    enough_for_minimisers(factor)
    enough_for_gradient(samples, alpha, beta)
    return (
        "we use the corrected Lemma A.9 and Chernoff's bounds for two fixed vectors, for any number of clients and "
        "dimensions; interval arithmetic bounds the constants"
    )


@replay("rolora/lem-A.10")
def lem_A_10_as_printed(values: Values) -> Violation:
    """One client, delta = 3/5: a lower bound on the probability that the printed bound fails, against 2 q^-10.

    Across a, in the plane of a and a*, the gradient is -2 delta s R |b*|^2, m R a chi-square of m - 1 degrees of
    freedom independent of s, and its expectation a number, or by (49) -2 delta s |b*|^2. Given s, they are that near
    for a range of R, whose density is bounded; and |s - 4/5| <= eps' 3/5 but for a probability of at most (1 +
    eps'^2)^(-m/2), which is at most 1 / (1 + m eps'^2 / 2).
    """
    at = thresholds(values)
    enough = assuming(Hypothesis("samples, for the mode", at.m, ">=", 5))
    (e_0, e_1, e_2), m, k = at.e, at.m, Fraction(at.m - 1, 2)
    if e_2 >= (1 - e_0) * (1 - e_1):
        raise ValueError("thresholds too large for this bound")
    tilde, level = e_2 / (1 - e_0), e_2 / ((1 - e_0) * (1 - e_1))
    room = tilde * (level**2 + level) / (Fraction(4, 5) - level * Fraction(3, 5))
    # Far from the mode the density of chi-square is at most that at it, 1/sqrt(8 pi (k - 1)) (Stirling), pi > 3.
    within = 2 * room * m / enclose("sqrt", 24 * (k - 1))[0]
    outside = 1 / (1 + m * level**2 / 2)
    assumes = (*at.assumes, Hypothesis("N, for which the law is exact", int(values["N"]), "=", 1), *enough)
    return Violation(
        1 - within - outside,
        2 * at.q[0] ** -10,
        assumes=assumes,
        reads="one client has m = C q samples, eps_3 = eps_2 and delta = 3/5. A lower bound on the probability of "
        "failure, which is valid whether (49) or the mean over all samples is meant, tends to 1 for every C as eps_2 "
        "tends to 0. We compare this lower bound with 2 q^-10",
    )


@replay("rolora/lem-A.10@with-the-factor-of-76")
def lem_A_10_with_the_factor_of_76(values: Values) -> Violation:
    """The gradient misses its expectation by more than 2 tilde eps (1 + eps')^2 delta |b*|^2, eps_3 = eps_2."""
    return gradient_too_far(values, "76")


@replay("rolora/eq-48")
def eq_48(values: Values) -> Violation:
    """One client with the same samples in both steps, along a, in units of |b*|^2.

    b = s b* solves a' S (s a - a*) = 0, so a' grad = 2 s a' S (s a - a*) = 0 on all samples. The right side is
    2 (s - alpha) s with s = alpha + beta z'w/|z|^2 for independent normal z, w of m entries: 2 beta^2 E[1/|z|^2] on
    average, and the mean of 1/chi-square is 1/(m - 2).
    """
    (cosine,) = fractions(values, "alpha")
    m = int(Fraction(values["m"]))
    assumes = assuming(
        Hypothesis("m, for a finite mean", m, ">=", 3), Hypothesis("cosine of the angle", abs(cosine), "<", 1)
    )
    return Violation(
        2 * (1 - cosine**2) / (m - 2),
        0,
        assumes=assumes,
        reads="one client has m samples, |b*| = 1, and alpha is the cosine of the angle between a and a*. Along a the "
        "right side of (49) has the mean 2 (1 - alpha^2) / (m - 2). We compare it with the left side, which is 0",
    )


@proof("rolora/eq-77")
def eq_77(factor: Fraction = Fraction(100), C: Fraction = Fraction(4)) -> str:
    r"""The three inequalities that hold.

    $\log2 + d\log(1 + 2/\epsilon_0) - c_5n\epsilon_3^2 \le \log2 + (2 - c_5f)dL < -Cd$ for $n\epsilon_3^2 \ge fdL$:
    $L \ge \log2$ and $d \ge 2$ decide; $Cd > 10\log d$ as $\log d \le d/e$. The last: $d^{-10} + q^{-10} \le
    2\min\{q, d\}^{-10}$. For $\epsilon_2 \le 0.8$, $q \ge d\log2/\epsilon_2^2 > d$, so (79) itself fails.
    """
    f, rest = interval(factor), interval(C)
    c5 = (1 - LOG_2) / 2
    room = (c5 * f - 2) * LOG_2 - rest
    require(surely(room) and surely(2 * room - LOG_2) and surely(rest - 10 / EULER), "the exponents")
    require(surely(LOG_2 / interval("16/25") - 1), "q above d")
    return "interval arithmetic bounds the exponents, for any dimensions and thresholds"


@replay("rolora/eq-77")
def eq_77_as_printed(values: Values) -> Violation:
    """Evaluate the last inequality, of (79): d^-10 < q^-10, which means q < d."""
    at = thresholds(values)
    return Violation(
        at.q[0],
        int(values["d"]),
        assumes=at.assumes,
        strict=True,
        reads="(79) requires q < d. We compare a lower bound on q with d",
    )
