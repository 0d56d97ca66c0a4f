"""Hessians of tiny networks on invented images: spectra, clients, predictions, covariances, sharpness, tables."""

from dataclasses import replace
from functools import cache
from math import nan
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from drawings import figures_of
from own_sizes import columns
from recording import Within, refused
from torch import nn

from figures.figure import Settings
from figures.hessian import alignment, covariance, edge_of_stability, predictions, spectra
from figures.spectrum import spiked_prediction as spiked
from hessian import exact_hessian
from rmt import ClientGradients, Semicircle, SpikedModel
from workloads.data.datasets import ImageSet
from workloads.image_networks.small import perceptron


@cache
def _images(samples=80):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, samples).astype(np.uint8)
    rows = np.arange(28)[:, None] * (1 + labels)[:, None, None]
    images = (127 * (1 + np.sin(0.3 * rows)) * rng.uniform(0.5, 1.0, (samples, 28, 28))).astype(np.uint8)
    return ImageSet("invented-waves", images, labels, "train", Path("nowhere"), 0.4, 0.3)


def _side(seed, ranks=3, P=5):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((P, P)) + np.diag([9.0, 5.0, -4.0, 1.0, 0.5])
    values, vectors = np.linalg.eigh(matrix + matrix.T)
    order = np.argsort(-abs(values))
    vectors = vectors[:, order] * np.sign(vectors[0, order])
    return alignment.Side(values[order], vectors[:, :ranks], rng.standard_normal(P))


def sides_of_a_network():
    model = perceptron(3, (2,), 3, 0)
    x = torch.linspace(-1, 1, 21, dtype=torch.float64).reshape(7, 3)
    side, hessian = alignment.side_of(model, x, torch.arange(7) % 3, 4)
    return side.eigenvalues, side.gradient, figures_of(hessian), abs(side.slopes), side.vectors.shape


def cosines_by_rank():
    first, second = _side(0), _side(1)
    still = replace(first, gradient=np.zeros(5))
    return alignment.cosines(first, second), alignment.cosines(first, first), alignment.cosines(still, second)


def models_of_clients():
    sides = [_side(seed) for seed in range(3)]
    for noise in (0.5, 2.0):
        for name, models in alignment.client_models(sides, noise).items():
            yield name, len(models), [[model.spikes, model.sigma()] for model in models[:2]]
            yield alignment.predicted_overlaps(models, 3) if models else None


def gradients_along_spikes():
    for spikes in ((9.0, 5.0, -8.0), (3.0,), (9.0, 8.0, 7.0, -2.0, -9.0), (-4.0, -7.0)):
        found = alignment.gradients_of(SpikedModel(spikes, scale=0.1), _side(0), 0.25)
        yield spikes, found


def closed_and_printed_forms():
    models = [SpikedModel((9.0, 5.0, -8.0)), SpikedModel((4.0, -3.0))]
    yield alignment.closed_form(models, _side(0), 0.25, 4), alignment.printed_form(models, [_side(0), _side(2)])
    yield (
        alignment.closed_form([], _side(0), 0.25, 2),
        alignment.closed_form([SpikedModel((2.0, -2.0))], _side(0), 0.1, 3),
    )


def jackknife():
    pairs = {(0, 1): np.array([0.5, 1.0]), (0, 2): np.array([0.7, 1.0]), (1, 2): np.array([0.2, 4.0])}
    return alignment.jackknife(pairs, 3)


def comparison_of_clients():
    server = _side(0, 4)
    rows = list(alignment.compare(server, [_side(seed, 4) for seed in (1, 2, 3)], 1.5, 20, 80, 7))
    table = pd.DataFrame(rows)
    yield len(table), columns(table[table.series == "measured"], "quantity", "index", "value", "low", "high")
    rest = table[table.series != "measured"]
    yield [[*key, [round(value, 8) for value in part.value]] for key, part in rest.groupby(["quantity", "series"])]


def clients_of_a_trained_network():
    sizes = alignment.AlignmentSizes(2, (2,), 40, (0, 1), (5, 10), 3, 4)
    said = []
    table = alignment.client_alignment(_images(), sizes, Settings(progress=said.append))
    kept = table[(table.series == "measured") & ~table.quantity.isin(("step", "rise")) & (table["index"] < 3)]
    yield said[:4], len(said), Within(1e-4, columns(kept, "epoch", "M", "quantity", "value", every=3))
    yield (
        columns(table[:1], "server", "parameters", "clients", "accuracy", "span"),
        alignment.client_alignment_sizes(table),
    )
    for change in ({"clients": 2}, {"clients": 4}, {"clients": 5}):
        found = (
            refused(alignment.client_alignment, _images(), replace(sizes, epochs=(9,), **change), Settings())
            if change["clients"] != 4
            else 4
        )
        yield found


def nested_hessians():
    model = perceptron(3, (2,), 2, 0)
    x, y = torch.linspace(-1, 1, 27, dtype=torch.float64).reshape(9, 3), torch.arange(9) % 2
    for M, hessian in predictions.nested_hessians(model, x, y, (2, 5, 9)):
        whole = exact_hessian(model, nn.functional.cross_entropy, x[:M], y[:M])
        yield M, figures_of(hessian), bool(torch.allclose(hessian, whole))


EIGENVALUES = np.array([9.0, 4.0, 2.0, 1.0, 0.6, 0.3, 0.1, -0.1, -0.4, -0.7, -1.1, -3.0])


def _measured():
    noisy = {(M, subset): EIGENVALUES * (1 + 1 / M + 0.1 * subset) for M in (10, 20, 40) for subset in (0, 1)}
    intervals = {key: (2.0 + key[1], 1.5 + key[1], 1.8 + 2 * key[1]) for key in noisy}
    return predictions.Measured(noisy, intervals, 0.8)


def fits_and_comparisons():
    chosen = predictions.NetworkSizes((2,), 100, 1, (10, 20, 40), 2)
    for fitted in predictions.fits(_measured(), 20):
        yield fitted.name, fitted.distance, [[model.spikes, model.sigma()] for model in fitted.models]
        yield columns(
            predictions.compare(_measured(), fitted, chosen),
            "M",
            "quantity",
            "measured",
            "low",
            "high",
            "predicted",
            "ratio",
        )
        yield columns(
            predictions.compare(_measured(), fitted, chosen)[:1],
            "fit",
            "fitted_at",
            "above",
            "below",
            "distance",
            "subsets",
        )


def measured_networks():
    sizes = predictions.NetworkSizes((2,), 24, 1, (4, 8, 12), 2)
    model = perceptron(4, (2,), 3, 1)
    x = torch.sin(torch.arange(96.0, dtype=torch.float64)).reshape(24, 4)
    network = predictions.Network("perceptron", model, x, torch.arange(24) % 3, 0.5)
    found = predictions.measure(network, sizes, Settings(seed=1))
    yield network.parameters, found.spread, [[*key, figures_of(values)] for key, values in found.eigenvalues.items()]
    yield Within(1e-4, list(found.intervals.values()))
    for subsets, largest in ((1, 4), (2, 13), (3, 8)):
        yield (
            refused(predictions.measure, network, replace(sizes, subsets=subsets, sizes=(2, 3, largest)), Settings())
            if (subsets, largest) != (3, 8)
            else 3
        )


def predictions_without_noise():
    table = pd.DataFrame({"fit": ["noise"], "fitted_at": [1], "M": [2], "quantity": ["upper edge"], "ratio": [0.5]})
    yield predictions.predictions_headline(table)
    yield predictions.predictions_headline(
        pd.concat(
            [
                table.assign(fit="spectrum", ratio=ratio, quantity=name)
                for ratio, name in ((0.5, "upper edge"), (30.0, "lower edge"), (99.0, "stable rank"))
            ]
        )
    )


def spectra_of_a_trained_network():
    sizes = spectra.SampleSizes(2, (2,), 60, 1, (6, 12, 24), 2)
    table = spectra.hessian_spectra(_images(), sizes, Settings())
    yield (
        len(table),
        Within(
            1e-4,
            [
                [*map(str, key), figures_of(part.value)]
                for key, part in table[~table.quantity.str.contains("overlap|subspace|eigenvalue")].groupby(
                    ["kind", "quantity"], sort=False
                )
            ],
        ),
    )
    yield spectra.samples_sizes(table), list(dict.fromkeys(table.fitted_at)), list(dict.fromkeys(table.largest))


def ranks_that_are_shown():
    return [list(spectra._ranks(R)) for R in (1, 2, 3, 10)], [figures_of(list(spectra._ranks(R))) for R in (100, 1000)]


def rows_of_spectra():
    rows = spectra._Rows("measured")
    spectra._describe(rows, EIGENVALUES, 5, 1, 2, 1)
    spectra._measure_noise(rows, EIGENVALUES, 5, 1)
    other = spectra._Rows("root")
    spectra._predict(other, SpikedModel((4.0, 2.0, -3.0), Semicircle(0.5)), 12, 7, 0, 2, 1)
    spectra._show(other, "eigenvalue", 3, EIGENVALUES)
    return rows.table(), other.table()


def noise_by_samples():
    rows = [
        ("measured", "noise spread", M, s, 0, (1 / M - 1 / 100) ** 0.5 * (1 + 0.1 * s))
        for M in (10, 20, 50)
        for s in (0, 1)
    ]
    rows += [(kind, "overlap", 10, 0, 1, value) for kind, value in (("root", 0.75), ("measured", 0.5))] + [
        ("measured", "noise distance", 20, 0, 0, 0.3)
    ]
    table = pd.DataFrame(rows, columns=["kind", "quantity", "M", "subset", "index", "value"]).assign(
        fitted_at=20, largest=100
    )
    return spectra._noise(table), spectra.samples_headline(table)


def _stage():
    rng = np.random.default_rng(3)
    factors = torch.from_numpy(rng.standard_normal((12, 2, 7)) * np.array([4.0, 3.0, 2.0, 1.0, 1.0, 0.5, 0.3]))
    rows = factors.reshape(-1, 7)
    values, vectors = torch.linalg.eigh(rows.T @ rows / 12)
    return covariance.Stage("CNN", 3, 1, 0.5, factors, values.flip(0).numpy(), vectors.flip(1))


def covariances_of_subsets():
    stage = _stage()
    for subset in ([0, 1, 2], [3, 4, 5, 6, 7, 8]):
        found = covariance.measure(stage, len(subset), np.array(subset))
        yield (
            stage.parameters,
            found.eigenvalues,
            found.overlaps,
            found.subspace,
            found.stable_rank,
            figures_of(abs(found.vector)),
        )
    for M, subsets in ((4, 3), (8, 2)):
        found, between = covariance.measure_clients(stage, M, subsets, np.random.default_rng(1))
        yield len(found), between, [one.stable_rank for one in found]
    found = covariance.wigner_prediction(stage, 30.0)
    yield found.eigenvalues, found.overlaps, found.subspace, found.stable_rank, found.alignment


def comparison_of_covariances():
    sizes = covariance.CovarianceSizes(9, (0,), 12, (4, 8), 2, 1)
    table = covariance.compare(_stage(), sizes, Settings(seed=2))
    return Within(
        1e-5, columns(table, "M", "quantity", "model", "measured", "low", "high", "predicted", every=3)
    ), columns(
        table[:1],
        "network",
        "epochs",
        "seed",
        "parameters",
        "samples",
        "subsets",
        "accuracy",
        "condition",
        "rank_of_all",
    )


def errors_and_signs():
    rows = [
        ("stable rank", "covariance", 10, 2.0, 3.0, 1.5, 0.1),
        ("stable rank", "covariance", 20, 2.0, 1.0, 9.0, 9.0),
        ("stable rank", "covariance", 10, 2.0, 1.5, 2.5, -1.0),
        ("overlap 1", "covariance", 10, 0.5, 0.75, 1.5, 0.1),
        ("eigenvalue 2", "Wigner", 10, 4.0, 3.0, 2.0, 0.0),
        ("overlap 2", "covariance", 10, 0.5, nan, 1.0, 0.0),
    ]
    table = pd.DataFrame(rows, columns=["quantity", "model", "M", "measured", "predicted", "rank_of_all", "condition"])
    for name, model in (("stable rank", "covariance"), ("overlap", "covariance"), ("eigenvalue", "Wigner")):
        yield covariance.errors(table, name, model), covariance._describe_errors(table, name, model)
    yield covariance.signs(table), covariance.signs(table.assign(measured=table.rank_of_all, condition=0.0))


def networks_of_stages():
    for name in covariance.NETWORKS[:2]:
        model, side = covariance.build(name, 1)
        yield name, side, sum(p.numel() for p in model.parameters()), figures_of(next(model.parameters()).detach())
    yield [covariance.TOP, covariance.DIRECTIONS, covariance.RESAMPLES]


def sharpness_along_descent():
    sizes = edge_of_stability.EdgeSizes(2, (2,), 30, (0.5, 30.0), 3, 2)
    table = edge_of_stability.edge_table(_images(), sizes, Settings())
    return Within(1e-5, columns(table)), edge_of_stability.edge_sizes(table), edge_of_stability.edge_under(table)


def _edges(*runs):
    rows = [
        {
            "rate": rate,
            "step": 10 * place,
            "loss": 1.0,
            "value": v,
            "low": v - 0.125,
            "high": v + 0.125,
            "edge": 2.0 / rate,
            "rises": place % 3,
            "every": 0 if not place else 10,
            "products": 7 + place,
            "parameters": 9,
            "samples": 5,
        }
        for rate, values in runs
        for place, v in enumerate(values)
    ]
    return pd.DataFrame(rows)


def runs_at_the_edge():
    rises, above, never = (0.5, (1.0, 3.0, 4.05, 4.3, 4.2)), (1.0, (5.0, 1.0, 2.2, 2.3, 1.9)), (0.4, (2.0, 3.0, 4.9))
    for table in (
        _edges(rises, above, never),
        _edges(never),
        _edges((0.5, (1.0, 4.125, 4.0))),
        _edges((0.5, (4.2, 4.1))),
        _edges((0.5, (1.0, 4.12501, 4.5))),
    ):
        yield (
            [str(run) for run in edge_of_stability.runs_of(table)],
            edge_of_stability.edge_headline(table),
            edge_of_stability.edge_found(table),
        )


def spiked_predictions():
    for sigma in (0.2, 0.5, 2.0, 5.0):
        model = spiked.with_noise(EIGENVALUES, sigma)
        yield model.spikes, model.sigma(), spiked.sides(model), spiked.predicted_eigenvalues(model, 12)
    yield (
        spiked.root_mean_square(EIGENVALUES),
        spiked.exact_stable_rank(EIGENVALUES),
        spiked.exact_stable_rank(-EIGENVALUES),
    )
    yield (
        spiked.noise_size([torch.eye(3), 2 * torch.eye(3), torch.zeros(3, 3)]),
        spiked.exact_stable_rank(EIGENVALUES[8:]),
    )


def shuffled_images():
    for purpose, side, count in (("a", 2, 5), ("b", 4, 3)):
        x, y = spiked.shuffle(_images(), side, count, Settings(seed=1), purpose)
        yield (
            x.shape,
            figures_of(x),
            y,
            spiked.shuffle(_images(), side, count, Settings(seed=1), purpose, torch.float32)[0].dtype,
        )


def gradients_of_a_weak_server():
    weak = replace(_side(0), gradient=np.zeros(5))
    return alignment.gradients_of(SpikedModel((9.0, -8.0)), weak, 0.0) == ClientGradients((0.0, 0.0), noise_square=0.0)
