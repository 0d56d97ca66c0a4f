"""Texts of a source as Python: the only way in which words of a paper get into a module.

A received paper is not trusted. Every literal is parsed before it is returned, so it is one constant with this text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from textwrap import wrap

_WIDTH = 110


def quoted(text: str) -> str:
    r"""Return a literal in double quotes.

    >>> print(quoted('a "b" \\xi'))
    "a \"b\" \\xi"
    """
    # A text with ' and without " is what repr writes in double quotes.
    return '"' + '\\"'.join(repr(f"'{part}")[2:-1] for part in text.split('"')) + '"'


def docstring(text: str) -> str:
    """Return a literal for the first line of a module, in three double quotes where they can hold the text."""
    prefix = "r" if "\\" in text else ""
    written = f'{prefix}"""{text}"""'
    return written if _read(written) == text else quoted(text)


def raw_lines(text: str) -> str:
    """Return a raw literal over several lines, in which line breaks between words do not matter."""
    for written in _raw_forms(" ".join(text.split())):
        read = _read(written)
        if read is not None and read.split() == text.split():
            return written
    return quoted(text)


def _raw_forms(text: str) -> Iterator[str]:
    lines = wrap(text, _WIDTH - 8, break_long_words=False, break_on_hyphens=False) or [""]
    if len(lines) == 1 and len(lines[0]) < _WIDTH - 14:
        yield f'r"{lines[0]}"'
    joined = "\n    ".join(lines)
    yield f'r"""{joined}"""'
    yield f'r"""{joined} """'  # a quote or a backslash at the end


def _read(written: str) -> str | None:
    """Return the text that a literal means; None if it is not one literal of a text."""
    try:
        value = ast.parse(written, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
