"""The stable rank of a Hessian, compared with PyHessian, curvlinops and hessian-eigenthings.

At equal accuracy (1 % RMS error), at equal budget (32 Frobenius probes), time of a product, share of the time inside
products, and memory: ``python benchmarks/hessian.py [--out FILE] [--only NAME] [--budget]``, 10 to 20 minutes; with
``--only`` the other entries of the file stay, with ``--budget`` the other parts of each. We use one process with one
thread and its CPU seconds, so that other work on the machine matters little. Contenders take turns, and ratios are
within a round. MNIST must be present; missing libraries are reported and skipped.
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
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import torch
from torch import nn

from benchmarks.stable_rank_calibration import calibrated_budget, calibrated_peer, calibrated_width, clock, rms
from benchmarks.stable_rank_problems import CASES, Case
from benchmarks.stable_rank_routes import PEERS, Problem, ours, ours_by_budget, version_of
from hessian import Curvature, PassedChecks, stable_rank_of
from workloads.image_networks.resnet import resnet

KINDS = ("plain probes", "sketch")
MOMENT = "second moment of its density"
SECOND = "ours, second matrix"
BY_VALUE = "ours, second matrix, stopped as PyHessian's iteration"
MANY = 50_000_000
"""Parameters beyond which 16 vectors at once are not tried."""
LONG = 1.0
"""CPU seconds above which only PART of the plain probes are run, their time being scaled up."""
PART = 64


def in_turn(works: dict[str, Callable[[int], Any]], rounds: int) -> dict[str, tuple[list[float], list[Any]]]:
    """Run all contenders round by round, in alternating order, after an uncounted round."""
    answer: dict[str, tuple[list[float], list[Any]]] = {name: ([], []) for name in works}
    for turn in range(-1, rounds):
        for name in list(works) if turn % 2 else reversed(list(works)):
            seconds, found = clock(lambda name=name, turn=turn: works[name](1000 + turn))
            if turn >= 0:
                answer[name][0].append(seconds)
                answer[name][1].append(found)
    return answer


def say(text: str) -> None:
    """Print the progress."""
    print(f"{time.process_time():.0f} s: {text}", file=sys.stderr, flush=True)


# Equal accuracy


def equal_accuracy(problem: Problem, case: Case, openers: dict[str, Any]) -> dict[str, Any]:
    """Calibrate every contender, then time the chosen settings in turn, including construction of the operators."""
    width = calibrated_width(problem, 2 * case.tries, case.confirmations)
    say(f"{case.name}: ours calibrated")
    budget = calibrated_budget(problem, 2 * case.tries, case.confirmations)
    say(f"{case.name}: our budget calibrated")
    answer: dict[str, Any] = {"ours": width, "ours, budget": budget}
    works: dict[str, Callable[[int], Any]] = {
        "ours": lambda seed: (ours(problem, width["relative_width"], seed).value, 0.0),
        "ours, budget": lambda seed: (ours_by_budget(problem, budget["probes"], seed, budget["steps"]), 0.0),
    }
    scale: dict[str, float] = {}
    for name, opener in openers.items():
        session = opener(problem)
        session.product(torch.zeros(problem.P))
        answer[name] = calibrated_peer(problem, session, case.tries)
        session.close()
        say(f"{case.name}: {name} calibrated")
        for kind in KINDS:
            choice = answer[name].get(kind)
            if choice is None:
                continue
            label, count = f"{name}, {kind}", choice.get("probes") or choice["products"]
            if kind == KINDS[0] and choice["predicted s"] > LONG:
                # Everything is run but some of the probes, whose time is scaled up within the round.
                scale[label] = (count - PART) / PART
                count = PART
            works[label] = whole_run(problem, opener, choice, count, kind)
    answer["seconds"] = {}
    rounds: dict[str, list[float]] = {}
    for label, (seconds, found) in in_turn(works, case.rounds).items():
        added = [scale.get(label, 0.0) * probing for _, probing in found]
        rounds[label] = [s + more for s, more in zip(seconds, added, strict=True)]
        entry = spread(rounds[label])
        if label in scale:
            entry["extrapolated"] = f"from {PART} probes to {choice_count(answer, label)}, their time scaled up"
        else:
            entry["rms"] = rms([value for value, _ in found], problem.truth)
        answer["seconds"][label] = entry
    for kind in KINDS:
        times = {label: answer["seconds"][label]["median"] for label in rounds if label.endswith(kind)}
        if times:
            best = min(times, key=lambda label: times[label])
            own = ("ours", "ours, budget")
            answer[f"best by {kind}"] = {"peer": best, **{f"over {o}": paired(rounds[best], rounds[o]) for o in own}}
    say(f"{case.name}: equal accuracy timed")
    return answer


def choice_count(answer: dict[str, Any], label: str) -> int:
    """Return the number of plain probes that a peer needs."""
    name, kind = label.split(", ")
    return answer[name][kind]["probes"]


def spread(values: list[float]) -> dict[str, Any]:
    """Return median and extremes."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "rounds": len(values)}


def paired(values: list[float], base: list[float]) -> dict[str, Any]:
    """Return the ratios of two contenders in the same rounds."""
    return spread([value / other for value, other in zip(values, base, strict=True)])


def whole_run(
    problem: Problem, opener: Any, choice: dict[str, Any], count: int, kind: str
) -> Callable[[int], tuple[float, float]]:
    """Run a peer's estimate from scratch; return it, and the fraction of its time for the squared norm."""

    def run(seed: int) -> tuple[float, float]:
        session = opener(problem)
        norm = session.norms[choice["norm"]["route"]][0](choice["norm"]["parameter"], seed)
        squares = session.probes if kind == KINDS[0] else session.sketch
        assert squares is not None
        seconds, square = clock(lambda: squares(count, seed))
        session.close()
        return square / norm**2, seconds

    return run


# Equal budget, products, memory


def by_budget(problem: Problem, name: str, seed: int, checks: PassedChecks | None = None) -> float:
    """Estimate with 32 probes and the library's first route to the norm: tolerance 1e-3, or 20 Lanczos steps."""
    if name.startswith("ours"):
        return ours_by_budget(problem, 32, seed, checks=checks, by_value=name == BY_VALUE)
    library, _, kind = name.partition(", ")
    session = PEERS[library][2](problem)
    route, parameters = next(iter(session.norms.values()))
    squares = session.moment if kind else session.probes
    assert squares is not None
    value = squares(32, seed) / route(1e-3 if parameters[0] < 1.0 else 20, seed) ** 2
    session.close()
    return value


def equal_budget(problem: Problem, openers: dict[str, Any], rounds: int) -> dict[str, Any]:
    """Time every contender with 32 probes and the largest eigenvalue by its own route at tolerance 1e-3.

    Ours is timed for the first matrix of a structure, for a later one, and with the stopping rule of the power
    iteration, on the change of the eigenvalue instead of the residual.
    """
    names = ["ours", SECOND, BY_VALUE, *openers]
    names += [f"{name}, {MOMENT}" for name in openers if name == "PyHessian"]
    passed = PassedChecks()
    checks = {SECOND: passed, BY_VALUE: passed}
    by_budget(problem, SECOND, 0, passed)
    timed = in_turn(
        {name: lambda seed, name=name: by_budget(problem, name, seed, checks.get(name)) for name in names}, rounds
    )
    return {
        name: {
            "seconds": spread(seconds),
            "ratio": paired(seconds, timed["ours"][0]),
            "ratio to the second": paired(seconds, timed[SECOND][0]),
            "ratio to the second, stopped alike": paired(seconds, timed[BY_VALUE][0]),
            "rms": rms(found, problem.truth),
        }
        for name, (seconds, found) in timed.items()
    }


def products(problem: Problem, openers: dict[str, Any], rounds: int) -> dict[str, Any]:
    """Time a product with one vector, and for curvlinops with 16 together, in gradients over the same batch."""
    vector = torch.randn(problem.P)
    own = Curvature(problem.model, problem.loss, problem.data)
    sessions = {name: opener(problem) for name, opener in openers.items()}
    works: dict[str, Callable[[int], Any]] = {
        "gradient": lambda seed: problem.gradient(),
        "ours": lambda seed: own @ vector,
        **{name: lambda seed, s=s: s.product(vector) for name, s in sessions.items()},
    }
    if "curvlinops" in sessions and problem.P <= MANY:
        many = torch.randn(problem.P, 16)
        works["curvlinops, 16 at once, each"] = lambda seed: sessions["curvlinops"].product(many)
    timed = in_turn(works, rounds)
    each = {name: [x / (16 if "16" in name else 1) for x in seconds] for name, (seconds, _) in timed.items()}
    for session in sessions.values():
        session.close()
    return {
        name: {"s": statistics.median(seconds), "gradients": paired(seconds, each["gradient"])["median"]}
        for name, seconds in each.items()
    }


class Timed:
    """An operator that accumulates the CPU time of its products."""

    def __init__(self, operator: Curvature) -> None:
        self.operator, self.seconds = operator, 0.0
        self.P, self.dtype, self.device = operator.P, operator.dtype, operator.device

    def products(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return the operator's products, timed."""
        seconds, found = clock(lambda: self.operator.products(vectors))
        self.seconds += seconds
        return found


def share(problem: Problem, width: float, runs: int) -> dict[str, Any]:
    """Measure our time for products, vectors and construction of the operator, and the cost with its limit."""
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
    """Measure the peak resident size of one equal-budget run in its own process, above a single gradient."""
    command = [sys.executable, os.path.abspath(__file__), "--memory", name, "--state", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def measure_memory(name: str, file: Path) -> None:
    """Print, in that process, the peak after one gradient and after the run."""
    torch.set_num_threads(1)
    stored = torch.load(file)
    model = resnet(10, 10, 0, channels=1, width=8)
    model.load_state_dict(stored["state"])
    x, y = stored["inputs"], stored["targets"]
    problem = Problem(model.eval(), nn.CrossEntropyLoss(), x, y, 1.0, 1.0, 1.0, 1.0)
    for module in [PEERS[name][1], "scipy.sparse.linalg"] if name in PEERS else []:
        importlib.import_module(module)
    problem.gradient()
    before = peak_bytes()
    by_budget(problem, name, 0)
    after = peak_bytes()
    print(json.dumps({"peak MiB": after / 2**20, "above one gradient MiB": (after - before) / 2**20}))


def peak_bytes() -> int:
    """Return the peak resident size of this process; `getrusage` would include the parent's, which a fork inherits."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def plain(value: Any) -> Any:
    """Return floats rounded to four digits, so that the file is readable."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.4g}") if np.isfinite(value) else str(value)
    return value


def usable(problem: Problem, openers: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the libraries that have a product, and the reasons of the others."""
    found, failing = {}, {}
    for name, opener in openers.items():
        try:
            session = opener(problem)
            session.product(torch.zeros(problem.P))
            session.close()
            found[name] = opener
        except (NotImplementedError, RuntimeError) as error:
            failing[name] = " ".join(str(error).split())[:100]
    return found, failing


def measure(problem: Problem, case: Case, openers: dict[str, Any]) -> dict[str, Any]:
    """Measure everything about one problem; libraries that cannot multiply by its Hessian are left out by name."""
    openers, failing = usable(problem, openers)
    entry: dict[str, Any] = {
        "P": problem.P,
        "samples": len(problem.inputs),
        "stable rank": problem.truth,
        "relative sd of one probe": sqrt(problem.variance),
        **({"no product": failing} if failing else {}),
        **problem.facts,
        "one product": products(problem, openers, 9),
        "equal accuracy": equal_accuracy(problem, case, openers),
        "equal budget": equal_budget(problem, openers, case.rounds),
    }
    width = entry["equal accuracy"]["ours"]["relative_width"]
    entry["our time"] = share(problem, width, 5)
    if case.wide is not None:
        wide = case.wide(problem)
        entry[f"our time, {len(wide.inputs)} images"] = share(wide, width, 3)
    return entry


def main() -> None:
    """Run everything, and write the JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("hessian.json"))
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument("--budget", action="store_true", help="only at equal budget; other parts stay")
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
    environment: dict[str, Any] = {
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
    stays = options.only or options.budget
    answer = json.loads(options.out.read_text()) if stays and options.out.exists() else {}
    kept = None
    for case in CASES:
        if options.only not in case.name:
            continue
        problem = case.make()
        say(case.name)
        if options.budget:
            found = equal_budget(problem, usable(problem, openers)[0], 2 * case.rounds)
            answer.setdefault(case.name, {})["equal budget, second matrix"] = {**found, "environment": environment}
            say(str({name: one["ratio to the second"]["median"] for name, one in found.items()}))
            continue
        answer[case.name] = {**measure(problem, case, openers), "environment": environment}
        kept = (case.name, problem) if case.wide is not None else kept
    if kept is not None:
        say("memory")
        state = options.out.with_suffix(".state")
        name, problem = kept
        torch.save({"state": problem.model.state_dict(), "inputs": problem.inputs, "targets": problem.targets}, state)
        try:
            answer[f"memory, {name}, equal budget"] = {own: memory(own, state) for own in ("ours", *openers)}
        finally:
            state.unlink()
    environment["cpu_seconds"] = time.process_time() - began
    if not stays:
        answer["environment"] = environment
    options.out.write_text(json.dumps(plain(answer), indent=1) + "\n")
    print(json.dumps(plain(answer), indent=1))


if __name__ == "__main__":
    main()
