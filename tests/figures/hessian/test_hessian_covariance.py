"""Covariance predictions on a tiny invented image set, under its own name."""

import numpy as np
import pytest
import torch
from seen import bars, curve, drawn, key, level, same, styled, texts
from stripes import stripes

from figures.figure import Settings
from figures.hessian import covariance as hessian_covariance
from figures.hessian.covariance import (
    COVARIANCE,
    NETWORKS,
    CovarianceSizes,
    Measurement,
    Stage,
    covariance_found,
    covariance_sizes,
    covariance_table,
    errors,
    measure,
    train_stages,
)
from figures.hessian.covariance_picture import draw_covariance_figure

SIZES = CovarianceSizes(60, (0, 2), 24, (6, 12), 2, 1)


@pytest.fixture(scope="module")
def table():
    return covariance_table(stripes(), SIZES, Settings())


def test_subsets_of_all_samples_are_the_matrix():
    stage = next(train_stages(stripes(), SIZES, Settings()))
    whole = measure(stage, 24, np.arange(24))
    assert whole.eigenvalues == pytest.approx(stage.eigenvalues[:5])
    assert whole.overlaps == pytest.approx(np.ones(5))
    assert whole.stable_rank == pytest.approx((stage.eigenvalues**2).sum() / stage.eigenvalues[0] ** 2)


@pytest.mark.slow
def test_table(table):
    assert tuple(dict.fromkeys(table.network)) == NETWORKS
    assert len(table) == 3 * 2 * 2 * (3 * 13 + 1)
    known = table[table.quantity != "intervals that hold"]
    assert np.isfinite(known[["measured", "predicted", "low", "high"]]).all(axis=None)
    assert (known.low <= known.measured * (1 + 1e-12)).all()
    assert (known.measured <= known.high * (1 + 1e-12)).all()
    overlaps = known[known.quantity.str.contains("overlap|subspace|alignment")]
    assert overlaps.predicted.between(0.0, 1.0 + 1e-12).all()
    assert np.median(errors(table, "eigenvalue", "covariance")) < 0.5


MODELS = {"covariance": "weighted covariance", "Wigner": "spiked Wigner", "bootstrap": "bootstrap"}


def test_every_panel_shows_its_rows(table):
    picture = styled(draw_covariance_figure, table)
    assert key(picture) == ["measured", *MODELS.values()]
    panels, letters = iter(picture.axes), iter("abcdefghijklmnop")
    for network in NETWORKS:
        part = table[(table.network == network) & (table.epochs == 2) & (table.seed == 0)]
        for title, quantities in (
            ("stable rank", ["stable rank"]),
            ("eigenvalues", [f"eigenvalue {i}" for i in (1, 2, 5)]),
            ("overlaps", [f"overlap {i}" for i in (1, 2, 5)]),
        ):
            marks = []
            for quantity in quantities:
                mine = {model: part[(part.quantity == quantity) & (part.model == model)] for model in MODELS}
                # Curves have no marks, which samples of the key have: only their colours differ.
                marks += [curve("", one.M, one.predicted) for one in mine.values()]
                one = mine["covariance"]
                assert (one.low <= one.measured * (1 + 1e-9)).all()
                marks += [curve("measured", one.M, one.measured), bars("measured", one.M, one.low, one.high)]
            axes = next(panels)
            same(drawn(axes), marks)
            assert texts(axes) == (f"({next(letters)}) {network}: {title}", "samples $M$", "")
            assert axes.get_yscale() == ("log" if title == "eigenvalues" else "linear")
            assert axes.get_xscale() == "log"
    for (quantity, title), axes in zip(
        {
            "stable rank": "rank: ratio to measured",
            "eigenvalue 1": r"$\lambda_1$: ratio to measured",
            "overlap 1": "overlap 1: difference",
        }.items(),
        panels,
        strict=True,
    ):
        rows, marks = table[table.quantity == quantity], [level(0.0 if quantity == "overlap 1" else 1.0)]
        for model in MODELS:
            one = rows[rows.model == model]
            off = one.predicted - one.measured if quantity == "overlap 1" else one.predicted / one.measured
            marks.append(curve("", one.M, off))
        same([beside_each_other(mark) for mark in drawn(axes)], [beside_each_other(mark) for mark in marks], aside=0.1)
        assert texts(axes) == (f"({next(letters)}) {title}", "samples $M$", "")


def beside_each_other(mark):
    """Points of a few sizes, by size and then by value."""
    if mark.kind == "level":
        return mark
    sizes = np.array([SIZES.sizes[int(np.argmin(np.abs(np.log(x / np.array(SIZES.sizes)))))] for x, _ in mark.points])
    return curve(mark.name, sizes, mark.points[:, 1])


def test_colours_of_curves_are_those_of_the_key(table):
    picture = styled(draw_covariance_figure, table)
    samples = dict(zip(key(picture), picture.legends[0].legend_handles, strict=True))
    part = table[(table.network == NETWORKS[0]) & (table.epochs == 2) & (table.quantity == "stable rank")]
    for model, name in MODELS.items():
        rows = part[(part.model == model) & (part.seed == 0)].sort_values("M")
        (line,) = [
            line
            for line in picture.axes[0].lines
            if line.get_color() == samples[name].get_color() and list(line.get_ydata()) == list(rows.predicted)
        ]
        assert line._unscaled_dash_pattern == samples[name]._unscaled_dash_pattern


def test_the_sentence_has_medians_and_largest_errors(table):
    text = covariance_found(table)
    for model in MODELS:
        rows = table[table.model == model]
        for name in ("stable rank", "eigenvalue"):
            part = rows[rows.quantity.str.startswith(name)]
            off = 100 * (part.predicted / part.measured - 1).abs()
            told = f"{off.median():.2g} % (at most {off.max():.3g} %)"
            assert told in text.split(f"{model}: ")[1].split("; ")[0]


def test_sentences(table):
    assert covariance_found(table).startswith("Stated: sampled Hessians")
    assert "of 6 networks" in covariance_found(table)
    assert "$N=24$, $M=6, 12$, 2 subsets each, 1 seeds" in covariance_sizes(table)
    assert COVARIANCE.datasets == ("fashion-mnist",)


def a_stage(eigenvalues, samples=9, P=4):
    rng = np.random.default_rng(0)
    factors = torch.from_numpy(rng.standard_normal((samples, 2, P)))
    return Stage("perceptron", 0, 0, 1.0, factors, np.array(eigenvalues), torch.eye(P, dtype=torch.float64))


def test_clients_of_a_pair_have_no_sample_in_common(monkeypatch):
    asked = []

    def measured(stage, M, subset):
        asked.append(set(subset.tolist()))
        angle = 0.3 * len(asked)
        vector = torch.tensor([np.cos(angle), np.sin(angle)])
        return Measurement(np.ones(1), np.ones(1), 1.0, 1.0, vector)

    monkeypatch.setattr(hessian_covariance, "measure", measured)
    found, between = hessian_covariance.measure_clients(a_stage([1.0]), 4, 5, np.random.default_rng(0))
    assert len(found) == 5
    assert [len(subset) for subset in asked] == [4] * 6
    assert all(not one & other for one, other in zip(asked[::2], asked[1::2], strict=True))
    assert between == pytest.approx([np.cos(0.3) ** 2] * 3)
    found, between = hessian_covariance.measure_clients(a_stage([1.0]), 5, 3, np.random.default_rng(0))
    assert len(found) == 3
    assert np.isnan(between).all()  # nine samples are not enough for two clients of five


def test_the_spiked_model_knows_the_scatter_alone():
    """Noise of square 0.64 / 4 moves an eigenvalue theta to theta + 0.16 / theta."""
    eigenvalues, square = np.array([5.0, 3.0, 2.0, 1.5, 1.25, 1e-15]), 0.64 / 6
    stage = a_stage(eigenvalues, P=6)
    found = hessian_covariance.wigner_prediction(stage, 0.64)
    kept = eigenvalues[:5]
    assert found.eigenvalues == pytest.approx(kept + square / kept)
    assert found.overlaps == pytest.approx(1 - square / kept**2)
    assert found.subspace == pytest.approx((1 - square / kept**2).mean())
    assert found.stable_rank == pytest.approx(((eigenvalues**2).sum() + 0.64) / (5 + square / 5) ** 2)
    assert found.alignment == pytest.approx((1 - square / 25) ** 2)


def test_what_is_told_of_all_samples(table):
    stage = next(train_stages(stripes(), SIZES, Settings()))
    table = table[(table.network == stage.network) & (table.epochs == stage.epochs)]
    values = stage.eigenvalues
    square = (values**2).sum()
    condition = values.sum() ** 2 / square - 1 - 2 * (values[1:] / (values[0] - values[1:])).sum()
    assert table.condition.tolist() == pytest.approx([condition] * len(table))
    assert table.rank_of_all.tolist() == pytest.approx([square / values[0] ** 2] * len(table))
    assert (set(table.samples), set(table.parameters), set(table.subsets)) == ({24}, {stage.parameters}, {2})


def test_a_bootstrap_s_prediction_is_a_mean_over_its_draws(monkeypatch):
    """Two invented draws whose first eigenvalues are 2 and 4, so their mean square is 10 and not the square of 3."""
    known, rng = hessian_covariance.TOP, np.random.default_rng(0)
    factors = torch.from_numpy(rng.standard_normal((24, 3, 15)) * np.arange(1, 16) ** -1.0)
    rows = factors.reshape(-1, 15)
    eigenvalues, vectors = torch.linalg.eigh(rows.T @ rows / 24)
    stage = Stage("perceptron", 1, 0, 0.5, factors, eigenvalues.flip(0).numpy(), vectors.flip(1))
    values = np.sort(rng.uniform(0, 1, (2, 12)), axis=1)[:, ::-1] + np.array([[2.0], [4.0]])
    values[:, 0] = 2.0, 4.0
    shares = rng.uniform(0, 1, (2, 12, 12))
    fitted = hessian_covariance.fit_covariance(
        stage.eigenvalues, hessian_covariance.spectra_of(stage.factors, stage.vectors)
    )
    monkeypatch.setattr(hessian_covariance, "bootstrap_eigenvalues", lambda *_: (values, shares))
    table = hessian_covariance.compare(stage, SIZES, Settings()).set_index(["model", "M", "quantity"]).sort_index()
    for M in SIZES.sizes:
        rows = table.loc["bootstrap", M]
        assert rows.predicted["eigenvalue 2"] == pytest.approx(values[:, 1].mean())
        assert rows.predicted["overlap 3"] == pytest.approx(shares[:, 2, 2].mean())
        assert rows.predicted["subspace"] == pytest.approx(shares[:, :known, :known].mean() * known)
        assert rows.predicted["alignment"] == pytest.approx((shares[:, 0].mean(axis=0) ** 2).sum())
        covariance, predicted = table.loc["covariance", M], fitted.predict(M, top=known)
        assert rows.predicted["stable rank"] == pytest.approx(predicted.frobenius_squared / 10)
        assert covariance.predicted["stable rank"] == predicted.stable_rank
        assert covariance.predicted["subspace"] == pytest.approx(predicted.overlaps.sum() / known)
        assert covariance.predicted["alignment"] == pytest.approx((predicted.overlaps[0] ** 2).sum())
        assert rows.measured.equals(covariance.measured.drop("intervals that hold"))
