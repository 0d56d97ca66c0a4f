"""Appendix A.4, proof of Theorem 5.4: later iterations (eqs. (167) to (181))."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import sympy

from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.rolora.replays.shared.contraction import FIXED_WORDS
from paper_checks.rolora.replays.shared.iterations import inside, iteration_count, one_iteration
from paper_checks.rolora.replays.shared.logarithms import bounds_of_logarithms
from paper_checks.rolora.replays.shared.nets_and_norms import norm_of_rank_one
from paper_checks.rolora.replays.shared.rank_one import COSINE, MEAN, TRUTH, A, B, frobenius, plus, same
from paper_checks.rolora.replays.shared.tangent_map import at_most
from paper_checks.rolora.replays.thm_5_4 import a4_c
from paper_checks.rolora.replays.thm_5_4_first_iteration import T, c, delta, y
from paper_checks.stored_values import Values, fractions


@proof("rolora/eq-167@as-a-union-bound")
def eq_167(factor: Fraction = Fraction(2), power: int = 10) -> str:
    r"""Let $F_t$ be the event that contraction t fails. Where some $F_t$ occur, they number at least 1.

    So the indicator of their union is at most the sum of their indicators, and $P(\bigcup F_t) \le \sum_tP(F_t) \le T
    \cdot 2q^{-10}$, for every joint law, with equality for failures that exclude one another. Where the
    bound of a contraction is only known given that those before it hold (Lemma 5.3 assumes $\delta^t \le \cdots \le
    \delta^0$), the same sum bounds it: $P(\bigcup F_t)$ is the sum over t of the probabilities that the first failure
    is at t.
    """
    q = sympy.Symbol("q", positive=True)
    outcomes = [outcome for T in (1, 2, 3, 4) for outcome in product((0, 1), repeat=T)]
    require(all(max(outcome) <= sum(outcome) for outcome in outcomes), "the union")
    require(sympy.simplify(T * (2 / q**10) - factor * T / q**power) == 0, "failures that exclude one another")
    return "we compare the indicator of a union with a sum, and use failures that exclude one another"


level, more = sympy.symbols("level more", nonnegative=True)


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


eq_167_as_printed = replay("rolora/eq-167")(one_iteration)


@proof("rolora/eq-168@enough")
def eq_168(root_log: Fraction = Fraction(2), power: Fraction = Fraction(2)) -> str:
    r"""Division by $\delta^0 > 0$, and the logarithm, which is increasing, of both sides.

    $y = c(1 - (\delta^0)^2)$ lies in (0, 1), so both sides of (169) are positive; and dividing (170) by $\log(1 - y) <
    0$ reverses the inequality.
    """
    bounds_of_logarithms()
    rate = c * (1 - delta**2)
    taken = T / 2 * sympy.log(1 - rate)  # of (1 - y)^(T/2)
    printed = T / root_log * sympy.log(1 - c * (1 - delta**power))
    power_of = sympy.expand_log(sympy.log((1 - y) ** (T / 2)), force=True) - T / 2 * sympy.log(1 - y)
    equal = sympy.simplify(power_of) == 0 and sympy.simplify(taken - printed) == 0
    require(equal, "the logarithm of the power")
    return "we take the logarithm of a power and use its sign"


@replay("rolora/eq-168")
def eq_168_as_printed(values: Values) -> Violation:
    """An angle that is recovered although (168) is not met, by squares."""
    delta_0, c, quotient = fractions(values, "delta_0", "c", "quotient")
    T = int(values["T"])
    square, wanted = delta_0**2, (quotient * delta_0) ** 2
    first = square
    for _ in range(min(max(T, 0), 6)):
        square = square * (1 - 2 * c * (1 - square)) ** 2 / (1 + 4 * c**2 * square * (1 - square))
    assumes = assuming(
        *inside("delta_0", delta_0),
        Hypothesis("c", c, ">", 0),
        Hypothesis("c = eta |b*|^2, against 1/2", c, "<=", Fraction(1, 2)),
        Hypothesis("epsilon / delta_0", quotient, ">", 0),
        Hypothesis("T, for exact squares", T, "<=", 6),
        Hypothesis("delta_T^2, against epsilon^2", square, "<=", wanted),
    )
    return Violation(
        first * (1 - c * (1 - first)) ** T,
        wanted,
        assumes=assumes,
        reads="with unlimited samples, c = eta |b*|^2 and epsilon = quotient delta_0, each of T iterations changes u "
        "= delta^2 to u (1 - 2c(1 - u))^2/(1 + 4c^2 u(1 - u)). We compare delta_0^2 (1 - c(1 - delta_0^2))^T with "
        "epsilon^2, which the square of the angle distance at T does not exceed",
    )


@proof("rolora/eq-172")
def eq_172(size: Fraction = Fraction(1), sense: int = -1) -> str:
    r"""$\log(1 - y) < -y < 0$, so $-1/\log(1 - y) < 1/y$; times $2\log(\delta_0/\epsilon) > 0$."""
    at_most(1, size=size)
    bounds_of_logarithms()
    require(size >= 1 and sense == -1, "near y = 0 both agree")
    return r"$-\log(1-y) - y$ vanishes at 0 and has the derivative $y/(1-y)$"


@replay("rolora/eq-172")
def eq_172_as_printed(values: Values) -> Violation:
    """Evaluate the order of eqs. (172) and (173)."""
    return iteration_count(values)


@proof("rolora/eq-175")
def eq_175(second: Fraction = Fraction(1), sharp: Fraction = Fraction(1)) -> str:
    r"""(176) is the triangle inequality, (178) the norm of rank one, (179) the event, (180) $\delta^T \le \epsilon$.

    The two parts are orthogonal because $a^\top(I_d - aa^\top) = 0$, so the square of their sum is the sum of
    their squares, at most $((\epsilon')^2 + 1)(\delta^T)^2\|b^*\|^2$.
    """
    norm_of_rank_one()
    parts = [(A, plus((1, B), (-COSINE, MEAN)))], [(plus((COSINE, A), (-1, TRUTH)), MEAN)]
    require(same(frobenius(*parts), 0), "the parts are not orthogonal")
    gap = level * delta  # the largest |b - g|, in units of b*, which is MEAN
    require(non_negative((level + second) * delta - gap - delta), "(179)")
    require(non_negative((1 + level) * (delta + more) - (level + 1) * delta), "(180)")
    require(non_negative(sharp**2 * (1 + level**2) * delta**2 - gap**2 - delta**2), "the sum of squares")
    return "we use norms of matrices of rank one, orthogonal parts, and the signs of coefficients"


@replay("rolora/eq-175")
def eq_175_as_printed(values: Values) -> Violation:
    """Evaluate the sum of (179) and the right side of (180), over |b*|, for an angle below eps."""
    level, delta, eps, first = fractions(values, "level", "delta", "target", "first")
    assumes = (
        *inside("delta_0", first),
        *inside("eps', against (1 - delta_0^2)/16", level, (1 - first**2) / 16),
        Hypothesis("eps, against delta_0", eps, "<", first),
        Hypothesis("delta_T", delta, ">", 0),
        Hypothesis("delta_T, against eps", delta, "<=", eps),
    )
    return Violation(
        abs(level * delta + delta - (1 + level) * eps),
        0,
        assumes=assumes,
        reads="with delta_0 = first, eps' = level, delta_T = delta and eps = target, we compute the distance of (179) "
        "from (180), which the paper prints as equal",
    )
