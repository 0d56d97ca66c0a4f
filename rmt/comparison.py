"""Empirical against predicted, with an uncertainty that comes from the sample or from theory."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm, t

from rmt.laws import Law
from rmt.results import Result


@dataclass(frozen=True)
class Comparison(Result):
    """One measured number beside its prediction.

    Attributes:
        quantity: what is compared.
        predicted: the prediction.
        observed: the measurement, a sample mean or a single value.
        standard_error: of ``observed``.
        source: whether the standard error was estimated from the sample or is predicted by theory.
        draws: size of the sample.
    """

    quantity: str
    predicted: float
    observed: float
    standard_error: float
    source: Literal["sample", "theory"]
    draws: int

    @classmethod
    def from_sample(cls, quantity: str, sample: ArrayLike, predicted: float) -> Comparison:
        """Compares the mean of independent draws; needs at least two finite ones.

        Raises:
            ValueError: fewer than two draws, or one that is not finite.
        """
        draws = np.asarray(sample, dtype=float).reshape(-1)
        if len(draws) < 2 or not np.isfinite(draws).all():
            raise ValueError(f"{quantity}: a sample needs at least two finite draws, got {len(draws)}")
        error = float(draws.std(ddof=1)) / sqrt(len(draws))
        return cls(quantity, float(predicted), float(draws.mean()), error, "sample", len(draws))

    @classmethod
    def from_theory(cls, quantity: str, observed: float, predicted: float, standard_error: float) -> Comparison:
        """Compares a single value whose fluctuation theory predicts.

        Raises:
            ValueError: a standard error that is not positive.
        """
        if not standard_error > 0:
            raise ValueError(f"{quantity}: the predicted standard error must be positive, got {standard_error}")
        return cls(quantity, float(predicted), float(observed), float(standard_error), "theory", 1)

    @property
    def deviation(self) -> float:
        """Observed minus predicted, in standard errors."""
        difference = self.observed - self.predicted
        if self.standard_error == 0.0:
            return 0.0 if difference == 0.0 else inf * np.sign(difference)
        return difference / self.standard_error

    def interval(self, level: float = 1e-6) -> tuple[float, float]:
        """Two-sided confidence interval of the measured quantity that misses with probability ``level``."""
        tail = 1.0 - level / 2.0
        quantile = float(t.ppf(tail, self.draws - 1)) if self.source == "sample" else float(norm.ppf(tail))
        return self.observed - quantile * self.standard_error, self.observed + quantile * self.standard_error

    def agrees(self, level: float = 1e-6) -> bool:
        """Whether the prediction lies inside the interval."""
        low, high = self.interval(level)
        return low <= self.predicted <= high


def distribution_distance(eigenvalues: ArrayLike, law: Law) -> float:
    r"""Kolmogorov distance $\sup_x |F_R(x) - F(x)|$ of an empirical spectrum from a law.

    Raises:
        ValueError: no eigenvalues.
    """
    values = np.sort(np.asarray(eigenvalues, dtype=float).reshape(-1))
    if not len(values):
        raise ValueError("no eigenvalues to compare")
    jumps = np.zeros(len(values))
    for location, mass in law.atoms:  # eigenvalues of an atom come back with rounding; put them on it again
        at = np.abs(values - location) <= 1e-9 * float(np.abs(values).max())
        values[at], jumps[at] = location, mass
    predicted = np.asarray(law.cdf(values))
    at_most = np.searchsorted(values, values, side="right") / len(values)
    below = np.searchsorted(values, values, side="left") / len(values)
    return float(max(np.abs(predicted - at_most).max(), np.abs(predicted - jumps - below).max()))
