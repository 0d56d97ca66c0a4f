"""Equivalence bands: a prediction passes if the confidence interval lies within half the distance to its nearest rival.

The rivals are all forms of a statement that are ever judged (printed, mutants, correction, control). The band of a
quantity depends on the set of rivals only, so it is the same whichever form is judged and whatever the budget.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan

from paper_checks.claim import Evidence
from paper_checks.lines import line_of
from paper_checks.methods.sides import UndefinedError, number

Predictions = Mapping[str, float]


@dataclass(frozen=True)
class Interval:
    """Confidence interval of one measured quantity.

    Attributes:
        low: lower end.
        high: upper end.
        level: probability that it misses.
        bias: how far what was measured may lie from what is predicted, as a limit from a finite dimension.

    Raises:
        UndefinedError: an end that is no finite number, or ends in the wrong order.
    """

    low: float
    high: float
    level: float = 0.0
    bias: float = 0.0

    def __post_init__(self) -> None:
        ends = number(self.low, "an end of an interval"), number(self.high, "an end of an interval")
        if ends[0] > ends[1] or number(self.level, "a level") < 0 or number(self.bias, "a bias") < 0:
            raise UndefinedError(f"no interval: [{self.low}, {self.high}], level {self.level}, bias {self.bias}")

    def may_be(self, value: float) -> bool:
        """Whether a value lies in the interval, up to the bias."""
        return self.low - self.bias <= value <= self.high + self.bias

    @property
    def middle(self) -> float:
        """Centre of the interval."""
        return 0.5 * (self.low + self.high)

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return 0.5 * (self.high - self.low)


def half_distances(rivals: Sequence[Predictions]) -> dict[str, float]:
    """Half the smallest distance between different rival values of each quantity.

    A quantity on which all rivals agree takes the smallest half distance of the others: it cannot tell rivals apart,
    but it must still not contradict them.

    Raises:
        ValueError: all rivals agree everywhere, so that no measurement could tell them apart.
    """
    halves: dict[str, float] = {}
    for name in rivals[0]:
        if any(isnan(rival[name]) for rival in rivals):
            raise UndefinedError(f"a form predicts no number for {name}")
        values = sorted({rival[name] for rival in rivals if isfinite(rival[name])})
        same = 1e-9 * max(map(abs, values), default=0.0)
        gaps = [b - a for a, b in itertools.pairwise(values) if b - a > same]
        halves[name] = 0.5 * min(gaps, default=inf)
    smallest = min(halves.values())
    if not isfinite(smallest):
        raise ValueError("the forms of this statement predict the same values everywhere: nothing can be tested")
    return {name: half if isfinite(half) else smallest for name, half in halves.items()}


def judge_bands(
    measured: Mapping[str, Interval],
    predicted: Predictions,
    rivals: Sequence[Predictions],
    *,
    scope: str,
    witness: Mapping[str, Mapping[str, object]] | None = None,
) -> Evidence:
    """Judges a form by its predictions.

    Passes if every interval lies within the band around its prediction; is violated if one lies outside; is undecided
    if one straddles the end of its band. The level spent is the sum of the intervals' own.

    Args:
        measured: interval of each quantity.
        predicted: what the form says.
        rivals: what every form says, this one included.
        scope: what was covered.
        witness: the plain numbers behind each quantity.

    Raises:
        UndefinedError: a passing form predicts what its own interval excludes, so that only a wide band lets it pass;
            or a form predicts no number.
    """
    if not measured:
        return Evidence(True, scope, obtained="no quantity", cases=0)
    level = sum(interval.level for interval in measured.values())
    halves = half_distances(rivals)
    worst, room = "", inf
    failed, straddling = "", ""
    for name, interval in measured.items():
        value, half = predicted[name], halves[name]
        if isinstance(value, complex) or isnan(value):
            raise UndefinedError(f"{name}: the form predicts no number")
        inside = half - max(abs(interval.low - value), abs(interval.high - value)) if isfinite(value) else -inf
        outside = max(interval.low - value, value - interval.high) - half if isfinite(value) else inf
        if outside > 0 and not failed:
            failed = name
        elif inside < 0 and outside <= 0:
            straddling = straddling or name
        if inside / half < room:
            worst, room = name, inside / half
    shown = failed or straddling or worst
    printed = f"{shown}: {predicted[shown]:.6g} (band {halves[shown]:.2g})"
    obtained = f"{measured[shown].middle:.6g} within {measured[shown].half_width:.2g}"
    margin = room if isfinite(room) else -1.0
    middles = [interval.middle for interval in measured.values()]
    outcome = False if failed else None if straddling else True
    lines = {"": line_of(outcome, [predicted[name] for name in measured], middles, equal=True)}
    if failed:
        found = {"quantity": failed, "predicted": predicted[failed], "low": measured[failed].low,
                 "high": measured[failed].high, **(witness or {}).get(failed, {})}  # fmt: skip
        return Evidence(False, scope, printed, obtained, min(margin, 0.0), cases=len(measured), level=level,
                        witness=found, lines=lines)  # fmt: skip
    if straddling:
        reason = f"the interval of {straddling} is wider than its band"
        return Evidence(None, scope, printed, obtained, margin, level=level, reason=reason, lines=lines)
    for name, interval in measured.items():
        if not interval.may_be(predicted[name]):
            raise UndefinedError(
                f"{name}: {predicted[name]:.6g} is within the band of {halves[name]:.2g} but not in the measured "
                f"[{interval.low:.6g}, {interval.high:.6g}], with a bias of at most {interval.bias:.2g}"
            )
    return Evidence(True, scope, printed, obtained, margin, cases=len(measured), level=level, lines=lines)
