"""Papers in the report: the most important findings, a map of every statement, and the graph of dependencies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby

from markupsafe import Markup

from paper_checks.claim import NOT_AS_MEANT, Claim, Verdict
from paper_checks.pages import card, status_graph
from paper_checks.pages.status_map import Cell, Column
from paper_checks.paper import Finding, Headline, Paper
from paper_checks.result import Result, Run, count_stubs

_NUMBERED = re.compile(r"(Theorem|Proposition|Lemma|Corollary|Definition|Assumption|Algorithm|Table|Figure|eqs?\.) ")
_PLACES = re.compile(r"Section|Appendi|Algorithm|Table|Figure|Earlier versions|v\d ")
FIRST = 5
"""Number of a paper's findings on the first screen; the others are folded."""


@dataclass(frozen=True)
class Theme:
    """Results of one module of a paper.

    Attributes:
        anchor: Place on the page.
        title: Subject of the theme, in one line.
        results: Results in their order.
    """

    anchor: str
    title: str
    results: tuple[Result, ...]

    @property
    def column(self) -> Column:
        """Its column on the map."""
        return Column(self.title, tuple(Cell.of(result.claim, result.decision.verdict) for result in self.results))

    @property
    def short(self) -> str:
        """Its subject in a few words.

        >>> Theme("", "Section 3.2 and Appendix G: runs of it (Theorem 4), and more", ()).short
        'runs of it'
        """
        where, _, what = self.title.partition(": ")
        if not what or not _PLACES.match(where):
            return _few_words(self.title)
        return f"{where.rpartition(', ')[2]}: {_few_words(what)}" if what.startswith("its ") else _few_words(what)

    @property
    def judged(self) -> tuple[Result, ...]:
        """Results of claims that have a check."""
        return tuple(result for result in self.results if not result.is_stub)

    @property
    def stubs(self) -> tuple[Result, ...]:
        """Results of claims without a check."""
        return tuple(result for result in self.results if result.is_stub)

    @property
    def tally(self) -> str:
        """Number of results, and of results that do not hold as printed; claims without a check apart."""
        off = card.count_verdicts(
            result.decision.verdict for result in self.judged if result.decision.verdict != "holds"
        )
        checked = f"{len(self.judged)}{': ' if off else ''}{off}" if self.judged or not self.stubs else ""
        return checked + count_stubs(len(self.stubs), alone=not checked).removeprefix(": ")


@dataclass(frozen=True)
class PaperSection:
    """A paper with its results, as a section of the report.

    Attributes:
        name: Short name, by which its statements are filtered.
        called: Name of its method, or its short name.
        title: Full title.
        main: The paper's proposal, its main claim, and whether that survives; empty if not given.
        cited: Authors, date and versions.
        link: Where it can be read; empty if nowhere.
        themes: Themes in the order of the paper.
        findings: Findings that explain claims of this run, those that matter most first.
        headlines: Points that hold, as far as they rest on claims of this run.
        graph: Graphs of its results and what they rest on, steps left out.
    """

    name: str
    called: str
    title: str
    main: str
    cited: str
    link: str
    themes: tuple[Theme, ...]
    findings: tuple[Finding, ...]
    headlines: tuple[Headline, ...]
    graph: tuple[Markup, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of its map."""
        return tuple(theme.column for theme in self.themes)

    @property
    def results(self) -> tuple[Result, ...]:
        """Results of all themes, of claims that have a check."""
        return tuple(chain.from_iterable(theme.judged for theme in self.themes))

    @property
    def stubs(self) -> tuple[Result, ...]:
        """Results of all themes, of claims without a check."""
        return tuple(chain.from_iterable(theme.stubs for theme in self.themes))

    @property
    def stated(self) -> Mapping[Verdict, int]:
        """Numbers of statements and numbers by verdict."""
        counts = Counter(one.decision.verdict for one in self.results if one.claim.kind in card.STATED)
        return {verdict: counts[verdict] for verdict in card.COUNTED if counts[verdict]}

    @property
    def faults(self) -> str:
        """Numbers of its statements and numbers whose print differs from what is meant, as text."""
        return card.count_faults(one.claim.print for one in self.results if one.claim.kind in card.STATED)

    @property
    def kinds(self) -> str:
        """Number of its statements and numbers as text."""
        return card.describe_kinds([one.claim.kind for one in self.results if one.claim.kind in card.STATED])

    @property
    def failing(self) -> tuple[int, int, int]:
        """Numbers of results among statements and numbers: all, failing as meant, and ambiguous."""
        found = [one for one in self.results if one.claim.kind in card.STATED and one.claim.importance == "result"]
        verdicts = [one.decision.verdict for one in found]
        off = sum(verdict in NOT_AS_MEANT for verdict in verdicts)
        return len(found), off, verdicts.count("ambiguous")

    @property
    def others(self) -> str:
        """Verdicts of the other kinds as text; empty if there are none."""
        found = [one for one in self.results if one.claim.kind not in card.STATED]
        kinds = card.describe_kinds([one.claim.kind for one in found])
        return f"{kinds}: {card.count_verdicts(one.decision.verdict for one in found)}" if found else ""


def paper_sections(run: Run, notes: Mapping[str, str]) -> list[PaperSection]:
    """Return the results paper by paper and theme by theme.

    Args:
        run: The run: its results in the order of the papers, and the papers.
        notes: For each claim that holds, the claims below it that do not hold as printed.
    """
    told = []
    for (paper, name), some in groupby(run.results, key=lambda result: _named_home(result.claim, run.papers)):
        found = tuple(some)
        known = {result.claim.id for result in found}
        findings = tuple(_within(known, paper.findings)) if paper else ()
        pages = paper.pages if paper else ()
        headlines = tuple(one for page in pages for one in page.headlines if known.issuperset(one.claims))
        called, title, cited = (paper.called or name, paper.title, paper.cited) if paper else (name, name, "")
        main, link = (paper.main, paper.link) if paper else ("", "")
        themes = tuple(_themes(found, paper, name))
        told.append(
            PaperSection(name, called, title, main, cited, link, themes, findings, headlines, _graph(found, notes))
        )
    return told


def home(claim: Claim, papers: Sequence[Paper]) -> Paper | None:
    """Return the paper whose folder holds a claim; None if none does."""
    return next((paper for paper in papers if claim.module.startswith(f"{paper.package}.")), None)


def place(where: str) -> tuple[str, str]:
    """Return a statement's name in its paper, and its full location if that says more.

    >>> place("Section 3.2, Theorem 4; Appendix G.1, Theorem 11, eq. (41)")
    ('Theorem 4', 'Section 3.2, Theorem 4; Appendix G.1, Theorem 11, eq. (41)')
    >>> place("Section 5.1, after Proposition 5.5")
    ('Section 5.1', 'Section 5.1, after Proposition 5.5')
    """
    parts = re.split("[,;] ", where)
    called = next(filter(_NUMBERED.match, parts), parts[0])
    return called, where if called != where else ""


def is_numbered(name: str) -> bool:
    """Return whether a name belongs to a numbered statement, table, figure or the like.

    >>> is_numbered("Theorem 4"), is_numbered("Section 5.1")
    (True, False)
    """
    return _NUMBERED.match(name) is not None


def _few_words(text: str) -> str:
    """Return the text up to the first punctuation mark or bracket, unless that is too short to be informative."""
    mark = re.search(r"[,:(]", text[8:])
    return text[: 8 + mark.start()].strip() if mark else text


def _named_home(claim: Claim, papers: Sequence[Paper]) -> tuple[Paper | None, str]:
    paper = home(claim, papers)
    return paper, paper.name if paper else claim.paper


def _themes(results: Sequence[Result], paper: Paper | None, name: str) -> Iterator[Theme]:
    for module, found in groupby(results, key=lambda result: result.claim.module):
        theme = module.removeprefix(f"{paper.package}.") if paper else module.rpartition(".")[2]
        title = paper.read_theme(theme)[0] if paper else name
        yield Theme(f"theme:{name}/{theme}", title.rstrip("."), tuple(found))


def _within(known: Collection[str], findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings that explain claims of this run, with these claims only."""
    for finding in findings:
        if entries := tuple(id for id in finding.entries if id in known):
            yield replace(finding, entries=entries)


def _graph(results: Sequence[Result], notes: Mapping[str, str]) -> tuple[Markup, ...]:
    """Return graphs of the dependencies among a paper's results, directly or through steps."""
    by_id = {result.claim.id: result for result in results}
    kept = [id for id, result in by_id.items() if result.claim.importance == "result"]
    uses = status_graph.condense(status_graph.uses_within(results), kept)
    together, _ = status_graph.components(uses)
    return tuple(status_graph.draw(group, by_id, notes, lambda id: f"#{id}", uses) for group in together)
