r"""Laws of sums of weighted sample covariances, $S = \sum_g \frac1{m_g}\sum_{t\le m_g}\tau_{gt}\,y_{gt}y_{gt}^T$.

The samples of group g are $N(0, \Lambda_g)$, all independent. Weights of a second group that are negative make S a
difference of two covariances, as a Hessian is of the positive and the negative parts of its samples. With
$a = (a_1, \dots, a_G)$ the resolvent behaves like $Q = (z - \sum_g a_g\Lambda_g)^{-1}$,

.. math:: a_g = \int \frac{\tau}{1 - \tau b_g}\,W_g(d\tau), \qquad b_g = \frac1{m_g}\mathrm{tr}\,\Lambda_g Q.

For Im z > 0 all of them lie in the lower half-plane, and are unique there: the iteration maps a product of half-planes
strictly into itself (Earle and Hamilton 1970). They are the stationary point of
$\log\det(z - \sum_g a_g\Lambda_g) + \sum_g m_g(\int\log(1-\tau b_g) + a_g b_g)$, whose imaginary part on the axis
counts the eigenvalues above. One group is `SeparableLaw`; multiples of the identity make a free sum.

Sources: Couillet, Debbah and Silverstein (2011) for several groups; Hachem, Loubaton and Najim (2007).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rmt.checks import (
    abbreviate,
    require,
    require_finite,
    require_numbers,
    require_points,
    require_points_in_row,
    require_positive,
    require_reals,
)
from rmt.closed_laws import AtomicLaw
from rmt.counting import CountedLaw
from rmt.joint_population import JointPopulation
from rmt.resolvent_series import moment_of_sum
from rmt.separable import Atoms
from rmt.spiked import power_of_two
from rmt.sum_equations import SumEdge, SumEquations

Array = NDArray[np.float64]
ON_AXIS = 1e-9
"""Imaginary part, relative to a number, below which it is real."""
ABOVE_KERNEL = (1e-12, 1e-10)
"""Heights above an atom at 0, in widths, at which shares agree if there is a gap."""
HEIGHT = 1e-30
"""Height above the axis, in widths, whose square is nothing next to 1."""
UNIT_LENGTH = 1e-6
"""Rounding of the length of a direction, also in single precision."""
REPELLING = 1e-2
"""How far above 1 the norm of the derivatives is at numbers that are surely no limits from above."""


def of_every_group(
    population: JointPopulation, weights: Iterable[Atoms], samples: Iterable[float]
) -> tuple[tuple[Atoms, ...], tuple[float, ...]]:
    """Return the laws of the weights and the numbers of samples of all groups.

    Raises:
        ValueError: Something of another type, or numbers of groups that differ.
    """
    given = type(population).__name__
    require(isinstance(population, JointPopulation), f"population must be a JointPopulation, got a {given}")
    single = (
        f"weights must be a sequence of laws, one for each group, got {abbreviate(weights)}; write (law,) for one group"
    )
    require(isinstance(weights, Iterable), single)
    laws, counts = tuple(weights), require_numbers("samples", samples)
    counted = f"got {population.groups} covariances, {len(laws)} laws of weights, {len(counts)} numbers of samples"
    require(len(laws) == len(counts) == population.groups, f"every group needs weights and samples, {counted}")
    for law in laws:
        require(isinstance(law, Atoms), f"weights must be an AtomicLaw or a PointMass, got {type(law).__name__}")
    return laws, counts


@dataclass(frozen=True, eq=False)
class Outside:
    r"""The numbers of the law at a point outside the support.

    Attributes:
        a: (G,).
        slope: their derivatives by the point, (G,), never positive.
        units: powers of two next to the largest weights, in which squares stay in double precision, (G,).
        squares_in_units: $\int\tau^2/(1-\tau b_g)^2$ with $\tau$ in these units, (G,).
        traces_in_units: of $\Lambda_g Q \Lambda_h Q$, with each $\Lambda$ times its unit, (G, G).
    """

    a: Array
    slope: Array
    units: Array
    squares_in_units: Array
    traces_in_units: Array

    @property
    def squares(self) -> Array:
        r"""$\int\tau^2/(1-\tau b_g)^2$, (G,); 0 or infinite where double precision cannot hold it."""
        with np.errstate(over="ignore"):
            return self.squares_in_units * self.units * self.units

    @property
    def traces(self) -> Array:
        r"""The traces of $\Lambda_g Q \Lambda_h Q$, (G, G); 0 or infinite where double precision cannot hold it."""
        with np.errstate(over="ignore"):
            return self.traces_in_units / self.units[:, None] / self.units

    def negated(self) -> Outside:
        """Return the numbers of the law of -X at the opposite point."""
        return replace(self, a=-self.a)


@dataclass(frozen=True, eq=False)
class CovarianceSum(CountedLaw):
    r"""Limit law of a sum of weighted covariances, as all numbers of directions and samples grow in proportion.

    Accuracy: transforms 1e-12 and distribution function 1e-11 away from edges, edges 1e-10, in units of the largest
    eigenvalue; close to an edge, and to an atom at 0, rounding is felt as its root.

    Args:
        population: the covariances $\Lambda_g$.
        weights: law of the weights of each group, of either sign.
        samples: $m_g$, in the units of the population's counts.

    Raises:
        ValueError: numbers of groups that differ, weights that do not consist of atoms or vanish, no samples.

    >>> from rmt import AtomicLaw, PointMass
    >>> population = JointPopulation.of([[1.0, 0.5]], [100.0])
    >>> law = CovarianceSum(population, (PointMass(1.0), PointMass(-1.0)), (400.0, 400.0))
    >>> round(law.mean, 12), law.atoms
    (0.5, ())
    """

    population: JointPopulation
    weights: tuple[Atoms, ...]
    samples: tuple[float, ...]

    def __post_init__(self) -> None:
        weights, samples = of_every_group(self.population, self.weights, self.samples)
        for law in weights:
            require(any(location for location, _ in law.atoms), "weights must not all be 0")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "samples", tuple(require_positive("a number of samples", count) for count in samples))
        require_positive("the product of the largest eigenvalue and the largest weight", self._unit)

    @property
    def support(self) -> tuple[float, float]:
        """The convex hull (L, U) of the support."""
        left, right = self.edges
        return left.z * self._unit, right.z * self._unit

    @cached_property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """The kernel: directions that no covariance has, or that no sample reaches."""
        nonzero = np.array([sum(p for x, p in law.atoms if x) for law in self.weights])
        kernel = 1.0 - self.population.rank(nonzero * self.samples) / self.population.dimension
        return ((0.0, kernel),) if kernel > 1e-13 else ()

    @property
    def edge_stieltjes(self) -> tuple[float, float]:
        """The one-sided limits (g(L-), g(U+)), infinite at an atom."""
        found = []
        for edge, infinite in zip(self.edges, (-np.inf, np.inf), strict=True):
            at = self._equations.at(np.array([edge.z + 0j]), edge.b[None] + 0j) if edge.singular else None
            found.append(infinite if at is None else float(at.trace[0].real) / self.population.dimension / self._unit)
        return found[0], found[1]

    @cached_property
    def edges(self) -> tuple[SumEdge, SumEdge]:
        """Both ends of the support.

        Raises:
            ValueError: One side of the spectrum is too small compared with the other to be resolved.
        """
        below, above = self._mirrored._equations.upper_edge(), self._equations.upper_edge()
        kernel, negative = sum(mass for _, mass in self.atoms), self._negative_mass
        lost = max(0.0 if below.z else negative, 0.0 if above.z else 1.0 - negative - kernel)
        require(
            lost < 1e-6, f"a share {lost:.3g} of the spectrum is less than about 1e-8 of the rest, next to an atom at 0"
        )
        lower, upper = 0.0 - below.z, above.z
        if all(law.support[0] >= 0 for law in self.weights):
            lower = max(lower, 0.0)
        if all(law.support[1] <= 0 for law in self.weights):
            upper = min(upper, 0.0)
        return SumEdge(lower, -below.b, below.singular), replace(above, z=upper)

    @cached_property
    def _mirrored(self) -> CovarianceSum:
        """The law of -X."""
        return CovarianceSum(self.population, tuple(_negate(law) for law in self.weights), self.samples)

    @property
    def frobenius_squared(self) -> float:
        r"""Expected $\|S\|_F^2$ for Gaussian samples, in the units of the counts: exact, not a limit.

        $\|\sum_g\bar\tau_g\Lambda_g\|_F^2 + \sum_g \epsilon_g(\|\Lambda_g\|_F^2 + (\mathrm{tr}\Lambda_g)^2)$ with
        $\epsilon_g = \int\tau^2/m_g$.
        """
        with np.errstate(over="ignore"):  # infinite where double precision cannot hold it
            return float(np.float64(self._frobenius_squared_in_units) * self._unit * self._unit)

    @property
    def _frobenius_squared_in_units(self) -> float:
        population, mean, scatter = self._in_units
        products = population.products()
        return float(mean @ products @ mean + scatter @ (population.traces**2 + np.diag(products)))

    def moment(self, n: int, about: float = 0.0) -> float:
        r"""Return the moment \int (x - about)^n \mu(dx), n >= 0, exactly, from the power series of a and b far away."""
        equations = self._equations
        population = equations.population.atoms, equations.population.counts, equations.population.block
        return moment_of_sum(n, about, self._unit, population, equations.weights, equations.samples)

    def subordination(self, z: ArrayLike) -> tuple[Any, Any]:
        """Return the numbers (a, b), each (..., G), for complex z with Im z >= 0 (limit from above)."""
        points = require_points("z", z).astype(complex)
        low = points[points.imag < 0]
        require(low.size == 0, f"z must lie in the upper half-plane, got {low[:1]}")
        b = self._equations.solve(points.ravel() / self._unit)
        a, _ = self._equations.lift(b)
        shape, (weight_units, _) = (*points.shape, self.population.groups), self._units
        return (a * weight_units).reshape(shape), (b / weight_units).reshape(shape)

    def outside(self, x: float) -> Outside:
        """Return the numbers at a point of the axis outside the support, or in one of its gaps.

        Raises:
            ValueError: a point of the support.
        """
        lower, upper = self.support
        left, right = self.edges
        if lower <= x <= upper:
            inside = f"x must lie outside the support, or in a gap of it, got {x} in [{lower}, {upper}]"
            z = np.array([x / self._unit + 0j])
            b = self._equations.solve(z)
            require(bool((np.abs(b.imag) <= ON_AXIS * np.abs(b)).all()), inside)
            require(bool(self._equations.contraction(z, self._equations.lift(b.real + 0j))[2][0] > 0.0), inside)
            return self._numbers_on_axis(z, b.real + 0j)
        if x < lower:
            return self._mirrored._above_edge(-x, -lower, -left.b).negated()
        return self._above_edge(x, upper, right.b)

    def _above_edge(self, x: float, edge: float, at_edge: Array) -> Outside:
        """Return the numbers at a point above the support; its end, and b there."""
        z, zeros = x / self._unit, np.zeros(len(self.samples))
        found = self._equations.on_axis(z, zeros)
        if found is None:  # closer to the edge than rounding lets the iteration come
            require(abs(x - edge) <= 1e-8 * self._equations.width * self._unit, f"the solution at {x} was not found")
            found = at_edge, 0.0
        return self._numbers_on_axis(np.array([z + 0j]), found[0][None] + 0j)

    def _numbers_on_axis(self, points: np.ndarray, b: np.ndarray) -> Outside:
        """Return the numbers at one point (1,), in units of the equations, from b there (1, G)."""
        (a, squares), (weight_units, _) = self._equations.lift(b), self._units
        second = self._equations.population.resolvent(points, a).second[0].real
        return Outside(
            (a[0].real * weight_units),
            self._equations.slopes(points, b)[0].real * (weight_units / self._unit),
            weight_units,
            squares[0].real,
            second,
        )

    def shares(self, x: ArrayLike, directions: ArrayLike) -> Array:
        """Return the mean squared overlap of eigenvectors at x with directions of the block, times the dimension.

        At 0 these are the shares in the kernel, if there is one. Off the spectrum there are no eigenvectors, and only
        the limit from above the axis has a value.

        Args:
            x: points of the spectrum, (n,).
            directions: of the block, unit columns, (r, k).

        Returns:
            (n, k).

        Raises:
            ValueError: points that are not finite, a kernel without a gap next to it, or other directions than unit
                columns of the block.
        """
        population, columns = self._equations.population, require_reals("directions", directions)
        size = population.block.shape[-1]
        require(
            columns.ndim == 2 and len(columns) == size,
            f"directions must be unit columns of the block, (r, k) with r = {size}, got shape {columns.shape}",
        )
        lengths = np.linalg.norm(columns, axis=0)
        bad = lengths[~(np.abs(lengths - 1.0) <= UNIT_LENGTH)]
        require(bad.size == 0, f"directions must be columns of length 1, got length {bad[:1]}")
        points = require_points_in_row("x", x)
        if self.atoms and not points.all():
            found = np.empty((len(points), columns.shape[1]))
            found[points != 0.0] = self.shares(points[points != 0.0], columns)
            found[points == 0.0] = self._kernel_shares(columns)
            return found
        z = points / self._unit + 0j
        b = self._equations.solve(z)
        a, _ = self._equations.lift(b)
        off = np.flatnonzero((np.abs(b.imag) <= ON_AXIS * np.abs(b)).all(axis=1))
        off = off[self._equations.contraction(z[off], self._equations.lift(b[off].real + 0j))[2] > 0.0]
        if off.size:  # to first order in the height above the axis
            slopes = self._equations.slopes(z[off], b[off].real + 0j).real
            z[off], a[off] = z[off].real + 1j * HEIGHT, a[off].real + 1j * HEIGHT * slopes
        found, total = self._shares(z, a, columns)
        lost = points[~(total > 0.0)]
        require(lost.size == 0, f"the shares at x = {lost[:1]} cannot be computed, because the density vanishes there")
        return found

    def _shares(self, z: np.ndarray, a: np.ndarray, directions: Array) -> tuple[Array, Array]:
        """Return shares (n, k) at points (n,) from the numbers a (n, G), and minus the imaginary part of the trace."""
        population = self._equations.population
        total = -population.resolvent(z, a).trace.imag
        with np.errstate(all="ignore"):
            return population.shares(z, a, directions) / total[:, None] * population.dimension, total

    def _kernel_shares(self, directions: Array) -> Array:
        """Return the shares of directions (r, k) in the kernel, as the limit from above 0.

        Raises:
            ValueError: Bands are so close to 0 that the limit is not reached.
        """
        z = 1j * np.array(ABOVE_KERNEL)
        near, far = self._shares(z, self._equations.lift(self._equations.solve(z))[0], directions)[0]
        require(
            bool((np.abs(near - far) <= 1e-6).all()),
            "the shares in the kernel, at x = 0, cannot be separated from those in bands next to it",
        )
        return np.asarray(near)

    def scaled(self, s: float) -> CovarianceSum:
        """Return the law of s X, s > 0."""
        factors = np.full(self.population.groups, require_positive("s", s))
        return CovarianceSum(self.population.scaled(factors), self.weights, self.samples)

    @cached_property
    def _units(self) -> tuple[Array, Array]:
        """Powers of two next to the largest weight and the largest eigenvalue of each group."""
        weights = [power_of_two([location for location, _ in law.atoms]) for law in self.weights]
        return np.array(weights), np.array([power_of_two([value]) for value in self.population.largest])

    @property
    def _unit(self) -> float:
        weights, eigenvalues = self._units
        return float((weights * eigenvalues).max())

    @cached_property
    def _equations(self) -> SumEquations:
        """In units in which products are of order 1, and weights too."""
        weights, _ = self._units
        atoms = [np.array(law.atoms).T for law in self.weights]
        scaled = tuple((places / unit, shares) for (places, shares), unit in zip(atoms, weights, strict=True))
        return SumEquations(
            self.population.scaled(weights / self._unit), scaled, np.array(self.samples, dtype=float), bool(self.atoms)
        )

    @cached_property
    def _in_units(self) -> tuple[JointPopulation, Array, Array]:
        """The population, the mean weights, and their mean squares over the numbers of samples, in units of the law."""
        units, _ = self._units
        laws = [law.scaled(1.0 / unit) for law, unit in zip(self.weights, units, strict=True)]
        squares = np.array([law.moment(2) for law in laws])
        return self._equations.population, np.array([law.mean for law in laws]), squares / np.array(self.samples)

    @cached_property
    def _negative_mass(self) -> float:
        """Mass below 0, where the numbers may be singular."""
        if all(law.support[0] >= 0 for law in self.weights):
            return 0.0
        # Next to a kernel the numbers grow like 1/z, and a density may begin close to it; where a block is known to
        # rounding only, points too close have false numbers, and more mass between them than nearer points leave.
        kernel = sum(mass for _, mass in self.atoms)
        distances = 10.0 ** -np.array(
            [*range(8, 17), *(() if self.population.block.size else (25, 50, 100))], dtype=float
        )
        (left, right), *nearer = zip(self._mass_below(-distances), self._mass_below(distances), strict=True)
        for below, above in nearer:
            if not (left - 1e-9 <= below <= above - kernel + 1e-9 and above <= right + 1e-9):
                break
            left, right = below, above
        return require_finite("the mass below 0, which an atom at 0 may hide,", float(left))

    def _mass_below(self, places: Array) -> Array:
        """Return the mass below points off the eigenvalues, in units of the width, (n,); nan if a solution repels."""
        z = places * self._equations.width + 0j
        b = self._equations.solve(z)
        mass = 1.0 - self._equations.above(z, b)
        real = np.flatnonzero((np.abs(b.imag) <= ON_AXIS * np.abs(b)).all(axis=1))
        mass[real[self._equations.contraction(z[real], self._equations.lift(b[real]))[2] <= 0.0]] = np.nan
        return mass

    def _numbers(self, z: np.ndarray, guess: np.ndarray | None = None) -> np.ndarray:
        return self._equations.solve(z, guess)

    def _resolvent(self, z: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        return self._equations.at(z, numbers).trace / self.population.dimension

    def _resolvent_slope(self, z: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        found, slope = self._equations.at(z, numbers), self._equations.slopes(z, numbers)
        # tr Q^2 by the distance of two points would cancel: tr Q (1 - sum a' Lambda) Q, from the traces at hand.
        return -(found.square - (slope * found.slope).sum(axis=1)) / self.population.dimension

    def _unsolved(self, z: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        return self._equations.false(z, numbers, REPELLING)

    def _above(self, z: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        return self._equations.above(z, numbers)


def _negate(law: Atoms) -> AtomicLaw:
    return AtomicLaw([-location for location, _ in law.atoms], [mass for _, mass in law.atoms])
