r"""Moments of sums of weighted covariances, exactly, from the power series of their equations far from the spectrum."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

import numpy as np
from numpy.typing import NDArray

from rmt.checks import require_finite, require_order, require_representable

Array = NDArray[np.float64]


def moment_of_sum(
    n: int,
    about: float,
    unit: float,
    population: tuple[Array, Array, Array],
    weights: Sequence[tuple[Array, Array]],
    samples: Array,
) -> float:
    r"""Return the moment $\int (x - c)^n \mu(dx)$ of the law that `rmt.covariance_sum` states, for n >= 0.

    With $\zeta = z - c$ and $x = 1/\zeta$ the resolvent is $Q = x\,(1 - x(\sum_g a_g\Lambda_g - c))^{-1}$, whose
    coefficient of order n + 1 is the moment. Each order of b gives that of a, which gives the next order of Q. Nothing
    is taken about another point first, so no digits cancel however narrow the law is.

    Args:
        n: the order.
        about: c, like the moment in the units of the law.
        unit: the power of two in which all else is given.
        population: eigenvalues in shared directions (k, G), their counts (k,), and the block (G, r, r).
        weights: locations and masses of each group's law.
        samples: numbers of samples, (G,).

    Raises:
        ValueError: an order that is not a whole number >= 0, or a moment beyond double precision.
    """
    n, about = require_order("the order of a moment", n), require_finite("about", about)
    with np.errstate(over="ignore", invalid="ignore"):
        found = _moment_in_units(n, about / unit, population, weights, samples)
        return require_representable(float(np.ldexp(found, int(n) * round(log2(unit)))), n)


def _moment_in_units(
    n: int, about: float, population: tuple[Array, Array, Array], weights: Sequence[tuple[Array, Array]], samples: Array
) -> float:
    atoms, counts, block = population
    G, identity = len(samples), np.eye(block.shape[-1])
    diagonal, inner = [np.ones(len(atoms))], [identity]  # coefficients of Q / x
    slopes, blocks = [], []  # coefficients of sum_g a_g Lambda_g - c
    lifted = [[np.ones(len(places))] for places, _ in weights]  # coefficients of 1 / (1 - tau b)
    b: list[Array] = []  # coefficients of x, x^2, ...
    for order in range(n):
        a = np.array([(places * lifted[g][-1]) @ shares for g, (places, shares) in enumerate(weights)])
        shift = about if order == 0 else 0.0
        slopes.append(atoms @ a - shift)
        blocks.append(np.tensordot(a, block, 1) - shift * identity)
        traces = (counts * diagonal[-1]) @ atoms + np.einsum("gij,ji->g", block, inner[-1])
        b.append(traces / samples)
        diagonal.append(np.sum([s * q for s, q in zip(slopes, reversed(diagonal), strict=True)], axis=0))
        inner.append(np.sum([s @ q for s, q in zip(blocks, reversed(inner), strict=True)], axis=0))
        for g in range(G):
            terms = [one[g] * p for one, p in zip(b, reversed(lifted[g]), strict=True)]
            lifted[g].append(weights[g][0] * np.sum(terms, axis=0))
    return float((counts @ diagonal[-1] + np.trace(inner[-1])) / (counts.sum() + len(identity)))
