"""Domains as data: parameters with the range that a statement gives them and the range that is searched.

What of the stated range is not searched, and how small a violation the draws could have missed, belongs on the card.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, log

import numpy as np
from hypothesis import strategies
from numpy.typing import NDArray

from paper_checks.context import LEVEL
from paper_checks.methods.sides import UndefinedError

Stated = tuple[float, float]
POSITIVE: Stated = (0.0, inf)
UNIT: Stated = (0.0, 1.0)
FROM_ONE: Stated = (1.0, inf)

LEAST = 100
"""Cases that an assumption must leave, or the search has hardly seen the domain."""

_SHARE, _DECADES = 0.8, 2.0
_TENTHS = 10


Cases = dict[str, NDArray[np.float64]]
"""Cases by parameter, arrays of equal length."""


class Searched(Cases):
    """Cases that a search of a domain collected, and in words what it did not search and could have missed."""

    domain: str = ""

    def holding(self, cases: Cases) -> Searched:
        """Other cases of the same search: rounded, restricted, or with neighbours beside them."""
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
        of: the open or closed range of sizes that the statement speaks about.
        signed: of either sign.

    Raises:
        ValueError: a range that is none, or one outside of the stated range.
        UndefinedError: a range that is only a part of the stated one: less than 80 % of a bounded range, or less than
            two decades of one without bound.
    """

    name: str
    low: float
    high: float
    of: Stated
    signed: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high:
            raise ValueError(f"axis {self.name} needs 0 < low < high, got {self.low}, {self.high}")
        least, most = self.of
        if not least <= self.low <= self.high <= most:
            raise ValueError(f"axis {self.name} leaves what is stated, {self.of}, got {self.low}, {self.high}")
        part = (self.high - self.low) / (most - least) if isfinite(most) else inf
        decades = log(self.high / self.low, 10)
        if part < _SHARE or (not isfinite(most) and decades < _DECADES):
            raise UndefinedError(
                f"{self.name} from {self.low:g} to {self.high:g} is a small part of {self.of} as stated"
            )

    def unreached(self) -> str:
        """What of the stated range is not searched, in words; empty if all is."""
        ends = [f"below {self.low:g}"] if self.low > self.of[0] else []
        ends += [f"above {self.high:g}"] if self.high < self.of[1] else []
        size = f"|{self.name}|" if self.signed else self.name
        return f"{size} {' and '.join(ends)}" if ends else ""

    def ends(self) -> tuple[float, ...]:
        """Both ends of the range, of either sign if signed."""
        ends = (self.low, self.high)
        return (*ends, *(-end for end in ends)) if self.signed else ends

    def strategy(self) -> strategies.SearchStrategy[float]:
        """Values hypothesis draws: the ends, simple ratios and arbitrary floats of the range."""
        simple = [
            v for v in (self.low, self.high, 0.1, 0.5, 0.75, 0.99, 1.0, 1.01, 2.0, 3.0) if self.low <= v <= self.high
        ]
        positive = strategies.one_of(strategies.sampled_from(simple), strategies.floats(self.low, self.high))
        return strategies.one_of(positive, positive.map(lambda v: -v)) if self.signed else positive

    def decode(self, unit: NDArray[np.float64]) -> NDArray[np.float64]:
        """Maps [0, 1] onto the range."""
        position = 2.0 * unit - 1.0 if self.signed else unit
        size = self.low * (self.high / self.low) ** np.abs(position)
        return np.where(position < 0, -size, size) if self.signed else size

    def missed(self, values: NDArray[np.float64]) -> Iterator[str]:
        """Ends and tenths of the range, on its logarithmic scale and of either sign, that no value comes to."""
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


def check_reached(axes: Sequence[Axis], cases: Mapping[str, NDArray[np.float64]]) -> None:
    """Whether the cases that an assumption leaves see the whole domain that is searched.

    Raises:
        UndefinedError: too few cases, or an end or a tenth of an axis without any.
    """
    count = len(next(iter(cases.values())))
    if count < LEAST:
        raise UndefinedError(f"the assumption leaves {count} cases, fewer than {LEAST}")
    missed = [place for axis in axes for place in axis.missed(cases[axis.name])]
    if missed:
        raise UndefinedError(f"the assumption leaves no case at {'; '.join(missed)}: state the domain it leaves")


def tried_in_words(*parameters: tuple[str, Iterable[float], Stated]) -> str:
    """What a grid or runs go through, of what the statement speaks about; they see nothing else.

    Args:
        parameters: name, the values that are tried, and the range stated.

    Raises:
        UndefinedError: no value, or one outside of what is stated.

    >>> tried_in_words(("eps", [0.5, 0.1, 0.5], UNIT))
    'tried: eps = 0.1, 0.5 of 0 to 1; nothing between or beyond these values is seen'
    """
    told = []
    for name, values, (least, most) in parameters:
        tried = sorted(set(values))
        if not tried or tried[0] < least or tried[-1] > most:
            raise UndefinedError(f"{name} is tried at {tried}, which is not of {least:g} to {most:g} as stated")
        few = ", ".join(f"{value:g}" for value in tried)
        shown = few if len(tried) <= 6 else f"{len(tried)} values from {tried[0]:g} to {tried[-1]:g}"
        told.append(f"{name} = {shown} of {least:g} to {most:g}")
    return f"tried: {'; '.join(told)}; nothing between or beyond these values is seen"


def drawn_in_words(count: int) -> str:
    """The smallest part of the law of some independent draws that would have been met."""
    rare = 1.0 - LEVEL ** (1.0 / count) if count else 1.0
    return f"what has a probability of less than {rare:.2g} in each of {count} draws can be missed"


def in_words(axes: Sequence[Axis], uniform: int) -> str:
    """What was not searched, and the smallest part of the rest in which a violation would have been met.

    Of n independent draws all miss a part of measure v with probability $(1 - v)^n$.

    Args:
        axes: of the domain.
        uniform: independent draws, uniform on the scale of the axes, that the assumption left.
    """
    outside = "; ".join(filter(None, (axis.unreached() for axis in axes)))
    share = min(1.0, -log(LEVEL) / uniform) if uniform else 1.0
    return (
        f"not searched: {outside or 'nothing'}; a violation on less than {share:.2g} of the searched domain (on a "
        "logarithmic scale) can be missed"
    )
