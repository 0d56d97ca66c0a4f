"""Printed numbers by interval arithmetic: every printed value stands for half a unit of its last digit either way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from paper_checks.claim import Evidence

Number = int | Fraction


@dataclass(frozen=True)
class Rounded:
    """All real numbers between two exact bounds.

    >>> Rounded.printed("0.10").low
    Fraction(19, 200)
    """

    low: Fraction
    high: Fraction

    @classmethod
    def printed(cls, text: str) -> Rounded:
        """What a printed decimal can stand for.

        Raises:
            ValueError: the text is not a decimal number.
        """
        sign = text.strip().lstrip("+")
        try:
            value = Fraction(sign)
        except ValueError:
            raise ValueError(f"not a printed decimal number: {text!r}") from None
        digits = len(sign.split(".")[1]) if "." in sign else 0
        half = Fraction(1, 2 * 10**digits)
        return cls(value - half, value + half)

    @classmethod
    def exact(cls, value: Number) -> Rounded:
        """A number without rounding, such as a count."""
        return cls(Fraction(value), Fraction(value))

    def __add__(self, other: Rounded) -> Rounded:
        return Rounded(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Rounded) -> Rounded:
        return Rounded(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Rounded) -> Rounded:
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Rounded(min(ends), max(ends))

    def __truediv__(self, other: Rounded) -> Rounded:
        if other.low <= 0 <= other.high:
            raise ZeroDivisionError(f"division by an interval that contains 0: [{other.low}, {other.high}]")
        ends = [a / b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Rounded(min(ends), max(ends))

    def meets(self, other: Rounded) -> bool:
        """Whether the two can be the same number."""
        return self.low <= other.high and other.low <= self.high

    def __str__(self) -> str:
        middle, half = float((self.low + self.high) / 2), float((self.high - self.low) / 2)
        return f"{middle:.6g}" if not half else f"{middle:.5g} ± {half:.1g}"


@dataclass(frozen=True)
class Cell:
    """A printed value beside what its inputs give."""

    printed: Rounded
    recomputed: Rounded
    inputs: Mapping[str, str]


def judge_printed(cells: Mapping[str, Cell], scope: str) -> Evidence:
    """Judges that every printed value can be what its printed inputs give.

    Refuted only where the two intervals are disjoint, so that no rounding could explain the difference.

    Args:
        cells: printed and recomputed value of each cell, with the printed inputs as text.
        scope: which cells of which tables.
    """
    apart = {name: _distance(cell) for name, cell in cells.items()}
    wrong = [name for name, distance in apart.items() if distance > 0]
    if not wrong:
        closest = max(cells, key=lambda name: apart[name])
        return Evidence(
            True, "proof", scope, f"{closest}: {cells[closest].printed}",
            f"{cells[closest].recomputed}; each of {len(cells)} agrees with its inputs",
            margin=-float(apart[closest]), cases=len(cells),
        )  # fmt: skip
    worst = max(wrong, key=lambda name: apart[name])
    cell = cells[worst]
    listed = "; ".join(f"{name}: printed {cells[name].printed}, recomputed {cells[name].recomputed}" for name in wrong)
    return Evidence(
        False, "proof", scope, f"{worst}: {cell.printed}",
        f"{cell.recomputed}; {len(wrong)} of {len(cells)} do not follow: {listed}",
        margin=-float(apart[worst]) - len(wrong), cases=len(cells), witness={"cell": worst, **cell.inputs},
    )  # fmt: skip


def _distance(cell: Cell) -> Fraction:
    """Gap between the two intervals; negative by the overlap."""
    return max(cell.printed.low - cell.recomputed.high, cell.recomputed.low - cell.printed.high)
