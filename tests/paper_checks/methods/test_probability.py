"""Exact probabilities are compared exactly with the bounds that are written, and counts are whole numbers."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import sympy

from paper_checks.context import LEVEL
from paper_checks.methods.probability import Counted, Law, judge_probability
from paper_checks.methods.sides import UndefinedError

TINY = Fraction(1, 10**20)


def judge(event, low, high):
    return judge_probability(event, low, high, scope="one law", what="the event")


@pytest.mark.parametrize(
    ("probability", "low", "high", "ok"),
    [
        (Fraction(1, 2), 0, 0.5, True),
        (Fraction(1, 2) + TINY, 0, 0.5, False),
        (Fraction(1, 2), 0.5, 1, True),
        (Fraction(1, 2) - TINY, 0.5, 1, False),
        (Fraction(3, 10), 0.3, 0.3, True),  # the float 0.3 is below 3/10
        (Fraction(16, 25), 0.64, 1, True),  # the float 0.64 is above 16/25
        (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3), True),
        (Fraction(1, 3), 0, Fraction(1, 3) - TINY, False),
        (sympy.Rational(1, 3), 0, Fraction(1, 3), True),
        (Decimal("0.3"), 0.3, 1, True),
        (1, 0, np.float64(1.0), True),
        (0, TINY, 1, False),
    ],
)
def test_an_exact_probability_is_compared_exactly(probability, low, high, ok):
    found = judge(Law(probability), low, high)
    assert found.ok is ok
    assert len(found.facts) == (2 if ok else 1)


@pytest.mark.parametrize("probability", [1 + TINY, -TINY, 1.5, True, float("nan")])
def test_a_probability_is_between_0_and_1(probability):
    with pytest.raises(UndefinedError):
        Law(probability, 1e-9)


def test_a_float_with_an_error_is_an_interval():
    assert judge(Law(0.5, 1e-9), 0.4, 0.6).ok is True
    assert judge(Law(0.5, 1e-9), 0.4, 0.5).ok is None
    assert judge(Law(0.5, 1e-9), 0.51, 0.6).ok is False


@pytest.mark.parametrize(
    ("happened", "draws"),
    [(0, 0), (5, 3), (-1, 3), (1.5, 3), (np.float64(1.0), 3), (True, 3), (float("nan"), 3), (1, 2**53)],
)
def test_counts_are_whole_numbers_of_some_draws(happened, draws):
    with pytest.raises(UndefinedError, match="an event happens in some of at least one draw, got"):
        Counted(happened, draws)


def test_counts_of_numpy_do_not_overflow():
    small, large = Counted(np.int8(100), np.int8(120)), Counted(100, 120)
    assert judge(small, 0.5, 1.0) == judge(large, 0.5, 1.0)


@pytest.mark.parametrize(("low", "ok"), [(0.25, True), (0.3, None), (0.35, False)])
def test_a_law_with_an_error_spends_no_level(low, ok):
    """Its interval is known, so the verdict cannot be a false alarm."""
    found = judge(Law(0.3, 1e-9), low, 0.5)
    assert (found.ok, found.level) == (ok, 0.0)
    counted = judge(Counted(3_000_000, 10_000_000), low, 0.5)
    assert (counted.ok, counted.level) == (ok, LEVEL)
