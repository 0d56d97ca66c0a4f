"""Counts: "x of y", percentages of counts, and totals that a caption or sentence states for the rows of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

from paper_checks.inventory.checks.grid import Segment, segments
from paper_checks.inventory.checks.numbers import COUNT, EXACT, NO_MORE, clean, whole, with_commas
from paper_checks.inventory.document import Candidate, Document, Paragraph, Place
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
_COUNT = rf"(?:{COUNT}|{'|'.join(_WORDS)})"
_OF = re.compile(
    rf"(?<!\d ){EXACT}(?<![\d.,$/-])\b(?P<x>{_COUNT})(?:\s+(?:\w+\s+)?(?:out\s+)?of\s+(?:the\s+|"
    rf"these\s+|all\s+|our\s+)?|\s*/\s*)(?P<y>{_COUNT})\b{NO_MORE}",
    re.I,
)
_MANNER = (
    r"(?:i\.e\.,?\s*|that is,?\s*|=\s*|or\s+)?"
    r"(?P<about{0}>(?:about|approximately|roughly|around|nearly|almost|≈|~|\$\\(?:approx|sim))\s*)?"
)
_PERCENT = r"\$?(?P<share{0}>\d{{1,3}}(?:\.\d+)?)\s*(?:\\?%\$?|\$?percent\b)"
_SHARE = re.compile(
    r"(?:\s+[a-z]+){0,2}\s*(?:"
    rf"[(\[]\s*{_MANNER.format('')}{_PERCENT.format('')}\s*[)\]]"
    rf"|,?\s*(?:i\.e\.,?|that is,?|=|or)\s*{_MANNER.format('2')}{_PERCENT.format('2')}\s*(?:[.,;:)]|$))",
    re.I,
)
"""A percentage that follows a count after two words at most, with nothing else in its parentheses."""
_ABOUT = 5
"""By how much a percentage that is printed as about this may be off."""
_TOTAL = re.compile(
    (
        rf"\btotal(?:s|ing)?\s*(?:of\s*|number\s+of\s+\w+\s+(?:is|"
        rf"of)\s*)?:?\s*(?P<n>{_COUNT})\s+(?P<what>[a-z]+)|"
        rf"\b(?P<m>{_COUNT})\s+(?P<whose>[a-z]+)\s+in\s+total\b"
    ),
    re.I,
)

_LONG = re.compile(
    rf"{EXACT}(?<![\w.,$^_/-])(?P<n>\d{{1,3}}(?:,\d{{3}})+|\d{{5,9}})(?![\d.,]\d)(?P<after>(?:[- ]+[A-Za-z]+){{1,3}})"
)
"""A whole number of at least four digits, with the words after it."""


def counts(document: Document) -> Iterator[Candidate]:
    """Yield counts that exceed their whole, percentages that are not those of their counts, and wrong totals."""
    for paragraph in document.paragraphs:
        yield from _of(paragraph)
    yield from _totals(document)
    yield from _exchanged(document)


def _exchanged(document: Document) -> Iterator[Candidate]:
    """Yield long numbers of one thing that differ by two neighbouring digits that are exchanged."""
    places: dict[str, Place] = {}
    things: dict[str, set[str]] = {}
    for paragraph in document.paragraphs:
        for found in _LONG.finditer(with_commas(paragraph.text)):
            places.setdefault(found["n"], paragraph.place)
            words = re.findall(r"[a-z]{4,}", found["after"].lower())
            things.setdefault(found["n"], set()).update(word.removesuffix("s") for word in words)
    for one, other in combinations(places, 2):
        a, b = one.replace(",", ""), other.replace(",", "")
        apart = [at for at in range(len(a)) if a[at] != b[at]] if len(a) == len(b) else []
        if len(apart) == 2 and apart[1] == apart[0] + 1 and (a[apart[0]], a[apart[1]]) == (b[apart[1]], b[apart[0]]):
            shared = sorted(things[one] & things[other])
            if shared:
                says = f"prints {other} of “{shared[0]}”, and {one} at {places[one]}: two digits are exchanged"
                yield Candidate("count", places[other], "", says, (one, other))


def _of(paragraph: Paragraph) -> Iterator[Candidate]:
    text = with_commas(paragraph.text)
    for found in _OF.finditer(text):
        x, y = _whole(found["x"]), _whole(found["y"])
        if x is None or y is None:
            continue
        slash = "/" in found[0]
        after = _SHARE.match(text, found.end())
        share = after["share"] or after["share2"] if after else ""
        plain = re.fullmatch(rf"{_COUNT}\s+(?:out\s+)?of\s+(?:the\s+|these\s+|all\s+|our\s+)?{_COUNT}", found[0], re.I)
        if plain and x > y > 1 and not re.match(r"(?:one|two|three)$", found["x"], re.I):
            says = f"“{found[0]}”: the part is larger than the whole"
            yield Candidate("count", paragraph.place, "", says, (found["x"], found["y"]))
        elif after and share and y and (share != "100" or not slash):
            printed, exact = Rounded.printed(share), Fraction(100 * x, y)
            about = _ABOUT if after["about"] or after["about2"] else 0
            if not printed.low - about <= exact <= printed.high + about and x <= y:
                says = f"“{found[0]} … {share} %”: {x} of {y} is {float(exact):.2f} %"
                yield Candidate("count", paragraph.place, "", says, (share, f"{float(exact):.2f}"))


def _whole(text: str) -> int | None:
    return _WORDS[text.lower()] if text.lower() in _WORDS else whole(text)


def _totals(document: Document) -> Iterator[Candidate]:
    """Yield rows that do not add up to the total which the caption states, if another row does."""
    for table in document.tables:
        for found in _TOTAL.finditer(with_commas(table.caption)):
            total = _whole(found["n"] or found["m"])
            if total is None:
                continue
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
