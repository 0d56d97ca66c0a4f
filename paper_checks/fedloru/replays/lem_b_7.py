"""Lemma B.7 and its proof.

Setting: `shared.local_steps`.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import sympy

from paper_checks.fedloru.replays.shared.local_steps import G, a, b, eta, h, i, moved_a, one_weight, positive_sizes
from paper_checks.fedloru.replays.shared.one_weight_runs import ONE_WEIGHT, run
from paper_checks.proof_steps import non_negative
from paper_checks.replay import Violation, proof, replay, require
from paper_checks.stored_values import Values


@proof("fedloru-v2/lem-B.7")
def lem_B_7(constant: Fraction = Fraction(2), steps: tuple[int, ...] = (1, 2, 5)) -> str:
    r"""Steps of at most $\eta GC_B$, i of them; the server's move is a mean of its clients'.

    With $\sigma^2 \ge 0$ the printed factor is larger than $G^2$, which one weight with a constant gradient attains as
    $\eta \to 0$.
    """
    variance = h
    require(non_negative(constant * (variance + G**2) * eta**2 * i**2 * b**2 - moved_a**2), "the square of the move")
    for number in positive_sizes(steps):
        A, _ = one_weight(number, lambda A, B: G)[-1]
        attained = sympy.cancel((A - a) / (eta * number * G)).subs(eta, 0)
        require(sympy.expand(attained**2 - b**2) == 0, f"one weight attains G^2 at {number} steps")
    return r"we add up steps of at most $\eta GC_B$; a constant gradient attains $G^2C_B^2$"


@replay("fedloru-v2/lem-B.7-mid")
def lem_B_7_mid_as_printed(values: Values) -> Violation:
    """The square of the mean step in A of the first round against the printed bound."""
    one = run(values)
    mean = (one.path[one.E][0] - one.path[0][0]) / (one.rate * one.E)
    return Violation(
        mean**2,
        2 * one.s2 * one.C_B**2 / one.E,
        assumes=one.assumes,
        reads=ONE_WEIGHT + "We compare the square of the mean step of A with the printed bound",
    )


@proof("fedloru-v2/lem-B.7-mid")
def lem_B_7_mid(constant: Fraction = Fraction(1), steps: tuple[int, ...] = (1, 2, 5)) -> str:
    r"""The square of a mean is at most the mean of the squares, each of which is at most $G^2C_B^2$.

    The first because s times the sum of s squares less the square of the sum is the sum of the squares of all
    differences: by induction, since v added to s numbers of sum S, whose squares sum to Q, adds $Q - 2vS + sv^2$ to
    both. The second because a sample's gradient has at most the norm G and B at most $C_B$.
    """
    require(non_negative(constant * G**2 * b**2 - (moved_a / (i * eta)) ** 2), "the mean of the squares")
    x, s, Q, S = sympy.symbols("x s Q S")
    one_more = ((s + 1) * (Q + x**2) - (S + x) ** 2) - (s * Q - S**2) - (Q - 2 * x * S + s * x**2)
    require(sympy.expand(one_more) == 0, "the spread of one number more")
    for number in positive_sizes(steps):
        v = sympy.symbols(f"v1:{number + 1}")
        spread = number * sum(x**2 for x in v) - sum(v) ** 2
        squares = sum((x - y) ** 2 for x, y in combinations(v, 2))
        require(sympy.expand(spread - squares) == 0, f"the mean of {number} squares")
    return (
        "by induction for any E, the mean of the squares minus the square of the mean is a sum of squares; each step "
        r"has $\|g\|\|B\| \le GC_B$"
    )
