"""Counts: "x of y", percentages of counts, and totals that a caption or sentence states for the rows of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from paper_checks.inventory.checks.grid import Segment, clean, segments
from paper_checks.inventory.document import Candidate, Document, Paragraph
from paper_checks.methods.rounded import Rounded

_WORDS = {
    word: number
    for number, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ]
    )
}
_COUNT = rf"(?:\d{{1,3}}(?:,\d{{3}})+|\d+|{'|'.join(_WORDS)})"
_OF = re.compile(
    (
        rf"(?<![\d.,$/-])\b(?P<x>{_COUNT})(?:\s+(?:\w+\s+)?(?:out\s+)?of\s+(?:the\s+|"
        rf"these\s+|all\s+|our\s+)?|\s*/\s*)(?P<y>{_COUNT})\b(?![.,]?\d|\s?%)"
    ),
    re.I,
)
_SHARE = re.compile(
    r"(?:\(|,?\s*(?:i\.e\.,?|or|that is,?|=)\s*)(?:about\s+|"
    r"approximately\s+|roughly\s+|≈\s*)?(\d{1,3}(?:\.\d+)?)\s*(?:\\?%|"
    r"percent)"
)
_TOTAL = re.compile(
    (
        rf"\btotal(?:s|ing)?\s*(?:of\s*|number\s+of\s+\w+\s+(?:is|"
        rf"of)\s*)?:?\s*(?P<n>{_COUNT})\s+(?P<what>[a-z]+)|"
        rf"\b(?P<m>{_COUNT})\s+(?P<whose>[a-z]+)\s+in\s+total\b"
    ),
    re.I,
)


def counts(document: Document) -> Iterator[Candidate]:
    """Yield counts that exceed their whole, percentages that are not those of their counts, and wrong totals."""
    for paragraph in document.paragraphs:
        yield from _of(paragraph)
    yield from _totals(document)


def _of(paragraph: Paragraph) -> Iterator[Candidate]:
    for found in _OF.finditer(paragraph.text):
        x, y = _whole(found["x"]), _whole(found["y"])
        slash = "/" in found[0]
        share = _SHARE.match(paragraph.text[found.end() : found.end() + 80].lstrip()) or re.match(
            rf"(?:[a-z]+\s+){{0,4}}{_SHARE.pattern}", paragraph.text[found.end() : found.end() + 80].lstrip(), re.I
        )
        plain = re.fullmatch(rf"{_COUNT}\s+(?:out\s+)?of\s+(?:the\s+|these\s+|all\s+|our\s+)?{_COUNT}", found[0], re.I)
        if plain and x > y > 1 and not re.match(r"(?:one|two|three)$", found["x"], re.I):
            says = f"“{found[0]}”: the part is larger than the whole"
            yield Candidate("count", paragraph.place, "", says, (found["x"], found["y"]))
        elif share and y and (share[1] != "100" or not slash):
            printed, exact = Rounded.printed(share[1]), Fraction(100 * x, y)
            if not printed.low <= exact <= printed.high and x <= y:
                says = f"“{found[0]} … {share[1]} %”: {x} of {y} is {float(exact):.2f} %"
                yield Candidate("count", paragraph.place, "", says, (share[1], f"{float(exact):.2f}"))


def _whole(text: str) -> int:
    return _WORDS[text.lower()] if text.lower() in _WORDS else int(text.replace(",", ""))


def _totals(document: Document) -> Iterator[Candidate]:
    """Yield rows that do not add up to the total which the caption states, if another row does."""
    for table in document.tables:
        for found in _TOTAL.finditer(table.caption):
            total = _whole(found["n"] or found["m"])
            for part in segments(table):
                sums = {row: value for row in range(len(part.rows)) if (value := _sum(part, row)) is not None}
                right = [row for row, value in sums.items() if value == total]
                near = [row for row, value in sums.items() if value != total and abs(value - total) * 4 <= total]
                if not right or len(right) + len(near) < len(sums):
                    continue
                for row in near:
                    says = f"{part.row_name(row)}: its entries add up to {sums[row]}, but the caption says {found[0]}"
                    yield Candidate("total", part.place(row), table.name, says, (str(total), str(sums[row])))


def _sum(part: Segment, row: int) -> int | None:
    """Return the sum of a row of whole numbers; None if it has other entries."""
    numbers = [number for number in part.numbers[row][part.labels :] if number is not None]
    gaps = [clean(cell.text) for cell, number in zip(part.cells[row], part.numbers[row], strict=True) if number is None]
    if len(numbers) < 2 or any(number.decimals or number.unit or number.deviation for number in numbers):
        return None
    if any(re.search(r"\d", gap) for gap in gaps[part.labels :]):
        return None
    return int(sum(number.value for number in numbers))
