"""Tables of LaTeX as grids: booktabs, multirow, multicolumn, and marks in bold."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from pylatexenc.latexwalker import LatexEnvironmentNode, LatexGroupNode, LatexMacroNode, LatexSpecialsNode

from paper_checks.inventory.document import Cell
from paper_checks.inventory.latex_text import braced

TABULARS = (
    "tabular",
    "tabular*",
    "tabularx",
    "tabulary",
    "longtable",
    "longtable*",
    "tblr",
    "longtblr",
    "NiceTabular",
    "supertabular",
    "xltabular",
    "tabu",
)
_RULE = re.compile(
    r"\\(?:hline|midrule|toprule|bottomrule|specialrule|Xhline|hdashline|cmidrule|cline|hhline)(?![A-Za-z])"
)
_FULL_RULE = re.compile(r"\\(?:hline|midrule|specialrule|Xhline|hdashline)(?![A-Za-z])")
_RULES = re.compile(
    r"\\(?:hline|midrule|toprule|bottomrule|specialrule|Xhline|"
    r"hdashline|cmidrule|cline|hhline|addlinespace|morecmidrules|"
    r"endhead|endfirsthead|endfoot|endlastfoot|rowcolor|rowfont|arrayrulecolor)\*?(?![A-Za-z])"
    r"\s*(?:\[[^\]]*\])?(?:\([^()]*\))?\s*(?:\[[^\]]*\])?(?:\{[^{}]*\})*(?:\[[^\]]*\])?"
)
_BOLD = re.compile(r"\\(?:textbf|mathbf|boldsymbol|bm|pmb|best|first)\s*\{|\\(?:bfseries|bf|boldmath)(?![A-Za-z])")
_SPAN = re.compile(r"^\s*\\multicolumn\s*\{\s*(\d+)\s*\}\s*")
_ROWS = re.compile(r"^\s*\\(?:multirow|multirowcell|Block)\s*(?:\[[^\]]*\])?\s*\{\s*(-?\d+)\s*\}\s*")
_SIGNED = re.compile(r"[+\-−–]\s*\d|arrow|triangle")
_BIGGEST = 100
"""Rows or columns that one cell may span."""


def read_grid(
    environment: LatexEnvironmentNode, words: Callable[[str], str]
) -> tuple[list[list[Cell]], list[int], frozenset[int]]:
    """Return the cells of a table, where each row begins in the source, and before which rows a rule is drawn.

    Args:
        environment: The environment of the table.
        words: Turns LaTeX into words.
    """
    rows: list[list[Cell]] = []
    starts: list[int] = []
    rules: set[int] = set()
    waiting: dict[int, tuple[Cell, int]] = {}
    for start, cells in _raw_rows(environment):
        first = cells[0]
        if _FULL_RULE.search(first):
            rules.add(len(rows))
        cells = [_RULES.sub(" ", _RULES.sub(" ", raw)) for raw in cells]
        if not any(raw.strip() for raw in cells):
            continue
        row: list[Cell] = []
        for raw in cells:
            across, down, cell = _read(raw, words)
            if not cell.text and len(row) in waiting:
                above, left = waiting[len(row)]
                _count_down(waiting, len(row), left)
                row.append(Cell(above.text, above.bold, True))
                continue
            for number in range(across):
                if down > 1:
                    waiting[len(row)] = (cell, down - 1)
                else:
                    waiting.pop(len(row), None)
                row.append(cell if number == 0 else Cell(cell.text, cell.bold, True))
        rows.append(row)
        starts.append(start)
    _span_upwards(rows)
    width = max((len(row) for row in rows), default=0)
    return [[*row, *[Cell("")] * (width - len(row))] for row in rows], starts, frozenset(rules)


def _count_down(waiting: dict[int, tuple[Cell, int]], column: int, left: int) -> None:
    if left > 1:
        waiting[column] = (waiting[column][0], left - 1)
    else:
        del waiting[column]


def _span_upwards(rows: list[list[Cell]]) -> None:
    """Repeat cells that span rows above them, which LaTeX writes with a negative number."""
    for at, row in enumerate(rows):
        for column, cell in enumerate(row):
            found = re.match(r"\ue001(\d+)\ue001", cell.text)
            if found is None:
                continue
            plain = Cell(cell.text[found.end() :], cell.bold, cell.spans)
            row[column] = plain
            for above in rows[max(0, at - int(found[1]) + 1) : at]:
                if column < len(above) and not above[column].text:
                    above[column] = Cell(plain.text, plain.bold, True)


def _raw_rows(environment: LatexEnvironmentNode) -> list[tuple[int, list[str]]]:
    """Return the LaTeX of every cell, row by row, with the place where the row begins."""
    nodes = _without_arguments(environment)
    rows: list[tuple[int, list[str]]] = []
    cells, piece, start = list[str](), "", None
    for node in nodes:
        if start is None:
            start = node.pos
        if isinstance(node, LatexMacroNode) and node.macroname in ("\\", "tabularnewline", "cr"):
            rows.append((start, [*cells, piece]))
            cells, piece, start = [], "", None
            continue
        if isinstance(node, LatexSpecialsNode) and node.specials_chars == "&":
            cells.append(piece)
            piece = ""
            continue
        piece += node.latex_verbatim()
        if not piece.strip():
            start = None if not cells else start
    if piece.strip() or cells:
        rows.append((start if start is not None else environment.pos, [*cells, piece]))
    return rows


def _without_arguments(environment: LatexEnvironmentNode) -> Sequence[Any]:
    """Return the nodes of a table after the column specification, which the parser leaves in place for some."""
    nodes = [node for node in environment.nodelist if node is not None]
    parsed = environment.nodeargd.argnlist if environment.nodeargd is not None and environment.nodeargd.argnlist else []
    wanted = {"tabular*": 2, "tabularx": 2, "tabulary": 2, "xltabular": 2}.get(environment.environmentname, 1)
    wanted -= sum(isinstance(one, LatexGroupNode) and one.delimiters[0] == "{" for one in parsed)
    at = 0
    while wanted > 0 and at < len(nodes) and at < 12:
        node = nodes[at]
        if isinstance(node, LatexGroupNode):
            wanted -= 1
        elif node.latex_verbatim().strip() and not re.match(
            r"^\s*(?:\[.*|\\(?:text|line|column)width|[\d.]+|.*\])\s*$", node.latex_verbatim(), flags=re.S
        ):
            break
        at += 1
    return nodes[at:]


def _read(raw: str, words: Callable[[str], str]) -> tuple[int, int, Cell]:
    """Return how many columns and rows a cell spans, and the cell."""
    across, down, upwards = 1, 1, 0
    for _ in range(3):
        raw = re.sub(r"^\s*\\cellcolor\s*(?:\[[^\]]*\])?\{[^{}]*\}", "", raw)
        found = _SPAN.match(raw)
        if found:
            across = min(int(found[1][:4]), _BIGGEST)
            _, at = braced(raw, found.end()) if raw[found.end() : found.end() + 1] == "{" else ("", found.end())
            raw = _group_at(raw, at)
            continue
        found = _ROWS.match(raw)
        if not found:
            break
        number = int(found[1][:5])
        down, upwards = (min(number, _BIGGEST), 0) if number > 0 else (1, min(-number, _BIGGEST))
        at = found.end()
        optional = re.compile(r"(?:\[[^\]]*\]\s*)?").match(raw, at)
        at = optional.end() if optional else at
        if raw[at : at + 1] == "{":
            _, at = braced(raw, at)
        else:
            at += raw[at : at + 1] == "*"
        optional = re.compile(r"\s*(?:\[[^\]]*\]\s*)?").match(raw, at)
        raw = _group_at(raw, optional.end() if optional else at)
    if _SIGNED.search(raw):  # else +3.1 in smaller letters would run into the number before it
        raw = re.sub(r"(?<=\d)(?=\\[A-Za-z]|\{\s*\\)", " ", raw)
    mark = f"\ue001{upwards}\ue001" if upwards > 1 else ""
    return across, down, Cell(mark + words(raw), _is_bold(raw))


def _group_at(raw: str, at: int) -> str:
    """Return the group that begins after spaces, with what follows it."""
    while raw[at : at + 1].isspace():
        at += 1
    if raw[at : at + 1] != "{":
        return raw[at:]
    inner, end = braced(raw, at)
    return inner + raw[end:]


def _is_bold(raw: str) -> bool:
    """Return whether the number of a cell, or all of a cell without a number, is bold."""
    for found in _BOLD.finditer(raw):
        inner = braced(raw, found.end() - 1)[0] if raw[found.end() - 1] == "{" else raw[found.end() :]
        if re.search(r"\d", inner) or not re.search(r"\d", raw):
            return True
    return False
