"""A BibTeX entry for the verdict on a claim."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from figures.provenance import package_versions
from paper_checks.claim import Claim
from paper_checks.ledger import Ledger
from paper_checks.pages.card import describe_grade, describe_verdict
from paper_checks.pages.manifest import commit_of_code
from paper_checks.pages.report_cards import entries
from paper_checks.paper import Paper

_FORMULA = re.compile(r"(\$[^$]*\$)")
_SPECIAL = re.compile(r"[&%#_]")


def print_entries(ledger: Ledger, ids: Sequence[str]) -> None:
    """Print an entry for each claim that is named."""
    claims = ledger.select(ids)
    commit, date, changed = commit_of_code()
    if changed:
        print("rankproof: the code differs from its commit; commit your changes before you cite it", file=sys.stderr)
    version = package_versions(("rankproof",))["rankproof"] or "unknown"
    print("\n\n".join(bibtex_of(claim, ledger.home[claim.id], version, commit, date) for claim in claims))


def bibtex_of(claim: Claim, paper: Paper, version: str, commit: str | None, date: str | None) -> str:
    """Return an entry that names the verdict on record and the code that gives it, after a comment with the paper.

    Args:
        claim: the claim.
        paper: the paper that states it.
        version: version of rankproof.
        commit: commit of the checkout; None outside one.
        date: date of the commit, YYYY-MM-DD; None outside a checkout.
    """
    finding = paper.finding_of(claim.id)
    grade = describe_grade(claim.grade, claim.family)
    verdict = describe_verdict(claim.expect, claim.print) + (f"; grade: {grade}" if grade else "")
    place = entries(claim.where)[0]
    notes = [f"Verdict: {verdict}", *([f"finding: {finding.id}"] if finding else [])]
    notes += [f"commit {commit}"] if commit else []
    fields = {
        "author": "{The rankproof developers}",
        "title": f"{{rankproof}}: {claim.id}, {_escape(f'{paper.called or paper.title}, {place}')}",
        "version": version,
        **({"year": date[:4]} if date else {}),
        "note": _escape("; ".join(notes)),
    }
    cited = ", ".join(filter(None, (paper.title, paper.cited, paper.link)))
    width = max(map(len, fields))
    return "\n".join(
        [
            f"% Cite also the paper: {cited}",
            f"@software{{rankproof-{claim.id.replace('/', '-')},",
            *(f"  {name:{width}} = {{{value}}}," for name, value in fields.items()),
            "}",
        ]
    )


def _escape(text: str) -> str:
    r"""Escape what LaTeX takes for commands, outside formulas.

    >>> _escape("5 % of $a_b$ in s_1")
    '5 \\% of $a_b$ in s\\_1'
    """
    parts = _FORMULA.split(text)
    return "".join(part if at % 2 else _SPECIAL.sub(lambda one: f"\\{one[0]}", part) for at, part in enumerate(parts))
