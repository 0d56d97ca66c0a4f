"""Records of the engine around runs: evidence on record, runs over seeds, last results and printed constants."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from invented_results import CORRECTED, HALF, LOOSE, WITNESS, decision_shown, declared, outcome, results
from recording import refused

from paper_checks.claim import LITERAL, Best, claim
from paper_checks.engine import evidence_record
from paper_checks.engine.constants import constants, draw
from paper_checks.engine.evidence_record import (
    Difference,
    agree,
    answer_of,
    differences,
    evidence_of,
    form_of,
    read_record,
)
from paper_checks.engine.last_results import Entry, LastResults
from paper_checks.engine.over_seeds import describe_seeds, over_seeds
from paper_checks.engine.verdict import Decision
from paper_checks.result import Run


def numbers_of_results():
    for one in results():
        yield one.claim.id, evidence_of(one)
    read = declared("read", readings=(LITERAL, HALF))
    yield evidence_of(replace(results()[0], claim=replace(read, id="fedloru-iclr/tab-A1")))
    yield form_of(
        "f", outcome(True, slack=1.5, tight=0.25, sides=(1.0, 2.0), gap=0.5, cases=3, printed="p", obtained="o")
    )
    yield answer_of(WITNESS)
    yield answer_of(replace(WITNESS, reading="half", left=None, assumes=[("a", True), ("b", False)], detail="x"))
    yield answer_of(replace(WITNESS, kind="certificate", given={"a": "1", "b": "2"}))


def values_that_agree_up_to_rounding():
    for before, found in (
        *(
            (None, None),
            (None, ""),
            (None, 0),
            ("", None),
            (0, None),
            (1, 1.0),
            (1.0, 1 + 9e-7),
            (1.0, 1 + 2e-6),
            (0.0, 9e-13),
            (0.0, 2e-12),
        ),
        *(
            ([1.0, 2.0], [1.0, 2.0]),
            ([1.0], [1.0, 2.0]),
            ([1.0, 2.0], [1.0, 2.1]),
            (True, 1),
            (True, True),
            (False, None),
            ("a 1", "b 1"),
        ),
        *(
            ("0.31", "0.32"),
            ("0.31", "0.33"),
            ("3", "4"),
            ("3.0", "4.0"),
            ("0.1", "0.2"),
            ("1e-13", "2e-13"),
            ("1.0e3", "1.1e3"),
            ("-0.31", "0.31"),
        ),
        *(
            ("0.31 and 5", "0.32 and 5"),
            ("0.31 and 5", "0.31 and 6"),
            ("1.5e400", "1.6e400"),
            ("2e-08", "3e-08"),
            ("12.1", "12.10"),
            ({}, {"a": 1}),
        ),
    ):
        yield agree(before, found)
    yield agree(1.0, 1.05, 0.1), agree(1.0, 1.2, 0.1), agree("1.0", "1.1", 0.0), agree([1.0], [1.0 + 9e-7])


def differences_from_the_record():
    one, two = results()[0], results()[2]
    record = {one.claim.id: evidence_of(one), two.claim.id: evidence_of(two)}
    yield list(differences(one, record)), list(differences(two, record))
    yield [str(each) for each in differences(one, {})][:3]
    changed = {
        two.claim.id: {**evidence_of(two), "printed margin": -0.4, "gone": 3, "correction, K = 0.95: margin": -0.0501}
    }
    yield [str(each) for each in differences(two, changed)]
    changed[two.claim.id]["correction, K = 0.95: margin"] *= 1.3
    yield [str(each) for each in differences(two, changed)], str(Difference("a/b", "x", None, ""))
    yield str(Difference("a/b", "x", 0, None))
    stub = results()[6]
    yield list(differences(stub, {})), list(differences(stub, {stub.claim.id: {"x": 1}}))
    defect = replace(one, judged=None, decision=Decision("not checkable here", None, "", "a defect"))
    yield [str(each) for each in differences(defect, {})], [str(each) for each in differences(defect, record)][:2]
    yield list(differences(replace(one, decision=replace(one.decision, excused=True)), {}))


def files_of_records():
    one, two = results()[0], results()[2]
    excused = replace(results()[1], decision=replace(one.decision, excused=True))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield read_record(folder)
        evidence_record.write(folder, [two, one, excused], [one.claim.id, "invented/other", two.claim.id])
        text = (folder / evidence_record.NAME).read_text(encoding="utf-8")
        yield text.splitlines()[:6], list(read_record(folder)), text.endswith("}\n")
        evidence_record.write(folder, [], [two.claim.id, one.claim.id])
        yield list(read_record(folder))
        evidence_record.write(folder, [one], [one.claim.id])
        yield list(read_record(folder))
        for content in ("[]", "{", '{"a": 1}', '{"a": {}}', "{}"):
            (folder / evidence_record.NAME).write_text(content, encoding="utf-8")
            yield str(refused(read_record, folder)).replace(name, "FOLDER")
        (folder / evidence_record.NAME).write_text(json.dumps({"b": {"x": 1}}), encoding="utf-8")
        yield str(refused(evidence_record.write, folder, [one], [one.claim.id])).replace(name, "FOLDER")


def _run(some, seed=0, seconds=1.5):
    return Run(tuple(some), seed, "quick", seconds)


def runs_over_seeds():
    one, two, three = results()[0], results()[2], results()[6]
    other = replace(one, decision=replace(one.decision, grade="proof"))
    fails = replace(one, decision=Decision("not checkable here", None, "few draws"))
    moved = replace(one, changes=())
    measured = replace(
        two, judged=replace(two.judged, printed=replace(two.judged.printed, cases=5, obtained="5 cases"))
    )
    reason = replace(three, decision=replace(three.decision, reason="another reason"))
    for first, again, others in (
        *(
            ([one, two], [one, two], []),
            ([one, two], [one, two], [[one, two], [one, two]]),
            ([one], [moved], [[one]]),
            ([two], [measured], []),
        ),
        *(([three], [reason], []), ([one], [one], [[other], [fails], [one]]), ([other], [other], [[one]])),
    ):
        runs = [_run(some, seed, 0.5) for seed, some in enumerate(others, 1)]
        found = over_seeds(_run(first), _run(again, 0, 0.25), runs)
        yield found.seconds, [decision_shown(each.decision) for each in found.results]
        yield describe_seeds(_run(first), runs)
    defect = replace(one, decision=replace(one.decision, defect="a defect"))
    yield decision_shown(over_seeds(_run([defect]), _run([one]), [_run([other], 3)]).results[0].decision)
    yield describe_seeds(_run([], 7), [])
    yield describe_seeds(_run([], 7), [_run([], 8)])


def last_results_and_what_they_answer():
    entries = (
        Entry("fedlrt/thm-2", ("fedlrt/thm-2b",), "Section 3, Theorem 2", "refuted"),
        Entry("fedlrt/lem-1", (), "Lemma 1", "holds"),
    )
    card = {"budget": "quick", "seed": 0, "utf-8": "≤", "ascii": "<="}
    for whole in (False, True):
        one = LastResults(entries, whole, {"fedlrt": "FeDLRT"}, {"fedlrt/thm-2": card})
        for own in (False, True):
            yield [
                one.tells([name], own)
                for name in ("fedlrt/thm-2", "fedlrt/thm-2b", "fedlrt/", "Theorem 2 of FeDLRT", "no/thing", "thm-2")
            ]
        yield one.tells(["fedlrt/thm-2", "fedlrt/lem-1"], False), one.tells(["fedlrt/thm-2", "x"], True)
        yield one.tells([], True)
        for budget, seed, encoding in (
            ("quick", 0, "utf-8"),
            ("quick", 0, "latin-1"),
            ("full", 0, "utf-8"),
            ("quick", 1, "utf-8"),
        ):
            yield one.card("fedlrt/thm-2", budget, seed, encoding)
        yield one.card("fedlrt/lem-1", "quick", 0, "utf-8")


def _constant(
    id, printed, best, how="proved: so", where="Section 1, Theorem 2", kind="statement", expect="holds", name="K_0"
):
    def check(data, K_0=printed, C=printed, n=3):
        return outcome(True)

    rest = {"because": "so", "kind": kind, "best": {name: Best(best, how)}}
    return claim(
        id, where=where, says="s", measure=lambda context: None, expect=(expect, "search"), mutants=[{"n": 4}], **rest
    )(check)


def _papers():
    one = [
        _constant("demo-v2/thm-2", 4.0, 2.0),
        _constant("demo-v1/lem-1", 3.0, 1.0, "searched", "Lemma 1", expect="corrected"),
        _constant("demo/eq-1", 3.0, 1.0, where="eq. 1"),
    ]
    two = [
        _constant("other/thm-1", 1.0, 4.0),
        _constant("other/thm-3", 2.0, -1.0),
        _constant("other/n", 2.0, 1.0, kind="number"),
        _constant("rolora/lem-A.4", 2.0, 1.0),
        _constant("rolora/lem-A.4", 2.0, 1.0, name="C"),
    ]
    return [
        SimpleNamespace(called=name, claims=lambda some=some: some) for name, some in (("Zeta", one), ("Alpha", two))
    ]


def constants_printed_and_best():
    yield constants(_papers()), len(constants([])), CORRECTED.best, LOOSE.vary


def a_picture_of_constants():
    axes = draw(constants(_papers())).axes[0]
    yield [text.get_text() for text in axes.texts], [text.get_text() for text in axes.get_yticklabels()]
    yield axes.get_xlabel(), axes.get_ylim()
    yield [
        (line.get_label(), list(line.get_xdata()), line.get_marker(), line.get_color(), line.get_mfc())
        for line in axes.lines[:3]
    ]
