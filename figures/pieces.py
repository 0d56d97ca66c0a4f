"""Parts of a figure's numbers, kept as they are done, so that long work that is cut off goes on where it stood."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from figures.figure import Settings
from workloads.written import ForeignFileError, write_own

Rows = list[dict[str, Any]]


def piece(settings: Settings, name: str, rows: Callable[[], Sequence[dict[str, Any]]]) -> Rows:
    """Rows of a part of the numbers: computed now, or those that an earlier call kept before it was cut off.

    Args:
        settings: Name the folder, which belongs to one figure with its scale, seed, device, data and sources.
        name: Name of the part; another one for each.
        rows: Computes them: plain texts, numbers and truth values.
    """
    if settings.pieces is None:
        return list(rows())
    path = settings.pieces / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.json"
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["name"] == name and isinstance(kept["rows"], list):
            return kept["rows"]
    except (OSError, ValueError, KeyError, TypeError):
        pass  # none, or not a whole one: computing again puts it right
    text = json.dumps({"name": name, "rows": list(rows())}, default=_plain)
    settings.pieces.mkdir(parents=True, exist_ok=True)
    with suppress(ForeignFileError):  # a piece that cannot be kept is computed again
        write_own({path: text.encode()}, settings.pieces)
    return json.loads(text)["rows"]


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python; what is no number has no place in a table."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is no value of a table")
