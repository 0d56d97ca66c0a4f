"""Equivalence bands: a prediction passes if the confidence interval lies within 2 % of it, or within a resolution.

The band of a quantity follows from what is predicted, never from other forms of the statement. A prediction of 0 has no
2 %. There, and where a measurement cannot resolve 2 %, the resolution is stated in the scope.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite, isnan

from paper_checks.claim import Evidence
from paper_checks.engine.lines import line_of
from paper_checks.methods.sides import UndefinedError, number

Predictions = Mapping[str, float]
CLEARLY = 3.0
"""Half widths, with their bias, beyond which an interval excludes a prediction without doubt."""
SHARE = 0.02
"""Share of a quantity by which it may lie off its prediction: small enough that a form 5 % off is noticed."""


@dataclass(frozen=True)
class Interval:
    """Confidence interval of one measured quantity.

    Attributes:
        low: lower end.
        high: upper end.
        level: probability that it misses.
        bias: how far what was measured may lie from what is predicted, as a limit from a finite dimension.

    Raises:
        UndefinedError: an end that is not a finite number, or ends in the wrong order.
    """

    low: float
    high: float
    level: float = 0.0
    bias: float = 0.0

    def __post_init__(self) -> None:
        ends = number(self.low, "an end of an interval"), number(self.high, "an end of an interval")
        if ends[0] > ends[1] or number(self.level, "a level") < 0 or number(self.bias, "a bias") < 0:
            raise UndefinedError(f"not an interval: [{self.low}, {self.high}], level {self.level}, bias {self.bias}")

    def may_be(self, value: float, times: float = 1.0) -> bool:
        """Return whether a value lies in the interval, up to the bias; or in one so many times as wide."""
        return abs(value - self.middle) <= times * (self.half_width + self.bias)

    @property
    def middle(self) -> float:
        """Centre of the interval."""
        return 0.5 * (self.low + self.high)

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return 0.5 * (self.high - self.low)


def bands(predicted: Predictions, share: float = SHARE, resolution: float = 0.0) -> dict[str, float]:
    """Return how far each quantity may lie from its prediction: a share of that, or the resolution if that is more.

    Args:
        predicted: what a form says.
        share: of a prediction.
        resolution: what the measurement can tell, in the unit of the quantities.

    Raises:
        UndefinedError: a form predicts no number, or 0 without a resolution.
    """
    found = {}
    for name, value in predicted.items():
        if isinstance(value, complex) or isnan(value):
            raise UndefinedError(f"a form predicts no number for {name}")
        found[name] = max(share * abs(value), resolution) if isfinite(value) else resolution
        if not found[name]:
            raise UndefinedError(f"{name}: a band around {value:g} needs the resolution of the measurement")
    return found


def judge_bands(
    measured: Mapping[str, Interval],
    predicted: Predictions,
    *,
    scope: str,
    share: float = SHARE,
    resolution: float = 0.0,
    witness: Mapping[str, Mapping[str, object]] | None = None,
) -> Evidence:
    """Judge a form by its predictions.

    Passes if every interval lies within the band around its prediction; is violated if one lies outside, or excludes
    its prediction by as much again as the interval and its bias are wide, thrice; is undecided if one straddles the end
    of its band. The level spent is the sum of the intervals' own.

    Args:
        measured: interval of each quantity.
        predicted: what the form says.
        scope: what was covered.
        share: of a prediction, what the measurement can tell.
        resolution: what it can tell where that is more, in the unit of the quantities.
        witness: the plain numbers behind each quantity.

    Raises:
        UndefinedError: a passing form predicts what its own interval excludes, so only a wide band lets it pass;
            or a form predicts no number.
    """
    if not measured:
        return Evidence(True, scope, obtained="no quantity", cases=0)
    level = sum(interval.level for interval in measured.values())
    halves = bands({name: predicted[name] for name in measured}, share, resolution)
    least = f"{share:.0%}{f', or {resolution:g} where that is more,' if resolution else ''}"
    scope = f"{scope}; a deviation of {least} would be noticed"
    worst, room = "", inf
    failed, straddling = "", ""
    for name, interval in measured.items():
        value, half = predicted[name], halves[name]
        inside = half - max(abs(interval.low - value), abs(interval.high - value)) if isfinite(value) else -inf
        outside = max(interval.low - value, value - interval.high) - half if isfinite(value) else inf
        excluded = not interval.may_be(value, CLEARLY)
        if excluded:
            inside = min(inside, -abs(value - interval.middle))
        if (outside > 0 or excluded) and not failed:
            failed = name
        elif inside < 0 and outside <= 0 and not excluded:
            straddling = straddling or name
        if inside / (half or 1.0) < room:
            worst, room = name, inside / (half or 1.0)
    shown = failed or straddling or worst
    printed = f"{shown}: {predicted[shown]:.6g} (band {halves[shown]:.2g})"
    obtained = f"{measured[shown].middle:.6g} within {measured[shown].half_width:.2g}"
    margin = room if isfinite(room) else -1.0
    middles = [interval.middle for interval in measured.values()]
    outcome = False if failed else None if straddling else True
    lines = {"": line_of(outcome, [predicted[name] for name in measured], middles, equal=True)}
    if failed:
        found = {
            "quantity": failed,
            "predicted": predicted[failed],
            "low": measured[failed].low,
            "high": measured[failed].high,
            **(witness or {}).get(failed, {}),
        }
        return Evidence(
            False,
            scope,
            printed,
            obtained,
            min(margin, 0.0),
            cases=len(measured),
            level=level,
            witness=found,
            lines=lines,
        )
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
