"""Numbers of runs in words, and tables as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def bytes_in_words(size: float) -> str:
    """A size with its unit.

    >>> bytes_in_words(1536000)
    '1.54 MB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if abs(size) < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def aligned(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Rows as lines of text with a heading, columns below each other."""
    if not rows:
        return []
    names = list(rows[0])
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}
    return [
        "  ".join(row[name].ljust(widths[name]) for name in names).rstrip()
        for row in ({name: name for name in names}, *rows)
    ]
