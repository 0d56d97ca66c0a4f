"""Results of replays: exact numbers, or floats with a bound on their error; all stored values are read."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from mpmath import mpf

from paper_checks.evaluation import Hypothesis, Violation, evaluated, replay, used


def outcome(*sides, values=None, **more):
    """Result of a replay with these sides."""
    return evaluated(replay("demo/eq-1")(lambda values: Violation(*sides, **more)), values or {})


@pytest.mark.parametrize("side", [2, Fraction(2), sympy.Integer(2), sympy.Rational(5, 2)])
def test_integers_fractions_and_sympy_rationals_are_exact(side):
    found = outcome(side, 1)
    assert (found.confirmed, found.exact) == (True, True)
    assert found.detail.endswith("(exact)")


@pytest.mark.parametrize(
    "side", [2.0, np.float64(2), np.int64(2), np.bool_(True), True, mpf(2), sympy.sqrt(5), sympy.Float(2), "2", None]
)
def test_no_other_number_is_exact(side):
    assert not outcome(side, 1).confirmed
    assert not outcome(1, side, strict=True).confirmed
    assert not outcome(4, 1, error=side if not isinstance(side, float) else math.nan).confirmed


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (Fraction(1, 10**4), "0.3601 > 0.36 (exact)"),
        (Fraction(1, 10**8), "0.36000001 > 0.36 (exact)"),
        (Fraction(1, 10**40), "0.36 + 1e-40 > 0.36 (exact)"),
    ],
)
def test_two_sides_that_differ_are_not_told_alike(more, told):
    assert outcome(Fraction(36, 100) + more, Fraction(36, 100)).detail == told


@pytest.mark.parametrize("side", [math.nan, math.inf, -math.inf])
def test_sides_and_errors_are_finite(side):
    assert not outcome(side, 1.0, 1e-9).confirmed
    assert not outcome(2.0, side, 1e-9).confirmed
    assert not outcome(2.0, 1.0, side).confirmed


def test_one_unit_in_the_last_place_is_no_violation():
    above = math.nextafter(1.0, 2.0)
    assert not outcome(above, 1.0).confirmed
    assert not outcome(above, 1.0, 1e-30).confirmed  # no float is that good
    assert not outcome(above, 1.0, 1e-15).confirmed
    assert not outcome(1.0, 1.0, strict=True).confirmed
    found = outcome(1.0 + 1e-9, 1.0, 1e-10)
    assert (found.confirmed, found.exact) == (True, True)  # a bound on rounding is rigorous


def test_a_witness_within_its_own_error_is_none():
    assert not outcome(Fraction(3, 2), 1, Fraction(1, 2)).confirmed
    assert not outcome(1, 1, Fraction(1, 2), strict=True).confirmed
    assert not outcome(1.5, 1.0, 0.5).confirmed
    assert not outcome(2, 1, -2).confirmed


def test_the_gap_is_taken_without_rounding():
    assert outcome(Fraction(10**40 + 1), Fraction(10**40)).confirmed
    # As floats the gap would be the error, or more than it.
    assert not outcome(1e16, 1.0, Fraction(10**16)).confirmed


def test_a_sample_names_how_it_was_drawn_and_has_an_error():
    found = outcome(2.0, 1.0, 0.1, sampled="dense matrices, Philox")
    assert (found.confirmed, found.exact) == (True, False)
    assert found.detail.endswith("(error at most 0.1; dense matrices, Philox)")
    assert not outcome(Fraction(2), Fraction(1), sampled="dense matrices, Philox").confirmed


@pytest.mark.parametrize(("value", "bound"), [(1.0, 2), (1, 2.0), (np.int64(1), 2), (True, 2), ("a", 2), (mpf(1), 2)])
def test_hypotheses_compare_exact_numbers(value, bound):
    with pytest.raises(TypeError):
        Hypothesis("x", value, "<=", bound)


def test_hypotheses_on_names_are_equalities():
    assert Hypothesis("split", "IID", "=", "IID").met
    assert not Hypothesis("split", "NonIID", "=", "IID").met
    assert str(Hypothesis("split", "NonIID", "=", "IID")) == "split = NonIID, and not IID"
    with pytest.raises(TypeError):
        Hypothesis("split", "IID", "<", "NonIID")


def test_a_witness_holds_nothing_that_is_not_read():
    reading = replay("demo/eq-1")(lambda values: Violation(Fraction(values["x"]), 1))
    assert evaluated(reading, {"x": 2}).confirmed
    more = evaluated(reading, {"x": 2, "draws": 12, "cell": "4"})
    assert not more.confirmed
    assert more.detail == "nothing is made of cell, draws"
    assert used(reading, {"draws": 12, "x": 2, "cell": "4"}) == {"x": 2}
