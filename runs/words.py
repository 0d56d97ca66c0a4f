"""Numbers of runs in words."""

from __future__ import annotations


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
