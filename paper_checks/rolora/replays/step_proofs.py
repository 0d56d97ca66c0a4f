r"""Proofs of the steps of Lemma A.11 that hold as printed, and of (109) as corrected, in any number of dimensions.

Units: $\eta$ times $\|b^*\|^2$ is s; $c = a^\top a^*$, $c^2 + (\delta^t)^2 = 1$, $g = cb^*$. On the event of Lemma A.9
$\|\bar b - g\| \le \epsilon'\delta^t\|b^*\|$, and on those of (42) and (62) the gradient deviates from its expectation
by at most (76).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy
from mpmath import iv

from paper_checks.proof_steps import non_negative
from paper_checks.replay import proof, require
from paper_checks.rolora.replays.concentration_proofs import (
    EULER,
    GRADIENT_WORDS,
    LOG_2,
    enough_for_gradient,
    enough_of_thresholds,
    interval,
    near_identity,
    normal_quotient,
    surely,
)
from paper_checks.rolora.replays.freezing_proofs import N, m
from paper_checks.rolora.replays.gradient_proofs import deviation
from paper_checks.rolora.replays.moment_proofs import PRODUCT, SCALE, alpha, chi_square_means
from paper_checks.rolora.replays.moment_proofs import mean as own_moment

level, tilde, h, s = sympy.symbols("level tilde h s", nonnegative=True)
"""The two thresholds, what a squared quantity lacks of its bound, and a step."""


def zero(expression: Any) -> bool:
    """Whether a polynomial is identically 0."""
    return bool(sympy.expand(expression) == 0)


@proof("rolora/eq-81@expectation-of-49")
def eq_81(factor: Fraction = Fraction(2), sign: int = 1) -> str:
    r"""For any vector G in the place of the gradient and $E = 2(a\bar b^\top - a^*b^{*\top})\bar b$, (49).

    (81) adds and subtracts $\eta E$, (82) applies P, which is linear, and (83) is (49). $E = 2(\bar b^\top\bar b)a -
    2(b^{*\top}\bar b)a^*$, and $Pa^* = a^* - a^*(a^{*\top}a^*) = 0$, so that $PE = 2(\bar b^\top\bar b)Pa$: (84). (85)
    collects the terms with Pa.
    """
    eta, bb, own, pa, pg, length = sympy.symbols("eta bb own pa pg length")  # b'b, b*'b, P a, P G, |a*|^2
    mean = 2 * (bb * pa - own * (1 - length))  # the second term in units of a*
    right = pa * (1 - factor * eta * bb) + sign * eta * (mean - pg)
    require(zero((pa - eta * pg - right).subs(length, 1)), "line 85")
    return r"the step as a combination of Pa and of what P makes of the gradient; $Pa^* = 0$"


@proof("rolora/eq-86@expectation-of-49")
def eq_86(second: Fraction = Fraction(1), factor: Fraction = Fraction(2)) -> str:
    r"""(86): (85) with (49), $\|Pa\| = \delta^t$, the triangle inequality, and a projection that lengthens nothing.

    (87) divides by $\|\hat a^+\| > 0$. $\|v\|^2 - \|Pv\|^2 = (v^\top a^*)^2 \ge 0$ for $P = I_d - a^*a^{*\top}$, and
    $\|Pv\|^2 = v^\top Pv$ because P is a projection. $\delta^{t+1}$ and $\delta^t$ are the norms of $P\hat a^+/\|\hat
    a^+\|$ and Pa. There is equality for equal gradients, and for a deviation along Pa if $\bar b = 0$.
    """
    vv, along, b2, s1, pa = sympy.symbols("vv along b2 s1 pa")  # |v|^2, v'a*, |b|^2, the step, P a
    require(zero(vv - (vv - 2 * along**2 + along**2) - along**2), "the projection")
    # P (a - s (E + dev)) with P E = 2 b'b P a: coefficients of P a and of P dev.
    step = pa * (1 - s1 * 2 * b2)
    require(zero(step - pa * (1 - s1 * factor * b2)), "the factor of Pa")
    require(second >= 1, "the deviation")
    return "the triangle inequality, and a projection"


@proof("rolora/eq-92@on-the-event-of-lemma-a-9")
def eq_92(share: Fraction = Fraction(1), power: Fraction = Fraction(2)) -> str:
    r"""The triangle inequality twice, $\|g\| = |c|\|b^*\|$, and the event.

    $\|(I_d - aa^\top)a^*\|^2 = 1 - 2c^2 + c^2$, so that $|c| = \sqrt{1 - (\delta^t)^2}$.
    """
    c, gap = sympy.symbols("c gap", nonnegative=True)
    delta = sympy.Symbol("delta", positive=True)
    squared_cosine = (1 - delta**power).subs(delta, sympy.sqrt(1 - c**2))
    require(sympy.simplify(squared_cosine - c**2) == 0, "the cosine")
    require(non_negative(share * (gap + h) - gap), "the event")  # gap + h = eps' delta
    return "the triangle inequality, and the length of g"


@proof("rolora/eq-96@on-the-event-of-lemma-a-9")
def eq_96(less: Fraction = Fraction(1), bound: Fraction = Fraction(1)) -> str:
    r"""With $x = (\delta^t)^2$: $1 - x \ge D = 1 - (\delta^0)^2$, and $\epsilon' < kD/16$, where k = 1 is printed.

    The root: $(\epsilon')^2x \le 1 - x$, as $D^2x \le (1 - x)^2x \le \frac14(1 - x)$ and $k \le 32$. (97) to (98):
    $2\delta^t\sqrt{1 - (\delta^t)^2} \le 1$. (98) to (99): $x \le (\delta^0)^2$ and a square. Squares keep the order of
    (95) because its right side is not negative.
    """
    x, y, D, more = sympy.symbols("x y D more", nonnegative=True)
    quarter = sympy.Rational(1, 4) - x * (1 - x) - (x - sympy.Rational(1, 2)) ** 2
    require(zero(quarter) and non_negative((D + more) ** 2 - D**2) and (bound / 16) ** 2 <= 4, "the root")
    # x^2 + y^2 = 1: 1 - 2 x y = (x - y)^2.
    require(zero(x**2 + y**2 - 2 * x * y - (x - y) ** 2) and less >= 1, "line 98")
    require(non_negative((D + more) + (level * x) ** 2 - level - (D - level)), "line 99")
    return "squares, and the order of the angles"


@proof("rolora/eq-102")
def eq_102(factor: Fraction = Fraction(2), quadratic: Fraction = Fraction(1)) -> str:
    r"""The square of a difference, $a^\top a = 1$, and a square that is not negative."""
    along, size = sympy.symbols("along size")  # a'grad and |grad|^2
    eta = sympy.Symbol("eta")
    square = 1 - 2 * eta * along + eta**2 * size
    require(zero(square - (1 - factor * eta * along + quadratic * eta**2 * size)), "line 103")
    require(non_negative(quadratic * s**2 * h), "line 104")
    return "the square in inner products"


def slope_on_the_event(linear: Fraction | int, sign: int = 1) -> None:
    r"""(110) to (115) hold on the event, with $(\epsilon')^2 + k\epsilon'$ in (115).

    In inner products: $a^\top(a\bar b^\top - a^*b^{*\top})\bar b = \bar b^\top\bar b - g^\top\bar b$ as $c b^* = g$.
    """
    bb, gb, gg = sympy.symbols("bb gb gg")  # of b and g
    first, second = gb - gg, (gb - gg) - (bb - gb)  # (b - g)'g and (b - g)'(g - b)
    require(zero((bb - gb) - (first - second)) and zero(second + bb - 2 * gb + gg), "line 111")
    require(zero((bb - gb) - ((gb - gg) + sign * (gg - 2 * gb + bb))), "line 112")
    sine = 1 / (1 + h)
    gap = level * sine
    room = level**2 + linear * level - gap - gap**2
    require(non_negative(sympy.cancel(room * (1 + h) ** 2)), "line 115")


@proof("rolora/eq-110@expectation-of-49")
def eq_110(linear: Fraction = Fraction(1), sign: int = 1) -> str:
    r"""$a^\top(a\bar b^\top - a^*b^{*\top})\bar b = (\bar b - g)^\top\bar b = (\bar b - g)^\top g + \|\bar b - g\|^2$.

    (111) splits $\bar b$ into g and $\bar b - g$. (113) is the inequality of Cauchy and Schwarz with $\|g\| \le
    \|b^*\|$, (114) the event, (115) $\delta^t \le 1$.
    """
    slope_on_the_event(linear, sign)
    return "an identity in inner products, and signs of coefficients"


def first_order_is_at_most(factor: Fraction, one: Fraction | int) -> None:
    """Show that factor s eps~ (eps' + one)^2 is enough for 2 s a'(grad - E grad), bounded by (76)."""
    deviation()
    sine = 1 / (1 + h)
    room = factor * tilde * (level + one) ** 2 - 2 * 2 * tilde * (level + 1) ** 2 * sine
    require(non_negative(sympy.cancel(room * (1 + h))), "the factor of (76)")


@proof("rolora/eq-107")
def eq_107(factor: Fraction = Fraction(4)) -> str:
    r"""(107) is the inequality of Cauchy and Schwarz, (108) $\|a\| = 1$, (109) with $\tilde\epsilon$ is (76).

    $2\eta \cdot 2\tilde\epsilon(\epsilon' + 1)^2\delta^t\|b^*\|^2 \le 4\eta\tilde\epsilon(\epsilon' + 1)^2\|b^*\|^2$,
    as $\delta^t \le 1$.
    """
    first_order_is_at_most(factor, 1)
    return r"(76), and $\delta^t \le 1$"


@proof("rolora/eq-107@constant-of-the-thresholds", GRADIENT_WORDS)
def eq_107_thresholds(
    factor: Fraction = Fraction(4),
    columns: Fraction = Fraction(300),
    every: Fraction = Fraction(520),
    every_more: Fraction = Fraction(1450),
    samples: Fraction = Fraction(100),
    alpha: Fraction = Fraction(3, 5),
    beta: Fraction = Fraction(7, 20),
) -> str:
    r"""$\tilde\epsilon \le \epsilon'$ for $\epsilon_3 = \epsilon_2$, and each event fails with at most $q^{-10}$.

    For a independent of the samples $m \ge Kq$ for $K = 300(1 + \ell)$, $\ell = -\log\min(\epsilon_1, \epsilon_2)$: for
    (42) and for two columns, which give (76), with $\tau = \epsilon_3 = \epsilon_2$ and $Nm\epsilon_3^2 \ge
    Kq\epsilon_2^2$. For every a, $K = 520 + 1450\ell$: where $\|S_i - I\|_{op} \le \rho = \epsilon_2/\sqrt2$ for every
    client (see the part on every a), $|\bar s| \le \sqrt{1 + T^2} \le 1/\sqrt{1 - \rho^2}$, and the deviation is at
    most $2|\bar s|\delta\rho\sqrt{1 + T^2} \le 2\rho/(1 - \rho^2) \le 2\epsilon_2(1 + \epsilon_2)^2$.
    """
    first_order_is_at_most(factor, 1)
    normal_quotient()
    enough_for_gradient(samples, alpha, beta)
    enough_of_thresholds(samples, alpha, columns)
    # eps' - eps~ = eps~ eps_1 / (1 - eps_1), with eps_1 = h / (1 + h).
    share = h / (1 + h)
    less = non_negative(sympy.cancel(tilde / (1 - share) - tilde))
    # rho <= eps_2 (1 + eps_2)^2 (1 - eps_2^2 / 2), as 1/sqrt 2 < 1, with eps_2 = 1 / (1 + h).
    e2 = 1 / (1 + h)
    room = non_negative(sympy.cancel(((1 + e2) ** 2 * (1 - e2**2 / 2) - 1) * (1 + h) ** 4))
    require(less and room, "the number of samples")
    near_identity(every, every_more)
    return (
        "(76) with the threshold of (109), Lemma A.9 in this reading and Chernoff's bounds for two fixed vectors; "
        f"constants by intervals; K = {columns}(1 + l), for every a {every} + "
        f"{every_more} l, l = -log min(eps_1, eps_2)"
    )


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
    $|T_i| \le e = \rho/\sqrt{1 - \rho^2}$, so that $|K| \le \rho e$ (the mean of $|T_i - \bar T|$ is at most the root
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
    return "(106), (109) with the threshold of (116), and (115); singular values of N clients"
