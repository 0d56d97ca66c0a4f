"""The pytest door: every claim ends with the verdict on record. A refuted theorem is a green test."""

from itertools import groupby

import pytest

from paper_checks.claim import FAILING
from paper_checks.context import SUITE_LEVEL
from paper_checks.ledger import Ledger
from paper_checks.replay import Stored, replay_in_fresh_process, stored
from paper_checks.run import run

LEDGER = Ledger.of()
THEMES = {theme: tuple(claims) for theme, claims in groupby(LEDGER.claims, key=lambda claim: claim.module)}


@pytest.mark.slow  # `make verify` checks every claim as well
@pytest.mark.parametrize("theme", THEMES)
def test_verdicts_of_a_theme_are_those_on_record(theme, monkeypatch, stored_answers):
    monkeypatch.setattr("paper_checks.run.replay_in_fresh_process", stored_answers)
    for result in run(THEMES[theme], LEDGER).results:
        found = f"{result.decision.verdict} ({result.decision.grade}), {result.decision.reason}"
        assert result.as_expected, f"{result.claim.id}: {found}; on record {result.claim.expect}"


@pytest.mark.parametrize("claim", LEDGER.claims, ids=lambda claim: claim.id)
def test_claim_is_declared_completely(claim):
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
