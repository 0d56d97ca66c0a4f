"""The pytest door: every claim ends with the verdict on record. A refuted theorem is a green test."""

import pytest

from paper_checks.claim import FAILING
from paper_checks.context import SUITE_LEVEL
from paper_checks.ledger import Ledger
from paper_checks.replay import Stored, replay_in_fresh_process, stored
from paper_checks.run import run

LEDGER = Ledger.of()


@pytest.mark.parametrize("claim", LEDGER.claims, ids=lambda claim: claim.id)
def test_verdict_is_the_one_on_record(claim):
    result = run([claim], LEDGER).results[0]
    assert result.as_expected, f"{result.decision.verdict} instead of {claim.expect}: {result.decision.reason}"


@pytest.mark.parametrize("claim", LEDGER.claims, ids=lambda claim: claim.id)
def test_claim_is_declared_completely(claim):
    assert claim.method
    assert claim.vary or claim.expect != "holds"
    assert bool(claim.because) == (claim.expect in FAILING)
    if claim.expect in ("refuted", "corrected"):
        assert claim.control is not None
    if claim.expect == "corrected":
        assert claim.correction is not None
        assert claim.correction.mutants
    texts = [claim.because, *(text for reading in claim.readings for text in (reading.says, reading.why))]
    for text in (claim.says, claim.correction.says if claim.correction else "", *texts):
        assert text.count("$") % 2 == 0


@pytest.mark.parametrize("paper", LEDGER.papers, ids=lambda paper: paper.name)
def test_no_replay_confirms_an_empty_witness(paper):
    claims = [claim for claim in LEDGER.claims if LEDGER.home[claim.id] == paper]
    files = [file for claim in claims for file in stored(paper.folder, claim.id)]
    emptied = [Stored(file.id, file.kind, {}) for file in files]
    assert emptied or all(claim.expect in ("holds", "not checkable here") for claim in claims)
    for file, answer in zip(emptied, replay_in_fresh_process(paper.package, emptied), strict=True):
        assert not answer.confirmed, file.id


def test_the_suite_stays_within_its_error_budget():
    assert len(LEDGER.claims) * 1e-6 <= SUITE_LEVEL
