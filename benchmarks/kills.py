"""Runs that are killed at random moments and resumed, compared with undisturbed runs; and the cost of checkpoints.

``python benchmarks/kills.py [--kills 50] [--of NAME ...] [--seed 0] [--out benchmarks/kills.json]``. Every attempt is a
forked process that trains with a checkpoint after each round. It gets SIGKILL after a random time, within a round or
within a checkpoint. In ``workers`` two workers share the clients, and one of them gets the signal; the run must then
end by itself with a one-line message, and without leftover processes. At the end metrics, ledger and every stored
tensor must be byte-identical. The JSON file keeps results that were not measured again; the status is 1 if anything
differs.
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
import re
import signal
import struct
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import torch

import runs.folder
from algorithms.executors.processes import Processes
from algorithms.federation import FederationError, FederationState
from algorithms.rounds import RunState
from algorithms.tree import Tree
from runs.checkpoints import Checkpoint, Checkpoints
from runs.folder import CHECKPOINTS, LEDGER, METRICS, train
from runs.plan import Plan, make_plan
from runs.settings import Conduct
from runs.stored import named_types
from runs.versions import versions
from workloads.processes.worker_pool import WorkerPool

ROUNDS = 30
ADAM: dict[str, Any] = {"clients": 4, "cohort": 2, "steps": 5, "tau": 3, "batch": 8, "optimiser": "adam"}
SAVED = Conduct(rounds=ROUNDS, save_every=0.0)
PLANS: dict[str, Plan] = {
    "pfedloru": make_plan("pfedloru", "ridges", ADAM, SAVED),
    "fedlrt": make_plan("fedlrt", "ridges", {"clients": 4, "cohort": 3, "steps": 5}, replace(SAVED, executor="vmap")),
    "workers": make_plan("pfedloru", "ridges", ADAM, replace(SAVED, workers=2)),
}
ROUND, SAVING, STARTING = 1, 2, 3
MOMENTS = {ROUND: "in a round", SAVING: "in a checkpoint", STARTING: "while workers start"}
LINE = r"(round \d+, \w+: )?a worker was killed by SIGKILL, most likely because memory ran out; [^\n]*"
Found = dict[str, Any]


def content(folder: Path) -> Found:
    """Return the results that must not depend on kills: tables, tensors, and each client's state."""
    index = json.loads((folder / CHECKPOINTS / f"round-{ROUNDS:06d}.json").read_text())["content"]
    main = f"round-{ROUNDS:06d}.safetensors"
    return {
        "metrics": (folder / METRICS).read_bytes(),
        "ledger": (folder / LEDGER).read_bytes(),
        "state": [index[part] for part in ("algorithm", "shared", "equipped")],
        "tensors": (folder / CHECKPOINTS / main).read_bytes(),
        "clients": {client: index["files"][name] for client, name in index["personal"].items()},
    }


class Watched:
    """Signals of a training process: its current step, and its workers."""

    def __init__(self) -> None:
        self._bytes = mmap.mmap(-1, 64)

    @property
    def moment(self) -> int:
        """One of `MOMENTS`."""
        return self._bytes[0]

    @moment.setter
    def moment(self, value: int) -> None:
        self._bytes[0] = value

    @property
    def workers(self) -> list[int]:
        """Return the process numbers of the workers, once there are any."""
        first, second = struct.unpack_from("2q", self._bytes, 8)
        return [first, second] if first and second else []

    def show(self, workers: Sequence[int]) -> None:
        """Publish the process numbers of two workers."""
        struct.pack_into("2q", self._bytes, 8, *workers)


def training(plan: Plan, folder: Path, watched: Watched) -> NoReturn:
    """Train in this process; an error is written next to the folder, and signalled by status 2."""
    code = 1
    vars(sys.modules["__main__"]).pop("__file__", None)  # workers need nothing of this file
    try:
        saved, started = Checkpoints.save, Processes._started

        def save(self: Checkpoints, checkpoint: Checkpoint) -> None:
            watched.moment = SAVING
            saved(self, checkpoint)
            watched.moment = ROUND

        def start(self: Processes) -> WorkerPool:
            anew = not self._workers
            crew = started(self)
            if anew:
                watched.moment = STARTING
                watched.show([int(worker.process.pid or 0) for worker in self._workers])
            return crew

        def progress(metrics: Found) -> None:
            if watched.workers:
                watched.moment = ROUND

        Checkpoints.save = save  # type: ignore[method-assign]
        Processes._started = start  # type: ignore[method-assign]
        runs.folder.SHARE_OF_TIME = float("inf")
        watched.moment = ROUND
        train(plan, folder, progress)
        code = 0
    except FederationError as error:
        folder.with_suffix(".said").write_text(str(error))
        code = 2
    finally:
        os._exit(code)


def attempt(plan: Plan, folder: Path, after: float | None) -> tuple[bool, int]:
    """Train in a separate process, killed after some seconds; return whether it ended by itself, and the moment."""
    watched = Watched()
    child = os.fork()
    if child == 0:
        training(plan, folder, watched)
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
    return status == 0, watched.moment


def attempt_without_a_worker(plan: Plan, folder: Path, start: bool, after: float | None) -> tuple[bool, int]:
    """Train in a separate process, and kill one of its workers.

    Args:
        plan: The run, with two workers.
        folder: Folder of the run.
        start: Kill it before it has worked; else time counts from its first work.
        after: Seconds; none: no worker is killed.

    Returns:
        Whether the run came to its end, and the moment of the kill.

    Raises:
        SystemExit: The run ended in another way than it must, or left a worker behind.
    """
    watched = Watched()
    child = os.fork()
    if child == 0:
        training(plan, folder, watched)
    due, moment, status = None, 0, None
    while status is None:
        pid, found = os.waitpid(child, os.WNOHANG)
        status = found if pid else None
        now = time.monotonic()
        if due is None and after is not None and watched.workers and (start or watched.moment != STARTING):
            due = now + after
        if due is not None and now >= due and not moment and status is None:
            moment = watched.moment
            os.kill(random.Random(after).choice(watched.workers), signal.SIGKILL)
        time.sleep(0.0005)
    for worker in watched.workers:
        patience = time.monotonic() + 20.0
        while Path(f"/proc/{worker}").exists():
            if time.monotonic() > patience:
                raise SystemExit(f"{folder}: the worker {worker} outlived its run")
            time.sleep(0.01)
    if status == 0:
        return True, 0
    said = folder.with_suffix(".said").read_text() if os.waitstatus_to_exitcode(status) == 2 else ""
    if not moment or not re.fullmatch(LINE, said):
        raise SystemExit(f"{folder}: a run ended with status {status}, {said!r}")
    return False, moment


def killed(name: str, kills: int, rng: random.Random, place: Path) -> Found:
    """Kill one run again and again, start another when it has ended, and compare each with the undisturbed one."""
    plan = PLANS[name]

    def tried(folder: Path, after: float | None) -> tuple[bool, int]:
        if plan.conduct.workers == 1:
            return attempt(plan, folder, after)
        return attempt_without_a_worker(plan, folder, rng.random() < 0.2, after)

    started = time.monotonic()
    attempt(replace(plan, conduct=replace(plan.conduct, workers=1)), place / "whole", None)
    length = time.monotonic() - started
    moments: list[int] = []
    differing: list[str] = []
    expected, compared, number = content(place / "whole"), 0, 0
    while len(moments) < kills:
        number += 1
        ended = False
        while not ended:
            # The mean time between kills is a fifth of a run, and the start takes some of it.
            after = rng.uniform(0.0, 0.4 * length) if len(moments) < kills else None
            ended, moment = tried(place / str(number), after)
            if not ended:
                moments.append(moment)
        compared += 1
        found = content(place / str(number))
        differing += [f"{number}: {part}" for part in expected if found[part] != expected[part]]
    counted = {words: moments.count(value) for value, words in MOMENTS.items() if value in moments}
    return {"kills": len(moments), **counted, "runs compared": compared, "differing": differing}


def cost(megabytes: int, place: Path) -> Found:
    """Measure seconds of writing and reading a checkpoint of one state; the median of five."""
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
    """Measure, write one JSON file, and return whether anything differed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--of", nargs="+", choices=tuple(PLANS), default=tuple(PLANS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rng = random.Random(options.seed)  # when, not what
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        found: Found = {
            one: killed(one, options.kills, rng, place / one) for one in options.of if not (place / one).mkdir()
        }
        if options.out:
            found["cost"] = [cost(size, place / f"cost-{size}") for size in (1, 45)]
    text = json.dumps({"versions": versions(), "load": os.getloadavg()[0], **found}, indent=1)
    print(text)
    if options.out:
        before = json.loads(options.out.read_text()) if options.out.exists() else {}
        options.out.write_text(json.dumps({**before, **json.loads(text)}, indent=1) + "\n")
    return 1 if any(found[one]["differing"] for one in options.of) else 0


if __name__ == "__main__":
    sys.exit(main())
