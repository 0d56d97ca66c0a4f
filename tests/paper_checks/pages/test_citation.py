"""BibTeX entries of verdicts: what they name, and what they leave out outside of a checkout."""

import re
from dataclasses import replace

import pytest

from paper_checks.ledger import PAPERS, Ledger, LedgerError
from paper_checks.pages import citation
from paper_checks.pages.citation import Code, bibtex_of, bibtex_of_finding, bibtex_of_paper, print_entries

LEDGER = Ledger.around(["fedlrt/thm-2", "fedlrt/thm-8"])


def entry(id, commit="0123abcd", date="2026-02-03", **changes):
    (claim,) = LEDGER.select([id])
    return bibtex_of(replace(claim, **changes), LEDGER.home[claim.id], Code("1.2.3", commit, date))


def fields(text):
    return dict(re.findall(r"^  (\w+) *= \{(.*)\},$", text, re.MULTILINE))


def test_an_entry_names_claim_verdict_finding_code_and_paper():
    text = entry("fedlrt/thm-2")
    first, *_, last = text.splitlines()
    assert (first, last) == ("@software{rankproof-fedlrt-thm-2,", "}")
    assert fields(text) == {
        "author": "{The rankproof developers}",
        "title": "{rankproof}: fedlrt/thm-2, FeDLRT, Section 3.2, Theorem 2, eq. (12)",
        "version": "1.2.3",
        "year": "2026",
        "note": "Verdict: corrected; grade: kernel; finding: truncation-cost; commit 0123abcd",
    }


def test_a_claim_without_a_finding_outside_of_a_checkout_has_neither():
    found = fields(entry("fedlrt/thm-8", commit=None, date=None))
    assert found["note"] == "Verdict: holds; grade: kernel"
    assert "year" not in found


@pytest.mark.parametrize(
    ("where", "written"),
    [
        ("Section 2, 5 % of $a_b; c$ in s_1; more", r"Section 2, 5 \% of $a_b; c$ in s\_1"),
        ("A & B, item #3", r"A \& B, item \#3"),
    ],
)
def test_what_latex_would_take_for_a_command_is_escaped_outside_formulas(where, written):
    assert fields(entry("fedlrt/thm-8", where=where))["title"].endswith(f"FeDLRT, {written}")


def test_the_paper_has_an_entry_of_its_own():
    (paper,) = (one for one in PAPERS if one.name == "fedlrt")
    text = bibtex_of_paper(paper)
    assert text.startswith("@misc{fedlrt,\n")
    assert fields(text) == {
        "author": "Steffen Schotthöfer and M. Paul Laiu",
        "title": "{Federated Dynamical Low-Rank Training with Global Loss Convergence Guarantees}",
        "year": "2024",
        "eprint": "2406.17887",
        "archiveprefix": "arXiv",
        "url": "https://arxiv.org/abs/2406.17887v1",
    }


def test_a_paper_without_names_is_a_comment():
    (paper,) = (one for one in PAPERS if one.name == "rolora")
    text = bibtex_of_paper(replace(paper, authors=(), cited="A. Author, draft", link=""))
    assert text == f"% Cite also the paper: {paper.title}, A. Author, draft"


def test_a_finding_has_an_entry_with_its_claims():
    paper, finding = LEDGER.finding("truncation-cost")
    assert LEDGER.finding("fedlrt/truncation-cost") == (paper, finding)
    text = bibtex_of_finding(finding, paper, Code("1.2.3", "0123abcd", "2026-02-03"))
    assert text.startswith("@software{rankproof-fedlrt-truncation-cost,\n")
    assert fields(text)["note"] == "Finding on fedlrt/thm-2, fedlrt/eq-36; commit 0123abcd"
    assert fields(text)["title"].startswith(
        "{rankproof}: fedlrt/truncation-cost, FeDLRT, Truncation can raise the loss"
    )


def test_a_finding_of_several_papers_needs_the_name_of_one():
    ledger = Ledger.of(PAPERS)
    names = [finding.id for paper in PAPERS for finding in paper.findings]
    double = next(name for name in names if names.count(name) > 1)
    with pytest.raises(LedgerError, match=f"several papers have a finding '{double}'; name fed"):
        ledger.finding(double)
    assert ledger.finding("no-such-finding") is None


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (None, ""),
        ((), ""),
        (("a.py",), "a.py differs from the commit"),
        (("a.py", "b.py"), "a.py and 1 more differ from the commit"),
        (("a.py", "b.py", "c.py"), "a.py and 2 more differ from the commit"),
    ],
)
def test_changed_files_are_counted_beyond_the_one_that_is_named(changed, told, monkeypatch, capsys):
    monkeypatch.setattr(citation, "commit_of_code", lambda: ("0123abcd", "2026-02-03", changed))
    print_entries(LEDGER, ["fedlrt/thm-8"])
    note = f"rankproof: {told}; commit your changes before you cite it\n" if told else ""
    assert capsys.readouterr().err == note


def test_findings_come_first_then_claims_and_their_paper_once(monkeypatch, capsys):
    monkeypatch.setattr(citation, "commit_of_code", lambda: ("0123abcd", "2026-02-03", ()))
    print_entries(LEDGER, ["fedlrt/thm-8", "fedlrt/truncation-cost", "fedlrt/thm-2"])
    keys = re.findall(r"^@(\w+)\{(.*),$", capsys.readouterr().out, re.MULTILINE)
    assert keys[0] == ("software", "rankproof-fedlrt-truncation-cost")
    assert sorted(keys[1:3]) == [("software", "rankproof-fedlrt-thm-2"), ("software", "rankproof-fedlrt-thm-8")]
    assert keys[3:] == [("misc", "fedlrt")]


def test_a_finding_alone_comes_with_its_paper(monkeypatch, capsys):
    monkeypatch.setattr(citation, "commit_of_code", lambda: ("0123abcd", "2026-02-03", ()))
    print_entries(LEDGER, ["fedlrt/truncation-cost"])
    keys = re.findall(r"^@\w+\{(.*),$", capsys.readouterr().out, re.MULTILINE)
    assert keys == ["rankproof-fedlrt-truncation-cost", "fedlrt"]
