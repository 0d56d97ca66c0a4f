"""Sentences of a Coq file: where each begins and ends, its section or module, and the comments before it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

_PREFIX = re.compile(
    r"(?:\s|[-+*{}]|\d+\s*:|all\s*:|#\[[^\]]*\]|(?:Time|Timeout\s+\d+|Fail|Succeed|Local|Global|Polymorphic|Monomorphic"
    r"|Cumulative|NonCumulative|Private|Program)\b)*"
)
"""Bullets, braces, attributes and words that can come before a command."""
_END = re.compile(r"(?<!\.)(?:\.|\.\.\.)(?=\s|\Z)")
_INK = re.compile(r"\S")
_OPENS = re.compile(r"(Section|Module)\b(?:\s+Type\b)?(?:\s+(?:Import|Export)\b)?\s+([\w']+)")
_CLOSES = re.compile(r"End\s+([\w']+)")


@dataclass(frozen=True)
class Sentence:
    """One sentence of a Coq file.

    Attributes:
        code: its text with blanks for comments, from its first word to its full stop.
        start: place of its first character in the file.
        end: place after its full stop.
        within: the open sections and modules, each as ``Section name`` or ``Module name``.
    """

    code: str
    start: int
    end: int
    within: tuple[str, ...] = ()

    @cached_property
    def command(self) -> str:
        """Its text without bullets, attributes and words such as ``Local`` at its beginning."""
        return self.code[_prefix(self.code) :]

    @property
    def in_section(self) -> bool:
        """Whether a section is open."""
        return any(one.startswith("Section ") for one in self.within)


@dataclass(frozen=True)
class Comment:
    """One comment of a Coq file that is in no other comment, with its place."""

    text: str
    start: int
    end: int


def comments(text: str) -> Iterator[Comment]:
    """Yield the comments of a file; one within another is a part of it, and one in a string is none."""
    yield from (Comment(text[start:end], start, end) for start, end, comment in _skipped(text) if comment)


def without_comments(text: str, *, strings: bool = True) -> str:
    """Return a file with blanks for its comments, and for its strings unless they are kept; lines keep their places.

    >>> without_comments('a (* b (* c *) d *) "(* e *)"')
    'a                   "(* e *)"'
    """
    parts, last = [], 0
    for start, end, comment in _skipped(text):
        if comment or not strings:
            parts += [text[last:start], re.sub(r"[^\n]", " ", text[start:end])]
            last = end
    return "".join((*parts, text[last:]))


@lru_cache(maxsize=256)  # a file that others import is read for each of them
def sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a file in their order, those of proofs too; comments belong to none.

    >>> [one.code for one in sentences("Section A. (* Axiom b. *) Let x := 1.5. End A.")]
    ['Section A.', 'Let x := 1.5.', 'End A.']
    """
    code, plain = without_comments(text), without_comments(text, strings=False)
    found, begin, within = list[Sentence](), 0, tuple[str, ...]()
    for mark in _END.finditer(plain):
        start = next(_INK.finditer(code, begin)).start()
        one = Sentence(code[start : mark.end()], start, mark.end(), within)
        begin = mark.end()
        found.append(one)
        opens, closes = _OPENS.match(one.command), _CLOSES.match(one.command)
        if opens and (opens[1] == "Section" or not re.search(r":=", one.command)):
            within = (*within, f"{opens[1]} {opens[2]}")
        elif closes and within and within[-1].endswith(f" {closes[1]}"):
            within = within[:-1]
    return tuple(found)


def _prefix(code: str) -> int:
    match = _PREFIX.match(code)
    return match.end() if match else 0


def _skipped(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield start and end of each comment and string, and whether it is a comment."""
    at, sign = 0, re.compile(r'\(\*|"')
    while match := sign.search(text, at):
        start = match.start()
        at = _string_end(text, start) if match[0] == '"' else _comment_end(text, start)
        yield start, at, match[0] != '"'


def _string_end(text: str, start: int) -> int:
    end = text.find('"', start + 1)  # two quotes in a string are two strings, side by side
    return len(text) if end < 0 else end + 1


def _comment_end(text: str, start: int) -> int:
    depth, at, sign = 1, start + 2, re.compile(r'\(\*|\*\)|"')
    while depth:
        match = sign.search(text, at)
        if match is None:
            return len(text)
        depth += {"(*": 1, "*)": -1}.get(match[0], 0)
        at = _string_end(text, match.start()) if match[0] == '"' else match.end()
    return at
