"""Speed of federated training of networks, compared with a bare loop, deep copies of the model, pfl and flwr.

``python benchmarks/federated.py [--peers PYTHON] [--only SECTION] [--out FILE]``, some 20 minutes. PYTHON is the
interpreter of an environment with torch, pfl and ``flwr[simulation]``; missing libraries are reported and skipped. All
contenders train the same weights on the same batches of Fashion-MNIST, round by round in turn, and must reach the same
weights; ratios are medians over rounds. CPU seconds include child processes, with one thread each. Each section is
written to the file when it ends; ``--only`` measures one again and keeps the others.
"""

from __future__ import annotations

import os
import sys

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.abspath(__file__))), os.path.dirname(os.path.abspath(__file__))]
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from federated_cases import (
    BATCH,
    CASES,
    COHORT,
    CONVOLUTIONS,
    RATE,
    SAMPLES,
    SEED,
    TINY,
    Case,
    Found,
    images,
    plain,
    problem_of,
    ratios,
    small_perceptron,
)
from federated_factors import low_rank
from federated_loops import Bare, DeepCopies, Gradients, InPlace, RoundedTwice, State, Task, timed
from torch import Tensor

from algorithms.descent import Descent
from algorithms.executors.processes import Processes
from algorithms.fedavg import FedAvg
from algorithms.federation import Executor, Federation
from algorithms.optimisers import Adam, AdamW, Optimiser, Sgd
from algorithms.resumable import Resumable
from algorithms.rounds import one_round
from algorithms.tree import Tree
from runs.network_problem import NetworkProblem, network_problem
from workloads.partition import Parts


class Ours:
    """FedAvg of this project."""

    def __init__(
        self, problem: NetworkProblem, optimiser: Optimiser | None, executor: Executor | None = None, batch: int = BATCH
    ) -> None:
        local = Descent(epochs=1, batch=batch, learning_rate=RATE, optimiser=optimiser)
        self.algorithm, self.fed = FedAvg(local), Federation(problem.clients, seed=SEED, executor=executor)
        self.state: Tree = self.algorithm.start(self.fed, Tree(problem.start))

    def round(self, number: int, cohort: Sequence[int]) -> None:
        """Run one round."""
        self.state = one_round(self.algorithm.round, self.fed, self.state, cohort)


class EndedError(RuntimeError):
    """An error for a library whose process has ended."""


class Peer:
    """A library in a process of its own environment.

    Attributes:
        every: It takes part in one of so many rounds: flwr takes seconds for each.
    """

    def __init__(self, python: str, library: str, place: Path) -> None:
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "federated_loops.py")
        self.place, self.log, self.state = place.with_suffix(f".{library}"), place.with_suffix(f".{library}-log"), {}
        self.every = 4 if library == "flwr" else 1
        self.process = subprocess.Popen(
            [python, script, library, str(place)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log.open("w"),
            text=True,
        )
        self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise EndedError(f"{self.place.suffix[1:]} ended:\n{self.log.read_text()[-2000:]}")
        return json.loads(line)

    def timed_round(self, number: int, cohort: Sequence[int]) -> tuple[float, float]:
        """Run one round, timed in its process: CPU seconds, including its children's, and wall seconds."""
        assert self.process.stdin is not None
        print(json.dumps([number, list(cohort), str(self.place) if number == 1 else ""]), file=self.process.stdin)
        self.process.stdin.flush()
        cpu, wall = self._answer()
        if number == 1:
            self.state: State = torch.load(self.place)
        return cpu, wall

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def in_turn(contenders: Mapping[str, Any], rounds: int, clients: int) -> tuple[dict[str, list[Any]], dict[str, State]]:
    """Return CPU and wall seconds of each contender's rounds, the first untimed, and the weights after the first."""
    times: dict[str, list[tuple[float, float] | None]] = {name: [] for name in contenders}
    first: dict[str, State] = {}
    for number in range(1, rounds + 2):
        cohort = sorted(np.random.default_rng([SEED, number]).choice(clients, COHORT, replace=False).tolist())
        for name, one in contenders.items():
            if (number - 1) % getattr(one, "every", 1):
                seconds = None
            elif isinstance(one, Peer):
                seconds = one.timed_round(number, cohort)
            else:
                seconds = timed(lambda one=one, number=number, cohort=cohort: one.round(number, cohort))
            if number == 1:
                first[name] = {of: value.clone() for of, value in one.state.items()}
            else:
                times[name].append(seconds)
    return times, first


# Sections


def rounds_of(case: Case, peers: str | None, clients: int = 100, samples: int = SAMPLES) -> Found:
    """Time a round of FedAvg for every contender; ratios are to the bare loop.

    For ours with two workers, only the wall time is reported: flwr's simulation has as many processes with clients.
    """
    problem = problem_of(case, clients, samples)
    task = task_of(case, problem)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        place = Path(folder) / "task.pt"
        torch.save(tuple(task), place)
        place.with_suffix(".cohort").write_text(str(COHORT))
        two = Processes(2)
        stack.callback(two.close)
        contenders: dict[str, Any] = {
            "bare loop": Bare(task),
            "bare loop, in place": InPlace(task),
            "ours": Ours(problem, Sgd()),
            "ours, 2 workers": Ours(problem, Sgd(), two),
            "ours, plain descent": Ours(problem, None),
            "deep copies": DeepCopies(task),
            "forward and backward alone": Gradients(task),
        }
        left_out = {}
        for library in present(peers):
            try:
                contenders[library] = Peer(str(peers), library, place)
            except EndedError as error:  # Ray does not start on a machine that is very busy
                left_out[library] = "did not start: left out"
                print(error, file=sys.stderr)
            else:
                stack.callback(contenders[library].close)
        times, first = in_turn(contenders, case.rounds, clients)
    trained = dict(task.module.named_parameters())
    farthest = {name: largest_difference(state, first["bare loop"], trained) for name, state in first.items()}
    del farthest["forward and backward alone"]
    for name, distance in farthest.items():
        # Plain descent rounds otherwise: in float32 a residual network makes 4e-4 of that in a round, in float64 2e-16.
        if distance > 1e-4 and name != "ours, plain descent":
            raise SystemExit(f"{name} does not come to the weights of the bare loop: {distance:.1e}")
    found = ratios(times, "bare loop")
    del found["ours, 2 workers"]["cpu"]  # of this process alone
    return {**found, **left_out, "largest difference of weights after a round": farthest}


def in_place(case: Case, rounds: int, clients: int = COHORT, samples: int = 320) -> Found:
    """Time plain descent, in place, and in new tensors where steps are recorded; ratios are to a loop in place."""
    problem = problem_of(case, clients, samples)
    task = task_of(case, problem)
    contenders = {
        "loop in place": InPlace(task),
        "loop in place, product rounded": RoundedTwice(task),
        "ours": Ours(problem, None),
        "ours, steps recorded": Ours(problem, None, Resumable()),
        "forward and backward alone": Gradients(task),
    }
    times, first = in_turn(contenders, rounds, clients)
    expected = first["loop in place, product rounded"]
    farthest = {name: largest_difference(first[name], expected, expected) for name in ("ours", "ours, steps recorded")}
    return {**ratios(times, "loop in place"), "largest difference of weights after a round": farthest}


def task_of(case: Case, problem: NetworkProblem) -> Task:
    """Return the same work for contenders that do not use the project."""
    clients = problem.clients
    parts = [torch.from_numpy(part) for part in clients.parts]
    return Task(case.make(), tuple(problem.start), clients.data.x, clients.data.y, parts, RATE, BATCH, SEED)


def alone(case: Case, rounds: int) -> Found:
    """Time a round of FedAvg here and in the bare loop on an idle machine: the most precise measure of the overhead."""
    problem = problem_of(case, 100, SAMPLES)
    task = task_of(case, problem)
    contenders = {"bare loop": Bare(task), "ours": Ours(problem, Sgd()), "forward and backward alone": Gradients(task)}
    return ratios(in_turn(contenders, rounds, 100)[0], "bare loop")


def largest_difference(one: State, other: Mapping[str, Tensor], names: Mapping[str, Any]) -> float:
    """Return the largest difference of the trained weights."""
    return max(float((one[name] - other[name]).abs().max()) for name in names)


def optimisers(case: Case, repetitions: int) -> Found:
    """Time steps of our optimisers and of `torch.optim` with equal gradients; ratios are to torch's default."""
    generator = torch.Generator().manual_seed(SEED)
    start = [value.detach() for value in case.make().parameters()]
    slopes = [torch.randn(value.shape, generator=generator) for value in start]
    answer: Found = {}
    kinds: dict[str, tuple[Optimiser, Any]] = {
        "SGD, momentum 0.9": (Sgd(0.9), lambda w, **how: torch.optim.SGD(w, lr=1e-3, momentum=0.9, **how)),
        "Adam": (Adam(), lambda w, **how: torch.optim.Adam(w, lr=1e-3, **how)),
        "AdamW": (AdamW(), lambda w, **how: torch.optim.AdamW(w, lr=1e-3, **how)),
    }
    for name, (own, made) in kinds.items():
        contenders: dict[str, Callable[[], None]] = {"ours": stepping(own, start, slopes)}
        for label, how in (("torch", {}), ("torch, foreach", {"foreach": True}), ("torch, fused", {"fused": True})):
            w = [torch.nn.Parameter(value.clone()) for value in start]
            for value, slope in zip(w, slopes, strict=True):
                value.grad = slope.clone()
            contenders[label] = made(w, **how).step
        times: dict[str, list[tuple[float, float]]] = {label: [] for label in contenders}
        for _ in range(repetitions):
            for label, step in contenders.items():
                times[label].append(timed(lambda step=step: [step() for _ in range(20)]))
        answer[name] = {label: entry["cpu"] for label, entry in ratios(times, "torch").items()}
    return answer


def stepping(own: Optimiser, start: list[Tensor], slopes: list[Tensor]) -> Callable[[], None]:
    """Return a function that takes a step from the end of the previous one."""
    at: list[Any] = [start, own.start(start)]

    def step() -> None:
        at[:] = own.step(at[0], slopes, at[1], 1e-3)

    return step


def many_clients(most: int, rounds: int) -> Found:
    """Measure start, time and memory of rounds of 20 clients out of up to a million (all of the first 10)."""
    counts = [10**k for k in range(1, 7) if 10**k <= most]
    times: dict[str, list[tuple[float, float]]] = {str(count): [] for count in counts}
    data = images(14, 60_000)
    made = {str(count): crowd(count, data) for count in counts}
    for number in range(1, rounds + 2):
        for name, (_, one) in made.items():
            cohort = one.fed.cohort(min(COHORT, int(name)))
            seconds = timed(lambda one=one, number=number, cohort=cohort: one.round(number, cohort))
            if number > 1:
                times[name].append(tuple(part / len(cohort) for part in seconds))
    found = ratios(times, str(min(count for count in counts if count >= COHORT)))
    for name, (start, _) in made.items():
        command = [sys.executable, os.path.abspath(__file__), "--crowd", name]
        memory = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        parts = disjoint(int(name))
        check, _ = timed(parts.find_repeated)
        starts = {"start seconds": start, "seconds to see that no sample occurs twice": check}
        found[name] = {**starts, "round, each client": found[name], **memory}
    return found


def disjoint(count: int) -> Parts:
    """Return disjoint samples of a number of clients, 40 each, at random."""
    order = np.random.default_rng(SEED).permutation(count * 40).reshape(count, 40)
    return Parts(np.sort(order, axis=1).ravel(), np.arange(count + 1, dtype=np.int64) * 40)


def crowd(count: int, data: tuple[Tensor, Tensor]) -> tuple[float, Ours]:
    """Return a federation of many clients of one data set, and the CPU seconds of its start from its indices."""
    (x, y), module = data, small_perceptron(196, 20)
    order, bounds = np.resize(np.arange(len(x), dtype=np.int64), count * 40), np.arange(count + 1, dtype=np.int64) * 40
    began = time.process_time()
    parts = Parts(order, bounds)
    problem = network_problem(module, (x, y), parts[:1], (x[:100], y[:100]))
    problem = replace(problem, clients=replace(problem.clients, parts=parts))  # samples may stand at several clients
    one = Ours(problem, Sgd(), batch=8)
    return time.process_time() - began, one


def memory_of_crowd(count: int) -> None:
    """Print, in its own process, the memory after the start, and the excess of the peak of ten rounds over it."""
    _, one = crowd(count, images(14, 60_000))
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is reset
    for number in range(1, 11):
        one.round(number, one.fed.cohort(min(COHORT, count)))
    print(json.dumps({"MiB after the start": before, "MiB of rounds above that": resident("VmHWM") - before}))


def resident(what: str) -> float:
    """Return the memory of this process, in MiB."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what)]
    return int(line.split()[1]) / 1024


def workers(case: Case, rounds: int) -> Found:
    """Time one process, and one and two workers, in wall seconds; the ratio is to one worker."""
    problem = problem_of(case, 100, SAMPLES)
    executors = {"no worker": None, "1 worker": Processes(1), "2 workers": Processes(2)}
    contenders = {name: Ours(problem, Sgd(), executor) for name, executor in executors.items()}
    times, first = in_turn(contenders, rounds, 100)
    for executor in executors.values():
        if executor is not None:
            executor.close()
    one, *others = first.values()
    if not all(torch.equal(one[name], other[name]) for other in others for name in one):
        raise SystemExit("workers come to other bits than one process")
    found = ratios(times, "1 worker")
    return {name: entry["wall"] for name, entry in found.items()} | {"load": os.getloadavg()[0]}


def present(peers: str | None) -> dict[str, str]:
    """Return the versions of the interpreter's libraries."""
    if peers is None:
        return {}
    script = (
        "import json; from importlib.metadata import version, packages_distributions as p; "
        "print(json.dumps({name: version(name) for name in ('pfl', 'flwr') if name in p()}))"
    )
    found: dict[str, str] = json.loads(subprocess.run([peers, "-c", script], capture_output=True, check=True).stdout)
    return found


def sections(options: argparse.Namespace) -> dict[str, Callable[[], Found]]:
    """Return the measurements by name."""
    peers = options.peers
    if options.tiny:
        (case,) = TINY.values()
        return {
            "rounds, tiny": lambda: rounds_of(case, peers, COHORT, BATCH),
            "plain descent, tiny": lambda: in_place(case, 2, samples=40),
            "optimisers, tiny": lambda: optimisers(case, 2),
            "factors, tiny": lambda: low_rank(case, 2),
            "clients, small": lambda: many_clients(100, 1),
        }
    mlp, convolutional = CASES["MLP 784-200-10"], CASES["ResNet-10, width 16, 14x14"]
    return {
        **{f"rounds, {name}": lambda case=case: rounds_of(case, peers) for name, case in CASES.items()},
        "alone, ResNet-10, width 16, 14x14": lambda: alone(convolutional, 20),
        "plain descent, MLP 784-200-10": lambda: in_place(mlp, 40),
        "plain descent, CNN of two convolutions": lambda: in_place(CONVOLUTIONS, CONVOLUTIONS.rounds),
        **{f"optimisers, {name}": lambda case=case: optimisers(case, 30) for name, case in CASES.items()},
        "factors, MLP 784-200-10": lambda: low_rank(mlp, 60),
        "factors, ResNet-10, width 16, 14x14": lambda: low_rank(convolutional, 15),
        "clients": lambda: many_clients(10**6, 40),
        "workers, MLP 784-200-10": lambda: workers(mlp, 20),
        "workers, ResNet-10, width 16, 14x14": lambda: workers(convolutional, 6),
    }


def main() -> None:
    """Measure section by section, and write the JSON file after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    parser.add_argument("--peers", metavar="PYTHON", help="interpreter of an environment with torch, pfl and flwr")
    parser.add_argument("--only", default="", help="sections whose name contains this")
    parser.add_argument("--tiny", action="store_true", help="everything once and small, to see that it works")
    parser.add_argument("--crowd", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.crowd:
        memory_of_crowd(options.crowd)
        return
    found: Found = json.loads(options.out.read_text()) if options.out.exists() else {}
    versions = present(options.peers)
    for name, section in sections(options).items():
        if options.only not in name:
            continue
        began, load = time.perf_counter(), os.getloadavg()[0]
        found[name] = {**section(), "measured": {"load": load, "wall seconds": time.perf_counter() - began}}
        found["environment"] = {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
            "machine": platform.machine(),
            "processors": os.cpu_count(),
            "threads": 1,
            "peers": {library: versions.get(library, "absent: left out") for library in ("pfl", "flwr")},
        }
        options.out.write_text(json.dumps(plain(found), indent=1) + "\n")
        print(name, json.dumps(plain(found[name]), indent=1), flush=True)


if __name__ == "__main__":
    main()
