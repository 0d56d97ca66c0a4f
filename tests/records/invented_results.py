"""Results of an invented paper, for records of the engine and of the pages: no draw, no file, no process."""

from dataclasses import replace
from functools import cache

from evidence_shown import shown
from invented_paper.bounds import CONTROL, FIX, HALF, NUMBERS, SECOND, bound, half
from invented_paper.bounds import declared as _declared
from invented_paper.others import AMBIGUOUS, MISPRINT, OPEN, SETTING, STUB
from invented_paper.theorems import CORRECTED, HOLDS, LOOSE, REFUTED

from paper_checks.claim import Evidence
from paper_checks.engine.judging import judge
from paper_checks.engine.sensitivity import noticed_changes
from paper_checks.engine.verdict import Decision, decide
from paper_checks.paper import Finding, Headline, Listing, Page, Paper
from paper_checks.replay import Replayed, Stored
from paper_checks.result import Result, Run

__all__ = ["CONTROL", "FIX", "HALF", "NUMBERS", "SECOND", "bound", "half"]

WITNESS = Replayed("witness", True, True, 1.0, 0.5, "at the end: 1 > 0.5 (exact)", [["0 <= x <= 1", True]], {"n": "1"})
PROOF = Replayed("certificate", True, True, None, None, "proved in 2 steps", proves={"K": "1"}, tried=1)


def declared(label, judged=bound, **fields):
    """Return a claim that no theme has."""
    return _declared(label, judged, **fields)


def found(one, answers=(), stored=(), data=NUMBERS, **fields):
    """Return the result of a claim, judged on fixed numbers and decided with these answers of replays."""
    judged = judge(one, data)
    stands = judged.standing(one)
    changes = () if stands is None else noticed_changes(one, data, *stands)
    decision = decide(one, judged, answers, changes)
    files = tuple(stored) or tuple(
        Stored(
            f"{one.id}{'@' if answer.reading else ''}{answer.reading}",
            answer.kind,
            {"x": 1.0} if answer.kind == "witness" else {},
        )
        for answer in answers
    )
    return replace(Result(one, decision, judged, files, tuple(answers), changes, 0.254, one.grade), **fields)


FINDINGS = (
    Finding(
        "a-half",
        "Half of it is too small",
        "changes a main result",
        ("invented/prop-1", "invented/lem-2"),
        "$x = 1$",
        "use 1",
    ),
    Finding("two-places", "Two places differ", "changes nothing", ("invented/def-1",), "$x = 1$: $1 > 1/2$", "ask."),
)


PAPER = Paper(
    *("invented", "On Squares of Small Numbers", "invented_paper", ("theorems", "others")),
    pages=(
        Page(
            *("squares", "What we found in squares", "All themes.", ("theorems", "others")),
            headlines=(
                Headline("$x^2 \\le x$ holds.", ("invented/thm-3",)),
                Headline("So does $4x$.", ("invented/loose",)),
            ),
            listings=(Listing("Numbers", ("a", "b"), (("1", "2"), ("3", "4"))),),
        ),
    ),
    findings=FINDINGS[::-1],
    called="Squares",
    main="The paper bounds squares. The bound holds for $K = 1$.",
    facts=(Headline("Use $K = 1$.", ("invented/prop-1", "invented/tab-1")),),
    authors=("A. One", "B. Two"),
    year=2020,
    cited="One and Two, 2020",
    link="https://arxiv.org/abs/2001.01234",
)


@cache
def results():
    """Return the results of all of them, in this order."""
    return (
        found(HOLDS),
        found(LOOSE, related=(HOLDS, AMBIGUOUS)),
        found(CORRECTED, [WITNESS], finding=FINDINGS[0]),
        found(REFUTED, [WITNESS], finding=FINDINGS[0], expected_grade="proof"),
        found(AMBIGUOUS, [replace(WITNESS, reading="half-of-it")], finding=FINDINGS[1]),
        found(MISPRINT, [WITNESS]),
        replace(found(STUB), judged=None, changes=(), decision=Decision("not checkable here", None, "no check yet")),
        found(SETTING, seconds=1.5),
        found(OPEN),
    )


def decision_shown(decision):
    """Return all of a decision but its traceback."""
    return [decision.verdict, decision.grade, decision.reason, decision.defect, decision.excused]


def judged_shown(judged):
    """Return all forms of a claim, judged."""
    return {
        "printed": shown(judged.printed),
        "mutants": [[one.ok, one.margin] for one in judged.mutants],
        "others": [
            [one.key, one.first, one.evidence.ok, [(dict(c), e.ok, e.margin) for c, e in one.mutants]]
            for one in judged.others
        ],
        "control": judged.control and [judged.control.ok, judged.control.margin],
        "correction": judged.correction and [judged.correction.ok, judged.correction.margin],
        "correction mutants": [[one.ok, one.margin] for one in judged.correction_mutants],
        "neighbours": [(one.constant, one.value, one.ok) for one in judged.neighbours],
        "strength": judged.strength,
        "dropped": judged.dropped,
        "level": judged.level,
    }


def outcome(ok, **fields):
    """Return evidence by hand."""
    return Evidence(ok, "by hand", **({"margin": {True: 1.0, False: -1.0, None: 0.0}[ok]} | fields))


def run(**fields):
    """Return a run of all of them."""
    return Run(**({"results": results(), "seed": 0, "budget": "quick", "seconds": 2.0, "papers": (PAPER,)} | fields))
