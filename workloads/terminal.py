"""Tables and colours on a terminal; plain lines for files, pipes and scripts.

`NO_COLOR` turns colours off, and `FORCE_COLOR` turns tables and colours on without a terminal. Rich is imported only
where it is used.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TextIO

if TYPE_CHECKING:
    from rich.console import Console

ERROR: Mapping[str, str] = {r"\Arankproof:": "bold red"}
"""Style of the program's name in front of an error."""
WHOLE = 40
"""Longest name of a row that is never broken into lines."""
_NUMBER = re.compile(r"([-+]?[\d.,]+(e[-+]?\d+)?( [kMGT]?B)?)?")


def is_styled(stream: TextIO) -> bool:
    """Return whether tables and colours are written to a stream: to a terminal, or if `FORCE_COLOR` asks for them."""
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def is_live(stream: TextIO) -> bool:
    """Return whether a stream is a terminal on which a line can be drawn again."""
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def encoding_of_output() -> str:
    """Return the encoding of standard output by its usual name; a terminal may call it UTF-8."""
    return codecs.lookup(sys.stdout.encoding or "utf-8").name


def console_of(stream: TextIO) -> Console:
    """Return Rich's console for a stream, without its markup and its own highlighting."""
    from rich.console import Console

    return Console(file=stream, markup=False, highlight=False, emoji=False, soft_wrap=True)


def print_text(text: str, styles: Mapping[str, str], stream: TextIO | None = None) -> None:
    """Print a text as it is; on a terminal with colours.

    Args:
        text: The text; a terminal wraps its lines.
        styles: Styles such as `bold red`, by regular expressions for the words that have them.
        stream: Where to print; default: standard output.
    """
    stream = sys.stdout if stream is None else stream
    if not is_styled(stream):
        print(text, file=stream)
        return
    from rich.text import Text

    styled = Text(text)
    for pattern, style in styles.items():
        styled.highlight_regex(pattern, style)
    console_of(stream).print(styled)


def print_table(
    rows: Sequence[Mapping[str, str]],
    plain: Sequence[str],
    styles: Mapping[str, str] | None = None,
    stream: TextIO | None = None,
) -> None:
    """Print rows as a table that fits the terminal; elsewhere print lines, which scripts may read.

    Args:
        rows: Cells by the headings of their columns, alike in all rows; columns of numbers are aligned at the right.
        plain: Lines for a stream that is not a terminal.
        styles: Styles by regular expressions, as in `print_text`.
        stream: Where to print; default: standard output.
    """
    stream = sys.stdout if stream is None else stream
    if not is_styled(stream) or not rows:
        for line in plain:
            print(line, file=stream)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, name in enumerate(rows[0]):
        numeric = all(_NUMBER.fullmatch(row[name]) for row in rows)
        # The first column names the row, so it stays whole unless it leaves too little space.
        whole = not place and max(len(row[name]) for row in rows) <= WHOLE
        side: Literal["left", "right"] = "right" if numeric else "left"
        table.add_column(Text(name), justify=side, overflow="fold", no_wrap=whole, min_width=len(name))
    for row in rows:
        cells = [Text(cell) for cell in row.values()]
        for cell in cells:
            for pattern, style in (styles or {}).items():
                cell.highlight_regex(pattern, style)
        table.add_row(*cells)
    console_of(stream).print(table, soft_wrap=False)
