"""Rows of displayed formulas."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ALIGNED = re.compile(
    r"\\(?:begin|end)\s*\{(?:aligned|split|gathered|alignedat|multlined|align|alignat|gather|equation|multline|eqnarray)"
    r"\*?\}(?:\[[a-z]\])?(?:\{\d+\})?"
)
_ROW_END = re.compile(r"(?P<begin>\\begin(?![a-z]))|(?P<end>\\end(?![a-z]))|(?<!\\)\\\\\*?(?:\s*\[[^\][]*\])?")


def display_rows(body: str) -> Iterator[tuple[int, str]]:
    """Yield the rows of a displayed formula, each with its place in it; rows of matrices and cases are not split."""
    plain = _ALIGNED.sub(lambda found: " " * len(found[0]), body)
    start, depth = 0, 0
    for found in _ROW_END.finditer(plain):
        if found["begin"] or found["end"]:
            depth += 1 if found["begin"] else -1
        elif depth <= 0:
            yield start, plain[start : found.start()]
            start = found.end()
    yield start, plain[start:]
