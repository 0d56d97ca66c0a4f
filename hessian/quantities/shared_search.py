"""One Krylov basis and one set of probes for several quantities, chosen by the one that needs most of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import hypot, inf, sqrt

import numpy as np

from hessian.lanczos.bounds import MISSED, probable_end
from hessian.lanczos.krylov import Krylov
from hessian.lanczos.probes import PILOT, Probes, predict_rest, predict_trace, quantile
from hessian.lanczos.stable_rank import FIRST_STEPS, Searched, StableRankEstimator
from hessian.numerics.intervals import Interval
from hessian.quantities.estimates import Estimate
from hessian.quantities.names import Quantity
from hessian.quantities.random_forms import half_width, probes_needed, shifted_squares, variance_of_form

SIGNS = {"sharpness": 1.0, "smallest": -1.0}
"""Extreme eigenvalues, and the sign that makes each the largest."""
SPREAD_MORE = "the probes spread more than the first ones showed"
BY_PROBES = ("stable-rank", "frobenius-squared", "trace")
"""Quantities that need probes of the complement, with one product each."""
FEWEST_STEPS = 4
"""Steps before the bounds of extreme eigenvalues are computed, if nothing else is asked for."""


@dataclass(frozen=True, eq=False)
class SharedSearch(StableRankEstimator):
    """The search of the stable rank for several quantities.

    Attributes:
        wanted: Names of the quantities.
        rows: Least number of rows of the basis, if there is room: those from which converged pairs are taken.
        finer: Share of the width asked for at which the probes of the trace aim.
        choices: Intervals of the trace of which one is reported, so each has its share of the error probability.
    """

    wanted: frozenset[str]
    rows: int
    finer: float = field(default=1.0, kw_only=True)
    choices: int = field(default=1, kw_only=True)

    def search(self) -> Searched:
        """Choose a basis, of few rows if they suffice for extreme eigenvalues alone, and draw probes.

        They suffice if bounds with a share `MISSED` of the error probability are close enough. By the whole of it the
        intervals would be right as often as asked for, but a start that hides an eigenvalue would be common. After
        `FIRST_STEPS` rows, the whole of it decides.

        Raises:
            CurvatureError: A product is not finite.
        """
        if self.rows or not self.wanted.issubset(SIGNS):
            return super().search()
        krylov = Krylov(self.operator, self.rng, store=self.plan.store)
        most = min(FIRST_STEPS, self.plan.rows)
        self._grow(krylov, min(FEWEST_STEPS, most))
        strict = replace(self, confidence=1.0 - MISSED * (1.0 - self.confidence))
        while krylov.size < most and strict._expects_to_gain(krylov):
            self._grow(krylov, 1)
        return self.search_from(krylov)

    def search_from(self, krylov: Krylov) -> Searched:
        """Complete a basis, and draw probes if a quantity needs them.

        Args:
            krylov: A few rows, the first of them random, perhaps in the complement of given ones.

        Raises:
            CurvatureError: A product is not finite.
        """
        if self.wanted.intersection(BY_PROBES):
            return self._complete_trace(super().search_from(krylov))
        while (more := self._room(krylov)) > 0 and self._expects_to_gain(krylov):
            self._grow(krylov, more)
        return Searched(krylov, Probes(np.empty(0), exact=True))

    def _complete_trace(self, found: Searched) -> Searched:
        """Draw further probes if those that the pilot chose do not suffice for the trace."""
        if "trace" not in self.wanted or found.probes.exact:
            return found
        count = len(found.probes.forms)
        more = min(self._count_needed(found.krylov, found.probes) - count, self.budget - self.operator.count)
        if more <= 0:
            return found
        return replace(found, probes=found.probes.merge(self._probe(found.krylov, more)))

    def extreme(self, krylov: Krylov, quantity: Quantity) -> Estimate:
        """Return an extreme eigenvalue: a Ritz value bounds it on one side, the chance of a hidden one on the other.

        The residual r of the Ritz pair shows that there is more beyond the value, at least what two rows give whose
        coupling is r. We do not trust a bound below that, because the start may hide the eigenvalue. Then r replaces
        it, within which there is an eigenvalue.

        Args:
            krylov: The basis.
            quantity: `sharpness` or `smallest`.
        """
        sign = SIGNS[quantity.name]
        slack = krylov.rounding + sqrt(krylov.lost_square)
        values, _, residuals = krylov.ritz()
        top = int((sign * values).argmax())
        value, end, residual = sign * float(values[top]), self._end(krylov, sign), float(residuals[top])
        half = (value + krylov.largest) / 2.0
        if end < value + hypot(half, residual) - half:
            end = value + residual
        low, high = value - slack, max(end, value) + slack
        ends = (low, high) if sign > 0.0 else (-high, -low)
        reached = high - low <= self.width * krylov.largest
        limit = "" if reached else "raise products" if krylov.size < self.plan.rows else "raise basis"
        ends = (ends[0] + 0.0, ends[1] + 0.0)  # no negative zeros
        return Estimate(quantity, sign * value + 0.0, *ends, self.confidence, 0, reached, limit, high - low)

    def _end(self, krylov: Krylov, sign: float) -> float:
        """Return an upper bound of the largest eigenvalue of the matrix times a sign."""
        return probable_end(krylov, sign, 1.0 - self.confidence)

    def square(self, found: Searched, quantity: Quantity) -> Estimate:
        """Return the squared Frobenius norm."""
        interval = self.build_square(found)
        probes = 0 if found.probes.exact else len(found.probes.squares)
        reached = interval.high - interval.low <= self.width * interval.value
        limit = "" if reached else "raise products"
        return Estimate(quantity, interval.value, interval.low, interval.high, self.confidence, probes, reached, limit)

    def trace(self, found: Searched, quantity: Quantity) -> Estimate:
        """Return the trace."""
        krylov, probes = found.krylov, found.probes
        interval, slack = self._trace(krylov, probes)
        reached = interval.high - interval.low <= self.width * abs(interval.value)
        limit = "" if reached else "raise products" if self.operator.count >= self.budget else SPREAD_MORE
        count = 0 if probes.exact else len(probes.forms)
        return Estimate(
            quantity, interval.value, interval.low, interval.high, self.confidence, count, reached, limit, 2.0 * slack
        )

    def _trace(self, krylov: Krylov, probes: Probes) -> tuple[Interval, float]:
        """Return the interval of the trace, and what rounding may change."""
        known, left = float(krylov.compression.trace()), krylov.P - krylov.size
        unit = krylov.rounding / krylov.largest if krylov.largest > 0.0 else 0.0
        if probes.exact:
            value, half, size = known + float(probes.forms.sum()), 0.0, float(probes.squares.sum())
        else:
            value = known + float(probes.forms.mean())
            square, degrees = self._trace_moments(krylov, probes)
            count = len(probes.forms)
            half, size = half_width(square, left, count, degrees * count, self._confidence_of_trace), probes.mean
        slack = krylov.size * krylov.rounding + unit * sqrt(left * max(size, 0.0))
        return Interval(value, value - half - slack, value + half + slack), slack

    def trace_error(self, found: Searched) -> tuple[float, float]:
        """Return the variance of the trace's estimate, and the degrees of freedom with which it is known."""
        krylov, probes = found.krylov, found.probes
        if probes.exact:
            return 0.0, inf
        square, degrees = self._trace_moments(krylov, probes)
        count = len(probes.forms)
        return variance_of_form(square, krylov.P - krylov.size) / count, degrees * count

    def _trace_moments(self, krylov: Krylov, probes: Probes) -> tuple[float, float]:
        """Return the complement's squared norm about its mean eigenvalue, and the degrees of freedom of one probe."""
        shift, squares = shifted_squares(probes.forms, probes.squares, probes.directions)
        about = replace(probes, squares=squares, predicted=predict_rest(krylov, shift))
        spread = min(about.pilot_spread, sqrt(2.0))
        return about.mean, 2.0 / spread**2 if spread > 0.0 else inf

    def _expects_to_gain(self, krylov: Krylov) -> bool:
        if krylov.size < min(self.rows, self.plan.rows):
            return True
        for name in sorted(self.wanted.intersection(SIGNS)):
            if not self.extreme(krylov, Quantity(name)).reached:
                return True
        return bool(self.wanted.intersection(BY_PROBES)) and super()._expects_to_gain(krylov)

    def _is_loose(self, norm: Interval) -> bool:
        return "stable-rank" in self.wanted and super()._is_loose(norm)

    def _share(self, krylov: Krylov, rest_square: float) -> float:
        return super()._share(krylov, rest_square) if "stable-rank" in self.wanted else 0.85 * self.width

    def _predict_probes(self, krylov: Krylov) -> float:
        squares = super()._predict_probes(krylov) if self._needs_squares else 0.0
        if "trace" not in self.wanted:
            return squares
        rest, left = predict_trace(krylov), krylov.P - krylov.size
        if left == 0:
            return 0.0
        half = 0.425 * self.finer * self.width * abs(float(krylov.compression.trace()) + rest)
        square = max(predict_rest(krylov).square - rest**2 / left, 0.0)
        forms = 2.0 * square * (quantile(self._confidence_of_trace) / half) ** 2 if half > 0.0 else inf
        return max(squares, min(forms, float(left)))

    def _count_needed(self, krylov: Krylov, probes: Probes, mean: float | None = None) -> int:
        squares = super()._count_needed(krylov, probes, mean) if self._needs_squares else PILOT
        if "trace" not in self.wanted or probes.exact:
            return squares
        interval, slack = self._trace(krylov, probes)
        target = self.width * abs(interval.value)
        half = 0.5 * self.finer * max(0.85 * target - 2.0 * slack, target / 3.0)
        square, degrees = self._trace_moments(krylov, probes)
        needed = probes_needed(square, krylov.P - krylov.size, degrees, self._confidence_of_trace, half)
        return max(squares, PILOT, needed)

    @property
    def _confidence_of_trace(self) -> float:
        return 1.0 - (1.0 - self.confidence) / self.choices

    @property
    def _needs_squares(self) -> bool:
        return bool(self.wanted & {"stable-rank", "frobenius-squared"})

    def _pilot_signs(self, krylov: Krylov, others: float) -> Probes | None:
        return None if "trace" in self.wanted else super()._pilot_signs(krylov, others)

    @property
    def _keeps_forms(self) -> bool:
        return "trace" in self.wanted
