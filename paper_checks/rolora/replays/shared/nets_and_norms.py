"""Nets, norms of variables, rank one and means: the steps of Lemma A.9 that are not probabilities."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.proof_steps import non_negative
from paper_checks.replay import require

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
    v\|_{\psi_2} \le C'\|v\|$ for every $C' \ge \sqrt{8/3}$, so $c_2 = (C')^2 \ge \frac83$.
    """
    require(sympy.expand((x**2 + y**2) / 2 - x * y - (x - y) ** 2 / 2) == 0, "the square")
    require(c2 > 2, "the constant c_2")
    mean = 2 * sympy.integrate(sympy.exp(-rate * y**2), (y, 0, sympy.oo)) / sympy.sqrt(2 * sympy.pi)
    # At exp(xi^2 / t^2) the rate is 1/2 - 1/t^2; a mean of at most 2 is an inverse square of at least 1/4.
    inverse = sympy.simplify(mean**-2).subs(rate, Fraction(1, 2) - 1 / c2)
    require(inverse >= Fraction(1, 4), "the constant c_2")
