"""Ray's actors against the processes of one machine: seconds of a round, a million clients, kills, and sweeps.

``python benchmarks/scale.py [--only SECTION] [--out FILE]``, some ten minutes on two idle processors. Contenders do the
same rounds in turn and must reach bit-identical weights; ratios are medians over rounds. In ``kills`` a run of
``rankproof train --executor ray`` loses its actors at random moments, and now and then its driver, which is resumed by
the same command. Metrics, ledger and every stored tensor must equal those of an undisturbed run in one process. Each
section is written to the file when it ends, with the load of the machine; the status is 1 if anything differs.
"""

from __future__ import annotations

import os
import sys

sys.path[:] = [place for place in sys.path if os.path.abspath(place) != os.path.dirname(os.path.abspath(__file__))]
sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.abspath(__file__))), os.path.dirname(os.path.abspath(__file__))]
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"), RAY_USAGE_STATS_ENABLED="0")

import argparse
import json
import random
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from scale_cases import (
    ManyClients,
    descendants,
    image_problem,
    memory,
    nothing,
    perceptron_problem,
    processor_seconds,
    tensors_of,
)

from algorithms.descent import Descent
from algorithms.executors.processes import Processes
from algorithms.executors.ray_actors import Actors
from algorithms.fedavg import FedAvg
from algorithms.federation import Executor, Federation, Sequential
from algorithms.rounds import one_round
from algorithms.tree import Tree
from runs.experiments import Experiment, Sweep, Trial, carry_out
from runs.folder import CHECKPOINTS, LEDGER, LOG, METRICS
from runs.network_problem import NetworkProblem
from runs.versions import versions
from workloads.processes.cluster import LOCAL, cluster
from workloads.processes.pool import Place, RayPool

Found = dict[str, Any]
ACTOR = "ray::Worker"
"""In the command line of an actor's process."""
KILLED_RUN = (
    "train",
    "fedlrt-full",
    "--data",
    "ridges",
    "--clients",
    "8",
    "--cohort",
    "6",
    "--rounds",
    "100",
    "--steps",
    "30",
    "--save-every",
    "0",
)


class Contender:
    """A federation, and the place where its clients work."""

    def __init__(self, clients: Any, start: Any, local: Descent, executor: Executor) -> None:
        self._algorithm, self._fed = FedAvg(local), Federation(clients, executor=executor)
        self.state: Tree = self._algorithm.start(self._fed, Tree(start))

    def round(self, cohort: int | None) -> tuple[float, float]:
        """Run one round; return wall seconds, and processor seconds of this process and its children."""
        processor, wall = processor_seconds(os.getpid()), time.monotonic()
        self.state = one_round(self._algorithm.round, self._fed, self.state, cohort)
        wall = time.monotonic() - wall
        return wall, processor_seconds(os.getpid()) - processor


def overhead(rounds: int) -> Found:
    """Time rounds of 16 clients in this process, in processes and in actors: small and large models, and real work."""
    found: Found = {}
    cases: tuple[tuple[str, Callable[[], NetworkProblem], int], ...] = (
        ("small model, little work", lambda: perceptron_problem(16, 16), 2),
        ("1 million weights, more work", lambda: perceptron_problem(16, 1300), 10),
        ("ResNet-10 on images, a third of a million weights", lambda: image_problem(16), 5),
    )
    for name, make, steps in cases:
        problem, local = make(), Descent(steps, 0.01, batch=32)
        with ExitStack() as stack:
            ray, _ = cluster(LOCAL, 3, ValueError)  # for both teams of actors
            stack.callback(ray.shutdown)
            made: dict[str, Executor] = {
                "in this process": Sequential(),
                "1 process": Processes(1),
                "2 processes": Processes(2),
                "1 actor": Actors(1),
                "2 actors": Actors(2),
            }
            for executor in made.values():
                stack.callback(getattr(executor, "close", lambda: None))
            contenders = {of: Contender(problem.clients, problem.start, local, by) for of, by in made.items()}
            times: dict[str, list[tuple[float, float]]] = {of: [] for of in contenders}
            for number in range(rounds + 1):
                for of, one in contenders.items():
                    took = one.round(None)
                    if number:  # they start in the first one
                        times[of].append(took)
            ends = [torch.cat([leaf.reshape(-1) for leaf in tensors_of(one.state)]) for one in contenders.values()]
        pairs = (("1 actor", "1 process"), ("2 actors", "2 processes"), ("2 actors", "1 actor"))
        found[name] = {
            "weights": int(ends[0].numel()),
            "same bits": all(torch.equal(ends[0], end) for end in ends),
            **{
                of: {"wall seconds": median(took, 0), "processor seconds": median(took, 1)}
                for of, took in times.items()
            },
            **{
                f"{one} against {other}": statistics.median(
                    own[0] / base[0] for own, base in zip(times[one], times[other], strict=True)
                )
                for one, other in pairs
            },
        }
    return found


def median(pairs: Sequence[tuple[float, float]], which: int) -> float:
    """Return the median of one of the two times."""
    return statistics.median(pair[which] for pair in pairs)


def trips(count: int) -> Found:
    """Time the first exchange, for which workers start, and exchanges of one client that does no work."""
    found: Found = {}
    for name, made in (("1 process", Processes), ("1 actor", Actors)):
        fed = Federation(ManyClients(1, (1, 1)), executor=(team := made(1)))
        times = []
        for _ in range(count + 1):
            began = time.monotonic()
            fed.gather(nothing, to=(0,))
            times.append(time.monotonic() - began)
        team.close()
        found[name] = {"first, with the start": times[0], "median of the others": statistics.median(times[1:])}
    return found


def million(rounds: int) -> Found:
    """Time rounds of 20 clients out of a hundred and out of a million, which are created on request."""
    found: Found = {}
    for count in (100, 10**4, 10**6):
        executor = Actors(2)
        start = {"W": torch.zeros(6, 4, dtype=torch.float64)}
        one = Contender(ManyClients(count, (6, 4)), start, Descent(2, 0.01), executor)
        first = one.round(20)[0]
        before = memory(descendants(os.getpid()), ACTOR)
        times = [one.round(20) for _ in range(rounds)]
        processes = descendants(os.getpid())
        found[f"{count:,} clients"] = {
            "wall seconds of the first round, with the start": first,
            "wall seconds": median(times, 0),
            "MiB of the largest actor": memory(processes, ACTOR) / 2**20,
            "MiB that it grew by": (memory(processes, ACTOR) - before) / 2**20,
        }
        executor.close()
    return found


def kills(wanted: int, drivers: int, seed: int) -> Found:
    """Kill actors and drivers in one run of 100 rounds, and return its differences from an undisturbed run."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        whole, folder = Path(name) / "whole", Path(name) / "killed"
        subprocess.run(
            [sys.executable, "-m", "rankproof", *KILLED_RUN, "--out", str(whole)], check=True, capture_output=True
        )
        command = [
            sys.executable,
            "-m",
            "rankproof",
            *KILLED_RUN,
            "--executor",
            "ray",
            "--workers",
            "2",
            "--out",
            str(folder),
        ]
        began, actors, ended, starts = time.monotonic(), 0, 0, 0
        longest, left = 0.0, 0
        while True:
            starts += 1
            driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            seen: dict[int, str] = {}
            until = rng.uniform(0.6, 1.4) * wanted / (drivers + 1) if ended < drivers else float("inf")
            own, rounds = 0, 0
            while driver.poll() is None:
                time.sleep(rng.uniform(0.05, 0.5))
                now = descendants(driver.pid)
                seen |= now
                there = [process for process, words in now.items() if words.startswith(ACTOR)]
                done = rounds_in(folder)
                if done < rounds + 1 and own:  # there is a round between two kills, so that the run ends
                    continue
                rounds = done
                if own >= until:
                    driver.kill()
                    ended += 1
                    break
                if there and actors < wanted:
                    os.kill(rng.choice(there), signal.SIGKILL)
                    actors, own = actors + 1, own + 1
            status = driver.wait()
            if status == -signal.SIGKILL:
                outlived = seconds_left(seen)
                longest, left = max(longest, outlived or 0.0), left + (outlived is None)
            if status == 0:
                break
            if status != -signal.SIGKILL:
                assert driver.stderr is not None
                raise SystemExit(f"the run ended with status {status}: {driver.stderr.read().decode()[-500:]}")
        log = (folder / LOG).read_text().splitlines() if (folder / LOG).exists() else []
        return {
            "rounds": 100,
            "actors killed": actors,
            "drivers killed": starts - 1,
            "losses in the run's log": sum("a worker was lost" in line for line in log),
            "seconds": time.monotonic() - began,
            "differing": [part for part in content(whole) if content(whole)[part] != content(folder)[part]],
            "drivers whose processes were there two minutes later": left,
            "seconds until the last process of a killed driver ended": longest,
        }


def sweep(runs: int) -> Found:
    """Time small runs one after the other in this process, and on one and two started workers of Ray."""
    trial = Trial("small", "fedlrt", "ridges", 20, {"clients": 4, "steps": 5}, tuple(range(runs)))
    found: Found = {"runs": runs}
    with tempfile.TemporaryDirectory() as name:
        for workers in (0, 1, 2):
            store = Path(name) / str(workers)
            with ExitStack() as stack:
                pool = stack.enter_context(RayPool(Place(workers=workers), ValueError)) if workers else None
                if pool is not None:  # workers start and import what runs need
                    list(pool.map(carry_out, 2 * workers * [Experiment(())], 2 * workers * [store]))
                began = time.monotonic()
                carry_out(Experiment((trial,)), store, sweep=None if pool is None else Sweep(pool))
                found[f"seconds on {workers} workers" if workers else "seconds here"] = time.monotonic() - began
        tables = {
            tuple(path.read_bytes() for path in sorted((Path(name) / str(workers)).glob(f"*/{METRICS}")))
            for workers in (0, 1, 2)
        }
    found["one worker against two"] = found["seconds on 1 workers"] / found["seconds on 2 workers"]
    return found | {"same bits": len(tables) == 1}


def rounds_in(folder: Path) -> int:
    """Return the number of rounds in a run's table."""
    table = folder / METRICS
    return len(table.read_bytes().splitlines()) - 2 if table.exists() else 0


def seconds_left(processes: Iterable[int]) -> float | None:
    """Return the seconds until some processes have ended; None if two minutes do not suffice."""
    began = time.monotonic()
    while time.monotonic() - began < 120.0:
        if not any(lives(process) for process in processes):
            return time.monotonic() - began
        time.sleep(0.1)
    return None


def lives(process: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return (Path("/proc") / str(process) / "cmdline").read_bytes() != b""
    except OSError:
        return False


def content(folder: Path) -> Found:
    """Return the results that must not depend on kills."""
    last = sorted((folder / CHECKPOINTS).glob("round-*.safetensors"))[-1]
    return {name: (folder / name).read_bytes() for name in (METRICS, LEDGER)} | {last.name: last.read_bytes()}


def main() -> int:
    """Measure, write one JSON file, and return whether anything is wrong."""
    sections: dict[str, Callable[[], Found]] = {
        "overhead": lambda: overhead(8),
        "trips": lambda: trips(300),
        "million": lambda: million(10),
        "sweep": lambda: sweep(50),
        "kills": lambda: kills(30, 2, 0),
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=tuple(sections))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    wrong = False
    for name, measure in sections.items():
        if options.only in (None, name):
            before = os.getloadavg()[0]
            found = measure()
            found["load average, before and after"] = [before, os.getloadavg()[0]]
            wrong |= not found.get("same bits", True)
            wrong |= bool(found.get("differing") or found.get("drivers whose processes were there two minutes later"))
            wrong |= any(
                not part["same bits"] for part in found.values() if isinstance(part, dict) and "same bits" in part
            )
            print(json.dumps({name: found}, indent=1))
            if options.out:
                kept = json.loads(options.out.read_text()) if options.out.exists() else {}
                environment = {"versions": versions(), "processors": os.cpu_count()}
                options.out.write_text(json.dumps({**kept, "environment": environment, name: found}, indent=1) + "\n")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
