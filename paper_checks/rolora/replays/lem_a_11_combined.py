"""Appendix A.3, proof of Lemma A.11: both parts together (eqs. (116) to (122)).

Setting: `shared.contraction`.

Setting: `shared.contraction_steps`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy
from mpmath import iv

from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.rolora.replays.shared.concentration import EULER, LOG_2, interval, surely
from paper_checks.rolora.replays.shared.contraction import D, on_events, positive
from paper_checks.rolora.replays.shared.contraction_steps import first_order_is_at_most, h, slope_on_the_event, zero
from paper_checks.rolora.replays.shared.expected_loss import N, m
from paper_checks.rolora.replays.shared.moments import PRODUCT, SCALE, alpha, chi_square_means
from paper_checks.rolora.replays.shared.moments import mean as own_moment
from paper_checks.rolora.replays.shared.one_step import threshold
from paper_checks.rolora.replays.shared.own_samples import learning_rate
from paper_checks.stored_values import Values, fractions


def slope_in_the_mean() -> None:
    r"""(116) holds for the mean over all samples of Algorithm 2.

    For $m \ge \max\{q, 3\}$ of them $a^\top E[\nabla_al] = \frac{4(N - 1)}{N^2m(m-2)}(\delta^t)^2\|b^*\|^2$, by the
    moments of Appendix A.4.1, and twice that is at most $4\epsilon'\|b^*\|^2$: $\frac{N-1}{N^2} \le \frac14$, $m - 2
    \ge \frac m3$, and $m \ge q \ge 2\log2/\epsilon_2^2 > 1/\epsilon_2^2$ with $\epsilon_2 < \epsilon'$.
    """
    chi_square_means()
    one, square = own_moment(SCALE), own_moment(SCALE**2)
    product, both = own_moment(PRODUCT), own_moment(SCALE * PRODUCT)
    others = N - 1
    # E of b^2 |z_1|^2 and of b z_1'(X_1 a*), b the mean of the s_i.
    squares = (both + 2 * others * one * product + m * (others * square + others * (N - 2) * one**2)) / N**2
    slope = 2 / m * (squares - (both + others * one * product) / N)
    stated = 4 * others / (N**2 * m * (m - 2)) * (1 - alpha**2)
    require(sympy.simplify(slope - stated) == 0, "the mean")
    require(sympy.expand(N**2 - 4 * others - (N - 2) ** 2) == 0, "the clients")
    # 8 (N - 1) / (N^2 m (m - 2)) <= 8 / 4 * 3 / m^2 <= 6 eps_2^4 / (2 log 2)^2 <= 4 eps_2.
    require(surely(4 * (2 * LOG_2) ** 2 - 6), "the samples")


def slope_by_itself(samples: Fraction) -> None:
    r"""(116) holds with probability $1 - 2q^{-10}$ for $m \ge Cq$, by itself.

    Let $\|b^*\| = 1$, $S_i = X_i^\top X_i/m$, $Q_i = a^\top S_ia$ and $b_i = c + \delta T_i$. $a^\top\nabla_al = 2\bar
    b\delta K$ with $K = \frac1N\sum_i(\bar T - T_i)Q_i = \frac1N\sum_i(\bar T - T_i)(Q_i - 1)$. Where all $\|S_i -
    I\|_{op} \le \rho$, for every unit vector a $(S_i - I)a$ lies in a ball of radius $\rho$: $|Q_i - 1| \le \rho$ and
    $|T_i| \le e = \rho/\sqrt{1 - \rho^2}$, so $|K| \le \rho e$ (the mean of $|T_i - \bar T|$ is at most the root
    of their variance) and $|\bar b|\delta \le \sqrt{1 + e^2}$. With $\rho^2 = \frac12\epsilon_2$: $|a^\top\nabla_al|
    \le 2\rho^2/(1 - \rho^2) \le 2\epsilon_2 \le 2\epsilon'$, and (105) gives (116). The singular values of $X_i$ are
    within $\sqrt d + t$ of $\sqrt m$ but for a probability of $2e^{-t^2/2}$ (Davidson and Szarek). Where $d \le
    \frac1{25}\rho^2m$, $t = \frac15\rho\sqrt m$ keeps that to $z\sqrt m$, $z = \frac25\rho$, and $2z + z^2 \le \rho$:
    it fails at some client with probability at most $2Ne^{-\rho^2m/50} = 2Ne^{-\epsilon_2m/100}$. With $\epsilon_2q \ge
    \epsilon_2^2q \ge \max\{\log N, d\log2, 2\log2\}$, $\epsilon_2q \ge \sqrt{2\log2}\sqrt q$ and $\log q \le
    \frac2e\sqrt q$ that is at most $2q^{-10}$ for $\frac C{100} \ge 1 + \frac{20}{e\sqrt{2\log2}}$.
    """
    Q, T = sympy.symbols("Q:3"), sympy.symbols("T:3")
    both, scale, fit = (sum(terms) / 3 for terms in ([x * y for x, y in zip(Q, T, strict=True)], Q, T))
    K = sum((fit - y) * (x - 1) for x, y in zip(Q, T, strict=True)) / 3
    require(zero(scale * fit - both - K), "the slope")
    rho, C, z = sympy.Symbol("rho", positive=True), interval(samples), sympy.Rational(2, 5)
    e2 = rho**2 / (1 - rho**2)
    both_squared = rho**2 * e2 * (1 + e2) - (rho**2 / (1 - rho**2)) ** 2
    require(sympy.cancel(both_squared) == 0, "the length")
    # eps_2 - rho^2 / (1 - rho^2) at rho^2 = eps_2 / 2 and eps_2 = 1 / (1 + h)
    half = 1 / (1 + h) / 2
    require(non_negative(sympy.cancel((2 * half - half / (1 - half)) * (1 + h) * (1 + 2 * h))), "the threshold")
    require(2 * z + z**2 <= 1, "the distance")
    require(surely(C / 50 * LOG_2 - 1), "the dimensions")
    require(surely(C / 100 - 1 - 20 / (EULER * iv.sqrt(2 * LOG_2))), "the samples")


@proof("rolora/eq-116")
def eq_116(
    first: Fraction = Fraction(4),
    second: Fraction = Fraction(4),
    one: Fraction = Fraction(1),
    samples: Fraction = Fraction(730),
) -> str:
    r"""On the events: (106), (107) to (109) with $\tilde\epsilon$, and (110) to (115). By itself: for $m \ge 730q$.

    The first takes (49) for the expectation; for that over all samples, $2\eta a^\top E[\nabla_al]$ is even smaller.
    The second does not follow from it: an absolute constant in $m = \Omega(q)$ does not give the events this
    probability. It holds at every unit vector a at once, with fresh samples in each iteration or the same in all.
    """
    first_order_is_at_most(first, one)
    slope_on_the_event(1)
    require(second >= 4, "the second factor")
    slope_in_the_mean()
    slope_by_itself(samples)
    return "we use (106), (115), (109) with the threshold of (116), and the singular values of N clients"


@replay("rolora/eq-117", step="eta |b*|^2", delta="delta_t = delta_0", eps="eps'", tilde="eps~")
def eq_117_as_printed(values: Values) -> Violation:
    """(E_1 + E_2)/|a+| is not negative, and its bound C delta is, by the sign of its numerator."""
    s, delta, eps, tilde = fractions(values, "step", "delta", "eps", "tilde")
    D, shift = 1 - delta**2, tilde * (1 + eps) ** 2
    under = 1 - 4 * s * (shift + eps**2 + eps)
    assumes = (
        *learning_rate(s),
        Hypothesis("delta_t = delta_0", delta, ">", 0),
        Hypothesis("delta_t = delta_0", delta, "<", 1),
        *threshold("eps'", eps, D),
        *threshold("eps~", tilde, D),
        Hypothesis("the condition on the thresholds, D", D, ">", max(4 * (shift + eps**2 + eps), 2 * eps + 2 * shift)),
        Hypothesis("what is under the root of C", under, ">", 0),
    )
    return Violation(
        0,
        1 - 2 * s * (D - eps) + 2 * s * shift,
        assumes=assumes,
        given={"E_1 over delta at b = g": abs(1 - 2 * s * D)},
        reads="with D = 1 - delta^2, E_1 + E_2 is at least 0. We compare 0 with the numerator of C, which is 1 - 2 "
        "step (D - eps) + 2 step tilde (1 + eps)^2",
    )


@proof("rolora/eq-117")
def eq_117(limit: Fraction = Fraction(1, 2), threshold: Fraction = Fraction(1, 16)) -> str:
    r"""Units and $\beta = \|\bar b\|^2$ as in the setting, $\sigma = \tilde\epsilon(1 + \epsilon')^2$, on the events.

    (117). $D - \epsilon' \le \beta \le 1 + \epsilon'^2$. So $1 - 2s\beta \le 1 - 2s(D - \epsilon')$; and $2s\beta - 1
    \le 1 - 2s(D - \epsilon')$ as well, because $s(\beta + D - \epsilon') \le \frac12(1 + \epsilon'^2 + D - \epsilon')
    \le 1$: (101) holds without its bars. $E_2 \le 2s\sigma\delta^t$ is (76) times s. The sum of both bounds is
    $\delta^t$ times the numerator of C, and $\|\hat a^+\|^2 \ge 1 - 4s(\sigma + \epsilon'^2 + \epsilon')$ is (116).

    The condition. With both thresholds at most $\frac D{16}$ and $D \le 1$, $\sigma \le \frac D{16}(\frac{17}{16})^2$;
    so $2\epsilon' + 2\sigma$ and $4(\sigma + \epsilon'^2 + \epsilon')$ are less than D.

    (119) and (120) are the same expression. (121): by the condition the numerator is at most $1 - 2sD + sD$, and what
    is under the root at least $1 - sD > 0$. (122): $\frac x{\sqrt x} = \sqrt x$.
    """
    level = threshold * D
    require(positive(sympy.expand(1 - limit * (1 + level**2 + D - level)), (D,), strict=False), "the bars")
    on_events(limit, threshold)
    return r"we use the signs of polynomials in $1 - (\delta^0)^2$"
