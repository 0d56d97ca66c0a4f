r"""Macros of a LaTeX source: what ``\newcommand`` and its kin define, written out where they are used.

Only what a paper commonly defines is written out: macros without tricks of TeX. Every line keeps its number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_DEFINITION = re.compile(
    r"\\(?P<how>(?:re)?newcommand|providecommand|DeclareRobustCommand|DeclareMathOperator|newenvironment|"
    r"renewenvironment|def|gdef|edef|newtheorem|NewDocumentCommand|RenewDocumentCommand)(?P<star>\*?)(?![A-Za-z])"
)
_NAME = re.compile(r"\s*(?:\{\s*\\([A-Za-z]+|.)\s*\}|\\([A-Za-z]+|.))")
_USE = re.compile(r"\\(?:([A-Za-z]+)|.)", flags=re.S)
_TRICKS = re.compile(r"\\(?:@|if|else|fi\b|def|edef|gdef|let|csname|expandafter|futurelet|newcommand|ensuremath@)|@")
_KEPT = {
    "label",
    "ref",
    "eqref",
    "cref",
    "Cref",
    "autoref",
    "caption",
    "begin",
    "end",
    "section",
    "cite",
    "item",
    "tag",
    "input",
    "left",
    "right",
    "frac",
    "text",
    "mathbf",
    "textbf",
    "appendix",
    "maketitle",
    "title",
    "author",
    "and",
    "abstract",
    "thesection",
    "theequation",
    "thetheorem",
    "proof",
    "qed",
    "uses",
}
_DEEPEST = 12
_GROWTH = 5
"""How often longer than its source the text may become."""


@dataclass(frozen=True)
class Macro:
    """A macro: how many arguments it takes, the default of a first optional one, and its text."""

    count: int
    default: str | None
    body: str


@dataclass(frozen=True)
class Written:
    r"""A source without definitions.

    Attributes:
        text: The source with its macros written out.
        theorems: Arguments of each ``\\newtheorem``.
        environments: For each environment that is defined, how it begins.
        operators: Macros that are defined, by name.
    """

    text: str
    theorems: tuple[tuple[str, str, str, str, bool], ...]
    environments: Mapping[str, str]
    macros: Mapping[str, Macro]


def group_end(text: str, start: int) -> int | None:
    """Return the place after the group that begins at an opening brace; None if it never ends."""
    depth, at = 0, start
    while at < len(text):
        sign = text[at]
        if sign == "\\":
            at += 2
            continue
        if sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return None


def _argument(text: str, at: int) -> tuple[str, int] | None:
    """Return the group after spaces, without its braces, and the place after it; None if there is none."""
    at = _after_spaces(text, at)
    if at >= len(text) or text[at] != "{":
        return None
    end = group_end(text, at)
    return None if end is None else (text[at + 1 : end - 1], end)


def _option(text: str, at: int) -> tuple[str | None, int]:
    """Return the text in brackets after spaces, and the place after it."""
    place = _after_spaces(text, at)
    if place >= len(text) or text[place] != "[":
        return None, at
    depth = 0
    for end in range(place, min(len(text), place + 3000)):
        if text[end] == "{":
            depth += 1
        elif text[end] == "}":
            depth -= 1
        elif text[end] == "]" and depth == 0:
            return text[place + 1 : end], end + 1
    return None, at


def _after_spaces(text: str, at: int) -> int:
    found = re.compile(r"[ \t]*\n?[ \t]*").match(text, at)
    return found.end() if found else at


def write_out(text: str) -> Written:
    """Return a LaTeX text with its own macros written out and their definitions removed."""
    macros: dict[str, Macro] = {}
    theorems: list[tuple[str, str, str, str, bool]] = []
    environments: dict[str, str] = {}
    pieces, start = [], 0
    for found in _DEFINITION.finditer(text):
        if found.start() < start:
            continue
        end = _define(text, found, macros, theorems, environments)
        if end is None:
            continue
        pieces.append(text[start : found.start()] + "\n" * text.count("\n", found.start(), end))
        start = end
    pieces.append(text[start:])
    plain = {name: macro for name, macro in macros.items() if name not in _KEPT and not _TRICKS.search(macro.body)}
    return Written(_expand("".join(pieces), plain), tuple(theorems), environments, plain)


def _define(
    text: str,
    found: re.Match[str],
    macros: dict[str, Macro],
    theorems: list[tuple[str, str, str, str, bool]],
    environments: dict[str, str],
) -> int | None:
    """Read one definition and return the place after it; None if it has another form."""
    how, at = found["how"], found.end()
    if how == "newtheorem":
        name = _argument(text, at)
        if name is None:
            return None
        shared, at = _option(text, name[1])
        shown = _argument(text, at)
        if shown is None:
            return None
        within, at = _option(text, shown[1])
        theorems.append((name[0].strip(), shared or "", shown[0].strip(), within or "", bool(found["star"])))
        return at
    if how in ("newenvironment", "renewenvironment"):
        name = _argument(text, at)
        if name is None:
            return None
        _, at = _option(text, name[1])
        _, at = _option(text, at)
        first = _argument(text, at)
        last = _argument(text, first[1]) if first else None
        if first is None or last is None:
            return None
        environments[name[0].strip()] = first[0]
        return last[1]
    named = _NAME.match(text, at)
    if named is None:
        return None
    name_of, at = named[1] or named[2], named.end()
    if how == "renewcommand" and name_of.startswith("the"):  # how a counter is printed, which changes along the text
        return None
    if how in ("def", "gdef", "edef"):
        parameters = re.compile(r"((?:#\d)*)\s*(?=\{)").match(text, at)
        body = _argument(text, parameters.end()) if parameters else None
        if parameters is None or body is None:
            return None
        macros[name_of] = Macro(parameters[1].count("#"), None, body[0])
        return body[1]
    if how == "DeclareMathOperator":
        body = _argument(text, at)
        if body is None:
            return None
        macros[name_of] = Macro(0, None, rf"\operatorname{{{body[0]}}}")
        return body[1]
    if how.endswith("DocumentCommand"):
        signature = _argument(text, at)
        body = _argument(text, signature[1]) if signature else None
        if signature is None or body is None:
            return None
        if re.fullmatch(r"[m\s]*", signature[0]):
            macros[name_of] = Macro(signature[0].count("m"), None, body[0])
        return body[1]
    count, at = _option(text, at)
    default, at = _option(text, at)
    body = _argument(text, at)
    if body is None:
        return None
    macros[name_of] = Macro(int(count) if count and re.fullmatch(r"\s*[0-9]\s*", count) else 0, default, body[0])
    return body[1]


def _expand(text: str, macros: Mapping[str, Macro]) -> str:
    """Return a text with its macros written out, as long as that does not make it many times longer."""
    most = _GROWTH * len(text) + 10_000
    for _ in range(_DEEPEST):
        longer = _expand_once(text, macros)
        if longer == text or len(longer) > most:
            break
        text = longer
    return text


def _expand_once(text: str, macros: Mapping[str, Macro]) -> str:
    pieces, start = [], 0
    for found in _USE.finditer(text):
        macro = macros.get(found[1] or "")
        if macro is None or found.start() < start:
            continue
        at, given = found.end(), []
        if macro.default is not None:
            option, at = _option(text, at)
            given.append(macro.default if option is None else option)
        while len(given) < macro.count:
            argument = _argument(text, at)
            if argument is None:
                place = _after_spaces(text, at)
                if place >= len(text) or text[place] in "}]&$\\":
                    break
                argument = text[place], place + 1
            given.append(argument[0])
            at = argument[1]
        if len(given) < macro.count:
            continue
        body = macro.body
        for number, value in enumerate(given, 1):
            body = body.replace(f"#{number}", value)
        body = body.replace("\n", " ")
        follows = text[at : at + 1]
        joint = " " if re.search(r"\\[A-Za-z]+$", body) and follows.isalpha() else ""
        pieces += [text[start : found.start()], body, joint, "\n" * text.count("\n", found.start(), at)]
        start = at
    pieces.append(text[start:])
    return "".join(pieces)
