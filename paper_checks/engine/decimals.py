"""Decimal numbers as they are written: the place of their last digit, and how many digits they have."""

from __future__ import annotations

import re
from fractions import Fraction

_DECIMAL = re.compile(r"[+-]?(?:([0-9]+)\.?([0-9]*)|\.([0-9]+))(?:[eE]([+-]?[0-9]{1,4}))?")


def last_place(text: str) -> int:
    """Return the power of ten of the last digit of a decimal number.

    Raises:
        ValueError: The text is not a decimal number.

    >>> last_place("0.10"), last_place("12"), last_place("1.5e3")
    (-2, 0, 2)
    """
    found = _DECIMAL.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"not a decimal number: {text!r}; write one such as -0.25 or 1.5e-3")
    return int(found[4] or 0) - len(found[2] or found[3] or "")


def half_unit(text: str) -> Fraction:
    """Return half a unit of the last digit of a decimal number.

    Raises:
        ValueError: The text is not a decimal number.

    >>> half_unit("1.5e3")
    Fraction(50, 1)
    """
    return Fraction(10) ** last_place(text) / 2


def digits(text: str) -> int:
    """Return how many digits a decimal number has between its first and its last one that is not zero.

    >>> digits("0.0120"), digits("1.0000"), digits("-3.14e5")
    (2, 1, 3)
    """
    return len(re.sub("[^0-9]", "", re.split("[eE]", text)[0]).strip("0"))
