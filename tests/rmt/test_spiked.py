"""Predictions of the spiked model against closed forms, and its doors."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmt import (
    EntryLaw,
    JointPopulation,
    MarchenkoPastur,
    PointMass,
    Semicircle,
    SpikedCovariance,
    SpikedModel,
    draw_banded,
    draw_sum,
)
from rmt.spiked import check_dimension, wigner_outlier

spike = st.one_of(st.floats(1e-6, 1e6), st.floats(-1e6, -1e-6))


@given(st.lists(spike, max_size=5), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_every_spike_is_answered(spikes, sigma, scale):
    model = SpikedModel(tuple(spikes), Semicircle(sigma), scale)
    left, right = model.bulk_edges
    assert len(model.outliers) == len(spikes)
    for outlier in model.outliers:
        beyond = abs(outlier.spike) > sigma * scale * (1 + 1e-9)
        assert 0.0 <= outlier.overlap <= 1.0
        if outlier.separated:
            assert outlier.location >= right or outlier.location <= left
            assert outlier.location == pytest.approx(wigner_outlier(outlier.spike, sigma * scale), rel=1e-7)
            assert outlier.overlap == pytest.approx(1 - (sigma * scale / outlier.spike) ** 2, abs=1e-6)
        else:
            assert not beyond
            assert outlier.location in (left, right)
            assert outlier.overlap == 0.0


@given(spike, st.floats(0.01, 100.0))
def test_predictions_scale_with_the_matrix(theta, factor):
    model = SpikedModel((theta,), Semicircle(1.0), 0.5)
    scaled = SpikedModel((factor * theta,), Semicircle(factor), 0.5)
    assert scaled.outliers[0].location == pytest.approx(factor * model.outliers[0].location, rel=1e-9)
    assert scaled.outliers[0].overlap == pytest.approx(model.outliers[0].overlap, abs=1e-9)
    assert scaled.stable_rank(1000).value == pytest.approx(model.stable_rank(1000).value, rel=1e-9)


def test_small_repeated_negative_and_unordered_spikes():
    model = SpikedModel((-3.0, 0.001, 2.0, 2.0, -0.5))
    assert model.spikes == (2.0, 2.0, 0.001, -0.5, -3.0)
    assert [o.separated for o in model.outliers] == [True, True, False, False, True]
    assert [o.location for o in model.outliers] == pytest.approx([2.5, 2.5, 2.0, -2.0, -10 / 3])


def test_noise_is_not_scaled_unless_told():
    assert SpikedModel((3.0,)) == SpikedModel((3.0,), Semicircle(1.0, 0.0), 1.0)
    assert SpikedModel().bulk_edges == (-2.0, 2.0)


def test_a_spike_at_the_threshold_stays_inside():
    assert not SpikedModel((1.0, -1.0)).outliers[0].separated


@pytest.mark.parametrize("theta", [2.0, 1.3, -0.8, -0.25, 0.7])
def test_marchenko_pastur_noise_has_its_own_thresholds(theta):
    """Against the closed form R(w) = 1 / (1 - c w) of the law with ratio c."""
    ratio = 0.25
    model = SpikedModel((theta,), MarchenkoPastur(ratio))
    location = 1.0 / (1.0 - ratio / theta) + theta
    below, above = model.thresholds
    assert (below, above) == pytest.approx((-np.sqrt(ratio) + ratio, np.sqrt(ratio) + ratio))
    outlier = model.outliers[0]
    assert outlier.separated == (theta > above or theta < below)
    if outlier.separated:
        assert outlier.location == pytest.approx(location)
        assert outlier.overlap == pytest.approx(1.0 - ratio / (theta - ratio) ** 2)


def test_a_point_mass_only_shifts():
    model = SpikedModel((0.1, -0.1), PointMass(3.0))
    assert [o.location for o in model.outliers] == pytest.approx([3.1, 2.9])
    assert [o.overlap for o in model.outliers] == pytest.approx([1.0, 1.0])


def test_stable_rank_counts_every_eigenvalue():
    model = SpikedModel((3.0, -2.0), Semicircle(2.0), 0.5)
    found = model.stable_rank(10_000)
    assert found.frobenius_squared == pytest.approx(9 + 4 + 10_000)
    assert found.spectral_norm == pytest.approx(3 + 1 / 3)
    assert found.value == pytest.approx(found.frobenius_squared / found.spectral_norm**2)


def test_fluctuations_follow_the_published_formulas():
    model = SpikedModel((2.0,))
    assert model.outlier_sd(2.0, 100) == pytest.approx(np.sqrt(2 * (1 - 1 / 4) / 100))
    assert model.outlier_sd(2.0, 100, localised=False) == pytest.approx(model.outlier_sd(2.0, 100))
    rademacher = model.outlier_sd(2.0, 1, fourth_moment=1.0, diagonal_variance=1.0)
    assert rademacher == pytest.approx(0.81, abs=0.005)


def test_exact_and_symbolic_numbers_pass_through_the_outlier_map():
    assert wigner_outlier(Fraction(1, 2), Fraction(1)) == Fraction(5, 2)


@pytest.mark.parametrize("bad", [0.0, float("nan"), float("inf")])
def test_impossible_spikes_are_refused(bad):
    with pytest.raises(ValueError, match="spikes must be finite and non-zero"):
        SpikedModel((1.0, bad))


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_impossible_scales_are_refused(bad):
    with pytest.raises(ValueError, match="scale must be positive and finite"):
        SpikedModel((1.0,), scale=bad)


def test_a_scale_of_few_digits_costs_no_digits():
    low, full = (SpikedModel((2.0,), scale=kind(0.5)) for kind in (np.float16, float))
    assert type(low.scale) is float
    assert low.stable_rank(10**6) == full.stable_rank(10**6)
    assert low.outliers == full.outliers


def test_a_bulk_beyond_all_numbers_is_named():
    for ask in (lambda model: model.outliers, lambda model: model.stable_rank(10)):
        with pytest.raises(ValueError, match="exceeds double precision at scale"):
            ask(SpikedModel((2.0,), scale=1.5e308))


def test_dimensions_are_whole_numbers_up_to_ten_to_the_fifteenth():
    for good in (1, 2.0, np.int64(7), 10**15):
        assert check_dimension(good) == good
        assert type(check_dimension(good)) is int


@pytest.mark.parametrize("bad", [0, -3, 2.5, float("nan"), True, 10**15 + 1, 2 * 10**15, 10**16, 10**400])
def test_impossible_dimensions_are_refused(bad):
    with pytest.raises(ValueError, match="the dimension R must"):
        check_dimension(bad)


def test_other_bad_arguments_are_refused_in_one_line():
    with pytest.raises(ValueError, match="noise must be a law of rmt, got str"):
        SpikedModel((1.0,), "semicircle")
    with pytest.raises(ValueError, match="at least 2, got 1"):
        SpikedModel((1.0, 2.0)).stable_rank(1)
    with pytest.raises(ValueError, match=r"spike 0.5 has no outlier"):
        SpikedModel((0.5,)).outlier_sd(0.5, 100)
    with pytest.raises(ValueError, match="semicircular"):
        SpikedModel((3.0,), MarchenkoPastur(0.5)).edge_scale(100)


def test_a_stable_rank_below_one_is_refused():
    """One row: (4 + 1) / 2.5^2 = 0.8, which no matrix has; pure noise has R / 4."""
    with pytest.raises(
        ValueError, match=r"at R = 1 .* stable rank of 0.8, but every matrix has at least 1; .* at least 3"
    ):
        SpikedModel((2.0,)).stable_rank(1)
    assert SpikedModel((2.0,)).stable_rank(3).value == pytest.approx(7 / 6.25)
    # Two rows: (t^2 + 2) / (t + 1/t)^2 falls short of 1 by t^-4 at most, down to rounding.
    for spike in (2.0, 5.0, 15.0, 150.0):
        with pytest.raises(ValueError, match=r"every matrix has at least 1; .* at least 3"):
            SpikedModel((spike,)).stable_rank(2)
    assert SpikedModel((1e4,)).stable_rank(2).value == pytest.approx(1.0)
    with pytest.raises(ValueError, match="R of at least 4"):
        SpikedModel(scale=0.5).stable_rank(3)
    assert SpikedModel(scale=0.5).stable_rank(4).value == pytest.approx(1.0)
    assert SpikedModel((0.1,), PointMass(3.0)).stable_rank(1).value == pytest.approx(1.0)


def test_stable_rank_of_noise_that_is_not_centred():
    """R c^2 + 2 c theta + theta^2 + R sigma^2 over the square of the longer of both ends, by hand."""
    model = SpikedModel((2.0, -1.5), Semicircle(1.0, -3.0), 0.5)
    found = model.stable_rank(100)
    assert found.spectral_norm == pytest.approx(1.5 + 1.5 + 0.25 / 1.5)
    assert found.frobenius_squared == pytest.approx(4 + 2.25 + 2 * -1.5 * 0.5 + 100 * (1.5**2 + 0.25))
    assert SpikedModel((0.3,), Semicircle(1.0, -3.0), 0.5).spectral_norm == 2.5
    assert SpikedModel((0.3,), Semicircle(1.0, 3.0), 0.5).spectral_norm == 2.5


def test_edges_and_fluctuations_have_the_size_of_the_noise():
    """sigma s = 0.6, centre 0.2 s; the Tracy-Widom mean is negative, so that finite matrices stay inside the edge."""
    model = SpikedModel((1.5, -1.5), Semicircle(2.0, 0.2), 0.3)
    assert model.bulk_edges == pytest.approx((0.06 - 1.2, 0.06 + 1.2))
    assert model.edge_scale(1000) == pytest.approx(0.6 / 100)
    assert model.edge_at(1000) == pytest.approx(1.26 - 1.2065335745820 * 0.006)
    ratio = 0.16
    for spike in (1.5, -1.5):
        by_hand = 0.6 * np.sqrt((1 - ratio) ** 2 * (2 + 2 * ratio + 2 * ratio / (1 - ratio)) / 50)
        assert model.outlier_sd(spike, 50, fourth_moment=5.0) == pytest.approx(by_hand)
        assert model.outlier_sd(spike, 50, localised=False) == pytest.approx(0.6 * np.sqrt(2 * (1 - ratio) / 50))
    assert model.at_scale(0.5) == SpikedModel((1.5, -1.5), Semicircle(2.0, 0.2), 0.5)


def test_numbers_of_any_size_pass_through_the_outlier_map():
    assert wigner_outlier(2e200, 1e200) == pytest.approx(2.5e200, rel=1e-12, abs=0.0)
    assert wigner_outlier(2e-200, 1e-200) == pytest.approx(2.5e-200, rel=1e-12, abs=0.0)


@pytest.mark.parametrize("ratio", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("variance", [1.0, 0.4])
def test_spiked_covariance_of_the_literature(ratio, variance):
    """Spike theta in Marchenko-Pastur noise: theta + v theta / (theta - c v), overlap 1 - c v^2 / (theta - c v)^2.

    Benaych-Georges and Nadakuditi (2011), Section 3.2, with variance v; below 0 for every spike where c >= 1.
    """
    cv, root = ratio * variance, variance * np.sqrt(ratio)
    for theta in (cv + 1.5 * root, cv + 4 * root, *(() if ratio < 1 else (-0.1, -3.0)), cv - 1.5 * root):
        separates = theta > cv + root or (theta < 0 and (ratio >= 1 or theta < cv - root))
        (outlier,) = SpikedModel((theta,), MarchenkoPastur(ratio, variance)).outliers
        assert outlier.separated == separates
        if separates:
            assert outlier.location == pytest.approx(theta + variance * theta / (theta - cv))
            assert outlier.overlap == pytest.approx(1 - cv * variance / (theta - cv) ** 2)
            moved = SpikedModel((0.5 * theta,), MarchenkoPastur(ratio, variance).shifted(-3.0), 0.5).outliers[0]
            assert moved.location == pytest.approx(0.5 * outlier.location - 1.5)
            assert moved.overlap == pytest.approx(outlier.overlap)


@pytest.mark.parametrize("spike", [0.0, float("nan"), float("inf"), -float("inf")])
def test_a_spike_that_is_zero_or_not_finite_is_refused(spike):
    model = SpikedModel((2.0,))
    for ask in (
        model.outlier,
        model.separates,
        lambda spike: model.outlier_sd(spike, 100),
        lambda s: SpikedModel((s,)),
    ):
        with pytest.raises(ValueError, match="spikes must be finite and non-zero, got"):
            ask(spike)


def test_spikes_are_a_sequence():
    with pytest.raises(ValueError, match=r"spikes must be a sequence of numbers, got 2.0; write \(2.0,\) for a single"):
        SpikedModel(2.0)
    assert SpikedModel(np.array([1.0, 2.0])).spikes == (2.0, 1.0)


SINGLE = r"has no standard deviation of its own: its outlier and that of spike .* repel each other"


@pytest.mark.parametrize("spikes", [(2.0, 2.0), (3.0, -2.0, -2.0, 0.5), (2.0, 2.0 + 1e-12), (1.5,) * 10])
@pytest.mark.parametrize("localised", [True, False])
def test_repeated_spikes_have_no_deviation_of_their_own(spikes, localised):
    """Two equal outliers fluctuate like the eigenvalues of a 2 x 2 matrix, each by 0.85 of a single one's deviation."""
    model = SpikedModel(spikes)
    for number in (200, 10**8):
        for options in ({}, {"fourth_moment": 1.0, "diagonal_variance": 0.0}):
            with pytest.raises(ValueError, match=SINGLE) as caught:
                model.outlier_sd(spikes[1], number, localised=localised, **options)
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_spikes_farther_apart_than_they_fluctuate_keep_their_deviation(sign):
    """Limits x + 1/x of 2 and 2.2 are 0.1545 apart, which is twice the deviation of 2, sqrt(1.5 / R), at R = 251."""
    model = SpikedModel((2.0 * sign, 2.2 * sign))
    with pytest.raises(ValueError, match=SINGLE):
        model.outlier_sd(2.0 * sign, 250)
    assert model.outlier_sd(2.0 * sign, 252) == SpikedModel((2.0 * sign,)).outlier_sd(2.0 * sign, 252)
    assert SpikedModel((2.0, 0.9, 1.0)).outlier_sd(2.0, 4) == SpikedModel((2.0,)).outlier_sd(2.0, 4)
    with pytest.raises(ValueError, match=r"that of spike -?1\.7 repel"):  # 0.95, which is nearer, has no outlier
        SpikedModel((1.3 * sign, 0.95 * sign, 1.7 * sign)).outlier_sd(1.3 * sign, 50)
    near = np.nextafter(2.0, 3.0)  # a spike of the model, but for rounding
    assert SpikedModel((2.0, 5.0)).outlier_sd(near, 50) == SpikedModel((near,)).outlier_sd(near, 50)


@pytest.mark.parametrize("bad", [0.0, -1.2, 0.999, float("nan"), float("inf"), None, "3"])
def test_a_fourth_moment_that_no_law_has_is_refused(bad):
    for ask in (
        lambda: SpikedModel((2.0,)).outlier_sd(2.0, 100, fourth_moment=bad),
        lambda: SpikedModel((2.0,)).outlier_sd(2.0, 100, fourth_moment=bad, localised=False),
        lambda: SpikedCovariance((9.0,), ratio=0.1).outlier_sd(9.0, 1000, fourth_moment=bad),
        *([] if bad == float("inf") else [lambda: EntryLaw("own", np.sign, bad)]),
    ):
        with pytest.raises(
            ValueError, match=r"^fourth_moment must be (at least 1, .* an excess kurtosis, add 3$|finite|a number)"
        ) as caught:
            ask()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("bad", [-3.0, float("nan"), float("inf"), None])
def test_a_variance_of_the_diagonal_is_finite_and_not_negative(bad):
    for ask in (
        lambda: SpikedModel((2.0,)).outlier_sd(2.0, 100, diagonal_variance=bad),
        lambda: EntryLaw("own", np.sign, 3.0, bad),
    ):
        with pytest.raises(ValueError, match=r"^diagonal_variance must be (finite and at least 0|a number), got"):
            ask()
    least = SpikedModel((2.0,)).outlier_sd(2.0, 16, fourth_moment=1.0, diagonal_variance=0.0)
    assert least == pytest.approx(0.75 * np.sqrt(-2 / 4 + 2 / 3) / 4)


CLOSE = r"too close to the threshold .* within 0.4 standard deviations of the edge and fluctuates with it"


@pytest.mark.parametrize(("theta", "R"), [(1.05, 100), (1.02, 1000), (1 + 1e-6, 1000), (1 + 1e-6, 10**15), (1.15, 100)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_next_to_the_threshold_there_is_no_deviation(theta, R, sign):
    for scale in (1.0, 1e-200):
        spike = sign * theta * scale
        for options in ({}, {"localised": False}, {"fourth_moment": 1.0, "diagonal_variance": 1.0}):
            with pytest.raises(ValueError, match=CLOSE) as caught:
                SpikedModel((spike,), scale=scale).outlier_sd(spike, R, **options)
            assert "\n" not in str(caught.value)


@pytest.mark.parametrize("R", [100, 10**4])
@pytest.mark.parametrize("omega", [0.9, 1.5])
def test_outside_the_window_the_deviation_is_that_of_draws(omega, R):
    """The window ends at 1 + 0.86 R^(-1/3); a sample deviation of 1000 draws errs by 2.2 %."""
    theta, rng = 1.0 + omega * R ** (-1 / 3), np.random.default_rng(0)
    model = SpikedModel((theta,))
    values = [draw_banded(model, R, rng).top(1)[0] for _ in range(1000)]
    assert np.std(values) == pytest.approx(model.outlier_sd(theta, R), rel=0.04 + 4 * 0.022)


def test_the_window_shrinks_with_the_dimension():
    """Its end is where the distance (theta - 1)^2 / theta is 0.4 of sqrt(2 (1 - 1/theta^2) / R)."""
    theta = 1.06
    at_end = 0.32 * (1 - theta**-2) * theta**2 / (theta - 1) ** 4
    assert SpikedModel((theta,)).outlier_sd(theta, int(at_end) + 1) > 0
    with pytest.raises(ValueError, match=CLOSE):
        SpikedModel((theta,)).outlier_sd(theta, int(at_end))


@pytest.mark.parametrize("value", ["spread", "localised", "", 1, 0, None, 0.5])
def test_options_that_are_true_or_false_are_not_texts_or_numbers(value):
    covariance, bulk = SpikedCovariance((9.0,), ratio=0.1), JointPopulation.of([[1.0]], [9.0])
    for name, ask in (
        ("localised", lambda: SpikedModel((2.0,)).outlier_sd(2.0, 100, localised=value)),
        ("drawn_weights", lambda: covariance.outlier_sd(9.0, 1000, drawn_weights=value)),
        ("matrix_free", lambda: draw_sum(bulk, (PointMass(1.0),), (9,), np.random.default_rng(0), matrix_free=value)),
    ):
        with pytest.raises(ValueError, match=f"^{name} must be True or False, got {value!r}$"):
            ask()
    alone = SpikedModel((2.0,)).outlier_sd(2.0, 100, fourth_moment=1.0, localised=np.False_)
    assert alone == pytest.approx(np.sqrt(1.5 / 100))
