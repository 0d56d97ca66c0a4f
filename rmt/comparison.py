"""Empirical against predicted, with an uncertainty that comes from the sample or from theory."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isinf, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm, t

from rmt.checks import freeze, require, require_number, require_positive
from rmt.laws import Law
from rmt.results import Result
from rmt.spiked import power_of_two

_ALIKE = 1e-8
"""Draws that differ by less, relative to the largest, are averaged as differences: their mean would round by more."""
_LEAST_LEVEL = 1e-300
"""Chance to miss below which no quantile is known."""
_EPS = float(np.finfo(float).eps)
_ROUNDING = 4.0 * _EPS
"""Relative difference that rounding of a measurement and of its prediction can make."""
_APART = 2e-12
"""Share of the largest modulus within which a value belongs to an atom that has no other mass near."""
_NO_MASS = 1e-9
"""Mass that changes no distance noticeably: it also covers the rounding of a distribution function."""


@dataclass(frozen=True)
class Comparison(Result):
    """One measured number and its prediction.

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
        """Compare the mean of independent draws; needs at least two finite ones.

        Raises:
            ValueError: fewer than two draws, one that is not finite, or a prediction that is not a number.
        """
        predicted = require_number(f"{quantity}: the prediction", predicted)
        draws = freeze(f"{quantity}: a sample", sample).reshape(-1)
        if len(draws) < 2 or not np.isfinite(draws).all():
            raise ValueError(f"{quantity}: a sample needs at least two finite draws, got {len(draws)}")
        unit = power_of_two(draws)  # squares of the draws themselves may leave double precision
        draws = draws / unit
        common = float(draws[0]) if np.ptp(draws) <= _ALIKE * np.abs(draws).max() else 0.0
        draws = draws - common
        mean, error = common + float(draws.mean()), float(draws.std(ddof=1)) / sqrt(len(draws))
        return cls(quantity, predicted, unit * mean, unit * error, "sample", len(draws))

    @classmethod
    def from_theory(cls, quantity: str, observed: float, predicted: float, standard_error: float) -> Comparison:
        """Compare a single value whose fluctuation theory predicts.

        Raises:
            ValueError: a standard error that is not positive and finite, or something that is not a number.
        """
        error = require_positive(f"{quantity}: the predicted standard error", standard_error)
        numbers = [
            require_number(f"{quantity}: the {name}", value)
            for name, value in (("prediction", predicted), ("observation", observed))
        ]
        return cls(quantity, numbers[0], numbers[1], error, "theory", 1)

    @property
    def deviation(self) -> float:
        """Observed minus predicted, in standard errors; 0 if both are only rounding."""
        if self.observed == self.predicted:  # also where both are the same infinity
            return 0.0
        difference = self.observed - self.predicted
        if isinf(difference):
            return difference
        rounding = _ROUNDING * max(abs(self.observed), abs(self.predicted))
        if abs(difference) <= rounding and self.standard_error <= rounding:
            return 0.0
        if self.standard_error == 0.0:
            return inf * np.sign(difference)
        return difference / self.standard_error

    def interval(self, level: float = 1e-6) -> tuple[float, float]:
        """Return two-sided confidence interval of the measured quantity that misses with probability ``level``.

        Raises:
            ValueError: a level outside (0, 1), or below 1e-300.
        """
        reach = self._quantile(level) * self.standard_error
        return self.observed - reach, self.observed + reach

    def agrees(self, level: float = 1e-6) -> bool:
        """Return whether the prediction lies inside the interval, or differs only by rounding.

        Raises:
            ValueError: a level outside (0, 1), or below 1e-300.
        """
        return bool(abs(self.deviation) <= self._quantile(level))

    def _quantile(self, level: float) -> float:
        """Return half the width of the interval, in standard errors."""
        inside = _LEAST_LEVEL <= require_number("level", level) < 1.0
        require(inside, f"level, a chance to miss, must lie between {_LEAST_LEVEL:g} and 1, got {level}")
        tail = level / 2.0
        return float(t.isf(tail, self.draws - 1)) if self.source == "sample" else float(norm.isf(tail))


def distribution_distance(eigenvalues: ArrayLike, law: Law, *, scale: float | None = None) -> float:
    r"""Return the Kolmogorov distance $\sup_x |F_R(x) - F(x)|$ of an empirical spectrum from a law.

    Eigenvalues of an atom come back with rounding, so values next to an atom count as the nearest atom: within
    $2\cdot 10^{-12}\max|\lambda|$ where the law has no other mass so near, else within the rounding of eigenvalues,
    $n\epsilon\max|\lambda|$ for n of them.

    Rounding is that of the whole matrix. If outliers are left out, as for the distance of a bulk, pass the largest
    modulus of all eigenvalues as ``scale``: next to an outlier of $10^6$ the zeros of a kernel come back as numbers of
    up to $10^{-9}$ of either sign, which otherwise count as eigenvalues off the atom at 0.

    Args:
        eigenvalues: of the matrix, or some of them.
        law: the law.
        scale: largest modulus of all eigenvalues of the matrix, or its norm; by default that of the ones given.

    Raises:
        ValueError: no eigenvalues, one that is not finite, or a scale that is not positive and finite.

    >>> from rmt import AtomicLaw
    >>> bulk = [-3e-10, 2e-10, 1.0, 1.0]  # of a matrix whose outlier, 1e6, is left out
    >>> law = AtomicLaw((0.0, 1.0), (0.5, 0.5))
    >>> distribution_distance(bulk, law), distribution_distance(bulk, law, scale=1e6)
    (0.25, 0.0)
    """
    values = np.sort(freeze("eigenvalues", eigenvalues).reshape(-1))
    if not len(values):
        raise ValueError("no eigenvalues to compare")
    finite = np.isfinite(values)
    require(bool(finite.all()), f"eigenvalues must be finite, got {values[~finite][:1]}")
    size = max(float(np.abs(values).max()), 0.0 if scale is None else require_positive("scale", scale))
    values, jumps = _put_on_atoms(values, law, size)
    predicted = np.asarray(law.cdf(values))
    at_most = np.searchsorted(values, values, side="right") / len(values)
    below = np.searchsorted(values, values, side="left") / len(values)
    return float(max(np.abs(predicted - at_most).max(), np.abs(predicted - jumps - below).max()))


def _put_on_atoms(values: np.ndarray, law: Law, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Return increasing values, those of atoms at the atom's location, and the mass of the law at each value.

    Args:
        values: eigenvalues, increasing, (n,).
        law: the law.
        size: largest modulus of the eigenvalues of the matrix, which sets their rounding.
    """
    if not law.atoms:
        return values, np.zeros(len(values))
    errors = law._atom_errors or (0.0,) * len(law.atoms)
    locations, masses, errors = np.array(sorted((*atom, e) for atom, e in zip(law.atoms, errors, strict=True))).T
    apart = _APART * size
    alone = np.asarray(law.cdf(locations + apart)) - np.asarray(law.cdf(locations - apart)) - masses <= _NO_MASS
    reach = np.maximum(np.where(alone, apart, min(len(values) * _EPS * size, apart)), errors)
    right = np.clip(np.searchsorted(locations, values), 1, max(len(locations) - 1, 1)) % len(locations)
    left = np.maximum(right - 1, 0)
    nearest = np.where(values - locations[left] <= locations[right] - values, left, right)
    at = np.abs(values - locations[nearest]) <= reach[nearest]
    return np.where(at, locations[nearest], values), np.where(at, masses[nearest], 0.0)
