"""Lines of a statement: what each of them compares, so a change is credited to the lines that it changes.

A statement of several lines is one claim. A constant occurs in some of them. If another line betrays a change of it,
the change says nothing about these lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]
Sides = tuple[Array, Array]
Strength = Literal["weaker", "stronger", "neither"]
STRENGTHS: tuple[Strength, ...] = get_args(Strength)

_SAME = 1e-9


@dataclass(frozen=True)
class Line:
    """One line of a statement under some constants.

    Attributes:
        ok: whether it passes; None if that is not known, because another line decided before.
        compared: digests of its two sides; equal for the same sides.
        sides: left and right sides of its cases, each of shape ``(cases,)``, where they are numbers.
        equal: whether it is an equation rather than ``left <= right``.
        strict: whether it is ``left < right``.
        formula: whether its sides are formulas, which contain a constant if they change with it. The result of a run
            changes with any constant.
        later: finds out whether it passes, where that takes time and ``ok`` is None.
    """

    ok: bool | None
    compared: Hashable
    sides: Sides | None = field(default=None, repr=False, compare=False)
    equal: bool = True
    strict: bool = False
    formula: bool = False
    later: Callable[[], bool | None] | None = field(default=None, repr=False, compare=False)

    @property
    def fails(self) -> bool:
        """Whether it fails, found out when it is asked for."""
        return (self.later() if self.later else self.ok) is False

    def bare(self) -> Line:
        """Return the same without its sides."""
        return replace(self, compared=None, sides=None, later=None)


Lines = Mapping[str, Line]


def line_of(
    ok: bool | None,
    left: ArrayLike,
    right: ArrayLike,
    *,
    equal: bool = False,
    strict: bool = False,
    formula: bool = False,
) -> Line:
    """Return a line ``left <= right`` between numbers, or one of equations."""
    sides = np.ascontiguousarray(left, dtype=float), np.ascontiguousarray(right, dtype=float)
    digests = tuple(blake2b(side.tobytes(), digest_size=16).digest() for side in sides)
    return Line(ok, digests, sides, equal, strict, formula)


def changed_lines(before: Lines, after: Lines) -> set[str]:
    """Return the names of the lines that are in both and whose sides differ."""
    return {name for name in before.keys() & after.keys() if before[name].compared != after[name].compared}


def refuted_lines(lines: Lines) -> set[str]:
    """Return names of the lines that fail."""
    return {name for name, line in lines.items() if line.fails}


def strength(printed: Lines, other: Lines) -> Strength | None:
    """Return the strength of another form of a statement, compared with the printed one, in the judged cases.

    Weaker: it drops lines or cases, has smaller left sides or larger right ones, and nothing of the contrary. Another
    equation is neither. None where the lines are not known, or are the same.
    """
    less, more = bool(printed.keys() - other.keys()), bool(other.keys() - printed.keys())
    if not printed or not other:
        return None
    for name in printed.keys() & other.keys():
        dropped, added = _demands(printed[name], other[name])
        less, more = less or dropped, more or added
    if less and more:
        return "neither"
    return "weaker" if less else "stronger" if more else None


def have_common_lines(printed: Lines, other: Lines) -> bool:
    """Return whether two forms have a line in common, so their sides say which one requires more."""
    return bool(printed.keys() & other.keys())


def _demands(printed: Line, other: Line) -> tuple[bool, bool]:
    """Return whether a line asks for less somewhere, and whether it asks for more somewhere."""
    less, more = _sides(printed, other)
    return less or (printed.strict and not other.strict), more or (other.strict and not printed.strict)


def _sides(printed: Line, other: Line) -> tuple[bool, bool]:
    if printed.compared == other.compared:
        return False, False
    if printed.sides is None or other.sides is None:
        return True, True
    (left, right), (other_left, other_right) = printed.sides, other.sides
    if len(left) != len(other_left):
        before, after = (
            Counter(zip(*(side.tolist() for side in sides), strict=True)) for sides in (printed.sides, other.sides)
        )
        return not before <= after, not after <= before
    if printed.equal or other.equal:
        return True, True
    if np.array_equal(left, other_left):
        return _either(other_right - right, right)
    if np.array_equal(right, other_right):
        return _either(left - other_left, left)
    if all((side > 0).all() for side in (*printed.sides, *other.sides)):
        return _either(left / right - other_left / other_right, left / right)
    return True, True


def _either(room: Array, size: Array) -> tuple[bool, bool]:
    """Return whether there is more room somewhere, and whether there is less."""
    rounding = _SAME * np.abs(size)
    return bool((room > rounding).any()), bool((room < -rounding).any())
