"""Trace and largest eigenvalue of a Hessian, compared with PyHessian, curvlinops and hessian-eigenthings.

We compare at equal accuracy, 1 % RMS error, on the networks of `hessian.py`: for the whole matrix, and for the blocks
of all layers (on the deeper networks, of the modules at depth 1). ``python benchmarks/hessian_quantities.py [--out
FILE] [--only NAME] [--whole]``; ``--only`` keeps the other entries of the file. Each contender has the cheapest of its
routes and settings that reach 1 %, chosen given the truth; a peer without blocks gets a network whose other
parameters are frozen. The number of a peer's plain probes follows from their variance, and if they take long, only 32
are run and their time is scaled up. One thread, CPU seconds that include building the operator, contenders in turn,
ratios within a round.

The peers have to be importable (`PYTHONPATH`); missing ones are reported and skipped.
"""

from __future__ import annotations

import os
import sys

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import copy
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.hessian import in_turn, paired, plain, say, spread, usable
from benchmarks.stable_rank_calibration import GOAL, clock, rms
from benchmarks.stable_rank_problems import CASES, Case
from benchmarks.stable_rank_routes import PEERS, Network, Opener, Problem, version_of
from figures.provenance import machine, package_versions
from hessian import Curvature, PassedChecks, exact_hessian, measure
from hessian.quantities.block_measurements import measure_blocks
from hessian.quantities.measurement import MeasureSettings
from hessian.quantities.names import read_quantities
from workloads.files import write_whole

QUANTITIES = ("trace", "sharpness")
WIDTHS = {"trace": (0.03, 0.036, 0.043, 0.052, 0.062, 0.075, 0.09, 0.11, 0.14), "sharpness": (0.02, 0.05, 0.1, 0.2)}
SKETCHES = (12, 24, 48, 96, 192, 384, 768)
SHARE = 0.9
"""Share of 1 % that a calibrated route has to reach, because few seeds choose it."""
TOGETHER = (1, 16)
"""Vectors that we multiply at once, of which the faster number is chosen, as curvlinops multiplies many."""
ENOUGH = 3.0
"""CPU seconds of one run beyond which no tighter setting of a peer is tried."""
LONG, PART = 0.3, 32
"""CPU seconds from which only PART of the plain probes are run."""
DENSE = 5000
"""Parameters up to which the dense Hessian gives the truth."""
NARROW = {"trace": 0.004, "sharpness": 1e-4}
"""Width of our own intervals that give the truth otherwise."""
SHARED = "PyHessian, probes of the whole"
CANCELS = 0.3
"""A block is left out if its trace is below this share of its Frobenius norm, or if its largest eigenvalue in modulus
is negative, because then the power iteration of a peer finds another number."""


@dataclass(frozen=True, eq=False)
class Part:
    """A matrix to measure: the whole Hessian, or a block.

    Attributes:
        name: Name of the module; empty for the whole.
        network: The network, with the other parameters frozen.
        truth: Trace and largest eigenvalue.
        variance: Relative variance of one Rademacher form of the trace.
    """

    name: str
    network: Network
    truth: dict[str, float]
    variance: float


def frozen(problem: Problem, names: tuple[str, ...]) -> Network:
    """Return the network with only these parameters trainable."""
    model = copy.deepcopy(problem.model)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in names)
    return Network(model, problem.loss, problem.inputs, problem.targets)


def parts_of(problem: Problem, deep: bool) -> tuple[Part, list[Part], list[str]]:
    """Return the whole, the blocks that serve, and the names of those that do not."""
    operator = Curvature(problem.model, problem.loss, problem.data)
    blocks = operator.blocks(1 if deep else None)
    dense, double = None, copy.deepcopy(problem.model).double()
    if operator.P <= DENSE:
        wide = problem.targets.double() if problem.targets.is_floating_point() else problem.targets
        dense = exact_hessian(double, problem.loss, problem.inputs.double(), wide)
    places = dict(zip(operator.names, _slices(double, operator.names), strict=True))
    whole = _part("", Network(problem.model, problem.loss, problem.inputs, problem.targets), operator, dense)
    assert whole is not None
    found, left_out = [], []
    for name, block in blocks.items():
        chosen = None
        if dense is not None:
            rows = torch.cat([torch.arange(places[one].start, places[one].stop) for one in block.names])
            chosen = dense[rows][:, rows]
        part = _part(name, frozen(problem, tuple(block.names)), block, chosen)
        if part is None:
            left_out.append(name)
        else:
            found.append(part)
    return whole, found, left_out


def _slices(model: torch.nn.Module, names: Any) -> list[slice]:
    sizes = {name: p.numel() for name, p in model.named_parameters()}
    ends = np.cumsum([sizes[name] for name in names])
    return [slice(int(end) - sizes[name], int(end)) for name, end in zip(names, ends, strict=True)]


def _part(name: str, network: Network, operator: Curvature, dense: Tensor | None) -> Part | None:
    """Return a part with its truth; None for a block that does not serve."""
    if dense is not None:
        values = torch.linalg.eigvalsh(dense)
        top, low, trace = float(values[-1]), float(values[0]), float(values.sum())
        square = float((values**2).sum())
        spread_of = 2.0 * (square - float((dense.diagonal() ** 2).sum()))
    else:
        asked = ["trace", "sharpness", "smallest", "frobenius-squared"]
        rough = measure(operator, asked, relative_width=0.1, seed=97, products=4000)
        low, square = rough["smallest"].value, rough["frobenius-squared"].value
        fine = {
            one: measure(operator, one, relative_width=width, seed=98, products=20000, basis=200)
            for one, width in NARROW.items()
        }
        trace, top = (fine[one][one].value for one in QUANTITIES)
        generator = torch.Generator().manual_seed(96)
        signs = torch.randint(2, (100, operator.P), generator=generator).to(operator.dtype) * 2 - 1
        spread_of = float(np.var([float(z @ (operator @ z)) for z in signs], ddof=1))
    if name and (abs(trace) < CANCELS * square**0.5 or top < -low or top <= 0.0):
        return None
    return Part(name, network, {"trace": trace, "sharpness": top}, spread_of / trace**2)


# Peers


def routes_of(name: str, network: Network, quantity: str) -> dict[str, tuple[Callable[[float, int], float], Any]]:
    """Return a peer's routes to a quantity, each with its settings from loose to tight; plain probes have none.

    A route includes building the operator.
    """
    opener = PEERS[name][2]
    if quantity == "sharpness":

        def norm(route: str) -> Callable[[float, int], float]:
            return lambda parameter, seed: _once(opener, network, lambda s: s.norms[route][0](parameter, seed))

        session = opener(network)
        found = {route: (norm(route), parameters) for route, (_, parameters) in session.norms.items()}
        session.close()
        return found
    session = opener(network)
    kinds = list(session.traces)
    session.close()

    def trace(kind: str) -> Callable[[float, int], float]:
        return lambda count, seed: _once(opener, network, lambda s: s.traces[kind](count, seed))

    return {kind: (trace(kind), None if kind == "plain" else SKETCHES) for kind in kinds}


def _once(opener: Opener, network: Network, work: Callable[[Any], float]) -> float:
    session = opener(network)
    try:
        return work(session)
    finally:
        session.close()


def calibrate_peer(name: str, part: Part, quantity: str, seeds: int) -> dict[str, Any] | None:
    """Return a peer's cheapest route and setting that reach 1 %; None if there is none."""
    tried = []
    for route, (work, settings) in routes_of(name, part.network, quantity).items():
        if settings is None:
            count = max(min(ceil(part.variance / GOAL**2), part.network.P), 1)
            few = min(count, PART)
            clock(lambda work=work: work(2, 0))
            small, large = (clock(lambda work=work, n=n: work(n, 0))[0] for n in (1, few + 1))
            seconds = small + (large - small) * count / few
            tried.append({"route": route, "parameter": count, "s": seconds, "error": "by the variance of a probe"})
            continue
        for parameter in settings:
            if quantity == "trace" and parameter >= part.network.P:
                break
            try:
                runs = [clock(lambda work=work, p=parameter, s=seed: work(p, s)) for seed in range(seeds)]
            except (RuntimeError, ValueError):  # a basis that is singular in single precision
                break
            error = rms([found for _, found in runs], part.truth[quantity])
            seconds = statistics.median(s for s, _ in runs)
            if error <= SHARE * GOAL:
                tried.append({"route": route, "parameter": parameter, "s": seconds, "error": error})
            if error <= SHARE * GOAL or seconds > ENOUGH:
                break
    return min(tried, key=lambda one: one["s"]) if tried else None


def run_of_peer(name: str, part: Part, quantity: str, choice: dict[str, Any]) -> Callable[[int], float]:
    """Return a run that gives its seconds, those of left out plain probes included."""
    work = routes_of(name, part.network, quantity)[choice["route"]][0]
    count = choice["parameter"]
    if choice["route"] != "plain" or choice["s"] <= LONG or count <= 2 * PART:
        return lambda seed: clock(lambda: work(count, seed))[0]

    def scaled(seed: int) -> float:
        few = clock(lambda: work(1, seed))[0]
        many = clock(lambda: work(1 + PART, seed))[0]
        return few + (many - few) * (count - 1) / PART

    return scaled


def shared_count(problem: Problem, parts: list[Part]) -> int:
    """Return how many probes of the whole give the trace of every block to 1 %, each by its part of the product."""
    operator = Curvature(problem.model, problem.loss, problem.data)
    places = dict(zip(operator.names, _slices(problem.model, operator.names), strict=True))
    generator = torch.Generator().manual_seed(95)
    signs = torch.randint(2, (100, operator.P), generator=generator).to(operator.dtype) * 2 - 1
    forms = [z * (operator @ z) for z in signs]
    counts = []
    for part in parts:
        own = [places[name] for name, p in part.network.model.named_parameters() if p.requires_grad]
        each = [sum(float(form[place].sum()) for place in own) for form in forms]
        counts.append(float(np.var(each, ddof=1)) / (GOAL * part.truth["trace"]) ** 2)
    return max(ceil(max(counts)), 1)


def shared_probes(network: Network, count: int, seed: int) -> float:
    """Return the seconds of PyHessian's plain probes of the whole, of which each gives all blocks."""
    part = Part("", network, {}, 0.0)
    return run_of_peer("PyHessian", part, "trace", {"route": "plain", "parameter": count, "s": 2.0 * LONG})(seed)


# Ours


def calibrate_ours(network: Network, parts: list[Part], quantity: str, seeds: int, depth: int | None) -> dict[str, Any]:
    """Return the widest of our intervals whose values have 1 % RMS error over parts and seeds, on other seeds too."""
    operator = Curvature(network.model, network.loss, network.data)
    tried: dict[float, float] = {}
    refused: dict[float, float] = {}

    def error_of(width: float, first: int) -> float:
        found = [values_of(operator, parts, quantity, width, seed, depth) for seed in range(first, first + seeds)]
        return float(np.sqrt(np.mean((np.asarray(found) / [part.truth[quantity] for part in parts] - 1.0) ** 2)))

    for width in WIDTHS[quantity]:
        tried[width] = error_of(width, 0)
        if tried[width] > 1.5 * GOAL:
            break
    good = sorted((width for width, error in tried.items() if error <= GOAL), reverse=True) or [WIDTHS[quantity][0]]
    for width in good:
        error = error_of(width, 500)
        if error <= GOAL:
            break
        refused[width] = error
    return {"relative_width": width, "rms": error, "tried": tried, "not confirmed": refused}


def values_of(
    operator: Curvature, parts: list[Part], quantity: str, width: float, seed: int, depth: int | None
) -> list[float]:
    """Return our estimates, of all blocks at once or of the whole."""
    if not parts[0].name:
        return [measure(operator, quantity, relative_width=width, seed=seed)[quantity].value]
    settings = MeasureSettings(relative_width=width)
    found = measure_blocks(operator, read_quantities(quantity), settings, seed=seed, depth=depth)
    by_name = {one.name: one.measurement for one in found}
    return [by_name[part.name][quantity].value for part in parts]  # type: ignore[index]


def compare(problem: Problem, case: Case, parts: list[Part], openers: dict[str, Any], depth: int | None) -> Any:
    """Calibrate and time all contenders for both quantities of the whole, or of all blocks together."""
    answer: dict[str, Any] = {}
    shared = shared_count(problem, parts) if parts[0].name else 0
    network = Network(problem.model, problem.loss, problem.inputs, problem.targets)
    for quantity in QUANTITIES:
        own = calibrate_ours(network, parts, quantity, case.tries, depth)
        passed = PassedChecks()

        def ours(seed: int, checks: PassedChecks | None, own: Any = own, quantity: str = quantity) -> float:
            def work() -> None:
                together = own.get("vectors together", 1)
                operator = Curvature(network.model, network.loss, network.data, checks=checks, vectorize=together)
                values_of(operator, parts, quantity, own["relative_width"], seed, depth)

            return clock(work)[0]

        times = {
            count: min(ours(0, passed, {**own, "vectors together": count}) for _ in range(3)) for count in TOGETHER
        }
        own["vectors together"] = min(times, key=lambda count: times[count])
        works: dict[str, Callable[[int], Any]] = {
            "ours, first": lambda seed, ours=ours: ours(seed, None),
            "ours, second": lambda seed, ours=ours, passed=passed: ours(seed, passed),
        }
        choices: dict[str, Any] = {}
        for name in openers:
            chosen = [calibrate_peer(name, part, quantity, case.tries) for part in parts]
            choices[name] = {part.name: choice for part, choice in zip(parts, chosen, strict=True)}
            if None not in chosen:
                runs = [run_of_peer(name, part, quantity, c) for part, c in zip(parts, chosen, strict=True) if c]
                works[name] = lambda seed, runs=runs: sum(run(seed) for run in runs)
            say(f"{case.name}, {quantity}: {name} calibrated, {choices[name]}")
        if quantity == "trace" and shared and "PyHessian" in openers:
            works[SHARED] = lambda seed: shared_probes(network, shared, seed)
            choices[SHARED] = {"probes": shared}
        # Every work returns its own seconds, because plain probes are scaled up.
        timed = {name: values for name, (_, values) in in_turn(works, min(case.rounds, 7)).items()}
        entry: dict[str, Any] = {"ours": own, "peers": choices, "seconds": {n: spread(v) for n, v in timed.items()}}
        peers = {name: statistics.median(values) for name, values in timed.items() if not name.startswith("ours")}
        if peers:
            best = min(peers, key=lambda name: peers[name])
            entry["best peer"] = best
            for label in ("first", "second"):
                entry[f"best peer over ours, {label}"] = paired(timed[best], timed[f"ours, {label}"])
        answer[quantity] = entry
        say(f"{case.name}, {quantity}: {entry['seconds']}")
    return answer


def main() -> None:
    """Compare all networks, and write the JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("hessian_quantities.json"))
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument("--whole", action="store_true", help="leave out the blocks")
    options = parser.parse_args()
    torch.set_num_threads(1)
    versions = {name: version_of(package) for name, (package, _, _) in PEERS.items()}
    answer = json.loads(options.out.read_text()) if options.out.exists() else {}
    for case in CASES:
        if options.only not in case.name:
            continue
        started = time.process_time()
        problem = case.make()
        openers, failing = usable(problem, {name: PEERS[name][2] for name, found in versions.items() if found})
        whole, blocks, left_out = parts_of(problem, case.deep)
        say(f"{case.name}: {whole.truth}, variance {whole.variance:.3g}, blocks {[part.name for part in blocks]}")
        entry: dict[str, Any] = {"P": problem.P, "truth": whole.truth, "relative variance of a form": whole.variance}
        entry["no product"] = failing
        entry["whole"] = compare(problem, case, [whole], openers, None)
        if blocks and not options.whole:
            entry["blocks"] = compare(problem, case, blocks, openers, 1 if case.deep else None)
            entry["blocks"]["names"] = [part.name for part in blocks]
            entry["blocks"]["left out"] = left_out
        entry["environment"] = {
            **machine(),
            "packages": package_versions(("torch", "numpy", "scipy")),
            "threads": 1,
            "load": os.getloadavg()[0],
            "peers": {name: found or "absent: left out" for name, found in versions.items()},
            "cpu_seconds": round(time.process_time() - started, 1),
        }
        answer[case.name] = plain(entry)
        write_whole({options.out: (json.dumps(answer, indent=1) + "\n").encode()})


if __name__ == "__main__":
    main()
