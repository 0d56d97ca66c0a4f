"""Small texts and tables of invented papers, for records of the inventory."""

from paper_checks.inventory.document import Cell, Display, Document, Item, Paragraph, Place, Table
from paper_checks.inventory.latex import read_latex
from paper_checks.inventory.plain import read_plain
from paper_checks.inventory.source import Source

HEAD = r"""\documentclass{article}
\newtheorem{theorem}{Theorem}[section]
\newtheorem{lemma}[theorem]{Lemma}
\newtheorem{assumption}{Assumption}
\begin{document}
"""


def table(text, number="1", caption="", first=1):
    """Return a table of a text: cells between bars, `*` before what is bold, `---` for a rule above the next row."""
    rows, places, rules = [], [], set()
    for line in text.strip().splitlines():
        if line.strip() == "---":
            rules.add(len(rows))
            continue
        cells = [cell.strip() for cell in line.split("|")]
        rows.append(tuple(Cell(cell.lstrip("*"), cell.startswith("*")) for cell in cells))
        places.append(Place("t.tex", first + len(rows)))
    return Table(number, caption, tuple(rows), tuple(places), frozenset(rules))


def changed(text, old, *news):
    """Yield a text with a part replaced by each of others."""
    assert text.count(old) == 1, (old, text.count(old))
    for new in news:
        yield text.replace(old, new)


def document(*tables, text=(), items=(), displays=(), **rest):
    """Return a document of tables, paragraphs, items and displays."""
    paragraphs = tuple(Paragraph(words, Place("p.tex", 10 * at + 1), "2") for at, words in enumerate(text, 1))
    return Document("paper", items=tuple(items), tables=tables, paragraphs=paragraphs, displays=tuple(displays), **rest)


def item(kind, number, text, proof="", line=5, **rest):
    """Return an item at a line."""
    return Item(kind, number, Place("i.tex", line), **({"section": "3", "text": text, "proof": proof} | rest))


def display(*rows, name="a formula", about="", proves="", line=7):
    """Return a display whose rows are in neighbouring lines."""
    return Display(tuple((row, Place("d.tex", line + at)) for at, row in enumerate(rows)), name, about, proves)


def said(check, *documents):
    """Return what a check finds in each document, with the length of what it says, in which digits count."""
    return [
        [f"{one.check} {one.place} {one.about}", one.says, len(one.says), list(one.values)]
        for doc in documents
        for one in check(doc)
    ]


def latex(body, head=HEAD):
    """Return the document of a LaTeX body."""
    lines = tuple(f"{head}{body}\n\\end{{document}}".splitlines())
    return read_latex(
        Source("paper.tex", lines, tuple(Place("paper.tex", at) for at in range(1, len(lines) + 1)), True)
    )


def plain(text):
    """Return the document of a text."""
    lines = tuple(text.splitlines())
    return read_plain(Source("paper.md", lines, tuple(Place("paper.md", at) for at in range(1, len(lines) + 1)), False))
