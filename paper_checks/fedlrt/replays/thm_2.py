"""Theorem 2, which is Theorem 9 of Appendix F.2: the descent of a whole round, truncation included.

Setting: `shared.descent`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb

import sympy

from paper_checks.fedlrt.replays.shared.descent import G, cost_of_truncation, descent_for_all_steps, x
from paper_checks.fedlrt.replays.shared.one_step import TRUNCATED, inner, minus, one_step, truncate
from paper_checks.replay import Violation, proof, replay, require
from paper_checks.stored_values import Values


@proof("fedlrt/thm-2")
def thm_2(
    largest: Fraction = Fraction(1),
    limit: Fraction = Fraction(1),
    steps: Sequence[int] = (1, 2, 3, 10, 100, 1000),
    square: Fraction = Fraction(1, 2),
) -> str:
    r"""The local steps, then the truncation; the two bounds are added.

    With full correction every client's first step is along g, so $\rho = 1$ and $R = 1 - \frac1s < 1$ in
    `shared.local_steps`: for $x = s_*\lambda L \le 1$ the loss changes by at most $-s_*\lambda(1 -
    \frac{1+R}2x)\|g\|^2$ before truncation, with $\frac{1+R}2 = 1 - \frac1{2s_*}$. The truncation adds at most
    $\vartheta\|\nabla\mathcal{L}\| + \frac L2 \vartheta^2$. No smaller constant works for all small learning rates:
    $\frac L2\|W - B\|^2$ for every client changes without truncation by $-\frac{1 - (1 - \lambda
    L)^{2s_*}}{2L}\|g\|^2$, which is $-s_*\lambda(1 - (1 - \frac1{2s_*})x)\|g\|^2$ up to terms of third order in
    $\lambda$.
    """
    descent_for_all_steps(largest, limit, steps, square=Fraction(1))
    cost_of_truncation(square)
    for s in steps:
        least = (1 - Fraction(1, 2 * s)) * s**2
        require(Fraction(comb(2 * s, 2), 2) == least, f"another constant at {s} steps")
    return (
        r"induction bounds a client's drift, and a rational inequality in one variable then gives the constant $1 - "
        r"\frac1{2s_*}$ for all clients, all steps and $s_*\lambda L \le 1$; a quadratic shows that no smaller "
        "constant works; smoothness bounds the cost of truncation"
    )


@replay("fedlrt/thm-2", **TRUNCATED)
def thm_2_as_printed(values: Values) -> Violation:
    r"""One client, one local step, 2 x 2, rank 1, loss $|W - B|^2/2$, so L = 1 and the augmented bases span everything.

    The bases are wide because the gradient of U leaves the span of U, and likewise for V.
    """
    at = one_step(values)
    end, theta, assumes = truncate(values, at)
    after, square = minus(end, at.B), inner(at.F, at.F)
    return Violation(
        (inner(after, after) - square) / 2,
        -at.rate * (1 - 12 * at.rate) * square + theta,
        assumes=assumes,
        given=at.given,
        reads="with one client, one step and the loss |W - B|^2/2, the rank is 1 before and after the round, in both "
        "readings of the truncation rule. (If the tail excludes the kept values, this is also true for theta = 3/2.) "
        "We compare the change of the loss with the printed bound",
    )


@proof("fedlrt/eq-36")
def eq_36(square: Fraction = Fraction(1, 2)) -> str:
    r"""Smoothness between the model before and after truncation, then Cauchy and Schwarz.

    The part that is cut has a norm of at most $\vartheta$, so $\mathcal{L}(W + D) - \mathcal{L}(W) \le
    \langle\nabla\mathcal{L}(W), D\rangle + \frac L2 \|D\|^2 \le \vartheta\|\nabla\mathcal{L}(W)\| + \frac
    L2\vartheta^2$. With a bound G on the gradient along the way the mean value gives $\mathcal{L}(W + D) -
    \mathcal{L}(W) = \langle\nabla\mathcal{L}(W + hD), D\rangle \le \|\nabla\mathcal{L}(W + hD)\|\,\|D\| \le
    G\vartheta$.
    """
    cost_of_truncation(square)
    return (
        r"in units with L = 1, $\vartheta\|\nabla\mathcal{L}\| + \frac12\vartheta^2$ minus what smoothness gives is "
        "a sum of products of non-negative quantities"
    )


@replay("fedlrt/eq-36", **TRUNCATED)
def eq_36_as_printed(values: Values) -> Violation:
    """Compare the rise of the loss by the truncation to rank 1, with the threshold (L = 1)."""
    at = one_step(values)
    end, theta, assumes = truncate(values, at)
    after, before = minus(end, at.B), minus(at.star, at.B)
    rise = (inner(after, after) - inner(before, before)) / 2
    return Violation(
        rise,
        theta,
        assumes=assumes,
        given=at.given,
        reads="with one client, one step and the loss |W - B|^2/2, we compare the rise of the loss by truncation with "
        "L theta",
    )


@proof("fedlrt/thm-9-proof")
def thm_9_proof(
    truncation: Fraction = Fraction(1), steps: Fraction = Fraction(1), constant: Fraction = Fraction(12)
) -> str:
    r"""The three differences add up to the whole one, for any losses; and so do their bounds.

    Every bound is its difference plus a rest that is not negative, for the first by (36), for the second by Theorem 8;
    the third is zero (Lemma 7). The last line minus the change of the loss is the sum of the two.
    """
    first, wide, star, end, theta = sympy.symbols("L_0 L_wide L_star L_end theta")
    cut, slow = sympy.symbols("f_36 f_8", positive=True)
    parts = truncation * (end - star) + steps * (star - wide) + (wide - first)
    last = theta - x * (1 - 12 * x) * G**2  # L = 1, x = s lambda
    bounded = {end: star + theta - cut}, {star: wide - steps * x * (1 - constant * x) * G**2 - slow}, {wide: first}
    change = end - first
    for one in bounded:
        change = change.subs(one)
    require(sympy.expand(parts - (end - first)) == 0, "not the whole difference")
    require(sympy.expand(last - change - cut - slow) == 0, "another last line")
    return "we add three differences and their bounds, and the two remainders are not negative"
