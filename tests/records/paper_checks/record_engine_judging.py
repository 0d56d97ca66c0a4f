"""Records of judging: forms of claims, their lines and strengths, notes on witnesses, and checks that differ."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
from evidence_shown import line_shown, shown
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
    REFUTED,
    SECOND,
    WITNESS,
    bound,
    declared,
    half,
    judged_shown,
    outcome,
)
from recording import refused

from paper_checks.claim import LITERAL, Form, Intended, made_by
from paper_checks.engine.judging import judge, obtained_beside, outcome_of, require_same
from paper_checks.engine.lines import changed_lines, have_common_lines, line_of, refuted_lines, strength
from paper_checks.facts import compare
from paper_checks.methods.sides import UndefinedError

F = Fraction

HALF_EXACTLY = F(1, 2)
ALL = (HOLDS, LOOSE, CORRECTED, REFUTED, AMBIGUOUS, MISPRINT)


def forms_of_claims():
    for one in ALL:
        judged = judge(one, NUMBERS)
        stands = judged.standing(one)
        yield judged_shown(judged), judged.as_meant(one), stands and [dict(stands[0]), stands[1].ok]


def forms_in_other_readings():
    for readings, intended in (
        ((LITERAL, SECOND), "literal"),
        ((LITERAL, SECOND, HALF), SECOND.name),
        ((LITERAL, HALF), HALF.name),
    ):
        one = declared(
            "read",
            readings=readings,
            intended=Intended(intended, "so"),
            control=CONTROL,
            correction=FIX,
            print="misprint",
        )
        judged = judge(one, NUMBERS)
        yield judged_shown(judged), judged.as_meant(one), dict(judged.standing(one)[0])
        yield [r.key for r in judged.readings(one)]
    one = declared("read", half, readings=(LITERAL, SECOND), mutants=[{"K": 0.4}], correction=FIX, control=CONTROL)
    yield judged_shown(judge(one, NUMBERS)), dict(judge(one, NUMBERS).standing(one)[0])


def undecided_forms_end_the_judging():
    def check(data, K=1.0):
        return outcome(None if K == 1.0 else K > 1.0, reason="few")

    one = declared("open", check, mutants=[{"K": 0.9}], readings=(LITERAL, SECOND), correction=FIX, control=CONTROL)
    yield judged_shown(judge(one, None)), judge(one, None).standing(one) is None


def neighbours_of_corrections():
    def check(data, K=1.0, n=3, c=HALF_EXACTLY, zero=0.0, name="a"):
        if K < 0.7:
            raise UndefinedError("no root")
        return outcome(K >= 2.0 and c >= F(1, 2) and zero > -0.5)

    for constants in (
        {"K": 4.0, "n": 4},
        {"K": 2.0, "c": F(3, 4)},
        {"n": 4},
        {"K": 2.5, "zero": 0.0, "name": "b"},
        {"K": 2.0, "zero": 0.25},
    ):
        one = declared(
            "n", check, mutants=[], correction=Form("c", constants, ({"K": 1.5},)), control=Form("w", {"K": 3.0})
        )
        judged = judge(one, None)
        yield [(side.constant, str(side.value), side.ok) for side in judged.neighbours], judged.correction.ok


def levels_and_outcomes():
    def check(data, K=1.0):
        return outcome(K > 1.0, level={1.0: 1e-7, 2.0: 2e-7, 3.0: 3e-7, 4.0: 9e-7}.get(K, 0.0))

    one = declared(
        "l", check, mutants=[], correction=Form("c", {"K": 2.0}, ({"K": 0.5},)), control=Form("w", {"K": 3.0})
    )
    judged = judge(one, None)
    yield judged.level, judged.outcomes()
    two = declared("l", check, mutants=[], readings=(LITERAL, replace(SECOND, constants={"K": 4.0})))
    yield judge(two, None).level, judge(two, None).outcomes(), judge(HOLDS, NUMBERS).outcomes()
    yield outcome_of(
        outcome(True, margin=float(2), sides=(1.0, float("nan")), facts=(compare("x", 1, "<", 2),), gap=0.5, tight=0.25)
    )


def strengths_of_corrections():
    def check(data, K=1.0):
        return outcome(K > 1.0)

    for asks in (None, "weaker", "neither"):
        one = declared("s", check, mutants=[], correction=replace(FIX, constants={"K": 2.0}, asks=asks))
        yield judge(one, None).strength
        other = declared("s", half, mutants=[], correction=replace(FIX, asks=asks))
        yield judge(other, NUMBERS).strength


def copies_without_sides_and_without_proofs_by_hand():
    fact = compare("x", 1, "<", 2)
    judged = judge(
        declared(
            "h",
            lambda data, K=1.0: outcome(K >= 1, facts=(fact,), gap=0.5, lines={"a": line_of(True, 1, 2)}),
            mutants=[{"K": 0.5}],
        ),
        None,
    )
    yield judged.printed.grade, judged.without_proofs_by_hand().printed.grade
    yield judged.without_proofs_by_hand().printed.by_hand
    yield [line_shown(one) for one in judged.without_sides().printed.lines.values()]
    yield judged.without_sides().mutants[0].lines["a"].sides
    method = replace(judged, printed=made_by("", judged.printed))
    yield method.without_proofs_by_hand().printed.grade, [one.grade for one in method.without_proofs_by_hand().mutants]


def checks_that_return_something_else_or_change():
    yield refused(judge, declared("t", lambda data: True, mutants=[]), None)
    yield refused(judge, declared("t", lambda data: None, mutants=[]), None)
    yield refused(require_same, outcome(True), outcome(True))
    yield refused(require_same, outcome(True), outcome(True, margin=2.5))
    yield refused(require_same, outcome(False), outcome(None))
    yield refused(require_same, outcome(True), outcome(True, cases=2))
    yield refused(require_same, outcome(True, level=1e-7), outcome(True))
    yield refused(require_same, outcome(True, slack=2.0), outcome(True))


def obtained_values_next_to_witnesses():
    failing = bound(NUMBERS, 0.5)
    for stored in (None, {"x": 1.0}, {"x": 0.5}, {}, {"x": 1.0, "y": 2}):
        for replayed in (
            None,
            WITNESS,
            replace(WITNESS, exact=False),
            replace(WITNESS, left=0.25),
            replace(WITNESS, left=None),
        ):
            yield obtained_beside(failing, stored, replayed)
    yield obtained_beside(failing, {"x": 1.0}, replace(WITNESS, left=0.5, right=1.0))
    yield obtained_beside(bound(NUMBERS), {"x": 1.0})
    yield obtained_beside(failing, {"x": 1.0}, replace(WITNESS, left=1.0 + 5e-7))
    yield obtained_beside(failing, {"x": 1.0}, replace(WITNESS, left=1.0 + 5e-6))


def lines_and_their_changes():
    a, b = line_of(True, [1.0, 2.0], [3.0, 4.0]), line_of(False, [1.0, 2.0], [3.0, 4.5], strict=True, formula=True)
    c, d = line_of(None, [1.0], [2.0], equal=True), line_of(False, 1.0, 2.0)
    later, never = replace(c, later=lambda: False), replace(d, later=lambda: None)
    yield [line_shown(one) for one in (a, b, c, d, later, never, b.bare())]
    yield sorted(refuted_lines({"a": a, "b": b, "c": c, "later": later, "never": never}))
    yield sorted(changed_lines({"a": a, "b": a, "c": c, "e": a}, {"a": b, "b": replace(a, ok=False), "c": d, "f": a}))
    yield have_common_lines({"a": a}, {"a": b}), have_common_lines({"a": a}, {"b": b}), have_common_lines({}, {"b": b})


def strengths_of_lines():
    plain = line_of(True, [1.0, 2.0], [3.0, 4.0])
    others = {
        "same": line_of(True, [1.0, 2.0], [3.0, 4.0]),
        "larger right": line_of(True, [1.0, 2.0], [3.0, 4.5]),
        "smaller right": line_of(True, [1.0, 2.0], [2.5, 4.0]),
        "smaller left": line_of(True, [0.5, 2.0], [3.0, 4.0]),
        "larger left": line_of(True, [1.5, 2.0], [3.0, 4.0]),
        "mixed": line_of(True, [1.0, 2.0], [2.5, 4.5]),
        "both smaller": line_of(True, [0.5, 1.0], [1.5, 2.5]),
        "both larger": line_of(True, [2.0, 5.0], [4.0, 8.0]),
        "rounding": line_of(True, [1.0, 2.0], [3.0 + 2e-9, 4.0]),
        "more than rounding": line_of(True, [1.0, 2.0], [3.0 + 4e-9, 4.0]),
        "negative": line_of(True, [-1.0, 2.0], [3.5, 4.0]),
        "fewer": line_of(True, [1.0], [3.0]),
        "more": line_of(True, [1.0, 2.0, 5.0], [3.0, 4.0, 6.0]),
        "another": line_of(True, [1.0, 2.0, 5.0], [3.0, 4.5, 6.0]),
        "strict": line_of(True, [1.0, 2.0], [3.0, 4.0], strict=True),
        "strict and larger": line_of(True, [1.0, 2.0], [3.0, 4.5], strict=True),
        "equation": line_of(True, [1.0, 2.0], [3.0, 4.5], equal=True),
        "bare": replace(line_of(True, [1.0, 2.0], [3.0, 4.5]), sides=None),
    }
    for name, other in others.items():
        yield name, strength({"a": plain}, {"a": other}), strength({"a": other}, {"a": plain})
    strict = others["strict"]
    for name in ("larger right", "smaller right", "smaller left", "same"):
        yield name, strength({"a": strict}, {"a": replace(others[name], strict=True)})
    both = {"a": plain, "b": plain}
    yield strength(both, {"a": plain}), strength({"a": plain}, both), strength(both, {"a": others["smaller right"]})
    yield strength({}, both)
    yield strength(both, {}), strength(both, {"a": plain, "c": plain}), shown(bound(NUMBERS))["lines"]
    yield np.shape(plain.sides)
