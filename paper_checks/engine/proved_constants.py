"""Constants of a proof against those of the check: whether the two are of one statement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from paper_checks.engine.decimals import digits, half_unit, last_place
from paper_checks.evaluation import Replayed, is_bool
from paper_checks.stored_values import require_short

ROUNDING = Fraction(1, 10**12)
"""Largest relative error of a float that a check computes from its definition."""
LEAST_DIGITS, LEAST_PLACES, MOST_DIGITS = 4, 4, 12
"""Digits and decimals of a number that may be rounded, and the digits of the longest float that must not be."""


def exact_number(value: Any) -> Fraction | None:
    """Return a number, or the text of one, exactly; None if it is neither. A float is the decimal that is written.

    >>> exact_number(0.1), exact_number("1/3"), exact_number("wigner")
    (Fraction(1, 10), Fraction(1, 3), None)
    """
    if is_bool(value):
        return Fraction(bool(value))
    try:
        require_short(str(value))
        return Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        return None


def is_same_constant(stated: Any, constant: Any) -> bool | None:
    """Return whether a proof's constant is the check's; None if they are of two kinds, such as sizes and a number.

    Numbers are compared exactly, but a float only up to its rounding. A float without end, such as that of pi, may be
    stated with fewer digits: rounded, with at least four decimals, and with at least four digits that count.

    Args:
        stated: The proof's, as JSON has it.
        constant: The check's.

    >>> is_same_constant("1/3", 1 / 3), is_same_constant("3.1416", 3.141592653589793), is_same_constant("1", 0.99995)
    (True, True, False)
    """
    if isinstance(stated, list | Mapping):
        if not isinstance(stated, list) or not isinstance(constant, list | tuple):
            return None
        pairs = zip(stated, constant, strict=False)
        return len(stated) == len(constant) and all(is_same_constant(*pair) is not False for pair in pairs)
    proved, own = exact_number(stated), exact_number(constant)
    if own is None:
        names = isinstance(stated, str) and isinstance(constant, str) and proved is None
        return stated == constant if names else None
    if proved is None:
        return False
    if not isinstance(constant, float):
        return proved == own
    return abs(proved - own) <= abs(proved) * ROUNDING or _is_rounded(str(stated), constant)


def _is_rounded(text: str, constant: float) -> bool:
    """Return whether a decimal is a float without end, rounded to the digits of the decimal."""
    try:
        place = last_place(text)
    except ValueError:  # a fraction
        return False
    long_enough = -place >= LEAST_PLACES and digits(text) >= LEAST_DIGITS and digits(str(constant)) > MOST_DIGITS
    return long_enough and abs(Fraction(text) - Fraction(str(constant))) <= half_unit(text)


def unnamed_constants(
    certificate: Replayed, constants: Mapping[str, Any], mutants: Iterable[Mapping[str, Any]]
) -> tuple[str, ...]:
    """Return the numbers that the mutants of a form change, if its proof names none of them; nothing otherwise.

    Args:
        certificate: The result of the replay of the proof.
        constants: Constants of the form that it proves.
        mutants: Mutants of this form.
    """
    names = dict.fromkeys(name for mutant in mutants for name in mutant)
    changed = [name for name in names if not is_bool(constants[name]) and exact_number(constants[name]) is not None]
    named = (is_same_constant(certificate.proves.get(name), constants[name]) for name in changed)
    return () if any(named) else tuple(changed)
