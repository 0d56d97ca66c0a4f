"""Memory and time of one Hessian product: whole batches, smaller ones, and activation checkpointing.

``python benchmarks/product_memory.py [--repeats 3] [--out FILE]``. A vision transformer and a deep perceptron at their
initial weights on random inputs, in double precision, one thread. We measure a product of one batch whose graph is
kept, of the same batch read again, of the same samples in smaller batches, and by hand, for plain layers and for layers
in `torch.utils.checkpoint` (not reentrant; the perceptron's in groups of four). Bytes are the tensors' bytes at the
peak of a product, including its graph; time is the median of processor seconds, in turns. The file also has the
relative difference from the first product.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from figures.provenance import machine, package_versions
from hessian import Curvature
from hessian.numerics.live_bytes import measure_memory
from workloads.image_networks.small import perceptron
from workloads.image_networks.vit import vit
from workloads.progress import follow

CUTS = 2, 4, 8
"""Numbers of smaller batches."""
CPU = torch.device("cpu")


class Checkpointed(nn.Module):
    """A part of a network that is evaluated again when its activations are needed."""

    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.part = part

    def forward(self, x: Tensor) -> Tensor:
        """Return the part's output."""
        return checkpoint(self.part, x, use_reentrant=False)  # type: ignore[no-any-return]


def networks() -> dict[str, tuple[nn.Module, nn.Module, Tensor]]:
    """Return each network, the same with checkpointed layers (shared parameters), and inputs."""
    generator = torch.Generator().manual_seed(0)
    transformer, layered = (vit(10, 0, patch=4, width=64, depth=6, dtype=torch.float64) for _ in range(2))
    layered.load_state_dict(transformer.state_dict())
    layered.layers = nn.Sequential(*map(Checkpointed, layered.layers))
    deep = perceptron(196, (256,) * 24, 10, 0)
    parts = [Checkpointed(nn.Sequential(*list(deep)[first : first + 8])) for first in range(0, len(deep), 8)]
    images = torch.randn(16, 3, 32, 32, generator=generator, dtype=torch.float64)
    rows = torch.randn(512, 196, generator=generator, dtype=torch.float64)
    return {"transformer": (transformer, layered, images), "perceptron": (deep, nn.Sequential(*parts), rows)}


def by_hand(model: nn.Module, x: Tensor, y: Tensor, vector: Tensor) -> Tensor:
    """Compute a product by two backward passes."""
    own = list(model.parameters())
    gradients = torch.autograd.grad(nn.functional.cross_entropy(model(x), y), own, create_graph=True)
    parts = [part.view_as(p) for part, p in zip(vector[0].split([p.numel() for p in own]), own, strict=True)]
    return torch.cat([part.reshape(-1) for part in torch.autograd.grad(gradients, own, parts)])[None]


def ways(model: nn.Module, layered: nn.Module, x: Tensor) -> dict[str, tuple[Callable[[Tensor], Tensor], int]]:
    """Return products, and the bytes of the graph that each holds."""
    loss = nn.CrossEntropyLoss()
    y = torch.randint(10, (len(x),), generator=torch.Generator().manual_seed(1))
    kept = Curvature(model, loss, (x, y), memory="16 GiB")
    found = {
        "one batch, graph kept": (kept.products, kept.held["graph"]),
        "one batch, read again": (Curvature(model, loss, (x, y), keep_graph=False).products, 0),
    }
    for cuts in CUTS:
        pieces = list(zip(x.tensor_split(cuts), y.tensor_split(cuts), strict=True))
        found[f"{cuts} batches"] = Curvature(model, loss, pieces).products, 0
    found["by hand"] = lambda vector: by_hand(model, x, y, vector), 0
    found["by hand, checkpointed"] = lambda vector: by_hand(layered, x, y, vector), 0
    return found


def rows_of(model: nn.Module, layered: nn.Module, x: Tensor, repeats: int) -> dict[str, Any]:
    """Return the rows of one network."""
    size = sum(p.numel() for p in model.parameters())
    vector = torch.randn((1, size), generator=torch.Generator().manual_seed(2), dtype=x.dtype)
    products = ways(model, layered, x)
    expected, rows = None, {}
    for name, (product, graph) in products.items():
        found, held = measure_memory(lambda product=product: product(vector), CPU)  # type: ignore[misc]
        expected = found if expected is None else expected
        gap = float((found - expected).norm() / expected.norm())
        rows[name] = {"peak_MiB": (graph + held.peak) / 2**20, "relative_difference": gap}
    seconds: dict[str, list[float]] = {name: [] for name in products}
    for _ in range(repeats):
        for name, (product, _) in products.items():
            began = time.process_time()
            product(vector)
            seconds[name].append(time.process_time() - began)
    for name, row in rows.items():
        row["processor_seconds"] = statistics.median(seconds[name])
    return {"parameters": size, "samples": len(x), "ways": rows}


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="default: 3")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = {
        name: rows_of(*network, options.repeats) for name, network in follow(networks().items(), "memory", "network")
    }
    results = {
        "rows": rows,
        "environment": {**machine(), "packages": package_versions(("rankproof", "numpy", "torch"))},
    }
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
