"""Changes of a stable rank by products in lower precision, by network: float32 and bfloat16 against double precision.

``python benchmarks/product_precision.py``, a minute. Layers compute in bfloat16 where `torch.autocast` lets them, sums
and weights stay in float32, as in mixed precision. For random signs z: the relative error of a product Hz, and
how much the squared Frobenius norm changes, by the same vectors; for the eigenvector of largest modulus: how much the
norm of its product changes. Both give the change of the stable rank, which an interval would have to hold.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks.stable_rank_problems import CLASSES, OverRows, mnist
from figures.provenance import machine, package_versions
from hessian import Curvature, Krylov
from workloads.image_networks.fit import FitSettings, fit
from workloads.image_networks.resnet import resnet
from workloads.image_networks.small import perceptron, small_convnet
from workloads.image_networks.vit import vit

PROBES, STEPS, SAMPLES = 32, 60, 64


def networks() -> dict[str, tuple[nn.Module, Tensor]]:
    """Return networks trained on MNIST, in evaluation mode, and the form in which they take images."""
    x = mnist(14, 2000)[0]
    torch.manual_seed(0)
    return {
        "MLP 196-20-10": (perceptron(196, (20,), 10, 0, dtype=torch.float32), x.flatten(1)),
        "CNN": (small_convnet(14, (8,), 10, 0, dtype=torch.float32), x[:, None]),
        "ResNet-10 of width 8": (resnet(10, 10, 0, channels=1, width=8), x[:, None]),
        "LSTM of width 16": (OverRows(14, 16), x),
        "vision transformer of width 32": (vit(10, 0, channels=1, side=14, adapt="pad", width=32, depth=3), x[:, None]),
    }


def products(model: nn.Module, x: Tensor, y: Tensor, vectors: Tensor, lower: bool) -> Tensor:
    """Return the Hessian times each vector, (k, P), in the model's precision, or with its layers in bfloat16."""
    weights = list(model.parameters())
    with torch.autocast("cpu", dtype=torch.bfloat16) if lower else nullcontext(), sdpa_kernel(SDPBackend.MATH):
        slopes = torch.autograd.grad(CLASSES(model(x), y), weights, create_graph=True)
    found = []
    for vector in vectors.to(slopes[0].dtype):
        parts = [part.view_as(p) for part, p in zip(vector.split([p.numel() for p in weights]), weights, strict=True)]
        found.append(torch.cat([g.flatten() for g in torch.autograd.grad(slopes, weights, parts, retain_graph=True)]))
    return torch.stack(found).double()


def changes(exact: Tensor, found: Tensor) -> dict[str, float]:
    """Return the changes; the last vector is the eigenvector, the others are probes."""
    error = (found - exact)[:-1].square().sum().sqrt() / exact[:-1].square().sum().sqrt()
    square = found[:-1].square().sum() / exact[:-1].square().sum() - 1.0
    norm = found[-1].norm() / exact[-1].norm() - 1.0
    return {
        "error of a product": float(error),
        "change of the squared Frobenius norm": float(square),
        "change of the largest eigenvalue": float(norm),
        "change of the stable rank": float((1.0 + square) / (1.0 + norm) ** 2 - 1.0),
    }


def measured(model: nn.Module, x: Tensor, y: Tensor) -> dict[str, Any]:
    """Compare both precisions with double."""
    wide, batch = copy.deepcopy(model).double(), (x[:SAMPLES].double(), y[:SAMPLES])
    operator = Curvature(wide, CLASSES, batch)
    krylov = Krylov(operator, np.random.default_rng(0))
    krylov.extend(STEPS)
    values, vectors, _ = krylov.ritz()
    top = torch.from_numpy(vectors[:, np.abs(values).argmax()]) @ krylov.basis.double()
    probes = torch.from_numpy(np.random.default_rng(1).choice([-1.0, 1.0], (PROBES, operator.P)))
    given = torch.cat([probes, top[None]])
    exact = products(wide, *batch, given, False)
    single = (x[:SAMPLES], y[:SAMPLES], given)
    return {
        "parameters": operator.P,
        "float32": changes(exact, products(model, *single, False)),
        "bfloat16": changes(exact, products(model, *single, True)),
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    y, rows = mnist(14, 2000)[1], {}
    for name, (model, x) in networks().items():
        fit(model, x, y, FitSettings(epochs=5, learning_rate=3e-3))
        rows[name] = measured(model.eval(), x, y)
        print(name, json.dumps(rows[name]), flush=True)
    environment = {**machine(), "packages": package_versions(("rankproof", "numpy", "torch"))}
    options.out.write_text(json.dumps({"rows": rows, "environment": environment}, indent=1) + "\n")


if __name__ == "__main__":
    main()
