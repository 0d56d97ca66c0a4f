"""Results as a few lines of text, as plain values for JSON and as a table in a notebook; needs no other module here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from html import escape
from pathlib import Path
from typing import Any, ClassVar

LINES = 3
"""Lines of a result as text, at most."""
LABEL = 15
"""Width of the labels in front of them."""
SHOWN = 6
"""Numbers of a sequence that are shown."""


class Result:
    """A dataclass that holds a result.

    Attributes:
        unplain: Fields that no plain value represents, such as states of an algorithm.
    """

    unplain: ClassVar[tuple[str, ...]] = ()

    def words(self) -> dict[str, str]:
        """Return the result in words, by label, what matters most first."""
        return {name.replace("_", " "): format_value(value) for name, value in self._values().items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as values that JSON knows: arrays as lists, numbers that are not finite as texts."""
        return {name: plain(value, finite_only=False) for name, value in self._values().items()}

    def __str__(self) -> str:
        rows = self.words()
        if type(self).words is Result.words:
            return f"{type(self).__name__}: {', '.join(f'{label} {text}' for label, text in rows.items())}"
        return "\n".join(align_rows(rows)[:LINES])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(label)}</th><td style='text-align:left'>{escape(text)}</td></tr>"
            for label, text in self.words().items()
        )
        return f"<table><caption>{escape(type(self).__name__)}</caption>{rows}</table>"

    def _values(self) -> dict[str, Any]:
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)  # type: ignore[arg-type]
            if field.name not in self.unplain
        }


def align_rows(rows: Mapping[str, str]) -> list[str]:
    """Return a line for each row, labels in a column."""
    return [f"{label:{LABEL}}{text.replace(chr(10), chr(10) + ' ' * LABEL)}" for label, text in rows.items()]


def format_value(value: Any) -> str:
    """Return a value in words, short.

    >>> format_value(0.123456), format_value(12345), format_value((1.0, 2.5)), format_value(None)
    ('0.1235', '12,345', '1, 2.5', 'none')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Result):
        return next(iter(str(value).splitlines()), "")
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {format_value(item)}" for name, item in value.items()) or "none"
    shape = getattr(value, "shape", None)
    if shape is not None and len(shape) > 1:
        return f"{' x '.join(map(str, shape))} numbers"
    if shape is not None:
        return format_value(tuple(value.tolist()) if len(shape) else value.item())
    if isinstance(value, list | tuple):
        if any(isinstance(item, list | tuple) or hasattr(item, "shape") for item in value):
            return f"{len(value)} of {', '.join(str(len(item)) for item in value[:SHOWN])} numbers"
        return join_texts([format_value(item) for item in value]) or "none"
    return str(value)


def join_texts(texts: list[str], shown: int = SHOWN) -> str:
    """Return the first texts, and how many there are."""
    text = ", ".join(texts[:shown])
    return f"{text}, ... ({len(texts)} computed)" if len(texts) > shown else text


def plain(value: Any, finite_only: bool = True) -> Any:
    """Return a value as JSON knows it.

    Args:
        value: A number, a text, a path, an array, a sequence, a mapping, or a dataclass of such.
        finite_only: Numbers that are not finite become null; else texts that `float` reads: inf, -inf and nan.
    """
    if isinstance(value, Result):
        return {name: plain(item, finite_only) for name, item in value._values().items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name), finite_only) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(item, finite_only) for key, item in value.items()}
    if hasattr(value, "tolist"):  # arrays, tensors, and numbers of either
        return plain(value.tolist(), finite_only)
    if isinstance(value, tuple | list):
        return [plain(item, finite_only) for item in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None if finite_only else str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
