"""Coverage of `SamplePrediction`'s intervals on untrained perceptrons with inputs of white noise.

``python benchmarks/sample_size_coverage.py`` predicts the spectrum over M of 600 samples from all 600, for several
sizes of a perceptron, and counts how many of 300 subsets have their first eigenvalue and their stable rank in the
nominal 95 % interval. Next to it are the same counts for the quantiles of the bootstrap in 40 directions, and the
predicted first eigenvalue over the subsets' mean.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np
import torch
from torch import nn

from figures.hessian.covariance import Stage, measure
from figures.provenance import machine, package_versions
from hessian import bootstrap_eigenvalues, fit_covariance, sample_factors, spectra_of
from workloads.files import write_whole
from workloads.image_networks.small import perceptron
from workloads.progress import follow

N = 600
SIZES = (20, 60)
DIRECTIONS = 40
RESAMPLES = 2000
NETWORKS = ((10, (8,), 5), (20, (12,), 3), (16, (10, 10), 10), (30, (6,), 2))
"""Inputs, widths of the hidden layers and classes."""


def untrained(inputs: int, widths: tuple[int, ...], classes: int, seed: int) -> Stage:
    """Return a network at its initial weights, with N inputs of white noise and labels that do not depend on them."""
    rng = np.random.default_rng([seed, inputs])
    model = nn.Sequential(*perceptron(inputs, widths, classes, seed))
    batch = torch.from_numpy(rng.standard_normal((N, inputs))), torch.from_numpy(rng.integers(classes, size=N))
    factors = torch.stack(list(sample_factors(model, nn.functional.cross_entropy, batch)))
    rows = factors.reshape(-1, factors.shape[2])
    values, vectors = torch.linalg.eigh(rows.T @ rows / N)
    return Stage("perceptron", 0, seed, float("nan"), factors, values.flip(0).numpy(), vectors.flip(1)[:, :DIRECTIONS])


def coverage(stage: Stage, M: int, subsets: int) -> dict[str, float]:
    """Return how many subsets of M samples each interval contains, and the predicted over the mean first eigenvalue."""
    spectra = spectra_of(stage.factors, stage.vectors)
    predicted = fit_covariance(stage.eigenvalues, spectra).predict(M, top=1)
    rng = np.random.default_rng([stage.seed, M])
    found = [measure(stage, M, rng.permutation(N)[:M]) for _ in range(subsets)]
    first = np.array([one.eigenvalues[0] for one in found])
    ranks = np.array([one.stable_rank for one in found])
    resampled = bootstrap_eigenvalues(spectra, M, RESAMPLES, rng)[0][:, 0]
    low, high = np.quantile(resampled, (0.025, 0.975))
    return {
        "first eigenvalue": float(np.mean((predicted.low[0] <= first) & (first <= predicted.high[0]))),
        "stable rank": float(np.mean((predicted.stable_rank_low <= ranks) & (ranks <= predicted.stable_rank_high))),
        "bootstrap, first eigenvalue": float(np.mean((low <= first) & (first <= high))),
        "predicted over mean": float(predicted.eigenvalues[0] / first.mean()),
    }


def main() -> int:
    """Measure all networks and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subsets", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    cases = [(network, seed) for network in NETWORKS for seed in range(options.seeds)]
    rows: list[dict[str, Any]] = []
    for (inputs, widths, classes), seed in follow(cases, "coverage", "network"):
        stage = untrained(inputs, widths, classes, seed)
        for M in SIZES:
            setting = {"inputs": inputs, "hidden": list(widths), "classes": classes, "seed": seed, "M": M}
            rows.append({**setting, "parameters": stage.parameters, **coverage(stage, M, options.subsets)})
    environment = {**machine(), "packages": package_versions(("numpy", "scipy", "torch"))}
    answer = {"N": N, "subsets": options.subsets, "directions": DIRECTIONS, "cases": rows, "environment": environment}
    write_whole({options.out: (json.dumps(answer, indent=1) + "\n").encode()})
    for M in SIZES:
        for name in ("first eigenvalue", "stable rank", "bootstrap, first eigenvalue", "predicted over mean"):
            values = [row[name] for row in rows if row["M"] == M]
            print(f"M = {M}, {name}: {min(values):.3f} to {max(values):.3f}, median {np.median(values):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
