"""Quantities of similar matrices that are measured one after the other, as at the states of a training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import floor, inf, sqrt

import numpy as np
from scipy.stats import t as student

from hessian.lanczos.krylov import Progress
from hessian.numerics.symmetric import SymmetricOperator
from hessian.quantities.estimates import Estimate, Measurement
from hessian.quantities.measurement import LEAST_PRODUCTS, PARTS, STREAM, MeasureSettings, measure_from, stream_of
from hessian.quantities.names import Quantity
from hessian.quantities.trace_changes import VECTORS, TraceAnchor
from hessian.quantities.warm_search import WORTH, WarmStart

TRACE = Quantity("trace")
FOLLOWED = frozenset(("trace", "sharpness", "smallest", "frobenius-squared", "stable-rank"))
"""Quantities among which a trace is followed by differences; others need probes of their own in any case."""
CHOICES = 2
"""Intervals of which one is reported: by the difference from an earlier matrix, or by a full measurement."""
TRIAL = 8
"""Probes of the first difference, which shows how fast the matrices change."""
TRIAL_SHARE = 0.4
"""Cost of that trial, relative to a full measurement, up to which it is made."""
SHARES = (0.3, 0.5, 0.7)
"""Shares of the variance allowed, one of which is left to the earlier matrix."""
COUNTS = (8, 16, 32)
"""Numbers of probes of the differences, one of which is chosen."""
DIFFERENCES = "differences"
"""Part of the products: those that give a trace by differences, and those that are kept for the next ones."""
MARGIN = 0.9
"""Share of the width asked for at which a plan aims."""
WAITS = 4
"""Full measurements after a plan that did not pay before the next trial, times as many after each further one."""


@dataclass(frozen=True)
class Following:
    """How the trace is followed from one full measurement to the next.

    Attributes:
        share: Share of the variance allowed that is left to the full measurement.
        count: Probes of the differences.
        first: Predicted products of the full measurement, with those that are kept.
        ratio: Predicted cost relative to full measurements at each matrix.
    """

    share: float
    count: int
    first: float
    ratio: float

    @property
    def finer(self) -> float:
        """Share of the width asked for at which the full measurement aims; a search leaves a margin of its own."""
        return sqrt(self.share) * MARGIN


def plan_differences(
    rest: float,
    change: float,
    half: float,
    *,
    basis: int,
    vectors: int,
    others: int,
    limit: float = inf,
    confidence: float,
) -> Following | None:
    """Return the cheapest way to follow a trace, or None if full measurements are likely to be as cheap.

    The change is taken to grow in proportion to the number of steps, so its variance grows with the square.

    Args:
        rest: Variance of one probe in a full measurement.
        change: Variance of one probe of the difference between two matrices that follow each other.
        half: Half of the width asked for.
        basis: Products of a full measurement besides its probes.
        vectors: Vectors that each difference takes besides its probes.
        others: Products for other quantities at a matrix whose trace is followed.
        limit: Largest number of products at one matrix.
        confidence: Confidence level of the interval.
    """
    best = None
    if not half > 0.0 or not 0.0 < rest < inf:
        return None
    for count in COUNTS:
        for share in SHARES:
            quantile = float(student.ppf((1.0 + _halved(confidence)) / 2.0, count / (1.0 - share) ** 2))
            allowed = (MARGIN * half / quantile) ** 2
            full = basis + rest / (half / float(student.ppf((1.0 + confidence) / 2.0, 1e6))) ** 2
            later = floor(min(sqrt((1.0 - share) * allowed * count / change), 1e6)) if change > 0.0 else 10**6
            first = basis + rest / (share * allowed) + count
            ratio = (first + later * (vectors + count + others)) / ((1 + later) * full)
            if later and first <= limit and ratio <= WORTH and (best is None or ratio < best.ratio):
                best = Following(share, count, first, ratio)
    return best


def _halved(confidence: float) -> float:
    """Return the level of each of the intervals of which one is reported."""
    return 1.0 - (1.0 - confidence) / CHOICES


class MeasurementSequence:
    """Measurements of similar matrices, each from the findings of the one before.

    Searches start from earlier eigenvectors (`hessian.quantities.warm_search`). If a trace takes many probes, and the
    matrices change slowly, it is followed by differences from a matrix that is measured more precisely
    (`hessian.quantities.trace_changes`). A trial shows how fast they change. Each interval holds at its own matrix with
    the stated confidence.
    """

    def __init__(self, quantities: tuple[Quantity, ...], seed: int) -> None:
        """Start a sequence; nothing is computed before the first matrix.

        Args:
            quantities: Quantities to measure.
            seed: Seed of starting vectors and probes.
        """
        self._quantities, self._seed = quantities, seed
        self._others = tuple(one for one in quantities if one != TRACE)
        self._place = 0
        self._start: WarmStart | None = None
        self._from_nothing: dict[tuple[Quantity, ...], int] = {}
        self._anchor: TraceAnchor | None = None
        self._is_trial = False
        self._age = 0
        self._rest = self._change = inf
        self._basis = 0
        self._waits = self._failures = 0

    def measure(
        self, operator: SymmetricOperator, settings: MeasureSettings, progress: Progress | None = None
    ) -> Measurement:
        """Measure the next matrix; one of another size starts from nothing.

        Args:
            operator: The matrix.
            settings: Accuracy and limits.
            progress: Called with a description of the current step.

        Raises:
            CurvatureError: As in `measure`; the next matrix then starts from the last one that was measured.
        """
        if self._start is not None and not self._start.fits(operator.P):
            self._start = self._anchor = None
        follows = TRACE in self._quantities and settings.memory is None
        if follows and FOLLOWED.issuperset(one.name for one in self._quantities):
            found = self._follow(operator, settings, progress)
        else:
            found = self._search(operator, self._quantities, settings, progress)
        self._place += 1
        return found

    def _search(
        self,
        operator: SymmetricOperator,
        quantities: tuple[Quantity, ...],
        settings: MeasureSettings,
        progress: Progress | None,
        finer: float = 1.0,
        choices: int = 1,
    ) -> Measurement:
        """Measure quantities of this matrix by a search, which may start from the last one."""
        place, start = self._place, self._start
        if start is not None:
            start = replace(start, products=self._from_nothing.get(quantities, start.products))
        streams = partial(_stream_at, self._seed, place)
        found, self._start = measure_from(operator, quantities, settings, streams, start, progress, finer, choices)
        if finer == 1.0 and self._start is not None:
            self._from_nothing[quantities] = self._start.products
        return found

    def _follow(self, operator: SymmetricOperator, settings: MeasureSettings, progress: Progress | None) -> Measurement:
        """Measure the trace by the difference from an earlier matrix, or in full."""
        spent, anchor, trial, choices = 0, self._anchor, self._is_trial, 1
        if anchor is not None:
            self._age += 1
            if not trial:  # whether the difference is measured or reported depends on the vectors that it shares
                choices = CHOICES
            if trial or self._is_near(anchor, settings):
                if progress is not None:
                    progress("trace by the difference from an earlier matrix")
                change = anchor.follow(operator, settings.relative_width, _halved(settings.confidence))
                spent, self._change = anchor.cost, change.variance / self._age**2
                if not trial and change.trace.reached:
                    self._failures = 0
                    return self._with_others(operator, settings, progress, change.trace, spent)
        plan = self._plan(settings, spent) if anchor is not None else None
        products = max(settings.products - spent - (plan.count if plan is not None else 0), LEAST_PRODUCTS)
        finer = plan.finer if plan is not None else 1.0
        found = self._search(operator, self._quantities, replace(settings, products=products), progress, finer, choices)
        return _with_products(found, spent + self._keep(operator, settings, found, plan, spent))

    def _is_near(self, anchor: TraceAnchor, settings: MeasureSettings) -> bool:
        """Return whether a difference is likely to give the width asked for, if the change grows as before."""
        half = anchor.half_width(self._change * self._age**2, _halved(settings.confidence))
        return 2.0 * half <= settings.relative_width * abs(anchor.trace)

    def _plan(self, settings: MeasureSettings, spent: int) -> Following | None:
        """Return how the next traces are to be followed from this matrix; None if they are not."""
        assert self._anchor is not None
        half = 0.5 * settings.relative_width * abs(self._anchor.trace)
        others = self._from_nothing.get(self._others, LEAST_PRODUCTS) if self._others else 0
        return plan_differences(
            self._rest,
            self._change,
            half,
            basis=self._basis,
            vectors=len(self._anchor.vectors),
            others=others,
            limit=settings.products - spent,
            confidence=settings.confidence,
        )

    def _keep(
        self,
        operator: SymmetricOperator,
        settings: MeasureSettings,
        found: Measurement,
        plan: Following | None,
        spent: int,
    ) -> int:
        """Keep what the next matrices are followed from, if that is likely to pay, and return its products."""
        tried, self._anchor, self._age = self._anchor is not None, None, 0
        if self._start is None:
            return 0
        trace, cost, count = found[TRACE], sum(found.products.values()), 0
        self._basis, self._rest = cost - trace.probes, self._start.variance * trace.probes
        if plan is not None and trace.probes and trace.reached:
            self._is_trial, count = False, plan.count
        elif tried:
            self._give_up()
        elif self._waits:
            self._waits -= 1
        elif trace.probes and TRIAL_SHARE * cost >= 2 * TRIAL + VECTORS:
            self._is_trial, count = True, TRIAL
        if not count or spent + cost + count > settings.products:
            return 0
        rng = np.random.default_rng([self._seed, STREAM + len(PARTS), self._place])
        self._anchor = TraceAnchor.of(operator, self._start, trace, count, rng)
        self._age = 1
        if not self._is_trial and not self._is_near(self._anchor, settings):  # the full measurement fell short
            self._anchor = None
            self._give_up()
        self._age = 0
        return count

    def _give_up(self) -> None:
        """Measure the next matrices in full."""
        self._failures += 1
        self._waits = WAITS**self._failures

    def _with_others(
        self,
        operator: SymmetricOperator,
        settings: MeasureSettings,
        progress: Progress | None,
        trace: Estimate,
        spent: int,
    ) -> Measurement:
        """Return a measurement with a trace by differences, and with the other quantities."""
        trace = replace(trace, confidence=settings.confidence)
        if not self._others:
            return Measurement(operator.P, settings.confidence, {TRACE: trace}, 0, {DIFFERENCES: spent}, warm=True)
        left = replace(settings, products=max(settings.products - spent, LEAST_PRODUCTS))
        found = self._search(operator, self._others, left, progress)
        both = {one: trace if one == TRACE else found.found[one] for one in self._quantities}
        return _with_products(replace(found, found=both, warm=True), spent)


def _stream_at(seed: int, place: int, part: str) -> np.random.Generator:
    return stream_of(part, seed, place)


def _with_products(found: Measurement, spent: int) -> Measurement:
    return replace(found, products=found.products | {DIFFERENCES: spent}) if spent else found
