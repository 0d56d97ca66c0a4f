"""Arrays of results, which nobody can change later."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np


def fix_arrays(result: Any) -> None:
    """Replace the arrays of a frozen dataclass, also those in tuples, by copies that cannot be written to."""
    for field in fields(result):
        object.__setattr__(result, field.name, _fixed(getattr(result, field.name)))


def _fixed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        copy = value.copy(order="K")
        copy.setflags(write=False)
        return copy
    if type(value) is tuple:
        return tuple(map(_fixed, value))
    return value
