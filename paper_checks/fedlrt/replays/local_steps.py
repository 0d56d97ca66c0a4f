r"""Effect of one round of local steps on the mean loss, proved for all clients, steps and learning rates.

Let every client step along $-(p_c + D_c(e))$ from $e = 0$, with $\frac1C\sum_cp_c = g$, the mean gradient,
$|p_c| \le \rho|g|$ in root mean square, and $|D_c(e)| \le L|e|$. With $x = s\lambda L \le 1$ and
$R = (1 - \frac1s)\rho$ the mean loss changes by at most $-s\lambda(1 - \frac{1 + R}2x)|g|^2$.

Proof. $|e_k| \le ((1+\lambda L)^k - 1)|p_c|/L$ by induction, so that the mean step is $-s\lambda(g + u)$ with
$|u| \le \rho|g|\,(((1+\frac xs)^s - 1)/x - 1) \le R\beta|g|$, $\beta = (e^x - 1 - x)/x$: the j-th coefficient of
$(1+\frac xs)^s$ is $\frac1{j!}\prod_{i<j}(1 - \frac is) \le (1 - \frac1s)/j!$ for $j \ge 2$. By smoothness of the mean
the change over $s\lambda$ is at most $-\langle g, g+u\rangle + \frac x2|g+u|^2$, in which $\langle g, u\rangle$ has the
factor $-(1-x) \le 0$: at most $|g|^2(-1 + \frac x2 + (1-x)R\beta + \frac x2R^2\beta^2)$. It remains to prove
$(1-x)\beta + \frac x2R\beta^2 \le \frac x2$.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

import sympy

from paper_checks.proof_steps import non_negative, positive
from paper_checks.replay import require


def local_steps_descend(largest: Fraction, limit: Fraction) -> None:
    r"""The last inequality, for all R up to `largest` and x up to `limit`.

    $\beta \le \frac x2 + \frac{x^2}6 + \frac{x^3}{24}\cdot\frac1{1 - x/5}$, because the terms of its series fall by a
    factor of at most $\frac x5$ from the third on. The larger R, the harder the inequality, so that the largest
    decides. With x = limit/(1 + A) for $A \ge 0$ the difference of the sides is then a quotient of polynomials in A,
    and it is positive as all of their coefficients have one sign.
    """
    require(0 < limit <= 1 and largest > 0, "the argument needs 0 < x <= 1 and R > 0")
    A = sympy.Symbol("A", positive=True)
    x = limit / (1 + A)
    beta = x / 2 + x**2 / 6 + x**3 / (24 * (1 - x / 5))
    room = x / 2 - (1 - x) * beta - x / 2 * largest * beta**2
    signs = set()
    for part in sympy.fraction(sympy.together(room)):
        signs |= {sympy.sign(c) for c in sympy.Poly(part, A).coeffs()}
    require(signs in ({1}, {-1}), f"not proved for all x <= {limit} and R <= {largest}")


def no_smaller_constant_serves(constant: Fraction) -> None:
    r"""No constant below $\frac{1+R}2$ serves all small rates; `constant` is a factor of it, which must be 1.

    Clients start along $p = g + \delta n$, where $|g| = 1$, g is in the block of S, and n is a unit vector in the wide
    bases and outside that block, so that $|p| = \rho$. The n of all clients add up to zero: two are opposite, and
    three or more lie in a plane. As the mean gradient g adds no direction to the bases, a QR decomposition completes
    them with columns of its own; n is made of products of these with one another or with columns of U and V. Each
    client has, up to terms of higher order in the rate, gradients $D(-tp) = -t\rho g$ on its way, $t = k\lambda$, and
    $D(-xg) = -xg$ at the server's point. Smooth functions with L = 1 through these exist: by the interpolation
    conditions, each of which is an equality or has a rest without negative coefficients in $\rho - 1$. With all
    gradients times $1 - \eta$ they are strict, and the higher orders fit in. The mean step is then $-yg$, $y = x -
    \frac12(1 - \frac1s)\rho x^2$ to second order, and the change $-y + \frac12y^2$.
    """
    x, t, q, h, s = sympy.symbols("x t q h s", positive=True)
    rho = 1 + h

    def inner(one: tuple[sympy.Expr, sympy.Expr], other: tuple[sympy.Expr, sympy.Expr]) -> sympy.Expr:
        return one[0] * other[0] + one[0] * other[1] + one[1] * other[0] + rho**2 * one[1] * other[1]  # along g and p

    zero = sympy.Integer(0)
    way = {at: ((zero, -at), (-at * rho, zero), at**2 * rho / 2) for at in (t, q)}
    end = ((-x, zero), (-x, zero), x**2 / 2)
    for one, other in ((way[t], way[q]), (way[t], end), (end, way[t])):
        apart, turn = (tuple(b - a for a, b in zip(one[i], other[i], strict=True)) for i in (0, 1))
        bent = (inner(turn, turn) - inner(apart, apart) + 2 * inner(turn, apart)) / 4
        room = other[2] - one[2] - inner(one[1], apart) - bent
        require(non_negative(room), "no smooth function has these gradients")
    y = x - (1 - 1 / s) * rho * x**2 / 2
    second = sympy.expand(-y + y**2 / 2).coeff(x, 2)
    needed = sympy.simplify(second - constant * (1 + (1 - 1 / s) * rho) / 2)
    require(needed == 0, "another constant")


def loss_can_rise(push: int = 4, inside: int = 20_000) -> None:
    r"""Under (14) the loss can rise in a round of Algorithm 5, for every $\delta = \frac1k$, k a number above 10.

    Let $n = 2$, $r = 1$, L = 1, $W_r = e_1e_1^\top$ and $w = W - W_r$. Two clients have the losses $\pm(Pw_{11} +
    Qw_{22} + w_{11}w_{22}) + w_{11} + \delta(w_{12} + w_{21})$, of which the terms with $\pm$ cancel in L, and take two
    steps of $\lambda = \frac1{48}$; $Q = \frac4\lambda = 192$ and $P = 20000k$. As $\delta \ne 0$ the wide bases are
    the whole plane. The correction takes out P and leaves Q, so that $w_{22}$ moves by $\mp\lambda Q$ in the first
    step, and $w_{11}$ by $-\lambda(1 - \lambda Q)$ in the second one of either client. In the mean $w_{11} = -2\lambda
    + \lambda^2Q = 2\lambda$, $w_{12} = w_{21} = -2\lambda\delta$ and $w_{22} = 0$: the loss rises by $2\lambda(1 -
    2\delta^2)$, while $C > 0$, and nothing is cut where $\vartheta$ is below the smaller singular value, which is not
    0. (14) holds for L, which has one gradient everywhere, of norm $g = \sqrt{1 + 2\delta^2}$, as $(1 - \delta)^2g^2 <
    1$; for a client at each step, with b in the block and h outside of it, as $\sqrt{b^2 + h^2} - b \le
    \frac{h^2}{2b} < \delta \le \delta g$.
    """
    beyond = sympy.Symbol("m", positive=True)
    k, step = 10 + beyond, sympy.Rational(1, 48)
    delta, Q, P = 1 / k, push / step, inside * k
    slope, ends, holds = sympy.Matrix([[1, delta], [delta, 0]]), [], []
    for sign in (1, -1):
        w = sympy.zeros(2, 2)
        for _ in range(2):
            own = slope + sign * sympy.Matrix([[P + w[1, 1], 0], [0, Q + w[0, 0]]])
            block, outside = sign * own[0, 0], own[0, 1] ** 2 + own[1, 0] ** 2 + own[1, 1] ** 2
            holds += [positive(block), positive(2 * block * delta - outside)]
            w = w - step * (own - sign * sympy.Matrix([[P, 0], [0, 0]]))
        ends.append(w)
    w, whole = (ends[0] + ends[1]) / 2, 2 * step
    holds += [
        positive(1 - (1 - delta) ** 2 * (1 + 2 * delta**2)),
        positive(1 - delta**2 - 12 * whole + delta**2 * whole),
        positive(sum(a * b for a, b in zip(slope, w, strict=True))),
        positive(w[0, 1] * w[1, 0] - (1 + w[0, 0]) * w[1, 1]),
    ]
    require(all(holds), "the loss does not rise under (14)")


def coefficients_of_the_power(steps: int, terms: int = 12) -> None:
    r"""The j-th coefficient of $(1 + \frac xs)^s$ is at most $(1 - \frac1s)/j!$ for $j \ge 2$.

    The machine compares the first ones at some numbers s of steps.
    """
    require(steps >= 1, "no steps")
    for j in range(2, min(steps, terms) + 1):
        coefficient = Fraction(comb(steps, j), steps**j)
        require(coefficient <= (1 - Fraction(1, steps)) / factorial(j), f"coefficient {j} at {steps} steps")
