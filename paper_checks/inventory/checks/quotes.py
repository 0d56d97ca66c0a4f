"""Numbers that the text quotes from a table: those that the table has with one digit changed or two exchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from paper_checks.inventory.checks.numbers import Number, read_number, with_commas
from paper_checks.inventory.document import Candidate, Document, Table
from paper_checks.methods.rounded import Rounded

_QUOTED = re.compile(r"(?<![\w.,\-–^_{/\\])(\d{1,4}\.\d{1,4})(?![\d.]*[\d\w])\s*(\\?%)?")
_NAMED = re.compile(r"\bTab(?:le|\.)?s?[\s~]*(?P<number>[A-Z]?\.?\d+(?:\.\d+)*|[IVX]+)\b")


def quotes(document: Document) -> Iterator[Candidate]:
    """Yield numbers in sentences on a table that are in no table, and almost in this one."""
    every = [number for table in document.tables for number in _numbers(table)]
    for paragraph in document.paragraphs:
        tables: list[Table] = []
        for sentence in map(with_commas, paragraph.sentences()):
            named = {found["number"] for found in _NAMED.finditer(sentence)}
            here = [table for table in document.tables if table.number in named]
            tables = here or [table for table in tables if _is_about(sentence, table)]
            if not tables:
                continue
            entries = [number for table in tables for number in _numbers(table)]
            for found in _QUOTED.finditer(re.sub(r"\$\s*([\d.]+)\s*(?:\\%)?\s*\$", r"\1", sentence)):
                quoted = Number(found[1])
                if any(_same(quoted, number) for number in every) or _is_difference(quoted, entries):
                    continue
                near = [number for number in entries if _one_slip(quoted.text, number.text.lstrip("+-"))]
                if len({number.text for number in near}) == 1:
                    says = (
                        f"“{_around(sentence, found[1])}”: {found[1]} is in no "
                        f"table; {tables[0].name} has {near[0].text}"
                    )
                    yield Candidate("quoted number", paragraph.place, tables[0].name, says, (found[1], near[0].text))


def _is_about(sentence: str, table: Table) -> bool:
    """Return whether a sentence has two names of rows or columns of a table."""
    names = {cell.text.strip() for row in table.rows for cell in row if re.search("[A-Za-z]{2}", cell.text)}
    shown = (name for name in names if len(name) < 40)
    return sum(bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence)) for name in shown) >= 2


def _numbers(table: Table) -> Iterator[Number]:
    for row in table.rows:
        for cell in row:
            number = read_number(cell.text)
            if number is not None:
                yield number
                if number.deviation:
                    yield Number(number.deviation)
            else:
                for text in re.findall(r"\d+\.\d+", cell.text):
                    yield Number(text)


def _same(quoted: Number, entry: Number) -> bool:
    """Return whether a quoted number is an entry, as printed, rounded, or as a percentage."""
    return any(
        any(quoted.range.low <= value * scale <= quoted.range.high for scale in (1, 100)) or value == quoted.value / 100
        for value in (abs(entry.value), abs(Fraction(entry.text)))  # with and without its unit of size
    )


def _is_difference(quoted: Number, entries: list[Number]) -> bool:
    """Return whether a number is the difference or the relative difference of two entries."""
    values = list({abs(value) for number in entries for value in (number.value, Fraction(number.text))})[:400]
    half = Rounded.printed(quoted.text).high - quoted.value
    for a in values:
        for b in values:
            if abs(a - b - quoted.value) <= half * 3:
                return True
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
