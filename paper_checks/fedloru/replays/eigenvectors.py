"""Replays of the claims in ``eigenvectors``."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from paper_checks.fedloru.replays.reading import Values, fractions
from paper_checks.replay import Violation, replay


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
    """Bulk eigenvectors of dense Gaussian Hessians, unit noise, in the same window of the spectrum."""
    theta, low, high = float(values["theta"]), float(values["low"]), float(values["high"])
    R, draws, rng = 200, 400, np.random.default_rng(32_005)
    first, last = round(low * (R - 1)), round(high * (R - 1))
    found = []
    for _ in range(draws):
        square = rng.normal(0.0, 1.0, (R, R))
        hessian = (square + square.T) / np.sqrt(2.0 * R)
        hessian[0, 0] += theta
        vectors = np.linalg.eigh(hessian)[1]
        found.append(float((vectors[0, first:last] ** 2).sum()))
    uniform = (high - low) / theta**2
    error = 7.0 * float(np.std(found, ddof=1)) / np.sqrt(draws) + uniform / np.sqrt(R)
    unmet = "" if theta > 1 and 0 <= low < high <= 1 else "an outlier and a window of the bulk"
    return Violation(abs(float(np.mean(found)) - uniform), 0.0, error, exact=False, unmet=unmet,
                     reads="|mean weight of the spike on the window - uniform share of 1/theta^2|")  # fmt: skip
