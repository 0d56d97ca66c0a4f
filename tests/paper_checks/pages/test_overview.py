"""The page of all findings is that of the ledger, and lists what changes or weakens a result."""

import re
from pathlib import Path

import pytest

from paper_checks.ledger import PAPERS
from paper_checks.pages.markdown import mathematics
from paper_checks.pages.overview import NAME, overview

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = (DOCS / NAME).read_text(encoding="utf-8")


def test_the_page_in_docs_is_current():
    assert overview() == PAGE, "run `make docs`"


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_findings_that_change_a_result_are_listed_and_others_counted(paper):
    part = PAGE.split(f"## {paper.called}\n")[1].split("\n## ")[0]
    shown, _, folded = part.partition("<details>")
    for finding in paper.findings:
        headline = f"- {mathematics(finding.headline.rstrip('.'))} (["
        assert (headline in shown) == (finding.changes == "changes a main result")
        assert (headline in folded) == (finding.changes == "weakens a result")
    nothing = sum(finding.changes == "changes nothing" for finding in paper.findings)
    assert f"{nothing} findings change nothing" in part


def test_the_link_of_a_finding_leads_to_the_statement_in_its_headline():
    (line,) = (line for line in PAGE.splitlines() if line.startswith("- Theorem 3.2's lower bound"))
    assert "[fedloru-v2/thm-3.2](fedloru-spectral-theory.md#fedloru-v2thm-32)" in line


def test_it_takes_two_screens():
    """A screen holds about 400 words; what is folded does not count."""
    assert len(re.sub("<details>.*?</details>", "", PAGE, flags=re.S).split()) < 800
