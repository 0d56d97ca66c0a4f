"""Constants that change: between a statement and its restatement, its proof, or the abstract."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from paper_checks.inventory.document import FLOATS, Candidate, Document, Item

_SYMBOL = r"\\?[A-Za-z]+(?:_(?:\{[^{}]*\}|\\?[A-Za-z0-9*]+))?(?:\^(?:\{[^{}]*\}|[*']|\w))?"
_BOUND = re.compile(
    rf"(?:^|(?<=[\s$,;(<=]))(?:\d+\s*(?:<|\\leq?|≤)\s*)?(?P<symbol>{_SYMBOL})\s*(?P<sign>\\leq?(?![a-z])|\\geq?(?![a-z])|≤|≥|<|>|=|\\leqslant|\\geqslant)\s*"
    r"(?P<right>(?:[^$,;=<>≤≥\\]|\\(?!quad|qquad|leq?(?![a-z])|geq?(?![a-z])|text|end|\\|forall|in(?![a-z])|to(?![a-z])|tag)[a-zA-Z]+|\\[^a-zA-Z\\]){1,80})"
)
_RATE = re.compile(r"(?:\\mathcal\s*\{?\s*O\s*\}?|\\widetilde\s*\{?\\mathcal\{O\}\}?|\\Theta|\\Omega|(?<![A-Za-z\\])O|𝒪)\s*(?:\\!)?\s*(?:\\[Bb]ig[lg]?)?(?:\\left)?\s*\((?P<inner>(?:[^()]|\([^()]*\)){1,60})\)")
_RESTATED = re.compile(r"(?:restate(?:ment|d)?|repeated|recall(?:ed)?)\b[^.]{0,20}?(?P<kind>theorem|lemma|proposition|corollary)\s*\(?(?P<number>[A-Z]?\.?\d+(?:\.\d+)*)", re.I)
_TOKEN = re.compile(r"\\[A-Za-z]+|\d+(?:\.\d+)?|[A-Za-z]+|[^\s\w]")
_ALIKE = 0.75
"""How alike two statements are, from 0 to 1, to be one and the same."""


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
            yield from _against_proof(item)
    yield from _against_abstract(document, statements)


def _restatements(statements: list[Item]) -> Iterator[tuple[Item, Item]]:
    """Yield statements that are printed twice, the first one first."""
    for at, item in enumerate(statements):
        named = _RESTATED.search(item.title or item.text[:120])
        for other in statements[:at]:
            by_name = named is not None and (other.kind, other.number) == (named["kind"].lower(), named["number"])
            same = other.kind == item.kind and len(item.text) > 60 and _alike(item.text, other.text) > 0.9 and other.text != item.text
            if by_name or same:
                yield other, item
                break


def _alike(one: str, other: str) -> float:
    matcher = SequenceMatcher(None, _TOKEN.findall(one)[:400], _TOKEN.findall(other)[:400], autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() > 0.9 else 0.0


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
    text = re.sub(r"\\(?:left|right|big|Big|bigg|Bigg|bigl|bigr|,|;|!|quad|qquad|displaystyle|mathrm|text|tag\s*\{[^{}]*\})(?![A-Za-z])", " ", text)
    text = re.sub(r"\(\s*(?:[A-Z]\.)?\d+\s*\)", " ", text)  # numbers of equations
    return [token for token in _TOKEN.findall(text) if token not in "${}*&"]


def _bounds(text: str) -> Iterator[_Bound]:
    text = re.sub(r"\\(?:left|right|,|;|!|big|Big)(?![A-Za-z])", "", text).replace("\\tfrac", "\\frac").replace("\\dfrac", "\\frac")
    for found in _BOUND.finditer(text):
        right = re.sub(r"\s+", "", found["right"]).rstrip(".:*}")
        right = re.sub(r"\\?(?:and|with|where|for|then|if)$", "", right)
        bare = re.sub(r"[_^](?:\{[^{}]*\}|\\?[A-Za-z]+|\d)", lambda part: re.sub(r"\d", "#", part[0]), right)
        skeleton = re.sub(r"[{}\s]", "", re.sub(r"\d+(?:\.\d+)?", "", bare))
        letters = re.sub(r"\\frac|\\sqrt|[^A-Za-z]", "", skeleton)
        if not letters or right.count("{") != right.count("}") or right.count("(") != right.count(")"):
            continue
        sign = {"\\leq": "≤", "\\le": "≤", "\\geq": "≥", "\\ge": "≥", "<": "≤", ">": "≥"}.get(found["sign"], found["sign"])
        numbers = tuple(number for number in re.findall(r"\d+(?:\.\d+)?", bare) if number != "1")
        yield _Bound((found["symbol"], sign, skeleton), numbers, f"{found['symbol']} {sign} {right}")


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
    stated: dict[str, set[str]] = {}
    for item in statements:
        for rate in _rates(f"{item.text} {item.title}"):
            stated.setdefault(_letters(rate), set()).add(rate)
    everywhere = {rate for paragraph in document.paragraphs for rate in _rates(paragraph.text) if paragraph.text not in document.abstract}
    for rate in dict.fromkeys(_rates(document.abstract)):
        others = stated.get(_letters(rate), set())
        if others and rate not in others and (rate not in everywhere or document.latex) and _letters(rate):
            place = document.paragraphs[0].place
            place = next((one.place for one in document.paragraphs if rate in list(_rates(one.text))), place)
            says = f"the abstract has the rate O({rate}), the statements O({'), O('.join(sorted(others))})"
            yield Candidate("constant", place, "abstract", says, (rate, *sorted(others)))


def _rates(text: str) -> Iterator[str]:
    for found in _RATE.finditer(text):
        rate = re.sub(r"\s+|\\left|\\right|\\[,;!]|[{}]", "", found["inner"].replace("\\tfrac", "\\frac").replace("\\dfrac", "\\frac"))
        rate = re.sub(r"\\frac1\\sqrt(\w+)", r"1/\\sqrt\1", rate)
        rate = re.sub(r"\\frac(1)(\w)", r"1/\2", rate)
        rate = re.sub(r"\^-1/2|\^-\\frac12", "^-0.5", rate)
        rate = re.sub(r"1/\\sqrt\(?(\w)\)?", r"\1^-0.5", rate)
        rate = re.sub(r"^1/(\w)$", r"\1^-1", rate)
        yield rate


def _letters(rate: str) -> str:
    return "".join(sorted(re.sub(r"\\(?:frac|sqrt|log|ln|epsilon|varepsilon)|[^A-Za-z]", "", rate)))
