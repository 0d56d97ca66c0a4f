"""Limits in the dimension R: draws at growing R, judged at the largest, where the bias is negligible.

Fluctuations of the quantities shrink with R, so at R of 10^9 and more the mean of a few draws stands for the limit;
the ladder of smaller R shows the approach.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from paper_checks.claim import Evidence
from paper_checks.context import LEVEL
from paper_checks.methods.bands import Interval, Predictions, judge_bands


@dataclass(frozen=True)
class Ladder:
    """Draws of one quantity at growing dimension: R and the draws, shape ``(draws,)``."""

    rungs: tuple[tuple[int, NDArray[np.float64]], ...]

    def means(self) -> tuple[tuple[int, float], ...]:
        """Mean at each R."""
        return tuple((R, float(np.mean(draws))) for R, draws in self.rungs)


def mean_interval(draws: NDArray[np.float64], level: float) -> Interval:
    """Student interval of the mean of independent, nearly Gaussian draws.

    Raises:
        ValueError: fewer than two draws, or one that is not finite.
    """
    if len(draws) < 2 or not np.isfinite(draws).all():
        raise ValueError(f"an interval needs at least two finite draws, got {len(draws)}")
    half = float(t.ppf(1.0 - level / 2.0, len(draws) - 1)) * float(np.std(draws, ddof=1)) / sqrt(len(draws))
    mean = float(np.mean(draws))
    return Interval(mean - half, mean + half)


def judge_limit(
    ladders: Mapping[str, Ladder],
    predicted: Predictions,
    rivals: Sequence[Predictions],
    *,
    scope: str,
    settings: Mapping[str, Mapping[str, object]] | None = None,
) -> Evidence:
    """Judges predicted limits against the last rung of each ladder, at the level of one claim in total.

    Args:
        ladders: draws of each quantity.
        predicted: limits of the form that is judged.
        rivals: limits of every form.
        scope: what was covered, in words; numbers of quantities and draws and the dimensions are added.
        settings: parameters behind each quantity, for the witness.
    """
    level = LEVEL / len(ladders)
    intervals = {name: mean_interval(ladder.rungs[-1][1], level) for name, ladder in ladders.items()}
    numbers = {
        name: {**(settings or {}).get(name, {}), "R": ladder.rungs[-1][0], "draws": len(ladder.rungs[-1][1])}
        for name, ladder in ladders.items()
    }
    lasts = [ladder.rungs[-1] for ladder in ladders.values()]
    measured = (
        f"{len(ladders)} quantities at R = {_span([R for R, _ in lasts])}, {_span([len(d) for _, d in lasts])} draws"
    )
    return judge_bands(intervals, predicted, rivals, scope=f"{scope}; {measured} each", level=LEVEL, witness=numbers)


def _span(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
