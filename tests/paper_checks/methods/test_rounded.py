"""Rounded numbers of which one occurs several times, against dense grids and closed forms."""

import operator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper_checks.methods.printed import Cell, Order, judge_order, judge_printed
from paper_checks.methods.rounded import Rounded, largest, smallest

A, B, C = Rounded(Fraction(1), Fraction(3)), Rounded(Fraction(2), Fraction(5)), Rounded(Fraction(-1), Fraction(4))


def judged(printed, recomputed):
    return judge_printed({"cell": Cell(printed, recomputed, {"a": "1"})}, "one cell")


@pytest.mark.parametrize(
    ("found", "low", "high"),
    [
        (A - A, 0, 0),
        (A / A, 1, 1),
        (A / (A + B), Fraction(1, 6), Fraction(3, 5)),
        (B / (A + B), Fraction(2, 5), Fraction(5, 6)),
        ((A + B) / A, Fraction(5, 3), 6),
        ((A - B) / B, Fraction(-4, 5), Fraction(1, 2)),
        (A - A * B, -12, -1),
        (A * C - A, -6, 9),
        (A + B - A, 2, 5),
        ((A + C) - (B + C), -4, 1),
        (A / (Rounded.exact(2) * A), Fraction(1, 2), Fraction(1, 2)),
    ],
)
def test_an_interval_that_occurs_twice_is_one_unknown(found, low, high):
    assert (found.low, found.high) == (low, high) == found.inner


def test_two_intervals_of_the_same_bounds_are_two_unknowns():
    other = Rounded(A.low, A.high)
    assert other == A
    assert (A - other).inner == ((A - other).low, (A - other).high) == (-2, 2)


@pytest.mark.parametrize(
    "formula",
    [
        lambda a, b, c: a * a - b,
        lambda a, b, c: (a - b) * (a + c),
        lambda a, b, c: (c * c - c) / (a * b),
        lambda a, b, c: a / b - c / b,
        lambda a, b, c: a / b + b / a,  # 2 at a = b, below all corners
        lambda a, b, c: largest([a, b, c]) - a,
        lambda a, b, c: smallest([a - c, b - c]) + a,
        lambda a, b, c: a / (a + b) * (b / (a + b)),
    ],
)
def test_bounds_enclose_every_value_and_inner_ones_are_taken(formula):
    """On a grid of the unknowns, whose values lie within the bounds; the inner bounds lie within those of the grid."""
    found = formula(A, B, C)
    grids = [[one.low + (one.high - one.low) * Fraction(i, 6) for i in range(7)] for one in (A, B, C)]
    values = [formula(*map(Rounded.exact, point)).low for point in product(*grids)]
    assert found.low <= min(values) <= found.inner[0] <= found.inner[1] <= max(values) <= found.high


def test_a_column_of_many_is_compared_with_its_mean():
    """x_1 minus the mean of n: by closed form (n - 1) / n times the sum of both half widths; more than all corners."""
    column = [Rounded.printed(f"{i}.5") for i in range(1000)]
    few = column[:30]
    mean = sum(few, Rounded.exact(0)) / Rounded.exact(30)
    apart = few[0] - mean
    width = 2 * Fraction(29, 30) * Fraction(1, 10)
    assert apart.inner[1] - apart.inner[0] == width
    assert apart.low <= apart.inner[0] < apart.inner[1] <= apart.high
    long = sum(column, Rounded.exact(0))
    assert (long.low, long.high) == long.inner


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 9)), min_size=2, max_size=4), st.integers(0, 3))
def test_shares_of_a_whole_are_as_a_dense_search_finds_them(ends, index):
    parts = [Rounded(Fraction(low), Fraction(low + width)) for low, width in ends]
    one = parts[index % len(parts)]
    share = one / sum(parts, Rounded.exact(0))
    corners = list(product(*((part.low, part.high) for part in parts)))
    values = [corner[index % len(parts)] / sum(corner) for corner in corners]
    assert (share.low, share.high) == (min(values), max(values)) == share.inner


@pytest.mark.parametrize(
    ("printed", "ok"), [("0.10", False), ("0.16", False), ("0.17", True), ("0.60", True), ("0.61", False)]
)
def test_a_share_that_no_rounding_gives_is_refuted(printed, ok):
    """a / (a + b) is in [1/6, 3/5]; with a twice as two unknowns it would be in [1/8, 1]."""
    found = judged(Rounded.printed(printed), A / (A + B))
    assert (found.ok, found.grade) == (ok, "proof")


def test_both_sides_of_a_cell_can_have_one_input():
    assert judged(A + Rounded.exact(1), A).ok is False
    assert judged(A + B, A + Rounded.exact(2)).grade == "proof"
    assert judge_order({"more": Order(A + Rounded.exact(Fraction(1, 9)), A, {})}, "").ok is True


def test_what_only_too_wide_bounds_meet_is_undecided():
    square = C * C - C  # in [-1/4, 12], bounded by [-8, 17]
    for value, ok in ((-9, False), (-7, None), (0, None), (1, True), (12, True), (16, None), (18, False)):
        found = judged(Rounded.exact(value), square)
        assert found.ok is ok, value
        assert (found.reason != "") == (ok is None)
        assert ok is not None or "an input occurs several times" in found.reason
        assert ok is None or found.grade == "proof"
        assert Rounded.exact(value).meets(square) is ok


def test_independent_numbers_are_as_before():
    for operation in (operator.add, operator.sub, operator.mul, operator.truediv):
        found = operation(C, B)
        values = [operation(a, b) for a in (C.low, C.high) for b in (B.low, B.high)]
        assert (found.low, found.high) == (min(values), max(values)) == found.inner
    with pytest.raises(ZeroDivisionError, match="division by an interval that contains 0"):
        B / C
    assert np.isclose(float(largest([A, B, C]).high), 5.0)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("beyond", "ok"), [(0, True), (Fraction(1, 10**9), False), (Fraction(-1, 10**9), True)])
def test_a_number_meets_a_printed_one_up_to_either_end_of_its_rounding(sign, beyond, ok):
    """1.00 is rounded from 0.995 to 1.005."""
    number = Rounded.exact(1 + sign * (Fraction(5, 1000) + beyond))
    assert Rounded.printed("1.00").meets(number) is ok
    assert number.meets(Rounded.printed("1.00")) is ok
