"""The stable-rank gap, against draws and by hand."""

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from rmt import AtomicLaw, Comparison, MarchenkoPastur, SpikedCovariance, SpikedModel, draw_banded, stable_rank_gap
from rmt.comparison import distribution_distance

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
    for other in (SpikedModel((1.0,)), replace(SERVER, noise=MarchenkoPastur(0.5)), replace(SERVER, spikes=(3.0,))):
        with pytest.raises(ValueError, match="differ only in scale"):
            stable_rank_gap(CLIENT, other, 100)


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


@pytest.mark.parametrize("level", [0.5, 0.05, 1e-6])
def test_intervals_are_those_of_student_and_of_the_normal_law(level):
    """One degree of freedom is Cauchy's law, and two have the quantile c sqrt(2/(1 - c^2)) at confidence c."""
    c = 1.0 - level
    two = Comparison.from_sample("x", [1.0, 4.0], 0.0)  # mean 2.5, standard error 1.5
    three = Comparison.from_sample("x", [1.0, 2.0, 6.0], 0.0)  # mean 3, standard error sqrt(7/3)
    one = Comparison.from_theory("x", 3.0, 2.0, 0.5)
    halves = (
        1.5 * np.tan(np.pi * c / 2),
        np.sqrt(7 / 3) * c * np.sqrt(2 / (level * (2 - level))),
        0.5 * NormalDist().inv_cdf(1 - level / 2),
    )
    for found, half in zip((two, three, one), halves, strict=True):
        low, high = found.interval(level)
        assert (found.observed - low, high - found.observed) == pytest.approx((half, half), rel=1e-6)
        for side in (-1, 1):
            near, far = (replace(found, predicted=found.observed + side * half * by) for by in (1 - 1e-5, 1 + 1e-5))
            assert near.agrees(level)
            assert not far.agrees(level)
    assert one.interval() == one.interval(1e-6)


@pytest.mark.parametrize(
    ("values", "distance"),
    [
        ([1.0, 1.0, 2.0], 2 / 3 - 1 / 2),
        ([1.0, 2.0, 2.0], 1 / 2 - 1 / 3),
        ([0.0, 1.0, 2.0, 2.0, 2.0], 1 / 5),  # below the first atom, where the law has nothing
        ([1.0, 1.0, 1.0, 3.0], 3 / 4 - 1 / 2),
        ([2.0], 1 / 2),
    ],
)
def test_the_distance_from_atoms_counts_values_on_them(values, distance):
    coin = AtomicLaw((1.0, 2.0), (0.5, 0.5))
    assert distribution_distance(values, coin) == pytest.approx(distance)
    assert distribution_distance([value * (1 + 1e-12) for value in values], coin) == pytest.approx(distance)


def test_general_noise_counts_its_mean_in_the_stable_rank():
    model, rng, R = SpikedModel((2.0,), MarchenkoPastur(0.5)), np.random.default_rng(2), 400
    from rmt import draw_dense

    squared = [(draw_dense(model, R, rng).matrix ** 2).sum() for _ in range(5)]
    assert np.mean(squared) == pytest.approx(model.stable_rank(R).frobenius_squared, rel=0.02)


def test_models_of_another_kind_have_no_gap():
    pairs = ((CLIENT, SpikedCovariance((9.0,))), (SpikedCovariance((9.0,)),) * 2, (CLIENT, None))
    for client, server in pairs:
        with pytest.raises(ValueError, match=r"must both be a SpikedModel, got a (SpikedCovariance|NoneType)"):
            stable_rank_gap(client, server, 100)
