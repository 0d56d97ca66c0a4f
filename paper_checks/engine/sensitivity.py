"""The smallest change of a constant that a check notices, measured by bisection on the judge itself.

In a statement of several lines it is measured for each line that contains the constant: what another line notices
says nothing about this one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from paper_checks.claim import Claim, Constants, Evidence
from paper_checks.engine.lines import Lines, changed_lines
from paper_checks.methods.sides import UndefinedError

_SIZES = [10.0**decade for decade in range(-9, 2)]
_MIDDLE = _SIZES.index(1e-3)
_BISECTIONS = 12


@dataclass(frozen=True)
class NoticedChange:
    """The nearest value of a constant, on either side, that the check refutes.

    Attributes:
        constant: name of the constant.
        value: its value in the form that passes.
        refuted: the nearest refuted value found; None if none within a factor of ten (or a shift of ten) is refuted.
        lines: the lines of the statement in which that is so; empty if in all that contain the constant.
    """

    constant: str
    value: float
    refuted: float | None
    lines: tuple[str, ...] = ()

    @property
    def relative(self) -> float | None:
        """The change over the value, or the change where that is 0; None if none is noticed."""
        return None if self.refuted is None else abs(self.refuted - self.value) / (abs(self.value) or 1.0)

    def __str__(self) -> str:
        where = f" in {_words(self.lines)}" if self.lines else ""
        if self.refuted is None:
            return f"{self.constant} = {self.value:g}: no change up to tenfold is noticed{where}"
        change = self.refuted - self.value
        size = f"a relative change of {change / self.value:+.2g}" if self.value else f"a change of {change:+.2g}"
        return f"{self.constant} = {self.value:g}: {size} is noticed{where}"


@dataclass(frozen=True)
class _Outcome:
    """Outcome of a candidate: whether anything fails, the lines it changes, and all lines."""

    fails: bool
    changed: frozenset[str] = frozenset()
    lines: Lines = field(default_factory=dict)

    def refutes(self, line: str) -> bool:
        """Return whether this line fails; where a violation names no line, nobody knows which one it is of."""
        return self.fails and (not self.lines or (line in self.lines and self.lines[line].fails))


def _words(lines: Sequence[str]) -> str:
    return ", ".join(line or "part 1" for line in lines)


def noticed_changes(claim: Claim, data: object, constants: Constants, passing: Evidence) -> tuple[NoticedChange, ...]:
    """Measure for each constant that varies the smallest noticed change of a passing form, line by line.

    Args:
        claim: the claim.
        data: its measurement.
        constants: the constants of the passing form.
        passing: its evidence.
    """
    defaults = {**claim.printed_constants(), **constants}
    found: list[NoticedChange] = []
    for name in claim.vary:
        value = float(defaults[name])
        outcomes: dict[float, _Outcome] = {}

        def outcome(candidate: float, name: str = name, known: dict[float, _Outcome] = outcomes) -> _Outcome:
            if candidate not in known:
                known[candidate] = _outcome(claim, data, {**constants, name: candidate}, passing)
            return known[candidate]

        nearest = _on_either_side(lambda candidate: outcome(candidate).fails, value)
        lines = claim.stands_in.get(name) or _carrying(passing, outcomes.values())
        found += _group(name, value, nearest, {line: _in_line(line, outcome, value, nearest) for line in lines})
    return tuple(found)


def describe_unnoticed(changes: Sequence[NoticedChange]) -> str:
    """Describe a constant of a line where no change of it is noticed; empty if there is none."""
    blind = (one for one in changes if one.lines and one.refuted is None)
    return next(
        (f"{one.constant} occurs in {_words(one.lines)}, where no change of it is noticed" for one in blind), ""
    )


def describe_overstated(best: Mapping[str, float], changes: Sequence[NoticedChange]) -> str:
    """Describe a best value that lies beyond one which the check refutes; empty if there is none.

    Args:
        best: Best values known, by constant.
        changes: Smallest noticed changes of the established form.
    """
    for one in changes:
        if one.constant in best and one.refuted is not None:
            known, refuted = best[one.constant] - one.value, one.refuted - one.value
            if known * refuted > 0 and abs(known) > abs(refuted):
                return (
                    f"{one.constant} = {best[one.constant]:g} is said to be the best value known, and the check "
                    f"refutes {one.refuted:g}"
                )
    return ""


def _carrying(passing: Evidence, outcomes: Iterable[_Outcome]) -> list[str]:
    """Return the lines that contain a constant: formulas that change with it, and runs that it breaks."""
    if len(passing.lines) < 2:
        return []
    known = list(outcomes)
    changing = {line for one in known for line in one.changed}
    return [
        name
        for name, line in passing.lines.items()
        if (name in changing if line.formula else any(one.refutes(name) for one in known))
    ]


def _outcome(claim: Claim, data: object, constants: Constants, passing: Evidence) -> _Outcome:
    try:
        evidence = claim.judge(data, **constants)
    except UndefinedError:  # a square root of a negative constant, say: no form of the statement
        return _Outcome(False)
    fails = evidence.ok is False and not evidence.infinite
    return _Outcome(fails, frozenset(changed_lines(passing.lines, evidence.lines)), evidence.lines)


def _in_line(line: str, outcome: Callable[[float], _Outcome], value: float, nearest: float | None) -> float | None:
    """Return the nearest value that this line refutes; often that which is refuted at all."""
    if nearest is None or outcome(nearest).refutes(line):
        return nearest
    return _on_either_side(lambda candidate: outcome(candidate).refutes(line), value)


def _group(name: str, value: float, nearest: float | None, by_line: Mapping[str, float | None]) -> list[NoticedChange]:
    """Return one entry where all lines agree, else one for each value with its lines."""
    values = list(dict.fromkeys(by_line.values()))
    if len(values) < 2:
        return [NoticedChange(name, value, values[0] if values else nearest)]
    return [
        NoticedChange(name, value, one, tuple(line for line, other in by_line.items() if other == one))
        for one in values
    ]


def _on_either_side(refuted: Callable[[float], bool], value: float) -> float | None:
    """Return the nearest refuted value; a side on which it would lie farther away than on the other is not bisected."""
    scale = abs(value) or 1.0
    sides = [_Side(refuted, value, step) for step in (scale, -scale)]
    found, smallest = list[float](), inf
    for decade, side in sorted(((side.decade(), side) for side in sides), key=lambda one: one[0]):
        if decade < len(_SIZES) and (smallest == inf or side.refutes(smallest)):
            smallest = side.bisect(decade, smallest)
            found.append(value + side.step * smallest)
    return min(found, key=lambda one: abs(one - value), default=None)


@dataclass(frozen=True)
class _Side:
    """Changes of a value in one direction, in units of ``step``."""

    refuted: Callable[[float], bool]
    value: float
    step: float

    def refutes(self, size: float) -> bool:
        return self.refuted(self.value + self.step * size)

    def decade(self) -> int:
        """Return the place of the first refuted change in `_SIZES`; beyond them if none is.

        Many constants notice any change, and most others none of a thousandth: two calls tell how to go on.
        """
        if self.refutes(_SIZES[0]):
            return 0
        if self.refutes(_SIZES[_MIDDLE]):
            return bisect_left(_SIZES, True, lo=1, hi=_MIDDLE, key=self.refutes)
        larger = (place for place in range(_MIDDLE + 1, len(_SIZES)) if self.refutes(_SIZES[place]))
        return next(larger, len(_SIZES))

    def bisect(self, decade: int, known: float) -> float:
        """Return the smallest refuted change within a decade, by bisection of its logarithm; `known` is refuted."""
        low, high = _SIZES[max(decade - 1, 0)], _SIZES[decade]
        for _ in range(_BISECTIONS if decade else 0):
            middle = (low * high) ** 0.5
            low, high = (low, middle) if middle >= known or self.refutes(middle) else (middle, high)
        return high
