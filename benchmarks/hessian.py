"""The stable rank of a Hessian side by side: ours against PyHessian, curvlinops and hessian-eigenthings.

At equal accuracy (1 % RMS error), at equal budget (32 Frobenius probes), time of a product, share of the time inside
products, and memory: ``python benchmarks/hessian.py [--out FILE]``, about ten minutes. One process and one thread, CPU
seconds, contenders in turn. Genuine MNIST must be present; libraries that are absent are left out by name.
"""

from __future__ import annotations

import os
import sys

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import importlib
import json
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from math import ceil, inf, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import torch
from torch import nn

from benchmarks.stable_rank_routes import (
    PEERS,
    Problem,
    Route,
    Session,
    known,
    ours,
    ours_by_budget,
    rest,
    version_of,
)
from hessian import Curvature, Krylov, exact_hessian, stable_rank_of
from workloads import datasets
from workloads.fit import FitSettings, fit
from workloads.networks import perceptron, pool
from workloads.resnet import resnet

GOAL = 0.01
WIDTHS = (0.03, 0.036, 0.043, 0.052, 0.062, 0.075, 0.09)
STEPS = (6, 9, 12, 16, 20, 26, 34, 44)
SKETCHES = (24, 48, 96, 192, 384, 768)
MOMENT = "second moment of its density"
LONG = 3.0
"""CPU seconds above which plain probes are timed on fewer and scaled up."""


def clock(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a call, and its result."""
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def in_turn(works: dict[str, Callable[[int], Any]], rounds: int) -> dict[str, tuple[list[float], list[Any]]]:
    """Runs all, round by round, forwards and backwards by turns; a round before is not counted."""
    answer: dict[str, tuple[list[float], list[Any]]] = {name: ([], []) for name in works}
    for turn in range(-1, rounds):
        for name in list(works) if turn % 2 else reversed(list(works)):
            seconds, found = clock(lambda name=name, turn=turn: works[name](1000 + turn))
            if turn >= 0:
                answer[name][0].append(seconds)
                answer[name][1].append(found)
    return answer


def say(text: str) -> None:
    """Progress."""
    print(f"{time.process_time():.0f} s: {text}", file=sys.stderr, flush=True)


def rms(values: Any, truth: float) -> float:
    """Relative root mean square error."""
    return float(np.sqrt(np.mean((np.asarray(values, dtype=float) / truth - 1.0) ** 2)))


# Problems


def exact_problem(name: str, model: nn.Module, loss: nn.Module, inputs: torch.Tensor, targets: torch.Tensor) -> Problem:
    """A problem small enough for its dense Hessian, in double precision."""
    dense = model.double()
    wide = targets.double() if targets.is_floating_point() else targets
    H = exact_hessian(dense, loss, inputs.double(), wide)
    model.float()
    values = torch.linalg.eigvalsh(H).numpy()
    top, square = float(np.abs(values).max()), float((values**2).sum())
    # Var |Hz|^2 over signs z: 2 (|H^2|_F^2 less the squared diagonal of H^2).
    variance = 2.0 * float((values**4).sum() - ((H**2).sum(dim=1) ** 2).sum()) / square**2
    facts = {
        "truth": "dense Hessian in double precision",
        "effective rank of H^2": square**2 / float((values**4).sum()),
    }
    return Problem(name, model, loss, inputs, targets, square / top**2, top, square, variance, facts)


def large_problem(name: str, model: nn.Module, loss: nn.Module, inputs: torch.Tensor, targets: torch.Tensor) -> Problem:
    """A problem whose truth is our own interval, four to thirty times as narrow as those of the contest."""
    operator = Curvature(model, loss, (inputs, targets))
    found = stable_rank_of(operator, rng=np.random.default_rng(99), relative_width=0.004, products=4000, basis=200)
    krylov = Krylov(operator, np.random.default_rng(98))
    krylov.extend(60)
    fourth = float((krylov.ritz()[0] ** 4).sum())  # of the largest 60, which carry it
    square = found.frobenius.value**2
    facts = {
        "truth": f"our interval [{found.low:.5g}, {found.high:.5g}], {found.products} products",
        "effective rank of H^2": square**2 / fourth,
    }
    top = found.spectral_norm.value
    return Problem(name, model, loss, inputs, targets, found.value, top, square, 2.0 * fourth / square**2, facts)


def mnist(side: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Genuine images and classes, 1,000 of them."""
    data = datasets.load("mnist")
    return pool(data, side, torch.float32)[:1000], torch.from_numpy(data.labels[:1000].astype("int64"))


def mlp() -> Problem:
    """A trained perceptron: few large eigenvalues."""
    x, y = mnist(14)
    model = perceptron(196, (20,), 10, 0, dtype=torch.float32)
    fit(model, x.flatten(1), y, FitSettings(epochs=10))
    return exact_problem("MLP 196-20-10, MNIST", model, nn.CrossEntropyLoss(), x[:512].flatten(1), y[:512])


def residual() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """A trained narrow ResNet-10 in evaluation mode, and 128 images."""
    x, y = mnist(14)
    model = resnet(10, 10, 0, channels=1, width=8)
    fit(model, x[:, None], y, FitSettings(epochs=3))
    return model.eval(), x[:128, None], y[:128]


def flat_mlp() -> Problem:
    """Squared loss on white inputs: no large eigenvalues stand out."""
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(2000, 40, generator=generator), torch.randn(2000, 60, generator=generator)
    model = perceptron(40, (40,), 60, 0, dtype=torch.float32)
    return exact_problem("MLP 40-40-60, white inputs, squared loss", model, nn.MSELoss(), x, y)


# Equal accuracy


def calibrated_width(problem: Problem, tries: int, seeds: int) -> dict[str, Any]:
    """The largest width whose RMS error is at most 1 %, confirmed on seeds that did not choose it."""
    tried, chosen = {}, 0
    for position, width in enumerate(WIDTHS):
        tried[width] = rms([ours(problem, width, seed).value for seed in range(tries)], problem.truth)
        if tried[width] > GOAL:
            break
        chosen = position
    refused = {}
    while True:
        first = 500 * (len(refused) + 1)
        found = [ours(problem, WIDTHS[chosen], first + seed) for seed in range(seeds)]
        error = rms([f.value for f in found], problem.truth)
        if error <= GOAL or chosen == 0:
            break
        refused[WIDTHS[chosen]] = error
        chosen -= 1
    return {
        "relative_width": WIDTHS[chosen],
        "tried": tried,
        "not confirmed": refused,
        "rms": error,
        "seeds": seeds,
        "covered": sum(problem.truth in f for f in found),
        "median products": statistics.median(f.products for f in found),
        "median gradients": statistics.median(f.gradients or 0.0 for f in found),
    }


def calibrated_budget(problem: Problem, tries: int, seeds: int) -> dict[str, Any]:
    """The fewest products of ours that reach 1 %, steps and probes chosen with the truth at hand, as for peers."""
    norms: dict[int, list[float]] = {steps: [] for steps in STEPS}
    squares: dict[int, list[float]] = {steps: [] for steps in STEPS}
    for seed in range(tries):
        rng = np.random.default_rng(seed)
        operator = Curvature(problem.model, problem.loss, problem.data)
        krylov = Krylov(operator, rng)
        for steps in STEPS:
            krylov.extend(steps - krylov.size)
            part, top = known(krylov)
            norms[steps].append(top)
            squares[steps] += list(part + rest(operator, krylov, 6, rng))
    choices = []
    for steps in STEPS:
        error = rms(norms[steps], problem.top**2)
        room = (0.9 * GOAL) ** 2 - error**2
        if error < 0.3 * GOAL:  # few tries see few of the starts from which Lanczos is slow
            choices.append((steps, max(1, ceil(rms(squares[steps], problem.square) ** 2 / room))))
    steps, probes = min(choices, key=sum)
    while True:
        found = [ours_by_budget(problem, probes, 500 + seed, steps) for seed in range(seeds)]
        error = rms(found, problem.truth)
        if error <= GOAL:
            return {"steps": steps, "probes": probes, "products": steps + probes, "rms": error, "seeds": seeds}
        steps, probes = steps + 2, ceil(1.15 * probes)


def calibrated_peer(problem: Problem, session: Session, seeds: int) -> dict[str, Any]:
    """The cheapest settings of a peer that reach 1 %, by its norm routes and by plain probes or a sketch."""
    norms = [
        measured
        for name, (route, parameters) in session.norms.items()
        for measured in norm_errors(problem, name, route, parameters, seeds)
    ]
    each = min(clock(lambda: session.probes(32, 7))[0] for _ in range(2)) / 32
    answer: dict[str, Any] = {"norms tried": norms, "seconds of a probe": each}
    plain = [
        {"norm": n, "probes": (c := min(ceil(problem.variance / room), problem.P)), "predicted s": n["s"] + c * each}
        for n in norms
        if (room := GOAL**2 - n["error of square"] ** 2) > 0.0
    ]
    if plain:
        answer["plain probes"] = min(plain, key=lambda choice: choice["predicted s"])
    good = [n for n in norms if n["error of square"] < 0.5 * GOAL]
    if session.sketch is not None and good:
        sketches = sketch_errors(problem, session.sketch, seeds)
        answer["sketches tried"] = sketches
        if sketches and sketches[-1]["error of square"] <= 0.9 * GOAL:
            chosen = sketches[-1]
            norm = min(good, key=lambda n: n["s"])
            answer["sketch"] = {"norm": norm, **chosen, "predicted s": norm["s"] + chosen["s"]}
    return answer


def norm_errors(
    problem: Problem, name: str, route: Route, parameters: tuple[float, ...], seeds: int
) -> list[dict[str, Any]]:
    """Error and time of a norm route, from loose to tight until it is good."""
    answer = []
    for parameter in parameters:
        runs = [clock(lambda p=parameter, s=seed: route(p, s)) for seed in range(seeds)]
        error = rms([found**2 for _, found in runs], problem.top**2)
        seconds = statistics.median(s for s, _ in runs)
        answer.append({"route": name, "parameter": parameter, "error of square": error, "s": seconds})
        if error < 0.2 * GOAL or seconds > 4 * LONG:
            break
    return answer


def sketch_errors(problem: Problem, sketch: Route, seeds: int) -> list[dict[str, Any]]:
    """Error and time of a sketched squared norm, growing until it is good."""
    answer = []
    for products in SKETCHES:
        if products >= problem.P:
            break
        try:
            runs = [clock(lambda p=products, s=seed: sketch(p, s)) for seed in range(seeds)]
        except (RuntimeError, ValueError) as error:  # a basis that is singular in single precision
            answer.append({"products": products, "error of square": inf, "s": inf, "failed": str(error)[:100]})
            break
        error = rms([found for _, found in runs], problem.square)
        answer.append({"products": products, "error of square": error, "s": statistics.median(s for s, _ in runs)})
        if error <= 0.9 * GOAL or answer[-1]["s"] > 4 * LONG:
            break
    return answer


def equal_accuracy(problem: Problem, openers: dict[str, Any], seeds: int, rounds: int) -> dict[str, Any]:
    """Calibrates everybody, then times the chosen settings in turn, building the operators included."""
    width = calibrated_width(problem, 2 * seeds, 30)
    say(f"{problem.name}: ours calibrated")
    budget = calibrated_budget(problem, seeds, 30)
    say(f"{problem.name}: our budget calibrated")
    answer: dict[str, Any] = {"ours": width, "ours, budget": budget}
    works: dict[str, Callable[[int], Any]] = {
        "ours": lambda seed: ours(problem, width["relative_width"], seed).value,
        "ours, budget": lambda seed: ours_by_budget(problem, budget["probes"], seed, budget["steps"]),
    }
    scale: dict[str, float] = {}
    for name, opener in openers.items():
        session = opener(problem)
        session.product(torch.zeros(problem.P))
        answer[name] = calibrated_peer(problem, session, seeds)
        session.close()
        say(f"{problem.name}: {name} calibrated")
        for kind in ("plain probes", "sketch"):
            choice = answer[name].get(kind)
            if choice is None:
                continue
            label, count = f"{name}, {kind}", choice.get("probes") or choice["products"]
            if kind == "plain probes" and choice["predicted s"] > LONG:
                # Only the probes are run in part; the rest is timed whole and added below.
                works[label + ", 64 probes"] = whole_run(problem, opener, choice, 64, kind)
                scale[label] = (count - 64) * 1.0
            else:
                works[label] = whole_run(problem, opener, choice, count, kind)
    timed = in_turn(works, rounds)
    answer["seconds"] = {}
    for label, (seconds, found) in timed.items():
        entry = {"median_s": statistics.median(seconds), "min_s": min(seconds), "max_s": max(seconds), "rounds": rounds}
        full = label.removesuffix(", 64 probes")
        if full in scale:
            entry["median_s"] += scale[full] * answer[full.split(", ")[0]]["seconds of a probe"]
            entry = {"median_s": entry["median_s"], "extrapolated": "from runs with 64 probes, and the time of a probe"}
        else:
            entry["rms"] = rms(found, problem.truth)
        answer["seconds"][full] = entry
    for kind in ("plain probes", "sketch"):
        times = {n: e["median_s"] for n, e in answer["seconds"].items() if n.endswith(kind)}
        if times:
            best = min(times, key=lambda n: times[n])
            answer[f"best by {kind}"] = {
                "peer": best,
                **{f"over {own}": times[best] / answer["seconds"][own]["median_s"] for own in ("ours", "ours, budget")},
            }
    return answer


def whole_run(problem: Problem, opener: Any, choice: dict[str, Any], count: int, kind: str) -> Callable[[int], float]:
    """A peer's estimate from scratch."""

    def run(seed: int) -> float:
        session = opener(problem)
        norm = session.norms[choice["norm"]["route"]][0](choice["norm"]["parameter"], seed)
        squares = session.probes if kind == "plain probes" else session.sketch
        assert squares is not None
        value = squares(count, seed) / norm**2
        session.close()
        return value

    return run


# Equal budget, products, memory


def by_budget(problem: Problem, name: str, seed: int) -> float:
    """32 probes and the largest eigenvalue by the library's first route: tolerance 1e-3, or 20 Lanczos steps."""
    if name == "ours":
        return ours_by_budget(problem, 32, seed)
    library, _, kind = name.partition(", ")
    session = PEERS[library][2](problem)
    route, parameters = next(iter(session.norms.values()))
    squares = session.moment if kind else session.probes
    assert squares is not None
    value = squares(32, seed) / route(1e-3 if parameters[0] < 1.0 else 20, seed) ** 2
    session.close()
    return value


def equal_budget(problem: Problem, openers: dict[str, Any], rounds: int) -> dict[str, Any]:
    """Everybody with 32 probes and the largest eigenvalue by its own route at tolerance 1e-3."""
    names = ["ours", *openers, *(f"{name}, {MOMENT}" for name in openers if name == "PyHessian")]
    timed = in_turn({name: lambda seed, name=name: by_budget(problem, name, seed) for name in names}, rounds)
    base = statistics.median(timed["ours"][0])
    return {
        name: {
            "median_s": statistics.median(seconds),
            "ratio": statistics.median(seconds) / base,
            "rms": rms(found, problem.truth),
            "rounds": rounds,
        }
        for name, (seconds, found) in timed.items()
    }


def products(problem: Problem, openers: dict[str, Any], rounds: int) -> dict[str, Any]:
    """Time of a product with one vector, and for curvlinops with 16 together, in gradients over the same batch."""
    vector, many = torch.randn(problem.P), torch.randn(problem.P, 16)
    own = Curvature(problem.model, problem.loss, problem.data)
    sessions = {name: opener(problem) for name, opener in openers.items()}
    works: dict[str, Callable[[int], Any]] = {
        "gradient": lambda seed: problem.gradient(),
        "ours": lambda seed: own @ vector,
        **{name: lambda seed, s=s: s.product(vector) for name, s in sessions.items()},
    }
    if "curvlinops" in sessions:
        works["curvlinops, 16 at once, each"] = lambda seed: sessions["curvlinops"].product(many)
    timed = in_turn(works, rounds)
    medians = {name: statistics.median(s) / (16 if "16" in name else 1) for name, (s, _) in timed.items()}
    for session in sessions.values():
        session.close()
    base = medians["gradient"]
    return {name: {"s": value, "gradients": value / base} for name, value in medians.items()}


class Timed:
    """An operator that adds up the CPU time of its products."""

    def __init__(self, operator: Curvature) -> None:
        self.operator, self.seconds = operator, 0.0
        self.P, self.dtype, self.device = operator.P, operator.dtype, operator.device

    def products(self, vectors: torch.Tensor) -> torch.Tensor:
        """The operator's, timed."""
        seconds, found = clock(lambda: self.operator.products(vectors))
        self.seconds += seconds
        return found


def share(problem: Problem, width: float, runs: int) -> dict[str, Any]:
    """Where our time goes: products, their vectors, and building the operator; and the cost beside its limit."""
    inside, estimate, building, counts = 0.0, 0.0, 0.0, 0
    for seed in range(runs):
        seconds, operator = clock(lambda: Curvature(problem.model, problem.loss, problem.data))
        building += seconds
        timed = Timed(operator)
        seconds, found = clock(
            lambda timed=timed, seed=seed: stable_rank_of(timed, rng=np.random.default_rng(seed), relative_width=width)
        )
        estimate, inside, counts = estimate + seconds, inside + timed.seconds, counts + found.products
    gradient = statistics.median(clock(problem.gradient)[0] for _ in range(9))
    return {
        "products": counts / runs,
        "share of the estimate inside products": inside / estimate,
        "share of estimate and building inside products": inside / (estimate + building),
        "gradients, building included": (estimate + building) / runs / gradient,
        "limit in gradients: as many products at 2 each": 2.0 * counts / runs,
    }


def memory(name: str, folder: Path) -> dict[str, Any]:
    """Peak resident size of one equal-budget run in a process of its own, above a single gradient."""
    command = [sys.executable, os.path.abspath(__file__), "--memory", name, "--state", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def measure_memory(name: str, file: Path) -> None:
    """In that process: prints the peak after one gradient and after the run."""
    torch.set_num_threads(1)
    stored = torch.load(file)
    model = resnet(10, 10, 0, channels=1, width=8)
    model.load_state_dict(stored["state"])
    x, y = stored["inputs"], stored["targets"]
    problem = Problem("", model.eval(), nn.CrossEntropyLoss(), x, y, 1.0, 1.0, 1.0, 1.0)
    for module in [PEERS[name][1], "scipy.sparse.linalg"] if name in PEERS else []:
        importlib.import_module(module)
    problem.gradient()
    before = peak_bytes()
    by_budget(problem, name, 0)
    after = peak_bytes()
    print(json.dumps({"peak MiB": after / 2**20, "above one gradient MiB": (after - before) / 2**20}))


def peak_bytes() -> int:
    """Peak resident size of this process; `getrusage` would count the parent's, which the child begins as."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def plain(value: Any) -> Any:
    """Floats to four digits, so that the file can be read."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.4g}") if np.isfinite(value) else str(value)
    return value


def main() -> None:
    """Runs everything and writes the JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("hessian.json"))
    parser.add_argument("--memory", help=argparse.SUPPRESS)
    parser.add_argument("--state", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        measure_memory(options.memory, options.state)
        return
    began = time.process_time()
    torch.set_num_threads(1)
    versions = {name: version_of(package) for name, (package, _, _) in PEERS.items()}
    openers = {name: opener for name, (_, _, opener) in PEERS.items() if versions[name]}
    answer: dict[str, Any] = {
        "environment": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "machine": platform.machine(),
            "processors": os.cpu_count(),
            "load": os.getloadavg()[0],
            "threads": 1,
            "peers": {name: found or "absent: left out" for name, found in versions.items()},
        }
    }
    model, x, y = residual()
    small = x[:32], y[:32]  # a peer's thousand products are affordable on these
    makers = (mlp, lambda: large_problem("ResNet-10 of width 8, MNIST", model, nn.CrossEntropyLoss(), *small), flat_mlp)
    for make, seeds, rounds in zip(makers, (12, 4, 8), (9, 4, 9), strict=True):
        problem = make()
        say(problem.name)
        entry: dict[str, Any] = {
            "P": problem.P,
            "samples": len(problem.inputs),
            "stable rank": problem.truth,
            "relative sd of one probe": sqrt(problem.variance),
            **problem.facts,
            "one product": products(problem, openers, 9),
            "equal accuracy": equal_accuracy(problem, openers, seeds, rounds),
            "equal budget": equal_budget(problem, openers, rounds + 2),
        }
        width = entry["equal accuracy"]["ours"]["relative_width"]
        entry["our time"] = share(problem, width, 5)
        if problem.inputs is small[0]:
            entry["our time, 128 images"] = share(replace(problem, inputs=x, targets=y), width, 3)
        answer[problem.name] = entry
    say("memory")
    state = options.out.with_suffix(".state")
    torch.save({"state": model.state_dict(), "inputs": small[0], "targets": small[1]}, state)
    try:
        answer["memory, ResNet, equal budget"] = {name: memory(name, state) for name in ("ours", *openers)}
    finally:
        state.unlink()
    answer["environment"]["cpu_seconds"] = time.process_time() - began
    options.out.write_text(json.dumps(plain(answer), indent=1) + "\n")
    print(json.dumps(plain(answer), indent=1))


if __name__ == "__main__":
    main()
