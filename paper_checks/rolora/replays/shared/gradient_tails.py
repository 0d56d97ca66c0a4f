r"""Tails of the gradient (Lemma A.10): norms of the summands, tails of their sum, and the chain up to (76).

Let $n = Nm$ and let S be the mean of $x_{i,j}x_{i,j}^\top$ over all n samples. The sum of (59) over n is $w^\top(S -
I)M\bar b$ with $M = a\bar b^\top - a^*b^{*\top}$. a is independent of the samples, which are from the first iteration,
or fresh in each.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from paper_checks.proof_steps import non_negative
from paper_checks.replay import require
from paper_checks.rolora.replays.shared.concentration import LOG_2, interval, surely
from paper_checks.rolora.replays.shared.nets_and_norms import norm_of_rank_one
from paper_checks.rolora.replays.shared.rank_one import COSINE, MEAN, TRUTH, A, B, frobenius, minus, plus

SUM_IN_ALGORITHM_2 = "0.0383566024300068"

SUM_OF_FRESH_SAMPLES = "0.1534264097200273"
"""Constants of (61), rounded down: (1 - log 2)/8 and (1 - log 2)/2."""

r, t, e, n = sympy.symbols("r t e n", positive=True)


def same(one: Any, other: Any) -> bool:
    """Return whether two expressions are identical."""
    return bool(sympy.simplify(one - other) == 0)


def scaled(expression: Any, other: Any = 1) -> Any:
    """Return a polynomial of degree 2 in r at r = 1/(1 + e), times (1 + e)^2 and another denominator."""
    return sympy.cancel(expression.subs(r, 1 / (1 + e)) * (1 + e) ** 2 * other)


def tails_for_a_fixed_vector() -> None:
    r"""$P(|w^\top(S - I)v| \ge \epsilon) \le 2e^{-k\epsilon^2n}$ for fixed unit vectors v and w, and $\epsilon \le 1$.

    $x^\top w$ and $x^\top v$ are standard normal with correlation $p - q$, $p + q = 1$, so $x^\top w\,x^\top v
    - w^\top v = p(\xi^2 - 1) - q(\xi'^2 - 1)$ with independent standard normal variables. Let $h(t) =
    -\frac12\log(1 - 2t) - t$, the logarithm of $Ee^{t(\xi^2 - 1)}$. As $h'(t) = \frac{2t}{1 - 2t}$, $h(t)/t^2 =
    \int_0^1\frac{2r}{1 - 2rt}dr$ grows with $t < \frac12$. So for $0 \le t < \frac12$ the logarithm of the
    exponential moment, $h(pt) + h(-qt)$, is at most $(p^2 + q^2)h(t) \le h(t)$, and by Chernoff's bound each tail
    of $w^\top(S - I)v$ beyond $\epsilon$ is at most $\exp(-n\sup_t(t\epsilon - h(t))) = \exp(-\frac n2(\epsilon -
    \log(1 + \epsilon)))$. $(\epsilon - \log(1 + \epsilon))/\epsilon^2 = \int_0^1\frac r{1 + r\epsilon}dr$ falls, so
    for $\epsilon \le 1$ the two tails are at most $2e^{-k\epsilon^2n}$ with $k = \frac12(1 - \log2)$, the
    value at 1.
    """
    p, q, one, two = sympy.symbols("p q one two", positive=True)
    product = (sympy.sqrt(p) * one + sympy.sqrt(q) * two) * (sympy.sqrt(p) * one - sympy.sqrt(q) * two)
    require(same(sympy.expand(product), p * one**2 - q * two**2), "the product of two normal variables")
    h = -sympy.log(1 - 2 * t) / 2 - t
    require(same(h.diff(t), 2 * t / (1 - 2 * t)) and h.subs(t, 0) == 0, "the slope of h")
    # d/dt of 2r / (1 - 2 r t) is 4 r^2 / (1 - 2 r t)^2, and d/de of r / (1 + r e) is -r^2 / (1 + r e)^2.
    require(same((2 * r / (1 - 2 * r * t)).diff(t), (2 * r / (1 - 2 * r * t)) ** 2), "h over the square grows")
    require(non_negative((p + q) ** 2 - p**2 - q**2), "the share of h")
    best = e / (2 * (1 + e))  # where the slope of t e - h is 0
    fall = e - sympy.log(1 + e)
    rate = sympy.expand_log(sympy.simplify((t * e - h).subs(t, best)), force=True)
    require(same((t * e - h).diff(t).subs(t, best), 0) and same(rate, fall / 2), "the rate")
    falls = same(fall.diff(e), e / (1 + e)) and fall.subs(e, 0) == 0
    require(falls and same((r / (1 + r * e)).diff(e), -((r / (1 + r * e)) ** 2)), "the rate over the square falls")


def tail_of_sum(c5: str | Fraction, share: int) -> None:
    """Show (61) with this constant, at most (1 - log 2) over twice the share."""
    tails_for_a_fixed_vector()
    # (60) is (61) for c_5 = c / c_4^2, as eps_3 < 1 < c_4: the first term of the minimum is the smaller one.
    first = non_negative(scaled(n * r / (1 + t) - n * r**2 / (1 + t) ** 2, (1 + t) ** 2))
    met = first and surely((1 - LOG_2) / (2 * share) - interval(c5)) and interval(c5).a > 0
    require(met, "the constant c_5")


def own_samples_stay_in_the_plane() -> None:
    r"""The samples of Algorithm 2 cost at most a factor of 4 in the exponent.

    In Algorithm 2 $\bar b$ depends on the same samples: $\bar b = \bar sb^*$ with $\bar s = a^\top a^* + \delta T$, and
    $M\bar b = \bar s\delta\|b^*\|^2(Ta - u)$ with the unit vector u along $(I - aa^\top)a^*$. It has the length
    $\|M\|_{op}\|\bar b\|$ and lies in the plane of a and u for all samples. So $|w^\top(S - I)M\bar b|$ is at most
    $\|M\|_{op}\|\bar b\|$ times the root of the squares of $w^\top(S - I)a$ and $w^\top(S - I)u$, of which one is at
    least $\epsilon/\sqrt2$ in size with probability at most $2 \cdot 2e^{-k\epsilon^2n/2}$. A probability p is at most
    $\sqrt p$: at most $2e^{-k\epsilon^2n/4}$.
    """
    T, c, d, one, two = sympy.symbols("T c d one two", real=True)
    # In the basis of a and u with b* = 1: M = (s - c) a - d u for s = c + d T, b = s, a* = c a + d u.
    s = c + d * T
    moved = ((s - c) * s - s * d * T, -d * s - s * d * (-1))  # M b - s d (T a - u)
    squares = (T**2 + 1) * (one**2 + two**2) - (T * one - two) ** 2 - (one + T * two) ** 2
    require(all(sympy.expand(entry) == 0 for entry in (*moved, squares)), "the plane")
    # A probability r^2 is at most its root r <= 1.
    root = sympy.sqrt(4 * sympy.exp(-2 * t)) - 2 * sympy.exp(-t)
    require(same(root, 0) and non_negative(scaled(r - r**2)), "the root of a probability")


def deviation(one: Fraction | int = 1, power: Fraction | int = 1) -> None:
    r"""(66) to (76) hold on the events of (42) and (62).

    In units of $\|b^*\|$, with $M = a\bar b^\top - a^*b^{*\top}$ and $\|\bar b - g\| \le \epsilon'\delta$, (42). As
    $ag^\top = aa^\top a^*b^{*\top}$, $M = a(\bar b - g)^\top - (I - aa^\top)a^*b^{*\top}$, so $\|M\|_{op} \le
    \|\bar b - g\| + \delta \le (\epsilon' + 1)\delta$; and $\|\bar b\| \le \|\bar b - g\| + \|g\| \le \epsilon'\delta +
    1$. By Lemma A.7 and on the event of (62) the deviation is at most $\frac{2\epsilon_3}{1-\epsilon_0}\|M\|_{op}\|\bar
    b\| \le 2\tilde\epsilon(\epsilon' + 1)\delta(\epsilon'\delta + 1) \le 2\tilde\epsilon(\epsilon' + 1)^2\delta$: (76).
    """
    norm_of_rank_one()
    level, sine, less, short = sympy.symbols("level sine less short", nonnegative=True)
    # MEAN is b*, and g is a'a* times it.
    left = minus([(A, B)], [(TRUTH, MEAN)])
    right = minus([(A, plus((1, B), (-COSINE, MEAN)))], [(plus((1, TRUTH), (-COSINE, A)), MEAN)])
    apart = minus(left, right)
    require(frobenius(apart, apart) == 0, "(67)")
    gap = level * sine - less  # |b - g|, between 0 and its bound
    product = (gap + sine) * (gap + 1 - short)  # (71), |g| = 1 - short
    require(sympy.expand((gap + sine) * (gap + 1) - product - (gap + sine) * short) == 0, "(72)")
    opened = gap**2 + sine * gap + gap + sine  # (73)
    require(sympy.expand((gap + sine) * (gap + 1) - opened) == 0, "(73)")
    bound = level**2 * sine**2 + level * sine**2 + level * sine + sine  # (74)
    # Every term of (73) grows with |b - g|.
    require(sympy.expand(opened.subs(less, 0) - bound) == 0, "(74)")
    last = (level + one) ** 2 * sine
    require(non_negative(scaled((last - bound).subs(sine, r))), "(75)")
    require(power <= 1, "(76)")  # for a larger one the quotient of (75) and (76) is not bounded for small angles
