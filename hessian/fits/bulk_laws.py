r"""The bulk of a measured spectrum, compared with laws of `rmt`.

The bulk is known through Gauss rules, one for each random probe. Each rule brackets the distribution function of its
probe: at its k-th node that lies between the sums of the first k - 1 and of the first k weights (Chebyshev, Markov and
Stieltjes). A Kolmogorov distance from such a measurement is therefore an interval. It covers what the brackets leave
open, and the fluctuation of the probes about the spectrum, which equals the fluctuation of $R/2$ independent draws per
probe.

A repeated eigenvalue comes back as several nodes, apart by the rounding of the products and on both sides of it. A law
with an atom there jumps between them. So several nodes within that rounding of a law's atom are merged on it, and a
computed eigenvalue within its own residual of the atom is moved onto it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np
from scipy.stats import kstwobign

from hessian.fits.spiked_fit import unit_of
from hessian.lanczos.krylov import Array
from hessian.lanczos.quadrature import SpectralMeasure
from hessian.numerics.fixed_arrays import fix_arrays
from hessian.numerics.intervals import Interval
from rmt.closed_laws import MarchenkoPastur, Semicircle
from rmt.laws import Affine, Law
from rmt.results import Result

ROUNDING = 1e-6
"""Least mean and skewness, in standard deviations, at which a bulk has a sign: less may be the rounding of a zero."""

CONFIDENCE = 0.95
"""Confidence level of the intervals of Kolmogorov distances."""


@dataclass(frozen=True, eq=False)
class Bulk:
    """Remainder of a measured spectrum without its outliers, of total mass 1.

    Attributes:
        size: Number of eigenvalues.
        nodes: Nodes of each probe, increasing.
        weights: Weights of the nodes; each probe's and the eigenvalues' masses add up to 1.
        eigenvalues: Eigenvalues that were computed, increasing, each of mass 1/size.
        rounding: A node may be off by this much, because products are rounded.
        residuals: The same for each of the eigenvalues; None: they are exact.
        degree: Largest power of the eigenvalues whose mean the nodes give.
    """

    size: int
    nodes: tuple[Array, ...]
    weights: tuple[Array, ...]
    eigenvalues: Array
    rounding: float = 0.0
    residuals: Array | None = None
    degree: float = inf

    def __post_init__(self) -> None:
        fix_arrays(self)

    @staticmethod
    def of(
        measure: SpectralMeasure,
        outliers: int,
        eigenvalues: Array,
        *,
        rounding: float = 0.0,
        residuals: Array | None = None,
    ) -> Bulk:
        """Return the bulk next to some outliers.

        Args:
            measure: Measure of the whole spectrum.
            outliers: Number of its atoms that are outliers.
            eigenvalues: The other atoms.
            rounding: Rounding of the measure's nodes.
            residuals: Residuals of the other atoms; None: they are exact.
        """
        size = measure.P - outliers
        weights = tuple(w * (measure.P / size) for w in measure.weights)
        order = np.argsort(eigenvalues)
        sorted_residuals = None if residuals is None else residuals[order]
        return Bulk(size, measure.nodes, weights, eigenvalues[order], rounding, sorted_residuals, measure.degree)

    def moment(self, power: int, about: float = 0.0) -> float:
        """Return the mean power of the eigenvalues' distance from a point."""
        parts = [float(w @ (x - about) ** power) for x, w in zip(self.nodes, self.weights, strict=True)]
        known = float(((self.eigenvalues - about) ** power).sum()) / self.size
        return known + (sum(parts) / len(parts) if parts else 0.0)

    def cdf(self, points: Array) -> Array:
        """Return the share at or below the points, each rule joined by lines between the middles of its gaps."""
        parts = []
        for x, w in zip(self.nodes, self.weights, strict=True):
            middles = _middles(x)
            parts.append(np.interp(points, middles, np.concatenate([[0.0], np.cumsum(w)])))
        return self._count_known(points, "right") + (sum(parts) / len(parts) if parts else 0.0)

    def bracket(self, points: Array) -> tuple[Array, Array]:
        """Return bounds of the distribution function: the means over probes of the lower and of the upper bounds."""
        return self._bracket(points, tight=True)

    def distance(
        self, cdf: Callable[[Array], Array], confidence: float = CONFIDENCE, atoms: Sequence[float] = ()
    ) -> Interval:
        """Return the Kolmogorov distance from a law.

        Args:
            cdf: Distribution function of the law.
            confidence: Confidence that the interval covers the distance of the bulk itself.
            atoms: Locations of the law's atoms. Points that
                cannot be distinguished from one of them count as equal to it.
        """
        settled = self._settle(atoms) if len(atoms) else self
        return settled._distance(cdf, confidence, atoms)

    def _settle(self, atoms: Sequence[float]) -> Bulk:
        """Return the bulk with copies of a node merged on the atoms, and eigenvalues that may be atoms moved there."""
        nodes: list[Array] = []
        weights: list[Array] = []
        for x, w in zip(self.nodes, self.weights, strict=True):
            for atom in atoms:
                copies = np.abs(x - atom) <= self.rounding
                if copies.sum() > 1:  # a single one leaves its own weight open on both sides
                    first, last = np.flatnonzero(copies)[[0, -1]]
                    x = np.concatenate([x[:first], [atom], x[last + 1 :]])
                    w = np.concatenate([w[:first], [w[copies].sum()], w[last + 1 :]])
            nodes.append(x)
            weights.append(w)
        known = self.eigenvalues.copy()
        for atom in atoms:
            known[np.abs(known - atom) <= (0.0 if self.residuals is None else self.residuals)] = atom
        return replace(self, nodes=tuple(nodes), weights=tuple(weights), eigenvalues=np.sort(known), residuals=None)

    def _distance(self, cdf: Callable[[Array], Array], confidence: float, atoms: Sequence[float]) -> Interval:
        # At an atom the law jumps and the lines do not, so they are compared next to it.
        known = self.eigenvalues[~np.isin(self.eigenvalues, atoms)] if self.nodes else self.eigenvalues
        middles = np.unique(np.concatenate([*(_middles(x) for x in self.nodes), known]))
        value = float(np.abs(cdf(middles) - self.cdf(middles)).max())
        at = np.unique(np.concatenate([*self.nodes, self.eigenvalues]))
        # An atom's location and the law's distribution function are rounded, so its limits are taken a little off it.
        reach = np.where(np.isin(at, atoms), 8.0 * np.spacing(np.abs(at).max()), 0.0)
        below, upto = cdf(np.nextafter(at - reach, -np.inf)), cdf(at + reach)
        least, most = self._bracket(at, tight=True)
        certain = max(0.0, float((upto - most).max()), float((least - below).max()))
        least, most = self._bracket(at, tight=False)
        possible = max(float((most - below).max()), float((upto - least).max()))
        probes = len(self.nodes)
        spread = float(kstwobign.ppf(confidence)) * sqrt(2.0 / (probes * self.size)) if probes else 0.0
        low, high = max(0.0, certain - spread), min(1.0, possible + spread)
        return Interval(min(max(value, low), high), low, high)

    def _bracket(self, points: Array, tight: bool) -> tuple[Array, Array]:
        """Bound the distribution function at the points, or in their neighbourhoods as well."""
        least, most = [], []
        for x, w in zip(self.nodes, self.weights, strict=True):
            total = np.concatenate([[0.0], np.cumsum(w)])
            before, upto = np.searchsorted(x, points, side="left"), np.searchsorted(x, points, side="right")
            least.append(total[np.maximum((upto if tight else before) - 1, 0)])
            most.append(total[np.minimum((before if tight else upto) + 1, len(x))])
        lower = sum(least) / len(least) if least else 0.0
        upper = sum(most) / len(most) if most else 0.0
        return lower + self._count_known(points, "left"), upper + self._count_known(points, "right")

    def _count_known(self, points: Array, side: str) -> Array:
        place = np.searchsorted(self.eigenvalues, points, side="left" if side == "left" else "right")
        return np.asarray(place / self.size, dtype=np.float64)


def _middles(x: Array) -> Array:
    """Return the midpoints between neighbours, and one point beyond each end."""
    if len(x) < 2:
        return (
            np.concatenate([np.nextafter(x, -np.inf), np.nextafter(x, np.inf)][: len(x) + 1]) if len(x) else np.zeros(1)
        )
    gaps = np.diff(x) / 2.0
    return np.concatenate([[x[0] - gaps[0]], x[:-1] + gaps, [x[-1] + gaps[-1]]])


@dataclass(frozen=True)
class LawFit(Result):
    """A law with its parameters chosen by moments of the bulk, and its distance from the bulk.

    Attributes:
        name: Name of the law.
        law: The law; of the noise alone where `share` is below 1.
        share: Mass of the law; the rest sits at 0.
        distance: Kolmogorov distance from the bulk.
    """

    name: str
    law: Law
    share: float
    distance: Interval

    def cdf(self, points: Array) -> Array:
        """Return the distribution function."""
        return _mix(self.law, self.share)(points)


def law_fits(bulk: Bulk) -> tuple[LawFit, ...]:
    """Fit laws that could replace the semicircle: those whose moments are known and can match those of the bulk.

    - `shifted semicircle`: mean and variance.
    - `Marchenko-Pastur`: mean and variance; for a positive mean.
    - `shifted Marchenko-Pastur`: the first three moments; for a positive skewness.
    - `semicircle on a share of the directions`: second and fourth moment, the other directions being flat; where the
      fourth is larger than a semicircle's.
    """
    if bulk.degree < 2:
        return ()
    unit = unit_of(np.concatenate([bulk.eigenvalues, *bulk.nodes]))  # in it no power overflows or vanishes
    scaled = replace(bulk, nodes=tuple(x / unit for x in bulk.nodes), eigenvalues=bulk.eigenvalues / unit)
    mean = scaled.moment(1)
    variance, skew = scaled.moment(2, about=mean), scaled.moment(3, about=mean)
    second, fourth = scaled.moment(2), scaled.moment(4)
    laws: list[tuple[str, Law, float]] = []
    if variance > ROUNDING**4 * second:  # less is a point
        laws.append(("shifted semicircle", Semicircle(unit * sqrt(variance), unit * mean), 1.0))
        if mean > ROUNDING * sqrt(variance):
            laws.append(("Marchenko-Pastur", MarchenkoPastur(variance / mean**2, unit * mean), 1.0))
        if skew > ROUNDING * variance**1.5:
            size = variance**2 / skew
            pastur = MarchenkoPastur(skew**2 / variance**3, unit * size)
            laws.append(("shifted Marchenko-Pastur", Affine(pastur, 1.0, unit * (mean - size)), 1.0))
        if bulk.degree >= 4 and fourth > 2.0 * second**2:
            part = Semicircle(unit * sqrt(fourth / (2.0 * second)))
            laws.append(("semicircle on a share of the directions", part, 2.0 * second**2 / fourth))
    return tuple(
        LawFit(name, law, share, bulk.distance(_mix(law, share), atoms=_atoms(law, share))) for name, law, share in laws
    )


def _atoms(law: Law, share: float) -> tuple[float, ...]:
    return (*(place for place, _ in law.atoms), *((0.0,) if share < 1.0 else ()))


def _mix(law: Law, share: float) -> Callable[[Array], Array]:
    def cdf(points: Array) -> Array:
        return share * np.asarray(law.cdf(points)) + (1.0 - share) * (points >= 0.0)

    return cdf
