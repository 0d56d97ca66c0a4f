"""Every way a claim can end, on invented claims whose truth is known."""

import json
from pathlib import Path

import pytest

from paper_checks.ledger import Ledger, LedgerError, Paper
from paper_checks.run import run, store_findings

HERE = Path(__file__).parent
INVENTED = Paper("invented", "Invented", "invented", ("claims",))


@pytest.fixture(scope="module")
def ledger():
    return Ledger.of([INVENTED])


@pytest.fixture(scope="module")
def results(ledger):
    found = run(ledger.claims, ledger, search_path=[str(HERE)])
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
        ("outside", "an assumption is not met: x in [0, 1]"),
        ("cheating-replay", "may not import rmt"),
        ("no-witness", "no witness is stored"),
        ("no-control", "there is no control"),
        ("missed-witness", "still violates the statement"),
        ("bad-certificate", "certificate does not verify"),
        ("unproved-fix", "certificate of the correction does not verify"),
        ("raises", "ZeroDivisionError"),
    ],
)
def test_defective_checks_support_nothing(results, label, reason):
    decision = results[label].decision
    assert decision.verdict == "not checkable here"
    assert reason in decision.reason
    assert decision.defect
    assert not results[label].as_expected


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


def test_slack_and_sensitivity_are_measured(results):
    assert results["loose"].evidence.slack == pytest.approx(5.0, rel=0.05)
    change = results["true"].changes[0]
    assert (change.constant, change.value) == ("K", 1.0)
    assert 1 - 2e-9 <= change.refuted < 1.0


def test_the_same_seed_gives_the_same_json_whatever_the_jobs(ledger):
    claims = ledger.select(["invented/true", "invented/false", "invented/fixable"])

    def entries(jobs):
        found = [r.as_json() for r in run(claims, ledger, jobs=jobs, search_path=[str(HERE)]).results]
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
    assert list(entry) == ["id", "also", "paper", "where", "verdict", "grade", "expected", "expected_grade",
                           "slack", "scope", "sensitivity", "seconds", "witness", "correction", "reason", "says",
                           "kind", "printed", "obtained", "left", "right", "replay"]  # fmt: skip
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
    first = run(claims, ledger, search_path=[str(tmp_path)])
    assert "no witness is stored" in first.results[0].decision.reason
    (path,) = store_findings(first, ledger, None)
    assert json.loads(path.read_text())["id"] == "invented/false"
    assert run(claims, ledger, search_path=[str(tmp_path)]).results[0].decision.verdict == "refuted"


def test_rivals_are_all_the_forms_a_measurement_must_tell_apart(ledger):
    (fixable,) = ledger.select(["invented/fixable"])
    assert [form["K"] for form in fixable.rivals()] == [0.5, 1.0, 0.95]
    (true,) = ledger.select(["invented/true"])
    assert true.rivals() == ({"K": 1.0, "power": 1}, {"K": 0.9, "power": 1}, {"K": 0.5, "power": 2})


def test_unknown_ids_and_papers_are_named(ledger):
    with pytest.raises(LedgerError, match="no claim 'invented/treu'; did you mean invented/true"):
        ledger.select(["invented/treu"])
    with pytest.raises(LedgerError, match="no paper 'other'; known: invented"):
        ledger.select(paper="other")


def test_ids_may_be_prefixes_but_an_exact_id_is_only_itself(ledger):
    assert len(ledger.select(["invented/"])) == len(ledger.claims)
    assert [c.id for c in ledger.select(["invented/false"])] == ["invented/false"]
