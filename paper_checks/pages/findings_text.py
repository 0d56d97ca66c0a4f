"""Findings about a paper, as plain text and as the entries of the command-line contract."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from paper_checks.pages.card import WIDTH, count_by_kind, describe_verdict, end_sentence, entry_lines, sentence_case
from paper_checks.pages.plain_mathematics import as_ascii, plain_text
from paper_checks.paper import Finding, Headline, Paper

LEGEND = (
    "Holds: true in the sense that its author intended. Corrected: not true, but a corrected statement of the same use "
    "is true. Refuted: not true, and no statement of the same use is left. Ambiguous: the author can mean two things, "
    "and one of them is not true. Misprint, unstated, inconsistent: how the printed form differs from the intended "
    "one. `rankproof show ID` prints the card of an entry with its corrected statement."
)


def findings_text(paper: Paper, encoding: str = "utf-8", whole: bool = True) -> str:
    """Return what was found about a paper as plain text of at most 100 columns, the most consequential first.

    Args:
        paper: the paper.
        encoding: of the terminal; text for another one than UTF-8 is ASCII.
        whole: include what holds, and each finding's witness, advice and entries; else its headline alone.
    """
    title = f"{paper.called or paper.name}: {paper.title}" if paper.called else paper.title
    lines = [*textwrap.wrap(title, WIDTH), "=" * min(len(title), WIDTH)]
    lines += textwrap.wrap(plain_text(paper.main, encoding), WIDTH)
    expected = _verdicts_of(paper)

    def points(heading: str, headlines: Sequence[Headline]) -> list[str]:
        found = ["", heading] if headlines else []
        for number, one in enumerate(headlines, 1):
            carried = "; ".join(f"{id}: {expected[id]}" for id in one.claims)
            found += _point(f"{number}.", f"{plain_text(one.says, encoding)} ({carried})")
        return found

    lines += points("In short", paper.facts)
    if not whole:
        for changes, found in itertools.groupby(paper.findings, key=lambda one: one.changes):
            lines += ["", f"{sentence_case(changes)}."]
            for one in found:
                lines += _point("-", f"[{one.id}] {plain_text(end_sentence(one.headline), encoding)}")
        return "\n".join(lines) if encoding == "utf-8" else as_ascii("\n".join(lines))
    lines += points("What you can rely on", [one for page in paper.pages for one in page.headlines])
    lines += ["", *textwrap.wrap(LEGEND, WIDTH, break_on_hyphens=False)]
    again = f"`rankproof check {paper.option}--paper {paper.name}` judges the claims again."
    lines += ["", f"These are the verdicts on record. {again}"]  # in one line, so that it can be copied
    for number, finding in enumerate(paper.findings, 1):
        lines += ["", *_finding_lines(finding, f"{number}. [{finding.id}]", expected, encoding)]
    lines += ["", *textwrap.wrap(_describe_rest(paper), WIDTH, break_on_hyphens=False)]
    return "\n".join(lines) if encoding == "utf-8" else as_ascii("\n".join(lines))


def finding_text(paper: Paper, finding: Finding, encoding: str = "utf-8") -> str:
    """Return one finding of a paper as plain text, with its witness, advice and entries."""
    lines = _finding_lines(finding, f"{paper.name}/{finding.id}:", _verdicts_of(paper), encoding)
    return "\n".join(lines) if encoding == "utf-8" else as_ascii("\n".join(lines))


def _verdicts_of(paper: Paper) -> dict[str, str]:
    """Return the verdict on record of each claim of a paper in words, by its id."""
    return {claim.id: describe_verdict(claim.expect, claim.print) for claim in paper.claims()}


def _finding_lines(finding: Finding, name: str, expected: Mapping[str, str], encoding: str) -> list[str]:
    lines = textwrap.wrap(f"{name} {sentence_case(finding.changes)}.", WIDTH)
    for label, text in (("found", finding.headline), ("witness", finding.witness), ("advice", finding.advice)):
        lines += entry_lines(label, plain_text(end_sentence(text), encoding))
    return [*lines, *entry_lines("entries", "; ".join(f"{id} ({expected[id]})" for id in finding.entries))]


def _describe_rest(paper: Paper) -> str:
    """Return how many entries hold, and what there is to say about the others."""
    claims = paper.claims()
    stubs = sum(claim.is_stub for claim in claims)
    claims = tuple(claim for claim in claims if not claim.is_stub)
    as_printed, as_meant = (sum(claim.fails(form) for claim in claims) for form in ("as-printed", "as-meant"))
    told = [
        f"{len(claims)} {'entry' if len(claims) == 1 else 'entries'}"
        f"{count_by_kind([(claim.kind, claim.expect) for claim in claims])}."
    ]
    if as_printed:
        fail = "fails" if as_printed == 1 else "fail"
        told.append(
            f"As printed, {as_printed} {fail}, and as meant {as_meant or 'none'}: `rankproof claims {paper.option}"
            f"--paper {paper.name} --fails as-printed` lists {'it' if as_printed == 1 else 'them'}."
        )
    left = [claim for claim in claims if not claim.is_plain and paper.finding_of(claim.id) is None]
    unchecked = [claim for claim in left if claim.expect == "not checkable here"]
    if unchecked:
        told.append(f"{len(unchecked)} cannot be checked here.")
    if missing := [claim.id for claim in left if claim not in unchecked]:
        told.append(f"No finding explains {', '.join(missing)}.")
    if stubs:
        told.append(f"{stubs} {'more is' if stubs == 1 else 'more are'} not checked yet.")
    return " ".join(told)


def _point(mark: str, text: str) -> list[str]:
    """Return an item of a list, wrapped, with its further lines indented."""
    indent = " " * (len(mark) + 1)
    return textwrap.wrap(f"{mark} {text}", WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def as_findings(paper: Paper) -> list[dict[str, Any]]:
    """Return the findings of a paper as the entries of the command-line contract."""
    return [
        {
            "id": finding.id,
            "paper": paper.name,
            "headline": finding.headline,
            "changes": finding.changes,
            "witness": finding.witness,
            "advice": finding.advice,
            "entries": list(finding.entries),
        }
        for finding in paper.findings
    ]
