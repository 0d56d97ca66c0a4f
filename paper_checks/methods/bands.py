"""Equivalence bands: a prediction passes if the confidence interval lies within half the distance to its nearest rival.

The rivals are all forms of a statement that are ever judged (printed, mutants, correction, control). The band of a
quantity depends on the set of rivals only, so it is the same whichever form is judged and whatever the budget.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite

from paper_checks.claim import Evidence

Predictions = Mapping[str, float]


@dataclass(frozen=True)
class Interval:
    """Confidence interval of one measured quantity."""

    low: float
    high: float

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
    level: float,
    witness: Mapping[str, Mapping[str, object]] | None = None,
) -> Evidence:
    """Judges a form by its predictions.

    Passes if every interval lies within the band around its prediction; is violated if one lies outside; is undecided
    if one straddles the end of its band.

    Args:
        measured: interval of each quantity; they hold together except with probability ``level``.
        predicted: what the form says.
        rivals: what every form says, this one included.
        scope: what was covered.
        level: probability that some interval misses.
        witness: the plain numbers behind each quantity.
    """
    halves = half_distances(rivals)
    worst, room = "", inf
    failed, straddling = "", ""
    for name, interval in measured.items():
        value, half = predicted[name], halves[name]
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
    if failed:
        found = {"quantity": failed, "predicted": predicted[failed], "low": measured[failed].low,
                 "high": measured[failed].high, **(witness or {}).get(failed, {})}  # fmt: skip
        return Evidence(False, "statistical", scope, printed, obtained, margin, cases=len(measured), level=level,
                        witness=found)  # fmt: skip
    if straddling:
        reason = f"the interval of {straddling} is wider than its band"
        return Evidence(None, "statistical", scope, printed, obtained, margin, level=level, reason=reason)
    return Evidence(True, "statistical", scope, printed, obtained, margin, cases=len(measured), level=level)
