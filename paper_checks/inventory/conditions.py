r"""Conditions of TeX: the branch that is typeset, as far as a source says which.

Only primitives of TeX, those of common packages, and what ``\newif`` declares are conditions. Other macros whose names
begin in the same way, such as ``\iff``, take no ``\fi``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from paper_checks.inventory.document import Place

_PRIMITIVE = re.compile(
    r"if(?:|cat|x|num|dim|odd|vmode|hmode|mmode|inner|void|hbox|vbox|eof|true|false|case|defined|csname|fontchar|"
    r"incsname|primitive|pdfprimitive|pdfabsnum|pdfabsdim|pdf|xetex|XeTeX|luatex|LuaTeX|pdftex|PDFTeX|tutex|TUTeX|"
    r"vtex|ptex|uptex|@twocolumn|@twoside|@filesw|@mainmatter|@openright|@titlepage|@restonecol|@nobreak)"
)
_TOKEN = re.compile(
    r"\\newif\s*\\(?P<declared>if[A-Za-z@]+)"
    r"|\\let\s*\\(?P<let>if[A-Za-z@]+)\s*=?\s*\\if(?P<as>true|false)(?![A-Za-z@])"
    r"|(?P<unless>\\unless\s*)?\\(?P<compared>ifx)(?![A-Za-z@])\s*(?:\\[A-Za-z@]+|.)\s*(?:\\[A-Za-z@]+|[^\s\\])"
    r"|\\(?P<defined>ifdefined)(?![A-Za-z@])\s*\\[A-Za-z@]+"
    r"|(?P<arguments>\\(?:ifthenelse|iftoggle|nottoggle|ifbool|notbool|ifboolexpr))(?![A-Za-z@])"
    r"|(?P<not>\\unless\s*)?\\(?P<condition>if[A-Za-z@]*)(?![A-Za-z@])"
    r"|\\(?P<set>[A-Za-z@]+?)(?P<to>true|false)(?![A-Za-z@])"
    r"|\\(?P<end>else|or|fi)(?![A-Za-z@])"
)
_BRACE = re.compile(
    r"\\[{}\\]|[{}]|\\(?P<how>(?:re|provide)?newcommand|renewcommand|providecommand|DeclareRobustCommand|[gex]?def|DeclareOption|"
    r"(?:New|Renew|Provide|Declare)DocumentCommand|(?:re)?newenvironment|AtBeginDocument|AtEndDocument)(?![A-Za-z])"
)
_DOCUMENT = re.compile(r"\\begin\s*\{document\}")
_COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {"<": operator.lt, "=": operator.eq, ">": operator.gt}
_NUMBERS = re.compile(r"\s*(-?\d{1,9})\s*([<=>])\s*(-?\d{1,9})(?!\d)\s?")


@dataclass
class _Open:
    """A condition that is open: its name and place, and whether its current branch is typeset; None if unknown."""

    name: str
    place: Place
    holds: bool | None
    nested: bool = False
    """Whether it is in a branch that is not typeset."""
    sure: bool = True
    """Whether all conditions around it are known."""


class Conditions:
    """The conditions of a source, line after line.

    Attributes:
        notes: Lines about what could not be decided.
    """

    def __init__(self, body: bool) -> None:
        r"""Begin with no condition declared.

        Args:
            body: Whether the source begins after its ``\begin{document}``.
        """
        self.notes: dict[str, None] = {}
        self._values: dict[str, bool | None] = {}
        self._open: list[_Open] = []
        self._body = body
        self._defined = False
        self._depth, self._upto = 0, 0

    def declare(self, style: str) -> None:
        """Take the conditions of a style file, which its options may set."""
        for found in re.finditer(r"\\newif\s*\\(if[A-Za-z@]+)", style):
            self._values.setdefault(found[1], None)

    def begin_file(self) -> list[_Open]:
        """Put what is open aside, and return it for `end_file`: a condition ends in the file in which it begins."""
        aside, self._open = self._open, []
        return aside

    def end_file(self, aside: list[_Open]) -> None:
        """Note what was never closed, and take up what was open before."""
        for one in self._open:
            if one.holds is False:
                self.notes[f"{one.place}: \\{one.name} is never closed, so all after it was left out"] = None
        self._open = aside

    @property
    def _hidden(self) -> bool:
        return bool(self._open) and (self._open[-1].nested or self._open[-1].holds is False)

    @property
    def _sure(self) -> bool:
        return not self._open or (self._open[-1].sure and self._open[-1].holds is not None)

    def kept(self, line: str, place: Place) -> str:
        """Return what is typeset of the next line, with both branches where the condition is not known."""
        kept, start = "", 0
        self._body = self._body or bool(_DOCUMENT.search(line))
        for found in _TOKEN.finditer(line):
            if found.start() < start:
                continue
            before = self._hidden
            end, drop = self._take(found, line, place)
            if not drop and before == self._hidden:
                continue
            if not before:
                kept += line[start : found.start()]
            start = end
        self._defined = self._defining(line, len(line))
        self._upto = 0
        return kept + ("" if self._hidden else line[start:])

    def _take(self, found: re.Match[str], line: str, place: Place) -> tuple[int, bool]:
        """Carry out one command; return where it ends, and whether it is left out though nothing else is."""
        end = found.end()
        if found["declared"]:
            if not self._hidden:
                self._values[found["declared"]] = False
        elif found["let"]:
            if not self._hidden:
                self._values[found["let"]] = found["as"] == "true"
        elif found["set"]:
            name = f"if{found['set']}"
            if name in self._values and not self._hidden:
                sure = not self._defining(line, found.start()) and self._sure
                self._values[name] = found["to"] == "true" if sure else None
        elif found["arguments"]:
            if self._body and not self._hidden and not self._defining(line, found.start()):
                self._note(place, found["arguments"])
        elif found["end"]:
            defining = not self._open and self._defining(line, found.start())
            return end, self._turn(found["end"], place, defining)
        else:
            name = found["compared"] or found["defined"] or found["condition"]
            if not _PRIMITIVE.fullmatch(name) and name not in self._values:
                return end, False
            holds, end = self._value(name, line, end)
            if (found["unless"] or found["not"]) and holds is not None:
                holds = not holds
            if holds is None and self._body and not self._hidden and not self._defining(line, found.start()):
                self._note(place, f"\\{name}")
            self._open.append(_Open(name, place, holds, self._hidden, self._sure))
            return end, holds is not None
        return end, False

    def _defining(self, line: str, at: int) -> bool:
        """Return whether a place of a line, after those that were asked for, is in the definition of a macro."""
        for found in _BRACE.finditer(line, self._upto, at):
            if found["how"]:
                self._defined, self._depth = True, 0
            elif self._defined and found[0] in "{}":
                self._depth = max(0, self._depth + (1 if found[0] == "{" else -1))
        self._upto = max(at, self._upto)
        return self._depth > 0

    def _turn(self, word: str, place: Place, defining: bool) -> bool:
        r"""Carry out ``\else``, ``\or`` or ``\fi``; return whether the command belongs to a known condition."""
        if not self._open:
            if word == "else" and self._body and not defining:
                says = r"\else is of a condition that is not declared, so all of its branches were read"
                self.notes[f"{place}: {says}"] = None
            return False
        last = self._open[-1]
        if word == "fi":
            self._open.pop()
        elif word == "else" and last.holds is not None:
            last.holds = not last.holds
        return last.holds is not None

    def _value(self, name: str, line: str, at: int) -> tuple[bool | None, int]:
        """Return whether a condition holds, None if the source does not say so plainly, and where it ends."""
        if name in ("iftrue", "iffalse"):
            return name == "iftrue", at
        if name in self._values:
            return self._values[name], at
        if name == "ifnum" and (numbers := _NUMBERS.match(line, at)):
            return _COMPARISONS[numbers[2]](int(numbers[1]), int(numbers[3])), numbers.end()
        if name == "if" and (signs := re.compile(r"\s*([^\s\\{}$#~])([^\\{}$#~]|$)").match(line, at)):
            return signs[1] == signs[2], signs.end()
        return None, at

    def _note(self, place: Place, command: str) -> None:
        self.notes[f"{place}: {command} may hold or not, so all of its branches were read"] = None
