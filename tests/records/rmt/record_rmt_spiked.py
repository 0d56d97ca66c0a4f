"""Spiked models: outliers at both ends, in gaps and at thresholds, deviations, stable ranks, and what is refused."""

from fractions import Fraction

import numpy as np
from recording import refused

from rmt import AtomicLaw, FreeSum, MarchenkoPastur, Semicircle, SpikedModel, StableRank, stable_rank_gap
from rmt.spiked import Outlier, check_dimension, power_of_two, require_clear, require_single, wigner_outlier

ONE_SIDED = SpikedModel((3.0, 1.5, -2.5), Semicircle(1.0, 0.25), scale=0.5)
PLAIN = SpikedModel((2.0, 5.0, -1.2, -3.0, 0.4, 2.0), scale=0.8)
SKEW = SpikedModel((0.4, 3.0, -0.2), MarchenkoPastur(2.6, 0.6), 0.5)
GAPPED = SpikedModel((0.6, 2.5), FreeSum(AtomicLaw((-3.0, 3.0), (0.9, 0.1)), Semicircle(0.3)), 0.7)
NEGATIVE = SpikedModel((-4.0, 1.5), Semicircle(0.5, -0.2))
NONE = SpikedModel(noise=AtomicLaw((-4.0, 1.0), (0.25, 0.75)))


def outliers():
    for spike in ONE_SIDED.spikes:
        yield ONE_SIDED.outlier(spike), refused(ONE_SIDED.outlier_sd, spike, 100)


def edges_and_norm():
    return ONE_SIDED.bulk_edges, ONE_SIDED.spectral_norm, refused(ONE_SIDED.stable_rank, 40)


def models():
    for model in (PLAIN, SKEW, GAPPED, NEGATIVE, NONE):
        yield model.spikes, model.bulk_edges, model.thresholds, model.outliers, model.spectral_norm
        yield model.outliers_in_gaps, [refused(model.stable_rank, R) for R in (1, 6, 90)], refused(model.sigma)


def outliers_at_their_thresholds():
    for model in (PLAIN, SKEW):
        for threshold in model.thresholds:
            for factor in (1 - 1e-9, 1.0, 1 + 1e-9, 1.01):
                yield refused(model.outlier, factor * threshold), refused(model.separates, factor * threshold)


def outliers_in_gaps_at_another_scale():
    return GAPPED.in_gaps(0.6), GAPPED.at_scale(0.2).in_gaps(0.6), GAPPED.in_gaps(-0.6), SKEW.in_gaps(0.2)


def spikes_that_are_none():
    for spike in (0.0, np.nan, np.inf, "2", None):
        yield [refused(of, spike) for of in (PLAIN.outlier, PLAIN.in_gaps, PLAIN.separates)]
        yield refused(PLAIN.outlier_sd, spike, 100), refused(SpikedModel, (1.0, spike))


def models_that_are_refused():
    yield refused(SpikedModel, 2.0), refused(SpikedModel, (2.0,), noise=1.0)
    yield [refused(SpikedModel, (2.0,), scale=scale) for scale in (0.0, -1.0, np.inf, "1")]
    yield refused(lambda: SpikedModel((2.0,), Semicircle(1e200), 1e200).bulk_edges), refused(PLAIN.at_scale, 0.0)


def deviations():
    for spike in (5.0, -1.2, -3.0):
        for options in ({}, {"fourth_moment": 1.0}, {"fourth_moment": 9.0}, {"diagonal_variance": 0.0}):
            yield refused(PLAIN.outlier_sd, spike, 400, **options)
        yield PLAIN.outlier_sd(spike, 400, localised=False), PLAIN.outlier_sd(spike, 50, localised=False)


def deviations_that_are_refused():
    for spike, R, options in (
        *((0.4, 9, {}), (5.0, 0, {}), (5.0, 9.5, {}), (5.0, 9, {"localised": 1}), (2.0, 400, {})),
        *((5.0, 9, {"fourth_moment": 0.99}), (5.0, 9, {"fourth_moment": np.inf}), (5.0, 9, {"diagonal_variance": -1})),
    ):
        yield refused(PLAIN.outlier_sd, spike, R, **options)
    yield refused(SKEW.outlier_sd, 3.0, 100), refused(SKEW.edge_scale, 9), refused(SKEW.sigma)


def deviations_next_to_the_threshold():
    for omega in (0.2, 0.85, 0.87, 2.0):
        for sign in (1.0, -1.0):
            spike = sign * (1.0 + omega / 10.0)
            yield refused(SpikedModel((spike,)).outlier_sd, spike, 1000), refused(SpikedModel().outlier_sd, spike, 1000)


def deviations_of_spikes_next_to_each_other():
    for other in (3.0, 3.2, 3.284, 3.3, 3.6, -3.0):
        yield refused(SpikedModel((3.0, other)).outlier_sd, 3.0, 100)


def borders_of_the_edge_and_of_repulsion():
    one, other = Outlier(2.0, 2.5, True, 0.7), Outlier(2.2, 2.75, True, 0.8)
    for sd in (0.1249, 0.125, 0.1251):
        yield refused(require_single, one, (other, one), sd), refused(require_single, one, (one,), sd)
        yield refused(require_single, one, (Outlier(2.2, 2.75, False, 0.0), one), sd)
    yield [refused(require_clear, one, edge, 1.25) for edge in (2.0, 2.0001, 3.0, 2.9999)]


def edges_at_a_dimension():
    for R in (8, 1000):
        yield PLAIN.edge_scale(R), PLAIN.edge_at(R), ONE_SIDED.edge_at(R)
    yield refused(PLAIN.edge_scale, 0), refused(PLAIN.edge_at, 2.5)


def stable_ranks_below_1():
    for value in (1.0, 1.0 - 5e-13, 1.0 - 2e-12, 0.25):
        yield refused(StableRank.at_limit, value, 2.0, "R = 3", "draw")
    for R in (1, 2, 3, 4):
        yield refused(SpikedModel((9.0,), scale=0.5).stable_rank, R)
    yield refused(SpikedModel(noise=AtomicLaw((0.0,), (1.0,))).stable_rank, 5)


def gaps_of_stable_ranks():
    yield stable_rank_gap(PLAIN.at_scale(2.0), PLAIN, 60), stable_rank_gap(PLAIN, PLAIN.at_scale(2.0), 60)
    for client, server in ((PLAIN, SKEW), (1.0, PLAIN), (PLAIN, "server"), (SpikedModel((1.0,)), SpikedModel((2.0,)))):
        yield refused(stable_rank_gap, client, server, 60)


def outliers_in_any_kind_of_number():
    yield (
        wigner_outlier(2.0, 0.5),
        wigner_outlier(Fraction(3), Fraction(1, 2)),
        wigner_outlier(np.array([-2.0, 4.0]), 2),
    )


def powers_of_two():
    for values in ((), (0.0,), (1.0,), (0.99,), (-3.0, 2.0), (1e-320,), (1e308,), ([[1.0, -8.0]],), ([],)):
        yield power_of_two(*values)


def dimensions():
    for R in (1, 2, 3.0, 2.5, 0, -1, True, 10**15, 10**15 + 1, np.inf, np.nan, "3", None):
        yield refused(check_dimension, R), refused(check_dimension, R, at_least=3)
