"""The list of all claims, in the order of the papers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from math import log

from paper_checks.claim import IMPORTANCES, Claim, Print, Verdict, Wording
from paper_checks.fedloru.paper import PAPER as FEDLORU
from paper_checks.fedlrt.paper import PAPER as FEDLRT
from paper_checks.names import NEAREST, Names, is_id
from paper_checks.paper import Finding, Paper
from paper_checks.paper import LedgerError as LedgerError
from paper_checks.rolora.paper import PAPER as ROLORA

PAPERS = (FEDLORU, FEDLRT, ROLORA)
ASKING = frozenset(
    {"does", "hold", "holds", "true", "false", "right", "wrong", "that", "this", "what", "which", "prove", "proves"}
)
"""Words of a question that say nothing about its subject."""
SHORT, ENDING, LEAST_STEM = 3, 3, 5
"""Letters of words that are left out, of endings that do not count, and of the shortest stem."""


@dataclass(frozen=True)
class Ledger:
    """All claims of a set of papers.

    Attributes:
        papers: the papers, in order.
        claims: their claims, in order.
        home: paper of each claim, by id.
        whole: whether these are all claims of the papers.
    """

    papers: tuple[Paper, ...]
    claims: tuple[Claim, ...]
    home: dict[str, Paper]
    whole: bool = True

    @classmethod
    def of(cls, papers: Sequence[Paper] = PAPERS) -> Ledger:
        """Read the claims of the papers.

        Raises:
            LedgerError: an id that is declared twice, or a use of an unknown claim.
        """
        home: dict[str, Paper] = {}
        claims: list[Claim] = []
        for paper in papers:
            for claim in paper.claims():
                if claim.id in home:
                    raise LedgerError(f"{claim.id} is declared twice")
                home[claim.id] = paper
                claims.append(claim)
        for claim in claims:
            for used in claim.uses:
                if used not in home:
                    raise LedgerError(f"{claim.id} uses {used}, which no paper declares")
        plain = {claim.id for claim in claims if claim.is_plain}
        explained: dict[str, str] = {}
        for paper, finding in ((one, finding) for one in papers for finding in one.findings):
            for id in finding.entries:
                if home.get(id) is not paper:
                    raise LedgerError(f"the finding {finding.id} explains {id}, which {paper.name} does not claim")
                if id in plain:
                    raise LedgerError(
                        f"the finding {finding.id} explains {id}, which holds as printed: leave that entry out"
                    )
                if id in explained:
                    raise LedgerError(f"{id} is explained by two findings; {explained[id]} and {finding.id}")
                explained[id] = finding.id
        circle = _circle({claim.id: claim.uses for claim in claims})
        if circle:
            raise LedgerError(f"claims that depend on themselves: {' -> '.join(circle)}")
        return cls(tuple(papers), tuple(claims), home)

    @classmethod
    def around(cls, ids: Collection[str], papers: Sequence[Paper] = PAPERS) -> Ledger:
        """Return the themes that declare these claims, or the whole ledger where there are none or one is not found so.

        A command about one claim is spared most of the libraries that other themes load. What the claims use is not
        looked up.
        """
        parts = {
            paper: [one for theme in paper.declaring(ids) for one in paper.read_theme(theme)[1]] for paper in papers
        }
        claims = tuple(claim for part in parts.values() for claim in part)
        if not ids or not {*ids} <= {id for claim in claims for id in (claim.id, *claim.also)}:
            return cls.of(papers)
        home = {claim.id: paper for paper, part in parts.items() for claim in part}
        return cls(tuple(paper for paper, part in parts.items() if part), claims, home, whole=False)

    def select(
        self,
        ids: Iterable[str] = (),
        paper: str | Sequence[str] = "",
        verdict: Verdict | Sequence[Verdict] = (),
        print: Print | Sequence[Print] = (),
        fails: Wording | None = None,
    ) -> tuple[Claim, ...]:
        """Return the claims that are named, in the order of the papers.

        Args:
            ids: ids, prefixes such as ``fedloru-v2/``, or names such as ``Theorem 2 of FeDLRT``; none means all.
            paper: keeps claims of the paper or version with this name, else of those that begin so or are called so;
                several names keep the claims of each, and none those of all.
            verdict: keeps claims with this verdict on record, or one of these.
            print: keeps claims whose printed form differs in this way, or one of these, from what is meant.
            fails: keeps claims that do not hold in this form, see `Claim.fails`.

        Raises:
            LedgerError: an id or paper that matches nothing, with the nearest known ones; or nothing is left.
        """
        asked = tuple(ids)
        wanted: set[str] = set()
        for one in asked:
            found = self.names.find(one)
            wanted.update(claim.id for claim in found)
            if not found:
                raise LedgerError(_no_match(one, self))
        named = ([paper] if paper else []) if isinstance(paper, str) else list(paper)
        verdicts, prints = _several(verdict), _several(print)
        papers = {version for name in named or [""] for version in self._papers(name)}
        chosen = tuple(
            claim
            for claim in self.claims
            if claim.paper in papers
            and (not asked or claim.id in wanted)
            and (not verdicts or claim.expect in verdicts)
            and (not prints or claim.print in prints)
            and (fails is None or claim.fails(fails))
        )
        if not chosen:
            record = ", ".join(filter(None, (" or ".join(verdicts), " or ".join(prints))))
            parts = [f"of {' or '.join(named)}"] * bool(named) + [f"on record as {record}"] * bool(record)
            parts += [f"false {str(fails).replace('-', ' ')}"] * bool(fails)
            among = f" among {', '.join(asked)}" if asked else ""
            raise LedgerError(f"no claim{among} is {' and '.join(parts)}; `rankproof claims` lists all of them")
        return chosen

    def finding(self, id: str) -> tuple[Paper, Finding] | None:
        """Return a finding and its paper.

        Args:
            id: id of the finding, with or without the name of the paper, such as ``fedlrt/truncation-cost``.

        Raises:
            LedgerError: several papers have a finding of this name.
        """
        found = [
            (paper, one) for paper in self.papers for one in paper.findings if id in (one.id, f"{paper.name}/{one.id}")
        ]
        if len(found) > 1:
            names = " or ".join(f"{paper.name}/{one.id}" for paper, one in found)
            raise LedgerError(f"several papers have a finding {id!r}; name {names}")
        return found[0] if found else None

    @cached_property
    def names(self) -> Names[Claim]:
        """Names of the claims."""
        return Names(self.claims, {paper.name: paper.called for paper in self.papers})

    def about(self, asked: str) -> list[Claim]:
        """Return the few claims whose texts have most of the words that are asked for, main results first.

        Args:
            asked: words, with or without the name of a paper, such as ``contraction of RoLoRA``.
        """
        papers, words = self.names.subject(asked)
        stems = [word[: max(LEAST_STEM, len(word) - ENDING)] for word in words - ASKING if len(word) > SHORT]
        headlines: dict[str, str] = {}
        for paper in self.papers:
            told = [(one.claims, one.says) for page in paper.pages for one in page.headlines]
            told += [(one.claims, one.says) for one in paper.facts]
            told += [(one.entries, f"{one.headline} {one.witness}") for one in paper.findings]
            for ids, says in told:
                for id in ids:
                    headlines[id] = f"{headlines.get(id, '')} {says}"
        texts: dict[str, str] = {}
        for claim in self.claims if stems else ():
            readings = (text for one in claim.readings for text in (one.name, one.says))
            texts[claim.id] = " ".join(
                (claim.id, claim.says, claim.because, *readings, headlines.get(claim.id, ""))
            ).lower()
        rare = {stem: log(len(texts) / max(1, sum(stem in text for text in texts.values()))) for stem in stems}
        found: list[tuple[float, int, int, Claim]] = []
        for place, claim in enumerate(self.claims if stems else ()):
            weight = sum(rare[stem] for stem in stems if stem in texts[claim.id])
            if weight and claim.paper in papers:
                main = IMPORTANCES.index(claim.importance) - len(IMPORTANCES) * (claim.id in headlines)
                found.append((-weight, main, place, claim))
        least = min((one[0] for one in found), default=0.0) / 2.0
        return [claim for weight, *_, claim in sorted(found, key=lambda one: one[:3])[:NEAREST] if weight <= least]

    def papers_called(self, names: Sequence[str]) -> tuple[Paper, ...]:
        """Return the papers with these names, or that have versions with these names; all by default.

        Raises:
            LedgerError: A name that no paper has.
        """
        wanted = {version for name in names for version in self._papers(name)}
        chosen = {self.home[claim.id].name for claim in self.claims if claim.paper in wanted}
        return tuple(paper for paper in self.papers if not names or paper.name in chosen)

    def _papers(self, named: str) -> set[str]:
        """Return the versions of a paper, or one version; else those whose names begin so, or that are called so."""
        known = {claim.paper for claim in self.claims}
        found = {claim.paper for claim in self.claims if self.home[claim.id].name == named} or known & {named}
        found = found or {paper for paper in known if paper.startswith(named)}
        spoken = None if found else self.names.understood(named)
        if spoken is not None and not spoken.kind:
            found = known & spoken.papers
        if not found:
            raise LedgerError(f"no paper {named!r}; known: {', '.join(sorted(known))}")
        return found


def _several(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return one value or several as several."""
    return (given,) if given and isinstance(given, str) else tuple(given or ())


def _no_match(asked: str, ledger: Ledger) -> str:
    near = ledger.names.nearest(asked)
    if not near:
        about = ledger.about(asked)
        if about:
            told = ", ".join(f"{claim.id} ({claim.expect})" for claim in about)
            return f"no claim is called {asked!r}; these mention it: {told}"
        return f"no claim {asked!r}; `rankproof claims` lists all ids"
    if is_id(asked):
        return f"no claim {asked!r}; did you mean {', '.join(near)}?"
    return f"no claim {asked!r}: no match, try {', '.join(near)}"


def _circle(uses: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return claims that use each other in a circle; empty if there is none."""
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []
