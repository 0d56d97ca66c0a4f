"""Matrices of one to a few rows, noise that is neither centred nor symmetric, both ends: against dense eigenvalues."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from rmt import (
    AtomicLaw,
    DensityLaw,
    MarchenkoPastur,
    PointMass,
    Semicircle,
    SpikedModel,
    draw_banded,
    draw_dense,
    draw_matrix_free,
)
from rmt.laws import Affine
from rmt.secular import RotatedDraw, draw_rotated

P_VALUE = 1e-6
SPIKES = [(), (2.0,), (-2.0,), (3.0, -1.0), (2.0, 2.0)]
ASYMMETRIC = {
    "left": Semicircle(1.0, -3.0),
    "right": Semicircle(0.5, 4.0),
    "positive": MarchenkoPastur(0.5),
    "negative": AtomicLaw((-5.0, -1.0), (0.3, 0.7)),
    "moved": Affine(MarchenkoPastur(0.3), 2.0, -7.0),
    "slope": DensityLaw(lambda x: (1 + x) / 2, (-1.0, 1.0), "slope"),
}
asymmetric = pytest.mark.parametrize("law", ASYMMETRIC.values(), ids=ASYMMETRIC.keys())


def goe_square(model, R):
    """E ||H||_F^2 by hand: R diagonal entries of variance 2 s^2 / R about c, R (R - 1) others of variance s^2 / R."""
    s, c = model.sigma(), model.noise_law.center
    return sum(v**2 for v in model.spikes) + 2 * c * sum(model.spikes) + R * c**2 + s**2 * (R + 1)


def full(band, rows):
    matrix = np.zeros((rows, rows))
    for offset, diagonal in enumerate(band):
        matrix += np.diag(diagonal[: rows - offset], -offset)
        if offset:
            matrix += np.diag(diagonal[: rows - offset], offset)
    return matrix


@pytest.mark.parametrize("R", [1, 2, 3, 4])
@pytest.mark.parametrize("spikes", SPIKES)
@pytest.mark.parametrize("centre", [0.0, -3.0, 2.0])
def test_every_band_is_a_matrix_whose_ends_it_knows(spikes, R, centre):
    if len(spikes) > R:
        return
    model, rng = SpikedModel(spikes, Semicircle(1.5, centre), 0.5), np.random.default_rng(R)
    for _ in range(2):
        draw = draw_banded(model, R, rng, top=R, bottom=R)
        values, vectors = np.linalg.eigh(full(draw.band, R))
        assert (draw.rows, draw.rest_norm, draw.top_kept, draw.bottom_kept) == (R, 0.0, R, R)
        np.testing.assert_allclose(draw.top(R), values[::-1], atol=1e-13)
        np.testing.assert_allclose(draw.bottom(R), values, atol=1e-13)
        weights = vectors[: len(spikes)].T ** 2
        for found, expected in (
            (draw.top_overlaps(R), (values[::-1], weights[::-1])),
            (draw.bottom_overlaps(R), (values, weights)),
        ):
            np.testing.assert_allclose(found[0], expected[0], atol=1e-13)
            np.testing.assert_allclose(found[1], expected[1], atol=1e-9)
        rank, norm = draw.stable_rank(), np.abs(values).max()
        assert rank.spectral_norm == pytest.approx(norm)
        assert rank.frobenius_squared == pytest.approx((values**2).sum())
        assert rank.value == pytest.approx((values**2).sum() / norm**2)
        if len(spikes) <= 1:
            assert [draw.at(index) for index in range(1, R + 1)] == pytest.approx(list(values[::-1]), abs=1e-13)
            grid = np.linspace(-9.0, 9.0, 19)
            assert list(draw.counts_below(grid)) == [int((values < point).sum()) for point in grid]


def test_an_eigenvalue_on_a_point_of_the_grid_counts_as_below_it():
    draw = draw_banded(SpikedModel((2.0,)), 1, np.random.default_rng(0))
    value = draw.band[0, 0]
    assert draw.counts_below(np.array([np.nextafter(value, -9.0), value])).tolist() == [0, 1]


@pytest.mark.sample(5)
@pytest.mark.parametrize(("R", "rows"), [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (9, 4)])
@pytest.mark.parametrize("centre", [0.0, -3.0])
def test_the_frobenius_norm_has_its_mean_whatever_is_kept(R, rows, centre):
    spikes = (2.0,) if rows < 2 else (2.0, -1.5)
    model, rng = SpikedModel(spikes, Semicircle(2.0, centre), 0.5), np.random.default_rng(10 * R + rows)
    found = []
    for _ in range(4000):
        draw = draw_banded(model, R, rng, top=0, rows=rows)
        found.append((draw.band[0] ** 2).sum() + 2 * (draw.band[1:] ** 2).sum() + draw.rest_norm**2)
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - goe_square(model, R)) < 5 * error


@pytest.mark.sample(3)
@pytest.mark.parametrize("R", [1, 2, 3])
@pytest.mark.parametrize("spikes", [(1.0,), (-2.0,)])
def test_small_bands_and_small_dense_matrices_agree_in_law(spikes, R):
    model, rng, draws = SpikedModel(spikes, Semicircle(1.3, -2.0), 0.7), np.random.default_rng(R), 600
    features = []
    for draw_one in (lambda: draw_banded(model, R, rng, top=1, bottom=1), lambda: draw_dense(model, R, rng)):
        pairs = [(draw.top_overlaps(1), draw.bottom_overlaps(1)) for draw in (draw_one() for _ in range(draws))]
        features.append(np.array([[t[0][0], b[0][0], t[1][0, 0], b[1][0, 0]] for t, b in pairs]))
    for one, other in zip(*(table.T for table in features), strict=True):
        assert ks_2samp(np.round(one, 12), np.round(other, 12)).pvalue > P_VALUE


def test_dense_noise_has_its_mean_and_its_size():
    rng, R = np.random.default_rng(0), 3
    for entries, diagonal in (("goe", 2.0), ("rademacher", 1.0)):
        found = np.array(
            [
                draw_dense(SpikedModel((), Semicircle(1.5, -2.0), 0.5), R, rng, entries=entries).matrix
                for _ in range(4000)
            ]
        )
        means, squares = found.mean(axis=0), found.var(axis=0)
        assert np.abs(means + np.eye(R)).max() < 5 * 0.75 / np.sqrt(4000)
        variance = 0.75**2 / R * (np.ones((R, R)) + (diagonal - 1) * np.eye(R))
        assert np.abs(squares / variance - 1).max() < 5 * np.sqrt(2 / 4000)


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize("R", [1, 2, 3])
def test_dense_ends_and_overlaps(R, device):
    model = SpikedModel((2.0, -1.0)[:R], Semicircle(1.0, -3.0))
    for directions in ("localised", "spread"):
        draw = draw_dense(model, R, np.random.default_rng(R), directions=directions, device=device)
        values, vectors = np.linalg.eigh(draw.matrix)
        weights = (vectors.T @ draw.directions) ** 2
        np.testing.assert_allclose(draw.eigenvalues(), values, atol=1e-13)
        for count in range(1, R + 1):
            top, bottom = draw.top_overlaps(count), draw.bottom_overlaps(count)
            np.testing.assert_allclose(top[0], values[::-1][:count], atol=1e-13)
            np.testing.assert_allclose(top[1], weights[::-1][:count], atol=1e-12)
            np.testing.assert_allclose(bottom[0], values[:count], atol=1e-13)
            np.testing.assert_allclose(bottom[1], weights[:count], atol=1e-12)


def test_spectra_are_computed_on_the_device_that_is_named():
    draw = draw_dense(SpikedModel((2.0,)), 3, np.random.default_rng(0), device="nowhere")
    for ask in (draw.eigenvalues, lambda: draw.top_overlaps(1), lambda: draw.bottom_overlaps(1)):
        with pytest.raises(RuntimeError, match="nowhere"):
            ask()


def test_spread_directions_are_orthonormal_and_are_not_the_coordinates():
    draw = draw_dense(SpikedModel((2.0, 1.0)), 5, np.random.default_rng(0), directions="spread")
    np.testing.assert_allclose(draw.directions.T @ draw.directions, np.eye(2), atol=1e-14)
    assert np.abs(draw.directions).max(axis=0).max() < 0.99


@asymmetric
@pytest.mark.parametrize("R", [1, 2, 3, 8])
@pytest.mark.parametrize("spikes", SPIKES)
def test_rotated_draws_of_asymmetric_noise(law, spikes, R):
    if len(spikes) > R:
        return
    draw = draw_rotated(SpikedModel(spikes, law, 0.7), R, np.random.default_rng(3))
    dense = np.diag(draw.noise) + (draw.directions * np.asarray(spikes)) @ draw.directions.T
    values = np.linalg.eigvalsh(dense)
    size = np.abs(values).max()
    levels = 1.0 - (np.arange(R) + 0.5) / R
    np.testing.assert_allclose(draw.noise, 0.7 * np.asarray(law.quantile(levels)), atol=1e-5 * size)
    for count in (1, R):
        np.testing.assert_allclose(draw.top(count), values[::-1][:count], atol=1e-12 * size)
        np.testing.assert_allclose(draw.bottom(count), values[:count], atol=1e-12 * size)
    rank = draw.stable_rank()
    assert rank.spectral_norm == pytest.approx(size)
    assert rank.frobenius_squared == pytest.approx((values**2).sum())
    assert rank.value == pytest.approx((values**2).sum() / size**2)


@pytest.mark.parametrize("spikes", [(2.0,), (-2.0,), (5.0, -4.0), (4.0, -5.0), (2.0, -2.0)])
@pytest.mark.parametrize("noise", [(0.0, -1.0), (1.0, 0.0), (1.0, -1.0), (3.0, -0.5), (0.5, -3.0)])
def test_the_norm_is_that_of_whichever_end_reaches_further(spikes, noise):
    """Every direction of two or three rows, so that neither end can be guessed from the spikes."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        spectrum = np.sort(np.append(noise, rng.uniform(min(noise), max(noise))))[::-1]
        draw = draw_rotated(SpikedModel(spikes), 3, rng, spectrum=spectrum)
        values = np.linalg.eigvalsh(np.diag(spectrum) + (draw.directions * np.asarray(spikes)) @ draw.directions.T)
        assert draw.stable_rank().spectral_norm == pytest.approx(np.abs(values).max(), rel=1e-10)


@asymmetric
def test_the_norm_of_asymmetric_noise_is_that_of_its_longer_tail(law):
    left, right = law.support
    for scale in (1.0, 0.3):
        model = SpikedModel((), law, scale)
        assert model.bulk_edges == pytest.approx((scale * left, scale * right))
        assert model.spectral_norm == pytest.approx(scale * max(-left, right))
        found = draw_rotated(model, 4000, np.random.default_rng(0)).stable_rank()
        assert found.spectral_norm == pytest.approx(model.spectral_norm, rel=0.01)
        assert found.value == pytest.approx(model.stable_rank(4000).value, rel=0.02)


@asymmetric
def test_outliers_of_asymmetric_noise_at_both_ends(law):
    """One draw of a large dimension: eigenvalues and overlaps, scaled and unscaled."""
    for scale in (1.0, 0.5):
        below, above = SpikedModel((), law, scale).thresholds
        width = scale * (law.support[1] - law.support[0])
        model = SpikedModel((above + width, below - width), law, scale)
        draw = draw_matrix_free(model, 4000, np.random.default_rng(1))
        for outlier, (values, overlaps), column in zip(
            model.outliers, (draw.top_overlaps(1), draw.bottom_overlaps(1)), (0, 1), strict=True
        ):
            assert values[0] == pytest.approx(outlier.location, abs=0.06 * width)
            assert overlaps[0, column] == pytest.approx(outlier.overlap, abs=0.06)


@asymmetric
def test_matrix_free_ends_of_few_rows(law):
    draw = draw_matrix_free(SpikedModel((2.0, -3.0), law, 0.5), 12, np.random.default_rng(2))
    matrix = draw.operator() @ np.eye(12)
    values, vectors = np.linalg.eigh(matrix)
    np.testing.assert_allclose(np.sort(draw.eigenvalues), 0.5 * np.asarray(law.quantile((np.arange(12) + 0.5) / 12)))
    for found, order in ((draw.top_overlaps(3), slice(None, None, -1)), (draw.bottom_overlaps(3), slice(None))):
        np.testing.assert_allclose(found[0], values[order][:3], atol=1e-9)
        np.testing.assert_allclose(found[1], (vectors[:2].T ** 2)[order][:3], atol=1e-6)


@asymmetric
def test_dense_noise_of_another_law_has_its_quantiles(law):
    if isinstance(law, Semicircle):
        return  # drawn with random entries
    for R in (1, 2, 5):
        matrix = draw_dense(SpikedModel((), law, 0.5), R, np.random.default_rng(R)).matrix
        expected = 0.5 * np.asarray(law.quantile((np.arange(R) + 0.5) / R))
        np.testing.assert_allclose(np.linalg.eigvalsh(matrix), expected, atol=1e-9)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_too_few_rows_determine_nothing(rows):
    """One row of the spiked matrix has the eigenvalue 2 and says nothing of the outlier at 2.5."""
    draw = draw_banded(SpikedModel((2.0,)), 10**6, np.random.default_rng(0), top=1, bottom=1, rows=rows)
    assert (draw.top_kept, draw.bottom_kept) == (0, 0)
    for ask in (lambda: draw.top(1), lambda: draw.bottom(1), draw.stable_rank):
        with pytest.raises(
            ValueError,
            match=r"determine 0 eigenvalues at this end, but 1 were requested; .* more "
            r"rows",
        ):
            ask()


def test_rows_keep_as_many_eigenvalues_as_they_determine():
    model, R, rng = SpikedModel((3.0, 1.5, -2.0)), 10**6, np.random.default_rng(0)
    for count in (1, 2):
        rows = 3 * (int(np.ceil(0.5 * np.log(1e12) / np.log((3.0, 1.5)[count - 1]))) + 15)
        assert draw_banded(model, R, rng, top=3, rows=rows).top_kept == count
        assert draw_banded(model, R, rng, top=3, rows=rows - 1).top_kept == count - 1
    assert draw_banded(model, R, rng, top=1, bottom=2, rows=150).bottom_kept == 1
    assert draw_banded(model, 20, rng, top=7, bottom=3, rows=20).top_kept == 7


def test_one_spike_needs_the_rows_of_its_decay():
    """A spike of 3 decays by 3 in a row: 13 rows to a millionth, whose square is the tolerance, and 15 to spare."""
    for spikes, end in (((3.0,), {"top": 1}), ((-3.0,), {"top": 0, "bottom": 1})):
        assert draw_banded(SpikedModel(spikes), 10**9, np.random.default_rng(0), **end).rows == 13 + 15


def test_a_spike_at_the_other_end_needs_its_own_rows():
    model = SpikedModel((4.0, -1.2, -3.0))
    rows = {count: draw_banded(model, 10**9, np.random.default_rng(0), top=0, bottom=count).rows for count in (1, 2, 3)}
    assert rows[1] < rows[2] < rows[3]


def test_all_rows_know_the_stable_rank_whatever_was_asked_for():
    draw = draw_banded(SpikedModel((2.0, -1.0)), 4, np.random.default_rng(0), top=0, bottom=0, rows=4)
    assert (draw.top_kept, draw.bottom_kept) == (0, 0)
    values = np.linalg.eigvalsh(full(draw.band, 4))
    assert draw.stable_rank().value == pytest.approx((values**2).sum() / np.abs(values).max() ** 2)


@pytest.mark.parametrize(("centre", "needs"), [(-3.0, "bottom"), (3.0, "top")])
def test_the_stable_rank_asks_for_the_end_that_has_the_norm(centre, needs):
    model = SpikedModel((1.5,), Semicircle(1.0, centre))
    other = {"bottom": {"top": 1}, "top": {"top": 0, "bottom": 1}}[needs]
    with pytest.raises(ValueError, match="determine 0 eigenvalues at this end"):
        draw_banded(model, 10**6, np.random.default_rng(0), **other).stable_rank()
    for options in ({"top": 1}, {"top": 0, "bottom": 1}):  # ends that reach equally far need both
        with pytest.raises(ValueError, match="determine 0 eigenvalues at this end"):
            draw_banded(SpikedModel((2.0, -2.0)), 10**6, np.random.default_rng(0), **options).stable_rank()
    both = draw_banded(model, 10**6, np.random.default_rng(0), top=1, bottom=1).stable_rank()
    assert both.spectral_norm == pytest.approx(model.spectral_norm, rel=1e-2)
    assert both.value == pytest.approx(model.stable_rank(10**6).value, rel=1e-2)


@pytest.mark.parametrize("scale", [1e-250, 1e-155, 1e-12, 1e9, 1e155, 1e250])
@pytest.mark.parametrize("spikes", [(2.0,), (2.0, -1.5, 1.2), ()])
def test_draws_know_no_unit(spikes, scale):
    """The same numbers in another unit, whether double precision can hold their squares or not."""
    models = (
        SpikedModel(spikes, Semicircle(1.0, -0.5)),
        SpikedModel(tuple(scale * v for v in spikes), Semicircle(1.0, -0.5), scale),
    )

    def pair(draw_one):
        return [draw_one(model, np.random.default_rng(5)) for model in models]

    for R in (3, 400):
        plain, moved = pair(lambda model, rng, R=R: draw_banded(model, R, rng, top=2, bottom=2))
        np.testing.assert_allclose(moved.top(2) / scale, plain.top(2), atol=1e-12)
        np.testing.assert_allclose(moved.bottom(2) / scale, plain.bottom(2), atol=1e-12)
        np.testing.assert_allclose(moved.top_overlaps(2)[1], plain.top_overlaps(2)[1], atol=1e-9)
        assert moved.stable_rank().value == pytest.approx(plain.stable_rank().value, rel=1e-12)
        if len(spikes) < 2 and plain.rows == R:
            assert moved.at(2) / scale == pytest.approx(plain.at(2))
            grid = np.linspace(-3.0, 3.0, 13)
            np.testing.assert_array_equal(moved.counts_below(scale * grid), plain.counts_below(grid))
    plain, moved = pair(lambda model, rng: draw_rotated(model, 30, rng))
    np.testing.assert_allclose(moved.top(3) / scale, plain.top(3), atol=1e-12)
    np.testing.assert_allclose(moved.bottom(3) / scale, plain.bottom(3), atol=1e-12)
    assert moved.stable_rank().value == pytest.approx(plain.stable_rank().value, rel=1e-12)
    assert moved.count_above(scale * 0.1) == plain.count_above(0.1)
    for draw_one in (draw_dense, draw_matrix_free):
        plain, moved = pair(lambda model, rng, draw_one=draw_one: draw_one(model, 30, rng))
        for end in ("top_overlaps", "bottom_overlaps"):
            (found, weights), (expected, expected_weights) = getattr(moved, end)(1), getattr(plain, end)(1)
            np.testing.assert_allclose(found / scale, expected, atol=1e-9)
            np.testing.assert_allclose(weights, expected_weights, atol=1e-6)


def test_the_largest_numbers_end_in_a_number():
    draw = draw_banded(SpikedModel((1e300,)), 1, np.random.default_rng(0), top=1, bottom=1)
    assert draw.stable_rank().value == pytest.approx(1.0)
    assert draw.stable_rank().spectral_norm == pytest.approx(1e300)
    assert SpikedModel((1e300, 1e-300)).stable_rank(2).value == pytest.approx(1.0)
    assert SpikedModel((1e300, 1e-300)).outliers[0].overlap == 1.0
    mixed = RotatedDraw(SpikedModel((1e300, 1e-300)), np.array([1.0, -1.0]), np.eye(2))
    assert mixed.top(1) == pytest.approx(1e300)


def test_the_zero_matrix_has_no_stable_rank():
    model = SpikedModel((), PointMass(0.0))
    for ask in (model.stable_rank, lambda R: draw_rotated(model, R, np.random.default_rng(0)).stable_rank()):
        with pytest.raises(ValueError, match="the zero matrix has no stable rank"):
            ask(3)


def test_draws_hold_arrays_and_are_compared_as_objects():
    model = SpikedModel((2.0,))
    for draw_one in (draw_banded, draw_dense, draw_matrix_free, draw_rotated):
        one, other = (draw_one(model, 4, np.random.default_rng(0)) for _ in range(2))
        assert one == one
        assert one != other
        assert len({one, other}) == 2
