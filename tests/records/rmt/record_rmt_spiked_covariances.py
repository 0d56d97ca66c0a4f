"""Records of spiked covariance models: outliers at both ends and in gaps, deviations, stable ranks, and draws."""

from functools import cache

import numpy as np
from recording import refused

from rmt import AtomicLaw, PointMass, SpikedCovariance, draw_covariance, draw_covariance_matrix_free

BULK = AtomicLaw((0.6, 1.0, 2.0), (0.3, 0.5, 0.2))
WEIGHTS = AtomicLaw((0.2, 1.0, 3.0), (0.3, 0.5, 0.2))
MODELS = {
    "plain": SpikedCovariance((3.0, 1.2, 0.2), ratio=0.25),
    "weighted": SpikedCovariance((9.0, 0.05), BULK, WEIGHTS, 0.1),
    "few samples": SpikedCovariance((8.0, 4.0), BULK, ratio=2.0),
    "a kernel": SpikedCovariance((5.0, 0.3), AtomicLaw((0.0, 1.0), (0.6, 0.4)), ratio=0.2),
    "apart": SpikedCovariance((0.3, 12.0), AtomicLaw((0.01, 1.0), (0.9, 0.1)), PointMass(0.5), 0.1),
    "none": SpikedCovariance(ratio=0.5),
}


@cache
def _drawn(name, P, seed):
    return draw_covariance(MODELS[name], P, np.random.default_rng(seed))


def outliers_and_edges():
    for name, model in MODELS.items():
        yield name, model.spikes, model.bulk_edges, model.thresholds, model.outliers, model.spectral_norm


def outliers_next_to_the_thresholds():
    for name in ("plain", "weighted"):
        below, above = MODELS[name].thresholds
        for spike in (below * (1 - 1e-6), below, below * (1 + 1e-6), above * (1 - 1e-6), above, above * (1 + 1e-3)):
            yield MODELS[name].outlier(spike), MODELS[name].separates(spike)


def edges_of_spikes_inside_the_bulk():
    for name in ("plain", "weighted", "a kernel"):
        middle = MODELS[name].bulk.mean
        yield [MODELS[name].outlier(spike).location for spike in (0.9 * middle, middle, 1.1 * middle)]
    yield [MODELS["a kernel"].outlier(spike).location for spike in (0.95, 1.05)]


def outliers_in_gaps():
    for name, model in MODELS.items():
        yield name, model.outliers_in_gaps, model.in_gaps(0.1), model.in_gaps(1.0)


def outliers_in_gaps_of_several_weights():
    model = SpikedCovariance((40.0,), PointMass(1.0), AtomicLaw((0.01, 1.0), (0.6, 0.4)), 5.0)
    yield model.in_gaps(40.0), model.in_gaps(9.0), model.in_gaps(0.02), model.in_gaps(1.0), model.bulk_edges


def deviations():
    for name, spike in (("plain", 3.0), ("plain", 0.2), ("weighted", 9.0), ("few samples", 8.0), ("apart", 12.0)):
        for options in ({}, {"fourth_moment": 1.0}, {"fourth_moment": 6.0}, {"drawn_weights": True}):
            yield refused(MODELS[name].outlier_sd, spike, 400, **options)


def deviations_that_are_refused():
    plain = MODELS["plain"]
    for spike, P, options in (
        *((1.2, 400, {}), (0.0, 400, {}), (3.0, 0, {}), (3.0, 1.5, {}), (3.0, 400, {"fourth_moment": 0.9})),
        *((3.0, 400, {"fourth_moment": np.inf}), (3.0, 400, {"drawn_weights": 1}), (1.51, 400, {}), (1.51, 10**9, {})),
    ):
        yield refused(plain.outlier_sd, spike, P, **options)
    yield refused(MODELS["apart"].outlier_sd, 0.3, 400)


def deviations_of_spikes_next_to_each_other():
    for other in (3.0, 3.2, 3.6, 4.5):
        yield refused(SpikedCovariance((3.0, other), ratio=0.25).outlier_sd, 3.0, 400)


def edges_and_their_fluctuations():
    return [(model.edge_scale(300), refused(model.edge_scale, 0)) for model in MODELS.values()]


def mean_of_the_edge():
    return MODELS["plain"].edge_at(300), refused(MODELS["plain"].edge_at, 0)


def stable_ranks():
    for model in MODELS.values():
        yield [refused(model.stable_rank, P) for P in (1, 3, 200)]


def other_ratios():
    return MODELS["plain"].at_ratio(0.5), refused(MODELS["plain"].at_ratio, 0.0)


def models_that_are_refused():
    for spikes in ((0.0,), (-1.0,), (np.inf,), 2.0, ("a",), (np.nan,)):
        yield refused(SpikedCovariance, spikes)
    yield refused(SpikedCovariance, (2.0,), weights=AtomicLaw((-1e-9, 1.0), (0.5, 0.5)))
    yield refused(SpikedCovariance, (2.0,), ratio=-1.0)
    yield [
        refused(of, spike) for of in (MODELS["plain"].outlier, MODELS["plain"].in_gaps) for spike in (0.0, -2.0, "2")
    ]


def draws_of_two_seeds():
    for name, P in (("plain", 12), ("weighted", 7), ("few samples", 9)):
        for seed in (0, 1):
            draw = _drawn(name, P, seed)
            yield draw.population, draw.weights, draw.samples.shape, draw.eigenvalues(), draw.top_overlaps(2)


def products_of_draws():
    draw, vector = _drawn("weighted", 7, 0), np.arange(7.0) - 2.0
    return draw.product(vector), draw.operator() @ vector, draw.matrix @ vector, draw.matrix[0]


def draws_by_products():
    for name, P in (("plain", 12), ("few samples", 9)):
        draw = draw_covariance_matrix_free(MODELS[name], P, np.random.default_rng(3))
        yield (
            draw.product(np.arange(P) - 2.0),
            draw._singular[[0, -1]],
            draw.top_overlaps(2),
            refused(lambda draw=draw: draw.matrix),
        )


def counts_that_are_refused():
    for count in (0, 12, 1.5, -1):
        yield refused(_drawn("plain", 12, 0).top_overlaps, count)


def sizes_that_are_refused():
    rng = np.random.default_rng(0)
    for model, P in (
        (MODELS["plain"], 2),
        (MODELS["none"], 1),
        (SpikedCovariance(ratio=10.0), 4),
        (MODELS["plain"], 1.5),
    ):
        yield refused(draw_covariance, model, P, rng), refused(draw_covariance_matrix_free, model, P, rng)
    yield len(draw_covariance(SpikedCovariance(ratio=10.0), 6, rng).weights), _drawn("plain", 3, 0).population
