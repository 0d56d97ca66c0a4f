"""The pages of findings are those that the ledger, the witnesses and their replays give."""

from functools import cache
from pathlib import Path

import pytest

from paper_checks import findings
from paper_checks.findings import PARTS
from paper_checks.ledger import PAPERS
from paper_checks.replay import stored_path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [(paper, page) for paper in PAPERS for page in paper.pages]


@pytest.fixture(autouse=True)
def _each_file_once(monkeypatch, stored_answers):
    monkeypatch.setattr(findings, "replay_in_fresh_process", stored_answers)


@cache
def written(name):
    """Return a page of findings."""
    paper, page = next((paper, page) for paper, page in PAGES if page.name == name)
    return findings.findings_page(paper, page, DOCS)


@cache
def proofs(package):
    """Return the pages of a paper's proofs."""
    return findings.proof_pages(next(paper for paper in PAPERS if paper.package == package))


@pytest.mark.parametrize(("paper", "page"), PAGES, ids=lambda part: part.name)
def test_the_page_in_docs_is_current(paper, page):
    committed = (DOCS / f"{page.name}.md").read_text(encoding="utf-8")
    assert written(page.name) == committed, "run `make docs`"


@pytest.mark.parametrize(("paper", "page"), PAGES, ids=lambda part: part.name)
def test_every_claim_of_a_page_is_told_with_its_command(paper, page):
    text = (DOCS / f"{page.name}.md").read_text(encoding="utf-8")
    for theme in page.themes:
        for claim in paper.read_theme(theme)[1]:
            assert f"`rankproof check {claim.id}`" in text
            if not claim.is_plain:
                assert f"[{claim.id}](#" in text
    assert "does not replay" not in text
    parts = [text.index(f"## {title}") for title in PARTS.values() if f"## {title}" in text]
    assert parts == sorted(parts)


@pytest.mark.parametrize(("paper", "page"), PAGES, ids=lambda part: part.name)
def test_headlines_rest_on_claims_of_their_page(paper, page):
    told = {claim.id for theme in page.themes for claim in paper.read_theme(theme)[1]}
    assert page.headlines
    for headline in page.headlines:
        assert headline.claims
        assert set(headline.claims) <= told
        assert headline.says.count("$") % 2 == 0


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.package)
def test_every_proof_has_its_current_page(paper):
    pages = proofs(paper.package)
    prefixes = {claim.id.split("/")[0] for claim in paper.claims()}
    committed = [path.stem for path in (DOCS / "proofs").glob("*.md") if path.stem.split("--")[0] in prefixes]
    assert sorted(committed) == sorted(pages), "run `make docs`"
    for name, text in pages.items():
        assert (DOCS / "proofs" / f"{name}.md").read_text(encoding="utf-8") == text, "run `make docs`"
        assert "NOT VERIFIED" not in text
        argument = text.split("## Setting" if "## Setting" in text else "## Proof")[1]
        argument = argument.split("## What a machine verifies")[0]
        assert len(argument.split()) >= 25, f"{name} is not an argument"
        assert text.count("$`") == text.count("`$")


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.package)
def test_a_proof_says_which_statement_it_proves(paper):
    """The correction if its reading has a witness on file; else that reading, or what is printed, and no other."""
    pages = dict(proofs(paper.package))
    for claim in paper.claims():
        for reading, id in zip(claim.readings, claim.file_ids(), strict=True):
            text = pages.pop(id.replace("/", "--").replace("@", "--"), None)
            if text is None:
                continue
            kind = f"in the reading “{reading.name}”" if reading.says else "as printed"
            if stored_path(paper.folder, id, "witness").exists():
                kind = f"as corrected; it does not hold {kind}"
            assert f"; {kind}." in text.splitlines()[2], id
            assert ("\nAs corrected:" in text) == kind.startswith("as corrected"), id
            assert ("\nIn this reading:" in text) == kind.startswith("in the reading"), id
    assert not pages


def entry_of(name, id):
    """Return the entry of a claim on a page."""
    return written(name).split(f"#### {id}\n")[1].split("####")[0]


def test_an_entry_tells_a_proof_of_the_correction_from_one_of_a_reading():
    """Lemma A.1 b) fails as printed; its correction and one reading are proved."""
    entry = entry_of("fedloru-spectral-theory", "fedloru-v2/lem-A.1b")
    assert "Outline of the proof of the corrected form ([in full](proofs/fedloru-v2--lem-A.1b.md))" in entry
    vaguely = "([in full](proofs/fedloru-v2--lem-A.1b--vaguely.md))"
    assert f"Outline of the proof for the reading “vaguely” {vaguely}" in entry


def test_an_exact_value_is_told_as_it_is():
    """Rounded to four digits, 3.9997 would be printed as 4."""
    assert "3.9997 > 2 (exact" in entry_of("fedloru-convergence", "fedloru-v2/lem-B.7-mid")


def test_a_reading_that_stands_alone_is_told():
    """Algorithm 2 is judged with the matrices that were sent; its result is shown next to the printed text."""
    entry = entry_of("fedlrt-analysis", "fedlrt/alg-2")
    assert "| the matrices that were sent | The same with" in entry
    assert entry.count("| holds |") == 1
