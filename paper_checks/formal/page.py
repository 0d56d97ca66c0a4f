"""Writes ``docs/kernel.md``, "What the kernel checked", from ``page.template`` and the theorems."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from paper_checks.formal.theorems import formal_theorems, sources_of
from paper_checks.ledger import PAPERS
from paper_checks.pages.markdown import anchor_of
from paper_checks.paper import Paper
from workloads.arguments import write_documents
from workloads.files import write_whole

NAME = "kernel.md"
_TEMPLATE = Path(__file__).parent / "page.template"
_PLACE = "{{ theorems }}"


def kernel_page(papers: Sequence[Paper] = PAPERS) -> str:
    """Return the page in Markdown."""
    listed = "\n".join(line for paper in papers for line in _paper(paper)).strip()
    return _TEMPLATE.read_text(encoding="utf-8").replace(_PLACE, listed)


def _paper(paper: Paper) -> Iterator[str]:
    """Yield the theorems of a paper: a table, then the statements claim by claim."""
    theorems = formal_theorems(paper)
    if not theorems:
        return
    claims = {claim.id: claim for claim in paper.claims()}
    order = [id for id in claims if id in theorems]
    yield from ("", f"## {paper.called}", "", "| claim | grade | theorem | what it is |", "| --- | --- | --- | --- |")
    for id in order:
        for one in theorems[id]:
            what = f"{one.role}: {one.covers}" if one.covers else one.role
            stale = "" if one.checked else " (stale)"
            yield f"| [{id}](#{anchor_of(id)}) | {claims[id].grade} | `{one.name}`{stale} | {what} |"
    sources = sources_of(paper)
    setting = sources.setting([one.statement for id in order for one in theorems[id]])
    if setting:
        yield from ("", f"### Setting of {paper.called}", "", "Definitions that several statements share.")
    for file, parts in setting.items():
        place = f"{sources.place}/{file.name}"
        yield from ("", f"[{place}](../{place}):", "", "```coq", *_lines(parts), "```")
    for id in order:
        yield from ("", f"### {id}")
        shown = set[str]()
        for one in theorems[id]:
            parts = [part for part in one.statement.split("\n\n") if part not in shown]
            shown.update(parts)
            yield from ("", f"[{one.file}](../{one.file}):", "", "```coq", *_lines(parts), "```")


def _lines(parts: Sequence[str]) -> Iterator[str]:
    for number, part in enumerate(parts):
        if number:
            yield ""
        yield from part.splitlines()


def write(folder: Path) -> list[Path]:
    """Write the page into a folder.

    Raises:
        OSError: The folder cannot be written to.
    """
    return write_whole({folder / NAME: kernel_page().encode()})


if __name__ == "__main__":
    sys.exit(write_documents("paper_checks.formal.page", "the page of checked theorems", "docs", write))
