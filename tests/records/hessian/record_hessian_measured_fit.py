"""Records of the spiked model fitted to measured spectra, and of bulks compared with laws."""

import dataclasses

import numpy as np
import torch
from recording import refused

from hessian import Interval, Moment, RitzPairs, SpectralMeasure, fit_measured
from hessian.fits.bulk_laws import Bulk, LawFit, law_fits
from hessian.fits.measured_fit import MeasuredFit
from rmt import MarchenkoPastur, Semicircle

UPPER, LOWER = np.array([6.0, 3.1, 0.9]), np.array([-0.8, -3.5])
NODES = (np.array([-0.9, -0.3, 0.2, 0.8]), np.array([-0.85, 0.1, 0.75]))
WEIGHTS = (np.array([0.2, 0.3, 0.3, 0.2]), np.array([0.3, 0.45, 0.25]))
FROBENIUS = Interval(8.6, 8.5, 8.75)


def _pairs(values, residuals=1e-3):
    vectors = torch.zeros(len(values), 40, dtype=torch.float64)
    return RitzPairs(np.asarray(values), vectors, np.full(len(values), residuals) * np.arange(1, len(values) + 1))


def _measure(atoms, nodes=NODES, weights=WEIGHTS, P=40, degree=5, rounding=1e-9):
    share = 1.0 - len(atoms) / P
    return SpectralMeasure(P, nodes, tuple(w * share for w in weights), np.asarray(atoms), rounding, degree)


def _fit(values=(*UPPER, *LOWER), largest=3, frobenius=FROBENIUS, residuals=1e-3, **options):
    settings = {name: options.pop(name) for name in ("confidence", "level", "mistaken") if name in options}
    return fit_measured(_pairs(values, residuals), largest, frobenius, _measure(values, **options), **settings)


def _shown(fit):
    return {**fit.to_dict(), "words": fit.words(), "count": fit.outlier_count, "gap": fit.disagreement}


def spectrum_whose_pairs_reach_the_bulk():
    return _shown(_fit())


def pairs_that_do_not_reach_the_bulk_above():
    nodes = (np.array([-0.9, -0.3, 0.2, 2.9]), NODES[1])
    fit = _fit((*UPPER[:2], *LOWER), 2, nodes=nodes, weights=(np.array([0.2, 0.3, 0.45, 0.05]), WEIGHTS[1]))
    return fit.words(), fit.above, fit.below, fit.complete, fit.sigma, fit.sigma_sd


def pairs_that_do_not_reach_the_bulk_below():
    fit = _fit((*UPPER, -3.5), 3)
    yield fit.words(), fit.above, fit.below, fit.complete, fit.spike_sd
    yield _fit((-0.8, -3.5), 0, frobenius=Interval(4.2, 4.0, 4.4)).outlier_count


def residuals_confidence_and_level():
    for options in ({"residuals": 0.2}, {"confidence": 0.6}, {"level": 0.2}, {"mistaken": 0.01}):
        fit = _fit(**options)
        yield fit.spike_sd, fit.sigma, fit.sigma_sd, fit.thresholds, fit.rest_by_norm, fit.rest_by_quadrature, fit.above


def rules_of_few_steps():
    for degree in (1, 3, 4):
        fit = _fit(degree=degree)
        yield fit.rest_by_quadrature, fit.sigma, fit.disagreement, fit.words()["other laws"]


def norms_that_are_exact_and_all_pairs_known():
    fit = _fit(frobenius=Interval(8.6, 8.6, 8.6))
    yield fit.sigma, fit.sigma_sd, fit.disagreement
    values = [5.0, 1.0, 0.5, -0.4, -1.1]
    full = SpectralMeasure(5, (), (), np.array(values), 0.0)
    norm = float(np.linalg.norm(values))
    for largest in (5, 2):
        fit = fit_measured(_pairs(values), largest, Interval(norm, norm, norm), full)
        yield (fit.sigma, fit.rest_by_norm, fit.rest_by_quadrature, fit.outlier_count, fit.bulk.moment(2))


def noise_at_the_border_of_rounding():
    for size in (2e-14, 5e-14, 3e-13):
        nodes = tuple(size * x for x in NODES)
        found = refused(
            _fit, (6.0, -3.5), 1, frobenius=Interval(float(np.hypot(6.0, 3.5)), 6.9, 7.0), nodes=nodes, residuals=0.0
        )
        yield found if isinstance(found, str) else found.sigma / size


def residuals_of_the_last_pair_of_a_side():
    values = np.array([*UPPER, *LOWER])
    for residuals in ([1e-3, 1e-3, 0.9, 1e-3, 1e-3], [1e-3, 0.9, 1e-3, 0.9, 1e-3], [1e-3, 1e-3, 1e-3, 1e-3, 0.9]):
        pairs = dataclasses.replace(_pairs(values), residuals=np.array(residuals))
        fit = fit_measured(pairs, 3, FROBENIUS, _measure(values))
        yield fit.outlier_count, fit.spike_sd, fit.bulk.residuals


def distances_from_laws_that_jump():
    bulk = Bulk(
        4000, (np.array([-0.5, 0.0, 0.5]),), (np.array([0.2, 0.3, 0.5]),), np.array([-0.1, 0.2]), 0.01, np.zeros(2)
    )
    for share, atoms in ((0.6, (0.0,)), (0.3, (0.0,)), (0.3, ()), (0.1, (0.2,))):
        yield bulk.distance(
            lambda x, share=share: 0.2 * (x >= -0.5) + share * (x >= 0.0) + (0.8 - share) * (x >= 0.4), atoms=atoms
        )


def scales_of_extreme_size():
    fit = fit_measured(
        _pairs(1e-30 * np.array([*UPPER, *LOWER]), 1e-33),
        *(3, Interval(8.6e-30, 8.5e-30, 8.75e-30)),
        _measure(1e-30 * np.array([*UPPER, *LOWER]), nodes=tuple(1e-30 * x for x in NODES)),
    )
    return fit.sigma * 1e30, fit.sigma_sd * 1e30, fit.rest_by_norm.value * 1e60, fit.rest_by_quadrature.sd * 1e60


def disagreements_of_two_estimates():
    fit = _fit()
    for one, other in [
        ((3.0, 0.3), (2.0, 0.4)),
        ((2.0, 0.0), (2.0, 0.0)),
        ((3.0, 0.0), (2.0, 0.0)),
        ((1.0, 0.1), (9.0, np.inf)),
    ]:
        yield dataclasses.replace(fit, rest_by_norm=Moment(*one), rest_by_quadrature=Moment(*other)).disagreement


def verdicts_on_the_semicircle():
    fit = _fit()
    for ends in ((0.1, 0.0, 0.9), (0.1, 0.0, 0.91), (0.3, 0.05, 0.9), (0.3, 0.01, 0.92)):
        yield dataclasses.replace(fit, distance=Interval(*ends)).words()["bulk"]
    few = dataclasses.replace(fit, alternatives=())
    yield (
        few.words()["other laws"],
        dataclasses.replace(few, bulk=dataclasses.replace(few.bulk, degree=1)).words()["other laws"],
    )


def refused_measurements():
    values = (*UPPER, *LOWER)
    yield refused(_fit, P=3), refused(_fit, largest=6), refused(_fit, largest=-1), refused(_fit, confidence=1.0)
    yield refused(_fit, confidence=0.0), refused(_fit, frobenius=Interval(np.inf, 1.0, np.inf))
    yield refused(fit_measured, _pairs(values), 3, FROBENIUS, _measure(values[:4]))
    yield refused(_fit, (np.nan, 1.0), 1), refused(_fit, nodes=(np.array([np.inf, 1.0, 2.0, 3.0]), NODES[1]))
    tiny = tuple(1e-17 * x for x in NODES)
    yield refused(_fit, (6.0, -3.5), 1, frobenius=Interval(*(3 * [float(np.hypot(6.0, 3.5))])), nodes=tiny)
    yield refused(_fit, (6.0, -3.5), 1, frobenius=Interval(6.0, 6.0, 6.0), nodes=tiny)


BULK = Bulk.of(
    _measure([2.0, 0.7, -0.5], rounding=0.01), 1, np.array([0.7, -0.5]), rounding=0.01, residuals=np.array([0.2, 0.05])
)


def bulk_next_to_an_outlier():
    points = np.array([-1.0, -0.9, -0.5, 0.1, 0.15, 0.7, 0.8, 1.0])
    yield BULK, [BULK.moment(power) for power in (0, 1, 2, 3)], BULK.moment(2, about=0.4), BULK.moment(3, about=-1.0)
    yield BULK.cdf(points), BULK.bracket(points)
    known = Bulk(3, (), (), np.array([-1.0, 0.5, 2.0]))
    yield known.cdf(points), known.bracket(points), known.moment(2), known.distance(Semicircle(1.0).cdf)


def distances_of_a_bulk_from_laws():
    law = Semicircle(0.6)
    for confidence in (0.5, 0.95, 0.999):
        yield BULK.distance(law.cdf, confidence)
    large = dataclasses.replace(BULK, size=4000)
    yield large.distance(law.cdf), large.distance(Semicircle(5.0).cdf), large.distance(Semicircle(0.1, 0.2).cdf)
    yield dataclasses.replace(large, nodes=large.nodes[:1], weights=large.weights[:1]).distance(law.cdf)


def copies_at_an_atom_of_a_law():
    nodes = (np.array([-0.5, -0.004, 0.003, 0.009, 0.6]), np.array([-0.4, 0.008, 0.5]))
    weights = (np.array([0.2, 0.1, 0.2, 0.1, 0.4]), np.array([0.4, 0.3, 0.3]))
    bulk = Bulk(5000, nodes, weights, np.array([-0.02, 0.015, 0.4]), 0.01, np.array([0.01, 0.02, 0.1]))

    def cdf(points):
        return 0.6 * np.asarray(Semicircle(0.4).cdf(points)) + 0.4 * (points >= 0.0)

    for atoms in ((), (0.0,), (0.0, 0.4)):
        yield bulk.distance(cdf, atoms=atoms)
    yield dataclasses.replace(bulk, residuals=None).distance(cdf, atoms=(0.0,))
    yield dataclasses.replace(bulk, rounding=0.004).distance(cdf, atoms=(0.0,))


def bulks_of_one_node_or_none():
    one = Bulk(9, (np.array([0.5]),), (np.ones(1),), np.empty(0))
    none = Bulk(9, (np.empty(0),), (np.empty(0),), np.array([0.1]))
    return [one.cdf(np.array([0.4, 0.5, 0.6])), one.bracket(np.array([0.4, 0.5, 0.6])), none.cdf(np.array([0.0, 0.2]))]


def laws_in_place_of_the_semicircle():
    skewed = Bulk(900, (np.array([0.1, 1.0, 4.0]),), (np.array([0.6, 0.3, 0.1]),), np.empty(0))
    flat = Bulk(900, (np.array([-3.0, 0.0, 2.25]),), (np.array([0.1, 0.75, 0.15]),), np.empty(0))
    for bulk in (skewed, flat, dataclasses.replace(flat, degree=3), dataclasses.replace(flat, degree=1)):
        for one in law_fits(bulk):
            yield one.name, str(one.law), one.share, one.distance, one.cdf(np.array([-1.0, 0.0, 0.5, 3.0]))
    point = Bulk(900, (np.array([2.0]),), (np.ones(1),), np.empty(0))
    yield law_fits(point), [one.name for one in law_fits(BULK)]
    small = dataclasses.replace(skewed, nodes=(1e-120 * skewed.nodes[0],))
    yield [one.distance.value for one in law_fits(small)]


def fitted_laws_with_a_share():
    fit = LawFit("x", MarchenkoPastur(2.0, 1.0), 0.25, Interval(0.1, 0.0, 0.2))
    return fit.cdf(np.array([-0.1, 0.0, 1.0, 7.0])), MeasuredFit.complete.__doc__
