"""Coverage and width of intervals whose truth is known: stable ranks of networks, and fits to matrices of the model.

``python benchmarks/interval_coverage.py [--repetitions 2000]`` runs the adaptive estimator with fresh starting vectors
and probes, for networks of low and of high stable rank and for several widths asked for. It writes, beside the
environment, the share of intervals that contain the exact value (nominal 95 %), the median width, and that width over
the one of the same estimate with the probes' true variance and the normal quantile in place of the pilot's spread. The
operators are the exact float64 Hessians, so that thousands of repetitions are affordable.

``--fits`` measures matrices that are drawn from a known law instead, by products as a user would, and writes to
``fit_coverage.json`` how often the truth lies within what is stated: the noise and the spikes (the value and 1.96
standard deviations), the difference of the two estimates of the rest, the Frobenius norm, the stable rank, and the
Kolmogorov distance of all eigenvalues from the fitted semicircle and from the other laws.
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

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]

import numpy as np
import torch
from scipy.stats import binom, norm
from torch import Tensor, nn
from tqdm import tqdm

from figures.provenance import machine, package_versions
from hessian import (
    DenseOperator,
    Krylov,
    SpectrumSettings,
    StableRankInterval,
    exact_hessian,
    measure_spectrum,
    stable_rank_of,
)
from rmt import MarchenkoPastur, Semicircle, SpikedModel, draw_dense
from workloads.datasets import load
from workloads.fit import FitSettings, fit
from workloads.networks import perceptron, pool

CONFIDENCE = 0.95
WIDTHS = (0.2, 0.05, 0.02)


def hessians() -> dict[str, Tensor]:
    """Exact Hessians of real networks, from the lowest stable rank to the highest."""
    images = load("mnist")
    x = pool(images, 7).flatten(1)[:4000]
    y = torch.from_numpy(images.labels.astype(np.int64))[:4000]
    classify = nn.functional.cross_entropy
    network = perceptron(49, (10,), 10, 0)
    found = {"perceptron at its initial weights, MNIST": exact_hessian(network, classify, x[:1000], y[:1000])}
    fit(network, x, y, FitSettings(20, learning_rate=3e-3))
    found["perceptron trained on MNIST"] = exact_hessian(network, classify, x[:1000], y[:1000])
    white = torch.linalg.svd(x[:1000] - x[:1000].mean(dim=0), full_matrices=False)[0] * sqrt(1000.0)
    found["softmax regression on whitened MNIST"] = exact_hessian(perceptron(49, (), 10, 0), classify, white, y[:1000])
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(400, 20, generator=generator).double()
    values = torch.randn(400, 12, generator=generator).double()
    squares = nn.functional.mse_loss
    found["perceptron, squared loss, normal inputs"] = exact_hessian(
        perceptron(20, (16,), 12, 0), squares, inputs, values
    )
    linear = perceptron(20, (), 12, 0)  # every eigenvalue twelve times
    found["linear regression, normal inputs"] = exact_hessian(linear, squares, inputs, values)
    return found


def width_with_true_variance(operator: DenseOperator, found: StableRankInterval, seed: int) -> float | None:
    """The relative width with the normal quantile and the true spread of a probe; none if the basis was redrawn."""
    if found.products != found.steps + found.probes or not found.probes:
        return None
    krylov = Krylov(operator, np.random.default_rng(seed))
    while krylov.size < found.steps:
        if krylov.invariant:
            return None
        krylov.extend(1)
    V = krylov.basis
    rest = operator.matrix - V.T @ (V @ operator.matrix)
    rest = rest - (rest @ V.T) @ V
    squares = torch.linalg.eigvalsh(rest).numpy() ** 2
    d = len(squares) - len(V)
    variance = 2.0 * d / (d + 2.0) * (float((squares**2).sum()) - float(squares.sum()) ** 2 / d)
    half = float(norm.ppf((1.0 + CONFIDENCE) / 2.0)) * sqrt(max(variance, 0.0) / found.probes)
    return 2.0 * half / found.frobenius.value**2 + found.deterministic_width


def measure(matrix: Tensor, width: float, repetitions: int, compared: int) -> dict[str, object]:
    """One network at one width."""
    operator = DenseOperator(matrix)
    values = torch.linalg.eigvalsh(matrix).numpy()
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
        "not_below_nominal": bool(covered >= binom.ppf(0.05, repetitions, CONFIDENCE)),
        "reached": float(np.mean([one.reached for one in found])),
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
    """Which statements of one measurement hold."""
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
    """Kolmogorov distance of eigenvalues from a law."""
    x = np.sort(values)
    steps = np.arange(len(x) + 1) / len(x)
    return float(
        max((steps[1:] - cdf(np.nextafter(x, np.inf))).max(), (cdf(np.nextafter(x, -np.inf)) - steps[:-1]).max())
    )


def fits(repetitions: int, R: int, out: Path) -> int:
    """Writes how often each statement held; status 1 if one holds less often than said, beyond chance."""
    rows, least = [], 1.0
    for place, (name, model) in enumerate(FITTED.items()):
        held: dict[str, list[bool]] = {}
        for seed in tqdm(range(repetitions), desc=name, disable=None):
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


def main() -> int:
    """Runs all networks and widths; status 1 if a coverage is below nominal beyond chance or a width is too wide."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--compared", type=int, default=200, help="repetitions in which the true variance is computed")
    parser.add_argument("--only", default="", help="networks whose name contains this")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    parser.add_argument("--fits", type=int, default=0, metavar="N", help="N matrices of each known law instead")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.fits:
        return fits(options.fits, 200, Path(__file__).with_name("fit_coverage.json"))
    rows = []
    cases = [(name, matrix, width) for name, matrix in hessians().items() for width in WIDTHS if options.only in name]
    for name, matrix, width in tqdm(cases, disable=None):
        row = measure(matrix, width, options.repetitions, options.compared)
        rows.append({"network": name, **row})
        ratio = row["median_width_over_that_with_true_variance"]
        print(
            f"{name}, stable rank {row['stable_rank']:.2f}, width {width}: coverage {row['coverage']:.4f}, "
            f"median width {row['median_width']:.4f}, over true variance {ratio and round(float(str(ratio)), 3)}, "
            f"{row['median_products']:.0f} products"
        )
    answer = {
        "confidence": CONFIDENCE,
        "cases": rows,
        "environment": {**machine(), "packages": package_versions(("rankproof", "numpy", "scipy", "torch"))},
    }
    options.out.write_text(json.dumps(answer, indent=1) + "\n")
    fine = all(
        row["not_below_nominal"] and (row["median_width_over_that_with_true_variance"] or 1.0) <= 1.5 for row in rows
    )
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
