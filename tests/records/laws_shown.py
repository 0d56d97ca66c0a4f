"""Summary of any law of rmt for records: at both ends, in between and outside, and what it refuses."""

import numpy as np
from recording import refused

PLACES = np.array([-0.2, 0.0, 1e-3, 0.11, 0.37, 0.5, 0.83, 1.0, 1.1])
"""Points as parts of the support."""
LEVELS = np.array([0.0, 0.02, 0.31, 0.5, 0.77, 1.0])
PARTS = np.array([-0.97, -0.4, -1e-4, 3e-4, 0.55, 0.98])
"""Arguments of the R-transform as parts of the edge values of g."""


def ends_of(law):
    return law.support, law.edge_stieltjes, law.thresholds, law.atoms, law.mean, law.variance


def places_in(law, places=PLACES):
    lower, upper = law.support
    return lower + ((upper - lower) or 1.0) * places


def distribution_of(law, places=PLACES, levels=LEVELS):
    x = places_in(law, places)
    return law.pdf(x), law.cdf(x), law.quantile(levels)


def transforms_of(law, heights=(0.3, -0.05)):
    lower, upper = law.support
    width = (upper - lower) or 1.0
    beyond = np.array([lower - 2.0 * width, lower - 0.01 * width, upper + 0.02 * width, upper + 3.0 * width])
    above = np.array([lower + (0.2 + 1j * heights[0]) * width, lower + (0.7 + 1j * heights[1]) * width])
    return [of(z) for of in (law.stieltjes, law.stieltjes_derivative) for z in (beyond, above)]


def arguments_of(law, parts=PARTS):
    left, right = law.edge_stieltjes
    lower, upper = law.support
    left, right = (3.0 / ((upper - lower) or 1.0) if np.isinf(end) else abs(end) for end in (left, right))
    return np.where(parts < 0, left, right) * parts


def r_transforms_of(law, parts=PARTS):
    w = arguments_of(law, parts)
    return law.r_transform(w), law.inverse_stieltjes(w)


def outliers_of(law, scale=1.0, factors=(-3.0, -1.05, 0.9, 1.1, 4.0)):
    below, above = law.thresholds
    size = max(abs(below), abs(above), 0.1)
    for factor in factors:
        yield refused(law.outlier, scale * factor * (abs(below) if factor < 0 else above) or factor * size, scale)


def moments_of(law, count=5, about=0.7):
    return (
        law.free_cumulants(0),
        law.free_cumulants(1),
        law.free_cumulants(count),
        [law.moment(n) for n in range(count)],
        [law.moment(n, about) for n in range(count)],
    )
