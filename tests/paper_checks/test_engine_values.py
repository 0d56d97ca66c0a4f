"""Results of the methods for statements small enough to be judged by hand: margins, levels, words, ends of ranges."""

import pickle
from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest

from paper_checks.claim import LITERAL, Form, Reading, claim
from paper_checks.context import LEVEL, Context
from paper_checks.engine.judging import judge
from paper_checks.engine.lines import Line, line_of, strength
from paper_checks.engine.processes import fresh_interpreter
from paper_checks.engine.verdict import decide
from paper_checks.evaluation import Hypothesis, Proof, Replay, Violation, assuming, evaluate_replay, select_read
from paper_checks.facts import Fact, compare
from paper_checks.methods import inequality
from paper_checks.methods.bands import Interval, bands, judge_bands
from paper_checks.methods.domain import UNIT, Axis, describe_draws
from paper_checks.methods.inequality import collect_cases, judge_inequality
from paper_checks.methods.limit import EDGE, Ladder, judge_limit
from paper_checks.methods.mean import Tails, judge_means, robust_interval
from paper_checks.methods.printed import Cell, Order, Rounded, judge_order, judge_printed
from paper_checks.methods.probability import Law, judge_probability
from paper_checks.methods.relations import Relation, judge_relations
from paper_checks.methods.sides import UndefinedError, checked_sides, number
from paper_checks.methods.units import judge_units
from paper_checks.pages.card import first_sentence, sentence_case, shorten, stored_lines
from paper_checks.replay import Replayed, Stored


def test_a_value_may_be_in_its_interval_or_in_one_so_many_times_as_wide():
    one = Interval(1.0, 3.0, bias=0.25)
    assert [one.may_be(value) for value in (0.75, 3.25, 0.74, 3.26)] == [True, True, False, False]
    assert [one.may_be(value, 3.0) for value in (-1.75, 5.75, 5.76)] == [True, True, False]


def test_bands_are_shares_or_the_resolution():
    assert bands({"a": -2.0, "b": 0.1, "c": inf}, 0.1, 0.05) == {"a": 0.2, "b": 0.05, "c": 0.05}
    for value in (nan, 1j):
        with pytest.raises(UndefinedError, match="a form predicts no number for a"):
            bands({"a": value}, 0.1, 0.05)
    with pytest.raises(UndefinedError, match="a band around 0 needs the resolution"):
        bands({"a": 0.0})


def test_a_band_s_margin_is_the_least_room_of_an_interval_in_it():
    measured = {"wide": Interval(0.96, 1.06, LEVEL / 4), "near": Interval(1.95, 2.02, LEVEL / 4)}
    evidence = judge_bands(measured, {"wide": 1.0, "near": 2.0}, scope="", share=0.1)
    assert (evidence.ok, evidence.cases, evidence.level) == (True, 2, LEVEL / 2)
    assert evidence.margin == pytest.approx((0.1 - 0.06) / 0.1)
    assert evidence.printed == "wide: 1 (band 0.1)"
    assert evidence.lines[""].ok is True


def test_an_interval_across_the_end_of_its_band_decides_nothing():
    evidence = judge_bands({"a": Interval(0.9, 1.2)}, {"a": 1.0}, scope="", share=0.1)
    assert evidence.ok is None
    assert evidence.lines[""].ok is None
    assert evidence.reason == "the interval of a is wider than its band"
    outside = judge_bands({"a": Interval(1.11, 1.2)}, {"a": 1.0}, scope="", share=0.1)
    assert (outside.ok, outside.lines[""].ok) == (False, False)
    assert outside.witness == {"quantity": "a", "predicted": 1.0, "low": 1.11, "high": 1.2}


def test_draws_say_what_they_can_miss():
    assert describe_draws(1).startswith("what has a probability of less than 1 in each of 1 draws")
    rare = 1 - 1e-6 ** (1 / 1000)
    assert describe_draws(1000) == f"what has a probability of less than {rare:.2g} in each of 1000 draws can be missed"
    assert "less than 1 in each of 0 draws" in describe_draws(0)


def searched(budget, restarts, monkeypatch):
    """Return the cases of a square, and how many local searches were made."""
    made = []
    monkeypatch.setattr(inequality, "minimize", lambda *arguments, **rest: made.append(rest))
    monkeypatch.setattr(
        inequality, "differential_evolution", lambda function, ends, **rest: function(np.full((2, 3), 0.5))
    )
    cases = collect_cases(
        Context("tests/square", budget=budget),
        (Axis("x", 1e-3, 1.0, UNIT), Axis("y", 1e-3, 1.0, UNIT)),
        lambda case: case["x"] < np.inf,
        lambda case: -case["x"] - case["y"],
        examples=20,
        restarts=restarts,
    )
    return cases, len(made)


@pytest.mark.parametrize(
    ("budget", "restarts", "local", "uniform"),
    [("quick", 1, 0, 500), ("full", 1, 10, 20_000), ("full", 0, 0, 20_000), ("quick", 0, 0, 500)],
)
def test_a_search_goes_on_locally_with_the_full_budget(monkeypatch, budget, restarts, local, uniform):
    cases, made = searched(budget, restarts, monkeypatch)
    assert made == local
    assert f"a violation on less than {-np.log(LEVEL) / uniform:.2g} of the searched domain" in cases.domain


def bounded(left, right, error=0.0, **rest):
    arrays = np.array(left, dtype=float), np.array(right, dtype=float)
    return judge_inequality(*arrays, error, scope="", case=lambda i: {"i": i}, **rest)


def test_an_inequality_says_how_near_it_comes():
    evidence = bounded([1.0, 2.0, 4.0], [2.0, 8.0, 5.0], quotient=True)
    assert evidence.obtained == "no violation in 3 cases; right/left at least 1.25"
    assert (evidence.slack, evidence.margin, evidence.tight) == (1.25, pytest.approx(0.2), 0.0)
    for one in (bounded([-1.0], [1.0], quotient=True), bounded([1.0], [2.0])):
        assert (one.obtained, one.slack) == ("no violation in 1 cases", None)
    with pytest.raises(UndefinedError, match="1 of 1 left sides are infinite, which is not declared"):
        bounded([inf], [1.0])
    evidence = bounded([inf], [1.0], infinite=True)
    assert (evidence.ok, evidence.infinite) == (False, True)


def test_each_line_of_a_chain_passes_or_fails_by_itself():
    evidence = bounded([1.0, 3.0], [2.0, 2.0], lines=["first", "second"])
    assert {name: line.ok for name, line in evidence.lines.items()} == {"first": True, "second": False}
    kept = bounded([1.0, 1.0 + 1e-9], [2.0, 1.0], 1e-8, lines=["first", "second"])
    assert kept.ok is True
    left, right = kept.lines["second"].sides
    assert (left[0], right[0]) == (1.0 + 1e-9, 1.0 + 1e-8)
    with pytest.raises(UndefinedError, match="expected the line of each of 2 cases, got 1"):
        bounded([1.0, 3.0], [2.0, 2.0], lines=["first"])


def test_sides_are_exact_or_floats():
    exact = np.array([Fraction(1, 3), 2], dtype=object)
    left, right, difference, bound = checked_sides(
        exact, np.array([Fraction(1, 3), 1], dtype=object), 0.0, infinite=False
    )
    assert (left[0], right[1], difference.tolist(), bound.tolist()) == (1 / 3, 1.0, [0.0, 1.0], [0.0, 0.0])
    # 1/3 + 2^-60 and 1/3 are the same float: exact sides are subtracted exactly.
    near = np.array([Fraction(1, 3) + Fraction(1, 2**60)], dtype=object)
    assert checked_sides(near, exact[:1], 0.0, infinite=False)[2][0] == 2.0**-60
    assert checked_sides(near, np.array([1 / 3]), 1e-15, infinite=False)[2][0] == 0.0
    with pytest.raises(UndefinedError, match="nearer to each other than rounding"):
        checked_sides(near, np.array([1 / 3]), 0.0, infinite=False)
    for error in (-1.0, nan, inf):
        with pytest.raises(UndefinedError, match="an error bound must be a finite number of at least 0"):
            checked_sides(np.ones(1), np.ones(1), error, infinite=False)
    with pytest.raises(TypeError, match="got str"):
        checked_sides(np.array(["1"], dtype=object), np.ones(1), 0.0, infinite=False)
    with pytest.raises(UndefinedError, match="got int64, which can overflow"):
        checked_sides(np.ones(1, dtype=np.int64), np.ones(1), 0.0, infinite=False)
    assert number(Fraction(1, 4), "a side") == 0.25
    for value in (inf, nan):
        with pytest.raises(UndefinedError, match="a side must be a finite number"):
            number(value, "a side")


def settled(draws, limit, R=1000, share=0.1):
    ladder = Ladder(((R, np.array(draws)),), "the law is exact at every R")
    return judge_limit({"top": ladder}, {"top": limit}, scope="", share=share)


def test_one_dimension_lacks_less_than_the_edge_s_share():
    """At R = 1000 the first means of eigenvalues lack at most 6/100 of their size."""
    draws = [1.999_999, 2.0, 2.000_001]
    bias = EDGE / 100 * 2
    assert settled(draws, 2.0 + 0.99 * bias).ok is True
    with pytest.raises(UndefinedError, match=r"is within the band of .* but not in the measured"):
        settled(draws, 2.0 + 1.01 * bias)
    assert settled([0.1, 0.1], 0.1 + 0.99 * EDGE / 100, share=0.9).ok is True  # at least the unit's share
    assert "one dimension is enough where the law is exact at every R" in settled(draws, 2.0).scope


def test_a_ladder_is_judged_at_its_last_rung():
    rng = np.random.default_rng(0)
    rungs = tuple((R, 1 + 1 / R**0.5 + 1e-4 * rng.standard_normal(50)) for R in (10**4, 10**6, 10**8))
    evidence = judge_limit({"a": Ladder(rungs)}, {"a": 1.0}, scope="", share=0.01)
    assert evidence.ok is True
    assert "at R = 1e+08, 50 draws each" in evidence.scope
    wrong = judge_limit({"a": Ladder(rungs)}, {"a": 1.2}, scope="", share=0.01, settings={"a": {"theta": 2.0}})
    assert (wrong.ok, wrong.witness["R"], wrong.witness["draws"], wrong.witness["theta"]) == (False, 10**8, 50, 2.0)
    for dimensions in ((10**6, 10**4), (10**4, 10**4)):
        with pytest.raises(UndefinedError, match="the dimensions of a ladder must increase"):
            Ladder(tuple((R, np.ones(3)) for R in dimensions))


def test_what_one_ladder_violates_is_violated_though_another_moves_away():
    moving = Ladder(tuple((R, np.array([one - 1e-6, one, one + 1e-6])) for R, one in ((10**4, 1.0), (10**6, 1.02))))
    clear = Ladder(tuple((R, np.array([2 - 1e-6, 2.0, 2 + 1e-6])) for R in (10**4, 10**6)))
    for limits in ({"a": 1.0}, {"a": 1.0, "b": 2.0}):
        with pytest.raises(UndefinedError, match="a: the mean moves away from 1"):
            judge_limit({name: {"a": moving, "b": clear}[name] for name in limits}, limits, scope="")
    evidence = judge_limit({"a": moving, "b": clear}, {"a": 1.0, "b": 3.0}, scope="")
    assert (evidence.ok, evidence.witness["quantity"]) == (False, "b")


def test_a_robust_interval_needs_enough_finite_draws():
    needed = 2 * np.log(2 / LEVEL)  # 29.02
    assert needed == pytest.approx(29.017, abs=1e-3)
    draws = np.linspace(-1, 1, 100)
    interval = robust_interval(draws, 1.0, LEVEL)
    assert interval.middle == pytest.approx(0.0, abs=1e-9)
    assert interval.half_width == pytest.approx((needed / (100 - needed)) ** 0.5)
    for bad in (draws[:29], np.append(draws, nan), np.append(draws, inf)):
        with pytest.raises(UndefinedError, match="needs more than 29 finite draws"):
            robust_interval(bad, 1.0, LEVEL)
    evidence = judge_means({"a": draws}, {"a": 0.0}, scope="", tails=Tails({"a": 1.0}), resolution=1.0)
    assert (evidence.ok, evidence.level) == (True, LEVEL)


def test_a_probability_by_its_law_is_compared_exactly():
    law = Law(Fraction(2, 5))
    held = judge_probability(law, 0.25, 0.5, scope="", what="rain")
    assert (held.ok, held.level, held.obtained) == (True, 0.0, "0.4")
    assert held.margin == pytest.approx(0.1)
    assert held.facts
    for low, high, outside in ((0.5, 0.75, 0.1), (0.0, 0.25, 0.15)):
        missed = judge_probability(law, low, high, scope="", what="rain")
        assert missed.ok is False
        assert missed.margin == pytest.approx(-outside)
        assert missed.witness["claimed"] == [low, high]
        assert missed.facts


def test_promises_are_kept_with_equality():
    kept = [Relation("at most", 2.0, 2.0, at_most=True), Relation("the same", 1.0, 1.0)]
    evidence = judge_relations(kept, "")
    assert (evidence.ok, evidence.margin) == (True, 0.0)
    assert {name: line.ok for name, line in evidence.lines.items()} == {"at most": True, "the same": True}
    assert judge_relations([], "").margin == 0.0
    broken = judge_relations([*kept, Relation("the same", 1.5, 1.0, case={"run": 1})], "")
    assert (broken.ok, broken.margin) == (False, -0.5)
    assert {name: line.ok for name, line in broken.lines.items()} == {"at most": True, "the same": False}
    assert broken.witness == {"run": 1, "promise": "the same"}


def test_whole_promises_are_facts_of_their_sign():
    promises = [
        Relation("at most", Fraction(1), Fraction(2), at_most=True),
        Relation("the same", Fraction(3), Fraction(3)),
    ]
    facts = judge_relations(promises, "", whole=True).facts
    assert [str(fact.says) for fact in facts] == [
        str(compare("at most", Fraction(1), "<=", Fraction(2)).says),
        str(compare("the same", Fraction(3), "=", Fraction(3)).says),
    ]
    with pytest.raises(UndefinedError, match="kept only within 1e-05, which is more than rounding"):
        judge_relations([Relation("near", 1.2, 1.200_005, error=1e-5)], "")
    assert judge_relations([Relation("near", 1.2, 1.200_000_5, error=1.15e-6)], "").ok is True  # rounding of 1.2
    assert judge_relations([Relation("near", 0.1, 0.100_000_5, error=0.99e-6)], "").ok is True  # of order one
    with pytest.raises(UndefinedError, match="more than rounding"):
        judge_relations([Relation("near", 0.1, 0.100_000_5, error=1.2e-6)], "")
    for error, size in ((-1.0, 1.0), (0.0, -1.0)):
        with pytest.raises(UndefinedError, match="an error and a size must be at least 0"):
            Relation("a", 1.0, 1.0, error=error, size=size)
    assert Relation("a", 1.0, 1.0, size=0.0).excess == 0.0


def test_printed_cells_that_do_not_follow_are_listed():
    cells = {
        "fits": Cell(Rounded.printed("1.5"), Rounded.exact(Fraction(3, 2)), {"of": "a"}),
        "off": Cell(Rounded.printed("1.5"), Rounded.exact(2), {"of": "b"}),
        "far": Cell(Rounded.printed("1.5"), Rounded.exact(3), {"of": "c"}),
    }
    evidence = judge_printed(cells, "a table")
    assert (evidence.ok, evidence.cases, evidence.witness) == (False, 3, {"cell": "far", "of": "c"})
    assert evidence.printed == "far: 1.5 ± 0.05"
    assert evidence.obtained.startswith("3; 2 of 3 do not follow: off: printed 1.5 ± 0.05, recomputed 2; far:")
    assert evidence.margin == pytest.approx(-1.45 - 2)
    good = judge_printed({"fits": cells["fits"]}, "a table")
    assert (good.ok, good.margin) == (True, pytest.approx(0.05))


def test_division_by_what_may_be_0_is_none():
    for text in ("0.0", "0"):
        with pytest.raises(ZeroDivisionError, match="an interval that contains 0"):
            Rounded.exact(1) / Rounded.printed(text)
    for low, high in ((Fraction(0), Fraction(1)), (Fraction(-1), Fraction(0))):
        with pytest.raises(ZeroDivisionError):
            Rounded.exact(1) / Rounded(low, high)
    assert Rounded.exact(1) / Rounded(Fraction(2), Fraction(4)) == Rounded(Fraction(1, 4), Fraction(1, 2))


def test_orders_that_fail_are_counted():
    orders = {
        "sure": Order(Rounded.exact(3), Rounded.exact(1), {}),
        "wrong": Order(Rounded.exact(1), Rounded.exact(2), {}),
        "open": Order(Rounded.printed("1.0"), Rounded.printed("1.0"), {}),
    }
    evidence = judge_order(orders, "")
    assert evidence.ok is False
    assert evidence.obtained == "1; 1 of 3 fail: wrong: 1 against 2"
    assert evidence.lines[""].ok is False
    assert judge_order({"sure": orders["sure"]}, "").margin == 2.0
    assert judge_order({"open": orders["open"]}, "").ok is None


def test_units_are_changed_at_every_point_that_is_not_zero():
    points = [{"x": Fraction(2), "c": Fraction(3)}, {"x": Fraction(0), "c": Fraction(1)}]
    good = judge_units({"area": lambda p: (p["x"] ** 2, p["c"] * p["x"] ** 2)}, {"x": 1}, points, "")
    assert (good.ok, good.cases) == (True, 3)
    bad = judge_units({"area": lambda p: (p["x"] ** 2, p["c"] * p["x"])}, {"x": 1}, points, "")
    assert (bad.ok, bad.lines["area"].ok, bad.witness["line"]) == (False, False, "area")
    assert good.lines["area"].ok is True


def numbers(left, right, **rest):
    return {"": line_of(True, left, right, **rest)}


def test_a_form_is_weaker_where_it_leaves_more_room():
    printed = numbers([1.0, 2.0], [3.0, 4.0])
    assert strength(printed, printed) is None
    assert strength(printed, numbers([1.0, 2.0], [3.5, 4.0])) == "weaker"
    assert strength(printed, numbers([1.0, 2.5], [3.0, 4.0])) == "stronger"
    assert strength(printed, numbers([1.0, 2.0], [3.5, 3.5])) == "neither"
    assert strength(printed, numbers([0.5, 1.0], [3.0, 4.0])) == "weaker"
    assert strength(printed, numbers([2.0, 4.0], [6.0, 8.0])) is None  # twice both sides
    assert strength(printed, numbers([1.0], [3.0])) == "weaker"
    assert strength(numbers([1.0], [3.0]), printed) == "stronger"
    assert strength(numbers([1.0], [3.0]), numbers([1.0, 2.0, 5.0], [3.5, 4.0, 6.0])) == "neither"
    assert strength(printed, numbers([1.0, 2.0], [3.0, 4.0], strict=True)) == "stronger"
    assert strength(numbers([1.0, 2.0], [3.0, 4.0], strict=True), printed) == "weaker"
    assert strength(printed, {**printed, "more": line_of(True, [1.0], [2.0])}) == "stronger"
    assert strength({**printed, "more": line_of(True, [1.0], [2.0])}, printed) == "weaker"
    assert strength(numbers([1.0], [2.0], equal=True), numbers([1.0], [3.0], equal=True)) == "neither"
    assert strength({"": Line(True, "a")}, {"": Line(True, "b")}) == "neither"
    assert strength({"": Line(True, "a")}, {"": Line(True, "a", strict=True)}) == "stronger"
    assert strength(numbers([-1.0], [3.0]), numbers([-2.0], [4.0])) == "neither"  # not known


def test_a_replay_tells_the_sides_apart():
    def told(left, right, **rest):
        return evaluate_replay(Replay("id", "witness", lambda values: Violation(left, right, **rest), {}), {})

    assert told(Fraction(1, 3), Fraction(1, 4)).detail == "0.333333 > 0.25 (exact, shown rounded)"
    assert told(Fraction(1, 4), Fraction(1, 4)).detail == "0.25 <= 0.25 (exact)"
    assert not told(Fraction(1, 4), Fraction(1, 4)).confirmed
    assert told(0.5, 0.25, error=1e-9).detail == "0.5 > 0.25 (error at most 1e-09)"


def test_values_that_a_replay_reads_are_those_worth_storing():
    def three(values):
        return Proof(sum(values[name] for name in values if name != "c") == 3, "the sum")

    replay = Replay("id", "certificate", three, {})
    assert select_read(replay, {"a": 1, "b": 2, "c": 5}) == {"a": 1, "b": 2}
    answer = evaluate_replay(replay, {"a": 1, "b": 2, "c": 5})
    assert (answer.kind, answer.confirmed, answer.detail) == ("certificate", False, "the replay does not use c")


def test_words_of_a_card():
    assert shorten("one two three", 9) == "one two …"
    assert sentence_case("one two") == "One two"
    assert sentence_case("") == ""
    assert first_sentence("One. Two.") == "One."


def test_a_card_says_what_constants_of_a_proof_are():
    proves, words = {"K": "2", "alpha": "3/5"}, {"alpha": "share of the step"}
    answer = Replayed("certificate", True, True, None, None, "steps", proves=proves, words=words)
    told = " ".join(" ".join(stored_lines(Stored("invented/x", "certificate", {}), answer)).split())
    assert "the established statement, with K = 2, alpha = 3/5 (share of the step) replay" in told


def test_facts_stay_facts_in_another_process():
    fact = compare("half", Fraction(1, 2), "<=", 1)
    again = pickle.loads(pickle.dumps(fact))
    assert again == fact
    assert again.everywhere is fact.everywhere
    with pytest.raises(TypeError, match="is declared but not proved"):
        Fact("half", True)


def square_bound(correction, mutants=({"K": 0.9},)):
    """Return the claim that x^2 <= x / 2 on [0, 1], with a correction of its constant."""
    x = np.linspace(0.0, 1.0, 11)

    def bound(data, K=0.5):
        return judge_inequality(
            data**2, K * data, 0.0, scope="", domain="these numbers", case=lambda i: {"x": float(data[i])}
        )

    declared = claim(
        "invented/square",
        where="nowhere",
        says=r"$x^2 \le K x$",
        measure=lambda context: x,
        control=Form("$K = 2$", {"K": 2.0}),
        correction=Form(f"$K = {correction}$", {"K": correction}, mutants),
        expect=("not checkable here", None),
    )(bound)
    judged = judge(declared, x)
    return judged, decide(declared, judged, [Replayed("witness", True, True, 1.0, 0.5, "")])


def test_what_is_judged_can_be_kept_without_its_sides():
    """The sides of every form, of a reading's mutants too, are as many as the cases."""
    x = np.linspace(0.0, 1.0, 11)

    def bound(data, K=1.0):
        return judge_inequality(data**2, K * data, 0.0, scope="", domain="these numbers")

    declared = claim(
        "invented/square",
        where="nowhere",
        says=r"$x^2 \le K x$",
        measure=lambda context: x,
        mutants=[{"K": 0.9}],
        readings=(LITERAL, Reading("doubled", r"$x^2 \le 2x$", {"K": 2.0}, "eq. 2")),
        expect=("holds", "search"),
    )(bound)
    judged = judge(declared, x)

    def sides(found):
        (other,) = found.others
        of_mutants = [evidence for _, evidence in other.mutants]
        return [one.lines[""].sides is None for one in (found.printed, *found.mutants, other.evidence, *of_mutants)]

    assert sides(judged) == [False] * 4
    assert sides(judged.without_sides()) == [True] * 4


def test_a_correction_passes_the_same_check_or_is_a_defect():
    judged, decision = square_bound(1.0)
    assert (judged.correction.ok, decision.verdict) == (True, "corrected")
    judged, decision = square_bound(0.6)
    assert judged.correction.ok is False
    assert "violated, and its correction does not pass either" in decision.defect
    assert decision.verdict == "not checkable here"
    judged, decision = square_bound(1.0, ({"K": 1.5},))
    assert "correction: the check does not notice the mutant {'K': 1.5}" in decision.defect


def test_an_assumption_without_which_nothing_can_be_computed_is_told():
    def evaluate(values):
        assuming(Hypothesis("x", 3, "<=", 1))
        raise AssertionError("never computed")

    answer = evaluate_replay(Replay("id", "witness", evaluate, {}), {})
    assert (answer.confirmed, answer.detail) == (False, "an assumption is not met: x = 3 <= 1")
    assert answer.assumes == [("x = 3 <= 1", False)]


def test_a_program_that_nobody_listens_to_any_more_is_ended(tmp_path):
    """Left alone it would write its file after half a minute, and the call would wait for that."""
    end = tmp_path / "end"
    program = (
        f"import time; print(1, flush=True); began = time.monotonic()\n"
        "while time.monotonic() < began + 30: time.sleep(0.05)\n"
        f"open({str(end)!r}, 'w').close()"
    )

    def enough(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fresh_interpreter(program, "", (), (), 60.0, enough)
    assert not end.exists()
