"""The list of all claims, in the order of the papers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

from paper_checks.claim import Claim, Verdict
from paper_checks.fedloru.paper import PAPER as FEDLORU
from paper_checks.fedlrt.paper import PAPER as FEDLRT
from paper_checks.names import Names, is_id
from paper_checks.paper import Paper
from paper_checks.rolora.paper import PAPER as ROLORA


class LedgerError(ValueError):
    """An id or paper that is not in the ledger, or a ledger that contradicts itself."""


PAPERS = (FEDLORU, FEDLRT, ROLORA)


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
        """Reads the claims of the papers.

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
                    raise LedgerError(f"{claim.id} uses {used}, which is not in the ledger")
        circle = _circle({claim.id: claim.uses for claim in claims})
        if circle:
            raise LedgerError(f"claims that rest on themselves: {' -> '.join(circle)}")
        return cls(tuple(papers), tuple(claims), home)

    @classmethod
    def around(cls, ids: Collection[str], papers: Sequence[Paper] = PAPERS) -> Ledger:
        """The themes that declare these claims, or the whole ledger where there are none or one is not found so.

        A command about one claim is spared most of the libraries that other themes load. What the claims use is not
        looked up.
        """
        parts = {paper: [one for theme in paper.declaring(ids) for one in paper.told(theme)[1]] for paper in papers}
        claims = tuple(claim for part in parts.values() for claim in part)
        if not ids or not {*ids} <= {id for claim in claims for id in (claim.id, *claim.also)}:
            return cls.of(papers)
        home = {claim.id: paper for paper, part in parts.items() for claim in part}
        return cls(tuple(paper for paper, part in parts.items() if part), claims, home, whole=False)

    def select(self, ids: Iterable[str] = (), paper: str = "", verdict: Verdict | None = None) -> tuple[Claim, ...]:
        """Return the claims that are named, in the order of the papers.

        Args:
            ids: ids, prefixes such as ``fedloru-v2/``, or names such as ``Theorem 2 of FeDLRT``; none means all.
            paper: keeps claims of papers whose name begins so, or that are called so.
            verdict: keeps claims with this verdict on record.

        Raises:
            LedgerError: an id or paper that matches nothing, with the nearest known ones; or nothing is left.
        """
        asked = tuple(ids)
        wanted: set[str] = set()
        for one in asked:
            found = self.names.find(one)
            wanted.update(claim.id for claim in found)
            if not found:
                raise LedgerError(_no_match(one, self.names))
        papers = self._papers(paper)
        chosen = tuple(
            claim
            for claim in self.claims
            if claim.paper in papers and (not asked or claim.id in wanted) and verdict in (None, claim.expect)
        )
        if not chosen:
            parts = [f"of {paper}"] * bool(paper) + [f"on record as {verdict}"] * bool(verdict)
            among = f" among {', '.join(asked)}" if asked else ""
            raise LedgerError(f"no claim{among} is {' and '.join(parts)}; `rankproof claims` lists all of them")
        return chosen

    @cached_property
    def names(self) -> Names[Claim]:
        """Names of the claims."""
        return Names(self.claims, {paper.name: paper.called for paper in self.papers})

    def _papers(self, named: str) -> set[str]:
        """Return the papers and versions whose names begin so, or that are called so."""
        known = {claim.paper for claim in self.claims}
        found = {paper for paper in known if paper.startswith(named)}
        spoken = None if found else self.names.understood(named)
        if spoken is not None and not spoken.kind:
            found = known & spoken.papers
        if not found:
            raise LedgerError(f"no paper {named!r}; known: {', '.join(sorted(known))}")
        return found


def _no_match(asked: str, names: Names[Claim]) -> str:
    near = names.nearest(asked)
    if not near:
        return f"no claim {asked!r}; `rankproof claims` lists all ids"
    if is_id(asked):
        return f"no claim {asked!r}; did you mean {', '.join(near)}?"
    return f"no claim {asked!r}: no match, try {', '.join(near)}"


def _circle(uses: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Claims that use each other in a circle; empty if there is none."""
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []
