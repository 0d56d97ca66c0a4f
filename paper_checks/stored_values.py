"""Reading the values of a stored file."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

Values = Mapping[str, Any]


def fractions(values: Values, *names: str) -> list[Fraction]:
    """The named values as exact fractions; floats are taken by their exact binary value."""
    return [Fraction(values[name]) for name in names]
