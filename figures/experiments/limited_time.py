"""Make as many runs of experiments as fit into a time, in several processes, and pack them into one archive.

``python -m figures.experiments.limited_time fedlrt/fig-6 --scale laptop --seconds 250 --processes 16 --store runs``

A line's runs start when the runs that choose its learning rate have ended, so no process waits for another line. Runs
that the time limit interrupts resume from their last round: unpack the archive into ``OUT/runs``, and ``rankproof
figure ID --scale laptop --from-runs --out OUT`` makes what is left and draws. The archive also holds
`environment.json`: the machine, its devices, and the packages.

Small models are bound by the launches of kernels, so several processes may share one accelerator: ``--device cuda
--processes 7 --on-device 7``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tarfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from io import BytesIO
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from figures.experiments.experiment import Design, Line, choice_seeds
from figures.experiments.rate_choice import best_rate, next_tries
from figures.figure import SCALES, Settings
from figures.ledger import select
from figures.provenance import machine, package_versions
from hessian.numerics.differentiation import exact_convolutions
from runs.experiments import Experiment as Runs
from runs.experiments import Trial, carry_out
from runs.index import SETTINGS
from runs.listing import find_runs
from workloads.processes.child_processes import end_with_pipe

PACKAGES = ("numpy", "pandas", "torch", "transformers")
FEWEST = 3
"""Seeds that all lines of all designs get before any line gets more."""


@dataclass(frozen=True, eq=False)
class Task:
    """A run to make.

    Attributes:
        trial: The line, with the learning rate of the run and one seed.
        group: Lines that share a learning rate, by their number in `Work.groups`.
        metric: Name of the metric by which the rate is chosen; empty if it is a run of the experiment.
        order: Tasks with small numbers start first.
    """

    trial: Trial
    group: int
    metric: str
    order: tuple[float, ...]

    @property
    def text(self) -> str:
        """The run in a few words."""
        rate = self.trial.settings["learning_rate"]
        return f"{self.trial.label}, seed {self.trial.seeds[0]}, {'tries ' if self.metric else ''}rate {rate:g}"


@dataclass(frozen=True)
class Work:
    """The lines of several designs, and where their runs are made.

    Attributes:
        designs: The designs, the most important first.
        settings: Scale, seed, folder of the data and folder of the runs.
        device: Torch device of lines that `place` does not leave on a processor.
        together: Least number of clients that are computed at once on the device.
        processors: Names of models whose lines stay on a processor if they have fewer clients.
    """

    designs: Sequence[Design]
    settings: Settings
    device: str = "cpu"
    together: int = 4
    processors: tuple[str, ...] = ()

    @property
    def groups(self) -> list[tuple[Design, list[Line]]]:
        """The lines that share a learning rate, with their design."""
        found: dict[tuple[int, str], list[Line]] = {}
        for number, design in enumerate(self.designs):
            for line in design.lines:
                found.setdefault((number, line.rate_of), []).append(line)
        return [(self.designs[number], lines) for (number, _), lines in found.items()]

    def choices(self, group: int, tries: Sequence[tuple[float, int]] | None = None) -> list[Task]:
        """Return the runs that choose the learning rate of a group; none if there is no choice.

        Args:
            group: Number of the group.
            tries: Rates, each with the number of its seed; None: the first of the design.
        """
        design, lines = self.groups[group]
        seeds = choice_seeds(self.settings)
        return [
            self._task(group, line.trial(design.tuning_rounds, (seeds[number],), rate), line.choice_metric, 0)
            for line in lines
            if line.tuned
            for rate, number in (next_tries({}, design.rates) if tries is None else tries)
        ]

    def runs(self, group: int, rate: float | None) -> list[Task]:
        """Return the group's own runs, one for each line and seed, at the rate that was chosen."""
        design, lines = self.groups[group]
        return [
            self._task(group, line.trial(design.rounds, (seed,), rate), "", 1 + place)
            for place, seed in enumerate(design.own_seeds(self.settings))
            for line in lines
        ]

    def after_choices(
        self, group: int, values: Mapping[Task, float | None], say: Callable[[str], None] = lambda text: None
    ) -> list[Task]:
        """Return a group's next runs: those that still choose its learning rate, else its own at the best.

        Args:
            group: Number of the group.
            values: Value of each of its runs that chose so far; failed runs have 0.
            say: Called with a line about the rates.
        """
        known: dict[tuple[float, int], float] = {}
        seeds = choice_seeds(self.settings)
        for task, value in values.items():
            tried = task.trial.settings["learning_rate"], seeds.index(task.trial.seeds[0])
            known[tried] = max(known.get(tried, 0.0), value or 0.0)
        tries, best = next_tries(known, self.groups[group][0].rates, self.settings.scale), best_rate(known)
        by_try = ", ".join(f"{_try(seeds, tried)}: {value:.4f}" for tried, value in known.items())
        then = f"; next: {', '.join(_try(seeds, tried) for tried in tries)}" if tries else ""
        say(f"{next(iter(values)).trial.label}: rate {best:g} of {by_try}{then}")
        return self.choices(group, tries) if tries else self.runs(group, best)

    def place(self, trial: Trial) -> tuple[str, str]:
        """Return device and executor of a run."""
        if self.device == "cpu":
            return "cpu", str(trial.settings.get("executor", "sequential"))
        together = int(trial.settings.get("clients", 1)) >= self.together
        if not together and trial.settings.get("model") in self.processors:
            return "cpu", "sequential"
        return self.device, "vmap" if together else "sequential"

    def _task(self, group: int, trial: Trial, metric: str, stage: int) -> Task:
        at_once = self.place(trial)[1] == "vmap"
        steps = trial.rounds * int(trial.settings.get("steps") or 1)
        size = int(trial.settings.get("clients", 1))
        clients = 1 if at_once else size
        design = self.designs.index(self.groups[group][0])
        return Task(trial, group, metric, (max(0, stage - FEWEST), design, stage, -steps * clients, -size))


def _try(seeds: Sequence[int], tried: tuple[float, int]) -> str:
    return f"{tried[0]:g}" + (f" (seed {seeds[tried[1]]})" if tried[1] else "")


def make_run(trial: Trial, store: Path, root: str | None, device: str, executor: str) -> str:
    """Make a run, or resume it, and return why it failed; an empty text if it did not.

    A run that fails with all clients at once is resumed with one client after the other, so that it only counts as
    failed if its numbers are the reason.
    """

    def attempt(executor: str) -> str:
        placed = replace(trial, settings={**trial.settings, "executor": executor})
        torch.zeros(1, device=device)  # starts CUDA, whose settings are unknown before
        with exact_convolutions():
            (outcome,) = carry_out(Runs((placed,)), store, root, device=device)
        return outcome.failure

    if executor == "sequential":
        return attempt(executor)
    try:
        if not attempt(executor):
            return ""
    except RuntimeError as error:
        print(f"{trial.label}: {str(error).splitlines()[0]}", file=sys.stderr, flush=True)
    return attempt("sequential")


def make_runs(
    work: Work, processes: int, seconds: float, on_device: int = 1, say: Callable[[str], None] = lambda text: None
) -> int:
    """Make runs until none is left or the time is over, and return the number of runs that are left.

    Args:
        work: The lines.
        processes: Number of processes.
        seconds: Time limit; processes that are still at work then are ended.
        on_device: Most processes that use the device at a time.
        say: Called with a line for each run that has ended.
    """
    began, store = time.monotonic(), Path(work.settings.runs).resolve()
    store.mkdir(parents=True, exist_ok=True)
    tasks: list[Task] = []
    values: dict[int, dict[Task, float | None]] = {}
    for group, (design, _) in enumerate(work.groups):
        choices = work.choices(group)
        values |= {group: dict.fromkeys(choices)} if choices else {}
        tasks += choices or work.runs(group, design.rates[0] if design.rates else None)
    context = multiprocessing.get_context("spawn")
    watched, held = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(processes, context, _start_worker, (watched,))
    under_way: dict[Future[str], tuple[Task, float, str]] = {}
    ended, broken = 0, list[Task]()
    try:
        while (tasks or under_way) and (left := seconds - (time.monotonic() - began)) > 0:
            for task in sorted(tasks, key=lambda task: task.order):
                device, executor = work.place(task.trial)
                busy = sum(where != "cpu" for *_, where in under_way.values())
                if len(under_way) == processes or (device != "cpu" and busy >= on_device):
                    continue
                tasks.remove(task)
                future = pool.submit(make_run, task.trial, store, work.settings.place, device, executor)
                under_way[future] = (task, time.monotonic(), device)
            for future in wait(under_way, left, FIRST_COMPLETED).done:
                task, start, device = under_way.pop(future)
                try:
                    failure, ended = future.result(), ended + 1
                except (OSError, RuntimeError, ValueError) as error:
                    broken.append(task)
                    say(f"stopped on {device}: {task.text}: {str(error).splitlines()[0]}")
                    continue
                say(f"{time.monotonic() - start:.1f} s on {device}: {task.text}{f': {failure}' if failure else ''}")
                if task.metric:
                    values[task.group][task] = 0.0 if failure else _last_value(task, store)
                    if None not in values[task.group].values():
                        more = work.after_choices(task.group, values[task.group], say)
                        values[task.group] |= dict.fromkeys(new for new in more if new.metric)
                        tasks += more
    finally:
        _end(pool)
        held.close()
        watched.close()
    waiting = [group for group, found in values.items() if None in found.values()]
    left_over = len(tasks) + len(under_way) + len(broken) + sum(len(work.runs(group, 1.0)) for group in waiting)
    for task, start, device in under_way.values():
        took = f"{time.monotonic() - start:.1f} s on {device}"
        say(f"{_done(task, store)} of {task.trial.rounds} rounds in {took}: {task.text}")
    say(f"{ended} runs have ended, {left_over} are left")
    return left_over


def _done(task: Task, store: Path) -> int:
    """Return the finished rounds of an interrupted run."""
    folder = store / task.trial.plan(task.trial.seeds[0]).folder
    return find_runs(folder)[0].done if (folder / SETTINGS).exists() else 0


def _last_value(task: Task, store: Path) -> float:
    (outcome,) = carry_out(Runs((task.trial,)), store)
    return float(outcome.curve(task.metric)[-1][task.metric])


def _start_worker(watched: Connection) -> None:
    end_with_pipe(watched)
    torch.set_num_threads(1)


def _end(pool: ProcessPoolExecutor) -> None:
    """End the processes of a pool at once: runs resume from their last checkpoint."""
    workers = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for worker in workers:
        worker.terminate()
    until = time.monotonic() + 5.0
    for worker in workers:
        worker.join(max(0.0, until - time.monotonic()))
        worker.kill()


def pack(store: Path, archive: Path, most: int, device: str = "cpu") -> list[str]:
    """Pack the runs of a store, with checkpoints only of runs that have not ended, and return what was left out.

    `environment.json` is packed with them.

    Args:
        store: Folder of the runs.
        archive: The file to write, compressed; names begin below the store.
        most: Largest size of the archive in bytes; checkpoints are left out beyond it.
        device: Torch device of the runs, whose name is packed.
    """
    environment = (json.dumps(environment_of(device), indent=1) + "\n").encode()
    entry = tarfile.TarInfo("environment.json")
    entry.size = len(environment)
    small, large = list[Path](), list[Path]()
    for settings in sorted(store.glob(f"*/{SETTINGS}")):
        (run,) = find_runs(settings.parent)
        for path in sorted(settings.parent.rglob("*")):
            if path.is_file() and "checkpoints" not in path.parts:
                small.append(path)
            elif path.is_file() and run.done < run.rounds:
                large.append(path)
    with tarfile.open(archive, "w:gz") as tar:
        for path in small:
            tar.add(path, path.relative_to(store))
    room, kept = most - archive.stat().st_size, list[Path]()
    for path in large:
        if path.stat().st_size < room:
            room -= path.stat().st_size
            kept.append(path)
    with tarfile.open(archive, "w:gz") as tar:
        tar.addfile(entry, BytesIO(environment))
        for path in [*small, *kept]:
            tar.add(path, path.relative_to(store))
    return [str(path.relative_to(store)) for path in large if path not in kept]


def environment_of(device: str) -> dict[str, Any]:
    """Return the machine, the name of a torch device, and the versions of the packages."""
    named = torch.cuda.get_device_name(device) if device.startswith("cuda") and torch.cuda.is_available() else device
    return {**machine(), "device": named, "packages": package_versions(PACKAGES)}


def options_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("ids", nargs="+", metavar="ID", help="figures with training runs, the most important first")
    add("--scale", choices=SCALES, default="laptop")
    add("--store", type=Path, default=Path("results/runs"), help="folder of the runs; default: results/runs")
    add("--root", help="folder of the data sets; default: $RANKPROOF_DATA, else data")
    add("--seconds", type=float, default=240.0, help="time limit; default: 240")
    add("--processes", type=int, default=1)
    add("--device", default="cpu", help="torch device; default: cpu")
    add("--on-device", type=int, default=1, help="most processes that use the device at a time; default: 1")
    add("--together", type=int, default=4, help="least number of clients computed at once on the device; default: 4")
    add("--processors", nargs="*", default=(), metavar="MODEL", help="models that stay on a processor with fewer")
    add("--lines", nargs="*", default=("*",), metavar="PATTERN", help="only these lines, such as '*, 32'")
    add("--pack", type=Path, metavar="FILE", help="archive to write, such as runs.tar.gz")
    add("--most", type=float, default=15.0, metavar="MIB", help="largest size of the archive; default: 15")
    return parser


def main() -> int:
    """Make runs of figures within a time, and pack them."""
    options = options_parser().parse_args()
    settings = Settings(options.scale, data_root=options.root, runs=options.store)
    designs = []
    for figure in select(options.ids):
        for design in figure.designs(settings) if figure.designs is not None else ():
            lines = tuple(line for line in design.lines if any(fnmatch(line.label, p) for p in options.lines))
            designs += [replace(design, lines=lines)] if lines else []
    work = Work(designs, settings, options.device, options.together, tuple(options.processors))
    say = lambda text: print(text, flush=True)  # noqa: E731
    try:
        left = make_runs(work, options.processes, options.seconds, options.on_device, say)
    finally:
        if options.pack is not None:
            for name in pack(options.store, options.pack, int(options.most * 2**20), options.device):
                say(f"left out of {options.pack}: {name}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
