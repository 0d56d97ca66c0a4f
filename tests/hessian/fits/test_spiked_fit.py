"""The fit of the spiked model, on spectra of known truth."""

import numpy as np
import pytest

from hessian.fits.spiked_fit import fit_spiked, predict, spike_of, split_outliers
from rmt import ENTRY_LAWS, Semicircle, SpikedModel, TracyWidom1, distribution_distance, draw_dense
from rmt.spiked import wigner_outlier

LEVEL = 5.0  # standard deviations by theory: a false alarm in about 10^6 looks


def spectrum(model, R, seed, **options):
    return draw_dense(model, R, np.random.default_rng([R, seed]), **options).eigenvalues()


@pytest.mark.parametrize("R", [200, 500])
@pytest.mark.parametrize(
    ("spikes", "scale"), [((), 1.0), ((5.0, 2.0, -3.0), 1.0), ((-4.0,), 0.01), ((3.0, 3.0, 0.8, -2.0, -0.7), 0.3)]
)
def test_recovers_spikes_and_noise(R, spikes, scale):
    fit = fit_spiked(spectrum(SpikedModel(spikes, scale=scale), R, 0))
    assert len(fit.outliers) == len(spikes)
    assert abs(fit.sigma - scale) < LEVEL * fit.sigma_sd
    truth = np.array(sorted(spikes, reverse=True))
    if len(set(spikes)) == len(spikes):  # equal spikes repel each other
        assert np.all(np.abs(np.array(fit.model.spikes) - truth) < LEVEL * np.array(fit.spike_sd))
    assert fit.distance < 8 / R
    assert fit.R == R


@pytest.mark.sample(1)
@pytest.mark.parametrize("R", [12, 30, 60])
def test_small_dimensions(R):
    """Means over 100 draws: no bias beyond 5 standard errors in the noise, pure or with two spikes."""
    for spikes in ((), (6.0, -4.0)) if R >= 30 else ((),):  # two such spikes hide each other among 12
        fits = [fit_spiked(spectrum(SpikedModel(spikes), R, seed)) for seed in range(100)]
        assert np.mean([len(fit.outliers) == len(spikes) for fit in fits]) > 0.9
        sigma = np.array([fit.sigma for fit in fits if len(fit.outliers) == len(spikes)])
        bias = 1 / (4 * R**2)  # of a square root, relative, times a few
        assert abs(sigma.mean() - 1) < 5 * sigma.std() / np.sqrt(len(sigma)) + 4 * bias


def test_theory_of_the_uncertainties():
    """Standard deviations over 100 draws against theory: their own relative error is 1/14."""
    fits = [fit_spiked(spectrum(SpikedModel((3.0,)), 100, seed)) for seed in range(100)]
    assert np.std([fit.sigma for fit in fits]) == pytest.approx(1 / 100, rel=0.35)
    assert np.std([fit.model.spikes[0] for fit in fits]) == pytest.approx(fits[0].spike_sd[0], rel=0.35)


def test_pure_noise_is_rarely_called_an_outlier():
    """At 0.05 for each edge, 200 draws of 2 edges: 20 expected, more than 50 at a chance below 1e-8."""
    called = sum(len(fit_spiked(spectrum(SpikedModel(), 60, seed), level=0.05).outliers) for seed in range(200))
    assert called < 50


def test_a_spike_below_the_threshold_stays_in_the_bulk():
    fit = fit_spiked(spectrum(SpikedModel((0.7, -0.7)), 400, 1))
    assert fit.model.spikes == ()
    assert abs(fit.sigma**2 - 1) < LEVEL * 2 / 400 + 2 * 0.49 / 400


def test_other_entry_laws_have_the_same_bulk():
    values = spectrum(SpikedModel((4.0,)), 400, 2, entries=ENTRY_LAWS["rademacher"], directions="spread")
    fit = fit_spiked(values)
    assert len(fit.outliers) == 1
    assert abs(fit.sigma - 1) < 0.02


def test_a_bulk_that_is_no_semicircle_is_said_to_be_none():
    values = np.sign(np.linspace(-1, 1, 1000)) * np.geomspace(1e-6, 1, 1000)
    fit = fit_spiked(values)
    assert fit.distance > 0.1
    assert fit.bulk_fraction < 0.95


def test_the_fit_is_consistent_with_itself_and_scales():
    values = spectrum(SpikedModel((5.0, -3.0)), 200, 3)
    fit, scaled = fit_spiked(values), fit_spiked(1e-9 * values[::-1])
    located = [outlier.location for outlier in fit.model.outliers]
    assert located == pytest.approx(list(fit.outliers), rel=1e-12)
    assert scaled.sigma == pytest.approx(1e-9 * fit.sigma, rel=1e-12, abs=0)
    assert scaled.model.spikes == pytest.approx([1e-9 * s for s in fit.model.spikes], rel=1e-12, abs=0)
    bulk = [value for value in values if fit.thresholds[0] <= value <= fit.thresholds[1]]
    assert len(bulk) == fit.R - len(fit.outliers)
    assert distribution_distance(bulk, Semicircle(fit.sigma)) == fit.distance


@pytest.mark.parametrize("level", [1e-3, 0.2])
@pytest.mark.parametrize("R", [20, 137])
def test_error_and_cuts_of_the_noise_by_hand(R, level):
    """Sigma over R, and 2 + q R^(-2/3) times sigma with the quantile q of Tracy and Widom; beyond is an outlier."""
    values = np.linspace(-1.0, 1.0, R)
    fit = fit_spiked(values, level)
    assert fit.sigma == pytest.approx(np.sqrt((values**2).sum() / (R + 1)), rel=1e-12)
    assert fit.sigma_sd == pytest.approx(fit.sigma / R, rel=1e-12)
    cut = fit.sigma * (2.0 + TracyWidom1().quantile(1.0 - level) * R ** (-2.0 / 3.0))
    assert fit.thresholds == pytest.approx((-cut, cut), rel=1e-9)
    assert fit == fit_spiked(values, mistaken=level)
    assert fit.to_dict()["cuts"] == list(fit.cuts) == list(fit.thresholds)
    for at in (cut * (1 - 1e-6), -cut * (1 - 1e-6), cut * (1 + 1e-6), -cut * (1 + 1e-6)):
        called = split_outliers(np.array([at]), R, level, rest=(R + 1) * fit.sigma**2 - at**2)
        assert called.outlying.tolist() == [abs(at) > cut]


@pytest.mark.parametrize("exponent", [-1010, -900, -512, 512, 900, 1010])
def test_a_fit_at_any_scale_has_the_same_digits(exponent):
    values = np.concatenate([[9.0, -5.5], np.cos(np.linspace(0.1, 3.0, 60)), [0.0, 1e-3]])
    fit, scaled = fit_spiked(values), fit_spiked(np.ldexp(values, exponent))
    assert len(fit.outliers) == 2
    assert (scaled.distance, scaled.iterations) == (fit.distance, fit.iterations)
    for name in ("outliers", "spike_sd", "sigma", "thresholds"):
        assert np.array_equal(np.ldexp(getattr(scaled, name), -exponent), getattr(fit, name))
    assert np.array_equal(np.ldexp(scaled.model.spikes, -exponent), fit.model.spikes)


def test_spike_of_inverts_the_outlier_map():
    theta = np.array([1.0, 1.5, -2.0, -1.0])
    assert spike_of(wigner_outlier(theta, 1.0), 1.0) == pytest.approx(theta)


def test_predict():
    fit = fit_spiked(spectrum(SpikedModel((5.0, -3.0)), 200, 4))
    model = predict(fit, 2.0)
    assert model.spikes == fit.model.spikes
    assert model.sigma() == pytest.approx(2 * fit.sigma)
    for factor in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="scale_factor must be positive"):
            predict(fit, factor)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "at least 4 eigenvalues"),
        ([1.0, 2.0, np.nan, 0.0, 0.0], "all finite"),
        ([0.0] * 10, "no noise is left apart from 0 outliers"),
        ([7.0, 3.0] + [0.0] * 50, "no noise is left apart from 2 outliers"),
    ],
)
def test_errors(values, message):
    with pytest.raises(ValueError, match=message):
        fit_spiked(values)


def test_the_level_at_the_door():
    with pytest.raises(ValueError, match="level"):
        fit_spiked([1.0, -1.0, 0.5, -0.5], level=0.0)


def test_the_error_of_a_spike_is_that_of_its_outlier_by_the_slope_of_the_map():
    fit = fit_spiked(np.r_[2.6, -2.9, np.linspace(-1.9, 1.9, 398)])
    assert len(fit.outliers) == 2
    step = 1e-6
    for value, spike, sd in zip(fit.outliers, fit.model.spikes, fit.spike_sd, strict=True):
        slope = (spike_of(value + step, fit.sigma) - spike_of(value - step, fit.sigma)) / (2 * step)
        assert slope > 1.1
        assert sd == pytest.approx(slope * fit.model.outlier_sd(spike, 400), rel=1e-5)


@pytest.mark.parametrize(
    ("eigenvalues", "message"),
    [
        (np.diag(np.arange(5.0)), r"eigenvalues must be a one-dimensional array, \(R,\), got shape \(5, 5\)"),
        (np.float64(3.0), "eigenvalues must be a one-dimensional array"),
        (np.linspace(-1.0, 1.0, 9) + 0j, "eigenvalues must be an array of real numbers"),
        (["a", "b", "c", "d"], "eigenvalues must be an array of real numbers"),
    ],
)
def test_what_is_no_row_of_real_eigenvalues_is_refused(eigenvalues, message):
    with pytest.raises(ValueError, match=message):
        fit_spiked(eigenvalues)


def test_two_levels_are_refused():
    values = [9.0, *np.linspace(-1.0, 1.0, 30)]
    with pytest.raises(ValueError, match=r"two names for one number, got 0\.1 and 0\.2"):
        fit_spiked(values, level=0.1, mistaken=0.2)
    with pytest.raises(ValueError, match="level must be a number, got None"):
        fit_spiked(values, level=None)


def test_masked_eigenvalues_are_refused():
    values = np.array([50.0, *np.linspace(-1.0, 1.0, 30)])
    with pytest.raises(ValueError, match=r"eigenvalues must have no masked entries.*compressed\(\)"):
        fit_spiked(np.ma.masked_array(values, mask=values > 40))
    assert fit_spiked(np.ma.masked_array(values, mask=False)) == fit_spiked(values)
