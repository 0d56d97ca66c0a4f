"""Runs that are killed at random moments and resumed, against runs that nobody disturbed; and what checkpoints cost.

``python benchmarks/kills.py [--kills 50] [--seed 0] [--out benchmarks/kills.json]``. Every attempt is a forked process
that trains with a checkpoint after each round and gets SIGKILL after a random time: within a round, or within a
checkpoint. At the end metrics, ledger and every stored tensor must be the same bytes. One JSON file; status 1 where
they differ.
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
import mmap
import random
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

import runs.folder
from algorithms.federation import FederationState
from algorithms.rounds import RunState
from algorithms.tree import Tree
from runs.checkpoints import Checkpoint, Checkpoints
from runs.folder import CHECKPOINTS, LEDGER, METRICS, train
from runs.plan import Plan, planned
from runs.settings import Conduct
from runs.stored import named_types
from runs.versions import versions

ROUNDS = 30
GIVEN: dict[str, dict[str, Any]] = {
    "pfedloru": {"clients": 4, "cohort": 2, "steps": 5, "tau": 3, "batch": 8, "optimiser": "adam"},
    "fedlrt": {"clients": 4, "cohort": 3, "steps": 5, "executor": "vmap"},
}
MOMENTS = {1: "in a round", 2: "in a checkpoint"}
Found = dict[str, Any]


def plan_of(algorithm: str) -> Plan:
    """A run that saves after every round."""
    return planned(algorithm, "ridges", GIVEN[algorithm], Conduct(rounds=ROUNDS, save_every=0.0))


def content(folder: Path) -> Found:
    """What must not depend on kills: tables, tensors, and what each client holds."""
    index = json.loads((folder / CHECKPOINTS / f"round-{ROUNDS:06d}.json").read_text())["content"]
    main = f"round-{ROUNDS:06d}.safetensors"
    return {
        "metrics": (folder / METRICS).read_bytes(),
        "ledger": (folder / LEDGER).read_bytes(),
        "state": [index[part] for part in ("algorithm", "shared", "equipped")],
        "tensors": (folder / CHECKPOINTS / main).read_bytes(),
        "clients": {client: index["files"][name] for client, name in index["personal"].items()},
    }


def attempt(plan: Plan, folder: Path, after: float | None) -> tuple[bool, int]:
    """Trains in a process of its own, killed after so many seconds; whether it came to its end, and the moment."""
    where = mmap.mmap(-1, 1)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            saved = Checkpoints.save

            def save(self: Checkpoints, checkpoint: Checkpoint) -> None:
                where[0] = 2
                saved(self, checkpoint)
                where[0] = 1

            Checkpoints.save = save  # type: ignore[method-assign]
            runs.folder.SHARE_OF_TIME = float("inf")
            where[0] = 1
            train(plan, folder)
            code = 0
        finally:
            os._exit(code)
    ended = time.monotonic() + after if after is not None else float("inf")
    while time.monotonic() < ended:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            if status:
                raise SystemExit(f"{folder}: an attempt failed by itself, status {status}")
            return True, 0
        time.sleep(0.0005)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return status == 0, where[0]


def killed(algorithm: str, kills: int, rng: random.Random, place: Path) -> Found:
    """Kills one run again and again, starts another when it has ended, and compares each with the undisturbed one."""
    plan = plan_of(algorithm)
    started = time.monotonic()
    attempt(plan, place / "whole", None)
    length = time.monotonic() - started
    expected, moments, compared, differing, number = content(place / "whole"), [], 0, [], 0
    while len(moments) < kills:
        number += 1
        ended = False
        while not ended:
            # The mean time between kills is a fifth of a run, and the start takes some of it.
            after = rng.uniform(0.0, 0.4 * length) if len(moments) < kills else None
            ended, moment = attempt(plan, place / str(number), after)
            if not ended:
                moments.append(moment)
        compared += 1
        found = content(place / str(number))
        differing += [f"{number}: {part}" for part in expected if found[part] != expected[part]]
    counted = {name: moments.count(value) for value, name in MOMENTS.items()}
    return {"kills": len(moments), **counted, "runs compared": compared, "differing": differing}


def cost(megabytes: int, place: Path) -> Found:
    """Seconds of a checkpoint of one state, and of reading it; the median of five."""
    rows = megabytes * 1_000_000 // 4 // 1000
    state = RunState(1, Tree(W=torch.randn(rows, 1000)), FederationState(1))
    writer, writing, reading = Checkpoints(place, "cost", named_types()), [], []
    for number in range(1, 6):
        started = time.monotonic()
        writer.save(Checkpoint(RunState(number, state.algorithm, FederationState(number)), {}))
        writing.append(time.monotonic() - started)
        started = time.monotonic()
        Checkpoints(place, "cost", named_types()).load()
        reading.append(time.monotonic() - started)
    return {"megabytes": megabytes, "write": sorted(writing)[2], "read": sorted(reading)[2]}


def main() -> int:
    """Measures, writes one JSON file, and says whether anything differed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rng = random.Random(options.seed)  # when, not what
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        share = -(-options.kills // len(GIVEN))
        found: Found = {one: killed(one, share, rng, place / one) for one in GIVEN if not (place / one).mkdir()}
        if options.out:
            found["cost"] = [cost(size, place / f"cost-{size}") for size in (1, 45)]
    text = json.dumps({"versions": versions(), "load": os.getloadavg()[0], **found}, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n")
    return 1 if any(found[one]["differing"] for one in GIVEN) else 0


if __name__ == "__main__":
    sys.exit(main())
