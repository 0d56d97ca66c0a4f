"""Cost and coverage of spectra followed through training, against a search from nothing at each state.

``python benchmarks/tracker.py`` trains a narrow ResNet-10 on MNIST and measures the sharpness, alone and with the
stable rank, at 100 states, once by one `SpectrumTracker` and once by `Curvature` and `measure` at each state, both to a
width of 10 %. It then measures paths of matrices with known eigenvalues, whose eigenvectors turn slowly, faster, or
completely between two states, and the small network of docs/spectra.md, both from the state before and from nothing. It
writes to ``tracker.json`` the products of both (of the ResNet also the CPU time in gradients and the share of states at
which the intervals overlap) and the share of intervals that contain the exact value (nominal 95 %).

``--only`` measures one part and keeps the others. One thread, CPU seconds.
"""

from __future__ import annotations

import os
import sys

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import expm

from benchmarks.stable_rank_problems import CLASSES, mnist
from figures.provenance import machine, package_versions
from hessian import Curvature, DenseOperator, SpectrumTracker, exact_hessian, measure
from hessian.quantities.measurement import MeasureSettings, measure_from, measure_with, stream_of
from hessian.quantities.names import read_quantities
from workloads.files import write_whole
from workloads.image_networks.resnet import resnet

Array = NDArray[np.float64]
STATES, EVERY, BEFORE, WIDTH = 100, 1, 60, 0.1
ASKED = {"sharpness": ("sharpness",), "both": ("sharpness", "stable-rank")}
P, LENGTH, REPETITIONS = 80, 5, 25
EXAMPLE_RUNS, EXAMPLE_STATES, EXAMPLE_EVERY = 5, 20, 5
TURNS = {"slow": 0.01, "fast": 0.1, "complete": 1.0}
"""Sizes of the rotation between two states; at the last, nothing of an eigenvector is left."""
TOGETHER = (("sharpness", "stable-rank"), ("smallest", "frobenius-squared"))
TRUTHS: dict[str, Callable[[Array], float]] = {
    "sharpness": lambda values: float(values.max()),
    "smallest": lambda values: float(values.min()),
    "frobenius-squared": lambda values: float((values**2).sum()),
    "stable-rank": lambda values: float((values**2).sum() / np.abs(values).max() ** 2),
}


def network(states: int, asked: tuple[str, ...]) -> dict[str, Any]:
    """Return cost and agreement at the states of a training."""
    images, labels = mnist(7, 2000)
    x, y = images[:64, None], labels[:64]
    model = resnet(10, 10, 0, channels=1, width=8)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.02)
    generator = torch.Generator().manual_seed(0)
    tracker = SpectrumTracker(model, CLASSES, (x, y), every=EVERY, quantities=asked, relative_width=WIDTH)
    rows = []
    for step in range(-BEFORE, states * EVERY):
        chosen = torch.randint(0, len(images), (64,), generator=generator)
        model.train()
        optimiser.zero_grad()
        CLASSES(model(images[chosen, None]), labels[chosen]).backward()
        optimiser.step()
        if step < 0:
            continue
        started = time.process_time()
        state = tracker(step)
        tracked = time.process_time() - started
        if state is None:
            continue
        model.eval()
        gradient = min(_gradient(model, x, y) for _ in range(3))
        started = time.process_time()
        curvature = Curvature(model, CLASSES, (x, y))
        checks = time.process_time() - started
        found = measure(curvature, asked, relative_width=WIDTH, seed=step)
        cold = time.process_time() - started
        rows.append(
            {
                "warm": state.warm,
                "tracked": tracked / gradient,
                "cold": cold / gradient,
                "cold checks and graph": checks / gradient,
                "tracked products": sum(state.measurement.products.values()),
                "cold products": sum(found.products.values()),
                "overlap": all(
                    state[name].low <= found[name].high and found[name].low <= state[name].high for name in asked
                ),
                "reached": all(state[name].reached for name in asked),
            }
        )
        print(f"state {len(rows)}: {rows[-1]}", file=sys.stderr, flush=True)
    later = [row for row in rows if row["warm"]]
    totals = {key: float(np.mean([row[key] for row in rows])) for key in rows[0] if key not in ("warm",)}
    return {
        "states": len(rows),
        "states from the one before": len(later),
        "parameters": sum(p.numel() for p in model.parameters()),
        "samples": len(x),
        "steps before the first state, and between two": [BEFORE, EVERY],
        "mean over all states": totals,
        "tracked over cold, in time": totals["tracked"] / totals["cold"],
        "tracked over cold, in products": totals["tracked products"] / totals["cold products"],
    }


def _gradient(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    started = time.process_time()
    torch.autograd.grad(CLASSES(model(x), y), list(model.parameters()))
    return time.process_time() - started


def path(rng: np.random.Generator, turn: float) -> Iterator[tuple[Array, torch.Tensor]]:
    """Yield eigenvalues and matrices: eight large ones that move and cross, and a bulk, in rotating directions."""
    basis = np.linalg.qr(rng.standard_normal((P, P)))[0]
    skew = rng.standard_normal((P, P))
    rotation = expm(turn * (skew - skew.T) / np.sqrt(P))
    bulk = 0.08 * rng.standard_normal(P - 8)
    for place in range(LENGTH):
        large = [1.0 + 0.3 * np.sin(place), 1.0 - 0.1 * place, 0.6, 0.5, -0.7 + 0.2 * place, 0.3, 0.2, 0.15]
        values = np.r_[large, bulk]
        dense = (basis * values) @ basis.T
        yield values, torch.from_numpy((dense + dense.T) / 2.0)
        basis = rotation @ basis


def paths(repetitions: int) -> dict[str, Any]:
    """Return the coverage along paths of matrices, at all states but the first."""
    settings = MeasureSettings(relative_width=0.2, products=400, basis=60)
    answer: dict[str, Any] = {}
    for name, turn in TURNS.items():
        for asked in TOGETHER:
            quantities = read_quantities(asked)
            inside: dict[str, list[bool]] = {one: [] for one in asked}
            counts: dict[str, list[int]] = {"tracked": [], "cold": []}
            for repetition in range(repetitions):
                start = None
                for place, (values, dense) in enumerate(path(np.random.default_rng([repetition, 1]), turn)):

                    def streams(part: str, numbers: tuple[int, ...] = (repetition, place)) -> np.random.Generator:
                        return stream_of(part, *numbers)

                    found, start = measure_from(DenseOperator(dense), quantities, settings, streams, start)
                    if place == 0:
                        continue
                    alone = measure_with(DenseOperator(dense), quantities, settings, streams)
                    counts["tracked"].append(sum(found.products.values()))
                    counts["cold"].append(sum(alone.products.values()))
                    for one in asked:
                        inside[one].append(TRUTHS[one](values) in found[one])
            answer[f"{name} turns, {', '.join(asked)}"] = {
                "coverage": {one: float(np.mean(hits)) for one, hits in inside.items()},
                "intervals": len(inside[asked[0]]),
                "products at a later state": float(np.mean(counts["tracked"])),
                "products from nothing": float(np.mean(counts["cold"])),
                "tracked over cold, in products": float(np.mean(counts["tracked"]) / np.mean(counts["cold"])),
            }
            print(f"{name}, {asked}: {answer[f'{name} turns, ' + ', '.join(asked)]}", file=sys.stderr, flush=True)
    return answer


def example(repetitions: int) -> dict[str, Any]:
    """Return cost and coverage along the training of the small network of docs/spectra.md, at 20 states of each run."""
    answer: dict[str, Any] = {}
    for asked in ASKED.values():
        rows: list[dict[str, Any]] = []
        for seed in range(repetitions):
            torch.manual_seed(seed)
            model = torch.nn.Sequential(torch.nn.Linear(20, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
            x, y = torch.randn(200, 20), torch.randint(0, 3, (200,))
            optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
            tracker = SpectrumTracker(model, CLASSES, (x, y), every=EXAMPLE_EVERY, quantities=asked, seed=seed)
            for step in range(EXAMPLE_STATES * EXAMPLE_EVERY):
                optimiser.zero_grad()
                CLASSES(model(x), y).backward()
                optimiser.step()
                state = tracker(step)
                if state is None or step == 0:
                    continue
                alone = measure(Curvature(model, CLASSES, (x, y)), asked, seed=1000 * (seed + 1) + step)
                exact = torch.linalg.eigvalsh(exact_hessian(model, CLASSES, x, y).double()).numpy()
                rows.append(
                    {
                        "tracked": sum(state.measurement.products.values()),
                        "cold": sum(alone.products.values()),
                        "warm": state.warm,
                        **{name: TRUTHS[name](exact) in state[name] for name in asked},
                    }
                )
        means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
        answer[", ".join(asked)] = {
            "states after the first": len(rows),
            "from the one before": means["warm"],
            "coverage": {name: means[name] for name in asked},
            "products at a later state": means["tracked"],
            "products from nothing": means["cold"],
            "tracked over cold, in products": means["tracked"] / means["cold"],
            "medians of both": [float(np.median([row[key] for row in rows])) for key in ("tracked", "cold")],
        }
        print(f"{asked}: {answer[', '.join(asked)]}", file=sys.stderr, flush=True)
    return answer


def main() -> None:
    """Run the parts, and write the JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("tracker.json"))
    parser.add_argument("--only", choices=(*(f"network, {name}" for name in ASKED), "paths", "example"))
    parser.add_argument("--states", type=int, default=STATES, help="states of the network")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="repetitions of each path")
    options = parser.parse_args()
    torch.set_num_threads(1)
    answer = json.loads(options.out.read_text()) if options.out.exists() else {}
    parts: dict[str, tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]] = {
        f"network, {name}": (network, (options.states, asked)) for name, asked in ASKED.items()
    }
    parts["paths"] = (paths, (options.repetitions,))
    parts["example"] = (example, (EXAMPLE_RUNS,))
    for name, (part, given) in parts.items():
        if options.only in (None, name):
            started = time.process_time()
            answer[name] = {**part(*given), "cpu_seconds": round(time.process_time() - started, 1)}
    answer["environment"] = {**machine(), "packages": package_versions(("torch", "numpy", "scipy")), "threads": 1}
    write_whole({options.out: (json.dumps(answer, indent=1) + "\n").encode()})


if __name__ == "__main__":
    main()
