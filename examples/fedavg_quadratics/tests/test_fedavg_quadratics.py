"""Every verdict is the recorded one, every stored file replays, and the pages are current."""

from pathlib import Path

import pytest
from fedavg_quadratics.paper import PAPER

from paper_checks.findings import write_pages
from paper_checks.ledger import Ledger
from paper_checks.run import run

LEDGER = Ledger.of([PAPER])
DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def results():
    """Return the results of all claims by id, each measured and replayed once."""
    return {result.claim.id: result for result in run(LEDGER.claims, LEDGER).results}


@pytest.mark.parametrize("claim", LEDGER.claims, ids=lambda claim: claim.label)
def test_the_verdict_is_the_recorded_one(claim, results):
    assert results[claim.id].as_expected, results[claim.id].decision


def test_every_stored_file_replays(results):
    answers = [answer for result in results.values() for answer in result.replayed]
    assert [answer.detail for answer in answers if not answer.confirmed] == []


def test_every_replay_can_fail(results):
    answers = [answer for result in results.values() for answer in result.replayed]
    assert [answer.cannot_fail for answer in answers if answer.cannot_fail] == []


def test_pages_are_current(tmp_path):
    for path in write_pages(tmp_path, [PAPER]):
        committed = DOCS / path.relative_to(tmp_path)
        assert committed.read_text() == path.read_text(), "run `rankproof pages --papers . --out docs`"
