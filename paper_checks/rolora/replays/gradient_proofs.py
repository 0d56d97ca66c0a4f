r"""Proofs of the steps of Lemma A.10: norms of the summands, the tails of their sum, and the chain up to (76).

Let $n = Nm$ and let S be the mean of $x_{i,j}x_{i,j}^\top$ over all n samples. The sum of (59) over n is $w^\top(S -
I)M\bar b$ with $M = a\bar b^\top - a^*b^{*\top}$. a is independent of the samples: those of the first iteration, or
fresh ones in each.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy
from mpmath import iv

from paper_checks.proof_steps import non_negative
from paper_checks.replay import proof, require
from paper_checks.rolora.replays.concentration_proofs import LOG_2, interval, surely
from paper_checks.rolora.replays.minimiser_proofs import nearest_point_of_a_net, norm_of_a_product, norm_of_rank_one
from paper_checks.rolora.replays.rank_one import COSINE, MEAN, TRUTH, A, B, frobenius, minus, plus

SUM_IN_ALGORITHM_2 = "0.0383566024300068"
SUM_OF_FRESH_SAMPLES = "0.1534264097200273"
"""Constants of (61), rounded down: (1 - log 2)/8 and (1 - log 2)/2."""

r, t, e, n = sympy.symbols("r t e n", positive=True)


def same(one: Any, other: Any) -> bool:
    """Whether two expressions are identical."""
    return bool(sympy.simplify(one - other) == 0)


def scaled(expression: Any, other: Any = 1) -> Any:
    """A polynomial of degree 2 in r at r = 1/(1 + e), times (1 + e)^2 and another denominator."""
    return sympy.cancel(expression.subs(r, 1 / (1 + e)) * (1 + e) ** 2 * other)


def tails_for_a_fixed_vector() -> None:
    r"""$P(|w^\top(S - I)v| \ge \epsilon) \le 2e^{-k\epsilon^2n}$ for fixed unit vectors v and w, and $\epsilon \le 1$.

    $x^\top w$ and $x^\top v$ are standard normal with correlation $p - q$, $p + q = 1$, so that $x^\top w\,x^\top v
    - w^\top v = p(\xi^2 - 1) - q(\xi'^2 - 1)$ with independent standard normal variables. Let $h(t) =
    -\frac12\log(1 - 2t) - t$, the logarithm of $Ee^{t(\xi^2 - 1)}$. As $h'(t) = \frac{2t}{1 - 2t}$, $h(t)/t^2 =
    \int_0^1\frac{2r}{1 - 2rt}dr$ grows with $t < \frac12$. So for $0 \le t < \frac12$ the logarithm of the
    exponential moment, $h(pt) + h(-qt)$, is at most $(p^2 + q^2)h(t) \le h(t)$, and by Chernoff's bound each tail
    of $w^\top(S - I)v$ beyond $\epsilon$ is at most $\exp(-n\sup_t(t\epsilon - h(t))) = \exp(-\frac n2(\epsilon -
    \log(1 + \epsilon)))$. $(\epsilon - \log(1 + \epsilon))/\epsilon^2 = \int_0^1\frac r{1 + r\epsilon}dr$ falls, so
    that for $\epsilon \le 1$ the two tails are at most $2e^{-k\epsilon^2n}$ with $k = \frac12(1 - \log2)$, the
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

    In Algorithm 2 $\bar b$ is made of the same samples: $\bar b = \bar sb^*$ with $\bar s = a^\top a^* + \delta T$,
    and $M\bar b = \bar s\delta\|b^*\|^2(Ta - u)$ with the unit vector u along $(I - aa^\top)a^*$. It has the length
    $\|M\|_{op}\|\bar b\|$ and lies in the plane of a and u, whatever the samples are. So $|w^\top(S - I)M\bar b|$
    is at most $\|M\|_{op}\|\bar b\|$ times the root of the squares of $w^\top(S - I)a$ and $w^\top(S - I)u$, of
    which one is at least $\epsilon/\sqrt2$ in size with probability at most $2 \cdot 2e^{-k\epsilon^2n/2}$. A
    probability p is at most $\sqrt p$: at most $2e^{-k\epsilon^2n/4}$.
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


@proof("rolora/eq-52@samples-independent-of-b")
def eq_52(c2: Fraction = Fraction(8, 3), c4: str = "4.1093617075557") -> str:
    r"""(53) is the triangle inequality, by convexity; (54) the norm of a constant; (55) as (22) to (24).

    $e^{(x+y)/(s+t)} \le \frac s{s+t}e^{x/s} + \frac t{s+t}e^{y/t}$, whose mean is at most 2 for norms s and t;
    $e^{|c|/t} = 2$ at $t = |c|/\log2$. $x^\top w$ and $x^\top M\bar b$ may be correlated in (55). (56) is the
    inequality of Cauchy and Schwarz, (57) the operator norm, (58) the definition of $c_4$ for $\|w\| = 1$.
    """
    s, x, y = sympy.symbols("s x y", positive=True)
    require(same((x + y) / (s + t), s / (s + t) * (x / s) + t / (s + t) * (y / t)), "the triangle inequality")
    require(same(sympy.exp(x / (x / sympy.log(2))), 2), "the norm of a constant")
    norm_of_a_product(c2)
    norm_of_rank_one()
    require(surely(interval(c4) - interval(c2) - 1 / LOG_2), "the constant c_4")
    return "convexity, the norms of (22) to (25), and the operator norm"


@proof("rolora/eq-59@for-a-positive-k")
def eq_59(c5: str = SUM_IN_ALGORITHM_2) -> str:
    r"""$M\bar b$ stays in the plane of a and u, whatever the samples are: $c_5 = \frac18(1 - \log2)$.

    For $\delta^t > 0$ and $b^* \ne 0$ almost surely $\bar b \ne 0$, and $M \ne 0$ always. (60) is (61) for $c =
    c_4^2c_5$, since $\epsilon_3 < 1 < c_4$.
    """
    tail_of_sum(c5, 4)
    own_samples_stay_in_the_plane()
    return "Chernoff's bound for two fixed vectors, and a probability against its root"


@proof("rolora/eq-59@samples-independent-of-b")
def eq_59_independent(c5: str = SUM_OF_FRESH_SAMPLES) -> str:
    r"""Chernoff's bound for the fixed vector $M\bar b$, $\bar b \ne 0$ and $M \ne 0$: $c_5 = \frac12(1 - \log2)$.

    No larger constant will do: for w along $M\bar b$ the sum is $\chi^2_n - n$ in units of $\|M\bar b\|$, whose upper
    tail beyond $\epsilon_3n$ has by Cramer's theorem just this rate, $\frac12(\epsilon_3 - \log(1 + \epsilon_3))$; it
    tends to $\frac12(1 - \log2)$ as $\epsilon_3 \to 1$.
    """
    tail_of_sum(c5, 1)
    best = same((e - sympy.log(1 + e)).subs(e, 1) / 2, (1 - sympy.log(2)) / 2)
    require(best, "the largest constant")
    return "Chernoff's bound for a fixed vector at any angle to w"


@proof("rolora/eq-59@with-the-samples-of-lemma-a-10")
def eq_59_enough(c5: Fraction = Fraction(9, 200), columns: Fraction = Fraction(145)) -> str:
    r"""The event needs $\|G - I\|_{op} \ge \epsilon_3$ for the mean G of all $x_{i,j}x_{i,j}^\top$, whatever a is.

    It says $|w^\top(G - I)M\bar b| \ge \epsilon_3\|M\|_{op}\|\bar b\|$, positive where K > 0 and $\bar b \ne 0$. The
    singular values of the n = Nm samples are within $\sqrt d + y$ of $\sqrt n$ but for a probability of $2e^{-y^2/2}$
    (Davidson and Szarek), so that $\|G - I\|_{op} \le 2z + z^2$ with $z = \sqrt{d/n} + y/\sqrt n$. For $y^2 =
    2c_5\epsilon_3^2n$ and $d/n \le \epsilon_3^2/(C\log2)$, z is $\epsilon_3$ times a constant k, and $2k + k^2 < 1$.
    """
    size = 1 / (interval(columns) * LOG_2)
    k = iv.sqrt(size) + iv.sqrt(2 * interval(c5))
    require(surely(1 - 2 * k - k**2), "the number of samples")
    return "the singular values of all samples"


def union_over_the_net(one: Fraction) -> None:
    """Show that the sum over a net is (64)."""
    d = sympy.Symbol("d", positive=True)
    size = (1 + 2 / e) ** d
    require(one == 1 and same(sympy.log(size), d * sympy.log(1 + 2 / e)), "the size of the net")


@proof("rolora/eq-62@expectation-of-49")
def eq_62(c5: str = SUM_IN_ALGORITHM_2, net: Fraction = Fraction(1)) -> str:
    r"""(59) at each of at most $(1 + 2/\epsilon_0)^d$ points of the net, whose probabilities add up."""
    tail_of_sum(c5, 4)
    own_samples_stay_in_the_plane()
    union_over_the_net(net)
    return "(59) at the points of the net, and Boole's inequality"


@proof("rolora/eq-62@samples-independent-of-b")
def eq_62_independent(c5: str = SUM_OF_FRESH_SAMPLES, net: Fraction = Fraction(1)) -> str:
    r"""The same with the tails for a fixed vector, $\bar b \ne 0$ and $M \ne 0$."""
    tail_of_sum(c5, 1)
    union_over_the_net(net)
    return "(59) at the points of the net, and Boole's inequality"


def deviation(one: Fraction | int = 1, power: Fraction | int = 1) -> None:
    r"""(66) to (76) hold on the events of (42) and (62).

    In units of $\|b^*\|$, with $M = a\bar b^\top - a^*b^{*\top}$ and $\|\bar b - g\| \le \epsilon'\delta$, (42). As
    $ag^\top = aa^\top a^*b^{*\top}$, $M = a(\bar b - g)^\top - (I - aa^\top)a^*b^{*\top}$, so that $\|M\|_{op} \le
    \|\bar b - g\| + \delta \le (\epsilon' + 1)\delta$; and $\|\bar b\| \le \|\bar b - g\| + \|g\| \le \epsilon'\delta +
    1$. By Lemma A.7 and on the event of (62) the deviation is at most $\frac{2\epsilon_3}{1-\epsilon_0}\|M\|_{op}\|\bar
    b\| \le 2\tilde\epsilon(\epsilon' + 1)\delta(\epsilon'\delta + 1) \le 2\tilde\epsilon(\epsilon' + 1)^2\delta$: (76).
    """
    norm_of_rank_one()
    level, sine, less, short = sympy.symbols("level sine less short", nonnegative=True)
    # MEAN stands for b*, and g is a'a* times it.
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


@proof("rolora/eq-65")
def eq_65(one: Fraction = Fraction(1), power: Fraction = Fraction(1)) -> str:
    r"""(65) is [Lemma A.7](rolora--lem-A.7.md) and (66) the event of (62).

    So it is whatever vector stands for the expectation in both. With the matrix of (67) in (68) the rest is
    elementary. $ag^\top = aa^\top a^*b^{*\top}$ gives (67); (68), (70) and (71) are triangle inequalities, (69) norms
    of rank one, (72) is $\|g\| \le \|b^*\|$, (74) the event of (42), and (75) $(\delta^t)^2 \le \delta^t$.
    """
    nearest_point_of_a_net(Fraction(1))
    deviation(one, power)
    return "an identity of matrices, norms of rank one, and signs of coefficients"


@proof("rolora/eq-90@on-the-events")
def eq_90(one: Fraction = Fraction(1)) -> str:
    r"""(91) is $\eta$ times (76), which holds on the events of (42) and (62): see "Deviation" below.

    For the lines up to (76) one by one see [eqs. (65) to (76)](rolora--eq-65.md). It does not matter which vector
    stands for the expectation, as long as it is the same in (62) and (90).
    """
    deviation(one)
    return r"(76), times $\eta$"
