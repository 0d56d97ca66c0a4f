r"""Laws of weighted sample covariances $S = \frac1m \sum_{t\le m} \tau_t\, y_t y_t^T$ with $y_t \sim N(0, \Lambda)$.

With $P$ the dimension, $P/m \to c$, and the laws of the eigenvalues $\lambda$ of $\Lambda$ and of the weights $\tau$,
the resolvent $(z - S)^{-1}$ behaves like $(z - a\Lambda)^{-1}$ with two numbers that each sum up one side,

.. math:: a = \int \frac{\tau}{1 - \tau b}, \qquad b = c \int \frac{\lambda}{z - a\lambda}.

For Im z > 0 both lie in the lower half-plane, for any signs of the weights, and are unique there. They are the
stationary point of $\Phi = c\int\log(z - a\lambda) + \int\log(1 - \tau b) + ab$, the limit of $\log\det(z - S)/m$,
whose imaginary part on the axis counts the eigenvalues above: the distribution function needs no quadrature.

Sources: Marchenko and Pastur (1967); Silverstein (1995); Paul and Silverstein (2009); Couillet and Hachem (2014) for
the support. Overlaps inside the bulk: Ledoit and Péché (2011).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from .checks import require, require_points, require_points_in_row, require_positive, unwrap
from .closed_laws import AtomicLaw, PointMass
from .continuation import NARROW, descend, lowest_heights
from .counting import CountedLaw
from .resolvent_series import moment_of_sum
from .spiked import power_of_two

Atoms = AtomicLaw | PointMass
EPS = float(np.finfo(float).eps)
NEXT_TO_0 = 1e-300
"""Where laws of weights of both signs are counted: the mass between 0 and larger numbers need not be small."""
SMALLEST_PRODUCT = 1e-100
"""The least product of an eigenvalue and a weight, relative to the largest: squares stay in double precision."""
LEAST_RATIO, MOST_RATIO = 1e-100, 1e20
"""Ratios of dimension to samples: beyond them the edges have no digits, or fluctuations leave double precision."""
NEXT_TO_KERNEL = 1e-150
"""Where overlaps are those of the kernel, if a gap separates it from the bands: closer to 0 squares overflow."""
OFF_BANDS = 1e-6
"""Slack of the equations beyond which a point is off the bands: in them it is rounding, and outside it grows like the
root of the distance."""
STEPS_AT_0 = 100
"""Most steps of Newton's method there."""
SOLVED = 1e-9
"""Relative error up to which the equation for a is solved."""


def power_of_two_of(law: Atoms) -> float:
    """Return the power of two next to the largest modulus of its locations, in which they are of order 1."""
    return power_of_two([location for location, _ in law.atoms])


@dataclass(frozen=True)
class Edge:
    """An end of the continuous spectrum, in units of the law.

    Attributes:
        z: its place.
        a: the number a there; z / a is the threshold of population spikes.
        b: the number b there; 1 / b is the threshold of single weights.
        g: the Stieltjes transform there.
        curvature: the second derivative of z by g there, which sets the size of fluctuations.
    """

    z: float
    a: float
    b: float
    g: float
    curvature: float


@dataclass(frozen=True)
class SeparableLaw(CountedLaw):
    r"""Limit law of $\frac1m \Lambda^{1/2} Z^T T Z \Lambda^{1/2}$, Z an m x P matrix of independent unit entries.

    Equal weights give the sample covariance of a population, and a population of equal eigenvalues with equal weights
    the Marchenko-Pastur law. Negative weights are welcome.

    Accuracy: transforms 1e-12, edges and distribution function 1e-13, density 1e-10 away from edges, all in units of
    the largest eigenvalue; close to an edge rounding is felt as its root.

    Args:
        population: law of the eigenvalues of the population covariance, none negative.
        weights: law of the weights.
        ratio: P / m.

    Raises:
        ValueError: laws that do not consist of atoms, negative or vanishing populations, vanishing weights, or a ratio
            below 1e-100 or above 1e20.

    >>> law = SeparableLaw(PointMass(1.0), PointMass(1.0), ratio=0.25)
    >>> law.support
    (0.25, 2.25)
    """

    population: Atoms
    weights: Atoms
    ratio: float

    def __post_init__(self) -> None:
        for name, part in (("population", self.population), ("weights", self.weights)):
            made_of_atoms = isinstance(part, AtomicLaw | PointMass)
            require(made_of_atoms, f"{name} must be an AtomicLaw or a PointMass, got {type(part).__name__}")
            require(any(location for location, _ in part.atoms), f"{name} must not all be 0")
        least = self.population.support[0]
        require(least >= 0, f"eigenvalues of a population are never negative, got {least}; weights may be")
        object.__setattr__(self, "ratio", require_positive("ratio", self.ratio))
        require(
            LEAST_RATIO <= self.ratio <= MOST_RATIO,
            f"ratio, the dimension over the number of samples, must lie between {LEAST_RATIO:g} and {MOST_RATIO:g}, "
            f"got {self.ratio:g}",
        )
        require_positive("the product of the largest eigenvalue and the largest weight", self._unit)
        products = 1.0
        for part in (self.population, self.weights):
            sizes = [abs(location) for location, _ in part.atoms if location]
            products *= min(sizes) / max(sizes)
        require(
            products >= SMALLEST_PRODUCT,
            f"the least product of an eigenvalue and a weight is {products:.3g} of the largest and must be at least "
            f"{SMALLEST_PRODUCT}; replace smaller eigenvalues and weights by 0",
        )

    @property
    def support(self) -> tuple[float, float]:
        """The convex hull (L, U) of the support."""
        lower, upper = self._interval
        return (min(lower, 0.0), max(upper, 0.0)) if self.atoms else (lower, upper)

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """The kernel: eigenvalues 0 of the population, or fewer weights than dimensions."""
        kernel = 1.0 - min(1.0 - self._kernels[0], (1.0 - self._kernels[1]) / self.ratio)
        return ((0.0, kernel),) if kernel > 1e-15 else ()

    @property
    def edge_stieltjes(self) -> tuple[float, float]:
        """The one-sided limits (g(L-), g(U+)), infinite at an atom and at 0."""
        lower, upper = self.support
        left = -np.inf if lower == 0.0 else self.edges[0].g
        return left, np.inf if upper == 0.0 else self.edges[1].g

    @cached_property
    def edges(self) -> tuple[Edge, Edge]:
        r"""Both ends of the continuous spectrum; where a left end is 0, its a is 0 and its b infinite.

        Outside the spectrum z decreases along b > 0 until $\int\tau^2/(1-\tau b)^2\,c\int\lambda^2/(z-a\lambda)^2 = 1$.
        """
        if self.weights.support[1] <= 0:
            right, left = (Edge(-e.z, -e.a, -e.b, -e.g, e.curvature) for e in self.negated().edges)
            return left, right
        below, above = self._edge(-1.0), self._edge(1.0)
        assert above is not None
        if below is None:  # at 0, or beyond a gap that the companion, of dimension m and of the same spectrum, has not
            twin = SeparableLaw(self.weights, self.population, 1.0 / self.ratio)._edge(-1.0)
            below = Edge(0.0, 0.0, -np.inf, -np.inf, np.inf) if twin is None else _across(self, twin)
        if below.z < 0.0 <= self.weights.support[0]:  # by rounding
            below = replace(below, z=0.0)
        return below, above

    def moment(self, n: int, about: float = 0.0) -> float:
        r"""Return the moment \int (x - about)^n \mu(dx), n >= 0, exactly, from the power series of a and b far away."""
        eigenvalues, masses, weights, shares = self._arrays
        population = eigenvalues[:, None], masses, np.zeros((1, 0, 0))
        return moment_of_sum(n, about, self._unit, population, [(weights, shares)], np.array([1.0 / self.ratio]))

    def subordination(self, z: ArrayLike) -> tuple[Any, Any]:
        """Return the numbers (a, b) for complex z with Im z >= 0 (limit from above): a in weights, b in 1/weights."""
        points = require_points("z", z).astype(complex)
        low = points[points.imag < 0]
        require(low.size == 0, f"z must lie in the upper half-plane, got {low[:1]}")
        a, b = self._solve(points.ravel() / self._unit)
        unit = power_of_two_of(self.weights)
        return unwrap(a.reshape(points.shape) * unit), unwrap(b.reshape(points.shape) / unit)

    def overlaps(self, x: ArrayLike, eigenvalues: ArrayLike) -> Any:
        r"""Return the share of each population eigenvector in the eigenvectors at x, times the dimension.

        $O(x, \lambda) = -\mathrm{Im}\,(z - a\lambda)^{-1} / \int -\mathrm{Im}\,(z - a\lambda)^{-1}$ for z to x from
        above the axis: the mean over the population is 1. At 0 these are the shares in the kernel, if there is one. Off
        the spectrum there are no eigenvectors, and only the limit has a value.

        Args:
            x: points of the spectrum, (n,).
            eigenvalues: of the population, (k,), none negative.

        Returns:
            (n, k).

        Raises:
            ValueError: a point or an eigenvalue that is not finite, or a negative eigenvalue.
        """
        row = require_points_in_row("x", x)
        given = require_points_in_row("eigenvalues", eigenvalues)
        low = given[given < 0]
        require(low.size == 0, f"eigenvalues of a population are never negative, got {low[:1]}")
        points, chosen = row / self._unit, given / power_of_two_of(self.population)
        locations, masses, _, _ = self._arrays
        hidden = self._in_kernel(points)
        shares = self._shares(np.where(hidden, 1.0, points), np.append(chosen, locations))
        shares[hidden] = self._kernel_shares(np.append(chosen, locations)) if hidden.any() else 0.0
        total = shares[:, chosen.size :] @ masses
        lost = row[~(np.isfinite(total) & (total > 0))]
        require(lost.size == 0, f"overlaps at x = {lost[:1]} exceed double precision")
        return shares[:, : chosen.size] / total[:, None]

    def _shares(self, x: np.ndarray, eigenvalues: np.ndarray) -> np.ndarray:
        r"""Return $-\mathrm{Im}\,(z - a\lambda)^{-1}$ for z to x (n,) and eigenvalues (k,), up to a factor for each x.

        It is $(\mathrm{Im}\,z - \lambda\,\mathrm{Im}\,a) / |z - a\lambda|^2$. The equations give
        $\mathrm{Im}\,z : -\mathrm{Im}\,a = 1 - A_2B_2 : A_2B_1$ with $A_2 = \int|\tau/(1-\tau b)|^2$ and
        $B_k = c\int\lambda^k/|z - a\lambda|^2$. So both count off the bands, and in them only $\mathrm{Im}\,a$ does.
        """
        locations, masses, weights, shares = self._arrays
        positive, masses = locations[locations > 0], masses[locations > 0]
        a, b = self._solve(x + 0j)
        distances = np.abs(x[:, None] - a[:, None] * positive)
        unit = np.ldexp(1.0, np.frexp(distances.min(axis=1))[1])  # a power of two changes no digit
        with np.errstate(all="ignore"):
            inverse = (unit[:, None] / distances) ** 2
            b1, b2 = (inverse @ (self.ratio * masses * positive**k) for k in (1, 2))
            size = np.maximum(np.abs(b), 1.0)
            a2 = np.abs(size[:, None] * weights / (1 - weights * b[:, None])) ** 2 @ shares
            slack, pull = 1 - a2 / (size * unit) ** 2 * b2, a2 / (size * unit) ** 2 * b1
            off = slack > OFF_BANDS
            part = np.where(off[:, None], slack[:, None] + pull[:, None] * eigenvalues, eigenvalues)
            if 0.0 in locations:  # which may be much closer
                unit = np.where(off, np.minimum(unit, np.ldexp(1.0, np.frexp(x)[1])), unit)
            distances = np.abs(x[:, None] - a[:, None] * eigenvalues) / unit[:, None]
            return np.where(part > 0, part / distances**2, 0.0)

    def _in_kernel(self, x: np.ndarray) -> np.ndarray:
        """Return which points are at the atom at 0, or so close that only a gap lies between, (n,)."""
        if not self.atoms:
            return np.zeros(x.shape, dtype=bool)
        samples_lack = 1.0 - self._kernels[1] < self.ratio * (1.0 - self._kernels[0])
        return (x == 0.0) | (samples_lack & (np.abs(x) < NEXT_TO_KERNEL))

    def _kernel_shares(self, eigenvalues: np.ndarray) -> np.ndarray:
        r"""Return the shares of eigenvalues (k,) in the kernel, up to a factor.

        Near 0 the number a is $-tz$ with $c\int t\lambda/(1 + t\lambda)$ equal to the mass of the weights that are not
        0, and the shares are $1/(1 + t\lambda)$. If as many samples as directions are left, the kernel is that of the
        population.
        """
        locations, masses, _, _ = self._arrays
        rank, directions = (1.0 - self._kernels[1]) / self.ratio, 1.0 - self._kernels[0]
        if rank >= directions:
            return np.where(eigenvalues == 0.0, 1.0, 0.0)

        def excess(logarithm: float) -> float:
            return float(1 / (1 + np.exp(-logarithm) / locations[locations > 0]) @ masses[locations > 0]) - rank

        middle = np.log(rank / (directions - rank))
        low, high = (middle - np.log(size) for size in (locations[-1], locations[locations > 0][0]))
        t = np.exp(brentq(excess, low - 1e-9, high + 1e-9, xtol=1e-15, rtol=4 * EPS))
        return np.asarray(1 / (1 + t * eigenvalues))

    def scaled(self, s: float) -> SeparableLaw:
        """Return the law of s X, s > 0."""
        return SeparableLaw(self.population.scaled(require_positive("s", s)), self.weights, self.ratio)

    def negated(self) -> SeparableLaw:
        """Return the law of -X: the weights change their signs."""
        atoms = self.weights.atoms
        return SeparableLaw(self.population, AtomicLaw([-x for x, _ in atoms], [p for _, p in atoms]), self.ratio)

    @property
    def _interval(self) -> tuple[float, float]:
        left, right = self.edges
        return left.z * self._unit + 0.0, right.z * self._unit + 0.0  # without a sign of 0

    @property
    def _unit(self) -> float:
        return power_of_two_of(self.population) * power_of_two_of(self.weights)

    @cached_property
    def _kernels(self) -> tuple[float, float]:
        """Masses at 0 of the population and of the weights."""
        return dict(self.population.atoms).get(0.0, 0.0), dict(self.weights.atoms).get(0.0, 0.0)

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Eigenvalues and masses, weights and masses, in units of about their largest modulus."""
        eigenvalues, masses = np.array(self.population.atoms).T
        weights, shares = np.array(self.weights.atoms).T
        return eigenvalues / power_of_two_of(self.population), masses, weights / power_of_two_of(self.weights), shares

    def _weight_sum(self, b: np.ndarray, power: int) -> np.ndarray:
        r"""Return \int (\tau / (1 - \tau b))^power."""
        _, _, weights, shares = self._arrays
        return (weights / (1 - weights * b[..., None])) ** power @ shares

    def _population_sum(self, z: np.ndarray, a: np.ndarray, power: int, upper: int) -> np.ndarray:
        r"""Return c \int \lambda^upper / (z - a \lambda)^power."""
        eigenvalues, masses, _, _ = self._arrays
        return (eigenvalues**upper / (z[..., None] - a[..., None] * eigenvalues) ** power) @ (self.ratio * masses)

    def _solve(self, z: np.ndarray, guess: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers a and b at z, (n,), Im z >= 0, in the law's own units; the guess is an a nearby."""
        eigenvalues, masses, weights, shares = self._arrays
        masses = self.ratio * masses

        def fixed_point(u: np.ndarray, z: np.ndarray) -> np.ndarray:
            return z - self._weight_sum(self._population_sum(z, z - u, 1, 1), 1)

        def newton_step(u: np.ndarray, z: np.ndarray) -> np.ndarray:
            population = eigenvalues / (z[:, None] - (z - u)[:, None] * eigenvalues)
            weighted = weights / (1 - weights * (population @ masses)[:, None])
            slope = 1 - ((weighted * weighted) @ shares) * ((population * population) @ masses)
            return (u - z + weighted @ shares) / slope

        # u = z - a is z far away, up to a constant, and lies above z: the branch that `descend` follows.
        width = max(1.0, abs(self.edges[0].z), abs(self.edges[1].z))
        lowest = lowest_heights(z, width)
        u = descend(z, newton_step, fixed_point, width, None if guess is None else z - guess, lowest=lowest)
        left = self._left_over(z, u)
        # Next to 0 a spread of products makes structures that are narrower than steps which pass for rounding.
        for finest in NARROW:
            if not (again := np.flatnonzero(left > SOLVED)).size:
                break
            tried = descend(z[again], newton_step, fixed_point, width, finest=finest * width, lowest=lowest[again])
            left_now = self._left_over(z[again], tried)
            better = left_now < left[again]
            u[again[better]], left[again[better]] = tried[better], left_now[better]
        return z - u, self._population_sum(z, z - u, 1, 1)

    def _left_over(self, z: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return by how much the equation for a is missed beyond rounding, relative to a."""
        with np.errstate(all="ignore"):
            a = z - u
            missed = np.abs(a - self._weight_sum(self._population_sum(z, a, 1, 1), 1))
            return np.nan_to_num((missed - 1e-14 * (np.abs(z) + np.abs(u))) / np.abs(a), nan=0.0, posinf=0.0)

    def _numbers(self, z: np.ndarray, guess: np.ndarray | None = None) -> np.ndarray:
        return np.stack(self._solve(z, None if guess is None else guess[:, 0]), axis=1)

    def _resolvent(self, z: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        return self._population_sum(z, numbers[:, 0].copy(), 1, 0) / self.ratio

    def _resolvent_slope(self, z: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        a, b = numbers.T.copy()
        a2, b1, b2 = self._weight_sum(b, 2), *(self._population_sum(z, a, 2, k) for k in (1, 2))
        slope = -a2 * b1 / (1 - a2 * b2)
        return (slope * b1 - self._population_sum(z, a, 2, 0)) / self.ratio

    @cached_property
    def _negative_mass(self) -> float:
        """Mass below 0, where the numbers a and b may be singular."""
        _, _, weights, shares = self._arrays
        if weights[0] >= 0:
            return 0.0
        if weights[-1] <= 0:
            return 1.0 - sum(mass for _, mass in self.atoms)
        if 1.0 - self._kernels[1] <= self.ratio * (1.0 - self._kernels[0]):
            return float(shares[weights < 0].sum()) / self.ratio  # one eigenvalue for every weight, of its sign
        z = np.array([-NEXT_TO_0 + 0j])
        return float(1 - self._above(z, self._at_0(self._numbers(z)))[0])

    def _at_0(self, numbers: np.ndarray) -> np.ndarray:
        r"""Return the numbers next to 0, (1, 2), from values near them, where there are fewer dimensions than weights.

        Where these are nearly as many, the law is singular within 1e-18 of 0, which is as close as `_solve` comes. At 0
        one equation is left: $\int \tau b/(1 - \tau b) = -C(1 - p_0) = ab$, p_0 the population's mass at 0.
        """
        _, _, weights, shares = self._arrays
        product, b = -self.ratio * (1.0 - self._kernels[0]), numbers[0, 1]
        for _ in range(STEPS_AT_0):
            with np.errstate(all="ignore"):
                terms = weights * b / (1 - weights * b)
                step = (terms @ shares - product) * b / (terms * (1 + terms) @ shares)
            if not np.isfinite(step):
                break
            b = complex((b - step).real, min((b - step).imag, -0.0))
            if abs(step) <= 1e-15 * abs(b):
                return np.array([[product / b, b]])
        return numbers

    def _above(self, z: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        a, b = numbers.T.copy()
        eigenvalues, masses, weights, shares = self._arrays
        # Im a and Im b are never positive, and where they are 0 their sign still tells the side of the cut.
        part_a, part_b = (np.maximum(-part.imag, 0.0)[:, None] for part in (a, b))
        above = part_a * eigenvalues + np.maximum(z.imag, 0.0)[:, None]
        population = np.arctan2(above, z.real[:, None] - a.real[:, None] * eigenvalues) @ masses
        size = np.arctan2(part_b * np.abs(weights), 1 - weights * b.real[:, None])
        weighted = (np.sign(weights) * size) @ shares
        return (population + (weighted + (a * b).imag) / self.ratio) / np.pi

    def _edge(self, side: float) -> Edge | None:
        """Return the end on one side (-1 left, 1 right); none if the numbers do not meet outside the origin."""
        eigenvalues, masses, weights, shares = self._arrays
        weights = side * weights
        largest, positive_ones = float(weights.max()), eigenvalues[eigenvalues > 0]
        rows, columns = 1.0 - self._kernels[1], self.ratio * (1.0 - self._kernels[0])
        if largest <= 0.0 and columns >= rows:
            return None
        total = self.ratio * float(eigenvalues @ masses)

        def at(b: float) -> tuple[float, float, np.ndarray]:
            """Return the numbers z and a that belong to b, and the distances z - a lambda, which keep their digits."""
            a = float(weights / (1 - weights * b) @ shares)
            extreme = positive_ones[-1] if a >= 0 else positive_ones[0]
            gaps, part = a * (extreme - eigenvalues), self.ratio * float(extreme * masses[eigenvalues == extreme][0])

            def excess(logarithm: float) -> float:
                return float(eigenvalues / (np.exp(logarithm) + gaps) @ (self.ratio * masses)) / b - 1

            lowest, highest = np.log(part / b), np.log(total / b)
            distance = np.exp(brentq(excess, lowest - 1e-9, highest + 1e-9, xtol=1e-16, rtol=4 * EPS))
            return float(a * extreme + distance), a, distance + gaps

        def beyond(logarithm: float) -> float:
            b = located(logarithm)
            _, _, distances = at(b)
            return float(
                (weights / (1 - weights * b)) ** 2 @ shares * ((eigenvalues / distances) ** 2 @ (self.ratio * masses))
                - 1
            )

        def located(logarithm: float) -> float:
            t = np.exp(logarithm)
            return float(t / (1 + t) / largest if largest > 0 else t)

        low, high = -1.0, 1.0
        while beyond(low) > 0:
            low -= 4.0
        while beyond(high) < 0:
            high += 1.0
        b = located(brentq(beyond, low, high, xtol=1e-16, rtol=4 * EPS))
        z, a, distances = at(b)
        return self._edge_at(side * z, side * a, side * b, side * distances)

    def _edge_at(self, z: float, a: float, b: float, distances: np.ndarray) -> Edge:
        eigenvalues, masses, _, _ = self._arrays
        masses = self.ratio * masses
        b1, b2 = (float(eigenvalues**k / distances**2 @ masses) for k in (1, 2))
        a2, a3 = (float(self._weight_sum(np.array(b), k)) for k in (2, 3))
        b3 = float((eigenvalues / distances) ** 3 @ masses)
        g = float(1 / distances @ masses) / self.ratio / self._unit
        return Edge(z, a, b, g, abs(2 * (a3 * b2 + a2 * a2 * b3) / b1) * (self.ratio / (a2 * b1)) ** 2)


def _across(law: SeparableLaw, twin: Edge) -> Edge:
    """Return an end of the companion, whose population are the weights, as an end of the law."""
    z = law.ratio * twin.z
    eigenvalues, _, _, _ = law._arrays
    a = z * twin.b
    return law._edge_at(z, a, law.ratio * twin.a / z, z - a * eigenvalues)
