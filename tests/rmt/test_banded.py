"""The band form against dense matrices, against all its rows, and against theory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eig_banded
from scipy.stats import ks_2samp, kstest, t

from rmt import PointMass, Semicircle, SpikedModel, TracyWidom1, draw_banded, draw_dense, rows_needed

P_VALUE = 1e-6  # one false alarm in a million runs of each test


def dense_of(draw):
    rows = draw.rows
    matrix = np.zeros((rows, rows))
    for offset, diagonal in enumerate(draw.band):
        matrix += np.diag(diagonal[: rows - offset], -offset)
        if offset:
            matrix += np.diag(diagonal[: rows - offset], offset)
    return matrix


@pytest.mark.sample(1)
@pytest.mark.parametrize("spikes", [(1.5,), (3.0, 2.0, 1.4), (2.0, -1.7)])
def test_band_and_dense_agree_in_law(spikes):
    """Extreme eigenvalues, overlaps and the Frobenius norm of 1,200 draws of either kind at R = 40."""
    model, R, draws = SpikedModel(spikes, Semicircle(1.3), 0.8), 40, 1200
    rng = np.random.default_rng(11)

    def features(draw, squared):
        top, top_overlaps = draw.top_overlaps(2)
        bottom, bottom_overlaps = draw.bottom_overlaps(1)
        return [*top, *bottom, *top_overlaps.ravel(), *bottom_overlaps.ravel(), squared]

    def banded():
        draw = draw_banded(model, R, rng, top=2, bottom=1, rows=R // 2 + 5)
        full = draw_banded(model, R, rng, top=2, bottom=1, rows=R)
        squared = (draw.band[0] ** 2).sum() + 2 * (draw.band[1:] ** 2).sum() + draw.rest_norm**2
        return features(full, squared)

    def dense():
        draw = draw_dense(model, R, rng)
        return features(draw, (draw.matrix**2).sum())

    one, other = np.array([banded() for _ in range(draws)]), np.array([dense() for _ in range(draws)])
    p_values = [ks_2samp(one[:, i], other[:, i]).pvalue for i in range(one.shape[1])]
    assert min(p_values) > P_VALUE / len(p_values)


@pytest.mark.parametrize(("spikes", "R"), [((1.5,), 10**5), ((), 10**5), ((1.05,), 10**5), ((2.5, -1.2), 7000)])
def test_few_rows_give_the_eigenvalues_of_all_rows(spikes, R):
    model, rng = SpikedModel(spikes), np.random.default_rng(5)
    full = draw_banded(model, R, rng, top=5, bottom=2, rows=R)
    rows = rows_needed(model, R, top=5, bottom=2)
    assert rows < R / 3
    short = type(full)(model, R, full.band[:, :rows], 0.0, 5, 2)
    np.testing.assert_allclose(short.top(5), full.top(5), atol=1e-9)
    np.testing.assert_allclose(short.bottom(2), full.bottom(2), atol=1e-9)
    np.testing.assert_allclose(short.top_overlaps(1)[1], full.top_overlaps(1)[1], atol=1e-9)


@given(
    st.lists(st.floats(-5, 5).filter(lambda v: abs(v) > 1e-3), max_size=4),
    st.integers(1, 40),
    st.floats(0.01, 10.0),
    st.integers(0, 2**32 - 1),
)
def test_every_small_band_has_the_eigenvalues_of_its_matrix(spikes, R, scale, seed):
    model = SpikedModel(tuple(spikes), scale=scale)
    if len(spikes) > R:
        with pytest.raises(ValueError, match=f"at least {len(spikes)}, got {R}"):
            draw_banded(model, R, np.random.default_rng(seed))
        return
    draw = draw_banded(model, R, np.random.default_rng(seed), top=R, bottom=R, rows=R)
    expected = np.linalg.eigvalsh(dense_of(draw))
    norm = np.abs(expected).max()
    np.testing.assert_allclose(draw.top(R), expected[::-1], atol=1e-12 * norm)
    np.testing.assert_allclose(draw.bottom(R), expected, atol=1e-12 * norm)
    assert draw.stable_rank().frobenius_squared == pytest.approx((expected**2).sum())
    assert draw.stable_rank().value == pytest.approx((expected**2).sum() / norm**2)


@pytest.mark.parametrize("count", ["2", 2.5, None, 0, -1, 4])
def test_a_count_is_a_whole_number_of_the_kept_eigenvalues(count):
    draw = draw_banded(SpikedModel((3.0, 2.0)), 60, np.random.default_rng(0), top=3, bottom=3, rows=60)
    for eigenvalues in (draw.top, draw.bottom, draw.top_overlaps, draw.bottom_overlaps):
        with pytest.raises((TypeError, ValueError), match=r"count|3 eigenvalues at this end"):
            eigenvalues(count)


def test_overlaps_are_squared_components_of_unit_vectors():
    draw = draw_banded(SpikedModel((3.0, 2.0)), 60, np.random.default_rng(0), top=3, rows=60)
    _, vectors = np.linalg.eigh(dense_of(draw))
    np.testing.assert_allclose(draw.top_overlaps(3)[1], vectors[:2, ::-1][:, :3].T ** 2, atol=1e-12)


@pytest.mark.parametrize("spikes", [(2.0, 2.0), (3.0, 2.0, 2.0, 2.0), (2.0, 2.0, -1.0, -1.0)])
@pytest.mark.parametrize("scale", [1e-9, 1e-12, 1e-16, 1e-20, 1e-100])
def test_eigenvectors_of_equal_spikes_stay_orthogonal_however_close_they_are(spikes, scale):
    positive = sum(spike > 0 for spike in spikes)
    draw = draw_banded(SpikedModel(spikes, scale=scale), 50, np.random.default_rng(0), top=positive, bottom=2)
    _, top = draw.top_components(positive)
    np.testing.assert_allclose(top @ top.T, np.eye(positive), atol=1e-9)
    np.testing.assert_allclose(draw.top_overlaps(positive)[1].sum(axis=0)[:positive], 1.0, atol=1e-9)
    if positive < len(spikes):
        np.testing.assert_allclose(draw.bottom_overlaps(2)[1].sum(axis=0)[positive:], 1.0, atol=1e-9)


def test_counts_are_those_of_the_eigenvalues():
    draw = draw_banded(SpikedModel((2.0,)), 700, np.random.default_rng(1), rows=700)
    values = np.linalg.eigvalsh(dense_of(draw))
    grid = np.array([-3.0, *np.linspace(-2.2, 2.2, 57), 2.49, 2.6, 9.0])
    np.testing.assert_array_equal(draw.counts_below(grid), (values[:, None] < grid).sum(axis=0))
    assert draw.at(1) == pytest.approx(draw.top(1)[0])
    assert draw.at(350) == pytest.approx(values[350])


def test_the_global_distribution_is_the_semicircle():
    R = 20_000
    draw = draw_banded(SpikedModel(), R, np.random.default_rng(2), rows=R)
    grid = np.linspace(-1.9, 1.9, 20)
    assert np.abs(draw.counts_below(grid) / R - Semicircle().cdf(grid)).max() < 5e-4


def test_outliers_and_overlaps_sit_where_theory_says():
    model, R, draws = SpikedModel((1.5,)), 10**9, 200
    rng = np.random.default_rng(3)
    found = [draw_banded(model, R, rng).top_overlaps(1) for _ in range(draws)]
    values, overlaps = np.array([f[0][0] for f in found]), np.array([f[1][0, 0] for f in found])
    half = float(t.ppf(1 - P_VALUE / 2, draws - 1)) / np.sqrt(draws)
    assert abs(values.mean() - 13 / 6) < half * values.std()
    assert abs(overlaps.mean() - 5 / 9) < half * overlaps.std()
    assert kstest((values - 13 / 6) / model.outlier_sd(1.5, R), "norm").pvalue > P_VALUE


def test_the_edge_is_tracy_widom():
    model, R = SpikedModel(scale=0.5), 10**9
    rng = np.random.default_rng(4)
    tops = np.array([draw_banded(model, R, rng).top(1)[0] for _ in range(150)])
    assert kstest((tops - 1.0) / model.edge_scale(R), TracyWidom1().cdf).pvalue > P_VALUE


def test_memory_follows_the_rows_kept():
    assert draw_banded(SpikedModel((1.5,)), 10**15, np.random.default_rng(0)).band.nbytes < 5000
    assert rows_needed(SpikedModel((1.5,)), 10**15, top=1) < 200
    assert rows_needed(SpikedModel((1.5,)), 10**12, top=5) < 200_000


def test_several_spikes_at_a_great_dimension():
    """The long band: outliers from its head, edge eigenvalues by shift and invert."""
    model = SpikedModel((2.0, 1.5, -1.5))
    draw = draw_banded(model, 10**9, np.random.default_rng(6), top=4, bottom=2)
    assert draw.rows > 6000
    top, bottom = draw.top(4), draw.bottom(2)
    np.testing.assert_allclose(top, [2.5, 13 / 6, 2.0, 2.0], atol=3e-4)
    np.testing.assert_allclose(bottom, [-13 / 6, -2.0], atol=3e-4)
    assert (np.diff(top) < 0).all()
    assert draw.stable_rank().value == pytest.approx(model.stable_rank(10**9).value, rel=1e-3)


@pytest.mark.parametrize("spikes", [(3.0, 2.0, 1.5, 1.2, -1.3, -1.5), (2.0, 1.02), (1.05, 1.01, 0.99)])
def test_both_ways_to_solve_a_band_agree(spikes):
    """Spikes at the threshold too, whose eigenvalues the head of the band does not know."""
    draw = draw_banded(SpikedModel(spikes), 10**6, np.random.default_rng(9), top=6)
    assert 1500 < draw.rows < 6000
    window = (draw.rows - 6, draw.rows - 1)
    reduced = eig_banded(draw.band, lower=True, eigvals_only=True, select="i", select_range=window)[::-1]
    np.testing.assert_allclose(draw.top(6), reduced, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("sigma", "centre"), [(1.0, -2.0), (1e6, 0.0), (1e-6, 0.0)])
def test_the_long_band_knows_no_unit_and_no_origin(sigma, centre):
    """At centre -2 the upper edge sits at zero, where a tolerance relative to it would vanish."""
    R, spikes = 10**9, (2.0, 1.5, -1.5)
    plain = draw_banded(SpikedModel(spikes), R, np.random.default_rng(8), top=4)
    moved = draw_banded(
        SpikedModel(tuple(sigma * v for v in spikes), Semicircle(sigma, sigma * centre)),
        R,
        np.random.default_rng(8),
        top=4,
    )
    np.testing.assert_allclose(moved.top(4) / sigma - centre, plain.top(4), atol=1e-9)


def test_a_centred_law_shifts_everything():
    plain, shifted = (
        draw_banded(SpikedModel((2.0,), Semicircle(1.0, centre)), 500, np.random.default_rng(7), top=3)
        for centre in (0.0, -4.0)
    )
    np.testing.assert_allclose(shifted.top(3), plain.top(3) - 4.0, atol=1e-12)


def test_bad_requests_are_one_line():
    rng = np.random.default_rng(0)
    draw = draw_banded(SpikedModel((2.0,)), 1000, rng)
    with pytest.raises(
        ValueError, match="determine 1 eigenvalues at this end, but 3 were requested; draw with a larger top"
    ):
        draw.top(3)
    with pytest.raises(ValueError, match="determine 0 eigenvalues"):
        draw.bottom(1)
    with pytest.raises(ValueError, match="needs all 1000 rows"):
        draw.at(5)
    with pytest.raises(ValueError, match="at most one spike, got 10 rows"):
        draw_banded(SpikedModel((2.0, 3.0)), 10, rng, rows=10).at(5)
    with pytest.raises(ValueError, match="rows must lie between 1 and R = 10, got 11"):
        draw_banded(SpikedModel(), 10, rng, rows=11)
    with pytest.raises(ValueError, match="top and bottom must lie between 0 and R = 10, got 11"):
        draw_banded(SpikedModel(), 10, rng, top=11)
    with pytest.raises(ValueError, match="semicircular"):
        draw_banded(SpikedModel((1.0,), PointMass(0.0)), 10, rng)


def test_counts_may_be_whole_floats():
    model, rng = SpikedModel((2.0,)), np.random.default_rng
    one, two = draw_banded(model, 100, rng(0), top=2.0, bottom=1.0), draw_banded(model, 100, rng(0), top=2, bottom=1)
    np.testing.assert_array_equal(one.top(2.0), two.top(2))
    np.testing.assert_array_equal(one.bottom_overlaps(1.0)[1], two.bottom_overlaps(1)[1])
    full = draw_banded(model, 20, rng(0), rows=20.0)
    assert full.at(3.0) == full.at(3)
    for ask in (lambda: draw_banded(model, 100, rng(0), top=1.5), lambda: one.top(1.5), lambda: full.at(1.5)):
        with pytest.raises(ValueError, match=r"must be an integer >= 0, got 1\.5"):
            ask()


@pytest.mark.parametrize(
    ("spikes", "scale", "count"),
    [((2.0, 2.0), 1e-8, 2), ((2.0, 2.0, 2.0), 1e-12, 2), ((2.0, 2.0, -1.0), 1e-12, 3), ((1.0, 1.0), 1e-14, 4)],
)
def test_equal_spikes_beside_little_noise_are_found_in_a_long_band(spikes, scale, count, monkeypatch):
    """Without the reduction of the whole band, which takes ten seconds: outliers differ by rounding."""
    draw = draw_banded(SpikedModel(spikes, scale=scale), 10**5, np.random.default_rng(5), top=count, rows=1600)
    short = draw_banded(SpikedModel(spikes, scale=scale), 10**5, np.random.default_rng(5), top=count, rows=200)
    reductions = []
    monkeypatch.setattr("rmt.banded.eig_banded", lambda band, **given: _noted(reductions, band, given))
    np.testing.assert_allclose(draw.top(count), [*([spikes[0]] * spikes.count(spikes[0])), 0.0, 0.0][:count], atol=1e-7)
    assert max(reductions) < 1600
    assert short.top(1) == pytest.approx(draw.top(1))


def _noted(reductions, band, given):
    reductions.append(band.shape[1])
    return eig_banded(band, **given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 0.0}, "tolerance must lie between 0 and 1, got 0.0"),
        ({"tolerance": -1e-9}, "tolerance must lie between 0 and 1, got -1e-09"),
        ({"tolerance": 1.0}, "tolerance must lie between 0 and 1, got 1.0"),
        ({"tolerance": float("nan")}, "tolerance must lie between 0 and 1, got nan"),
        ({"tolerance": "a"}, "tolerance must be a number, got 'a'"),
        ({"top": -1}, "top and bottom must lie between 0 and R = 1000, got -1 and 0"),
        ({"bottom": 1001}, "top and bottom must lie between 0 and R = 1000, got 1 and 1001"),
        ({"top": 1.5}, "top must be an integer >= 0, got 1.5"),
        ({"bottom": "1"}, "bottom must be a number, got '1'"),
    ],
)
def test_rows_are_needed_for_counts_and_a_tolerance(options, message):
    with pytest.raises(ValueError, match=message):
        rows_needed(SpikedModel((2.0,)), 1000, **options)
