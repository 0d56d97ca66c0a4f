"""A fit to two eigenvalues and two nodes whose every number is worked out on paper."""

from dataclasses import replace
from math import inf, sqrt

import numpy as np
import pytest
import torch
from scipy.stats import norm

from hessian import SpectralMeasure, fit_measured
from hessian.fits.measured_fit import Side
from hessian.lanczos.krylov import RitzPairs
from hessian.lanczos.probes import FEW, SKEW
from hessian.numerics.intervals import Interval

R = 200
NODES = (np.array([-1.0, 1.0]),)
"""Nodes of 198 eigenvalues that were not computed, half at -1 and half at 1: their squares add up to 198."""


def fit(values=(30.0, -20.0), residuals=(0.1, 0.2), largest=1, nodes=NODES, **changes):
    values = np.array(values)
    pairs = RitzPairs(values, torch.eye(R).double()[: len(values)], np.array(residuals))
    share = (1.0 - len(values) / R) / 2.0
    measure = SpectralMeasure(R, nodes, (np.array([share, share]),) * len(nodes), values)
    known = float((values**2).sum())
    frobenius = changes.pop("frobenius", Interval(sqrt(known + 200.0), sqrt(known + 190.0), sqrt(known + 210.0)))
    return fit_measured(pairs, largest, frobenius, measure, **changes)


def test_both_estimates_of_the_rest():
    found = fit(confidence=0.9)
    assert found.rest_by_norm.value == pytest.approx(200.0)
    assert found.rest_by_norm.sd == pytest.approx(10.0 / norm.ppf(0.95))
    assert found.rest_by_quadrature.value == pytest.approx(198.0)
    # All squares are equal, so that probes say the sum exactly; inexact pairs may hide twice their squared residuals.
    assert found.rest_by_quadrature.sd == pytest.approx(2.0 * (0.01 + 0.04))
    spread = sqrt((10.0 / norm.ppf(0.95)) ** 2 + 0.1**2)
    assert found.disagreement == pytest.approx(2.0 / spread)


def test_probes_differ_by_the_fourth_moment():
    """Nodes at 0 and sqrt 2 have the same mean square and twice its square as mean fourth power."""
    found = fit(residuals=(0.0, 0.0), nodes=(np.array([0.0, sqrt(2.0)]),) * 3)
    assert found.rest_by_quadrature.value == pytest.approx(198.0)
    assert found.rest_by_quadrature.sd == pytest.approx(198.0 * sqrt(2.0 * (2.0 - 1.0) / (200 * 3)))


@pytest.mark.parametrize(("apart", "spread"), [(0.05, SKEW * 0.005), (0.2, sqrt(2.0 * FEW) / 198), (0.5, 0.05)])
def test_a_spread_that_few_directions_could_make_is_taken_for_a_larger_one(apart, spread):
    """Squares of the nodes are 1 - x and 1 + x: of 198 directions, a probe's relative spread is sqrt(2/200) x."""
    found = fit(residuals=(0.0, 0.0), nodes=(np.sqrt([1.0 - apart, 1.0 + apart]),) * 4)
    assert found.rest_by_quadrature.value == pytest.approx(198.0)
    assert found.rest_by_quadrature.sd == pytest.approx(198.0 * spread / 2.0)


def test_the_noise_and_the_spikes():
    found = fit()
    precise, rough = 1.0 / 0.1**2, (norm.ppf(0.975) / 10.0) ** 2
    rest = (precise * 198.0 + rough * 200.0) / (precise + rough)
    # Two outliers of 200 leave the weight 201 - 2 * 2 - the sum of (sigma/theta)^2.
    sigma = 1.0
    for _ in range(50):
        spikes = np.array([(30.0 + sqrt(900.0 - 4 * sigma**2)) / 2, -(20.0 + sqrt(400.0 - 4 * sigma**2)) / 2])
        sigma = sqrt(rest / (197.0 - float((sigma**2 / spikes**2).sum())))
    assert found.sigma == pytest.approx(sigma, rel=1e-12)
    assert np.array(found.model.spikes) == pytest.approx(spikes, rel=1e-12)
    assert found.outliers == (30.0, -20.0)
    assert found.thresholds[0] == -found.thresholds[1] < -2.0 * sigma
    measured = sigma / (2.0 * rest * sqrt(precise + rough))
    assert found.sigma_sd == pytest.approx(sqrt((sigma / R) ** 2 + measured**2), rel=1e-9)
    steepness = 1.0 / (1.0 - (sigma / spikes) ** 2)
    theory = [found.model.outlier_sd(spike, R) for spike in spikes] * steepness
    noise = 2.0 * (sigma / spikes) * steepness * measured
    assert found.spike_sd == pytest.approx(np.sqrt(theory**2 + noise**2 + (steepness * [0.1, 0.2]) ** 2), rel=1e-9)


def test_the_ranks_that_the_model_predicts_are_said():
    """Sum of theta^2 plus R sigma^2 over the square of theta + sigma^2 / theta; four times the samples halve sigma."""
    found = fit()
    ranks = []
    for sigma in (found.sigma, found.sigma / 2.0):
        first, squares = found.model.spikes[0], sum(spike**2 for spike in found.model.spikes)
        ranks.append((squares + R * sigma**2) / (first + sigma**2 / first) ** 2)
    here, more = (f"{rank:.4g}" for rank in ranks)
    assert here != more
    assert found.words()["model's rank"] == f"{here} here, {more} at 4 times the samples (noise halved)"


def test_one_estimate_without_error_is_taken_alone():
    exact = Interval(sqrt(1300.0 + 200.0), sqrt(1300.0 + 200.0), sqrt(1300.0 + 200.0))
    by_norm = fit(frobenius=exact)
    assert by_norm.rest_by_norm.sd == 0.0
    assert by_norm.sigma == pytest.approx(sqrt(200.0 / 197.0), rel=1e-2)
    by_quadrature = fit(residuals=(0.0, 0.0))
    assert by_quadrature.rest_by_quadrature.sd == 0.0
    assert by_quadrature.sigma / by_norm.sigma == pytest.approx(sqrt(198.0 / 200.0), rel=1e-4)
    both = fit(frobenius=exact, residuals=(0.0, 0.0))
    assert both.disagreement == inf
    assert replace(both, rest_by_norm=both.rest_by_quadrature).disagreement == 0.0


def test_sides_are_complete_where_the_last_pair_lies_within_the_cut():
    found = fit(values=(30.0, 1.5, -1.5, -20.0), residuals=(0.1, 0.1, 0.1, 0.2), largest=2)
    assert (found.above.called, found.below.called) == (1, 1)
    assert found.complete
    assert found.outlier_count == "1 above, 1 below"
    open_sides = fit()
    assert not open_sides.above.complete
    assert open_sides.outlier_count == "at least 1 above, at least 1 below"
    reaching = fit(values=(30.0, 1.5, -1.5, -20.0), residuals=(0.1, 1.0, 0.1, 0.2), largest=2)
    assert (reaching.above.complete, reaching.below.complete) == (False, True)


def test_nodes_beyond_the_cut_are_hidden_outliers():
    """A weight of 1 % of 198 eigenvalues is two."""
    values = np.array([30.0, -20.0])
    weights = np.array([0.98, 0.01])
    pairs = RitzPairs(values, torch.eye(R).double()[:2], np.zeros(2))
    measure = SpectralMeasure(R, (np.array([0.5, 6.0]),), (weights,), values)
    found = fit_measured(pairs, 1, Interval(40.0, 39.0, 41.0), measure)
    assert found.above.hidden == pytest.approx(2.0)
    assert found.below.hidden == 0.0
    assert str(found.above) == "at least 1, about 2 more by the quadrature"
    assert str(Side(3, True, 0.0)) == "3"
    assert str(Side(3, False, 0.4)) == "at least 3"
