"""BibTeX entries for the verdict on a claim, for a finding, and for the paper."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from figures.provenance import package_versions
from paper_checks.claim import Claim
from paper_checks.ledger import Ledger
from paper_checks.pages.card import describe_grade, describe_verdict, end_sentence
from paper_checks.pages.manifest import commit_of_code
from paper_checks.pages.report_cards import entries
from paper_checks.paper import Finding, Paper

_ARXIV = re.compile(r"arxiv\.org/abs/([\d.]+)")
_FORMULA = re.compile(r"(\$[^$]*\$)")
_SPECIAL = re.compile(r"[&%#_]")


def print_entries(ledger: Ledger, ids: Sequence[str]) -> None:
    """Print an entry for each claim or finding that is named, and one for each of their papers."""
    commit, date, changed = commit_of_code()
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        told = f"{changed[0]}{more} differ{'' if more else 's'} from the commit; commit your changes before you cite it"
        print(f"rankproof: {told}", file=sys.stderr)
    version = package_versions(("rankproof",))["rankproof"] or "unknown"
    findings = [found for id in ids if (found := ledger.finding(id)) is not None]
    claims = ledger.select(named) if (named := [id for id in ids if ledger.finding(id) is None]) else ()
    code = Code(version, commit, date)
    told_of = [bibtex_of_finding(finding, paper, code) for paper, finding in findings]
    told_of += [bibtex_of(claim, ledger.home[claim.id], code) for claim in claims]
    papers = dict.fromkeys([*(paper for paper, _ in findings), *(ledger.home[claim.id] for claim in claims)])
    print("\n\n".join([*told_of, *map(bibtex_of_paper, papers)]))


class Code(NamedTuple):
    """The code that gives a verdict.

    Attributes:
        version: version of rankproof.
        commit: commit of the checkout; None outside one.
        date: date of the commit, YYYY-MM-DD; None outside a checkout.
    """

    version: str
    commit: str | None
    date: str | None


def bibtex_of(claim: Claim, paper: Paper, code: Code) -> str:
    """Return an entry that names the verdict on record and the code that gives it."""
    finding = paper.finding_of(claim.id)
    grade = describe_grade(claim.grade, claim.family)
    verdict = describe_verdict(claim.expect, claim.print) + (f"; grade: {grade}" if grade else "")
    notes = [f"Verdict: {verdict}", *([f"finding: {finding.id}"] if finding else [])]
    return _software(claim.id, f"{paper.called or paper.title}, {entries(claim.where)[0]}", notes, code)


def bibtex_of_finding(finding: Finding, paper: Paper, code: Code) -> str:
    """Return an entry that names the claims that a finding explains, and the code that gives their verdicts."""
    title = f"{paper.called or paper.title}, {end_sentence(finding.headline)[:-1]}"
    return _software(f"{paper.name}/{finding.id}", title, [f"Finding on {', '.join(finding.entries)}"], code)


def bibtex_of_paper(paper: Paper) -> str:
    """Return an entry for a paper, or a comment if the names of its authors are not known one by one."""
    if not paper.authors:
        return f"% Cite also the paper: {', '.join(filter(None, (paper.title, paper.cited, paper.link)))}"
    arxiv = _ARXIV.search(paper.link)
    fields = {
        "author": " and ".join(paper.authors),
        "title": f"{{{_escape(paper.title)}}}",
        **({"year": str(paper.year)} if paper.year else {}),
        **({"eprint": arxiv[1], "archiveprefix": "arXiv"} if arxiv else {}),
        **({"url": paper.link} if paper.link else {}),
    }
    return _entry("misc", paper.name, fields)


def _software(id: str, title: str, notes: Sequence[str], code: Code) -> str:
    told = [*notes, *([f"commit {code.commit}"] if code.commit else [])]
    fields = {
        "author": "{The rankproof developers}",
        "title": f"{{rankproof}}: {id}, {_escape(title)}",
        "version": code.version,
        **({"year": code.date[:4]} if code.date else {}),
        "note": _escape("; ".join(told)),
    }
    return _entry("software", f"rankproof-{id.replace('/', '-')}", fields)


def _entry(kind: str, key: str, fields: Mapping[str, str]) -> str:
    width = max(map(len, fields))
    lines = (f"  {name:{width}} = {{{value}}}," for name, value in fields.items())
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])


def _escape(text: str) -> str:
    r"""Escape what LaTeX takes for commands, outside formulas.

    >>> _escape("5 % of $a_b$ in s_1")
    '5 \\% of $a_b$ in s\\_1'
    """
    parts = _FORMULA.split(text)
    return "".join(part if at % 2 else _SPECIAL.sub(lambda one: f"\\{one[0]}", part) for at, part in enumerate(parts))
