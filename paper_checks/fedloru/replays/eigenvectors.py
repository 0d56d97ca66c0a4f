"""Replays of the claims in ``eigenvectors``."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from paper_checks.fedloru.replays.dense_draws import DENSE, hessian, limit_of_mean
from paper_checks.fedloru.replays.edges import noise
from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v2/def-phi")
def def_phi(values: Values) -> Violation:
    r"""Eq. (5) of the paper: the square tends to $1 - n^2/\theta^2$; the printed limit, squared, is something else."""
    theta, sigma, s = fractions(values, "theta", "sigma", "s")
    square = 1 - (sigma * s / theta) ** 2
    assumes = [*noise(sigma, s), Hypothesis("|theta|, an outlier's", abs(theta), ">", sigma * s)]
    return Violation(abs(square - square**2), 0, assumes=assumes,
                     reads="|limit of the squared overlap by eq. (5) - square of the printed limit|")  # fmt: skip


@replay("fedloru-v2/assump-bulk")
def assump_bulk(values: Values) -> Violation:
    """Bulk eigenvalues of dense Gaussian Hessians, unit noise, weighted by the spike's squared components."""
    theta, power = Fraction(values["theta"]), int(values["power"])
    assumes = assuming(
        Hypothesis("theta, an outlier's at unit noise", theta, ">", 1),
        Hypothesis("power", power, ">=", 1),
        Hypothesis("power", power, "<=", 2),
    )

    def weighted(R: int, rng: np.random.Generator) -> float:
        eigenvalues, vectors = np.linalg.eigh(hessian(R, [float(theta)], 1.0, rng))
        weights = vectors[0, :-1] ** 2
        return float((weights * eigenvalues[:-1] ** power).sum() / weights.sum())

    mean, error = limit_of_mean(weighted, 200, 200, 32_005)
    return Violation(abs(mean - (power - 1)), 0.0, error, sampled=DENSE, assumes=assumes,
                     reads="|weighted mean over the bulk - its value for uniform weights|")  # fmt: skip
