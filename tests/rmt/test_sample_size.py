"""The stable-rank gap, against draws and by hand."""

import numpy as np
import pytest

from rmt import Comparison, MarchenkoPastur, SpikedModel, draw_banded, stable_rank_gap

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


def test_bad_requests_are_one_line():
    with pytest.raises(ValueError, match="differ only in scale"):
        stable_rank_gap(CLIENT, SpikedModel((1.0,)), 100)


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
