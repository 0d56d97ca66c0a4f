"""Units of printed sizes: one size in two units, 1000 and 1024 mixed, and a unit that does not fit its column."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from paper_checks.inventory.checks.numbers import (
    COUNT,
    Number,
    clean,
    is_readable,
    plain_digits,
    read_number,
    with_commas,
)
from paper_checks.inventory.document import Candidate, Document, Place
from paper_checks.methods.rounded import Rounded

_PREFIX = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_UNIT = r"[kKMGTP]i?[Bb](?:its?|ytes?)?|(?:[kK]ilo|[Mm]ega|[Gg]iga|[Tt]era|[Pp]eta)[ -]?(?:bits?|bytes?)|bytes|B"


def _size(which: str) -> str:
    """Return the pattern of a size, whose groups have names that end alike."""
    number = rf"(?P<number{which}>{COUNT}(?:\.\d+)?)"
    return rf"{number}\s*(?:\\,|~|\\ |\$)*\s*(?P<unit{which}>{_UNIT})\b"


_ONE = re.compile(r"(?<![\w.,])" + _size(""))
_TWICE = re.compile(
    r"(?<![\w.,])(?<!\d )"
    + _size("")
    + r"\s*(?:\(\s*(?:≈|=|about|approximately|i\.e\.,?|or|~|\\approx)?\s*|=\s*|,?\s*i\.e\.,?\s*)"
    + _size("2")
    + r"\s*\)?(?!\s*(?:per|/))"
)


@dataclass(frozen=True)
class Size:
    """A printed number of bytes or bits.

    Attributes:
        number: As printed.
        power: Power of 1000 or 1024 that the unit is.
        binary: Whether the unit is one of 1024 for certain (KiB).
        bits: Whether bits are meant.
        unit: As printed.
    """

    number: Number
    power: int
    binary: bool
    bits: bool
    unit: str

    def bytes(self, base: int) -> Rounded:
        """Return the bytes that it can stand for, with units of a base."""
        factor = Fraction(1024 if self.binary else base) ** self.power / (8 if self.bits else 1)
        return self.number.range * Rounded.exact(factor)

    def __str__(self) -> str:
        return f"{self.number.text} {self.unit}"


def read_size(number: str, unit: str) -> Size:
    """Return a size from its number and its unit."""
    prefix = unit[0].lower() if unit[0].lower() in "kmgtp" and unit.lower() not in ("b", "bytes") else ""
    bits = unit.endswith("b") or "bit" in unit.lower()
    return Size(Number(plain_digits(number)), _PREFIX[prefix], unit[1:3].lower() == "ib", bits, unit)


def sizes(document: Document) -> Iterator[Candidate]:
    """Yield sizes whose units contradict each other."""
    for paragraph in document.paragraphs:
        for found in _TWICE.finditer(with_commas(paragraph.text)):
            if not all(is_readable(plain_digits(found[number])) for number in ("number", "number2")):
                continue
            one, other = read_size(found["number"], found["unit"]), read_size(found["number2"], found["unit2"])
            if one.power == other.power and one.bits == other.bits and one.binary == other.binary:
                continue  # two different things in one unit
            if not any(_meet(one.bytes(base), other.bytes(base)) for base in (1000, 1024)) and _alike(one, other):
                says = f"“{found[0]}”: the two are not one size, with units of 1000 or of 1024"
                yield Candidate("size", paragraph.place, "", says, (str(one), str(other)))
    for place, about, column in _columns(document):
        yield from _mixed(place, about, column)
        yield from _outlier(place, about, column)


def _meet(one: Rounded, other: Rounded) -> bool:
    return one.low <= other.high and other.low <= one.high


def _alike(one: Size, other: Size) -> bool:
    """Return whether the digits of two sizes, or their magnitude, suggest that they are meant to be one."""
    ratio = one.bytes(1000).low / other.bytes(1000).low if other.bytes(1000).low else Fraction(0)
    return ratio > 0 and (
        Fraction(1, 2) < ratio < 2
        or any(
            Fraction(9, 10) < ratio / Fraction(10) ** power < Fraction(11, 10) for power in (-6, -3, -2, -1, 1, 2, 3, 6)
        )
    )


def _columns(document: Document) -> Iterator[tuple[Place, str, list[Size]]]:
    """Yield the sizes of each column of a table, with the unit of the heading if they have none, each size once."""
    for table in document.tables:
        for column in range(len(table.rows[0]) if table.rows else 0):
            heading, found = "", dict[str, Size]()
            for row in table.rows:
                text = clean(row[column].text)
                match, number = _ONE.fullmatch(text), read_number(text)
                if match and is_readable(plain_digits(match["number"])):
                    found.setdefault(match[0], read_size(match["number"], match["unit"]))
                elif heading and number is not None and not number.unit:
                    found.setdefault(number.text, read_size(number.text, heading))
                elif unit := re.search(r"[(\[]\s*([kKMGT]i?B)\s*[)\]]", text):
                    heading = unit[1]
            if len(found) >= 2:
                yield table.places[0], table.name, list(found.values())


def _mixed(place: Place, about: str, column: list[Size]) -> Iterator[Candidate]:
    """Yield columns in KB or MB that are whole only if a thousand of them make 1024 of the next smaller unit.

    A number of MiB times 1000 is often printed as KB: 0.1875 MiB, which is 192 KiB, becomes 187.5 KB.
    """
    if any(size.binary or size.bits or not size.power for size in column) or len({size.power for size in column}) > 1:
        return
    values = [size.number.value for size in column]
    scaled = [value * Fraction(1024, 1000) for value in values]
    if all(value.denominator == 1 and value.numerator % 32 == 0 for value in scaled) and any(
        value.denominator > 1 for value in values
    ):
        shown = ", ".join(map(str, column))
        exact = ", ".join(str(int(value)) for value in scaled)
        unit = column[0].unit
        says = (
            f"{shown}: times 1.024 these are {exact}, so they seem to be 1000 times a number of units of 1024; "
            f"in {unit[0]}iB they are {exact}"
        )
        yield Candidate("size", place, about, says, tuple(map(str, column)))


def _outlier(place: Place, about: str, column: list[Size]) -> Iterator[Candidate]:
    """Yield the one size of a column in another unit that would fit its neighbours in theirs."""
    units = [size.unit for size in column]
    for size in column:
        others = [other for other in column if other is not size]
        if len(others) < 3 or units.count(size.unit) > 1 or len({other.unit for other in others}) > 1:
            continue
        values = [other.bytes(1000).low for other in others]
        as_theirs = size.number.value * Fraction(1000) ** others[0].power
        own = size.bytes(1000).low
        inside = min(values) / 2 <= as_theirs <= max(values) * 2
        far = own > max(values) * 100 or own * 100 < min(values)
        if inside and far:
            says = (
                f"{size} among sizes in {others[0].unit}: as "
                f"{size.number.text} {others[0].unit} it would be of their "
                f"magnitude"
            )
            yield Candidate("size", place, about, says, (str(size),))
