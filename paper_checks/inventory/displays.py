"""Displayed formulas, and their rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from paper_checks.inventory.document import Display, Place
from paper_checks.inventory.latex_span import Span
from paper_checks.inventory.latex_text import MATHS

_SIGN = (
    r"(?:[=<>≤≥≈]|\\(?:leq?|geq?|leqslant|geqslant|lesssim|gtrsim|approx|equiv|sim|simeq|propto|to|in|subseteq|subset|"
    r"implies|Rightarrow|Leftrightarrow|iff|coloneqq|triangleq|preceq|succeq|ll|gg|neq?)(?![A-Za-z]))"
)
_RELATION = re.compile(_SIGN)
_CONTINUES = re.compile(
    r"(?:\s|&|[{]|\\(?:q?quad|[,;:! ]|mathrel|label\s*\{[^{}]*\}|hspace\*?\s*\{[^{}]*\}|"
    r"(?:stackrel|overset|underset)\s*\{(?:[^{}]|\{[^{}]*\})*\}))*"
    rf"(?:{_SIGN}|[+\-*/]|\\(?:cdot|times|pm|mp)(?![A-Za-z]))"
)
"""A line that begins with a relation or an operation goes on with the formula before it."""
_ALIGNED = re.compile(
    r"\\(?:begin|end)\s*\{(?:aligned|split|gathered|alignedat|multlined|align|alignat|gather|equation|multline|eqnarray)"
    r"\*?\}(?:\[[a-z]\])?(?:\{\d+\})?"
)
_ROW_END = re.compile(r"(?P<begin>\\begin(?![a-z]))|(?P<end>\\end(?![a-z]))|(?<!\\)\\\\\*?(?:\s*\[[^\][]*\])?")


def goes_on(line: str, first: str) -> bool:
    """Return whether a line of an alignment goes on with the formula that begins with another line."""
    if _CONTINUES.match(line) or not _RELATION.search(line):
        return True
    return not _cell(line) and bool(_cell(first))


def _cell(line: str) -> str:
    """Return what a line has before its first mark of alignment."""
    return re.sub(r"\\label\s*\{[^{}]*\}", "", re.split(r"(?<!\\)&", line, maxsplit=1)[0]).strip()


def by_number(lines: Sequence[tuple[int, int, str]]) -> list[list[tuple[int, int, str]]]:
    """Return the lines of one formula by number: lines without one belong to the next, at the end to the last."""
    groups: list[list[tuple[int, int, str]]] = [[]]
    for at, line in enumerate(lines):
        groups[-1].append(line)
        if line[2] and any(number for _, _, number in lines[at + 1 :]):
            groups.append([])
    return groups


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


def find_displays(
    text: str, begin: int, spans: Sequence[Span], hidden: Sequence[tuple[int, int]], place: Callable[[int], Place]
) -> Iterator[Display]:
    """Yield the displayed formulas of a LaTeX source, each with its number or the proof or statement it is in.

    Args:
        text: The source.
        begin: Where the first page begins.
        spans: Its numbered parts.
        hidden: Floats and other parts outside of the running text.
        place: Returns the line of a place in the text.
    """
    for found in MATHS.finditer(text, begin):
        group = next(name for name in ("body", "shown", "double", "round", "inline") if found[name] is not None)
        at = found.start()
        if group in ("round", "inline") or any(low <= at < high for low, high in hidden):
            continue
        start = found.start(group)
        rows = [(row, place(start + low + len(row) - len(row.lstrip()))) for low, row in display_rows(found[group])]
        own = [one for one in spans if one.kind == "equation" and at <= one.start < found.end()]
        proved = [one for one in spans if any(low <= at < high for low, high in one.proofs)]
        inside = [one for one in spans if one.start <= at < one.end and one.kind != "equation"]
        proves = _called(proved[-1]) if proved else ""
        name, about = "a formula", ""
        if own:
            name = about = f"Equation ({own[0].number})"
        elif proves:
            name, about = f"the proof of {proves}", proves
        elif inside:
            name = about = _called(inside[-1])
        yield Display(tuple(rows), name, about, proves)


def _called(span: Span) -> str:
    """Return how a text would call a statement."""
    return f"{span.called or (span.kind or '').capitalize()} {span.number}".strip()
