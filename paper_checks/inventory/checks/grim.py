"""GRIM: means and percentages that no whole number of answers can have, where the number of samples is printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor

from paper_checks.inventory.checks.grid import segments
from paper_checks.inventory.checks.numbers import (
    COUNT,
    EXACT,
    NO_MORE,
    NOT_A_PART,
    clean,
    plain_digits,
    whole,
    with_commas,
)
from paper_checks.inventory.document import Candidate, Document
from paper_checks.methods.rounded import Rounded

_SIZE = re.compile(
    rf"(?<![\w.])\$?[nN]\s*=\s*\$?(?P<n>{COUNT}){NO_MORE}\$?|"
    rf"{NOT_A_PART}{EXACT}(?P<m>{COUNT})\s+(?P<who>participants|subjects|respondents|annotators|"
    r"patients|"
    r"raters|students|questions|problems|prompts|test (?:examples|samples|images|questions|problems|cases))\b"
)
_MEAN = re.compile(
    (
        r"(?:(?<!\w)\$?M\s*=\s*|\b(?:mean|average)\s+(?:\w+\s+){0,3}?(?:of|is|was|"
        r"=)\s*\$?)(?P<mean>\d{1,3}\.\d{1,3})(?!\s*(?:ms|s\b|h\b|GB|MB))" + NO_MORE
    ),
    re.I,
)
_RATE = re.compile(
    (
        r"\b(?:accuracy|pass rate|success rate|solve rate|rate|correct(?:ly)?|solves?|"
        r"answers?)\s+(?:\w+\s+){0,3}?(?:of|is|was|on)?\s*\$?(?P<rate>\d{1,2}\.\d{1,2})\s*\\?%"
    ),
    re.I,
)
_COLUMN_SIZE = re.compile(
    r"[nN]|#\s*(?:participants|subjects|respondents|patients|questions|problems|samples|test "
    r"samples)|(?:no\.? of|number of) (?:participants|subjects|patients|questions|problems|samples)"
)
_COLUMN_MEAN = re.compile(r"(?:mean|M|avg\.?|average)(?: (?:score|rating|age|answer|likert))?", re.I)
_COLUMN_RATE = re.compile(
    r"(?:acc(?:uracy)?\.?|% correct|correct|success(?: rate)?|pass(?: rate)?|solved|rate)\s*\(?%?\)?", re.I
)


def possible(printed: Rounded, n: int, scale: int = 1) -> bool:
    """Return whether some whole number of n answers gives a mean (or a percentage, with a scale of 100).

    >>> possible(Rounded.printed("3.45"), 20), possible(Rounded.printed("3.47"), 20)
    (True, False)
    """
    low, high = printed.low * n / scale, printed.high * n / scale
    return ceil(low) <= floor(high)


def bites(text: str, n: int, scale: int = 1) -> bool:
    """Return whether the digits of a number are fine enough for n samples to rule some out."""
    printed = Rounded.printed(text)
    return n > 1 and (printed.high - printed.low) * n < scale


def grim(document: Document) -> Iterator[Candidate]:
    """Yield means and percentages that the printed number of samples rules out."""
    for paragraph in document.paragraphs:
        for sentence in paragraph.sentences():
            sentence = with_commas(sentence)
            sizes = {whole(found["n"] or found["m"]): found[0] for found in _SIZE.finditer(sentence)}
            if len(sizes) != 1 or re.search(r"\b(?:seeds|runs|trials|folds|times|averaged over)\b", sentence):
                continue
            (n, size) = next(iter(sizes.items()))
            if n is None:
                continue
            for pattern, group, scale in ((_MEAN, "mean", 1), (_RATE, "rate", 100)):
                for found in pattern.finditer(sentence):
                    text = plain_digits(found[group])
                    if bites(text, n, scale) and not possible(Rounded.printed(text), n, scale):
                        yield Candidate("GRIM", paragraph.place, "", _says(text, size, n, scale), (text, str(n)))
    yield from _of_tables(document)


def _of_tables(document: Document) -> Iterator[Candidate]:
    for table in document.tables:
        for part in segments(table):
            sizes = [at for at in range(part.width) if _COLUMN_SIZE.fullmatch(clean(part.name(at)))]
            if len(sizes) != 1:
                continue
            for column in range(part.width):
                name = clean(part.name(column))
                scale = 1 if _COLUMN_MEAN.fullmatch(name) else 100 if _COLUMN_RATE.fullmatch(name) else 0
                rows = [row for row in part.numbers if row[column] is not None and row[sizes[0]] is not None]
                wrong = []
                for at, row in enumerate(part.numbers):
                    number, size = row[column], row[sizes[0]]
                    if (
                        not scale
                        or number is None
                        or size is None
                        or size.decimals
                        or size.unit
                        or number.unit not in ("", "%")
                        or size.value > 9999
                        or (number.deviation and scale == 100)
                    ):
                        continue
                    n = int(size.value)
                    scale_of = scale if scale == 1 or number.unit == "%" or number.value > 1 else 1
                    if n > 0 and bites(number.text, n, scale_of) and not possible(number.range, n, scale_of):
                        wrong.append((at, number, n, scale_of))
                if len(wrong) * 2 > len(rows) and len(rows) > 2:
                    continue  # not means of whole numbers
                for at, number, n, scale_of in wrong:
                    says = f"{part.row_name(at)}, {name}: {_says(number.text, f'n = {n}', n, scale_of)}"
                    yield Candidate("GRIM", part.place(at), table.name, says, (number.text, str(n)))


def _says(text: str, size: str, n: int, scale: int) -> str:
    below = Fraction(floor(Fraction(text) * n / scale) * scale, n)
    above = below + Fraction(scale, n)
    digits = len(text.partition(".")[2]) + 1
    what = "mean" if scale == 1 else "share"
    return (
        f"{text}{' %' if scale == 100 else ''} cannot be the {what} of whole numbers with {size.strip('$')}; "
        f"the nearest are {float(below):.{digits}f} and {float(above):.{digits}f}"
    )
