"""Experiments: frozen tables of runs in one store, where a run that several experiments share is run once.

The store is a folder of runs as `rankproof train` makes them, each named by the hash of its settings. What stands there
is taken as it is, what was cut off goes on, and what is missing is run.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from algorithms.federation import FederationError
from runs.folder import BusyError, Progress, train
from runs.index import SETTINGS
from runs.listing import EVERY, FoundRun, find_runs
from runs.plan import Plan, make_plan
from runs.settings import Conduct, RunError, at_least

Say = Callable[[str], None]
COSTLESS = {"round", "rank", "bytes_down", "bytes_up", "alignment"}
"""Metrics of every round, evaluated or not."""
SECONDS_BETWEEN_LOOKS = 1.0
"""Where nothing is left to do but to wait for another process."""


@dataclass(frozen=True)
class Trial:
    """A line of an experiment: runs that differ in their seeds only.

    Attributes:
        label: Name in tables and figures.
        algorithm: Name of the algorithm.
        problem: Name of the problem.
        rounds: Number of rounds; longer runs in the store serve, too.
        settings: Options by name, the seed left out.
        seeds: One run for each.

    Raises:
        RunError: No round, no seed, a seed twice or among the settings, or a last round that longer runs do not
            evaluate.
    """

    label: str
    algorithm: str
    problem: str
    rounds: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        at_least(1, rounds=self.rounds)
        if not self.seeds or len(set(self.seeds)) < len(self.seeds) or "seed" in self.settings:
            raise RunError(f"{self.label} needs seeds, each once and not among its settings, got {self.seeds}")
        if self.rounds % self.every:
            raise RunError(
                f"{self.label}: rounds must be a multiple of evaluate_every, {self.every}, got {self.rounds}"
            )

    @property
    def every(self) -> int:
        """Rounds between evaluations."""
        return int(self.settings.get("evaluate_every", 1))

    def plan(self, seed: int, root: str | None = None, device: str = "cpu") -> Plan:
        """The run of a seed, with the data sets in a folder, on a device.

        Raises:
            RunError: Settings that do not serve.
        """
        conduct = Conduct(rounds=self.rounds, root=root, device=device)
        return make_plan(self.algorithm, self.problem, {**self.settings, "seed": seed}, conduct)


@dataclass(frozen=True)
class Experiment:
    """A table of runs.

    Attributes:
        trials: Lines of the experiment.

    Raises:
        RunError: A label twice.
    """

    trials: tuple[Trial, ...]

    def __post_init__(self) -> None:
        labels = [trial.label for trial in self.trials]
        twice = [label for label in dict.fromkeys(labels) if labels.count(label) > 1]
        if twice:
            raise RunError(f"two lines of an experiment are called {twice[0]!r}")

    @property
    def runs(self) -> Iterator[tuple[Trial, int]]:
        """Every line with each of its seeds."""
        return ((trial, seed) for trial in self.trials for seed in trial.seeds)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Outcome of a run.

    Attributes:
        trial: The line of its experiment.
        seed: Seed of the run.
        run: The run, its rows up to the rounds of the trial.
        failure: Why it ended before its last round, in a line; else empty.
    """

    trial: Trial
    seed: int
    run: FoundRun
    failure: str = ""

    def curve(self, metric: str) -> Sequence[Mapping[str, Any]]:
        """The rows in which a metric was evaluated, of those that the trial asks for.

        Raises:
            RunError: The run failed, or it has no such metric.
        """
        every = 1 if metric in COSTLESS else self.trial.every
        rows = [row for row in self.run.curve(metric) if row["round"] % every == 0]
        if self.failure or not rows:
            raise RunError(f"{self.trial.label}, seed {self.seed}: {self.failure or f'no metric {metric!r}'}")
        return rows


def missing_runs(experiment: Experiment, store: Path) -> list[tuple[Trial, int]]:
    """The runs of an experiment that a store lacks, or that were cut off there.

    Raises:
        RunError: Settings that do not serve, or a run that cannot be read.
    """
    return [(trial, seed) for trial, seed in experiment.runs if not _is_complete(_folder(trial, seed, store), trial)]


@dataclass(frozen=True, eq=False)
class Sweep:
    """Where runs are made, several at a time.

    Attributes:
        pool: Does the work.
        cost: Cost of a run of a trial, in any unit above 0: the longest are begun first.
    """

    pool: Executor
    cost: Callable[[Trial], float] = lambda trial: float(trial.rounds)


def carry_out(
    experiment: Experiment,
    store: Path,
    root: str | None = None,
    say: Say = lambda text: None,
    sweep: Sweep | None = None,
    device: str = "cpu",
) -> list[Outcome]:
    """The outcomes of all runs of an experiment, in their order; those that are missing are run first, on one thread.

    An interruption loses no round that was done; the next call goes on there. A run that fails in one of its rounds, as
    one that diverges does, is an outcome, and is tried again by the next call. Several processes may carry out
    experiments in one store: a run that another one is at is left to it, and waited for at the end.

    Args:
        experiment: The table of runs.
        store: Folder of the runs' folders; made if need be.
        root: Where the data sets lie.
        say: Told, in a line, how far the work is.
        sweep: Makes several runs at a time; default: one after the other, here.
        device: Torch device of what is run; what stands in the store is taken wherever it was computed.

    Raises:
        RunError: A run that cannot start, or cannot be read.
        FederationError: An algorithm that does not fit its problem.
        DataError: A data set that is missing or damaged.
        OSError: The store cannot be written.
    """
    lacking = missing_runs(experiment, store)
    failures: dict[tuple[str, int], str] = {}
    if sweep is not None:
        failures = _spread(lacking, store, root, device, sweep, say)
    watch = _ProgressReport(sum(trial.rounds for trial, _ in lacking), len(lacking), say)
    waiting = [] if sweep is not None else list(enumerate(lacking, start=1))
    with one_thread():
        while waiting:
            busy = []
            for number, (trial, seed) in waiting:
                failure = _run_trial(trial, seed, store, root, device, watch.reporter(number, trial, seed))
                if failure is None:
                    busy.append((number, (trial, seed)))
                else:
                    failures[trial.label, seed] = failure
                    watch.add_run(trial.rounds)
            if len(busy) == len(waiting):
                say(f"{len(busy)} of {len(lacking)} runs are under way in another process: waiting for it")
                time.sleep(SECONDS_BETWEEN_LOOKS)
            waiting = busy
    return [_outcome(trial, seed, store, failures) for trial, seed in experiment.runs]


def _run_trial(
    trial: Trial, seed: int, store: Path, root: str | None, device: str, progress: Progress | None = None
) -> str | None:
    """Makes a run, unless it stands; why it ended before its last round, else nothing; none: another is at it."""
    folder = _folder(trial, seed, store)
    try:
        while not _is_complete(folder, trial):  # as it does after a line of the same settings
            train(_with_longer_rounds(trial.plan(seed, root, device), folder), folder, progress)
            folder = _folder(trial, seed, store)  # another process may have been there in between
    except BusyError:
        return None
    except FederationError as error:
        if not (folder / SETTINGS).exists():
            raise  # it failed at the start
        return str(error)
    return ""


def _run_trial_remotely(trial: Trial, seed: int, store: Path, root: str | None, device: str) -> str | None:
    """`_done`, on another machine perhaps."""
    if not store.is_dir():
        raise RunError(
            f"{store} is not on {platform.node()}: choose an --out that all machines of the cluster see as one folder"
        )
    return _run_trial(trial, seed, store, root, device)


def _spread(
    lacking: Sequence[tuple[Trial, int]], store: Path, root: str | None, device: str, sweep: Sweep, say: Say
) -> dict[tuple[str, int], str]:
    """Makes runs in a pool, the longest first, and says why some ended before their last round."""
    store.mkdir(parents=True, exist_ok=True)
    root = None if root is None else str(Path(root).resolve())
    costs = {trial.label: sweep.cost(trial) for trial in {trial.label: trial for trial, _ in lacking}.values()}
    left = sorted(lacking, key=lambda run: -costs[run[0].label])
    under_way: dict[Future[Any], tuple[Trial, int]] = {}
    failures: dict[tuple[str, int], str] = {}
    total, over, began = sum(costs[trial.label] for trial, _ in lacking), 0.0, time.monotonic()
    while left or under_way:
        under_way |= {sweep.pool.submit(_run_trial_remotely, *run, store.resolve(), root, device): run for run in left}
        left = []
        for future in wait(under_way, return_when=FIRST_COMPLETED).done:
            (trial, seed), failure = under_way.pop(future), future.result()
            if failure is None:  # another process is at it
                left.append((trial, seed))
                time.sleep(SECONDS_BETWEEN_LOOKS)
                continue
            failures[trial.label, seed], over = failure, over + costs[trial.label]
            time_left = format_minutes((time.monotonic() - began) * (total - over) / over)
            say(f"{len(failures)} of {len(lacking)} runs are done, {time_left} left; last {trial.label}, seed {seed}")
    return failures


def _folder(trial: Trial, seed: int, store: Path) -> Path:
    """The folder of a run: shared by runs of the same settings where one serves the others, else beside it.

    A run serves where it was evaluated whenever the trial asks for it. What was cut off, has failed or is under way is
    left to trials that evaluate as it does: they find it as they left it.
    """
    shared = store / trial.plan(seed).folder
    own = shared.with_name(f"{shared.name}{EVERY}{trial.every}")
    run = find_runs(shared)[0] if (shared / SETTINGS).exists() else None
    serves = run is None or not _unevaluated(run, trial)
    if run is not None and serves and run.done >= trial.rounds:
        return shared
    if (own / SETTINGS).exists():
        return own
    free = run is None or run.done >= run.rounds or run.conduct.get("evaluate_every", 1) == trial.every
    return shared if serves and free else own


def _unevaluated(run: FoundRun, trial: Trial) -> list[int]:
    """The rounds so far at which a trial asks for an evaluation that a run has not."""
    evaluated = {row["round"] for row in run.rows if set(row) - COSTLESS}
    asked = range(trial.every, min(trial.rounds, run.done) + 1, trial.every)
    return [number for number in asked if number not in evaluated]


def _is_complete(folder: Path, trial: Trial) -> bool:
    return (folder / SETTINGS).exists() and find_runs(folder)[0].done >= trial.rounds


def _with_longer_rounds(plan: Plan, folder: Path) -> Plan:
    """The plan with the rounds of the run that was cut off in a folder, where these are more."""
    if not (folder / SETTINGS).exists():
        return plan
    return replace(plan, conduct=replace(plan.conduct, rounds=max(plan.conduct.rounds, find_runs(folder)[0].rounds)))


def _outcome(trial: Trial, seed: int, store: Path, failures: Mapping[tuple[str, int], str]) -> Outcome:
    run, failure = find_runs(_folder(trial, seed, store))[0], failures.get((trial.label, seed), "")
    lacking = [] if failure else _unevaluated(run, trial)
    if lacking:
        raise RunError(f"{run.folder} was not evaluated after round {lacking[0]}; move it away, and it is run anew")
    rows = [row for row in run.rows if row["round"] <= trial.rounds]
    return Outcome(trial, seed, replace(run, rows=rows, rounds=trial.rounds), failure)


class _ProgressReport:
    """Says how far the runs are and what time is left, from the rounds done so far."""

    def __init__(self, rounds: int, runs: int, say: Say) -> None:
        self._rounds, self._runs, self._say = rounds, runs, say
        self._done, self._started = 0, time.monotonic()

    def reporter(self, number: int, trial: Trial, seed: int) -> Callable[[Mapping[str, Any]], None]:
        """Returns the function that takes the metrics of each round of a run."""

        def tell(metrics: Mapping[str, Any]) -> None:
            done = metrics["round"]
            total = self._done + done
            passed = time.monotonic() - self._started
            left = f", {format_minutes(passed * (self._rounds - total) / total)} left" if total else ""
            self._say(f"run {number} of {self._runs}: {trial.label}, seed {seed}, round {done} of {trial.rounds}{left}")

        return tell

    def add_run(self, rounds: int) -> None:
        """A run has ended."""
        self._done += rounds


def format_minutes(seconds: float) -> str:
    """A time, in words.

    >>> format_minutes(75), format_minutes(4000)
    ('1 min 15 s', '1 h 06 min')
    """
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s" if whole >= 60 else f"{whole} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread of torch, as `rankproof train` has, while open: a run's bits depend on their number.

    Two on busy processors take ten times as long for small networks.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
