"""Replays of the claims in ``cumulant_series``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v1/eq-36")
def eq_36(values: Values) -> Violation:
    """The numerator multiplied out, against the printed one, for the semicircle of variance 1: R(w) = w."""
    t1, tj, sM, sN = fractions(values, "theta_1", "theta_j", "s_M", "s_N")
    assumes = assuming(
        Hypothesis("s_N", sN, ">", 0),
        Hypothesis("s_N, against s_M", sN, "<", sM),
        Hypothesis("theta_j, an outlier's at M", tj, ">", sM),
        Hypothesis("theta_j, against theta_1", tj, "<", t1),
    )
    Mj, Nj, M1, N1 = sM / tj, sN / tj, sM / t1, sN / t1
    numerator = (tj + sM * Mj) * (t1 + sN * N1) - (tj + sN * Nj) * (t1 + sM * M1)
    printed = t1 * (sN * Nj - sM * Mj) + tj * (sM * M1 - sN * N1) + sN * sM * (M1 * Nj - N1 * Mj)
    return Violation(
        abs(numerator - printed),
        0,
        assumes=assumes,
        reads="semicircle of variance 1, R(w) = w: |numerator - printed numerator|",
    )


@replay("fedloru-v1/Fj1", x="s_M/theta_j", ratio="theta_j/theta_1", shrink="s_N/s_M")
def fj1_as_printed(values: Values) -> Violation:
    """F_{j,1} from its definition at theta_1 = 1, for the semicircle of mean -1/2: R(w) = w - 1/2."""
    x, tj, shrink = fractions(values, "x", "ratio", "shrink")
    sM, sN = x * tj, shrink * x * tj

    def R(w: Fraction) -> Fraction:
        return w - Fraction(1, 2)

    value = sN * R(sN / tj) - sM * R(sM / tj) + tj * (sM * R(sM) - sN * R(sN))
    assumes = (
        Hypothesis("theta_j, against theta_1 = 1", tj, "<", 1),
        Hypothesis("s_N", sN, ">", 0),
        Hypothesis("s_N, against s_M", sN, "<", sM),
        Hypothesis("s_M / theta_j, for outliers of this law", x, "<", 1),
    )
    return Violation(
        value,
        0,
        strict=True,
        assumes=assumes,
        reads="theta_1 = 1, semicircle of mean -1/2: F_j1 against 0, which should be greater",
    )


@replay("fedloru-v1/Fj2")
def fj2_as_printed(values: Values) -> Violation:
    """The coefficient n = 2 of the Cauchy product, a_1 b_2 + a_2 b_1, against the printed a_1 b_2 + a_2 b_2."""
    a1, a2, b1, b2 = fractions(values, "a1", "a2", "b1", "b2")
    coefficient, printed = a1 * b2 + a2 * b1, a1 * b2 + a2 * b2
    return Violation(
        abs(coefficient - printed),
        0,
        given={"coefficient": coefficient, "printed": printed},
        reads="|coefficient of the product - printed one|, n = 2",
    )
