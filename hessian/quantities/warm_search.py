r"""A search that starts from the eigenvectors and the probes of an earlier, similar matrix.

Approximate eigenvectors W of the earlier matrix are the first rows of the basis, which takes one product each. Then
comes a fresh random start v in their complement. Both ends of every interval hold for the new matrix, however different
the two are:

- Any vectors may be multiplied, and Ritz values are bounds for all of them.
- The bound c of what is left, $\|C_W\|_2$ with $C_W$ the compression to the complement of W, rests on v alone, which is
  uniform on the sphere of that complement and independent of W and of the matrix. W and the number of steps may depend
  on anything else (`hessian.lanczos.bounds`).
- From c follow the bounds of the eigenvalues of the whole matrix, and the law of fresh probes of the rest. So few
  probes suffice, because no pilot is needed (`hessian.lanczos.bounded_probes`).
- Fresh probes do not depend on the earlier results, which decide how many vectors are kept, and how many probes the
  bound c needs. If these are fewer than a search with a pilot needs, they are drawn. If their mean is larger than
  expected, they are dropped, and a pilot decides. One of two intervals is then reported, so each has half of the error
  probability. If the rest has many directions, the pilot needs fewer from the start, and only one interval is possible.

How good W is decides only the cost. One product shows whether the first vector has turned too far, and then W is left
out. If W has cost more than a search without it, the next matrices are searched without it (`WarmStart.follow`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np
import torch
from torch import Tensor

from hessian.lanczos.bounded_probes import FEWEST, bounded_count, bounded_interval, degrees_of
from hessian.lanczos.bounds import MISSED, certified_end, complement_end, complement_norm, known_square, spectral_norm
from hessian.lanczos.krylov import Array, Krylov
from hessian.lanczos.probes import PILOT, Probes, predict_rest
from hessian.lanczos.stable_rank import FIRST_STEPS, Searched
from hessian.numerics.intervals import Interval
from hessian.numerics.symmetric import ScaledOperator, keeps_digits, multiply
from hessian.quantities.names import Quantity
from hessian.quantities.random_forms import probes_needed, shifted_squares
from hessian.quantities.shared_search import BY_PROBES, SIGNS, SharedSearch

MOST_VECTORS = 24
"""Largest number of vectors that are kept."""
FALLEN = 0.5
"""Modulus relative to the largest to which Ritz values have to fall among the vectors that are kept, so that few steps
bound the rest well below the largest."""
STEPS_AFTER = 7
"""Products that a plan expects before the given vectors: the test of the first, and steps from the fresh start."""
MOST_STEPS = 16
"""Largest number of these steps before the given vectors are multiplied."""
MOST_MORE = 12
"""Largest number of further rows that are multiplied until the eigenvalues are bounded closely."""
TURNED = 0.25
"""Residual of the first vector, relative to its value times the root of the width, from which it does not serve. The
bound of the eigenvalue is beyond the value by about the square of the residual over the distance from the rest."""
NEAR = 0.25
"""Distance of the bound of the rest from its largest Ritz value, relative to the distance of that from the largest of
the whole, up to which the steps suffice for eigenvalues."""
CHOICES = 2
"""Intervals of which one is reported if the bound of the rest decides on the probes: that by the first of them, and
that by a pilot."""
MANY = 10 * PILOT
"""Number of probes beyond which plans by the bound do not count."""
WORTH = 0.8
"""Predicted cost relative to the last search from nothing up to which the vectors are used."""
WAITS = 4
"""States that start from nothing after one from vectors that cost more, times as many after each further one."""


@dataclass(frozen=True, eq=False)
class WarmStart:
    """Findings about a matrix from which the search of the next one starts.

    Attributes:
        vectors: Ritz vectors by decreasing modulus of the value, orthonormal rows ``(k, P)``.
        values: Ritz values, with all others of the basis after those that have a vector.
        products: Products of a search from nothing, by the latest ones.
        rest: Squared Frobenius norm outside of the basis, by probes if there were any; 0 if it was not needed.
        forms: Trace outside of the basis, likewise.
        deviation: Standard deviation of one probe.
        probes: Number of probes.
        variance: Variance of the estimate of the trace; infinite if it was not measured.
        degrees: Degrees of freedom with which that variance is known.
        failures: Searches in a row that cost more with vectors than the last one from nothing.
        waits: States to come that start from nothing.
    """

    vectors: Tensor
    values: Array
    products: int
    rest: float
    forms: float = 0.0
    deviation: float = 0.0
    probes: int = 0
    variance: float = inf
    degrees: float = 1.0
    failures: int = 0
    waits: int = 0

    @staticmethod
    def of(found: Searched, products: int, unit: float) -> WarmStart:
        """Return what a search has found.

        Args:
            found: Basis and probes.
            products: Products of the last search from nothing.
            unit: Unit of the eigenvalues of the matrix that was multiplied.
        """
        krylov, probes = found.krylov, found.probes
        values, _, _ = krylov.ritz()
        order = np.argsort(-np.abs(values))
        positions = np.sort(order[:MOST_VECTORS])
        pairs = krylov.pairs(positions)
        by_modulus = np.argsort(-np.abs(pairs.values))
        rest = forms = deviation = 0.0
        count = 0
        if len(probes.squares):
            rest = max(probes.mean - (known_square(krylov) if found.signs else 0.0), 0.0)
            forms = float(probes.forms.sum() if probes.exact else probes.forms.mean()) if len(probes.forms) else 0.0
        if not probes.exact:
            count = len(probes.squares)
            deviation = float(probes.squares.std(ddof=1))
        vectors = pairs.vectors[by_modulus.tolist()]
        return WarmStart(
            vectors, values[order] * unit, products, rest * unit**2, forms * unit, deviation * unit**2, count
        )

    @property
    def whole(self) -> float:
        """Squared Frobenius norm, without the coupling of the basis to the rest."""
        return self.rest + float(self.values @ self.values)

    def fits(self, P: int) -> bool:
        """Return whether the vectors are as long as a matrix has rows."""
        return self.vectors.shape[1] == P

    def follow(self, later: WarmStart, spent: int, tried: bool) -> WarmStart:
        """Return the findings of the next matrix, with what this one has shown about the use of vectors.

        Args:
            later: Findings of the next matrix.
            spent: Its products.
            tried: Vectors of this one were used, or tried.
        """
        if not tried:
            # Chance varies the number of probes much, so the costs are averaged.
            products = (self.products + later.products) // 2
            return replace(later, products=products, failures=self.failures, waits=max(self.waits - 1, 0))
        if spent <= self.products:
            return later
        failures = self.failures + 1
        return replace(later, failures=failures, waits=WAITS**failures)

    def plan(self, wanted: frozenset[str], width: float, confidence: float) -> int:
        """Return how many vectors to start from: those for which vectors and probes are fewest together.

        It is 0 if a search from nothing is likely to be cheaper, as it is where many eigenvalues are nearly as large as
        the largest, or where vectors have not paid lately. This is known before anything is drawn.

        Args:
            wanted: Names of the quantities.
            width: Relative width asked for.
            confidence: Confidence level.
        """
        if self.waits:
            return 0
        sizes, most = np.abs(self.values), len(self.vectors)
        fallen = np.flatnonzero(sizes[1 : most + 1] <= FALLEN * sizes[0]) + 1
        least = min(int(fallen[0]) if len(fallen) else most, most)
        by_probes = bool(wanted.intersection(BY_PROBES))
        counts = range(least, most + 1) if by_probes else range(least, least + 1)
        costs = [
            STEPS_AFTER + count + (self._probes_after(count, wanted, width, confidence) if by_probes else 0)
            for count in counts
        ]
        best = int(np.argmin(costs))
        return counts[best] if costs[best] <= WORTH * self.products else 0

    def _probes_after(self, count: int, wanted: frozenset[str], width: float, confidence: float) -> int:
        """Predict the number of probes if the basis starts with so many vectors and a few steps follow.

        It is that by the bound of the rest or, if that is less, that by a pilot, in proportion to the variance.
        """
        sizes = np.abs(self.values)
        left = sizes[count + STEPS_AFTER - 1 :]
        rest = self.rest + float(left @ left)
        bound = float(sizes[count] ** 2) if count < len(sizes) else float(sizes[0] ** 2)
        needed = FEWEST
        if wanted & {"stable-rank", "frobenius-squared"}:
            needed = bounded_count(rest, bound, confidence, 0.85 * width * self.whole, MANY)
        if "trace" in wanted:
            half = 0.425 * width * abs(float(self.values.sum()) + self.forms)
            degrees = degrees_of(rest, bound)
            needed = max(
                needed, min(probes_needed(rest, float(self.vectors.shape[1]), degrees, confidence, half), MANY)
            )
        if self.probes == 0:
            return needed
        before = self.deviation**2
        more = 1.0 + 2.0 * float((left**4).sum()) / before if before > 0.0 else inf
        return int(min(needed, max(self.probes * more, PILOT)))


@dataclass(frozen=True, eq=False)
class WarmSearch(SharedSearch):
    """The search for several quantities from a warm start.

    Attributes:
        start: Findings about an earlier matrix.
        scaled: The matrix that is multiplied, whose unit is known after the first product.
        bounded: The interval of the probes is that by the bound of the rest.
    """

    start: WarmStart
    scaled: ScaledOperator
    bounded: bool = False

    def search_on(self, count: int) -> tuple[WarmSearch, Searched] | None:
        """Multiply earlier vectors, bound the rest, and draw probes if a quantity needs them.

        Args:
            count: Number of vectors.

        Returns:
            The search that reads the intervals, basis and probes; None if the vectors do not serve.

        Raises:
            CurvatureError: A product is not finite.
        """
        others = MOST_STEPS + MOST_MORE + FIRST_STEPS + 2 * PILOT  # with those of a search from nothing
        count = min(count, self.operator.P - 1, self.plan.rows - 2, self.budget - others)
        if count <= 0 or self._has_turned() or not keeps_digits(self.scaled.unit, 4):
            return None
        krylov = Krylov(self.operator, self.rng, given=self.start.vectors[:count], store=self.plan.store)
        chain = self._bound_rest(krylov)
        while any(place >= krylov.size for place in krylov.given):
            krylov.bring_forward(min(place for place in krylov.given if place >= krylov.size))
            krylov.extend(1)
        self._bound_whole(krylov, chain)
        if self._loose_ends(krylov) and krylov.pending:
            return None
        if self.wanted.intersection(BY_PROBES) and not self._has_all(krylov):
            share = 1.0 - (1.0 - self.confidence) / CHOICES
            few, unit = replace(self, confidence=share, bounded=True), self.scaled.unit
            planned = few.count(krylov, self.start.rest / unit**2, self.start.forms / unit, 0.85)
            if planned < max(PILOT, self._predict_probes(krylov)):
                probes = few._probe(krylov, planned)
                if probes.exact or few.suffice(krylov, probes):
                    return few, Searched(krylov, probes)
                wide = replace(self, confidence=share)
                return wide, wide.search_from(krylov)
        return self, self.search_from(krylov)

    def _has_turned(self) -> bool:
        """Return whether the first vector is far from an eigenvector, by one product."""
        vector = self.start.vectors[:1].to(self.operator.device, self.operator.dtype, copy=True)
        image = multiply(self.operator, vector.clone())
        along = float((image.double() * vector.double()).sum())
        residual = float(torch.linalg.vector_norm(image.double() - along * vector.double()))
        return not residual <= TURNED * sqrt(self.width) * abs(along)

    @staticmethod
    def _has_all(krylov: Krylov) -> bool:
        return krylov.size == krylov.P

    def _bound_rest(self, krylov: Krylov) -> int:
        """Take steps from the fresh start, before the given vectors, and return the place of the row that continues it.

        Later, the residuals of the given vectors would be rows of their own, so that a step would not see all of the
        rest. What the vectors will show of the matrix is taken from the earlier one.
        """
        chain = len(krylov.given)
        most = min(self.plan.rows, self.budget - PILOT) - len(krylov.given)
        for step in range(1, MOST_STEPS + 1):
            krylov.bring_forward(chain)
            krylov.extend(1)
            pending = krylov.pending - len(krylov.given)
            chain = krylov.size + krylov.pending - 1 if pending else -1
            if chain < 0 or step >= most or self._bounds_rest(krylov):
                break
        return chain

    def _bounds_rest(self, krylov: Krylov) -> bool:
        """Return whether the rest is bounded closely enough, if the whole is like the earlier matrix."""
        values, known = self.start.values / self.scaled.unit, krylov.ritz()[0]
        for name in self.wanted:
            for sign in (SIGNS[name],) if name in SIGNS else (1.0, -1.0):
                top = float((sign * values).max()) if name in SIGNS else float(np.abs(values).max())
                best = max(float((sign * known).max()), 0.0)
                if complement_end(krylov, sign, 1.0 - self.confidence) > best + NEAR * max(top - best, 0.0):
                    return False
        return True

    def _bound_whole(self, krylov: Krylov, chain: int) -> None:
        """Multiply further rows until the eigenvalues are bounded as closely as asked for.

        Args:
            krylov: The basis.
            chain: Place of the row that continues the fresh start, which lowers the bound of the rest; -1 for none.
                Rows that the extreme vectors are coupled to lower the bound of the whole that follows from it.
        """
        most = min(krylov.size + MOST_MORE, self.plan.rows, self.budget - PILOT)
        while krylov.pending and krylov.size < most and (missing := self._missing(krylov)) is not None:
            by_chain, along = missing
            place = chain if by_chain and chain >= 0 else krylov.size + int(np.argmax(along))
            if place != chain and chain == krylov.size:
                chain = place  # they change places
            continues, rows = place == chain, krylov.size + krylov.pending
            krylov.bring_forward(place)
            krylov.extend(1)
            if continues:
                now = krylov.size + krylov.pending
                chain = now - 1 if now > rows else -1

    def _missing(self, krylov: Krylov) -> tuple[bool, Array] | None:
        """Return whether the rest is not bounded enough, and the coupling of an extreme vector; None if all is done."""
        theta, coefficients, _ = krylov.ritz()
        for sign, loose in self._loose_ends(krylov):
            value = float((sign * theta).max())
            others = np.setdiff1d(np.arange(krylov.size), krylov.given)
            best = float(np.linalg.eigvalsh(sign * krylov.compression[np.ix_(others, others)])[-1])
            end = certified_end(krylov, sign, best, value) if best < value else np.inf
            along = np.abs(krylov.coupling @ coefficients[:, int(np.argmax(sign * theta))])
            return end - value <= loose / 2.0 or best >= value, along
        return None

    def _loose_ends(self, krylov: Krylov) -> list[tuple[float, float]]:
        """Return the signs of the ends that are not bounded closely enough, with the width that is allowed."""
        target = self.width * krylov.largest
        found = [
            (SIGNS[name], target)
            for name in sorted(self.wanted.intersection(SIGNS))
            if not self.extreme(krylov, Quantity(name)).reached
        ]
        if not found and self._is_loose(spectral_norm(krylov, predict_rest(krylov).square, self.confidence)):
            theta, _, _ = krylov.ritz()
            found = [(1.0 if theta[-1] >= -theta[0] else -1.0, target / 4.0)]
        return found

    def _square_bound(self, krylov: Krylov) -> float:
        """Return an upper bound of the squared norm of the rest."""
        slack = krylov.rounding + sqrt(krylov.lost_square)
        return (complement_norm(krylov, MISSED * (1.0 - self.confidence) / self.choices) + slack) ** 2

    @property
    def _confidence_of_probes(self) -> float:
        return 1.0 - (1.0 - self.confidence) * (1.0 - MISSED)

    def _rest_of(self, found: Searched) -> Interval:
        if not self.bounded or found.probes.exact:
            return super()._rest_of(found)
        return bounded_interval(found.probes.squares, self._square_bound(found.krylov), self._confidence_of_probes)

    def _trace(self, krylov: Krylov, probes: Probes) -> tuple[Interval, float]:
        confidence = self._confidence_of_probes if self.bounded else self.confidence
        return SharedSearch._trace(replace(self, confidence=confidence), krylov, probes)

    def _trace_moments(self, krylov: Krylov, probes: Probes) -> tuple[float, float]:
        if not self.bounded:
            return super()._trace_moments(krylov, probes)
        shift, squares = shifted_squares(probes.forms, probes.squares, probes.directions)
        mean = float(squares.mean())
        return mean, degrees_of(mean, (sqrt(self._square_bound(krylov)) + abs(shift)) ** 2)

    def suffice(self, krylov: Krylov, probes: Probes) -> bool:
        """Return whether probes give the widths asked for, by the bound of the rest."""
        forms = float(probes.forms.mean()) if len(probes.forms) else 0.0
        return self.count(krylov, probes.mean, forms, 1.0) <= len(probes.squares)

    def count(self, krylov: Krylov, mean: float, forms: float, share: float) -> int:
        """Return the number of probes for a share of the widths by the bound of the rest, if their mean is as given."""
        left = max(self.budget - self.operator.count, FEWEST)
        bound, needed = self._square_bound(krylov), FEWEST
        if self._needs_squares:
            allowed = self._share_left(krylov, share) * (known_square(krylov) + mean)
            needed = bounded_count(mean, bound, self._confidence_of_probes, allowed, left)
        if "trace" in self.wanted:
            half = 0.5 * share * self.finer * self.width * abs(float(krylov.compression.trace()) + forms)
            degrees, directions = degrees_of(mean, bound), float(krylov.P - krylov.size)
            level = 1.0 - (1.0 - self._confidence_of_probes) / self.choices
            needed = max(needed, probes_needed(mean, directions, degrees, level, half))
        return min(needed, left)

    def _share_left(self, krylov: Krylov, share: float) -> float:
        """Return the relative width left for the probes, of which a margin leaves a share."""
        if "stable-rank" not in self.wanted:
            return share * self.width
        norm = spectral_norm(krylov, inf, self.confidence)
        fixed = (norm.high / norm.low) ** 2 - 1.0 + 4.0 * krylov.rounding / norm.low if norm.low > 0.0 else 0.0
        return max(share * (self.width - fixed), self.width / 3.0)
