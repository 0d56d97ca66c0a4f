r"""Counts, effective dimension, log-determinant and distribution function of the eigenvalues, from common probes.

Ritz pairs that have converged are taken out and their eigenvalues counted exactly. The rest, of dimension d, is seen by
Lanczos from random vectors of its sphere. The pairs have a residual, which couples them to the rest. By Weyl's
inequality no eigenvalue moves by more than its norm if the coupling is left out, so every function is bracketed over
such moves, and over the rounding of the products.

The probes' mean distribution function differs from that of the rest as that of N d/2 independent draws would, and by
less where eigenvalues are repeated. So a band of the width of Kolmogorov's quantile covers at all points together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt

import numpy as np
from scipy.stats import kstwobign
from torch import Tensor

from hessian.lanczos.basis_rows import Store
from hessian.lanczos.krylov import Array, Krylov, Progress
from hessian.lanczos.probes import project_out
from hessian.lanczos.quadrature import DeflatedOperator
from hessian.numerics.symmetric import CurvatureError, SymmetricOperator, normal_rows
from hessian.quantities.estimates import Estimate, Profile
from hessian.quantities.names import COUNTS, Quantity
from hessian.quantities.random_forms import count_interval, half_width, probes_needed
from hessian.quantities.rules import Rule
from hessian.quantities.shared_search import SPREAD_MORE

CONVERGED = 1e-8
"""Residual, relative to the norm, up to which a Ritz pair is taken out."""
PILOT_PROBES = 4
"""Probes that decide how many follow."""
LOOK = 10
"""Steps between two looks at a probe's bounds."""
LOOKS = 2
"""How often the number of probes is chosen: by the pilot, and once more by all."""
RESOLVED = 0.2
"""Fraction of the width asked for that a probe's bounds may differ by when its steps end."""
ROUNDED = 10.0
"""Multiple of the rounding up to which a negative Ritz value counts as zero."""
POINTS = 48
"""Points of a distribution function."""


@dataclass(frozen=True, eq=False)
class Deflation:
    """Eigenvalues that are taken out of a matrix, and its compression to the complement of their vectors.

    Attributes:
        rest: The compression.
        atoms: The eigenvalues, decreasing.
        coupling: No eigenvalue moves by more than this if their coupling to the rest is left out, with rounding.
        start: Draws a random direction of the complement.
    """

    rest: SymmetricOperator
    atoms: Array
    coupling: float
    start: Callable[[np.random.Generator], Tensor]

    @property
    def directions(self) -> int:
        """Dimension of the complement."""
        return self.rest.P - len(self.atoms)


def deflate(operator: SymmetricOperator, krylov: Krylov) -> Deflation:
    """Take the Ritz pairs that have converged out of a matrix.

    Args:
        operator: The matrix.
        krylov: Its basis.
    """
    _, coefficients, residuals = krylov.ritz()
    chosen = np.flatnonzero(residuals <= max(CONVERGED * krylov.largest, 2.0 * krylov.rounding))
    if krylov.size == krylov.P:
        chosen = np.arange(krylov.size)
    pairs = krylov.pairs(chosen)
    coupled = krylov.coupling @ coefficients[:, chosen]
    coupling = float(np.linalg.norm(coupled, 2)) if coupled.size else 0.0
    coupling += krylov.rounding + sqrt(krylov.lost_square)
    V = pairs.vectors

    def start(rng: np.random.Generator) -> Tensor:
        return project_out(normal_rows(operator, rng, 1), V)[0]

    return Deflation(DeflatedOperator(operator, V), pairs.values, coupling, start)


@dataclass(frozen=True)
class Goals:
    """Request for the quantities of one set of probes.

    Attributes:
        quantities: Counts, effective dimensions, log-determinants and a density.
        width: Relative width asked for; of a band, its width.
        confidence: Confidence level.
        steps: Largest number of Lanczos steps of a probe.
        products: Largest number of products.
        unit: Unit of the eigenvalues of the matrix that is multiplied.
    """

    quantities: tuple[Quantity, ...]
    width: float
    confidence: float
    steps: int
    products: int
    unit: float


@dataclass(frozen=True, eq=False)
class QuadratureProbes:
    """Rules of random vectors for what a deflation leaves.

    Attributes:
        deflation: Eigenvalues taken out.
        rules: One for each probe.
        products: Products with one vector.
    """

    deflation: Deflation
    rules: tuple[Rule, ...]
    products: int

    def estimate(self, quantity: Quantity, goals: Goals) -> Estimate | Profile:
        """Return a quantity with its interval.

        Raises:
            CurvatureError: The matrix is not positive semidefinite, but the quantity is for such matrices only.
        """
        if quantity.name == "density":
            return self._density(quantity, goals)
        if quantity.name in COUNTS:
            return self._count(quantity, goals)
        return self._smooth(quantity, goals)

    def more_needed(self, quantity: Quantity, goals: Goals) -> int:
        """Return how many probes more an interval of the width asked for needs."""
        d, N = self.deflation.directions, len(self.rules)
        if quantity.name == "density":  # the brackets cost much, and more probes do not close them
            level = 2.0 * kstwobign.ppf(goals.confidence) * d / self.deflation.rest.P
            return ceil(2.0 / d * (level / (0.85 * goals.width)) ** 2) - N
        found = self.estimate(quantity, goals)
        if isinstance(found, Profile) or found.reached:
            return 0
        target = goals.width * self._scale(quantity, found)
        half = 0.5 * max(0.85 * target - found.uncertain, target / 3.0)
        if quantity.name in COUNTS:
            rank = min(max(found.value - self._atoms_beyond(quantity, goals)[0], 1.0), float(d))
            return probes_needed(rank * (1.0 - rank / d), d, np.inf, goals.confidence, half) - N
        square, degrees = self._second_moments(quantity, goals)
        return probes_needed(square, d, degrees, goals.confidence, half) - N

    def bounds(self, rule: Rule, quantity: Quantity, goals: Goals) -> tuple[float, float]:
        """Return bounds of one probe's form, of mean the quantity of the rest."""
        d, threshold = self.deflation.directions, (quantity.threshold or 0.0) / goals.unit
        if quantity.name in COUNTS:
            sided = rule if quantity.name == "count-above" else rule.mirrored()
            least, most = sided.masses(np.array([threshold]))
            return d * float(1.0 - most[0]), d * float(1.0 - least[0])
        function, lowest = _FUNCTIONS[quantity.name], float(rule.nodes[0])
        moved = self._require_semidefinite(quantity, threshold, rule.rounding, lowest, goals)
        nodes, weights = rule.nodes, rule.weights
        high = float(weights @ function(nodes + moved, threshold))
        if not rule.exact:
            at, these, _ = rule.with_node(np.array([-moved]))
            nodes, weights = np.maximum(at[0], -moved), these[0]
        return d * float(weights @ function(nodes - moved, threshold)), d * high

    def _require_semidefinite(
        self, quantity: Quantity, threshold: float, moved: float, least: float, goals: Goals
    ) -> float:
        """Return by how much eigenvalues may move, which is more if a zero was rounded to a negative number."""
        if least < -ROUNDED * moved:
            raise CurvatureError(
                f"{quantity} is for positive semidefinite matrices, but this one has an eigenvalue of at most "
                f"{least * goals.unit:.3g}: measure matrix='gauss-newton' or 'fisher', or leave {quantity.name} out",
                keywords=("matrix",),
            )
        moved = max(moved, -least)
        if threshold <= 2.0 * moved:
            raise CurvatureError(
                f"the threshold of {quantity} is not above the rounding of the products: choose more than "
                f"{2.0 * moved * goals.unit:.2g}, or measure in double precision"
            )
        return moved

    def _scale(self, quantity: Quantity, found: Estimate) -> float:
        return max(abs(found.value), 1.0) if quantity.name in COUNTS else abs(found.value)

    def _means(self, quantity: Quantity, goals: Goals) -> tuple[float, float]:
        """Return the means of the probes' bounds."""
        if not self.rules:
            return 0.0, 0.0
        low, high = np.mean([self.bounds(rule, quantity, goals) for rule in self.rules], axis=0)
        return float(low), float(high)

    def _count(self, quantity: Quantity, goals: Goals) -> Estimate:
        d = self.deflation.directions
        certain, possible = self._atoms_beyond(quantity, goals)
        low, high = self._means(quantity, goals)
        ends = count_interval(low, high, d, len(self.rules), goals.confidence) if d else (0, 0)
        ends = certain + ends[0], possible + ends[1]
        value = min(max((certain + possible + low + high) / 2.0, ends[0]), ends[1])
        return self._finish(quantity, goals, value, *ends, possible - certain + high - low)

    def _atoms_beyond(self, quantity: Quantity, goals: Goals) -> tuple[int, int]:
        """Return how many eigenvalues that were taken out are certainly and possibly beyond a threshold."""
        sign = 1.0 if quantity.name == "count-above" else -1.0
        over = sign * self.deflation.atoms - (quantity.threshold or 0.0) / goals.unit
        return int((over > self.deflation.coupling).sum()), int((over > -self.deflation.coupling).sum())

    def _smooth(self, quantity: Quantity, goals: Goals) -> Estimate:
        function, moved = _FUNCTIONS[quantity.name], self.deflation.coupling
        atoms, threshold = self.deflation.atoms, (quantity.threshold or 0.0) / goals.unit
        moved = self._require_semidefinite(quantity, threshold, moved, float(atoms.min(initial=0.0)), goals)
        known = [float(function(np.maximum(atoms, 0.0) + by, threshold).sum()) for by in (-moved, moved)]
        low, high = self._means(quantity, goals)
        half = 0.0
        if self.rules:
            square, degrees = self._second_moments(quantity, goals)
            N = len(self.rules)
            half = half_width(square, self.deflation.directions, N, degrees * N, goals.confidence)
        ends, P = (known[0] + low, known[1] + high), self.deflation.rest.P
        least, most = ends[0] - half, ends[1] + half
        shift = P * float(np.log(goals.unit)) if quantity.name == "log-det" else 0.0
        if quantity.name == "effective-dimension":
            least, most = max(least, 0.0), min(most, float(P))
        else:
            least = max(least, P * float(np.log(threshold)))
        value = min(max((ends[0] + ends[1]) / 2.0, least), most)
        return self._finish(quantity, goals, value + shift, least + shift, most + shift, ends[1] - ends[0])

    def _second_moments(self, quantity: Quantity, goals: Goals) -> tuple[float, float]:
        """Return the square of the function's deviation from its mean, summed over the rest, and its degrees.

        The nodes of few steps lie closer together than the eigenvalues; those of a single one do not differ at all.
        Rules with a node at zero spread farther, and give one more moment, so the larger of the two deviations counts.
        """
        rules = [(rule.nodes, rule.weights) for rule in self.rules]
        wider = [rule if one.exact else _with_zero(one) for rule, one in zip(rules, self.rules, strict=True)]
        return max(self._moments_by(rules, quantity, goals), self._moments_by(wider, quantity, goals))

    def _moments_by(
        self, rules: Sequence[tuple[Array, Array]], quantity: Quantity, goals: Goals
    ) -> tuple[float, float]:
        d, threshold = self.deflation.directions, (quantity.threshold or 0.0) / goals.unit
        values = [_FUNCTIONS[quantity.name](np.maximum(nodes, 0.0), threshold) for nodes, _ in rules]
        weights = [weights for _, weights in rules]
        mean = _mean_of(weights, values)
        second, fourth = (d * _mean_of(weights, [(one - mean) ** power for one in values]) for power in (2, 4))
        spread = fourth - second**2 / d
        return second, second**2 / spread if spread > 0.0 else np.inf

    def _density(self, quantity: Quantity, goals: Goals) -> Profile:
        deflation = self.deflation
        d, P, N, atoms = deflation.directions, deflation.rest.P, len(self.rules), deflation.atoms[::-1]
        nodes = np.sort(np.concatenate([rule.nodes for rule in self.rules])) if N else atoms
        weights = np.concatenate([rule.weights for rule in self.rules]) if N else np.ones(len(atoms))
        order = np.argsort(np.concatenate([rule.nodes for rule in self.rules])) if N else np.arange(len(atoms))
        mass = np.cumsum(weights[order]) / weights.sum()
        inner = nodes[np.minimum(np.searchsorted(mass, (np.arange(POINTS) + 0.5) / POINTS), len(nodes) - 1)]
        moved = deflation.coupling
        points = np.unique(np.concatenate([inner, nodes[[0, -1]], atoms - 2.5 * moved, atoms + 2.5 * moved]))
        low = np.searchsorted(atoms, points - moved, side="right") / P
        high = np.searchsorted(atoms, points + moved, side="right") / P
        half = 0.0
        if N:
            least, most = np.mean([rule.masses(points) for rule in self.rules], axis=0) * d / P
            low, high = low + least, high + most
            half = float(kstwobign.ppf(goals.confidence)) * sqrt(2.0 / (N * d)) * d / P
        below = np.searchsorted(atoms, points - moved, side="right") / P  # what is certain bounds the band
        above = 1.0 - (len(atoms) - np.searchsorted(atoms, points + moved, side="right")) / P
        value = (low + high) / 2.0
        low, high = np.maximum(low - half, below), np.minimum(high + half, above)
        low, high = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
        reached = bool(np.median(high - low) <= goals.width)
        return Profile(
            quantity,
            points * goals.unit,
            np.clip(value, low, high),
            low,
            high,
            np.empty(0),
            goals.confidence,
            N,
            reached,
            "" if reached else self._limit(2.0 * half < goals.width / 2.0, goals),
        )

    def _limit(self, unresolved: bool, goals: Goals) -> str:
        if unresolved:
            return "raise steps"
        return "raise products" if self.products + goals.steps > goals.products else SPREAD_MORE

    def _finish(
        self, quantity: Quantity, goals: Goals, value: float, low: float, high: float, uncertain: float
    ) -> Estimate:
        found = Estimate(
            quantity, value, float(low), float(high), goals.confidence, len(self.rules), True, "", float(uncertain)
        )
        target = goals.width * self._scale(quantity, found)
        if found.width <= target:
            return found
        return replace(found, reached=False, limit=self._limit(found.uncertain > target / 2.0, goals))


def _with_zero(rule: Rule) -> tuple[Array, Array]:
    """Return nodes and weights of the rule with a node at zero."""
    nodes, weights, _ = rule.with_node(np.zeros(1))
    return nodes[0], weights[0]


def _mean_of(weights: Sequence[Array], values: Sequence[Array]) -> float:
    return float(np.mean([w @ v for w, v in zip(weights, values, strict=True)]))


def _log_det(x: Array, threshold: float) -> Array:
    return np.log(x + threshold)


def _dimension(x: Array, threshold: float) -> Array:
    return x / (x + threshold)


_FUNCTIONS: dict[str, Callable[[Array, float], Array]] = {"log-det": _log_det, "effective-dimension": _dimension}


def draw_rules(
    deflation: Deflation, goals: Goals, rng: np.random.Generator, progress: Progress | None = None
) -> QuadratureProbes:
    """Draw a pilot of probes, and then as many as the quantity that needs most of them does.

    Args:
        deflation: Eigenvalues taken out.
        goals: Quantities, width, confidence and limits.
        rng: Source of the probes.
        progress: Called with a description of the current step.

    Raises:
        CurvatureError: A product is not finite, or the matrix is not positive semidefinite where it has to be.
    """
    found = QuadratureProbes(deflation, (), 0)
    if deflation.directions == 0:
        return found
    wanted, looks = min(PILOT_PROBES, max(goals.products // min(goals.steps, deflation.directions), 1)), 0
    while len(found.rules) < wanted:
        if found.rules and found.products * (1.0 + 1.0 / len(found.rules)) > goals.products:
            break
        if progress is not None:
            progress(f"quadrature probe {len(found.rules) + 1} of {wanted}")
        rule, products = _draw(found, goals, rng)
        found = replace(found, rules=(*found.rules, rule), products=found.products + products)
        if len(found.rules) == wanted and looks < LOOKS:
            looks += 1
            wanted += max(max(found.more_needed(one, goals) for one in goals.quantities), 0)
    return found


def _draw(found: QuadratureProbes, goals: Goals, rng: np.random.Generator) -> tuple[Rule, int]:
    """Return the rule of a fresh probe, with as many steps as its bounds need, and the number of products."""
    deflation = found.deflation
    most = min(goals.steps, deflation.directions)
    krylov = Krylov(
        deflation.rest, rng, start=deflation.start(rng), store=Store(reserve=min(most + 1, deflation.directions))
    )
    while True:
        krylov.extend(min(LOOK, most - krylov.size))
        own = Rule.of(krylov)
        rule = replace(own, rounding=own.rounding + deflation.coupling)
        if krylov.size >= most or krylov.invariant or _resolved(found, rule, goals):
            return rule, krylov.products


def _resolved(found: QuadratureProbes, rule: Rule, goals: Goals) -> bool:
    """Return whether the bounds of a probe are close enough for all quantities."""
    if any(quantity.name == "density" for quantity in goals.quantities):
        return False  # more steps always show more of it
    for quantity in goals.quantities:
        alone = replace(found, rules=(rule,))
        now = alone.estimate(quantity, goals)
        low, high = alone.bounds(rule, quantity, goals)
        if isinstance(now, Profile) or high - low > RESOLVED * goals.width * alone._scale(quantity, now):
            return False
    return True
