"""Names of statements as people write them: Theorem 2 of FeDLRT, thm 2, Prop. 3.1, eq. (21), and ids.

Every command that takes an id finds statements through ``Names.find``. The report gives each card the names that are
made here, and its filter reads queries by the same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

KINDS: Mapping[str, tuple[str, ...]] = {
    "thm": ("theorems", "theorem", "thms", "thm"),
    "lem": ("lemmata", "lemmas", "lemma", "lems", "lem"),
    "prop": ("propositions", "proposition", "props", "prop"),
    "cor": ("corollaries", "corollary", "cors", "cor"),
    "eq": ("equations", "equation", "eqns", "eqn", "eqs", "eq"),
    "tab": ("tables", "table", "tabs", "tab"),
    "fig": ("figures", "figure", "figs", "fig"),
    "asm": ("assumptions", "assumption", "assumps", "assump", "asms", "asm"),
    "def": ("definitions", "definition", "defs", "def"),
    "alg": ("algorithms", "algorithm", "algs", "alg"),
    "sec": ("sections", "section", "secs", "sec", "appendices", "appendix", "app", "§"),
}
"""Words for each kind of numbered thing, the longer ones first."""
NEAREST = 4
"""Number of ids that are proposed if nothing matches."""
Number = tuple[str, ...]

_OF = {word: kind for kind, words in KINDS.items() for word in words}
_WORDS = "|".join(sorted(map(re.escape, _OF), key=len, reverse=True))
_NUMBER = r"\(?(?:[a-z][\s._-]?)?\d+(?:[._-]\d+)*(?:[a-z]|\s?\([a-z]\)|\s[a-z]\))?(?![a-z0-9])\)?"
_LETTER = r"[a-z](?![a-z0-9])"
_AND = r"\s*(?:,\s*(?:and\s+)?|and\s+|&\s*|to\s+|[-–]\s*)"
_GAP = r"[\s._\-–/:#()]*"
_ASKED = re.compile(rf"(?<![a-z])({_WORDS}){_GAP}((?:{_NUMBER})(?:{_AND}{_NUMBER})*|{_LETTER})?")
_BARE = re.compile(rf"\((?:{_NUMBER})\)")
_PLACES = "|".join(word for word in sorted(_OF, key=len, reverse=True) if len(word) > 3 or word == "eqs") + r"|eq"
_TOLD = re.compile(
    rf"(?<![a-z])(?<!after )(?<!before )(?<!see )(?<!against )({_PLACES})\.?\s+"
    rf"((?:{_NUMBER}|{_LETTER})(?:{_AND}(?:{_NUMBER}|{_LETTER}))*)"
)
_LABEL = re.compile(rf"({_WORDS})-((?:[a-z]\.?)?\d+(?:\.\d+)*[a-z]?)(?:-(\d+)(?![\w.]))?(?:-(.+))?$")
FILLERS = frozenset({"of", "the", "in", "from", "paper", "version", "and", "by"})
"""Words of a name that say nothing."""
_NONE = 9


class Statement(Protocol):
    """A claim, or an entry with the same names."""

    @property
    def id(self) -> str:
        """Its id, ``paper/label``."""

    @property
    def also(self) -> tuple[str, ...]:
        """Further ids of the same statement."""

    @property
    def where(self) -> str:
        """The place in the paper."""


S = TypeVar("S", bound=Statement)


@dataclass(frozen=True)
class Spoken:
    """A name that was understood.

    Attributes:
        papers: papers or versions it may mean; all of them where it names none.
        kind: the kind of thing, by its key in ``KINDS``; empty where it names a paper only.
        numbers: its numbers; none where it means all things of the kind.
        words: further words, which are looked for in labels.
    """

    papers: frozenset[str]
    kind: str
    numbers: tuple[Number, ...]
    words: frozenset[str]


@dataclass(frozen=True)
class Designation:
    """One name of a statement.

    Attributes:
        paper: the paper or version that uses it.
        kind: the kind of thing.
        number: its number.
        rest: words of the label after the number, such as those of ``thm-6-proof``.
        label: whether it comes from an id, not from where the statement is printed.
    """

    paper: str
    kind: str
    number: Number
    rest: tuple[str, ...] = ()
    label: bool = True


def owner(version: str, papers: Iterable[str]) -> str | None:
    """Return the paper that a version is of: the longest name that it is, or with which and a hyphen it begins.

    Args:
        version: what ids begin with, such as ``fedloru-v2``.
        papers: names of papers.

    >>> owner("fedloru-v2", ["fedloru", "fedlrt"]), owner("my-paper", ["my", "my-paper"]), owner("mine", ["my"])
    ('fedloru', 'my-paper', None)
    """
    return max((name for name in papers if f"{version}-".startswith(f"{name}-")), key=len, default=None)


@dataclass(frozen=True)
class Names(Generic[S]):
    """Names of the statements of a ledger.

    Attributes:
        statements: the statements, in their order.
        papers: names of methods such as ``FeDLRT``, by the names of their papers.
    """

    statements: Sequence[S]
    papers: Mapping[str, str]

    def find(self, asked: str) -> list[S]:
        """Return the statements that an id, a prefix of ids or a usual name means, in their order; none if none fits.

        An id is taken as it is, then the name of a paper, then a prefix, then a usual name. A prefix never ends within
        a number: ``paper/eq-2`` does not mean ``paper/eq-21``. The name of a paper means its own statements only, also
        where the name of another paper begins so.
        """
        found = [one for one in self.statements if asked in (one.id, *one.also)]
        if found or not asked:
            return found
        found = [one for one in self.statements if owner(one.id.partition("/")[0], self.papers) == asked]
        if found:
            return found
        begun = [one for one in self.statements if one.id.startswith(asked)]
        found = [one for one in begun if not _splits_number(asked, one.id)]
        if found:
            return found
        written = _tokens(asked)
        found = [one for one in self.statements if any(_tokens(id) == written for id in (one.id, *one.also))]
        if found:
            return found
        spoken = self.understood(asked)
        return begun if spoken is None else self._find_called(spoken)

    def is_exact(self, asked: str) -> bool:
        """Return whether a text is an id, or the beginning of some."""
        return any(asked in (one.id, *one.also) or one.id.startswith(asked) for one in self.statements)

    def nearest(self, asked: str) -> list[str]:
        """Return the ids that come closest to a name or an id that means nothing; none if none is close."""
        text = asked.lower().strip()
        if re.fullmatch(_NUMBER, text):
            return self._nearest_ids(Spoken(self.known, "", (_number(text),), frozenset()))
        spoken = None if is_id(asked) else self.understood(asked)
        if spoken is not None and spoken.numbers:
            return self._nearest_ids(spoken)
        return get_close_matches(asked, [one.id for one in self.statements], n=3, cutoff=0.5)

    def understood(self, asked: str) -> Spoken | None:
        """Return the parts of a usual name; None if it is none."""
        text, meant = self._paper(asked.lower().replace("–", "-"))
        match, kind, numbers = _ASKED.search(text), "", tuple[Number, ...]()
        if match:
            kind, numbers = _OF[match.group(1)], _numbers(match.group(2) or "")
        elif match := _BARE.search(text):
            kind, numbers = "eq", _numbers(match.group(0))
        if match:
            text = f"{text[: match.start()]} {text[match.end() :]}"
        words = frozenset(re.findall(r"[^\W_]+", text)) - FILLERS
        if any(sign.isdigit() for word in words for sign in word) or not (kind or meant) or (words and not kind):
            return None
        return Spoken(meant or self.known, kind, numbers, words)

    def subject(self, asked: str) -> tuple[frozenset[str], frozenset[str]]:
        """Return the papers and versions that a text may mean, and its further words."""
        text, meant = self._paper(asked.lower())
        return meant or self.known, frozenset(re.findall(r"[^\W\d_]+", text)) - FILLERS

    @property
    def vocabulary(self) -> dict[str, Any]:
        """The words of names, for a page that reads them: kinds, words that say nothing, names of papers, versions."""
        return {
            "kinds": _OF,
            "fillers": sorted(FILLERS),
            "papers": {name: sorted({*filter(None, (name, called))}) for name, called in self.papers.items()},
            "known": sorted(self.known),
        }

    def as_rows(self, id: str) -> list[list[Any]]:
        """Return the names of a statement for a page: paper, kind, number, further words, whether from an id."""
        return [
            [one.paper, one.kind, list(one.number), list(one.rest), int(one.label)] for one in self.designations[id]
        ]

    @cached_property
    def known(self) -> frozenset[str]:
        """Papers and versions that have statements."""
        return frozenset(id.partition("/")[0] for one in self.statements for id in (one.id, *one.also))

    @cached_property
    def designations(self) -> Mapping[str, tuple[Designation, ...]]:
        """All names of each statement by its id, those of its ids first."""
        return {
            one.id: (*_of_ids((one.id, *one.also)), *self._of_place(one.id.partition("/")[0], one.where))
            for one in self.statements
        }

    def _of_place(self, paper: str, where: str) -> Iterator[Designation]:
        """Return the names in the words on the place, each of the versions that these words name with it."""
        family = next((name for name in self.papers if paper.startswith(f"{name}-")), "")
        suffixes = {one.removeprefix(f"{family}-") for one in self.known if family and one.startswith(f"{family}-")}
        version = re.compile(rf"\b({'|'.join(map(re.escape, suffixes)) or '(?!)'})\b")
        for part in re.split(r";|(?<=\)),? |(?<=\)) = ", re.sub(r"\b(?:see|judged in) .*", "", where.lower())):
            named = [f"{family}-{suffix}" for suffix in dict.fromkeys(version.findall(part))] or [paper]
            for match in _TOLD.finditer(part):
                for number in _numbers(match.group(2), ranges=True):
                    yield from (Designation(one, _OF[match.group(1)], number, label=False) for one in named)

    def _paper(self, text: str) -> tuple[str, frozenset[str]]:
        """Return a text without the paper and version that it names, and the papers it means; none if it names none.

        Signs between the letters of a name do not matter.
        """
        meant = frozenset[str]()
        spellings = {spelling: name for name, called in self.papers.items() for spelling in (called, name) if spelling}
        for spelling in sorted(spellings, key=len, reverse=True):
            letters = r"[\s._-]*".join(map(re.escape, re.sub(r"[\W_]", "", spelling.lower())))
            match = re.search(rf"(?<![a-z0-9]){letters}(?![a-z0-9])", text)
            if match:
                short = spellings[spelling]
                meant = frozenset(one for one in self.known if one == short or one.startswith(f"{short}-"))
                text = f"{text[: match.start()]} {text[match.end() :]}"
                break
        for version in sorted({one.rpartition("-")[2] for one in meant or self.known if "-" in one}):
            letters = re.sub(r"^v(?=\d)", r"v(?:ersion)?[\\s._-]*", re.escape(version))
            match = re.search(rf"(?<![a-z0-9]){letters}(?![a-z0-9])", text)
            if match:
                meant = frozenset(one for one in meant or self.known if one.endswith(f"-{version}"))
                return f"{text[: match.start()]} {text[match.end() :]}", meant
        return text, meant

    def _find_called(self, spoken: Spoken) -> list[S]:
        """Return the statements that a name means: in each paper those called so, or else those printed there."""
        kept: set[str] = set()
        for paper in spoken.papers:
            for number in spoken.numbers or ((),):
                ranks = {one.id: self._rank(one.id, paper, number, spoken) for one in self.statements}
                best = min(ranks.values(), default=_NONE)
                kept.update(id for id, rank in ranks.items() if rank == best < _NONE)
        return [one for one in self.statements if one.id in kept]

    def _rank(self, id: str, paper: str, number: Number, spoken: Spoken) -> int:
        """Return how well a statement fits a name in one paper: 0 is best, 9 does not fit."""
        if not spoken.kind:
            return 0 if id.partition("/")[0] == paper else _NONE
        fitting = (
            one
            for one in self.designations[id]
            if (one.paper, one.kind) == (paper, spoken.kind) and spoken.words <= {*one.rest}
        )
        return min((_fit(one, number, spoken) for one in fitting), default=_NONE)

    def _nearest_ids(self, spoken: Spoken) -> list[str]:
        """Return ids with the number that was asked for, then of the same kind with the nearest numbers."""
        (asked, *_), told = spoken.numbers, dict[str, tuple[int, ...]]()
        for id, names in self.designations.items():
            for one in names:
                if one.paper not in spoken.papers or not (one.label and one.number):
                    continue
                differ, by = _distance(one.number, asked)
                other = one.kind != spoken.kind
                if not other or not differ:
                    key = (differ > 0, other, differ, by, bool(one.rest))
                    told[id] = min(told.get(id, key), key)
        near = sorted(told, key=lambda id: told[id])
        exact = [id for id in near if told[id][:2] == (False, False)]
        return (exact or near)[:NEAREST]


def is_id(asked: str) -> bool:
    """Return whether a text is written like an id or the beginning of one.

    >>> is_id("fedlrt/thm-2"), is_id("Theorem 2 of FeDLRT"), is_id("thm-2")
    (True, False, False)
    """
    return re.fullmatch(r"[a-z0-9-]+/[A-Za-z0-9.-]*", asked) is not None


def _fit(one: Designation, number: Number, spoken: Spoken) -> int:
    """Return how well a designation of the right kind fits a number."""
    if spoken.kind == "sec":
        return 0 if number and one.number[: len(number)] == number else _NONE
    if not spoken.numbers:
        return 0 if one.label else _NONE
    part = bool(one.rest) and not spoken.words  # such as the proof of what was asked for
    if one.number == number:
        return (3 if part else 0) if one.label else 2
    if one.label and one.number[:-1] == number and one.number[-1].isalpha():
        return 3 if part else 1
    return _NONE


def _of_ids(ids: Sequence[str]) -> Iterator[Designation]:
    for id in ids:
        paper, _, label = id.lower().partition("/")
        match = _LABEL.match(label)
        if match:
            kind, first, last, rest = match.groups()
            words = tuple(re.findall(r"[^\W_]+", rest or ""))
            for number in filter(None, (first, last, f"{first}-{last}" if last else "")):
                yield Designation(paper, _OF[kind], _number(number), words)
        elif word := re.match(rf"({_WORDS})-(.+)", label):
            yield Designation(paper, _OF[word.group(1)], (), tuple(re.findall(r"[^\W_]+", word.group(2))))


def _numbers(text: str, ranges: bool = False) -> tuple[Number, ...]:
    """Return the numbers of a list such as ``(30) and (31)``, and with ``ranges`` those within ``(21) to (25)``."""
    found: list[Number] = []
    parts = re.split(r"(\s*,\s*(?:and\s+)?|\s*and\s+|\s*&\s*|\s+to\s+)", text)
    for place in range(0, len(parts), 2):
        number = _number(parts[place])
        before = found[-1] if found else ()
        if place and parts[place - 1].strip() == "to" and not ranges and found:
            found[-1] = before + number
        elif place and parts[place - 1].strip() == "to" and before and before[:-1] == number[:-1]:
            steps = range(int(before[-1]) + 1, int(number[-1]) + 1) if number[-1].isdigit() else ()
            found += [(*number[:-1], str(step)) for step in steps]
        elif number:
            found.append(number)
    return tuple(found)


def _number(text: str) -> Number:
    """Return the letters and integers of a number.

    >>> _number("A.10"), _number("(21)"), _number("2(b)")
    (('a', '10'), ('21',), ('2', 'b'))
    """
    return tuple(str(int(part)) if part.isdigit() else part for part in re.findall(r"\d+|[a-z]", text.lower()))


def _tokens(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[^\W\d_]+|\d+", text.lower()))


def _splits_number(prefix: str, id: str) -> bool:
    return prefix[-1].isdigit() and id[len(prefix) : len(prefix) + 1].isdigit()


def _distance(number: Number, other: Number) -> tuple[int, int]:
    """Return in how many parts two numbers differ, and by how much in the first of them."""
    same = next((i for i, pair in enumerate(zip(number, other, strict=False)) if pair[0] != pair[1]), None)
    if same is None:
        return abs(len(number) - len(other)), 0
    a, b = number[same], other[same]
    return max(len(number), len(other)) - same, abs(int(a) - int(b)) if a.isdigit() and b.isdigit() else 10**6
