"""Numbers that the engine compares: intervals of printed values, probabilities and sides, by hand and to their ends."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy

from paper_checks.claim import Evidence
from paper_checks.context import LEVEL
from paper_checks.engine.judging import obtained_beside
from paper_checks.evaluation import Replayed
from paper_checks.methods.printed import Cell, Rounded, judge_printed
from paper_checks.methods.probability import Counted, Law, judge_probability
from paper_checks.methods.sides import UndefinedError, checked_sides, number
from paper_checks.stored_values import followed, fractions, square

F = Fraction
A, B = Rounded(F(1), F(2)), Rounded(F(-3), F(5))


def test_arithmetic_of_intervals_by_hand():
    assert Rounded(F(-2), F(7)) == A + B
    assert Rounded(F(-4), F(5)) == A - B
    assert Rounded(F(-5), F(4)) == B - A
    assert A * B == B * A == Rounded(F(-6), F(10))
    assert Rounded(F(-3), F(5)) == B / A
    assert A / Rounded(F(-4), F(-2)) == Rounded(F(-1), F(-1, 4))
    assert Rounded.exact(3) == Rounded(F(3), F(3))


@pytest.mark.parametrize("zero", [(F(0), F(1)), (F(-1), F(0)), (F(-1), F(1)), (F(0), F(0))])
def test_no_interval_is_divided_by_one_that_may_be_zero(zero):
    with pytest.raises(ZeroDivisionError, match="division by an interval that contains 0"):
        A / Rounded(*zero)


def test_intervals_that_touch_can_be_the_same_number():
    assert A.meets(Rounded(F(2), F(3)))
    assert Rounded(F(2), F(3)).meets(A)
    assert not A.meets(Rounded(F(2) + F(1, 10**30), F(3)))
    assert not Rounded(F(2) + F(1, 10**30), F(3)).meets(A)
    touching = judge_printed({"a": Cell(A, Rounded(F(2), F(3)), {})}, "one cell")
    assert (touching.ok, touching.margin) == (True, 0.0)


def test_cells_are_told_by_the_one_nearest_to_failing():
    inside, close = Cell(A, Rounded(F(1), F(2)), {}), Cell(A, Rounded(F(15, 8), F(3)), {})
    kept = judge_printed({"inside": inside, "close": close}, "")
    assert kept.margin == 0.125
    assert "close" in kept.printed
    far, near = Cell(A, Rounded(F(5), F(6)), {"x": "5.5"}), Cell(A, Rounded(F(3), F(4)), {"x": "3.5"})
    broken = judge_printed({"inside": inside, "near": near, "far": far}, "")
    assert broken.ok is False
    assert broken.witness == {"cell": "far", "x": "5.5"}
    assert "2 of 3 do not follow" in broken.obtained
    assert broken.margin < kept.margin


def test_an_interval_shows_its_middle_and_half():
    assert str(Rounded.printed("2.50")) == "2.5 ± 0.005"
    assert str(Rounded.exact(7)) == "7"
    assert str(Rounded(F(-3), F(5))) == "1 ± 4"


@pytest.mark.parametrize("draws", [1, 10, 1000])
@pytest.mark.parametrize("level", [0.05, 1e-6])
def test_an_event_that_never_or_always_happens_has_the_exact_interval(draws, level):
    """Clopper and Pearson: (1 - p)^n = level / 2 at the upper end of no success."""
    end = 1.0 - (level / 2) ** (1 / draws)
    assert Counted(0, draws).interval(level) == pytest.approx((0.0, end))
    assert Counted(draws, draws).interval(level) == pytest.approx((1.0 - end, 1.0))
    assert Counted(0, draws).interval() == Counted(0, draws).interval(LEVEL)


@pytest.mark.parametrize("value", [0, 1, F(1, 3)])
def test_exact_probabilities_are_judged_at_their_bounds(value):
    kept = judge_probability(Law(value), value, value, scope="", what="A")
    assert (kept.ok, kept.margin, kept.level) == (True, 0.0, 0.0)
    for low, high, apart in ((value - 0.5, value - 0.25, 0.25), (value + 0.125, value + 0.5, 0.125)):
        broken = judge_probability(Law(value), low, high, scope="", what="A", witness={"n": 3})
        assert broken.ok is False
        assert broken.margin == pytest.approx(-apart)
        assert broken.witness == {"n": 3, "event": "A", "claimed": [low, high], "found": [float(value)] * 2}


def test_a_probability_with_an_error_decides_beyond_its_error_only():
    law = Law(0.5, 0.25)
    assert law.interval() == (0.25, 0.75)
    for (low, high), ok in (((0.25, 0.75), True), ((0.3, 1.0), None), ((0.0, 0.7), None), ((0.8, 1.0), False)):
        found = judge_probability(law, low, high, scope="", what="A")
        assert found.ok is ok
        assert bool(found.reason) == (ok is None)


def test_counts_decide_where_their_interval_does():
    for happened, ok in ((500, None), (700, True), (400, False)):
        found = judge_probability(Counted(happened, 1000), 0.5, 1.0, scope="", what="A")
        assert found.ok is ok
        assert found.level == LEVEL


@pytest.mark.parametrize("bad", [(-0.1, 0.01), (1.1, 0.01), (F(-1, 3), 0.0), (F(4, 3), 0.0), (0.5, -0.1), (0.5, 0.0)])
def test_what_is_no_probability_is_refused(bad):
    with pytest.raises(UndefinedError, match="a probability"):
        Law(*bad)


@pytest.mark.parametrize("value", [3, -0.5, F(1, 2), sympy.Rational(1, 2), np.float64(2.0), np.float32(0.5), 0])
def test_numbers_are_taken_as_floats(value):
    found = number(value, "it")
    assert type(found) is float
    assert found == float(value)


@pytest.mark.parametrize("value", [True, np.bool_(False), "1", None, [1.0], 1j, np.int64(3), sympy.pi])
def test_what_is_of_no_type_of_a_number_is_refused(value):
    with pytest.raises(UndefinedError, match="it must be a number, got"):
        number(value, "it")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -np.inf])
def test_numbers_are_finite(value):
    with pytest.raises(UndefinedError, match="it must be a finite number, got"):
        number(value, "it")


def test_exact_sides_are_subtracted_exactly():
    """Their floats are equal, their difference is 1 / 10^30."""
    one, more = np.array([F(1)], dtype=object), np.array([F(1) + F(1, 10**30)], dtype=object)
    left, right, difference, bound = checked_sides(more, one, 0.0, infinite=False)
    assert (left, right, difference, bound) == (1.0, 1.0, 1e-30, 0.0)
    assert checked_sides(np.array([1.5]), np.array([0.5]), 0.25, infinite=False)[2:] == (1.0, 0.25)


@pytest.mark.parametrize(
    ("left", "right", "error", "infinite", "message"),
    [
        ([1.0], [1.0, 2.0], 0.0, False, r"expected two sides of shape \(cases,\), got \(1,\) and \(2,\)"),
        ([[1.0]], [[1.0]], 0.0, False, r"expected two sides of shape"),
        ([1.0, np.nan], [1.0, 2.0], 0.0, True, "1 of 2 left sides are not numbers"),
        ([1.0, 2.0], [np.nan, np.nan], 0.0, True, "2 of 2 right sides are not numbers"),
        ([np.inf], [0.0], 0.0, False, "1 of 1 left sides are infinite, which is not declared"),
        ([np.inf], [np.inf], 0.0, True, "both sides of 1 cases are the same infinity"),
        ([1.0], [0.0], -1e-9, False, "an error bound must be a finite number of at least 0"),
        ([1.0], [0.0], np.inf, True, "an error bound must be a finite number of at least 0"),
        ([1], [0.0], 0.0, False, "left sides must be floats or exact numbers, got int64"),
        ([True], [0.0], 0.0, False, "left sides must be floats or exact numbers, got bool"),
    ],
)
def test_sides_that_cannot_be_compared_are_refused(left, right, error, infinite, message):
    with pytest.raises(UndefinedError, match=message):
        checked_sides(np.array(left), np.array(right), error, infinite=infinite)


def test_declared_infinities_may_differ():
    found = checked_sides(np.array([np.inf, 1.0]), np.array([-np.inf, np.inf]), 0.0, infinite=True)[2]
    assert found.tolist() == [np.inf, -np.inf]


def test_stored_numbers_are_read_exactly_and_in_bounds():
    values = {"a": "1/3", "b": 0.1, "steps": 8, "more": "9", "n": 3}
    assert fractions(values, "b", "a") == [F(0.1), F(1, 3)]
    assert followed(values, "steps") == 8
    assert followed(values, "n", 3) == 3
    for name, most in (("more", 8), ("n", 2)):
        with pytest.raises(ValueError, match=f"at most {most} {name} can be followed in fractions, got"):
            followed(values, name, most)
    assert square([["1/2", 0], [1, 2.0]], 2) == [[F(1, 2), F(0)], [F(1), F(2)]]
    for entries, size in (([[1, 2]], 2), ([[1], [2]], 2), ([[1]], 2), ([], 1), ([[1, 2], [3]], 2)):
        with pytest.raises(ValueError, match=f"not {size} rows of {size} entries"):
            square(entries, size)
    assert square([], 0) == []


@pytest.mark.parametrize(
    ("stored", "where"),
    [({"x": "2", "grid": [1, 2]}, "the witness"), ({"x": "3"}, "a case of this run"), (None, "a case of this run")],
)
def test_what_was_obtained_elsewhere_is_not_said_of_the_stored_witness(stored, where):
    found = Evidence(
        False,
        "numbers",
        obtained="left 6, right 4 at the witness",
        margin=-2.0,
        witness={"x": "2", "grid": (1, 2), "not read by the replay": 5},
    )
    assert obtained_beside(found, stored) == f"left 6, right 4 at {where}"


DRAWN = Replayed("witness", True, False, 6.1, 4.0, "drawn")


def test_what_was_obtained_is_said_of_this_run_where_the_replay_draws_anew():
    found = Evidence(False, "numbers", obtained="left 6, right 4 at the witness", margin=-2.0, witness={"x": "2"})
    assert obtained_beside(found, {"x": "2"}, DRAWN) == "left 6, right 4 at the witness, in this run"
    assert obtained_beside(found, {"x": "3"}, DRAWN) == "left 6, right 4 at a case of this run"


@pytest.mark.parametrize(
    ("left", "right", "where"), [(6.0, 4.0, "the witness"), (4.0, 6.0, "the witness"), (6.0, 4.5, "a case of this run")]
)
def test_sides_that_the_replay_does_not_find_are_not_said_of_the_stored_witness(left, right, where):
    found = Evidence(
        False, "numbers", obtained="left 6, right 4 at the witness", margin=-2.0, witness={"x": "2"}, sides=(6.0, 4.0)
    )
    assert obtained_beside(found, {"x": "2"}, replace(DRAWN, exact=True, left=left, right=right)) == (
        f"left 6, right 4 at {where}"
    )
