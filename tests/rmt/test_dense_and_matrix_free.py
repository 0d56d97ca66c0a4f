"""Dense and matrix-free draws against predictions."""

import numpy as np
import pytest
from scipy.stats import chi2

from rmt import (
    ENTRY_LAWS,
    DensityLaw,
    MarchenkoPastur,
    Semicircle,
    SpikedModel,
    distribution_distance,
    draw_dense,
    draw_matrix_free,
)
from rmt.dense import wigner

P_VALUE = 1e-6


@pytest.mark.parametrize("name", ENTRY_LAWS)
def test_entries_have_the_stated_moments(name):
    law, rng, n = ENTRY_LAWS[name], np.random.default_rng(0), 400_000
    draws = law.sample(rng, n, 50)
    fourth = np.mean(draws**4)
    assert abs(draws.mean()) < 6 / np.sqrt(n)
    assert abs(np.mean(draws**2) - 1) < 6 * np.sqrt(fourth / n)
    if np.isfinite(law.fourth_moment):
        assert fourth == pytest.approx(law.fourth_moment, abs=6 * np.std(draws**4) / np.sqrt(n))


def test_a_wigner_matrix_is_symmetric_with_the_stated_diagonal():
    rng = np.random.default_rng(1)
    for name, variance in (("goe", 2.0), ("gaussian", 1.0)):
        matrix = wigner(1.5, 300, rng, ENTRY_LAWS[name])
        np.testing.assert_array_equal(matrix, matrix.T)
        scaled = (np.diag(matrix) ** 2).sum() * 300 / (1.5**2 * variance)
        assert chi2.ppf(P_VALUE, 300) < scaled < chi2.isf(P_VALUE, 300)


@pytest.mark.parametrize("entries", ["gaussian", "rademacher", "exponential", "three-point"])
@pytest.mark.parametrize("directions", ["localised", "spread"])
def test_outliers_fluctuate_as_their_entry_law_says(entries, directions):
    """The variance is universal for spread spikes only; a 300-draw chi-square with room for finite R."""
    model, R, draws = SpikedModel((2.0,)), 120, 300
    law, rng = ENTRY_LAWS[entries], np.random.default_rng(2)
    tops = [
        draw_dense(model, R, rng, entries=entries, directions=directions).top_overlaps(1)[0][0] for _ in range(draws)
    ]
    predicted = model.outlier_sd(
        2.0,
        R,
        fourth_moment=law.fourth_moment,
        diagonal_variance=law.diagonal_variance,
        localised=directions == "localised",
    )
    assert np.std(tops) == pytest.approx(predicted, rel=0.3)
    assert np.mean(tops) == pytest.approx(2.5, abs=0.05)


@pytest.mark.parametrize("law", [Semicircle(0.7, 0.3), MarchenkoPastur(0.3), MarchenkoPastur(2.5, 0.5)])
def test_any_noise_law_dense_and_matrix_free(law):
    model, R = SpikedModel((3.0, -2.0), law, 0.9), 1200
    rng = np.random.default_rng(3)
    dense = draw_dense(model, 600, rng, entries="gaussian")
    assert distribution_distance(dense.eigenvalues(), model.noise_law) < 0.02
    free = draw_matrix_free(model, R, rng)
    for draw in (dense, free):
        top, top_overlaps = draw.top_overlaps(1)
        bottom, bottom_overlaps = draw.bottom_overlaps(1)
        assert (top[0], bottom[0]) == pytest.approx([o.location for o in model.outliers], abs=0.2)
        assert (top_overlaps[0, 0], bottom_overlaps[0, 1]) == pytest.approx(
            [o.overlap for o in model.outliers], abs=0.1
        )


def test_the_matrix_free_product_is_a_symmetric_matrix_with_the_right_spectrum():
    model = SpikedModel((2.0,), MarchenkoPastur(0.5))
    draw = draw_matrix_free(model, 60, np.random.default_rng(4))
    matrix = draw.operator() @ np.eye(60)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    noise = matrix - 2.0 * np.outer(np.eye(60)[0], np.eye(60)[0])
    np.testing.assert_allclose(np.linalg.eigvalsh(noise), np.sort(draw.eigenvalues), atol=1e-12)


def test_torch_and_lapack_see_the_same_matrix():
    model = SpikedModel((2.0, -3.0))
    one, other = (draw_dense(model, 80, np.random.default_rng(5), device=device) for device in (None, "cpu"))
    np.testing.assert_allclose(one.eigenvalues(), other.eigenvalues(), atol=1e-12)
    pairs = zip(
        one.top_overlaps(2) + one.bottom_overlaps(1), other.top_overlaps(2) + other.bottom_overlaps(1), strict=True
    )
    for a, b in pairs:
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_bad_requests_are_one_line():
    rng, model = np.random.default_rng(0), SpikedModel((1.0, 2.0))
    with pytest.raises(ValueError, match="unknown entry law 'cauchy'; known: goe"):
        draw_dense(model, 10, rng, entries="cauchy")
    with pytest.raises(ValueError, match="directions must be 'localised' or 'spread'"):
        draw_dense(model, 10, rng, directions="sideways")
    for draw in (draw_dense, draw_matrix_free):
        with pytest.raises(ValueError, match="at least 2, got 1"):
            draw(model, 1, rng)
    with pytest.raises(ValueError, match="count must lie between 1 and R = 10, got 11"):
        draw_dense(model, 10, rng).top_overlaps(11)


@pytest.mark.parametrize("R", [2, 3, 11])
def test_noise_without_a_matrix_has_the_quantiles_of_its_law(R):
    """At the middles of R equal shares, in the units of the matrix."""
    law = MarchenkoPastur(0.4)
    found = draw_matrix_free(SpikedModel((3.0,), law, 0.5), R, np.random.default_rng(0))
    middles = [(2 * j + 1) / (2 * R) for j in range(R)]
    assert found.eigenvalues == pytest.approx([0.5 * law.quantile(p) for p in middles], rel=1e-9)
    whole = found.operator() @ np.eye(R)
    whole[0, 0] -= 3.0
    assert np.linalg.eigvalsh(whole) == pytest.approx(found.eigenvalues, rel=1e-9)


def test_laws_whose_density_has_changed_or_has_no_hash():
    """The last density is 1 - x^2 up to its factor, whose quantile at 1/2 + t is the root of (3 x - x^3) / 4 = t."""
    tilt = {"a": 0.0}

    def density(x):
        return 0.5 * (1.0 + tilt["a"] * x)

    def eigenvalues(density):
        model = SpikedModel((), DensityLaw(density, (-1.0, 1.0)))
        return draw_dense(model, 5, np.random.default_rng(0)).eigenvalues()

    np.testing.assert_allclose(eigenvalues(density), [-0.8, -0.4, 0.0, 0.4, 0.8], atol=1e-9)
    tilt["a"] = 0.5
    levels = (np.arange(5) + 0.5) / 5  # (x + 1) / 2 + (x^2 - 1) / 8
    np.testing.assert_allclose(eigenvalues(density), -2.0 + np.sqrt(1.0 + 8.0 * levels), atol=1e-9)
    found = eigenvalues(np.polynomial.Polynomial([0.75, 0.0, -0.75]))
    np.testing.assert_allclose((3.0 * found - found**3) / 4.0, levels - 0.5, atol=1e-9)
