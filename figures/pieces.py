"""Parts of a figure's numbers, saved as they are computed, so interrupted work resumes where it stopped."""

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
    """Return the rows of a part of the numbers: computed now, or saved by an earlier call that was interrupted.

    Args:
        settings: Settings with the folder, which belongs to one figure with its scale, seed, device, data and sources.
        name: Name of the part, unique within the figure.
        rows: Computes the rows, which hold plain texts, numbers and truth values.
    """
    if settings.pieces is None:
        return list(rows())
    path = settings.pieces / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.json"
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["name"] == name and isinstance(kept["rows"], list):
            return kept["rows"]
    except (OSError, ValueError, KeyError, TypeError):
        pass  # missing or incomplete: computing the rows again repairs it
    text = json.dumps({"name": name, "rows": list(rows())}, default=_plain)
    settings.pieces.mkdir(parents=True, exist_ok=True)
    with suppress(ForeignFileError):  # a piece that cannot be saved is computed again
        write_own({path: text.encode()}, settings.pieces)
    return json.loads(text)["rows"]


def _plain(value: Any) -> Any:
    """Return a NumPy number as a Python number; anything else cannot be in a table."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not a value of a table")
