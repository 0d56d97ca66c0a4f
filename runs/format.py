"""Formats of numbers and texts: sizes, tables, and texts safe for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workloads.messages import shorten

CELL, LINE = 500, 10_000
"""Most characters of a cell and of a line that are shown: received folders may hold texts of any length."""


def format_bytes(size: float) -> str:
    """Format a number of bytes with its unit.

    >>> format_bytes(1536000), format_bytes(1.536e16)
    ('1.54 MB', '15,360 TB')
    """
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(size) < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{1000 * size:,.0f} TB"


def printable(text: str) -> str:
    r"""Return a text in one line with escapes for control characters, which could change the terminal's display.

    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def align_rows(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Align rows as lines of text with a heading; a cell has at most `CELL` characters."""
    if not rows:
        return []
    lines = [
        [shorten(printable(cell), CELL) for cell in line]
        for line in (list(rows[0]), *(list(row.values()) for row in rows))
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
