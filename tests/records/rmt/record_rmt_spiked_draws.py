"""Records of draws of the spiked model: as a band, in the basis of its noise, dense, and by products."""

from functools import cache

import numpy as np
from recording import refused

from rmt import (
    ENTRY_LAWS,
    AtomicLaw,
    BandedDraw,
    EntryLaw,
    MarchenkoPastur,
    Semicircle,
    SpikedModel,
    draw_banded,
    draw_dense,
    draw_matrix_free,
    rows_needed,
)
from rmt.dense import wigner
from rmt.extreme_eigenpairs import checked_count, extreme_eigenpairs
from rmt.matrix_free import Rotation
from rmt.secular import RotatedDraw, draw_rotated, law_spectrum

MODELS = {
    "none": SpikedModel(),
    "one": SpikedModel((3.0,), scale=0.7),
    "below": SpikedModel((-2.5,), Semicircle(0.8, 0.1)),
    "both": SpikedModel((3.0, 1.7, -2.5), scale=0.9),
}
SKEW = SpikedModel((4.0, -1.5), MarchenkoPastur(0.5), 0.6)


@cache
def _band(name, R, seed=0, rows=None, top=2, bottom=2):
    return draw_banded(MODELS[name], R, np.random.default_rng(seed), top=top, bottom=bottom, rows=rows)


@cache
def _rotated(seed=0):
    return draw_rotated(SKEW, 11, np.random.default_rng(seed))


def bands():
    for name in MODELS:
        for seed in (0, 1):
            draw = _band(name, 9, seed)
            yield name, draw.rows, draw.rest_norm, draw.top_kept, draw.bottom_kept, draw.band[:, [0, 1, -2, -1]]


def bands_of_fewer_rows():
    for name, R, rows in (
        ("none", 60, 10),
        ("one", 9, 8),
        ("both", 400, 90),
        ("both", 2000, 100),
        ("one", 10**9, None),
    ):
        draw = _band(name, R, 3, rows)
        yield draw.rows, draw.rest_norm, draw.top_kept, draw.bottom_kept, draw.band[:, -2:], refused(draw.stable_rank)


def ends_of_bands():
    for name in MODELS:
        draw = _band(name, 9)
        yield draw.top(2), draw.bottom(2), draw.top_overlaps(2), draw.bottom_overlaps(1), draw.stable_rank()


def ends_of_bands_that_keep_some_rows():
    for name, R in (("one", 4000), ("both", 10**6)):
        draw = _band(name, R, top=1, bottom=1)
        yield draw.top(1), draw.bottom(1), draw.top_overlaps(1)[1], draw.rows


def components_up_to_their_signs():
    draw = _band("both", 9)
    return np.abs(draw.top_components(2)[1]), np.abs(draw.bottom_components(2)[1])


def single_eigenvalues_and_counts():
    draw = _band("one", 9)
    yield (
        [refused(draw.at, index) for index in (0, 1, 5, 9, 10, 1.5)],
        draw.counts_below(np.array([-2.0, 0.0, 0.5, 9.0])),
    )
    yield refused(_band("both", 9).at, 1), refused(_band("both", 9).counts_below, np.zeros(1))
    yield refused(_band("none", 60, 3, 10).at, 1), refused(draw.counts_below, np.zeros((1, 1)))
    yield [refused(draw.counts_below, grid) for grid in (0.0, [np.nan], [], ["a"])]


def counts_at_eigenvalues_of_a_diagonal():
    draw = draw_banded(SpikedModel((1.0,), scale=1e-300), 3, np.random.default_rng(0))
    return draw.counts_below(np.array([-1.0, 0.5, 1.5])), draw.stable_rank().value


def counts_where_a_pivot_vanishes():
    band = np.array([[1.0, 2.0, -1.0], [0.5, 0.25, 0.0]])
    draw = BandedDraw(MODELS["one"], 3, band, 0.0, 1, 1)
    return draw.counts_below(np.array([1.0, 2.0, -1.0, 1.75, 0.0])), draw.at(2), draw.stable_rank()


def counts_that_bands_refuse():
    for count in (0, 3, 10, 1.5):
        yield refused(_band("one", 9).top, count), refused(_band("one", 9).bottom, count)


def rows_that_are_needed():
    for name, model in MODELS.items():
        for R in (5, 1000, 10**6):
            yield name, [rows_needed(model, R, *ends) for ends in ((1, 0), (0, 1), (2, 0), (0, 0), (3, 2))]
    for tolerance in (1e-3, 1e-6, 1e-12, 0.9):
        yield [rows_needed(MODELS["both"], 10**7, top, bottom, tolerance) for top, bottom in ((1, 0), (2, 0), (0, 1))]
    yield [rows_needed(SpikedModel((spike,)), 10**6) for spike in (1.0, 1.0 + 1e-15, 1.01, 1.5, 10.0)]


def numbers_of_rows_that_are_refused():
    for given in ((0, 1), (2, 1), (5, 6), (5, 1, -1), (5, 1.5), (5, 1, 0, 0.0), (5, 1, 0, 1.0), (5, 1, 0, "a"), (2.5,)):
        yield refused(rows_needed, MODELS["both"], *given)


def bands_that_are_refused():
    rng = np.random.default_rng(0)
    for model, R, options in (
        *((MODELS["both"], 2, {}), (SKEW, 9, {}), (MODELS["one"], 9, {"top": 10}), (MODELS["one"], 9, {"bottom": -1})),
        *((MODELS["both"], 9, {"rows": 2}), (MODELS["both"], 9, {"rows": 10}), (MODELS["both"], 9, {"rows": 4.5})),
    ):
        yield refused(draw_banded, model, R, rng, **options)
    yield refused(_band("both", 400, 3, 90).stable_rank), refused(_band("none", 60, 3, 10).top, 2)


def rotated_draws():
    for seed in (0, 1):
        draw = _rotated(seed)
        yield draw.R, draw.noise, draw.top(3), draw.bottom(2), draw.stable_rank()
        yield [draw.count_above(point) for point in (-2.0, *draw.noise[[0, 5, 10]], 0.5, 2.6)]
    yield [refused(_rotated().eigenvalue, index) for index in (0, 6, 11, 12, 1.5)], refused(_rotated().top, 1.5)


def rotated_draws_of_given_spectra():
    for spikes in ((), (2.0,), (-2.0,), (1e-200,), (1.0, 1e-12, -1e-12), (5.0, 4.0, -3.0)):
        draw = draw_rotated(SpikedModel(spikes), 5, np.random.default_rng(1), spectrum=[0.5, -1.0, 0.5, 2.0, -3.0])
        yield draw.noise, draw.top(5), draw.bottom(1), [draw.count_above(point) for point in (0.5, 2.0, -3.1)]
        yield draw.stable_rank(), np.abs(draw.directions.T @ draw.directions).sum()


def spectra_that_are_refused():
    rng = np.random.default_rng(0)
    for R, spectrum in (
        (1, None),
        (3, [1.0, 2.0]),
        (2, [1.0, np.inf]),
        (2, [[1.0, 2.0]]),
        (2, ["a", 1.0]),
        (2.5, None),
    ):
        yield refused(draw_rotated, SKEW, R, rng, spectrum=spectrum)
    yield refused(RotatedDraw(SpikedModel(), np.zeros(2), np.zeros((2, 0))).stable_rank)


def spectra_that_follow_laws():
    for law in (Semicircle(0.5, 1.0), MarchenkoPastur(2.5), AtomicLaw((-1.0, 2.0), (0.3, 0.7))):
        yield law_spectrum(law, 1), law_spectrum(law, 10), law_spectrum(law, 5)


def entries():
    for name, law in ENTRY_LAWS.items():
        values = law.sample(np.random.default_rng(5), 400, 20)
        yield name, law.fourth_moment, law.diagonal_variance, values[:4], values.mean(), (values**2).mean()


def entry_laws_that_are_refused():
    for fourth, diagonal in ((0.99, 1.0), (np.nan, 1.0), (3.0, -0.1), (3.0, np.inf), (1.0, 0.0), ("3", 1.0)):
        yield str(refused(lambda *given: EntryLaw("own", None, *given).fourth_moment, fourth, diagonal))


def wigner_matrices():
    for name in ("goe", "rademacher", "one-per-row"):
        for seed in (0, 1):
            yield wigner(0.7, 4, np.random.default_rng(seed), ENTRY_LAWS[name])


def dense_draws():
    for model, options in (
        *((MODELS["both"], {}), (MODELS["both"], {"directions": "spread"}), (MODELS["below"], {"entries": "uniform"})),
        *((SKEW, {}), (MODELS["none"], {"entries": ENTRY_LAWS["exponential"]}), (MODELS["one"], {"device": "cpu"})),
    ):
        draw = draw_dense(model, 7, np.random.default_rng(4), **options)
        yield draw.eigenvalues(), draw.top_overlaps(2), draw.bottom_overlaps(1), draw.matrix[0, :3], draw.device


def dense_draws_that_are_refused():
    rng = np.random.default_rng(0)
    for R, options in ((2, {}), (4.5, {}), (5, {"entries": "cauchy"}), (5, {"directions": "random"})):
        yield refused(draw_dense, MODELS["both"], R, rng, **options)
    draw = draw_dense(MODELS["one"], 5, rng)
    yield [
        refused(draw.top_overlaps, count)[0] if count == 5 else refused(draw.top_overlaps, count) for count in (0, 5, 6)
    ]
    yield refused(draw.bottom_overlaps, 1.5)


def rotations():
    rotation = Rotation.draw(5, np.random.default_rng(0))
    vector = np.arange(5.0)
    return rotation.signs, rotation.forward(vector), rotation.back(vector), rotation.back(rotation.forward(vector))


def draws_by_products():
    for model in (SKEW, MODELS["both"]):
        draw = draw_matrix_free(model, 9, np.random.default_rng(1))
        yield draw.eigenvalues, draw.operator() @ np.arange(9.0), draw.top_overlaps(2), draw.bottom_overlaps(2)
        yield draw._in_noise_basis.top(2), draw._in_noise_basis.count_above(1.0)


def draws_by_products_that_are_refused():
    yield [
        refused(draw_matrix_free, MODELS[name], R, np.random.default_rng(0)) for name, R in (("both", 2), ("none", 1))
    ]
    draw = draw_matrix_free(MODELS["one"], 4, np.random.default_rng(0))
    yield [refused(draw.top_overlaps, count) for count in (0, 4, 1.5)]


def counts_of_pairs():
    return [refused(checked_count, count, 5, "P") for count in (0, 1, 4, 5, 2.5)], refused(checked_count, 9, 9)


def pairs_from_both_ends():
    values = np.array([3.0, 3.0, -4.0, 1.0, 0.5])
    for count, largest in ((1, True), (3, True), (2, False)):
        found, vectors = extreme_eigenpairs(lambda v: values * v, 5, count, largest=largest)
        yield found, (vectors**2).sum(axis=0), np.abs(vectors[2])


def pairs_by_lanczos():
    values = np.concatenate([np.linspace(-1.0, 1.0, 600), [2.0, 2.0, 1.7, -3.0]])
    for count, largest in ((2, True), (4, True), (1, False)):
        yield extreme_eigenpairs(lambda v: values * v, 604, count, largest=largest)[0]
    yield extreme_eigenpairs(lambda v: 0.0 * v, 604, 2, largest=True)[0]
    yield extreme_eigenpairs(lambda v: 1e-200 * values * v, 604, 2, largest=True)[0] / 1e-200


def pairs_by_lanczos_with_a_count():
    values, asked = np.concatenate([np.linspace(-1.0, 1.0, 600), [2.0, 1.7]]), []

    def beyond(point):
        asked.append(point)
        return int((values > point).sum())

    yield extreme_eigenpairs(lambda v: values * v, 602, 3, largest=True, count_beyond=beyond)[0], asked
