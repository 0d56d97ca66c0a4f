"""Proofs of the steps of Lemma A.9 that are not probabilities: nets, norms of variables, rank one, and means."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.proof_steps import non_negative
from paper_checks.replay import proof, require

x, y, rate = sympy.symbols("x y k", positive=True)


def nearest_point_of_a_net(share: Fraction) -> None:
    r"""$\|v\| \le \frac1{1 - k\epsilon}\max\langle v, x\rangle$ over the points x of a net, for $k \ge \frac12$.

    $2\langle\hat a, x\rangle = 2 - \|\hat a - x\|^2 \ge 2 - \epsilon^2$ at the nearest point x, and $1 -
    \frac12\epsilon^2 \ge 1 - k\epsilon$ for all $\epsilon \le 1$ where $k \ge \frac12$.
    """
    require(sympy.expand((2 - (2 - 2 * x)) / 2 - x) == 0, "the squared distance of unit vectors")
    require(share >= Fraction(1, 2), "the share")


def norm_of_rank_one() -> None:
    r"""The operator norm of $uv^\top$ is $\|u\|\|v\|$.

    For a vector v and $w = \alpha v + w'$ with $w'$ across v, $\|uv^\top w\|^2 = \|u\|^2\alpha^2\|v\|^4$, which is
    at most $\|u\|^2\|v\|^2\|w\|^2$, with equality for $w' = 0$.
    """
    u, v, along, across = sympy.symbols("u v along across", nonnegative=True)  # squares of lengths
    room = u * v * (along * v + across) - u * along * v**2
    require(non_negative(room) and sympy.expand(room.subs(across, 0)) == 0, "the norm of a rank-one matrix")


def norm_of_a_product(c2: Fraction) -> None:
    r"""The norm of a product of two normal variables of unit variance is at most $c_2$.

    $|\xi v| \le \frac12(\xi^2 + v^2)$ for $\|\xi\|_{\psi_2} = \|v\|_{\psi_2} = 1$ gives $\|\xi v\|_{\psi_1} \le
    \|\xi\|_{\psi_2}\|v\|_{\psi_2}$ (Lemma A.3), whether or not the two are independent. $x^\top v$ is normal with
    variance $\|v\|^2$, and $Ee^{\xi^2/t^2} = (1 - 2/t^2)^{-1/2}$ is at most 2 for $t^2 \ge \frac83$: $\|x^\top
    v\|_{\psi_2} \le C'\|v\|$ for every $C' \ge \sqrt{8/3}$, so that $c_2 = (C')^2 \ge \frac83$.
    """
    require(sympy.expand((x**2 + y**2) / 2 - x * y - (x - y) ** 2 / 2) == 0, "the square")
    require(c2 > 2, "the constant c_2")
    mean = 2 * sympy.integrate(sympy.exp(-rate * y**2), (y, 0, sympy.oo)) / sympy.sqrt(2 * sympy.pi)
    # At exp(xi^2 / t^2) the rate is 1/2 - 1/t^2; a mean of at most 2 is an inverse square of at least 1/4.
    inverse = sympy.simplify(mean**-2).subs(rate, Fraction(1, 2) - 1 / c2)
    require(inverse >= Fraction(1, 4), "the constant c_2")


@proof("rolora/eq-19")
def eq_19(share: Fraction = Fraction(1)) -> str:
    r"""Lemma A.7 for the row vector, and $v^\top w \le |v^\top w|$.

    For the unit vector along v and the point of the net within $\epsilon_0 < 1$ of it, $v^\top w \ge \|v\|(1 -
    \frac12\epsilon_0^2) \ge \|v\|(1 - k\epsilon_0)$ for $k \ge \frac12$; k = 1 is printed.
    """
    nearest_point_of_a_net(share)
    return "unit vectors at the nearest point of the net"


@proof("rolora/eq-22@a-and-w-fixed")
def eq_22(c2: Fraction = Fraction(8, 3)) -> str:
    r"""(22) is Lemma A.3; (23) the norm of a normal variable, twice; (24) the operator norm; (25) unit vectors.

    a and w are fixed, or independent of the samples; given them, $a^\top x_{i,j}$ and $x_{i,j}^\top v$ are normal.
    """
    norm_of_a_product(c2)
    return "a square, the inequality of Cauchy and Schwarz, and a Gaussian integral"


@proof("rolora/eq-30@for-a-positive-k")
def eq_30(c2: Fraction = Fraction(8, 3)) -> str:
    r"""By (22) to (25) every norm in (28) is at most $c_2$ times the operator norm, K.

    K > 0: for K = 0 both terms are 0/0. a and w are fixed, or independent of the samples, as for (22).
    So the sum of the m squares is at most $mc_2^2K^2$ and the largest norm at most $c_2K$. The last inequality is
    $\epsilon_2 \le c_2$, and $\epsilon_2 < 1 \le c_2$. (At $b^{*\top}w = 0$ all $Z_j$ are 0, and so
    are the denominators.)
    """
    norm_of_a_product(c2)
    e, m, norm, less = sympy.symbols("e m norm less", nonnegative=True)
    largest = norm + less  # c_2 K for a summand of this norm
    terms = non_negative(m * largest**2 - m * norm**2) and non_negative(largest - norm)
    order = c2 >= 1 and sympy.expand(e * m / c2 - e**2 * m / c2**2 - e * m * (c2 - e) / c2**2) == 0
    require(terms and order, "the terms of the minimum")
    return r"(22) to (25) in both terms, and $\epsilon_2 < 1 \le c_2$"


@proof("rolora/eq-32@for-a-positive-k")
def eq_32(one: Fraction = Fraction(1)) -> str:
    r"""(33) adds up over the points of the net, (34) puts (29) for each of them, (35) writes the power in another way.

    For K = 0 the event occurs on all samples. For K > 0 the maximum over the net reaches a bound only where one of its
    points does, and the probability of that is at most the sum (Boole). By (26) to (29), with $\le$ in (29), each term
    is at most $2e^{-c_3\epsilon_2^2m}$, with the same $c_3$ for every w, and there are at most $(\frac2{\epsilon_0} +
    1)^d = e^{d\log(1 + 2/\epsilon_0)}$. A net of that size exists: take as many points of the sphere as can be more
    than $\epsilon_0$ apart from one another. Every other one is then within $\epsilon_0$ of one of them. The balls of
    radius $\frac12\epsilon_0$ about them are disjoint and lie in that of radius $1 + \frac12\epsilon_0$, so that there
    are at most $((1 + \frac12\epsilon_0)/(\frac12\epsilon_0))^d$ of them.
    """
    d = sympy.Symbol("d", positive=True)
    require(sympy.cancel((1 + x / 2) / (x / 2) - (2 + one * x) / x) == 0, "the volumes of balls")
    require(sympy.simplify(sympy.exp(d * sympy.log(1 + 2 / x)) - (one + 2 / x) ** d) == 0, "the power")
    return "Boole's inequality, volumes of balls, and a power"


@proof("rolora/eq-38")
def eq_38(weight: Fraction = Fraction(1), power: Fraction = Fraction(1)) -> str:
    r"""By (16) the $\tilde b_i - g$ are multiples $t_ib^*$, so that (39) is $|\sum t_i| \le \sum|t_i|$.

    Its squares differ by $2\sum_{i<j}(|t_it_j| - t_it_j) \ge 0$. A mean is at most the largest, (40); the operator norm
    of a matrix of rank one is (41); $\|(I_d - aa^\top)a^*\| = \delta^t$ is (42). With equality throughout for equal
    $t_i$, $\|\tilde b_i - g\| = \epsilon'\delta^t\|b^*\|$.
    """
    t, r = sympy.symbols("t r", real=True)
    squares = (abs(t) + abs(r)) ** 2 - (t + r) ** 2 - 2 * (abs(t) * abs(r) - t * r)
    require(sympy.expand(squares) == 0 and weight >= 1, "the mean")
    norm_of_rank_one()
    require(sympy.simplify(x**power - x) == 0, "the angle distance")
    return "the triangle inequality for multiples of one vector, and the norm of rank one"
