r"""Spectral density and moments by stochastic Lanczos quadrature.

The spectral measure of a random vector z, seen through m Lanczos steps, is a rule of m nodes that is exact for
polynomials up to degree 2m - 1; its mean over z is the spectral distribution (Golub and Welsch, 1969; Ubaru, Chen and
Saad, 2017). Known eigenpairs are projected out first and added as atoms of mass 1/P, so outliers stay sharp and
do not reduce the accuracy of the rest.

Three vectors suffice if a basis does not fit in memory. Nodes then reappear as copies that share their weights: the
rule belongs to a nearby matrix, whose eigenvalues cluster around those of the given one (Greenbaum, 1989).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from numbers import Real

import numpy as np
import torch
from scipy.linalg import eigh_tridiagonal
from torch import Tensor

from hessian.lanczos.basis_rows import Store
from hessian.lanczos.krylov import Array, Krylov, Progress, RitzPairs
from hessian.lanczos.probes import project_out
from hessian.numerics.differentiation import exact_algebra
from hessian.numerics.fixed_arrays import fix_arrays
from hessian.numerics.symmetric import (
    CurvatureError,
    OperatorAround,
    ScaledOperator,
    SymmetricOperator,
    multiply,
    normal_rows,
    not_finite,
    rounding_of,
)
from rmt.results import Result


@dataclass(frozen=True)
class Moment(Result):
    """A spectral moment, estimated from independent probes.

    Attributes:
        value: The estimate of tr(H^k)/P.
        sd: Standard error, as the probes' spread shows it: from few probes often too small, above all where few
            directions make the spread. Not a number for a single probe.
    """

    value: float
    sd: float

    def __str__(self) -> str:
        return f"{self.value:.4g} +- {self.sd:.1g}"


@dataclass(frozen=True, eq=False)
class SpectralMeasure:
    """Quadrature of a spectral distribution, of total mass 1.

    Attributes:
        P: Dimension.
        nodes: One array per probe: Ritz values of what is left when the atoms are taken out.
        weights: Weights of the nodes, each probe's of sum 1 - len(atoms)/P.
        atoms: Eigenvalues taken out, decreasing; each has mass 1/P.
        rounding: Rounding of the products: copies of one eigenvalue come back as nodes apart by that much.
        degree: Largest degree of the polynomials of which every rule is exact for its probe.
    """

    P: int
    nodes: tuple[Array, ...]
    weights: tuple[Array, ...]
    atoms: Array
    rounding: float = 0.0
    degree: float = inf

    def __post_init__(self) -> None:
        fix_arrays(self)

    def moment(self, power: int) -> Moment:
        """Return the mean of the eigenvalues' powers, with the standard error over probes.

        Raises:
            CurvatureError: The power is not a whole number of at least 0, or the rules are not exact for it.
        """
        if isinstance(power, bool) or not (isinstance(power, Real) and power >= 0 and power % 1 == 0):
            raise CurvatureError(f"the power of a moment must be a whole number of at least 0, got {power!r}")
        if power > self.degree:
            raise CurvatureError(
                f"moment {power} needs steps of at least {power // 2 + 1}: m steps give the moments up to 2 m - 1",
                keywords=("steps",),
            )
        fixed = float((self.atoms**power).sum()) / self.P
        if not self.nodes:
            return Moment(fixed, 0.0)
        parts = np.array([w @ x**power for x, w in zip(self.nodes, self.weights, strict=True)])
        unit = float(np.abs(parts).max()) or 1.0  # squares of the parts need not be numbers
        error = unit * float((parts / unit).std(ddof=1)) / sqrt(len(parts)) if len(parts) > 1 else float("nan")
        return Moment(fixed + float(parts.mean()), error)

    def density(self, grid: Array, width: float, *, with_atoms: bool = True) -> Array:
        """Return the density, smoothed by a normal kernel.

        Args:
            grid: Points, any shape.
            width: Standard deviation of the kernel, in units of the eigenvalues.
            with_atoms: Include the atoms.

        Raises:
            CurvatureError: A width that is not positive.
        """
        if not width > 0.0:
            raise CurvatureError(f"the width of the kernel must be positive, got {width}")
        x, w = self.rule(with_atoms=with_atoms)
        points = np.asarray(grid, dtype=float)
        kernel = np.exp(-0.5 * ((points[..., None] - x) / width) ** 2)
        return kernel @ w / (width * sqrt(2.0 * np.pi))

    def cdf(self, points: Array) -> Array:
        """Return the fraction of the spectrum at or below the points; a step function."""
        x, w = self.rule()
        total = np.concatenate([[0.0], np.cumsum(w)])
        return total[np.searchsorted(x, np.asarray(points, dtype=float), side="right")]

    def rule(self, *, with_atoms: bool = True) -> tuple[Array, Array]:
        """Return all nodes in increasing order and their weights, averaged over the probes."""
        atoms = self.atoms if with_atoms else self.atoms[:0]
        x = np.concatenate([*self.nodes, atoms])
        w = np.concatenate([*(part / len(self.weights) for part in self.weights), np.full(len(atoms), 1.0 / self.P)])
        order = np.argsort(x)
        return x[order], w[order]


def spectral_measure(
    operator: SymmetricOperator,
    *,
    rng: np.random.Generator,
    probes: int = 8,
    steps: int = 60,
    without: RitzPairs | None = None,
    three_vectors: bool = False,
    progress: Progress | None = None,
) -> SpectralMeasure:
    """Estimate the spectral distribution by stochastic Lanczos quadrature.

    Args:
        operator: The matrix.
        rng: Source of the probes, uniform on the sphere.
        probes: Number of probes.
        steps: Lanczos steps for each; the cost is probes times steps products.
        without: Eigenpairs that are known well and taken out; they come back as atoms.
        three_vectors: Keep no basis: less memory, and as many steps resolve somewhat less.
        progress: Called with a description of the current step.

    Raises:
        CurvatureError: Numbers that are not positive.
    """
    if probes < 1 or steps < 1:
        raise CurvatureError(f"probes and steps must be positive, got {probes} and {steps}")
    V = without.vectors if without is not None else normal_rows(operator, rng, 0)
    V = V.to(operator.device)
    atoms = without.values if without is not None else np.empty(0)
    left = operator.P - len(V)
    scaled = ScaledOperator(operator)
    # Eigenvalues that are taken out belong to the products, and round them.
    floor = max(10.0 * torch.finfo(operator.dtype).eps, rounding_of(operator))
    degree = inf
    nodes, weights, rounding = [], [], floor * float(np.abs(atoms).max(initial=0.0))
    for probe in range(probes if left else 0):
        start = project_out(normal_rows(operator, rng, 1), V)[0]
        count, rest = min(steps, left), DeflatedOperator(scaled, V)
        if three_vectors:
            values, coefficients, rounded = _by_three_vectors(rest, start, count)
        else:
            krylov = Krylov(rest, rng, start=start, store=Store(reserve=min(count + 1, left)))
            krylov.extend(count)
            values, coefficients, _ = krylov.ritz()
            rounded = krylov.rounding
        rounding = max(rounding, rounded * scaled.unit)
        nodes.append(values * scaled.unit)
        weights.append(coefficients[0] ** 2 * left / operator.P)
        if len(values) == count < left:  # else the steps ended because they saw all that the start sees
            degree = 2 * count - 1
        if progress is not None:
            progress(f"probe {probe + 1} of {probes}")
    return SpectralMeasure(operator.P, tuple(nodes), tuple(weights), atoms, rounding, degree)


def _by_three_vectors(operator: SymmetricOperator, start: Tensor, steps: int) -> tuple[Array, Array, float]:
    """Return nodes, coefficients of their vectors in columns, and rounding, by three terms only (Paige, 1972)."""
    before, now, coupling = torch.zeros_like(start), start / torch.linalg.vector_norm(start), 0.0
    diagonal, off_diagonal, scale = [], [], 0.0
    for _ in range(steps):
        image = operator.products(now[None])[0]
        if not bool(torch.isfinite(image).all()):
            raise not_finite(operator)
        scale = max(scale, float(torch.linalg.vector_norm(image)))
        image = image - before.mul_(coupling)
        with exact_algebra():
            diagonal.append(float(image @ now))
        image.sub_(now * diagonal[-1])
        coupling = float(torch.linalg.vector_norm(image))
        if coupling <= 10.0 * torch.finfo(operator.dtype).eps * scale:
            break
        off_diagonal.append(coupling)
        before, now = now, image.div_(coupling)
    values, coefficients = eigh_tridiagonal(np.array(diagonal), np.array(off_diagonal[: len(diagonal) - 1]))
    # Without a basis, each step adds its own rounding to the nodes.
    unit = max(10.0 * torch.finfo(operator.dtype).eps, rounding_of(operator)) * sqrt(len(diagonal))
    return values, coefficients, unit * scale


class DeflatedOperator(OperatorAround):
    """The operator between projections off some rows."""

    def __init__(self, operator: SymmetricOperator, V: Tensor) -> None:
        super().__init__(operator)
        self._V = V

    def products(self, vectors: Tensor) -> Tensor:
        """Multiply the compression by each row, (k, P) to (k, P)."""
        return self.products_in_place(vectors.clone())

    def products_in_place(self, rows: Tensor) -> Tensor:
        """Multiply the compression by each row, in place."""
        return project_out(multiply(self._operator, project_out(rows, self._V)), self._V)
