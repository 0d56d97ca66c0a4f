"""Methods of judging at their borders and one step on either side, by hand."""

from fractions import Fraction
from math import log, sqrt

import mpmath
import numpy as np
import pytest
import sympy
import torch
from scipy.stats import binom, t

from paper_checks.claim import Evidence, claim
from paper_checks.context import LEVEL
from paper_checks.enclosures import enclose, rational_root
from paper_checks.engine.lines import line_of, strength
from paper_checks.engine.sensitivity import NoticedChange, describe_overstated, describe_unnoticed, noticed_changes
from paper_checks.facts import compare, identity
from paper_checks.methods.bands import Interval, judge_bands
from paper_checks.methods.domain import POSITIVE, UNIT, Axis, Stated, require_reached, tried
from paper_checks.methods.identity import Equation, judge_identity
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.limit import Ladder, judge_limit, mean_interval
from paper_checks.methods.mean import Tails, judge_means, normal_interval, robust_interval
from paper_checks.methods.parts import judge_parts
from paper_checks.methods.relations import Relation, judge_relations, orthonormal, same
from paper_checks.methods.sides import UndefinedError
from paper_checks.methods.units import judge_units
from paper_checks.proof_steps import positive
from paper_checks.stored_values import expression

F = Fraction


@pytest.mark.parametrize(
    ("value", "refuted", "relative", "expected"),
    [
        (0.0, 0.25, 0.25, "K = 0: a change of +0.25 is noticed"),
        (0.0, -0.25, 0.25, "K = 0: a change of -0.25 is noticed"),
        (4.0, 3.0, 0.25, "K = 4: a relative change of -0.25 is noticed"),
        (-2.0, -3.0, 0.5, "K = -2: a relative change of +0.5 is noticed"),
        (-2.0, -1.0, 0.5, "K = -2: a relative change of -0.5 is noticed"),
        (0.5, None, None, "K = 0.5: no change up to tenfold is noticed"),
    ],
)
def test_a_noticed_change_is_one_of_the_value(value, refuted, relative, expected):
    change = NoticedChange("K", value, refuted)
    assert (change.relative, str(change)) == (relative, expected)
    assert describe_unnoticed([change]) == ""  # no line contains it
    assert not describe_overstated({"K": value if refuted is None else refuted}, [change])


def seen(judge, value):
    """Return the nearest refuted value of a constant K whose form passes at a value."""

    def of(data, K=value):
        return judge(K)

    statement = claim(
        "invented/any",
        where="",
        says="",
        measure=lambda context: None,
        mutants=[{"K": 0.1}],
        expect=("not checkable here", None),
    )(of)
    (change,) = noticed_changes(statement, None, {}, judge(value))
    return change.refuted


def outcome(ok, **rest):
    return Evidence(ok, "", margin=1.0 if ok else -1.0, **rest)


@pytest.mark.parametrize(("value", "end"), [(1.0, 9.0), (1.0, 10.9), (1.0, -8.5), (0.0, 9.5), (0.0, -9.5), (3.0, 30.0)])
def test_changes_up_to_tenfold_are_looked_at(value, end):
    found = seen(lambda K: outcome(end > K if end > value else end < K), value)
    assert found == pytest.approx(end, rel=2e-3)
    beyond = value + 12.0 * (end - value)
    assert seen(lambda K: outcome(beyond > K if end > value else beyond < K), value) is None


def test_an_undefined_form_is_no_refuted_one():
    def judge(K):
        if K < 0.9:
            raise UndefinedError("a root")
        return outcome(K < 1.5)

    assert seen(judge, 1.0) == pytest.approx(1.5, rel=2e-3)


def test_what_is_refuted_through_an_infinite_side_is_not_noticed():
    assert seen(lambda K: outcome(K == 1.0) if K >= 1.0 else outcome(False, infinite=True), 1.0) > 1.0


@pytest.mark.parametrize(
    ("moved", "found"), [(1e-12, None), (1e-6, "weaker"), (-1e-12, None), (-1e-6, "stronger"), (2e-9, "weaker")]
)
def test_room_beyond_rounding_makes_a_form_weaker_or_stronger(moved, found):
    printed = {"": line_of(True, [1.0, 2.0], [3.0, 1000.0])}
    assert strength(printed, {"": line_of(True, [1.0, 2.0], [3.0, 1000.0 * (1 + moved)])}) == found
    assert strength(printed, {"": line_of(True, [1.0, 2.0 * (1 - moved)], [3.0, 1000.0])}) == found


@pytest.mark.parametrize("left_equal", [True, False])
def test_an_equation_is_neither_weaker_nor_stronger_than_an_inequality(left_equal):
    one, other = line_of(True, [1.0], [2.0], equal=left_equal), line_of(True, [1.0], [3.0], equal=not left_equal)
    assert strength({"": one}, {"": other}) == "neither"


def test_quotients_compare_positive_sides_only():
    positives, negatives = {"": line_of(True, [1.0], [3.0])}, {"": line_of(True, [-2.0], [-1.0])}
    assert strength(positives, negatives) == strength(negatives, positives) == "neither"


@pytest.mark.parametrize("digits", [3, 5, 12])
@pytest.mark.parametrize("function", ["ln", "exp", "sqrt"])
def test_an_enclosure_holds_the_value_and_little_else(function, digits):
    """The functions of `decimal` round to the nearest, up for some of these and down for others."""
    rounded_up = set()
    for x in (F(1, 3), F(2, 3), F(5, 7), F(2), F(3), F(5), F(7), F(22, 7), F(41, 3)):
        low, high = enclose(function, x, digits)
        with mpmath.workdps(60):
            value = getattr(mpmath, "log" if function == "ln" else function)(mpmath.mpf(x.numerator) / x.denominator)
            low, high = (mpmath.mpf(end.numerator) / end.denominator for end in (low, high))
            assert low < value < high
            assert high - low <= 100 * max(1, abs(value)) * mpmath.mpf(10) ** (1 - digits)
            rounded_up.add(high - value < value - low)
    assert rounded_up == {True, False}


def test_an_enclosure_holds_values_that_decimals_have():
    for function, x, value in (("sqrt", 4, 2), ("exp", 0, 1), ("ln", 1, 0), ("sqrt", F(1, 4), F(1, 2))):
        low, high = enclose(function, x)
        assert low < value < high


@pytest.mark.parametrize("square", [F(10**12 + 1, 10**12), F(10**12 - 1, 10**12), F(4, 10**12 + 1), F(2), F(1, 3)])
def test_no_root_that_is_not_rational_is_told(square):
    with pytest.raises(ValueError, match="is not rational"):
        rational_root(square)


def test_signs_of_quotients():
    x = sympy.Symbol("x", positive=True)
    above, below = x + 1, x + 2
    assert [positive(a * above / (b * below)) for a in (1, -1) for b in (1, -1)] == [True, False, False, True]
    assert not positive((x - 1) / below)
    assert not positive(above / (x - 1))
    assert not positive(sympy.Integer(0))


@pytest.mark.parametrize(("text", "accepted"), [("2**8600", True), ("2**8601", False), ("(1/3)**8601", False)])
def test_powers_are_written_out_up_to_their_bound(text, accepted):
    if accepted:
        assert expression(text, {}) == 2**8600
    else:
        with pytest.raises(ValueError, match="write a smaller one"):
            expression(text, {})


@pytest.mark.parametrize(
    ("low", "high", "ok"),
    [
        (0.5, 1.5, True),
        (0.5, 1.5 + 1e-9, None),
        (0.5 - 1e-9, 1.5, None),
        (1.5, 2.5, None),
        (1.5 + 1e-9, 2.5, False),
        (-0.5, 0.5, None),
        (-0.5, 0.5 - 1e-9, False),
    ],
)
def test_an_interval_lies_in_its_band_with_its_ends(low, high, ok):
    assert judge_bands({"a": Interval(low, high)}, {"a": 1.0}, scope="", share=0.5).ok is ok


@pytest.mark.parametrize(
    ("bias", "apart", "ok"), [(0.0, 0.029, None), (0.0, 0.031, False), (0.02, 0.089, None), (0.02, 0.091, False)]
)
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_prediction_thrice_as_far_as_the_interval_is_wide_is_excluded(bias, apart, ok, side):
    """The band is wide; in between, the interval tells neither."""
    measured = {"a": Interval(0.99, 1.01, bias=bias)}
    if ok is None:
        with pytest.raises(UndefinedError, match=r"is within the band of .* but not in the measured"):
            judge_bands(measured, {"a": 1.0 + side * apart}, scope="", share=0.5)
    else:
        assert judge_bands(measured, {"a": 1.0 + side * apart}, scope="", share=0.5).ok is ok


@pytest.mark.parametrize("end", [1.0199, 1.0201])
def test_a_band_is_two_per_cent_unless_told(end):
    assert judge_bands({"a": Interval(0.999, end)}, {"a": 1.0}, scope="").ok is (True if end < 1.02 else None)


def test_the_first_quantity_that_fails_is_told():
    measured = {"in": Interval(0.9, 1.1), "excluded": Interval(0.9, 0.91), "out": Interval(7.0, 7.1)}
    evidence = judge_bands(measured, dict.fromkeys(measured, 1.0), scope="", share=0.5)
    assert (evidence.witness["quantity"], evidence.witness["low"], evidence.witness["high"]) == ("excluded", 0.9, 0.91)


LEAST_FAR = next(far for far in range(101) if binom.sf(far - 1, 100, 0.25) < 1e-6)


@pytest.mark.parametrize("far", [LEAST_FAR - 2, LEAST_FAR - 1, LEAST_FAR, LEAST_FAR + 1])
@pytest.mark.parametrize(("beyond", "counts"), [(0.6, False), (1.4, True)])
def test_draws_farther_than_the_stated_deviation_allows_are_counted(far, beyond, counts):
    """By Chebyshev a draw is farther than twice its deviation with probability 1/4 at most."""
    level = 0.5
    half = sqrt(2 * log(2 / level) / (100 - 2 * log(2 / level)))
    draws = np.zeros(100)
    draws[:far] = 2.0 + beyond * half
    draws[: far // 2] *= -1.0
    if counts and far >= LEAST_FAR:
        with pytest.raises(UndefinedError, match=f"{far} of 100 draws lie more than twice the stated deviation"):
            robust_interval(draws, 1.0, level)
    else:
        assert abs(robust_interval(draws, 1.0, level).middle) < 0.04


def test_the_middle_of_a_robust_interval_is_catoni_s():
    """The root of the sum of log(1 + x + x^2 / 2), odd, at a scale by hand; five draws are large and the rest 0."""
    n, length = 50, log(2 / 0.1)
    half = 3.0 * sqrt(2 * length / (n - 2 * length))
    scale = sqrt(2 * length / n) / sqrt(9.0 + half**2)
    middle = robust_interval(np.append(np.zeros(45), np.full(5, 6.0)), 3.0, 0.1).middle

    def influence(x):
        return log(1 + x + x * x / 2) if x > 0 else -log(1 - x + x * x / 2)

    assert 5 * influence(scale * (6.0 - middle)) + 45 * influence(-scale * middle) == pytest.approx(0.0, abs=1e-9)
    assert 0.1 < middle < 0.6


def test_quantities_share_the_level_of_a_claim():
    draws = np.random.default_rng(0).standard_normal(200)
    each = {"a": draws, "b": draws, "c": draws}
    tails, zero = Tails(dict.fromkeys(each, 1.0)), dict.fromkeys(each, 0.0)
    robust = judge_means(each, zero, scope="", tails=tails, resolution=2.0)
    assert robust.level == pytest.approx(LEVEL)
    ladders = {name: Ladder(((10**9, draws),), "the law is exact") for name in each}
    limit = judge_limit(ladders, zero, scope="", resolution=2.0)
    assert limit.level == pytest.approx(LEVEL)
    half = mean_interval(draws, LEVEL / 3).half_width
    assert limit.obtained.endswith(f"within {half:.2g}")


@pytest.mark.parametrize(("share", "normal"), [(0.999, True), (1.001, False)])
def test_the_farthest_of_normal_draws_has_its_bound(share, normal):
    """Thompson's bound on the largest deviation of n normal draws from their mean, over their own deviation."""
    n = 12
    quantile = t.isf(LEVEL / (2 * n), n - 2)
    bound = (n - 1) * quantile / sqrt(n * (n - 2 + quantile**2))
    base = np.linspace(-1.0, 1.0, n - 1)

    def farthest(outlier):
        draws = np.append(base, outlier)
        return np.abs(draws - draws.mean()).max() / draws.std(ddof=1), draws

    low, high = 1.0, 1e6
    for _ in range(200):
        middle = sqrt(low * high)
        low, high = (middle, high) if farthest(middle)[0] < share * bound else (low, middle)
    if share * bound < (n - 1) / sqrt(n):  # no draws lie farther out
        draws = farthest(low)[1]
        if normal:
            normal_interval(draws, LEVEL)
        else:
            with pytest.raises(UndefinedError, match="is not nearly normal"):
                normal_interval(draws, LEVEL)
    else:
        pytest.fail("the bound is out of reach")


def test_two_draws_are_enough_for_an_interval():
    """Student's quantile for one degree of freedom at 97.5 % is 12.7062."""
    interval = mean_interval(np.array([0.0, 1.0]), 0.05)
    assert interval.half_width == pytest.approx(12.7062 * sqrt(0.5) / sqrt(2), rel=1e-5)
    assert (interval.middle, interval.level) == (pytest.approx(0.5), 0.05)


def rung(mean, spread=1e-6):
    return np.array([mean - spread, mean, mean + spread])


HALF = mean_interval(rung(0.0), LEVEL).half_width


def settles(before, last, limit, half, *earlier):
    rungs = tuple((10 ** (3 + place), rung(mean)) for place, mean in enumerate((*earlier, before, last)))
    return judge_limit({"a": Ladder(rungs)}, {"a": limit}, scope="", share=1e-12, resolution=half).ok


def test_a_mean_that_moves_by_more_than_its_band_and_noise_has_not_settled():
    half = 20 * HALF
    assert settles(1.0, 1.0 + half + 1.9 * HALF, 1.0 + half + 1.9 * HALF, half)
    with pytest.raises(UndefinedError, match="the mean still moves by"):
        settles(1.0, 1.0 + half + 2.1 * HALF, 1.0 + half + 2.1 * HALF, half)


def test_a_mean_that_moves_away_by_more_than_noise_is_of_another_limit():
    assert settles(1.0, 1.0 + 1.9 * HALF, 1.0, 20 * HALF)
    with pytest.raises(UndefinedError, match="the mean moves away from 1"):
        settles(1.0, 1.0 + 2.1 * HALF, 1.0, 20 * HALF)


def test_a_last_rung_lacks_what_it_moved_by_with_the_noise_of_the_one_before():
    moved = 5 * HALF
    assert settles(1.0, 1.0 + moved, 1.0 + 2 * moved + 1.9 * HALF, 40 * HALF)
    with pytest.raises(UndefinedError, match="not in the measured"):
        settles(1.0, 1.0 + moved, 1.0 + 2 * moved + 2.1 * HALF, 40 * HALF)


def test_only_the_last_two_rungs_tell_how_far_a_mean_moves():
    assert settles(1.0, 1.0, 1.0, 20 * HALF, 0.5, 0.8)
    with pytest.raises(UndefinedError, match="the mean still moves by"):
        settles(0.8, 1.0, 1.0, 20 * HALF, 1.0)


AXIS = Axis("x", 1e-3, 1e3, POSITIVE)


@pytest.mark.parametrize("count", [99, 100])
def test_a_hundred_cases_are_enough(count):
    cases = {"x": np.geomspace(1e-3, 1e3, count)}
    if count < 100:
        with pytest.raises(UndefinedError, match="99 cases, fewer than 100"):
            require_reached([AXIS], cases)
    else:
        require_reached([AXIS], cases)


@pytest.mark.parametrize(("place", "end"), [("low", 0), ("high", -1)])
@pytest.mark.parametrize(("gap", "reached"), [(0.009, True), (0.011, False)])
def test_an_end_is_reached_within_a_hundredth_of_the_range(place, end, gap, reached):
    places = np.linspace(0.0, 1.0, 400)
    places = places[places >= gap] if end == 0 else places[places <= 1 - gap]
    places[end] = gap if end == 0 else 1 - gap
    cases = {"x": 1e-3 * 1e6**places}
    if reached:
        require_reached([AXIS], cases)
    else:
        with pytest.raises(UndefinedError, match=f"no case at the {place} end of x: "):
            require_reached([AXIS], cases)


@pytest.mark.parametrize("tenth", range(10))
def test_each_tenth_of_a_range_is_looked_at(tenth):
    places = np.linspace(0.0, 1.0, 1001)
    kept = places[(places * 10).astype(int).clip(0, 9) != tenth]
    kept = np.concatenate([[0.0], kept, [1.0]]) if 0 < tenth < 9 else kept
    with pytest.raises(UndefinedError, match=rf"tenth {tenth + 1} of x[:;]"):
        require_reached([AXIS], {"x": 1e-3 * 1e6**kept})


@pytest.mark.parametrize(("low", "enough"), [(0.2, True), (0.21, False), (0.1, True)])
def test_four_fifths_of_a_bounded_range_are_enough(low, enough):
    stated = Stated(0.0, 1.0, "(]")
    domain = tried(("x", np.linspace(low, 1.0, 20), stated))
    if enough:
        domain.check()
    else:
        with pytest.raises(UndefinedError, match="is a small part"):
            domain.check()


@pytest.mark.parametrize(("high", "enough"), [(100.0, True), (99.9, False)])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_two_decades_towards_no_bound_are_enough(high, enough, side):
    stated = Stated(0.0, np.inf) if side > 0 else Stated(-np.inf, 0.0)
    domain = tried(("x", side * np.geomspace(1.0, high, 20), stated))
    if enough:
        domain.check()
    else:
        with pytest.raises(UndefinedError, match="is a small part"):
            domain.check()


@pytest.mark.parametrize(("count", "needed"), [(2, True), (4, True), (5, False)])
def test_corners_of_up_to_four_parameters_are_needed(count, needed):
    domain = tried(*((f"x_{i}", np.linspace(0.0, 1.0, 10), UNIT) for i in range(count)))
    if needed:
        with pytest.raises(UndefinedError, match="no case at the corner"):
            domain.check()
    else:
        domain.check()


def looked_at(left, strict):
    """Return the cases that are evaluated in fractions where none of them violates."""
    looked = []

    def exact(case):
        looked.append(int(case["i"]))
        return F(0), F(1)

    right = np.full(len(left), 10.0)
    right[::3] = 1e4  # relative excess and difference have other orders
    judge_inequality(left, right, 0.0, scope="", case=lambda i: {"i": i}, exact=exact, strict=strict)
    excess, difference = (left - right) / np.maximum(np.abs(left), np.abs(right)), left - right
    return looked, np.argsort(-excess), np.argsort(-difference)


@pytest.mark.parametrize(("strict", "close"), [(False, 50), (True, 200)])
def test_the_worst_the_closest_and_the_first_cases_are_evaluated_in_fractions(strict, close):
    left = np.random.default_rng(0).uniform(0.0, 9.0, 3000)
    left[::3] *= 1e3
    looked, by_excess, by_difference = looked_at(left, strict)
    assert looked[:50] == by_excess[:50].tolist()
    assert set(looked) == {*by_excess[:50].tolist(), *range(128), *by_difference[:close].tolist()}


def test_cases_within_a_hundredth_of_equality_are_tight():
    left = np.array([99.0, 98.9, 100.0, 50.0, 99.5])
    assert judge_inequality(left, np.full(5, 100.0), 0.0, scope="").tight == 0.6


def test_an_error_of_a_millionth_of_what_is_compared_is_rounding():
    for error, size in ((1e-6, 1.0), (2e-6, 2.0)):
        assert judge_inequality(np.array([5e-7]), np.zeros(1), error, scope="", size=size).ok is True
        with pytest.raises(UndefinedError, match="more than rounding"):
            judge_inequality(np.array([5e-7]), np.zeros(1), error * 1.001, scope="", size=size)


SHOWN = identity("0", sympy.Symbol("x") - sympy.Symbol("x"))
CASE = compare("one", 1, "<", 2)


@pytest.mark.parametrize(
    ("gaps", "gap"), [((1e-9, 1e-6), 1e-6), ((1e-6, 1e-9), 1e-6), ((None, 1e-9), None), ((1e-9, None), None)]
)
def test_the_gap_of_parts_is_the_largest_and_every_part_has_one(gaps, gap):
    found = judge_parts([outcome(True, gap=one) for one in gaps])
    assert (found.gap, found.grade) == (gap, "certified" if gap else "search")


@pytest.mark.parametrize("wholes", [(True, True), (True, False), (False, True)])
def test_parts_are_whole_where_each_is(wholes):
    parts = [outcome(True, whole=whole, facts=(CASE, *(() if whole else (SHOWN,)))) for whole in wholes]
    found = judge_parts(parts)
    assert (found.whole, found.grade) == (all(wholes), "proof")
    assert len(found.facts) == sum(len(part.facts) for part in parts)


def test_units_are_changed_by_factors_that_no_other_power_shares():
    """At 2 alone x^2 and 2 x scale apart, but x^(log_2 ...) would not: each factor is tried at each point."""
    points = [{"x": F(3), "c": F(5)}, {"x": F(7), "c": F(2)}]
    good = judge_units({"a": lambda p: (p["x"], p["x"]), "b": lambda p: (p["c"], p["c"] * 2)}, {"x": 1}, points, "")
    assert (good.ok, good.cases) == (True, 12)

    def only_for_two(p):  # doubles with x at 6 and 14, but not at 9, 21, 3/5
        return p["x"], p["x"] if p["x"] in (3, 6, 7, 14) else p["x"] + 1

    bad = judge_units({"a": only_for_two}, {"x": 1}, points, "")
    assert (bad.ok, bad.witness["factor"]) == (False, "3")
    dimensionless = judge_units({"a": lambda p: (p["x"] * p["c"], p["x"])}, {"x": 1}, points, "")
    assert dimensionless.ok is True


@pytest.mark.parametrize(("apart", "kept"), [(0.9e-10, True), (1.1e-10, False)])
@pytest.mark.parametrize("scale", [0.25, 1.0, 8.0])
def test_two_tensors_are_one_up_to_rounding_of_the_larger_entries(apart, kept, scale):
    right = torch.tensor([[scale, -scale / 2], [0.0, 0.0]], dtype=torch.float64)
    left = right.clone()
    left[1, 0] += apart * max(1.0, scale)
    assert (same("the same", left, right).excess <= 0) == kept


@pytest.mark.parametrize("shape", [(4,), (1, 4), (4, 1)])
def test_tensors_of_other_shapes_are_not_one(shape):
    assert same("the same", torch.zeros(shape), torch.zeros(2, 2)).excess == 1.0


def test_columns_are_orthonormal_and_not_rows():
    tall = torch.eye(5, dtype=torch.float64)[:, :2]
    assert orthonormal("basis", tall).excess <= 0
    assert orthonormal("basis", tall.mT).excess > 0.5
    assert orthonormal("basis", 2 * tall).excess == pytest.approx(3.0, abs=1e-9)


def test_broken_promises_are_told_by_the_one_that_is_broken_most():
    found = judge_relations([Relation("a", 2.0, 1.0), Relation("b", 5.0, 1.0), Relation("c", 1.5, 1.0)], "")
    assert found.margin == -4.0


def test_the_largest_of_errors_of_one_resolution_is_told():
    promises = [Relation("rank", 10.0, 9.0, error, resolution="read off a figure") for error in (2.0, 5.0, 3.0)]
    assert "within 5, read off a figure" in judge_relations(promises, "").obtained


def test_a_line_of_promises_is_one_of_inequalities_where_all_are():
    mixed = judge_relations([Relation("a", 1.0, 1.0), Relation("a", 1.0, 2.0, at_most=True)], "").lines["a"]
    alike = judge_relations([Relation("a", 0.0, 1.0, at_most=True), Relation("a", 1.0, 2.0, at_most=True)], "").lines[
        "a"
    ]
    assert (mixed.equal, alike.equal) == (True, False)


X, POS, NEG = sympy.Symbol("x"), sympy.Symbol("p", positive=True), sympy.Symbol("q", negative=True)


def test_signs_of_symbols_are_those_of_the_statement():
    for symbol, point in ((POS, 2), (NEG, -2)):
        with pytest.raises(UndefinedError, match=f"the symbol {symbol} has a sign"):
            judge_identity([Equation("a", symbol, symbol)], [{symbol: sympy.Integer(point)}], "")
    for value in (0, -1):
        with pytest.raises(UndefinedError, match="says that p is positive, and at some point it is not"):
            judge_identity([Equation("a", POS, POS)], [{POS: 1}, {POS: value}], "", positive=("p",))


def test_a_sign_by_which_a_symbol_vanished_from_the_sides_is_also_one():
    for left in (sympy.sign(POS), abs(POS) / POS):
        assert left == 1
        with pytest.raises(UndefinedError, match="the symbol p has a sign"):
            judge_identity([Equation("a", left, sympy.Integer(1))], [{POS: 2}], "all p")


def test_a_scope_says_what_a_symbol_is_not():
    odd, even = sympy.Symbol("k", integer=True, even=False), sympy.Symbol("l", even=True)
    evidence = judge_identity([Equation("a", (-1) ** odd, sympy.Integer(-1))], [{odd: 3, even: 2}], "all integers k")
    assert evidence.ok
    assert "not even: k" in evidence.scope
    assert "even: l" in evidence.scope


def test_whole_numbers_are_equal_or_within_a_stated_resolution():
    left, right = torch.tensor([10, 20]), torch.tensor([10, 21])
    assert same("counts", left, right, relative=0.1).excess > 0
    assert same("counts", left, right, relative=0.1, resolution="drawn counts").excess <= 0
    assert same("counts", left, right, relative=0.01, resolution="drawn counts").excess > 0
    assert same("masks", left > 15, right > 30, resolution="drawn counts").excess > 0


def test_an_equation_that_fails_later_is_farther_from_passing():
    right, wrong = Equation("right", X, X), Equation("wrong", X, X + 3)
    point = [{X: sympy.Integer(1)}]
    assert [judge_identity([*before, wrong], point, "").margin for before in ((), (right,), (right, right))] == [
        -3.0,
        -4.0,
        -5.0,
    ]
