"""Records of free sums: closed forms, atoms, gaps, subordination, units far from 1, and what is refused."""

from functools import cache

import numpy as np
from laws_shown import ends_of, moments_of, outliers_of, r_transforms_of, transforms_of
from recording import refused

from rmt import AtomicLaw, FreeSum, MarchenkoPastur, PointMass, Semicircle
from rmt.continuation import descend, lowest_heights
from rmt.counting import _middle, quantiles

COIN = AtomicLaw((-3.0, 3.0), (0.9, 0.1))
HEAVY = AtomicLaw((-1.0, 2.0), (0.7, 0.3))


@cache
def _gapped():
    return FreeSum(COIN, Semicircle(0.3))


@cache
def _mixed():
    return FreeSum(MarchenkoPastur(0.5, 1.2), Semicircle(0.6, 0.4))


@cache
def _atomic():
    return FreeSum(HEAVY, AtomicLaw((0.0, 1.5, 4.0), (0.6, 0.25, 0.15)))


def closed_forms():
    for law in (
        *(FreeSum(Semicircle(0.3, 1.0), Semicircle(0.4, -3.0)), FreeSum(PointMass(2.0), MarchenkoPastur(0.5))),
        *(FreeSum(HEAVY, PointMass(-1.0)), FreeSum(PointMass(1.0), PointMass(2.5))),
    ):
        yield law.closed_form, ends_of(law), law.cdf(law.mean - 0.1), law.quantile([0.2, 0.9]), law.pdf(law.mean)
        yield law.outliers_in_gaps(0.7), law.stieltjes(law.mean + 1j), law.stieltjes_derivative(law.mean + 2j)


def ends():
    return [ends_of(law) for law in (_gapped(), _mixed(), _atomic())]


def distribution_with_a_gap():
    law = _gapped()
    return law.pdf([-3.2, -2.0, 2.9]), law.cdf([-3.5, -3.0, 0.0, 3.05]), law.quantile([0.0, 0.4, 0.95, 1.0])


def distribution_without_a_gap():
    law = _mixed()
    return law.pdf([-0.5, 1.0, 3.0]), law.cdf([-0.5, 1.0, 3.0]), law.quantile([0.1, 0.6])


def distribution_with_atoms():
    law = _atomic()
    places = [place for place, _ in law.atoms]
    return (
        law.cdf([*places, places[0] - 1e-6, places[0] + 1e-6, 1.1]),
        law.quantile([0.1, 0.29, 0.5, 0.9]),
        law.pdf(0.3),
    )


def transforms():
    return [transforms_of(law) for law in (_gapped(), _mixed(), _atomic())]


def r_transforms():
    return [r_transforms_of(law) for law in (_gapped(), _mixed())]


def moments():
    return [moments_of(law, 4) for law in (_gapped(), _mixed(), _atomic())]


def outliers():
    return [list(outliers_of(law, 0.5)) for law in (_gapped(), _mixed(), _atomic())]


def outliers_in_gaps_of_free_sums():
    for law in (_gapped(), _mixed(), _atomic()):
        yield [law.outliers_in_gaps(spike, scale) for spike in (-0.8, 0.3, 0.6, 2.5) for scale in (1.0, 0.5)]


def subordination():
    z = np.array([0.5 + 0.3j, -2.0 + 0.0j])
    yield [law.subordination(z) for law in (_gapped(), _mixed())], _gapped().subordination(1.0 + 1.0j)
    yield FreeSum(Semicircle(0.6), HEAVY).subordination(z), FreeSum(HEAVY, Semicircle(0.6)).subordination(z)
    yield refused(_gapped().subordination, [1j, 0.5 - 1e-9j]), refused(_gapped().subordination, "a")


def scaled_and_shifted_free_sums():
    for law in (_gapped().scaled(2.0), _gapped().shifted(-0.5)):
        yield type(law.a).__name__, law.support, law.mean, law.thresholds
    yield [refused(_gapped().scaled, s) for s in (0.0, -1.0, "1")], refused(_gapped().shifted, np.nan)


def sums_in_extreme_units():
    law = FreeSum(AtomicLaw((-1e-40, 3e-40), (0.4, 0.6)), Semicircle(2e-40))
    yield np.array([*law.support, *law.thresholds, law.quantile(0.3), law.mean]) / 1e-40
    yield law.edge_stieltjes, law.cdf(1e-40)


def parts_that_are_refused():
    return refused(FreeSum, 1.0, COIN), refused(FreeSum, COIN, "b"), refused(FreeSum, None, None)


def errors_of_atoms():
    return np.array(_atomic()._atom_errors) / 1e-16, _atomic()._size, _gapped()._interval, _atomic()._below_atoms


def errors_of_atoms_far_from_0():
    law = FreeSum(AtomicLaw((-5.0, 1.0), (0.8, 0.2)), AtomicLaw((5.5, 7.0), (0.9, 0.1)))
    return law.atoms, np.array(law._atom_errors) / 1e-16, law._size


def a_solution_followed_from_above():
    z = np.array([0.5 + 0j, 3.0 + 0j, -1.0 + 0.2j])

    def fixed_point(u, z):
        return z - 1.0 / u

    def newton_step(u, z):
        return (u - fixed_point(u, z)) / (1.0 - 1.0 / u**2)

    yield descend(z, newton_step, fixed_point, 4.0)
    yield descend(z, newton_step, fixed_point, 4.0, guess=np.full(3, 0.3 + 0.9j), finest=1e-3)
    yield np.log10(lowest_heights(np.array([1e-8, 2.0, 1e-13, 2e-16, 1e-50, 1e-117, 1e-150, 1j]) + 0j, 2.0))


def quantiles_of_a_distribution_function():
    def counted(x, state):
        return np.clip(x**3, 0.0, 1.0), 3 * x**2, state

    levels = np.array([1e-15, 0.001, 0.3, 0.999])
    yield quantiles(levels, np.zeros(4), np.ones(4), counted, np.zeros(4))[1:]
    yield np.log10(quantiles(np.full(2, 1e-12), np.zeros(2), np.array([1.0, 1e-3]), counted, np.zeros(2), 1e-30))
    yield quantiles(
        levels, np.array([0.0, 0.5, 0.0, 0.0]), np.array([1.0, 0.5, 1.0, 1.0]), counted, np.zeros(4), 1e-30
    )[1:]


def middles_of_brackets():
    low = np.array([0.0, 1e-9, -1e-9, -1e-7, 3e-8, 1e-8, -5e-8, 0.2, 1e-5, 0.0, -1e-8])
    high = np.array([1.0, 1e-7, 2e-9, -1e-9, 8e-8, 5e-8, -1e-8, 0.8, 2e-3, 1e-8, 0.0])
    return _middle(low, high, 1e-12, 1e-6) / 1e-9, _middle(low, high, 1e-10, 1e-8) / 1e-9
