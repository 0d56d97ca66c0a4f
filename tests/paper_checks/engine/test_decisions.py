"""Decisions at their borders: parts of every grade, constants of certificates, neighbours and levels, by hand."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import sympy

from paper_checks.claim import AS_CORRECTED, LITERAL, PRINTS, Best, Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import LEVEL
from paper_checks.engine.judging import Judged, JudgedReading, Neighbour, judge, obtained_beside
from paper_checks.engine.lines import Line
from paper_checks.engine.sensitivity import NoticedChange
from paper_checks.engine.verdict import Decision, decide
from paper_checks.evaluation import as_in_json
from paper_checks.facts import identity
from paper_checks.ledger import Ledger, LedgerError, Paper
from paper_checks.methods.sides import UndefinedError
from paper_checks.pages.card import card_text
from paper_checks.replay import Replayed, Stored
from paper_checks.result import Result

SHOWN = identity("0", sympy.Symbol("x") - sympy.Symbol("x"))
OF_GRADE = {"proof": {"facts": (SHOWN,)}, "certified": {"gap": 0.0}, "statistical": {"level": LEVEL}, "search": {}}


def found(ok, grade="search", **rest):
    return Evidence(ok, "scope", margin={True: 1.0, False: -1.0, None: 0.0}[ok], **OF_GRADE[grade], **rest)


PASSES, FAILS, OPEN = found(True), found(False), found(None, reason="too few draws")
WITNESS = Replayed("witness", True, True, 1.0, 0.5, "exact")
SAMPLED = replace(WITNESS, exact=False)
PROVED = Replayed("certificate", True, True, None, None, "proved")
SECOND = Reading("second", "$K = 2$", {"K": 2.0}, "eq. 2")


def declared(judge=lambda data, K=1.0, n=3: PASSES, **rest):
    """Return a claim about anything."""
    fields = {"where": "", "says": "", "measure": lambda context: None, "mutants": [{"K": 0.5}]}
    return claim("invented/any", **(fields | {"expect": ("not checkable here", None)} | rest))(judge)


def reading(evidence, of=SECOND, mutants=(({"K": 0.5}, FAILS),)):
    return JudgedReading(of, False, evidence, mutants)


CORRECTION = Form("$K = 4$", {"K": 4.0}, ({"K": 3.0},))
CORRECTED = {
    "control": PASSES,
    "correction": PASSES,
    "correction_mutants": (FAILS,),
    "neighbours": (Neighbour("K", 2.0, False), Neighbour("K", 8.0, True)),
    "strength": "weaker",
}
FIXED = declared(correction=CORRECTION, control=Form("weaker", {"K": 8.0}))
TWICE = declared(readings=(LITERAL, SECOND), correction=CORRECTION, control=Form("weaker", {"K": 8.0}))


@pytest.mark.parametrize(
    ("stated", "constant", "proves"),
    [
        ("0.5", 0.5, True),
        ("0.5", 0.55, False),
        ("0.5", 0.501, False),
        ("0.500", 0.501, False),
        ("0.501", 0.5, False),
        ("0.5001", 0.5, False),
        ("0.4999", 0.5, False),
        ("0.5000", 0.5, True),
        ("0.33333", 1 / 3, True),
        ("0.33335", 1 / 3, False),
        ("5.00001", 5.0, False),
        ("0.33334", 1 / 3, False),
        ("0.333", 1 / 3, False),
        ("33.3333", 100 / 3, True),
        ("3.33333e-5", 1 / 30000, True),
        ("0.0001", 0.000099991, False),
        ("0.0001", 1 / 10001, False),
        ("0.0001", 0.0, False),
        ("0", 1e-300, False),
        ("1.0000", 0.99996, False),
        ("1.0000", 0.99996123456789012, False),
        ("1", 0.99995, False),
        (1.0, 0.99995, False),
        (1, 0.99995, False),
        (1, 1.0, True),
        (0.3, 0.3, True),
        (True, 0.5, False),
        (None, 0.5, False),
        ("half", 0.5, False),
        ("1e999999999", 0.5, False),
        ("1/0", 0.5, False),
        ("1/3", 1 / 3, True),
        ("1/3", 1 / 3 + 1e-9, False),
        ("3", 3.0, True),
        ("2.9", 3.0, False),
        ("-3", 3.0, False),
    ],
)
@pytest.mark.parametrize("form", ["first", "reading", "correction"])
def test_a_certificate_proves_the_constants_of_its_form_and_no_others(stated, constant, proves, form):
    """Four digits and more stand for a constant without end, rounded to them; all else is exact."""
    other = 7.0
    if form == "first":
        stands = declared(lambda data, n=3, K=constant: PASSES)
        judged, answers = Judged(PASSES, (FAILS,)), [PROVED]
    elif form == "reading":
        read = Reading("second", "$K$", {"K": constant}, "eq. 2")
        stands = declared(lambda data, n=3, K=other: PASSES, readings=(LITERAL, read))
        judged, answers = Judged(PASSES, (FAILS,), (reading(PASSES, read),)), [replace(PROVED, reading="second")]
    else:
        stands = declared(
            lambda data, n=3, K=other: PASSES, correction=Form("$K$", {"K": constant}, ({"K": 3.0},)), mutants=()
        )
        judged, answers = Judged(FAILS, **CORRECTED), [WITNESS, PROVED]
    answers[-1] = replace(answers[-1], proves={"n": 3, "K": stated})
    decision = decide(stands, judged, answers)
    assert bool(decision.defect) == (not proves)
    assert proves or f"it is one of another statement, with K = {stated} for {constant:g}" in decision.defect


@pytest.mark.parametrize(
    ("stated", "constant", "proves"),
    [
        ("3", Fraction(3), True),
        ("2", Fraction(3), False),
        (2.0, Fraction(3), False),
        ("1/3", Fraction(1, 3), True),
        ("0.33333", Fraction(1, 3), False),
        (1 / 3, Fraction(1, 3), False),
        ("1/2", sympy.Rational(1, 2), True),
        ("1/3", sympy.Rational(1, 2), False),
        ("0.5", Decimal("0.5"), True),
        ("0.5001", Decimal("0.5"), False),
        ("0.25", np.float32(0.25), True),
        ("0.2501", np.float32(0.25), False),
        (4, np.int64(4), True),
        (5, np.int64(4), False),
        ("1", "2", False),
        (0, False, True),
        (1, False, False),
        ("wigner", "wigner", True),
        ("uniform", "wigner", False),
        ("100", "all", True),  # another quantity of this name
        ([1, 2], 3, True),  # sizes at which a step is repeated
        ([1, 2], (1, 2), True),
        ([1, 3], (1, 2), False),
        ([1], (1, 2), False),
        ([1, [2, 3]], (1, (2, 3)), True),
        ([1, [2, 4]], (1, (2, 3)), False),
        ([1, [2, 3]], (1, 2), False),
        (["1/3", "wigner"], [Fraction(1, 3), "wigner"], True),
        (["1/3", 2], [Fraction(1, 3), "wigner"], False),
        ([1.0, 2.0], np.array([1.0, 2.0]), True),
        ([1.0, 2.5], np.array([1.0, 2.0]), False),
        ([[1, 2], [3, 4]], np.array([[1, 2], [3, 4]]), True),
        ([[1, 2], [4, 3]], np.array([[1, 2], [3, 4]]), False),
        (0.1, np.float32(0.1), True),
        ({"a": 1, "b": "1/2"}, {"a": 1, "b": Fraction(1, 2)}, True),
        ({"a": 1, "b": "1/3"}, {"a": 1, "b": Fraction(1, 2)}, False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ("sqrt(2)", sympy.sqrt(2), True),
        ("sqrt(3)", sympy.sqrt(2), False),
        ("1.4142", sympy.sqrt(2), True),
        ("1.4143", sympy.sqrt(2), False),
        ("1", sympy.sqrt(2), False),
        (1, sympy.pi, False),
        ("x", sympy.sqrt(2), False),
        ("x + 1", sympy.Symbol("x") + 1, True),
        ("x + 2", sympy.Symbol("x") + 1, False),
        ("1j", 1j, True),
        ("(1+2j)", 1 + 2j, True),
        ("1 + 2*I", 1 + 2j, True),
        ("(1+3j)", 1 + 2j, False),
        ("2", 1 + 2j, False),
        ("half", 1j, False),
        ("1 + 2*I", 1 + 2 * sympy.I, True),
        ("1 + 3*I", 1 + 2 * sympy.I, False),
        ("{1}", {1}, True),
        ("{2}", {1}, False),
        (float("inf"), float("inf"), True),
        ("oo", float("inf"), True),
        (1.0, float("inf"), False),
        ("1", None, True),  # another quantity of this name
    ],
)
def test_constants_of_every_type_are_compared(stated, constant, proves):
    stands = declared(lambda data, K=constant: PASSES)
    decision = decide(stands, Judged(PASSES, (FAILS,)), [replace(PROVED, proves={"K": stated})])
    assert (decision.verdict == "holds") == proves
    assert proves or f"with K = {stated} for " in decision.defect


def test_an_array_travels_as_its_numbers():
    assert as_in_json({"K": np.array([[1, 2], [3, 4]]), "c": np.float64(0.5)}) == {"K": [[1, 2], [3, 4]], "c": "0.5"}


@pytest.mark.parametrize(
    ("proves", "named"),
    [
        ({"K": "1"}, True),
        ({"K": "1", "bound": "2"}, True),
        ({"K": [1.0]}, False),
        ({"n": "3"}, False),
        ({"bound": "1"}, False),
        ({}, False),
    ],
)
def test_a_proof_that_names_no_constant_that_the_mutants_change_says_so(proves, named):
    stands = declared(lambda data, K=1.0, n=3, law="a": PASSES, mutants=[{"K": 0.5}, {"law": "b"}])
    file, answer = Stored("invented/any", "certificate", {}), replace(PROVED, proves=proves)
    judged = Judged(PASSES, (FAILS, FAILS))
    one = replace(result(), judged=judged, claim=stands, stored=(file,), replayed=(answer,))
    assert one.as_json()["proofs"] == [{"reading": "", "proves": proves, "unnamed": [] if named else ["K"]}]
    assert ("not named    the proof names none of the constants that the mutants change: K" in card_text(one)) != named


@pytest.mark.parametrize(
    ("proves_too", "defect"),
    [
        ([], ""),
        ([{"K": 3.0}], ""),  # a mutant of another form
        ([{"K": 0.5}], "it proves the mutant {'K': 0.5} as well, which is false: check each step by require"),
        ([{"law": "b"}], "it proves the mutant {'law': 'b'} as well"),
        ([{"K": "1/4"}], "it proves the mutant {'K': Fraction(1, 4)} as well"),
    ],
)
def test_a_proof_of_a_mutant_of_its_form_proves_nothing(proves_too, defect):
    mutants = [{"K": 0.5}, {"law": "b"}, {"K": Fraction(1, 4)}]
    stands = declared(lambda data, K=1.0, law="a": PASSES, mutants=mutants)
    answer = replace(PROVED, tried=3, proves_too=proves_too)
    judged = Judged(PASSES, (FAILS, FAILS, FAILS))
    assert defect in decide(stands, judged, [answer]).defect
    assert bool(decide(stands, judged, [answer]).defect) == bool(defect)
    of_fix = replace(PROVED, proves_too=[{"K": 3.0}])
    assert (
        "it proves the mutant {'K': 3.0} as well" in decide(FIXED, Judged(FAILS, **CORRECTED), [WITNESS, of_fix]).defect
    )


def test_a_replay_that_cannot_fail_shows_nothing():
    never = replace(PROVED, can_fail=False)
    assert (
        "it cannot fail: no step is checked by require" in decide(declared(), Judged(PASSES, (FAILS,)), [never]).defect
    )
    alike = replace(WITNESS, can_fail=False)
    assert "its replay cannot fail" in decide(FIXED, Judged(FAILS, **CORRECTED), [alike]).defect


def test_the_constants_of_a_correction_are_those_that_its_proof_names():
    for proves, unnamed in (({"K": "4"}, []), ({"K": "1"}, ["K"])):
        answer = replace(PROVED, proves=proves)
        one = replace(result(), judged=Judged(FAILS, **CORRECTED), claim=FIXED, replayed=(answer,))
        assert one.as_json()["proofs"][0]["unnamed"] == unnamed


@pytest.mark.parametrize(("n", "proves"), [("3", True), ("4", False), ("2", False)])
def test_a_certificate_proves_whole_constants_too(n, proves):
    decision = decide(declared(), Judged(PASSES, (FAILS,)), [replace(PROVED, proves={"K": "1", "n": n})])
    assert (decision.verdict == "holds") == proves


@pytest.mark.parametrize(
    ("outcomes", "vacuous"),
    [
        ((None, None), True),
        ((True, None), True),
        ((True, True), True),
        ((None, False), False),
        ((False, True), False),
        ((), False),
    ],
)
def test_a_correction_needs_a_neighbour_that_is_refuted(outcomes, vacuous):
    judged = Judged(FAILS, **CORRECTED | {"neighbours": tuple(Neighbour("K", 2.0, ok) for ok in outcomes)})
    decision = decide(FIXED, judged, [WITNESS])
    assert decision.defect == ("vacuous correction: no half and no double of K is refuted" if vacuous else "")
    assert decision.verdict == ("not checkable here" if vacuous else "corrected")


GRADES = ("proof", "certified", "statistical", "search")


@pytest.mark.parametrize("first", GRADES)
@pytest.mark.parametrize("second", GRADES)
def test_what_holds_is_as_sure_as_its_least_sure_reading(first, second):
    judged = Judged(found(True, first), (FAILS,), (reading(found(True, second)),))
    assert decide(TWICE, judged, []).grade == max(first, second, key=GRADES.index)


@pytest.mark.parametrize("sampled", [(), (0,), (1,), (0, 1)])
def test_what_fails_is_as_sure_as_its_least_sure_witness(sampled):
    judged = Judged(FAILS, others=(reading(FAILS, mutants=()),), control=PASSES)
    answers = [replace(SAMPLED if i in sampled else WITNESS, reading=key) for i, key in enumerate(("", "second"))]
    refuted = replace(TWICE, correction=None)
    assert decide(refuted, judged, answers).verdict == "refuted"
    assert decide(refuted, judged, answers).grade == ("statistical" if sampled else "proof")
    corrected = replace(judged, **CORRECTED | {"correction": found(True, "certified")})
    assert decide(TWICE, corrected, answers).verdict == "corrected"
    assert decide(TWICE, corrected, answers).grade == ("statistical" if sampled else "certified")


@pytest.mark.parametrize("passing", GRADES)
@pytest.mark.parametrize("other", GRADES)
@pytest.mark.parametrize("correction", GRADES)
@pytest.mark.parametrize("witness", [WITNESS, SAMPLED])
def test_a_verdict_on_several_readings_is_as_sure_as_its_least_sure_part(passing, other, correction, witness):
    third = Reading("third", "$K = 3$", {"K": 3.0}, "eq. 3")
    judged = Judged(
        found(True, passing),
        (FAILS,),
        (reading(FAILS, mutants=()), reading(found(True, other), third)),
        **CORRECTED | {"correction": found(True, correction)},
    )
    decision = decide(replace(TWICE, readings=(LITERAL, SECOND, third)), judged, [replace(witness, reading="second")])
    grades = (passing, other, correction, "proof" if witness.exact else "statistical")
    assert decision.verdict == "holds"
    assert decision.grade == max(grades, key=GRADES.index)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("meant", "fixed", "verdict"),
    [
        ("passes", True, "holds"),
        ("passes", False, "holds"),
        ("fails", True, "corrected"),
        ("fails", False, "corrected"),
        (AS_CORRECTED, True, "holds"),
        ("either", True, "ambiguous"),
        ("either", False, "ambiguous"),
    ],
)
def test_the_verdict_is_about_the_reading_that_the_author_means(first, meant, fixed, verdict):
    """Whether the first reading passes or the second, and with a correction on file or without one."""
    name = {(True, "passes"): "literal", (True, "fails"): "second", (False, "passes"): "second"}.get(
        (first, meant), "literal"
    )
    statement = replace(
        TWICE if fixed else replace(TWICE, correction=None),
        intended=Intended(AS_CORRECTED if meant == AS_CORRECTED else name, "Section 2 says so"),
        expect="ambiguous" if meant == "either" else "not checkable here",
        grade="search" if meant == "either" else None,
        ambiguous="Section 2 says one thing and Section 3 the other" if meant == "either" else "",
        print="as meant" if first and meant in ("passes", "fails") else "unstated",
    )
    other = reading(FAILS, mutants=()) if first else reading(PASSES)
    judged = Judged(PASSES if first else FAILS, (FAILS,) if first else (), (other,), **CORRECTED if fixed else {})
    decision = decide(statement, judged, [replace(WITNESS, reading="second" if first else "")])
    assert (decision.verdict, decision.defect) == (verdict, "")


@pytest.mark.parametrize(("fixed", "verdict"), [(True, "corrected"), (False, "refuted")])
def test_a_statement_whose_readings_all_fail_is_not_ambiguous(fixed, verdict):
    statement = replace(
        TWICE if fixed else replace(TWICE, correction=None),
        expect="ambiguous",
        grade="search",
        ambiguous="Section 2 says one thing and Section 3 the other",
        print="unstated",
    )
    judged = Judged(FAILS, (), (reading(FAILS, mutants=()),), **CORRECTED if fixed else {"control": PASSES})
    decision = decide(statement, judged, [WITNESS, replace(WITNESS, reading="second")])
    assert (decision.verdict, decision.defect) == (verdict, "")


@pytest.mark.parametrize("print", PRINTS)
def test_a_slip_of_the_print_is_declared_where_the_literal_reading_fails_and_only_there(print):
    fails = Judged(FAILS, others=(reading(PASSES),))
    slip = replace(TWICE, correction=None, intended=Intended("second", "eq. 2 has K = 2"), print=print)
    decision = decide(slip, fails, [WITNESS])
    assert decision.defect == (
        "it holds as meant and fails as printed: say by print= how" if print == "as meant" else ""
    )
    passes = decide(declared(print=print), Judged(PASSES, (FAILS,)), [])
    assert passes.defect == ("a misprint is declared, but the literal reading passes" if print == "misprint" else "")


def test_a_correction_is_not_meant_where_every_reading_passes():
    statement = replace(FIXED, intended=Intended(AS_CORRECTED, "eq. 4"), print="unstated")
    decision = decide(statement, Judged(PASSES, (FAILS,)), [])
    told = "the author is said to mean the correction, but every reading passes: name the one that is meant"
    assert (decision.verdict, decision.defect) == ("not checkable here", told)


def test_the_form_that_stands_is_the_one_that_is_meant():
    both = Judged(PASSES, (FAILS,), (reading(found(True, cases=7)),))
    assert both.standing(TWICE) == ({}, PASSES)
    assert both.standing(replace(TWICE, intended=Intended("second", "eq. 2"))) == ({"K": 2.0}, found(True, cases=7))
    fixed = Judged(PASSES, (FAILS,), (reading(FAILS),), **CORRECTED | {"correction": found(True, cases=9)})
    assert fixed.standing(replace(TWICE, intended=Intended(AS_CORRECTED, "eq. 4"), print="misprint")) == (
        {"K": 4.0},
        found(True, cases=9),
    )
    assert fixed.standing(replace(TWICE, intended=Intended("second", "eq. 2"))) == ({}, PASSES)


def test_the_certificate_of_a_first_reading_that_passes_is_not_one_of_the_correction():
    judged = Judged(PASSES, (FAILS,), (reading(FAILS, mutants=()),), **CORRECTED)
    answers = [replace(WITNESS, reading="second"), replace(PROVED, proves={"K": "1"})]
    decision = decide(TWICE, judged, answers)
    assert (decision.verdict, decision.grade) == ("holds", "search")


@pytest.mark.parametrize("key", ["", "second"])
def test_a_certificate_of_a_reading_that_fails_is_the_correction_s_of_the_first_alone(key):
    judged = Judged(FAILS, others=(reading(FAILS, mutants=()),), **CORRECTED)
    answers = [WITNESS, replace(WITNESS, reading="second"), replace(PROVED, proves={"K": "4"}, reading=key)]
    decision = decide(TWICE, judged, answers)
    assert decision.verdict == ("not checkable here" if key else "corrected")
    assert decision.defect == ("second: violated, but a certificate of it is stored" if key else "")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_reading_that_is_undecided_leaves_the_claim_so(place):
    third = Reading("third", "$K = 3$", {"K": 3.0}, "eq. 3")
    outcomes = [OPEN if i == place else PASSES for i in range(3)]
    judged = Judged(outcomes[0], (FAILS,), (reading(outcomes[1]), reading(outcomes[2], third)))
    decision = decide(declared(readings=(LITERAL, SECOND, third)), judged, [])
    name = ("literal", "second", "third")[place]
    assert (decision.verdict, decision.reason, decision.defect) == ("not checkable here", f"{name}: too few draws", "")


@pytest.mark.parametrize("kept", ["", "second"])
def test_each_reading_has_the_witness_of_its_own(kept):
    judged = Judged(FAILS, others=(reading(FAILS, mutants=()),), control=PASSES)
    decision = decide(replace(TWICE, correction=None), judged, [replace(WITNESS, reading=kept)])
    lacking = "second" if kept == "" else "literal"
    assert decision.defect == f"{lacking}: violated, but no witness is stored; keep one with --store"


@pytest.mark.parametrize("blind", range(3))
@pytest.mark.parametrize("outcome", [PASSES, OPEN, found(False, infinite=True)], ids=["passes", "open", "infinite"])
def test_every_mutant_is_refuted(blind, outcome):
    mutants = [replace(outcome, cases=2) if i == blind else FAILS for i in range(3)]
    changes = ({"K": 0.5}, {"K": 0.6}, {"K": 0.7})
    decision = decide(declared(mutants=changes), Judged(PASSES, tuple(mutants)), [])
    assert f"the mutant {changes[blind]}" in decision.defect
    judged = Judged(FAILS, **CORRECTED | {"correction_mutants": tuple(mutants)})
    corrected = decide(replace(FIXED, correction=Form("", {"K": 4.0}, changes)), judged, [WITNESS])
    assert corrected.defect == f"correction: {decision.defect}"


@pytest.mark.parametrize("name", ["K", "n"])
def test_a_mutant_counts_by_a_line_of_any_of_its_constants(name):
    """The mutant moves both constants; the line of one of them fails."""
    stands_in = {"K": ("first",), "n": ("second",)}
    failing = {"K": "first", "n": "second"}[name]
    mutant = replace(FAILS, lines={line: Line(line != failing, 0) for line in ("first", "second", "third")})
    statement = declared(mutants=[{"K": 0.5, "n": 4}], stands_in=stands_in)
    assert decide(statement, Judged(PASSES, (mutant,)), []).verdict == "holds"
    elsewhere = replace(FAILS, lines={line: Line(line != "third", 0) for line in ("first", "second", "third")})
    assert "is refuted by another line only" in decide(statement, Judged(PASSES, (elsewhere,)), []).defect


@pytest.mark.parametrize(("ok", "defect"), [(True, False), (None, False), (False, True)])
@pytest.mark.parametrize("place", [0, 1])
def test_a_hypothesis_is_not_superfluous_where_a_case_needs_it(ok, defect, place):
    statement = declared(hypotheses=(Dropped("a", {"n": 2}, "proved"), Dropped("b", {"n": 4}, "proved")))
    outcomes = [True, True]
    outcomes[place] = ok
    decision = decide(statement, Judged(PASSES, (FAILS,), dropped=tuple(outcomes)), [])
    assert decision.defect == (f"superfluous is said to be {'ab'[place]}, and a case needs it" if defect else "")


def test_a_blind_line_is_a_defect_of_the_form_that_stands_and_of_no_other():
    unseen = [NoticedChange("K", 1.0, None, ("a line",))]
    blind = "K occurs in a line, where no change of it is noticed"
    assert decide(declared(), Judged(PASSES, (FAILS,)), [], unseen).defect == blind
    assert decide(FIXED, Judged(FAILS, **CORRECTED), [WITNESS], unseen).defect == f"correction: {blind}"
    other_way_round = Judged(FAILS, others=(reading(PASSES),))
    depends = declared(readings=(LITERAL, SECOND))
    assert decide(depends, other_way_round, [WITNESS], unseen).defect == blind
    refuted = replace(FIXED, correction=None)
    assert decide(refuted, Judged(FAILS, control=PASSES), [WITNESS], unseen).verdict == "refuted"


def recorded(passes, **rest):
    """Return a claim whose judge notes the constants that it is called with, K, c and flag."""
    calls = []

    def judge(data, K=1.0, c=0.0, flag=True, n=3):
        calls.append({"K": K, "c": c, "flag": flag, "n": n})
        ok = passes(**calls[-1])
        if isinstance(ok, Exception):
            raise ok
        return {True: PASSES, False: FAILS, None: OPEN}[ok]

    return declared(judge, **rest), calls


PRINTED = {"K": 1.0, "c": 0.0, "flag": True, "n": 3}


def test_neighbours_of_a_correction_are_half_and_double_of_each_of_its_numbers():
    statement, calls = recorded(
        lambda K, flag, **_: K >= 4.0 and not flag,
        vary=("c",),
        correction=Form("", {"K": 4.0, "flag": False, "n": 5}, ({"K": 3.0},)),
    )
    judged = judge(statement, None)
    of = {"K": 4.0, "c": 0.0, "flag": False, "n": 5}
    moved = [{"K": 2.0}, {"K": 8.0}, {"c": -1.0}, {"c": 1.0}]
    assert calls == [PRINTED, of, {**of, "K": 3.0}, *({**of, **move} for move in moved)]
    assert [(one.constant, one.value, one.ok) for one in judged.neighbours] == [
        ("K", 2.0, False),
        ("K", 8.0, True),
        ("c", -1.0, True),
        ("c", 1.0, True),
    ]


def test_a_neighbour_that_is_undefined_is_undecided():
    statement, _ = recorded(
        lambda K, **_: UndefinedError("a root") if K == 2.0 else K >= 4.0,
        vary=(),
        correction=Form("", {"K": 4.0}, ({"K": 3.0},)),
    )
    assert [one.ok for one in judge(statement, None).neighbours] == [None, True]


def test_a_correction_that_sets_no_number_has_no_neighbours():
    statement, _ = recorded(lambda flag, **_: not flag, correction=Form("", {"flag": False, "n": 2}))
    assert judge(statement, None).neighbours == ()


def test_mutants_move_the_form_that_they_are_of():
    own = Reading("own", "$c = 1$", {"c": 1.0}, "eq. 2", ({"K": 0.3},))
    bare = Reading("bare", "$c = 2$", {"c": 2.0}, "eq. 3")
    statement, calls = recorded(
        lambda K, **_: K >= 1.0, mutants=[{"K": 0.5}, {"n": 2, "K": 0.6}], readings=(LITERAL, own, bare)
    )
    judged = judge(statement, None)
    assert [mutants for mutants, _ in judged.others[0].mutants] == [{"K": 0.3}]
    assert [mutants for mutants, _ in judged.others[1].mutants] == [{"K": 0.5}, {"n": 2, "K": 0.6}]
    first, second = {**PRINTED, "c": 1.0}, {**PRINTED, "c": 2.0}
    for form in (PRINTED, second):
        assert all({**form, **mutant} in calls for mutant in ({}, {"K": 0.5}, {"n": 2, "K": 0.6}))
    assert all({**first, **mutant} in calls for mutant in ({}, {"K": 0.3}))
    assert len(calls) == 8


@pytest.mark.parametrize(("first", "second"), [(True, True), (True, False), (False, True), (False, False)])
def test_control_and_correction_are_judged_where_the_verdict_needs_them(first, second):
    statement, _ = recorded(
        lambda K, **_: {1.0: first, 2.0: second}.get(K, K >= 4.0),
        readings=(LITERAL, SECOND),
        correction=CORRECTION,
        control=Form("weaker", {"K": 8.0}),
    )
    judged = judge(statement, None)
    assert (judged.control is not None) == (not first and not second)
    assert (judged.correction is not None) == (not (first and second))


@pytest.mark.parametrize("passing", ["first", "second", "correction"])
def test_hypotheses_are_dropped_from_the_established_form(passing):
    at = {"first": 1.0, "second": 2.0, "correction": 4.0}[passing]
    statement, calls = recorded(
        lambda K, **_: not at > K,
        readings=(LITERAL, SECOND),
        correction=CORRECTION,
        hypotheses=(Dropped("a", {"n": 1}), Dropped("b", {"n": 2, "c": 5.0})),
    )
    assert judge(statement, None).dropped == (True, True)
    assert calls[-2:] == [{**PRINTED, "K": at, "n": 1}, {**PRINTED, "K": at, "n": 2, "c": 5.0}]


@pytest.mark.parametrize("place", ["printed", "control", "correction", "reading"])
def test_the_level_of_a_claim_is_that_of_any_of_its_forms(place):
    spent = found(True, "statistical")
    forms = {"printed": PASSES, "control": PASSES, "correction": PASSES} | (
        {place: spent} if place != "reading" else {}
    )
    assert Judged(**forms, others=(reading(spent if place == "reading" else PASSES),)).level == LEVEL


@pytest.mark.parametrize(
    ("sides", "replayed", "same"),
    [
        ((6.0, 4.0), (6.0 * (1 + 9e-7), 4.0), True),
        ((6.0, 4.0), (6.0 * (1 + 2e-6), 4.0), False),
        ((6.0, 4.0), (6.0, 4.0 * (1 - 2e-6)), False),
        ((1e-3, 0.0), (1e-3, 1e-13), True),
        ((1e-3, 0.0), (1e-3, 1e-9), False),
        ((1e-9, 0.0), (2e-9, 0.0), False),
    ],
)
def test_sides_of_the_stored_witness_are_the_same_up_to_rounding(sides, replayed, same):
    evidence = replace(found(False, witness={"x": "2"}, sides=sides), obtained="1 at the witness")
    answer = replace(WITNESS, left=replayed[0], right=replayed[1])
    where = "the witness" if same else "a case of this run"
    assert obtained_beside(evidence, {"x": "2"}, answer) == f"1 at {where}"


def result(changes=(), **rest):
    judged = Judged(PASSES, (FAILS,))
    return Result(declared(**rest), Decision("holds", "search"), judged, (), (), tuple(changes), 1.2346, "search")


@pytest.mark.parametrize(
    ("refuted", "noticed"),
    [((0.9,), 0.1), ((0.9, 0.5), 0.5), ((0.5, 1.1), 0.5), ((0.9, None), None), ((None, 0.9), None)],
)
def test_a_constant_is_noticed_by_the_line_that_sees_it_last(refuted, noticed):
    lines = [NoticedChange("K", 1.0, value, (f"line {i}",)) for i, value in enumerate(refuted)]
    other = NoticedChange("n", 4.0, 6.0)
    found = {
        one["name"]: one for one in result([*lines, other], best={"n": Best(5.0, "proved")}).as_json()["constants"]
    }
    assert found["K"]["noticed"] == (None if noticed is None else pytest.approx(noticed))
    assert (found["K"]["best"], found["n"]["noticed"], found["n"]["best"]) == (None, 0.5, 5.0)


def test_the_numbers_of_an_entry_are_those_of_the_result():
    entry = result().as_json()
    assert entry["seconds"] == 1.235
    sides = replace(WITNESS, left=3.0, right=2.0)
    entry = replace(result(), replayed=(sides,)).as_json()
    assert (entry["left"], entry["right"]) == (3.0, 2.0)


@pytest.mark.parametrize("place", range(3))
def test_each_of_the_claims_that_one_uses_is_in_the_ledger(monkeypatch, place):
    known = [replace(declared(), id=f"invented/eq-{i}") for i in range(3)]
    uses = [one.id for one in known]

    def of(*claims):
        monkeypatch.setattr(Paper, "claims", lambda paper: claims)
        return Ledger.of([Paper("invented", "Invented", "invented", ())])

    top = replace(declared(), id="invented/top", uses=tuple(uses))
    assert len(of(top, *known).claims) == 4
    with pytest.raises(LedgerError, match=f"invented/top uses {uses[place]}, which no paper declares"):
        of(top, *(one for i, one in enumerate(known) if i != place))
    circle = [replace(one, uses=("invented/top",)) if i == place else one for i, one in enumerate(known)]
    with pytest.raises(LedgerError, match="depend on themselves"):
        of(top, *circle)


def told(*files):
    """Return names of the readings of each stored file: its reading, its kind, its values and whether it is exact."""
    third = Reading("third", "$K = 3$", {"K": 3.0}, "eq. 3")
    statement = declared(readings=(LITERAL, SECOND, third))
    judged = Judged(PASSES, (FAILS,), (reading(FAILS), reading(FAILS, third)))
    ids = {"": statement.id, "second": f"{statement.id}@second", "third": f"{statement.id}@third"}
    stored = tuple(Stored(ids[key], kind, {"x": value}) for key, kind, value, _ in files)
    answers = tuple(Replayed(kind, True, exact, 1.0, 0.5, "", reading=key) for key, kind, _, exact in files)
    one = Result(statement, Decision("holds", "search"), judged, stored, answers, (), 0.0, None)
    return [(file.reading, file.kind, names) for file, _, names in one.distinct_files()]


def test_a_witness_that_readings_share_is_told_once_with_their_names():
    of_second, of_third = ("second", "witness", 1, True), ("third", "witness", 1, True)
    assert told(of_second) == [("second", "witness", [])]
    assert told(of_second, of_third) == [("second", "witness", ["second", "third"])]
    for other in (("third", "witness", 2, True), ("third", "witness", 1, False)):
        assert told(of_second, other) == [("second", "witness", ["second"]), ("third", "witness", ["third"])]
    proved = ("second", "certificate", 1, True), ("third", "certificate", 1, True)
    assert told(*proved) == [("second", "certificate", []), ("third", "certificate", [])]
    assert told(proved[0], of_second, of_third) == [
        ("second", "certificate", []),
        ("second", "witness", ["second", "third"]),
    ]
