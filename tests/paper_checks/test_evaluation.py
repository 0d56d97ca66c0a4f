"""Results of replays: exact numbers, or floats with a bound on their error; all stored values are read."""

import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import sympy
from mpmath import mpf

from paper_checks.evaluation import (
    Hypothesis,
    Proof,
    Violation,
    evaluate_replay,
    format_apart,
    plain,
    proof,
    replay,
    require,
    select_read,
)
from paper_checks.facts import compare


def outcome(*sides, values=None, **more):
    """Return result of a replay with these sides."""
    return evaluate_replay(replay("demo/eq-1")(lambda values: Violation(*sides, **more)), values or {})


@pytest.mark.parametrize("side", [2, Fraction(2), sympy.Integer(2), sympy.Rational(5, 2)])
def test_integers_fractions_and_sympy_rationals_are_exact(side):
    found = outcome(side, 1)
    assert (found.confirmed, found.exact) == (True, True)
    assert found.detail.endswith("(exact)")


@pytest.mark.parametrize(
    "side", [2.0, np.float64(2), np.int64(2), np.bool_(True), True, mpf(2), sympy.sqrt(5), sympy.Float(2), "2", None]
)
def test_no_other_number_is_exact(side):
    assert not outcome(side, 1).confirmed
    assert not outcome(1, side, strict=True).confirmed
    assert not outcome(4, 1, error=side if not isinstance(side, float) else math.nan).confirmed


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (Fraction(1, 10**4), "0.3601 > 0.36 (exact)"),
        (Fraction(1, 10**8), "0.36000001 > 0.36 (exact)"),
        (Fraction(1, 10**40), "0.36 + 1e-40 > 0.36 (exact)"),
    ],
)
def test_two_sides_that_differ_are_not_told_alike(more, expected):
    assert outcome(Fraction(36, 100) + more, Fraction(36, 100)).detail == expected


@pytest.mark.parametrize("side", [math.nan, math.inf, -math.inf])
def test_sides_and_errors_are_finite(side):
    assert not outcome(side, 1.0, 1e-9).confirmed
    assert not outcome(2.0, side, 1e-9).confirmed
    assert not outcome(2.0, 1.0, side).confirmed


def test_one_unit_in_the_last_place_is_no_violation():
    above = math.nextafter(1.0, 2.0)
    assert not outcome(above, 1.0).confirmed
    assert not outcome(above, 1.0, 1e-30).confirmed  # no float is that good
    assert not outcome(above, 1.0, 1e-15).confirmed
    assert not outcome(1.0, 1.0, strict=True).confirmed
    found = outcome(1.0 + 1e-9, 1.0, 1e-10)
    assert (found.confirmed, found.exact) == (True, True)  # a bound on rounding is rigorous


def test_a_witness_within_its_own_error_is_none():
    assert not outcome(Fraction(3, 2), 1, Fraction(1, 2)).confirmed
    assert not outcome(1, 1, Fraction(1, 2), strict=True).confirmed
    assert not outcome(1.5, 1.0, 0.5).confirmed
    assert not outcome(2, 1, -2).confirmed


def test_the_gap_is_taken_without_rounding():
    assert outcome(Fraction(10**40 + 1), Fraction(10**40)).confirmed
    # As floats the gap would be the error, or more than it.
    assert not outcome(1e16, 1.0, Fraction(10**16)).confirmed


def test_a_sample_names_how_it_was_drawn_and_has_an_error():
    found = outcome(2.0, 1.0, 0.1, sampled="dense matrices, Philox")
    assert (found.confirmed, found.exact) == (True, False)
    assert found.detail.endswith("(error at most 0.1; dense matrices, Philox)")
    assert not outcome(Fraction(2), Fraction(1), sampled="dense matrices, Philox").confirmed


@pytest.mark.parametrize(("value", "bound"), [(1.0, 2), (1, 2.0), (np.int64(1), 2), (True, 2), ("a", 2), (mpf(1), 2)])
def test_hypotheses_compare_exact_numbers(value, bound):
    with pytest.raises(TypeError):
        Hypothesis("x", value, "<=", bound)


def test_hypotheses_on_names_are_equalities():
    assert Hypothesis("split", "IID", "=", "IID").met
    assert not Hypothesis("split", "NonIID", "=", "IID").met
    assert str(Hypothesis("split", "NonIID", "=", "IID")) == "split = NonIID, and not IID"
    with pytest.raises(TypeError):
        Hypothesis("split", "IID", "<", "NonIID")


def test_a_witness_holds_nothing_that_is_not_read():
    reading = replay("demo/eq-1")(lambda values: Violation(Fraction(values["x"]), 1))
    assert evaluate_replay(reading, {"x": 2}).confirmed
    more = evaluate_replay(reading, {"x": 2, "draws": 12, "cell": "4"})
    assert not more.confirmed
    assert more.detail == "the replay does not use cell, draws"
    assert select_read(reading, {"draws": 12, "x": 2, "cell": "4"}) == {"x": 2}


@pytest.mark.parametrize(
    ("relation", "below", "equal", "above"),
    [
        ("<", True, False, False),
        ("<=", True, True, False),
        ("=", False, True, False),
        (">=", False, True, True),
        (">", False, False, True),
        ("!=", True, False, True),
    ],
)
def test_relations_hold_on_their_sides_and_at_equality(relation, below, equal, above):
    third = Fraction(1, 3)
    for value, holds in ((third - Fraction(1, 10**30), below), (third, equal), (third + Fraction(1, 10**30), above)):
        assert Hypothesis("x", value, relation, third).met == holds
        assert (compare("x", value, relation, third) is not None) == holds


@pytest.mark.parametrize("place", [0, 1, 2])
def test_each_hypothesis_is_met(place):
    assumes = [Hypothesis(name, 2 if i == place else 1, "<=", 1) for i, name in enumerate("abc")]
    found = outcome(2, 1, assumes=assumes)
    assert (found.confirmed, found.detail) == (False, f"an assumption is not met: {'abc'[place]} = 2 <= 1")


@pytest.mark.parametrize(("left", "right"), [(1.0 + 1e-9, 1.0), (1000.5, 1.0), (1.0, -1000.5), (3.0, Fraction(1))])
@pytest.mark.parametrize(("ulps", "confirmed"), [(2, True), (1, False)])
def test_an_error_is_two_units_in_the_last_place_of_the_larger_side_at_least(left, right, ulps, confirmed):
    larger = max(abs(side) for side in (left, right) if isinstance(side, float))
    found = outcome(left, right, Fraction(math.ulp(larger)) * ulps)
    assert found.confirmed == confirmed
    assert confirmed or "is smaller than the error of the sides" in found.detail


def test_digits_below_the_error_are_not_told():
    assert outcome(1e-5, -1.0, 1e-3).detail == "0 > -1 (error at most 0.001)"
    assert outcome(1.0, -1e-5, 1e-3).detail == "1 > 0 (error at most 0.001)"
    assert outcome(1e-2, -1.0, 1e-3).detail == "0.01 > -1 (error at most 0.001)"


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (0.1 + 0.2, 0.3, ("0.30000000000000004", "0.29999999999999999")),
        (1.0, 1.0, ("1", "1")),
        (123456.7, 123456.8, ("123456.7", "123456.8")),
    ],
)
def test_as_many_digits_are_told_as_tell_two_floats_apart(left, right, expected):
    assert format_apart(left, right) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Fraction(1, 10**9), "1/1000000000"),
        (Fraction(1, 10**9 + 1), "1e-09"),
        (Fraction(-(10**9) - 1, 3), "-3.33333e+08"),
    ],
)
def test_long_fractions_are_rounded_for_people(value, expected):
    assert plain(value) == expected


@pytest.mark.parametrize("values", [{"K": "1", "n": 2}, {"K": 1, "n": "2"}, {"K": 1.0, "n": 2}, {"K": True, "n": 2}])
def test_a_certificate_names_each_constant_as_the_statement_has_it(values):
    stated = proof("demo/eq-1", K=1, n=2)(lambda values: Proof(bool(values["K"]) and bool(values["n"]), "steps"))
    assert evaluate_replay(stated, {"K": 1, "n": 2}).confirmed
    assert evaluate_replay(stated, values).detail.startswith("a certificate for another statement: ")
    assert not evaluate_replay(stated, {"K": 1}).confirmed


@proof("demo/eq-2")
def sum_of_two(half: Fraction = Fraction(1, 2), sizes: tuple[int, ...] = (2, 3)) -> str:
    """A proof that reads no file."""
    require(len(sizes) > 1, "more than one size")
    require(half + half == 1, "the sum")
    return f"the sum of two halves, {len(sizes)} times"


def test_a_proof_without_a_file_says_its_constants_and_the_step_that_fails():
    answer = evaluate_replay(sum_of_two, {})
    assert (answer.kind, answer.confirmed, answer.exact) == ("certificate", True, True)
    assert answer.detail == "the sum of two halves, 2 times"
    assert answer.proves == sum_of_two.constants == {"half": "1/2", "sizes": [2, 3]}
    failing = evaluate_replay(sum_of_two, {}, {"half": Fraction(1, 3)})
    assert (failing.confirmed, failing.detail) == (False, "the sum")
    assert evaluate_replay(sum_of_two, {}, {"sizes": ()}).detail == "more than one size"


NO_TRUTH = ["text of a flaw", "", 1, 0, 0.5, None, ["step"], sympy.Symbol("x") > 0, np.array([True])]


@pytest.mark.parametrize("truth", [True, np.True_, sympy.true])
def test_true_of_any_library_is_true(truth):
    for answer in (
        evaluate_replay(proof("demo/eq-5")(lambda values: Proof(truth, "steps")), {}),
        evaluate_replay(proof("demo/eq-5")(lambda K=1: require(truth, "step") or "steps"), {}),
    ):
        assert answer.confirmed is answer.exact is True
    assert Violation(1, 1, strict=truth).strict is True
    assert not evaluate_replay(proof("demo/eq-5")(lambda values: Proof(sympy.false, "steps")), {}).confirmed
    assert evaluate_replay(proof("demo/eq-5")(lambda K=1: require(np.False_, "step") or "steps"), {}).detail == "step"


@pytest.mark.parametrize("truth", NO_TRUTH, ids=repr)
def test_what_python_takes_for_true_verifies_nothing(truth):
    for answer in (
        evaluate_replay(proof("demo/eq-5")(lambda values: Proof(truth, "steps")), {}),
        evaluate_replay(proof("demo/eq-5")(lambda K=1: require(truth, "step") or "steps"), {}),
        outcome(1, 1, strict=truth),
    ):
        assert not answer.confirmed
        assert "must be True or False, got " in answer.detail


def test_constants_of_a_proof_are_what_json_has():
    stated = proof("demo/eq-6", K=sympy.Rational(1, 2), n=np.int64(3), on=np.True_)(
        lambda values, L=Fraction(2, 3), laws=("a", Decimal("0.5")), x=0.25: Proof(
            (values["K"], values["n"], values["on"], x + x) == ("1/2", "3", True, Fraction(1, 2)), "steps"
        )
    )
    values = {"L": "2/3", "laws": ["a", "0.5"], "x": 0.25, "K": "1/2", "n": "3", "on": True}
    assert stated.constants == json.loads(json.dumps(stated.constants)) == values
    assert evaluate_replay(stated, {name: values[name] for name in ("K", "n", "on")}).confirmed


def test_floats_of_a_proof_are_the_decimals_that_are_written():
    thirds = proof("demo/eq-7")(lambda K=0.3333333333333333: require(3 * K == 1, "the sum") or "steps")
    tenths = proof("demo/eq-7")(lambda K=0.1, L=0.2: require(10 * (K + L) == 3, "the sum") or "steps")
    assert (evaluate_replay(thirds, {}).detail, evaluate_replay(tenths, {}).detail) == ("the sum", "steps")


def test_a_proof_reads_all_of_its_file_and_takes_no_other_constants():
    multipliers = proof("demo/eq-3")(lambda certificate, K=2: certificate["a"] if K == 2 else "")
    assert not sum_of_two.reads_a_file
    assert multipliers.reads_a_file
    assert evaluate_replay(multipliers, {"a": "steps"}).detail == "steps"
    assert evaluate_replay(multipliers, {"a": "steps", "b": 1}).detail == "the replay does not use b"
    assert evaluate_replay(sum_of_two, {"b": 1}).detail == "the replay does not use b"
    for answer, head in (
        (evaluate_replay(multipliers, {}), "not a case of this claim: KeyError"),
        (evaluate_replay(multipliers, {"a": "steps"}, {"L": 1}), "an error in the proof of demo/eq-3: TypeError"),
        # it says nothing
        (evaluate_replay(multipliers, {"a": "steps"}, {"K": 3}), "an error in the proof of demo/eq-3: TypeError"),
        (evaluate_replay(proof("demo/eq-4")(lambda K=1: None), {}), "an error in the proof of demo/eq-4: TypeError"),
    ):
        assert not answer.confirmed
        assert answer.detail.startswith(head)


def test_decimals_of_a_replay_are_exact():
    tiny = Decimal("1e-40")
    found = replay("demo/eq-1")(
        lambda values: Violation(
            1 + Fraction(tiny),
            Decimal(values["x"]),
            assumes=(Hypothesis("x", Decimal(values["x"]), ">", Decimal("0.9")),),
        )
    )
    answer = evaluate_replay(found, {"x": "1.0"})
    assert (answer.confirmed, answer.exact) == (True, True)
    assert [met for _, met in answer.assumes] == [True]
    wrong = replay("demo/eq-1")(lambda values: Violation(0, 0, assumes=(Hypothesis("x", values["x"], ">", 0.002),)))
    assert evaluate_replay(wrong, {"x": 1}).detail.startswith("an error in the replay of demo/eq-1: TypeError")
    assert 'Fraction("0.002")' in evaluate_replay(wrong, {"x": 1}).detail


def test_what_is_within_lists_and_mappings_is_read_too():
    rows = replay("demo/eq-1")(lambda values: Violation(sum(row["a"] for row in values["rows"]["some"]), 1))
    assert evaluate_replay(rows, {"rows": {"some": [{"a": 1}, {"a": 2}]}}).confirmed
    for values, unread in (
        ({"rows": {"some": [{"a": 1}, {"a": 2, "b": 3}]}}, "b"),
        ({"rows": {"some": [{"a": 3}], "others": []}}, "others"),
    ):
        assert evaluate_replay(rows, values).detail == f"the replay does not use {unread}"
