"""Gauss-Newton matrices of small networks at several sample sizes, compared with three parameter-free predictions.

All three use the matrix of N samples and the scatter of single samples. The spiked Wigner model uses the size of the
scatter, the weighted covariance the spectrum of each sample, and the bootstrap each sample's block in the top
eigenvectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh
from torch import Tensor, nn

from figures.figure import Figure, Scale, Settings
from figures.hessian.covariance_picture import draw_covariance_figure
from figures.spectrum.spiked_prediction import Array, shuffle
from figures.threads import few_threads
from hessian import bootstrap_eigenvalues, fit_covariance, sample_factors, spectra_of
from rmt import Semicircle, SpikedModel
from workloads.data.datasets import ImageSet, load
from workloads.image_networks.fit import FitSettings, fit
from workloads.image_networks.small import perceptron, small_convnet
from workloads.image_networks.vit import vit

TOP = 5
DIRECTIONS = 20
"""Number of directions in the blocks that the bootstrap resamples."""
RESAMPLES = 40


@dataclass(frozen=True)
class CovarianceSizes:
    """Training samples, epochs of the stages, samples N of the matrix, sizes M, subsets of each, seeds."""

    training: int
    stages: tuple[int, ...]
    samples: int
    sizes: tuple[int, ...]
    subsets: int
    seeds: int


COVARIANCE_SIZES: dict[Scale, CovarianceSizes] = {
    "quick": CovarianceSizes(500, (0, 3), 120, (15, 60), 3, 1),
    "laptop": CovarianceSizes(3000, (0, 1, 10), 500, (20, 40, 80, 160, 250), 6, 5),
    "paper": CovarianceSizes(60_000, (0, 1, 20), 10_000, (50, 100, 300, 1000, 3000), 16, 5),
}


def build(name: str, seed: int) -> tuple[nn.Module, int]:
    """Return an untrained network in float64, and the side of its images."""
    if name == "perceptron":
        return nn.Sequential(nn.Flatten(), *perceptron(49, (12, 12), 10, seed)), 7
    if name == "CNN":
        return small_convnet(14, (2,), 10, seed), 14
    return vit(10, seed, channels=1, side=28, adapt="pad", patch=8, width=6, depth=1, dtype=torch.float64), 28


NETWORKS = ("perceptron", "CNN", "attention")


@dataclass(frozen=True, eq=False)
class Stage:
    """A network at one stage of its training: factors (N, K, P) of N samples, and the spectrum of their matrix."""

    network: str
    epochs: int
    seed: int
    accuracy: float
    factors: Tensor
    eigenvalues: Array
    vectors: Tensor

    @property
    def parameters(self) -> int:
        """The number of parameters P."""
        return self.factors.shape[2]


def train_stages(images: ImageSet, sizes: CovarianceSizes, settings: Settings) -> Iterator[Stage]:
    """Train every network with every seed, and yield it at every stage."""
    for name in NETWORKS:
        for seed in range(sizes.seeds):
            drawn = int(settings.rng("covariance", name, seed).integers(2**31))
            model, side = build(name, drawn)
            purpose = f"covariance, {name}, {seed}"
            x, y = shuffle(images, side, sizes.training, settings, purpose)
            x = x[:, None]
            before, model = 0, model.to(settings.device).eval()
            for epochs in sizes.stages:
                settings.report(f"{name}, seed {seed}, {epochs} epochs")
                further = FitSettings(epochs - before, batch=64, learning_rate=3e-3, seed=drawn + before)
                accuracy = fit(model, x, y, further).accuracy
                before = epochs
                batch = x[: sizes.samples], y[: sizes.samples]
                factors = torch.stack(list(sample_factors(model, nn.functional.cross_entropy, batch)))
                rows = factors.reshape(-1, factors.shape[2])
                values, vectors = torch.linalg.eigh(rows.T @ rows / len(factors))
                top = vectors.flip(1)[:, :DIRECTIONS]
                yield Stage(name, epochs, seed, accuracy, factors, values.flip(0).cpu().numpy(), top)


@dataclass(frozen=True, eq=False)
class Measurement:
    """Spectrum of a subset, measured or predicted.

    Attributes:
        eigenvalues: The first ones, decreasing.
        overlaps: Squared inner products of their eigenvectors with those of all samples, of equal rank.
        subspace: Mean squared cosine between the subspaces of the first ones.
        stable_rank: Squared Frobenius norm over the squared first eigenvalue.
        vector: First eigenvector of a subset.
        alignment: Predicted squared inner product of the first eigenvectors of two clients.
    """

    eigenvalues: Array
    overlaps: Array
    subspace: float
    stable_rank: float
    vector: Tensor | None = None
    alignment: float = float("nan")


def measure(stage: Stage, M: int, subset: NDArray[np.int64]) -> Measurement:
    """Return the exact spectrum over some samples."""
    rows = stage.factors[torch.from_numpy(subset)].reshape(-1, stage.parameters) / M**0.5
    wide = len(rows) < stage.parameters
    matrix = rows @ rows.T if wide else rows.T @ rows
    values, vectors = eigsh(matrix.cpu().numpy(), k=TOP, which="LA", v0=np.ones(len(matrix)))
    top = torch.from_numpy(vectors[:, ::-1].copy()).to(rows)
    if wide:
        top = rows.T @ top
        top = top / top.norm(dim=0)
    shares = (stage.vectors[:, :TOP].T @ top).square()
    rank = float(matrix.square().sum()) / float(values[-1]) ** 2
    return Measurement(values[::-1], shares.diagonal().cpu().numpy(), float(shares.sum()) / TOP, rank, top[:, 0])


def measure_clients(
    stage: Stage, M: int, subsets: int, rng: np.random.Generator
) -> tuple[list[Measurement], list[float]]:
    """Measure subsets of M samples, two of them disjoint where possible, and the alignments of these pairs."""
    found: list[Measurement] = []
    between = []
    while len(found) < subsets:
        order = rng.permutation(len(stage.factors))
        pair = [measure(stage, M, part) for part in (order[:M], order[M : 2 * M]) if len(part) == M]
        if len(pair) == 2 and pair[0].vector is not None and pair[1].vector is not None:
            between.append(float((pair[0].vector @ pair[1].vector) ** 2))
        found += pair
    return found[:subsets], between or [float("nan")]


def wigner_prediction(stage: Stage, scatter: float) -> Measurement:
    """Return the spiked Wigner prediction: eigenvalues of all samples as spikes, noise of a squared Frobenius norm."""
    spikes = stage.eigenvalues[stage.eigenvalues > 1e-12 * stage.eigenvalues[0]]
    spiked = SpikedModel(tuple(spikes), Semicircle((scatter / stage.parameters) ** 0.5))
    first = spiked.outliers[:TOP]
    overlaps = np.array([o.overlap for o in first])
    return Measurement(
        np.array([o.location for o in first]),
        overlaps,
        float(overlaps.mean()),
        float(stage.eigenvalues @ stage.eigenvalues + scatter) / spiked.spectral_norm**2,
        alignment=float(overlaps[0] ** 2),
    )


def compare(stage: Stage, sizes: CovarianceSizes, settings: Settings) -> pd.DataFrame:
    """Return one row for each M, quantity and model."""
    spectra = spectra_of(stage.factors, stage.vectors)
    model = fit_covariance(stage.eigenvalues, spectra)
    rng = settings.rng("covariance subsets", stage.network, stage.seed, stage.epochs)
    first, others = stage.eigenvalues[0], stage.eigenvalues[1:]
    condition = spectra.trace**2 / model.frobenius_squared - 1.0 - 2.0 * float((others / (first - others)).sum())
    rows: list[dict[str, object]] = []
    for M in sizes.sizes:
        found, between = measure_clients(stage, M, sizes.subsets, rng)
        values, shares = bootstrap_eigenvalues(spectra, M, RESAMPLES, rng)
        predicted = model.predict(M, top=TOP)
        models = {
            "covariance": Measurement(
                predicted.eigenvalues,
                predicted.overlaps.diagonal(),
                float(predicted.overlaps.sum()) / TOP,
                predicted.stable_rank,
                alignment=float((predicted.overlaps[0] ** 2).sum()),
            ),
            "Wigner": wigner_prediction(stage, predicted.frobenius_squared - model.frobenius_squared),
            "bootstrap": Measurement(
                values.mean(axis=0)[:TOP],
                np.diagonal(shares, axis1=1, axis2=2).mean(axis=0)[:TOP],
                float(shares[:, :TOP, :TOP].sum(axis=(1, 2)).mean()) / TOP,
                predicted.frobenius_squared / float((values[:, 0] ** 2).mean()),
                alignment=float((shares[:, 0].mean(axis=0) ** 2).sum()),
            ),
        }
        inside = [predicted.low[0] <= one.eigenvalues[0] <= predicted.high[0] for one in found]
        held = [predicted.stable_rank_low <= one.stable_rank <= predicted.stable_rank_high for one in found]
        for name, one in models.items():

            def add(quantity: str, seen: list[float], expected: float, name: str = name, M: int = M) -> None:
                rows.append(
                    {
                        "M": M,
                        "quantity": quantity,
                        "model": name,
                        "measured": float(np.mean(seen)),
                        "low": min(seen),
                        "high": max(seen),
                        "predicted": float(expected),
                    }
                )

            for place in range(TOP):
                seen = [float(subset.eigenvalues[place]) for subset in found]
                add(f"eigenvalue {place + 1}", seen, one.eigenvalues[place])
                add(f"overlap {place + 1}", [float(s.overlaps[place]) for s in found], one.overlaps[place])
            add("subspace", [subset.subspace for subset in found], one.subspace)
            add("stable rank", [subset.stable_rank for subset in found], one.stable_rank)
            add("alignment", between, one.alignment)
        rows.append(
            {
                "M": M,
                "quantity": "intervals that hold",
                "model": "covariance",
                "measured": float(np.mean([inside, held])),
                "predicted": 0.95,
            }
        )
    return pd.DataFrame(rows).assign(
        network=stage.network,
        epochs=stage.epochs,
        seed=stage.seed,
        parameters=stage.parameters,
        samples=len(stage.factors),
        subsets=sizes.subsets,
        accuracy=stage.accuracy,
        condition=condition,
        rank_of_all=model.frobenius_squared / first**2,
    )


def covariance_table(images: ImageSet, sizes: CovarianceSizes, settings: Settings) -> pd.DataFrame:
    """Train, measure and predict.

    Args:
        images: Any image set; the caller answers for its name.
        sizes: Networks' data, sample sizes, seeds.
        settings: Seed, device, progress.

    Returns:
        Columns M, quantity (eigenvalue and overlap 1 to 5, subspace of
        these five, stable rank, alignment of two clients, intervals that hold), model (covariance,
        Wigner, bootstrap), measured, low and high (mean and range over subsets), predicted, network, epochs, seed,
        parameters, samples (N), subsets, accuracy, condition (positive where the first order in 1/M predicts that
        fewer samples raise the stable rank), rank_of_all (of N samples).
    """
    tables = [compare(stage, sizes, settings) for stage in train_stages(images, sizes, settings)]
    return pd.concat(tables, ignore_index=True)


def covariance_data(settings: Settings) -> pd.DataFrame:
    """Compute the comparison on Fashion-MNIST.

    Raises:
        DataError: It is not on this machine.
    """
    with few_threads():
        return covariance_table(load("fashion-mnist", settings.data_root), settings.sizes(COVARIANCE_SIZES), settings)


def errors(table: pd.DataFrame, quantities: str, model: str) -> Array:
    """Return the relative errors of a prediction; for overlaps, the absolute ones."""
    rows = table[table.quantity.str.startswith(quantities) & (table.model == model)]
    off = (rows.predicted - rows.measured).abs().dropna()
    return np.asarray(off / rows.measured.loc[off.index] if quantities in ("eigenvalue", "stable rank") else off)


def _describe_errors(table: pd.DataFrame, name: str, model: str) -> str:
    off = 100 * errors(table, name, model)
    return f"{np.median(off):.2g} % (at most {off.max():.3g} %)"


def signs(table: pd.DataFrame) -> tuple[int, int, int]:
    """Count trained networks whose rank at the smallest M exceeds the rank at N, predictions of it, and agreements."""
    rows = table[(table.quantity == "stable rank") & (table.model == "covariance") & (table.M.min() == table.M)]
    rises, told = np.asarray(rows.measured > rows.rank_of_all), np.asarray(rows.condition > 0)
    return int(rises.sum()), int(told.sum()), int((rises == told).sum())


def covariance_headline(table: pd.DataFrame) -> str:
    """Return the headline: median errors of the stable rank by both models."""
    covariance, wigner = (
        f"{100 * np.median(errors(table, 'stable rank', model)):.1f} %" for model in ("covariance", "Wigner")
    )
    return f"Median error of the stable rank: weighted covariance {covariance}, spiked Wigner model {wigner}"


def covariance_found(table: pd.DataFrame) -> str:
    """Return the finding: median and largest errors of each model, coverage, and the order of client and server."""
    parts = []
    for model in ("covariance", "Wigner", "bootstrap"):
        said = (
            f"{_describe_errors(table, 'stable rank', model)} for the stable rank, "
            f"{_describe_errors(table, 'eigenvalue', model)} for the first five eigenvalues"
        )
        shares = [
            f"{np.median(off):.2f} (at most {off.max():.2f}) for {what}"
            for quantity, what in (
                ("overlap", "their overlaps"),
                ("subspace", "their subspace"),
                ("alignment", "two clients' alignment"),
            )
            if len(off := errors(table, quantity, model))
        ]
        parts.append(f"{model}: {said}, {', '.join(shares)}")
    held = table[table.quantity == "intervals that hold"].measured.mean()
    rises, told, agree = signs(table)
    total = len(table.drop_duplicates(["network", "epochs", "seed"]))
    return (
        "Stated: sampled Hessians are a matrix plus Wigner noise, and the smaller sample has the larger stable rank; "
        f"found, as median errors of predictions without any fit: {'; '.join(parts)}. The covariance model's 95 % "
        f"intervals contain {100 * held:.0f} % of subsets. At the smallest M the rank is larger than at N for "
        f"{rises} of "
        f"{total} networks; the first-order condition predicts this for {told}, and is right for {agree}."
    )


def covariance_sizes(table: pd.DataFrame) -> str:
    """Describe P, N, M, stages and seeds."""
    parts = [
        f"{name}: $P={int(part.parameters.iloc[0])}$, training accuracy at the stages "
        + ", ".join(f"{100 * a:.0f}%" for a in part.groupby("epochs").accuracy.mean())
        for name, part in table.groupby("network", sort=False)
    ]
    row, epochs, sizes = table.iloc[0], *(", ".join(map(str, sorted(of.unique()))) for of in (table.epochs, table.M))
    return (
        f"{'; '.join(parts)}. Stages after {epochs} epochs, $N={row.samples}$, $M={sizes}$, {row.subsets} subsets "
        f"each, {table.seed.nunique()} seeds."
    )


COVARIANCE = Figure(
    id="hessian/covariance",
    title="Gauss-Newton matrices at several sample sizes, and a weighted covariance that predicts them",
    caption=r"Tanh perceptron, convolutional network and one-layer attention network on Fashion-MNIST at stages of "
    r"their training; Gauss-Newton matrices of the cross entropy over random subsets of $M$ of $N$ samples. Upper "
    r"rows: each network at its last stage, first seed, eigenvalues and overlaps 1, 2 and 5; marks: mean over subsets, "
    r"bars their range. Lines: three predictions from the $N$ samples without any fit: a sample covariance "
    r"weighted by each sample's own spectrum (solid), the spiked Wigner model with the exact size of the noise "
    r"(dotted), "
    r"resampled blocks in the top eigenvectors (dashed). Bottom: predicted over measured stable rank and first "
    r"eigenvalue, difference of the first overlap; all stages and seeds.",
    data=covariance_data,
    draw=draw_covariance_figure,
    headline=covariance_headline,
    found=covariance_found,
    sizes=covariance_sizes,
    datasets=("fashion-mnist",),
)
