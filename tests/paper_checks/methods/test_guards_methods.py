"""Deceptions of a check, each with the guard that stops it; every one of these claims once got a verdict."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import sympy

from paper_checks.claim import Evidence, Form, claim
from paper_checks.context import LEVEL
from paper_checks.engine.judging import judge
from paper_checks.engine.verdict import decide
from paper_checks.facts import Fact, as_fraction, combine, compare, identity, positive
from paper_checks.ledger import Ledger, Paper
from paper_checks.methods.bands import Interval, judge_bands
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.limit import Ladder, judge_limit
from paper_checks.methods.mean import Tails, judge_means
from paper_checks.methods.parts import judge_parts
from paper_checks.methods.printed import Cell, Rounded, judge_count, judge_order, judge_printed
from paper_checks.methods.relations import Relation, judge_relations
from paper_checks.methods.sides import UndefinedError, checked_sides
from paper_checks.replay import Replayed
from paper_checks.run import run

LEDGER = Ledger.of([Paper("invented", "Invented", "invented", ("attacks",))])


@pytest.fixture(scope="module", params=["quick", "full"])
def decisions(request):
    found = run(LEDGER.claims, LEDGER, budget=request.param)
    return {result.claim.label: result.decision for result in found.results}


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("nan-side", "left sides are not numbers"),
        ("nan-interval", "at least two finite draws"),
        ("overflow", "got int64, which can overflow"),
        ("nan-promise", "must be a finite number, got -inf"),
        ("crowd", "100 of 401 left sides are not numbers"),
        ("tolerance", "pass only within a tolerance of 0.6"),
        ("tolerant-promise", "kept only within 0.6, which is more than rounding"),
        ("far-rival", "violated, but no witness is stored"),
        ("numpy-false", "the outcome must be True, False or None, got bool"),
        ("negative-margin", "a form that passes has a margin of -1"),
        ("undecided-mutant", "does not notice the mutant {'K': 0.5}"),
        ("infinite-mutant", "refuted through an infinite side only"),
        ("declared-fact", "declared but not proved"),
        ("positive-symbol", "the symbol x has a sign that the statement does not give it"),
        ("one-ulp", "exact numbers must be integers, fractions, decimals or sympy rationals, got float"),
        ("float-probability", "a probability that is a float needs an error"),
        ("one-dimension", "two dimensions, or a reason why one is enough"),
        ("never-settles", "the mean still moves by 0.03"),
        ("moves-away", "the mean moves away from 0.065"),
        ("high-level", "one claim may spend a level of 1e-06, but this evidence spends 0.001"),
        ("twice-the-level", "this evidence spends 2e-06"),
        ("no-part", "a statement needs at least one part"),
        ("zero-units", "scales like anything"),
        ("few-draws", "at least two finite draws"),
        ("heavy-tail", "a mean needs a bound on the deviation of its draws, or why they are nearly normal"),
        ("missed-tail", "1000 draws that are all the same are not nearly normal"),
        ("met-tail", "a draw 31.6 standard deviations from the mean is not nearly normal"),
        ("small-deviation", "draws lie more than twice the stated deviation of 0.01 off"),
        ("pinned", "K occurs in the statement, where no change of it is noticed"),
        ("other-line", "the mutant {'K': 0.9} of the bound is refuted by another line only"),
        ("two-cases", "the assumption leaves"),
        ("half-domain", "the assumption leaves no case at the high end of x"),
        ("narrow-domain", "x from 0.4 to 0.6 is a small part of [0, 1] as stated"),
        ("narrow-grid", "x from 0.2 to 0.8 is a small part of (0, 1] as stated"),
    ],
)
def test_a_deception_supports_nothing(decisions, label, reason):
    decision = decisions[label]
    assert decision.verdict == "not checkable here"
    assert reason in decision.defect


def test_every_attack_is_listed_above(decisions):
    listed = [mark.args[1] for mark in test_a_deception_supports_nothing.pytestmark if mark.name == "parametrize"]
    assert {label for label, _ in listed[0]} == set(decisions)


def bounded(left, right, error=0.0, **rest):
    arrays = np.array(left, dtype=float), np.array(right, dtype=float)
    return judge_inequality(*arrays, error, scope="", case=lambda i: {"i": i}, **rest)


def test_the_exact_search_looks_at_the_largest_excess_among_a_thousand_cases():
    """The violation is neither a corner nor among the safest cases; only its excess tells."""
    left = np.linspace(0.0, 1.0, 1000)
    left[700] = 1.5
    seen = []

    def exact(case):
        seen.append(int(case["i"]))
        return Fraction(float(left[case["i"].numerator])), Fraction(5, 4)

    evidence = bounded(left, np.full(1000, 1.25), exact=exact)
    assert evidence.ok is False
    assert evidence.witness == {"i": 700}
    assert seen == [700]


def test_equality_is_looked_for_among_the_smallest_differences():
    left = np.linspace(-1.0, -1e-3, 1000)
    left[500] = 0.0
    evidence = bounded(
        left, np.zeros(1000), exact=lambda case: (Fraction(float(left[int(case["i"])])), Fraction(0)), strict=True
    )
    assert (evidence.ok, evidence.witness) == (False, {"i": 500})


def test_a_violation_is_not_hidden_by_equalities_that_rounding_takes_for_violations():
    exact = [Fraction(0)] * 500
    exact[400] = Fraction(1, 2)
    rounded = np.array([float(side) or 1e-17 for side in exact])  # each of them all of its size above 0
    evidence = bounded(rounded, np.zeros(500), exact=lambda case: (exact[int(case["i"])], Fraction(0)))
    assert (evidence.ok, evidence.witness) == (False, {"i": 400})


def test_a_finite_violation_is_shown_before_an_infinite_one():
    assert bounded([np.inf, 3.0], [0.0, 1.0], infinite=True).witness == {"i": 1}
    assert not bounded([np.inf, 3.0], [0.0, 1.0], infinite=True).infinite
    assert bounded([np.inf, 0.0], [0.0, 1.0], infinite=True).infinite


def test_infinite_sides_are_declared_and_never_equal():
    with pytest.raises(UndefinedError, match="infinite, which is not declared"):
        bounded([0.0], [np.inf])
    with pytest.raises(UndefinedError, match="the same infinity"):
        bounded([np.inf], [np.inf], infinite=True)


@pytest.mark.parametrize("error", [-1e-9, np.nan, np.inf])
def test_an_error_bound_is_a_number(error):
    with pytest.raises(UndefinedError, match="an error bound must be a finite number"):
        bounded([0.0], [1.0], error)


def test_exact_sides_are_subtracted_exactly():
    big = np.array([10**30 + 1], dtype=object)
    _, _, difference, _ = checked_sides(big, np.array([10**30], dtype=object), 0.0, infinite=False)
    assert difference.tolist() == [1.0]


@pytest.mark.parametrize(("size", "passes"), [(0.0, False), (1e-3, False), (2e-3, True)])
def test_a_pass_may_rest_on_rounding_of_the_size_of_what_is_compared(size, passes):
    """The error of 1e-9 is rounding for quantities of 1e-3 and more, and a tolerance for smaller ones."""
    left, right = [5e-10, -1.0], [0.0, 0.0]
    if passes:
        evidence = bounded(left, right, 1e-9, size=size)
        assert (evidence.ok, evidence.margin) == (True, 0.0)
    else:
        with pytest.raises(UndefinedError, match="more than rounding"):
            bounded(left, right, 2e-9, size=size)


def test_a_tolerance_that_nobody_needs_is_no_defect():
    assert bounded([0.0], [1.0], 0.6).ok is True


def test_a_resolution_is_stated_on_the_card():
    evidence = judge_relations([Relation("rank", 203.0, 200.0, 5.0, resolution="read off a figure")], "")
    assert "within 5, read off a figure" in evidence.obtained


def test_promises_that_are_all_of_a_statement_are_compared_exactly():
    third = Fraction(1, 3)
    kept = [Relation("rounds", 2, 2), Relation("share", third, Fraction(1, 2), at_most=True)]
    assert judge_relations(kept, "").grade == "search"
    assert judge_relations(kept, "", whole=True).grade == "proof"
    assert judge_relations([Relation("share", third, third + Fraction(1, 10**9))], "", whole=True).ok is False
    # What floats cannot tell apart is not shown.
    near = Relation("share", third, third + Fraction(1, 10**400))
    assert judge_relations([near], "", whole=True).grade == "search"
    with pytest.raises(TypeError, match="exact numbers"):
        judge_relations([Relation("share", 0.5, 0.5)], "", whole=True)


@pytest.mark.parametrize(
    "interval", [(np.nan, 1.0), (0.0, np.inf), (1.0, 0.0), (0.0, 1.0, -1e-6), (0.0, 1.0, 0.0, -1.0)]
)
def test_an_interval_is_two_numbers_in_order(interval):
    with pytest.raises(UndefinedError):
        Interval(*interval)


def test_the_level_of_bands_is_the_sum_of_the_intervals_own():
    intervals = {"a": Interval(0.9, 1.1, 2e-7), "b": Interval(0.9, 1.1, 3e-7)}
    assert judge_bands(intervals, {"a": 1.0, "b": 1.0}, scope="", share=0.2).level == pytest.approx(5e-7)


@pytest.mark.parametrize("wrong", [np.nan, None])
def test_a_form_that_predicts_no_number_is_no_form(wrong):
    with pytest.raises((UndefinedError, TypeError)):
        judge_bands({"a": Interval(0.9, 1.1)}, {"a": wrong}, scope="")


def ladder(*means, settled=""):
    rng = np.random.default_rng(0)
    rungs = ((10 ** (3 + 2 * i), mean + 1e-5 * rng.standard_normal(30)) for i, mean in enumerate(means))
    return Ladder(tuple(rungs), settled)


def test_a_mean_that_settles_may_lack_what_it_moved_by_and_not_more():
    assert judge_limit({"x": ladder(1.05, 1.01)}, {"x": 1.0}, scope="", share=0.1).ok is True
    with pytest.raises(UndefinedError, match="not in the measured"):
        judge_limit({"x": ladder(1.07, 1.05)}, {"x": 1.0}, scope="", share=0.1)
    assert judge_limit({"x": ladder(1.051, 1.05)}, {"x": 1.0}, scope="", share=0.1).ok is False


def test_one_dimension_needs_a_reason_which_the_scope_shows():
    evidence = judge_limit({"x": ladder(1.0, settled="the law is exact")}, {"x": 1.0}, scope="all")
    assert "one dimension is enough where the law is exact" in evidence.scope
    with pytest.raises(UndefinedError, match="dimensions of a ladder must increase"):
        Ladder(((100, np.ones(3)), (10, np.ones(3))))


X = sympy.Symbol("x")


def test_facts_are_shown_or_not_there():
    assert identity("square", (X + 1) ** 2 - X**2 - 2 * X - 1).everywhere
    assert identity("square", (X + 1) ** 2 - X**2) is None
    assert positive("x", X, {}) is not None
    assert positive("-x", -X, {}) is None
    assert not compare("one", 1, "<", Fraction(3, 2)).everywhere
    assert compare("one", 2, "<", Fraction(3, 2)) is None
    for says in ("shown", object()):
        with pytest.raises(TypeError, match="declared but not proved"):
            Fact("x", True, says)


def test_some_facts_are_no_proof_of_the_whole():
    assert combine(compare("a", 1, "<", 2), None) == ()
    assert len(combine(compare("a", 1, "<", 2), identity("b", X - X))) == 2


def test_the_error_of_a_float_says_what_to_write():
    with pytest.raises(TypeError, match="; write Rounded") as caught:
        as_fraction(0.002)
    assert 'Rounded.printed("0.002") for a printed number, or Fraction("0.002")' in str(caught.value)


def test_decimals_are_exact_numbers_of_relations():
    tenth, third = Decimal("0.1"), Decimal("1.0000000000000000000000000000000000001")
    kept = judge_relations([Relation("sum", tenth + Decimal("0.2"), Decimal("0.3"))], "one sum", whole=True)
    assert (kept.ok, kept.grade) == (True, "proof")
    off = judge_relations([Relation("apart", third, Decimal(1), case={"x": third})], "one case", whole=True)
    assert (off.ok, off.cases) == (False, 1)
    passing = judge_inequality([Decimal("0.1")], [Decimal("0.3")], [0.0], scope="one", case=lambda i: {}, domain="one")
    assert passing.ok
    with pytest.raises(UndefinedError, match="must be a finite number"):
        Relation("none", Decimal("NaN"), 1)
    with pytest.raises(ValueError, match="exact numbers must be finite"):
        as_fraction(Decimal("Infinity"))


@pytest.mark.parametrize("number", [0.5, np.float64(1.0), np.int64(1), True, "1", sympy.Float(0.5), sympy.sqrt(2)])
def test_exact_numbers_are_integers_fractions_and_rationals_only(number):
    with pytest.raises(TypeError, match="exact numbers must be"):
        as_fraction(number)


ONE_CASE = compare("one case", 1, "<", 2)
EVERYWHERE = identity("everywhere", X - X)


@pytest.mark.parametrize(
    ("rest", "grade"),
    [
        ({}, "search"),
        ({"facts": (ONE_CASE,)}, "search"),  # one case proves no statement about all
        ({"facts": (ONE_CASE,), "whole": True}, "proof"),
        ({"facts": (ONE_CASE, EVERYWHERE)}, "proof"),
        ({"whole": True}, "search"),
        ({"gap": 0.0}, "certified"),
        ({"level": LEVEL, "facts": (EVERYWHERE,), "gap": 0.0}, "statistical"),
    ],
)
def test_the_grade_follows_from_how_it_was_found(rest, grade):
    assert Evidence(True, "", **rest).grade == grade


def test_one_exact_case_proves_a_violation():
    assert Evidence(False, "", margin=-1.0, facts=(ONE_CASE,)).grade == "proof"
    assert Evidence(False, "", margin=-1.0).grade == "search"


def test_a_grade_cannot_be_declared():
    with pytest.raises(TypeError):
        Evidence(True, "", grade="proof")


@pytest.mark.parametrize("outcome", [np.True_, np.False_, 1, 0, "yes", ()])
def test_an_outcome_has_one_type(outcome):
    with pytest.raises(TypeError, match="the outcome must be True, False or None"):
        Evidence(outcome, "")


@pytest.mark.parametrize("rest", [{"margin": np.nan}, {"margin": np.inf}, {"level": -1e-9}, {"level": np.nan}])
def test_evidence_holds_numbers(rest):
    with pytest.raises(ValueError, match=r"margin|level"):
        Evidence(True, "", **rest)


@pytest.mark.parametrize("cases", [-1, 1.0, True, np.int64(3)])
def test_cases_are_counted(cases):
    with pytest.raises(TypeError, match="whole number of at least 0"):
        Evidence(True, "", cases=cases)


def test_parts_add_their_levels_and_are_no_surer_than_the_weakest():
    proved = Evidence(True, "", margin=2.0, facts=(EVERYWHERE,))
    drawn = Evidence(True, "", margin=1.0, level=LEVEL / 2)
    both = judge_parts([proved, drawn, drawn])
    assert (both.grade, both.level, both.margin) == ("statistical", LEVEL, 1.0)
    assert judge_parts([proved, Evidence(True, "")]).grade == "search"
    assert judge_parts([proved, proved]).grade == "proof"
    assert judge_parts([drawn, Evidence(False, "", margin=-1.0)]).level == LEVEL / 2


def test_cases_of_parts_are_those_of_the_part_that_is_told():
    many, few = Evidence(True, "", obtained="many", margin=1.0, cases=7), Evidence(True, "", margin=2.0, cases=3)
    assert (judge_parts([many, few]).obtained, judge_parts([many, few]).cases) == ("many", 7)
    assert judge_parts([many, Evidence(True, "", margin=2.0, cases=0)]).cases == 0


def test_parts_after_one_that_does_not_pass_are_not_asked_for():
    def parts():
        yield Evidence(None, "", reason="too few")
        raise AssertionError("asked for")

    assert judge_parts(parts()).ok is None


def test_printed_numbers_are_exact():
    with pytest.raises(TypeError, match="exact numbers"):
        Rounded(0.1, 0.2)
    with pytest.raises(UndefinedError, match="in order"):
        Rounded(Fraction(1), Fraction(0))
    one = Rounded.exact(1)
    assert judge_printed({"a": Cell(one, one, {})}, "").grade == "proof"


X_SQUARED = np.append(np.random.default_rng(3).random(200), [0.0, 1.0])


def corrected_by(K, mutants):
    @claim(
        "invented/correction",
        where="",
        says="$x^2 \\le x/2$",
        measure=lambda context: X_SQUARED,
        control=Form("K = 2", {"K": 2.0}),
        correction=Form("", {"K": K}, mutants),
        expect=("corrected", "search"),
    )
    def statement(x, K=0.5, power=1):
        left, right = x**2, K * x**power
        return judge_inequality(left, right, 0.0, scope="", domain="these numbers", case=lambda i: {"x": float(x[i])})

    judged = judge(statement, X_SQUARED)
    return judged, decide(statement, judged, [Replayed("witness", True, True, 1.0, 0.5, "")])


def test_a_correction_that_nothing_near_refutes_is_vacuous():
    """K = 10^6 passes, and so does every mutant near it; a mutant far away once was enough."""
    _, decision = corrected_by(1e6, ({"K": 0.9},))
    assert decision.defect == "vacuous correction: no half and no double of K is refuted"


def test_a_correction_is_judged_on_both_sides_of_its_constant():
    judged, decision = corrected_by(1.0, ({"K": 0.9},))
    assert decision.verdict == "corrected"
    assert [(one.value, one.ok) for one in judged.neighbours] == [(0.5, False), (2.0, True)]


NORMAL = np.random.default_rng(0).normal(size=2000)


@pytest.mark.parametrize(
    ("centre", "spread", "kind"),
    [(3000.0, 5.0, np.float16), (1e8, 100.0, np.float32), (4e4, 100.0, np.float16), (100.0, 5.0, np.uint8)],
)
def test_draws_of_any_type_have_the_mean_of_their_numbers(centre, spread, kind):
    draws = (centre + spread * NORMAL).astype(kind)
    mean = float(np.mean(draws.astype(float)))
    limit = judge_limit({"x": Ladder(((10, draws), (100, draws)))}, {"x": mean}, scope="")
    means = judge_means({"x": draws}, {"x": mean}, scope="", tails=Tails(normal="sums"))
    assert limit.ok is means.ok is True
    assert judge_limit({"x": Ladder(((10, draws), (100, draws)))}, {"x": 1.2 * mean}, scope="").ok is False


@pytest.mark.parametrize(
    "draws",
    [NORMAL + 1j, NORMAL.reshape(2, -1), np.ma.array(NORMAL, mask=NORMAL > 1), NORMAL.astype(str), NORMAL[0]],
    ids=["complex", "two rows", "masked", "texts", "one number"],
)
def test_draws_are_real_numbers_in_one_row(draws):
    with pytest.raises(UndefinedError, match="R = 10: draws must be real numbers in one row, got"):
        Ladder(((10, draws), (100, draws)))
    with pytest.raises(UndefinedError, match="x: draws must be real numbers in one row, got"):
        judge_means({"x": draws}, {"x": 0.0}, scope="", tails=Tails(normal="sums"))


def test_masked_sides_are_refused_and_long_ones_are_subtracted_as_they_are():
    sides = np.array([1.0, 2.0])
    with pytest.raises(UndefinedError, match="some right sides are masked"):
        checked_sides(sides, np.ma.array(sides, mask=[False, True]), 0.0, infinite=False)
    long = np.array([np.longdouble(1) + 4 * np.finfo(np.longdouble).eps])
    assert checked_sides(long, np.ones(1), 0.0, infinite=False)[2][0] == 4 * float(np.finfo(np.longdouble).eps)


@pytest.mark.parametrize(
    "judged",
    [
        lambda: judge_printed({}, ""),
        lambda: judge_order({}, ""),
        lambda: judge_count({}, 0, ""),
        lambda: judge_limit({}, {}, scope=""),
        lambda: judge_means({}, {}, scope="", tails=Tails(normal="sums")),
    ],
)
def test_nothing_is_no_evidence(judged):
    with pytest.raises(UndefinedError, match=r"there are no .*, so nothing is judged"):
        judged()
