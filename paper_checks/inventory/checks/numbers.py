"""Numbers as papers print them: separators of thousands, units, deviations, and what they stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from paper_checks.methods.rounded import Rounded

THOUSANDS = re.compile(
    r"(?<![\d.,])\d{1,3}(?:(?:\\[,;:!]|\{\s*,\s*\}|\\thinspace(?![A-Za-z])\s?|[\u2009\u202f\u00a0'’]|,)\d{3})+(?![\d])"
)
"""A number with separators, in LaTeX or as printed."""
COUNT = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
"""A whole number, after its separators have become commas."""
NOT_A_PART = r"(?<![\w.,/\\^_−-])(?<!\d[ ~–])(?<!\d to )"
"""Before a number that is not the end of a longer number, of a range or of a formula."""
EXACT = (
    "".join(
        rf"(?<!(?i:{word}) )"
        for word in (
            "about",
            "approximately",
            "roughly",
            "around",
            "nearly",
            "almost",
            "over",
            "under",
            "than",
            "least",
            "most",
            "to",
        )
    )
    + r"(?<![≈~<>≤≥])(?<![≈~<>≤≥] )"
)
"""Before a number that is printed as it is, not as about this."""
NO_MORE = (
    r"(?![\w^]|[.,:/]\d|[ ~]\d{3}(?!\d)|\s*(?:\\?%|\\times|\\cdot|×|·|[*/^+])|\s*[-–−]\s*\d|"
    r"\s*(?:[kKMGT](?!\s*=)|thousand|million|billion|trillion|hundred|dozen|percent)\b)"
)
"""After a number that does not go on with digits, a power or a unit of size."""
_SIZES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
"""Units of size that mean one thing; B is a billion or bytes, and m has more meanings."""
_ALONE = ("B", "m")
"""Units whose meaning is open, so they are compared only with each other."""
_UNITS = r"%|[KMGT]i?B|ms|min|[kKMGTBm]|s|h|GFLOPs|x|×|bits?|bytes?|pp|points?|pts?"
_MARKUP = re.compile(
    r"\\(?:math(?:bf|rm|it|sf|tt)|text(?:bf|it|rm|sf|tt)?|boldsymbol|"
    r"bm|underline|emph|scriptsize|small|tiny|footnotesize|"
    r"scriptstyle|bfseries|bf|textcolor\{[^{}]*\}|color\{[^{}]*\}|num|SI|"
    r"phantom\{[^{}]*\}|hphantom\{[^{}]*\})|\\[,;:! ]|[{}$~*†‡§]"
)
_NUMBER = r"[+\-−–]?\s?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.?\d+)(?:\s?(?:[eE]|\\times\s?10\^|×\s?10\^?)\s?[+\-−]?\d+)?"
_CELL = re.compile(
    rf"^[~≈<>≤≥↑↓\s]*(?P<number>{_NUMBER})\s*(?P<unit>{_UNITS})?\s*"
    rf"(?:(?:_|\^)?\s*(?:±|\\pm|\+/-|\+-)\s*(?P<deviation>{_NUMBER})\s*%"
    rf"?|\((?P<bracket>[^()]*)\)|\[(?P<square>[^\][]*)\])?"
    rf"\s*(?P<second>{_UNITS})?(?:(?:\s*\^\s*|\s+)[a-z]|\s*[↑↓])?$"
)
COLOUR = re.compile(
    r"\\(?:(?:text|cell|row|column|page)?color|colorbox|fcolorbox\s*\{[^{}]*\})\*?\s*(?:\[[^\]]*\])?\s*\{[^{}]*\}"
    r"(?:\[[^\]]*\])*"
)
"""A colour, without what has this colour."""
_UP = re.compile(r"\\(?:[Uu]parrow|nearrow|blacktriangle|triangle|bigtriangleup|upuparrows)(?![A-Za-z])|[▲△⬆⇑↗]")
_DOWN = re.compile(
    r"\\(?:[Dd]ownarrow|searrow|blacktriangledown|triangledown|bigtriangledown|downdownarrows)(?![A-Za-z])|[▼▽⬇⇓↘]"
)
_GAIN = re.compile(
    rf"^(?P<number>{_NUMBER})(?![\d.])(?:\s?(?P<unit>{_UNITS}))?(?:\s*±\s*(?P<deviation>\d*\.?\d+)\s*%?)?(?P<between>\s*)"
    r"(?P<open>[(\[]\s*)?(?P<arrow>[↑↓])?\s*(?P<sign>[+\-−–])?(?P<apart>\s*)(?P<arrow2>[↑↓])?\s*"
    r"(?P<gain>\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})\s*(?P<percent>%)?(?:\s?(?:pp|pts?|points?))?\s*(?P<arrow3>[↑↓])?"
    r"\s*(?(open)[)\]])$"
)
"""An entry and its gain over another entry."""
_MOST_DIGITS, _LARGEST_EXPONENT = 40, 99
"""Longer numbers are not numbers of a paper, and to compute with them can take hours."""


@dataclass(frozen=True)
class Number:
    """A number as printed.

    Attributes:
        text: Its digits, as Python reads them.
        unit: Unit that follows it.
        deviation: Digits after the sign ±, or in parentheses; empty if there are none.
        gain: Its gain over another entry as printed next to it, such as ``+8.94%``; empty if there is none.
    """

    text: str
    unit: str = ""
    deviation: str = ""
    gain: str = ""

    @property
    def size(self) -> int:
        """How often one its unit is: a thousand for K, 1 for a unit that is not one of size."""
        return _SIZES.get(self.unit, 1)

    @cached_property
    def range(self) -> Rounded:
        """All numbers that round to it."""
        printed = Rounded.printed(self.text)
        return printed if self.size == 1 else Rounded(printed.low * self.size, printed.high * self.size)

    @property
    def value(self) -> Fraction:
        """The printed value."""
        return Fraction(self.text) * self.size

    @property
    def width(self) -> Fraction:
        """How much its last digit leaves open."""
        return self.range.high - self.range.low

    @property
    def decimals(self) -> int:
        """Digits after the point."""
        return len(self.text.partition(".")[2].partition("e")[0])

    @property
    def printed(self) -> str:
        """Digits with a unit of size."""
        return f"{self.text}{self.unit if self.size > 1 else ''}"


def comparable(numbers: Iterable[Number]) -> bool:
    """Return whether numbers are of one kind: sizes, or at most one unit, which some may leave out.

    >>> comparable([Number("1.5", "M"), Number("900", "K")]), comparable([Number("1", "MB"), Number("2", "GB")])
    (True, False)
    """
    units = {number.unit for number in numbers}
    if units <= set(_SIZES):
        return True
    return len(units - {""}) <= 1 and not ("" in units and units & set(_ALONE))


def equal(one: Number, other: Number) -> bool:
    """Return whether two numbers can be one that is printed with fewer digits."""
    coarse, fine = sorted((one, other), key=lambda number: -number.width)
    return coarse.value == fine.value or (
        coarse.width > fine.width and coarse.range.low <= fine.value <= coarse.range.high
    )


def with_commas(text: str) -> str:
    r"""Return a text in which all separators of thousands are commas.

    >>> with_commas("12\\,500 and 3{,}000, $1\\,050$")
    '12,500 and 3,000, $1,050$'
    """
    return THOUSANDS.sub(lambda found: re.sub(r"\D+", ",", found[0]), text)


def whole(text: str) -> int | None:
    """Return a whole number that is printed with or without commas; None if it is too long to be meant."""
    digits = text.replace(",", "")
    return int(digits) if digits.isdecimal() and len(digits) <= _MOST_DIGITS else None


def clean(text: str) -> str:
    """Return what a cell prints, without markup."""
    text = re.sub(r"\\text(?:sub|super)script|[_^](?=\{)", " ", with_commas(text))
    text = _MARKUP.sub(" ", text.replace("\\%", "%")).replace("\\pm", "±")
    return " ".join(text.replace("\\times", "×").split())


def read_number(text: str) -> Number | None:
    r"""Return the number that a cell prints, alone or with its deviation; None if it prints something else.

    >>> read_number("95.6 ± 0.2"), read_number("60,000"), read_number("LoRA 4")
    (Number(text='95.6', unit='', deviation='0.2', gain=''), Number(text='60000', unit='', deviation='', gain=''), None)
    """
    gained = _with_gain(text)
    if gained is not None:
        return gained
    found = _CELL.match(clean(text))
    if found is None:
        return None
    digits = plain_digits(found["number"])
    deviation = plain_digits(found["deviation"] or "")
    if found["bracket"] and re.fullmatch(_NUMBER, found["bracket"].strip().lstrip("±").strip()):
        deviation = plain_digits(found["bracket"].strip().lstrip("±").strip())
    if not is_readable(digits) or (deviation and not is_readable(deviation)):
        return None
    return Number(digits, found["unit"] or found["second"] or "", deviation)


def _with_gain(text: str) -> Number | None:
    r"""Return the number of a cell that also prints its gain over another; None if a cell prints something else.

    >>> _with_gain(r"$46.99^{\color{red}+ 8.94\%}$").gain, _with_gain("46.99 (↓ 4.2)").gain, _with_gain("0.5-0.9")
    ('+8.94%', '-4.2', None)
    """
    raised = re.search(r"[_^]", text) is not None
    plain = _DOWN.sub("↓", _UP.sub("↑", clean(COLOUR.sub(" ", text))))
    plain = " ".join(re.sub(r"\\[A-Za-z]+|[_^]", " ", plain).split())
    found = _GAIN.match(plain) if re.search(r"[+\-−–↑↓]", plain[1:]) else None
    if found is None:
        return None
    arrow = found["arrow"] or found["arrow2"] or found["arrow3"]
    if not (found["sign"] or arrow):
        return None
    marked = raised or arrow or found["open"]
    if (
        not marked
        and (not re.search("[.%]", plain) or found["sign"] != "+")
        and (not found["between"] or found["apart"])
    ):
        return None  # a range or a sum
    digits = plain_digits(found["number"])
    if not is_readable(digits):
        return None
    falls = found["sign"] != "+" if found["sign"] else arrow == "↓"
    gain = f"{'-' if falls else '+'}{found['gain']}{found['percent'] or ''}"
    return Number(digits, found["unit"] or "", found["deviation"] or "", gain)


def is_readable(digits: str) -> bool:
    """Return whether digits are a number that can be computed with."""
    mantissa, _, exponent = digits.lower().partition("e")
    if len(mantissa) > _MOST_DIGITS or len(exponent) > 4 or abs(int(exponent or 0)) > _LARGEST_EXPONENT:
        return False
    try:
        Fraction(digits)
    except (ValueError, ZeroDivisionError):
        return False
    return True


def plain_digits(text: str) -> str:
    """Return a printed number as Python writes it."""
    text = re.sub(r"[−–]", "-", text).replace(",", "")
    text = re.sub(r"\s*×\s*10\^?\s*", "e", text)
    return re.sub(r"\s+", "", text).replace("E", "e")
