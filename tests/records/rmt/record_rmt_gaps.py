"""Records of gaps of supports, of spikes between two poles, and of exact moments of sums."""

import numpy as np
from recording import refused

from rmt.gaps import between_poles, find_gaps, pairs_in_gaps
from rmt.resolvent_series import moment_of_sum

POLES, MASSES = np.array([-2.0, 0.5, 0.5 + 1e-9, 3.0]), np.array([0.4, 0.1, 0.2, 0.3])


def points_between_poles():
    for value in (-5.0, 0.0, 0.3, 80.0):
        yield list(between_poles(POLES, MASSES, value))
    yield (
        list(between_poles(np.array([1.0]), np.array([1.0]), 2.0)),
        list(between_poles(np.ones(2), np.ones(2) / 2, 2.0)),
    )


def _bands(*bands, atoms=()):
    """Return a transform of bands, whose imaginary part is zero between them."""

    def transform(z):
        found = np.zeros(z.shape, dtype=complex)
        for low, high, mass in bands:
            middle, half = (low + high) / 2, (high - low) / 2
            found = found + mass * 2 * ((z - middle) - np.sqrt(z - low) * np.sqrt(z - high)) / half**2
        for place, mass in atoms:
            found = found + mass / (z - place)
        return found

    return transform


def gaps_between_bands():
    two = _bands((-1.0, 0.5, 0.4), (2.0, 3.0, 0.6))
    three = _bands((0.0, 1.0, 0.3), (1.004, 2.0, 0.3), (2.5, 4.0, 0.4))
    return find_gaps(two, (-1.0, 3.0), ()), find_gaps(three, (0.0, 4.0), ()), find_gaps(two, (2.0, 2.0), ())


def gaps_next_to_atoms():
    one = _bands((1.0, 2.0, 0.7), atoms=((0.0, 0.3),))
    other = _bands((-2.0, -1.0, 0.7), atoms=((0.0, 0.2), (0.7, 0.1)))
    return find_gaps(one, (0.0, 2.0), (0.0,)), find_gaps(other, (-2.0, 0.7), (0.0, 0.7))


def pairs_in_a_gap():
    def transform(x):
        return 0.4 / (x + 1.0) + 0.6 / (x - 2.0)

    def slope(x):
        return -0.4 / (x + 1.0) ** 2 - 0.6 / (x - 2.0) ** 2

    for w in (-3.0, -0.1, 0.5, 40.0):
        yield pairs_in_gaps(w, [(-0.9, 1.9), (1.0, 1.0)], transform, slope)
    yield pairs_in_gaps(0.5, [(0.9, 1.9)], transform, slope)


def pairs_of_least_overlap():
    def transform(x):
        return 0.4 / (x + 1.0) + 0.6 / (x - 2.0)

    for steepness in (-1e14, -5e11, -1e11, -0.1, 1.0):
        yield pairs_in_gaps(0.5, [(-0.9, 1.9)], transform, lambda x, steepness=steepness: steepness)


def pairs_next_to_a_kernel():
    def transform(x):
        return 0.4 / x + 0.6 / (x - 2.0)

    def slope(x):
        return -0.4 / x**2 - 0.6 / (x - 2.0) ** 2

    for w in (-3.0, 0.5, 1e130):
        yield (
            pairs_in_gaps(w, [(0.0, 1.9)], transform, slope, 0.4),
            pairs_in_gaps(w, [(-1.5, 0.0)], transform, slope, 0.4),
        )


def moments_of_sums():
    atoms, counts = np.array([[1.0, 0.5], [0.25, 0.75]]), np.array([6.0, 4.0])
    block = np.array([[[0.5, 0.2], [0.2, 0.25]], [[0.1, 0.0], [0.0, 1.0]]])
    weights = [(np.array([0.5, 1.0]), np.array([0.3, 0.7])), (np.array([-1.0]), np.array([1.0]))]
    for n in range(6):
        for about in (0.0, 0.8):
            yield moment_of_sum(n, about, 2.0, (atoms, counts, block), weights, np.array([20.0, 8.0]))
    for n, about in ((-1, 0.0), (1.5, 0.0), (2, np.inf), (4, 1e90)):
        yield refused(moment_of_sum, n, about, 2.0, (atoms, counts, block), weights, np.array([20.0, 8.0]))
