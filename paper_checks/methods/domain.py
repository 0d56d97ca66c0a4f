"""Domains as data: parameters with the range that a statement gives them, and what a search or a grid goes through.

The card says which part of the stated range is not reached, and how small a violation the draws could have missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf, isfinite, log
from typing import Any

import numpy as np
from hypothesis import strategies
from numpy.typing import NDArray

from paper_checks.context import LEVEL
from paper_checks.methods.sides import UndefinedError

LEAST = 100
"""Cases that an assumption must leave, or the search has hardly seen the domain."""
LEAST_TRIED = 10
"""Cases of a grid: fewer are examples."""

_SHARE, _DECADES = 0.8, 2.0
_TENTHS = 10
_FEW = 4


@dataclass(frozen=True)
class Stated:
    """The range that a statement gives a parameter.

    Attributes:
        low: its lower end.
        high: its upper end.
        ends: which of them belong to it, by the brackets of an interval.
    """

    low: float
    high: float
    ends: str = "()"

    def __str__(self) -> str:
        return f"{self.ends[0]}{self.low:g}, {self.high:g}{self.ends[1]}"

    def owned(self) -> tuple[float, ...]:
        """Return the ends that belong to it."""
        pairs = zip((self.low, self.high), self.ends, strict=True)
        return tuple(end for end, bracket in pairs if bracket in "[]")

    def beyond(self, low: float, high: float) -> str:
        """Return the part of it outside of a range, in words; empty if there is none."""
        sides = [f"below {low:g}"] if low > self.low else []
        return " and ".join(sides + ([f"above {high:g}"] if high < self.high else []))

    def check(self, name: str, values: Sequence[float]) -> None:
        """Check whether values lie within it and span it.

        Args:
            name: of the parameter.
            values: the values that are tried, or the ends of what is searched.

        Raises:
            UndefinedError: a value outside, or a small part only: less than 80 % of a bounded range, or less than two
                decades towards an end without bound.
        """
        least, most = min(values), max(values)
        if not (self.low < least or least in self.owned()) or not (most < self.high or most in self.owned()):
            raise UndefinedError(f"{name} from {least:g} to {most:g} leaves what is stated, {self}")
        open_sides = [side for side, end in ((1.0, self.high), (-1.0, self.low)) if not isfinite(end)]
        small = not open_sides and most - least < _SHARE * (self.high - self.low)
        for side in open_sides:
            sizes = [side * value for value in values if side * value > 0] or [1.0]
            small |= log(max(sizes) / min(sizes), 10) < _DECADES
        if small:
            raise UndefinedError(f"{name} from {least:g} to {most:g} is a small part of {self} as stated")


POSITIVE = Stated(0.0, inf)
UNIT = Stated(0.0, 1.0, "[]")
OPEN_UNIT = Stated(0.0, 1.0)
UP_TO_ONE = Stated(0.0, 1.0, "(]")
EITHER_SIDE = Stated(-1.0, 1.0, "[]")
FROM_ONE = Stated(1.0, inf, "[)")

Cases = dict[str, NDArray[np.float64]]
"""Cases by parameter, arrays of equal length."""


class Described(str):
    """A domain in the words of a method, and the number of cases in it; any other text is in the author's words."""

    cases: int

    def __new__(cls, text: str, cases: int = 0) -> Described:
        """Return a text with a number of cases; 0 where nobody counts them."""
        found = super().__new__(cls, text)
        found.cases = cases
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Described, (str(self), self.cases)


class Searched(Cases):
    """Cases that a search of a domain collected, and in words what it did not search and could have missed."""

    domain: str = ""

    def holding(self, cases: Cases) -> Searched:
        """Return other cases of the same search: rounded, restricted, or with neighbours."""
        found = Searched(cases)
        found.domain = self.domain
        return found


@dataclass(frozen=True)
class Axis:
    """One parameter: its name, the range searched and the range stated; ``signed`` mirrors both to negative values.

    The search moves on a logarithmic scale, because the interesting values of a scale parameter lie decades apart.

    Attributes:
        name: of the parameter.
        low: least size searched.
        high: greatest size searched.
        of: the range of sizes that the statement speaks about.
        signed: of either sign.
        words: what it is in the field's words, with the paper's symbol if it has one; needed unless the name is a
            symbol of the statement.

    Raises:
        ValueError: a range that is none.
        UndefinedError: a range outside of the stated one, a small part of it only, or without an end that belongs to
            it; 0 is an end that no scale reaches.
    """

    name: str
    low: float
    high: float
    of: Stated
    signed: bool = False
    words: str = ""

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high:
            raise ValueError(f"axis {self.name} needs 0 < low < high, got {self.low}, {self.high}")
        self.of.check(self.name, (self.low, self.high))
        left = [end for end in self.of.owned() if 0 < end < inf and end not in (self.low, self.high)]
        if left:
            raise UndefinedError(
                f"{self.name} = {left[0]:g} is not searched, although it belongs to {self.of} as stated"
            )

    def unreached(self) -> str:
        """Return the part of the stated range that is not searched, in words; empty if there is none."""
        beyond = self.of.beyond(self.low, self.high)
        told = f"{self.words}, " if self.words else f"|{self.name}| " if self.signed else f"{self.name} "
        size = "size of " if self.words and self.signed else ""
        return f"{size}{told}{beyond}" if beyond else ""

    def ends(self) -> tuple[float, ...]:
        """Return both ends of the range, of either sign if signed."""
        ends = (self.low, self.high)
        return (*ends, *(-end for end in ends)) if self.signed else ends

    def strategy(self) -> strategies.SearchStrategy[float]:
        """Return values hypothesis draws: the ends, simple ratios and arbitrary floats of the range."""
        simple = [
            v for v in (self.low, self.high, 0.1, 0.5, 0.75, 0.99, 1.0, 1.01, 2.0, 3.0) if self.low <= v <= self.high
        ]
        positive = strategies.one_of(strategies.sampled_from(simple), strategies.floats(self.low, self.high))
        return strategies.one_of(positive, positive.map(lambda v: -v)) if self.signed else positive

    def decode(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map [0, 1] onto the range."""
        position = 2.0 * unit - 1.0 if self.signed else unit
        size = self.low * (self.high / self.low) ** np.abs(position)
        return np.where(position < 0, -size, size) if self.signed else size

    def missed(self, values: NDArray[np.float64]) -> Iterator[str]:
        """End and tenths of the range, on its logarithmic scale and of either sign, that no value comes to."""
        for sign in (1.0, -1.0) if self.signed else (1.0,):
            sizes = sign * values[sign * values > 0]
            places = np.log(sizes / self.low) / log(self.high / self.low) if len(sizes) else np.empty(0)
            side = "negative " if sign < 0 else ""
            for name, end in (("low", 0.0), ("high", 1.0)):
                if not (np.abs(places - end) < 0.01).any():
                    yield f"the {name} end of {side}{self.name}"
            tenths = set(np.clip((places * _TENTHS).astype(int), 0, _TENTHS - 1).tolist())
            for tenth in sorted(set(range(_TENTHS)) - tenths):
                yield f"tenth {tenth + 1} of {side}{self.name}"


def require_reached(axes: Sequence[Axis], cases: Mapping[str, NDArray[np.float64]]) -> None:
    """Check that the cases left by an assumption cover the whole domain that is searched.

    Raises:
        UndefinedError: too few cases, or an end or a tenth of an axis without any.
    """
    count = len(next(iter(cases.values())))
    if count < LEAST:
        raise UndefinedError(f"the assumption leaves {count} cases, fewer than {LEAST}")
    missed = [place for axis in axes for place in axis.missed(cases[axis.name])]
    if missed:
        raise UndefinedError(f"the assumption leaves no case at {'; '.join(missed)}: state the domain it leaves")


@dataclass(frozen=True, eq=False)
class Tried:
    """The cases of a grid or of runs, of what the statement speaks about; they see nothing else.

    Attributes:
        stated: name and stated range of each parameter.
        rows: values of the parameters in each case, shape ``(cases, parameters)``.
        settled: for a parameter of which a small part is tried, why that is enough.
    """

    stated: tuple[tuple[str, Stated], ...]
    rows: NDArray[np.float64]
    settled: Mapping[str, str] = field(default_factory=dict)

    def columns(self) -> Iterator[tuple[str, Stated, list[float]]]:
        """Describe the name, stated range and values of each parameter, in their order."""
        for (name, stated), column in zip(self.stated, self.rows.T, strict=True):
            yield name, stated, np.unique(column).tolist()

    def corners(self) -> tuple[set[tuple[float, ...]], set[tuple[float, ...]]]:
        """Return the corners of the ranges that the values span, and those of them without a case."""
        corners = set(product(*((values[0], values[-1]) for _, _, values in self.columns())))
        outer = (self.rows == self.rows.min(axis=0)) | (self.rows == self.rows.max(axis=0))
        return corners, corners - set(map(tuple, self.rows[outer.all(axis=1)].tolist()))

    def check(self) -> None:
        """Check that the cases cover enough of what is stated for a statement that passes on them.

        Raises:
            UndefinedError: too few cases; values outside of what is stated, or a small part of it; an end that belongs
                to it and is not tried; of few parameters, a corner without a case.
        """
        if len(self.rows) < LEAST_TRIED:
            raise UndefinedError(f"{len(self.rows)} cases are tried, fewer than {LEAST_TRIED}")
        for name, stated, values in self.columns():
            if name in self.settled:
                continue
            stated.check(name, values)
            left = [f"{end:g}" for end in stated.owned() if end not in (values[0], values[-1])]
            if left:
                raise UndefinedError(f"{name} = {' and '.join(left)} is not tried, which is of {stated} as stated")
        missed = self.corners()[1]
        if missed and len(self.stated) <= _FEW:
            corner = zip(self.stated, min(missed), strict=True)
            where = ", ".join(f"{name} = {value:g}" for (name, _), value in corner)
            raise UndefinedError(f"no case at the corner {where}: try it, or state the domain that is left")

    def describe(self) -> str:
        """Return which values are tried, and what of the stated ranges is not."""
        told, missed = [], []
        if not len(self.rows):
            return "nothing is tried"
        for name, stated, values in self.columns():
            few = ", ".join(f"{value:g}" for value in values)
            shown = few if len(values) <= 6 else f"{len(values)} values from {values[0]:g} to {values[-1]:g}"
            why = f" ({self.settled[name]})" if name in self.settled else ""
            told.append(f"{name} = {shown} of {stated}{why}")
            beyond = stated.beyond(values[0], values[-1])
            missed += [f"{name} {beyond}"] if beyond else []
        corners, left_out = self.corners()
        missed += [f"{len(left_out)} of {len(corners)} corners of these ranges"] if left_out else []
        return f"tried: {'; '.join(told)}; not tried: {'; '.join([*missed, 'all between these values'])}"


def tried(*parameters: tuple[str, Iterable[float], Stated], settled: Mapping[str, str] | None = None) -> Tried:
    """Return the domain of a grid or of runs.

    Args:
        parameters: name, the value in each case, and the range stated.
        settled: for a parameter of which a small part is tried, why that is enough.

    >>> tried(("eps", [k / 10 for k in range(1, 11)], Stated(0.0, 1.0, "(]"))).describe()
    'tried: eps = 10 values from 0.1 to 1 of (0, 1]; not tried: eps below 0.1; all between these values'
    """
    names = tuple((name, stated) for name, _, stated in parameters)
    columns = [np.fromiter(values, dtype=float) for _, values, _ in parameters]
    return Tried(names, np.stack(columns, axis=1), settled or {})


def describe_draws(count: int) -> Described:
    """Return the smallest part of the law of some independent draws that would have been met."""
    rare = 1.0 - LEVEL ** (1.0 / count) if count else 1.0
    return Described(f"what has a probability of less than {rare:.2g} in each of {count} draws can be missed", count)


def describe_search(axes: Sequence[Axis], uniform: int) -> str:
    """Describe what was not searched, and the smallest part of the rest where a violation would have been met.

    All of n independent draws miss a part of measure v with probability $(1 - v)^n$.

    Args:
        axes: axes of the domain.
        uniform: independent draws, uniform on the scale of the axes, that the assumption left.
    """
    outside = "; ".join(filter(None, (axis.unreached() for axis in axes)))
    share = min(1.0, -log(LEVEL) / uniform) if uniform else 1.0
    return (
        f"not searched: {outside or 'nothing'}; a violation on less than {share:.2g} of the searched domain (on a "
        "logarithmic scale) can be missed"
    )
