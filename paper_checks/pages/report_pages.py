"""The pages of the report: what is on each, where each anchor is, and what the front page finds."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from paper_checks.claim import Claim
from paper_checks.pages.plain_mathematics import plain_text
from paper_checks.pages.report_papers import PaperSection
from paper_checks.paper import CHANGES, Change, Finding
from paper_checks.result import Result
from workloads.messages import as_cell

if TYPE_CHECKING:
    from paper_checks.pages.report_figures import ReportFigure

INDEX, FIGURES, TABLE = "index.html", "figures.html", "claims.csv"
PICTURES = "figures"
"""Name of the folder of pictures in that of the report."""
Part = Literal["summary", "index", "legend", "papers", "figures", "manifest"]
COLUMNS = (
    *("id", "paper", "where", "kind", "importance", "verdict", "print", "grade", "family", "expected", "says"),
    *("intended", "because", "correction", "finding", "reason", "slack", "replay", "source"),
)
"""Columns of the table of claims, by their names in ``check --json``; ``changes`` follows ``finding``."""


@dataclass(frozen=True)
class ReportPage:
    """One page of the report.

    Attributes:
        file: Name of the file in the folder; empty for the page that has everything.
        parts: Parts that are on it.
        papers: Papers whose claims have their cards on it.
    """

    file: str
    parts: frozenset[Part]
    papers: tuple[PaperSection, ...] = ()


def single_page(sections: Sequence[PaperSection]) -> ReportPage:
    """Return the page that has everything."""
    return ReportPage("", frozenset(("summary", "index", "legend", "papers", "figures", "manifest")), tuple(sections))


def pages_of(sections: Sequence[PaperSection], figures: Sequence[ReportFigure]) -> tuple[ReportPage, ...]:
    """Return the front page, a page for each paper, and one for the figures if there are any."""
    front = ReportPage(INDEX, frozenset(("summary", "index", "legend", "manifest")))
    papers = [ReportPage(paper_file(section.name), frozenset(("papers",)), (section,)) for section in sections]
    pictures = [ReportPage(FIGURES, frozenset(("figures",)))] if figures else []
    return (front, *papers, *pictures)


def paper_file(name: str) -> str:
    """Return the file of a paper's page; no paper's name can make it another page's."""
    return f"paper-{name}.html"


def picture_file(figure: ReportFigure) -> str:
    """Return the file of a picture in the folder of the report, where `rankproof figure` would write it."""
    kind = "svg" if figure.svg else "png"
    return f"{PICTURES}/{re.sub(r'[^A-Za-z0-9._-]', '-', figure.id)}.{kind}" if figure.svg or figure.png else ""


def pictures_of(figures: Sequence[ReportFigure], out: Path) -> dict[Path, bytes]:
    """Return the pictures of figures as the contents of files."""
    return {out / name: one.svg.encode() or one.png for one in figures if (name := picture_file(one))}


def file_names(papers: Sequence[str]) -> list[str]:
    """Return the files of a report about papers, without its pictures."""
    maps = [f"map-{name}.svg" for name in papers]
    return [INDEX, FIGURES, TABLE, *map(paper_file, papers), *maps]


def is_report_page(name: str) -> bool:
    """Return whether a name is one of a paper's page or map, or of the page of figures."""
    return re.fullmatch(r"paper-[^/]+\.html|map-[^/]+\.svg|figures\.html", name) is not None


def is_place_of_report(path: Path, out: Path) -> bool:
    """Return whether any report in a folder could write or remove the file at a path."""
    path, out = path.resolve(), out.resolve()
    return path.parent == out / PICTURES or (
        path.parent == out and (path.name in (INDEX, TABLE) or is_report_page(path.name))
    )


def anchors(pages: Sequence[ReportPage], figures: Sequence[ReportFigure]) -> dict[str, str]:
    """Return the files of all anchors that are not on the front page."""
    found = {f"figure:{figure.id}": FIGURES for figure in figures}
    found |= {"figures": FIGURES} if figures else {}
    for page in pages:
        for paper in page.papers:
            found |= dict.fromkeys(
                (f"paper:{paper.name}", f"graph:{paper.name}", f"cards:{paper.name}", f"stubs:{paper.name}"), page.file
            )
            found |= dict.fromkeys((theme.anchor for theme in paper.themes), page.file)
            found |= dict.fromkeys((f"finding:{paper.name}/{one.id}" for one in paper.findings), page.file)
            for result in (*paper.results, *paper.stubs):
                found |= dict.fromkeys((result.claim.id, f"how:{result.claim.id}"), page.file)
    return found


def links_from(page: ReportPage, known: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function from anchors to their addresses, as links on a page have them."""

    def link(anchor: str) -> str:
        file = known.get(anchor, INDEX) if page.file else ""
        return f"{'' if file == page.file else file}#{anchor}"

    return link


def by_change(sections: Sequence[PaperSection]) -> list[tuple[Change, list[tuple[PaperSection, Finding]]]]:
    """Return the findings of all papers, grouped by what they change."""
    found = [(change, [(paper, one) for paper in sections for one in paper.findings]) for change in CHANGES]
    groups = [(change, [pair for pair in some if pair[1].changes == change]) for change, some in found]
    return [(change, some) for change, some in groups if some]


def leading(paper: PaperSection, most: int = 3) -> tuple[str, list[Finding]]:
    """Return the gravest change that a finding of a paper makes, and the first findings that make it."""
    if not paper.findings or paper.findings[0].changes == "changes nothing":
        return "", []
    change = paper.findings[0].changes
    return change, [one for one in paper.findings if one.changes == change][:most]


def search_words(text: str) -> str:
    """Return the words of a text, each once, for the search on the front page.

    >>> search_words("The loss of $L$, and the loss in eq. 4.2")
    'the loss and 4.2'
    """
    return " ".join(dict.fromkeys(re.findall(r"[^\W\d_][\w'-]{2,}|\d+(?:\.\d+)+", plain_text(text).lower())))


def says(claim: Claim) -> str:
    """Return everything that a claim says, in all its forms and readings, with its other ids."""
    forms = [form.says for form in (claim.correction, claim.control) if form is not None]
    return " ".join((claim.says, claim.because, *forms, *(one.says for one in claim.readings), *claim.also))


def claims_table(results: Sequence[Result]) -> str:
    """Return all claims as CSV: a line for each, with its verdict, and what its finding changes.

    A text that a spreadsheet would compute begins with an apostrophe.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    at = COLUMNS.index("finding") + 1
    writer.writerow((*COLUMNS[:at], "changes", *COLUMNS[at:]))
    writer.writerows(_cells(result, at) for result in results)
    return out.getvalue()


def _cells(result: Result, at: int) -> Iterator[str]:
    entry = result.as_json()
    for place, name in enumerate(COLUMNS, 1):
        value = entry[name]
        yield "" if value is None else as_cell(value) if isinstance(value, str) else str(value)
        if place == at:
            yield result.finding.changes if result.finding else ""
