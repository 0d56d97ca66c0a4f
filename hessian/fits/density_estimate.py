r"""The papers' estimate of a stable rank from a smoothed spectral density, as printed.

Source: FedLoRU v2, eq. (87) in Appendix D.3 (iclr eq. 37): $\sum_i p(\sigma_i)\sigma_i^2 / (p(\sigma_1)\sigma_1^2)$
with singular values and densities from an estimated spectral density. The paper does not say which grid and kernel
width it uses, or where $\sigma_1$ is, so these are arguments here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rmt.checks import require_row

Array = NDArray[np.float64]


def smooth_density(eigenvalues: Array, grid: Array, width: float) -> Array:
    """Smooth the spectral density of a known spectrum by a Gaussian kernel.

    Args:
        eigenvalues: all eigenvalues, shape ``(R,)``.
        grid: points, shape ``(points,)``.
        width: standard deviation of the kernel, in units of the eigenvalues.

    Returns:
        The density at the points, of integral 1 over the line.

    Raises:
        ValueError: a width that is not positive, or no eigenvalue.
    """
    known = require_row("eigenvalues", eigenvalues)
    if not width > 0 or len(known) == 0:
        raise ValueError(f"a density needs eigenvalues and a positive width, got {len(known)} and {width}")
    values, counts = np.unique(known, return_counts=True)
    distance = (require_row("grid", grid)[:, None] - values) / width
    return np.exp(-0.5 * distance**2) @ counts / (len(known) * width * np.sqrt(2.0 * np.pi))


def density_stable_rank(grid: Array, densities: Array, top: float, power: float = 2.0) -> float:
    r"""Return $\sum_i p(\sigma_i)\sigma_i^2 / (p(\sigma_1)\sigma_1^2)$, as printed.

    Args:
        grid: points $\sigma_i$ with their sign, shape ``(points,)``.
        densities: weights $p(\sigma_i)$: densities as printed, or masses.
        top: the eigenvalue of largest modulus; $\sigma_1$ is the grid point nearest to it.
        power: power of the singular values.

    Raises:
        ValueError: shapes that differ, or no weight at the top.
    """
    if grid.shape != densities.shape or grid.ndim != 1:
        raise ValueError(f"expected one weight per grid point, got {densities.shape} for {grid.shape}")
    nearest = int(np.abs(grid - top).argmin())
    at_top = densities[nearest] * np.abs(grid[nearest]) ** power
    if not at_top > 0:
        raise ValueError(f"no spectral weight at {top}: widen the kernel or refine the grid")
    return float(densities @ np.abs(grid) ** power / at_top)
