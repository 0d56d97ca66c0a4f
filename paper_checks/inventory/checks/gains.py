"""Gains that a table prints next to its entries, such as 46.99 (+4.21), against the entries that they are gains over.

A table rarely says what its gains are relative to. Each plausible base is tried, for differences and for percentages,
and the base that explains most gains of the table is taken.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from paper_checks.inventory.checks.grid import Segment, distance, segments
from paper_checks.inventory.checks.numbers import Number, clean, comparable
from paper_checks.inventory.document import Candidate, Document, Table
from paper_checks.methods.rounded import Rounded

_ONE, _HUNDRED = Rounded.exact(1), Rounded.exact(100)
_FORMULAS: dict[str, Callable[[Rounded, Rounded], Rounded]] = {
    "difference": lambda value, base: value - base,
    "percentage": lambda value, base: (value / base - _ONE) * _HUNDRED,
}
_BASELINE = re.compile(
    r"\b(?:base(?:line)?s?|vanilla|original|standard|plain|default|backbone|reference|none)\b|^\s*(?:-|–|—|w/o)\s*$",
    re.I,
)
_PART = re.compile(r"\\?[^\s,()\[\]+/&:;–—-]+")
_FEWEST = 3
"""Gains that a base must explain."""
_MOST_ROWS, _MOST_GAINS = 30, 400
"""Rows that are each tried as the base of all gains, and gains of a table that are checked."""


@dataclass(frozen=True)
class _Base:
    """An entry that a gain may be over.

    Attributes:
        rule: How it is found from the place of the gain.
        number: The entry.
        name: Name of its row or column.
    """

    rule: tuple[str, str]
    number: Number
    name: str


@dataclass(frozen=True)
class _Gain:
    """An entry with a gain.

    Attributes:
        part: The part of the table that it is in.
        row: Its row in this part.
        column: Its column.
        number: The entry.
        value: The gain, with its sign.
        bases: Entries that it may be over, by rule.
    """

    part: Segment
    row: int
    column: int
    number: Number
    value: Rounded
    bases: Mapping[tuple[str, str], _Base]


@dataclass(frozen=True)
class _Reading:
    """One way to read all gains of a table.

    Attributes:
        rule: How the base of a gain is found.
        formula: Name of the formula of an entry and its base.
        found: Value of this formula for each gain that has such a base, by its place among the gains.
        agree: Places of the gains that are what is printed.
    """

    rule: tuple[str, str]
    formula: str
    found: Mapping[int, Rounded]
    agree: frozenset[int]


def gains(document: Document) -> Iterator[Candidate]:
    """Yield gains in the cells of a table that the base of its other gains does not explain."""
    for table in document.tables:
        found = list(_gains(table))[:_MOST_GAINS]
        for percent in (False, True):
            some = [gain for gain in found if gain.number.gain.endswith("%") == percent]
            if len(some) >= _FEWEST:
                yield from _check(table, some)


def _gains(table: Table) -> Iterator[_Gain]:
    for part in segments(table):
        turned: Segment | None = None
        for row, numbers in enumerate(part.numbers):
            for column in range(part.labels, part.width):
                number = numbers[column]
                if number is None or not number.gain or part.cells[row][column].spans:
                    continue
                turned = turned or part.turn()
                bases = [
                    *_bases(part, row, column, "row"),
                    *_bases(turned, column - part.labels, row + turned.labels, "column"),
                ]
                by_rule = {base.rule: base for base in reversed(bases)}
                yield _Gain(part, row, column, number, Rounded.printed(number.gain.rstrip("%")), by_rule)


def _bases(part: Segment, row: int, column: int, line: str) -> Iterator[_Base]:
    """Yield what an entry may be compared with in its column, the usual bases first."""
    own = part.numbers[row][column]
    assert own is not None
    entries: dict[int, Number] = {}
    for at in range(len(part.rows)):
        number = part.numbers[at][column]
        if at != row and number is not None and comparable((number, own)):
            entries[at] = number
    plain = [at for at in entries if not entries[at].gain]
    block = [at for at in entries if _block(part, at) == _block(part, row)]
    names = {at: part.row_name(at) for at in entries}
    baseline = [at for at in entries if _BASELINE.search(names[at])]
    chosen: dict[str, Sequence[int]] = {
        f"first {line}": list(entries)[:1],
        "same method": _same_method(part.row_name(row), names, row),
        f"{line} called baseline": [at for at in baseline if at in block] or baseline,
        f"first {line} of the block": block[:1],
        f"last {line} before it without a gain": [at for at in plain if at < row][-1:],
        f"{line} before it": [at for at in entries if at < row][-1:],
        f"next {line} without a gain": [at for at in plain if at > row][:1],
        f"last {line}": list(entries)[-1:],
    }
    for where, some in (("", plain), (" of the block", [at for at in plain if at in block])):
        by_value = sorted(some, key=lambda at: entries[at].value)
        chosen[f"largest entry without a gain{where}"] = by_value[-1:]
        chosen[f"smallest entry without a gain{where}"] = by_value[:1]
    for rule, places in chosen.items():
        for at in places[:1]:
            yield _Base((rule, ""), entries[at], names[at])
    for at in list(entries)[:_MOST_ROWS]:
        yield _Base((line, names[at]), entries[at], names[at])


def _block(part: Segment, row: int) -> int:
    """Return before which row of the table the rule is drawn that a row is below."""
    at = part.rows[row]
    return 0 if part.turned else max((rule for rule in part.table.rules if rule <= at), default=0)


def _same_method(name: str, names: Mapping[int, str], row: int) -> list[int]:
    """Return the row whose name is the longest beginning or end of another name: DPO for DPO + data, or for t-DPO."""
    words = _PART.findall(name.lower())
    found = []
    for at, other in names.items():
        theirs = _PART.findall(other.lower())
        if 0 < len(theirs) < len(words) and theirs in (words[: len(theirs)], words[-len(theirs) :]):
            found.append((-len(theirs), abs(at - row), at))
    return [at for _, _, at in sorted(found)]


def _check(table: Table, some: Sequence[_Gain]) -> Iterator[Candidate]:
    """Yield the gains that the reading that explains most of them does not explain."""
    readings = list(_readings(some))
    best = max(readings, key=lambda one: len(one.agree), default=None)
    if best is None or len(best.agree) < _FEWEST or len(best.agree) * 2 <= len(some) or not _is_sharp(best, some):
        return
    left = [at for at in best.found if at not in best.agree]
    others = [one for one in readings if one.agree & {*left}]
    for at in left:
        fits = [one for one in others if at in one.agree and one.formula == best.formula]
        if any(len(one.agree & {*left}) > 1 and _is_sharp(one, some) for one in fits):
            continue  # several gains over something else
        gain, base, value = some[at], some[at].bases[best.rule], best.found[at]
        expected = _shown(value, (value.low + value.high) / 2, gain.number)
        low, high = (_shown(value, end, gain.number) for end in (value.low, value.high))
        column = " ".join(dict.fromkeys(filter(None, (clean(name) for name in gain.part.names[gain.column]))))
        also = next((one.rule[0] for one in fits if not one.rule[1]), "")
        says = (
            f"{', '.join(filter(None, (gain.part.row_name(gain.row), column)))}: prints {gain.number.printed} with the "
            f"gain {gain.number.gain}, but over {base.number.printed} ({base.name}) it is {expected}, between {low} "
            f"and {high} ({len(best.agree)} of {len(some)} gains agree)"
            + (f"; {gain.number.gain} would be over the {also}" if also else "")
        )
        yield Candidate("gain", gain.part.place(gain.row), table.name, says, (gain.number.gain, expected))


def _readings(some: Sequence[_Gain]) -> Iterator[_Reading]:
    """Yield all ways to read the gains of a table; a column of errors may print what it falls by."""
    rules = dict.fromkeys(rule for gain in some for rule in gain.bases)
    percent = some[0].number.gain.endswith("%")
    for formula in reversed(_FORMULAS) if percent else _FORMULAS:
        for rule in rules:
            found: dict[int, Rounded] = {}
            for at, gain in enumerate(some):
                base = gain.bases.get(rule)
                if base is None:
                    continue
                try:
                    found[at] = _FORMULAS[formula](gain.number.range, base.number.range)
                except ZeroDivisionError:
                    continue
            as_is = {at for at, value in found.items() if _meets(some[at], value)}
            turned = {at for at, value in found.items() if _meets(some[at], _minus(value))}
            columns = {at: some[at].column for at in found}
            kept, changed = (Counter(columns[at] for at in one) for one in (as_is, turned))
            falls = {
                column
                for column in changed
                if changed[column] > kept[column] and (changed[column] > 1 or len(turned) > len(as_is))
            }
            values = {at: _minus(value) if columns[at] in falls else value for at, value in found.items()}
            agree = frozenset(at for at in found if at in (turned if columns[at] in falls else as_is))
            yield _Reading(rule, formula, values, agree)


def _meets(gain: _Gain, value: Rounded) -> bool:
    return distance(gain.value, value) <= 0


def _minus(value: Rounded) -> Rounded:
    return Rounded(-value.high, -value.low)


def _is_sharp(reading: _Reading, some: Sequence[_Gain]) -> bool:
    """Return whether rounding leaves so little open that agreement cannot be an accident."""
    values = {at: some[at].value for at in reading.agree}
    widths = [value.high - value.low + reading.found[at].high - reading.found[at].low for at, value in values.items()]
    sizes = [abs(value.low + value.high) / 2 for value in values.values()]
    return bool(widths) and 2 * min(widths) < max(sizes)


def _shown(value: Rounded, at: object, number: Number) -> str:
    """Return a value of a gain with its sign, with as many digits as its range needs and the gain has."""
    unit = "%" if number.gain.endswith("%") else ""
    decimals = len(number.gain.rstrip("%").partition(".")[2])
    more = decimals + (value.low < value.high and at in (value.low, value.high))
    return f"{float(at):+.{more}f}{unit}"  # type: ignore[arg-type]
