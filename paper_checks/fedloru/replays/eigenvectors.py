"""Replays of the claims in ``eigenvectors``."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v2/def-phi")
def def_phi(values: Values) -> Violation:
    r"""Eq. (5) of the paper: the square tends to $1 - n^2/\theta^2$; the printed limit, squared, is something else."""
    theta, sigma, s = fractions(values, "theta", "sigma", "s")
    square = 1 - (sigma * s / theta) ** 2
    unmet = "" if square > 0 and 0 < s < 1 else "an outlier, |theta| > sigma s"
    return Violation(abs(square - square**2), Fraction(0), unmet=unmet,
                     reads="|limit of the squared overlap by eq. (5) - square of the printed limit|")  # fmt: skip


@replay("fedloru-v2/assump-bulk")
def assump_bulk(values: Values) -> Violation:
    """Bulk eigenvalues of dense Gaussian Hessians, unit noise, weighted by the spike's squared components."""
    theta, power = float(values["theta"]), int(values["power"])
    R, draws, rng = 200, 200, np.random.default_rng(32_005)
    found = []
    for _ in range(draws):
        square = rng.normal(0.0, 1.0, (R, R))
        hessian = (square + square.T) / np.sqrt(2.0 * R)
        hessian[0, 0] += theta
        eigenvalues, vectors = np.linalg.eigh(hessian)
        weights = vectors[0, :-1] ** 2
        found.append(float((weights * eigenvalues[:-1] ** power).sum() / weights.sum()))
    uniform = 0.0 if power == 1 else 1.0
    error = 7.0 * float(np.std(found, ddof=1)) / np.sqrt(draws) + 1.0 / np.sqrt(R)
    unmet = "" if theta > 1 and power in (1, 2) else "an outlier; the first or second power"
    return Violation(abs(float(np.mean(found)) - uniform), 0.0, error, exact=False, unmet=unmet,
                     reads="|weighted mean over the bulk - its value for uniform weights|")  # fmt: skip
