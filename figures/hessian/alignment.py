"""Eigenvectors and rank-r gradients of clients on a real network (the setting of FedLoRU v2, Theorem 3.3)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from figures.figure import Figure, Scale, Settings
from figures.hessian.alignment_picture import draw_client_alignment
from figures.spectrum.spiked_prediction import Array, noise_size, shuffle, with_noise
from figures.threads import few_threads
from hessian import exact_hessian, fit_spiked
from rmt import ClientGradients, SpikedModel, alignment_by_rank
from workloads.data.datasets import ImageSet, load
from workloads.image_networks.fit import FitSettings, fit
from workloads.image_networks.small import perceptron

Row = dict[str, object]
SPAN = 10
"""Eigenvectors of the server whose span is compared with an eigenvector of a client."""
FITS = ("spectrum", "noise")
"""`spectrum`: `fit_spiked` on all eigenvalues of a client; `noise`: the size of the noise measured between clients."""


@dataclass(frozen=True)
class AlignmentSizes:
    """Image side, hidden layers, the server's samples, measured epochs, M, clients and ranks."""

    side: int
    hidden: tuple[int, ...]
    server: int
    epochs: tuple[int, ...]
    sizes: tuple[int, ...]
    clients: int
    ranks: int


ALIGNMENT_SIZES: dict[Scale, AlignmentSizes] = {
    "quick": AlignmentSizes(7, (10, 10), 2000, (1, 4), (50, 250), 4, 20),
    "laptop": AlignmentSizes(14, (10, 10), 20_000, (1, 20), (100, 1000), 8, 50),
    "paper": AlignmentSizes(14, (16, 16), 60_000, (1, 30), (100, 1000, 5000), 12, 50),
}


@dataclass(frozen=True, eq=False)
class Side:
    """Hessian and gradient of a client or the server at the common weights.

    Attributes:
        eigenvalues: All of them by decreasing modulus, shape ``(P,)``.
        vectors: The leading eigenvectors as columns, shape ``(P, ranks)``.
        gradient: Gradient of the loss over the same samples, shape ``(P,)``.
    """

    eigenvalues: Array
    vectors: Array
    gradient: Array

    @property
    def slopes(self) -> Array:
        """Directional derivatives along the leading eigenvectors, shape ``(ranks,)``."""
        return self.vectors.T @ self.gradient


def side_of(model: nn.Module, x: Tensor, y: Tensor, ranks: int) -> tuple[Side, Tensor]:
    """Return eigenpairs and gradient of the cross entropy over some samples, and its exact Hessian."""
    hessian = exact_hessian(model, nn.functional.cross_entropy, x, y)
    values, vectors = torch.linalg.eigh(hessian)
    order = values.abs().argsort(descending=True)
    loss = nn.functional.cross_entropy(model(x), y)
    gradient = torch.cat([part.reshape(-1) for part in torch.autograd.grad(loss, list(model.parameters()))])
    kept = vectors[:, order[:ranks]].cpu().numpy().copy()
    return Side(values[order].cpu().numpy(), kept, gradient.detach().cpu().numpy()), hessian


def cosines(first: Side, second: Side) -> Array:
    r"""Return the cosine between $\sum_{i\le r} u_iu_i^T\nabla f$ of two clients for every r, shape ``(ranks,)``."""
    table = first.slopes[:, None] * (first.vectors.T @ second.vectors) * second.slopes
    products = np.array([table[:r, :r].sum() for r in range(1, len(table) + 1)])
    norms = np.sqrt(np.cumsum(first.slopes**2) * np.cumsum(second.slopes**2))
    return np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)


def client_models(clients: list[Side], noise: float) -> dict[str, list[SpikedModel]]:
    """Return the spiked model of every client by both fits; none if a fit finds no noise."""
    models: dict[str, list[SpikedModel]] = {"spectrum": [], "noise": []}
    for client in clients:
        with suppress(ValueError):  # without noise next to the outliers this client has no such model
            models["spectrum"].append(fit_spiked(client.eigenvalues).model)
        models["noise"].append(with_noise(client.eigenvalues, noise))
    return models


def predicted_overlaps(models: list[SpikedModel], ranks: int) -> Array:
    r"""Return the mean predicted overlap $1-\sigma^2s^2/\theta^2$ by decreasing modulus of the spike; 0 in the bulk."""
    found = np.zeros((len(models), ranks))
    for row, model in zip(found, models, strict=True):
        separated = sorted((o for o in model.outliers if o.separated), key=lambda o: -abs(o.location))[:ranks]
        row[: len(separated)] = [o.overlap for o in separated]
    return found.mean(axis=0)


def gradients_of(model: SpikedModel, server: Side, noise_square: float) -> ClientGradients:
    """Return the server's gradient along its eigenvectors, one per spike in the model's order, and the clients' errors.

    The k-th largest positive spike goes with the k-th largest positive eigenvalue of the server, and so for negative
    ones. Spikes beyond the server's kept eigenvectors get no component.
    """
    along = []
    kept = len(server.slopes)
    for sign in (1.0, -1.0):
        places = [place for place in range(kept) if sign * server.eigenvalues[place] > 0]
        spikes = [spike for spike in model.spikes if sign * spike > 0]
        slopes = [abs(server.slopes[place]) for place in places[: len(spikes)]]
        slopes += [0.0] * (len(spikes) - len(slopes))
        along += slopes if sign > 0 else slopes[::-1]  # the model's order is decreasing: the strongest negative is last
    return ClientGradients(tuple(map(float, along)), noise_square=noise_square)


def closed_form(models: list[SpikedModel], server: Side, noise_square: float, ranks: int) -> Array:
    """Return the limit of the cosine by rank, averaged over the models that define it; nan if none does."""
    found = np.full((len(models), ranks), np.nan)
    for row, model in zip(found, models, strict=True):
        gradients = gradients_of(model, server, noise_square)
        for rank in range(1, ranks + 1):
            try:
                row[rank - 1] = alignment_by_rank(model, gradients, [rank])[0]
            except ValueError:
                continue  # two outliers of equal overlap, as far as doubles tell: next to no noise was fitted
    counts = np.isfinite(found).sum(axis=0)
    return np.divide(np.nansum(found, axis=0), counts, out=np.full(ranks, np.nan), where=counts > 0)


def printed_form(models: list[SpikedModel], clients: list[Side]) -> Array:
    r"""Return the quotients of eqs. (54) and (57) with the slopes' mean squares for $\alpha_i^2$ and $\beta^2$.

    The overlaps $\phi_i^2$ are those of the fits, 0 in the bulk, so both equations are one quotient.
    """
    squares = np.mean([client.slopes**2 for client in clients], axis=0)
    return np.cumsum(squares * predicted_overlaps(models, len(squares))) / np.cumsum(squares)


def jackknife(pairs: dict[tuple[int, int], Array], clients: int) -> Array:
    """Return the jackknife standard error of the mean over pairs, leaving out one client at a time."""
    left = np.array([np.mean([c for pair, c in pairs.items() if out not in pair], axis=0) for out in range(clients)])
    return np.sqrt((clients - 1) * left.var(axis=0))


def compare(server: Side, clients: list[Side], noise: float, M: int, N: int, epoch: int) -> Iterator[dict[str, object]]:
    """Yield the rows of the table for one sample size at one stage of the training.

    Args:
        server: Hessian and gradient of the server, over the N samples.
        clients: Hessians and gradients of the clients, over disjoint sets of M of these samples.
        noise: Size of the noise, from how far the clients' Hessians differ.
        M: Samples of a client.
        N: Samples of the server.
        epoch: Stage of the training.
    """
    ranks, P = len(server.slopes), len(server.eigenvalues)

    def rows(quantity: str, series: str, values: Array, ends: tuple[Array, Array] | None = None) -> Iterator[Row]:
        low, high = ends or (values, values)
        for index, (value, least, most) in enumerate(zip(values, low, high, strict=True), start=1):
            yield {
                "epoch": epoch,
                "M": M,
                "quantity": quantity,
                "series": series,
                "index": index,
                "value": float(value),
                "low": float(least),
                "high": float(most),
            }

    inner = np.array([server.vectors.T @ client.vectors for client in clients]) ** 2
    for quantity, shares in (("overlap", np.array([np.diag(i) for i in inner])), ("span", inner[:, :SPAN].sum(axis=1))):
        yield from rows(quantity, "measured", shares.mean(axis=0), (shares.min(axis=0), shares.max(axis=0)))
    pairs = {(a, b): cosines(clients[a], clients[b]) for a, b in combinations(range(len(clients)), 2)}
    mean, error = np.mean(list(pairs.values()), axis=0), jackknife(pairs, len(clients))
    yield from rows("cosine", "measured", mean, (mean - error, mean + error))
    step, error = np.diff(mean), jackknife({pair: np.diff(c) for pair, c in pairs.items()}, len(clients))
    yield from rows("step", "measured", step, (step - error, step + error))
    rise, error = mean - mean[0], jackknife({pair: c - c[0] for pair, c in pairs.items()}, len(clients))
    yield from rows("rise", "measured", rise, (rise - error, rise + error))
    # The clients are parts of the server: their difference has 1/M - 1/N of one sample's variance, not 1/M.
    errors = [(client.gradient - server.gradient) / (1.0 - M / N) ** 0.5 for client in clients]
    leading = [(client.vectors.T @ error) ** 2 for client, error in zip(clients, errors, strict=True)]
    numbers = {
        "noise size": noise,
        "error square": float(np.mean(np.square(errors))),
        "error square, leading": float(np.mean(leading)),
        "gradient square": float(server.gradient @ server.gradient) / P,
        "whole cosine": float(np.mean([_cosine(a.gradient, b.gradient) for a, b in combinations(clients, 2)])),
    }
    for quantity, number in numbers.items():
        yield from rows(quantity, "measured", np.array([number]))
    for name, models in client_models(clients, noise).items():
        if models:
            yield from rows("outliers", name, np.array([np.mean([len(model.spikes) for model in models])]))
            yield from rows("overlap", name, predicted_overlaps(models, ranks))
            square = numbers["error square, leading"]
            yield from rows("cosine", f"{name}, closed form", closed_form(models, server, square, ranks))
            yield from rows("cosine", f"{name}, as printed", printed_form(models, clients))


def _cosine(first: Array, second: Array) -> float:
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


def client_alignment(images: ImageSet, sizes: AlignmentSizes, settings: Settings) -> pd.DataFrame:
    """Train on the server's samples, and compare clients, which hold parts of them, at common weights.

    Args:
        images: Any image set; the caller answers for its name.
        sizes: Network, training, sample sizes, clients.
        settings: Seed, device, progress.

    Returns:
        A long table: `epoch`, `M`, which `quantity`, of which `series` (`measured` or a prediction), at which `index`
        (of an eigenvector, or a rank), `value`, `low` and `high` (range over clients; for means over pairs of clients
        one standard error); and `server` (samples), `parameters`, `clients`.

    Raises:
        ValueError: Fewer than three clients, or fewer samples than they need.
    """
    largest = max(sizes.sizes)
    if sizes.clients < 3 or sizes.clients * largest > sizes.server:
        raise ValueError(f"need at least 3 clients of {largest} among {sizes.server} samples, got {sizes.clients}")
    x, y = shuffle(images, sizes.side, sizes.server, settings, "client alignment")
    x = x.flatten(1)
    seed = int(settings.rng("client alignment", "weights").integers(2**31))
    model = perceptron(x.shape[1], sizes.hidden, 10, seed).to(settings.device)
    table: list[Row] = []

    def look(epoch: int, loss: float) -> None:
        if epoch not in sizes.epochs:
            return
        settings.report(f"epoch {epoch}: Hessian of {len(x):,} samples")
        server = side_of(model, x, y, sizes.ranks)[0]
        for M in sizes.sizes:
            found = []
            for client in range(sizes.clients):
                settings.report(f"epoch {epoch}: Hessian of {M:,} samples, client {client + 1} of {sizes.clients}")
                mine = slice(client * largest, client * largest + M)
                found.append(side_of(model, x[mine], y[mine], sizes.ranks))
            noise = noise_size([hessian for _, hessian in found])
            table.extend(compare(server, [side for side, _ in found], noise, M, len(x), epoch))

    how = FitSettings(max(sizes.epochs), batch=128, learning_rate=3e-3, seed=seed)
    trained = fit(model, x, y, how, progress=look)
    P = sum(p.numel() for p in model.parameters())
    return pd.DataFrame(table).assign(
        server=len(x), parameters=P, clients=sizes.clients, accuracy=trained.accuracy, span=SPAN
    )


def client_alignment_data(settings: Settings) -> pd.DataFrame:
    """Compute the comparison on Fashion-MNIST.

    Raises:
        DataError: It is not on this machine.
    """
    with few_threads():
        return client_alignment(load("fashion-mnist", settings.data_root), settings.sizes(ALIGNMENT_SIZES), settings)


def client_alignment_headline(table: pd.DataFrame) -> str:
    """Return the headline: how often the alignment is largest after the first rank."""
    ranks = []
    for _, part in table.groupby(["epoch", "M"]):
        cosine = part[(part.quantity == "cosine") & (part.series == "measured")].set_index("index").value
        ranks.append(int(cosine.index.to_numpy()[cosine.argmax()]))
    later = sum(rank > 1 for rank in ranks)
    return f"Two clients' gradients are most aligned after rank 1 in {later} of {len(ranks)} cases"


def client_alignment_found(table: pd.DataFrame) -> str:
    """Return the finding for every stage and M: alignment against rank, where it rises, and the predictions."""
    parts = []
    for epoch, M in sorted(set(zip(table.epoch, table.M, strict=True))):
        part = table[(table.epoch == epoch) & (table.M == M)]
        series = {key: rows.set_index("index") for key, rows in part.groupby(["quantity", "series"])}
        cosine, step = series["cosine", "measured"].value, series["step", "measured"]
        rises = step[step.value > 0]
        clear = int((rises.value > 2.0 * (rises.high - rises.value)).sum())
        best, last = int(cosine.idxmax()), int(cosine.index.max())
        rise = series["rise", "measured"].loc[best]
        overlap, tenth = series["overlap", "measured"].value, min(10, last)
        text = (
            f"epoch {epoch}, M = {M:,}: cosine {cosine[1]:.2f} at r = 1, at most {cosine[best]:.2f} (r = {best}; a "
            f"rise of {rise.value:.2f} with a standard error of {rise.high - rise.value:.2f}), "
            f"{cosine[last]:.2f} at r = {last}; it rises at {len(rises)} of {len(step)} "
            f"ranks ({clear} by over two standard errors)"
        )
        for name in FITS:
            if ("overlap", name) in series:
                closed = series["cosine", f"{name}, closed form"].value
                off = float((series["cosine", f"{name}, as printed"].value - cosine).abs().max())
                how = "fit to the spectrum" if name == "spectrum" else "measured noise size"
                text += (
                    f"; {how}: {series['outliers', name].value[1]:.0f} outliers, overlap of u_1 "
                    f"{series['overlap', name].value[1]:.2f} and of u_{tenth} "
                    f"{series['overlap', name].value[tenth]:.2f}, "
                    f"closed form {_number(closed[1])} to {_number(closed[last])}, printed quotient up to {off:.2f} off"
                )
        parts.append(f"{text}; measured overlaps {overlap[1]:.2f} and {overlap[tenth]:.2f}")
    return (
        "Stated: the overlap of client and server eigenvectors tends to 1 - (sigma s/theta)^2, and the expected cosine "
        "between clients' rank-r gradients falls strictly with every r (for one gradient step); found: "
        f"{'. '.join(part[0].upper() + part[1:] for part in parts)}."
    )


def _number(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "undefined"


def client_alignment_sizes(table: pd.DataFrame) -> str:
    """Describe P, samples, clients and accuracy."""
    row = table.iloc[0]
    return (
        f"$P={row.parameters}$, {row.server} samples of the server, {row.clients} clients with disjoint parts of it, "
        f"$M={', '.join(str(M) for M in sorted(table.M.unique()))}$, after epochs "
        f"{', '.join(str(epoch) for epoch in sorted(table.epoch.unique()))} (training accuracy in the end "
        f"{100 * row.accuracy:.1f}%)."
    )


ALIGNMENT = Figure(
    id="hessian/alignment",
    title="Clients of a real network: eigenvectors, and gradients of rank r",
    caption=r"Tanh perceptron on pooled Fashion-MNIST images, trained on the server's samples; exact Hessians and "
    r"gradients of the cross entropy at the same weights, of the server and of clients with $M$ samples each. "
    r"Eigenvectors by decreasing modulus of the eigenvalue. Top: overlap of client and server eigenvectors of the same "
    r"index (marks: mean over clients, shade: their range), weight of the client's eigenvector in the span of the "
    r"server's first ten (dots), and $1-(\sigma s/\theta)^2$ of the spiked model fitted to the spectra (solid) or "
    r"with the noise measured between clients (dotted). Bottom: cosine between $\sum_{i\leq r}u_iu_i^T\nabla f$ of two "
    r"clients, mean over pairs and one standard error; lines: the closed form of the model, with the server's "
    r"slopes along its eigenvectors and the errors measured along the clients' leading eigenvectors; dashed: the "
    r"quotients of eqs. "
    r"(54) and (57) with the clients' measured slopes.",
    data=client_alignment_data,
    draw=draw_client_alignment,
    headline=client_alignment_headline,
    found=client_alignment_found,
    sizes=client_alignment_sizes,
    datasets=("fashion-mnist",),
)
