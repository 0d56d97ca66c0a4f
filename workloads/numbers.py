"""Numbers on the command line: plain digits, of a usable size.

Python reads more: `int` takes the digits of any script, and both `int` and `float` take spaces and underscores.
"""

from __future__ import annotations

import re
from math import isfinite

MOST = 2**63 - 1
"""Largest whole number, as arrays hold it."""
FINEST, LARGEST = 1e-300, 1e300
"""Sizes between which numbers other than 0 lie: double precision holds these in full, and a few times more."""
_WHOLE = re.compile(r"-?[0-9]{1,30}")
_REAL = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def read_whole(text: str) -> int:
    """Read a whole number, in digits and perhaps with a minus sign.

    Raises:
        ValueError: It writes none, or one that no array holds, or -0.

    >>> read_whole("12")
    12
    """
    value = int(text) if _WHOLE.fullmatch(text) else MOST + 1
    if abs(value) > MOST or (value == 0 and text.startswith("-")):
        raise ValueError(f"not a whole number of at most {MOST} in plain digits: {text[:40]!r}")
    return value


def read_real(text: str) -> float:
    """Read a number, in digits and perhaps with a minus sign, a point and an exponent.

    Raises:
        ValueError: It writes none, one out of the range of `is_usable`, or -0.

    >>> read_real("2.5e-3")
    0.0025
    """
    value = float(text) if _REAL.fullmatch(text) else float("nan")
    rounded = value == 0.0 and (text.startswith("-") or re.search("[1-9]", re.split("[eE]", text)[0]) is not None)
    if not is_usable(value) or rounded:
        raise ValueError(f"not 0 and not a number of size {FINEST:g} to {LARGEST:g} in plain digits: {text[:40]!r}")
    return value


def is_usable(value: float) -> bool:
    """Return whether a number is 0, or finite and neither too small nor too large to compute with.

    >>> is_usable(0.1), is_usable(1e-320), is_usable(float("inf"))
    (True, False, False)
    """
    try:
        return isfinite(value) and (value == 0 or FINEST <= abs(value) <= LARGEST)
    except OverflowError:  # a whole number that no float holds
        return False
