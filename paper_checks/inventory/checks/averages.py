"""Averages and sums of tables against the entries that they are made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from paper_checks.inventory.checks.grid import Segment, distance, segments, shown, without_unit
from paper_checks.inventory.checks.numbers import Number, clean, comparable
from paper_checks.inventory.document import Candidate, Document
from paper_checks.methods.rounded import Rounded

_AVERAGE = re.compile(
    (
        r"(?:macro[- ]?|overall |task )?(?:avg|ave|average|mean)\.?(?: "
        r"(?:acc(?:uracy)?|score|performance)\.?)?\s*(?:\(?%\)?)?\s*[↑↓]?"
    ),
    re.I,
)
_SUM = re.compile(r"(?:grand |sub)?(?:total|sum)s?\.?|\\sum|Σ", re.I)
_NO_SUMMAND = re.compile(
    r"(?:#|no\.? of|num(?:ber)?\b|rank\b|r\b|k\b|n\b|seeds?\b|params?|"
    r"clients?\b|size\b|epochs?\b|rounds?\b|year\b|id\b|std|s\.?d\.?\b|"
    r"time\b|memory\b|flops|bits?\b|layers?\b|steps?\b|lr\b|learning rate|batch)",
    re.I,
)
_SHARE = re.compile(
    r"%|\bper ?cent|\brates?\b|\bratio\b|\bproportion|\bshare\b|\bfraction\b|\bacc(?:uracy|\.)?\b|\bmeans?\b|"
    r"\bav(?:era)?ge?\b|\bmedian\b|\bscores?\b|\bs\.?[de]\.?(?!\w)|\bstd\b",
    re.I,
)
"""Names of what is not added up: the value of a total is that of all together."""
_NEAR = 0.1
"""Share by which a lone average may miss its row to be taken for one."""


def averages(document: Document) -> Iterator[Candidate]:
    """Yield averages that the entries of their rows or columns do not have."""
    yield from _derived(document, _AVERAGE, "average", _mean)


def sums(document: Document) -> Iterator[Candidate]:
    """Yield totals that the entries of their rows or columns do not add up to."""
    yield from _derived(document, _SUM, "sum", _sum)


def _mean(numbers: Sequence[Number]) -> Rounded:
    return _total(numbers) / Rounded.exact(len(numbers))


def _sum(numbers: Sequence[Number]) -> Rounded:
    """Return the sum of entries; counts are exact, while percentages that are printed whole are rounded."""
    total = sum((number.value for number in numbers), Fraction(0))
    rounded = any(number.decimals or number.unit or "e" in number.text for number in numbers)
    if rounded or abs(total - 100) <= len(numbers):
        return _total(numbers)
    return Rounded.exact(total)


def _total(numbers: Sequence[Number]) -> Rounded:
    low = sum((number.range.low for number in numbers), numbers[0].range.low * 0)
    return Rounded(low, sum((number.range.high for number in numbers), low * 0))


def _derived(
    document: Document, name: re.Pattern[str], check: str, combine: Callable[[Sequence[Number]], Rounded]
) -> Iterator[Candidate]:
    for table in document.tables:
        for part in segments(table):
            for turned in (part, part.turn()):
                for column in range(turned.width):
                    if name.fullmatch(without_unit(turned.name(column))):
                        yield from _check_column(turned, column, name, check, combine)


def _check_column(
    part: Segment, column: int, name: re.Pattern[str], check: str, combine: Callable[[Sequence[Number]], Rounded]
) -> Iterator[Candidate]:
    """Yield the entries of a column that do not follow, if most do."""
    best: tuple[int, int, list[tuple[int, Number, Rounded]]] | None = None
    for run in _runs(part, column, name):
        rows: list[tuple[int, Number, Rounded]] = []
        for row, numbers in enumerate(part.numbers):
            printed, entries = numbers[column], [numbers[at] for at in run]
            kept = [one for one in entries if one is not None]
            if (
                printed is not None
                and len(kept) == len(run)
                and comparable((*kept, printed))
                and not (check == "sum" and _is_pooled(part, row, column, kept, printed))
            ):
                rows.append((row, printed, combine(kept)))
        agree = sum(distance(printed.range, found) <= 0 for _, printed, found in rows)
        if rows and (best is None or (agree, len(run)) > (best[0], best[1])):
            best = agree, len(run), rows
    if best is None:
        return
    agree, length, rows = best
    convinced = agree >= 2 and agree * 2 >= len(rows)
    lone = len(rows) == 1 or (len(rows) == 2 and agree == 1)
    for row, printed, found in rows:
        if distance(printed.range, found) <= 0:
            continue
        near = abs(printed.value - (found.low + found.high) / 2) <= abs(printed.value) * _NEAR
        if convinced or (lone and near and length >= 3):
            says = f"prints {printed.printed} as the {check} of {length} entries, which give {shown(found, printed)}"
            yield Candidate(
                check,
                part.place(row),
                part.table.name,
                f"{part.row_name(row)}, {_called(part, column)}: {says}",
                (printed.text, shown(found, printed)),
            )


def _is_pooled(part: Segment, row: int, column: int, entries: Sequence[Number], printed: Number) -> bool:
    """Return whether a total is a share or a mean of all together, as its name or its value says, and not a sum."""
    names = (*part.names[column], part.row_name(row))
    if printed.unit == "%" or any(_SHARE.search(name) for name in names):
        return printed.value != 100 or abs(sum((entry.value for entry in entries), Fraction(-100))) > 10
    return all(entry.value >= 0 for entry in entries) and printed.value <= max(entry.value for entry in entries)


def _called(part: Segment, column: int) -> str:
    return clean(part.name(column)) or f"column {column + 1}"


def _runs(part: Segment, column: int, name: re.Pattern[str]) -> Iterator[list[int]]:
    """Yield the neighbouring columns that could be combined, longest first: on the left, else on the right."""
    for step in (-1, 1):
        run: list[int] = []
        at = column + step
        while part.labels <= at < part.width:
            other = clean(part.name(at))
            if name.fullmatch(without_unit(other)) or not part.column_is_numeric(at) or _NO_SUMMAND.match(other):
                if run or name.fullmatch(without_unit(other)):
                    break
                at += step
                continue
            run.append(at)
            at += step
        for length in range(len(run), 1, -1):
            yield sorted(run[:length])
        same_group = [at for at in run if part.names[at][:-1] == part.names[column][:-1]]
        if 1 < len(same_group) < len(run):
            yield sorted(same_group)
