"""FedLoRU v2, Figure 1 (iclr Figure 2a): stable ranks during training on 50 and on 500 samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import pandas as pd
import torch
from torch import Tensor, nn

from figures.fedloru.fig1_picture import draw_fig1
from figures.figure import DataChoice, Figure, Scale, Settings
from figures.pieces import piece
from figures.spectrum.spiked_prediction import shuffle
from figures.threads import few_threads
from hessian import Curvature, stable_rank_of
from hessian.fits.density_reading import AS_PLOTTED, RAW_NODES, printed_stable_rank
from hessian.lanczos.quadrature import SpectralMeasure
from hessian.pyhessian.backend import PyHessianSettings, density_quadrature
from workloads.data.datasets import REGISTRY, ImageSet, find, load
from workloads.image_networks.fit import FitSettings, fit
from workloads.image_networks.resnet import resnet

BATCH_NORM = "running"
"""Policies of batch norm: training statistics, and the statistics of a model in evaluation mode."""
ESTIMATORS = ("eq. 87, densities", "eq. 87, masses", "stable rank")
WEIGHTS = ("own", "common")
PAPERS_DATA, DATA_AT_HAND = "cifar-100", "fashion-mnist"


@dataclass(frozen=True)
class Fig1Sizes:
    """Side of the pooled images, network, samples of client and server, runs, training, when to measure, and how.

    Attributes:
        every: Epochs between measurements.
        iterations: Lanczos steps of PyHessian's density, from one random vector; its default is 100.
        relative_width: Width asked of the interval of the stable rank, relative to the value.
    """

    side: int
    depth: int
    width: int
    client: int
    server: int
    runs: int
    epochs: int
    every: int
    iterations: int
    learning_rate: float = 0.05
    batch: int = 32
    relative_width: float = 0.1


FIG1_SIZES: dict[Scale, Fig1Sizes] = {
    "quick": Fig1Sizes(7, 10, 1, 20, 100, 2, 4, 2, 12),
    "laptop": Fig1Sizes(14, 10, 4, 50, 500, 3, 30, 5, 40),
    "paper": Fig1Sizes(28, 18, 64, 50, 500, 5, 100, 5, 100),
}
"""On CIFAR-100 the images keep their side of 32."""


def eq_87(measure: SpectralMeasure) -> tuple[float, float]:
    """Return the estimate of eq. (87), from smoothed densities as PyHessian plots them, and from the node weights."""
    return printed_stable_rank(measure, AS_PLOTTED).value, printed_stable_rank(measure, RAW_NODES).value


def fig1(images: ImageSet, sizes: Fig1Sizes, settings: Settings) -> pd.DataFrame:
    """Train on both numbers of samples in every run, and measure every few epochs.

    In each run the client's samples are the first of the server's, and both models start from the same weights. `own`
    weights are those trained on the samples whose Hessian is taken, as in the paper; `common` weights are those
    trained on the server's samples, for both Hessians.

    Args:
        images: Any image set; the caller answers for its name.
        sizes: Network, training, measurements.
        settings: Seed, device, progress.

    Returns:
        Columns weights, samples, run, epoch, estimator, value, low, high (the ends of the interval, or the value),
        and of the training: loss, parameters, depth, width, side.
    """
    x, y = shuffle(images, sizes.side, sizes.runs * sizes.server, settings, "fig-1", torch.float32)
    x = x[:, None] if x.ndim == 3 else x  # grey images have one channel
    rows: list[dict[str, object]] = []
    for run in range(sizes.runs):
        mine = slice(run * sizes.server, (run + 1) * sizes.server)
        whole = x[mine], y[mine]
        part = whole[0][: sizes.client], whole[1][: sizes.client]
        client, server = (sizes.client, part), (sizes.server, whole)
        for name, data, measured in (
            ("own", part, [("own", *client)]),
            ("common", whole, [("common", *client), ("common", *server)]),
        ):
            trained = partial(trajectory, run, data, measured, images.classes, sizes, settings)
            rows += piece(settings, f"run {run + 1}, {name} weights", trained)
    table = pd.DataFrame(rows)
    # The server's own weights are the common ones.
    again = table[(table.weights == "common") & (table.samples == sizes.server)].assign(weights="own")
    table = pd.concat([table, again], ignore_index=True)
    return table.assign(depth=sizes.depth, width=sizes.width, side=sizes.side)


def trajectory(
    run: int,
    data: tuple[Tensor, Tensor],
    measured: list[tuple[str, int, tuple[Tensor, Tensor]]],
    classes: int,
    sizes: Fig1Sizes,
    settings: Settings,
) -> list[dict[str, object]]:
    """Train a fresh network on the data and yield the Hessians of the measured sets every few epochs."""
    seed = int(settings.rng("fig-1", "weights", run).integers(2**31))
    channels = data[0].shape[1]
    model = resnet(sizes.depth, classes, seed, channels=channels, width=sizes.width).to(settings.device)
    rows: list[dict[str, object]] = []

    def measure(epoch: int, loss: float) -> None:
        if epoch % sizes.every:
            return
        for weights, samples, batch in measured:
            settings.report(f"run {run + 1}, epoch {epoch}, {len(data[1])}-sample weights, {samples}-sample Hessian")
            operator = Curvature(model, nn.functional.cross_entropy, batch, batch_norm=BATCH_NORM)
            rng = settings.rng("fig-1", run, weights, samples, epoch)
            asked = PyHessianSettings(iterations=min(sizes.iterations, operator.P), seed=int(rng.integers(2**31)))
            quadrature = density_quadrature(model, nn.CrossEntropyLoss(), batch, asked)
            densities, masses = eq_87(quadrature.measure)
            found = stable_rank_of(operator, rng=rng, relative_width=sizes.relative_width)
            at = {
                "weights": weights,
                "samples": samples,
                "run": run,
                "epoch": epoch,
                "loss": loss,
                "parameters": operator.P,
            }
            for estimator, value, low, high in (
                (ESTIMATORS[0], densities, densities, densities),
                (ESTIMATORS[1], masses, masses, masses),
                (ESTIMATORS[2], found.value, found.low, found.high),
            ):
                rows.append(at | {"estimator": estimator, "value": value, "low": low, "high": high})

    how = FitSettings(sizes.epochs, sizes.batch, sizes.learning_rate, optimizer="sgd", seed=seed)
    fit(model, *data, how, progress=measure)
    return rows


def fig1_choice(settings: Settings) -> DataChoice:
    """Choose Fashion-MNIST; at the paper's scale CIFAR-100 if it is on this machine, otherwise with a note."""
    if settings.scale != "paper":
        return DataChoice((DATA_AT_HAND,))
    if find(PAPERS_DATA, settings.data_root) is not None:
        return DataChoice((PAPERS_DATA,))
    wanted, used = REGISTRY[PAPERS_DATA].title, REGISTRY[DATA_AT_HAND].title
    return DataChoice(
        (DATA_AT_HAND,), f"{wanted}, the paper's data, was not found: the genuine {used} was used instead"
    )


def fig1_data(settings: Settings) -> pd.DataFrame:
    """Measure on the data set that `fig1_choice` names.

    Raises:
        DataError: It is not on this machine, or damaged.
    """
    (name,) = fig1_choice(settings).names
    images, sizes = load(name, settings.data_root), settings.sizes(FIG1_SIZES)
    if name == PAPERS_DATA:
        sizes = replace(sizes, side=images.images.shape[-1])
    with few_threads():
        return fig1(images, sizes, settings)


def pairs(table: pd.DataFrame, weights: str, estimator: str) -> pd.DataFrame:
    """Return one row per run and epoch: client, server, and whether the client's interval is above or below."""
    part = table[(table.weights == weights) & (table.estimator == estimator)]
    few, many = int(table.samples.min()), int(table.samples.max())
    client, server = (part[part.samples == size].set_index(["run", "epoch"]) for size in (few, many))
    return pd.DataFrame(
        {
            "client": client.value,
            "server": server.value,
            "above": client.low > server.high,
            "below": client.high < server.low,
        }
    )


def fig1_headline(table: pd.DataFrame) -> str:
    """Return the headline: how often the smaller sample has the larger stable rank, by weights."""
    few, many = int(table.samples.min()), int(table.samples.max())
    told = []
    for weights in WEIGHTS:
        both = pairs(table, weights, ESTIMATORS[2])
        told.append(f"{int((both.client > both.server).sum())} of {len(both)}")
    return f"Larger stable rank with {few} samples than with {many}: {', '.join(told)}"


def fig1_found(table: pd.DataFrame) -> str:
    """Return the finding: how often, and by how much, the client's estimate exceeds the server's."""
    few, many = int(table.samples.min()), int(table.samples.max())
    parts: list[str] = []
    for weights in WEIGHTS:
        lines = []
        for estimator in ESTIMATORS:
            both = pairs(table, weights, estimator)
            means = both.groupby(level="epoch")[["client", "server"]].mean()
            over = int((means.client > means.server).sum())
            text = (
                f"{estimator}: {int((both.client > both.server).sum())} of {len(both)} (the mean over runs: {over} of "
                f"{len(means)} epochs; median ratio {(both.client / both.server).median():.2f}"
            )
            if estimator == ESTIMATORS[2]:
                text += f"; intervals apart: {int(both.above.sum())} above, {int(both.below.sum())} below"
            lines.append(text + ")")
        where = "separately trained weights" if weights == "own" else f"common weights, trained on the {many} samples"
        parts.append(f"at {where}, {'; '.join(lines)}")
    spans = []
    for estimator in ESTIMATORS[:2]:
        columns = ["weights", "samples", "run", "epoch"]
        estimate, rank = (table[table.estimator == e].set_index(columns).value for e in (estimator, ESTIMATORS[2]))
        ratio = estimate / rank
        spans.append(f"{estimator}, {ratio.min():.2g} to {ratio.max():.2g} times the stable rank")
    return (
        f"Stated: during training, Hessians of {few} samples have a consistently larger estimated stable rank than "
        f"those of {many}; found, as the number of measurements (run and epoch) in which the Hessian of {few} "
        f"samples has the larger one: {'. '.join([parts[0], *(part[0].upper() + part[1:] for part in parts[1:])])}. "
        f"Of the same Hessian: {'; '.join(spans)}."
    )


def fig1_sizes(table: pd.DataFrame) -> str:
    """Describe the sizes: network, P, samples, runs, epochs."""
    row = table.iloc[0]
    epochs = sorted(int(epoch) for epoch in table.epoch.unique())
    return (
        f"ResNet-{row.depth} with {row.width} channels in the stem, $P={row.parameters}$, images of side {row.side}; "
        f"{table.samples.min()} and {table.samples.max()} samples, {table.run.max() + 1} runs, epochs "
        f"{', '.join(map(str, epochs))}."
    )


FIG1 = Figure(
    id="fedloru/fig-1",
    title="Estimated stable rank of the Hessian during training (FedLoRU v2, Figure 1)",
    caption=r"Residual network trained by SGD (momentum 0.9, step 0.05, batches of 32); the paper used ResNet-18 on "
    r"CIFAR-100. Hessians of the cross entropy over the client's (fewer) and the server's (more) "
    r"samples, with the running statistics of batch norm; the client's samples are a subset of the server's. Top: "
    r"each Hessian at the weights trained on the same samples, as in the paper; bottom: both at the weights "
    r"trained on the server's samples. Left: "
    r"eq. (87) from PyHessian's density, smoothed as it plots it (one random vector); middle: eq. (87) with the masses "
    r"of the same nodes; right: $\Vert H\Vert_F^2/\Vert H\Vert_2^2$, bars: 95% intervals. Thin "
    r"lines: runs; thick: their median.",
    data=fig1_data,
    draw=draw_fig1,
    headline=fig1_headline,
    found=fig1_found,
    sizes=fig1_sizes,
    datasets=(DATA_AT_HAND,),
    choose=fig1_choice,
)
