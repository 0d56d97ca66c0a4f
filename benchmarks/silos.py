"""Silos on loopback: a Flower server and two silos as processes give the bits of one process, even after kills.

`python benchmarks/silos.py [--kills] [--only NAME]` writes benchmarks/silos.json: for each algorithm whether the final
weights are bit-identical to the sequential executor's, its seconds, and the number of kills that a run survived.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import importlib.util
import json
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from loopback import Loopback

from algorithms.rounds import rounds
from algorithms.tree import tensors
from runs.catalogue import algorithm_of
from runs.checkpoints import Checkpoints
from runs.plan import read_plan
from runs.silos.app import write_app
from runs.silos.problem import SILOS
from runs.stored import named_types

SILO_NAMES = ("north", "south")
ALGORITHMS = ("fedavg", "fedlin", "fedlrt-full", "rolora", "fedloru", "pfedloru", "mfedloru")
OPTIONS = {"fedloru": "tau=1", "pfedloru": "tau=1 personal-rank=1", "mfedloru": "tau=1"}
RESULT = Path(__file__).with_suffix(".json")
_MEASURED = """
from runs.silos.flower import server_app

from .task import start

app = server_app(start, lambda w: {"size": float(sum((entry**2).sum() for entry in w.values()))})
"""


def written(folder: Path, algorithm: str) -> Path:
    """Write the app of `rankproof flower new`, with a server-side measurement, which saves one exchange a round."""
    app = folder / f"app-{algorithm}"
    write_app(app, algorithm, SILO_NAMES)
    (app / "silos" / "server_app.py").write_text(_MEASURED)
    return app


def started(there: Loopback, app: Path, algorithm: str, number: int, results: Path, **options: Any) -> None:
    """Submit a run."""
    config = {"rounds": number, "seconds": 600.0, "again": 60.0, **options}
    words = [f"{name.replace('_', '-')}={value}" for name, value in config.items()]
    there.submit(app, " ".join([f'folder="{results}"', *words, OPTIONS.get(algorithm, "")]))


def wait(there: Loopback, results: Path, number: int, seconds: float) -> float:
    """Wait until a run's folder has a round; return the seconds it took.

    Raises:
        TimeoutError: It has not; with the end of the server's log.
    """
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        if rounds_in(results) >= number:
            return time.monotonic() - began
        time.sleep(0.5)
    raise TimeoutError(f"no round {number} after {seconds:g} s; the server says: {there.log('server')[-2000:]}")


def state_of(results: Path) -> Any:
    """Return the state of the algorithm after the last round of a run's folder."""
    kept = Checkpoints(results / "checkpoints", read_plan(results).digest, named_types())
    return kept.load()[0].state.algorithm


def alone(app: Path, results: Path, number: int) -> Any:
    """Run the same by the sequential executor, from the app's functions and the settings of its folder."""
    spec = importlib.util.spec_from_file_location(f"task_of_{app.name.replace('-', '_')}", app / "silos" / "task.py")
    assert spec is not None
    assert spec.loader is not None
    task = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = task  # where dataclasses look for their module
    spec.loader.exec_module(task)
    plan = read_plan(results)
    clients = [task.client(name, {}) for name in SILO_NAMES]
    problem: Any = SimpleNamespace(clients=clients, shares=None, start=task.start(), evaluate=lambda w, fed: {})
    algorithm = algorithm_of(plan.algorithm, SILOS, plan.settings)
    return list(rounds(algorithm, problem, rounds=number, seed=plan.settings["seed"]))[-1].state.algorithm


def same(one: Any, other: Any) -> bool:
    """Return whether two states are bit-identical."""
    one, other = tensors(one), tensors(other)
    return len(one) == len(other) > 0 and all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def equal_bits(there: Loopback, algorithm: str, number: int = 2, seconds: float = 900.0) -> dict[str, Any]:
    """Compare one algorithm on loopback with one process."""
    app, results = written(there.folder, algorithm), there.folder / f"results-{algorithm}"
    began = time.monotonic()
    started(there, app, algorithm, number, results)
    wait(there, results, number, seconds)
    took = time.monotonic() - began
    trips = sum(line.split(",")[2] == "up" for line in (results / "ledger.csv").read_text().splitlines())
    return {
        "rounds": number,
        "trips": trips,
        "seconds": round(took, 1),
        "bits_of_one_process": same(state_of(results), alone(app, results, number)),
    }


def kills(there: Loopback, silos: int, servers: int, number: int, seed: int) -> dict[str, Any]:
    """Run pFedLoRU, whose silos keep personal factors, while silos and the server are killed at random moments.

    Two are killed within seconds, so that one is lost while the run gets over the other; then a round has to end. Such
    pairs come in equal parts of the run, each at a random round of its part.
    """
    random_number, algorithm = random.Random(seed), "pfedloru"
    app, results = written(there.folder / "kills", algorithm), there.folder / "results-kills"
    victims = ["silo"] * silos + ["server"] * servers
    random_number.shuffle(victims)
    began, done = time.monotonic(), []
    started(there, app, algorithm, number, results)
    for count, victim in enumerate(victims):
        if count % 2 == 0:
            due = int((count + 2 * random_number.random()) / len(victims) * number)
            wait(there, results, max(due, rounds_in(results) + 1), 1800.0)
        time.sleep(random_number.uniform(0.0, 8.0))
        name = random_number.choice(SILO_NAMES) if victim == "silo" else "server"
        there.kill(name)
        done.append({"killed": name, "at": round(time.monotonic() - began, 1), "after_round": rounds_in(results)})
        print(done[-1], flush=True)
        time.sleep(random_number.uniform(0.0, 3.0))
        if name == "server":
            there.start_server()
            started(there, app, algorithm, number, results)
        else:
            there.start_silo(name)
    wait(there, results, number, 1800.0)
    ups = [line.split(",") for line in (results / "ledger.csv").read_text().splitlines()[1:]]
    counted = [int(row[4]) for row in ups if row[2] == "up"]
    return {
        "algorithm": algorithm,
        "rounds": number,
        "kills": done,
        "seconds": round(time.monotonic() - began, 1),
        "uploads_counted": sum(counted),
        "uploads_due": number * len(SILO_NAMES),
        "bits_of_the_undisturbed_run": same(state_of(results), alone(app, results, number)),
    }


def rounds_in(results: Path) -> int:
    """Return the number of rounds in a run's folder."""
    last = sorted((results / "checkpoints").glob("round-*.json"))[-1:]
    return int(last[0].stem.removeprefix("round-")) if last else 0


def main() -> None:
    """Measure, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=ALGORITHMS)
    parser.add_argument("--kills", action="store_true", help="only the run with kills")
    options = parser.parse_args()
    torch.set_num_threads(1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no process is left
    result = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    with tempfile.TemporaryDirectory() as name, Loopback(Path(name).resolve(), SILO_NAMES) as there:
        (there.folder / "kills").mkdir()
        if options.kills:
            result["kills"] = kills(there, silos=22, servers=8, number=100, seed=0)
            print(json.dumps(result["kills"]), flush=True)
        else:
            for algorithm in [options.only] if options.only else ALGORITHMS:
                result.setdefault("equal", {})[algorithm] = equal_bits(there, algorithm)
                print(algorithm, result["equal"][algorithm], flush=True)
                RESULT.write_text(json.dumps(result, indent=1) + "\n")
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print("processes left:", there.left())


if __name__ == "__main__":
    main()
