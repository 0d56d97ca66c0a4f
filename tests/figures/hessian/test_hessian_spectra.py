"""The Hessian figure on a tiny invented image set, under its own name."""

import numpy as np
import pytest
from seen import band, bars, curve, drawn, key, level, same, styled, texts, within
from stripes import stripes

from figures.figure import Settings
from figures.hessian.spectra import FMNIST, SAMPLE_SIZES, SampleSizes, hessian_spectra, samples_found, samples_sizes
from figures.hessian.spectra_picture import draw_samples
from figures.spectrum.spiked_prediction import predicted_eigenvalues, with_noise
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


def by_size(table, kind, quantity, index=0):
    """Mean, least and most of the sizes over subsets, by the number of samples."""
    part = table[(table.kind == kind) & (table.quantity == quantity) & (table["index"] == index)]
    return part.assign(value=part.value.abs()).groupby("M").value.agg(["mean", "min", "max"])


def measured_marks(table, name, quantity, index=0, fitted=""):
    by = by_size(table, "measured", quantity, index)
    at = by[by.index == table.fitted_at.iloc[0]]
    return [
        curve(name, by.index, by["mean"]),
        bars(name, by.index, by["min"], by["max"]),
        curve(fitted, at.index, at["mean"]),
    ]


def predicted_marks(table, quantity, index=0, kinds=("root", "inverse", "matched")):
    by = {kind: by_size(table, kind, quantity, index) for kind in kinds}
    lines = [curve(FITS[kind], one.index, one["mean"]) for kind, one in by.items()]
    return [*lines, band(by["root"].index, by["root"]["min"], by["root"]["max"])]


def beyond(table, kind, quantity, names):
    """How many eigenvalues lie beyond each, on either side."""
    part = table[(table.kind == kind) & (table.quantity == quantity)]
    above, below, last = part[part.value > 0], part[part.value < 0], part["index"].max()
    sides = {"positive": (above.value, above["index"]), "negative": (-below.value, last + 1 - below["index"])}
    return [curve(name, *sides[side]) for side, name in names.items()]


FITS = {
    "root": r"fit, $s\propto M^{-1/2}$",
    "inverse": r"fit, $s\propto M^{-1}$",
    "matched": r"measured noise size, $s\propto M^{-1/2}$",
}
HOLLOW = "where fitted"


def test_every_panel_shows_its_rows(table):
    picture = styled(draw_samples, table)
    a, b, c, d, e, f, g, h = picture.axes
    assert key(picture) == ["measured", HOLLOW, *FITS.values()]
    sides = {"positive": "positive", "negative": "negative"}
    fit = {"positive": "positive, fit", "negative": "negative, fit"}
    same(drawn(a), beyond(table, "measured", "eigenvalue", sides) + beyond(table, "root", "eigenvalue", fit))
    law = beyond(table, "semicircle", "noise eigenvalue", {"positive": "semicircle"})
    same(drawn(b), beyond(table, "measured", "noise eigenvalue", sides) + law)
    tops, overlaps = [], []
    for index in (1, 2, 5):
        fitted = HOLLOW if index == 1 else ""
        tops += measured_marks(table, rf"$\lambda_{{{index}}}$", "top", index, fitted)
        tops += predicted_marks(table, "top", index)
        overlaps += measured_marks(table, f"$i={index}$", "overlap", index, fitted)
        overlaps += predicted_marks(table, "overlap", index, ("root", "matched"))
    same(drawn(c), tops, aside=0.2)
    same(drawn(g), overlaps + measured_marks(table, "first five together", "subspace"), aside=0.2)
    edges = measured_marks(table, "upper", "upper edge", 0, HOLLOW)
    edges += measured_marks(table, r"$|$lower$|$", "lower edge")
    same(drawn(d), edges + predicted_marks(table, "upper edge", 0, ("root", "inverse")), aside=0.2)
    below = table[table.M < 300]
    noise = measured_marks(table, r"$\Vert H_M-H_N\Vert_2$", "noise norm", 0, HOLLOW) + predicted_marks(
        below, "noise norm"
    )
    noise += measured_marks(table, r"$\Vert H_M-H_N\Vert_F/\sqrt{P}$", "noise spread")
    same(drawn(e), noise + predicted_marks(below, "noise spread"), aside=0.2)
    same(
        drawn(f),
        measured_marks(table, "measured", "stable rank", 0, HOLLOW) + predicted_marks(table, "stable rank"),
        aside=0.2,
    )
    ratios = [level(1.0)]
    for quantity, index, name in (
        ("top", 1, r"$\lambda_1$"),
        ("stable rank", 0, "stable rank"),
        ("overlap", 1, "overlap $i=1$"),
        ("upper edge", 0, "upper edge"),
        ("noise spread", 0, "noise size"),
        ("noise norm", 0, "noise norm"),
    ):
        found, fitted = by_size(table, "measured", quantity, index), by_size(table, "root", quantity, index)["mean"]
        fitted = fitted[found.index]
        ratios += [
            curve(name, found.index, fitted / found["mean"]),
            bars(name, found.index, fitted / found["max"], fitted / found["min"]),
        ]
    same(drawn(h), ratios)


def test_every_panel_says_what_it_shows(table):
    axes = styled(draw_samples, table).axes
    measured = table[table.kind == "measured"]
    distance = measured[measured.quantity == "distance"].value.mean()
    noise = measured[(measured.quantity == "noise distance") & (measured.M == 40)].value.mean()
    counts = (r"$x=|$eigenvalue$|$", "eigenvalues beyond $x$")
    assert [texts(panel) for panel in axes] == [
        ("(a) $H_M$ at $M=40$ (fitted)", *counts),
        ("(b) noise $H_M-H_N$ at $M=40$", *counts),
        ("(c) largest eigenvalues", "", "eigenvalue"),
        ("(d) edges of what the outliers leave", "", "$|$eigenvalue$|$"),
        (r"(e) noise: norm ($2\sigma s$) and size ($\sigma s$)", "", ""),
        ("(f) stable rank", "", r"$\Vert H\Vert_F^2/\Vert H\Vert_2^2$"),
        ("(g) overlap with the largest set", "samples $M$", r"$\langle u_i(M),u_i(N)\rangle^2$"),
        (r"(h) fit, $s\propto M^{-1/2}$: predicted / measured", "samples $M$", ""),
    ]
    assert axes[0].get_legend().get_title().get_text().endswith(f"{distance:.2f}")
    assert axes[1].get_legend().get_title().get_text().endswith(f"{noise:.2f}")
    for panel in axes[2:]:
        low, high = panel.get_xlim()
        assert low < 0.93 * 20 < 300 * 1.15 < high
        assert panel.get_xscale() == "log"
    assert [panel.get_yscale() for panel in axes] == ["log", "log", "linear", "log", "log", "linear", "linear", "log"]
    assert all(within(panel) for panel in axes[2:7])


def test_the_figure_is_of_fashion_mnist(monkeypatch, table):
    asked = []

    def load(name, root):
        asked.append((name, root))
        return stripes()

    monkeypatch.setattr("figures.hessian.spectra.load", load)
    monkeypatch.setitem(SAMPLE_SIZES, "quick", SIZES)
    found = FMNIST.data(Settings(data_root="here"))
    assert asked == [("fashion-mnist", "here")]
    assert list(found.columns) == list(table.columns)
    assert np.allclose(found.value, table.value, rtol=1e-6, atol=1e-12)


def test_sentences(table):
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


def test_noise_is_predicted_by_its_size_and_shrinks_as_each_fit_says(table):
    """A subset of M of the N samples differs from all of them by 1/M - 1/N of one sample's variance."""
    N, middle = int(table.largest.iloc[0]), int(table.fitted_at.iloc[0])
    spread = table[table.quantity == "noise spread"].set_index(["kind", "M", "subset"]).value
    norm = table[table.quantity == "noise norm"].set_index(["kind", "M", "subset"]).value
    for subset in range(SIZES.subsets):
        measured = spread["measured", middle, subset]
        assert spread["matched", middle, subset] == pytest.approx(measured / (1 - middle / N) ** 0.5)
        for kind, exponent in (("root", 0.5), ("inverse", 1.0), ("matched", 0.5)):
            for M in (*SIZES.sizes, N):
                expected = spread[kind, middle, subset] * (middle / M) ** exponent
                assert spread[kind, M, subset] == pytest.approx(expected)
                assert norm[kind, M, subset] == pytest.approx(2 * expected)
