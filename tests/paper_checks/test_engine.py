"""Every way a claim can end, on invented claims whose truth is known."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from paper_checks.claim import LITERAL, Form, Intended, Reading, claim
from paper_checks.engine.verdict import decide
from paper_checks.ledger import Ledger, LedgerError, Paper
from paper_checks.replay import Replayed, ReplayError, Stored, replay_in_fresh_process
from paper_checks.result import Run
from paper_checks.run import run, store_findings

HERE = Path(__file__).parent
INVENTED = Paper("invented", "Invented", "invented", ("claims",))


@pytest.fixture(scope="module")
def ledger():
    return Ledger.of([INVENTED])


@pytest.fixture(scope="module")
def results(ledger):
    found = run(ledger.claims, ledger)
    return {result.claim.id.split("/")[1]: result for result in found.results}


@pytest.mark.parametrize(
    ("label", "verdict", "grade"),
    [
        ("true", "holds", "search"),
        ("loose", "holds", "search"),
        ("certified", "holds", "proof"),
        ("false", "refuted", "proof"),
        ("fixable", "corrected", "search"),
        ("proved-fix", "corrected", "proof"),
        ("read-twice", "holds", "search"),
        ("ambiguous", "ambiguous", "search"),
        ("other-way-round", "holds", "proof"),
    ],
)
def test_sound_checks_reach_their_verdict(results, label, verdict, grade):
    assert (results[label].decision.verdict, results[label].decision.grade) == (verdict, grade)
    assert results[label].as_expected


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("vacuous", "no case satisfied the assumptions"),
        ("always-passes", "does not notice the mutant {'K': 0.9}"),
        ("always-fails", "its control is violated too"),
        ("idle-mutant", "the mutant {'spelling': 'other'} changes nothing"),
        ("no-mutants", "no mutants"),
        ("tampered", "does not replay"),
        ("outside", "an assumption is not met: x = 3 <= 1"),
        ("cheating-replay", "may not import rmt"),
        ("no-witness", "no witness is stored"),
        ("no-control", "without a control"),
        ("missed-witness", "still violates the statement"),
        ("bad-certificate", "certificate does not verify"),
        ("other-constant", "it is one of another statement, with K = 1 for 1.5"),
        ("unproved-fix", "certificate of the correction does not verify"),
        ("raises", "ZeroDivisionError"),
        ("unshown-reading", "loose: violated, but no witness is stored"),
        ("blind-reading", "strict: the check does not notice the mutant {'K': 1.0}"),
        ("half-read", "mean: violated, but no witness is stored"),
        ("needed-after-all", "superfluous is said to be $x \\le 1$, and a case needs it"),
        ("overstated", "K = 0.5 is said to be the best value known, and the check refutes"),
    ],
)
def test_defective_checks_support_nothing(results, label, reason):
    decision = results[label].decision
    assert decision.verdict == "not checkable here"
    assert reason in decision.reason
    assert decision.defect
    assert not results[label].as_expected


def test_each_reading_is_told_apart(results):
    entry = results["ambiguous"].as_json()
    assert [(one["name"], one["verdict"]) for one in entry["readings"]] == [
        ("literal", "holds"),
        ("half, as in eq. 2", "does not hold"),
    ]
    assert entry["readings"][0]["says"] == entry["says"] != entry["readings"][1]["says"]
    assert (entry["kind"], entry["importance"], entry["because"]) == (
        "statement",
        "result",
        "At x = 1 half is too small.",
    )
    assert results["true"].as_json()["readings"] == [{"name": "literal", "says": entry["says"], "verdict": "holds"}]


def test_constants_and_hypotheses_are_in_the_json(results):
    entry = results["bounded"].as_json()
    assert entry["constants"] == [
        {"name": "K", "printed": 5.0, "noticed": pytest.approx(0.8, abs=0.01), "best": 1.0, "how": "proved: at x = 1"}
    ]
    assert [(one["name"], one["needed"]) for one in entry["hypotheses"]] == [
        (r"$x \le 1$", True),
        (r"$x \ge 0.1$", None),
        (r"$x \ge 0$", False),
    ]


@pytest.mark.parametrize(
    ("readings", "complaint"),
    [
        ((), "a reading needs a name of letters and digits that no other reading has; got none"),
        (
            (LITERAL, LITERAL),
            "a reading needs a name of letters and digits that no other reading has; got 'literal', 'literal'",
        ),
        (
            (LITERAL, Reading("K = 2"), Reading("k: 2")),
            "a reading needs a name of letters and digits that no other reading has; got 'literal', 'K = 2', 'k: 2'",
        ),
        ((LITERAL, Reading("≤")), "a reading needs a name of letters and digits"),
        ((Reading("doubled", constants={"K": 2.0}),), "the first reading must use the judge's defaults"),
        ((Reading("doubled"),), "without a literal reading, the first reading must have a statement"),
        ((LITERAL, Reading("doubled", "$x^2 \\le 2x$", {"K": 2.0})), "needs a statement, a reason and constants"),
        ((LITERAL, Reading("doubled", "$x^2 \\le 2x$", {"L": 2.0}, "eq. 2")), "has no constant 'L'"),
    ],
)
def test_readings_are_complete(ledger, readings, complaint):
    (true,) = ledger.select(["invented/true"])
    with pytest.raises(ValueError, match=complaint):
        replace(true, readings=readings)


def test_another_reading_needs_mutants_of_its_own_or_of_the_claim(ledger):
    (true,) = ledger.select(["invented/true"])
    doubled = Reading("doubled", "$x^2 \\le 2x$", {"K": 2.0}, "eq. 2")
    with pytest.raises(ValueError, match=r"the reading 'doubled' needs mutants, .* Reading\(..., mutants=\(\{...\},\)"):
        replace(true, readings=(LITERAL, doubled), mutants=())
    of_its_own = replace(doubled, mutants=({"K": 0.9},))
    assert replace(true, readings=(LITERAL, of_its_own), mutants=()).readings[1] == of_its_own
    assert replace(true, readings=(LITERAL, doubled)).mutants


def test_what_fails_is_explained_in_one_short_sentence(ledger):
    (true,) = ledger.select(["invented/true"])
    with pytest.raises(ValueError, match="has 141 characters, but at most 140 are allowed"):
        replace(true, because="x" * 141)


@pytest.mark.parametrize("expect", ["holds", ("holds",), ("holds", "proof", "x"), None])
def test_expect_is_a_verdict_and_a_grade(expect):
    with pytest.raises(ValueError, match=r"own/x: expect= must be a verdict and a grade, such as .*; got "):
        claim("own/x", where="eq. 1", says="1", measure=lambda context: 1, expect=expect)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"expect": "ambiguous"}, "ambiguous= must give a reason"),
        ({"ambiguous": "Section 2 says both"}, "ambiguous= must give a reason"),
        ({"ambiguous": "Section 2 says both", "expect": "ambiguous"}, "an ambiguous statement needs several readings"),
        ({"kind": "artefact"}, "invented/true: kind= must be one of statement, number, .*; got 'artefact'"),
        ({"importance": "main"}, "invented/true: importance= must be one of result, step, detail; got 'main'"),
        ({"budget": "huge"}, "invented/true: budget= must be one of quick, full; got 'huge'"),
        ({"expect": "true"}, "invented/true: the verdict of expect= must be one of refuted, .*; got 'true'"),
        ({"grade": "sure"}, "expect= with the recorded verdict 'holds' needs a grade, one of kernel, .*; got 'sure'"),
        ({"full_grade": "sure"}, "needs a grade, one of kernel, .*; got full_grade='sure'"),
        (
            {"intended": Intended("doubled", "eq. 2")},
            "the reading of intended= must name one of literal; got 'doubled'",
        ),
        (
            {"intended": Intended("as corrected", "eq. 2")},
            "the reading of intended= must name one of literal; got 'as corrected'; give correction= too",
        ),
        (
            {"intended": Intended("as corrected", "eq. 2"), "correction": Form("$x^2 \\le 2x$", {"K": 2.0})},
            "intended= is the correction, so print= must say how the print differs",
        ),
        ({"intended": "as corrected"}, r'invented/true: intended= .* write Intended\(AS_CORRECTED, "why"\)'),
        ({"intended": "literal"}, r"write Intended\('literal', \"why\"\); got 'literal'"),
        ({"correction": "$x \\le 2$"}, r'correction= must be a Form\("statement", \{constants\}\); got'),
        ({"readings": LITERAL}, r"readings= must be a tuple of Reading, \(Reading\(...\),\); got Reading"),
        ({"hypotheses": ("$x > 0$",)}, r"hypotheses= must be a tuple of Dropped, \(Dropped\(...\),\); got"),
        ({"best": {"K": 1.0}}, r'best= must map constants to Best\(value, "how"\); got'),
        ({"mutants": ("K",)}, r"mutants= must be a tuple of changed constants, .* got \('K',\)"),
        ({"correction": Form("$x$", {"K": 2.0}, {"K": 0.9})}, "the mutants of correction= must be a tuple"),
        ({"print": "wrong"}, "print= must be one of as meant, misprint, unstated, inconsistent; got 'wrong'"),
    ],
)
def test_what_the_author_means_is_declared_completely(ledger, fields, complaint):
    (true,) = ledger.select(["invented/true"])
    with pytest.raises(ValueError, match=complaint):
        replace(true, **fields)


def test_a_budget_that_cannot_tell_says_so_and_is_no_defect(results, ledger):
    decision = results["undecidable"].decision
    assert decision.verdict == "not checkable here"
    assert "wider than its band" in decision.reason
    assert not decision.defect
    full = run(ledger.select(["invented/undecidable"]), ledger, budget="full").results[0]
    assert full.decision.verdict == "holds"


def test_a_stored_full_result_is_shown_as_stored(results):
    decision = results["full-only"].decision
    assert (decision.verdict, decision.grade) == ("holds", "statistical")
    assert "stored result of the full budget, commit 0123abc" in decision.reason
    assert results["full-only"].as_expected


def test_a_missing_extra_is_listed_and_excused(results):
    assert "no_such_package" in results["extra"].decision.reason
    assert results["extra"].as_expected


def copied(tmp_path, monkeypatch, *files):
    """Return the invented paper in a folder of its own, with some of its stored files."""
    name = f"copied_{tmp_path.name}"  # imported again by every test
    package = tmp_path / name
    package.mkdir()
    for file in ("__init__.py", "claims.py", "replays.py", *files):
        (package / file).parent.mkdir(exist_ok=True)
        (package / file).write_text((HERE / "invented" / file).read_text())
    monkeypatch.syspath_prepend(str(tmp_path))
    ledger = Ledger.of([Paper(name, "Copied", name, ("claims",))])
    return package, lambda *ids, **rest: run(ledger.select(ids), ledger, **rest)


def test_a_grade_that_is_not_the_recorded_one_is_red(results):
    for label, other in (("true", "proof"), ("certified", "search"), ("false", "statistical"), ("fixable", None)):
        changed = replace(results[label], expected_grade=other)
        assert results[label].as_expected
        assert not changed.as_expected
        assert changed.as_json()["expected_grade"] == other


def test_the_grade_on_record_belongs_to_a_budget(ledger):
    (true,) = ledger.select(["invented/true"])
    assert (true.expected_grade("quick"), true.expected_grade("full")) == ("search", "search")
    stronger = replace(true, full_grade="proof")
    assert (stronger.expected_grade("quick"), stronger.expected_grade("full")) == ("search", "proof")
    assert run([stronger], ledger, budget="quick").results[0].as_expected
    assert not run([stronger], ledger, budget="full").results[0].as_expected
    (withheld,) = ledger.select(["invented/vacuous"])
    for one, grade in ((true, None), (true, "certain"), (withheld, "proof")):
        with pytest.raises(ValueError, match=r"expect= with the recorded verdict '.*' needs"):
            replace(one, grade=grade)
    with pytest.raises(ValueError, match=r"expect= with the recorded verdict .* needs"):
        replace(withheld, full_grade="proof")


def test_a_lost_certificate_and_a_file_of_no_claim_are_noticed(tmp_path, monkeypatch):
    package, check = copied(tmp_path, monkeypatch, "certificates/invented--certified.json")
    assert check("invented/certified", "invented/true").as_expected
    stray = package / "certificates" / "invented--renamed.json"
    stray.write_text("{}")
    found = check("invented/true")
    assert found.results[0].as_expected
    assert found.of_no_claim == (f"{package.name}/certificates/invented--renamed.json",)
    assert not found.as_expected
    stray.unlink()
    declared = package / "replays.py"
    declared.write_text(declared.read_text() + 'gone = replay("invented/ambiguous@gone")(at(half))\n')
    monkeypatch.delitem(sys.modules, f"{package.name}.replays")
    found = check("invented/true")
    assert found.of_no_claim == (f"{package.name}/replays: witness of invented/ambiguous@gone",)
    (package / "certificates" / "invented--certified.json").unlink()
    (lost,) = check("invented/certified").results
    assert not lost.as_expected
    assert "no certificate is stored" in lost.decision.reason


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{",
        '{"verdict": "holds"}',
        '{"verdict": "true", "grade": "proof", "commit": "", "seed": 0}',
        '{"verdict": "holds", "grade": "certain", "commit": "", "seed": 0}',
        "[" * 100_000,
    ],
)
def test_a_damaged_full_result_is_one_error(tmp_path, monkeypatch, content):
    package, check = copied(tmp_path, monkeypatch, "full/invented--full-only.json")
    assert check("invented/full-only").results[0].decision.verdict == "holds"
    (package / "full" / "invented--full-only.json").write_text(content)
    with pytest.raises(ReplayError, match=r"invented--full-only\.json is not a stored result") as error:
        check("invented/full-only")
    assert "\n" not in str(error.value)
    (package / "full" / "invented--full-only.json").unlink()
    assert "no full result is stored" in check("invented/full-only").results[0].decision.reason


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"id": "invented/true", "values": {}}',
        '{"id": "invented/false"}',
        '{"id": "invented/false", "values": [1]}',
        "[" * 100_000,
        "\ud800",
    ],
)
def test_a_damaged_witness_is_one_error(tmp_path, monkeypatch, content):
    package, check = copied(tmp_path, monkeypatch, "witnesses/invented--false.json")
    (package / "witnesses" / "invented--false.json").write_bytes(content.encode(errors="surrogatepass"))
    with pytest.raises(ReplayError, match=r"invented--false\.json is not a stored witness of invented/false"):
        check("invented/false")


def test_progress_and_results_come_in_the_order_of_the_claims(ledger):
    claims = ledger.select(["invented/true", "invented/loose", "invented/certified"])
    seen = []
    found = run(claims, ledger, progress=seen.append)
    assert seen == [result.claim.id for result in found.results] == [claim.id for claim in claims]


def test_the_levels_of_a_run_are_bounded(results):
    one = results["true"]
    spent = replace(one, judged=replace(one.judged, printed=replace(one.judged.printed, level=1e-6)))
    assert Run((spent,) * 999, 0, "quick", 0.0).as_expected
    assert Run((spent,) * 999, 0, "quick", 0.0).level == pytest.approx(9.99e-4)
    assert not Run((spent,) * 1001, 0, "quick", 0.0).as_expected


def test_evidence_is_of_the_form_that_was_established(results):
    fixable, false = results["fixable"], results["false"]
    assert fixable.evidence == fixable.judged.correction != fixable.judged.printed
    assert false.evidence == false.judged.printed
    assert results["full-only"].evidence is None


def test_only_violations_and_full_results_are_stored(tmp_path, monkeypatch):
    package, check = copied(tmp_path, monkeypatch)
    ledger = Ledger.of([Paper(package.name, "Copied", package.name, ("claims",))])
    quick = check("invented/full-only", "invented/true")
    true, full_only = quick.results
    assert true.judged.printed.ok
    passing = replace(true.judged, printed=replace(true.judged.printed, witness={"x": 1.0}))
    quick = replace(quick, results=(replace(true, judged=passing), full_only))
    assert store_findings(quick, ledger, "0abc") == []
    (path,) = store_findings(check("invented/full-only", budget="full", seed=2), ledger, "0abc")
    assert path == package / "full" / "invented--full-only.json"
    kept = {"verdict": "holds", "grade": "statistical", "commit": "0abc", "seed": 2}
    assert json.loads(path.read_text()) == kept
    assert "commit 0abc, seed 2" in check("invented/full-only").results[0].decision.reason


def test_a_witness_that_its_replay_does_not_read_leaves_all_files_as_they_were(tmp_path, monkeypatch):
    package, check = copied(tmp_path, monkeypatch)
    ledger = Ledger.of([Paper(package.name, "Copied", package.name, ("claims",))])
    found = check("invented/fixable", "invented/false")
    assert {path.name for path in store_findings(found, ledger, None)} == {
        "invented--fixable.json",
        "invented--false.json",
    }
    before = {path: path.read_bytes() for path in package.rglob("*.json")}
    false, fixable = found.results  # in the order of the ledger
    other = replace(false.judged.printed, witness={"y": 1.0})
    moved = replace(fixable.judged.printed, witness={"x": 0.25})
    changed = tuple(
        replace(one, judged=replace(one.judged, printed=printed)) for one, printed in ((fixable, moved), (false, other))
    )
    with pytest.raises(ReplayError, match=r"invented/false does not read the witness.*KeyError: 'x'"):
        store_findings(replace(found, results=changed), ledger, None)
    assert {path: path.read_bytes() for path in package.rglob("*.json")} == before


def test_a_verdict_is_as_sure_as_its_weakest_part(results):
    sampled = Replayed("witness", True, False, 1.0, 0.5, "sampled")
    proved = Replayed("certificate", True, True, None, None, "proved")
    false, fixed = results["false"], results["proved-fix"]
    assert decide(false.claim, false.judged, (sampled,)).grade == "statistical"
    assert decide(fixed.claim, fixed.judged, (sampled, proved)).grade == "statistical"
    exact = replace(sampled, exact=True)
    assert decide(fixed.claim, fixed.judged, (exact, proved)).grade == "proof"
    assert decide(fixed.claim, fixed.judged, (exact,)).grade == "search"


@pytest.mark.parametrize(("label", "reading"), [("false", ""), ("ambiguous", "half-as-in-eq-2")])
def test_what_is_violated_has_no_certificate(results, label, reading):
    found = results[label]
    proved = Replayed("certificate", True, True, None, None, "proved", reading=reading)
    decision = decide(found.claim, found.judged, (*found.replayed, proved))
    assert decision.defect.endswith("violated, but a certificate of it is stored")


def test_the_level_of_a_verdict_is_the_largest_of_its_forms(results):
    judged = results["false"].judged
    spent = replace(judged, control=replace(judged.control, level=1e-7))
    assert (judged.level, spent.level) == (0.0, 1e-7)


def test_changes_are_of_the_form_that_stands(results):
    for label in ("false", "fixable"):
        (change,) = results[label].changes
        assert (change.constant, change.value) == ("K", 1.0)


def test_an_undecided_control_refutes_nothing(results):
    false = results["false"]
    undecided = replace(false.judged, control=replace(false.judged.control, ok=None, reason="too few draws"))
    assert "its control is undecided: too few draws" in decide(false.claim, undecided, false.replayed).reason


def test_a_file_without_a_replay_says_so(ledger):
    (answer,) = replay_in_fresh_process("invented", [Stored("invented/true", "witness", {"x": 1.0})])
    assert not answer.confirmed
    assert answer.detail == (
        'the witness of this claim has no replay; write one, @replay("invented/true"), in invented/replays.py, which '
        "reads x"
    )


def test_a_ledger_that_contradicts_itself_is_an_error(monkeypatch, ledger):
    true, fixable = ledger.select(["invented/true", "invented/fixable"])

    def of(*claims):
        monkeypatch.setattr(Paper, "claims", lambda paper: claims)
        return Ledger.of([INVENTED])

    assert [c.id for c in of(replace(true, also=("invented/eq-2",)), fixable).select(["invented/eq-2"])] == [true.id]
    with pytest.raises(LedgerError, match="invented/true is declared twice"):
        of(true, fixable, true)
    with pytest.raises(LedgerError, match="invented/fixable uses invented/true, which no paper declares"):
        of(fixable)
    with pytest.raises(LedgerError, match="depend on themselves"):
        of(replace(true, uses=(fixable.id,)), fixable)


THEME = """
from paper_checks.claim import Evidence, claim
@claim(
    "tiny/{name}", where="", says="", measure=lambda context: None, mutants=[{{"K": 0.0}}], also=("tiny/also-{name}",),
    uses=("tiny/{other}",), expect=("holds", "search"),
)
def of_{name}(data, K=1.0):
    return Evidence(K >= 1, "one number", margin=K - 1)
"""


def test_a_command_about_some_claims_loads_the_themes_that_declare_them(tmp_path, monkeypatch):
    package = tmp_path / "tiny"
    package.mkdir()
    for name, text in (
        ("__init__", ""),
        ("replays", ""),
        ("one", THEME.format(name="one", other="two")),
        ("two", THEME.format(name="two", other="three")),
        ("three", "1 / 0"),
    ):
        (package / f"{name}.py").write_text(text)
    (package / "witnesses").mkdir()
    (package / "witnesses" / "tiny--gone.json").write_text("{}")
    monkeypatch.syspath_prepend(str(tmp_path))
    papers = [INVENTED, Paper("tiny", "Tiny", "tiny", ("three", "two", "one"))]
    part = Ledger.around(["tiny/one"], papers)
    assert ([one.id for one in part.claims], part.papers, part.whole) == (["tiny/one"], (papers[1],), False)
    assert "tiny.two" not in sys.modules
    assert run(part.select(["tiny/one"]), part).as_expected  # files of no claim are the business of the whole paper
    assert [one.id for one in Ledger.around(["tiny/one", "tiny/two"], papers).claims] == ["tiny/two", "tiny/one"]
    for ids in ([], ["tiny/"], ["tiny/also-one"], ["tiny/one", "tiny/four"]):
        with pytest.raises(ZeroDivisionError):  # all of it is loaded
            Ledger.around(ids, papers)


def test_slack_and_sensitivity_are_measured(results):
    assert results["loose"].evidence.slack == pytest.approx(5.0, rel=0.05)
    change = results["true"].changes[0]
    assert (change.constant, change.value) == ("K", 1.0)
    assert 1 - 2e-9 <= change.refuted < 1.0


def test_the_same_seed_gives_the_same_json_whatever_the_jobs(ledger):
    names = ("true", "false", "fixable", "other-way-round", "ambiguous")  # readings are other objects in a process
    claims = ledger.select([f"invented/{name}" for name in names])

    def entries(jobs):
        found = [r.as_json() for r in run(claims, ledger, jobs=jobs).results]
        for entry in found:
            del entry["seconds"]
        return json.dumps(found)

    assert entries(1) == entries(1)
    assert entries(1) == entries(2)


def test_streams_are_named_by_claim(ledger):
    alone = run(ledger.select(["invented/undecidable"]), ledger, seed=3).results[0].evidence
    together = run(ledger.select(["invented/true", "invented/undecidable"]), ledger, seed=3).results[1].evidence
    assert alone == together
    assert alone != run(ledger.select(["invented/undecidable"]), ledger, seed=4).results[0].evidence


def test_json_follows_the_contract(results):
    entry = results["false"].as_json()
    assert list(entry) == [
        "id",
        "also",
        "paper",
        "where",
        "verdict",
        "grade",
        "expected",
        "expected_grade",
        "slack",
        "scope",
        "sensitivity",
        "seconds",
        "witness",
        "correction",
        "correction_is",
        "reason",
        "says",
        "kind",
        "importance",
        "intended",
        "print",
        "finding",
        "family",
        "because",
        "readings",
        "constants",
        "hypotheses",
        "printed",
        "obtained",
        "left",
        "right",
        "replay",
        "source",
        "replay_source",
        "proofs",
        "witness_words",
        "formal",
    ]
    assert entry["witness"] == {"x": 1.0}
    json.dumps(entry)


def test_witnesses_are_stored_whole_and_then_replay(tmp_path, monkeypatch):
    package = tmp_path / "copied"
    package.mkdir()
    for name in ("__init__.py", "claims.py", "replays.py"):
        (package / name).write_text((HERE / "invented" / name).read_text())
    monkeypatch.syspath_prepend(str(tmp_path))
    ledger = Ledger.of([Paper("copied", "Copied", "copied", ("claims",))])
    claims = ledger.select(["invented/false"])
    first = run(claims, ledger)
    assert "no witness is stored" in first.results[0].decision.reason
    (path,) = store_findings(first, ledger, None)
    assert json.loads(path.read_text())["id"] == "invented/false"
    assert run(claims, ledger).results[0].decision.verdict == "refuted"


def test_unknown_ids_and_papers_are_named(ledger):
    with pytest.raises(LedgerError, match="no claim 'invented/treu'; did you mean invented/true"):
        ledger.select(["invented/treu"])
    with pytest.raises(LedgerError, match="no paper 'other'; known: invented"):
        ledger.select(paper="other")


def test_nothing_selected_is_an_error(ledger):
    with pytest.raises(LedgerError, match="no claim ''"):
        ledger.select([""])
    with pytest.raises(LedgerError, match="no claim among invented/true is on record as refuted"):
        ledger.select(["invented/true"], verdict="refuted")
    with pytest.raises(LedgerError, match="no claim is of invented and on record as corrected"):
        Ledger(ledger.papers, ledger.claims[:1], ledger.home).select(paper="invented", verdict="corrected")
    chosen = ledger.select(["invented/true", "invented/false"], "inv", "refuted")
    assert [claim.id for claim in chosen] == ["invented/false"]
    assert ledger.select() == ledger.claims


def test_ids_may_be_prefixes_but_an_exact_id_is_only_itself(ledger):
    assert len(ledger.select(["invented/"])) == len(ledger.claims)
    assert [c.id for c in ledger.select(["invented/false"])] == ["invented/false"]


def test_themes_that_share_runs_are_one_piece_of_work():
    paper = replace(INVENTED, themes=("a", "b", "c"), together=(("a", "b"),))
    pieces = [paper.piece(f"invented.{theme}") for theme in "abc"]
    assert pieces[0] == pieces[1] != pieces[2]
