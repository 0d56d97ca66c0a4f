"""Exact Hessians of a trained network at several sample sizes, and the spiked model fitted at one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from figures.figure import Figure, Scale, Settings
from figures.hessian.spectra_picture import draw_samples
from figures.spectrum.spiked_prediction import (
    exact_stable_rank,
    predicted_eigenvalues,
    root_mean_square,
    shuffle,
    sides,
    with_noise,
)
from figures.threads import few_threads
from hessian import exact_hessian
from hessian.fits.spiked_fit import fit_spiked, predict
from rmt import Semicircle, SpikedModel, distribution_distance
from workloads.data.datasets import ImageSet, load
from workloads.image_networks.fit import FitSettings, fit
from workloads.image_networks.small import perceptron

EXPONENTS = {"root": 0.5, "inverse": 1.0, "matched": 0.5}
"""Exponents a of s(M) ~ M^-a for each prediction: a mean of independent samples has 1/2, FedLoRU v2 calls 1 typical."""
TOP = 5
RANKS_SHOWN = 80


@dataclass(frozen=True)
class SampleSizes:
    """Image side, hidden layers, samples of the largest set, training, sizes M, subsets of each size.

    The model is fitted at the middle one of the sizes.
    """

    side: int
    hidden: tuple[int, ...]
    largest: int
    epochs: int
    sizes: tuple[int, ...]
    subsets: int


SAMPLE_SIZES: dict[Scale, SampleSizes] = {
    "quick": SampleSizes(7, (24, 24), 20_000, 10, (100, 400, 1600), 3),
    "laptop": SampleSizes(14, (16, 16), 60_000, 20, (100, 300, 1000, 3000, 6000), 5),
    "paper": SampleSizes(14, (64, 64), 60_000, 30, (100, 300, 1000, 3000, 6000), 8),
}


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues in decreasing order, and the first eigenvectors as columns."""

    eigenvalues: NDArray[np.float64]
    vectors: Tensor


def hessian_spectra(
    images: ImageSet, sizes: SampleSizes, settings: Settings, *, learning_rate: float = 3e-3
) -> pd.DataFrame:
    """Train the network, compute its Hessian over subsets of the images, fit the model and predict with it.

    Args:
        images: Any image set; the caller answers for its name.
        sizes: Network, training and sample sizes.
        settings: Seed, device, progress.
        learning_rate: Learning rate of the training.

    Returns:
        A long table: what (`kind`: `measured`, or the scaling of a prediction), which `quantity`, at how many samples
        `M`, in which `subset`, at which `index`, with which `value`.
    """
    x, y = shuffle(images, sizes.side, sizes.largest, settings, "hessian")
    x = x.flatten(1)
    seed = int(settings.rng("hessian", "weights").integers(2**31))
    model = perceptron(x.shape[1], sizes.hidden, 10, seed).to(settings.device)
    settings.report("training")
    trained = fit(model, x, y, FitSettings(sizes.epochs, batch=128, learning_rate=learning_rate, seed=seed))
    settings.report(f"Hessian of {len(x):,} samples")
    reference = _hessian(model, x, y)
    whole, P, N = _spectrum(reference), len(reference), len(x)
    measured = _Rows("measured")
    for name, value in (("parameters", P), ("accuracy", trained.accuracy), ("loss", trained.losses[-1])):
        measured.add(name, N, 0, 0, value)
    models: dict[str, list[SpikedModel]] = {name: [] for name in EXPONENTS}
    spectra = {(N, 0): whole}
    middle = sizes.sizes[len(sizes.sizes) // 2]
    for M in sizes.sizes:
        for subset in range(sizes.subsets):
            settings.report(f"Hessian of {M:,} samples, subset {subset + 1} of {sizes.subsets}")
            first = subset * max(sizes.sizes)  # disjoint subsets; the smaller sizes are their beginnings
            hessian = _hessian(model, x[first : first + M], y[first : first + M])
            spectrum = spectra[M, subset] = _spectrum(hessian)
            noise = torch.linalg.eigvalsh(hessian - reference).flip(0).cpu().numpy()
            _measure_noise(measured, noise, M, subset)
            overlaps = (whole.vectors * spectrum.vectors).sum(dim=0) ** 2
            measured.extend("overlap", M, subset, overlaps.cpu().numpy())
            shared = float((whole.vectors.T @ spectrum.vectors).square().sum()) / TOP
            measured.add("subspace", M, subset, 0, shared)
            if middle == M:
                fitted = fit_spiked(spectrum.eigenvalues)
                measured.add("distance", M, subset, 0, fitted.distance)
                measured.add("outliers", M, subset, 0, len(fitted.outliers))
                # The subset is a part of the largest set: its noise is 1/M - 1/N of one sample's, not 1/M.
                size = root_mean_square(noise) / (1.0 - M / N) ** 0.5
                models["root"].append(predict(fitted, 1.0))
                models["inverse"].append(predict(fitted, 1.0))
                models["matched"].append(with_noise(spectrum.eigenvalues, size))
                if subset == 0:
                    _show(measured, "noise eigenvalue", M, noise)
                    law = Semicircle(root_mean_square(noise))
                    semicircle = _Rows("semicircle")
                    _show(semicircle, "noise eigenvalue", M, law.quantile(1.0 - (np.arange(P) + 0.5) / P))
                    _show(measured, "eigenvalue", M, spectrum.eigenvalues)
    above, below = (int(n) for n in np.median([sides(model) for model in models["root"]], axis=0))
    for (M, subset), spectrum in spectra.items():
        _describe(measured, spectrum.eigenvalues, M, subset, above, below)
    tables = [measured.table(), semicircle.table()]
    for name, exponent in EXPONENTS.items():
        rows = _Rows(name)
        for subset, fitted_model in enumerate(models[name]):
            for M in (*sizes.sizes, N):
                _predict(rows, fitted_model.at_scale((middle / M) ** exponent), P, M, subset, above, below)
        if name == "root":
            _show(rows, "eigenvalue", middle, predicted_eigenvalues(models[name][0], P))
        tables.append(rows.table())
    table = pd.concat(tables, ignore_index=True)
    return table.assign(fitted_at=middle, largest=N)


class _Rows:
    """Rows of the long table for one kind."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.rows: list[tuple[str, int, int, int, float]] = []

    def add(self, quantity: str, M: int, subset: int, index: int, value: float) -> None:
        self.rows.append((quantity, M, subset, index, float(value)))

    def extend(self, quantity: str, M: int, subset: int, values: NDArray[np.float64]) -> None:
        for index, value in enumerate(values, start=1):
            self.add(quantity, M, subset, index, value)

    def table(self) -> pd.DataFrame:
        table = pd.DataFrame(self.rows, columns=["quantity", "M", "subset", "index", "value"])
        table.insert(0, "kind", self.kind)
        return table


def _hessian(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return exact_hessian(model, nn.functional.cross_entropy, x, y)


def _spectrum(hessian: Tensor) -> Spectrum:
    eigenvalues, vectors = torch.linalg.eigh(hessian)
    # A copy, or the few columns would keep the whole matrix.
    return Spectrum(eigenvalues.flip(0).cpu().numpy(), vectors[:, -TOP:].flip(1).clone())


def _measure_noise(rows: _Rows, noise: NDArray[np.float64], M: int, subset: int) -> None:
    """Add the eigenvalues of the difference from the largest set, and a semicircle of the same second moment."""
    rows.add("noise spread", M, subset, 0, root_mean_square(noise))
    rows.add("noise norm", M, subset, 0, float(np.abs(noise).max()))
    rows.add("noise distance", M, subset, 0, distribution_distance(noise, Semicircle(root_mean_square(noise))))


def _describe(rows: _Rows, eigenvalues: NDArray[np.float64], M: int, subset: int, above: int, below: int) -> None:
    """Add the quantities compared between measured and predicted spectra; edges and spread use the same ranks."""
    bulk = eigenvalues[above : len(eigenvalues) - below]
    rows.extend("top", M, subset, eigenvalues[:TOP])
    rows.add("upper edge", M, subset, 0, bulk[0])
    rows.add("lower edge", M, subset, 0, bulk[-1])
    rows.add("spread", M, subset, 0, root_mean_square(bulk))
    if rows.kind == "measured":
        rows.add("stable rank", M, subset, 0, exact_stable_rank(eigenvalues))


def _predict(rows: _Rows, model: SpikedModel, P: int, M: int, subset: int, above: int, below: int) -> None:
    _describe(rows, predicted_eigenvalues(model, P), M, subset, above, below)
    rows.add("stable rank", M, subset, 0, model.stable_rank(P).value)
    rows.add("noise spread", M, subset, 0, model.sigma())
    rows.add("noise norm", M, subset, 0, model.bulk_edges[1])
    rows.extend("overlap", M, subset, np.array([o.overlap for o in model.outliers[:TOP]]))


def _show(rows: _Rows, quantity: str, M: int, eigenvalues: NDArray[np.float64]) -> None:
    for rank in _ranks(len(eigenvalues)):
        rows.add(quantity, M, 0, rank, eigenvalues[rank - 1])


def _ranks(R: int) -> Iterator[int]:
    """Yield ranks from 1 to R, dense at both ends."""
    half = np.unique(np.geomspace(1, (R + 1) // 2, min(RANKS_SHOWN, R)).astype(int))
    yield from np.unique(np.concatenate([half, R + 1 - half])).tolist()


def fmnist_data(settings: Settings) -> pd.DataFrame:
    """Measure on Fashion-MNIST.

    Raises:
        DataError: It is not on this machine.
    """
    with few_threads():
        return hessian_spectra(load("fashion-mnist", settings.data_root), settings.sizes(SAMPLE_SIZES), settings)


def samples_headline(table: pd.DataFrame) -> str:
    """Return the headline: the overlap of the top eigenvector that the fit predicts, and the measured one."""
    _, _, overlap, least = _noise(table)
    return f"The fit predicts an overlap of {overlap[0]:.2f}, where {overlap[1]:.2f} is measured (M = {least})"


def _mean(table: pd.DataFrame, kind: str, quantity: str, M: int, index: int = 0) -> float:
    part = table[(table.kind == kind) & (table.quantity == quantity) & (table.M == M) & (table["index"] == index)]
    return float(part.value.mean())


def _noise(table: pd.DataFrame) -> tuple[float, float, list[float], int]:
    """Return the noise's exponent, its distance from a semicircle, predicted and measured overlap at the least M."""
    noise = table[(table.kind == "measured") & (table.quantity == "noise spread")]
    N, M0, least = int(table.largest.iloc[0]), int(table.fitted_at.iloc[0]), int(noise.M.min())
    # Subsets are parts of the largest set, so the mean square of the difference is 1/M - 1/N times one sample's.
    slope = float(np.polyfit(np.log(1.0 / noise.M - 1.0 / N), np.log(noise.value), 1)[0])
    overlap = [_mean(table, kind, "overlap", least, 1) for kind in ("root", "measured")]
    return slope, _mean(table, "measured", "noise distance", M0), overlap, least


def samples_found(table: pd.DataFrame) -> str:
    """Return the finding: the noise's exponent, distances of bulk and noise from a semicircle, prediction errors."""
    mean = partial(_mean, table)
    slope, law, overlap, least = _noise(table)
    N, M0 = int(table.largest.iloc[0]), int(table.fitted_at.iloc[0])
    distance, outliers = mean("measured", "distance", M0), mean("measured", "outliers", M0)
    ratio = mean("root", "noise spread", M0) / mean("measured", "noise spread", M0)
    top = [mean("root", "top", M, 1) / mean("measured", "top", M, 1) - 1.0 for M in (least, N)]
    rank = [mean("root", "stable rank", M) / mean("measured", "stable rank", M) for M in (least, N)]
    return (
        "Stated: a sample Hessian is the true one plus Wigner noise of scale s(M), typically 1/M; found: the noise "
        f"falls as (1/M - 1/N)^{slope:.2f} and its law is at Kolmogorov distance {law:.2f} from a semicircle; the "
        f"semicircle fitted at M = {M0:,} leaves {outliers:.0f} outliers, is at distance {distance:.2f} from the rest "
        f"and has {ratio:.2f} times the measured noise; with s ~ M^-1/2 the fit predicts the top eigenvalue "
        f"{100 * top[0]:+.1f}% and {100 * top[1]:+.1f}% off and {rank[0]:.2f} and {rank[1]:.2f} times the measured "
        f"stable rank at M = {least:,} and {N:,}, and an overlap of the top eigenvector with that of the largest set "
        f"of {overlap[0]:.2f} where {overlap[1]:.2f} is measured (M = {least:,})."
    )


def samples_sizes(table: pd.DataFrame) -> str:
    """Describe P, M, N, subsets and accuracy."""
    measured = table[table.kind == "measured"].set_index("quantity")
    P, accuracy = int(measured.value["parameters"]), float(measured.value["accuracy"])
    N, M0 = int(table.largest.iloc[0]), int(table.fitted_at.iloc[0])
    sizes = [M for M in sorted(table.M.unique()) if N > M]
    return (
        f"$P={P}$ parameters, $M={', '.join(map(str, sizes))}$ with {measured.subset.max() + 1} disjoint subsets each, "
        f"fit at $M={M0}$, largest set $N={N}$ (training accuracy {100 * accuracy:.1f}%)."
    )


FMNIST = Figure(
    id="hessian/fmnist-exact",
    title="Exact Hessians of a network on Fashion-MNIST, and the spiked model fitted at one sample size",
    caption=r"Tanh perceptron on pooled Fashion-MNIST images, trained on the largest set; exact Hessians of the cross "
    r"entropy at the same weights over subsets of $M$ samples. The largest set, which contains the subsets, serves "
    r"as $H_{\mathrm{true}}$. The spiked model is fitted to the eigenvalues at one $M$ (open mark) and predicted at "
    r"the others by $s(M)\propto M^{-1/2}$ and by $s(M)\propto M^{-1}$; dotted: with the measured noise $H_M-H_N$ "
    r"at the fitted $M$ instead of the fitted noise. (a) Number of eigenvalues beyond $x$ on either side, at the "
    r"fitted $M$. (b) The same for the noise $H_M-H_N$ and for a semicircle of the same second "
    r"moment. (c) Largest eigenvalues, (d) edges of the bulk (all eigenvalues except the fitted outliers), by "
    r"rank, (e) "
    r"size of $H_M-H_N$, (f) stable rank, (g) overlap of top eigenvectors with those of the largest set, (h) predicted "
    r"over measured for $M^{-1/2}$. Bars: range over subsets; shades: range over the fits to the subsets.",
    data=fmnist_data,
    draw=draw_samples,
    headline=samples_headline,
    found=samples_found,
    sizes=samples_sizes,
    datasets=("fashion-mnist",),
)
