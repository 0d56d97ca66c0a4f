"""Appendix A.5: different clients (eqs. (245) and (246)), Assumption A.12 and Definition A.13.

Setting: `shared.clients_and_minimisers`.

Setting: `shared.tangent_map`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.enclosures import enclose
from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.rolora.replays.shared.clients_and_minimisers import MINIMISER, SINE_SQUARED, loss, square
from paper_checks.rolora.replays.shared.iterations import inside
from paper_checks.rolora.replays.shared.rank_one import (
    COSINE,
    GAMMA_SQUARED,
    MEAN,
    MEAN_SQUARED,
    OWN,
    SQUARE_A,
    A,
    B,
    inner,
    minus,
    over_clients,
    plus,
    same,
)
from paper_checks.rolora.replays.shared.tangent_map import at_least, at_most, sines_decrease, tangents_decrease
from paper_checks.stored_values import Values, fractions


def _loss(a: list[Fraction], b: list[Fraction], own: list[list[Fraction]]) -> Fraction:
    """Return the global population loss, entry by entry."""
    total = Fraction(0)
    for mine in own:
        for i, a_i in enumerate(a):
            for j, b_j in enumerate(b):
                total += ((mine[j] if i == 0 else 0) - a_i * b_j) ** 2
    return total / len(own)


@replay("rolora/a5-minimiser")
def a5_minimiser_as_printed(values: Values) -> Violation:
    """Evaluate the pair sign (a*, mean b*) has the least loss, and is another pair."""
    own, sign = [[Fraction(number) for number in b] for b in values["b"]], Fraction(values["sign"])
    mean = [sum(column) / len(own) for column in zip(*own, strict=True)]
    a, b = [sign, Fraction(0)], [sign * number for number in mean]
    least = sum(sum((x - y) ** 2 for x, y in zip(mine, mean, strict=True)) for mine in own) / len(own)
    assumes = (
        Hypothesis("|a'|^2", sum(x * x for x in a), "=", 1),
        Hypothesis("loss at (a', b'), against the least one", _loss(a, b, own), "=", least),
    )
    apart = (a[0] - 1) ** 2 + a[1] ** 2 + sum((x - y) ** 2 for x, y in zip(b, mean, strict=True))
    return Violation(
        apart,
        0,
        assumes=assumes,
        reads="a* = (1, 0), and the rows of b are the b_i*. The point (a', b') = sign (a*, mean b*) also has the "
        "least loss. We compute |a' - a*|^2 + |b' - mean b*|^2, which would be 0 if the minimiser were unique",
    )


@proof("rolora/a5-minimiser")
def a5_minimiser(excess: Fraction = Fraction(1), least: Fraction = Fraction(1)) -> str:
    r"""Two completed squares.

    For any $a', b'$ the loss is $\gamma^2 + \|a'b'^\top - a^*\bar b^{*\top}\|^2$. For a unit $a'$ the second term is
    $G(1 - x^2) + \|b' - x\bar b^*\|^2$ with $|x| \le 1$. It is 0 if and only if $b' = x\bar b^*$ and, unless
    $\bar b^* = 0$, $x^2 = 1$, which for unit vectors is $a' = \pm a^*$; so $b' = \pm\bar b^*$ with the same sign. Any
    $a'$ of a minimiser is a unit vector times a number c, which $b'$ is divided by; with $\bar b^* = 0$ the product
    $a'b'^\top$ is 0, and so is one of the two.
    """
    off, rest = minus([(A, B)], MINIMISER), plus((1, B), (-COSINE, MEAN))
    spread = plus((1, OWN), (-1, MEAN))
    require(same(over_clients(inner(spread, spread)), GAMMA_SQUARED), "gamma^2")
    require(sympy.expand(loss(A, B) - least * GAMMA_SQUARED - excess * square(off)) == 0, "the loss")
    require(same(square(off), MEAN_SQUARED * SINE_SQUARED + inner(rest, rest)), "the second square")
    return "we complete two squares and use identities in inner products"


@proof("rolora/a5-minimiser@unit-vectors-up-to-a-common-sign")
def a5_minimiser_of_unit_vectors(excess: Fraction = Fraction(1), least: Fraction = Fraction(1)) -> str:
    r"""Two completed squares.

    The loss is $\gamma^2 + \|a'b'^\top - a^*\bar b^{*\top}\|^2$, and for a unit $a'$ the second term is $G(1 - x^2) +
    \|b' - x\bar b^*\|^2$ with $|x| \le 1$. For $\bar b^* \ne 0$ it is 0 only for $x^2 = 1$ and $b' = x\bar b^*$, which
    for unit vectors is $a' = \pm a^*$ and $b' = \pm\bar b^*$ with the same sign.
    """
    return str(a5_minimiser.evaluate(excess, least))


@proof("rolora/asm-A.12")
def asm_A_12(reach: Fraction = Fraction(1)) -> str:
    r"""Any bound does: for $\eta \le 1/(2L_{max}^2)$ it gives $s = \eta\|\bar b^*\|^2 \le \frac12$, then Lemma A.16."""
    at_least(1, reach=reach)
    sines_decrease(2, reach**2 / 2)
    return r"we have $\eta\|\bar b^*\|^2 \le \frac12$ and then apply Lemma A.16"


def end(values: Values) -> tuple[Fraction, Fraction, tuple[Hypothesis, ...]]:
    """Return the squared sine at the end, by the quotient of (262) and (267), squared epsilon, and assumptions."""
    delta_0, s, c, quotient = fractions(values, "delta_0", "step", "c", "quotient")
    T = int(values["T"])
    assumes = assuming(
        *inside("delta_0", delta_0),
        *inside("c", c),
        Hypothesis("epsilon / delta_0", quotient, ">", 0),
        Hypothesis("eta L_max^2", s, ">", 0),
        Hypothesis("eta L_max^2", s, "<=", Fraction(1, 2)),
        Hypothesis("T, for exact squares", T, "<=", 6),
    )
    assumes += (Hypothesis("T, against its bound", T, ">=", enclose("ln", 1 / quotient)[1] / (c * (1 - delta_0**2))),)
    square = delta_0**2
    for _ in range(T):
        square = square * (1 - 2 * s * (1 - square)) ** 2 / (1 + 4 * s**2 * square * (1 - square))
    return square, (quotient * delta_0) ** 2, assumes


@replay("rolora/a5-loss")
def a5_loss_as_printed(values: Values) -> Violation:
    """Evaluate the loss at (a, b) with the next b is gamma^2 plus |mean b*|^2 times the squared sine."""
    square, wanted, assumes = end(values)
    return Violation(
        square,
        wanted,
        assumes=assumes,
        reads="the symbols are as in Theorem A.14, and epsilon = quotient delta_0. After T iterations, we compare the "
        "global loss at (a^T, b^(T+1)) minus gamma^2, divided by |mean b*|^2, with epsilon^2",
    )


@proof("rolora/a5-loss@at-recovery")
def a5_loss(share: Fraction = Fraction(1), spread: Fraction = Fraction(1)) -> str:
    r"""The loss at $(a^T, b^{T+1})$ is $\gamma^2 + G\delta_T^2$, and $\delta_T$ tends to 0.

    For $\eta\|\bar b^*\|^2 \in (0, \frac12]$; with $\bar b^* = 0$ the loss is $\gamma^2$ at once.
    """
    at_most(1, share=share, spread=spread)
    reached = loss(A, plus((COSINE, MEAN)))
    require(same(reached, GAMMA_SQUARED + MEAN_SQUARED * SINE_SQUARED), "the loss")
    delta_squared, more = sympy.symbols("delta2 more", nonnegative=True)
    bound = spread * GAMMA_SQUARED + share * MEAN_SQUARED * (delta_squared + more)
    at = sympy.expand(reached.subs(SQUARE_A, 1).subs(COSINE**2, 1 - delta_squared))
    require(COSINE not in at.free_symbols and non_negative(bound - at), "the bound")
    tangents_decrease(2, 1, Fraction(1, 2))
    return "we write the loss as an identity; the tangent decreases at least geometrically"
