"""Findings: each claim that does not simply hold as printed is explained by one root cause of its paper."""

import json
import re
from dataclasses import replace

import pytest

import rankproof
from paper_checks.claim import FAILING, Intended
from paper_checks.ledger import PAPERS, Ledger, LedgerError, Paper
from paper_checks.pages.findings_text import findings_text
from paper_checks.paper import CHANGES, Finding

LEDGER = Ledger.of()
DEFAULT = Intended("literal", "the paper says so word for word")
ONE = Finding("one-cause", "A bound is too small", "changes a proof only", ("a/eq-1",), "2 > 1.", "Use 2.")


@pytest.mark.parametrize("claim", LEDGER.claims, ids=lambda claim: claim.id)
def test_a_claim_that_is_not_plain_has_a_finding_and_a_reason(claim):
    finding = LEDGER.home[claim.id].finding_of(claim.id)
    assert (finding is None) == claim.is_plain
    if claim.expect in FAILING or claim.print != "as meant" or len(claim.readings) > 1:
        assert claim.intended.why != DEFAULT.why
    assert claim.intended.why.count("$") % 2 == 0


SLIP = re.compile("our copy|lacks|misprint|nowhere|not defined|undefined")
"""Words by which a place tells that the print differs from what is meant."""


@pytest.mark.parametrize("claim", LEDGER.claims, ids=lambda claim: claim.id)
def test_a_print_that_says_so_word_by_word_has_no_slip_on_its_card(claim):
    """A recorded slip of the authors is a misprint; one that may be of our copy has its reason."""
    if claim.intended.why == DEFAULT.why:
        assert not SLIP.search(f"{claim.where} {claim.because}")


RESULT = r"(Lemma|Theorem|Proposition|Corollary) ([A-Z]?\.?\d+(?:\.\d+)?)"


def proved_in(where):
    """Return the results whose proofs a place is in."""
    return set(re.findall(f"proof of {RESULT}", where))


def stated_in(where):
    """Return the results that a place states."""
    return set(re.findall(f"(?<!of ){RESULT}", re.sub(r"\([^)]*\)", "", where)))


def test_a_result_that_holds_names_the_lines_of_its_proof_that_fail():
    named = []
    for paper in PAPERS:
        claims = [(claim.id.split("/")[0], claim) for claim in paper.claims()]
        for version, line in claims:
            if line.expect not in FAILING:
                continue
            for other, result in claims:
                states = other == version and result.expect == "holds" and not proved_in(result.where)
                if states and stated_in(result.where) & proved_in(line.where):
                    assert line.id in f"{result.where} {result.because}", (result.id, line.id)
                    named.append(result.id)
    assert "fedloru-v2/lem-B.7" in named


def test_few_statements_are_ambiguous():
    found = [claim.importance for claim in LEDGER.claims if claim.expect == "ambiguous"]
    assert len(found) <= 20
    assert found.count("result") <= 3


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_findings_of_a_paper_are_few_and_the_most_consequential_come_first(paper):
    assert 15 <= len(paper.findings) <= 26
    order = [CHANGES.index(finding.changes) for finding in paper.findings]
    assert order == sorted(order)
    assert len({finding.id for finding in paper.findings}) == len(paper.findings)
    for finding in paper.findings:
        assert len(finding.headline) <= 140
        assert all(text.count("$") % 2 == 0 for text in (finding.headline, finding.witness, finding.advice))


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"id": "One cause"}, "lower-case words joined by hyphens, got 'One cause'"),
        ({"changes": "changes little"}, "got 'changes little'"),
        ({"witness": ""}, "a finding needs a headline, entries, a witness and advice"),
        ({"entries": ()}, "a finding needs a headline, entries, a witness and advice"),
    ],
)
def test_a_finding_is_complete(fields, complaint):
    with pytest.raises(ValueError, match=complaint):
        replace(ONE, **fields)


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        (
            (("rolora/lem-A.7",),),
            "the finding cause-0 explains rolora/lem-A.7, which holds as printed: leave that entry out",
        ),
        ((("rolora/eq-0",),), "the finding cause-0 explains rolora/eq-0, which rolora does not claim"),
        (
            (("rolora/lem-5.3",), ("rolora/lem-5.3",)),
            "rolora/lem-5.3 is explained by two findings; cause-0 and cause-1",
        ),
    ],
)
def test_a_finding_explains_claims_of_its_paper_and_no_two_the_same(entries, complaint):
    paper = next(paper for paper in PAPERS if paper.name == "rolora")
    findings = tuple(replace(ONE, id=f"cause-{place}", entries=some) for place, some in enumerate(entries))
    with pytest.raises(LedgerError, match=complaint):
        Ledger.of([replace(paper, findings=findings)])


def test_findings_are_printed_with_what_they_change_and_explain(capsys):
    assert rankproof.main(["findings", "rolora"]) == 0
    text = capsys.readouterr().out
    (paper,) = (paper for paper in PAPERS if paper.name == "rolora")
    assert text == findings_text(paper) + "\n"
    assert all(len(line) <= 100 for line in text.splitlines())
    first = paper.findings[0]
    assert f"\n1. [{first.id}] {first.changes.capitalize()}.\n" in text
    told = " ".join(text.split())
    for finding in paper.findings:
        for id in finding.entries:
            assert f"{id} ({LEDGER.select([id])[0].expect}" in told


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_three_facts_come_first_with_the_verdicts_that_carry_them(paper):
    assert len(paper.facts) == 3
    text = " ".join(findings_text(paper).split())
    for fact in paper.facts:
        for id in fact.claims:
            assert f"{id}: {LEDGER.select([id])[0].expect}" in text[: text.index("What you can rely on")]


def test_all_papers_together_are_an_index(capsys):
    assert rankproof.main(["findings"]) == 0
    text = capsys.readouterr().out
    for paper in PAPERS:
        for finding in paper.findings:
            assert text.count(f"- [{finding.id}] ") == sum(
                one.id == finding.id for other in PAPERS for one in other.findings
            )
    assert "witness" not in text.split("`rankproof findings PAPER`")[0]
    assert all(len(line) <= 100 for line in text.splitlines())


def test_findings_of_all_papers_as_json(capsys):
    assert rankproof.main(["findings", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {entry["paper"] for entry in found} == {paper.name for paper in PAPERS}
    assert list(found[0]) == ["id", "paper", "headline", "changes", "witness", "advice", "entries"]
    assert sum(len(entry["entries"]) for entry in found) == sum(not claim.is_plain for claim in LEDGER.claims)


@pytest.mark.parametrize(("asked", "named"), [("fedloru-v1", "FedLoRU"), ("FeDLRT", "FeDLRT"), ("rolora", "RoLoRA")])
def test_a_paper_is_asked_for_by_any_of_its_names(capsys, asked, named):
    assert rankproof.main(["findings", asked]) == 0
    assert capsys.readouterr().out.startswith(f"{named}: ")


def test_an_unknown_paper_is_one_line(capsys):
    assert rankproof.main(["findings", "lora"]) == 2
    assert "no paper 'lora'; known: fedloru-iclr" in capsys.readouterr().err


def test_a_paper_without_findings_says_what_holds():
    text = findings_text(Paper("none", "None", "paper_checks.your_paper", ()))
    assert text.endswith("\n0 entries.")
