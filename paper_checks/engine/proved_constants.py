"""Constants of a proof against those of the check: whether the two are of one statement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
import sympy

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
    stated with fewer digits: rounded, with at least four decimals, and with at least four digits that count. So may an
    exact number that is not rational; else it is compared as it is written. Lists, arrays and mappings are compared
    part by part.

    Args:
        stated: The proof's, as JSON has it.
        constant: The check's.

    >>> is_same_constant("1/3", 1 / 3), is_same_constant("3.1416", 3.141592653589793), is_same_constant("1", 0.99995)
    (True, True, False)
    """
    parts, own_parts = _parts(stated), _parts(constant)
    if parts is not None or own_parts is not None:
        if parts is None or own_parts is None or isinstance(stated, Mapping) != isinstance(constant, Mapping):
            return None
        same = (is_same_constant(parts[name], own_parts[name]) for name in parts.keys() & own_parts.keys())
        return parts.keys() == own_parts.keys() and all(one is True for one in same)
    if isinstance(constant, float) and not isfinite(constant):
        return str(stated).replace("oo", "inf") == str(constant)
    proved, own = exact_number(stated), exact_number(constant)
    if own is None:
        return _is_same_text(stated, constant)
    if proved is None:
        return False
    if not isinstance(constant, float):
        return proved == own
    return abs(proved - own) <= abs(proved) * ROUNDING or _is_rounded(str(stated), constant)


def _parts(value: Any) -> Mapping[Any, Any] | None:
    """Return the parts of a list, an array or a mapping, by place or name; None if it is none of them."""
    if isinstance(value, Mapping):
        return {str(name): part for name, part in value.items()}
    sequence = isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)
    return dict(enumerate(value)) if sequence else None


def _is_same_text(stated: Any, constant: Any) -> bool | None:
    """Return whether a proof's constant is one that is not rational: a name, a formula, a complex number, a set.

    A formula without symbols is a number, which may also be stated as a rounded decimal.
    """
    if isinstance(constant, complex | np.complexfloating):
        return _is_same_complex(stated, complex(constant))
    proved = exact_number(stated)
    if proved is not None and getattr(constant, "is_number", False) and constant.is_extended_real:
        return _is_rounded(str(stated), float(constant))
    number = isinstance(constant, sympy.Basic) and constant.is_number
    if not isinstance(stated, str) or callable(constant) or (proved is not None and not number):
        return None
    return stated == str(constant)


def _is_same_complex(stated: Any, constant: complex) -> bool:
    """Return whether both parts of a complex number are stated as floats are."""
    try:
        proved = complex(str(stated).replace(" ", "").replace("*I", "j").replace("I", "1j"))
    except ValueError:
        return False
    pairs = (proved.real, constant.real), (proved.imag, constant.imag)
    return all(is_same_constant(*pair) is True for pair in pairs)


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
    changed = [name for name in names if _is_number(constants[name])]
    named = (is_same_constant(certificate.proves.get(name), constants[name]) for name in changed)
    return () if any(named) else tuple(changed)


def _is_number(constant: Any) -> bool:
    if is_bool(constant) or isinstance(constant, complex):
        return not is_bool(constant)
    return exact_number(constant) is not None or bool(getattr(constant, "is_number", False))
