"""Results in words: every number of a sentence is read, from results that are written by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hessian import DenseOperator, Interval, SpectrumSettings, measure_spectrum
from hessian.fits.bulk_laws import LawFit
from hessian.fits.measured_fit import MeasuredFit, Side
from hessian.fits.spiked_fit import SpikedFit
from hessian.lanczos.quadrature import Moment
from hessian.numerics.intervals import StableRankInterval, format_interval
from hessian.quantities.estimates import Estimate, Measurement, Profile
from hessian.quantities.names import Quantity
from hessian.tracker import TrackedState
from rmt import MarchenkoPastur, Semicircle, SpikedModel
from rmt.results import LABEL

TRACE, DENSITY, DIAGONAL = Quantity("trace"), Quantity("density"), Quantity("diagonal")
ESTIMATE = Estimate(TRACE, 2.5, 2.25, 2.875, 0.9, 12, True)
PARTS = {"basis and probes": 30, "quadrature": 0, "diagonal": 7}


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (ESTIMATE, "2.5, 2.25 to 2.875 at 90 %; 12 probes"),
        (
            replace(ESTIMATE, reached=False, limit="raise products"),
            "2.5, 2.25 to 2.875 at 90 %; 12 probes; wider than requested: raise products",
        ),
        (replace(ESTIMATE, probes=0, low=2.5, high=2.5), "2.5, 2.5 to 2.5 at 90 %; no probes"),
    ],
)
def test_an_estimate(found, text):
    assert found.words() == {"trace": text}
    assert ESTIMATE.width == 0.625
    assert [value in ESTIMATE for value in (2.2499, 2.25, 2.875, 2.8751)] == [False, True, True, False]


@pytest.mark.parametrize(("threshold", "between"), [(0.001234, ""), (0.0012345, "  "), (0.00123456, "  ")])
def test_a_label_as_wide_as_its_column_is_followed_by_spaces(threshold, between):
    label = f"above {threshold}"
    one = replace(ESTIMATE, quantity=Quantity("count-above", threshold))
    found = Measurement(5, 0.9, {one.quantity: one}, 3, PARTS).words()
    assert found[label] == f"{between}2.5, 2.25 to 2.875 at 90 %; 12 probes"
    assert (len(label) < LABEL) is (not between)


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ((1.25, 1.0, 3.0), "1.25, 1 to 3"),
        ((1.002, 1.0, 1.004), "1.002, 1 to 1.004"),  # ends that differ in the fourth digit need no more
        ((1.0005, 1.0, 1.0009), "1.0005, 1.0000 to 1.0009"),
        ((1.0000005, 1.0000003, 1.0000008), "1.0000005, 1.0000003 to 1.0000008"),  # eight digits, the most
        ((1.00000005, 1.00000003, 1.00000008), "1, 1 to 1"),  # rounding decides further ones
        ((-1.0004, -1.0009, -1.0), "-1.0004, -1.0009 to -1.0000"),
        ((0.0, 0.0, 0.0), "0, 0 to 0"),
    ],
)
def test_an_interval_has_the_digits_that_distinguish_its_ends_from_four_to_eight(ends, text):
    assert format_interval(*ends) == text


def test_profiles():
    """Widths 0.1, 0.3 and 0.4; a sum 1.5, errors 0.1, 0.1 and 0.7, whose mean square is 0.17."""
    row = np.array([1.0, 2.0, -1.5])
    band = np.array([0.1, 0.3, 0.4])
    profile = Profile(DIAGONAL, np.arange(3.0), row, row, row + band, np.array([0.1, 0.1, 0.7]), 0.99, 5, True)
    assert list(profile.words().values()) == ["3 entries, sum 1.5; root mean square error 0.41; 5 probes"]
    density = replace(profile, quantity=DENSITY, reached=False, limit="raise steps")
    (text,) = density.words().values()
    assert text == "band of median width 0.3 at 99 %, 3 points; 5 probes; wider than requested: raise steps"


def test_a_band_goes_on_as_steps_between_its_points():
    low, high = np.array([0.1, 0.4, 0.6]), np.array([0.3, 0.5, 0.9])
    band = Profile(DENSITY, np.array([0.0, 1.0, 3.0]), low, low, high, np.empty(0), 0.9, 5, True)
    lower, upper = band.bracket([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0])
    assert lower.tolist() == [0.0, 0.1, 0.1, 0.4, 0.4, 0.6, 0.6]
    assert upper.tolist() == [0.3, 0.3, 0.5, 0.5, 0.9, 0.9, 1.0]


def test_a_measurement_and_a_state_of_training_say_what_they_cost():
    found = Measurement(9, 0.9, {TRACE: ESTIMATE}, 20, PARTS)
    assert found.words() == {
        "trace": "2.5, 2.25 to 2.875 at 90 %; 12 probes",
        "cost": "37 products (basis and probes 30, diagonal 7)",
    }
    timed = replace(found, gradients=74.4, given_up="basis in float16")
    assert timed.words()["cost"] == "37 products (basis and probes 30, diagonal 7), the time of 74 gradients"
    assert timed.words()["memory"] == "basis in float16"
    late = replace(ESTIMATE, quantity=Quantity("smallest"), reached=False)
    assert found.reached
    assert not replace(found, found={TRACE: ESTIMATE, late.quantity: late}).reached
    assert not replace(found, found={late.quantity: late, TRACE: ESTIMATE}).reached
    for warm, start in ((True, "from the state before"), (False, "without an earlier state")):
        state = TrackedState(40, 0.12345, found, warm, 81.6, 3.0)
        assert state.words() == {
            "step 40": "loss 0.1235",
            "trace": "2.5, 2.25 to 2.875 at 90 %; 12 probes",
            "cost": f"37 products (basis and probes 30, diagonal 7) {start}, the time of 82 gradients",
        }


def test_a_stable_rank_by_signs_that_is_wide():
    norm, frobenius = Interval(4.532, 4.53, 4.54), Interval(8.153, 8.137, 8.172)
    found = StableRankInterval(
        3.237, 3.1, 3.4, 0.95, norm, frobenius, 4.532, 1e-5, False, 0.02, 0.07, 18, 10, 28, False, signs=True
    )
    wide = "width 2 % from the norm (probable), 7 % from 10 vectors of signs; wider than requested: raise products"
    assert found.words()["stable rank"] == f"3.237, 3.1 to 3.4 at 95 %; {wide}"
    assert found.words()["norms"] == "spectral 4.532 (eigenvalue +4.532), Frobenius 8.153, 8.137 to 8.172"
    limited = replace(found, probes=0, limit="single precision", given_up="basis of 9 rows")
    assert limited.words()["stable rank"].endswith("(probable), nothing random; wider than requested: single precision")
    assert limited.words()["memory"] == "basis of 9 rows"
    assert found.relative_width == pytest.approx(0.3 / 3.237)


def test_moments_and_sides():
    assert str(Moment(2.34567, 0.0123)) == "2.346 +- 0.01"
    assert str(Side(3, True, 0.0)) == "3"
    assert str(Side(3, False, 0.49)) == "at least 3"
    assert str(Side(3, False, 1.6)) == "at least 3, about 2 more by the quadrature"


def test_a_fit_to_all_eigenvalues():
    model = SpikedModel((5.0, -3.0), Semicircle(0.75))
    fit = SpikedFit(model, 1200, (5.1234, -3.25), (0.02, 0.3), 0.75, 0.004, (-1.6, 1.6), 0.123, 2)
    assert fit.words() == {
        "spiked model": "sigma 0.75 +- 0.004, bulk edge 1.5",
        "outliers": "5.123, -3.25",
        "bulk": "Kolmogorov distance 0.12 from the fitted semicircle",
        "spikes": "5 +- 0.02, -3 +- 0.3",
        "dimension": "1,200",
    }
    assert fit.bulk_fraction == 1.0 - 2 / 1200
    alone = replace(fit, model=SpikedModel((), Semicircle(0.75)), outliers=(), spike_sd=())
    assert (alone.words()["outliers"], alone.words()["spikes"]) == ("none", "none")


def test_a_fit_to_what_was_measured():
    matrix = torch.diag(torch.cat([torch.linspace(-1.0, 1.0, 30), torch.tensor([9.0])]).double())
    fit = measure_spectrum(DenseOperator(matrix), SpectrumSettings(outliers=2, probes=2, steps=8)).fit
    assert isinstance(fit, MeasuredFit)
    laws = (
        LawFit("shifted semicircle", Semicircle(), 1.0, Interval(0.25, 0.1, 0.4)),
        LawFit("Marchenko-Pastur", MarchenkoPastur(0.5), 1.0, Interval(0.375, 0.2, 0.5)),
    )
    found = replace(
        fit,
        sigma=0.75,
        sigma_sd=0.004,
        distance=Interval(0.125, 0.0, 0.5),
        alternatives=laws,
        above=Side(2, True, 0.0),
        below=Side(1, False, 3.0),
    ).words()
    assert found["spiked model"] == "sigma 0.75 +- 0.004, bulk edge 1.5"
    assert found["outliers"] == (
        "above: 2; below: at least 1, about 3 more by the quadrature\n"
        "the noise includes outliers that were not computed: raise outliers"
    )
    assert found["bulk"] == (
        "Kolmogorov distance 0.12 from the fitted semicircle, 0.00 to 0.50: a semicircle is possible"
    )
    assert found["other laws"] == ("shifted semicircle 0.25 (0.10 to 0.40)\nMarchenko-Pastur 0.38 (0.20 to 0.50)")
    certain = replace(fit, distance=Interval(0.25, 0.01, 0.9), alternatives=(), above=Side(2, True, 0.0))
    assert certain.words()["bulk"].endswith("0.01 to 0.90: no semicircle")
    assert certain.words()["other laws"] == "none has the moments of the bulk"
    assert (
        replace(fit, distance=Interval(0.25, 0.01, 0.92)).words()["bulk"].endswith("too few steps and probes to decide")
    )
