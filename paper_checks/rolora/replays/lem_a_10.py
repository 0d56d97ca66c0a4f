"""Lemma A.10: the gradient against its expectation, and its samples (eqs. (48), (77)).

Setting: `shared.concentration`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.enclosures import enclose
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.rolora.replays.shared.concentration import (
    EULER,
    GRADIENT_WORDS,
    LOG_2,
    enough_for_gradient,
    enough_for_minimisers,
    enough_of_thresholds,
    interval,
    near_identity,
    normal_quotient,
    surely,
)
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
        "Lemma A.9 as corrected and Chernoff's bounds for two fixed vectors, for any number "
        "of clients and dimensions; constants by intervals"
    )


@proof("rolora/lem-A.10@with-the-m-of-lemma-a-9", GRADIENT_WORDS)
def lem_A_10_thresholds(
    columns: Fraction = Fraction(300),
    every: Fraction = Fraction(520),
    every_more: Fraction = Fraction(1450),
    samples: Fraction = Fraction(100),
    alpha: Fraction = Fraction(3, 5),
    beta: Fraction = Fraction(7, 20),
) -> str:
    r"""For a independent of the samples two columns, for every a the whole of the mean Gram matrix.

    The first, with a smaller threshold $\tau$ than $\epsilon_3$: let $\tau = \min\{1, \tilde\epsilon\frac{\epsilon'}{1
    + \epsilon'}\}$ and $K = 300(1 + \ell)\max\{1, \epsilon_2^2/\tau^2\}$. Where $|T| \le \epsilon'$ and both columns,
    $(\bar S - I)a$ and $(\bar S - I)u$, are at most $\tau$ long, the deviation of the gradient from (49) is at most
    $2\tau(1 + \epsilon')^2\delta \le 2\tilde\epsilon(\epsilon'^2 + \epsilon')\delta$ in units of $\|b^*\|^2$, as in the
    proof of Lemma A.10 with $\tau$ for $\epsilon_3$. $Nm\tau^2 \ge Kq\tau^2 \ge 300(1 + \ell)q\epsilon_2^2$, so that
    each of the two fails with probability at most $q^{-10}$.

    The second: where $\|S_i - I\|_{op} \le \rho$ for every client, $\rho = \min\{\epsilon_2/\sqrt2,
    \frac12\tilde\epsilon(\epsilon'^2 + \epsilon')\}$, every unit vector a has $|T| \le \rho/\sqrt{1 - \rho^2} \le
    \epsilon'$ and a deviation of at most $2|\bar s|\delta\rho\sqrt{1 + T^2} \le 2\delta\rho/(1 - \rho^2) \le
    4\delta\rho$, as $|\bar s| \le \sqrt{1 + T^2}$. That fails with probability at most $q^{-10}$ for K of $520 +
    1450\ell$ times $\epsilon_2^2/(2\rho^2)$, by the last part.
    """
    level, tilde = sympy.symbols("level tilde", positive=True)
    normal_quotient()
    enough_for_gradient(samples, alpha, beta)
    enough_of_thresholds(samples, alpha, columns)
    near_identity(every, every_more)
    same = sympy.expand((1 + level) ** 2 * tilde * level / (1 + level) - tilde * (level**2 + level))
    require(sympy.simplify(same) == 0, "the threshold of the columns")
    return (
        "Lemma A.9 in this reading and Chernoff's bounds for two fixed vectors, with a smaller threshold for these; "
        f"constants by intervals; K = {columns}(1 + l), for every a {every} + "
        f"{every_more} l, times what the thresholds ask for, l = -log min(eps_1, eps_2)"
    )


@replay("rolora/lem-A.10")
def lem_A_10_as_printed(values: Values) -> Violation:
    """One client, delta = 3/5: a lower bound of the probability that the printed bound fails, against 2 q^-10.

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
        reads="one client, eps_3 = eps_2, m = C q samples, delta = 3/5; a lower bound of the probability of failure, "
        "whether (49) or the mean over all samples is meant, which for every C tends to 1 as eps_2 to 0, and 2 q^-10",
    )


@replay("rolora/lem-A.10@constant-of-the-thresholds")
def lem_A_10_few(values: Values) -> Violation:
    """Three samples of each client, delta = 3/5: a lower bound of the probability that (44) fails.

    z, w are X a, X u of all clients, n = 3N entries; the clients' T_i = z_i'w_i/|z_i|^2 have the density 2/pi (1 +
    t^2)^-2, so that P(T_1 >= x) > 1/(19 x^3) for x >= 1. With T_1 >= T N, and the sum of the others not negative, the
    mean is at least T. Across the plane of a and a* the deviation is 2 delta s |mean z - w| |g| / n, s = c + delta
    mean, with a normal g of d - 2 entries that z and w are independent of; both expectations are 0 there. |z|^2 >= 0.49
    n by the other clients, |w|^2 <= 2 n and |g|^2 >= (d - 2)/2 but for exp(-(n - 3)/11), exp(-n/7) and exp(-(d - 2)/11)
    (Chernoff).
    """
    e_0, e_1, e_2, e_3, K, T = fractions(values, "eps_0", "eps_1", "eps_2", "eps_3", "K", "T")
    N, m, d = (int(values[name]) for name in ("N", "m", "d"))
    n, net = N * m, enclose("ln", 2 / e_0)
    level, tilde = e_2 / ((1 - e_0) * (1 - e_1)), e_3 / (1 - e_0)
    far = (Fraction(3, 5) * T * (Fraction(7, 10) * T - Fraction(1415, 1000))) ** 2 * Fraction(d - 2, 2) / n
    assumes = assuming(
        *(Hypothesis(f"eps_{k}", eps, ">", 0) for k, eps in enumerate((e_0, e_1, e_2, e_3))),
        *(Hypothesis(f"eps_{k}", eps, "<", 1) for k, eps in enumerate((e_0, e_1, e_2, e_3))),
        Hypothesis("d", d, ">", 2),
        Hypothesis("m, for that law", m, "=", 3),
        Hypothesis("n, for 0.49 n", n, ">=", 150),
        Hypothesis("N m, against K d log(2/eps_0)/eps_3^2", n, ">=", K * d * net[1] / e_3**2),
        Hypothesis("T, for the tail and a positive distance", T, ">=", 3),
        Hypothesis("squared deviation, over that of (44)", far / (tilde * (level**2 + level)) ** 2, ">", 1),
    )
    rest = sum((enclose("exp", -Fraction(k, f))[1] for k, f in ((n - 3, 11), (n, 7), (d - 2, 11))), Fraction(0))
    q = max(enclose("ln", N)[0] / min(e_1, e_2) ** 2, d * net[0] / e_2**2)
    return Violation(
        1 / (38 * (T * N) ** 3) - rest,
        2 * q**-10,
        assumes=assumes,
        given={"q": q},
        reads="m samples of each client, N m >= K d log(2/eps_0)/eps_3^2, delta = 3/5; a lower bound of "
        "the probability of failure, by that of one client's minimiser so far out that their mean is T "
        "delta off, and 2 q^-10; for any K a larger T and d do the same",
    )


@replay("rolora/eq-48")
def eq_48(values: Values) -> Violation:
    """One client with the same samples in both steps, along a, in units of |b*|^2.

    b = s b* solves a' S (s a - a*) = 0, so that a' grad = 2 s a' S (s a - a*) = 0 on all samples. The right side is
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
        reads="one client, cosine alpha of the angle of a and a*, |b*| = 1, m samples; mean along a of "
        "the right side of (49), 2 (1 - alpha^2) / (m - 2), where the left side is 0",
    )


@proof("rolora/eq-77")
def eq_77(factor: Fraction = Fraction(100), C: Fraction = Fraction(4)) -> str:
    r"""The three inequalities that hold.

    $\log2 + d\log(1 + 2/\epsilon_0) - c_5n\epsilon_3^2 \le \log2 + (2 - c_5f)dL < -Cd$ for $n\epsilon_3^2 \ge fdL$:
    $L \ge \log2$ and $d \ge 2$ decide; $Cd > 10\log d$ as $\log d \le d/e$. The last: $d^{-10} + q^{-10} \le
    2\min\{q, d\}^{-10}$. For $\epsilon_2 \le 0.8$, $q \ge d\log2/\epsilon_2^2 > d$, so that (79) itself fails.
    """
    f, rest = interval(factor), interval(C)
    c5 = (1 - LOG_2) / 2
    room = (c5 * f - 2) * LOG_2 - rest
    require(surely(room) and surely(2 * room - LOG_2) and surely(rest - 10 / EULER), "the exponents")
    require(surely(LOG_2 / interval("16/25") - 1), "q above d")
    return "exponents by intervals, for any dimensions and thresholds"


@replay("rolora/eq-77")
def eq_77_as_printed(values: Values) -> Violation:
    """Evaluate the last inequality, of (79): d^-10 < q^-10, that is q < d."""
    at = thresholds(values)
    return Violation(
        at.q[0], int(values["d"]), assumes=at.assumes, strict=True, reads="q, from below, against d: (79) needs q < d"
    )
