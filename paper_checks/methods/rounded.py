"""Exact arithmetic with rounded numbers: a printed value can be any number within half a unit of its last digit.

Interval arithmetic takes both operands for independent, so its range of $a / (a + b)$ is too wide. Each number
therefore remembers the unknowns that it is computed from. Where two operands share one, their range is found at the
corners of the unknowns instead.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import TypeAlias

from paper_checks.engine.decimals import half_unit
from paper_checks.facts import as_fraction
from paper_checks.methods.sides import UndefinedError

Number = int | Fraction
Range: TypeAlias = tuple[Fraction, Fraction]
Powers: TypeAlias = Counter["_Formula"]

_MOST = 8
"""Most unknowns of which every corner is tried; with more, a search climbs from corner to corner."""


@dataclass(frozen=True)
class Rounded:
    """All real numbers between two exact bounds, one of which is meant.

    Every interval that is made of bounds, or of a text, is an unknown of its own; the same object is the same unknown.

    Attributes:
        low: Bound from below.
        high: Bound from above.

    >>> Rounded.printed("0.10").low, Rounded.printed("1.5e3").high
    (Fraction(19, 200), Fraction(1550, 1))
    >>> a, b = Rounded.printed("0.5"), Rounded.printed("0.5")
    >>> print(a - a, a - b)
    0 0 ± 0.1
    """

    low: Fraction
    high: Fraction
    _formula: _Formula | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if as_fraction(self.low) > as_fraction(self.high):
            raise UndefinedError(f"the bounds of an interval must be in order, got {self.low} and {self.high}")

    @classmethod
    def printed(cls, text: str) -> Rounded:
        """Return the range that a printed decimal can stand for: half a unit of its last digit either way.

        An entry that occurs twice in a formula is read once and used twice, because two entries can have the same text.

        Raises:
            ValueError: the text is not a decimal number.
        """
        half = half_unit(text)
        value = Fraction(text)
        return cls(value - half, value + half)

    @classmethod
    def exact(cls, value: Number) -> Rounded:
        """Return a number without rounding, such as a count."""
        return cls(Fraction(value), Fraction(value))

    @classmethod
    def about(cls, value: float | Fraction, half: Fraction) -> Rounded:
        """Return a decimal number and what rounding to it leaves open on either side."""
        exact = value if isinstance(value, Fraction) else Fraction(str(value))
        return cls(exact - half, exact + half)

    def __add__(self, other: Rounded | Number) -> Rounded:
        return _combine(operator.add, self, as_rounded(other))

    def __sub__(self, other: Rounded | Number) -> Rounded:
        return _combine(operator.sub, self, as_rounded(other))

    def __mul__(self, other: Rounded | Number) -> Rounded:
        return _combine(operator.mul, self, as_rounded(other))

    def __truediv__(self, other: Rounded | Number) -> Rounded:
        other = as_rounded(other)
        if other.low <= 0 <= other.high:
            raise ZeroDivisionError(f"division by an interval that contains 0: [{other.low}, {other.high}]")
        return _combine(operator.truediv, self, other)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: Number) -> Rounded:
        return as_rounded(other) - self

    def __rtruediv__(self, other: Number) -> Rounded:
        return as_rounded(other) / self

    @property
    def formula(self) -> _Formula:
        """How it is computed; itself an unknown where it is not."""
        if self._formula is None:
            object.__setattr__(self, "_formula", _Formula((self.low, self.high)))
        assert self._formula is not None
        return self._formula

    @property
    def inner(self) -> Range:
        """Two values that it takes, and therefore every value between them; the bounds where these are exact."""
        return self.formula.inner

    def meets(self, other: Rounded) -> bool | None:
        """Return whether the two can be the same number; None where the bounds are too wide to tell."""
        apart = self - other
        if apart.low > 0 or apart.high < 0:
            return False
        return True if apart.inner[0] <= 0 <= apart.inner[1] else None

    def __str__(self) -> str:
        middle, half = float((self.low + self.high) / 2), float((self.high - self.low) / 2)
        return f"{middle:.6g}" if not half else f"{middle:.5g} ± {half:.1g}"


def as_rounded(value: Rounded | Number) -> Rounded:
    """Return a whole number or a fraction as an interval without rounding.

    Raises:
        TypeError: it is a float or a text, of which nobody knows the rounding.
    """
    if isinstance(value, Rounded):
        return value
    try:
        return Rounded.exact(as_fraction(value))
    except TypeError:
        kind = type(value).__name__
        raise TypeError(
            f'a printed number is Rounded.printed("{value}"), got {kind} {value!r}; without rounding it is a whole '
            "number or a fraction"
        ) from None


@dataclass(frozen=True, eq=False)
class _Formula:
    """A number as a formula of unknowns, which is continuous in them; without an operation it is one of them.

    Attributes:
        inner: Two values that it takes.
        operation: The last operation.
        operands: Its operands.
        above: Powers of the unknowns in the numerator, which they do not exceed.
        below: The same in the denominator.
    """

    inner: Range
    operation: Callable[..., Fraction] | None = None
    operands: tuple[_Formula, ...] = ()
    above: Powers = field(default_factory=Counter)
    below: Powers = field(default_factory=Counter)

    def __post_init__(self) -> None:
        if self.operation is None and self.inner[0] < self.inner[1]:
            self.above[self] = 1

    @property
    def unknowns(self) -> tuple[_Formula, ...]:
        """The unknowns that it contains, in the order of their first use."""
        return tuple(dict.fromkeys((*self.above, *self.below)))

    @property
    def is_monotone(self) -> bool:
        """Whether it is monotone in every unknown, as a quotient in which each has a power of at most 1 is."""
        return all(power <= 1 for power in (*self.above.values(), *self.below.values()))

    def at(self, values: Mapping[_Formula, Fraction]) -> Fraction:
        """Return its value at values of the unknowns."""
        known = dict(values)
        waiting = [self]
        while waiting:  # no recursion: a sum of a long column is as deep
            one = waiting[-1]
            missing = [part for part in one.operands if part not in known]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            if one not in known:
                known[one] = one.operation(*(known[part] for part in one.operands)) if one.operation else one.inner[0]
        return known[self]


def _combine(operation: Callable[..., Fraction], *numbers: Rounded) -> Rounded:
    """Return the result of an operation; its bounds are exact where its operands are and share no unknown."""
    parts = tuple(number.formula for number in numbers)
    above, below = _powers(operation, parts)
    unknowns = list(dict.fromkeys(unknown for part in parts for unknown in part.unknowns))
    low, high = _range(operation, [(number.low, number.high) for number in numbers])
    if len(unknowns) == sum(len(part.unknowns) for part in parts):
        inner = _range(operation, [part.inner for part in parts])
        return Rounded(low, high, _Formula(inner, operation, parts, above, below))
    formula = _Formula((low, high), operation, parts, above, below)
    found = [formula.at(corner) for corner in _corners(formula, unknowns)]
    inner = min(found), max(found)
    if formula.is_monotone and len(unknowns) <= _MOST:
        low, high = inner
    return Rounded(low, high, _Formula(inner, operation, parts, above, below))


def _powers(operation: Callable[..., Fraction], parts: tuple[_Formula, ...]) -> tuple[Powers, Powers]:
    """Return bounds of the powers of all unknowns, in the numerator and in the denominator."""
    if len(parts) == 2:
        (a, b), (c, d) = ((part.above, part.below) for part in parts)
        if operation is operator.mul:
            return a + c, b + d
        if operation is operator.truediv:
            return a + d, b + c
        if operation in (operator.add, operator.sub):
            return (a + d) | (c + b), b + d
    return Counter({unknown: 2 for part in parts for unknown in part.unknowns}), Counter()  # monotone or not


def _range(operation: Callable[..., Fraction], ranges: list[Range]) -> Range:
    """Return the range of an operation on independent numbers, which has its ends at corners."""
    if operation in (_largest, _smallest):
        return operation(*(low for low, _ in ranges)), operation(*(high for _, high in ranges))
    ends = [operation(*corner) for corner in product(*ranges)]
    return min(ends), max(ends)


def _corners(formula: _Formula, unknowns: list[_Formula]) -> Iterator[dict[_Formula, Fraction]]:
    """Yield corners of the unknowns, and their middle: all of a few, else those from which no step leads further."""
    yield {unknown: sum(unknown.inner, Fraction(0)) / 2 for unknown in unknowns}
    if len(unknowns) <= _MOST:
        for ends in product(*(unknown.inner for unknown in unknowns)):
            yield dict(zip(unknowns, ends, strict=True))
        return
    for further in (operator.gt, operator.lt):
        corner = {unknown: unknown.inner[0] for unknown in unknowns}
        best, moved = formula.at(corner), True
        while moved:
            moved = False
            for unknown in unknowns:
                other = corner | {unknown: sum(unknown.inner, Fraction(0)) - corner[unknown]}
                value = formula.at(other)
                if further(value, best):
                    corner, best, moved = other, value, True
        yield corner


def _largest(*values: Fraction) -> Fraction:
    return max(values)


def _smallest(*values: Fraction) -> Fraction:
    return min(values)


def largest(values: Iterable[Rounded]) -> Rounded:
    """Return the range of the largest of several numbers."""
    return _combine(_largest, *values)


def smallest(values: Iterable[Rounded]) -> Rounded:
    """Return the range of the smallest of several numbers."""
    return _combine(_smallest, *values)
