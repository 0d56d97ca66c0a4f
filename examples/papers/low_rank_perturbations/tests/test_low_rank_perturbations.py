"""Every verdict is the recorded one, every stored file replays, and the pages are current."""

from pathlib import Path

import pytest
from low_rank_perturbations.paper import PAPER

from paper_checks.findings import write_pages
from paper_checks.ledger import Ledger
from paper_checks.replay import replay_in_fresh_process
from paper_checks.run import run

LEDGER = Ledger.of([PAPER])
FILES = [file for claim in LEDGER.claims for file in PAPER.to_replay(claim.id)]
DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("claim", LEDGER.claims, ids=lambda claim: claim.label)
def test_the_verdict_is_the_recorded_one(claim):
    (result,) = run([claim], LEDGER).results
    assert result.as_expected, result.decision


def test_every_witness_and_proof_replays():
    answers = replay_in_fresh_process(PAPER.package, FILES)
    assert [answer.detail for answer in answers if not answer.confirmed] == []


def test_every_replay_can_fail():
    answers = replay_in_fresh_process(PAPER.package, FILES)
    assert [answer.cannot_fail for answer in answers if answer.cannot_fail] == []


def test_pages_are_current(tmp_path):
    for path in write_pages(tmp_path, [PAPER]):
        committed = DOCS / path.relative_to(tmp_path)
        assert committed.read_text() == path.read_text(), "run `rankproof pages --papers . --out docs`"
