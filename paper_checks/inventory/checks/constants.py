"""Constants that change: between a statement and its restatement, its proof, or the abstract."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from paper_checks.inventory.checks.endings import endings
from paper_checks.inventory.checks.rates import Rate, read_rate, symbols
from paper_checks.inventory.document import FLOATS, Candidate, Document, Item

_SYMBOL = r"\\?[A-Za-z]+(?:_(?:\{[^{}]*\}|\\?[A-Za-z0-9*]+))?(?:\^(?:\{[^{}]*\}|[*']|\w))?"
_SIGN = re.compile(r"(\\leq?slant|\\geq?slant|\\leq?(?![a-z])|\\geq?(?![a-z])|[≤≥<>=])")
_SIGNS = {
    "\\leq": "≤",
    "\\le": "≤",
    "\\leqslant": "≤",
    "<": "≤",
    "\\geq": "≥",
    "\\ge": "≥",
    "\\geqslant": "≥",
    ">": "≥",
}
_BREAK = re.compile(
    r"[$;]|,(?![^({]*[)}])|\\q?quad|\\\\|\\(?:text|forall|tag|begin|end|in|to|implies|Rightarrow)(?![a-z])|\.\s"
)
_RATE = re.compile(
    r"(?:\\mathcal\s*\{?\s*O\s*\}?|\\widetilde\s*\{?\\mathcal\{O\}\}?|\\Theta|\\Omega|(?<![A-Za-z\\])O|𝒪)\s*(?:\\!)?\s*(?:\\[Bb]ig[lg]?)?(?:\\left)?\s*\((?P<inner>(?:[^()]|\([^()]*\)){1,60})\)"
)
_RESTATED = re.compile(
    r"(?:restate(?:ment|d)?|repeated|recall(?:ed)?)\b[^.]{0,20}?(?P<kind>theorem|lemma|proposition|corollary)\s*\(?(?P<number>[A-Z]?\.?\d+(?:\.\d+)*)",
    re.I,
)
_TOKEN = re.compile(r"\\[A-Za-z]+|\d+(?:\.\d+)?|[A-Za-z]+|[^\s\w]")
_ALIKE = 0.75
"""How alike a restatement must be to its statement, from 0 to 1, to be compared."""
_LONG = 25
"""Words and signs of a statement that can be recognised without its name."""
_REPRINT = 0.97
"""How alike two statements are, from 0 to 1, if one is the other though nothing says so."""


@dataclass(frozen=True)
class _Bound:
    """A bound of one symbol: what is compared how, with the numbers taken out."""

    key: tuple[str, str, str]
    numbers: tuple[str, ...]
    text: str


def constants(document: Document) -> Iterator[Candidate]:
    """Yield constants that a restatement, a proof or the abstract prints otherwise than the statement."""
    statements = [item for item in document.items if item.kind not in (*FLOATS, "equation")]
    restated = set()
    for item, other in _restatements(statements):
        restated |= {(item.name), (other.name)}
        yield from _compare(item, other)
    for item in statements:
        if item.proof:
            quoted = list(_against_proof(item))
            yield from quoted or endings(item)
    yield from _against_abstract(document, statements)


def _restatements(statements: list[Item]) -> Iterator[tuple[Item, Item]]:
    """Yield statements that are printed twice, the first one first."""
    tokens = [_tokens(item.text) for item in statements]
    by_number: dict[tuple[str, str], Item] = {(item.kind, item.number): item for item in reversed(statements)}
    titled: dict[tuple[str, str], Item] = {}
    for at, item in enumerate(statements):
        named = _RESTATED.search(item.title or item.text[:120])
        other = by_number.get((named["kind"].lower(), named["number"])) if named else None
        other = other or (titled.get((item.kind, item.title)) if item.title else None)
        if other is None and item.kind != "definition" and len(tokens[at]) >= _LONG:
            other = next(
                (
                    first
                    for before, first in enumerate(statements[:at])
                    if first.kind == item.kind
                    and first.section != item.section
                    and abs(len(tokens[before]) - len(tokens[at])) * 20 <= len(tokens[at])
                    and _is_reprint(tokens[before], tokens[at])
                ),
                None,
            )
        if other is not None and other is not item:
            yield other, item
        titled.setdefault((item.kind, item.title), item)


def _is_reprint(one: list[str], other: list[str]) -> bool:
    """Return whether two statements differ in a place or two."""
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.real_quick_ratio() > _REPRINT and matcher.quick_ratio() > _REPRINT and matcher.ratio() > _REPRINT


def _compare(first: Item, second: Item) -> Iterator[Candidate]:
    """Yield the numbers that stand in one place of two printings and differ."""
    one, other = (_tokens(item.text) for item in (first, second))
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return
    for how, a, b, c, d in matcher.get_opcodes():
        if how == "equal":
            continue
        before, after = one[a:b], other[c:d]
        numbers = [[token for token in tokens if token[0].isdigit()] for tokens in (before, after)]
        letters = [[token for token in tokens if token[0].isalpha() or token[0] == "\\"] for tokens in (before, after)]
        if numbers[0] != numbers[1] and letters[0] == letters[1] and max(map(len, (before, after))) <= 6:
            shown = ["".join(tokens[max(0, low - 6) : high + 4]) for tokens, low, high in ((one, a, b), (other, c, d))]
            says = f"prints {shown[1]} where {first.name} ({first.place}) prints {shown[0]}"
            yield Candidate("constant", second.place, second.name, says, tuple(shown))


def _tokens(text: str) -> list[str]:
    text = re.sub(r"\([^()]*(?:restat|theorem|lemma)[^()]*\)", " ", text[:200], flags=re.I) + text[200:]
    text = re.sub(
        r"\\(?:left|right|big|Big|bigg|Bigg|bigl|bigr|,|;|!|quad|qquad|displaystyle|mathrm|text|tag\s*\{[^{}]*\})(?![A-Za-z])",
        " ",
        text,
    )
    text = re.sub(r"\(\s*(?:[A-Z]\.)?\d+\s*\)", " ", text)  # numbers of equations
    return [token for token in _TOKEN.findall(text) if token not in "${}*&"]


def _bounds(text: str) -> Iterator[_Bound]:
    """Yield the bounds of single symbols; "a = b ≤ c" bounds a by c."""
    text = (
        re.sub(r"\\(?:left|right|,|;|!|big|Big)(?![A-Za-z])", "", text)
        .replace("\\tfrac", "\\frac")
        .replace("\\dfrac", "\\frac")
    )
    for formula in _BREAK.split(text):
        parts = [part.strip() for part in _SIGN.split(formula)]
        first = next((at for at in range(0, len(parts) - 2, 2) if re.fullmatch(_SYMBOL, parts[at])), None)
        if first is None:
            continue
        sign = "="
        for at in range(first + 1, len(parts) - 1, 2):
            one = _SIGNS.get(parts[at], parts[at])
            if "=" not in (one, sign) and one != sign:
                break
            sign = one if sign == "=" else sign
            bound = _bound(parts[first], sign, parts[at + 1])
            if bound is not None:
                yield bound


def _bound(symbol: str, sign: str, right: str) -> _Bound | None:
    """Return a bound; None if its right side has no letters, or is not a whole formula."""
    right = re.sub(r"\s+", "", right).rstrip(".:*")
    bare = re.sub(r"[_^](?:\{[^{}]*\}|\\?[A-Za-z]+|\d)", lambda part: re.sub(r"\d", "#", part[0]), right)
    skeleton = re.sub(r"[{}\s]", "", re.sub(r"\d+(?:\.\d+)?", "", bare))
    letters = re.sub(r"\\frac|\\sqrt|[^A-Za-z]", "", skeleton)
    if not letters or len(right) > 80 or right.count("{") != right.count("}") or right.count("(") != right.count(")"):
        return None
    numbers = tuple(number for number in re.findall(r"\d+(?:\.\d+)?", bare) if number != "1")
    return _Bound((symbol, sign, skeleton), numbers, f"{symbol} {sign} {right}")


def _against_proof(item: Item) -> Iterator[Candidate]:
    """Yield bounds on a symbol that a proof quotes with other numbers than the statement."""
    stated = {bound.key: bound for bound in _bounds(item.text)}
    seen = {(bound.key, bound.numbers) for bound in _bounds(item.text)}
    proofs = [bound for bound in _bounds(item.proof) if bound.key in stated]
    for bound in proofs:
        first = stated[bound.key]
        if (bound.key, bound.numbers) in seen or bound.key[1] == "=":
            continue
        seen.add((bound.key, bound.numbers))
        says = f"the proof has ${bound.text}$, the statement ${first.text}$"
        yield Candidate("constant", item.place, item.name, says, (bound.text, first.text))


def _against_abstract(document: Document, statements: list[Item]) -> Iterator[Candidate]:
    """Yield rates of the abstract that every statement prints with another power."""
    stated = [rate for item in statements for rate in _rates(f"{item.text} {item.title}")]
    everywhere = {
        rate.key
        for paragraph in document.paragraphs
        if paragraph.text not in document.abstract
        for rate in _rates(paragraph.text)
    }
    for rate in {rate.key: rate for rate in _rates(document.abstract)}.values():
        if rate.value is None or not rate.letters or (rate.key in everywhere and not document.latex):
            continue
        if any(other.value is None and set(other.letters) & set(rate.letters) for other in stated):
            continue  # one of them may be this rate
        others = [other for other in stated if other.value is not None and other.kind == rate.kind]
        if any(other.key == rate.key for other in others):
            continue
        alike = [other for other in others if other.value and symbols(other.value) == symbols(rate.value)]
        if alike:
            shown = sorted({other.text for other in alike})
            place = document.paragraphs[0].place
            place = next(
                (one.place for one in document.paragraphs if f"{rate.text})" in " ".join(one.text.split())), place
            )
            says = f"the abstract has the rate O({rate.text}), the statements O({'), O('.join(shown)})"
            yield Candidate("constant", place, "abstract", says, (rate.text, *shown))


@dataclass(frozen=True)
class _Printed:
    """A rate as printed, and what it means.

    Attributes:
        text: The formula in the parentheses.
        kind: Whether it bounds from below.
        value: The rate; None if it is not understood.
        letters: Its letters, without those of the accuracy and of commands.
    """

    text: str
    kind: bool
    value: Rate | None
    letters: str

    @property
    def key(self) -> tuple[bool, Rate | None, str]:
        """Key that equal rates share."""
        return self.kind, self.value, "" if self.value is not None else self.text


def _rates(text: str) -> Iterator[_Printed]:
    for found in _RATE.finditer(text):
        inner = " ".join(re.sub(r"\\right$", "", found["inner"].strip()).split())
        yield _Printed(inner, found[0].startswith("\\Omega"), read_rate(inner), _letters(inner))


def _letters(rate: str) -> str:
    return "".join(sorted(re.sub(r"\\(?:[td]?frac|sqrt|log|ln|left|right|epsilon|varepsilon)|[^A-Za-z]", "", rate)))
