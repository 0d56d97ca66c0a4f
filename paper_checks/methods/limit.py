"""Limits in the dimension R: draws at growing R, judged at the largest; the rung before it says what that one lacks.

Fluctuations of the quantities shrink with R, so at R of 10^9 and more the mean of a few draws approximates the limit. A
mean that still moves by more than its band between the last two rungs, or away from its limit, has none to show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from paper_checks.claim import Evidence
from paper_checks.context import LEVEL
from paper_checks.methods.bands import CLEARLY, SHARE, Interval, Predictions, bands, judge_bands
from paper_checks.methods.domain import describe_draws
from paper_checks.methods.sides import UndefinedError, checked_draws, require_some

EDGE = 6.0
r"""Eigenvalues at an edge lack less than this times $R^{-2/3}$: the first four Tracy-Widom means are above -6."""


@dataclass(frozen=True)
class Ladder:
    """Draws of one quantity at growing dimension.

    Attributes:
        rungs: R and the draws, shape ``(draws,)``.
        settled: why one dimension is enough, where there is but one; part of the scope.

    Raises:
        UndefinedError: one dimension without a reason, dimensions that do not grow, or draws that are not real numbers.
    """

    rungs: tuple[tuple[int, NDArray[np.float64]], ...]
    settled: str = ""

    def __post_init__(self) -> None:
        dimensions = [R for R, _ in self.rungs]
        if len(dimensions) < 2 and not self.settled:
            raise UndefinedError(f"a limit needs two dimensions, or a reason why one is enough, got R = {dimensions}")
        if sorted(set(dimensions)) != dimensions:
            raise UndefinedError(f"the dimensions of a ladder must increase, got R = {dimensions}")
        rungs = tuple((R, checked_draws(draws, f"R = {R:.4g}")) for R, draws in self.rungs)
        object.__setattr__(self, "rungs", rungs)

    def means(self) -> tuple[tuple[int, float], ...]:
        """Return mean at each R."""
        return tuple((R, float(np.mean(draws))) for R, draws in self.rungs)


def mean_interval(draws: NDArray[np.float64], level: float) -> Interval:
    """Return Student's interval of the mean of independent, nearly Gaussian draws.

    Raises:
        ValueError: fewer than two draws, or one that is not finite.
    """
    if len(draws) < 2 or not np.isfinite(draws).all():
        raise ValueError(f"an interval needs at least two finite draws, got {len(draws)}")
    half = _quantile(level, len(draws) - 1) * float(np.std(draws, ddof=1)) / sqrt(len(draws))
    mean = float(np.mean(draws))
    return Interval(mean - half, mean + half, level)


@cache
def _quantile(level: float, degrees: int) -> float:
    """Return two-sided quantile of Student's law; every form of a statement asks for the same few."""
    return float(t.ppf(1.0 - level / 2.0, degrees))


def judge_limit(
    ladders: Mapping[str, Ladder],
    predicted: Predictions,
    *,
    scope: str,
    share: float = SHARE,
    resolution: float = 0.0,
    settings: Mapping[str, Mapping[str, object]] | None = None,
    level: float = LEVEL,
) -> Evidence:
    """Judge predicted limits against the last rung of each ladder.

    Args:
        ladders: draws of each quantity.
        predicted: limits of the form that is judged.
        scope: what was covered, in words; numbers of quantities and draws and the dimensions are added.
        share: of a prediction, what can be resolved.
        resolution: what can be resolved where that is more, in the unit of the quantities.
        settings: parameters behind each quantity, for the witness.
        level: probability that one of the intervals misses.

    Raises:
        UndefinedError: a quantity has not come to its limit, and no other one violates its own.
    """
    require_some(ladders, "quantities")
    each = level / len(ladders)
    halves = bands({name: predicted[name] for name in ladders}, share, resolution)
    intervals: dict[str, Interval] = {}
    unsettled: UndefinedError | None = None
    for name, ladder in ladders.items():
        try:
            intervals[name] = _at_the_end(name, ladder, predicted[name], halves[name], each)
        except UndefinedError as error:
            unsettled = unsettled or error
    numbers = {
        name: {**(settings or {}).get(name, {}), "R": ladder.rungs[-1][0], "draws": len(ladder.rungs[-1][1])}
        for name, ladder in ladders.items()
    }
    lasts = [ladder.rungs[-1] for ladder in ladders.values()]
    counts = [len(draws) for _, draws in lasts]
    measured = (
        f"{len(ladders)} quantities at R = {_span([R for R, _ in lasts])}, {_span(counts)} draws each; "
        f"{describe_draws(min(counts))}"
    )
    alone = dict.fromkeys(ladder.settled for ladder in ladders.values() if len(ladder.rungs) == 1)
    scope = "; ".join((scope, *(f"one dimension is enough where {reason}" for reason in alone)))
    found = judge_bands(
        intervals, predicted, scope=f"{scope}; {measured}", share=share, resolution=resolution, witness=numbers
    )
    if unsettled is not None and found.ok is not False:  # what another quantity violates is violated
        raise unsettled
    return found


def _at_the_end(name: str, ladder: Ladder, limit: float, half: float, level: float) -> Interval:
    """Return the interval of the last rung, with what that rung may lack as its bias.

    With two rungs and more that is what the mean moved by since the one before, noise included.

    Raises:
        UndefinedError: the last rung lies farther from a limit within its band than the one before, or the two are
            farther apart than the band is wide.
    """
    R, draws = ladder.rungs[-1]
    last = mean_interval(draws, level)
    if len(ladder.rungs) == 1:
        return replace(last, bias=EDGE * R ** (-2.0 / 3.0) * max(1.0, abs(last.middle)))
    before = mean_interval(ladder.rungs[-2][1], level)
    moved, noise = abs(last.middle - before.middle), last.half_width + before.half_width
    last = replace(last, bias=moved + before.half_width)
    # A limit that the last rung excludes is of another form, which its band refutes.
    if abs(last.middle - limit) <= half and last.may_be(limit, CLEARLY):
        if moved - noise > half:
            raise UndefinedError(f"{name}: the mean still moves by {moved:.2g} up to R = {R:.4g}, more than its band")
        if abs(last.middle - limit) - abs(before.middle - limit) > noise:
            raise UndefinedError(f"{name}: the mean moves away from {limit:.6g} up to R = {R:.4g}")
    return last


def _span(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
