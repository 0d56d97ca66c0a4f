"""Values as authors write them: plain numbers, fractions as text, symbols with assumptions."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import sympy
import torch

from paper_checks.claim import Form
from paper_checks.context import Context
from paper_checks.methods.domain import POSITIVE, tried
from paper_checks.methods.identity import Equation, generic_points, judge_identity
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.printed import Cell, Order, Rounded, judge_order, judge_printed
from paper_checks.methods.relations import Relation, judge_relations, same
from paper_checks.methods.sides import UndefinedError
from paper_checks.methods.units import judge_units

X = sympy.Symbol("x")
CONTEXT = Context("my-paper/eq-1", 0, "quick")


@pytest.mark.parametrize(
    ("name", "assumptions"),
    [
        ("positive", {"positive": True}),
        ("nonnegative", {"nonnegative": True}),
        ("negative", {"negative": True}),
        ("nonpositive", {"nonpositive": True}),
        ("integer", {"integer": True}),
        ("positive integer", {"integer": True, "positive": True}),
        ("even", {"even": True}),
        ("odd and positive", {"odd": True, "positive": True}),
        ("prime", {"prime": True}),
        ("no integer", {"integer": False}),
        ("nonzero", {"nonzero": True}),
        ("real", {"real": True}),
    ],
)
def test_points_meet_the_assumptions_of_their_symbols(name, assumptions):
    first, second, free = sympy.Symbol("a", **assumptions), sympy.Symbol("b", **assumptions), sympy.Symbol("c")
    for point in generic_points(CONTEXT, (first, free, second), 40):
        for symbol in (first, second):
            value = point[symbol]
            assert all(getattr(value, f"is_{fact}") is state for fact, state in assumptions.items()), value
        assert len(set(point.values())) == 3
        assert 0 not in point.values()


def test_points_of_symbols_without_assumptions_are_of_either_sign():
    values = [point[X] for point in generic_points(CONTEXT, (X,), 40)]
    assert min(values) < 0 < max(values)
    assert not any(value.is_integer and abs(value) != 1 for value in values)


def test_assumptions_that_no_rational_number_meets_name_the_symbol():
    with pytest.raises(UndefinedError, match=r"no point for the symbol x: .*imaginary.*write points by hand"):
        generic_points(CONTEXT, (sympy.Symbol("x", imaginary=True),), 1)


def test_a_positive_symbol_needs_no_point_by_hand():
    beta = sympy.Symbol("beta", positive=True)
    equation = Equation("it", sympy.sqrt(beta**2), beta)
    points = generic_points(CONTEXT, (beta,), 3)
    assert judge_identity([equation], points, "all beta", positive=("beta",)).ok


@pytest.mark.parametrize(("kind", "word"), [("positive", "positive"), ("nonnegative", "nonnegative")])
def test_a_sign_that_is_not_said_names_how_to_say_it(kind, word):
    beta = sympy.Symbol("beta", **{kind: True})
    with pytest.raises(UndefinedError) as raised:
        judge_identity([Equation("it", beta, beta)], generic_points(CONTEXT, (beta,), 2), "all beta")
    assert f"the symbol beta is declared {word}" in str(raised.value)
    assert 'return points, scope, ("beta",)' in str(raised.value)


def test_a_negative_symbol_is_to_be_written_by_a_positive_one():
    beta = sympy.Symbol("beta", negative=True)
    with pytest.raises(UndefinedError, match="write -b with a positive symbol b"):
        judge_identity([Equation("it", beta, beta)], generic_points(CONTEXT, (beta,), 2), "all beta")


@pytest.mark.parametrize("one", [1, Fraction(1), sympy.Integer(1)])
def test_sides_may_be_plain_numbers(one):
    weight = X / (X + 1)
    points = [{X: sympy.Integer(2)}]
    assert judge_identity([Equation("mass", weight + 1 / (X + 1), one)], points, "all x").ok
    assert judge_identity([Equation("mass", one, 1)], points, "all x").ok
    assert judge_identity([Equation("mass", 2 * X, one)], points, "all x").ok is False


@pytest.mark.parametrize("one", [1, Fraction(1, 3), sympy.Rational(1, 3)])
def test_points_may_be_plain_numbers(one):
    assert judge_identity([Equation("it", X + 1, X)], [{X: one}], "all x").witness == {"x": str(one)}


@pytest.mark.parametrize("text", ["x + 1", None, [1]])
def test_sides_that_are_no_expressions_are_named(text):
    with pytest.raises(TypeError, match="mass: the right side must be an expression or a number, got"):
        Equation("mass", X, text)


def test_a_float_side_is_still_refused():
    with pytest.raises(TypeError, match="must not contain floats"):
        judge_identity([Equation("mass", X, 0.5)], [{X: sympy.Integer(2)}], "all x")


def test_rounded_numbers_take_counts_and_fractions():
    total = Rounded.printed("0.50") + Rounded.printed("0.60")
    by_hand = total / Rounded.exact(2)
    assert (total / 2).low == by_hand.low
    assert (total * Fraction(1, 2)).high == by_hand.high
    assert (1 - Rounded.printed("0.50")).low == Fraction(99, 200) == (Rounded.printed("0.50") - 0).low
    assert (
        (2 * Rounded.printed("0.50")).high
        == Fraction(101, 100)
        == (Rounded.printed("0.50") + Rounded.printed("0.50")).high
    )
    assert (1 / Rounded.printed("0.50")).low == Fraction(200, 101)
    with pytest.raises(TypeError):
        total / 2.0


def test_cells_and_orders_take_counts_and_fractions():
    assert judge_printed({"cells": Cell(12, 12, {}), "half": Cell(Rounded.printed("0.5"), Fraction(1, 2), {})}, "t").ok
    assert judge_printed({"cells": Cell(12, 13, {})}, "t").ok is False
    assert judge_order({"first": Order(3, 2, {}), "second": Order(Rounded.printed("0.5"), 0, {})}, "t").ok


@pytest.mark.parametrize("bad", ["0.65", 0.65])
def test_a_cell_without_a_rounding_says_how_to_give_one(bad):
    with pytest.raises(TypeError, match=r"a printed number is Rounded.printed\(\"0.65\"\), got"):
        Cell(bad, Rounded.printed("0.65"), {})
    with pytest.raises(TypeError, match=r"Rounded.printed"):
        Order(Rounded.printed("0.65"), bad, {})


def judge_columns(**case):
    left, right = np.array([1.0, 4.0, 2.0]), np.array([2.0, 3.0, 2.0])
    return judge_inequality(left, right, 0.0, scope="three", case=case, domain=tried(("a", [1, 2, 3], POSITIVE)))


def test_columns_of_cases_take_fractions():
    assert judge_columns(a=["1/3", "1/2", "2"]).witness == {"a": "1/2"}
    assert judge_columns(a=[Fraction(1, 2), Fraction(1, 3), 1]).witness == {"a": "1/3"}
    assert judge_columns(a=np.array([Fraction(1, 2), Fraction(1, 4), 1], dtype=object)).witness == {"a": 0.25}
    assert judge_columns(a=["1", sympy.Rational(2, 3), "2"]).witness == {"a": "2/3"}
    assert judge_columns(a=np.array([1, 2, 3])).witness == {"a": 2.0}


@pytest.mark.parametrize("bad", ["ring", None, [1, 2], "1/0"])
def test_a_column_that_is_no_number_is_named(bad):
    with pytest.raises(
        UndefinedError, match=r"the column 'topology' of case= has .* numbers or fractions, or give case= a list"
    ):
        judge_columns(a=[1, 2, 3], topology=["line", bad, "star"])


def test_what_a_correction_asks_is_one_of_three_words():
    with pytest.raises(ValueError, match="the form 'it': asks= must be one of weaker, stronger, neither; got 'less'"):
        Form("it", {"K": 2.0}, asks="less")


@pytest.mark.parametrize(
    ("assumptions", "equation", "right", "wrong", "stated"),
    [
        ({"even": True}, lambda k: ((-1) ** k, 1), 4, 3, "all k; even: k"),
        ({"integer": True}, lambda k: (sympy.sin(sympy.pi * k), 0), 4, sympy.Rational(1, 2), "all k; integer: k"),
        ({"real": True}, lambda k: (sympy.sqrt(k**2), sympy.Abs(k)), -2, sympy.I, "all k"),
    ],
)
def test_assumptions_are_stated_and_met_by_the_points(assumptions, equation, right, wrong, stated):
    k = sympy.Symbol("k", **assumptions)
    one = Equation("(1)", *equation(k))
    evidence = judge_identity([one], [{k: right}], "all k")
    assert (evidence.ok, evidence.scope) == (True, stated)
    with pytest.raises(UndefinedError, match=f"k is declared with {next(iter(assumptions))}=True, and at some point"):
        judge_identity([one], [{k: wrong}], "all k")


def test_a_symbol_that_is_zero_is_to_be_written_as_0():
    z, x = sympy.Symbol("z", zero=True), sympy.Symbol("x")
    with pytest.raises(UndefinedError, match="declared zero: write 0 for z"):
        judge_identity([Equation("(1)", z * x, 0)], [{z: 0, x: 3}], "all z")


@pytest.mark.parametrize(
    ("exact", "near"),
    [(10**20 + 1, 1e20), (Fraction(1, 3), 1 / 3), (sympy.Rational(4, 5), 0.8), (Decimal("0.1"), np.float64(0.1))],
)
def test_the_rounding_of_a_float_never_decides(exact, near):
    """Neither as a pass of what differs by less than its last digit, nor as a violation by it."""
    for left, right in ((exact, near), (near, exact)):
        for at_most in (False, True):
            with pytest.raises(UndefinedError, match=r"the line: the sides .* nearer to each other than rounding"):
                Relation("the line", left, right, at_most=at_most)
        assert judge_relations([Relation("the line", left, right, error=1e-15 * float(exact))], "all").ok
        assert judge_relations([Relation("the line", left, right * 2)], "all").ok is False
        sides = [np.array([side] * 12, dtype=object if side is exact else float) for side in (left, right)]
        with pytest.raises(UndefinedError, match=r"a case: the sides .* nearer to each other than rounding"):
            judge_inequality(*sides, 0.0, scope="all", domain="all")
        assert judge_inequality(*sides, 1e-15 * float(exact), scope="all", domain="all").ok
        assert judge_inequality(sides[0], 2 * sides[1], 0.0, scope="all", domain="all").ok


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_short_floats_are_compared_in_full(kind):
    """Numpy takes a float of Python for one of the other's type, so that their difference would be 0."""
    assert kind(0.8) - 0.8 == 0
    assert judge_relations([Relation("the line", kind(0.8), 0.8)], "all").ok is False
    assert judge_relations([Relation("the line", kind(0.8), float(kind(0.8)))], "all").ok


def test_whole_numbers_in_tensors_are_equal_or_not():
    large = torch.tensor([10**12, 3])
    assert same("counts", large, large.clone()).excess == 0
    assert same("counts", large + 50, large).excess > 0
    assert same("masks", torch.tensor([True, False]), torch.tensor([True, True])).excess > 0


@pytest.mark.parametrize("case", [{"x": np.arange(30.0)}, [{"x": 1.0}] * 5, {"x": 3.0}])
def test_parameters_of_other_cases_are_refused(case):
    left = np.linspace(0.0, 2.0, 12)
    with pytest.raises(UndefinedError, match="parameters of each of the 12 cases, but"):
        judge_inequality(left, np.ones(12), 0.0, scope="all", case=case)


def test_fractions_next_to_floats_are_taken_where_the_cases_are_evaluated_again():
    third = Fraction(1, 3)
    left, right = np.array([third, third], dtype=object), np.array([1 / 3, 1 / 3])
    with pytest.raises(UndefinedError):
        judge_inequality(left, right, 0.0, scope="all", domain="all")
    found = judge_inequality(
        left, right, 0.0, scope="all", domain="all", case={"x": [third, third]}, exact=lambda at: (at["x"], third)
    )
    assert found.ok


@pytest.mark.parametrize(
    ("weights", "told"),
    [({"lenght": 1}, "a weight of lenght, but the parameters are length, time"), ({"length": 0}, "all weights are 0")],
)
def test_units_that_change_nothing_are_refused(weights, told):
    """A sum of unlike quantities would pass, because neither side changes with a parameter that is not there."""
    sides = {"l": lambda at: (at["length"], at["length"] + at["time"])}
    points = [{"length": Fraction(2), "time": Fraction(3)}]
    assert judge_units(sides, {"length": 1}, points, "all").ok is False
    with pytest.raises(UndefinedError, match=told):
        judge_units(sides, weights, points, "all")
