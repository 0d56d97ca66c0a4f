"""Records of cards, tables, findings and entries to cite, in UTF-8 and in ASCII."""

import io
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from types import SimpleNamespace

import invented_results as invented
from invented_results import (
    AMBIGUOUS,
    CORRECTED,
    FINDINGS,
    FIX,
    HALF,
    HOLDS,
    LOOSE,
    MISPRINT,
    PAPER,
    PROOF,
    REFUTED,
    SECOND,
    SETTING,
    STUB,
    WITNESS,
    declared,
    found,
    half,
    outcome,
    results,
)

from paper_checks.claim import AS_CORRECTED, KINDS, LITERAL, PRINTS, VERDICTS, Intended
from paper_checks.engine.verdict import Decision
from paper_checks.formal.theorems import FormalTheorem
from paper_checks.pages import card
from paper_checks.pages.citation import Code, bibtex_of, bibtex_of_finding, bibtex_of_paper
from paper_checks.pages.colours import CARDS, CELLS, list_of, print_claims, print_summary
from paper_checks.pages.colours import FINDINGS as COLOURED
from paper_checks.pages.findings_text import as_findings, finding_text, findings_text
from paper_checks.replay import Stored

ALL = (HOLDS, LOOSE, CORRECTED, REFUTED, AMBIGUOUS, MISPRINT, STUB, SETTING)
TWICE = declared(
    *("twice", half),
    readings=(LITERAL, SECOND),
    mutants=[{"K": 0.4}],
    intended=Intended(SECOND.name, "Section 5 says so"),
    print="inconsistent",
)


def cards():
    for one in results():
        yield card.card_text(one).splitlines()


def cards_in_ascii():
    for one in results()[1:6]:
        yield card.card_text(one, "ascii").splitlines()[:14]


def cards_of_results_that_are_not_as_recorded():
    one = results()[2]
    defect = replace(
        one.decision, verdict="not checkable here", grade=None, reason="defect: $x$", defect="the check is blind"
    )
    theorem = FormalTheorem(
        "invented/prop-1@half-of-it",
        "proves",
        "P.thm",
        "p.v",
        3,
        "Theorem a.\nProof.",
        {"K": "1"},
        "the rest",
        imports=("a", "b"),
    )
    for other in (
        *(
            replace(one, decision=defect),
            replace(one, expected_grade="proof"),
            replace(one, judged=None, stored=(), replayed=(), changes=()),
        ),
        replace(
            one,
            formal=(
                theorem,
                replace(theorem, checked=True, outside=True, imports=(), covers="", constants={}, role="refutes"),
            ),
        ),
        replace(one, decision=Decision("refuted", "proof"), judged=None, stored=(), replayed=()),
        replace(one, decision=replace(one.decision, excused=True), option="--papers p ", replays=("r.py:3",)),
    ):
        yield card.mark(other), card.summary_line(other), card.describe_record_of_kernel(other)
        yield card.card_text(other).splitlines()[2:9]
        yield card.card_text(other).splitlines()[-14:]


def cards_of_readings_and_proofs():
    both = found(TWICE, [WITNESS])
    two = (LITERAL, replace(HALF, constants={"K": 0.25}, mutants=({"K": 0.1},)))
    twice = declared("both", half, readings=two, mutants=[], control=invented.CONTROL)
    shared = found(twice, [WITNESS, replace(WITNESS, reading="half-of-it")])
    other = found(shared.claim, [WITNESS, replace(WITNESS, reading="half-of-it", left=2.0)])
    proved = found(HOLDS, [replace(PROOF, words={"K": "the factor"}, proves={"K": "1", "laws": ["a", {"b": 2}]})])
    unnamed = found(HOLDS, [replace(PROOF, proves={}, tried=0)])
    nothing = found(HOLDS, [replace(PROOF, proves={"K": "1"}, tried=0)])
    for one in (both, shared, other, proved, unnamed, nothing):
        yield card.card_text(one).splitlines()[-20:]
        yield [(file.id, answer.reading, names) for file, answer, names in one.distinct_files()]
        yield [card.describe_unnamed(one, answer) for answer in one.replayed], card.describe_readings(one)
        yield card.summary_line(one)


def headlines_by_kind_and_verdict():
    for kind, verdict in product(KINDS, VERDICTS):
        one = replace(results()[0], claim=replace(HOLDS, kind=kind), decision=Decision(verdict, None, "because"))
        yield kind, verdict, card.headline(one), card.describe_verdict(verdict, "unstated")
    for print in PRINTS:
        yield card.headline(replace(results()[0], claim=replace(HOLDS, print=print)))
    yield card.headline(found(TWICE, [WITNESS])), card.headline(replace(results()[3], judged=None))
    yield card.headline(results()[4])
    yield card.headline(replace(results()[4], judged=None))
    yield card.headline(found(replace(HOLDS, intended=Intended(AS_CORRECTED, "so"), correction=FIX, print="misprint")))


def meanings_in_words():
    for one in (
        *ALL,
        TWICE,
        replace(STUB, intended=Intended("literal", "page 3 says so!")),
        replace(HOLDS, readings=(LITERAL, SECOND)),
    ):
        yield card.describe_meaning(one), card.say_meaning(one)


def summaries_and_marks():
    for one in results():
        yield card.summary_line(one), card.describe_record(one), card.mark(one), card.command(invented.run(), one)
        yield card.other_forms(one), card.other_forms(replace(one, judged=None)), card.describe_hypotheses(one)
    yield card.summary_line(replace(results()[0], claim=replace(HOLDS, because="it is known. More")))
    yield card.describe_record(found(SETTING))
    yield card.summary_line(replace(results()[4], judged=None))
    yield card.command(invented.run(budget="full", seed=3), results()[0])
    yield card.command(invented.run(seed=1), replace(results()[0], option="--papers 'my p' "))


def forms_that_were_judged():
    for one in (*results()[:6], found(TWICE, [WITNESS])):
        for form in card.judged_forms(one):
            yield form.name, form.says, form.why, form.compared, form.obtained, form.slack, bool(form.stored)
            yield [(mutant.changed, mutant.caught, mutant.outcome) for mutant in form.mutants]
        yield card.columns(card.judged_forms(one)), card.scopes(card.judged_forms(one))


def tables_of_runs():
    yield card.summary_table(invented.run()).splitlines()
    one, two, stub = results()[0], results()[2], results()[6]
    defect = replace(one, decision=Decision("not checkable here", None, "", "the check is blind, " * 20))
    excused = replace(two, decision=Decision("not checkable here", None, "no torch", excused=True))
    outside = replace(one, claim=replace(HOLDS, module="my_paper.theorems"), seconds=12.345)
    for some, rest in (
        *(
            ((stub, defect, excused), {}),
            ((one,), {"of_no_claim": ("a", "b")}),
            ((replace(two, expected_grade="proof"), one), {}),
            ((), {}),
        ),
        *(((stub,), {}), ((stub, stub, outside), {}), ((replace(one, expected_grade="proof"), defect), {})),
    ):
        run = invented.run(results=some, **rest)
        yield card.summary_table(run).splitlines(), card.tally(run), run.as_expected
    levels = replace(one, judged=replace(one.judged, printed=replace(one.judged.printed, level=1e-6)))
    for number in (999, 1000, 1002):
        yield card.tally(invented.run(results=(levels,) * number)), invented.run(results=(levels,) * number).as_expected


def counts_in_words():
    yield [
        card.count_verdicts(some)
        for some in (
            [],
            ["holds"],
            ["ambiguous", "holds", "refuted", "holds"],
            ["corrected"] * 2 + ["not checkable here"] * 3,
        )
    ]
    yield card.count_verdicts(["holds"] * 3 + ["corrected"], ["misprint", "unstated", "misprint", "inconsistent"])
    yield card.count_faults(["as meant"])
    yield [card.verb(verdict, number) for verdict in VERDICTS for number in (0, 1, 2)]
    for kinds in (
        ["statement"],
        ["number"],
        ["statement", "number"],
        ["setting", "definition"],
        ["experiment"] * 2,
        [],
        ["statement", "setting"],
    ):
        yield card.describe_kinds(kinds), card.count_by_kind([(kind, "holds") for kind in kinds])
    yield card.count_by_kind([("number", "holds"), ("algorithm", "refuted")], ["misprint", "unstated"])
    yield [card.join_words(some) for some in ([], ["a"], ["a", "b"], ["a", "b", "c"])]
    yield card.describe_grade("search", "n = 1"), card.describe_grade(None, "n")


def sentences_cut_and_closed():
    for text in (
        "One. Two.",
        "By eq. 5 it is so. Next",
        "cf. Prop. 3. Then",
        "It is $x. y$. Then",
        "No stop",
        "v1.5 is. So",
        "Eqs. (1) and (2) hold. So",
        "",
    ):
        yield card.first_sentence(text), card.end_sentence(text), card.sentence_case(text), card.shorten(text, 9)
    yield card.end_sentence("so!"), card.end_sentence("so?")
    yield card.constants_text({"a": True, "b": False, "c": [1, ["x"]], "d": 0.5}), card.constants_text({})
    yield card.entry_lines("label", "word " * 40), card.entry_lines("a label of many words", "text")
    yield card.entry_lines("label", ""), card.entry_lines("thirteen-long", "t")


def numbers_of_cases_in_words():
    yield card.cases_text(outcome(True)), card.cases_text(outcome(True, cases=0, tight=0.256, level=1e-7))
    yield card.cases_text(outcome(False, cases=2))
    yield card.STRENGTH_MEANS, card.FOUND, card.VERDICT_MEANS, card.PRINT_MEANS, card.FORMAL_ROLES
    yield card.measured_lines(datetime(2026, 3, 4, 5, 6, tzinfo=UTC), "a/b")


def stored_files_with_their_replays():
    file = Stored("a/b", "witness", {"x": [1, "1/2", [2]], "y": {"a": 1}, "z": "word " * 100, "n": 3})
    for answer in (
        WITNESS,
        replace(
            WITNESS,
            confirmed=False,
            assumes=[["a", False], ["b", True]],
            given={"n": "3", "m": "4"},
            words={"x": "the step"},
        ),
    ):
        yield card.stored_lines(file, answer), card.stored_lines(file, answer, "ascii", "r.py:7")[-3:]
    yield card.stored_lines(Stored("a/b", "certificate", {}), replace(PROOF, words={"K": "factor"}))


def findings_of_a_paper():
    yield findings_text(PAPER).splitlines(), findings_text(PAPER, "ascii", whole=False).splitlines(), as_findings(PAPER)
    yield [finding_text(PAPER, one).splitlines() for one in PAPER.findings]
    bare = replace(PAPER, called="", facts=(), pages=(), main="", named="my paper")
    yield findings_text(bare).splitlines()[:3], findings_text(bare).splitlines()[-8:]
    yield findings_text(replace(PAPER, findings=())).splitlines()[-4:]
    only = replace(PAPER, themes=("theorems",), facts=(), findings=FINDINGS[:1], pages=())
    yield findings_text(only).splitlines()[-4:]
    yield findings_text(replace(only, title="Long " * 30), whole=False).splitlines()[:5]


def rest_of_the_entries_in_words():
    def of(*claims):
        rest = {"main": "", "facts": (), "pages": (), "findings": (), "option": "", "finding_of": lambda id: None}
        paper = SimpleNamespace(claims=lambda: claims, called="", name="p", title="T", **rest)
        return " ".join(findings_text(paper).splitlines()[-4:]).partition("again.")[2]

    undecided = declared("u", expect=("not checkable here", None), expect_reason="too large")
    for claims in (
        (HOLDS,),
        (CORRECTED,),
        (MISPRINT, CORRECTED),
        (STUB,),
        (STUB, STUB, HOLDS),
        (undecided, undecided),
        (MISPRINT,),
        (AMBIGUOUS, HOLDS),
    ):
        yield of(*claims)


def entries_to_cite():
    code, none = Code("1.2", "abc", "2026-01-02"), Code("1.2", None, None)
    for one in (HOLDS, CORRECTED, MISPRINT, SETTING, STUB):
        yield bibtex_of(one, PAPER, code).splitlines()
    yield bibtex_of(CORRECTED, replace(PAPER, called=""), none), bibtex_of_finding(FINDINGS[1], PAPER, code)
    yield bibtex_of_finding(FINDINGS[0], replace(PAPER, called=""), none)
    yield bibtex_of_paper(PAPER), bibtex_of_paper(replace(PAPER, authors=(), link=""))
    yield bibtex_of_paper(replace(PAPER, year=None, link=""))
    yield bibtex_of_paper(replace(PAPER, title="5 % of $a_b$ & #1", link="https://x.org/a"))


def claims_and_summaries_without_colours():
    out = io.StringIO()
    print_summary(invented.run(results=results()[:2]), out)
    yield out.getvalue().splitlines(), list_of("Theorem 3", ALL[:3], "--papers p ").splitlines(), list(CELLS)
    yield list(CARDS), list(COLOURED)
    told = io.StringIO()
    with redirect_stdout(told):
        print_claims(ALL)
    yield told.getvalue().splitlines()
