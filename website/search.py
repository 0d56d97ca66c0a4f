"""The site's search: headings by which claims are found, the text that is searched, and the weight of each page."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from places import ROOT

from paper_checks.ledger import PAPERS
from paper_checks.pages.markdown import anchor_of
from paper_checks.pages.report_papers import is_numbered, place

LEFT_OUT = ("source/*", "figures/settings.md", "tests-of-rooms.md")
"""Pages that are not searched: programs, and lists of names. `source/*/README.md` is searched."""
WEIGHTS = {
    "index.md": 2.0,
    "for-hessian-users.md": 2.0,
    "for-*.md": 1.0,
    "reference/index.md": 4.0,
    "reference/*": 0.5,
    "source/*": 0.2,
    "kernel.md": 0.1,
    "changes.md": 0.1,
    "proofs/*": 0.1,
    "figures/*": 0.5,
    "gallery.md": 0.5,
    "fed*-*.md": 1.0,
    "rolora-*.md": 1.0,
}
"""Boost of the pages whose location matches, the first that does; 1.5 for any other, that is for guides."""
KEPT = {"fed*-*.html": 2, "rolora-*.html": 2, "reference/*": 1, "proofs/*": 1, "kernel.html": 0, "changes.html": 1}
"""Number of paragraphs of a section that are searched, by page; all of the others."""

_ID = re.compile(r"^#### ([a-z0-9-]+/\S+)$", flags=re.M)
_PARAGRAPH = re.compile(r"<p>.*?</p>", flags=re.S)
_SCRIPTS = Path("assets/javascripts")


def names_of_claims() -> dict[str, str]:
    """Return the name of each claim in its paper, such as "Theorem 2", by id."""
    return {claim.id: name_of(claim.where) for paper in PAPERS for claim in paper.claims()}


def name_of(where: str) -> str:
    """Return the name of a statement by its location.

    >>> name_of("Section 3.2, Theorem 2, eq. (12)"), name_of("v1 Section 3.1, eqs. (3) and (4)")
    ('Theorem 2', 'Equations (3) and (4)')
    >>> name_of("Section 5.1, after Proposition 5.5")
    'Section 5.1, after Proposition 5.5'
    """
    name = place(where)[0]
    if not is_numbered(name):
        return re.split(r"[;:(]", where)[0].strip()
    return re.sub(r"^eq(s?)\.", r"Equation\1", re.split(r" [(](?![0-9a-z]+[)])", name)[0])


def with_names(page: str, names: Mapping[str, str]) -> str:
    r"""Return a page of findings whose headings of claims begin with their names; the anchors stay.

    Headings that are folded have no heading of a theme above them, so they are one level higher.

    >>> with_names("#### fedlrt/thm-2\n", {"fedlrt/thm-2": "Theorem 2"})
    '#### Theorem 2 · fedlrt/thm-2 { #fedlrtthm-2 }\n'
    """

    def heading(found: re.Match[str]) -> str:
        id, folded = (
            found.group(1),
            page.rfind("<details", 0, found.start()) > page.rfind("</details>", 0, found.start()),
        )
        return (
            f"{'###' if folded else '####'} {names[id]} · {id} {{ #{anchor_of(id)} }}" if id in names else found.group()
        )

    return _ID.sub(heading, page)


def weight(location: str) -> float | None:
    """Return the boost of a page; None if it is not searched.

    Args:
        location: Location among the sources of the site.

    >>> weight("spectra.md"), weight("proofs/fedlrt--thm-2.md"), weight("source/rmt/laws.py.md")
    (1.5, 0.1, None)
    """
    if any(fnmatch(location, left_out) for left_out in LEFT_OUT) and not location.endswith("/README.md"):
        return None
    return next((boost for pages, boost in WEIGHTS.items() if fnmatch(location, pages)), 1.5)


def shortened(index: Mapping[str, Any]) -> dict[str, Any]:
    """Return an index in which the sections of long pages have only their first paragraphs.

    Proofs are searched by the statement that they prove, and members of the reference by their first sentence.

    Args:
        index: As `search` of Material writes it: `config` and `docs`.
    """
    docs = []
    for entry in index["docs"]:
        page, _, anchor = entry["location"].partition("#")
        if anchor and (page.startswith("proofs/") or page in ("kernel.html", "changes.html")):
            continue
        most = next((kept for pages, kept in KEPT.items() if fnmatch(page, pages)), None)
        found = _PARAGRAPH.findall(entry["text"])
        text = entry["text"] if most is None or (not anchor and page.startswith("fed")) else " ".join(found[:most])
        docs.append({**entry, "text": text})
    return {**index, "docs": docs}


def install_worker(site: Path) -> None:
    """Put the worker of `search.js` before Material's, in a built site."""
    (material,) = (site / _SCRIPTS / "workers").glob("search.*.min.js")
    behind = material.with_name("material-search.min.js")
    material.rename(behind)
    worker = (ROOT / "website" / "search.js").read_text(encoding="utf-8")
    material.write_text(worker.replace("MATERIAL", behind.name), encoding="utf-8")


def remove_unused(site: Path) -> None:
    """Remove from a built site what only other languages, developers of the theme and one kind of server use.

    The links of the page for unknown addresses lead to the root of a server, and the site may be in a folder of one.
    """
    (site / "404.html").unlink()
    shutil.rmtree(site / _SCRIPTS / "lunr")
    for file in (site / "assets").rglob("*.map"):
        file.unlink()
