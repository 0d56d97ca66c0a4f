"""Writes ``docs/what-rankproof-found.md``: the findings of all papers in two screens, from the ledger."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from paper_checks.ledger import PAPERS
from paper_checks.pages.card import STATED, count_verdicts, join_words
from paper_checks.pages.markdown import anchor_of, mathematics
from paper_checks.pages.report_papers import place
from paper_checks.paper import CHANGES, Change, Finding, Paper
from workloads.arguments import write_documents
from workloads.files import write_whole

NAME = "what-rankproof-found.md"
_MAIN, _WEAKER, *_LESS = CHANGES
_PLURAL: Mapping[Change, str] = {
    "changes a main result": "change a main result",
    "weakens a result": "weaken a result",
    "changes a proof only": "change a proof only",
    "changes nothing": "change nothing",
}


def overview(papers: Sequence[Paper] = PAPERS) -> str:
    """Return the page in Markdown.

    Args:
        papers: Papers whose pages of findings are in the same folder.
    """
    lines = [
        "# What rankproof found",
        "",
        "This page sums up what we found in each paper. A **finding** is a reason why one or more "
        "statements do not hold exactly as printed. The link after each finding leads to one of them. "
        "[Verdicts](verdicts.md) defines *corrected* and the other terms. The table counts findings by what they "
        "change.",
        "",
        f"| paper | statements and numbers | {' | '.join(_PLURAL.values())} |",
        f"|---|---|{'---|' * len(CHANGES)}",
    ]
    for paper in papers:
        stated = [claim.expect for claim in paper.claims() if claim.kind in STATED]
        counts = " | ".join(str(len(_those(paper, change))) for change in CHANGES)
        link = f"[{paper.called}](#{anchor_of(paper.called)})"
        lines.append(f"| {link} | {len(stated)}: {count_verdicts(stated)} | {counts} |")
    for paper in papers:
        lines += ["", f"## {paper.called}", "", *_about(paper)]
    return "\n".join([*lines, "", "`make docs` writes this page from the ledger of claims."]) + "\n"


def _about(paper: Paper) -> Iterator[str]:
    """Yield what a paper claims, the findings that change or weaken a result, and where the others are."""
    links = {
        claim.id: f"[{claim.id}]({page.name}.md#{anchor_of(claim.id)})"
        for page in paper.pages
        for theme in page.themes
        for claim in paper.read_theme(theme)[1]
    }
    claims = {claim.id: claim for claim in paper.claims()}

    def line(finding: Finding) -> str:
        def apart(id: str) -> tuple[bool, bool]:
            claim = claims[id]
            return place(claim.where)[
                0
            ] not in finding.headline, claim.importance != "result" or claim.expect == "holds"

        return f"- {mathematics(finding.headline.rstrip('.'))} ({links[min(finding.entries, key=apart)]})."

    yield f"*{paper.title}.* {mathematics(paper.main)}"
    if main := _those(paper, _MAIN):
        yield from ("", f"**{_count(_MAIN, main)}:**", "", *map(line, main))
    if weaker := _those(paper, _WEAKER):
        yield from (
            "",
            f"<details><summary>{_count(_WEAKER, weaker)}</summary>",
            "",
            *map(line, weaker),
            "",
            "</details>",
        )
    rest = join_words([_count(change, found) for change in _LESS if (found := _those(paper, change))])
    pages = join_words([f"[{page.title.removeprefix('What we found in ')}]({page.name}.md)" for page in paper.pages])
    every = f"All findings are in {pages}, and `rankproof findings {paper.name}` prints them."
    yield from ("", f"{rest}. {every}" if rest else every)


def _those(paper: Paper, change: Change) -> list[Finding]:
    return [finding for finding in paper.findings if finding.changes == change]


def _count(change: Change, found: Sequence[Finding]) -> str:
    return f"1 finding {change}" if len(found) == 1 else f"{len(found)} findings {_PLURAL[change]}"


def write(folder: Path) -> list[Path]:
    """Write the page into a folder.

    Raises:
        OSError: The folder cannot be written to.
    """
    return write_whole({folder / NAME: overview().encode()})


if __name__ == "__main__":
    sys.exit(write_documents("paper_checks.pages.overview", "the page of all findings", "docs", write))
