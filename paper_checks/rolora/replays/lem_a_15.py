"""Lemma A.15 and its proof (eqs. (247) to (253)).

Setting: `shared.clients_and_minimisers`.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.rolora.replays.shared.clients_and_minimisers import CLIENT, minimiser_of_a_client, square
from paper_checks.rolora.replays.shared.rank_one import MEAN, OWN, TRUTH, A, B, H, inner, minus, over_clients, plus
from paper_checks.stored_values import Values


def _mean_and_sum(values: Values) -> tuple[Fraction, Fraction, list[Hypothesis]]:
    r"""Return mean and sum of the clients' minimisers $b_i^*a^{*T}a$ along the mean $\bar b^*$, and what is assumed."""
    a, own = [Fraction(x) for x in values["a"]], [[Fraction(x) for x in b] for b in values["b"]]
    mean = [sum(column) / len(own) for column in zip(*own, strict=True)]
    minimisers = [sum(x * y for x, y in zip(mine, mean, strict=True)) * a[0] for mine in own]
    total = sum(minimisers, Fraction(0))
    return total / len(own), total, [Hypothesis("|a|^2", sum(x * x for x in a), "=", 1)]


@replay("rolora/lem-A.15")
def lem_A_15_as_printed(values: Values) -> Violation:
    """Compare the first coordinate of what the server of Algorithm 2 averages with the formula with the sum."""
    mean, total, assumes = _mean_and_sum(values)
    return Violation(
        abs(total - mean),
        0,
        assumes=assumes,
        reads="a* = (1, 0), a^t = a, and the rows of b are the b_i*. We compute the inner product of b^{t+1} with "
        "mean b*, by the formula and as the mean over the clients, and take the difference",
    )


def eq_249_steps(factor: Fraction, mean_power: Fraction) -> str:
    r"""The client's minimiser, its mean, its gradient along every direction h, and the mean of the gradients.

    The loss at $a + th$ has the coefficient $\langle h, 2(a\|b\|^2 - a^*\langle b_i^*, b\rangle)\rangle$ of t. With
    $\bar b^* = N^{-p}\sum b_i^*$ the mean of the $xb_i^*$ is $x\bar b^*$ for all N only if p = 1.
    """
    minimiser_of_a_client()
    N, t = sympy.symbols("N t", positive=True)
    require(sympy.simplify(N * N ** (-mean_power) - 1) == 0, "the mean")
    moved = square(minus(CLIENT, [(plus((1, A), (t, H)), B)]))
    slope = plus((factor * inner(B, B), A), (-factor * inner(OWN, B), TRUTH))
    require(sympy.expand(moved.coeff(t, 1) - inner(slope, H)) == 0, "the client's gradient")
    mean_slope = plus((factor * inner(B, B), A), (-factor * inner(MEAN, B), TRUTH))
    require(sympy.expand(over_clients(inner(slope, H)) - inner(mean_slope, H)) == 0, "the mean gradient")
    return (
        "we complete the square and take the means of the minimisers and of the gradients along every direction, for "
        "any number of clients"
    )


@proof("rolora/lem-A.15")
def lem_A_15(factor: Fraction = Fraction(2), mean_power: Fraction = Fraction(1)) -> str:
    r"""At a unit a the client's loss is a completed square in b, least at $b = xb_i^*$ with $x = a^\top a^*$.

    The server's mean of these is $x\bar b^*$ with $\bar b^* = \frac1N\sum_ib_i^*$. The gradient in a at this mean is
    $2(a\|b\|^2 - a^*\langle b_i^*, b\rangle)$ for a client, and with $\bar b^*$ for $b_i^*$ for the mean of the
    clients, because it is linear in $b_i^*$.
    """
    return eq_249_steps(factor, mean_power)


@replay("rolora/eq-249")
def eq_249_as_printed(values: Values) -> Violation:
    """Compare the mean of the minimisers with their sum."""
    mean, total, assumes = _mean_and_sum(values)
    return Violation(
        abs(total - mean),
        0,
        assumes=assumes,
        reads="a* = (1, 0), the rows of b are the b_i*, and b_i is b_i* times the first entry of a. We compute the "
        "inner products of the sum and of the mean with mean b*, and take the difference",
    )


@proof("rolora/eq-249")
def eq_249(factor: Fraction = Fraction(2), mean_power: Fraction = Fraction(1)) -> str:
    r"""The client's minimiser, its mean over the clients, and the gradients in a.

    The minimiser is seen by a completed square, and the gradients are the coefficient of t in the loss at $a + th$, for
    every direction h.
    """
    return eq_249_steps(factor, mean_power)
