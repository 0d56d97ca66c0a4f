r"""Readings of the papers' estimate of a stable rank from a quadrature of the spectral density.

Source: FedLoRU v2, eq. (87) in Appendix D.3. The paper says that PyHessian estimates the empirical spectral density,
"which provides" singular values $\sigma_i$ and densities $p(\sigma_i)$, $i = 1..Q$. It does not say whether these are
the points of a smoothed curve or the quadrature's nodes, how many there are, how wide the kernel is, which point is
$\sigma_1$, or how many runs and steps were taken. Each of these is a named setting here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from hessian.fits.density_estimate import density_stable_rank
from hessian.lanczos.quadrature import SpectralMeasure
from hessian.numerics.symmetric import CurvatureError
from rmt.results import Result


@dataclass(frozen=True)
class Reading:
    r"""Choices left open by eq. (87). Defaults are those of the script that plots densities in PyHessian's repository.

    Attributes:
        support: `grid`: the points of the smoothed density; `nodes`: the quadrature's nodes with their weights.
        points: Grid points, Q.
        margin: Reach of the grid past the spectrum's ends, in units of the eigenvalues.
        ends: The spectrum's ends: `mean` of the runs' extreme nodes, or the `extreme` ones of all runs.
        variance: Variance of the Gaussian kernel, in squared units of the eigenvalues.
        scaled: The variance is multiplied by the grid's length where that exceeds 1.
        sigma_1: The largest singular value: the spectrum's end of larger modulus (`spectrum end`), the grid point of
            largest modulus, margin included (`grid end`), or the result of power iteration (`eigenvalue`); on a grid,
            the density is taken at the point nearest to it.

    Raises:
        CurvatureError: A value out of its range, or nodes with a $\sigma_1$ that is none.
    """

    support: str = "grid"
    points: int = 10_000
    margin: float = 0.01
    ends: str = "mean"
    variance: float = 1e-5
    scaled: bool = True
    sigma_1: str = "spectrum end"

    def __post_init__(self) -> None:
        for name, allowed in (
            ("support", ("grid", "nodes")),
            ("ends", ("mean", "extreme")),
            ("sigma_1", ("spectrum end", "grid end", "eigenvalue")),
        ):
            if getattr(self, name) not in allowed:
                raise CurvatureError(f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}")
        if self.points < 2 or not self.margin >= 0.0 or not self.variance > 0.0:
            raise CurvatureError(
                "points must be at least 2, margin at least 0 and variance positive, got "
                f"{self.points}, {self.margin} and {self.variance}"
            )
        if self.support == "nodes" and self.sigma_1 != "spectrum end":
            raise CurvatureError(f"of the nodes, sigma_1 is the spectrum end, got {self.sigma_1!r}")


AS_PLOTTED = Reading()
"""Grid and kernel as PyHessian plots densities; the density at the spectrum's end."""
RAW_NODES = Reading(support="nodes")
"""No smoothing: nodes as singular values, weights as densities."""


@dataclass(frozen=True)
class PrintedStableRank(Result):
    """The papers' estimate, and what it rests on.

    Attributes:
        value: Value of eq. (87).
        sigma_1: The eigenvalue taken as the largest singular value, with its sign.
        points: Terms of the sum, Q; the mean over runs for nodes.
        kernel_deviation: Standard deviation of the kernel; 0 for nodes.
        reading: The choices.
    """

    value: float
    sigma_1: float
    points: int
    kernel_deviation: float
    reading: Reading


def printed_stable_rank(
    measure: SpectralMeasure, reading: Reading = AS_PLOTTED, *, eigenvalue: float | None = None
) -> PrintedStableRank:
    r"""Return $\sum_i p(\sigma_i)\sigma_i^2 / (p(\sigma_1)\sigma_1^2)$ of a quadrature without atoms.

    Over several runs, densities are averaged; for nodes, numerator and denominator are, each run with its own top node.

    Args:
        measure: Nodes and weights of each run.
        reading: The choices.
        eigenvalue: The largest in modulus, needed where `reading.sigma_1` is `eigenvalue`.

    Raises:
        CurvatureError: Atoms, an eigenvalue that is missing, or no density at $\sigma_1$.
    """
    if len(measure.atoms) or not measure.nodes:
        raise CurvatureError("the papers' estimate needs a quadrature without atoms")
    low, high = _ends(measure, reading.ends)
    top = high if abs(high) >= abs(low) else low
    if reading.support == "nodes":
        runs = list(zip(measure.nodes, measure.weights, strict=True))
        peaks = [int(np.abs(x).argmax()) for x, _ in runs]
        at_top = sum(w[i] * x[i] ** 2 for i, (x, w) in zip(peaks, runs, strict=True))
        if not at_top > 0.0:
            raise CurvatureError("the largest node has no weight, or the spectrum is zero")
        value = float(sum(w @ x**2 for x, w in runs) / at_top)
        return PrintedStableRank(value, top, sum(len(x) for x, _ in runs) // len(runs), 0.0, reading)
    grid = np.linspace(low - reading.margin, high + reading.margin, reading.points)
    length = float(grid[-1] - grid[0])
    deviation = sqrt(reading.variance * (max(1.0, length) if reading.scaled else 1.0))
    if reading.sigma_1 == "grid end":
        top = float(grid[np.abs(grid).argmax()])
    elif reading.sigma_1 == "eigenvalue":
        if eigenvalue is None:
            raise CurvatureError("sigma_1='eigenvalue' needs the eigenvalue of largest modulus")
        top = eigenvalue
    try:
        value = density_stable_rank(grid, measure.density(grid, deviation), top)
    except ValueError as error:
        raise CurvatureError(str(error)) from error
    return PrintedStableRank(value, top, len(grid), deviation, reading)


def _ends(measure: SpectralMeasure, which: str) -> tuple[float, float]:
    low, high = [float(x.min()) for x in measure.nodes], [float(x.max()) for x in measure.nodes]
    return (float(np.mean(low)), float(np.mean(high))) if which == "mean" else (min(low), max(high))
