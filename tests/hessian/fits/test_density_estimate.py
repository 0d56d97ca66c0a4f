"""The papers' estimate of the stable rank on spectra that are known."""

import numpy as np
import pytest

from hessian.fits.density_estimate import density_stable_rank, smooth_density

GRID = np.linspace(-5.0, 15.0, 40_001)


def test_the_density_has_the_moments_of_spectrum_and_kernel():
    eigenvalues, width = np.array([10.0, 1.0, 1.0, -2.0, 0.0]), 0.3
    density, step = smooth_density(eigenvalues, GRID, width), GRID[1] - GRID[0]
    assert density.sum() * step == pytest.approx(1.0)
    assert (density @ GRID**2) * step == pytest.approx(np.mean(eigenvalues**2) + width**2)


def test_masses_give_the_stable_rank_and_densities_a_multiple_of_it():
    eigenvalues = np.concatenate([[10.0], np.linspace(-1.0, 1.0, 99)])
    stable_rank = (eigenvalues**2).sum() / 100.0
    density, step, width = smooth_density(eigenvalues, GRID, 0.05), GRID[1] - GRID[0], 0.05
    estimate = density_stable_rank(GRID, density, 10.0)
    assert estimate == pytest.approx(stable_rank * width * np.sqrt(2 * np.pi) / step, rel=0.01)
    points, masses = np.unique(eigenvalues), np.full(100, 0.01)
    assert density_stable_rank(points, masses, 10.0) == pytest.approx(stable_rank)


def test_the_largest_singular_value_is_the_nearest_point_of_the_grid():
    """0.2 at -2, 0.3 at 1 and 0.5 at 4, of which 4 is nearest to 4.6."""
    points, masses = np.array([-2.0, 1.0, 4.0]), np.array([0.2, 0.3, 0.5])
    assert density_stable_rank(points, masses, 4.6) == pytest.approx((0.8 + 0.3 + 8.0) / 8.0)
    assert density_stable_rank(points, masses, -2.4) == pytest.approx((0.8 + 0.3 + 8.0) / 0.8)
    assert density_stable_rank(points, masses, 4.6, power=1.0) == pytest.approx((0.4 + 0.3 + 2.0) / 2.0)


def test_bad_requests_are_one_line():
    with pytest.raises(ValueError, match="positive width, got 1 and 0"):
        smooth_density(np.ones(1), GRID, 0.0)
    with pytest.raises(ValueError, match=r"got \(2,\) for \(40001,\)"):
        density_stable_rank(GRID, np.ones(2), 1.0)
    with pytest.raises(ValueError, match=r"no spectral weight at 3\.0"):
        density_stable_rank(np.array([1.0, 3.0]), np.array([1.0, 0.0]), 3.0)
