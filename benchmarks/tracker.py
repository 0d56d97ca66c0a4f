"""Cost and coverage of spectra followed through training, against a search from nothing at each state.

``python benchmarks/tracker.py`` trains a narrow ResNet-10 on MNIST and measures its Hessian at states one step apart,
soon after the start and after 1,000 steps, once by one `SpectrumTracker` and once by `Curvature` and `measure` at each
state, all to a width of 5 %. Every fifth state is compared with the dense Hessian. The part ``change`` gives the change
of this Hessian in one step after 1,000 steps. The script then measures paths of matrices with known eigenvalues, whose
eigenvectors turn slowly, faster, or completely between two states, and the small network of docs/spectra.md, both from
the state before and from nothing. It writes to ``tracker.json`` the products of both (of the ResNet also the CPU time
in gradients) and the share of intervals that contain the exact value (nominal 95 %).

The part ``traces`` does the same for traces to a width of 2 % along paths of matrices of 300 rows that change slowly
or fast, and ``training, trace`` for a perceptron on MNIST under gradient descent, to a width of 3 %.

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
import functools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.sparse.linalg import eigsh

from benchmarks.stable_rank_calibration import clock
from benchmarks.stable_rank_problems import CLASSES, mnist
from figures.provenance import machine, package_versions
from hessian import Curvature, DenseOperator, SpectrumTracker, exact_hessian, measure
from hessian.quantities.measurement import MeasureSettings, measure_from, measure_with, stream_of
from hessian.quantities.names import read_quantities
from hessian.quantities.sequence import MeasurementSequence
from workloads.files import write_whole
from workloads.image_networks.resnet import resnet
from workloads.image_networks.small import perceptron

Array = NDArray[np.float64]
STATES, WIDTH, SAMPLES = 100, 0.05, 32
ASKED = (("sharpness",), ("stable-rank", "frobenius-squared"), ("trace",))
PHASES = {"early": (40, 20), "late": (1000, 50)}
"""Steps of SGD before the first state, and states; early ones take more products."""
EXACT_EVERY = 5
"""States of which one is compared with its dense Hessian."""
TOGETHER_IN_TRUTH = 256
KINDS = ("tracked", "cold")
EXAMPLE_ASKED = (("sharpness",), ("sharpness", "stable-rank"))
P, LENGTH, REPETITIONS = 80, 5, 25
EXAMPLE_RUNS, EXAMPLE_STATES, EXAMPLE_EVERY = 5, 20, 5
TURNS = {"slow": 0.01, "fast": 0.1, "complete": 1.0}
"""Sizes of the rotation between two states; at the last, nothing of an eigenvector is left."""
TRACE_P, TRACE_LENGTH, TRACE_COLD = 300, 5, 5
TRACE_CHANGES = (0.002, 0.02, 0.2)
"""Relative changes of the bulk between two states."""
TOGETHER = (("sharpness", "stable-rank"), ("smallest", "frobenius-squared"))
TRUTHS: dict[str, Callable[[Array], float]] = {
    "sharpness": lambda values: float(values.max()),
    "smallest": lambda values: float(values.min()),
    "frobenius-squared": lambda values: float((values**2).sum()),
    "stable-rank": lambda values: float((values**2).sum() / np.abs(values).max() ** 2),
}


class Training:
    """A narrow ResNet-10 under SGD on MNIST, and the data of its Hessian."""

    def __init__(self) -> None:
        images, self.labels = mnist(7, 2000)
        self.images = images[:, None]
        self.x, self.y = self.images[:SAMPLES], self.labels[:SAMPLES]
        self.model = resnet(10, 10, 0, channels=1, width=2)
        self.optimiser = torch.optim.SGD(self.model.parameters(), lr=0.05)
        self._generator = torch.Generator().manual_seed(0)

    def step(self) -> None:
        """Take one step, and leave the model in evaluation mode."""
        chosen = torch.randint(0, len(self.images), (64,), generator=self._generator)
        self.model.train()
        self.optimiser.zero_grad()
        CLASSES(self.model(self.images[chosen]), self.labels[chosen]).backward()
        self.optimiser.step()
        self.model.eval()


def change() -> dict[str, Any]:
    """Return the change of the dense Hessian in one step after 1,000, with its learning rate and with less."""
    answer: dict[str, Any] = {}
    for rate in (0.05, 0.0005):
        training = Training()
        for _ in range(PHASES["late"][0]):
            training.step()
        before = _dense(training.model, training.x, training.y)
        training.optimiser.param_groups[0]["lr"] = rate
        training.step()
        after = _dense(training.model, training.x, training.y)
        relative = float(np.linalg.norm(after - before) / np.linalg.norm(before))
        answer[f"relative change in one step of learning rate {rate:g}"] = relative
    print(answer, file=sys.stderr)
    return answer


def network(phase: str) -> dict[str, Any]:
    """Return cost and coverage at the states of a phase of a ResNet's training, one step apart."""
    training, (begin, states) = Training(), PHASES[phase]
    model, x, y = training.model, training.x, training.y
    trackers = {
        asked: SpectrumTracker(model, CLASSES, (x, y), quantities=asked, relative_width=WIDTH) for asked in ASKED
    }
    rows: dict[tuple[str, ...], list[dict[str, float]]] = {asked: [] for asked in ASKED}
    hits: dict[tuple[str, ...], list[dict[str, bool]]] = {asked: [] for asked in ASKED}
    for step in range(begin + states):
        training.step()
        if step < begin:
            continue
        gradient = min(_gradient(model, x, y) for _ in range(3))
        exact = _exact(model, x, y) if (step - begin) % EXACT_EVERY == 0 else None
        for asked, tracker in trackers.items():
            seconds, state = clock(lambda tracker=tracker, step=step: tracker.measure(step))
            checks, curvature = clock(lambda: Curvature(model, CLASSES, (x, y)))
            alone, found = clock(lambda c=curvature, a=asked, s=step: measure(c, a, relative_width=WIDTH, seed=s))
            rows[asked].append(
                {
                    "tracked": seconds / gradient,
                    "cold": (checks + alone) / gradient,
                    "cold checks and graph": checks / gradient,
                    "tracked products": sum(state.measurement.products.values()),
                    "cold products": sum(found.products.values()),
                    "warm": state.warm,
                    "reached": all(state[name].reached for name in asked),
                    "cold reached": all(found[name].reached for name in asked),
                }
            )
            if exact is not None:
                hits[asked].append({f"{name}": exact[name] in state[name] for name in asked})
                hits[asked][-1] |= {f"{name}, cold": exact[name] in found[name] for name in asked}
        say = {", ".join(asked): [found[-1][f"{one} products"] for one in KINDS] for asked, found in rows.items()}
        print(f"{phase}, step {step}: {say}", file=sys.stderr, flush=True)
    answer: dict[str, Any] = {
        "states": states,
        "first step": begin,
        "parameters": sum(p.numel() for p in model.parameters()),
        "samples": len(x),
        "width": WIDTH,
    }
    for asked in ASKED:
        means = {key: float(np.mean([row[key] for row in rows[asked]])) for key in rows[asked][0]}
        totals = {key: float(np.sum([row[key] for row in rows[asked]])) for key in rows[asked][0]}
        answer[", ".join(asked)] = {
            "mean over all states": means,
            "tracked over cold, in time": totals["tracked"] / totals["cold"],
            "tracked over cold, in products": totals["tracked products"] / totals["cold products"],
            "states with the exact value": len(hits[asked]),
            "intervals that contain it": {key: sum(hit[key] for hit in hits[asked]) for key in hits[asked][0]},
        }
    return answer


def _gradient(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    return clock(lambda: torch.autograd.grad(CLASSES(model(x), y), list(model.parameters())))[0]


def _dense(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> Array:
    """Return the dense Hessian, by forward over reverse differentiation."""
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def loss(given: dict[str, torch.Tensor]) -> torch.Tensor:
        return CLASSES(torch.func.functional_call(model, given, (x,)), y)

    def product(vector: torch.Tensor) -> torch.Tensor:
        parts = vector.split([p.numel() for p in parameters.values()])
        along = {name: part.view_as(p) for part, (name, p) in zip(parts, parameters.items(), strict=True)}
        _, image = torch.func.jvp(torch.func.grad(loss), (parameters,), (along,))
        return torch.cat([part.flatten() for part in image.values()])

    size = sum(p.numel() for p in parameters.values())
    columns = [torch.func.vmap(product)(part) for part in torch.eye(size).split(TOGETHER_IN_TRUTH)]
    dense: Array = torch.cat(columns).double().numpy()
    return (dense + dense.T) / 2.0


def _exact(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor) -> dict[str, float]:
    """Return the exact quantities."""
    dense = _dense(model, x, y)
    size = len(dense)
    start = np.random.default_rng(0).standard_normal(size)
    top = float(eigsh(dense, 1, which="LA", v0=start, return_eigenvectors=False)[0])
    modulus = float(np.abs(eigsh(dense, 1, which="LM", v0=start, return_eigenvectors=False)[0]))
    square = float((dense**2).sum())
    trace = float(dense.trace())
    return {"sharpness": top, "trace": trace, "frobenius-squared": square, "stable-rank": square / modulus**2}


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
    for asked in EXAMPLE_ASKED:
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


class Turned:
    """Known eigenvalues, whose eigenvectors turn in planes of two coordinates: a product takes little time."""

    dtype, device = torch.float64, torch.device("cpu")

    def __init__(self, values: Array, angle: float) -> None:
        self.P, self.values, self.angle = len(values), torch.from_numpy(values), angle

    def products(self, vectors: torch.Tensor) -> torch.Tensor:
        """Multiply the matrix by each row, (k, P) to (k, P)."""
        return self._turn(self._turn(vectors, -self.angle) * self.values, self.angle)

    def _turn(self, x: torch.Tensor, angle: float) -> torch.Tensor:
        one, other = x.tensor_split(2, dim=1)
        cos, sin = float(np.cos(angle)), float(np.sin(angle))
        return torch.cat([cos * one - sin * other, sin * one + cos * other], dim=1)


def drifting(rng: np.random.Generator, change: float) -> Iterator[tuple[Array, Turned]]:
    """Yield eigenvalues and matrices: four large ones that grow, and a positive bulk that spreads."""
    where = rng.permutation(TRACE_P)
    bulk, drift = 0.06 * np.abs(rng.standard_normal(TRACE_P - 4)), rng.standard_normal(TRACE_P - 4)
    large = np.array([4.0, 3.0, 2.0, -1.5])
    for place in range(TRACE_LENGTH):
        values = np.empty(TRACE_P)
        values[where] = np.r_[large * (1.0 + 0.3 * change * place), bulk * (1.0 + change * place * drift)]
        yield values, Turned(values, 0.3 * change * place)


def traces(repetitions: int) -> dict[str, Any]:
    """Return cost and coverage of traces along paths of matrices, those of the first states included."""
    settings = MeasureSettings(relative_width=0.02)
    quantities = read_quantities("trace")
    answer: dict[str, Any] = {}
    for change in TRACE_CHANGES:
        inside, by_difference, tracked, cold = [], [], [], []
        for repetition in range(repetitions):
            sequence = MeasurementSequence(quantities, repetition)
            for place, (values, operator) in enumerate(drifting(np.random.default_rng([repetition, 2]), change)):
                found = sequence.measure(operator, settings)
                inside.append(float(values.sum()) in found["trace"])
                by_difference.append("basis and probes" not in found.products)
                tracked.append(sum(found.products.values()))
                if repetition < TRACE_COLD:
                    streams = functools.partial(_stream, numbers=(repetition, place))
                    cold.append(sum(measure_with(operator, quantities, settings, streams).products.values()))
        differences = [hit for hit, one in zip(inside, by_difference, strict=True) if one]
        answer[f"change of {change:g} between two states"] = {
            "states of each path": TRACE_LENGTH,
            "intervals": len(inside),
            "coverage": float(np.mean(inside)),
            "share by differences": float(np.mean(by_difference)),
            "coverage of these": float(np.mean(differences)) if differences else None,
            "products at a state": float(np.mean(tracked)),
            "products from nothing": float(np.mean(cold)),
            "tracked over cold, in products": float(np.mean(tracked[: len(cold)]) / np.mean(cold)),
        }
        print(f"{change}: {list(answer.values())[-1]}", file=sys.stderr, flush=True)
    return answer


def _stream(part: str, numbers: tuple[int, ...]) -> np.random.Generator:
    return stream_of(part, *numbers)


def training_trace(states: int) -> dict[str, Any]:
    """Return cost and coverage of the trace of a perceptron under gradient descent, every step and every fifth."""
    images, labels = mnist(7, 600)
    x = images.flatten(1).double()
    answer: dict[str, Any] = {}
    for every in (1, 5):
        model = perceptron(x.shape[1], (16,), 10, 0).double()
        optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
        tracker = SpectrumTracker(model, CLASSES, (x, labels), every=every, quantities="trace", relative_width=0.03)
        inside, cold = [], []
        for step in range(-200, states * every):
            optimiser.zero_grad()
            CLASSES(model(x), labels).backward()
            optimiser.step()
            if step < 0 or (state := tracker(step)) is None:
                continue
            inside.append(float(exact_hessian(model, CLASSES, x, labels).trace()) in state["trace"])
            alone = measure(Curvature(model, CLASSES, (x, labels)), "trace", relative_width=0.03, seed=step)
            cold.append(sum(alone.products.values()))
        tracked = [sum(state.measurement.products.values()) for state in tracker.states]
        answer[f"every {every} steps"] = {
            "parameters": tracker.states[0].measurement.P,
            "states": len(tracked),
            "intervals that contain the exact trace": int(np.sum(inside)),
            "full measurements": int(sum("basis and probes" in s.measurement.products for s in tracker.states)),
            "products at a state": float(np.mean(tracked)),
            "products from nothing": float(np.mean(cold)),
            "tracked over cold, in products": float(np.mean(tracked) / np.mean(cold)),
        }
        print(f"{every}: {list(answer.values())[-1]}", file=sys.stderr, flush=True)
    return answer


def main() -> None:
    """Run the parts, and write the JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("tracker.json"))
    parts_of_all = (*(f"ResNet, {name}" for name in PHASES), "change", "paths", "example", "traces", "training, trace")
    parser.add_argument("--only", choices=parts_of_all)
    parser.add_argument("--states", type=int, default=STATES, help="states of the perceptron")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="repetitions of each path")
    options = parser.parse_args()
    torch.set_num_threads(1)
    answer = json.loads(options.out.read_text()) if options.out.exists() else {}
    parts: dict[str, tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]] = {
        f"ResNet, {name}": (network, (name,)) for name in PHASES
    }
    parts["change"] = (change, ())
    parts["paths"] = (paths, (options.repetitions,))
    parts["example"] = (example, (EXAMPLE_RUNS,))
    parts["traces"] = (traces, (options.repetitions,))
    parts["training, trace"] = (training_trace, (options.states,))
    for name, (part, given) in parts.items():
        if options.only in (None, name):
            started = time.process_time()
            answer[name] = {**part(*given), "cpu_seconds": round(time.process_time() - started, 1)}
    answer["environment"] = {**machine(), "packages": package_versions(("torch", "numpy", "scipy")), "threads": 1}
    write_whole({options.out: (json.dumps(answer, indent=1) + "\n").encode()})


if __name__ == "__main__":
    main()
