"""Domains as data: what is stated, what is searched, what an assumption leaves, and what can be missed."""

from math import inf

import numpy as np
import pytest

from paper_checks.context import Context
from paper_checks.methods.domain import (
    FROM_ONE,
    POSITIVE,
    UNIT,
    Axis,
    Searched,
    check_reached,
    drawn_in_words,
    in_words,
    tried_in_words,
)
from paper_checks.methods.inequality import collect_cases, judge_inequality
from paper_checks.methods.sides import UndefinedError

X = Axis("x", 1e-3, 1e3, POSITIVE)
BOTH = Axis("x", 1e-3, 1e3, POSITIVE, signed=True)


@pytest.mark.parametrize(
    ("axis", "text"),
    [
        (X, "x below 0.001 and above 1000"),
        (BOTH, "|x| below 0.001 and above 1000"),
        (Axis("n", 1.0, 1e6, FROM_ONE), "n above 1e+06"),
        (Axis("d", 1e-4, 1.0, UNIT), "d below 0.0001"),
        (Axis("d", 1.0, 2.0, (1.0, 2.0)), ""),
    ],
)
def test_what_of_the_stated_range_is_not_searched_is_said(axis, text):
    assert axis.unreached() == text


@pytest.mark.parametrize(
    ("low", "high", "of"), [(0.4, 0.6, UNIT), (0.01, 0.5, UNIT), (1.0, 50.0, POSITIVE), (1.0, 99.0, (0.5, inf))]
)
def test_a_small_part_of_the_stated_range_is_refused(low, high, of):
    with pytest.raises(UndefinedError, match="is a small part of"):
        Axis("x", low, high, of)


def test_a_range_within_the_stated_one_is_needed():
    with pytest.raises(ValueError, match="leaves what is stated"):
        Axis("x", 0.5, 2.0, UNIT)


def spread(count=200):
    return np.geomspace(1e-3, 1e3, count)


def test_ends_and_tenths_are_reached():
    check_reached([X], {"x": spread()})
    check_reached([BOTH], {"x": np.concatenate([spread(), -spread()])})


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        (spread()[:-5], "the high end of x"),
        (spread()[5:], "the low end of x"),
        (np.concatenate([spread()[:90], spread()[130:]]), "tenth 6 of x"),
        (spread(99), "leaves 99 cases, fewer than 100"),
    ],
)
def test_what_an_assumption_does_not_leave_is_named(values, missing):
    with pytest.raises(UndefinedError, match=missing):
        check_reached([X], {"x": values})


def test_both_signs_are_reached():
    with pytest.raises(UndefinedError, match="the low end of negative x"):
        check_reached([BOTH], {"x": spread()})


def test_how_small_a_violation_can_be_missed_follows_from_the_uniform_draws():
    """All of n independent draws miss a part v with probability (1 - v)^n, which is at most 1e-6 for v = 13.8/n."""
    assert "less than 0.014 of the searched domain" in in_words([X], 1000)
    assert "less than 1 of" in in_words([X], 0)
    assert (1 - 0.0138) ** 1000 <= 1e-6


def collected(budget="quick", restarts=1):
    return collect_cases(
        Context("tests/domain", budget=budget), (X,), lambda c: c["x"] > 0, lambda c: np.abs(np.log(c["x"] / 2.0)),
        examples=20, restarts=restarts,
    )  # fmt: skip


def test_a_needle_is_missed_and_the_scope_says_how_large_one_could_be():
    """A violation on a millionth of the domain passes, with what the search cannot exclude beside it."""
    cases = collected(restarts=0)
    left = np.where(np.abs(cases["x"] / 3.7 - 1.0) < 1e-6, 2.0, 0.0)
    evidence = judge_inequality(
        left, np.ones(len(left)), 0.0, scope="all x", case=lambda i: {"x": float(cases["x"][i])}, domain=cases.domain
    )
    assert evidence.ok is True
    assert "not searched: x below 0.001 and above 1000" in evidence.scope
    assert "a violation on less than 0.028 of the searched domain" in evidence.scope


def test_the_full_budget_searches_a_second_time_by_another_algorithm():
    """The simplex search alone comes to the minimum: its cases are those that differential evolution has not."""
    quick, full = collected(), collected("full")
    assert len(full["x"]) > len(quick["x"]) + 19_000
    assert np.abs(full["x"] - 2.0).min() < 1e-3
    assert "less than 0.00069 of" in full.domain


def test_cases_made_of_a_search_keep_what_it_says():
    assert collected().holding({"x": np.ones(3)}).domain == collected().domain
    assert Searched({"x": np.ones(1)}).domain == ""


def test_a_grid_says_which_values_it_has_of_what_is_stated():
    told = tried_in_words(("N", [2, 1, 2], FROM_ONE), ("eps", np.linspace(0.1, 0.9, 9), UNIT))
    assert told == (
        "tried: N = 1, 2 of 1 to inf; eps = 9 values from 0.1 to 0.9 of 0 to 1; "
        "nothing between or beyond these values is seen"
    )


@pytest.mark.parametrize("values", [[], [0.5, 1.5], [-0.1]])
def test_a_grid_has_values_and_leaves_nothing_stated(values):
    with pytest.raises(UndefinedError, match="eps is tried at"):
        tried_in_words(("eps", values, UNIT))


def test_how_rare_a_thing_draws_can_miss():
    assert "less than 0.44 in each of 24 draws" in drawn_in_words(24)
    assert pytest.approx(1e-6, rel=0.01) == (1 - 0.4377) ** 24
