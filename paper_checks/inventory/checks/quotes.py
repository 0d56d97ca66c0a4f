"""Numbers that the text quotes from a table: those that the table has with one digit changed or two exchanged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction

from paper_checks.inventory.checks.numbers import Number, read_number, with_commas
from paper_checks.inventory.document import Candidate, Document, Table
from paper_checks.methods.rounded import Rounded

_QUOTED = re.compile(r"(?<![\w.,\-–^_{/\\])(\d{1,4}\.\d{1,4})(?![\d.]*[\d\w])\s*(\\?%)?")
_NAMED = re.compile(r"\bTab(?:le|\.)?s?[\s~]*(?P<number>[A-Z]?\.?\d+(?:\.\d+)*|[IVX]+)\b")

_VALUED = re.compile(r"[=<>≤≥≈]|\\(?:leq?|geq?|approx|sim)(?![A-Za-z])")
"""A sign of a formula that gives a symbol a value, as of a threshold."""
_SPEAKS = re.compile(
    r"\b(?:improv|gain|gap|point|pp|by|differ|delta|increas|decreas|reduc|drop|higher|lower|more|less|better|worse|"
    r"than|rais|ris(?:e|ing)|rose|fall|fell|margin|relative|times|fold|faster|slower|smaller|larger|ratio|speed-?up|"
    r"chang|advantage|outperform|surpass|exceed|degrad|los[st]|sav(?:e|ing)|boost|from)\w*|Δ|\\Delta|[+−-]\d",
    re.I,
)
"""A word for a difference."""
_RELATIVE = re.compile(r"%|\b(?:percent|times|relative|ratio|factor|fold|faster|slower|speed-?up)\w*|×|\d\s?x\b", re.I)
_VALUE = re.compile(
    r"(?:\bfrom|±|\\pm\$?|\bfrom\b(?:[^.;]|\.\d)*\bto|\b(?:improv|increas|decreas|reduc|drop|ris|fall|rais)\w*\s+to)$",
    re.I,
)
"""Before a number that is a value itself, not a difference."""
_AVERAGE = re.compile(r"\b(?:averag|mean|median|std|deviation|variance|overall|sum|total)\w*", re.I)
_NEAR, _LONGEST, _LONGEST_NAME = 40, 100, 40
"""Characters before a number that say its kind, entries of a line that are compared, and letters of a name."""


def quotes(document: Document) -> Iterator[Candidate]:
    """Yield numbers in sentences on a table that are in no table, and almost in this one."""
    every = [number for table in document.tables for number in _numbers(table)]
    for paragraph in document.paragraphs:
        before: list[Table] = []
        for sentence in map(with_commas, paragraph.sentences()):
            named = {found["number"] for found in _NAMED.finditer(sentence)}
            here = [table for table in document.tables if table.number in named]
            before = here or before
            tables = here or [table for table in before if _is_about(sentence, table)]
            if not tables:
                continue
            plain = _without_thresholds(re.sub(r"\$\s*([\d.]+)\s*(?:\\%)?\s*\$", r"\1", sentence))
            for found in _QUOTED.finditer(plain):
                quoted = Number(found[1])
                if any(_same(quoted, number) for number in every) or _is_said(quoted, plain, found.start(), tables):
                    continue
                deviates = re.search(r"(?:±|\\pm)\s*\$?\s*$", plain[: found.start()]) is not None
                meant = _meant(quoted, plain, tables, deviates)
                if meant is not None:
                    table, text = meant
                    says = f"“{_around(sentence, found[1])}”: {found[1]} is in no table; {table.name} has {text}"
                    yield Candidate("quoted number", paragraph.place, table.name, says, (found[1], text))


def _without_thresholds(sentence: str) -> str:
    """Return a sentence without the formulas that give a symbol a value."""

    def keep(found: re.Match[str]) -> str:
        return " " if _VALUED.search(found[0]) and re.search("[A-Za-z]", found[0]) else found[0]

    return re.sub(r"\$[^$]*\$", keep, sentence)


def _meant(quoted: Number, sentence: str, tables: list[Table], deviates: bool) -> tuple[Table, str] | None:
    """Return the entry that a number with a slip means: of several, the one whose row and column the sentence names."""
    near: list[tuple[int, Table, str]] = []
    for table in tables:
        for at, row in enumerate(table.rows):
            for column in range(len(row)):
                entries = list(_in_cell(row[column].text))
                alone = read_number(row[column].text) is not None
                for number in entries[1:] if deviates else entries[:1] if alone else entries:
                    if _one_slip(quoted.text, number.text.lstrip("+-")):
                        named = [cell.text for cell in row[:column]] + [above[column].text for above in table.rows[:at]]
                        near.append((_mentioned(named, sentence), table, number.text))
    if len({text for _, _, text in near}) > 1:
        near = [one for one in near if not re.search(rf"(?<![\d.]){re.escape(one[2])}(?!\d)", sentence)]
    most = max((score for score, _, _ in near), default=0)
    best = [(table, text) for score, table, text in near if score == most]
    return best[0] if len({text for _, text in best}) == 1 else None


def _mentioned(names: Iterable[str], sentence: str) -> int:
    """Return how many names of rows and columns a sentence has."""
    words = {name.strip() for name in names if re.search("[A-Za-z]", name) and len(name) < _LONGEST_NAME}
    return sum(bool(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", sentence, re.I)) for word in words)


def _is_about(sentence: str, table: Table) -> bool:
    """Return whether a sentence has two names of rows or columns of a table."""
    names = {cell.text.strip() for row in table.rows for cell in row if re.search("[A-Za-z]{2}", cell.text)}
    shown = (name for name in names if len(name) < _LONGEST_NAME)
    return sum(bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence)) for name in shown) >= 2


def _numbers(table: Table) -> Iterator[Number]:
    for row in table.rows:
        for cell in row:
            yield from _in_cell(cell.text)


def _in_cell(text: str) -> Iterator[Number]:
    """Yield the numbers of a cell, deviations included."""
    number = read_number(text)
    if number is None:
        for digits in re.findall(r"\d+\.\d+", text):
            yield Number(digits)
        return
    yield number
    if number.deviation:
        yield Number(number.deviation)
    if number.gain:
        yield Number(number.gain.strip("+-%"))


def _same(quoted: Number, entry: Number) -> bool:
    """Return whether a quoted number is an entry, as printed, rounded, or as a percentage."""
    return any(
        any(quoted.range.low <= value * scale <= quoted.range.high for scale in (1, 100)) or value == quoted.value / 100
        for value in (abs(entry.value), abs(Fraction(entry.text)))  # with and without its unit of size
    )


def _is_said(quoted: Number, sentence: str, at: int, tables: list[Table]) -> bool:
    """Return whether a number at a place of a sentence is a difference or an average that the sentence speaks of."""
    before = sentence[:at].rstrip(" $~(")
    if _AVERAGE.search(before[-_NEAR:]):
        return True
    if _VALUE.search(before) or not _SPEAKS.search(sentence):
        return False
    relative = bool(_RELATIVE.search(sentence))
    return any(_is_difference(quoted, line, relative) for line in _lines(tables))


def _lines(tables: list[Table]) -> Iterator[list[Number]]:
    """Yield the numbers of each row and column, and those of one place in several tables."""
    grids = [[[read_number(cell.text) for cell in row] for row in table.rows] for table in tables]
    for grid in grids:
        for line in (*grid, *zip(*grid, strict=False)):
            yield [number for number in line if number is not None]
    if len(grids) > 1:
        for rows in zip(*grids, strict=False):
            for cells in zip(*rows, strict=False):
                yield [number for number in cells if number is not None]


def _is_difference(quoted: Number, line: list[Number], relative: bool) -> bool:
    """Return whether a number is the difference of two of a line, or their relative difference or ratio."""
    values = list({abs(value) for number in line for value in (number.value, Fraction(number.text))})[:_LONGEST]
    half = Rounded.printed(quoted.text).high - quoted.value
    for a in values:
        for b in values:
            if abs(a - b - quoted.value) <= half * 3 or abs(100 * (a - b) - quoted.value) <= half * 3:
                return True
            if not relative:
                continue
            if b and (abs(100 * (a - b) / b - quoted.value) <= half * 2 or abs(a / b - quoted.value) <= half):
                return True
            if a and a > b and abs(100 * (a - b) / a - quoted.value) <= half * 2:
                return True
    return False


def _one_slip(one: str, other: str) -> bool:
    """Return whether two numbers of one form differ in one digit, or by two neighbours that are exchanged.

    >>> _one_slip("99.18", "19.18"), _one_slip("19.81", "19.18"), _one_slip("19.2", "19.18")
    (True, True, False)
    """
    if len(one) != len(other) or one.find(".") != other.find(".") or len(one) < 4:
        return False
    apart = [at for at in range(len(one)) if one[at] != other[at]]
    if len(apart) == 1:
        return True
    digits = [at for at in range(len(one)) if one[at] != "."]
    return (
        len(apart) == 2
        and digits.index(apart[1]) - digits.index(apart[0]) == 1
        and (one[apart[0]] == other[apart[1]] and one[apart[1]] == other[apart[0]])
    )


def _around(sentence: str, number: str) -> str:
    at = sentence.find(number)
    start, end = max(0, at - 50), at + len(number) + 25
    return f"{'…' if start else ''}{sentence[start:end].strip()}{'…' if end < len(sentence) else ''}"
