"""Records of verdicts: grades, defects and their messages, constants of proofs, and smallest noticed changes."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import sympy
from invented_results import (
    AMBIGUOUS,
    CONTROL,
    CORRECTED,
    FIX,
    HALF,
    HOLDS,
    LOOSE,
    MISPRINT,
    NUMBERS,
    PROOF,
    REFUTED,
    SECOND,
    WITNESS,
    bound,
    decision_shown,
    declared,
    half,
    outcome,
)
from recording import refused

from paper_checks.claim import AS_CORRECTED, LITERAL, Best, Dropped, Evidence, Form, Intended
from paper_checks.engine.decimals import digits, half_unit, last_place
from paper_checks.engine.judging import judge
from paper_checks.engine.lines import line_of
from paper_checks.engine.proved_constants import exact_number, is_same_constant, unnamed_constants
from paper_checks.engine.sensitivity import NoticedChange, describe_overstated, describe_unnoticed, noticed_changes
from paper_checks.engine.verdict import decide
from paper_checks.facts import compare
from paper_checks.formal.theorems import FormalTheorem
from paper_checks.methods.sides import UndefinedError

F = Fraction

ANSWERS = {
    "none": (),
    "witness": (WITNESS,),
    "by draws": (replace(WITNESS, exact=False),),
    "unconfirmed": (replace(WITNESS, confirmed=False, detail="no"),),
    "cannot fail": (replace(WITNESS, can_fail=False, alike_at=("x = 2",)),),
    "witness and proof": (WITNESS, PROOF),
    "proof": (PROOF,),
    "wrong proof": (WITNESS, replace(PROOF, confirmed=False, detail="step 2 fails")),
    "proof that cannot fail": (WITNESS, replace(PROOF, can_fail=False)),
    "of another constant": (WITNESS, replace(PROOF, proves={"K": "3"})),
    "of the mutant": (WITNESS, replace(PROOF, proves_too=({"K": 0.95}, {"K": 0.9}))),
    "ended at a mutant": (WITNESS, replace(PROOF, ended_at=(({"K": 0.95}, "an error"), ({"K": 0.9}, "an error")))),
}


def _noticed(one, data, judged):
    stands = judged.standing(one)
    return () if stands is None else noticed_changes(one, data, *stands)


def _decided(one, answers=(), data=NUMBERS, formal=(), judged=None, noticed=None, **changes):
    judged = replace(judged or judge(one, data), **changes)
    noticed = _noticed(one, data, judged) if noticed is None else noticed
    return decision_shown(decide(one, judged, answers, noticed, formal))


def verdicts_with_each_stored_answer():
    for one in (HOLDS, LOOSE, CORRECTED, REFUTED, MISPRINT):
        judged = judge(one, NUMBERS)
        noticed, passes = _noticed(one, NUMBERS, judged), judged.printed.ok
        for name, answers in ANSWERS.items():
            some = [answer for answer in answers if not passes or answer.kind == "certificate" or len(answers) == 1]
            yield name, _decided(one, some, judged=judged, noticed=noticed)


def verdicts_over_two_readings():
    of_half, of_first = replace(WITNESS, reading="half-of-it"), WITNESS
    yield [_decided(AMBIGUOUS, some, noticed=()) for some in ([], [of_half], [of_first], [of_half, of_first])]
    for intended, print in product(("literal", HALF.name), ("as meant", "misprint", "inconsistent")):
        one = declared("r", readings=(LITERAL, HALF), intended=Intended(intended, "so"), print=print)
        yield intended, print, _decided(one, [of_half], noticed=())
        yield _decided(replace(one, correction=replace(FIX, asks="neither")), [of_half], noticed=())
    other = declared(
        "r",
        half,
        readings=(LITERAL, SECOND),
        mutants=[{"K": 0.4}],
        intended=Intended(SECOND.name, "so"),
        print="misprint",
    )
    yield _decided(other, [WITNESS]), _decided(replace(other, print="as meant"), [WITNESS]), _decided(other)
    both = declared("r", readings=(LITERAL, SECOND))
    yield _decided(both), _decided(both, [replace(PROOF, reading=SECOND.slug)])
    yield _decided(both, [replace(PROOF, proves={"K": "2"}, reading=SECOND.slug)])
    meant = declared(
        "r", readings=(LITERAL, SECOND), intended=Intended(AS_CORRECTED, "so"), correction=FIX, print="misprint"
    )
    yield _decided(meant), _decided(replace(both, print="misprint")), _decided(replace(HOLDS, print="misprint"))


def withheld_verdicts_of_passing_forms():
    yield _decided(replace(HOLDS, mutants=())), _decided(replace(HOLDS, mutants=({"K": 2.0},)))
    yield _decided(replace(HOLDS, mutants=({"K": 1.0},)))
    yield _decided(HOLDS, data=[]), _decided(replace(HOLDS, best={"K": Best(0.75, "searched")}))
    yield _decided(replace(LOOSE, best={"K": Best(0.75, "s")})), _decided(replace(LOOSE, best={"K": Best(1.25, "s")}))
    needed = Dropped("$x \\le 1$", {"most": 8.0}, "said so")
    yield _decided(replace(LOOSE, hypotheses=(needed,)))
    yield _decided(replace(LOOSE, hypotheses=(replace(needed, superfluous=""),)))
    judged = judge(HOLDS, NUMBERS)
    yield _decided(HOLDS, judged=judged, printed=replace(judged.printed, flaw="no domain"))
    yield _decided(HOLDS, judged=judged, mutants=(replace(judged.mutants[0], infinite=True), judged.mutants[1]))
    yield _decided(HOLDS, judged=judged, printed=outcome(None, reason="few draws"))
    yield _decided(HOLDS, judged=judged, printed=outcome(None))
    yield _decided(declared("read", readings=(LITERAL, SECOND)), judged=judge(AMBIGUOUS, NUMBERS))


def withheld_verdicts_of_failing_forms():
    judged = judge(REFUTED, NUMBERS)
    yield _decided(replace(REFUTED, control=None), [WITNESS], judged=judged, control=None)
    for control in (outcome(None, reason="few"), outcome(False), outcome(True, cases=0), outcome(True)):
        yield _decided(REFUTED, [WITNESS], judged=judged, control=control)
    judged = judge(CORRECTED, NUMBERS)
    for fields in (
        *(
            {"correction": outcome(False, printed="p", obtained="o")},
            {"correction": outcome(None, reason="few")},
            {"strength": None},
        ),
        *(
            {"strength": "stronger"},
            {"correction": replace(judged.correction, flaw="no domain")},
            {"correction_mutants": (outcome(True),)},
        ),
        *(
            {"neighbours": tuple(replace(one, ok=True) for one in judged.neighbours)},
            {"neighbours": ()},
            {"correction": outcome(True, cases=0)},
        ),
    ):
        yield _decided(CORRECTED, [WITNESS], judged=judged, **fields)
    for asks in ("weaker", "stronger", "neither"):
        yield _decided(replace(CORRECTED, correction=replace(FIX, asks=asks)), [WITNESS])
    yield _decided(replace(CORRECTED, correction=replace(FIX, mutants=())), [WITNESS])


def grades_of_forms():
    fact = compare("x", 1, "<", 2)
    ways = {
        "proof": {"facts": (fact,), "whole": True},
        "certified": {"gap": 0.5},
        "statistical": {"level": 1e-7},
        "search": {},
    }
    for printed, fix in product(ways, ways):

        def check(data, K=1.0, printed=printed, fix=fix):
            return outcome(K >= 2.0, **ways[printed if K < 2.0 else fix], lines={"": line_of(True, 1.0, K)})

        one = declared("g", check, mutants=[], correction=Form("2", {"K": 2.0}, ({"K": 1.5},)))
        yield printed, fix, _decided(one, [WITNESS], None)[:2], _decided(one, [replace(WITNESS, exact=False)], None)[:2]


def theorems_of_a_kernel():
    of = FormalTheorem("invented/thm-3", "proves", "P.thm", "p.v", 3, "Theorem.", {"K": "1"}, checked=True)
    for theorem in (
        of,
        replace(of, checked=False),
        replace(of, role="refutes"),
        replace(of, role="part of"),
        replace(of, constants={"K": "2"}),
    ):
        yield _decided(HOLDS, formal=[theorem])
    yield _decided(HOLDS, formal=[replace(of, constants={"L": "2"})])
    yield _decided(HOLDS, formal=[replace(of, id="invented/thm-3@other")])
    yield _decided(HOLDS, formal=[of, replace(of, covers="the rest", checked=False)])
    fix = replace(of, id="invented/prop-1")
    for theorems in (
        [fix],
        [fix, replace(fix, role="refutes", constants={"K": "1/2"})],
        [replace(fix, role="refutes", constants={"K": "1/2"})],
    ):
        yield _decided(CORRECTED, [WITNESS], formal=theorems)


def mutants_that_another_line_notices():
    def check(data, K=1.0, L=1.0):
        ok = K >= 1.0 and L >= 1.0
        return outcome(
            ok, lines={"a": line_of(K >= 1, 1.0, K, formula=True), "b": line_of(L >= 1, 1.0, min(K, L), formula=True)}
        )

    for stands_in in ({}, {"K": ("a",)}, {"K": ("b",)}, {"L": ("b",)}):
        yield _decided(declared("m", check, mutants=[{"K": 0.5}], stands_in=stands_in), data=None)


def constants_that_are_the_same():
    for stated, own in (
        *(
            ("0.1", 0.1),
            (0.1, 0.1),
            ("1/3", 1 / 3),
            ("0.3333", 1 / 3),
            ("0.333", 1 / 3),
            ("0.3334", 1 / 3),
            ("3.1416", np.pi),
        ),
        *(
            ("3.1415", np.pi),
            ("3.14159", sympy.pi),
            ("3.142", sympy.pi),
            ("pi", sympy.pi),
            ("1", 1.0),
            (1, 1),
            ("1", 0.99995),
            ("2", F(2)),
        ),
        *(
            (True, True),
            (True, 1),
            (1, True),
            ("a", "a"),
            ("a", "b"),
            ("a", 1.0),
            (1, "a"),
            ("inf", np.inf),
            ("oo", np.inf),
            ("-oo", -np.inf),
        ),
        *(
            ([1, 2], (1, 2)),
            ([1, 2], (1, 3)),
            ([1, 2], 1),
            ([1], [1, 2]),
            ({"a": 1}, {"a": 1}),
            ({"a": 1}, [1]),
            ({"a": 1}, {"b": 1}),
        ),
        *(
            ("1+2j", 1 + 2j),
            ("1 + 2*I", 1 + 2j),
            ("1 - 2*I", 1 + 2j),
            ("x", 1j),
            ([1.0, 2.0], np.array([1.0, 2.0])),
            (1.0, np.array(1.0)),
        ),
        *(
            (0.1 * (1 + 5e-13), 0.1),
            (0.1 * (1 + 5e-12), 0.1),
            ("-0.25", 0.25),
            ("1e-5", 1e-5),
            (None, None),
            ("sin", np.sin),
            ("nan", np.nan),
        ),
    ):
        yield str(stated), str(own) if not callable(own) else "a function", is_same_constant(stated, own)


def numbers_as_fractions_and_their_digits():
    for value in (0.1, "1/3", "wigner", True, 2, F(1, 7), None, "1/0", "1e3", "9" * 5000, [1]):
        yield str(exact_number(value))
    for text in ("0.10", "12", "1.5e3", "-.25", "+3.", "1E-2", "0.0120", "1.0000", "-3.14e5", "100"):
        yield last_place(text), str(half_unit(text)), digits(text)
    yield refused(last_place, "x"), refused(half_unit, "1/2"), last_place(" 1.5 ")


def constants_that_a_proof_does_not_name():
    constants = {"K": 1.0, "n": 3, "name": "a", "flag": True, "c": sympy.pi, "z": 1j}
    for proves in (
        {},
        {"K": "1"},
        {"n": 4},
        {"name": "a"},
        {"K": "2"},
        {"K": "2", "n": 3},
        {"flag": True},
        {"c": "pi"},
    ):
        for mutants in (
            [{"K": 0.9}],
            [{"K": 0.9, "name": "b"}, {"n": 4}],
            [{"name": "b"}],
            [{"flag": False, "c": 3}, {"z": 2j}],
        ):
            yield unnamed_constants(replace(PROOF, proves=proves), constants, mutants)


def changes_in_words_and_numbers():
    for value, near in (
        (4.0, 3.0),
        (4.0, 5.0),
        (0.0, -0.25),
        (0.0, 0.25),
        (-2.0, -3.0),
        (-2.0, -1.0),
        (0.5, None),
        (1e-9, 1.5e-9),
    ):
        for lines in ((), ("",), ("a", "b")):
            change = NoticedChange("K", value, near, lines)
            yield change.relative, str(change), describe_unnoticed([change])
            yield [describe_overstated({"K": best}, [change]) for best in (value, 3.5, 2.5, 5.5, -0.5, 0.5, -3.5)]
    yield describe_overstated({"L": 1.0}, [change]), describe_unnoticed([])
    yield describe_unnoticed([NoticedChange("a", 1, None, ("x",)), NoticedChange("b", 1, None, ("y",))])


def best_values_at_the_refuted_one():
    for value, refuted in ((4.0, 3.0), (4.0, 5.0), (-1.0, -2.0), (0.0, 0.5)):
        change = NoticedChange("K", value, refuted)
        for best in (refuted, refuted + (refuted - value) / 100, refuted - (refuted - value) / 100):
            yield describe_overstated({"K": best}, [change])


def smallest_changes_on_either_side():
    def noticed(check, value, **fields):
        one = declared("c", lambda data, K=value: check(K), mutants=[], **fields)
        return [(change.value, change.refuted, change.lines) for change in noticed_changes(one, None, {}, check(value))]

    for value, low, high in (
        (1.0, 0.9, 1.5),
        (1.0, 0.5, 1.2),
        (1.0, -9.5, 99.0),
        (1.0, -99.0, 10.5),
        (1.0, -99.0, 99.0),
        (0.0, -0.3, 5.0),
    ):
        yield noticed(lambda K, low=low, high=high: outcome(low <= K <= high), value)
    for value, low, high in (
        (-2.0, -2.0 - 1e-6, 0.0),
        (3.0, 3.0, 3.0),
        (0.0, 0.0, 10.5),
        (0.0, -20.0, 9.0),
        (2.0, 1.9995, 2.002),
    ):
        yield noticed(lambda K, low=low, high=high: outcome(low <= K <= high), value)
    yield noticed(lambda K: outcome(K >= 1, infinite=K < 0.5), 1.0)
    yield noticed(lambda K: outcome(None if K < 1 else K < 2), 1.0)

    def rooted(K):
        if K < 0.5:
            raise UndefinedError("no root")
        return outcome(K >= 0.25 and K <= 7.0)

    yield noticed(rooted, 1.0), [str(one) for one in noticed_changes(LOOSE, NUMBERS, {"K": 2.0}, bound(NUMBERS, 2.0))]
    yield [str(one) for one in noticed_changes(HOLDS, NUMBERS, {}, bound(NUMBERS))]


def smallest_changes_line_by_line():
    def check(data, K=1.0, formula=True, run=1.0):
        lines = {
            "a": line_of(K >= 0.9, 1.0, K, formula=True),
            "b": line_of(0.8 <= K <= 1.05, 1.0, 2 * K, formula=formula),
            "c": line_of(K <= 3.0, 1.0, 1.0, formula=True),
            "": line_of(K >= 0.7, 1.0, run, formula=False),
        }
        return outcome(all(line.ok for line in lines.values()), lines=lines)

    for constants in ({}, {"formula": False}):
        for stands_in in ({}, {"K": ("b",)}, {"K": ("a", "c")}):
            one = declared("l", check, mutants=[], vary=("K",), stands_in=stands_in)
            found = noticed_changes(one, None, constants, check(None, **constants))
            yield [(str(change), change.refuted, change.lines) for change in found], describe_unnoticed(found)
    one = declared("l", lambda data, K=1.0: outcome(K >= 0.5), mutants=[], vary=("K",), stands_in={"K": ("a",)})
    yield [str(change) for change in noticed_changes(one, None, {}, outcome(True))], Evidence(True, "").lines == {}
    yield decision_shown(decide(HOLDS, judge(HOLDS, NUMBERS), (), [NoticedChange("K", 1.0, None, ("a",))]))
    yield decision_shown(
        decide(CORRECTED, judge(CORRECTED, NUMBERS), [WITNESS], [NoticedChange("K", 1.0, None, ("a"))])
    )
    yield CONTROL.says
