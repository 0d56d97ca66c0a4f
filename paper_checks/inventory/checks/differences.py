"""Differences, ratios and percentages of tables against the columns or rows that they compare."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import permutations

from paper_checks.inventory.checks.grid import Segment, distance, segments, shown
from paper_checks.inventory.checks.numbers import Number, clean, comparable
from paper_checks.inventory.document import Candidate, Document
from paper_checks.methods.rounded import Rounded

_NAMED = re.compile(
    r"Δ|\\Delta|\bdiff|\bgain|\bimprov|\bchange|\bdrop\b|\bratio\b|\brel\b|"
    r"\brelative|\bspeed-?up|\breduction|\bincrease|\bdecrease|"
    r"\bpercent|\bshare\b|\bfraction\b|\bgap\b|\bloss of\b|^%$|\bsavings?\b",
    re.I,
)
_ONE, _HUNDRED = Rounded.exact(1), Rounded.exact(100)
_FORMULAS: dict[str, Callable[[Rounded, Rounded], Rounded]] = {
    "a - b": lambda a, b: a - b,
    "(a - b) / b": lambda a, b: a / b - _ONE,
    "100 (a - b) / b": lambda a, b: (a / b - _ONE) * _HUNDRED,
    "(a - b) / a": lambda a, b: _ONE - b / a,
    "100 (a - b) / a": lambda a, b: (_ONE - b / a) * _HUNDRED,
    "a / b": lambda a, b: a / b,
    "100 a / b": lambda a, b: a / b * _HUNDRED,
}
_PLAIN = ("a - b", "a / b")
"""Formulas that are tried for columns whose name says nothing."""
_MOST_COLUMNS = 12
_DEFINED = re.compile(
    r"\\[dt]?frac\s*\{\s*(?:\\(?:text|mathrm|mathit|operatorname)\s*\{)?\s*(?P<a>[A-Za-z][\w ]*?)\}?\s*-\s*"
    r"(?:\\(?:text|mathrm|mathit|operatorname)\s*\{)?\s*(?P<b>[A-Za-z][\w ]*?)\s*\}?\s*\}\s*\{\s*"
    r"(?:\\(?:text|mathrm|mathit|operatorname)\s*\{)?\s*(?P<c>[A-Za-z][\w ]*?)\s*\}?\s*\}"
)


def differences(document: Document) -> Iterator[Candidate]:
    """Yield differences, ratios and percentages that do not follow from the entries that they compare."""
    definitions = [found for paragraph in document.paragraphs for found in _DEFINED.finditer(paragraph.text)]
    for table in document.tables:
        for part in segments(table):
            for turned in (part, part.turn()):
                for column in range(turned.labels, turned.width):
                    named = bool(_NAMED.search(clean(turned.name(column))))
                    yield from _check_column(turned, column, definitions, named)


def _check_column(part: Segment, column: int, definitions: list[re.Match[str]], named: bool) -> Iterator[Candidate]:
    """Yield the entries of a column that differ from what two others give in most rows.

    A column whose name does not say that it compares, such as a Sharpe ratio, needs one row against all others.
    """
    rows = [row for row, numbers in enumerate(part.numbers) if numbers[column] is not None]
    if len(rows) < 3 or len({_number(part, row, column).text for row in rows}) < 3:
        return
    unsigned = all(_number(part, row, column).value >= 0 for row in rows)
    others = [
        at
        for at in range(part.labels, part.width)
        if at != column and part.column_is_numeric(at) and not _NAMED.search(clean(part.name(at)))
    ]
    if not named:  # otherwise each of the three columns could be the wrong one
        others = [at for at in others if at < column]
    others.sort(key=lambda at: abs(at - column))
    best: tuple[int, str, int, int, list[tuple[int, Rounded]]] | None = None
    for a, b in permutations(others[:_MOST_COLUMNS], 2):
        for formula, compute in _FORMULAS.items():
            if not named and formula not in _PLAIN:
                continue
            found = []
            for row in rows:
                left, right = part.numbers[row][a], part.numbers[row][b]
                if left is None or right is None or not _fits(_number(part, row, column), left, right, formula):
                    continue
                try:
                    value = compute(left.range, right.range)
                except ZeroDivisionError:
                    continue
                found.append((row, _positive(value) if unsigned else value))
            agree = sum(distance(_number(part, row, column).range, value) <= 0 for row, value in found)
            if found and (best is None or agree > best[0]):
                best = agree, formula, a, b, found
    if best is None:
        return
    agree, formula, a, b, found = best
    few = agree == 2 and len(found) == 3
    if not named and (few or agree != len(found) - 1):
        return
    if not (agree >= 3 or few) or agree * 5 < len(found) * 3:
        return
    if not _is_sharp(part, column, found, 50 if few else 4 if named else 8):
        return
    words = formula.replace("a", _name(part, a)).replace("b", _name(part, b)) if len(formula) < 4 else formula
    where = f"a = {_name(part, a)}, b = {_name(part, b)}"
    for row, value in found:
        printed = _number(part, row, column)
        if distance(printed.range, value) > 0:
            says = (
                f"prints {printed.printed}, but {words} gives "
                f"{shown(value, printed)} ({where}; {agree} of {len(found)} "
                f"agree)"
            )
            yield Candidate(
                "difference",
                part.place(row),
                part.table.name,
                f"{part.row_name(row)}, {_name(part, column)}: {says}",
                (printed.text, shown(value, printed)),
            )
    yield from _against_definition(part, column, formula, a, b, definitions)


def _against_definition(
    part: Segment, column: int, formula: str, a: int, b: int, definitions: list[re.Match[str]]
) -> Iterator[Candidate]:
    """Yield a printed definition of a relative difference that the column does not follow."""
    if formula.removeprefix("100 ") not in ("(a - b) / a", "(a - b) / b"):
        return
    for found in definitions:
        first, second, below = (found[key].strip().lower() for key in ("a", "b", "c"))
        names_a, names_b = ({name.lower() for name in part.names[at]} for at in (a, b))
        if first in names_a and second in names_b and below in (first, second):
            used = first if formula.endswith("/ a") else second
            if used != below:
                says = (
                    f"{_name(part, column)} is defined as ({found['a']} - {found['b']}) / {found['c']}, "
                    f"but its entries are relative to {found['a'] if used == first else found['b']}"
                )
                yield Candidate("difference", part.table.places[0], part.table.name, says)
                return


def _number(part: Segment, row: int, column: int) -> Number:
    number = part.numbers[row][column]
    assert number is not None
    return number


def _name(part: Segment, column: int) -> str:
    return " ".join(dict.fromkeys(filter(None, (clean(name) for name in part.names[column])))) or f"column {column + 1}"


def _fits(printed: Number, left: Number, right: Number, formula: str) -> bool:
    """Return whether the units of two numbers, and of what is computed from them, go together."""
    return comparable((left, right, printed)) if formula == "a - b" else comparable((left, right)) and printed.size == 1


def _positive(value: Rounded) -> Rounded:
    """Return the absolute value, for columns that print no signs."""
    if value.high < 0:
        return Rounded(-value.high, -value.low)
    return value


def _is_sharp(part: Segment, column: int, found: list[tuple[int, Rounded]], times: int) -> bool:
    """Return whether rounding leaves so little open that agreement cannot be an accident.

    Args:
        part: The columns.
        column: The column that is checked.
        found: Values from other columns, by row.
        times: How many times narrower than the column's spread the widest interval must be.
    """
    values = [_number(part, row, column).value for row, _ in found]
    spread = max(values) - min(values)
    open_width = max(value.high - value.low for _, value in found)
    return spread > 0 and open_width * times < spread
