"""A paper as read: its numbered items, its tables, its sentences, and where each is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

Kind = Literal[
    "theorem",
    "lemma",
    "proposition",
    "corollary",
    "definition",
    "assumption",
    "conjecture",
    "remark",
    "example",
    "equation",
    "table",
    "figure",
    "algorithm",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
FLOATS: tuple[Kind, ...] = ("table", "figure", "algorithm")
STATEMENTS: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind not in ("equation", *FLOATS))
ALIASES: dict[str, Kind] = {
    "thm": "theorem",
    "lem": "lemma",
    "prop": "proposition",
    "cor": "corollary",
    "coro": "corollary",
    "defn": "definition",
    "dfn": "definition",
    "def": "definition",
    "assum": "assumption",
    "assump": "assumption",
    "asmp": "assumption",
    "asm": "assumption",
    "ass": "assumption",
    "hypothesis": "assumption",
    "condition": "assumption",
    "conj": "conjecture",
    "rem": "remark",
    "rmk": "remark",
    "ex": "example",
    "exmp": "example",
    "eq": "equation",
    "eqs": "equation",
    "eqn": "equation",
    "tab": "table",
    "tbl": "table",
    "fig": "figure",
    "figs": "figure",
    "alg": "algorithm",
    "algo": "algorithm",
    "fact": "lemma",
    "claim": "lemma",
    "observation": "remark",
}
"""Other names of a kind, as in labels, environments and running text."""


def kind_called(word: str) -> Kind | None:
    """Return the kind that a word names, alone, in the plural or shortened; None if it names none.

    >>> kind_called("Lemmas"), kind_called("thm."), kind_called("Corollaries"), kind_called("Section")
    ('lemma', 'theorem', 'corollary', None)
    """
    word = word.lower().rstrip(".")
    for form in (word, word.removesuffix("s"), re.sub("ies$", "y", word)):
        if form in KINDS:
            return form
        if form in ALIASES:
            return ALIASES[form]
    return "lemma" if word == "lemmata" else None


@dataclass(frozen=True)
class Place:
    """A line of a file of the source."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Reference:
    """A mention of a numbered item, or of a label.

    Attributes:
        kind: Kind of the item, where the text says it.
        number: Printed number; empty if the label has none.
        place: Where it is.
        text: How it is written.
        label: The label, in LaTeX.
        resolved: Whether the label exists.
    """

    kind: Kind | None
    number: str
    place: Place
    text: str
    label: str = ""
    resolved: bool = True


@dataclass(frozen=True)
class Item:
    """A numbered statement, equation, table, figure or algorithm.

    Attributes:
        kind: Kind of the item.
        number: As printed, such as ``A.3``; empty if it has none.
        place: Where it begins.
        section: Number or title of its section.
        title: Title in parentheses after the number, or the caption.
        text: Its statement, formulas between dollar signs.
        label: Its label in LaTeX.
        proof: Text of its proof, empty if none was found.
        refers: Items that the statement refers to.
        proof_refers: Items that its proof refers to.
        inside: Kind and number of the statement that contains it, for an equation.
        called: Word before the number, if it is not the kind.
    """

    kind: Kind
    number: str
    place: Place
    section: str = ""
    title: str = ""
    text: str = ""
    label: str = ""
    proof: str = ""
    refers: tuple[Reference, ...] = ()
    proof_refers: tuple[Reference, ...] = ()
    inside: tuple[Kind, str] | None = None
    called: str = ""

    @property
    def name(self) -> str:
        """Kind and number, as a text would call it."""
        if self.kind == "equation":
            return f"Equation ({self.number})"
        return f"{self.called or self.kind.capitalize()} {self.number}".rstrip()


@dataclass(frozen=True)
class Cell:
    """An entry of a table.

    Attributes:
        text: Printed text.
        bold: Whether it is marked.
        spans: Whether it is repeated from a cell that spans several columns or rows.
    """

    text: str
    bold: bool = False
    spans: bool = False


Row = tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """A table as a grid, cells that span several places repeated in each.

    Attributes:
        number: As printed; empty if it has none.
        caption: Its caption.
        rows: Rows of cells, of one length.
        places: Where each row is.
        rules: Numbers of the rows before which a rule is drawn.
    """

    number: str
    caption: str
    rows: tuple[Row, ...]
    places: tuple[Place, ...]
    rules: frozenset[int] = frozenset()

    @property
    def name(self) -> str:
        """How a text would call it."""
        return f"Table {self.number}" if self.number else f"the table at {self.places[0]}"


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of running text, with its formulas between dollar signs."""

    text: str
    place: Place
    section: str = ""

    def sentences(self) -> Iterator[str]:
        """Yield its sentences."""
        start = 0
        for end in re.finditer(r"(?<=[.!?])[)\]”\"']?\s+(?=[A-Z(“\"$\\])", self.text):
            before = self.text[start : end.start()]
            if re.search(
                r"\b(?:e\.g|i\.e|cf|vs|resp|et al|Figs?|Eqs?|Tabs?|Secs?|Thms?|Lems?|Props?|No|w\.r\.t)\.$", before
            ):
                continue
            if before.count("$") % 2:
                continue
            yield before.strip()
            start = end.end()
        if self.text[start:].strip():
            yield self.text[start:].strip()


@dataclass(frozen=True)
class Display:
    """A displayed formula.

    Attributes:
        rows: Its rows, each with its place.
        name: How a text would call it.
        about: Name of the item that it is or that it belongs to, as a line of a proof; empty if there is none.
        proves: Name of the statement in whose proof it is; empty if it is in none.
    """

    rows: tuple[tuple[str, Place], ...]
    name: str
    about: str = ""
    proves: str = ""


@dataclass(frozen=True)
class Document:
    """Everything that was read of a paper.

    Attributes:
        source: Name of the source.
        title: Its title.
        abstract: Its abstract.
        items: Numbered items in their order.
        tables: Tables in their order.
        paragraphs: Running text, captions included.
        references: All mentions of items in the text.
        notes: Parts that could not be read, one line each.
        latex: Whether the source is LaTeX, so labels and marks are known for certain.
        displays: Displayed formulas of LaTeX in their order.
        twice: Where the labels are that are defined more than once.
    """

    source: str
    title: str = ""
    abstract: str = ""
    items: tuple[Item, ...] = ()
    tables: tuple[Table, ...] = ()
    paragraphs: tuple[Paragraph, ...] = ()
    references: tuple[Reference, ...] = ()
    notes: tuple[str, ...] = ()
    latex: bool = False
    displays: tuple[Display, ...] = ()
    twice: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)

    def item(self, kind: Kind, number: str) -> Item | None:
        """Return the item of a kind and number; None if there is none."""
        return next((one for one in self.items if one.kind == kind and one.number == number), None)


@dataclass(frozen=True)
class Candidate:
    """Something that a mechanical check found, to look at.

    Attributes:
        check: Name of the check.
        place: Where it is.
        about: The item that it is about.
        says: Sentence with the numbers that disagree.
    """

    check: str
    place: Place
    about: str
    says: str
    values: tuple[str, ...] = field(default=())
