"""Outliers, edges and stable ranks of two real networks at five sample sizes, and the spiked model fitted at one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from figures.figure import Figure, Scale, Settings
from figures.hessian.predictions_picture import draw_predictions
from figures.spectrum.spiked_prediction import (
    Array,
    exact_stable_rank,
    noise_size,
    predicted_eigenvalues,
    shuffle,
    sides,
    with_noise,
)
from figures.threads import few_threads
from hessian import exact_hessian, fit_spiked, stable_rank
from rmt import SpikedModel
from workloads.data.datasets import ImageSet, load
from workloads.image_networks.fit import FitSettings, fit
from workloads.image_networks.resnet import resnet
from workloads.image_networks.small import perceptron

TOP = 5
EXPONENT = 0.5
"""Exponent a of s(M) ~ M^-a, for a mean of independent samples."""


@dataclass(frozen=True)
class NetworkSizes:
    """Widths (hidden layers of the perceptron, stem of the ResNet), training samples, epochs, sizes M, subsets of each.

    The model is fitted at the middle one of the sizes.
    """

    widths: tuple[int, ...]
    samples: int
    epochs: int
    sizes: tuple[int, ...]
    subsets: int


@dataclass(frozen=True)
class PredictionSizes:
    """Side of the pooled images; the two networks."""

    side: int
    perceptron: NetworkSizes
    resnet: NetworkSizes


PREDICTION_SIZES: dict[Scale, PredictionSizes] = {
    "quick": PredictionSizes(
        7, NetworkSizes((8, 8), 2000, 5, (20, 40, 80, 160, 320), 2), NetworkSizes((1,), 500, 2, (10, 15, 20, 25, 30), 2)
    ),
    "laptop": PredictionSizes(
        14,
        NetworkSizes((10, 10), 20_000, 10, (100, 300, 1000, 3000, 6000), 3),
        NetworkSizes((1,), 20_000, 8, (50, 100, 200, 400, 800), 2),
    ),
    "paper": PredictionSizes(
        14,
        NetworkSizes((16, 16), 60_000, 20, (100, 300, 1000, 3000, 6000), 8),
        NetworkSizes((2,), 60_000, 20, (100, 300, 1000, 3000, 6000), 8),
    ),
}


@dataclass(frozen=True, eq=False)
class Network:
    """A trained network, in evaluation mode, and the samples whose Hessians are computed."""

    name: str
    model: nn.Module
    x: Tensor
    y: Tensor
    accuracy: float

    @property
    def parameters(self) -> int:
        """The number of parameters P."""
        return sum(p.numel() for p in self.model.parameters())


def trained_networks(images: ImageSet, sizes: PredictionSizes, settings: Settings) -> Iterator[Network]:
    """Train one network after the other, in float64, and yield each."""

    def train(name: str, chosen: NetworkSizes, build: Callable[[int], nn.Module], flat: bool) -> Network:
        settings.report(f"training the {name}")
        x, y = shuffle(images, sizes.side, chosen.samples, settings, f"predictions, {name}")
        x = x.flatten(1) if flat else x[:, None]
        seed = int(settings.rng("predictions", name).integers(2**31))
        model = build(seed).to(settings.device)
        done = fit(model, x, y, FitSettings(chosen.epochs, batch=128, learning_rate=3e-3, seed=seed))
        return Network(name, model.eval(), x, y, done.accuracy)

    widths, width = sizes.perceptron.widths, sizes.resnet.widths[0]
    yield train("perceptron", sizes.perceptron, lambda seed: perceptron(sizes.side**2, widths, 10, seed), True)
    yield train(
        "ResNet-10",
        sizes.resnet,
        lambda seed: resnet(10, 10, seed, channels=1, width=width, dtype=torch.float64),
        False,
    )


def nested_hessians(model: nn.Module, x: Tensor, y: Tensor, sizes: tuple[int, ...]) -> Iterator[tuple[int, Tensor]]:
    """Yield the Hessians over the first M samples for increasing M; every sample is differentiated once."""
    total, done = None, 0
    for M in sizes:
        part = exact_hessian(model, nn.functional.cross_entropy, x[done:M], y[done:M]) * (M - done)
        total, done = part if total is None else total + part, M
        yield M, total / M


@dataclass(frozen=True, eq=False)
class Measured:
    """Eigenvalues (decreasing) and intervals of the stable rank by (M, subset), and the size of the noise.

    Attributes:
        spread: Size of the noise at the middle size, from how far the subsets differ.
    """

    eigenvalues: dict[tuple[int, int], Array]
    intervals: dict[tuple[int, int], tuple[float, float, float]]
    spread: float


def measure(network: Network, chosen: NetworkSizes, settings: Settings) -> Measured:
    """Measure exact spectra, and the stable rank from products with vectors, over disjoint subsets.

    Raises:
        ValueError: Fewer than two subsets, or fewer training samples than they need.
    """
    largest, middle = max(chosen.sizes), chosen.sizes[len(chosen.sizes) // 2]
    if chosen.subsets < 2 or chosen.subsets * largest > len(network.x):
        raise ValueError(f"need at least 2 subsets of {largest} samples among {len(network.x)}, got {chosen.subsets}")
    eigenvalues, intervals, at_middle = {}, {}, []
    for subset in range(chosen.subsets):
        x, y = (part[subset * largest : (subset + 1) * largest] for part in (network.x, network.y))
        for M, hessian in nested_hessians(network.model, x, y, chosen.sizes):
            settings.report(f"{network.name}, {M:,} samples, subset {subset + 1} of {chosen.subsets}")
            eigenvalues[M, subset] = torch.linalg.eigvalsh(hessian).flip(0).cpu().numpy()
            found = stable_rank(
                network.model,
                nn.functional.cross_entropy,
                (x[:M], y[:M]),
                batch_norm="running",
                seed=int(settings.rng("predictions", network.name, M, subset).integers(2**31)),
            )
            intervals[M, subset] = (found.value, found.low, found.high)
            if middle == M:
                at_middle.append(hessian)
    return Measured(eigenvalues, intervals, noise_size(at_middle))


@dataclass(frozen=True, eq=False)
class Fitted:
    """One way to fit: a model for each subset at the middle size, and the distance of the bulk from a semicircle."""

    name: str
    models: tuple[SpikedModel, ...]
    distance: float


def fits(measured: Measured, middle: int) -> Iterator[Fitted]:
    """Yield the fit to the spectrum, if there is one, and the fit with the measured size of the noise."""
    spectra = [values for (M, _), values in measured.eigenvalues.items() if middle == M]
    try:
        found = [fit_spiked(values) for values in spectra]
        yield Fitted("spectrum", tuple(f.model for f in found), float(np.mean([f.distance for f in found])))
    except ValueError:
        pass  # without noise next to the outliers the table lacks these rows, and the sentence says so
    yield Fitted("noise", tuple(with_noise(values, measured.spread) for values in spectra), float("nan"))


def compare(measured: Measured, fitted: Fitted, chosen: NetworkSizes) -> pd.DataFrame:
    """Return one row per M and quantity: measured with its range or interval, predicted, and their ratio."""
    middle = chosen.sizes[len(chosen.sizes) // 2]
    above, below = (int(n) for n in np.median([sides(model) for model in fitted.models], axis=0))
    rows: list[dict[str, object]] = []

    def add(M: int, quantity: str, values: Array, low: float, high: float, predicted: list[float]) -> None:
        mean, expected = float(np.mean(values)), float(np.mean(predicted))
        rows.append(
            {
                "M": M,
                "quantity": quantity,
                "measured": mean,
                "low": low,
                "high": high,
                "predicted": expected,
                "ratio": expected / mean if mean else float("nan"),
            }
        )

    for M in chosen.sizes:
        spectra = [measured.eigenvalues[M, subset] for subset in range(chosen.subsets)]
        P = len(spectra[0])
        models = [model.at_scale((middle / M) ** EXPONENT) for model in fitted.models]
        expected = [predicted_eigenvalues(model, P) for model in models]
        places = {f"outlier {i + 1}": i for i in range(TOP)} | {"upper edge": above, "lower edge": P - 1 - below}
        for quantity, place in places.items():
            values = np.array([spectrum[place] for spectrum in spectra])
            add(M, quantity, values, values.min(), values.max(), [values[place] for values in expected])
        ranks = [model.stable_rank(P).value for model in models]
        estimates, lows, highs = np.array([measured.intervals[M, s] for s in range(chosen.subsets)]).T
        exact = np.array([exact_stable_rank(spectrum) for spectrum in spectra])
        add(M, "stable rank", estimates, lows.min(), highs.max(), ranks)
        add(M, "exact stable rank", exact, exact.min(), exact.max(), ranks)
        inside = ((lows <= exact) & (exact <= highs)).mean(keepdims=True)
        add(M, "intervals that hold the exact value", inside, float("nan"), float("nan"), [float("nan")])
    table = pd.DataFrame(rows)
    return table.assign(
        fit=fitted.name, fitted_at=middle, above=above, below=below, distance=fitted.distance, subsets=chosen.subsets
    )


def predictions(images: ImageSet, sizes: PredictionSizes, settings: Settings) -> pd.DataFrame:
    """Train both networks, measure, fit and compare.

    Args:
        images: Any image set; the caller answers for its name.
        sizes: Networks, training and sample sizes.
        settings: Seed, device, progress.

    Returns:
        Columns network, parameters, widths, training (samples), accuracy, fit (`spectrum`: `fit_spiked` on all
        eigenvalues; `noise`: the size of the noise measured from disjoint subsets), fitted_at, above and below
        (outliers called on either side), distance (Kolmogorov, of the rest from the semicircle), subsets, M, quantity,
        measured, low and high (range over subsets; for the stable rank the union of its intervals), predicted, ratio
        (predicted over measured).
    """
    tables = []
    for network, chosen in zip(
        trained_networks(images, sizes, settings), (sizes.perceptron, sizes.resnet), strict=True
    ):
        measured = measure(network, chosen, settings)
        for fitted in fits(measured, chosen.sizes[len(chosen.sizes) // 2]):
            part = compare(measured, fitted, chosen)
            tables.append(
                part.assign(
                    network=network.name,
                    parameters=network.parameters,
                    training=len(network.x),
                    accuracy=network.accuracy,
                    widths=", ".join(map(str, chosen.widths)),
                )
            )
    first = ["network", "M", "quantity", "measured", "low", "high", "predicted", "ratio", "fit", "fitted_at"]
    table = pd.concat(tables, ignore_index=True)
    return table[first + [name for name in table.columns if name not in first]]


def predictions_data(settings: Settings) -> pd.DataFrame:
    """Compute the comparison on Fashion-MNIST.

    Raises:
        DataError: It is not on this machine.
    """
    with few_threads():
        return predictions(load("fashion-mnist", settings.data_root), settings.sizes(PREDICTION_SIZES), settings)


def predictions_headline(table: pd.DataFrame) -> str:
    """Return the headline: how far the edges of the fit are from the measured ones."""
    fitted = table[table.fit == "spectrum"]
    if fitted.empty:
        return "Apart from the outliers, no noise is left to fit"
    away = fitted[fitted.fitted_at != fitted.M]
    edges = away[away.quantity.isin(("upper edge", "lower edge"))].ratio
    return f"The spiked model predicts edges {edges.min():.2g} to {edges.max():.3g} times the measured ones"


def predictions_found(table: pd.DataFrame) -> str:
    """Return the finding by network and fit: outliers, distance of the bulk, ratios of predicted to measured."""
    parts = []
    for name, network in table.groupby("network", sort=False):
        if "spectrum" not in set(network.fit):
            parts.append(f"{name}: apart from the outliers, no noise is left to fit")
        for fit_name, part in network.groupby("fit", sort=False):
            away = part[part.fitted_at != part.M]

            def span(*quantities: str, rows: pd.DataFrame = away) -> str:
                ratios = rows[rows.quantity.isin(quantities)].ratio
                return f"{ratios.min():.3g} to {ratios.max():.3g}"

            count, P = int(part.above.iloc[0] + part.below.iloc[0]), int(part.parameters.iloc[0])
            how = "fitted to the spectrum" if fit_name == "spectrum" else "with the measured size of the noise"
            gap = part.distance.iloc[0]
            rest = f" (the rest at Kolmogorov distance {gap:.2f} from a semicircle)" if np.isfinite(gap) else ""
            parts.append(
                f"{name}, {how}: {count} of {P:,} eigenvalues are outliers{rest}; predicted over measured at the other "
                f"sizes is {span(*(f'outlier {i + 1}' for i in range(TOP)))} for the first five, "
                f"{span('upper edge')} and {span('lower edge')} for the edges, {span('stable rank')} for the stable "
                "rank"
            )
        exact = part[part.quantity == "exact stable rank"].sort_values("M")
        ends = [f"{exact.measured.iloc[place]:.2f} at M = {exact.M.iloc[place]:,}" for place in (0, -1)]
        parts.append(f"{name}, measured stable rank: {ends[0]}, {ends[1]}")
    held = table[(table.quantity == "intervals that hold the exact value")]
    held = held.drop_duplicates(["network", "M"])
    total, inside = int(held.subsets.sum()), round(float((held.measured * held.subsets).sum()))
    return (
        "Stated: Hessians of M samples are one matrix of few spikes plus semicircular noise of scale s(M); found, with "
        f"the model fitted at one M and s ~ M^-1/2: {'; '.join(parts)}. {inside} of {total} intervals of the stable "
        "rank hold its exact value."
    )


def predictions_sizes(table: pd.DataFrame) -> str:
    """Describe P, M, subsets and accuracy of both networks."""
    parts = []
    for name, part in table.groupby("network", sort=False):
        row = part.iloc[0]
        sizes = ", ".join(str(M) for M in sorted(part.M.unique()))
        parts.append(
            f"{name} (width {row.widths}): $P={row.parameters}$, trained on {row.training} samples (training accuracy "
            f"{100 * row.accuracy:.1f}%), $M={sizes}$, {row.subsets} disjoint subsets, fit at $M={row.fitted_at}$."
        )
    return " ".join(parts)


PREDICTIONS = Figure(
    id="hessian/predictions",
    title="Real Hessians at five sample sizes, and the spiked model fitted at one of them",
    caption=r"Tanh perceptron and narrow ResNet-10 (running statistics of batch norm) on pooled Fashion-MNIST images; "
    r"exact Hessians of the cross entropy at the trained weights over disjoint subsets of $M$ training samples. Marks: "
    r"mean over subsets, bars their range; the stable rank is estimated from matrix-vector products, and its bars "
    r"are the union of the 95% intervals. Lines: the spiked model fitted at the open mark, with $s(M)\propto "
    r"M^{-1/2}$: by the fit to "
    r"the spectrum (solid), and with the noise measured between disjoint subsets (dotted). Edges are the "
    r"eigenvalues next to the fitted outliers, by rank. Bottom: predicted over measured, fit to the spectrum (filled "
    r"marks) and measured noise (open marks).",
    data=predictions_data,
    draw=draw_predictions,
    headline=predictions_headline,
    found=predictions_found,
    sizes=predictions_sizes,
    datasets=("fashion-mnist",),
)
