"""An inventory as lines of a terminal, and as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from paper_checks.inventory.candidates import comparisons, find_candidates, statements
from paper_checks.inventory.document import KINDS, Candidate, Document, Item, Kind, Paragraph, Reference
from runs.format import printable

_LEAST = 60
_MOST_SENTENCES = 10
"""Sentences of the running text that are shown; the JSON has all."""


def listing(document: Document, width: int, mark: str = "…") -> str:
    """Return what a paper contains, section by section, and the candidates for errata."""
    width = max(width, _LEAST)
    lines = [printable(document.title or document.source), printable(_counted(document)), ""]
    section = None
    for entry in _entries(document):
        if entry[0] != section:
            section = entry[0]
            lines.append(f"Section {section}" if section else "Before the first section")
        lines.append(_cut(f"  {entry[1]:18} {entry[2]:>14}  {entry[3]}", width, mark))
    for what, said in (
        ("Sentences that state something with a formula", list(statements(document))),
        ("Sentences with a number and a comparison", list(comparisons(document))),
    ):
        if said:
            lines += ["", f"{what}: {len(said)}"]
            lines += [
                _cut(f"  {paragraph.place!s:>14}  {printable(sentence)}", width, mark)
                for paragraph, sentence in said[:_MOST_SENTENCES]
            ]
        if len(said) > _MOST_SENTENCES:
            lines.append(f"  {mark} and {len(said) - _MOST_SENTENCES} more, which --json writes")
    lines += ["", *candidate_lines(find_candidates(document), width)]
    if document.notes:
        lines += ["", "Not read:", *(f"  {printable(note)}" for note in document.notes)]
    return "\n".join(lines)


def candidate_lines(candidates: Sequence[Candidate], width: int) -> list[str]:
    """Return the candidates, one after another, wrapped."""
    if not candidates:
        return ["The mechanical checks found nothing to look at."]
    lines = [
        f"To look at: {len(candidates)}. These are not verdicts: a check compares printed numbers, not what is meant."
    ]
    for one in candidates:
        about = f"{one.about}: " if one.about and not one.says.startswith(one.about) else ""
        words = printable(f"{one.check:15} {one.place}  {about}{one.says}").split(" ")
        line = " "
        for word in words:
            if len(line) + len(word) + 1 > max(width, _LEAST) and line.strip():
                lines.append(line.rstrip())
                line = " " * 5
            line += f" {word}"
        lines.append(line.rstrip())
    return lines


def _counted(document: Document) -> str:
    """Return how many items of each kind there are, in words."""
    parts = []
    for kind in KINDS:
        count = sum(item.kind == kind for item in document.items)
        if count:
            parts.append(f"{count} {plural(kind, count)}")
    return ", ".join(parts) or "no numbered items"


def plural(kind: Kind, count: int) -> str:
    """Return the name of a kind for so many."""
    return kind if count == 1 else "corollaries" if kind == "corollary" else f"{kind}s"


def _entries(document: Document) -> Iterator[tuple[str, str, str, str]]:
    """Yield section, name, place and text of each item; equations that follow each other in one entry."""
    run: list[Item] = []
    for item in (*document.items, None):
        if item is not None and item.kind == "equation" and (not run or run[-1].section == item.section):
            run.append(item)
            continue
        if run:
            numbers = f"({run[0].number})" if len(run) == 1 else f"({run[0].number})-({run[-1].number})"
            yield (
                run[0].section,
                f"Eq. {numbers}",
                str(run[0].place),
                printable(run[0].text if len(run) == 1 else f"{len(run)} equations"),
            )
            run = []
        if item is None:
            break
        if item.kind == "equation":
            run.append(item)
            continue
        title = f"[{item.title}] " if item.title and item.title != item.text else ""
        used = _names(item.proof_refers)
        proof = f"  (proof: {used})" if used else "  (proof)" if item.proof else ""
        yield item.section, item.name, str(item.place), printable(f"{title}{item.text}{proof}")


def _names(references: Sequence[Reference]) -> str:
    shown = dict.fromkeys(
        f"{one.kind} {one.number}" for one in references if one.kind and one.number and one.kind != "equation"
    )
    return ", ".join(shown)


def _cut(line: str, width: int, mark: str) -> str:
    """Return a line that fits; what a proof uses stays at its end."""
    if len(line) <= width:
        return line
    end = re.search(r"  \(proof(?:: [^()]*)?\)$", line)
    tail = end[0] if end and len(end[0]) < width // 2 else ""
    return f"{line[: width - len(tail) - len(mark)].rstrip()}{mark}{tail}"


def as_json(document: Document) -> dict[str, Any]:
    """Return the inventory as JSON has it."""
    return {
        "source": document.source,
        "title": document.title,
        "abstract": document.abstract,
        "items": [
            {
                "kind": item.kind,
                "number": item.number,
                "name": item.name,
                "file": item.place.file,
                "line": item.place.line,
                "section": item.section,
                "title": item.title,
                "text": item.text,
                "label": item.label,
                "inside": {"kind": item.inside[0], "number": item.inside[1]} if item.inside else None,
                "proof": bool(item.proof),
                "refers_to": _pairs(item.refers),
                "proof_refers_to": _pairs(item.proof_refers),
            }
            for item in document.items
        ],
        "tables": [
            {
                "number": table.number,
                "caption": table.caption,
                "file": table.places[0].file,
                "line": table.places[0].line,
                "rows": [[cell.text for cell in row] for row in table.rows],
            }
            for table in document.tables
        ],
        "statements": _sentences(statements(document)),
        "sentences": _sentences(comparisons(document)),
        "candidates": [
            {"check": one.check, "file": one.place.file, "line": one.place.line, "about": one.about, "says": one.says}
            for one in find_candidates(document)
        ],
        "not_read": list(document.notes),
    }


def _sentences(found: Iterable[tuple[Paragraph, str]]) -> list[dict[str, str | int]]:
    return [
        {"file": paragraph.place.file, "line": paragraph.place.line, "section": paragraph.section, "text": sentence}
        for paragraph, sentence in found
    ]


def _pairs(references: Sequence[Reference]) -> list[dict[str, str]]:
    pairs = dict.fromkeys((one.kind or "", one.number, one.label) for one in references)
    return [{"kind": kind, "number": number, "label": label} for kind, number, label in pairs]
