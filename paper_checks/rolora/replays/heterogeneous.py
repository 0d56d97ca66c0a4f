"""Replays of the claims in ``heterogeneous`` and ``heterogeneous_steps``, in fractions."""

from __future__ import annotations

from fractions import Fraction

from mpmath import iv

from paper_checks.replay import Violation, replay
from paper_checks.rolora.replays.iterations import iteration_count
from paper_checks.stored_values import Values, fractions


def _vectors(values: Values) -> tuple[list[Fraction], list[list[Fraction]], list[Fraction]]:
    """a, all b_i*, and their mean; a* is (1, 0)."""
    a = [Fraction(number) for number in values["a"]]
    own = [[Fraction(number) for number in b] for b in values["b"]]
    return a, own, [sum(column) / len(own) for column in zip(*own, strict=True)]


def _loss(a: list[Fraction], b: list[Fraction], own: list[list[Fraction]]) -> Fraction:
    """The global population loss, entry by entry."""
    total = Fraction(0)
    for mine in own:
        for i, a_i in enumerate(a):
            for j, b_j in enumerate(b):
                total += ((mine[j] if i == 0 else 0) - a_i * b_j) ** 2
    return total / len(own)


@replay("rolora/a5-minimiser")
def a5_minimiser(values: Values) -> Violation:
    """The pair sign (a*, mean b*) has the least loss, and is another pair."""
    _, own, mean = _vectors(values)
    sign = Fraction(values["sign"])
    a, b = [sign, Fraction(0)], [sign * number for number in mean]
    least = sum(sum((x - y) ** 2 for x, y in zip(mine, mean, strict=True)) for mine in own) / len(own)
    unmet = "" if _loss(a, b, own) == least and sum(x * x for x in a) == 1 else "a minimiser with a unit a"
    apart = abs(a[0] - 1) + sum(abs(x - y) for x, y in zip(b, mean, strict=True))
    return Violation(apart, 0, unmet=unmet,
                     reads="a* = (1, 0), b = rows b_i*; (a', b') = sign (a*, mean b*) has the least loss too, at the "
                     "distance")  # fmt: skip


@replay("rolora/thm-A.14")
def thm_A_14(values: Values) -> Violation:
    """Squares of the sine by the quotient of eqs. (262) and (267), in fractions; the logarithm in intervals."""
    delta_0, s, c, quotient = fractions(values, "delta_0", "step", "c", "quotient")
    T = int(values["T"])
    rate = c * (1 - delta_0**2)
    enough = iv.mpf(T) * iv.mpf(rate.numerator) / iv.mpf(rate.denominator) + iv.log(
        iv.mpf(quotient.numerator) / iv.mpf(quotient.denominator)
    )
    allowed = 0 < delta_0 < 1 and 0 < s <= Fraction(1, 2) and 0 < c < 1 and quotient > 0
    unmet = "" if allowed and enough.a >= 0 else "delta_0, c in (0, 1), eta at most 1/(2 L_max^2), T at least its bound"
    square = delta_0**2
    for _ in range(T):
        square = square * (1 - 2 * s * (1 - square)) ** 2 / (1 + 4 * s**2 * square * (1 - square))
    return Violation(square, (quotient * delta_0) ** 2, unmet=unmet,
                     reads="u_T against epsilon^2; u_0 = delta_0^2, epsilon = quotient delta_0, s = step = eta "
                     "(L_max = ||mean b*|| = 1), and u becomes u (1 - 2s(1 - u))^2/(1 + 4s^2 u(1 - u)), T times; "
                     "the theorem asks for T at least log(1/quotient)/(c (1 - u_0))")  # fmt: skip


def _mean_and_sum(values: Values) -> tuple[Fraction, Fraction, str]:
    r"""First coordinate of the clients' minimisers $b_i^*a^{*T}a$: their mean, their sum, and what is not met."""
    a, own, _ = _vectors(values)
    minimisers = [mine[0] * a[0] for mine in own]
    unmet = "" if sum(x * x for x in a) == 1 and Fraction(values["eta"]) > 0 else "a unit vector and a step"
    total = sum(minimisers, Fraction(0))
    return total / len(own), total, unmet


@replay("rolora/lem-A.15")
def lem_A_15(values: Values) -> Violation:
    """The first coordinate of what the server of Algorithm 2 averages against the formula with the sum."""
    mean, total, unmet = _mean_and_sum(values)
    return Violation(abs(total - mean), 0, unmet=unmet,
                     reads="a* = (1, 0), a^t = a, b = rows b_i*; first coordinate of b^{t+1}, formula minus "
                     "mean")  # fmt: skip


@replay("rolora/eq-249")
def eq_249(values: Values) -> Violation:
    """The mean of the minimisers against their sum."""
    mean, total, unmet = _mean_and_sum(values)
    return Violation(abs(total - mean), 0, unmet=unmet,
                     reads="a* = (1, 0), b = rows b_i*, b_i = b_i* times the first of a; first coordinate, sum "
                     "minus mean")  # fmt: skip


@replay("rolora/eq-286")
def eq_286(values: Values) -> Violation:
    """Both quotients in intervals; the printed order is exact > simple."""
    return iteration_count(values)
