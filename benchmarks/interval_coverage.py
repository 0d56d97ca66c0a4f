"""Coverage and width of intervals with known truth: stable ranks of networks, and fits to matrices of the model.

``python benchmarks/interval_coverage.py`` runs the adaptive estimator with fresh starting vectors
and probes, for networks of low and of high stable rank and for several widths asked for. It writes the
environment, the share of intervals that contain the exact value (nominal 95 %), the same for the tenth of the seeds
whose starting vector has the smallest part along the leading eigenvector, the median width, and that width over the one
of the same estimate with the probes' true variance and the normal quantile in place of the pilot's spread. The
operators are the exact float64 Hessians, so that hundreds of repetitions are affordable. A case is written when done;
an interrupted run resumes, unless the estimator has changed since.

``--fits`` measures matrices that are drawn from a known law instead, by products as a user would, and writes to
``fit_coverage.json`` how often the truth lies within what is stated: the noise and the spikes (the value and 1.96
standard deviations), the difference of the two estimates of the rest, the Frobenius norm, the stable rank, and the
Kolmogorov distance of all eigenvalues from the fitted semicircle and from the other laws.

``--budgets`` gives rotated matrices of known spectra budgets of memory that leave room for the whole basis, for the
basis in half precision, and for a few rows of it, and writes to ``memory_coverage.json`` how often the intervals cover.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import binom, norm
from torch import Tensor, nn

from benchmarks.stable_rank_problems import white_images
from figures.provenance import machine, package_versions, sources_digest
from hessian import (
    Curvature,
    DenseOperator,
    Krylov,
    SpectrumSettings,
    StableRankInterval,
    exact_hessian,
    measure_spectrum,
    stable_rank_of,
)
from hessian.numerics.symmetric import normal_rows
from rmt import MarchenkoPastur, Semicircle, SpikedModel, draw_dense
from workloads.data.datasets import load
from workloads.files import write_whole
from workloads.image_networks.fit import FitSettings, fit
from workloads.image_networks.small import perceptron, pool
from workloads.progress import follow

CONFIDENCE = 0.95
REPETITIONS = {0.2: 500, 0.05: 500, 0.02: 200}
"""By the width asked for; narrow ones cost more."""
EQUAL = "eigenvalues 1.5 and 199 of modulus 1, rotated"
"""No network, and cheap: `EQUAL_REPETITIONS` of it."""
EQUAL_REPETITIONS = 2000


def hessians() -> dict[str, Tensor]:
    """Return exact Hessians of real networks, and a matrix with almost all eigenvalues of one modulus."""
    images = load("mnist")
    x = pool(images, 7).flatten(1)[:4000]
    y = torch.from_numpy(images.labels.astype(np.int64))[:4000]
    classify = nn.functional.cross_entropy
    network = perceptron(49, (10,), 10, 0)
    found = {"perceptron at its initial weights, MNIST": exact_hessian(network, classify, x[:1000], y[:1000])}
    fit(network, x, y, FitSettings(20, learning_rate=3e-3))
    found["perceptron trained on MNIST"] = exact_hessian(network, classify, x[:1000], y[:1000])
    columns, sizes, _ = torch.linalg.svd(x[:1000] - x[:1000].mean(dim=0), full_matrices=False)
    white = columns[:, sizes > 1e-10 * sizes[0]] * sqrt(1000.0)  # some pixels are the same in all images
    softmax = perceptron(white.shape[1], (), 10, 0)
    found["softmax regression on whitened MNIST"] = exact_hessian(softmax, classify, white, y[:1000])
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(400, 20, generator=generator).double()
    values = torch.randn(400, 12, generator=generator).double()
    squares = nn.functional.mse_loss
    found["perceptron, squared loss, normal inputs"] = exact_hessian(
        perceptron(20, (16,), 12, 0), squares, inputs, values
    )
    linear = perceptron(20, (), 12, 0)  # every eigenvalue twelve times
    found["linear regression, normal inputs"] = exact_hessian(linear, squares, inputs, values)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        convolutional = nn.Sequential(nn.Conv2d(1, 8, 5), nn.ReLU(), nn.Flatten(), nn.Linear(72, 10)).double()
    levels = pool(images, 7)[:100, None] * images.pixel_deviation + images.pixel_mean
    products = Curvature(convolutional, nn.CrossEntropyLoss(), (levels, y[:100])).products
    hessian = products(torch.eye(938, dtype=torch.float64))  # its largest eigenvalues of both signs are close
    found["convolutional network at its initial weights, MNIST"] = (hessian + hessian.T) / 2.0
    model, whites, targets = white_images()
    found["convolutional network, squared loss, white images"] = exact_hessian(
        model.double(), squares, whites.double(), targets.double()
    )
    Q = torch.linalg.qr(torch.randn(200, 200, generator=generator, dtype=torch.float64))[0]
    signs = torch.ones(200, dtype=torch.float64)
    signs[0], signs[1::2] = 1.5, -1.0
    found[EQUAL] = (Q * signs) @ Q.T
    return found


def width_with_true_variance(operator: DenseOperator, found: StableRankInterval, seed: int) -> float | None:
    """Return the relative width from the normal quantile and a probe's true spread; None if the basis was redrawn."""
    if found.products != found.steps + found.probes or not found.probes:
        return None
    variance = variance_of_signs(operator.matrix) if found.signs else variance_of_rest(operator, found.steps, seed)
    if variance is None:
        return None
    half = float(norm.ppf((1.0 + CONFIDENCE) / 2.0)) * sqrt(max(variance, 0.0) / found.probes)
    return 2.0 * half / found.frobenius.value**2 + found.deterministic_width


def variance_of_signs(matrix: Tensor) -> float:
    """Return the variance of the squared norm of a product with random signs."""
    squared = matrix @ matrix
    return 2.0 * float((squared**2).sum() - (squared.diagonal() ** 2).sum())


def variance_of_rest(operator: DenseOperator, steps: int, seed: int) -> float | None:
    """Return the variance of a deflated probe, given an estimate's basis; None if its first start did not suffice."""
    krylov = Krylov(operator, np.random.default_rng(seed))
    while krylov.size < steps:
        if krylov.invariant:
            return None
        krylov.extend(1)
    V = krylov.basis
    rest = operator.matrix - V.T @ (V @ operator.matrix)
    rest = rest - (rest @ V.T) @ V
    squares = torch.linalg.eigvalsh(rest).numpy() ** 2
    d = len(squares) - len(V)
    return 2.0 * d / (d + 2.0) * (float((squares**2).sum()) - float(squares.sum()) ** 2 / d)


def hidden(operator: DenseOperator, direction: Tensor, repetitions: int) -> list[int]:
    """Return the tenth of the seeds whose starting vector has the smallest part along a direction."""
    starts = [normal_rows(operator, np.random.default_rng(seed), 1)[0] for seed in range(repetitions)]
    parts = [float(abs(start @ direction) / torch.linalg.vector_norm(start)) for start in starts]
    return [int(seed) for seed in np.argsort(parts)[: max(repetitions // 10, 1)]]


def measure(matrix: Tensor, width: float, repetitions: int, compared: int) -> dict[str, Any]:
    """Measure one network at one width."""
    operator = DenseOperator(matrix)
    eigenvalues, eigenvectors = torch.linalg.eigh(matrix)
    values = eigenvalues.numpy()
    worst = hidden(operator, eigenvectors[:, int(np.abs(values).argmax())], repetitions)
    truth = float((values**2).sum() / np.abs(values).max() ** 2)
    started = time.perf_counter()
    found = [
        stable_rank_of(operator, rng=np.random.default_rng(seed), relative_width=width, confidence=CONFIDENCE)
        for seed in range(repetitions)
    ]
    seconds = time.perf_counter() - started
    true = [width_with_true_variance(operator, one, seed) for seed, one in enumerate(found[:compared])]
    pairs = [(one.relative_width, other) for one, other in zip(found, true, strict=False) if other is not None]
    ratio = float(np.median([a for a, _ in pairs]) / np.median([b for _, b in pairs])) if pairs else None
    covered = sum(truth in one for one in found)
    return {
        "parameters": len(matrix),
        "stable_rank": truth,
        "width_asked": width,
        "repetitions": repetitions,
        "coverage": covered / repetitions,
        "coverage_of_the_tenth_with_the_worst_starts": float(np.mean([truth in found[seed] for seed in worst])),
        "repetitions_in_that_tenth": len(worst),
        "largest_relative_error": max(abs(one.value / truth - 1.0) for one in found),
        "not_below_nominal": bool(covered >= binom.ppf(0.05, repetitions, CONFIDENCE)),
        "reached": float(np.mean([one.reached for one in found])),
        "by_signs": float(np.mean([one.signs for one in found])),
        "median_width": float(np.median([one.relative_width for one in found])),
        "median_width_over_that_with_true_variance": ratio,
        "repetitions_in_that_ratio": len(pairs),
        "rms_error": float(np.sqrt(np.mean([(one.value / truth - 1.0) ** 2 for one in found]))),
        "median_products": float(np.median([one.products for one in found])),
        "certified": float(np.mean([one.certified for one in found])),
        "seconds": seconds,
    }


FITTED = {
    "noise alone": SpikedModel(()),
    "three spikes": SpikedModel((5.0, 2.5, -3.0)),
    "a spike near the threshold": SpikedModel((1.6,)),
    "Marchenko-Pastur noise, a spike": SpikedModel((6.0,), noise=MarchenkoPastur(0.5)),
}
"""Known laws; noise of unit scale."""


def covered_by_a_fit(model: SpikedModel, R: int, seed: int) -> dict[str, bool]:
    """Return which statements of one measurement hold."""
    matrix = draw_dense(model, R, np.random.default_rng([seed, R])).matrix
    values = np.linalg.eigvalsh(matrix)
    settings = SpectrumSettings(outliers=5, probes=4, steps=40, seed=seed, confidence=CONFIDENCE)
    report = measure_spectrum(DenseOperator(torch.from_numpy(matrix)), settings)
    rank, fit = report.stable_rank, report.fit
    held = {
        "stable rank": float((values**2).sum() / np.abs(values).max() ** 2) in rank,
        "Frobenius norm": float(np.linalg.norm(values)) in rank.frobenius,
    }
    if fit is None:
        return held
    within = float(norm.ppf((1.0 + CONFIDENCE) / 2.0))
    bulk = np.sort(values)[~np.isin(np.argsort(np.argsort(values)), _called(values, fit.outliers))]
    held["two estimates of the rest agree"] = abs(fit.disagreement) <= within
    held["Kolmogorov distance of the semicircle"] = _distance(bulk, fit.model.noise_law.cdf) in fit.distance
    for law in fit.alternatives:
        held[f"Kolmogorov distance, {law.name}"] = _distance(bulk, law.cdf) in law.distance
    if isinstance(model.noise_law, Semicircle):
        held["sigma"] = abs(fit.sigma - 1.0) <= within * fit.sigma_sd
        truth = sorted(model.spikes, reverse=True)
        if len(truth) == len(fit.model.spikes):
            for place, (found, sd) in enumerate(zip(fit.model.spikes, fit.spike_sd, strict=True)):
                held[f"spike {truth[place]}"] = abs(found - truth[place]) <= within * sd
    return held


def _called(values: np.ndarray, outliers: tuple[float, ...]) -> list[int]:
    ordered = np.sort(values)
    return [int(np.abs(ordered - outlier).argmin()) for outlier in outliers]


def _distance(values: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return the Kolmogorov distance of eigenvalues from a law."""
    x = np.sort(values)
    steps = np.arange(len(x) + 1) / len(x)
    return float(
        max((steps[1:] - cdf(np.nextafter(x, np.inf))).max(), (cdf(np.nextafter(x, -np.inf)) - steps[:-1]).max())
    )


def fits(repetitions: int, R: int, out: Path) -> int:
    """Write how often each statement held; return 1 if one holds less often than stated, beyond chance."""
    rows, least = [], 1.0
    for place, (name, model) in enumerate(FITTED.items()):
        held: dict[str, list[bool]] = {}
        for seed in follow(range(repetitions), name, "seed"):
            for statement, holds in covered_by_a_fit(model, R, 10_000 * place + seed).items():
                held.setdefault(statement, []).append(bool(holds))
        for statement, holds in held.items():
            chance = float(binom.cdf(sum(holds), len(holds), CONFIDENCE))
            least = min(least, chance)
            rows.append(
                {
                    "law": name,
                    "statement": statement,
                    "repetitions": len(holds),
                    "nominal": CONFIDENCE,
                    "covered": sum(holds) / len(holds),
                    "chance_of_so_few": chance,
                }
            )
            print(f"{name}, {statement}: {sum(holds)} of {len(holds)}")
    answer = {"R": R, "cases": rows, "environment": {**machine(), "packages": package_versions(("numpy", "torch"))}}
    out.write_text(json.dumps(answer, indent=1) + "\n")
    return 0 if least > 1e-4 else 1


KNOWN = {
    "five outliers": np.r_[20.0, 12.0, 8.0, 3.0, -5.0, 0.05 * np.linspace(-1.0, 1.0, 95)],
    "power law": np.arange(1, 101) ** -1.0,
    "semicircle": np.cos(np.linspace(0.0, np.pi, 100)),
}
"""Eigenvalues."""
VECTORS = {"whole basis": 200.0, "half precision": 40.0, "a few rows": 7.1}
"""Room in addition to the matrix, in vectors of single precision."""


def rotated(values: NDArray[np.float64]) -> tuple[Tensor, NDArray[np.float64]]:
    """Return a matrix with these eigenvalues, and the eigenvectors as columns."""
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((len(values),) * 2))[0]
    dense = torch.from_numpy(Q * values @ Q.T)
    return (dense + dense.T) / 2.0, Q


def budgets(repetitions: int, out: Path) -> int:
    """Write how often stable ranks cover within memory budgets; return 1 if less often than stated, beyond chance."""
    rows = stored_rows(out)
    done = {(row["spectrum"], row["room"]) for row in of_this_estimator(rows) if row["repetitions"] >= repetitions}
    for name, values in KNOWN.items():
        operator = DenseOperator(rotated(values)[0].float())
        values = torch.linalg.eigvalsh(operator.matrix.double()).numpy()  # of what is rounded to single precision
        truth = float((values**2).sum() / np.abs(values).max() ** 2)
        for room, vectors in VECTORS.items():
            if (name, room) in done:
                continue
            found = []
            for seed in follow(range(repetitions), f"{name}, {room}", "seed"):
                rng = np.random.default_rng([17, seed])
                memory = int(4 * len(values) * vectors)
                found.append(
                    stable_rank_of(
                        operator, rng=rng, relative_width=0.2, confidence=CONFIDENCE, basis=60, memory=memory
                    )
                )
            covered = sum(truth in one for one in found)
            row = {
                "spectrum": name,
                "room": room,
                "given_up": found[0].given_up,
                "stable_rank": truth,
                "repetitions": repetitions,
                "coverage": covered / repetitions,
                "chance_of_so_few": float(binom.cdf(covered, repetitions, CONFIDENCE)),
                "norm_within": sum(np.abs(values).max() <= one.spectral_norm.high for one in found) / repetitions,
                "median_width": float(np.median([one.relative_width for one in found])),
                "reached": float(np.mean([one.reached for one in found])),
                "median_products": float(np.median([one.products for one in found])),
            }
            rows = with_row(rows, row, "spectrum", "room")
            print(json.dumps(row), flush=True)
            environment = {**machine(), "packages": package_versions(("numpy", "torch"))}
            answer = {"cases": rows, "environment": environment}
            write_whole({out: (json.dumps(answer, indent=1) + "\n").encode()})
    return 0 if all(row["chance_of_so_few"] > 1e-4 for row in rows) else 1


def estimator_digest() -> str:
    """Return the digest of the estimator's executable code, on which the numbers depend."""
    return sources_digest(
        [f"hessian/lanczos/{name}.py" for name in ("basis_rows", "bounds", "krylov", "probes", "stable_rank")]
    )[:16]


def asked(options: argparse.Namespace, name: str, width: float) -> int:
    """Return the repetitions of a case."""
    return int(options.repetitions or (EQUAL_REPETITIONS if name == EQUAL else REPETITIONS[width]))


def stored_rows(out: Path) -> list[dict[str, Any]]:
    """Return the rows of earlier runs, each with the digest of its estimator."""
    rows: list[dict[str, Any]] = json.loads(out.read_text())["cases"] if out.exists() else []
    return rows


def of_this_estimator(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows that need not be measured again."""
    return [row for row in rows if row["estimator"] == estimator_digest()]


def with_row(rows: list[dict[str, Any]], row: dict[str, Any], *names: str) -> list[dict[str, Any]]:
    """Return rows with one replacing the row of the same names, or added at the end."""
    row = {**row, "estimator": estimator_digest()}
    places = [place for place, other in enumerate(rows) if all(other[name] == row[name] for name in names)]
    if not places:
        return [*rows, row]
    return [row if place == places[0] else other for place, other in enumerate(rows)]


def main() -> int:
    """Run all networks and widths; return 1 if a coverage is below nominal beyond chance, or a width is too wide."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, help="at every width; default: some hundreds")
    parser.add_argument("--compared", type=int, default=30, help="repetitions in which the true variance is computed")
    parser.add_argument("--only", default="", help="networks whose name contains this")
    parser.add_argument("--width", type=float, choices=tuple(REPETITIONS), help="this one alone; default: all")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    parser.add_argument("--fits", type=int, default=0, metavar="N", help="N matrices of each known law instead")
    parser.add_argument("--budgets", type=int, default=0, metavar="N", help="N estimates in each budget of memory")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.budgets:
        return budgets(options.budgets, Path(__file__).with_name("memory_coverage.json"))
    if options.fits:
        return fits(options.fits, 200, Path(__file__).with_name("fit_coverage.json"))
    rows = stored_rows(options.out)
    done = {
        (row["network"], row["width_asked"])
        for row in of_this_estimator(rows)
        if row["repetitions"] == asked(options, row["network"], row["width_asked"])
    }
    widths = (options.width,) if options.width else tuple(REPETITIONS)
    networks = {name: matrix for name, matrix in hessians().items() if options.only in name}
    cases = [(name, width) for width in widths for name in networks if (name, width) not in done]
    for name, width in follow(cases, "coverage", "case"):
        row = {"network": name, **measure(networks[name], width, asked(options, name, width), options.compared)}
        rows = with_row(rows, row, "network", "width_asked")
        answer = {
            "confidence": CONFIDENCE,
            "cases": rows,
            "environment": {**machine(), "packages": package_versions(("rankproof", "numpy", "scipy", "torch"))},
        }
        write_whole({options.out: (json.dumps(answer, indent=1) + "\n").encode()})
        told = ("stable_rank", "coverage", "coverage_of_the_tenth_with_the_worst_starts", "median_products", "seconds")
        print(f"{name}, width {width}: {', '.join(f'{key} {row[key]:.4g}' for key in told)}", flush=True)
    fine = all(
        row["not_below_nominal"] and (row["median_width_over_that_with_true_variance"] or 1.0) <= 1.5 for row in rows
    )
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
