"""Marks of the best entry in tables: bold numbers that another number beats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from paper_checks.inventory.checks.grid import Segment, segments
from paper_checks.inventory.checks.numbers import Number, clean, comparable, equal
from paper_checks.inventory.document import Candidate, Document, Table

_ENOUGH = 3
"""Marks that must be right before a wrong one is reported."""


@dataclass(frozen=True)
class _Line:
    """Entries that are compared with each other, in one column and block of rows, and which of them are marked."""

    part: Segment
    column: int
    rows: tuple[int, ...]
    marked: tuple[int, ...]

    def number(self, row: int) -> Number:
        number = self.part.numbers[row][self.column]
        assert number is not None
        return number

    def best(self, largest: bool) -> bool:
        """Return whether every marked entry is the best."""
        numbers = [self.number(row) for row in self.rows]
        best = (max if largest else min)(numbers, key=lambda number: number.value)
        return all(equal(self.number(row), best) for row in self.marked)


def marks(document: Document) -> Iterator[Candidate]:
    """Yield marked entries that are not the best of those that they are compared with, if the other marks are."""
    for table in document.tables:
        if any(cell.bold for row in table.rows for cell in row):
            yield from _check(table)


def _check(table: Table) -> Iterator[Candidate]:
    """Yield the wrong marks in the direction, and with the blocks, in which most marks are right."""
    readings = []
    for turned in (False, True):
        for blocks in ("rules", "labels", "whole"):
            lines = [
                line for part in segments(table) for line in _lines(part.turn() if turned else part, blocks, turned)
            ]
            wrong = []
            for line in lines:
                largest = _direction(line, lines)
                if not line.best(largest):
                    wrong.append((line, largest))
            if lines:
                readings.append((len(wrong) / len(lines), -len(lines), lines, wrong))
    if not readings:
        return
    share, _, lines, wrong = min(readings, key=lambda reading: reading[:2])
    right = len(lines) - len(wrong)
    if not wrong or right < _ENOUGH or share > 0.25:
        return
    for line, largest in wrong:
        rows = sorted(line.rows, key=lambda row: line.number(row).value, reverse=largest)
        best = line.number(rows[0])
        for row in line.marked:
            number = line.number(row)
            if not equal(number, best):
                name = line.part.row_name(rows[0])
                says = (
                    f"{line.part.row_name(row)}, "
                    f"{clean(line.part.name(line.column)) or f'column {line.column + 1}'}"
                    f": {number.printed} is marked "
                    f"as best, but {name} has {best.printed} ({right} of {len(lines)} marks are right)"
                )
                yield Candidate("best mark", line.part.place(row), table.name, says, (number.text, best.text))


def _lines(part: Segment, blocks: str, turned: bool) -> Iterator[_Line]:
    """Yield the columns of a table, block by block, that have a mark and entries without one."""
    for rows in _blocks(part, blocks, turned):
        for column in range(part.labels, part.width):
            filled = tuple(row for row in rows if part.numbers[row][column] is not None)
            marked = tuple(row for row in filled if part.cells[row][column].bold)
            line = _Line(part, column, filled, marked)
            if marked and len(filled) > len(marked) and comparable(line.number(row) for row in filled):
                yield line


def _blocks(part: Segment, how: str, turned: bool) -> Iterator[list[int]]:
    """Yield rows that are compared with each other: between rules, under one first label, or all."""
    block: list[int] = []
    before = None
    for row, at in enumerate(part.rows):
        key: object = None
        if how == "labels":
            key = part.names if turned else clean(part.cells[row][0].text) if part.labels > 1 else None
            key = clean(part.cells[row][0].text).rsplit(" ", 1)[0] if turned else key
        new = key != before if how == "labels" else how == "rules" and not turned and at in part.table.rules
        if block and new:
            yield block
            block = []
        block.append(row)
        before = key
    if block:
        yield block


def _direction(line: _Line, lines: list[_Line]) -> bool:
    """Return whether the largest entry of a column is best, as an arrow says, or else most marks."""
    names = " ".join((*line.part.names[line.column], line.part.table.caption))
    column_names = " ".join(line.part.names[line.column])
    for text in (column_names, names):
        up, down = "↑" in text or "uparrow" in text, "↓" in text or "downarrow" in text
        if up != down:
            return up
    same = [other for other in lines if other.part.names[other.column][-1:] == line.part.names[line.column][-1:]]
    for group in (same, lines):
        ups, downs = (sum(other.best(largest) for other in group) for largest in (True, False))
        if ups != downs:
            return ups > downs
    return True
