"""Each method on statements whose truth is known."""

from fractions import Fraction

import numpy as np
import pytest
import sympy

from paper_checks.context import Context
from paper_checks.facts import vanishes
from paper_checks.methods.bands import Interval, bands, judge_bands
from paper_checks.methods.domain import POSITIVE, UNIT, Axis
from paper_checks.methods.identity import Equation, identities, judge_identity, rational
from paper_checks.methods.inequality import collect_cases, judge_inequality
from paper_checks.methods.limit import Ladder, judge_limit, mean_interval
from paper_checks.methods.mean import Tails, judge_means
from paper_checks.methods.printed import (
    Cell,
    Order,
    Rounded,
    judge_count,
    judge_order,
    judge_printed,
    largest,
    smallest,
)
from paper_checks.methods.probability import Counted, Law, judge_probability
from paper_checks.methods.relations import Relation, relations
from paper_checks.methods.sides import UndefinedError
from paper_checks.methods.units import judge_units

X, Y = sympy.symbols("x y")
POINT = {X: sympy.Rational(2, 3), Y: sympy.Rational(-5, 7)}


def test_a_true_identity_is_proved_and_a_false_one_refuted_at_an_exact_point():
    true = Equation("square", (X + Y) ** 2, X**2 + 2 * X * Y + Y**2)
    false = Equation("wrong square", (X + Y) ** 2, X**2 + Y**2)
    assert judge_identity([true], [POINT], "all x, y").ok is True
    evidence = judge_identity([true, false], [POINT], "all x, y")
    assert evidence.ok is False
    assert evidence.witness == {"x": "2/3", "y": "-5/7"}
    assert "wrong square" in evidence.printed


def test_a_false_identity_that_holds_at_every_point_is_undecided():
    evidence = judge_identity([Equation("at one point", X, sympy.Rational(2, 3))], [POINT], "")
    assert evidence.ok is None
    assert "at one point" in evidence.reason


def test_vanishing_is_decided_for_rational_functions():
    assert vanishes(1 / X - Y / (X * Y))
    assert not vanishes(1 / X - 1 / (X + sympy.Rational(1, 10**12)))
    assert rational(0.1) == sympy.Rational(0.1)


AXES = (Axis("a", 1e-3, 1e3, POSITIVE), Axis("b", 1e-3, 1e3, POSITIVE, signed=True))


@pytest.fixture(scope="module")
def mean_cases():
    return collect_cases(
        Context("tests/am-gm"),
        (AXES[0], Axis("b", 1e-3, 1e3, POSITIVE)),
        lambda c: c["a"] <= c["b"],
        lambda c: (c["a"] + c["b"]) / np.sqrt(c["a"] * c["b"]) - 2,
        examples=100,
        restarts=1,
    )


def means(case, constant=4):
    return constant * case["a"] * case["b"], (case["a"] + case["b"]) ** 2


def judge_means_inequality(cases, constant):
    left, right = means(cases, constant)
    return judge_inequality(
        left, right, 0.0, scope="", case=cases, exact=lambda case: means(case, Fraction(constant)), quotient=True
    )


def test_the_search_meets_the_assumption_and_comes_close_to_equality(mean_cases):
    assert (mean_cases["a"] <= mean_cases["b"]).all()
    evidence = judge_means_inequality(mean_cases, 4)
    assert evidence.ok is True
    assert evidence.slack == pytest.approx(1.0, abs=1e-4)
    assert evidence.tight > 0.05


def test_a_constant_a_thousandth_too_large_is_refuted_with_an_exact_witness(mean_cases):
    evidence = judge_means_inequality(mean_cases, 4.004)
    assert evidence.ok is False
    assert evidence.grade == "proof"
    witness = {name: Fraction(value) for name, value in evidence.witness.items()}
    left, right = means(witness, Fraction(4.004))
    assert left > right


def test_equality_counts_against_a_strict_inequality_only():
    sides = np.array([0.0, 1.0]), np.array([0.0, 2.0])
    assert judge_inequality(*sides, 0.0, scope="", case=lambda i: {"i": i}).ok is True
    assert judge_inequality(*sides, 0.0, scope="", case=lambda i: {"i": i}, strict=True).ok is False


def test_rounding_is_no_violation_and_no_case_is_vacuous():
    evidence = judge_inequality(np.array([1.0 + 1e-15]), np.array([1.0]), 1e-14, scope="", case=lambda i: {})
    assert evidence.ok is True
    assert judge_inequality(np.empty(0), np.empty(0), 0.0, scope="", case=lambda i: {}).cases == 0


def test_every_corner_of_the_domain_is_tried_whatever_the_seed():
    cases = collect_cases(
        Context("tests/corners"), AXES, lambda c: c["a"] > 0, lambda c: c["a"], examples=1, restarts=0
    )
    assert {(1e-3, 1e-3), (1e3, -1e3), (1e-3, -1e-3)} <= set(zip(cases["a"], cases["b"], strict=True))


def test_a_search_is_the_same_for_the_same_seed():
    def collect(seed):
        return collect_cases(
            Context("tests/seeds", seed), AXES, lambda c: c["a"] > 0, lambda c: c["a"], examples=50, restarts=0
        )

    np.testing.assert_array_equal(collect(1)["b"], collect(1)["b"])
    assert len(collect(1)["b"]) != len(collect(2)["b"]) or (collect(1)["b"] != collect(2)["b"]).any()
    assert (collect(1)["b"] < 0).any()


def test_axes_refuse_an_empty_range():
    with pytest.raises(ValueError, match="axis t needs 0 < low < high, got 0, 1"):
        Axis("t", 0, 1, UNIT)


def test_bands_follow_from_the_prediction_or_from_a_stated_resolution():
    assert bands({"a": 1.0, "b": -5.0}) == pytest.approx({"a": 0.02, "b": 0.1})
    assert bands({"a": 1.0, "b": -5.0}, 0.1, 0.2) == pytest.approx({"a": 0.2, "b": 0.5})
    with pytest.raises(UndefinedError, match="a band around 0 needs the resolution"):
        bands({"a": 0.0})
    assert bands({"a": 0.0}, resolution=0.01) == {"a": 0.01}
    evidence = judge_bands({"a": Interval(0.999, 1.001)}, {"a": 1.0}, scope="all", share=0.05, resolution=0.1)
    assert evidence.scope == "all; a deviation of 5%, or 0.1 where that is more, would be noticed"


@pytest.mark.parametrize(
    ("low", "high", "ok"),
    [(0.95, 1.05, True), (1.05, 1.15, None), (1.15, 1.25, False), (0.0, 3.0, None), (1.05, 1.06, False)],
)
def test_an_interval_passes_inside_its_band_only(low, high, ok):
    assert judge_bands({"a": Interval(low, high)}, {"a": 1.0}, scope="", share=0.1).ok is ok


def test_an_infinite_limit_is_refuted_by_a_finite_one():
    assert judge_bands({"a": Interval(0.99, 1.01)}, {"a": np.inf}, scope="", resolution=0.1).ok is False


def test_limits_and_means_tell_a_true_value_from_a_near_one():
    rng = np.random.default_rng(0)
    ladder = Ladder(tuple((R, 2.0 + rng.standard_normal(30) / np.sqrt(R)) for R in (10**2, 10**4, 10**6)))
    assert judge_limit({"x": ladder}, {"x": 2.0}, scope="").ok is True
    false = judge_limit({"x": ladder}, {"x": 2.05}, scope="")
    assert (false.ok, false.level) == (False, 1e-6)
    assert false.witness["R"] == 10**6
    draws = {"x": rng.random(20_000)}
    for tails in (Tails({"x": 12**-0.5}), Tails(normal="means of many bounded draws")):
        assert judge_means(draws, {"x": 0.5}, scope="", tails=tails, share=0.05).ok is True
        assert judge_means(draws, {"x": 0.55}, scope="", tails=tails, share=0.05).ok is False


def test_intervals_cover():
    rng = np.random.default_rng(1)
    level = 0.1
    missed = 0
    for _ in range(2000):
        interval = mean_interval(rng.standard_normal(5), level)
        missed += not interval.low <= 0.0 <= interval.high
    low, high = Counted(missed, 2000).interval(1e-6)
    assert low <= level <= high
    with pytest.raises(ValueError, match="at least two finite draws, got 1"):
        mean_interval(np.array([1.0]), level)


def test_no_failure_in_n_draws_supports_nothing_below_one_over_n():
    assert judge_probability(Counted(0, 50), 0.0, 0.5, scope="", what="failure").ok is True
    assert judge_probability(Counted(0, 50), 0.0, 0.01, scope="", what="failure").ok is None
    assert judge_probability(Counted(50, 50), 0.0, 0.5, scope="", what="failure").ok is False
    exact = judge_probability(Law(Fraction(3, 10)), 0.0, 0.2, scope="", what="failure", witness={"n": 3})
    assert (exact.ok, exact.grade, exact.level) == (False, "proof", 0.0)
    assert exact.witness["n"] == 3


def test_printed_numbers_mean_half_a_unit_of_their_last_digit():
    assert Rounded.printed("-0.046") == Rounded(Fraction(-465, 10_000), Fraction(-455, 10_000))
    assert Rounded.printed("+12") == Rounded(Fraction(23, 2), Fraction(25, 2))


@pytest.mark.parametrize(
    ("text", "value", "half"),
    [
        ("1e-4", Fraction(1, 10**4), Fraction(1, 2 * 10**4)),
        ("1.0e-10", Fraction(1, 10**10), Fraction(1, 2 * 10**11)),
        ("1.5e3", 1500, 50),
        ("-2.50E+1", -25, Fraction(1, 20)),
        (" 5. ", 5, Fraction(1, 2)),
        (".25", Fraction(1, 4), Fraction(1, 200)),
        ("1500", 1500, Fraction(1, 2)),
    ],
)
def test_the_last_digit_of_a_printed_number_counts_its_exponent(text, value, half):
    assert Rounded.printed(text) == Rounded(Fraction(value - half), Fraction(value + half))


@pytest.mark.parametrize("text", ["12 %", "1/3", "", ".", "e5", "++1", "1_000", "1,5", "nan", "inf", "1e99999", "0x1"])
def test_what_is_no_printed_decimal_is_refused(text):
    with pytest.raises(ValueError, match="not a decimal"):
        Rounded.printed(text)


def test_interval_arithmetic_encloses_every_rounding():
    rng = np.random.default_rng(2)
    a, b = Rounded.printed("3.1"), Rounded.printed("-0.7")
    for _ in range(200):
        x = Fraction(rng.uniform(float(a.low), float(a.high)))
        y = Fraction(rng.uniform(float(b.low), float(b.high)))
        for whole, value in ((a + b, x + y), (a - b, x - y), (a * b, x * y), (a / b, x / y)):
            assert whole.low <= value <= whole.high
    with pytest.raises(ZeroDivisionError):
        a / Rounded.printed("0.0")


def test_only_disjoint_intervals_refute_a_printed_number():
    third = Rounded.exact(1) / Rounded.exact(3)
    assert judge_printed({"a": Cell(Rounded.printed("0.33"), third, {})}, "").ok is True
    wrong = judge_printed(
        {"a": Cell(Rounded.printed("0.33"), third, {}), "b": Cell(Rounded.printed("0.34"), third, {"x": "1"})}, ""
    )
    assert wrong.ok is False
    assert wrong.witness == {"cell": "b", "x": "1"}


def order(greater, smaller):
    return Order(Rounded.printed(greater), Rounded.printed(smaller), {"greater": greater, "smaller": smaller})


def test_extremes_of_rounded_numbers():
    values = [Rounded.printed("1.0"), Rounded.exact(1), Rounded.printed("0.9")]
    assert largest(values) == Rounded(Fraction(1), Fraction(105, 100))
    assert smallest(values) == Rounded(Fraction(85, 100), Fraction(95, 100))
    assert Rounded.about(0.1, Fraction(1, 20)) == Rounded.printed("0.1")


def test_order_is_decided_only_where_rounding_cannot_change_it():
    assert order("0.52", "0.50").holds is True
    assert order("0.50", "0.52").holds is False
    assert order("0.51", "0.50").holds is None  # they may be equal
    assert order("0.50", "0.51").holds is False  # at most equal
    assert order("0.5", "0.48").holds is None


def test_one_false_order_refutes_and_an_open_one_leaves_undecided():
    true = judge_order({"a": order("0.52", "0.50"), "b": order("0.9", "0.1")}, "")
    assert true.ok is True
    assert true.margin == pytest.approx(0.01)
    assert true.cases == 2
    false = judge_order({"a": order("0.52", "0.50"), "b": order("0.5", "0.48"), "c": order("0.1", "0.2")}, "")
    assert false.ok is False
    assert false.witness == {"case": "c", "greater": "0.1", "smaller": "0.2"}
    assert "1 of 3 fail" in false.obtained
    unclear = judge_order({"a": order("0.52", "0.50"), "b": order("0.5", "0.48")}, "")
    assert unclear.ok is None
    assert "b" in unclear.reason


def test_a_count_of_orders_is_exact_up_to_those_that_rounding_leaves_open():
    orders = {"a": order("0.52", "0.50"), "b": order("0.1", "0.2")}
    assert judge_count(orders, 1, "").ok is True
    for wrong in (0, 2, 1.5):
        assert judge_count(orders, wrong, "").ok is False
    orders["c"] = order("0.5", "0.48")
    assert judge_count(orders, 1, "").ok is None
    assert judge_count(orders, 2, "").ok is None
    assert judge_count(orders, 3, "").ok is False


def test_units_find_a_sum_of_unlike_quantities():
    points = [{"length": Fraction(3), "width": Fraction(2)}]
    weights = {"length": 1, "width": 1}
    area = {"area": lambda p: (p["length"] * p["width"], p["length"] ** 2)}
    assert judge_units(area, weights, points, "").ok is True
    unlike = {"area": lambda p: (p["length"] * p["width"], p["length"] ** 2 + p["width"])}
    evidence = judge_units(unlike, weights, points, "")
    assert evidence.ok is False
    assert evidence.witness["line"] == "area"


DECLARED = {"where": "", "says": "", "measure": lambda context: 2.0, "expect": ("not checkable here", None)}


def test_a_judge_yields_what_its_method_judges_and_returns_the_scope():
    @relations("invented/kept", **DECLARED)
    def kept(found, K=2.0, power=1):
        yield Relation("K", found, K**power)
        return "one number"

    assert kept.vary == ("K",)
    assert kept.module == __name__
    assert kept.judge(2.0).scope == "one number"
    assert [kept.judge(2.0, **form).ok for form in ({}, {"K": 3.0}, {"power": 2})] == [True, False, False]

    @identities("invented/equal", **DECLARED)
    def equal(found, factor=2.0):
        yield Equation("twice", X + X, rational(factor) * X)
        return [POINT], "all x"

    assert [equal.judge(None, factor=factor).ok for factor in (2.0, 3.0)] == [True, False]
    assert equal.judge(None).scope == "all x"


def test_no_rounding_hides_a_difference_of_an_identity():
    @identities("invented/thirds", **DECLARED)
    def thirds(found, K=0.3333333333333333, weights=(0.5,)):
        yield Equation("thirds", 3 * K * X - X, sympy.Integer(0))
        return [POINT], f"all x, K = {K:g}"

    @identities("invented/square", **DECLARED)
    def square(found, eps=5e-9, two=2.0, power=2):
        yield Equation("square", (1 + eps) ** power * X, (1 + two * eps) * X)
        return [POINT], "all x"

    @identities("invented/decimals", **DECLARED)
    def decimals(found, tenth=0.1, fifth=0.2, power=0.5):
        yield Equation("sum", (tenth + fifth) * X**power, sympy.Rational(3, 10) * sympy.sqrt(X))
        yield Equation("power", fifth**X, sympy.Rational(1, 5) ** X)
        return [{X: sympy.Integer(4)}], "all x"

    assert (thirds.judge(None).ok, square.judge(None).ok) == (False, False)
    assert thirds.judge(None).scope == "all x, K = 0.333333"
    assert square.judge(None, eps=0.0).ok is True
    assert (decimals.judge(None).ok, decimals.judge(None, tenth=0.2).ok) == (True, False)


@pytest.mark.parametrize(
    ("left", "right", "point"),
    [(1.0 * X, X, POINT), (X, 1.00000001 * X, POINT), (X**0.5, sympy.sqrt(X), POINT), (X, Y, {X: 0.5, Y: 0.5})],
)
def test_floats_in_an_identity_are_refused(left, right, point):
    with pytest.raises(TypeError, match="exact expressions must not contain floats; write fractions"):
        judge_identity([Equation("line", left, right)], [point], "all x")


def test_a_judge_that_yields_nothing_is_no_check():
    @relations("invented/returned", **DECLARED)
    def returned(found):
        return "no promise is made"

    with pytest.raises(TypeError, match="returned yields nothing"):
        returned.judge(2.0)


@pytest.mark.parametrize(("left", "right", "ok"), [(1.0, np.inf, True), (np.inf, 1.0, False), (-np.inf, 0.0, True)])
def test_an_infinite_side_decides_by_its_sign(left, right, ok):
    evidence = judge_inequality(
        np.array([0.5, left]),
        np.array([1.0, right]),
        0.0,
        scope="two cases",
        case=lambda i: {"number": i},
        infinite=True,
    )
    assert evidence.ok is ok
    assert np.isfinite(evidence.margin)
