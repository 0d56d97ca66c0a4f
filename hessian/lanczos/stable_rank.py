r"""The stable rank $\|H\|_F^2/\|H\|_2^2$ with an interval, only from products with vectors.

A Krylov basis V of m rows, $H V^T = V^T T + Q^T B$, gives the spectral norm and splits the Frobenius norm,

$$\|H\|_F^2 = \|T\|_F^2 + 2\|B\|_F^2 + \|C\|_F^2,\qquad C = (1 - V^TV) H (1 - V^TV),$$

of which only the last part, small where the stable rank is low, is estimated by random probes z: the mean of
$\|Cz\|^2$ over the sphere of radius $\sqrt d$ in the complement, of dimension d.

The interval has two parts. *Deterministic*: the largest Ritz value in modulus bounds $\|H\|_2$ from below. From above:
with $\|C\|_2 \le c$, every eigenvalue beyond c is at most the $\lambda$ that solves $\lambda = \lambda_{max}(T +
B^TB/(\lambda - c))$; c is the upper end of the interval of $\|C\|_F$, so this certificate holds whenever that interval
does. Where c is not below the Ritz value, the bound is that of `hessian.lanczos.bounds.probable_norm`: beyond it, an
eigenvalue would be hidden by the starting vector with a chance that is part of the confidence. *Statistical*: ten pilot
probes choose the number of probes (Stein, 1945: their spread with the t law serves for all probes, so stopping
does not spoil the coverage), with three degrees of freedom less and on the scale of inverse roots, since squares are
skew; and a spread so small that few directions could make it is taken for a larger one
(`hessian.lanczos.probes.Probes.pilot_spread`), as is the part of a spread that the basis does not predict. Where that
part is most of it, copies of eigenvalues are suspected, and other starting vectors added; of several such bases each
has its share of the error probability.

Where the basis predicts many deflated probes and no more signs without deflation, signs take their place: the same
interval, of $\|H\|_F^2$ itself. The basis proposes and a pilot decides, which costs the coverage little
(`benchmarks/interval_coverage.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isfinite, sqrt

import numpy as np

from hessian.lanczos.basis_rows import Store
from hessian.lanczos.bounds import MISSED, certified_norm, known_square, probable_norm, spectral_norm
from hessian.lanczos.krylov import Array, Krylov, Progress
from hessian.lanczos.memory import Budget, Plan, plan_basis
from hessian.lanczos.probes import (
    PILOT,
    Prediction,
    Probes,
    draw_probes,
    predict_rest,
    predict_signs,
    quantile,
    sign_probes,
)
from hessian.loss.product_rounding import MOST, describe_limit
from hessian.numerics.intervals import Interval, StableRankInterval
from hessian.numerics.symmetric import CountedOperator, CurvatureError, ScaledOperator, SymmetricOperator, rounding_of

FIRST_STEPS = 12
SPREAD_ENOUGH = 24.0
"""Effective rank of C below which a few copies would dominate it, and the spread of ten probes not show them."""
COPIES = 4
"""Starting vectors added where Lanczos has missed copies of its pairs."""
LEVELS = 3
"""Rows for each of them: the first product turns it to the copies, the second sets them apart from the rest."""
SIMILAR = 1.4
"""Factor up to which two predicted numbers of probes may be the same."""


def _explain_spread(probes: Probes, squares: Array) -> Probes:
    """Return probes with these squares, no part of whose spread counts as due to copies."""
    return replace(probes, squares=squares, predicted=Prediction())


@dataclass(frozen=True, eq=False)
class Searched:
    """A Krylov basis and random probes, as many of both as the width asked for needs.

    Attributes:
        krylov: The basis, with a random start.
        probes: Probes of its complement; of the whole matrix if they are signs.
        signs: The probes are random signs.
    """

    krylov: Krylov
    probes: Probes
    signs: bool = False


@dataclass(frozen=True, eq=False)
class StableRankEstimator:
    """Estimator of the stable rank of one matrix.

    Attributes:
        operator: The matrix; its count is that of the search.
        rng: Source of starting vectors and probes.
        width: Relative width asked for.
        confidence: Confidence level.
        budget: Largest number of products.
        plan: Rows of the basis and how they are kept, and probes multiplied together.
        progress: Called with a description of the current step.
    """

    operator: CountedOperator
    rng: np.random.Generator
    width: float
    confidence: float
    budget: int
    plan: Plan
    progress: Progress | None

    def run(self) -> StableRankInterval:
        """Estimate the stable rank.

        Raises:
            CurvatureError: The matrix is zero to rounding, or a product is not finite.
        """
        return self.build_interval(self.search())

    def search(self) -> Searched:
        """Choose a basis and draw probes.

        Raises:
            CurvatureError: A product is not finite.
        """
        # Its first row must be random: the bound of the norm rests on it.
        krylov = Krylov(self.operator, self.rng, store=self.plan.store)
        self._grow(krylov, min(FIRST_STEPS, self.plan.rows))
        return self.search_from(krylov)

    def search_from(self, krylov: Krylov) -> Searched:
        """Complete a basis and draw probes.

        Args:
            krylov: A few rows, the first of them random, perhaps in the complement of given ones.

        Raises:
            CurvatureError: A product is not finite.
        """
        # The basis is chosen by its own coefficients: a choice by the probes would spoil their coverage.
        while (more := self._room(krylov)) > 0 and self._expects_to_gain(krylov):
            self._grow(krylov, more)
        if (signs := self._pilot_signs(krylov, self._predict_probes(krylov))) is not None:
            return self._complete_signs(krylov, signs)
        probes = self._probe(krylov, PILOT)
        looks = 1
        while not probes.exact and (more := self._room(krylov)) > 0:
            saw = self._saw_copies(krylov, probes)
            if saw and probes.predicted.few:
                looks += 1  # more rows find the few that the starting vector sees
            elif saw and (starts := self._starts(krylov)):
                krylov.seed(starts)  # other starting vectors find what the first one cannot see, by their products
                more = self._room(krylov, LEVELS * (COPIES + 1))
                looks += 1
            elif not self._is_loose(spectral_norm(krylov, probes.interval(self.confidence).high, self.confidence)):
                break
            self._grow(krylov, more)
            probes = replace(self._probe(krylov, PILOT), looks=looks)
        if self._nearly_saw_copies(krylov, probes) and self._room(krylov) > 0:
            # Those that were small by chance ended the loop: fresh ones count.
            probes = replace(self._probe(krylov, PILOT), looks=looks)
        needed = self._count_needed(krylov, probes)
        if (signs := self._pilot_signs(krylov, (needed - PILOT) / 2)) is not None:
            return self._complete_signs(krylov, signs)
        if (more := self._count_more(needed)) > 0 and not probes.exact:
            probes = probes.merge(self._probe(krylov, more))
        return Searched(krylov, probes)

    def build_interval(self, found: Searched) -> StableRankInterval:
        """Return the stable rank by a basis and probes.

        Raises:
            CurvatureError: The matrix is zero to rounding.
        """
        random = 0 if found.probes.exact else len(found.probes.squares)
        return replace(self._build_interval(found.krylov, self._rest_of(found), random), signs=found.signs)

    def build_square(self, found: Searched) -> Interval:
        """Return the squared Frobenius norm by a basis and probes."""
        return _widen_square(found.krylov, self._rest_of(found))

    def _rest_of(self, found: Searched) -> Interval:
        if found.signs:
            return self._rest(found.krylov, found.probes)
        return found.probes.interval(self.confidence)

    def _pilot_signs(self, krylov: Krylov, others: float) -> Probes | None:
        """Draw a pilot of signs if the basis and then the pilot promise that few more of them are needed."""
        most = min(SIMILAR * others, krylov.P - krylov.size)  # as many deflated probes as directions leave no chance
        if others <= 2 * PILOT or self.budget - self.operator.count < 2 * PILOT:
            return None
        spread = predict_signs(krylov, self._norm(krylov))
        if 2.0 * quantile(self.confidence) * spread > sqrt(most) * self._share(krylov, predict_rest(krylov).square):
            return None
        signs = self._sign_probes(krylov, PILOT)
        return signs if self._count_needed_signs(krylov, signs) <= most + PILOT else None

    def _complete_signs(self, krylov: Krylov, signs: Probes) -> Searched:
        """Draw the other signs; the basis may grow for the norm, which does not affect the pilot."""
        while (more := self._room(krylov)) > 0 and self._is_loose(
            spectral_norm(krylov, self._rest(krylov, signs).high, self.confidence)
        ):
            self._grow(krylov, more)
        if (more := self._count_more(self._count_needed_signs(krylov, signs))) > 0:
            signs = signs.merge(self._sign_probes(krylov, more))
        return Searched(krylov, signs, signs=True)

    def _rest(self, krylov: Krylov, signs: Probes) -> Interval:
        """Return the squared Frobenius norm by signs, less the part that the basis contains."""
        whole, known = signs.interval(self.confidence), known_square(krylov)
        return Interval(*(max(end - known, 0.0) for end in (whole.value, whole.low, whole.high)))

    def _count_needed_signs(self, krylov: Krylov, signs: Probes) -> int:
        return signs.needed(self._share(krylov, self._rest(krylov, signs).high), self.confidence)

    def _predict_probes(self, krylov: Krylov) -> float:
        """Predict from the basis how many deflated probes are needed."""
        rest = predict_rest(krylov)
        if rest.square <= 0.0:
            return 0.0
        half = 0.5 * self._share(krylov, rest.square) * (known_square(krylov) + rest.square)
        return (quantile(self.confidence) * rest.cautious_spread * rest.square / half) ** 2

    def _count_more(self, needed: int) -> int:
        """Return the number of probes beyond the pilot, as far as products are left."""
        return min(needed - PILOT, self.budget - self.operator.count)

    def _norm(self, krylov: Krylov) -> float:
        return probable_norm(krylov, MISSED * (1.0 - self.confidence))

    def _starts(self, krylov: Krylov) -> int:
        """Return how many starting vectors may be added; each keeps one row waiting until the end."""
        capacity = self.plan.capacity
        return COPIES if capacity is None else max(min(COPIES, capacity - self.plan.rows - krylov.pending), 0)

    def _room(self, krylov: Krylov, least: int = FIRST_STEPS // 2) -> int:
        """Return the number of rows by which the basis may grow."""
        left = min(self.plan.rows - krylov.size, self.budget - self.operator.count - PILOT)
        return min(max(krylov.size // 2, least), left)

    def _expects_to_gain(self, krylov: Krylov) -> bool:
        """Return whether more rows promise a sufficiently narrow norm, or save more probes than they cost."""
        if self._is_loose(spectral_norm(krylov, predict_rest(krylov).square, self.confidence)):
            return True
        return self._predict_probes(krylov) > PILOT + 2 * krylov.size

    def _is_loose(self, norm: Interval) -> bool:
        return (norm.high / norm.low) ** 2 - 1.0 > self.width / 2.0 if norm.low > 0.0 else False

    def _saw_copies(self, krylov: Krylov, probes: Probes) -> bool:
        """Return whether the probes show much that Lanczos does not predict: perhaps copies of its pairs."""
        if probes.copies**2 * SPREAD_ENOUGH > 2.0:
            return self._count_needed(krylov, probes) > PILOT
        return probes.copies_show and self._count_needed(krylov, probes) > self._threshold(krylov)

    def _nearly_saw_copies(self, krylov: Krylov, probes: Probes) -> bool:
        """Return whether they would show copies if they were larger and wider by as much as chance allows."""
        if probes.exact:
            return False
        likely = _explain_spread(probes, probes.mean + 2.0 * (probes.squares - probes.mean))
        return self._count_needed(krylov, likely, probes.interval(0.99).high) > self._threshold(krylov)

    def _threshold(self, krylov: Krylov) -> float:
        return PILOT + 2 * krylov.size + 4.0 * self._predict_probes(krylov)

    def _grow(self, krylov: Krylov, steps: int) -> None:
        def report(size: int) -> None:
            if self.progress is not None:
                self.progress(f"Lanczos step {size}")

        target = krylov.size + steps
        while krylov.size < target:
            if krylov.invariant:
                if krylov.size >= self.operator.P:
                    return
                krylov.seed()
            krylov.extend(target - krylov.size, report)

    def _count_needed(self, krylov: Krylov, probes: Probes, mean: float | None = None) -> int:
        """Return the number of probes for a narrow enough interval, by the pilot, or for another mean."""
        mean = probes.mean if mean is None else mean
        if probes.exact or mean <= 0.0:
            return PILOT
        share = self._share(krylov, probes.interval(self.confidence).high)
        return probes.needed(share * (known_square(krylov) + mean) / mean, self.confidence)

    def _share(self, krylov: Krylov, rest_square: float) -> float:
        """Return the relative width left for the probes, with a margin for a mean that turns out smaller."""
        norm = spectral_norm(krylov, rest_square, self.confidence)
        fixed = (norm.high / norm.low) ** 2 - 1.0 + 4.0 * krylov.rounding / norm.low if norm.low > 0.0 else 0.0
        return max(0.85 * (self.width - fixed), self.width / 3.0)

    def _probe(self, krylov: Krylov, count: int) -> Probes:
        def report(done: int) -> None:
            if self.progress is not None:
                self.progress(f"{krylov.size} Lanczos steps, probe {done} of {count}")

        complement, forms = self.plan.complement, self._keeps_forms
        drawn = draw_probes(self.operator, krylov.span, count, self.rng, self.plan.together, report, complement, forms)
        return replace(drawn, predicted=predict_rest(krylov))

    @property
    def _keeps_forms(self) -> bool:
        """Whether probes keep their quadratic forms."""
        return False

    def _sign_probes(self, krylov: Krylov, count: int) -> Probes:
        def report(done: int) -> None:
            if self.progress is not None:
                self.progress(f"{krylov.size} Lanczos steps, vector {done} of {count} of random signs")

        return sign_probes(self.operator, count, self.rng, self._norm(krylov), self.plan.together, report)

    def _bound_norm(self, krylov: Krylov, rest: Interval) -> Interval:
        return spectral_norm(krylov, rest.high, self.confidence)

    def _is_certified(self, krylov: Krylov, rest: Interval) -> bool:
        return certified_norm(krylov, sqrt(rest.high)) < inf

    def _build_interval(self, krylov: Krylov, rest: Interval, probes: int) -> StableRankInterval:
        norm = self._bound_norm(krylov, rest)
        if not norm.low > 10.0 * krylov.rounding or not isfinite(norm.high):
            if (rounding := rounding_of(self.operator)) > MOST:
                raise CurvatureError(
                    f"products are rounded by {rounding:.2g} of the matrix, too much for an interval: measure in "
                    f"higher precision, such as model.double() without autocast"
                )
            raise CurvatureError("the curvature matrix is zero to rounding: its stable rank is not defined")
        values, _, residuals = krylov.ritz()
        top = int(np.abs(values).argmax())
        unit = krylov.rounding / norm.low
        slack = 2.0 * unit  # relative error of squares
        least = (1 + slack) / (1 - slack) / (1 - unit) ** 2 - 1  # width that all products would leave
        norm = Interval(norm.value, norm.low - krylov.rounding, norm.high)
        square = _widen_square(krylov, rest)
        P = float(self.operator.P)  # no stable rank is below 1 or above this
        value, low, high = (
            min(max(end, 1.0), P)
            for end in (square.value / norm.value**2, square.low / norm.high**2, square.high / norm.low**2)
        )
        low, high = min(low, value), max(high, value)
        statistical = min((rest.high - rest.low) / square.value, (high - low) / value)
        return StableRankInterval(
            value=value,
            low=low,
            high=high,
            confidence=self.confidence,
            spectral_norm=norm,
            frobenius=Interval(*(sqrt(end) for end in (square.value, square.low, square.high))),
            eigenvalue=float(values[top]),
            residual=float(residuals[top]) + krylov.rounding + sqrt(krylov.lost_square),
            certified=self._is_certified(krylov, rest),
            deterministic_width=max((high - low) / value - statistical, 0.0),
            statistical_width=statistical,
            steps=krylov.size,
            probes=probes,
            products=self.operator.count,
            reached=(high - low) / value <= self.width,
            limit=describe_limit(unit, self.operator.dtype) if least > self.width else "",
        )


def _widen_square(krylov: Krylov, rest: Interval) -> Interval:
    """Return the squared Frobenius norm, given the part outside the basis, with what rounding may change."""
    known = known_square(krylov)
    slack = 2.0 * krylov.rounding / krylov.largest if krylov.largest > 0.0 else 0.0
    return Interval(known + rest.value, (known + rest.low) * (1 - slack), (known + rest.high) * (1 + slack))


def stable_rank_of(
    operator: SymmetricOperator,
    *,
    rng: np.random.Generator,
    relative_width: float = 0.05,
    confidence: float = 0.95,
    products: int = 2000,
    basis: int = 120,
    chunk: int = 1,
    memory: Budget | int | str | None = None,
    progress: Progress | None = None,
) -> StableRankInterval:
    """Estimate the stable rank of a symmetric operator to the width asked for.

    Args:
        operator: The matrix.
        rng: Source of starting vectors and probes.
        relative_width: Width of the whole interval, relative to the value.
        confidence: Confidence level of the interval.
        products: Largest number of products; where they do not suffice, the interval is wider and `reached` is false.
        basis: Largest number of rows of the Krylov basis; memory is basis times P.
        chunk: Probes multiplied together: more than 1 pays where data are streamed.
        memory: Bytes, words such as ``6 GiB``, or a `Budget` that names a folder too: how the basis is kept rests on
            it, and what lower precision costs is in the interval. An operator tells what it holds by its attribute
            `held`; `Curvature` does if it was given a budget as well.
        progress: Called with a description of the current step.

    Raises:
        CurvatureError: A width, a confidence or a number out of its range, or a matrix that is zero to rounding.
    """
    if not 0.0 < relative_width < inf or not 0.0 < confidence < 1.0:
        raise CurvatureError(
            f"relative_width must be positive and confidence in (0, 1), got {relative_width} and {confidence}"
        )
    least = FIRST_STEPS + PILOT
    if products < least or basis < 1 or chunk < 1:
        raise CurvatureError(
            f"expected products >= {least}, basis >= 1 and chunk >= 1, got {products}, {basis} and {chunk}"
        )
    scaled = ScaledOperator(operator)
    plan = Plan(min(basis, operator.P), chunk, Store(), "")
    if memory is not None:
        plan = plan_basis(operator, Budget.of(memory), plan.rows, chunk)
    estimator = StableRankEstimator(CountedOperator(scaled), rng, relative_width, confidence, products, plan, progress)
    return replace(scale_interval(estimator.run(), scaled.unit), given_up=plan.words)


def scale_interval(found: StableRankInterval, scale: float) -> StableRankInterval:
    """Return the interval for the matrix times a number."""

    def times(interval: Interval) -> Interval:
        return Interval(interval.value * scale, interval.low * scale, interval.high * scale)

    return replace(
        found,
        spectral_norm=times(found.spectral_norm),
        frobenius=times(found.frobenius),
        eigenvalue=found.eigenvalue * scale,
        residual=found.residual * scale,
    )
