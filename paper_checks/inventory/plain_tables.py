"""Tables in plain text and Markdown: columns between tabs or bars, or numbers in a row between spaces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from paper_checks.inventory.document import Cell

_NUMBER = r"[+\-−–]?\$?\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?\$?(?:\s?%|[KMGTB]{1,2}\b)?"
_ENTRY = re.compile(rf"^(?:\*\*|<b>)?(?:{_NUMBER}(?:\s*(?:±|\\pm|\+/-)\s*{_NUMBER})?|[-–—x✓✗×])(?:\*\*|</b>)?$")
_BOLD = re.compile(r"\*\*|__|</?(?:b|strong)>|\\textbf|\\mathbf|\\bf\b")
_HTML = re.compile(r"</?(?:b|strong|i|em|sup|sub|br|span)\b[^>]*>")
_LONGEST = 160
"""Characters of a row whose columns only spaces divide."""


@dataclass(frozen=True)
class Block:
    """Neighbouring lines that form a table.

    Attributes:
        start: Number of the first line.
        end: Number of the line after the last.
        rows: Its cells.
        lines: Number of the line of each row.
        rules: Numbers of the rows before which a rule is drawn.
    """

    start: int
    end: int
    rows: tuple[tuple[Cell, ...], ...]
    lines: tuple[int, ...]
    rules: frozenset[int] = frozenset()


def find_blocks(lines: Sequence[str]) -> Iterator[Block]:
    """Yield the tables among the lines of a text."""
    at = floor = 0
    while at < len(lines):
        for kind in (_tabs, _bars, _spaces):
            block = kind(lines, at, floor)
            if block is not None:
                yield block
                at = floor = block.end
                break
        else:
            at += 1


def _tabs(lines: Sequence[str], start: int, floor: int) -> Block | None:
    end = start
    while end < len(lines) and lines[end].count("\t") >= 1 and lines[end].strip():
        end += 1
    if end - start < 2 or max(line.count("\t") for line in lines[start:end]) < 1:
        return None
    return _block(start, end, [lines[at].split("\t") for at in range(start, end)], list(range(start, end)))


def _bars(lines: Sequence[str], start: int, floor: int) -> Block | None:
    end = start
    while end < len(lines) and lines[end].count("|") >= 2:
        end += 1
    if end - start < 2:
        return None
    ruled = any(re.fullmatch(r"[\s|:-]*-[\s|:-]*", line) for line in lines[start:end])
    if not ruled and not all(line.lstrip().startswith("|") for line in lines[start:end]):
        return None  # bars of norms and conditional probabilities
    rows, places = [], []
    for at in range(start, end):
        cells = re.split(r"(?<!\\)\|", lines[at].strip().removeprefix("|").removesuffix("|"))
        if all(re.fullmatch(r"\s*:?-+:?\s*", cell) for cell in cells):
            continue
        rows.append(cells)
        places.append(at)
    if not any(re.search(r"\d", cell) for row in rows for cell in row):
        return None
    return _block(start, end, rows, places)


def _block(start: int, end: int, rows: list[list[str]], places: list[int]) -> Block:
    """Return a table of texts, labels that stand for several rows repeated."""
    width = max(len(row) for row in rows)
    cells = [[_cell(text) for text in row] + [Cell("")] * (width - len(row)) for row in rows]
    labels = 0
    while (
        labels < width and not any(_is_entry(row[labels].text) for row in cells[1:] if row[labels].text) and labels < 4
    ):
        labels += 1
    columns = [column for column in range(width) if any(not row[column].text for row in cells)]
    headers = _headers(cells)
    for column in columns:
        above = Cell("")
        for at, row in enumerate(cells):
            if at < headers:
                continue
            if row[column].text:
                above = row[column]
            elif column < max(labels, 2) and above.text and any(cell.text for cell in row[column + 1 :]):
                row[column] = Cell(above.text, above.bold, True)
    for row in cells[: headers - 1] if headers > 1 else cells[:headers]:  # a heading over several columns
        for column in range(1, width):
            if not row[column].text and row[column - 1].text and column >= labels:
                row[column] = Cell(row[column - 1].text, row[column - 1].bold, True)
    return Block(start, end, tuple(tuple(row) for row in cells), tuple(places))


def _headers(cells: list[list[Cell]]) -> int:
    """Return how many rows are a heading: those before the first row with as many numbers as half of the widest."""
    counts = [sum(_is_entry(cell.text) for cell in row) for row in cells]
    most = max(counts, default=0)
    return next((at for at, count in enumerate(counts) if count * 2 >= most and count), len(cells))


def _is_entry(text: str) -> bool:
    return bool(_ENTRY.match(text.strip()))


def _cell(text: str) -> Cell:
    bold = bool(_BOLD.search(text))
    text = _HTML.sub("", re.sub(r"\*\*|__", "", text)).strip()
    return Cell(text, bold)


def _spaces(lines: Sequence[str], start: int, floor: int) -> Block | None:
    """Return a table whose rows are words followed by numbers, as pages on the web give when they are copied."""
    end = start
    while end < len(lines) and _numbers(lines[end]):
        end += 1
    if end - start < 2:
        return None
    body = [lines[at].split() for at in range(start, end)]
    counts = [len(_entries(row)) for row in body]
    width = max(set(counts), key=lambda count: (counts.count(count), count))
    if width < 2 or counts.count(width) < 2:
        return None
    rows, places = [], []
    shared = _shared_words(body, width)
    for at, row in zip(range(start, end), body, strict=True):
        entries = _entries(row)
        if len(entries) < width:
            rows.append([" ".join(row[: len(row) - len(entries)]), *[""] * (width - len(entries)), *entries])
        else:
            rows.append([" ".join(row[: len(row) - width]), *row[len(row) - width :]])
        places.append(at)
    if shared:  # "setting 1 5 5": the first number belongs to the label
        rows = [[f"{row[0]} {row[1]}", *row[2:]] for row in rows]
        width -= 1
    head, first = _heading(lines, start, width, floor)
    full = [row for row in rows if len(row) == width + 1]
    return _block(
        first,
        end,
        [*head, *full],
        [
            *range(first, first + len(head)),
            *[place for place, row in zip(places, rows, strict=True) if len(row) == width + 1],
        ],
    )


def _numbers(line: str) -> bool:
    """Return whether a line looks like a row: short, no sentence, and with two numbers at its end."""
    if not line.strip() or len(line) > _LONGEST or re.search(r"[,;:.?!]\s|[.;:?]$|\\[a-z]{3}|\$|=(?!\d)", line):
        return False
    words = line.split()
    return len(_entries(words)) >= 2 and len(words) - len(_entries(words)) <= 5


def _entries(words: Sequence[str]) -> list[str]:
    """Return the entries at the end of a row."""
    at = len(words)
    while at > 0 and _is_entry(words[at - 1]):
        at -= 1
    return list(words[at:])


def _shared_words(body: list[list[str]], width: int) -> bool:
    """Return whether the first number of each row counts the rows, after one and the same word."""
    full = [row for row in body if len(_entries(row)) == width]
    words = {row[len(row) - width - 1] for row in full if len(row) > width}
    numbers = [row[len(row) - width] for row in full]
    counting = [str(number) for number in range(1, len(full) + 1)]
    return len(full) == len(body) and len(words) == 1 and all(len(row) > width for row in full) and numbers == counting


def _heading(lines: Sequence[str], start: int, width: int, floor: int) -> tuple[list[list[str]], int]:
    """Return the heading rows above numbers, and the number of the first."""
    found: list[list[str]] = []
    at = start - 1
    while (
        at >= floor
        and lines[at].strip()
        and len(lines[at]) <= _LONGEST
        and not re.search(r"[.:?!]\s|\.$", lines[at])
        and len(found) < 2
    ):
        words = lines[at].split()
        if found and len(words) > width + 1:
            break
        if len(words) == width + 1 or (not found and len(words) == width):
            row = ([""] if len(words) == width else []) + words
        elif width % max(1, len(words)) == 0 and found:
            times = width // len(words)
            row = ["", *[word for word in words for _ in range(times)]]
        elif 1 < len(words) <= width and found:
            free = width - len(words) * ((width) // len(words))
            times = (width - free) // len(words)
            row = [*[""] * (1 + free), *[word for word in words for _ in range(times)]]
        else:
            row = [" ".join(words[: len(words) - width]), *words[len(words) - width :]] if len(words) > width else []
            if not row:
                break
        found.insert(0, row)
        at -= 1
    return found, start - len(found)
