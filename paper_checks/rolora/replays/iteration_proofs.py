"""Proofs of the ends of Theorems 5.4's and A.14's proofs: the number of iterations, and the product of both factors."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import sympy

from paper_checks.proof_steps import non_negative
from paper_checks.replay import proof, require
from paper_checks.rolora.replays.contraction_proofs import FIXED_WORDS, a4_c
from paper_checks.rolora.replays.logarithms import bounds_of_logarithms
from paper_checks.rolora.replays.minimiser_proofs import norm_of_rank_one
from paper_checks.rolora.replays.rank_one import COSINE, MEAN, TRUTH, A, B, frobenius, plus, same
from paper_checks.rolora.replays.rate_proofs import at_most

T, y, c, delta = sympy.symbols("T y c delta", positive=True)
level, more = sympy.symbols("level more", nonnegative=True)


@proof("rolora/a4-first-step")
def a4_first_step(bound: Fraction = Fraction(3)) -> str:
    r"""In the plane, $a = (\sqrt x, \delta_0)$ and $a^* = (1, 0)$, in units in which $\|b^*\| = 1$: $\eta$ is s.

    With unlimited samples $\bar b = \sqrt xb^*$. The step $a - 2s(ax - a^*\sqrt x)$ has the components $\sqrt x(1 +
    2s(1 - x))$ along $a^*$ and $\delta_0(1 - 2sx)$ across it, and the square length $1 + 4s^2x(1 - x)$. So $(\delta_1 /
    \delta_0)^2 = \frac{(1 - 2sx)^2}{1 + 4s^2x(1 - x)}$, and $(1 - sx)(1 + 4s^2x(1 - x)) - (1 - 2sx)^2 = sx(3 - f)$ with
    $f = 4s^2x(1 - x) + 4s(2x - 1)$: (166) holds if and only if $f \le 3$. For $0 < s \le 1$ f grows with x in (0, 1),
    as its slope is $4s^2(1 - 2x) + 8s > 0$, towards 4s at x = 1: so $f \le 3$ for all $\delta_0$ if and only if $s \le
    \frac34$. With samples of each client the first sentence is the case t = 0 of [the constant of the
    rate](rolora--a4-c--c-of-the-step.md).
    """
    s, x = sympy.symbols("s x", positive=True)
    f = 4 * s**2 * x * (1 - x) + 4 * s * (2 * x - 1)
    along, across = x * (1 - 2 * s * x + 2 * s) ** 2, (1 - 2 * s * x) ** 2  # squares, the second over delta_0^2
    length = along + (1 - x) * across
    require(sympy.expand(length - 1 - 4 * s**2 * x * (1 - x)) == 0, "the length of the step")
    room = (1 - s * x) * length - across - s * x * (bound - f)
    require(sympy.expand(room) == 0, "the bound")
    # The slope is at least 8 s - 4 s^2: s = 1/(1 + c), x = 1/(1 + y).
    slope = (f.diff(x)).subs({s: 1 / (1 + c), x: 1 / (1 + y)})
    require(non_negative(sympy.cancel(slope * (1 + c) ** 2 * (1 + y))) and f.subs(x, 1) == 4 * s, "f grows")
    return "the step in coordinates, and its bound as an identity"


@proof("rolora/eq-167@as-a-union-bound")
def eq_167(factor: Fraction = Fraction(2), power: int = 10) -> str:
    r"""Let $F_t$ be the event that contraction t fails. Where some $F_t$ occur, they number at least 1.

    So the indicator of their union is at most the sum of their indicators, and $P(\bigcup F_t) \le \sum_tP(F_t) \le T
    \cdot 2q^{-10}$, whatever their joint law is; there is equality for failures that exclude one another. Where the
    bound of a contraction is only known given that those before it hold (Lemma 5.3 assumes $\delta^t \le \cdots \le
    \delta^0$), the same sum bounds it: $P(\bigcup F_t)$ is the sum over t of the probabilities that the first failure
    is at t.
    """
    q = sympy.Symbol("q", positive=True)
    outcomes = [outcome for T in (1, 2, 3, 4) for outcome in product((0, 1), repeat=T)]
    require(all(max(outcome) <= sum(outcome) for outcome in outcomes), "the union")
    require(sympy.simplify(T * (2 / q**10) - factor * T / q**power) == 0, "failures that exclude one another")
    return "the indicator of a union against a sum, and failures that exclude one another"


@proof("rolora/eq-167@c-of-the-step", FIXED_WORDS)
def eq_167_step(
    factor: Fraction = Fraction(2),
    power: int = 10,
    limit: Fraction = Fraction(1, 2),
    share: Fraction = Fraction(3, 10),
    printed: Fraction = Fraction(1, 16),
    samples: Fraction = Fraction(100),
    more: Fraction = Fraction(1, 20),
) -> str:
    """Each contraction by rolora/a4-c, the same samples in all iterations at once; the union bound for fresh ones."""
    each = a4_c.evaluate(limit, share, printed, samples, more)
    union = eq_167.evaluate(factor, power)
    return f"{each}; {union}"


@proof("rolora/eq-168@enough")
def eq_168(root_log: Fraction = Fraction(2), power: Fraction = Fraction(2)) -> str:
    r"""Division by $\delta^0 > 0$, and the logarithm, which is increasing, of both sides.

    $y = c(1 - (\delta^0)^2)$ lies in (0, 1), so that both sides of (169) are positive; and $\log(1 - y) < 0$ turns the
    inequality round where (170) is divided by it.
    """
    bounds_of_logarithms()
    rate = c * (1 - delta**2)
    taken = T / 2 * sympy.log(1 - rate)  # of (1 - y)^(T/2)
    printed = T / root_log * sympy.log(1 - c * (1 - delta**power))
    power_of = sympy.expand_log(sympy.log((1 - y) ** (T / 2)), force=True) - T / 2 * sympy.log(1 - y)
    equal = sympy.simplify(power_of) == 0 and sympy.simplify(taken - printed) == 0
    require(equal, "the logarithm of the power")
    return "the logarithm of a power, and its sign"


@proof("rolora/eq-172")
def eq_172(size: Fraction = Fraction(1), sense: int = -1) -> str:
    r"""$\log(1 - y) < -y < 0$, so that $-1/\log(1 - y) < 1/y$; times $2\log(\delta_0/\epsilon) > 0$."""
    at_most(1, size=size)
    bounds_of_logarithms()
    require(size >= 1 and sense == -1, "near y = 0 both agree")
    return r"$-\log(1-y) - y$ vanishes at 0 and has the derivative $y/(1-y)$"


@proof("rolora/eq-286")
def eq_286(size: Fraction = Fraction(1)) -> str:
    r"""$\log(1-y) < -y < 0$, so that $-1/\log(1-y) < 1/y$; times $-\log(\epsilon/\delta_0) > 0$.

    The lines before it: the logarithm is increasing, and division by $\log(1-y) < 0$ turns the inequality round.
    """
    at_most(1, size=size)
    bounds_of_logarithms()
    require(size >= 1, "near y = 0 the quotients agree, so that the size is needed")
    return r"$-\log(1-y) - y$ vanishes at 0 and has the derivative $y/(1-y)$"


@proof("rolora/eq-175")
def eq_175(second: Fraction = Fraction(1), sharp: Fraction = Fraction(1)) -> str:
    r"""(176) is the triangle inequality, (178) the norm of rank one, (179) the event, (180) $\delta^T \le \epsilon$.

    The two parts are orthogonal because $a^\top(I_d - aa^\top) = 0$, so that the square of their sum is the sum of
    their squares, at most $((\epsilon')^2 + 1)(\delta^T)^2\|b^*\|^2$.
    """
    norm_of_rank_one()
    parts = [(A, plus((1, B), (-COSINE, MEAN)))], [(plus((COSINE, A), (-1, TRUTH)), MEAN)]
    require(same(frobenius(*parts), 0), "the parts are not orthogonal")
    gap = level * delta  # the largest |b - g|, in units of b*, which MEAN stands for
    require(non_negative((level + second) * delta - gap - delta), "(179)")
    require(non_negative((1 + level) * (delta + more) - (level + 1) * delta), "(180)")
    require(non_negative(sharp**2 * (1 + level**2) * delta**2 - gap**2 - delta**2), "the sum of squares")
    return "norms of rank one, orthogonal parts, and signs of coefficients"
