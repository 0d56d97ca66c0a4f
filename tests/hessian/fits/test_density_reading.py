"""Readings of the papers' estimate on quadratures whose every number is known."""

import numpy as np
import pytest

from hessian import CurvatureError, SpectralMeasure
from hessian.fits.density_reading import AS_PLOTTED, RAW_NODES, Reading, printed_stable_rank

NODES, WEIGHTS = np.array([-2.0, 0.5, 4.0]), np.array([0.3, 0.6, 0.1])
ONE = SpectralMeasure(10, (NODES,), (WEIGHTS,), np.empty(0))


def test_raw_nodes_give_the_ratio_of_their_own_sum():
    found = printed_stable_rank(ONE, RAW_NODES)
    assert found.value == pytest.approx((0.3 * 4 + 0.6 * 0.25 + 0.1 * 16) / (0.1 * 16))
    assert (found.sigma_1, found.points, found.kernel_deviation) == (4.0, 3, 0.0)


def test_a_smoothed_curve_counts_grid_points_under_the_kernel():
    # Separate peaks: the sum of densities is (their second moment + variance)/step, the top one w/(sqrt(2 pi) sd).
    found = printed_stable_rank(ONE, Reading(margin=1.0))
    sd, step = found.kernel_deviation, 8.0 / 9999
    assert sd**2 == pytest.approx(1e-5 * 8.0)
    nodes = printed_stable_rank(ONE, RAW_NODES).value
    assert found.value == pytest.approx(nodes * np.sqrt(2 * np.pi) * sd / step, rel=2e-3)


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [
        ({"points": 40_000}, {"points": 10_000}, 4.0),  # as printed, the estimate counts points
        ({"variance": 4e-5}, {}, 2.0),
        ({"scaled": False}, {}, 8.0**-0.5),
    ],
)
def test_the_estimate_is_proportional_to_points_and_kernel(one, other, ratio):
    wide = {"margin": 1.0, "points": 40_000}  # the kernel is not cut off at the ends
    upper, lower = (printed_stable_rank(ONE, Reading(**{**wide, **choice})).value for choice in (one, other))
    assert upper / lower == pytest.approx(ratio, rel=5e-3)


def test_the_density_at_the_end_of_the_grid_is_lower_by_the_kernel():
    inside, end = printed_stable_rank(ONE), printed_stable_rank(ONE, Reading(sigma_1="grid end"))
    assert end.sigma_1 == pytest.approx(4.01)
    lower = np.exp(-0.5 * (0.01 / inside.kernel_deviation) ** 2) * (4.01 / 4.0) ** 2
    assert inside.value / end.value == pytest.approx(lower, rel=0.01)


def test_sigma_1_can_be_an_eigenvalue_given():
    found = printed_stable_rank(ONE, Reading(sigma_1="eigenvalue"), eigenvalue=-2.0)
    assert found.sigma_1 == -2.0
    assert found.value == pytest.approx(printed_stable_rank(ONE).value * (0.1 * 16) / (0.3 * 4), rel=2e-3)


def test_runs_are_averaged_and_their_ends_too():
    two = SpectralMeasure(10, (NODES, 1.5 * NODES), (WEIGHTS, WEIGHTS), np.empty(0))
    assert printed_stable_rank(two, RAW_NODES).value == pytest.approx(printed_stable_rank(ONE, RAW_NODES).value)
    assert printed_stable_rank(two, RAW_NODES).sigma_1 == 5.0
    assert printed_stable_rank(two, Reading(ends="extreme")).sigma_1 == 6.0
    # Between two sharp peaks there is no density: the estimate fails, and says so.
    with pytest.raises(CurvatureError, match="no spectral weight at 5"):
        printed_stable_rank(two, AS_PLOTTED)


def test_the_negative_end_can_be_the_larger():
    mirrored = SpectralMeasure(10, (-NODES[::-1],), (WEIGHTS[::-1],), np.empty(0))
    for reading in (AS_PLOTTED, RAW_NODES):
        found = printed_stable_rank(mirrored, reading)
        assert found.sigma_1 == -4.0
        assert found.value == pytest.approx(printed_stable_rank(ONE, reading).value)


@pytest.mark.parametrize("reading", [AS_PLOTTED, RAW_NODES, Reading(ends="extreme")])
def test_of_two_ends_of_one_modulus_the_upper_one_is_taken(reading):
    nodes = np.array([-4.0, 0.5, 4.0])
    found = printed_stable_rank(SpectralMeasure(10, (nodes,), (WEIGHTS,), np.empty(0)), reading)
    assert found.sigma_1 == 4.0


def test_the_estimate_depends_on_the_scale_of_the_loss_though_a_stable_rank_does_not():
    small, large = (SpectralMeasure(10, (c * NODES,), (WEIGHTS,), np.empty(0)) for c in (0.1, 10.0))
    assert printed_stable_rank(small, RAW_NODES).value == pytest.approx(printed_stable_rank(large, RAW_NODES).value)
    assert printed_stable_rank(small).value > 2.0 * printed_stable_rank(large).value


def test_a_kernel_is_wider_on_grids_longer_than_1_only():
    """The grid is 0.6 and 0.1 beyond either end, or 6 and as much."""
    for unit, variance in ((0.1, 1e-3), (1.0, 6.2e-3)):
        measure = SpectralMeasure(10, (unit * NODES,), (WEIGHTS,), np.empty(0))
        found = printed_stable_rank(measure, Reading(margin=0.1, variance=1e-3))
        assert found.kernel_deviation**2 == pytest.approx(variance)
        fixed = printed_stable_rank(measure, Reading(margin=0.1, variance=1e-3, scaled=False))
        assert fixed.kernel_deviation**2 == pytest.approx(1e-3)


def test_runs_of_unequal_lengths_have_their_mean_number_of_points():
    more = np.array([-3.0, -1.0, 0.0, 1.0, 2.0, 2.5, 3.5])
    two = SpectralMeasure(10, (NODES, more), (WEIGHTS, np.full(7, 1 / 7)), np.empty(0))
    assert printed_stable_rank(two, RAW_NODES).points == 5
    top = (0.1 * 16 + 3.5**2 / 7) / 2
    mean = (0.3 * 4 + 0.6 * 0.25 + 0.1 * 16 + (more**2).mean()) / 2
    assert printed_stable_rank(two, RAW_NODES).value == pytest.approx(mean / top)


def test_bad_readings_are_one_line():
    for bad, match in (
        ({"support": "curve"}, "support must be one of grid, nodes, got 'curve'"),
        ({"points": 1}, "points must be at least 2"),
        ({"variance": 0.0}, "variance positive"),
        ({"support": "nodes", "sigma_1": "grid end"}, "of the nodes, sigma_1 is the spectrum end"),
    ):
        with pytest.raises(CurvatureError, match=match):
            Reading(**bad)
    with pytest.raises(CurvatureError, match="needs the eigenvalue"):
        printed_stable_rank(ONE, Reading(sigma_1="eigenvalue"))
    with pytest.raises(CurvatureError, match="without atoms"):
        printed_stable_rank(SpectralMeasure(10, (NODES,), (WEIGHTS,), np.array([9.0])))
    with pytest.raises(CurvatureError, match="the spectrum is zero"):
        printed_stable_rank(SpectralMeasure(10, (np.zeros(2),), (np.full(2, 0.5),), np.empty(0)), RAW_NODES)
