"""Links of the report: names of claims, figures by paper, and the claims visible in each figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from paper_checks.pages.report_papers import home, is_numbered, place
from paper_checks.paper import Paper
from paper_checks.result import Result

if TYPE_CHECKING:
    from paper_checks.pages.report_figures import ReportFigure

OTHER_FIGURES = "Random matrices, spectra and training"
"""Heading of figures that belong to no paper."""


def figure_groups(figures: Sequence[ReportFigure], papers: Sequence[Paper]) -> list[tuple[str, list[ReportFigure]]]:
    """Return the figures of each paper under its method's name, in the order of the papers, then all others."""
    called = {paper.name: paper.called or paper.name for paper in papers}
    groups: dict[str, list[ReportFigure]] = {name: [] for name in (*called.values(), OTHER_FIGURES)}
    for figure in figures:
        groups[called.get(figure.id.split("/")[0], OTHER_FIGURES)].append(figure)
    return [(name, found) for name, found in groups.items() if found]


def figures_of(
    results: Iterable[Result], figures: Sequence[ReportFigure], papers: Sequence[Paper]
) -> dict[str, list[ReportFigure]]:
    """Return the figures in which each claim is visible: those that it names, and its paper's figure with its label."""
    known = {figure.id: figure for figure in figures}
    found: dict[str, list[ReportFigure]] = {}
    for result in results:
        claim, paper = result.claim, home(result.claim, papers)
        ids = dict.fromkeys((*claim.seen_in, f"{paper.name if paper else claim.paper}/{claim.label}"))
        found[claim.id] = [known[id] for id in ids if id in known]
    return found


def claims_of(seen: Mapping[str, Sequence[ReportFigure]]) -> dict[str, list[str]]:
    """Return the claims that are visible in each figure, from the figures of each claim."""
    found: dict[str, list[str]] = {}
    for id, figures in seen.items():
        for figure in figures:
            found.setdefault(figure.id, []).append(id)
    return found


def pointers(ids: Sequence[str], results: Mapping[str, Result]) -> list[tuple[str, str]]:
    """Return claims with their names in the paper.

    If that is a section, or several claims share it, their labels distinguish them.
    """
    names = {id: place(results[id].claim.where)[0] for id in ids}
    often = Counter(names.values())
    return [
        (id, name if often[name] == 1 and is_numbered(name) else f"{name} ({results[id].claim.label})")
        for id, name in names.items()
    ]


def headings(results: Sequence[Result]) -> dict[str, tuple[str, str]]:
    """Return the headings of cards, and the claim's location if that says more.

    A section by itself says little, so its full location is the heading. Labels distinguish claims of a paper with the
    same name.
    """
    told = {result.claim.id: tuple(_heading(result.claim.where)) for result in results}
    often = Counter((result.claim.paper, told[result.claim.id][0]) for result in results)
    found = {}
    for result in results:
        name, rest = told[result.claim.id]
        same = often[result.claim.paper, name] > 1
        found[result.claim.id] = (f"{name} ({result.claim.label})" if same else name, rest)
    return found


def _heading(where: str) -> Iterator[str]:
    name, rest = place(where)
    yield from (name, rest) if is_numbered(name) else (where, "")
