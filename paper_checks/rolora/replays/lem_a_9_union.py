"""Appendix A.3, proof of Lemma A.9: the union over a net and over clients (eqs. (32) to (42))."""

from __future__ import annotations

from fractions import Fraction

import sympy
from mpmath import iv

from paper_checks.replay import proof, require
from paper_checks.rolora.replays.shared.concentration import interval, surely
from paper_checks.rolora.replays.shared.nets_and_norms import norm_of_rank_one, x
from paper_checks.rolora.replays.shared.tails import tail_of_length, tail_of_products


def every_factor(c3: Fraction) -> None:
    """Show that the singular values of the samples give the exponent with this constant for every a."""
    z = Fraction(2, 5)
    # t^2/2 = rho^2 m/50 = eps_2^2 m/100; and d > eps_2^2 m/50 makes d log 3 more than c_3 eps_2^2 m.
    met = 2 * z + z**2 <= 1 and c3 <= Fraction(1, 100) and surely(iv.log(3) - interval(50 * c3))
    require(met, "the constant for every a")


@proof("rolora/eq-32")
def eq_32(one: Fraction = Fraction(1), per: Fraction = Fraction(100)) -> str:
    r"""(33) adds up over the points of the net, (34) puts (29) for each of them, (35) writes the power in another way.

    For K = 0 the event occurs on all samples. For K > 0 the maximum over the net reaches a bound only where one of its
    points does, and the probability of that is at most the sum (Boole). By (26) to (29), with $\le$ in (29), each term
    is at most $2e^{-c_3\epsilon_2^2m}$, with the same $c_3$ for every w, and there are at most $(\frac2{\epsilon_0} +
    1)^d = e^{d\log(1 + 2/\epsilon_0)}$. A net of that size exists: take as many points of the sphere as can be more
    than $\epsilon_0$ apart from one another. Every other one is then within $\epsilon_0$ of one of them. The balls of
    radius $\frac12\epsilon_0$ about them are disjoint and lie in the ball of radius $1 + \frac12\epsilon_0$, so
    there are at most $((1 + \frac12\epsilon_0)/(\frac12\epsilon_0))^d$ of them.

    From (32) to (35) for every a, with $c_3 = 1/100$: let $K = \delta\|b^*\| > 0$ and $a^* = ca + \delta u$ with a unit
    vector u across a, so $|v^\top w| = m|a^\top(S_i - I)u|\,\delta|b^{*\top}w|$ with $S_i = X_i^\top X_i/m$. For a
    w on the sphere it reaches $\epsilon_2mK$ only where $\|S_i - I\|_{op} \ge \epsilon_2 > \rho$, $\rho^2 =
    \frac12\epsilon_2^2$, which does not depend on a. The singular values of $X_i$ are within $\sqrt d + t$ of $\sqrt m$
    but for a probability of $2e^{-t^2/2}$ (Davidson and Szarek). Where $d \le \frac1{25}\rho^2m$, $t = \frac15\rho\sqrt
    m$ keeps that to $z\sqrt m$, $z = \frac25\rho$, and $2z + z^2 \le \rho$: it fails with probability at most
    $2e^{-\rho^2m/50} = 2e^{-\epsilon_2^2m/100}$, which is less than (35). Where d is larger, $d\log3 >
    \frac1{100}\epsilon_2^2m$ and (35) is above 1.
    """
    d = sympy.Symbol("d", positive=True)
    require(sympy.cancel((1 + x / 2) / (x / 2) - (2 + one * x) / x) == 0, "the volumes of balls")
    require(sympy.simplify(sympy.exp(d * sympy.log(1 + 2 / x)) - (one + 2 / x) ** d) == 0, "the power")
    every_factor(1 / per)
    return "we use Boole's inequality, volumes of balls, a power, and singular values for every a"


@proof("rolora/eq-36")
def eq_36(c1: Fraction = Fraction(16, 9), c3: str = "0.3774", every: Fraction = Fraction(1, 100)) -> str:
    r"""For an a independent of the samples with $c_1$ and $c_3$ of (18) and (26), for every $a^t$ with $c_3 = 1/100$.

    Let $\|b^*\| = 1$ and $a^* = ca + \delta u$ with a unit vector u across a. Then $\tilde b_i - g = \delta T_ib^*$
    with $T_i = z^\top w/\|z\|^2$ for the independent standard normal vectors $z = X_ia$ and $w = X_iu$ of m entries.
    But for the events of (18) and of (26), $\|z\|^2 > (1 - \epsilon_1)m$ and $|z^\top w| < \epsilon_2m$, so
    $|T_i| \le \frac{\epsilon_2}{1-\epsilon_1} \le \epsilon'$. The row vector of (19) is a multiple of $b^*$: (26) along
    $b^*$ is enough, without a net, and $P\{|T_i| > \epsilon'\} \le 2e^{-c_3\epsilon_2^2m} +
    e^{-c_1\epsilon_1^2m/K^4} \le p_0$. Then a union over the clients.

    From the second iteration on a depends on the samples, if they are the same in all. With $S_i = X_i^\top X_i/m$,
    $\|S_i - I\|_{op} \le \rho$ gives $|T_i| \le \rho/\sqrt{1 - \rho^2}$ for every unit vector a, as $(S_i - I)a$ lies
    in a ball of radius $\rho$: at most $\epsilon_2$ for $\rho^2 = \frac12\epsilon_2^2$. The singular values of $X_i$
    are within $\sqrt d + t$ of $\sqrt m$ but for a probability of $2e^{-t^2/2}$ (Davidson and Szarek). Where $d \le
    \frac1{25}\rho^2m$, $t = \frac15\rho\sqrt m$ keeps that to $z\sqrt m$, $z = \frac25\rho$, and $2z + z^2 \le \rho$:
    it fails with probability at most $2e^{-\rho^2m/50} = 2e^{-\epsilon_2^2m/100}$. Where d is larger, $d\log3 >
    \frac1{100}\epsilon_2^2m$ and $p_0 > 1$.
    """
    tail_of_length(c1)
    tail_of_products(c3)
    every_factor(every)
    return "we use (18) and (26), singular values for every a, and a union bound over the clients"


@proof("rolora/eq-38")
def eq_38(weight: Fraction = Fraction(1), power: Fraction = Fraction(1)) -> str:
    r"""By (16) the $\tilde b_i - g$ are multiples $t_ib^*$, so (39) is $|\sum t_i| \le \sum|t_i|$.

    Its squares differ by $2\sum_{i<j}(|t_it_j| - t_it_j) \ge 0$. A mean is at most the largest, (40); the operator norm
    of a matrix of rank one is (41); $\|(I_d - aa^\top)a^*\| = \delta^t$ is (42). With equality throughout for equal
    $t_i$, $\|\tilde b_i - g\| = \epsilon'\delta^t\|b^*\|$.
    """
    t, r = sympy.symbols("t r", real=True)
    squares = (abs(t) + abs(r)) ** 2 - (t + r) ** 2 - 2 * (abs(t) * abs(r) - t * r)
    require(sympy.expand(squares) == 0 and weight >= 1, "the mean")
    norm_of_rank_one()
    require(sympy.simplify(x**power - x) == 0, "the angle distance")
    return "we use the triangle inequality for multiples of one vector and the norm of a matrix of rank one"
