"""Products of one process and of workers: equality and speed, on a CPU or several GPUs.

``python benchmarks/spectrum_workers.py [--workers 2] [--out FILE]``, on a machine with as many free processors. Three
networks on random inputs: a perceptron (one batch, graph kept), a convolutional network (the same) and ResNet-10 (four
batches, streamed). Each is multiplied with one vector by one process with one thread, by one process with as many
threads as there are workers, and by the workers with one thread each, in turns, so that a machine that slows down slows
all of them. The file has medians and the relative difference of the products. If the processors had other work, the
program reports it and writes the file only with ``--busy``.
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

from figures.provenance import machine, package_versions
from hessian import Curvature, Workers
from workloads.image_networks.resnet import resnet
from workloads.image_networks.small import perceptron, small_convnet
from workloads.progress import follow

IDLE = 0.1
"""Processors that others may use at most, of each that is measured on."""


def networks(samples: int) -> dict[str, tuple[nn.Module, Any]]:
    """Return networks and their data, in float32."""
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(samples, 1, 28, 28, generator=generator)
    labels = torch.randint(10, (samples,), generator=generator)
    quarters = list(zip(images.tensor_split(4), labels.tensor_split(4), strict=True))
    return {
        "perceptron": (perceptron(784, (256, 128), 10, 0, dtype=torch.float32), (images.flatten(1), labels)),
        "convolutional": (small_convnet(28, (8, 16), 10, 0).float(), (images, labels)),
        "resnet-10": (resnet(10, 10, 0, channels=1, width=16).eval(), quarters),
    }


def elsewhere() -> float:
    """Return the processors that other processes use now, averaged over a second; 0 if unknown."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0

    def busy() -> float:
        of_all = stat.read_text().splitlines()[0].split()[1:9]
        user, nice, system, _idle, _wait, irq, softirq, steal = map(int, of_all)
        return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")

    before = busy()
    time.sleep(1.0)
    return busy() - before


def row(model: nn.Module, data: Any, team: Workers, repeats: int, free: bool) -> dict[str, Any]:
    """Measure one network; on busy processors, threads that wait for each other take seconds and are left out."""
    loss = nn.CrossEntropyLoss()
    here = Curvature(model, loss, data)
    started = time.perf_counter()
    there = Curvature(model, loss, data, workers=team)
    start = time.perf_counter() - started
    vector = torch.randn((1, here.P), generator=torch.Generator().manual_seed(1))
    expected = here.products(vector)
    gap = float((there.products(vector) - expected).norm() / expected.norm())

    def timed(product: Callable[[Tensor], Tensor], threads: int) -> float:
        torch.set_num_threads(threads)
        began = time.perf_counter()
        product(vector)
        return time.perf_counter() - began

    ways: dict[str, Callable[[], float]] = {
        "one_process_one_thread": lambda: timed(here.products, 1),
        "workers": lambda: timed(there.products, 1),
    }
    if free:
        ways[f"one_process_{team.count}_threads"] = lambda: timed(here.products, team.count)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(repeats + 1):
        for name, way in ways.items():
            found = way()
            if turn:  # the first calls are slower than all that follow
                seconds[name].append(found)
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    return {
        "parameters": here.P,
        "samples": here.samples,
        "seconds_of_a_product": medians,
        "speed_of_workers": {name: found / medians["workers"] for name, found in medians.items() if name != "workers"},
        "relative_difference": gap,
        "seconds_until_workers_multiply": start,
    }


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2, help="default: 2")
    parser.add_argument("--samples", type=int, default=512, help="of each network; default: 512")
    parser.add_argument("--repeats", type=int, default=20, help="default: 20")
    parser.add_argument("--busy", action="store_true", help="write the file on a machine with other work, too")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    options = parser.parse_args()
    others = elsewhere()
    rows = {}
    with Workers(options.workers) as team:
        for name, (model, data) in follow(networks(options.samples).items(), "workers", "network"):
            rows[name] = row(model, data, team, options.repeats, others <= IDLE * options.workers)
    others = max(others, elsewhere())
    results = {
        "workers": options.workers,
        "processors_busy_with_others": others,
        "rows": rows,
        "environment": {**machine(), "packages": package_versions(("rankproof", "numpy", "torch"))},
    }
    print(json.dumps(results, indent=1))
    if others > IDLE * options.workers and not options.busy:
        print(
            f"spectrum_workers: others use {others:.2f} processors, so nothing is written; take a free machine, or "
            "--busy",
            file=sys.stderr,
        )
        return 1
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
