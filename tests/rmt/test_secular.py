"""Secular equation against dense eigenvalues, and its draws against predictions."""

import numpy as np
import pytest

from rmt import AtomicLaw, DensityLaw, FreeSum, MarchenkoPastur, PointMass, Semicircle, SeparableLaw, SpikedModel
from rmt.secular import RotatedDraw, draw_rotated, law_spectrum

SPIKES = [(2.0,), (0.3,), (-1.5,), (3.0, 1.0, -0.2, -2.0), (1.0, 1.0), ()]


def dense(draw):
    frame, spikes = draw.directions, np.asarray(draw.model.spikes)
    return np.linalg.eigvalsh(np.diag(draw.noise) + (frame * spikes) @ frame.T)[::-1]


@pytest.mark.parametrize("spikes", SPIKES)
@pytest.mark.parametrize(
    "law", [Semicircle(1.0), MarchenkoPastur(0.25), MarchenkoPastur(2.0), AtomicLaw((0.5, 2.0), (0.75, 0.25))]
)
def test_every_eigenvalue_is_that_of_the_dense_matrix(spikes, law):
    draw = draw_rotated(SpikedModel(spikes, law, 0.7), 60, np.random.default_rng(0))
    found = [draw.eigenvalue(index) for index in range(1, 61)]
    np.testing.assert_allclose(found, dense(draw), atol=1e-12)


def test_extremes_beside_a_top_atom_and_for_a_direction_that_misses_it():
    noise, model = np.array([1.0, 1.0, 1.0, 0.0, -1.0]), SpikedModel((0.5,))
    direction = np.array([[0.0], [0.0], [0.0], [0.6], [0.8]])
    draw = RotatedDraw(model, noise, direction)
    np.testing.assert_allclose([draw.eigenvalue(i) for i in range(1, 6)], dense(draw), atol=1e-12)
    tiny = RotatedDraw(model, noise, np.array([[1e-9], [0.0], [0.0], [0.6], [0.8]]))
    assert tiny.eigenvalue(1) == pytest.approx(1.0, abs=1e-12)


def test_eigenvalues_above_a_point_are_counted_with_and_without_spikes():
    for spikes in SPIKES:
        draw = draw_rotated(SpikedModel(spikes, MarchenkoPastur(0.5), 0.6), 40, np.random.default_rng(2))
        values = dense(draw)
        for point in (-2.5, -0.1, 0.3, 0.7, 1.5, 4.0):
            assert draw.count_above(point) == int((values > point).sum())
    assert RotatedDraw(SpikedModel(), np.array([2.0, 1.0, 1.0]), np.empty((3, 0))).count_above(1.0) == 1


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("spikes", "noise"),
    [
        ((2.0, -2.0), [2.0, 0.0, 0.0, 0.0]),
        ((2.0, 1.5), np.linspace(-1.0, 1.0, 41)),
        ((2.0, -2.0, 0.1), np.arange(25.0)),
        ((1.0, 1.0, -3.0), [1.0, 1.0, 1.0, 1.0, 0.5, -1.0, -1.0]),
        ((2.0, -2.0), [0.866, 0.0, -0.866]),
        ((2.0, 1e-20, -1e-9), np.linspace(-2.0, 1.0, 7)),
    ],
)
@pytest.mark.parametrize("unit", [1.0, 1e-100, 1e100])
def test_bisection_may_land_on_eigenvalues_of_the_noise(spikes, noise, unit):
    """End of a bracket, and its middle, can be eigenvalues of the noise, where the secular matrix is infinite."""
    model, noise = SpikedModel(tuple(unit * spike for spike in spikes)), unit * np.asarray(noise)
    for seed in range(3):
        draw = draw_rotated(model, len(noise), np.random.default_rng(seed), spectrum=noise)
        values = dense(draw)
        np.testing.assert_allclose(draw.top(len(noise)), values, rtol=0, atol=2e-13 * np.abs(values).max())
        assert draw.stable_rank().value == pytest.approx(
            (values / unit) @ (values / unit) / np.abs(values / unit).max() ** 2
        )
        for point in noise:
            clear = np.abs(values - point) > 1e-12 * unit
            if clear.all():
                assert draw.count_above(point) == int((values > point).sum())


def test_stable_rank_is_that_of_the_dense_matrix():
    for spikes in SPIKES:
        draw = draw_rotated(SpikedModel(spikes, MarchenkoPastur(0.5), 0.6), 50, np.random.default_rng(1))
        values = dense(draw)
        found = draw.stable_rank()
        assert found.frobenius_squared == pytest.approx((values**2).sum())
        assert found.value == pytest.approx((values**2).sum() / np.abs(values).max() ** 2)


@pytest.mark.parametrize("law", [Semicircle(2.0, 1.0), MarchenkoPastur(0.25), DensityLaw(lambda x: 0.5, (-1.0, 1.0))])
def test_spectrum_follows_the_law(law):
    points = law_spectrum(law, 2000)
    levels = 1.0 - (np.arange(2000) + 0.5) / 2000
    np.testing.assert_allclose(points, law.quantile(levels), atol=1e-5)
    assert law.support[1] - points[0] < 0.02 * (law.support[1] - law.support[0])


@pytest.mark.sample(10)
@pytest.mark.parametrize(
    "law",
    [
        AtomicLaw((-1.0, 0.1, 1.0), (0.3, 0.4, 0.3)),
        AtomicLaw(tuple(range(7)), (0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 0.1)),
        PointMass(2.0),
        MarchenkoPastur(2.0).shifted(-1.0),
        SeparableLaw(PointMass(1.0), AtomicLaw((-1.0, 1.0), (0.5, 0.5)), 3.0),
        SeparableLaw(PointMass(1.0), AtomicLaw((1.0, 100.0), (0.5, 0.5)), 0.1),
        FreeSum(AtomicLaw((-3.0, 3.0), (0.4, 0.6)), Semicircle(0.3)),
        FreeSum(AtomicLaw((-3.0, 3.0), (0.4, 0.6)), AtomicLaw((0.0, 1.0), (0.75, 0.25))),
        DensityLaw(lambda x: np.where(x < 0.25, 0.2, 1.9 / 2), (0.0, 1.25)),
        DensityLaw(np.abs, (-1.0, 1.0)),
    ],
)
@pytest.mark.parametrize("R", [5, 10, 301])
def test_spectrum_is_exact_at_atoms_and_close_next_to_edges_and_jumps_inside(law, R):
    points, exact = law_spectrum(law, R), np.asarray(law.quantile((np.arange(R) + 0.5) / R))[::-1]
    assert np.abs(points - exact).max() <= 1e-6 * (law.support[1] - law.support[0])
    for location, mass in law.atoms:
        assert (points == location).sum() == (exact == location).sum() >= int(R * mass) - 1


def test_outliers_settle_at_the_predicted_place():
    model = SpikedModel((1.5, -2.0), MarchenkoPastur(0.25), 0.8)
    draws = [draw_rotated(model, 20_000, np.random.default_rng(seed)) for seed in range(8)]
    assert np.mean([d.top(1)[0] for d in draws]) == pytest.approx(model.outliers[0].location, abs=0.02)
    assert np.mean([d.bottom(1)[0] for d in draws]) == pytest.approx(model.outliers[1].location, abs=0.02)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="spectrum must be 5"):
        draw_rotated(SpikedModel((1.0,)), 5, np.random.default_rng(0), spectrum=[1.0, 2.0])
    with pytest.raises(ValueError, match="dimension R"):
        draw_rotated(SpikedModel((1.0, 2.0)), 1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="index must lie"):
        draw_rotated(SpikedModel((1.0,)), 5, np.random.default_rng(0)).eigenvalue(6)


def test_counts_and_indices_may_be_whole_floats():
    draw = draw_rotated(SpikedModel((1.0,)), 5, np.random.default_rng(0))
    assert draw.eigenvalue(2.0) == draw.eigenvalue(2)
    np.testing.assert_array_equal(draw.top(2.0), draw.top(2))
    with pytest.raises(ValueError, match=r"must be an integer >= 0, got 1\.5"):
        draw.bottom(1.5)
