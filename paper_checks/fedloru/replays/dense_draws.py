"""Dense Gaussian Hessians for the replays of statistical witnesses.

The search draws in a banded form with numpy's default generator; this is another sampler and another source of
randomness.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

DENSE = "mean over dense matrices at two dimensions, Philox"
Draw = Callable[[int, np.random.Generator], float]


def hessian(R: int, spikes: Sequence[float], noise: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """A symmetric matrix with entries of variance noise^2/R and the spikes along the first axes."""
    square = rng.normal(0.0, noise, (R, R))
    found: NDArray[np.float64] = (square + square.T) / np.sqrt(2.0 * R)
    found[range(len(spikes)), range(len(spikes))] += spikes
    return found


def limit_of_mean(draw: Draw, R: int, draws: int, seed: int) -> tuple[float, float]:
    """The mean of a drawn number at dimension R, and a bound on its distance from the limit.

    A bias that falls at least like R^(-1/2) is at most 1/(sqrt 2 - 1) times its change from R/2 to R. Seven standard
    errors, those of that change included, are added.

    Args:
        draw: the number, from a dimension and a generator.
        R: dimension.
        draws: at each of both dimensions.
        seed: of the generator.
    """
    rng = np.random.Generator(np.random.Philox(seed))
    small, large = (np.array([draw(size, rng) for _ in range(draws)]) for size in (R // 2, R))
    factor = 1.0 / (sqrt(2.0) - 1.0)
    bias = factor * abs(float(np.mean(large) - np.mean(small)))
    variances = [float(np.var(one, ddof=1)) / draws for one in (small, large)]
    return float(np.mean(large)), bias + 7.0 * sqrt((1.0 + factor**2) * variances[1] + factor**2 * variances[0])
