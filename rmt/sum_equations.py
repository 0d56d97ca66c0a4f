"""The equations of sums of weighted covariances, solved above the axis and on it, in units in which all is of order 1.

`rmt.covariance_sum` states them; a and b are (n, G) at points z (n,).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import floor, log2

import numpy as np
from numpy.typing import NDArray

from rmt.joint_population import JointPopulation, Resolvent, nan_where_singular

Array = NDArray[np.float64]
Complex = np.ndarray
NEWTON_STEPS, MAP_STEPS, AXIS_STEPS = 40, 300, 400
FACTOR = 0.25
"""Factor of the heights above the axis along which the solution is followed."""
LOWEST, FAST, LEAST = 1e-12, 1e-2, 1e-120
"""Height of the last point above the axis in widths; the factor below it, where points are closer to 0; the least."""
BLOCK_ROUNDING = 1e-17
"""The least where a block is known to rounding."""
EDGE_HALVINGS = 42
SERIES_TERMS, SERIES_REACH, SERIES_TRUST = 6, 0.01, 1e-6


@dataclass(frozen=True, eq=False)
class SumEdge:
    """An end of the spectrum, in units of the equations.

    Attributes:
        z: its place.
        b: the numbers there, (G,).
        singular: whether the equation degenerates there, as at the end of a density; not at an atom.
    """

    z: float
    b: Array
    singular: bool


@dataclass(frozen=True, eq=False)
class SumEquations:
    """One sum.

    Attributes:
        population: the covariances.
        weights: locations and masses of each group's law.
        samples: numbers of samples, (G,).
        kernel: whether the law has an atom at 0.
    """

    population: JointPopulation
    weights: tuple[tuple[Array, Array], ...]
    samples: Array
    kernel: bool

    @cached_property
    def width(self) -> float:
        """A bound of all eigenvalues, in units of the law."""
        population, weights = self.population, self.weights
        stretch = (1.0 + np.sqrt(population.dimension / self.samples)) ** 2
        return float(sum(population.largest * [np.abs(w).max() for w, _ in weights] * stretch))

    @np.errstate(all="ignore")
    def lift(self, b: Complex) -> tuple[Complex, Complex]:
        """Return the numbers a that belong to b, and their derivatives: (n, G) each."""
        a, slope = np.empty_like(b), np.empty_like(b)
        for g, (weights, shares) in enumerate(self.weights):
            lifted = weights / (1.0 - weights * b[:, g, None])
            a[:, g], slope[:, g] = lifted @ shares, lifted**2 @ shares
        return a, slope

    def at(self, z: Complex, b: Complex) -> Resolvent:
        """Return the traces that belong to b."""
        return self.population.resolvent(z, self.lift(b)[0])

    def step(self, z: Complex, b: Complex) -> tuple[Complex, Complex]:
        """Return the Newton correction of b, to be subtracted, and the image of b: (n, G) each."""
        m, (a, slope) = self.samples, self.lift(b)
        found = self.population.resolvent(z, a)
        image = found.first / m
        jacobian = np.eye(len(m)) - found.second / m[:, None] * slope[:, None, :]
        return nan_where_singular(np.linalg.solve, jacobian, (b - image)[..., None])[..., 0], image

    def polish(self, z: Complex, b: Complex, accuracy: float) -> tuple[Complex, np.ndarray]:
        """Run Newton's method in the half-plane; return which points it has solved, (n,)."""
        b, converged = b.copy(), np.zeros(len(z), dtype=bool)
        last, active = np.full(len(z), np.inf), np.arange(len(z))
        for _ in range(NEWTON_STEPS):
            with np.errstate(all="ignore"):
                step, _ = self.step(z[active], b[active])
            good = np.isfinite(step).all(axis=1)
            new = b[active] - np.where(good[:, None], step, 0.0)
            b[active] = new.real + 1j * np.minimum(new.imag, 0.0)
            size = np.where(good, np.abs(step).max(axis=1), np.inf)
            scale = np.abs(b[active]).max(axis=1)
            done = (size <= accuracy * scale) | ((size < 1e-7 * scale) & (size >= last[active]))
            converged[active], last[active] = done, size
            active = active[~done & good]
            if not len(active):
                break
        return b, converged

    def solve(self, z: Complex, guess: Complex | None = None) -> Complex:
        """Return the numbers b at z (n,), Im z >= 0, in units of the law; the guess is b nearby."""
        b = np.zeros((len(z), self.population.groups), dtype=complex)
        active = np.arange(len(z))
        if guess is not None:
            found, converged = self.polish(z, guess, 1e-15)
            # Well inside the half-plane there is one solution only.
            kept = converged & (found.imag < -1e-7 * np.abs(found)).all(axis=1)
            b[kept], active = found[kept], active[~kept]
        height = 4.0 * self.width
        at = z.real[active] + 1j * np.maximum(height, z.imag[active])
        b[active] = self.population.resolvent(at, np.tile(self.lift(b[:1] * 0)[0], (len(at), 1))).first / self.samples
        grows = np.zeros_like(b.real)
        near = np.abs(z[active][(z[active].imag == 0.0) & (z[active].real != 0.0)])
        least = BLOCK_ROUNDING if self.population.block.size else LEAST
        lowest = max(least, min(LOWEST, near.min(initial=np.inf) / self.width))
        while len(active):
            last, before = height < lowest * self.width, at
            at = z.real[active] + 1j * np.maximum(0.0 if last else height, z.imag[active])
            # Close to an atom they grow, up to like 1/z, and Newton's method has to begin near by.
            with np.errstate(all="ignore"):  # what is not finite is not converged
                ratio = np.where(at == 0.0, 1.0, before / np.where(at == 0.0, 1.0, at))[:, None]
                nearby = b[active] * ratio ** grows[active]
            found, converged = self.polish(at, nearby, 1e-15 if last else 1e-8)
            lost = np.flatnonzero(self.false(at, found))
            if len(lost):
                found[lost], converged[lost] = self.polish(at[lost], b[active[lost]], 1e-15 if last else 1e-8)
            stuck = np.flatnonzero(~converged)
            if len(stuck) and not last:
                better = b[active[stuck]]
                for _ in range(MAP_STEPS):
                    better = (better + self.step(at[stuck], better)[1]) / 2
                found[stuck] = self.polish(at[stuck], better, 1e-8)[0]
            if last:  # a step onto the axis that fails leaves the solution above it
                found[stuck] = b[active[stuck]]
            with np.errstate(all="ignore"):
                powers = np.log(np.abs(found / b[active])) / np.log(np.abs(ratio))
            grows[active], b[active] = np.clip(np.nan_to_num(powers), 0.0, 1.0), found
            if last:
                break
            height *= FACTOR if height > LOWEST * self.width else FAST
        return b

    def false(self, z: Complex, b: Complex, slack: float = 0.0) -> np.ndarray:
        r"""Return where numbers cannot be the solution, (n,): too close to real above the axis, or repelling on it.

        Cauchy and Schwarz give $-\mathrm{Im}\,b_g \ge \mathrm{Im}(z)\,m_g|b_g|^2/\mathrm{tr}\,\Lambda_g$.
        At an end numbers neither attract nor repel, and rounding makes them repel by no more than the slack.
        """
        size = np.abs(b)
        false = (-b.imag < 0.5 * z.imag[:, None] * self.samples * size**2 / self.population.traces).any(axis=1)
        real = np.flatnonzero((z.imag == 0.0) & (z.real != 0.0) & (np.abs(b.imag) <= 1e-9 * size).all(axis=1))
        with np.errstate(all="ignore"):
            false[real] = ~(self.contraction(z[real], self.lift(b[real]))[2] > -slack)
        return np.asarray(false & ((z.real != 0.0) | (z.imag > 0.0)))

    def upper_edge(self) -> SumEdge:
        """Return the least z to which the solution can be followed along the axis from the right, where it is positive.

        There the iteration is monotone in every entry, and its least fixed point is approached from below by Newton's
        method; where the matrix of its derivatives has norm 1, a density begins, and everything is a power series in
        the distance s of that norm from 1. The end is where the series of z has s = 0.
        """
        low, high, b, last = self._bracket()
        slack = last[-1][1]
        at_zero = self.kernel and abs(high) < 1e-6 * self.width and not self._falls(high, slack)
        if slack > 0.5 or at_zero:  # followed into an atom
            return SumEdge(0.0 if at_zero else high, b, False)
        reach, below = high - low, np.zeros(len(self.samples))
        near = reach * 2.0 ** _doublings(last, reach)
        if (point := self.on_axis(high + near, below)) is not None and point[1] < SERIES_REACH:
            reach = near
        while (far := self.on_axis(high + reach, below)) is None or far[1] < SERIES_REACH:
            reach *= 2.0
        z = high + reach * (np.arange(1, SERIES_TERMS + 1) / SERIES_TERMS) ** 2
        followed = [(place, point) for place in z if (point := self.on_axis(place, below)) is not None]
        s = np.array([slack for _, (_, slack) in followed])
        powers = (s[:, None] / s.max()) ** np.arange(len(s) + 1)
        # z has no linear term, b has one.
        edge = _solve_linear(np.delete(powers, 1, axis=1), np.array([place - high for place, _ in followed]))[0]
        at_edge = _solve_linear(powers[:, :-1], np.array([one for _, (one, _) in followed]))[0]
        # Where scales differ widely the series may not reach: the bracket then is the better answer.
        reached = np.isfinite(at_edge).all() and abs(edge) <= high - low + SERIES_TRUST * max(
            abs(high), abs(high - low)
        )
        return SumEdge(high + float(edge), at_edge, True) if reached else SumEdge(high, b, True)

    def _bracket(self, surely: bool = False) -> tuple[float, float, Array, list[tuple[float, float]]]:
        """Bracket the end by halving; return the interval, b at its upper end and the last points with their slack.

        It is halved several times at once if the last points locate the end. Points that are missed from the right are
        evaluated from above the axis: the last one, which decides for all, and every one if that is not an end.
        """
        beyond = self.on_axis if surely or self._convex else self._followed
        high = 4.0 * self.width
        found = beyond(high, np.zeros(len(self.samples)))
        assert found is not None  # far from the spectrum the iteration contracts
        low, (b, slack), halvings = -high, found, 0
        last = [(high, slack)]
        while halvings < EDGE_HALVINGS:
            lower, upper, ahead = _bisect(low, high, EDGE_HALVINGS - halvings, *_end(last))
            here = beyond(upper, b) if upper < high else (b, slack)
            if ahead > 1 and (here is None or (lower > low and beyond(lower, here[0]) is not None)):
                lower, upper, ahead = low, low + (high - low) / 2, 1  # they were wrong
                here = beyond(upper, b)
            halvings += ahead
            if here is None:
                low = upper
                continue
            if upper < high:
                last = [*last[-2:], (upper, here[1])]
            low, high, (b, slack) = lower, upper, here
        if not (surely or self._convex) and self._from_above(low) is not None:
            return self._bracket(surely=True)
        return low, high, b, last

    def _falls(self, z: float, slack: float) -> bool:
        """Return whether the slack vanishes at z as at the end of a density; at an atom it does not, or as at 0."""
        far = self.on_axis(4.0 * z, np.zeros(len(self.samples))) if z > 0.0 else None
        return far is not None and slack < 0.1 * far[1]

    def on_axis(self, z: float, b: Array) -> tuple[Array, float] | None:
        """Return the numbers at a point z beyond the spectrum, and how far the norm of the derivatives is below 1.

        Real numbers at which it is below 1 are the solution: continued into the half-plane they stay in theirs. They
        are followed from those at a larger z; where some weights are negative the iteration is monotone but not convex,
        so that Newton's method may miss them, and they are followed from above the axis.
        """
        found = self._followed(z, b)
        return self._from_above(z) if found is None and not self._convex else found

    @cached_property
    def _convex(self) -> bool:
        return all(part.min() >= 0.0 for part, _ in self.weights)

    def _from_above(self, z: float) -> tuple[Array, float] | None:
        """Return the numbers at z where they are real and attract, and nothing lies beyond."""
        point = np.array([z + 0j])
        b = self.solve(point)
        if (np.abs(b.imag) > 1e-9 * np.abs(b)).any():
            return None
        lifted = self._positive(z, b[0].real)
        if lifted is None:
            return None
        slack = float(self.contraction(point, lifted)[2][0])
        return (b[0].real, slack) if slack > 0.0 else None

    def _positive(self, z: float, b: Array) -> tuple[Complex, Complex] | None:
        """Return numbers that `lift` gives of real b (G,), where all is positive at z, as it is beyond the spectrum."""
        if any((1.0 - part.max() * one) <= 0 for one, (part, _) in zip(b, self.weights, strict=True)):
            return None
        lifted = self.lift(b[None] + 0j)
        return lifted if self.population.smallest(z, lifted[0][0].real) > 0 else None

    def _followed(self, z: float, b: Array) -> tuple[Array, float] | None:
        """Return the least fixed point at z from that at a larger z, by Newton's method."""
        m, last = self.samples, np.inf
        for _ in range(AXIS_STEPS):
            lifted = self._positive(z, b)
            if lifted is None:
                return None
            image, (derivative,), (slack,) = self.contraction(np.array([z + 0j]), lifted)
            if slack <= 0.0:
                return None
            step = _solve_linear(np.eye(len(m)) - derivative, image[0] - b)
            if not np.isfinite(step).all():
                return None
            b = b + step
            # Close to the edge rounding stops the digits early: small steps that no longer shrink have converged too.
            size = float(np.abs(step).max() / np.abs(b).max())
            if size <= 1e-15 or last <= size < 1e-6:
                return b, float(slack)
            last = size
        return None

    def contraction(self, z: Complex, lifted: tuple[Complex, Complex]) -> tuple[Array, Array, Array]:
        """Apply the iteration to real numbers b on the axis, given what `lift` returns for them.

        Limits from above attract.

        Returns:
            The image of b (n, G), the derivatives (n, G, G), and how far the norm of these is below 1 (n,).
        """
        a, slope = lifted
        found = self.population.resolvent(z, a)
        derivatives = found.second.real / self.samples[:, None] * slope.real[:, None, :]
        norms, known = np.full(len(z), np.inf), np.isfinite(derivatives).all(axis=(1, 2))
        norms[known] = np.abs(np.linalg.eigvals(derivatives[known])).max(axis=1)
        return found.first.real / self.samples, derivatives, 1.0 - norms

    def above(self, z: Complex, b: Complex) -> Array:
        """Return mass above points of the axis."""
        population, weights = self.population, self.weights
        a, _ = self.lift(b)
        total = population.angle(z, a)
        for g, ((locations, shares), m) in enumerate(zip(weights, self.samples, strict=True)):
            one = b[:, g, None]
            size = np.arctan2(np.maximum(-one.imag, 0.0) * np.abs(locations), 1.0 - locations * one.real)
            total = total + m * ((np.sign(locations) * size) @ shares + (a[:, g] * b[:, g]).imag)
        return np.asarray(total / np.pi / population.dimension)

    def slopes(self, z: Complex, b: Complex) -> Complex:
        """Return the derivatives of a by z, (n, G)."""
        m, (a, slope) = self.samples, self.lift(b)
        found = self.population.resolvent(z, a)
        jacobian = np.eye(len(m)) - found.second / m[:, None] * slope[:, None, :]
        return np.asarray(slope * np.linalg.solve(jacobian, (-found.slope / m)[..., None])[..., 0])


def _solve_linear(matrix: Array, right: Array) -> Array:
    """Return the solution of linear equations, nan where they are singular."""
    columns = right.reshape(len(right), -1)
    return nan_where_singular(np.linalg.solve, matrix[None], columns[None])[0].reshape(right.shape)


def _end(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Return where the slack vanishes by the last points (z, slack), about; and how far off that may be.

    Close to an edge z is a series in the slack, without a linear term.
    """
    z, s = np.array(points).T
    if len(points) < 3 or not (np.diff(s) < 0.0).all():
        return float("nan"), float("inf")
    guess = float(np.linalg.lstsq(np.stack([np.ones(3), s**2, s**3], axis=1), z, rcond=None)[0][0])
    return guess, abs(z[-1] - guess) * min(1.0, 4.0 * s[-1])


def _doublings(points: list[tuple[float, float]], reach: float) -> int:
    """Return how often a distance from the edge may be doubled before the slack is half of the series' reach, about.

    Close to an edge the square of the slack is a straight line.
    """
    (far, more), (near, less) = points[0], points[-1]
    if not (far > near and more > less):
        return 0
    return max(0, floor(log2((SERIES_REACH / 2.0) ** 2 * (far - near) / (more**2 - less**2) / reach)))


def _bisect(low: float, high: float, most: int, guess: float, room: float) -> tuple[float, float, int]:
    """Return a bracket halved towards a guess while its ends stay out of the room about it, else once; how often."""
    lower, upper, done = low, high, 0
    while low < guess < high and done < most and abs((middle := lower + (upper - lower) / 2) - guess) > room:
        lower, upper = (lower, middle) if guess < middle else (middle, upper)
        done += 1
    return (lower, upper, done) if done > 1 else (low, low + (high - low) / 2, 1)
