"""Replays of the claims in ``heterogeneous`` and ``heterogeneous_steps``, in fractions."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.enclosures import enclosed
from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.rolora.replays.iterations import inside, iteration_count
from paper_checks.stored_values import Values, fractions


def _loss(a: list[Fraction], b: list[Fraction], own: list[list[Fraction]]) -> Fraction:
    """The global population loss, entry by entry."""
    total = Fraction(0)
    for mine in own:
        for i, a_i in enumerate(a):
            for j, b_j in enumerate(b):
                total += ((mine[j] if i == 0 else 0) - a_i * b_j) ** 2
    return total / len(own)


@replay("rolora/a5-minimiser")
def a5_minimiser_as_printed(values: Values) -> Violation:
    """The pair sign (a*, mean b*) has the least loss, and is another pair."""
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
        reads="a* = (1, 0), b = rows b_i*; (a', b') = sign (a*, mean b*) has the least loss too: "
        "|a' - a*|^2 + |b' - mean b*|^2",
    )


def end(values: Values) -> tuple[Fraction, Fraction, tuple[Hypothesis, ...]]:
    """Squares of the sine at the end, by the quotient of eqs. (262) and (267), and of epsilon; what is assumed."""
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
    assumes += (Hypothesis("T, against its bound", T, ">=", enclosed("ln", 1 / quotient)[1] / (c * (1 - delta_0**2))),)
    square = delta_0**2
    for _ in range(T):
        square = square * (1 - 2 * s * (1 - square)) ** 2 / (1 + 4 * s**2 * square * (1 - square))
    return square, (quotient * delta_0) ** 2, assumes


@replay("rolora/thm-A.14")
def thm_A_14_as_printed(values: Values) -> Violation:
    """The sine after as many iterations."""
    square, wanted, assumes = end(values)
    return Violation(
        square,
        wanted,
        assumes=assumes,
        reads="u_T against epsilon^2; u_0 = delta_0^2, epsilon = quotient delta_0, s = step = eta "
        "(L_max = ||mean b*|| = 1), and u becomes u (1 - 2s(1 - u))^2/(1 + 4s^2 u(1 - u)), T times; "
        "the theorem asks for T at least log(1/quotient)/(c (1 - u_0))",
    )


@replay("rolora/a5-loss")
def a5_loss_as_printed(values: Values) -> Violation:
    """The loss at (a, b) with the next b is gamma^2 plus |mean b*|^2 times the squared sine."""
    square, wanted, assumes = end(values)
    return Violation(
        square,
        wanted,
        assumes=assumes,
        reads="global loss at (a^T, b^(T+1)) minus gamma^2, over |mean b*|^2, after T iterations of "
        "Theorem A.14, against epsilon^2; epsilon = quotient delta_0, and the other symbols are those of "
        "the theorem",
    )


def _mean_and_sum(values: Values) -> tuple[Fraction, Fraction, list[Hypothesis]]:
    r"""The clients' minimisers $b_i^*a^{*T}a$ along the mean $\bar b^*$: their mean, their sum, and what is assumed."""
    a, own = [Fraction(x) for x in values["a"]], [[Fraction(x) for x in b] for b in values["b"]]
    mean = [sum(column) / len(own) for column in zip(*own, strict=True)]
    minimisers = [sum(x * y for x, y in zip(mine, mean, strict=True)) * a[0] for mine in own]
    total = sum(minimisers, Fraction(0))
    return total / len(own), total, [Hypothesis("|a|^2", sum(x * x for x in a), "=", 1)]


@replay("rolora/lem-A.15")
def lem_A_15_as_printed(values: Values) -> Violation:
    """The first coordinate of what the server of Algorithm 2 averages against the formula with the sum."""
    mean, total, assumes = _mean_and_sum(values)
    return Violation(
        abs(total - mean),
        0,
        assumes=assumes,
        reads="a* = (1, 0), a^t = a, b = rows b_i*; inner product with mean b* of b^{t+1}, formula minus mean",
    )


@replay("rolora/eq-249")
def eq_249_as_printed(values: Values) -> Violation:
    """The mean of the minimisers against their sum."""
    mean, total, assumes = _mean_and_sum(values)
    return Violation(
        abs(total - mean),
        0,
        assumes=assumes,
        reads="a* = (1, 0), b = rows b_i*, b_i = b_i* times the first of a; inner products with mean b*, "
        "sum minus mean",
    )


@replay("rolora/eq-286")
def eq_286_as_printed(values: Values) -> Violation:
    """Both quotients in intervals; the printed order is exact > simple."""
    return iteration_count(values)
