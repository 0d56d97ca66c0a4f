"""Tables as numbers: the entries of their parts, and the names of each row and column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from paper_checks.inventory.checks.numbers import Number, clean, read_number
from paper_checks.inventory.document import Cell, Place, Table
from paper_checks.methods.rounded import Rounded

_HEADING_UNIT = re.compile(r"[(\[]\s*(?:in\s+)?([KMGT]i?B|[kKMGTB]|ms|s|min|h|thousands?|millions?|billions?)\s*[)\]]")
_WORDS = {"thousand": "K", "thousands": "K", "million": "M", "millions": "M", "billion": "G", "billions": "G"}
_SCALED = re.compile(r"\bin (?:thousand|million|billion)s?\b", re.I)
"""A caption that gives all entries a size."""
_MOST_ROWS = 1000
"""Rows of a table that is checked; a longer one lists data, not results."""


@dataclass(frozen=True)
class Segment:
    """Rows of a table under one heading.

    Attributes:
        table: The table.
        names: Names of the columns, from the outermost heading to the innermost.
        rows: Numbers of its rows in the table.
        labels: How many columns at the left are names of rows.
        turned: Whether rows and columns of the table have changed places.
    """

    table: Table
    names: tuple[tuple[str, ...], ...]
    rows: tuple[int, ...]
    labels: int
    cells: tuple[tuple[Cell, ...], ...]
    numbers: tuple[tuple[Number | None, ...], ...]
    turned: bool = False

    @property
    def width(self) -> int:
        """Number of columns, labels included."""
        return len(self.names)

    def name(self, column: int) -> str:
        """Return the innermost name of a column."""
        return next((name for name in reversed(self.names[column]) if name), "")

    def row_name(self, row: int) -> str:
        """Return the names of a row, joined."""
        shown = [clean(cell.text) for cell in self.cells[row][: self.labels] if clean(cell.text)]
        shown = shown or [clean(cell.text) for cell in self.cells[row] if clean(cell.text)][:1]
        return " ".join(dict.fromkeys(shown)) or f"row {self.rows[row] + 1}"

    def place(self, row: int) -> Place:
        """Return where a row is."""
        return self.table.places[0 if self.turned else min(self.rows[row], len(self.table.places) - 1)]

    def column_is_numeric(self, column: int) -> bool:
        """Return whether most entries of a column are numbers."""
        found = [row[column] is not None for row in self.numbers]
        filled = [bool(clean(row[column].text)) for row in self.cells]
        return sum(found) * 2 > sum(filled) > 0

    def turn(self) -> Segment:
        """Return the segment with rows and columns exchanged; names of rows become names of columns."""
        count = len(self.rows)
        names = ((*self._all_names(),), *((self.row_name(row),) for row in range(count)))
        columns = range(self.labels, self.width)
        blank = [Cell(" ".join(filter(None, dict.fromkeys(self.names[column])))) for column in columns]
        cells = tuple(
            (label, *(self.cells[row][column] for row in range(count)))
            for label, column in zip(blank, columns, strict=True)
        )
        numbers = tuple((None, *(self.numbers[row][column] for row in range(count))) for column in columns)
        return Segment(self.table, names, tuple(columns), 1, cells, numbers, True)

    def _all_names(self) -> Iterator[str]:
        yield ""


def segments(table: Table) -> list[Segment]:
    """Return a table in parts that each have one heading."""
    rows = table.rows
    if not 0 < len(rows) <= _MOST_ROWS:
        return []
    numbers = [[read_number(cell.text) for cell in row] for row in rows]
    width = len(rows[0])
    labels = _label_columns(rows, numbers, width)
    scaled = bool(_SCALED.search(table.caption))
    found: list[Segment] = []
    heading: list[int] = []
    body: list[int] = []

    def close() -> None:
        if body:
            names = tuple(tuple(clean(rows[at][column].text) for at in heading) for column in range(width))
            units = [_unit_of(column) for column in names]
            for at in body:
                unit = _unit_of([clean(cell.text) for cell in rows[at][:labels]])
                numbers[at] = [
                    _in_unit(number, units[column] or unit, scaled) for column, number in enumerate(numbers[at])
                ]
            found.append(
                Segment(
                    table,
                    names,
                    tuple(body),
                    labels,
                    tuple(rows[at] for at in body),
                    tuple(tuple(numbers[at]) for at in body),
                )
            )

    for at, row in enumerate(rows):
        values = [number for number in numbers[at][labels:] if number is not None]
        texts = [
            clean(cell.text)
            for cell in row[labels:]
            if clean(cell.text) and read_number(cell.text) is None and not _is_gap(cell.text)
        ]
        same = len({clean(cell.text) for cell in row if clean(cell.text)}) <= 1
        is_head = (
            not values or (len(texts) > len(values)) or (not body and _is_first_heading(rows, numbers, at, labels))
        )
        if is_head and same and body and not values:
            continue  # a title between blocks
        if is_head and (not body or len(texts) >= 2 or (texts and width - labels <= 2)):
            if body:
                close()
                body, heading = [], []
            heading.append(at)
        elif values:
            body.append(at)
    close()
    return found


def without_unit(name: str) -> str:
    """Return a heading without its unit of size and the signs around it."""
    return _HEADING_UNIT.sub("", clean(name)).strip(" .:*")


def _unit_of(names: Sequence[str]) -> str:
    """Return the unit that the heading of a column or row has in parentheses; empty if there is none."""
    found = next(filter(None, (_HEADING_UNIT.search(name) for name in reversed(names))), None)
    return _WORDS.get(found[1].lower(), found[1]) if found else ""


def _in_unit(number: Number | None, unit: str, scaled: bool) -> Number | None:
    """Return an entry with the unit of its heading; None if its own size and that of the whole table contradict."""
    if number is None or not number.unit:
        return replace(number, unit=unit) if number is not None and unit else number
    return None if scaled and number.size > 1 else number


def _is_gap(text: str) -> bool:
    return bool(re.fullmatch(r"[\s\-–—/✓✗×·.]*|n/?a|N/?A|OOM|\\?(?:cmark|xmark|checkmark)", clean(text)))


def _is_first_heading(
    rows: Sequence[Sequence[Cell]], numbers: Sequence[Sequence[Number | None]], at: int, labels: int
) -> bool:
    """Return whether a row of numbers at the top is a heading, such as numbers of clients: a rule or words say so."""
    words = [clean(cell.text) for cell in rows[at][: max(1, labels)]]
    values = [number for number in numbers[at][labels:] if number is not None]
    below = [number for row in numbers[at + 1 : at + 4] for number in row[labels:] if number is not None]
    whole = all(number.decimals == 0 for number in values)
    return (
        at <= 2
        and whole
        and bool(below)
        and sum(number.decimals > 0 for number in below) * 2 > len(below)
        and any(words)
    )


def _label_columns(rows: Sequence[Sequence[Cell]], numbers: Sequence[Sequence[Number | None]], width: int) -> int:
    """Return how many columns at the left name the rows: up to the last that has words, within the first half."""
    labels = 0
    for column in range(min(width - 1, 5)):
        below = [at for at in range(1, len(rows)) if clean(rows[at][column].text)]
        wordy = [at for at in below if numbers[at][column] is None and not _is_gap(rows[at][column].text)]
        if below and len(wordy) * 2 > len(below):
            labels = column + 1
        elif column > labels + 1:
            break
    return labels


def distance(printed: Rounded, found: Rounded) -> Fraction:
    """Return how far two ranges are apart; negative by their overlap."""
    apart = printed - found
    return max(apart.low, -apart.high)


def shown(value: Rounded, like: Number) -> str:
    """Return the middle of a range in the unit of a printed number, with a digit more than it has."""
    middle = (value.low + value.high) / 2 / like.size
    digits = f"{float(middle):.{like.decimals + 1}f}" if "e" not in like.text else f"{float(middle):.4g}"
    return f"{digits}{like.unit if like.size > 1 else ''}"
