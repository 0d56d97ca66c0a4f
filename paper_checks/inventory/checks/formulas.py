"""Formulas that are printed twice and differ in one short place, such as (n - |S|)! and (n - |S| - 1)!.

A formula is compared without its layout, and with its indices called by the order in which they occur. Only a number,
a sign, a power, a factorial or one factor counts as a slip: another symbol usually means another thing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from paper_checks.inventory.displays import display_rows
from paper_checks.inventory.document import Candidate, Display, Document, Place

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[A-Za-z]{4,}|\d+(?:\.\d+)?|[A-Za-z]|[^\s\w]|\w")
_LAYOUT = re.compile(
    r"\\(?:left|right|middle|[bB]igg?[lrm]?|displaystyle|textstyle|scriptstyle|limits|nolimits|mathlarger|mathsmaller|"
    r"nonumber|notag|allowbreak|ensuremath|normalsize|small|large|hfill|phantom)(?![A-Za-z])|\\[,;:! >]|[~&]|"
    r"\\(?:label|tag|hspace|vspace|intertext|textcolor|color)\*?\s*\{[^{}]*\}"
)
_SAME = {
    r"\dfrac": r"\frac", r"\tfrac": r"\frac", r"\leq": r"\le", r"\leqslant": r"\le", r"\geq": r"\ge",
    r"\geqslant": r"\ge", r"\lvert": "|", r"\rvert": "|", r"\vert": "|", r"\mid": "|", r"\|": r"\Vert",
    r"\lVert": r"\Vert", r"\rVert": r"\Vert", r"\backslash": r"\setminus", r"\dots": r"\ldots", r"\cdots": r"\ldots",
    r"\lbrace": r"\{", r"\rbrace": r"\}", r"\ast": "*", r"\bm": r"\boldsymbol", r"\mathbf": r"\boldsymbol",
    r"\triangleq": "=", r"\coloneqq": "=", r"\equiv": "=",
}  # fmt: skip
_RELATIONS = ("=", r"\le", r"\ge", "<", ">", "≤", "≥", r"\approx", r"\propto", r"\sim", r"\lesssim", r"\gtrsim")
_ENDS = (
    r"\text",
    r"\forall",
    r"\implies",
    r"\Rightarrow",
    r"\iff",
    r"\Leftrightarrow",
    r"\textrm",
    r"\mbox",
    r"\where",
)
_LIMITS = (r"\sum", r"\prod", r"\int", r"\max", r"\min", r"\sup", r"\inf", r"\bigcup", r"\bigcap", r"\lim", r"\argmin")
_OPEN, _CLOSE = ("{", "(", "[", r"\{", r"\langle", r"\begin"), ("}", ")", "]", r"\}", r"\rangle", r"\end")
_INDICES = frozenset("ijklmpqrstuv")
_DOUBLED = re.compile(r"\$\$(.+?)\$\$", re.S)
_SHORT, _LEAST, _LEAST_ALONE, _LONGEST = 4, 12, 30, 1500
"""Tokens of a difference at most; equal tokens, and those of other left sides, at least; tokens at most."""
_MOST, _MOST_ALIKE = 4000, 200
"""Formulas that are compared, and formulas that can begin or end alike."""
_AROUND = 6


@dataclass(frozen=True)
class _Token:
    """A sign of a formula.

    Attributes:
        text: As printed.
        canonical: The same for other names of an index.
        script: Whether it is in a lower index, above, below a sum or its kin, or in neither: "_", "^", "limit" or "".
    """

    text: str
    canonical: str
    script: str


@dataclass(frozen=True)
class _Side:
    """A right side of a chain of equations, with the left side of the chain.

    Attributes:
        display: Number of the display.
        place: Where it is.
        left: Left side of the chain, as canonical tokens.
        tokens: Its right side, with indices called as in the left side.
        alone: Its right side, with indices of its own.
    """

    display: int
    place: Place
    left: tuple[str, ...]
    tokens: tuple[_Token, ...]
    alone: tuple[_Token, ...]

    @cached_property
    def key(self) -> tuple[str, ...]:
        """Key that equal right sides share."""
        return _key(self.alone)


@dataclass(frozen=True)
class _Difference:
    """Two formulas with all that differs between them."""

    one: _Side
    other: _Side
    start: int
    end: int

    def shown(self, side: _Side) -> str:
        """Return the difference on one side, with what is around it."""
        texts = [token.text for token in side.tokens]
        last = len(texts) - self.end
        low = self.start - _whole_groups(texts[: self.start][::-1], "}", "{")
        high = last + _whole_groups(texts[last:], "{", "}")
        while low < self.start and low and texts[low] in ("_", "^", "{", "!"):
            low += 1  # an index without what it is of
        dots = r"\dots "
        return f"{dots if low else ''}{_written(texts[low:high])}{' ' + dots.strip() if high < len(texts) else ''}"


def formulas(document: Document) -> Iterator[Candidate]:
    """Yield formulas that the paper prints a second time with one short difference."""
    displays = document.displays or tuple(_plain_displays(document))
    sides = [side for at, display in enumerate(displays) for side in _sides(at, display)][:_MOST]
    keys = [{side.key for side in sides if side.display == at} for at in range(len(displays))]
    times = Counter(key for some in keys for key in some)
    groups: dict[tuple[object, ...], list[_Difference]] = {}
    for difference in _differences(sides):
        one, other = difference.one, difference.other
        if one.key in keys[other.display] or other.key in keys[one.display]:
            continue  # a display that goes from one to the other
        if not _is_one_thing(one, other, displays):
            continue
        if min(times[one.key], times[other.key]) > 1:
            continue  # two things, each printed again
        odd, usual = (other, one) if times[one.key] > times[other.key] else (one, other)
        if times[one.key] == times[other.key]:
            odd, usual = other, one  # the later printing
        groups.setdefault((odd.display, usual.key), []).append(
            _Difference(odd, usual, difference.start, difference.end)
        )
    reported = set()
    for group in groups.values():
        first = group[0]
        pair = frozenset((first.one.display, first.other.display))
        if pair in reported:
            continue
        reported.add(pair)
        where = list(dict.fromkeys(_where(displays[one.other.display], one.other) for one in group))
        shown = [first.shown(side) for side in (first.one, first.other)]
        prints = "prints" if len(where) == 1 else "print"
        says = f"prints ${shown[0]}$ where {' and '.join(where[:3])} {prints} ${shown[1]}$"
        display = displays[first.one.display]
        yield Candidate("formula", first.one.place, display.about, f"{display.name} {says}", tuple(shown))


def _is_one_thing(one: _Side, other: _Side, displays: Sequence[Display]) -> bool:
    """Return whether two formulas can be about one thing: not in two proofs, nor steps of one."""
    proofs = [displays[side.display].proves for side in (one, other)]
    if all(proofs) and proofs[0] != proofs[1]:
        return False  # each has names of its own
    return one.left == other.left or not all(proofs)  # else steps of one proof


def _where(display: Display, side: _Side) -> str:
    return f"{display.name} ({side.place})"


def _plain_displays(document: Document) -> Iterator[Display]:
    """Yield the displays of a text that is not LaTeX: its equations, and what is between two dollar signs."""
    known = set()
    for item in document.items:
        if item.kind == "equation":
            known.add(item.place)
            inside = f"{item.inside[0].capitalize()} {item.inside[1]}" if item.inside else ""
            rows = tuple((row, item.place) for _, row in display_rows(item.text.strip("$")))
            yield Display(rows, item.name, item.name, inside)
    for paragraph in document.paragraphs:
        for found in _DOUBLED.finditer(paragraph.text):
            if paragraph.place not in known:
                yield Display(tuple((row, paragraph.place) for _, row in display_rows(found[1])), "a formula")


def _sides(at: int, display: Display) -> Iterator[_Side]:
    """Yield each right side of a chain of equations with its left side; bounds are left out, which often differ."""
    left: list[_Token] = []
    for row, place in display.rows:
        if re.search(r"\\(?:begin|substack)(?![a-z])|[^\x00-\x7f]", row):
            continue
        for tokens in _parts(_tokens(row)):
            pieces = _split(tokens)
            first = pieces[0][1]
            left = first if first and first[0].text not in ("+", "-") else left
            sign = "="
            for relation, piece in pieces[1:]:
                sign = relation if relation != "=" else sign
                if sign == "=" and left and len(piece) <= _LONGEST:
                    named = _named([*left, *piece])
                    names = tuple(token.canonical for token in named[: len(left)])
                    yield _Side(at, place, names, named[len(left) :], _named(piece))


def _tokens(row: str) -> list[_Token]:
    """Return the tokens of a row, each index and power in braces."""
    texts = [_SAME.get(text, text) for text in _TOKEN.findall(_LAYOUT.sub(" ", row))]
    while texts and texts[-1] in (".", ",", ";", ":"):
        texts.pop()
    found: list[_Token] = []
    scripts: list[str] = []
    below = ""  # what the next index is of
    for at, text in enumerate(texts):
        around = scripts[-1] if scripts else ""
        if at and texts[at - 1] in ("_", "^"):
            inside = "limit" if texts[at - 1] == "_" and below in _LIMITS else texts[at - 1]
            if text == "{":
                scripts.append(inside)
                found.append(_Token("{", "{", inside))
            else:
                found += [_Token(one, one, inside) for one in ("{", text, "}")]
            continue
        if text == "{":
            scripts.append(around)
        elif text == "}" and scripts:
            scripts.pop()
        below = text
        found.append(_Token(text, text, around))
    return found


def _named(tokens: Sequence[_Token]) -> tuple[_Token, ...]:
    """Return tokens whose indices are called by the order in which they occur."""
    indices = {token.text for token in tokens if token.script and token.text in _INDICES}
    names: dict[str, str] = {}
    found = []
    for token in tokens:
        text = token.text
        if text in indices:
            text = names.setdefault(text, f"#{len(names)}")
        found.append(_Token(token.text, text, token.script))
    return tuple(found)


def _parts(tokens: Sequence[_Token]) -> Iterator[list[_Token]]:
    """Yield the formulas of a row, which are between commas and words that are in no group."""
    part: list[_Token] = []
    depth = 0
    for token in tokens:
        depth = max(0, depth + (token.text in _OPEN) - (token.text in _CLOSE))
        if token.text in _ENDS:
            yield part
            return
        if depth == 0 and token.text in (",", ";", r"\quad", r"\qquad"):
            yield part
            part = []
            continue
        part.append(token)
    yield part


def _split(tokens: Sequence[_Token]) -> list[tuple[str, list[_Token]]]:
    """Return the relations of a formula that are in no group, each with what follows it."""
    pieces: list[tuple[str, list[_Token]]] = [("", [])]
    depth = 0
    for token in tokens:
        depth = max(0, depth + (token.text in _OPEN) - (token.text in _CLOSE))
        if depth == 0 and token.text in _RELATIONS and not token.script:
            pieces.append((token.text, []))
        elif token.text != ":" or depth:
            pieces[-1][1].append(token)
    return pieces


def _differences(sides: Sequence[_Side]) -> Iterator[_Difference]:
    """Yield pairs of formulas of two displays that differ in one short place, which can be a slip."""
    buckets: dict[tuple[object, ...], list[int]] = {}
    for at, side in enumerate(sides):
        for left, tokens in ((side.left, side.tokens), (None, side.alone)):
            key = _key(tokens)
            if len(key) >= (_LEAST if left is not None else _LEAST_ALONE):
                size = min(8, max(4, len(key) // 4))
                for length in {size, max(4, size - 1)}:  # a formula shorter by up to four tokens may count one less
                    for which, some in (("first", key[:length]), ("last", key[-length:])):
                        buckets.setdefault((left, which, some), []).append(at)
    pairs = {pair for some in buckets.values() if len(some) < _MOST_ALIKE for pair in combinations(some, 2)}
    for a, b in sorted(pairs):
        one, other = sides[a], sides[b]
        if one.display == other.display or abs(len(one.tokens) - len(other.tokens)) > _SHORT or one.key == other.key:
            continue
        same = one.left == other.left
        first, second = (one.tokens, other.tokens) if same else (one.alone, other.alone)
        start, end = _equal_ends(_key(first), _key(second))
        changed = first[start : len(first) - end], second[start : len(second) - end]
        kept = (*first[:start], *first[len(first) - end :])
        equal = [token for token in kept if token.script != "_" and token.text not in ("{", "}", "_", "^")]
        if len(equal) < (_LEAST if same else _LEAST_ALONE) or max(map(len, changed)) > _SHORT:
            continue
        if _is_slip(*changed, same) and not any(_in_index(tokens, start, end) for tokens in (first, second)):
            yield _Difference(one, other, start, end)


def _key(tokens: Sequence[_Token]) -> tuple[str, ...]:
    return tuple(token.canonical for token in tokens)


def _equal_ends(one: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """Return how many tokens are equal from the beginning, and from the end of the rest."""
    shorter = min(len(one), len(other))
    start = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    end = next((at for at in range(shorter - start) if one[-1 - at] != other[-1 - at]), shorter - start)
    return start, end


def _is_slip(one: Sequence[_Token], other: Sequence[_Token], factor: bool) -> bool:
    """Return whether a number, a sign, a power or a factorial differs, or one factor is missing."""
    texts = [token.text for token in (*one, *other)]
    if "^" in texts and {"0", "1"} & {*texts}:
        return False  # the first of a sequence
    if all(re.fullmatch(r"\d+(?:\.\d+)?|[-+!^{}]", text) for text in texts):
        return True
    if not factor or (one and other):
        return False
    return len(texts) == 1 and re.fullmatch(r"[A-Za-z]|\\[a-z]+", texts[0]) is not None


def _in_index(tokens: Sequence[_Token], start: int, end: int) -> bool:
    """Return whether a place is in an index, or in the number of a step above a symbol."""
    last = len(tokens) - end
    changed = tokens[start:last]
    if any(token.script == "_" or token.canonical.startswith("#") for token in changed):
        return True
    if "^" in {token.text for token in changed}:
        return False
    low, high = start, last
    while low and tokens[low - 1].script == "^":
        low -= 1
    while high < len(tokens) and tokens[high].script == "^":
        high += 1
    inside = tokens[low:start], tokens[last:high]
    return all(inside) and any(token.canonical.startswith("#") for some in inside for token in some)


def _whole_groups(texts: Sequence[str], opens: str, closes: str) -> int:
    """Return how many of the next tokens can be shown without a group that is cut, a few at most."""
    depth, whole = 0, 0
    for at, text in enumerate(texts[: 3 * _AROUND]):
        depth += (text == opens) - (text == closes)
        if depth < 0 or (depth == 0 and at >= _AROUND and opens == "{" and text in ("_", "^")):
            break
        follows = texts[at + 1 : at + 2] in (["_"], ["^"], ["{"])
        if depth == 0 and not (opens == "{" and (follows or text in ("_", "^") or text.startswith("\\frac"))):
            whole = at + 1
        if whole > _AROUND:
            break
    return whole


def _written(texts: Sequence[str]) -> str:
    """Return tokens as LaTeX."""
    found = ""
    for text in texts:
        found += (" " if re.search(r"\\[A-Za-z]+$", found) and text[0].isalpha() else "") + text
    return found
