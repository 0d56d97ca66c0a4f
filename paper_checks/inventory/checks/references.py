"""References to what does not exist, and statements, tables and figures that nothing refers to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from paper_checks.inventory.document import Candidate, Document, Item, Kind

_USED: tuple[Kind, ...] = ("lemma", "assumption", "table", "figure", "algorithm")
"""Kinds that are there for something else, which must mention them."""


def dangling(document: Document) -> Iterator[Candidate]:
    """Yield references to labels or numbers that the paper does not have."""
    if document.latex:
        for one in document.references:
            if not one.resolved:
                yield Candidate(
                    "reference", one.place, "", f"refers to the label {one.label}, which does not exist", (one.label,)
                )
        used = {one.label for one in document.references}
        for label, places in document.twice.items():
            shown = f"{', '.join(map(str, places[:3]))}{', ...' if len(places) > 3 else ''}"
            means = "references mean the last" if label in used else "nothing refers to it"
            says = f"the label {label} is defined {len(places)} times ({shown}); {means}"
            yield Candidate("reference", places[0], "", says, (label,))
        return
    known: dict[Kind, set[str]] = {}
    for item in document.items:
        known.setdefault(item.kind, set()).add(item.number)
    reported = set()
    for one in document.references:
        if one.kind is None or one.kind not in known or (one.kind, one.number) in reported:
            continue
        numbers = known[one.kind]
        if one.number[:1].isalpha() and one.number in known.get("equation", ()):
            continue  # an assumption called by the number of its formula
        if one.number in numbers or re.sub(r"[a-z]+$", "", one.number) in numbers or not _fits(one.number, numbers):
            continue
        if one.kind in ("theorem", "lemma", "proposition", "corollary", "definition", "assumption") and any(
            one.number in others
            for kind, others in known.items()
            if kind not in ("equation", "table", "figure", "algorithm")
        ):
            says = f"{one.text}: {one.number} is the number of another kind of statement"
        else:
            says = f"{one.text}: there is no {one.kind} {one.number}"
        reported.add((one.kind, one.number))
        yield Candidate("reference", one.place, "", says, (one.number,))


def _fits(number: str, numbers: set[str]) -> bool:
    """Return whether a number has the form of the paper's own, which a number of another work often lacks."""
    shape = re.sub(r"\d+", "0", number)
    return shape in {re.sub(r"\d+", "0", other) for other in numbers}


def unused(document: Document) -> Iterator[Candidate]:
    """Yield lemmas, assumptions, tables, figures and algorithms that nothing in the text refers to."""
    for item in document.items:
        if item.kind not in _USED or not item.number or item.label in document.twice:
            continue
        if not any(_refers(one, item, document) for one in range(len(document.references))):
            says = f"{item.name} is never referred to"
            yield Candidate("unused", item.place, item.name, says)


def _refers(at: int, item: Item, document: Document) -> bool:
    one = document.references[at]
    if document.latex and one.label:
        return one.kind == item.kind and one.number == item.number
    return one.number == item.number and (
        one.kind == item.kind or (one.kind not in _USED and item.kind not in ("table", "figure"))
    )
