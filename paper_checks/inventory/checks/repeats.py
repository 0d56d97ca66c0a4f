"""Tables that repeat each other: entries of one row and column that differ."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from paper_checks.inventory.checks.grid import Segment, segments
from paper_checks.inventory.checks.numbers import Number, clean, comparable, equal
from paper_checks.inventory.document import Candidate, Document

_SHARED = 6
"""Entries that two tables must share to repeat each other."""
_EQUAL = 0.8
"""Share of these that must be equal."""
Key = tuple[str, ...]


def repeats(document: Document) -> Iterator[Candidate]:
    """Yield entries that two tables, which else agree, print differently."""
    entries = [(part, _entries(part)) for table in document.tables for part in segments(table)]
    for (one, first), (other, second) in combinations(entries, 2):
        if one.table is other.table:
            continue
        shared = [key for key in first if key in second]
        alike = [key for key in shared if _same(first[key][1], second[key][1])]
        if len(shared) < _SHARED or len(alike) < len(shared) * _EQUAL:
            continue
        for key in shared:
            (row, before), (_, after) = first[key], second[key]
            if before == after or not comparable((before, after)) or _rounds_to(before, after):
                continue
            says = f"{', '.join(filter(None, key))}: {_shown(before)} here, {_shown(after)} in {other.table.name}"
            yield Candidate("repeated entry", one.place(row), one.table.name, says, (_shown(before), _shown(after)))


def _entries(part: Segment) -> dict[Key, tuple[int, Number]]:
    """Return the numbers of a table by the names of their row and column; names that occur twice are left out."""
    found: dict[Key, tuple[int, Number]] = {}
    twice = set()
    for row, numbers in enumerate(part.numbers):
        for column in range(part.labels, part.width):
            number = numbers[column]
            if number is None:
                continue
            labels = [clean(cell.text).lower() for cell in part.cells[row][: part.labels]]
            key = (*labels, *(clean(name).lower() for name in part.names[column]))
            if not any(labels) or key in found:
                twice.add(key)
            found[key] = row, number
    return {key: value for key, value in found.items() if key not in twice}


def _same(one: Number, other: Number) -> bool:
    """Return whether two entries are one number, in units of size that can differ."""
    return one == other or (comparable((one, other)) and (one.value, one.deviation) == (other.value, other.deviation))


def _rounds_to(one: Number, other: Number) -> bool:
    """Return whether one number is the other with fewer digits."""
    if one.deviation and other.deviation and one.deviation != other.deviation:
        return False
    return equal(one, other)


def _shown(number: Number) -> str:
    return f"{number.text}{f' ± {number.deviation}' if number.deviation else ''}{number.unit}"
