"""Intervals from few probes and a bound of the largest eigenvalue: known laws, coverage, numbers of probes."""

import numpy as np
import pytest
from scipy.stats import chi2

from hessian.lanczos.bounded_probes import FEWEST, bounded_count, bounded_interval, degrees_of


def test_a_single_direction_has_the_interval_of_a_chi_square_with_one_degree_for_each_probe():
    found = bounded_interval(np.array([2.0, 4.0, 6.0]), 100.0, 0.9)
    assert found.value == 4.0
    assert found.low == pytest.approx(3.0 * 4.0 / chi2.ppf(0.95, 3))
    assert found.high == pytest.approx(3.0 * 4.0 / chi2.ppf(0.05, 3))


def test_ends_are_the_squared_norms_for_which_the_mean_is_at_a_quantile():
    found = bounded_interval(np.array([1.0, 2.0]), 0.1, 0.95)
    for end, tail in ((found.low, 0.975), (found.high, 0.025)):
        assert chi2.cdf(3.0 / 0.1, 2.0 * end / 0.1) == pytest.approx(tail)
    assert found.low < 1.5 < found.high


def test_a_smaller_bound_gives_a_narrower_interval_and_none_a_number():
    widths = [bounded_interval(np.ones(3), bound, 0.95).relative_width for bound in (10.0, 1.0, 0.1, 1e-3, 1e-10)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == 0.0
    zero = bounded_interval(np.zeros(3), 1.0, 0.95)
    assert (zero.low, zero.high) == (0.0, 0.0)


@pytest.mark.parametrize(
    "sizes",
    [np.r_[1.0, np.zeros(29)], np.r_[np.ones(6), np.zeros(24)], 0.8 ** np.arange(30), np.ones(30)],
    ids=["one direction", "six equal", "falling", "flat"],
)
@pytest.mark.parametrize("count", [2, 5])
def test_intervals_cover(sizes, count):
    rng, d, repetitions = np.random.default_rng(0), len(sizes), 1500
    z = rng.standard_normal((repetitions, count, d))
    z *= np.sqrt(d) / np.linalg.norm(z, axis=2, keepdims=True)
    squares, exact = z**2 @ sizes**2, float((sizes**2).sum())
    hits = np.mean([exact in bounded_interval(row, float(sizes.max()) ** 2, 0.9) for row in squares])
    assert hits >= 0.9 - 4.0 * np.sqrt(0.09 / repetitions)


def test_the_number_of_probes_is_the_least_that_suffices():
    count = bounded_count(1.0, 0.1, 0.95, 0.3, 1000)
    assert FEWEST < count < 1000
    assert bounded_interval(np.ones(count), 0.1, 0.95).relative_width <= 0.3
    assert bounded_interval(np.ones(count - 1), 0.1, 0.95).relative_width > 0.3
    assert bounded_count(1.0, 0.1, 0.95, 0.3, count - 1) == count - 1
    assert bounded_count(1e-6, 1e-6, 0.95, 0.3, 1000) == FEWEST


def test_degrees_are_at_least_those_of_one_direction():
    assert (degrees_of(3.0, 1.0), degrees_of(1.0, 3.0)) == (3.0, 1.0)
    assert degrees_of(1.0, 0.0) > 1e6
