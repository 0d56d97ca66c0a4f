"""Results of comparisons: the difference paired over seeds, its interval, and the smallest detectable difference.

`supports`, `contradicts` and `undecided` refer to our runs, never to the paper's scale. A statement about a regime that
no run enters, such as later rounds, is `not reached`, regardless of the difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np
import pandas as pd

from figures.figure import FigureError
from runs.listing import LEVEL, paired_difference

POWER = 0.8
"""Probability of detecting a difference of the smallest detectable size."""
Finding = Literal["supports", "contradicts", "undecided", "not reached"]


@dataclass(frozen=True)
class Effect:
    """A difference between two lines, paired by seed.

    Attributes:
        pairs: Number of seeds that both have; runs that failed are left out.
        mean: Mean of the differences; nan where there is none.
        half_width: Half the width of the 95 % interval of Student's t around it; infinite for fewer than two seeds.
        detectable: The smallest true difference that a two-sided t test at 5 % with as many seeds, and differences
            that scatter as these do, finds with probability 0.8; infinite for fewer than two seeds.
        failed: Seeds left out since a run of either line failed.
        unit: Unit of its hundredths.
        limit: Where all runs end, such as `12 rounds`, if the statement is about later ones; else empty.
    """

    pairs: int
    mean: float
    half_width: float
    detectable: float
    failed: int = 0
    unit: str = "points"
    limit: str = ""

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + self.half_width

    @property
    def above(self) -> Finding:
        """Finding on the statement that the first line is above the second."""
        if self.limit:
            return "not reached"
        if self.low > 0.0:
            return "supports"
        return "contradicts" if self.high < 0.0 else "undecided"

    @property
    def verdict(self) -> str:
        """The finding in words, with the end of the runs if they do not reach what the statement is about.

        >>> Effect(2, -0.026, 0.007, 0.01, limit="12 rounds").verdict
        'not reached within 12 rounds'
        """
        return f"{self.above} within {self.limit}" if self.limit else self.above

    @property
    def reversed(self) -> Effect:
        """Return the effect with the second line first."""
        return replace(self, mean=-self.mean)

    @property
    def text(self) -> str:
        """Mean, interval and the smallest detectable difference, in hundredths.

        >>> Effect(5, 0.021, 0.013, 0.02).text
        '+2.1 [+0.8, +3.4] points, smallest detectable 2.0'
        """
        if not self.pairs:
            return "no seed without a failed run"
        failed = f", {self.failed} of {self.pairs + self.failed} seeds left out because a run failed" * bool(
            self.failed
        )
        if not np.isfinite(self.half_width):
            return f"{100 * self.mean:+z.1f} {self.unit}, one seed{failed}"
        return (
            f"{100 * self.mean:+z.1f} [{100 * self.low:+z.1f}, {100 * self.high:+z.1f}] {self.unit}, smallest "
            f"detectable {100 * self.detectable:.1f}{failed}"
        )


def paired_effect(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Effect:
    """Return the effect between two lines from their final values by seed; nan marks a failed run.

    Raises:
        FigureError: No seed that both have.
    """
    common = [seed for seed in ours if seed in theirs]
    pairs = [ours[seed] - theirs[seed] for seed in common]
    whole = [pair for pair in pairs if np.isfinite(pair)]
    if not pairs:
        raise FigureError("the two lines have no seed in common")
    failed, nothing = len(pairs) - len(whole), float("inf")
    mean, half_width = paired_difference(whole) if whole else (float("nan"), None)
    if half_width is None:
        return Effect(len(whole), mean, nothing, nothing, failed)
    return Effect(len(whole), mean, half_width, smallest_detectable(whole), failed)


def smallest_detectable(pairs: list[float]) -> float:
    """Return the smallest mean difference detected with probability `POWER`, given the spread of these differences."""
    return _standard_errors(len(pairs) - 1) * float(np.std(pairs, ddof=1)) / float(np.sqrt(len(pairs)))


@cache
def _standard_errors(degrees: int) -> float:
    """Return the smallest detectable mean in units of its standard error, d.

    The two-sided t test at 5 % rejects if a normal variable with mean d exceeds the bound times the ratio of estimated
    and true deviation, which has a chi distribution.
    """
    from scipy.integrate import quad
    from scipy.optimize import brentq
    from scipy.stats import chi, norm, t

    bound = t.ppf((1 + LEVEL) / 2, degrees) / np.sqrt(degrees)

    def missed(d: float) -> float:
        found = quad(lambda u: (norm.sf(bound * u - d) + norm.cdf(-bound * u - d)) * chi.pdf(u, degrees), 0.0, np.inf)
        return POWER - found[0]

    return float(brentq(missed, 0.0, 100.0))


def by_seed(ends: pd.DataFrame, **keys: str | int) -> dict[int, float]:
    """Return the final values of a line by seed, from the table of `figures.experiments.experiment.finals`.

    Raises:
        FigureError: No line has these keys, or several.
    """
    mine = ends
    for name, value in keys.items():
        mine = mine[mine[name] == value]
    if mine.empty or mine.seed.duplicated().any():
        raise FigureError(f"{'no line' if mine.empty else 'several lines'} of the experiment with {keys}")
    return {int(seed): float(value) for seed, value in zip(mine.seed, mine.value, strict=True)}


def mean_and_half_width(values: Mapping[int, float]) -> tuple[float, float]:
    """Return the mean over the seeds that did not fail, and half the width of its 95 % interval, or nan."""
    whole = [value for value in values.values() if np.isfinite(value)]
    if not whole:
        return float("nan"), float("nan")
    mean, half_width = paired_difference(whole)
    return mean, float("nan") if half_width is None else half_width
