"""Replays of the claims in ``cumulant_series``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v1/eq-36")
def eq_36(values: Values) -> Violation:
    """The numerator multiplied out, against the printed one."""
    Mj, Nj, M1, N1 = fractions(values, "R_Mj", "R_Nj", "R_M1", "R_N1")
    t1, tj, sM, sN = fractions(values, "theta_1", "theta_j", "s_M", "s_N")
    numerator = (tj + sM * Mj) * (t1 + sN * N1) - (tj + sN * Nj) * (t1 + sM * M1)
    printed = t1 * (sN * Nj - sM * Mj) + tj * (sM * M1 - sN * N1) + sN * sM * (M1 * Nj - N1 * Mj)
    return Violation(abs(numerator - printed), Fraction(0), reads="|numerator - printed numerator|")


def law(number: int, x: Fraction) -> Fraction:
    """R-transforms: semicircle, Marchenko-Pastur of ratio 1/2, semicircle of mean -1/2, mirrored Marchenko-Pastur."""
    half = Fraction(1, 2)
    return [x, 2 / (2 - x), x - half, -2 / (2 + x)][number]


@replay("fedloru-v1/Fj1")
def fj1(values: Values) -> Violation:
    """F_{j,1} from its definition at theta_1 = 1."""
    number, (x, tj, shrink) = int(values["law"]), fractions(values, "x", "ratio", "shrink")
    sM = x * tj
    sN = shrink * sM
    value = sN * law(number, sN / tj) - sM * law(number, sM / tj) + tj * (sM * law(number, sM) - sN * law(number, sN))
    unmet = (
        "" if 0 < tj < 1 and 0 < shrink < 1 and 0 < x < Fraction(82, 100) else "theta_1 > theta_j, s_N < s_M, outliers"
    )
    return Violation(value, Fraction(0), strict=True, unmet=unmet, reads="F_j1 against 0, which should be greater")


@replay("fedloru-v1/Fj2")
def fj2(values: Values) -> Violation:
    """The coefficient n = 2 of the Cauchy product, a_1 b_2 + a_2 b_1, against the printed a_1 b_2 + a_2 b_2."""
    a1, a2, b1, b2 = fractions(values, "a1", "a2", "b1", "b2")
    return Violation(abs((a1 * b2 + a2 * b1) - (a1 * b2 + a2 * b2)), Fraction(0),
                     reads="|coefficient of the product - printed one|, n = 2")  # fmt: skip
