"""The numbers behind verdicts are on record: what counts as a change, and who may change it."""

import json
import threading
from dataclasses import replace

import pytest

from paper_checks.engine import evidence_record
from paper_checks.engine.evidence_record import NAME, agree, differences, evidence_of
from paper_checks.ledger import Ledger
from paper_checks.paper import Paper
from paper_checks.replay import ReplayError
from paper_checks.run import run

IDS = ("invented/true", "invented/false", "invented/fixable")


@pytest.fixture(scope="module")
def ledger():
    return Ledger.of([Paper("invented", "Invented", "invented", ("claims",))])


@pytest.fixture(scope="module")
def results(ledger):
    return run(ledger.select(IDS), ledger).results


@pytest.mark.parametrize(
    ("before", "found", "equal"),
    [
        ("x <= 0.31", "x <= 0.32", True),
        ("x <= 0.31", "x <= 0.33", False),
        ("x <= 1.2", "x <= 1.29", True),
        ("x <= 1.29", "x <= 1.2", True),
        ("x <= 1.2", "x <= 1.31", False),
        ("x <= 1.31", "x <= 1.2", False),
        ("x <= 0.31", "y <= 0.31", False),
        ("1.14211e-08 within 7.2e-08", "1.14212e-08 within 7.3e-08", True),
        ("1.14211e-08", "1.14213e-08", False),
        ("9.99e-09", "1.00e-08", True),
        ("15 quantities", "16 quantities", False),
        ("at least 1", "at least 1.9", False),
        ("slope 4", "slope 4.9", False),
        ("10", "10.9", False),
        ("1e+06", "2e+06", False),
        ("1.0e+06", "1.1e+06", True),
        ("1e-05", "2e-05", False),
        ("0.0001", "1e400", False),
        ("1e400", "1e400", True),
        ("15 quantities", "15 quantities, 3 seeds", False),
        ("-206.78 > -237.11", "206.78 > -237.11", False),
        ("5.1e-15 and 1e-05", "8.7e-15 and 1e-05", True),
        ("9e-13 and 1e-05", "2e-12 and 1e-05", False),
        (1.0, 1.0 + 9e-7, True),
        (1.0, 1.0 + 2e-6, False),
        (0.0, 9e-13, True),
        (0.0, 2e-12, False),
        (-0.3, 0.3, False),
        (float("inf"), float("inf"), True),
        (float("inf"), -float("inf"), False),
        (3, 4, False),
        (True, 1, False),
        (None, 0.0, False),
        (None, None, True),
        ([1.0, 2.0], [1.0, 2.0 + 1e-8], True),
        ([1.0, 2.0], [2.0, 1.0], False),
        ([1.0, 2.0], [1.0], False),
        ("1", 1, False),
    ],
)
def test_a_number_is_the_same_up_to_rounding(before, found, equal):
    assert agree(before, found) is agree(found, before) is equal


def test_every_form_is_on_record(results):
    true, false, fixable = map(evidence_of, results)
    assert {"printed states", "printed obtains", "printed margin"} <= set(true)
    assert any(name.endswith(": margin") for name in true), "mutants"
    assert any(name.endswith(" refuted") for name in true), "noticed changes"
    assert "control margin" in false
    assert {"correction margin", "control margin"} <= set(fixable)
    assert any(name.startswith("correction, ") and name.endswith(" ok") for name in fixable), "neighbours"
    assert {"witness sides", "witness assumes", "witness shows"} <= set(fixable)


def test_a_change_is_named_and_kept_only_when_asked(tmp_path, results):
    assert evidence_record.read_record(tmp_path) == {}
    evidence_record.write(tmp_path, results, IDS)
    record = evidence_record.read_record(tmp_path)
    assert list(record) == list(IDS)
    assert not [one for result in results for one in differences(result, record)]
    true, *others = results
    assert true.judged is not None
    printed = replace(true.judged.printed, margin=0.25, obtained="9")
    other = replace(true, judged=replace(true.judged, printed=printed))
    states, margin = differences(other, record)
    assert (states.claim, states.name, states.found) == ("invented/true", "printed obtains", "9")
    assert str(margin) == f"invented/true: printed margin was {true.judged.printed.margin} and is 0.25"
    evidence_record.write(tmp_path, [other], IDS)
    again = evidence_record.read_record(tmp_path)
    assert again["invented/true"]["printed margin"] == 0.25
    assert {id: again[id] for id in IDS[1:]} == {id: record[id] for id in IDS[1:]}
    evidence_record.write(tmp_path, others, IDS[1:])
    assert list(evidence_record.read_record(tmp_path)) == list(IDS[1:]), "claims that are gone"


def test_what_a_claim_lacks_or_has_more_is_a_change(tmp_path, results):
    evidence_record.write(tmp_path, results[:1], IDS)
    record = evidence_record.read_record(tmp_path)
    numbers = record["invented/true"]
    margin = numbers.pop("printed margin")
    numbers["correction margin"] = 0.5
    found = {(one.name, one.before, one.found) for one in differences(results[0], record)}
    assert found == {("printed margin", None, margin), ("correction margin", 0.5, None)}


def test_a_claim_whose_extra_is_missing_is_neither_compared_nor_lost(tmp_path, results):
    evidence_record.write(tmp_path, results[:1], IDS)
    before = evidence_record.read_record(tmp_path)
    decision = replace(results[0].decision, excused=True)
    excused = replace(results[0], decision=decision, judged=None)
    assert not list(differences(excused, before))
    evidence_record.write(tmp_path, [excused], IDS)
    assert evidence_record.read_record(tmp_path) == before


@pytest.mark.parametrize(("factor", "changed"), [(1.09, 0), (1.12, 1), (-1.0, 1)])
def test_a_mutant_that_a_search_refutes_may_end_a_little_elsewhere(tmp_path, results, factor, changed):
    evidence_record.write(tmp_path, results, IDS)
    record = evidence_record.read_record(tmp_path)
    name = next(name for name, value in record["invented/true"].items() if name.endswith(": margin") and value)
    record["invented/true"][name] *= factor
    assert len(list(differences(results[0], record))) == changed


@pytest.mark.parametrize(("factor", "changed"), [(1 + 1e-8, 0), (1 + 1e-5, 1), (1.09, 1)])
def test_a_margin_of_a_form_is_compared_to_rounding(tmp_path, results, factor, changed):
    evidence_record.write(tmp_path, results, IDS)
    record = evidence_record.read_record(tmp_path)
    record["invented/false"]["printed margin"] *= factor
    assert len(list(differences(results[1], record))) == changed


@pytest.mark.parametrize("content", ["", "[]", '{"a": 1}', "{" * 100_000])
def test_a_file_that_is_no_record_is_refused_and_kept(tmp_path, results, content):
    (tmp_path / NAME).write_text(content)
    with pytest.raises(ReplayError, match="is not a record of evidence"):
        evidence_record.write(tmp_path, results, IDS)
    assert (tmp_path / NAME).read_text() == content


def test_a_record_of_other_claims_is_not_replaced(tmp_path, results):
    content = json.dumps({"another/claim": {"margin": 1.0}})
    (tmp_path / NAME).write_text(content)
    with pytest.raises(OSError, match=NAME):
        evidence_record.write(tmp_path, results, IDS)
    assert (tmp_path / NAME).read_text() == content


def test_two_checks_that_record_at_the_same_time_keep_the_numbers_of_both(tmp_path, results, monkeypatch):
    """The second one comes between the moment at which the first reads the record and that at which it writes it."""
    ids = [result.claim.id for result in results]
    own, second = evidence_of, threading.Thread(target=lambda: evidence_record.write(tmp_path, results[1:2], ids))

    def meet(result):
        if result is results[0]:
            second.start()
            second.join(0.05)
        return own(result)

    monkeypatch.setattr(evidence_record, "evidence_of", meet)
    evidence_record.write(tmp_path, results[:1], ids)
    second.join()
    assert evidence_record.read_record(tmp_path).keys() == {*ids[:2]}
