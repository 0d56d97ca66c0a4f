"""The fit to a measured spectrum against the fit to all eigenvalues, and bulks that are not semicircles."""

import dataclasses
import re

import numpy as np
import pytest
import torch
from scipy.stats import binom

from hessian import (
    DenseOperator,
    Interval,
    SpectrumSettings,
    extreme_eigenpairs,
    fit_measured,
    fit_spiked,
    measure_spectrum,
    predict,
    spectral_measure,
    stable_rank_of,
)
from hessian.fits.bulk_laws import Bulk, law_fits
from hessian.fits.measured_fit import Side
from hessian.fits.spiked_fit import build_model, spike_of
from rmt import MarchenkoPastur, Semicircle, SpikedModel, distribution_distance, draw_dense

LEVEL = 5.0  # standard deviations


def measure(matrix, seed, pairs=6, steps=40, probes=4, tolerance=1e-3, other=None):
    operator = DenseOperator(torch.from_numpy(matrix))
    rng = np.random.default_rng([77, seed])
    rank = stable_rank_of(operator, rng=rng)
    found = extreme_eigenpairs(operator, pairs, pairs if other is None else other, rng=rng, tolerance=tolerance)
    rest = spectral_measure(operator, rng=rng, probes=probes, steps=steps, without=found)
    return found, pairs, rank.frobenius, rest


def drawn(model, R, seed, **options):
    return draw_dense(model, R, np.random.default_rng([R, seed]), **options).matrix


@pytest.mark.parametrize(
    ("spikes", "scale"), [((), 1.0), ((5.0, 2.0, -3.0), 1.0), ((-4.0,), 0.01), ((30.0, 3.0, -2.0), 1.0)]
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_agrees_with_the_fit_to_all_eigenvalues(spikes, scale, seed):
    R = 400
    matrix = drawn(SpikedModel(spikes, scale=scale), R, seed)
    fit, whole = fit_measured(*measure(matrix, seed)), fit_spiked(np.linalg.eigvalsh(matrix))
    assert len(fit.outliers) == len(whole.outliers) == len(spikes)
    assert fit.complete
    assert (fit.above.called, fit.below.called) == (sum(s > 0 for s in spikes), sum(s < 0 for s in spikes))
    assert abs(fit.sigma - whole.sigma) < LEVEL * fit.sigma_sd
    assert abs(fit.sigma - scale) < LEVEL * fit.sigma_sd
    for spike, other, truth, sd in zip(
        fit.model.spikes, whole.model.spikes, sorted(spikes, reverse=True), fit.spike_sd, strict=True
    ):
        assert abs(spike - other) < LEVEL * sd
        assert abs(spike - truth) < LEVEL * sd
    assert whole.distance in fit.distance
    assert fit.distance.low == 0.0
    assert abs(fit.disagreement) < LEVEL


@pytest.mark.slow
def test_the_errors_of_the_noise_are_those_stated():
    """Standard deviation of the difference from the full fit over 60 draws: its own relative error is 9 %."""
    R, scores = 150, []
    for seed in range(60):
        matrix = drawn(SpikedModel((6.0, -4.0)), R, seed)
        fit, whole = (
            fit_measured(*measure(matrix, seed, pairs=4, steps=20, probes=2)),
            fit_spiked(np.linalg.eigvalsh(matrix)),
        )
        # The difference has no share of the matrix's own fluctuation; none is left where the norm came out exactly.
        error = np.sqrt(max(fit.sigma_sd**2 - (fit.sigma / R) ** 2, 0.0))
        if error > 1e-9:
            scores.append((fit.sigma - whole.sigma) / error)
        else:
            assert abs(fit.sigma - whole.sigma) < 1e-6
    assert len(scores) > 40
    assert abs(np.mean(scores)) < LEVEL / np.sqrt(len(scores))
    assert 0.6 < np.std(scores) < 1.4


def test_outliers_that_were_not_computed_are_never_silent():
    matrix = drawn(SpikedModel((9.0, 7.0, 5.0, 4.0, -4.0)), 300, 0)
    fit = fit_measured(*measure(matrix, 0, pairs=2, steps=30))
    assert not fit.above.complete
    assert fit.above.called == 2
    assert 1.0 < fit.above.hidden < 4.0
    assert re.match(r"at least 2, about [1-4] more", str(fit.above))
    assert fit.below.complete
    assert str(fit.below) == "1"
    assert not fit.complete
    without = fit_measured(*measure(matrix, 0, pairs=6, other=0))
    assert without.above.complete
    assert not without.below.complete  # that side was not looked at


def test_a_bulk_that_is_no_semicircle_is_said_to_be_none():
    model = SpikedModel((6.0,), noise=MarchenkoPastur(0.3))
    matrix = drawn(model, 400, 1)
    fit = fit_measured(*measure(matrix, 1))
    assert fit.distance.value > 0.3
    assert fit.distance.low > 0.2
    by_name = {law.name: law.distance for law in fit.alternatives}
    assert by_name["Marchenko-Pastur"].low == 0.0
    assert by_name["Marchenko-Pastur"].value < 0.05
    assert by_name["shifted semicircle"].low > 0.0
    heavy = np.diag(np.sign(np.linspace(-1, 1, 400)) * np.geomspace(1e-6, 1, 400))
    assert fit_measured(*measure(heavy, 2)).distance.low > 0.1


@pytest.mark.parametrize("noise", [Semicircle(0.5, center=1.0), MarchenkoPastur(0.5), Semicircle()])
def test_intervals_of_distances_cover_the_exact_ones(noise):
    """At most 8 of 40 intervals at 95 % miss, but for a chance of 2e-4; the brackets make it rarer still."""
    missed = 0
    for seed in range(40):
        matrix = drawn(SpikedModel((), noise=noise), 80, seed)
        operator = DenseOperator(torch.from_numpy(matrix))
        rest = spectral_measure(operator, rng=np.random.default_rng([3, seed]), probes=2, steps=12)
        bulk = Bulk.of(rest, 0, np.empty(0))
        exact = distribution_distance(np.linalg.eigvalsh(matrix), Semicircle())
        missed += exact not in bulk.distance(Semicircle().cdf)
    assert missed <= 8


def test_the_bulk_of_a_whole_spectrum_is_its_distribution():
    values = np.linspace(-1.0, 1.0, 9)
    operator = DenseOperator(torch.diag(torch.from_numpy(values)))
    pairs = extreme_eigenpairs(operator, 5, 4, rng=np.random.default_rng(0), tolerance=1e-12)
    bulk = Bulk.of(spectral_measure(operator, rng=np.random.default_rng(0), without=pairs), 0, pairs.values)
    assert bulk.moment(2) == pytest.approx(np.mean(values**2))
    law = Semicircle(0.6)
    assert bulk.distance(law.cdf).high == pytest.approx(distribution_distance(values, law), abs=1e-9)
    names = {fit.name for fit in law_fits(bulk)}
    assert "shifted semicircle" in names
    assert "semicircle on a share of the directions" not in names  # its fourth moment is below a semicircle's


def bulk_of(values):
    """All eigenvalues of a spectrum, each known."""
    return Bulk(len(values), (), (), np.sort(values))


@pytest.mark.parametrize(("shift", "fits"), [(1e-3, True), (1e-5, True), (1e-7, False), (0.0, False), (-1e-3, False)])
def test_a_mean_that_may_be_rounding_fits_no_marchenko_pastur(shift, fits):
    for size in (5, 9, 24, 257):
        laws = {fit.name: fit for fit in law_fits(bulk_of(np.linspace(-1.0, 1.0, size) + shift))}
        assert ("Marchenko-Pastur" in laws) == fits
        assert all(
            np.isfinite([fit.distance.value, fit.distance.low, fit.distance.high]).all() for fit in laws.values()
        )


@pytest.mark.parametrize("value", [0.1, -0.3, 1e-9, 1e9, 0.0])
def test_equal_eigenvalues_are_a_point_and_fit_no_law(value):
    assert law_fits(bulk_of(np.full(9, value))) == ()
    assert not value or law_fits(bulk_of(value * np.array([1.0, 1.0 + 1e-9, 1.0 - 2e-9])))


def test_a_semicircle_among_zeros_is_recognised():
    matrix = np.zeros((400, 400))
    matrix[:120, :120] = drawn(SpikedModel(()), 120, 5)
    fit = fit_measured(*measure(matrix, 5))
    by_name = {law.name: law for law in fit.alternatives}
    share = by_name["semicircle on a share of the directions"]
    assert share.share == pytest.approx(0.3, abs=0.05)
    assert share.distance.low == 0.0
    assert fit.distance.low > 0.05


def test_scales_and_predicts():
    matrix = drawn(SpikedModel((5.0, -3.0)), 200, 3)
    fit, scaled = fit_measured(*measure(matrix, 3)), fit_measured(*measure(1e-6 * matrix, 3))
    assert scaled.sigma == pytest.approx(1e-6 * fit.sigma, rel=1e-9, abs=0)
    assert scaled.distance.value == pytest.approx(fit.distance.value, abs=1e-6)
    assert predict(fit, 0.5).sigma() == pytest.approx(0.5 * fit.sigma)
    assert predict(fit, 0.5).spikes == fit.model.spikes


@pytest.mark.parametrize("power", [-500, -265, -166, 265, 332, 500])
@pytest.mark.parametrize("kind", ["spiked", "diagonal"])
def test_no_scale_changes_a_fit(kind, power):
    """Units are powers of two, so that the same digits come out from 1e-150 to 1e150."""
    unit, R = 2.0**power, 40
    matrix = drawn(SpikedModel((5.0, -3.0)), R, 4)
    matrix = np.diag(np.diag(matrix)) if kind == "diagonal" else matrix
    fit, other = (fit_measured(*measure(times * matrix, 4, pairs=2, steps=20)) for times in (1.0, unit))
    assert (other.sigma, other.sigma_sd) == pytest.approx((unit * fit.sigma, unit * fit.sigma_sd), rel=1e-6, abs=0)
    assert other.model.spikes == pytest.approx([unit * spike for spike in fit.model.spikes], rel=1e-6, abs=0)
    assert other.spike_sd == pytest.approx([unit * sd for sd in fit.spike_sd], rel=1e-4, abs=0)
    assert other.thresholds == pytest.approx([unit * end for end in fit.thresholds], rel=1e-6, abs=0)
    assert dataclasses.astuple(other.distance) == pytest.approx(dataclasses.astuple(fit.distance), abs=1e-6)
    assert [law.name for law in other.alternatives] == [law.name for law in fit.alternatives]
    for one, law in zip(other.alternatives, fit.alternatives, strict=True):
        assert one.law.support == pytest.approx([unit * end for end in law.law.support], rel=1e-5, abs=0)
        assert dataclasses.astuple(one.distance) == pytest.approx(dataclasses.astuple(law.distance), abs=1e-6)
    assert other.disagreement == pytest.approx(fit.disagreement, rel=1e-3, abs=1e-6)
    assert other.words()["outliers"] == fit.words()["outliers"]


def test_low_rank_and_foreign_parts_are_refused():
    low_rank = np.diag([5.0, 3.0, -2.0, *np.zeros(97)])
    with pytest.raises(ValueError, match="no noise is left"):
        fit_measured(*measure(low_rank, 0))
    pairs, largest, norm, rest = measure(drawn(SpikedModel(()), 50, 0), 0)
    whole = spectral_measure(DenseOperator(torch.eye(50).double()), rng=np.random.default_rng(0), probes=1, steps=2)
    with pytest.raises(ValueError, match="without the pairs"):
        fit_measured(pairs, largest, norm, whole)
    with pytest.raises(ValueError, match="largest between 0 and 12"):
        fit_measured(pairs, 13, norm, rest)
    with pytest.raises(ValueError, match="finite norm"):
        fit_measured(pairs, largest, Interval(np.nan, 0.0, 1.0), rest)


@pytest.mark.parametrize("P", [1, 2, 5, 30])
def test_a_report_of_small_matrices_is_exact(P):
    values = np.linspace(1.0, -0.5, P)
    report = measure_spectrum(DenseOperator(torch.diag(torch.from_numpy(values))), SpectrumSettings(outliers=20))
    assert report.stable_rank.value == pytest.approx(np.sum(values**2), rel=1e-9)
    assert report.eigenvalues == pytest.approx(values[:20] if P <= 20 else values, abs=1e-9)
    assert report.converged
    assert report.fit is not None or "dimension" in report.no_fit or "low rank" in report.no_fit
    assert sum(report.products.values()) >= P


def test_parts_of_a_report_have_streams_of_their_own():
    operator = DenseOperator(torch.from_numpy(drawn(SpikedModel((5.0,)), 100, 0)))
    one = measure_spectrum(operator, SpectrumSettings(outliers=3, steps=10))
    other = measure_spectrum(operator, SpectrumSettings(outliers=3, steps=10, width=0.2, probes=2))
    assert np.array_equal(one.eigenvalues, other.eigenvalues)
    assert np.array_equal(one.measure.nodes[0], other.measure.nodes[0])
    again = measure_spectrum(operator, SpectrumSettings(outliers=3, steps=10))
    assert again.stable_rank == one.stable_rank
    assert again.fit.sigma == one.fit.sigma


def test_the_errors_of_spikes_add_theory_noise_and_residuals():
    """By differences of the spike in the noise and in the eigenvalue, near the threshold, where they are steep."""
    matrix = drawn(SpikedModel((1.8, -2.5)), 400, 5)
    pairs, largest, frobenius, rest = measure(matrix, 5)
    wide = dataclasses.replace(frobenius, low=0.97 * frobenius.value, high=1.03 * frobenius.value)
    rough = dataclasses.replace(pairs, residuals=np.full(len(pairs), 0.02))
    fit = fit_measured(rough, largest, wide, rest)
    assert len(fit.outliers) == 2
    noise = np.sqrt(fit.sigma_sd**2 - (fit.sigma / 400) ** 2)
    assert noise > 2 * fit.sigma / 400
    _, theory = build_model(np.array(fit.outliers), fit.sigma, 400)
    step = 1e-6
    for value, sd, alone in zip(fit.outliers, fit.spike_sd, theory, strict=True):
        by_noise = (spike_of(value, fit.sigma + step) - spike_of(value, fit.sigma - step)) / (2 * step)
        by_value = (spike_of(value + step, fit.sigma) - spike_of(value - step, fit.sigma)) / (2 * step)
        assert sd == pytest.approx(np.sqrt(alone**2 + (by_noise * noise) ** 2 + (by_value * 0.02) ** 2), rel=1e-5)


def test_a_last_pair_that_reaches_beyond_the_cut_leaves_the_count_open():
    matrix = drawn(SpikedModel((5.0,)), 400, 1)
    pairs, largest, frobenius, rest = measure(matrix, 1)
    fit = fit_measured(pairs, largest, frobenius, rest)
    assert fit.complete
    short = fit.thresholds[1] - pairs.values[largest - 1]
    reaching = dataclasses.replace(pairs, residuals=np.full(len(pairs), 1.5 * short))
    assert not fit_measured(reaching, largest, frobenius, rest).above.complete
    within = dataclasses.replace(pairs, residuals=np.full(len(pairs), 0.5 * short))
    assert fit_measured(within, largest, frobenius, rest).above.complete


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_probes_fluctuate_about_the_distribution_as_much_as_said(shift):
    """Complete rules, which leave little open: the interval is what the probes may differ from the spectrum by."""
    eigenvalues = np.linspace(-1.0, 1.0, 60)
    operator = DenseOperator(torch.from_numpy(np.diag(eigenvalues)))

    def cdf(x):
        return np.clip((x + 1.0 - shift) / 2.0, 0.0, 1.0)

    steps = np.arange(61) / 60
    truth = max(np.abs(steps[1:] - cdf(eigenvalues)).max(), np.abs(steps[:-1] - cdf(eigenvalues)).max())
    missed = 0
    for seed in range(300):
        whole = spectral_measure(operator, rng=np.random.default_rng(seed), probes=1, steps=60)
        missed += truth not in Bulk.of(whole, 0, np.empty(0)).distance(cdf)
    assert missed <= binom.ppf(1 - 1e-6, 300, 0.05)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.0, 0.9, "a semicircle is possible"),
        (0.0, 0.91, "too few steps and probes to decide"),
        (0.01, 0.5, "no semicircle"),
        (0.01, 0.92, "too few steps and probes to decide"),
    ],
)
def test_the_words_on_the_bulk_say_no_more_than_the_interval(low, high, verdict):
    fit = fit_measured(*measure(drawn(SpikedModel((5.0,)), 60, 0), 0))
    words = dataclasses.replace(fit, distance=Interval(0.1, low, high)).words()["bulk"]
    assert words.endswith(f"{low:.2f} to {high:.2f}: {verdict}")


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("probes", [1, 4])
def test_few_steps_leave_the_noise_to_the_norm(steps, probes):
    R = 120
    matrix = drawn(SpikedModel((6.0,)), R, 3)
    report = measure_spectrum(
        DenseOperator(torch.from_numpy(matrix)), SpectrumSettings(steps=steps, probes=probes, outliers=5)
    )
    whole, fit = fit_spiked(np.linalg.eigvalsh(matrix)), report.fit
    assert abs(fit.sigma - whole.sigma) < LEVEL * fit.sigma_sd < 0.2
    assert (str(fit.above), str(fit.below)) == ("1", "0")
    assert np.isinf(fit.rest_by_quadrature.sd) == (steps < 3)
    assert (len(fit.alternatives) == 0) == (steps < 2)
    assert np.isfinite(fit.disagreement)
    assert "too few steps" in fit.words()["other laws"] or steps > 1


def test_half_an_outlier_rounds_to_none():
    assert [str(Side(3, False, hidden)) for hidden in (0.5, 0.51)] == [
        "at least 3",
        "at least 3, about 1 more by the quadrature",
    ]
