"""Means of random quantities, by intervals whose level is stated; never by hypothesis, which chooses its own law.

No number of draws bounds a mean by itself: a value that comes once in a million draws can carry all of it. What is
known of the law in addition to the draws is therefore data, and the card states it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import binom, t

from paper_checks.claim import Evidence
from paper_checks.context import LEVEL
from paper_checks.methods.bands import SHARE, Interval, Predictions, judge_bands
from paper_checks.methods.domain import describe_draws
from paper_checks.methods.limit import mean_interval
from paper_checks.methods.sides import UndefinedError, checked_draws, number, require_some

Draws = NDArray[np.float64]


@dataclass(frozen=True)
class Tails:
    """Knowledge about the law of the draws; one of the two.

    Attributes:
        deviations: a bound on the standard deviation of one draw of each quantity, from its law. The intervals then
            hold for every law that keeps it, however heavy its tails.
        normal: why the draws are nearly normal. What is too rare to be among them is then out of sight, and the card
            says how rare.
        constant: quantities that do not vary, by what they are.

    Raises:
        UndefinedError: neither or both, or a bound that is not a positive number.
    """

    deviations: Mapping[str, float] = field(default_factory=dict)
    normal: str = ""
    constant: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if bool(self.deviations) == bool(self.normal):
            raise UndefinedError("a mean needs a bound on the deviation of its draws, or why they are nearly normal")
        if not all(number(bound, f"the deviation of {name}") > 0 for name, bound in self.deviations.items()):
            raise UndefinedError("the bound on a deviation must be positive")

    def interval(self, name: str, draws: Draws, level: float) -> Interval:
        """Return the interval of the mean of a quantity.

        Raises:
            UndefinedError: draws that contradict what is said to be known.
        """
        if name in self.constant and np.ptp(draws) == 0.0:
            return Interval(float(draws[0]), float(draws[0]))
        if self.normal:
            return normal_interval(draws, level)
        return robust_interval(draws, self.deviations[name], level)

    def describe(self, fewest: int) -> str:
        """Return the basis of the intervals."""
        if self.normal:
            return f"nearly normal draws: {self.normal}; {describe_draws(fewest)}"
        return (
            f"intervals for all laws with standard deviations of at most {min(self.deviations.values()):.2g} to "
            f"{max(self.deviations.values()):.2g}"
        )


def normal_interval(draws: Draws, level: float) -> Interval:
    """Return Student's interval, for draws that look no less normal than one in a million samples of a normal law does.

    Raises:
        UndefinedError: they are all the same, or one lies farther out than a normal law puts it.
    """
    interval, count = mean_interval(draws, level), len(draws)
    deviation = float(np.std(draws, ddof=1))
    if deviation == 0.0:
        raise UndefinedError(f"{count} draws that are all the same are not nearly normal")
    farthest = float(np.abs(draws - np.mean(draws)).max()) / deviation
    quantile = float(t.isf(LEVEL / (2.0 * count), count - 2)) if count > 2 else float("inf")
    most = (count - 1) * quantile / sqrt(count * (count - 2 + quantile**2)) if count > 2 else float("inf")
    if farthest > most:
        raise UndefinedError(f"a draw {farthest:.3g} standard deviations from the mean is not nearly normal")
    return interval


def robust_interval(draws: Draws, deviation: float, level: float) -> Interval:
    r"""Return Catoni's interval of a mean: for every law whose standard deviation is at most $\sigma$.

    With $L = \log(2/\text{level})$ it is as wide as $\sigma\sqrt{2L/(n - 2L)}$ to either side (O. Catoni, "Challenging
    the empirical mean and empirical variance", 2012, Proposition 2.4).

    Args:
        draws: independent draws, shape ``(n,)``.
        deviation: the bound on the standard deviation.
        level: probability that the interval misses.

    Raises:
        UndefinedError: too few draws, one that is not a number, or more of them far off than the bound allows.
    """
    count, length = len(draws), log(2.0 / level)
    if count <= 2.0 * length or not np.isfinite(draws).all():
        raise UndefinedError(f"a robust interval needs more than {2.0 * length:.3g} finite draws, got {count}")
    half = deviation * sqrt(2.0 * length / (count - 2.0 * length))
    scale = sqrt(2.0 * length / count) / sqrt(deviation**2 + half**2)

    def influence(mean: float) -> float:
        away = scale * (draws - mean)
        return float(np.sum(np.sign(away) * np.log1p(np.abs(away) + 0.5 * away**2)))

    low, high = float(draws.min()), float(draws.max())
    mean = float(brentq(influence, low, high)) if high > low else low
    far = int(np.sum(np.abs(draws - mean) > 2.0 * deviation + half))
    if binom.sf(far - 1, count, 0.25) < LEVEL:  # by Chebyshev a draw is that far with probability 1/4
        raise UndefinedError(f"{far} of {count} draws lie more than twice the stated deviation of {deviation:.3g} off")
    return Interval(mean - half, mean + half, level)


def judge_means(
    draws: Mapping[str, Draws],
    predicted: Predictions,
    *,
    scope: str,
    tails: Tails,
    share: float = SHARE,
    resolution: float = 0.0,
    settings: Mapping[str, Mapping[str, float]] | None = None,
) -> Evidence:
    """Judge predicted expectations against independent draws, at the level of one claim in total.

    Args:
        draws: independent draws of each quantity.
        predicted: expectations of the form that is judged.
        scope: what was covered, in words; the numbers of quantities and draws and what is known of their law are added.
        tails: what is known of their law.
        share: of a prediction, what can be resolved.
        resolution: what can be resolved where that is more, in the unit of the quantities.
        settings: parameters behind each quantity, for the witness.
    """
    require_some(draws, "quantities")
    draws = {name: checked_draws(sample, name) for name, sample in draws.items()}
    level = LEVEL / len(draws)
    intervals = {name: tails.interval(name, sample, level) for name, sample in draws.items()}
    numbers = {
        name: {**(settings or {}).get(name, {}), "draws": len(sample), "mean": float(np.mean(sample))}
        for name, sample in draws.items()
    }
    fewest = min(len(sample) for sample in draws.values())
    measured = f"{len(draws)} quantities, at least {fewest} draws each; {tails.describe(fewest)}"
    return judge_bands(
        intervals, predicted, scope=f"{scope}; {measured}", share=share, resolution=resolution, witness=numbers
    )
