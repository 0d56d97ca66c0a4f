"""The Hessian figure on a tiny invented image set, under a name of its own."""

import numpy as np
import pytest
from stripes import stripes

from figures.figure import Settings
from figures.hessian_picture import draw_samples
from figures.hessian_spectra import (
    FMNIST,
    SampleSizes,
    hessian_spectra,
    samples_found,
    samples_sizes,
)
from figures.spiked_prediction import predicted_eigenvalues, with_noise
from rmt import Semicircle, SpikedModel, distribution_distance

SIZES = SampleSizes(4, (4,), 300, 2, (20, 40, 80), 2)


@pytest.fixture(scope="module")
def table():
    return hessian_spectra(stripes(), SIZES, Settings())


def test_what_is_measured(table):
    measured = table[table.kind == "measured"]
    assert set(table.M) == {20, 40, 80, 300}
    assert measured[measured.quantity == "parameters"].value.item() == 16 * 4 + 4 + 4 * 10 + 10
    assert measured[measured.quantity == "overlap"].value.between(0, 1 + 1e-9).all()
    assert table.groupby(["kind", "quantity"]).value.apply(lambda v: np.isfinite(v).all()).all()


def test_noise_shrinks_like_a_mean_of_independent_samples(table):
    """Exact in the mean square; here within a factor, since the sample is small."""
    noise = table[(table.kind == "measured") & (table.quantity == "noise spread")].groupby("M").value.mean()
    expected = np.sqrt(1 / noise.index - 1 / 300)
    ratios = noise / expected
    assert 0.5 < ratios.max() / ratios.iloc[0] < 2


def test_predictions_meet_the_measurements_where_they_are_fitted(table):
    for index in (1, 2):
        part = table[(table.quantity == "top") & (table.M == 40) & (table["index"] == index)]
        by = part.groupby("kind").value.mean()
        assert by["root"] == pytest.approx(by["measured"]) == pytest.approx(by["inverse"])


def test_the_same_seed_gives_the_same_table(table):
    again = hessian_spectra(stripes(), SIZES, Settings())
    assert np.allclose(again.value, table.value, rtol=1e-6, atol=1e-12)


def test_picture_and_sentences(table):
    picture = draw_samples(table)
    assert len(picture.axes) == 8
    assert samples_found(table).startswith("Stated: ")
    assert samples_sizes(table).startswith("$P=118$ parameters, $M=20, 40, 80$ with 2 disjoint subsets each")
    assert FMNIST.datasets == ("fashion-mnist",)


def test_predicted_eigenvalues():
    values = predicted_eigenvalues(SpikedModel((3.0, 0.5, -2.0)), 200)
    assert len(values) == 200
    assert values[0] == pytest.approx(3 + 1 / 3)
    assert values[-1] == -2.5
    assert distribution_distance(values[1:-1], Semicircle()) < 0.01
    assert with_noise(values, 1.0).spikes == pytest.approx((3.0, -2.0))
