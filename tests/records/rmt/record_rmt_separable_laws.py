"""Records of laws of weighted sample covariances: ends, kernels, signs of weights, overlaps, and what is refused."""

from functools import cache

import numpy as np
from laws_shown import ends_of, moments_of, transforms_of
from recording import refused

from rmt import AtomicLaw, PointMass, SeparableLaw

POPULATION = AtomicLaw((0.0, 0.1, 1.0, 4.0), (0.2, 0.4, 0.3, 0.1))
FULL = AtomicLaw((0.5, 3.0), (0.7, 0.3))
WEIGHTS = AtomicLaw((0.0, 0.3, 2.0), (0.1, 0.6, 0.3))
SIGNED = AtomicLaw((-2.0, 1.0, 3.0), (0.2, 0.6, 0.2))
NEGATIVE = AtomicLaw((-3.0, -1.0), (0.25, 0.75))
LAWS = {
    "few samples": (FULL, WEIGHTS, 1.7),
    "a kernel of the population": (POPULATION, WEIGHTS, 0.3),
    "both signs": (FULL, SIGNED, 0.4),
    "both signs, few samples": (FULL, SIGNED, 3.0),
    "negative": (FULL, NEGATIVE, 0.3),
    "equal": (PointMass(2.0), PointMass(0.5), 0.25),
}


@cache
def _law(name):
    return SeparableLaw(*LAWS[name])


def ends():
    for name in LAWS:
        law = _law(name)
        yield name, ends_of(law), law._negative_mass, law._interval


def edges_with_their_numbers():
    return [_law(name).edges for name in LAWS]


def _distribution(name):
    lower, upper = _law(name).support
    x = lower + (upper - lower) * np.array([-0.1, 0.0, 0.13, 0.45, 0.9, 1.0])
    return name, _law(name).cdf([*x, -1e-9, 0.0, 1e-9]), _law(name).pdf(x[2:5])


def distributions_of_positive_weights():
    return [_distribution(name) for name in ("few samples", "a kernel of the population", "equal")]


def distributions_of_negative_weights():
    return [_distribution(name) for name in ("both signs", "both signs, few samples", "negative")]


def quantiles_next_to_a_kernel():
    law, kernel = _law("few samples"), _law("few samples").atoms[0][1]
    return law.quantile([0.0, kernel / 2, kernel, 0.9, 1.0])


def quantiles_of_both_signs():
    return _law("both signs").quantile([0.0, 0.1]), _law("negative").quantile([1.0])


def quantiles_around_a_kernel():
    law = _law("both signs, few samples")
    return law.quantile(law._negative_mass + law.atoms[0][1] * np.array([0.0, 0.5, 1.0]))


def transforms():
    return [transforms_of(_law(name)) for name in LAWS]


def moments():
    return [moments_of(_law(name), 4) for name in LAWS]


def subordination():
    z = np.array([[1.0 + 0.5j, -0.5 + 0.1j], [2.0 + 0j, 40.0 + 0j]])
    return [_law(name).subordination(z) for name in LAWS], refused(_law("equal").subordination, [1j, 1 - 1e-3j])


def overlaps():
    for name in LAWS:
        lower, upper = _law(name).support
        x = np.array([lower + 0.2 * (upper - lower), upper - 0.3 * (upper - lower)])
        yield name, _law(name).overlaps(x, [0.0, 0.5, 2.5])


def overlaps_in_the_kernel_and_off_the_spectrum():
    few, lacking = _law("few samples"), _law("a kernel of the population")
    yield few.overlaps([0.0, few.support[1] + 1.0], [0.0, 0.5, 3.0]), lacking.overlaps(0.0, [0.0, 0.1])
    yield lacking.overlaps([lacking.support[1] * 2], 1.0), few.overlaps(1e-200, [0.5])
    for ratio in (0.9, 1.0, 1.25, 1.3):  # fewer, as many and more directions than samples, of those with eigenvalues
        law = SeparableLaw(POPULATION, PointMass(1.0), ratio)
        yield law.overlaps(0.0, [0.0, 0.1, 1.0]), law.atoms


def overlaps_that_are_refused():
    law = _law("equal")
    for x, eigenvalues in ((np.inf, 1.0), (1.0, -0.1), (1.0, [0.5, np.nan]), ([[1.0]], 1.0), (1.0, "a"), ([], [1.0])):
        yield refused(law.overlaps, x, eigenvalues)


def scaled_and_negated():
    for name in LAWS:
        law = _law(name)
        yield law.scaled(2.5).support, law.negated().support, law.negated().atoms, law.negated().weights.locations
    yield [refused(_law("equal").scaled, s) for s in (0.0, np.inf)]


def masses_of_either_sign():
    for ratio in (0.4, 0.99999, 1.0, 1.2, 5.0):
        yield SeparableLaw(FULL, SIGNED, ratio)._negative_mass, SeparableLaw(POPULATION, SIGNED, ratio).atoms


def laws_in_other_units():
    law = SeparableLaw(FULL.scaled(1e80), SIGNED.scaled(1e-30), 0.4)
    return law.support, law.edges, law.mean, law.cdf(1e49), law.quantile(0.7), refused(law.moment, 7)


def laws_that_are_refused():
    for population, weights, ratio in (
        *((1.0, FULL, 1.0), (FULL, "b", 1.0), (PointMass(0.0), FULL, 1.0), (FULL, PointMass(0.0), 1.0)),
        *((AtomicLaw((-1e-9, 1.0), (0.5, 0.5)), FULL, 1.0), (FULL, FULL, 0.0), (FULL, FULL, -1.0), (FULL, FULL, "1")),
        *((FULL, FULL, 9e-101), (FULL, FULL, 1.01e20), (FULL, FULL, np.inf), (PointMass(1e300), PointMass(1e300), 1.0)),
        (AtomicLaw((1e-60, 1.0), (0.5, 0.5)), AtomicLaw((1e-45, 1.0), (0.5, 0.5)), 1.0),
    ):
        yield refused(SeparableLaw, population, weights, ratio)


def ratios_at_their_borders():
    for ratio in (1e-100, 1e20):
        law = SeparableLaw(PointMass(1.0), PointMass(1.0), ratio)
        yield law.support[1], law.atoms, law.edges[1].z
