"""Predicted and measured spectra on a tiny invented image set, under its own name."""

import numpy as np
import pytest
import torch
from seen import bars, curve, drawn, key, level, same, styled, texts, within
from stripes import stripes
from torch import nn

from figures.figure import Settings
from figures.hessian.predictions import (
    PREDICTIONS,
    Fitted,
    Measured,
    NetworkSizes,
    PredictionSizes,
    compare,
    fits,
    measure,
    nested_hessians,
    predictions,
    predictions_found,
    predictions_headline,
    predictions_sizes,
    trained_networks,
)
from figures.hessian.predictions_picture import draw_predictions
from figures.spectrum.spiked_prediction import exact_stable_rank, noise_size
from hessian import exact_hessian
from rmt import Semicircle, SpikedModel
from workloads.image_networks.small import perceptron

SIZES = PredictionSizes(4, NetworkSizes((4,), 300, 2, (20, 40, 80), 2), NetworkSizes((1,), 60, 1, (4, 6, 8), 2))


@pytest.fixture(scope="module")
def table():
    return predictions(stripes(), SIZES, Settings())


def matrix_of(model, R, rng):
    """A matrix of the model, spikes on the first coordinates."""
    noise = rng.standard_normal((R, R))
    matrix = model.sigma() * (noise + noise.T) / np.sqrt(2 * R)
    matrix[np.diag_indices(len(model.spikes))] += model.spikes
    return torch.from_numpy(matrix)


def test_nested_hessians_are_the_hessians():
    model = perceptron(3, (2,), 2, 0)
    x, y = torch.randn(9, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)), torch.arange(9) % 2
    for M, hessian in nested_hessians(model, x, y, (2, 5, 9)):
        assert torch.allclose(hessian, exact_hessian(model, nn.functional.cross_entropy, x[:M], y[:M]), atol=1e-14)


def test_noise_size_of_drawn_noise():
    rng = np.random.default_rng(0)
    size = noise_size([matrix_of(SpikedModel((5.0,), Semicircle(0.7)), 300, rng) for _ in range(4)])
    assert size == pytest.approx(0.7, rel=0.02)


@pytest.mark.parametrize("noise", [0.2, 0.3])
def test_matrices_of_the_model_are_predicted(noise):
    """The control: where the spiked model holds, both fits predict edges, outliers and stable rank at every size."""
    rng, R, chosen = np.random.default_rng(1), 400, NetworkSizes((), 1, 1, (50, 100, 200), 3)
    spikes, eigenvalues, intervals, matrices = (6.0, 4.0, 3.0, 2.5, 2.0, -3.0), {}, {}, []
    for M in chosen.sizes:
        for subset in range(chosen.subsets):
            matrix = matrix_of(SpikedModel(spikes, Semicircle(noise * (100 / M) ** 0.5)), R, rng)
            values = eigenvalues[M, subset] = torch.linalg.eigvalsh(matrix).flip(0).numpy()
            intervals[M, subset] = (exact_stable_rank(values),) * 3
            if M == 100:
                matrices.append(matrix)
    measured = Measured(eigenvalues, intervals, noise_size(matrices))
    for fitted in fits(measured, 100):
        table = compare(measured, fitted, chosen).set_index("quantity")
        assert (table.above == 5).all()
        assert (table.below == 1).all()
        off = table.ratio.drop("intervals that hold the exact value") - 1.0
        assert off.abs().max() < 0.08
        assert off["upper edge"].abs().max() < 0.03 + R ** (-2 / 3)


def test_a_wrong_exponent_would_show():
    """The same comparison is not blind: matrices whose noise does not shrink are not predicted."""
    rng, chosen = np.random.default_rng(2), NetworkSizes((), 1, 1, (50, 100, 200), 2)
    model = SpikedModel((6.0,), Semicircle(0.3))
    eigenvalues = {
        (M, s): torch.linalg.eigvalsh(matrix_of(model, 200, rng)).flip(0).numpy()
        for M in chosen.sizes
        for s in range(2)
    }
    intervals = {key: (exact_stable_rank(values),) * 3 for key, values in eigenvalues.items()}
    measured = Measured(eigenvalues, intervals, 0.3)
    table = next(fits(measured, 100))
    edge = compare(measured, table, chosen).query("quantity == 'upper edge'").set_index("M").ratio
    assert edge[50] == pytest.approx(2**0.5, rel=0.08)
    assert edge[200] == pytest.approx(0.5**0.5, rel=0.08)


def test_low_rank_spectra_have_no_fit_to_the_spectrum():
    eigenvalues = {(M, s): np.array([5.0, 4.0] + 58 * [0.0]) for M in (1, 2, 3) for s in range(2)}
    intervals = dict.fromkeys(eigenvalues, (41 / 25,) * 3)
    assert [f.name for f in fits(Measured(eigenvalues, intervals, 0.1), 2)] == ["noise"]


def test_too_few_samples():
    network = next(trained_networks(stripes(), SIZES, Settings()))
    with pytest.raises(ValueError, match="2 subsets of 400 samples among 300"):
        measure(network, NetworkSizes((4,), 300, 1, (10, 400), 2), Settings())


@pytest.mark.slow
def test_table(table):
    assert list(table.columns[:8]) == ["network", "M", "quantity", "measured", "low", "high", "predicted", "ratio"]
    assert set(table.network) == {"perceptron", "ResNet-10"}
    assert (table.fit == "noise").any()
    kept = table[table.quantity != "intervals that hold the exact value"]
    assert ((kept.low <= kept.measured) & (kept.measured <= kept.high)).all()
    assert np.allclose(kept.ratio * kept.measured, kept.predicted)
    outlier = kept[(kept.quantity == "outlier 1") & (kept.fitted_at == kept.M)]
    assert np.allclose(outlier.ratio, 1.0)


def test_stable_ranks_hold_the_exact_values(table):
    rows = table.drop_duplicates(["network", "M", "quantity"]).set_index(["network", "M", "quantity"]).measured
    held = rows.xs("intervals that hold the exact value", level="quantity")
    assert held.mean() > 0.7
    estimate, exact = (rows.xs(name, level="quantity") for name in ("stable rank", "exact stable rank"))
    assert np.allclose(estimate, exact, rtol=0.1)


NAMES = {"spectrum": "fit to the spectrum", "noise": "measured noise size"}


def compared_marks(table, quantity, name, fitted="", fits=tuple(NAMES)):
    """Predictions of the fits, the measurement with its range, and where a fit is made."""
    rows = table[(table.quantity == quantity) & table.fit.isin(fits)]
    lines = [rows[rows.fit == fit] for fit in fits]
    one = rows.drop_duplicates("M")
    ends = np.sort(np.abs(one[["low", "high"]].to_numpy()), axis=1).T
    at = one[one.fitted_at == one.M]
    return [
        *(curve(NAMES[fit], line.M, line.predicted.abs()) for fit, line in zip(fits, lines, strict=True)),
        curve(name, one.M, one.measured.abs()),
        bars(name, one.M, *ends),
        curve(fitted, at.M, at.measured.abs()),
    ]


@pytest.mark.slow
def test_every_panel_shows_its_rows(table):
    picture = styled(draw_predictions, table)
    assert key(picture) == ["measured", "where fitted", *NAMES.values()]
    panels = iter(picture.axes)
    for network, letters in (("perceptron", "abc"), ("ResNet-10", "def")):
        part = table[table.network == network]
        left, middle, right = (next(panels) for _ in range(3))
        marks = []
        for index in (1, 2, 5):
            name = rf"$\lambda_{{{index}}}$"
            marks += compared_marks(part, f"outlier {index}", name, "where fitted" if index == 1 else "")
        same(drawn(left), marks)
        edges = [
            *compared_marks(part, "upper edge", "upper", "where fitted", ("spectrum",)),
            *compared_marks(part, "lower edge", r"$|$lower$|$", "", ("spectrum",)),
            *compared_marks(part, "upper edge", "upper (noise)", "", ("noise",)),
        ]
        same(drawn(middle), edges)
        same(drawn(right), compared_marks(part, "stable rank", "measured", "where fitted"))
        for axes, letter, title in zip(
            (left, middle, right), letters, (f"{network}: outliers", "edges", "stable rank"), strict=True
        ):
            assert texts(axes) == (f"({letter}) {title}", "samples $M$", "")
            assert axes.get_xscale() == "log"
            assert within(axes)
        assert left.get_ylim()[0] == 0
        assert [left.get_yscale(), middle.get_yscale(), right.get_yscale()] == ["linear", "log", "linear"]
    for axes, network, letter in zip(panels, ("perceptron", "ResNet-10"), "gh", strict=True):
        part, marks = table[table.network == network], [level(1.0)]
        first = part.fit.iloc[0]
        for quantity, name in (
            ("outlier 1", r"$\lambda_1$"),
            ("outlier 5", r"$\lambda_5$"),
            ("upper edge",) * 2,
            ("lower edge",) * 2,
            ("stable rank",) * 2,
        ):
            for fit in NAMES:
                rows = part[(part.quantity == quantity) & (part.fit == fit)]
                marks.append(curve(name if fit == first else "", rows.M, rows.ratio))
        same(drawn(axes), marks)
        assert texts(axes) == (f"({letter}) {network}: predicted / measured", "samples $M$", "")
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        assert within(axes)
        for line in axes.lines[1:]:
            dotted = line._unscaled_dash_pattern[1] is not None  # the fit to the noise
            assert (line.get_markerfacecolor() == "white") is dotted
        box = axes.get_position()
        assert box.width > 0.3


def test_sentences(table):
    found = predictions_found(table)
    assert "perceptron, with the measured size of the noise" in found
    assert "of 12 intervals" in found
    assert "nan" not in found
    assert predictions_sizes(table).startswith("perceptron (width 4): $P=118$, trained on 300 samples")
    without = table[(table.network != "perceptron") | (table.fit == "noise")]
    assert "perceptron: apart from the outliers, no noise is left to fit" in predictions_found(without)
    assert predictions_headline(without).startswith("The spiked model predicts edges")
    assert predictions_headline(table[table.fit == "noise"]).startswith("Apart from the outliers, no noise is left")
    assert PREDICTIONS.datasets == ("fashion-mnist",)


def test_every_column_of_a_comparison_by_hand():
    """Three subsets that differ, with the noise at 16 samples; at 4 it is twice as large, at 64 half as large."""
    chosen, P = NetworkSizes((), 1, 1, (4, 16, 64), 3), 40
    rng, measured, intervals = np.random.default_rng(0), {}, {}
    for M in chosen.sizes:
        for subset in range(3):
            measured[M, subset] = np.sort(rng.uniform(-1, 1 + 5 * subset, P))[::-1]
            exact = exact_stable_rank(measured[M, subset])
            intervals[M, subset] = (exact + subset, exact - 1 + 2 * (subset == 1), exact + 1 + subset)
    models = tuple(SpikedModel((spike, 5.0, -4.0), Semicircle(0.5)) for spike in (6.0, 8.0, 10.0))
    table = compare(Measured(measured, intervals, 0.5), Fitted("noise", models, 0.25), chosen)
    assert (table.above.unique().tolist(), table.below.unique().tolist()) == ([2], [1])
    assert set(table.subsets) == {3}
    rows = table.set_index(["M", "quantity"])
    for M, factor in ((4, 2.0), (16, 1.0), (64, 0.5)):
        ends = [(measured[M, subset][0], measured[M, subset][2], measured[M, subset][P - 2]) for subset in range(3)]
        for name, seen in zip(("outlier 1", "upper edge", "lower edge"), zip(*ends, strict=True), strict=True):
            row = rows.loc[M, name]
            assert (row.measured, row.low, row.high) == (pytest.approx(np.mean(seen)), min(seen), max(seen))
            assert row.ratio == pytest.approx(row.predicted / row.measured)
        sigma = 0.5 * factor
        outliers = [spike + sigma**2 / spike for spike in (6.0, 8.0, 10.0)]
        assert rows.predicted[M, "outlier 1"] == pytest.approx(np.mean(outliers))
        ranks = [model.at_scale(factor).stable_rank(P).value for model in models]
        exact = [exact_stable_rank(measured[M, subset]) for subset in range(3)]
        found = rows.loc[M, "stable rank"]
        assert (found.measured, found.predicted) == pytest.approx((np.mean(exact) + 1, np.mean(ranks)))
        low = min(one - 1 + 2 * (subset == 1) for subset, one in enumerate(exact))
        assert (found.low, found.high) == pytest.approx((low, max(one + 1 + place for place, one in enumerate(exact))))
        known = rows.loc[M, "exact stable rank"]
        assert (known.measured, known.low, known.high) == pytest.approx((np.mean(exact), min(exact), max(exact)))
        assert rows.measured[M, "intervals that hold the exact value"] == pytest.approx(2 / 3)
