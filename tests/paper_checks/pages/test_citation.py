"""BibTeX entries of verdicts: what they name, and what they leave out outside of a checkout."""

import re
from dataclasses import replace

import pytest

from paper_checks.ledger import Ledger
from paper_checks.pages.citation import bibtex_of

LEDGER = Ledger.around(["fedlrt/thm-2", "fedlrt/thm-8"])


def entry(id, commit="0123abcd", date="2026-02-03", **changes):
    (claim,) = LEDGER.select([id])
    return bibtex_of(replace(claim, **changes), LEDGER.home[claim.id], "1.2.3", commit, date)


def fields(text):
    return dict(re.findall(r"^  (\w+) *= \{(.*)\},$", text, re.MULTILINE))


def test_an_entry_names_claim_verdict_finding_code_and_paper():
    text = entry("fedlrt/thm-2")
    comment, first, *_, last = text.splitlines()
    assert comment.startswith("% Cite also the paper: Federated Dynamical Low-Rank Training with")
    assert comment.endswith("https://arxiv.org/abs/2406.17887v1")
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
