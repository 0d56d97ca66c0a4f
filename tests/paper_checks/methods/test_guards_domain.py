"""Domains as data: what is stated, what is searched, what an assumption leaves, and what can be missed."""

import ast
import re
from itertools import product
from math import inf
from pathlib import Path

import numpy as np
import pytest

import paper_checks
from paper_checks.claim import claim
from paper_checks.context import Context
from paper_checks.engine.judging import judge
from paper_checks.ledger import PAPERS
from paper_checks.methods.domain import (
    FROM_ONE,
    OPEN_UNIT,
    POSITIVE,
    UNIT,
    UP_TO_ONE,
    Axis,
    Searched,
    Stated,
    Tried,
    describe_draws,
    describe_search,
    require_reached,
    tried,
)
from paper_checks.methods.inequality import collect_cases, judge_inequality
from paper_checks.methods.sides import UndefinedError
from paper_checks.replay import replays_of

X = Axis("x", 1e-3, 1e3, POSITIVE)
BOTH = Axis("x", 1e-3, 1e3, POSITIVE, signed=True)


@pytest.mark.parametrize(
    ("axis", "text"),
    [
        (X, "x below 0.001 and above 1000"),
        (BOTH, "|x| below 0.001 and above 1000"),
        (Axis("n", 1.0, 1e6, FROM_ONE), "n above 1e+06"),
        (Axis("d", 1e-4, 1.0, UNIT), "d below 0.0001"),
        (Axis("d", 1.0, 2.0, Stated(1.0, 2.0, "[]")), ""),
        (
            Axis("d", 1e-4, 1.0, UNIT, words="first angle distance, delta_0"),
            "first angle distance, delta_0, below 0.0001",
        ),
        (Axis("d", 1e-4, 1.0, UNIT, signed=True, words="the drift"), "size of the drift, below 0.0001"),
    ],
)
def test_what_of_the_stated_range_is_not_searched_is_said(axis, text):
    assert axis.unreached() == text


@pytest.mark.parametrize(
    ("low", "high", "of"), [(0.4, 0.6, UNIT), (0.01, 0.5, UNIT), (1.0, 50.0, POSITIVE), (1.0, 99.0, Stated(0.5, inf))]
)
def test_a_small_part_of_the_stated_range_is_refused(low, high, of):
    with pytest.raises(UndefinedError, match="is a small part of"):
        Axis("x", low, high, of)


@pytest.mark.parametrize(("high", "of"), [(2.0, UNIT), (1.0, OPEN_UNIT)])
def test_a_range_within_the_stated_one_is_needed(high, of):
    with pytest.raises(UndefinedError, match="leaves what is stated"):
        Axis("x", 0.01, high, of)


def spread(count=200):
    return np.geomspace(1e-3, 1e3, count)


def test_ends_and_tenths_are_reached():
    require_reached([X], {"x": spread()})
    require_reached([BOTH], {"x": np.concatenate([spread(), -spread()])})


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
        require_reached([X], {"x": values})


def test_both_signs_are_reached():
    with pytest.raises(UndefinedError, match="the low end of negative x"):
        require_reached([BOTH], {"x": spread()})


def test_how_small_a_violation_can_be_missed_follows_from_the_uniform_draws():
    """All of n independent draws miss a part v with probability (1 - v)^n, which is at most 1e-6 for v = 13.8/n."""
    assert "less than 0.014 of the searched domain" in describe_search([X], 1000)
    assert "less than 1 of" in describe_search([X], 0)
    assert (1 - 0.0138) ** 1000 <= 1e-6


def collected(budget="quick", restarts=1):
    return collect_cases(
        Context("tests/domain", budget=budget),
        (X,),
        lambda c: c["x"] > 0,
        lambda c: np.abs(np.log(c["x"] / 2.0)),
        examples=20,
        restarts=restarts,
    )


def test_a_needle_is_missed_and_the_scope_says_how_large_one_could_be():
    """A violation on a millionth of the domain passes, with a note on what the search cannot exclude."""
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


def test_a_grid_says_which_values_it_has_and_what_of_the_stated_range_it_has_not():
    N, eps = zip(*product([1, 10, 100], np.linspace(0.1, 0.9, 9)), strict=True)
    assert tried(("N", N, FROM_ONE), ("eps", eps, OPEN_UNIT)).describe() == (
        "tried: N = 1, 10, 100 of [1, inf); eps = 9 values from 0.1 to 0.9 of (0, 1); "
        "not tried: N above 100; eps below 0.1 and above 0.9; all between these values"
    )


@pytest.mark.parametrize(
    ("values", "stated", "reason"),
    [
        (np.linspace(0.1, 0.9, 9), OPEN_UNIT, "9 cases are tried, fewer than 10"),
        ([], OPEN_UNIT, "0 cases are tried"),
        (np.linspace(0.2, 0.9, 20), OPEN_UNIT, "eps from 0.2 to 0.9 is a small part of (0, 1) as stated"),
        (np.linspace(0.1, 1.0, 20), OPEN_UNIT, "eps from 0.1 to 1 leaves what is stated, (0, 1)"),
        (np.linspace(-0.1, 0.9, 20), UNIT, "eps from -0.1 to 0.9 leaves what is stated, [0, 1]"),
        (np.linspace(0.1, 0.9, 20), UNIT, "eps = 0 and 1 is not tried, which is of [0, 1] as stated"),
        (np.linspace(0.1, 0.9, 20), UP_TO_ONE, "eps = 1 is not tried"),
        (range(2, 1000), FROM_ONE, "eps = 1 is not tried"),
        (range(1, 100), FROM_ONE, "eps from 1 to 99 is a small part of [1, inf) as stated"),
        (range(1000), Stated(-inf, inf), "eps from 0 to 999 is a small part of (-inf, inf) as stated"),
    ],
)
def test_a_grid_reaches_what_is_stated(values, stated, reason):
    with pytest.raises(UndefinedError, match=re.escape(reason)):
        tried(("eps", values, stated)).check()


@pytest.mark.parametrize(
    ("values", "stated"),
    [
        (np.linspace(0.1, 0.9, 10), OPEN_UNIT),
        (np.linspace(0.0, 1.0, 10), UNIT),
        (range(1, 101), FROM_ONE),
        (range(-100, 101), Stated(-inf, inf)),
    ],
)
def test_a_grid_that_reaches_it_is_enough(values, stated):
    tried(("eps", values, stated)).check()


def test_corners_of_a_small_grid_are_tried_and_those_of_a_long_list_counted():
    rows = [row for row in product([1, 10, 100], np.linspace(0.1, 0.9, 9)) if row != (100, 0.9)]
    N, eps = zip(*rows, strict=True)
    with pytest.raises(UndefinedError, match=re.escape("no case at the corner N = 100, eps = 0.9")):
        tried(("N", N, FROM_ONE), ("eps", eps, OPEN_UNIT)).check()
    many = tried(*((f"x_{i}", np.linspace(0.0, 1.0, 10), UNIT) for i in range(5)))
    many.check()
    assert many.describe().endswith("not tried: 30 of 32 corners of these ranges; all between these values")


def test_a_parameter_with_one_value_says_why_that_is_enough():
    eps = np.linspace(0.1, 0.9, 10)
    one = tried(("N", [1] * 10, FROM_ONE), ("eps", eps, OPEN_UNIT), settled={"N": "no law of two"})
    one.check()
    assert one.describe().startswith("tried: N = 1 of [1, inf) (no law of two); eps = 10 values")
    with pytest.raises(UndefinedError, match="N from 1 to 1 is a small part"):
        Tried(one.stated, one.rows).check()


def decided(x):
    """Return the verdict on x <= 1 for all x in (0, 1], judged on a grid."""

    @claim(
        "tests/grid",
        where="nowhere",
        says=r"$x \le 1$ on $(0, 1]$",
        measure=lambda _: x,
        mutants=[{"K": 0.5}],
        expect=("holds", "search"),
    )
    def judge_grid(x, K=1.0):
        return judge_inequality(x, np.full(len(x), K), 0.0, scope="", domain=tried(("x", x, UP_TO_ONE)))

    return judge(judge_grid, x)


def test_what_passes_on_a_grid_needs_one_that_reaches_what_it_states():
    found = decided(np.linspace(0.1, 1.0, 10))
    assert (found.printed.ok, found.mutants[0].ok) == (True, False)
    assert "not tried: x below 0.1" in found.printed.scope
    with pytest.raises(UndefinedError, match="small part"):
        decided(np.linspace(0.3, 1.0, 10))


def test_a_violation_needs_no_more_than_its_case():
    x = np.array([0.3, 2.0])
    assert judge_inequality(x, np.ones(2), 0.0, scope="", domain=tried(("x", x, UP_TO_ONE))).ok is False
    nothing = judge_inequality(x[:0], x[:0], 0.0, scope="", domain=tried(("x", x[:0], UP_TO_ONE)))
    assert (nothing.cases, nothing.scope) == (0, "; nothing is tried")


def test_how_rare_a_thing_draws_can_miss():
    assert "less than 0.44 in each of 24 draws" in describe_draws(24)
    assert pytest.approx(1e-6, rel=0.01) == (1 - 0.4377) ** 24


ROOT = Path(paper_checks.__file__).parent
PAGES = sorted(ROOT.glob("fed*/**/*.py")) + sorted(ROOT.glob("rolora/*.py"))


def axes_without_words():
    """Module and name of every axis of a paper that has no words."""
    for path in PAGES:
        for call in ast.walk(ast.parse(path.read_text())):
            named = isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Axis"
            if named and "words" not in {keyword.arg for keyword in call.keywords}:
                yield ".".join(path.relative_to(ROOT.parent).with_suffix("").parts), ast.literal_eval(call.args[0])


def is_symbol(name, says):
    """Return whether formulas have a symbol."""
    base, _, index = name.partition("_")
    letter = rf"\\{base}" if len(base) > 1 else rf"(?<![A-Za-z\\]){base}"
    symbol = letter + (rf"_\{{?{index}(?![0-9])" if index else "(?![A-Za-z_])")
    return any(re.search(symbol, formula) for formula in says.split("$")[1::2])


def test_an_axis_whose_name_is_no_symbol_of_its_statement_says_what_it_is():
    claims = [claim for paper in PAPERS for claim in paper.claims()]
    bare = list(axes_without_words())
    assert bare
    for module, name in bare:
        told = [claim.says for claim in claims if module in (claim.module, claim.measure.__module__)]
        assert any(is_symbol(name, says) for says in told), f"{module}: {name}"
    assert not is_symbol("h", r"where $\theta > 0$")
    assert not is_symbol("share", "the share")


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_words_are_of_values_that_are_stored_or_of_constants(paper):
    replays = replays_of(paper.package)
    files = {(file.id, file.kind): file for claim in paper.claims() for file in paper.to_replay(claim.id)}
    assert any(replay.words for replay in replays.values())
    for key, replay in replays.items():
        assert set(replay.words) <= {*files[key].values, *replay.constants}, key


def judges_of_inequalities():
    """Function of every call that judges an inequality of a paper, and whether it names a domain."""
    for path in PAGES:
        functions = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
        for function, call in ((one, call) for one in functions for call in ast.walk(one)):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "judge_inequality":
                yield function.name, "domain" in {keyword.arg for keyword in call.keywords}


def test_every_inequality_says_what_of_its_domain_is_tried():
    judges = list(judges_of_inequalities())
    assert len(judges) > 60
    assert not [name for name, named in judges if not named]
