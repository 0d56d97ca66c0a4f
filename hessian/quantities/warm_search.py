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
- The earlier results decide how many vectors are kept and how many probes are drawn at first. Fresh probes do not
  depend on them. If they do not suffice, their mean decides once whether others follow or a search without W.

So one of three intervals is reported: by the first probes, by all of them, or by the search without W. Each has a third
of the error probability, so that the choice may depend on anything. How good W is decides only the cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from torch import Tensor

from hessian.lanczos.bounded_probes import FEWEST, bounded_count, bounded_interval, degrees_of
from hessian.lanczos.bounds import MISSED, certified_end, complement_end, complement_norm, known_square
from hessian.lanczos.krylov import Array, Krylov
from hessian.lanczos.probes import PILOT, Probes
from hessian.lanczos.stable_rank import Searched
from hessian.numerics.intervals import Interval
from hessian.numerics.symmetric import ScaledOperator
from hessian.quantities.names import Quantity
from hessian.quantities.random_forms import probes_needed, shifted_squares
from hessian.quantities.shared_search import BY_PROBES, SIGNS, SharedSearch

MOST_VECTORS = 24
"""Largest number of vectors that are kept."""
FALLEN = 0.5
"""Modulus relative to the largest to which Ritz values have to fall among the vectors that are kept, so that few steps
bound the rest well below the largest."""
STEPS_AFTER = 6
"""Steps from the fresh start that a plan expects."""
MOST_STEPS = 16
"""Largest number of these steps before the given vectors are multiplied."""
NEAR, CLOSE = 0.25, 1.3
"""Distance of the bound of the rest from its largest Ritz value, relative to the distance of that from the largest of
the whole, up to which the steps suffice for eigenvalues; and factor of the bound over that value that probes expect."""
CHOICES = 3
"""Intervals of which one is reported: by the first probes, by all, and by a search from nothing."""
MANY = 10 * PILOT
"""Number of probes beyond which plans do not count."""


@dataclass(frozen=True, eq=False)
class WarmStart:
    """Findings about a matrix from which the search of the next one starts.

    Attributes:
        vectors: Ritz vectors by decreasing modulus of the value, orthonormal rows ``(k, P)``.
        values: Ritz values, with all others of the basis after those that have a vector.
        products: Products of the last search from nothing.
        rest: Squared Frobenius norm outside of the basis, by probes if there were any; 0 if it was not needed.
        forms: Trace outside of the basis, likewise.
    """

    vectors: Tensor
    values: Array
    products: int
    rest: float
    forms: float = 0.0

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
        rest = forms = 0.0
        if len(probes.squares):
            rest = max(probes.mean - (known_square(krylov) if found.signs else 0.0), 0.0)
            forms = float(probes.forms.sum() if probes.exact else probes.forms.mean()) if len(probes.forms) else 0.0
        vectors = pairs.vectors[by_modulus.tolist()]
        return WarmStart(vectors, values[order] * unit, products, rest * unit**2, forms * unit)

    @property
    def whole(self) -> float:
        """Squared Frobenius norm, without the coupling of the basis to the rest."""
        return self.rest + float(self.values @ self.values)

    def fits(self, P: int) -> bool:
        """Return whether the vectors are as long as a matrix has rows."""
        return self.vectors.shape[1] == P

    def plan(self, wanted: frozenset[str], width: float, confidence: float) -> int:
        """Return how many vectors to start from: those for which vectors and probes are fewest together.

        It is 0 if a search from nothing is likely to be cheaper, as it is where many eigenvalues are nearly as large as
        the largest. This is known before anything is drawn.

        Args:
            wanted: Names of the quantities.
            width: Relative width asked for.
            confidence: Confidence level.
        """
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
        return counts[best] if costs[best] < self.products else 0

    def _probes_after(self, count: int, wanted: frozenset[str], width: float, confidence: float) -> int:
        """Predict the number of probes if the basis starts with so many vectors and a few steps follow."""
        sizes = np.abs(self.values)
        largest = sizes[0] ** 2
        left = sizes[count + STEPS_AFTER :]
        rest = self.rest + float(left @ left)
        bound = float(sizes[count] ** 2) if count < len(sizes) else largest
        needed = FEWEST
        if wanted & {"stable-rank", "frobenius-squared"}:
            needed = bounded_count(rest, bound, confidence, 0.85 * width * self.whole, MANY)
        if "trace" in wanted:
            half = 0.425 * width * abs(float(self.values.sum()) + self.forms)
            degrees = degrees_of(rest, bound)
            needed = max(
                needed, min(probes_needed(rest, float(self.vectors.shape[1]), degrees, confidence, half), MANY)
            )
        return needed


@dataclass(frozen=True, eq=False)
class WarmSearch(SharedSearch):
    """The search for several quantities from a warm start.

    Attributes:
        start: Findings about an earlier matrix.
        scaled: The matrix that is multiplied, whose unit is known after the first product.
    """

    start: WarmStart
    scaled: ScaledOperator

    def search_on(self) -> Searched | None:
        """Multiply the vectors, bound the rest, and draw probes if a quantity needs them.

        Returns:
            Basis and probes; None if a search from nothing is likely to be cheaper than what is missing.

        Raises:
            CurvatureError: A product is not finite.
        """
        most = min(self.operator.P - 1, max(self.plan.rows - 2, 0), max(self.budget - STEPS_AFTER - PILOT, 0))
        count = min(self.start.plan(self.wanted, self.width, self.confidence), most)
        krylov = Krylov(self.operator, self.rng, given=self.start.vectors[:count], store=self.plan.store)
        chain = self._bound_rest(krylov)
        if self.wanted.intersection(BY_PROBES):
            planned = self._predict_count(self._square_bound(krylov))
            if planned + len(krylov.given) > self.start.products:
                return None  # before the vectors are multiplied
        while any(place >= krylov.size for place in krylov.given):
            krylov.bring_forward(min(place for place in krylov.given if place >= krylov.size))
            krylov.extend(1)
        self._bound_whole(krylov, chain)
        if self._loose_ends(krylov) and krylov.pending:
            return None
        if not self.wanted.intersection(BY_PROBES):
            return Searched(krylov, Probes(np.empty(0), exact=True))
        unit = self.scaled.unit
        planned = self._count(krylov, self.start.rest / unit**2, self.start.forms / unit)
        probes = self._probe(krylov, min(planned, max(self.start.products, PILOT)))
        if not probes.exact:
            forms = float(probes.forms.mean()) if len(probes.forms) else 0.0
            more = self._count(krylov, probes.mean, forms) - len(probes.squares)
            if more > self.start.products:
                return None
            if more > 0:
                probes = probes.merge(self._probe(krylov, more))
        return Searched(krylov, probes)

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
            signs = (SIGNS[name],) if name in SIGNS else (1.0, -1.0)
            for sign in signs:
                top = float((sign * values).max()) if name in SIGNS else float(np.abs(values).max())
                best, bound = float((sign * known).max()), self._rest_end(krylov, sign)
                if bound > max(best, 0.0) + NEAR * max(top - max(best, 0.0), 0.0):
                    return False
        if not self.wanted.intersection(BY_PROBES):
            return True
        # A step more lowers the bound, down to the largest Ritz value at best, and with it the number of probes.
        best = self._predict_count((CLOSE * krylov.largest) ** 2)
        return self._predict_count(self._square_bound(krylov)) - best <= FEWEST

    def _predict_count(self, bound: float) -> int:
        """Return the number of probes for a bound of the rest, if the matrix is like the earlier one."""
        rest, whole = self.start.rest / self.scaled.unit**2, self.start.whole / self.scaled.unit**2
        return bounded_count(rest, bound, self._confidence_of_probes, 0.85 * self.width * whole, MANY)

    def _rest_end(self, krylov: Krylov, sign: float) -> float:
        return complement_end(krylov, sign, 1.0 - self.confidence_of_each)

    def _bound_whole(self, krylov: Krylov, chain: int) -> None:
        """Multiply further rows until the eigenvalues are bounded as closely as asked for.

        Args:
            krylov: The basis.
            chain: Place of the row that continues the fresh start, which lowers the bound of the rest; -1 for none.
                Rows that the extreme vectors are coupled to lower the bound of the whole that follows from it.
        """
        most = min(self.start.products, self.plan.rows, self.budget - PILOT)
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
        if not found and self.wanted.intersection(BY_PROBES):
            norm = self._bound_norm(krylov, Interval(0.0, 0.0, 0.0))
            if "stable-rank" in self.wanted and self._is_loose(norm):
                theta, _, _ = krylov.ritz()
                found = [(1.0 if theta[-1] >= -theta[0] else -1.0, target / 4.0)]
        return found

    def _end(self, krylov: Krylov, sign: float) -> float:
        return _end_by(krylov, sign, self._rest_end(krylov, sign), float((sign * krylov.ritz()[0]).max()))

    def _bound_norm(self, krylov: Krylov, rest: Interval) -> Interval:
        low = krylov.largest
        c = complement_norm(krylov, MISSED * (1.0 - self.confidence_of_each))
        high = max(_end_by(krylov, sign, c, low) for sign in (1.0, -1.0))
        return Interval(low, low, high + krylov.rounding + sqrt(krylov.lost_square))

    def _is_certified(self, krylov: Krylov, rest: Interval) -> bool:
        return False

    def _square_bound(self, krylov: Krylov) -> float:
        """Return an upper bound of the squared norm of the rest."""
        slack = krylov.rounding + sqrt(krylov.lost_square)
        return (complement_norm(krylov, MISSED * (1.0 - self.confidence_of_each)) + slack) ** 2

    @property
    def confidence_of_each(self) -> float:
        """Confidence of each of the intervals of which one is reported."""
        return 1.0 - (1.0 - self.confidence) / CHOICES

    @property
    def _confidence_of_probes(self) -> float:
        return 1.0 - (1.0 - self.confidence_of_each) * (1.0 - MISSED)

    def _rest_of(self, found: Searched) -> Interval:
        if found.probes.exact:
            return found.probes.interval(self.confidence)
        return bounded_interval(found.probes.squares, self._square_bound(found.krylov), self._confidence_of_probes)

    def _trace(self, krylov: Krylov, probes: Probes) -> tuple[Interval, float]:
        return SharedSearch._trace(replace(self, confidence=self._confidence_of_probes), krylov, probes)

    def _trace_moments(self, krylov: Krylov, probes: Probes) -> tuple[float, float]:
        shift, squares = shifted_squares(probes.forms, probes.squares, probes.directions)
        mean = float(squares.mean())
        return mean, degrees_of(mean, (sqrt(self._square_bound(krylov)) + abs(shift)) ** 2)

    def _count(self, krylov: Krylov, mean: float, forms: float) -> int:
        """Return the number of probes for the widths asked for, if their mean is as given."""
        left = max(self.budget - self.operator.count, FEWEST)
        bound, needed = self._square_bound(krylov), FEWEST
        if self._needs_squares:
            allowed = self._share(krylov, mean) * (known_square(krylov) + mean)
            needed = bounded_count(mean, bound, self._confidence_of_probes, allowed, left)
        if "trace" in self.wanted:
            half = 0.425 * self.width * abs(float(krylov.compression.trace()) + forms)
            degrees, directions = degrees_of(mean, bound), float(krylov.P - krylov.size)
            needed = max(needed, probes_needed(mean, directions, degrees, self._confidence_of_probes, half))
        return min(needed, left)

    def _share(self, krylov: Krylov, rest_square: float) -> float:
        if "stable-rank" not in self.wanted:
            return 0.85 * self.width
        norm = self._bound_norm(krylov, Interval(0.0, 0.0, 0.0))
        fixed = (norm.high / norm.low) ** 2 - 1.0 + 4.0 * krylov.rounding / norm.low if norm.low > 0.0 else 0.0
        return max(0.95 * (self.width - fixed), self.width / 3.0)


def _end_by(krylov: Krylov, sign: float, c: float, low: float) -> float:
    """Return an upper bound of the eigenvalues times a sign, given one of the rest."""
    return certified_end(krylov, sign, c, max(c, low))
