"""Stable-rank gap and alignment by rank, against draws and by hand."""

import numpy as np
import pytest

from rmt import Comparison, MarchenkoPastur, SpikedModel, alignment_by_rank, draw_banded, stable_rank_gap

CLIENT, SERVER = SpikedModel((3.0, -2.0), scale=0.8), SpikedModel((3.0, -2.0), scale=0.4)


@pytest.mark.parametrize("R", [10**3, 10**6, 10**9])
def test_the_gap_is_that_of_simulated_hessians_and_grows_with_R(R):
    rng = np.random.default_rng(0)
    gaps = [
        draw_banded(CLIENT, R, rng).stable_rank().value - draw_banded(SERVER, R, rng).stable_rank().value
        for _ in range(200)
    ]
    found = Comparison.from_sample("gap", np.array(gaps) / R, stable_rank_gap(CLIENT, SERVER, R) / R)
    assert abs(found.observed - found.predicted) < 6 * found.standard_error + 20 / R


def test_below_the_threshold_the_gap_is_lost_in_the_edge():
    small = SpikedModel((0.1,), scale=0.8), SpikedModel((0.1,), scale=0.4)
    assert abs(stable_rank_gap(*small, 10**6)) < 1.0  # both stable ranks are R/4


def test_alignment_falls_with_rank_where_overlaps_do():
    cosines = alignment_by_rank(CLIENT, (1.0, 1.0), 0.25, (1, 2, 3, 50))
    first, second = (1 - (0.8 / 3) ** 2), (1 - (0.8 / 2) ** 2)
    assert cosines == pytest.approx([first, (first + second) / 2, (first + second) / 2.25, (first + second) / 14])


def test_alignment_matches_two_simulated_clients():
    """Gradients along the true directions, projected on each client's own outlier eigenvectors."""
    rng, R, n = np.random.default_rng(1), 4000, 400
    overlaps = np.array([
        [draw_banded(SERVER, R, rng).top_overlaps(1)[1][0, 0] for _ in range(2)] for _ in range(n)
    ])  # fmt: skip
    # Two eigenvectors with cosines c, c' to the spike meet with c c' (up to sign) plus noise of order R^(-1/2).
    found = Comparison.from_sample(
        "cosine", np.sqrt(overlaps[:, 0] * overlaps[:, 1]), alignment_by_rank(SERVER, (1, 0), 0, (1,))[0]
    )
    assert abs(found.observed - found.predicted) < 6 * found.standard_error + 2 / R


def test_bad_requests_are_one_line():
    with pytest.raises(ValueError, match="differ only in scale"):
        stable_rank_gap(CLIENT, SpikedModel((1.0,)), 100)
    with pytest.raises(ValueError, match="expected 2 slopes"):
        alignment_by_rank(CLIENT, (1.0,), 0.0, (1,))
    with pytest.raises(ValueError, match="finite and non-negative"):
        alignment_by_rank(CLIENT, (1.0, -1.0), 0.0, (1,))
    with pytest.raises(ValueError, match="a rank must be at least 1, got 0"):
        alignment_by_rank(CLIENT, (1.0, 1.0), 0.0, (0,))
    with pytest.raises(ValueError, match="no component within rank 1"):
        alignment_by_rank(CLIENT, (0.0, 1.0), 0.0, (1,))


def test_comparisons_say_where_their_uncertainty_comes_from():
    sample = Comparison.from_sample("x", [1.0, 2.0, 3.0], 2.5)
    assert (sample.observed, sample.source, sample.draws) == (2.0, "sample", 3)
    assert sample.standard_error == pytest.approx(1 / np.sqrt(3))
    assert sample.agrees()
    assert not Comparison.from_theory("x", 3.0, 2.0, 0.1).agrees()
    assert Comparison.from_theory("x", 3.0, 2.0, 0.1).deviation == pytest.approx(10.0)
    assert Comparison.from_sample("x", [1.0, 1.0], 2.0).deviation == -np.inf
    with pytest.raises(ValueError, match="at least two finite draws, got 1"):
        Comparison.from_sample("x", [1.0], 1.0)
    with pytest.raises(ValueError, match="must be positive"):
        Comparison.from_theory("x", 1.0, 1.0, 0.0)


def test_general_noise_counts_its_mean_in_the_stable_rank():
    model, rng, R = SpikedModel((2.0,), MarchenkoPastur(0.5)), np.random.default_rng(2), 400
    from rmt import draw_dense

    squared = [(draw_dense(model, R, rng).matrix ** 2).sum() for _ in range(5)]
    assert np.mean(squared) == pytest.approx(model.stable_rank(R).frobenius_squared, rel=0.02)
