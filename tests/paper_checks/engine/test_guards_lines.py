"""Lines of a statement: a change counts where its constant occurs; a correction is compared with what is printed."""

from dataclasses import replace

import numpy as np
import pytest
import sympy

from paper_checks.claim import LITERAL, Best, Dropped, Evidence, Form, Reading, claim
from paper_checks.context import LEVEL
from paper_checks.engine.judging import judge
from paper_checks.engine.lines import Line, changed_lines, line_of, refuted_lines, strength
from paper_checks.engine.sensitivity import NoticedChange, describe_overstated, describe_unnoticed, noticed_changes
from paper_checks.engine.verdict import decide
from paper_checks.methods.bands import Interval, judge_bands
from paper_checks.methods.identity import Equation, judge_identity
from paper_checks.methods.inequality import judge_inequality, steps_of
from paper_checks.methods.mean import Tails, judge_means, normal_interval, robust_interval
from paper_checks.methods.parts import judge_parts
from paper_checks.methods.printed import Cell, Order, Rounded, judge_order, judge_printed
from paper_checks.methods.probability import Counted, judge_probability
from paper_checks.methods.relations import Relation, judge_relations
from paper_checks.methods.sides import UndefinedError
from paper_checks.replay import Replayed

X = np.linspace(0.0, 1.0, 101)


def two_lines(x, K=1.0, weak=True):
    """x^2 <= K x, tight; and x^2 <= 3 K, where K may fall to a third."""
    left = np.concatenate([x**2, x**2]) if weak else x**2
    right = np.concatenate([K * x, 3.0 * K * np.ones_like(x)]) if weak else K * x
    names = ["tight"] * len(x) + ["loose"] * len(x) if weak else ()
    return judge_inequality(left, right, 0.0, scope="", domain="all of X", case=lambda i: {"i": i}, lines=names)


def declared(judge_of, **rest):
    kept = {"mutants": [{"K": 0.1}], "expect": ("not checkable here", None)} | rest
    return claim("invented/lines", where="", says="", measure=lambda context: X, **kept)(judge_of)


def test_sensitivities_are_those_of_each_line():
    statement = declared(two_lines)
    changes = noticed_changes(statement, X, {}, two_lines(X))
    assert [(one.lines, round(one.refuted, 3)) for one in changes] == [(("tight",), 1.0), (("loose",), 0.333)]
    assert str(changes[1]) == "K = 1: a relative change of -0.67 is noticed in loose"
    assert not describe_unnoticed(changes)


@pytest.mark.parametrize(
    ("low", "high"), [(0.3, 0.02), (0.02, 0.3), (0.004, 0.004), (0.0, 0.5), (3.0, 50.0), (50.0, 2e-6)]
)
def test_the_nearer_side_is_found_with_few_judgements(low, high):
    """Equal to what every decade and both sides in turn would give."""
    asked = []

    def within(data, K=1.0):
        asked.append(K)
        off = np.array([K - 1.0])
        return judge_inequality(np.append(off, -off), np.array([high, low]), 0.0, scope="", case=lambda i: {"i": i})

    (change,) = noticed_changes(declared(within), None, {}, within(None))
    nearest = min(low, high)
    assert abs(change.refuted - 1.0) == pytest.approx(max(nearest, 1e-9), rel=1e-3)
    assert (change.refuted < 1.0) == (low < high) or low == high
    assert len(asked) <= 30


def test_lines_that_notice_the_same_are_named_once():
    statement = declared(lambda x, K=1.0: two_lines(x, K, weak=False))
    (change,) = noticed_changes(statement, X, {}, two_lines(X, weak=False))
    assert (change.lines, str(change)) == ((), "K = 1: a relative change of -1e-09 is noticed")


def test_a_constant_counts_where_it_stands():
    """The loose line is where K is printed: what the other one notices is not its sensitivity."""
    statement = declared(two_lines, stands_in={"K": ("loose",)})
    (change,) = noticed_changes(statement, X, {}, two_lines(X))
    assert change.refuted == pytest.approx(1 / 3, rel=1e-3)


@pytest.mark.parametrize(
    "change",
    [
        {"mutants": [{"K": 0.1}, {"L": 2.0}]},
        {"hypotheses": [Dropped("x <= 1", {"L": 2.0})]},
        {"control": Form("K = 2", {"L": 2.0})},
        {"correction": Form("K = 2", {"L": 2.0}, ({"K": 0.1},))},
        {"correction": Form("K = 2", {"K": 2.0}, ({"K": 0.1}, {"L": 0.1}))},
        {"readings": (LITERAL, Reading("doubled", "K = 2", {"L": 2.0}, "eq. 2", ({"K": 0.1},)))},
        {"readings": (LITERAL, Reading("doubled", "K = 2", {"K": 2.0}, "eq. 2", ({"K": 0.1}, {"L": 0.1})))},
        {"vary": ("K", "L")},
        {"best": {"K": Best(0.5, "searched"), "L": Best(2.0, "searched")}},
        {"stands_in": {"K": ("loose",), "L": ("loose",)}},
    ],
)
def test_every_constant_that_a_claim_names_is_one_of_its_judge(change):
    with pytest.raises(ValueError, match="the judge has no constant 'L'; it has K"):
        declared(two_lines, **change)


def test_a_mutant_that_only_another_line_refutes_does_not_count():
    statement = declared(two_lines, mutants=[{"K": 0.9}], stands_in={"K": ("loose",)})
    assert decide(statement, judge(statement, X), ()).defect == (
        "the mutant {'K': 0.9} of loose is refuted by another line only"
    )
    statement = declared(two_lines, mutants=[{"K": 0.1}], stands_in={"K": ("loose",)})
    assert decide(statement, judge(statement, X), ()).verdict == "holds"


def test_a_line_in_which_no_change_is_noticed_is_a_defect_also_of_a_correction():
    def pinned(x, K=1.0, printed=True):
        left, right = np.append(x - 100.0, 1.0), np.append(K * x, K if not printed else 0.5)
        return judge_inequality(
            left, right, 0.0, scope="", case=lambda i: {"i": i}, lines=["statement"] * len(x) + ["K is 1"]
        )

    statement = declared(
        pinned, mutants=(), control=Form("", {"printed": False}), correction=Form("", {"printed": False}, ({"K": 0.9},))
    )
    judged = judge(statement, X)
    changes = noticed_changes(statement, X, {"printed": False}, judged.correction)
    witness = Replayed("witness", True, True, 1.0, 0.5, "")
    assert decide(statement, judged, [witness], changes).defect == (
        "correction: K occurs in statement, where no change of it is noticed"
    )


def test_runs_change_with_every_constant_and_name_only_the_lines_that_break():
    def run(_, K=1.0):
        return judge_relations([Relation("kept for any K", K, 1e9, at_most=True), Relation("K is 1", K, 1.0)], "")

    (change,) = noticed_changes(declared(run), X, {}, run(X))
    assert abs(change.refuted - 1.0) < 1e-8


def test_a_chain_names_its_steps():
    assert steps_of([X[:2], X[:2], X[:2]]) == ["step 1", "step 1", "step 2", "step 2"]
    with pytest.raises(UndefinedError, match="expected the line of each of 101 cases, got 2"):
        judge_inequality(X, X, 0.0, scope="", case=lambda i: {}, lines=["a", "b"])


def test_lines_of_equations_are_known_after_the_first_false_one():
    x, y, z = sympy.symbols("x y z")
    point = {x: sympy.Rational(2), y: sympy.Rational(3)}
    lines = [Equation("a", x, x), Equation("b", x, y), Equation("c", x, x), Equation("d", y, x), Equation("e", z, 0)]
    found = judge_identity(lines, [point], "").lines
    assert {name: line.ok for name, line in found.items()} == {"a": True, "b": False, "c": None, "d": None, "e": None}
    assert refuted_lines(found) == {"b", "d", "e"}


def test_a_sign_that_a_simplification_has_used_up_is_seen():
    """With a positive x the root is x before anything is compared, and the difference has no symbol left."""
    x, point = sympy.Symbol("x", positive=True), sympy.Rational(2, 3)
    equation = Equation("root", sympy.sqrt(x**2), x)
    with pytest.raises(UndefinedError, match="the symbol x has a sign that the statement does not give it"):
        judge_identity([equation], [{x: point}], "all real x")
    assert judge_identity([equation], [{x: point}], "x > 0", positive=("x",)).ok is True


def test_changed_lines_are_those_with_other_sides():
    before = {"a": line_of(True, X, X + 1), "b": line_of(True, X, X), "gone": line_of(True, X, X)}
    after = {"a": line_of(True, X, X + 1), "b": line_of(True, X, X + 2), "new": line_of(True, X, X)}
    assert changed_lines(before, after) == {"b"}


def least(left, right, **rest):
    return {"": line_of(True, np.array(left, dtype=float), np.array(right, dtype=float), **rest)}


PRINTED = least([1, 2], [3, 4])


@pytest.mark.parametrize(
    ("other", "found"),
    [
        (least([1, 2], [3, 5]), "weaker"),
        (least([1, 2], [3, 3.5]), "stronger"),
        (least([1, 2], [2, 5]), "neither"),
        (least([0, 2], [3, 4]), "weaker"),
        (least([1.5, 2], [3, 4]), "stronger"),
        (least([2, 4], [6, 9]), "weaker"),  # both sides doubled, and one more
        (least([2, 4], [6, 8]), None),
        (least([-1, 2], [5, 4.5]), "neither"),  # both sides changed, and one is negative: nothing tells
        (least([1], [3]), "weaker"),  # fewer cases
        (least([1, 2, 5], [3, 4, 6]), "stronger"),
        (least([1], [3.5]), "neither"),
        (least([1, 2], [3, 5], equal=True), "neither"),
        (least([1, 2], [3, 4], strict=True), "stronger"),
        (least([1, 2], [3, 5], strict=True), "neither"),
        (PRINTED, None),
        ({}, None),
        ({**PRINTED, "more": Line(True, 0)}, "stronger"),
        ({"": Line(True, 0)}, "neither"),
    ],
)
def test_a_correction_is_weaker_stronger_or_neither(other, found):
    assert strength(PRINTED, other) == found


def test_a_dropped_line_is_weaker():
    assert strength({**PRINTED, "more": Line(True, 0)}, PRINTED) == "weaker"


def order(greater):
    return {"a": Order(Rounded.exact(greater), Rounded.exact(1), {})}


def cells(*values):
    return {str(i): Cell(Rounded.exact(value), Rounded.exact(value), {}) for i, value in enumerate(values)}


@pytest.mark.parametrize(
    ("printed", "other", "found"),
    [
        (
            judge_probability(Counted(5, 10), 0.0, 0.5, scope="", what="x"),
            judge_probability(Counted(5, 10), 0.0, 0.9, scope="", what="x"),
            "weaker",
        ),
        (
            judge_probability(Counted(5, 10), 0.0, 0.5, scope="", what="x"),
            judge_probability(Counted(5, 10), 0.1, 0.9, scope="", what="x"),
            "neither",
        ),
        (judge_printed(cells(1, 2), ""), judge_printed(cells(1), ""), "weaker"),
        (judge_printed(cells(1, 2), ""), judge_printed(cells(1, 3), ""), "neither"),
        (judge_order(order(2), ""), judge_order(order(3), ""), "neither"),
        (
            judge_relations([Relation("a", 1.0, 2.0, at_most=True)], ""),
            judge_relations([Relation("a", 1.0, 3.0, at_most=True)], ""),
            "weaker",
        ),
        (judge_relations([Relation("a", 1.0, 1.0)], ""), judge_relations([Relation("a", 2.0, 1.0)], ""), "neither"),
    ],
)
def test_methods_say_what_they_compare(printed, other, found):
    assert strength(printed.lines, other.lines) == found


def test_another_equation_or_another_limit_is_neither():
    x, y = sympy.symbols("x y")
    one, other = (judge_identity([Equation("", side, x)], [{x: 2, y: 3}], "") for side in (x, y))
    assert strength(one.lines, other.lines) == "neither"
    rivals = [{"a": 1.0, "b": 1.0}, {"a": 2.0, "b": 2.0}]
    intervals = {name: Interval(0.9, 1.1) for name in "ab"}
    both, wrong = (judge_bands(intervals, rival, scope="", share=0.2) for rival in rivals)
    assert strength(wrong.lines, both.lines) == "neither"
    one_only = judge_bands({"a": intervals["a"]}, rivals[0], scope="", share=0.2)
    assert strength(both.lines, one_only.lines) == "weaker"


def corrected(asks=None, sides=True):
    def bound(x, K=0.5):
        evidence = two_lines(x, K, weak=False)
        return evidence if sides else replace(evidence, lines={})

    form = Form("", {"K": 1.0}, ({"K": 0.9},), asks)
    statement = declared(bound, mutants=(), control=Form("", {"K": 2.0}), correction=form)
    judged = judge(statement, X)
    return judged, decide(statement, judged, [Replayed("witness", True, True, 1.0, 0.5, "")])


def test_a_correction_is_compared_by_its_check_or_by_its_author():
    assert corrected()[0].strength == "weaker"
    assert corrected("neither")[0].strength == "weaker"  # what is found counts
    assert corrected("neither", sides=False)[0].strength == "neither"
    judged, decision = corrected(sides=False)
    assert judged.strength is None
    assert "the correction is not compared with what is printed" in decision.defect


def test_a_correction_that_is_not_what_its_author_says_is_a_defect():
    """Where lines in common show it; where there are none, the author's word counts."""
    assert corrected("weaker")[1].defect == ""
    assert corrected("neither")[1].defect == (
        "the correction is said by asks= to be 'neither', and the compared sides show 'weaker': write "
        'asks="weaker", or leave asks= out, because the sides show it'
    )

    def renamed(x, K=0.5):
        return judge_inequality(
            x**2, K * x, 0.0, scope="", domain="all of X", case=lambda i: {"i": i}, lines=[f"K = {K:g}"] * len(x)
        )

    for asks, found in (("weaker", "weaker"), (None, "neither")):
        form = Form("", {"K": 1.0}, ({"K": 0.9},), asks)
        statement = declared(renamed, mutants=(), control=Form("", {"K": 2.0}), correction=form)
        judged = judge(statement, X)
        assert judged.strength == found
        assert decide(statement, judged, [Replayed("witness", True, True, 1.0, 0.5, "")]).defect == ""


def in_parts(first, second, *, others=()):
    """Two statements x^2 <= K x without names of their lines, and further parts."""
    bounds = (
        judge_inequality(X**2, K * X, 0.0, scope="", domain="all of X", case=lambda i: {"i": i})
        for K in (first, second)
    )
    return judge_parts([*bounds, *others])


def test_the_lines_of_parts_do_not_replace_each_other():
    assert list(in_parts(1.0, 2.0).lines) == ["", "part 2"]
    assert refuted_lines(in_parts(1.0, 0.5).lines) == {"part 2"}
    assert refuted_lines(in_parts(0.5, 1.0).lines) == {""}
    named = judge_parts([two_lines(X), two_lines(X, 0.5)])
    assert list(named.lines) == ["tight", "loose", "tight, part 2", "loose, part 2"]
    assert strength(in_parts(0.5, 1.0).lines, in_parts(2.0, 0.9).lines) == "neither"
    assert strength(in_parts(0.5, 1.0).lines, in_parts(1.0, 1.0).lines) == "weaker"
    change = NoticedChange("K", 1.0, 1.5, ("", "part 2"))
    assert str(change).endswith("is noticed in part 1, part 2")


def test_parts_after_one_that_fails_are_lines_too():
    """A correction of the first part adds none of the others."""
    failing = in_parts(0.5, 1.0)
    assert (failing.ok, list(failing.lines)) == (False, ["", "part 2"])
    assert strength(failing.lines, in_parts(1.0, 1.0).lines) == "weaker"


@pytest.mark.parametrize("first", [0.5, 1.0])
def test_a_part_that_is_not_defined_after_one_that_fails_leaves_the_lines_unknown(first):
    def parts():
        yield two_lines(X, first, weak=False)
        raise UndefinedError("no square root of -1")

    if first == 1.0:
        with pytest.raises(UndefinedError, match="no square root of -1"):
            judge_parts(parts())
    else:
        found = judge_parts(parts())
        assert (found.ok, found.lines) == (False, {})


@pytest.mark.parametrize(("cases", "vacuous"), [(0, True), (1, False)])
def test_a_control_without_a_case_shows_nothing(cases, vacuous):
    def bound(x, K=0.5):
        found = two_lines(x, K, weak=False)
        return replace(found, cases=cases) if found.ok else found

    statement = declared(bound, mutants=(), control=Form("", {"K": 1.0}))
    decision = decide(statement, judge(statement, X), [Replayed("witness", True, True, 1.0, 0.5, "")])
    told = "violated, but its control is vacuous: no case satisfied its assumptions"
    assert (decision.verdict, decision.defect) == (("not checkable here", told) if vacuous else ("refuted", ""))


def test_sides_do_not_travel_between_processes():
    judged, _ = corrected()
    bare = judged.without_sides()
    assert bare == judged  # lines take no part in the comparison of evidence
    assert all(line.sides is None for line in bare.correction.lines.values())
    assert bare.control.lines.keys() == judged.control.lines.keys()


def test_robust_intervals_cover_heavy_tails_and_normal_draws():
    """Student's law with three degrees of freedom has no fourth moment; its variance is 3."""
    rng, level, missed = np.random.default_rng(5), 0.1, {"heavy": 0, "normal": 0}
    for _ in range(400):
        for name, draws, deviation in (
            ("heavy", rng.standard_t(3, 60), 3**0.5),
            ("normal", rng.standard_normal(60), 1.0),
        ):
            interval = robust_interval(draws, deviation, level)
            missed[name] += not interval.low <= 0.0 <= interval.high
    for count in missed.values():
        assert Counted(count, 400).interval(1e-6)[0] <= level


def test_a_robust_interval_is_as_wide_as_stated():
    draws = np.random.default_rng(0).standard_normal(100)
    length = np.log(2.0 / 1e-3)
    assert robust_interval(draws, 2.0, 1e-3).half_width == pytest.approx(2.0 * (2 * length / (100 - 2 * length)) ** 0.5)
    with pytest.raises(UndefinedError, match=r"needs more than 15\.2 finite draws, got 10"):
        robust_interval(draws[:10], 1.0, 1e-3)
    assert robust_interval(np.zeros(100), 1.0, 1e-3).middle == 0.0


def test_one_win_hardly_moves_a_robust_mean():
    draws = np.append(np.zeros(9999), 1000.0)
    assert robust_interval(draws, 1.0, 1e-6).middle < 0.02 < draws.mean()


@pytest.mark.parametrize(
    "wrong",
    [{}, {"deviations": {"x": 1.0}, "normal": "both"}, {"deviations": {"x": 0.0}}, {"deviations": {"x": np.inf}}],
)
def test_what_is_known_of_the_tails_is_one_thing(wrong):
    with pytest.raises(UndefinedError):
        Tails(**wrong)


def test_normal_draws_are_believed_and_the_scope_says_what_can_be_missed():
    draws = np.random.default_rng(0).standard_normal(1000)
    for seed in range(50):
        normal_interval(np.random.default_rng(seed).standard_normal(30), LEVEL)
    zero = {"x": 0.0}
    evidence = judge_means({"x": draws}, zero, scope="all", tails=Tails(normal="they are"), resolution=0.5)
    assert evidence.ok is True
    assert "nearly normal draws: they are; what has a probability of less than 0.014 in each of 1000" in evidence.scope
    robust = judge_means({"x": draws}, zero, scope="all", tails=Tails({"x": 1.0}), resolution=0.5)
    assert "intervals for all laws with standard deviations of at most 1 to 1" in robust.scope
    with pytest.raises(UndefinedError, match="standard deviations from the mean is not nearly normal"):
        normal_interval(np.append(draws, 40.0), LEVEL)


def test_a_quantity_that_does_not_vary_is_its_own_mean():
    tails = Tails(normal="they are", constant=frozenset({"x"}))
    assert judge_means({"x": np.zeros(5)}, {"x": 0.0}, scope="", tails=tails, resolution=0.5).ok is True
    assert judge_means({"x": np.zeros(5)}, {"x": 1.0}, scope="", tails=tails).ok is False


def test_evidence_without_lines_is_that_of_a_statement_of_one_line():
    assert Evidence(True, "").lines == {}


@pytest.mark.parametrize(
    ("best", "refuted", "said"),
    [
        *((2.0, 1.5, True), (1.501, 1.5, True), (1.5, 1.5, False), (1.4, 1.5, False)),
        *((0.5, 0.75, True), (0.749, 0.75, True), (0.75, 0.75, False), (0.8, 0.75, False)),
        *((2.0, 0.5, False), (2.0, None, False)),
    ],
)
def test_a_best_value_beyond_a_refuted_one_is_a_defect(best, refuted, said):
    told = describe_overstated({"K": best}, [NoticedChange("other", 1.0, 1.1), NoticedChange("K", 1.0, refuted)])
    assert bool(told) == said
    assert not said or f"K = {best:g} is said to be the best value known, and the check refutes {refuted:g}" == told
