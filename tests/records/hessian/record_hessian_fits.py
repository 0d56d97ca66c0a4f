"""Records of fits of the spiked model to given eigenvalues, of rank changes and of smoothed densities."""

import dataclasses

import numpy as np
from recording import refused

from hessian import SpectralMeasure, fit_spiked, predict, rank_change
from hessian.fits.binned_laws import bin_values, law_of
from hessian.fits.density_estimate import density_stable_rank, smooth_density
from hessian.fits.density_reading import RAW_NODES, Reading, printed_stable_rank
from hessian.fits.spiked_fit import LEVEL, named_level, sd_alone, spike_of, split_outliers, unit_of
from rmt import Semicircle

BULK = np.concatenate([np.asarray(Semicircle(0.5).quantile((np.arange(57) + 0.5) / 57)), [0.0, 0.1, 0.15]])
ASYMMETRIC = np.array([4.0, 2.5, *BULK, -1.8])
FIT = fit_spiked(ASYMMETRIC)


def _shown(fit):
    return {**fit.to_dict(), "words": fit.words(), "fraction": fit.bulk_fraction, "thresholds": fit.thresholds}


def spikes_of_both_signs():
    fit = fit_spiked(-7.0 * ASYMMETRIC)
    yield _shown(FIT), _shown(fit), str(FIT)


def noise_alone():
    return _shown(fit_spiked(BULK))


def levels_and_their_two_names():
    for options in ({"level": 1e-6}, {"mistaken": 0.1}):
        fit = fit_spiked(ASYMMETRIC, **options)
        yield fit.outliers, fit.thresholds, fit.spike_sd
    yield named_level(LEVEL, None), named_level(0.2, 0.2)
    yield named_level(0.3, None), refused(named_level, 0.2, 0.3), refused(named_level, "x", None)
    for level in (0.0, 0.5, -0.1):
        yield refused(fit_spiked, ASYMMETRIC, level)


def fits_of_few_and_of_refused_eigenvalues():
    yield _shown(fit_spiked([1.0, -1.0, 0.5, 0.2])), refused(fit_spiked, [1.0, 2.0, 3.0])
    yield refused(fit_spiked, [1.0, 2.0, 3.0, np.nan]), refused(fit_spiked, np.ones((2, 2)))


def matrices_of_low_rank_have_no_fit():
    yield refused(fit_spiked, np.zeros(6)), refused(fit_spiked, 40 * [0.0] + [3.0])


def scales_of_extreme_size():
    for unit, values in ((1e-200, ASYMMETRIC), (1e200, -ASYMMETRIC)):
        fit = fit_spiked(unit * values)
        yield (
            fit.sigma / unit,
            fit.sigma_sd / unit,
            np.array(fit.spike_sd) / unit,
            fit.distance,
            fit.model.spikes[-1] / unit,
        )
    yield [unit_of(np.array(one)) for one in ([1.0], [-3.0, 0.1], [0.0], [0.5], [2.0**-1050], [1e308])]


def splits_with_others_in_the_bulk():
    split = split_outliers(np.array([4.0, 1.2, -0.3, -2.0]), 60, 0.01, 5.0)
    yield split.outlying, split.sigma, split.threshold, split.iterations
    yield refused(split_outliers, np.array([4.0, -2.0]), 60, 0.01, 0.0)
    yield refused(split_outliers, np.array([5.0, 4.0, 3.0]), 5, 0.01, 1e-6)


def models_at_other_sample_sizes():
    fit = FIT
    for factor in (0.5, 2.0):
        model = predict(fit, factor)
        yield model.scale, model.spikes, model.stable_rank(60).value
    yield [refused(predict, fit, factor) for factor in (0.0, -1.0, np.inf, np.nan)]
    yield predict(dataclasses.replace(fit, model=predict(fit, 2.0)), 3.0).scale


def spikes_by_their_outliers():
    model = FIT.model
    yield spike_of([2.0, 2.5, -2.0, -5.0], 1.0), spike_of(3.0, 0.0)
    yield sd_alone(model, 4.0, 60), sd_alone(model, -1.0, 60), sd_alone(model, 0.5, 60), sd_alone(model, 0.1, 60)


def changes_of_the_rank_with_few_samples():
    products = np.array([[2.0, 0.3, -0.1], [4.0, -0.2, 0.4], [3.3, 0.5, 0.0], [2.7, -0.6, -0.3]])
    for first in (3.0, -3.0):
        change = rank_change(products * np.sign(first), [first, 1.0, -0.5], 15.0)
        yield change, change.coefficient, str(change)
    yield (
        rank_change([[1.0], [3.0]], [2.0], 7.0),
        rank_change(1e200 * products, 1e200 * np.array([3.0, 1.0, -0.5]), 1e300),
    )


def refused_changes_of_the_rank():
    products = np.array([[2.0, 0.3], [4.0, -0.2]])
    for eigenvalues in ([3.0, 3.0], [3.0, -3.0], [1.0, 2.0], [3.0, -2.999], [0.0, 0.0], [np.nan, 1.0]):
        found = refused(rank_change, products, eigenvalues, 15.0)
        yield found if isinstance(found, str) else found.coefficient
    yield [refused(rank_change, products, [3.0, 1.0], square) for square in (0.0, -1.0, np.inf, "x")]
    yield refused(rank_change, products[:1], [3.0, 1.0], 15.0), refused(rank_change, products, [3.0], 15.0)
    yield refused(rank_change, products[0], [3.0, 1.0], 15.0), refused(rank_change, products * np.inf, [3.0, 1.0], 15.0)


def densities_by_kernels():
    grid = np.array([-1.0, 0.0, 0.5, 2.0])
    yield smooth_density([0.0, 0.5, 0.5, -2.0], grid, 0.3), smooth_density([1.0], grid, 2.0)
    yield refused(smooth_density, [1.0], grid, 0.0), refused(smooth_density, [], grid, 1.0)
    yield refused(smooth_density, [1.0], grid[:, None], 1.0)


def stable_ranks_of_densities():
    grid, weights = np.array([-3.0, -1.0, 0.5, 2.0]), np.array([0.1, 0.2, 0.4, 0.3])
    yield [density_stable_rank(grid, weights, top) for top in (-3.0, 2.0, -0.5, 0.5, 9.0)]
    yield density_stable_rank(grid, weights, 2.0, power=1.0), density_stable_rank(grid, weights, -3.0, power=4.0)
    yield refused(density_stable_rank, grid, weights[:3], 2.0), refused(density_stable_rank, grid, 0.0 * weights, 2.0)
    yield refused(density_stable_rank, grid[None], weights[None], 2.0)


NODES = (np.array([-4.0, 0.2, 3.0]), np.array([-3.0, 0.1, 3.6, 3.9]))
MEASURE = SpectralMeasure(50, NODES, (np.array([0.2, 0.5, 0.3]), np.array([0.1, 0.4, 0.3, 0.2])), np.empty(0))


def readings_of_the_printed_estimate():
    few = {"points": 41, "variance": 0.01}
    yield (
        printed_stable_rank(MEASURE, RAW_NODES),
        printed_stable_rank(MEASURE, Reading(support="nodes", ends="extreme")),
    )
    for options in (
        {},
        {"ends": "extreme"},
        {"scaled": False},
        {"margin": 0.5},
        {"sigma_1": "grid end", "margin": 0.2},
    ):
        yield printed_stable_rank(MEASURE, Reading(**few, **options))
    for eigenvalue in (-3.8, 3.9):
        yield printed_stable_rank(MEASURE, Reading(**few, sigma_1="eigenvalue"), eigenvalue=eigenvalue).value
    yield str(printed_stable_rank(MEASURE, Reading(points=2, variance=1.0))), Reading()
    short = SpectralMeasure(50, (np.array([-0.1, 0.3]),), (np.array([0.5, 0.5]),), np.empty(0))
    yield printed_stable_rank(short, Reading(**few)).kernel_deviation


def refused_readings():
    for options in (
        {"support": "x"},
        {"ends": "x"},
        {"sigma_1": "x"},
        {"points": 1},
        {"margin": -0.1},
        {"variance": 0.0},
    ):
        yield refused(Reading, **options)
    yield refused(Reading, support="nodes", sigma_1="grid end"), refused(Reading, points=2, margin=0.0).margin
    yield refused(printed_stable_rank, MEASURE, Reading(sigma_1="eigenvalue"))
    yield refused(printed_stable_rank, SpectralMeasure(50, NODES, MEASURE.weights, np.array([1.0])))
    yield refused(printed_stable_rank, SpectralMeasure(2, (), (), np.empty(0)))
    zero = SpectralMeasure(50, (np.zeros(2),), (np.array([0.5, 0.5]),), np.empty(0))
    yield refused(printed_stable_rank, zero, RAW_NODES), refused(printed_stable_rank, MEASURE, Reading(variance=1e-12))


def laws_of_binned_values():
    values, counts = np.array([0.0, 1.0, 1.02, 1.05, 30.0, 1e-9, -2.0]), np.array([2.0, 1.0, 3.0, 1.0, 0.5, 4.0, 1.0])
    means, number = bin_values(values, counts)
    yield means, number, law_of(means, number), law_of(np.array([2.0, 1.0, 2.0]), np.array([1.0, 2.0, 5.0]))
