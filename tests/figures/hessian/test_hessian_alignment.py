"""Clients of a network trained on a tiny invented image set, and of matrices drawn from the model."""

import numpy as np
import pandas as pd
import pytest
import torch
from seen import band, curve, drawn, key, same, styled, texts, within
from stripes import stripes
from torch import nn

from figures.figure import Settings
from figures.hessian.alignment import (
    ALIGNMENT,
    AlignmentSizes,
    Side,
    client_alignment,
    client_alignment_found,
    client_alignment_sizes,
    closed_form,
    compare,
    cosines,
    gradients_of,
    jackknife,
    side_of,
)
from figures.hessian.alignment_picture import draw_client_alignment
from rmt import Semicircle, SpikedModel
from workloads.image_networks.small import perceptron

SIZES = AlignmentSizes(4, (4,), 400, (1, 2), (20, 60), 4, 12)


@pytest.fixture(scope="module")
def table():
    return client_alignment(stripes(), SIZES, Settings())


def drawn_side(model, R, along, noise_square, ranks, rng):
    """A client of the model: spikes on the first coordinates, own errors of the gradient in every direction."""
    noise = rng.standard_normal((R, R))
    matrix = model.sigma() * (noise + noise.T) / np.sqrt(2 * R)
    matrix[np.diag_indices(len(model.spikes))] += model.spikes
    gradient = np.sqrt(noise_square) * rng.standard_normal(R)
    gradient[: len(along)] += along
    values, vectors = np.linalg.eigh(matrix)
    order = np.argsort(-np.abs(values))
    return Side(values[order], vectors[:, order[:ranks]], gradient)


def test_clients_of_the_model_meet_the_closed_forms():
    """The control: overlaps and cosines of matrices drawn from the spiked model are those that the figure predicts."""
    rng, R, ranks, b = np.random.default_rng(0), 500, 8, 0.004
    spikes, along = (4.0, 2.5, 2.0, -3.0), (1.0, 0.8, 0.6, 0.7)
    model, truth = SpikedModel(spikes, Semicircle(1.0)), SpikedModel(spikes, Semicircle(1e-6))
    server = drawn_side(truth, R, along, 0.0, ranks, rng)
    clients = [drawn_side(model, R, along, b, ranks, rng) for _ in range(10)]
    rows = pd.DataFrame(compare(server, clients, 1.0, 1, 10**9, 0))
    values = {key: part.set_index("index").value for key, part in rows.groupby(["quantity", "series"])}
    predicted = np.array([1 - 1 / theta**2 for theta in (4.0, -3.0, 2.5, 2.0)])
    assert np.allclose(values["overlap", "measured"][:4], predicted, atol=0.05)
    for fit in ("spectrum", "noise"):
        assert values["outliers", fit][1] == pytest.approx(4, abs=0.5)
        assert np.allclose(values["overlap", fit][:4], predicted, atol=0.05)
        assert np.allclose(values["cosine", f"{fit}, closed form"], values["cosine", "measured"], atol=0.06)
        assert (values["cosine", f"{fit}, as printed"].diff()[1:] < 0).all()
    assert values["error square", "measured"][1] == pytest.approx(b, rel=0.1)
    assert values["error square, leading", "measured"][1] == pytest.approx(b, rel=0.3)


def test_a_closed_form_that_no_model_defines():
    """Ranks between outliers of equal size have no limit, but the sentence has no hole."""
    server = Side(np.arange(6.0, 0.0, -1.0), np.eye(6)[:, :4], np.ones(6))
    equal = SpikedModel((6.0, 6.0, 6.0, 6.0), Semicircle(1.0))
    clear = SpikedModel((6.0, 5.0, 4.0, 3.0), Semicircle(1.0))
    assert np.isnan(closed_form([equal], server, 0.1, 4)[:3]).all()
    both, one = closed_form([equal, clear], server, 0.1, 3), closed_form([clear], server, 0.1, 3)
    assert np.allclose(both, one)


def test_cosines_against_projections():
    rng = np.random.default_rng(1)
    sides = []
    for _ in range(2):
        vectors = np.linalg.qr(rng.standard_normal((9, 9)))[0]
        sides.append(Side(np.arange(9.0, 0.0, -1.0), vectors[:, :5], rng.standard_normal(9)))
    found = cosines(*sides)
    for r in range(1, 6):
        a, b = (side.vectors[:, :r] @ (side.vectors[:, :r].T @ side.gradient) for side in sides)
        assert found[r - 1] == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_side_of_a_network():
    model = perceptron(3, (2,), 2, 0)
    x, y = torch.randn(9, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)), torch.arange(9) % 2
    side, hessian = side_of(model, x, y, 4)
    assert (np.diff(np.abs(side.eigenvalues)) <= 0).all()
    assert np.allclose(hessian.numpy() @ side.vectors, side.vectors * side.eigenvalues[:4])
    nn.functional.cross_entropy(model(x), y).backward()
    gradient = torch.cat([p.grad.reshape(-1) for p in model.parameters()]).numpy()
    assert np.allclose(side.gradient, gradient)


def test_gradient_components_follow_the_order_of_the_spikes():
    server = Side(np.array([5.0, -4.0, 3.0, -2.0, 0.1]), np.eye(5), np.array([1.0, 2.0, -3.0, 4.0, 5.0]))
    model = SpikedModel((6.0, 3.0, 2.0, 1.0, -2.5, -4.5), Semicircle(0.1))
    assert gradients_of(model, server, 0.5).along == (1.0, 3.0, 5.0, 0.0, 4.0, 2.0)


def test_jackknife_of_independent_clients():
    """For a mean over pairs of g_a + g_b it is the standard error of twice the mean, exactly."""
    g = np.random.default_rng(2).standard_normal(6)
    pairs = {(a, b): np.array([g[a] + g[b]]) for a in range(6) for b in range(a + 1, 6)}
    assert jackknife(pairs, 6)[0] == pytest.approx(2 * g.std(ddof=1) / np.sqrt(6))


def test_table(table):
    assert set(table.M) == {20, 60}
    assert set(table.epoch) == {1, 2}
    assert np.isfinite(table[table.series == "measured"].value).all()
    assert table[table.quantity == "overlap"].value.between(0, 1 + 1e-9).all()
    assert table[table.quantity == "cosine"].value.dropna().between(-1 - 1e-9, 1 + 1e-9).all()
    noise = table[(table.quantity == "noise size") & (table.epoch == 2)].set_index("M").value
    assert 1.0 < noise[20] / noise[60] < 3.0  # the root of 3, if there were no scatter


FIT, NOISE = "fit to the spectrum", "measured noise size"
PRINTED = {"spectrum": "as printed (spectrum)", "noise": "as printed (noise)"}


def test_every_panel_shows_its_rows(table):
    picture = styled(draw_client_alignment, table)
    assert key(picture) == ["measured", FIT, NOISE, "in the span of ten", *PRINTED.values()]
    tops, bottoms = picture.axes[:4], picture.axes[4:]
    cases = [(1, 20), (1, 60), (2, 20), (2, 60)]
    for top, bottom, (epoch, M) in zip(tops, bottoms, cases, strict=True):
        part = table[(table.epoch == epoch) & (table.M == M)]
        by = {key: rows.set_index("index") for key, rows in part.groupby(["quantity", "series"])}

        def line(name, quantity, series, by=by):
            rows = by.get((quantity, series), pd.DataFrame({"value": []}))
            return curve(name, rows.index, rows.value)

        own, cosine = by["overlap", "measured"], by["cosine", "measured"]
        same(
            drawn(top),
            [
                line("measured", "overlap", "measured"),
                band(own.index, own.low, own.high),
                line("in the span of ten", "span", "measured"),
                line(FIT, "overlap", "spectrum"),
                line(NOISE, "overlap", "noise"),
            ],
        )
        closed = [line(name, "cosine", f"{fit}, closed form") for fit, name in (("spectrum", FIT), ("noise", NOISE))]
        printed = [line(name, "cosine", f"{fit}, as printed") for fit, name in PRINTED.items()]
        same(
            drawn(bottom),
            [line("measured", "cosine", "measured"), band(cosine.index, cosine.low, cosine.high), *closed, *printed],
        )
        assert within(top)
        assert within(bottom)
    assert [texts(axes) for axes in tops] == [
        (f"({letter}) epoch {epoch}, $M={M}$", "eigenvector $i$", r"$\langle u_i(M),u_i(N)\rangle^2$" * (letter == "a"))
        for letter, (epoch, M) in zip("abcd", cases, strict=True)
    ]
    assert [texts(axes) for axes in bottoms] == [
        (f"({letter})", "rank $r$", "cosine of two clients" * (letter == "e")) for letter in "efgh"
    ]


def test_sentences(table):
    found = client_alignment_found(table)
    assert found.startswith("Stated: ")
    assert "epoch 2, M = 60" in found.lower().replace("m = ", "M = ")
    assert "nan" not in found
    rises = table[(table.quantity == "rise") & (table["index"] == 1)]
    assert (rises.value == 0).all()
    assert client_alignment_sizes(table).startswith("$P=118$, 400 samples of the server, 4 clients")
    assert ALIGNMENT.datasets == ("fashion-mnist",)


def test_too_few_clients():
    with pytest.raises(ValueError, match="at least 3 clients of 300 among 400 samples, got 2"):
        client_alignment(stripes(), AlignmentSizes(4, (4,), 400, (1,), (300,), 2, 12), Settings())
